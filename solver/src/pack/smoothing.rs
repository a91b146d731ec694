//! How far between the duals and the best values so far the generator looks.
//!
//! The duals of a master program with few columns jump about; values between them and the centre, those with the best
//! bound so far, settle sooner. The weight of the centre adjusts itself: where the bound would rise towards the duals
//! the weight falls, else it grows. After a miss (nothing worthwhile under the duals) it falls step by step to nothing.
//!
//! Paper: papers.md, 12.

use super::master::Pattern;
use super::valuation::Valuation;

/// Weight of the centre at first, and by how much it changes.
const WEIGHT: f64 = 0.5;
const MOST: f64 = 0.9;
const STEP: f64 = 0.1;

/// The centre with its weight.
#[derive(Clone, Debug)]
pub struct Smoothing {
    centre: Valuation,
    weight: f64,
    misses: u32,
    /// The duals on the way to which the last look was.
    duals: Option<Valuation>,
}

impl Smoothing {
    /// Around some values.
    #[must_use]
    pub fn new(centre: Valuation) -> Self {
        Self {
            centre,
            weight: WEIGHT,
            misses: 0,
            duals: None,
        }
    }

    /// A new round: no misses yet.
    pub fn begin(&mut self) {
        self.misses = 0;
    }

    /// Nothing worthwhile was found.
    pub fn miss(&mut self) {
        self.misses += 1;
    }

    /// The weight of the centre now; each miss takes as much off it as the duals had.
    #[must_use]
    pub fn weight(&self) -> f64 {
        let weight = 1.0 - f64::from(self.misses + 1) * (1.0 - self.weight);
        if weight < STEP { 0.0 } else { weight }
    }

    /// The values to look at.
    pub fn between(&mut self, duals: &Valuation) -> Valuation {
        self.duals = Some(duals.clone());
        self.centre.between(duals, self.weight())
    }

    /// Adjusts the weight by the filling that is worth most for its cost under the values between, and by their bound.
    pub fn learn(&mut self, best: Option<&Pattern>, demand: &[u64], bound: f64) {
        let (Some(duals), Some(best)) = (self.duals.take(), best) else {
            return;
        };
        // The bound's slope by a group's value: its demand less what the fillings hold of it that the bound's money buys.
        #[expect(clippy::cast_precision_loss, reason = "guidance only")]
        let float = |amount: u64| amount as f64;
        let way = |group: usize| duals.values[group] - self.centre.values[group];
        let bought = bound / self.centre.costs[best.kind];
        let demand = demand.iter().enumerate();
        let rise: f64 = demand.map(|(group, count)| float(*count) * way(group)).sum();
        let filling = best.filling.iter();
        let held: f64 = filling.map(|(group, count)| float(*count) * way(*group)).sum();
        let slope = rise - bought * held;
        self.weight = if slope > 0.0 {
            (self.weight - STEP).max(0.0)
        } else {
            (self.weight + STEP * (1.0 - self.weight)).min(MOST)
        };
    }

    /// Values with a better bound become the centre.
    pub fn move_to(&mut self, centre: Valuation) {
        self.centre = centre;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(value: f64) -> Valuation {
        Valuation {
            values: vec![value],
            costs: vec![10.0],
        }
    }

    #[test]
    fn misses_lead_to_the_duals_and_a_new_round_back() {
        let mut smoothing = Smoothing::new(at(2.0));
        let mut seen = vec![smoothing.between(&at(4.0)).values[0]];
        while smoothing.weight() > 0.0 {
            smoothing.miss();
            seen.push(smoothing.between(&at(4.0)).values[0]);
        }
        assert_eq!(seen, [3.0, 4.0]);
        smoothing.begin();
        assert!(smoothing.weight() > 0.0);
    }

    #[test]
    fn the_weight_falls_where_the_bound_rises_towards_the_duals() {
        let filling = |count| Pattern {
            kind: 0,
            filling: vec![(0, count)],
        };
        let mut smoothing = Smoothing::new(at(2.0));
        let _ = smoothing.between(&at(4.0));
        // Ten pods are asked for; a bound of 30 buys three fillings, of two pods or of four.
        smoothing.learn(Some(&filling(2)), &[10], 30.0);
        let fallen = smoothing.weight();
        assert!(fallen < WEIGHT, "{fallen}");
        let _ = smoothing.between(&at(4.0));
        smoothing.learn(Some(&filling(4)), &[10], 30.0);
        assert!(smoothing.weight() > fallen);
        // Without a look in between there is nothing to learn.
        let weight = smoothing.weight();
        smoothing.learn(Some(&filling(4)), &[10], 30.0);
        assert!((smoothing.weight() - weight).abs() < 1e-12);
    }
}
