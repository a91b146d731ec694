//! A bound at once: one price λ for each resource, whatever the kind of node.
//!
//! For when there is no time to look at every group for every kind. The inequality that [`super`] rests on holds all the
//! same: λ is scaled down until no kind of unlimited number holds more worth than it costs, kinds of limited number save
//! what they hold beyond that, and all existing nodes melt into one volume.
//!
//! Promises: valid for every packing, in integers, and lower than what the program of prices gives. Takes looks at groups
//! and at kinds, never at pairs of them. Knows of no whole nodes.
//!
//! Paper: papers.md, 3 (bounds for vector packing).

use fixedbitset::FixedBitSet;

use crate::lower::Problem;

use super::super::room_volume::Volume;
use super::super::whole_nodes::Alone;
use super::{Prices, SCALE_BITS, dearest, program_over, scale_down, worth};

/// The prices for placing so many pods of each group; `None` where there is nothing to launch for, or no bound.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded towards zero on purpose; no price is negative, and any price will do"
)]
pub fn prices(problem: &Problem<'_>, counts: &[u64]) -> Option<Prices> {
    let is_wanted = |group: &usize| counts[*group] > 0 && !problem.usable[*group].is_clear();
    let wanted: Vec<usize> = (0..counts.len()).filter(is_wanted).collect();
    if wanted.is_empty() {
        return None;
    }
    let volumes: Vec<Volume> = all_rooms(problem, counts).into_iter().collect();
    let is_unlimited = |kind: usize| problem.kinds[kind].supply.is_none();
    let is_priced = |group: &usize| problem.usable[*group].ones().any(is_unlimited);
    let priced: Vec<usize> = wanted.into_iter().filter(is_priced).collect();
    let items = if priced.is_empty() { vec![] } else { vec![priced] };
    let program = program_over(problem, counts, &problem.usable, &volumes, items);
    let scale = (1_u64 << SCALE_BITS) as f64 * dearest(problem) as f64;
    let start = program.start();
    let mut lambda: Vec<u128> = start.into_iter().map(|price| (price * scale) as u128).collect();
    let limit = |kind: usize| u128::from(problem.kinds[kind].cost) << SCALE_BITS;
    for kind in (0..problem.kinds.len()).filter(|kind| is_unlimited(*kind)) {
        // Prices only fall: kinds that were looked at before stay served.
        scale_down(&mut lambda, problem.room(kind), limit(kind))?;
    }
    let mut savings = vec![0_u128; problem.supplies.len()];
    for (index, kind) in problem.kinds.iter().enumerate() {
        if let Some(supply) = kind.supply {
            let beyond = worth(&lambda, problem.room(index))?.saturating_sub(limit(index));
            savings[supply] = savings[supply].max(beyond);
        }
    }
    let of_group = |group: usize| {
        if problem.usable[group].is_clear() {
            Some(0)
        } else {
            worth(&lambda, problem.request(group))
        }
    };
    let most = |volume: Volume| {
        let most = worth(&lambda, &volume.free);
        (volume, most)
    };
    Some(Prices {
        mu: (0..counts.len()).map(of_group).collect::<Option<Vec<u128>>>()?,
        alone: vec![Alone::default(); counts.len()],
        savings,
        covers: Vec::new(),
        volumes: volumes.into_iter().map(most).collect(),
    })
}

/// What is free in all existing nodes together; any number of pods of a group that may use one counts as fitting.
fn all_rooms(problem: &Problem<'_>, counts: &[u64]) -> Option<Volume> {
    let mut open = FixedBitSet::with_capacity(problem.profiles.len());
    let mut free = vec![0_u128; problem.resources.len()];
    for room in &problem.rooms {
        open.union_with(&room.profiles);
        for (sum, free) in free.iter_mut().zip(&room.free) {
            *sum += u128::from(*free);
        }
    }
    let groups = (0..counts.len()).filter(|group| open.contains(problem.groups[*group].profile));
    let volume = Volume {
        free,
        takes: groups.map(|group| (group, u64::MAX)).collect(),
    };
    (!volume.takes.is_empty()).then_some(volume)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prop_assert;

    use super::*;
    use crate::lower::lower;
    use crate::options::PlanOptions;
    use crate::pack::effort::Effort;
    use crate::pack::{density, karpenter_order, search};
    use crate::quota::Unlimited;
    use crate::testing::build::{Cluster, machine};
    use crate::testing::strategies::{Ingredients, check_cases, cluster};

    #[test]
    fn no_packing_costs_less() {
        let above_half = Cell::new(0);
        check_cases(600, &cluster(Ingredients::SMALL), |snapshot| {
            let problem = lower(&snapshot);
            let Some(prices) = prices(&problem, &problem.counts()) else {
                return Ok(());
            };
            let options = PlanOptions::default();
            let mut effort = Effort::new(&options, &Unlimited);
            let filler = search::filler(&problem, &prices.values());
            let dense = density::pack(&problem, &filler, &mut effort);
            let improved = search::improved(&problem, &mut filler.clone(), dense, 0, 1, 0, &mut effort);
            for packing in [karpenter_order::pack(&problem, false), improved] {
                let (bound, cost) = (
                    prices.bound(&problem, &packing.placed(&problem)),
                    packing.cost(&problem),
                );
                prop_assert!(bound <= cost, "{bound} over {cost}");
                above_half.set(above_half.get() + u32::from(bound * 2 > cost));
            }
            Ok(())
        });
        assert!(
            above_half.get() > 100,
            "{} bounds say something",
            above_half.get()
        );
    }

    #[test]
    fn pods_that_fill_nodes_to_the_brim_cost_what_the_nodes_do() {
        let snapshot = Cluster::new()
            .instance_type(machine("small", "2", "8Gi", "0.1"))
            .instance_type(machine("large", "4", "16Gi", "0.3"))
            .pool("default")
            .pods("web", 10, "1", "1Gi")
            .freeze();
        let problem = lower(&snapshot);
        let bound = prices(&problem, &[10]).map(|prices| prices.bound(&problem, &[10]));
        assert_eq!(bound, Some(500_000));
    }
}
