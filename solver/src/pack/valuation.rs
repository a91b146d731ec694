//! What pods are worth and what nodes cost while columns are generated.
//!
//! A master program of demand rows alone gives each group one value and leaves kinds their price. Rows on kinds (supply,
//! limits) change what a node costs by their duals, and rows by place (zones) what a pod is worth there: hence values
//! by place and costs by kind. [`Rules`] says which place a kind is at, and what else a filling has to keep to.
//!
//! Units: micro-dollars per hour.

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
    /// By kind: which place it is at; empty where all kinds are at place 0.
    pub places: Vec<usize>,
}

impl Rules {
    /// Where a kind is.
    #[must_use]
    pub fn place(&self, kind: usize) -> usize {
        self.places.get(kind).copied().unwrap_or(0)
    }
}

/// Values by place and group, and costs by kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Valuation {
    /// By place and group: what one pod is worth.
    pub values: Vec<Vec<f64>>,
    /// By kind: what one node costs, more than nothing.
    pub costs: Vec<f64>,
}

#[expect(
    clippy::cast_precision_loss,
    reason = "bounds are raised by more than this loses"
)]
fn float(amount: u64) -> f64 {
    amount as f64
}

impl Valuation {
    /// The same values everywhere, and kinds at their price.
    #[must_use]
    pub fn plain(problem: &Problem<'_>, values: Vec<f64>) -> Self {
        Self {
            values: vec![values],
            costs: problem.kinds.iter().map(|kind| float(kind.cost)).collect(),
        }
    }

    /// What a pod of a group is worth at a place.
    #[must_use]
    pub fn value(&self, place: usize, group: usize) -> f64 {
        self.values[place][group]
    }

    /// What so many pods of each group are worth at a place.
    #[must_use]
    pub fn worth(&self, place: usize, filling: &[(usize, u64)]) -> f64 {
        let parts = filling.iter();
        parts
            .map(|(group, count)| self.value(place, *group) * float(*count))
            .sum()
    }

    /// So much of the way from another valuation to this one: 1 is this one.
    #[must_use]
    pub fn between(&self, other: &Self, share: f64) -> Self {
        let blend = |one: &Vec<f64>, two: &Vec<f64>| -> Vec<f64> {
            let both = one.iter().zip(two);
            both.map(|(one, two)| share * one + (1.0 - share) * two).collect()
        };
        let places = self.values.iter().zip(&other.values);
        Self {
            values: places.map(|(one, two)| blend(one, two)).collect(),
            costs: blend(&self.costs, &other.costs),
        }
    }

    /// With each value up to half of `strength` higher or lower, the same at all places.
    #[must_use]
    pub fn shaken(&self, strength: f64, random: &mut Random) -> Self {
        let groups = self.values.first().map_or(0, Vec::len);
        let factors: Vec<f64> = (0..groups)
            .map(|_| 1.0 + strength * (random.unit() - 0.5))
            .collect();
        let shake = |values: &Vec<f64>| -> Vec<f64> {
            let both = values.iter().zip(&factors);
            both.map(|(value, factor)| value * factor).collect()
        };
        Self {
            values: self.values.iter().map(shake).collect(),
            costs: self.costs.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_between_two_valuations_are_between() {
        let one = Valuation {
            values: vec![vec![4.0, 8.0], vec![0.0, 1.0]],
            costs: vec![10.0],
        };
        let two = Valuation {
            values: vec![vec![0.0, 4.0], vec![4.0, 1.0]],
            costs: vec![20.0],
        };
        let between = one.between(&two, 0.25);
        assert_eq!(between.values, [vec![1.0, 5.0], vec![3.0, 1.0]]);
        assert_eq!(between.costs, [17.5]);
        assert!((between.worth(0, &[(0, 3), (1, 2)]) - 13.0).abs() < 1e-9);
        let shaken = one.shaken(0.5, &mut Random::new(1));
        let ratio = shaken.value(0, 1) / one.value(0, 1);
        assert!((0.75..1.25).contains(&ratio) && ratio != 1.0);
        assert!(
            (shaken.value(1, 1) - ratio).abs() < 1e-12,
            "by group, not by place"
        );
    }
}
