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
    let values = prices(&problem, &counts).unwrap().values();
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
fn rooms_are_used_and_no_bound_is_claimed_then() {
    let with_room = cluster().node("n1", "default", "large", "zone-a");
    let (_, left, bound, packing) = packed(with_room, &Unlimited, None).remove(0);
    assert_eq!(left, [0, 0, 0]);
    assert_eq!(bound, 0);
    assert!(!packing.rooms[0].is_empty());
}
