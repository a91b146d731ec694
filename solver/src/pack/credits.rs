//! Farley's bound beside existing nodes and limited offers: what pods on them may be worth is taken off.
//!
//! With values w of pods under which no filling of an unlimited kind is worth more than the kind costs, all pods of a
//! plan are worth Σ w. Those on launched nodes of unlimited kinds are worth what those cost at most. Those on existing
//! nodes that the same profiles may use are worth no more than a knapsack of all their room together holds, and those on
//! a node of a limited offer no more than its knapsack: it saves that less its cost at most, as often as there is
//! one. So cost ≥ Σ w − credits. Knapsacks are bounded by their relaxation with floats, raised as in [`super::knapsack`],
//! and credits are rounded up; the sums are whole numbers.
//!
//! Values that come from what is left beside existing nodes are not yet such: a node may hold more of a group than is left.
//! So all kinds are looked at once more with all pods.
//!
//! Paper: papers.md, 2.

use super::float;
use crate::lower::Problem;
use crate::lower::rules::resources;

use super::effort::Effort;
use super::farley::Farley;
use super::generator::{Generator, Look};
use super::knapsack::{Item, Knapsack, quick_bound};
use super::room_volume::{Volume, volumes};
use super::valuation::Valuation;

/// How hard to look once more: what it doesn't close comes off the bound.
const LOOK: Look = Look {
    share: 1.0,
    nodes: 1_000,
    keep: 1,
    kicks: 2,
};

/// The bound with all that spoils it taken off; `None` where the effort is used up.
pub fn settled(
    problem: &Problem<'_>,
    generator: &mut Generator<'_>,
    farley: Farley,
    effort: &mut Effort<'_>,
) -> Option<Farley> {
    if problem.rooms.is_empty() && problem.supplies.is_empty() {
        return Some(farley);
    }
    let counts = problem.counts();
    let values = Valuation::new(problem, farley.values());
    let found = generator.look(&values, &counts, LOOK, effort)?;
    let farley = Farley::new(&values.values, found.excess);
    // Rounded up, since they are worth at least what the bound counts.
    let worth: Vec<f64> = farley.values();
    let mut knapsack = Knapsack::default();
    let mut credits = 0.0;
    let groups: Vec<usize> = (0..counts.len())
        .filter(|group| counts[*group] > 0 && worth[*group] > 0.0)
        .collect();
    for volume in volumes(problem, &groups) {
        credits += there(problem, &mut knapsack, &volume, &worth, &counts);
    }
    credits += savings(problem, &mut knapsack, &groups, &worth, &counts);
    Some(farley.less(credits))
}

/// What pods on the rooms of a volume may be worth, in micro-dollars; without end where that is no number.
fn there(
    problem: &Problem<'_>,
    knapsack: &mut Knapsack,
    volume: &Volume,
    worth: &[f64],
    counts: &[u64],
) -> f64 {
    let takes = volume.takes.iter().filter(|(_, copies)| **copies > 0);
    let items: Vec<Item<'_>> = takes
        .map(|(group, copies)| Item {
            group: *group,
            value: worth[*group],
            request: problem.request(*group),
            most: (*copies).min(counts[*group]),
        })
        .collect();
    let all: f64 = items.iter().map(|item| item.value * float(item.most)).sum();
    if !all.is_finite() {
        return f64::INFINITY;
    }
    let free = volume.free.iter().map(|free| u64::try_from(*free));
    match free.collect::<Result<Vec<u64>, _>>() {
        Ok(free) => bounded(knapsack, &free, &items).min(all),
        Err(_) => all,
    }
}

/// What limited offers may save, in micro-dollars; without end where a bound is no number, so that no bound is left.
fn savings(
    problem: &Problem<'_>,
    knapsack: &mut Knapsack,
    groups: &[usize],
    worth: &[f64],
    counts: &[u64],
) -> f64 {
    let mut savings = vec![0.0_f64; problem.supplies.len()];
    for (at, kind) in problem.kinds.iter().enumerate() {
        let Some(supply) = kind.supply else { continue };
        let room = problem.room(at);
        let groups = groups.iter().filter(|group| problem.usable[**group].contains(at));
        let items: Vec<Item<'_>> = groups
            .map(|group| Item {
                group: *group,
                value: worth[*group],
                request: problem.request(*group),
                most: resources::copies(problem.request(*group), room).min(counts[*group]),
            })
            .filter(|item| item.most > 0)
            .collect();
        let saving = bounded(knapsack, room, &items) - float(kind.cost);
        if !saving.is_finite() {
            return f64::INFINITY;
        }
        savings[supply] = savings[supply].max(saving);
    }
    let each = savings.iter().zip(&problem.supplies);
    each.map(|(saving, number)| saving * float(*number)).sum()
}

fn bounded(knapsack: &mut Knapsack, room: &[u64], items: &[Item<'_>]) -> f64 {
    let multipliers = knapsack.multipliers(room, items);
    quick_bound(&multipliers, room, items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::lower;
    use crate::options::PlanOptions;
    use crate::pack::valuation::Rules;
    use crate::quota::Unlimited;
    use crate::testing::build::{Cluster, machine};

    fn cluster() -> Cluster {
        Cluster::new()
            .instance_type(machine("small", "2", "8Gi", "0.1"))
            .pool("default")
    }

    /// The bound for all pods, from values in micro-dollars.
    fn bound(cluster: Cluster, values: &[f64]) -> u64 {
        let snapshot = cluster.freeze();
        let problem = lower(&snapshot);
        let counts = problem.counts();
        let mut generator = Generator::new(&problem, &counts, Rules::default()).unwrap();
        let options = PlanOptions::default();
        let mut effort = Effort::new(&options, &Unlimited);
        let farley = Farley::new(values, 1.0);
        let settled = settled(&problem, &mut generator, farley, &mut effort).unwrap();
        settled.bound(&counts)
    }

    #[test]
    fn room_on_nodes_that_exist_comes_off() {
        // Ten pods of a half node each; the node there takes two.
        let alone = bound(cluster().pods("web", 10, "1", "1Gi"), &[50_000.0]);
        assert_eq!(alone, 500_000);
        let beside = cluster().node("n1", "default", "small", "zone-a");
        let beside = bound(beside.pods("web", 10, "1", "1Gi"), &[50_000.0]);
        assert!((399_990..=400_000).contains(&beside), "{beside}");
    }

    #[test]
    fn values_that_are_too_high_for_all_pods_are_lowered() {
        // Under what is left a node may have held one pod; of all pods it holds two.
        let beside = cluster().node("n1", "default", "small", "zone-a");
        let beside = bound(beside.pods("web", 10, "1", "1Gi"), &[100_000.0]);
        assert!((399_990..=400_000).contains(&beside), "{beside}");
    }

    #[test]
    fn worth_that_is_no_number_leaves_no_bound() {
        let mut machine = machine("small", "2", "8Gi", "0.1");
        machine.offerings.truncate(1);
        machine.offerings[0].limit = Some(3);
        let snapshot = Cluster::new()
            .instance_type(machine)
            .pool("default")
            .pods("web", 10, "1", "1Gi")
            .freeze();
        let problem = lower(&snapshot);
        assert_eq!(problem.supplies, [3]);
        let saved = |worth: f64| savings(&problem, &mut Knapsack::default(), &[0], &[worth], &[10]);
        // Two pods of 0.08 on a node of 0.1.
        assert!((saved(80_000.0) - 180_000.0).abs() < 1.0);
        assert!(saved(f64::MAX).is_infinite());
        let none = Farley::new(&[60_000.0], 1.0).less(saved(f64::MAX));
        assert_eq!(none.bound(&[10]), 0);
    }
}
