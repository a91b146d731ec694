//! A lower bound for packings with side rows, exact.
//!
//! Take any values v of the groups and duals y of the [`Linear`] rows; y ≥ 0 where a row has no upper bound, y ≤ 0 where
//! it has no lower one. A packing puts a pods of group s on node n of place p(n), at a cost of c_p for the node and q_sp
//! for each pod's penalty. With row coefficients A of pods and N of nodes let
//!
//! W_sp = v_s − q_sp + Σ y·A and u_p ≥ max Σ a·W_sp + Σ y·N over all that a node of place p may hold.
//!
//! Let θ ≥ 1 be at least u_p / c_p for every kind that costs something and is there in any number. Then for each node of
//! such a kind Σ a·(v_s + Σ y·A) + Σ y·N ≤ u_p + Σ a·q ≤ θ·c_p + θ·Σ a·q: θ times what the node costs. For a room, and
//! for a kind of limited number, the same holds with a credit of (u_p − c_p)⁺ more on the right, and there are only so
//! many of them. Summed over all nodes, with b the side of each row that y stands for and g·z what auxiliary variables z
//! count in a row,
//!
//! Σ v·placed + Σ y·(b − g·z) ≤ Σ v·placed + Σ y·(what pods and nodes count) ≤ θ·(cost − Σ f·z) + credits,
//!
//! where z costs f. As θ ≥ 1, cost ≥ (Σ v·placed + Σ y·b + Σ min over z of (f − Σ y·g)·z − credits) / θ: Farley's
//! bound, and Lagrange's where nodes are limited. Excesses of caps that cost only add to the cost of a node, so leaving
//! them out of W or taking them in are both valid. Values and duals are whole numbers here, of 2⁻²⁰ micro-dollars; u
//! comes from floats and is rounded up.
//!
//! Paper: papers.md, 2.

use crate::lower::Problem;
use crate::lower::side::Place;

use super::linear::Linear;

/// Units of a micro-dollar, as bits.
const SCALE_BITS: u32 = 20;
/// Units of θ, as bits.
const SHARE_BITS: u32 = 32;
/// Beyond this many units a value says nothing and could leave the range.
const MOST: f64 = 1e24;
/// The same in micro-dollars, rounded down.
const MOST_MICROS: f64 = 9.5e17;

/// Values of groups and duals of rows in whole numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values {
    /// By group, in units.
    groups: Vec<i128>,
    /// By row, in units.
    rows: Vec<i128>,
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "any whole numbers near these do"
)]
fn units(micros: f64) -> i128 {
    let units = micros * (1_u64 << SCALE_BITS) as f64;
    if units.is_finite() {
        // Beyond the range any value will do: what no filling exceeds is held against the range before.
        units.clamp(-MOST, MOST) as i128
    } else {
        0
    }
}

/// No less than so many micro-dollars, in units; `None` beyond the range.
fn units_at_least(micros: f64) -> Option<i128> {
    (micros < MOST_MICROS).then(|| units(micros.max(0.0)) + 1)
}

fn scaled(micros: u64) -> i128 {
    i128::from(micros) << SCALE_BITS
}

impl Values {
    /// From micro-dollars a pod and a unit of each row; what has the wrong sign is taken as nothing.
    #[must_use]
    pub fn new(linear: &Linear, groups: &[f64], rows: &[f64]) -> Self {
        let signed = |(row, value): (usize, &f64)| {
            let value = units(*value);
            let bounds = &linear.rows[row];
            let value = if bounds.lower.is_none() {
                value.min(0)
            } else {
                value
            };
            if bounds.upper.is_none() {
                value.max(0)
            } else {
                value
            }
        };
        Self {
            groups: groups.iter().map(|value| units(*value)).collect(),
            rows: rows.iter().enumerate().map(signed).collect(),
        }
    }

    /// W: what a pod is worth in a place beyond its penalty, in units.
    fn pod_units(&self, problem: &Problem<'_>, linear: &Linear, group: usize, place: Place) -> i128 {
        let of_rows = linear
            .pod(group, place)
            .map(|(row, coefficient)| self.rows[row].saturating_mul(i128::from(coefficient)));
        let penalty = scaled(problem.side.penalty(group, place));
        of_rows.fold(self.groups[group] - penalty, i128::saturating_add)
    }

    /// The same in micro-dollars, no lower than it is.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "raised by more than this loses")]
    pub fn pod(&self, problem: &Problem<'_>, linear: &Linear, group: usize, place: Place) -> f64 {
        let units = self.pod_units(problem, linear, group, place) as f64;
        let raised = if units > 0.0 { units * (1.0 + 1e-15) } else { units };
        raised / (1_u64 << SCALE_BITS) as f64
    }

    /// What a node is worth by the rows that it counts in, in units.
    fn node_units(&self, linear: &Linear, place: Place) -> i128 {
        let parts = linear.node(place).iter();
        parts
            .map(|(row, coefficient)| self.rows[*row].saturating_mul(i128::from(*coefficient)))
            .fold(0, i128::saturating_add)
    }

    /// What the pods of a node have to be worth for the node to pay, in micro-dollars.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "guidance only")]
    pub fn node_cost(&self, problem: &Problem<'_>, linear: &Linear, place: Place) -> f64 {
        let units = price(problem, place).saturating_sub(self.node_units(linear, place));
        units as f64 / (1_u64 << SCALE_BITS) as f64
    }
}

/// What a node costs by itself, in units.
fn price(problem: &Problem<'_>, place: Place) -> i128 {
    match place {
        Place::Kind(kind) => scaled(problem.kinds[kind].cost),
        Place::Room(_) => 0,
    }
}

/// The bound, for any number of pods placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    values: Values,
    /// Σ y·b + what auxiliary variables can save − credits, in units.
    constant: i128,
    /// θ in 2⁻³² parts.
    theta: i128,
}

impl Bound {
    /// From values and, for each place, micro-dollars that no filling of it is worth more than, rows of nodes apart.
    /// `None` where a kind that costs nothing is there in any number and worth something, or a number leaves the range.
    #[must_use]
    pub fn new(
        problem: &Problem<'_>,
        linear: &Linear,
        values: Values,
        most: &[(Place, f64)],
    ) -> Option<Self> {
        let mut theta = 1_i128 << SHARE_BITS;
        let mut credits = 0_i128;
        let mut of_supplies = vec![0_i128; problem.supplies.len()];
        for (place, most) in most {
            let worth = units_at_least(*most)?.checked_add(values.node_units(linear, *place))?;
            let price = price(problem, *place);
            match place {
                Place::Room(_) => credits = credits.checked_add(worth.max(0))?,
                Place::Kind(kind) => match problem.kinds[*kind].supply {
                    Some(supply) => {
                        of_supplies[supply] = of_supplies[supply].max(worth.saturating_sub(price));
                    }
                    None if worth <= price => {}
                    None if price == 0 => return None,
                    None => theta = theta.max(worth.checked_mul(1 << SHARE_BITS)? / price + 1),
                },
            }
        }
        for (credit, number) in of_supplies.iter().zip(&problem.supplies) {
            credits = credits.checked_add(credit.checked_mul(i128::from(*number))?)?;
        }
        let mut constant = -credits;
        let mut costs: Vec<i128> = linear.auxiliaries.iter().map(|one| scaled(one.cost)).collect();
        for (bounds, dual) in linear.rows.iter().zip(&values.rows) {
            let side = if *dual > 0 { bounds.lower } else { bounds.upper };
            constant = constant.checked_add(dual.checked_mul(i128::from(side.unwrap_or(0)))?)?;
            for (auxiliary, coefficient) in &bounds.auxiliaries {
                let counted = dual.checked_mul(i128::from(*coefficient))?;
                costs[*auxiliary] = costs[*auxiliary].checked_sub(counted)?;
            }
        }
        for (auxiliary, cost) in linear.auxiliaries.iter().zip(costs) {
            constant = constant.checked_add(cost.min(0).checked_mul(i128::from(auxiliary.upper))?)?;
        }
        Some(Self {
            values,
            constant,
            theta,
        })
    }

    /// Micro-dollars that any packing with so many pods placed costs at least.
    #[must_use]
    pub fn bound(&self, placed: &[u64]) -> u64 {
        self.sum(placed).unwrap_or(0)
    }

    fn sum(&self, placed: &[u64]) -> Option<u64> {
        let mut sum = self.constant;
        for (value, count) in self.values.groups.iter().zip(placed) {
            sum = sum.checked_add(value.checked_mul(i128::from(*count))?)?;
        }
        let units = sum.max(0).checked_mul(1 << SHARE_BITS)? / self.theta;
        // A cost is a whole number of micro-dollars.
        let up = (1_i128 << SCALE_BITS) - 1;
        u64::try_from((units + up) >> SCALE_BITS).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::side::{Excess, NodeTerm, Row};
    use crate::testing::synthetic::{Synthetic, problem, zone_spread};

    /// Nodes of four pods for 0.1, three of them for nothing.
    fn with_reservation() -> Synthetic {
        let machine = Synthetic::new()
            .machine("m", 4)
            .offer("m", "zone-b", 100_000, None);
        machine.offer("m", "zone-a", 0, Some(3)).pods("web", 20, 1_000)
    }

    fn bound(problem: &Problem<'_>, value: f64, rows: &[f64], most: f64, placed: u64) -> Option<u64> {
        let linear = Linear::of(problem);
        let values = Values::new(&linear, &[value], rows);
        let kinds = (0..problem.kinds.len()).map(|kind| (Place::Kind(kind), most));
        let most: Vec<(Place, f64)> = kinds.collect();
        Bound::new(problem, &linear, values, &most).map(|bound| bound.bound(&[placed]))
    }

    #[test]
    fn nodes_of_limited_number_are_credited_by_dual_or_by_number() {
        let snapshot = with_reservation().freeze();
        let problem = problem(&snapshot);
        // Pods at a quarter of a node; the dual of the supply takes what a reserved node saves, or the credit does.
        assert_eq!(
            bound(&problem, 25_000.0, &[-100_000.0], 100_000.0, 20),
            Some(200_000)
        );
        assert_eq!(bound(&problem, 25_000.0, &[0.0], 100_000.0, 20), Some(200_000));
        // A dual of the wrong sign counts as none.
        assert_eq!(
            bound(&problem, 25_000.0, &[50_000.0], 100_000.0, 20),
            Some(200_000)
        );
        // Values that a filling exceeds are scaled down: here by two.
        assert_eq!(
            bound(&problem, 50_000.0, &[-200_000.0], 200_000.0, 20),
            Some(200_000)
        );
    }

    #[test]
    fn what_is_free_in_any_number_bounds_nothing() {
        let snapshot = with_reservation().freeze();
        let mut problem = problem(&snapshot);
        problem.kinds[0].supply = None;
        problem.supplies.clear();
        assert_eq!(bound(&problem, 25_000.0, &[], 100_000.0, 20), None);
        assert_eq!(bound(&problem, 25_000.0, &[], f64::NAN, 20), None);
    }

    #[test]
    fn what_leaves_the_range_bounds_nothing() {
        let snapshot = with_reservation().freeze();
        let mut problem = problem(&snapshot);
        for kind in &mut problem.kinds {
            kind.supply = None;
            kind.cost = 500_000_000_000_000_000;
        }
        problem.supplies.clear();
        // As dear as numbers go: what a filling is worth may not be cut off.
        let cost = 5e17;
        let bounded = bound(&problem, cost / 2.0, &[], cost, 20).unwrap();
        assert!((4_999_999_990_000_000_000..=5_000_000_000_000_000_000).contains(&bounded));
        assert_eq!(bound(&problem, cost * 2.0, &[], cost * 4.0, 20), None);
        assert_eq!(bound(&problem, cost * 2.0, &[], 1e23, 20), None);
    }

    #[test]
    fn a_row_on_nodes_counts_on_both_sides() {
        let machine = Synthetic::new()
            .machine("m", 4)
            .offer("m", "zone-a", 100_000, None);
        let snapshot = machine.pods("web", 4, 1_000).freeze();
        let mut problem = problem(&snapshot);
        let mut kinds = fixedbitset::FixedBitSet::with_capacity(1);
        kinds.insert(0);
        problem.side.rows.push(Row {
            nodes: vec![NodeTerm {
                kinds,
                coefficient: 1,
            }],
            lower: Some(3),
            ..Row::default()
        });
        // Three nodes at least, whatever pods are worth.
        assert_eq!(bound(&problem, 0.0, &[100_000.0], 0.0, 4), Some(300_000));
        // Half of it by the row, half by the pods: worse, but true.
        assert_eq!(bound(&problem, 12_500.0, &[50_000.0], 50_000.0, 4), Some(200_000));
    }

    #[test]
    fn steps_of_skew_that_cost_are_counted() {
        let machine = Synthetic::new()
            .machine("m", 4)
            .offer("m", "zone-a", 100_000, None);
        let snapshot = machine.pods("web", 4, 1_000).freeze();
        let mut problem = problem(&snapshot);
        let mut spread = zone_spread(&problem, &["web"], 1);
        spread.domains.truncate(2);
        spread.excess = Excess::Costs(10_000);
        problem.side.spreads.push(spread);
        // All in one of two zones: three steps beyond. Rows: least and most of the one domain, then of the other.
        let rows = [0.0, -10_000.0, 10_000.0, 0.0];
        let worth = 25_000.0 + 10_000.0;
        assert_eq!(bound(&problem, worth, &rows, 100_000.0, 4), Some(130_000));
    }
}
