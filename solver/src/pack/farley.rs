//! Farley's bound: values of pods under which no filling of any kind is worth more than the kind costs.
//!
//! With values v ≥ 0 and, for each kind k, a number u_k that no filling of it exceeds, v / θ with
//! θ = max(1, max u_k / c_k) has Σ over the pods on a node ≤ c_k for every node that could be launched. Summed over a
//! plan's nodes: its cost is Σ v / θ over the pods that they hold at least. So it holds as long as all of a plan's pods
//! are on launched nodes, each of a kind that was looked at, and no node holds more of a group than was assumed.
//! Limits only take plans away. Values are kept in whole numbers, rounded down after a division that is rounded
//! against us; the sum over pods is exact. What existing nodes and limited offers take off [`super::credits`] says.
//!
//! Paper: papers.md, 2.

use super::knapsack::OUTWARD;

/// Units of a micro-dollar, as bits.
const SCALE_BITS: u32 = 32;

/// The values, feasible for every kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Farley {
    worth: Vec<u128>,
    /// What may be worth so much without costing it.
    credits: u128,
}

impl Farley {
    /// From values in micro-dollars and the θ that they exceed kinds' costs by.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "rounded down: a lower value keeps every inequality"
    )]
    pub fn new(values: &[f64], excess: f64) -> Self {
        let scale = (1_u64 << SCALE_BITS) as f64;
        let divisor = excess.max(1.0) * OUTWARD;
        let worth = values
            .iter()
            .map(|value| (value.max(0.0) / divisor * scale) as u128);
        Self {
            worth: worth.collect(),
            credits: 0,
        }
    }

    /// The values in micro-dollars, none below what the bound counts.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "raised by more than this loses")]
    pub fn values(&self) -> Vec<f64> {
        let scale = (1_u64 << SCALE_BITS) as f64;
        let worth = self.worth.iter();
        worth.map(|worth| *worth as f64 / scale * OUTWARD).collect()
    }

    /// Less so many micro-dollars, rounded up: what pods may be worth where that costs nothing.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "rounded up: a lower bound stays one; what leaves the range leaves no bound"
    )]
    pub fn less(mut self, credits: f64) -> Self {
        let scale = (1_u64 << SCALE_BITS) as f64;
        self.credits = if credits.is_finite() {
            (credits.max(0.0) * OUTWARD * scale).ceil() as u128
        } else {
            u128::MAX
        };
        self
    }

    /// Micro-dollars that launching nodes for so many pods of each group costs at least.
    #[must_use]
    pub fn bound(&self, placed: &[u64]) -> u64 {
        let mut sum = 0_u128;
        for (worth, count) in self.worth.iter().zip(placed) {
            let part = worth.checked_mul(u128::from(*count));
            let Some(more) = part.and_then(|part| sum.checked_add(part)) else {
                return 0;
            };
            sum = more;
        }
        sum = sum.saturating_sub(self.credits);
        // A cost is a whole number of micro-dollars.
        u64::try_from(sum.div_ceil(1 << SCALE_BITS)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_a_filling_exceeds_are_scaled_down() {
        // Two pods of 0.6 on a node of 1: worth 1.2, so each counts 0.5.
        let farley = Farley::new(&[600_000.0], 1.2);
        assert_eq!(farley.bound(&[4]), 2_000_000);
        assert_eq!(farley.bound(&[3]), 1_500_000);
        assert_eq!(Farley::new(&[600_000.0], 0.9).bound(&[1]), 600_000);
    }

    #[test]
    fn credits_come_off_and_never_below_nothing() {
        let farley = |credits| Farley::new(&[600_000.0], 1.0).less(credits);
        let bound = farley(500_000.0).bound(&[2]);
        assert!((699_998..=700_000).contains(&bound), "{bound}");
        assert_eq!(farley(1_300_000.0).bound(&[2]), 0);
        assert_eq!(farley(f64::NAN).bound(&[2]), 0);
        assert!(farley(0.0).values()[0] >= 600_000.0 * (1.0 - 1e-15));
    }

    #[test]
    fn what_leaves_the_range_bounds_nothing() {
        let farley = Farley::new(&[1e30, f64::NAN, -1.0], 1.0);
        assert_eq!(farley.bound(&[u64::MAX, 1, 1]), 0);
        assert_eq!(farley.bound(&[0, 7, 7]), 0);
    }
}
