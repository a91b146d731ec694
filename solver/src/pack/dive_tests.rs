//! Tests of the dive: all pods placed, bound below cost, the same again, and what a deadline leaves.

use super::*;
use crate::lower::lower;
use crate::pack::lower_bound::prices;
use crate::quota::{Quota, WorkLimit};
use crate::testing::build::{Cluster, machine};

const SHARES: Shares = Shares {
    generate: SHARE,
    dive: SHARE,
};

const SHARE: Share = Share {
    units: 1_000_000,
    hundredths: 50,
};

struct Over;

impl Quota for Over {
    fn elapsed(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }

    fn remaining(&self) -> Option<std::time::Duration> {
        Some(std::time::Duration::ZERO)
    }
}

fn cluster() -> Cluster {
    Cluster::new()
        .instance_type(machine("small", "2", "8Gi", "0.1"))
        .instance_type(machine("large", "4", "16Gi", "0.19"))
        .instance_type(machine("lean", "4", "8Gi", "0.15"))
        .pool("default")
        .pods("web", 37, "700m", "1Gi")
        .pods("db", 11, "1", "5Gi")
        .pods("job", 60, "300m", "700Mi")
}

fn packed(cluster: Cluster, quota: &dyn Quota, limit: Option<u64>) -> Vec<(u64, Vec<u64>, u64, Packing)> {
    let snapshot = cluster.freeze();
    let problem = lower(&snapshot);
    let counts = problem.counts();
    let values = prices(
        &problem,
        &counts,
        &mut Effort::new(&PlanOptions::default(), &Unlimited),
    )
    .unwrap()
    .values();
    let filler = Filler::new(&problem, values.clone(), &vec![1e-12; problem.resources.len()]);
    let options = PlanOptions {
        work_limit: WorkLimit(limit),
        ..PlanOptions::default()
    };
    let all = PlanOptions::default();
    let start = density::pack(&problem, &filler, &mut Effort::new(&all, &Unlimited));
    let mut effort = Effort::new(&options, quota);
    let outcome = pack(&problem, &filler, &[&start], &values, SHARES, &mut effort).unwrap();
    let one = |outcome: Outcome| {
        let placed: Vec<u64> = (0..counts.len())
            .map(|group| {
                let launched = outcome.packing.launched.iter();
                let here = launched.flat_map(|launched| {
                    let each = launched.filling.iter().filter(|(other, _)| *other == group);
                    each.map(|(_, count)| count * launched.count)
                });
                let rooms = outcome.packing.rooms.iter().flatten();
                here.sum::<u64>()
                    + rooms
                        .filter(|(other, _)| *other == group)
                        .map(|(_, count)| count)
                        .sum::<u64>()
            })
            .collect();
        let missing = counts.iter().zip(&placed).map(|(count, placed)| count - placed);
        assert_eq!(missing.collect::<Vec<u64>>(), outcome.packing.left);
        let bound = outcome.farley.as_ref().map_or(0, |farley| farley.bound(&placed));
        (
            outcome.packing.cost(&problem),
            outcome.packing.left.clone(),
            bound,
            outcome.packing,
        )
    };
    outcome.into_iter().map(one).collect()
}

#[test]
fn every_pod_is_placed_once_between_bound_and_a_little_more() {
    let (cost, left, bound, _) = packed(cluster(), &Unlimited, None).remove(0);
    assert_eq!(left, [0, 0, 0]);
    assert!(
        bound > 0 && bound <= cost && cost <= bound + bound / 20,
        "{bound} {cost}"
    );
}

#[test]
fn the_same_effort_gives_the_same_packing() {
    for limit in [None, Some(0), Some(5_000), Some(40_000)] {
        let once = packed(cluster(), &Unlimited, limit);
        assert_eq!(once, packed(cluster(), &Unlimited, limit), "{limit:?}");
        for (_, left, _, _) in once {
            assert_eq!(left, [0, 0, 0], "{limit:?}");
        }
    }
}

#[test]
fn a_deadline_long_gone_still_leaves_no_pod_behind() {
    for (_, left, _, _) in packed(cluster(), &Over, None) {
        assert_eq!(left, [0, 0, 0]);
    }
}

#[test]
fn rooms_are_used_and_come_off_the_bound() {
    let (_, _, alone, _) = packed(cluster(), &Unlimited, None).remove(0);
    let with_room = cluster().node("n1", "default", "large", "zone-a");
    let (cost, left, bound, packing) = packed(with_room, &Unlimited, None).remove(0);
    assert_eq!(left, [0, 0, 0]);
    assert!(!packing.rooms[0].is_empty());
    // A large node costs 190 000; filled with parts of pods it is worth a little more.
    assert!(bound + 210_000 >= alone && bound < alone, "{bound} {alone}");
    assert!(bound <= cost, "{bound} {cost}");
}

/// Pods of which three at a time fill a node to the brim, each of another size.
fn triplets(number: u64) -> Cluster {
    let mut cluster = Cluster::new()
        .instance_type(machine("node", "10", "8Gi", "1"))
        .pool("default");
    for at in 0..number {
        let (one, two) = (2_600 + 37 * at % 700, 3_000 + 53 * at % 800);
        for (name, cpu) in [("a", one), ("b", two), ("c", 10_000 - one - two)] {
            cluster = cluster.pods(&format!("{name}{at}"), 1, &format!("{cpu}m"), "1Mi");
        }
    }
    cluster
}

#[test]
fn nodes_that_can_be_filled_to_the_brim_are() {
    let (cost, _, bound, _) = packed(triplets(12), &Unlimited, None).remove(0);
    assert_eq!((cost, bound), (12_000_000, 12_000_000));
}

#[test]
fn six_hundred_groups_are_placed_whatever_the_effort() {
    for limit in [Some(0), Some(2_000_000)] {
        let (cost, left, bound, _) = packed(triplets(200), &Unlimited, limit).remove(0);
        assert!(left.iter().all(|left| *left == 0), "{limit:?}");
        assert!(bound <= cost && cost <= 300_000_000, "{limit:?}: {cost}");
    }
}

#[test]
fn pods_that_ask_for_nothing_and_giants_are_placed_too() {
    let mut cluster = Cluster::new()
        .instance_type(machine("small", "2", "8Gi", "0.1"))
        .instance_type(machine("large", "4", "16Gi", "0.2"))
        .pool("default")
        .pods("nothing", 7, "0", "0")
        .pods("giant", 1, "4", "16Gi");
    // Ties everywhere: all of them are as good as each other.
    for at in 0..20 {
        cluster = cluster.pods(&format!("equal{at}"), 2, "500m", &format!("{}Mi", 100 + at));
    }
    let (cost, left, bound, _) = packed(cluster, &Unlimited, None).remove(0);
    assert!(left.iter().all(|left| *left == 0), "{left:?}");
    // 24 vCPU at 0.05 each and the slots of pods: ten on a node.
    assert!(bound <= cost && cost <= 1_400_000, "{bound} {cost}");
}
