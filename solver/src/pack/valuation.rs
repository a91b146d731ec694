//! What pods are worth and what nodes cost while columns are generated, in micro-dollars per hour, and what a filling has
//! to keep to besides the room.

use super::float;
use crate::lower::Problem;

use super::knapsack::Conflicts;
use super::random::Random;

/// Groups of which so many at most may be on one node, together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// Which groups, in order.
    pub groups: Vec<usize>,
    /// How many of their pods.
    pub most: u64,
}

/// What a filling has to keep to besides the room of its kind. The default is nothing.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Caps on classes of pods on one node.
    pub classes: Vec<Class>,
    /// Groups that may not be on a node together.
    pub conflicts: Conflicts,
}

/// Values by group, and costs by kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Valuation {
    /// By group: what one pod is worth.
    pub values: Vec<f64>,
    /// By kind: what one node costs, more than nothing.
    pub costs: Vec<f64>,
}

impl Valuation {
    /// With kinds at their cost.
    #[must_use]
    pub fn new(problem: &Problem<'_>, values: Vec<f64>) -> Self {
        Self {
            values,
            costs: problem.kinds.iter().map(|kind| float(kind.cost)).collect(),
        }
    }

    /// What so many pods of some groups are worth.
    #[must_use]
    pub fn worth(&self, filling: &[(usize, u64)]) -> f64 {
        let parts = filling.iter();
        parts
            .map(|(group, count)| self.values[*group] * float(*count))
            .sum()
    }

    /// What so many pods of each group are worth.
    #[must_use]
    pub fn worth_of_all(&self, counts: &[u64]) -> f64 {
        let both = self.values.iter().zip(counts);
        both.map(|(value, count)| value * float(*count)).sum()
    }

    /// So much of the way from another valuation to this one: 1 is this one.
    #[must_use]
    pub fn between(&self, other: &Self, share: f64) -> Self {
        let both = self.values.iter().zip(&other.values);
        let values = both.map(|(one, two)| share * one + (1.0 - share) * two);
        Self {
            values: values.collect(),
            costs: self.costs.clone(),
        }
    }

    /// With each value up to half of `strength` higher or lower.
    #[must_use]
    pub fn shaken(&self, strength: f64, random: &mut Random) -> Self {
        let values = self.values.iter();
        let shaken = values.map(|value| value * (1.0 + strength * (random.unit() - 0.5)));
        Self {
            values: shaken.collect(),
            costs: self.costs.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_between_two_valuations_are_between() {
        let at = |values: [f64; 2]| Valuation {
            values: values.to_vec(),
            costs: vec![10.0],
        };
        let between = at([4.0, 8.0]).between(&at([0.0, 4.0]), 0.25);
        assert_eq!(between, at([1.0, 5.0]));
        assert!((between.worth(&[(0, 3), (1, 2)]) - 13.0).abs() < 1e-9);
        assert!((between.worth_of_all(&[3, 2]) - 13.0).abs() < 1e-9);
        let shaken = at([4.0, 8.0]).shaken(0.5, &mut Random::new(1));
        assert!((3.0..5.0).contains(&shaken.values[0]) && (6.0..10.0).contains(&shaken.values[1]));
        assert_ne!(shaken, at([4.0, 8.0]));
    }
}
