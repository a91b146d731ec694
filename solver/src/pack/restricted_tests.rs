//! Tests of the restricted master: exact where it knows every filling, never worse than its start, quiet when stopped.

use super::*;
use crate::lower::lower;
use crate::options::PlanOptions;
use crate::pack::karpenter_order;
use crate::pack::mip::starts::scattered;
use crate::pack::random::Random;
use crate::quota::{Quota, Unlimited, WorkLimit};
use crate::testing::build::{Cluster, machine};
use crate::testing::synthetic::{self, Ingredients};
use crate::testing::synthetic_exact;

/// A quota that answers so from some question on.
struct Over(std::cell::Cell<u32>);

impl Quota for Over {
    fn elapsed(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }

    fn remaining(&self) -> Option<std::time::Duration> {
        self.0.set(self.0.get().saturating_sub(1));
        (self.0.get() == 0).then_some(std::time::Duration::ZERO)
    }
}

/// All that some kind can hold.
fn every_pattern(problem: &Problem<'_>) -> Vec<Pattern> {
    let mut all = Vec::new();
    for kind in 0..problem.kinds.len() {
        let mut fillings = vec![Filling::new()];
        for (group, pods) in problem.counts().into_iter().enumerate() {
            let more: Vec<Filling> = fillings
                .iter()
                .flat_map(|filling| {
                    (1..=pods).map(move |count| [filling.as_slice(), &[(group, count)]].concat())
                })
                .collect();
            fillings.extend(more);
        }
        fillings.retain(|filling| {
            let mut groups = filling.iter().map(|(group, _)| *group);
            !filling.is_empty()
                && groups.all(|group| mip::goes_to(problem, group, kind))
                && verdict::on_node(problem, Place::Kind(kind), filling).is_empty()
        });
        all.extend(fillings.into_iter().map(|filling| Pattern { kind, filling }));
    }
    all
}

fn improved(problem: &Problem<'_>, patterns: &[Pattern], start: &Packing) -> Option<Packing> {
    let options = PlanOptions::default();
    let mut effort = Effort::new(&options, &Unlimited);
    improve(problem, patterns, &[start], &mut effort).unwrap()
}

const SOME: Ingredients = Ingredients {
    supplies: true,
    limits: true,
    caps: true,
    conflicts: true,
    penalties: true,
    soft: true,
    rooms: true,
    spreads: false,
    together: false,
    apart: false,
    rows: false,
    bound: false,
    near: false,
    beside: false,
};

#[test]
fn with_every_filling_it_finds_the_optimum() {
    let mut random = Random::new(5);
    let (mut compared, mut better) = (0, 0);
    for case in 0..400 {
        let with = Ingredients { rooms: false, ..SOME }.some(&mut random);
        let snapshot = synthetic::cluster(&mut random, with);
        let mut problem = synthetic::problem(&snapshot);
        let start = scattered(&problem, &mut random);
        problem.side = synthetic::side(&mut random, &problem, with);
        // The greedy knows no side rows: where it breaks some there is nothing to start from.
        if !verdict::broken(&problem, &start).is_empty() {
            continue;
        }
        let exact = synthetic_exact::optimum(&problem).unwrap();
        let found = improved(&problem, &every_pattern(&problem), &start);
        let best = found.as_ref().unwrap_or(&start);
        if best.left != exact.packing.left {
            continue;
        }
        compared += 1;
        better += u32::from(found.is_some());
        assert_eq!(
            best.cost(&problem),
            exact.cost,
            "{case}: {best:?}, and there is {:?}",
            exact.packing
        );
    }
    assert!(
        compared > 200 && better > 30,
        "{compared} compared, {better} better than the start"
    );
}

#[test]
fn with_some_fillings_it_is_sound_and_no_worse_than_its_start() {
    let mut random = Random::new(6);
    let mut better = 0;
    for case in 0..300 {
        let with = SOME.some(&mut random);
        let snapshot = synthetic::cluster(&mut random, with);
        let mut problem = synthetic::problem(&snapshot);
        let start = scattered(&problem, &mut random);
        problem.side = synthetic::side(&mut random, &problem, with);
        if !verdict::broken(&problem, &start).is_empty() {
            continue;
        }
        let mut patterns = every_pattern(&problem);
        patterns.retain(|_| random.below(3) == 0);
        let Some(packing) = improved(&problem, &patterns, &start) else {
            continue;
        };
        better += 1;
        assert!(packing.is_better_than(&start, &problem), "{case}");
        assert_eq!(verdict::broken(&problem, &packing), [], "{case}: {packing:?}");
        assert_eq!(
            (&packing.rooms, &packing.left),
            (&start.rooms, &start.left),
            "{case}"
        );
        assert_eq!(
            improved(&problem, &patterns, &start).as_ref(),
            Some(&packing),
            "{case}: again"
        );
    }
    assert!(better > 20, "{better} are better");
}

#[test]
fn other_packings_lend_their_fillings() {
    let snapshot = Cluster::new()
        .instance_type(machine("small", "2", "8Gi", "0.1"))
        .instance_type(machine("large", "4", "16Gi", "0.15"))
        .pool("default")
        .pods("web", 8, "1", "1Gi")
        .freeze();
    let problem = lower(&snapshot);
    let packed = |kind: usize, each: u64, count: u64| Packing {
        launched: vec![Launched {
            kind,
            filling: vec![(0, each)],
            count,
        }],
        left: vec![0],
        ..Packing::default()
    };
    let (start, other) = (packed(0, 2, 4), packed(1, 4, 2));
    let options = PlanOptions::default();
    let mut effort = Effort::new(&options, &Unlimited);
    let best = improve(&problem, &[], &[&start, &other], &mut effort).unwrap();
    assert_eq!(best, Some(other));
    assert!(effort.left() < u64::MAX, "what it did was counted");
}

fn cluster() -> Cluster {
    Cluster::new()
        .instance_type(machine("small", "2", "8Gi", "0.1"))
        .instance_type(machine("large", "4", "16Gi", "0.15"))
        .pool("default")
        .pods("web", 7, "1", "1Gi")
}

#[test]
fn pods_covered_twice_are_left_out_and_their_node_becomes_smaller() {
    let snapshot = cluster().freeze();
    let problem = lower(&snapshot);
    let start = Packing {
        launched: vec![Launched {
            kind: 0,
            filling: vec![(0, 1)],
            count: 7,
        }],
        left: vec![0],
        ..Packing::default()
    };
    // Two of four cover eight; one too many.
    let large = Pattern {
        kind: 1,
        filling: vec![(0, 4)],
    };
    let best = improved(&problem, &[large], &start).unwrap();
    assert_eq!(verdict::broken(&problem, &best), []);
    assert_eq!(best.cost(&problem), 300_000);
    let with_five = cluster().pods("db", 1, "3", "1Gi").freeze();
    let problem = lower(&with_five);
    let mut launched = vec![
        Launched {
            kind: 1,
            filling: vec![(0, 1), (1, 4)],
            count: 1,
        },
        Launched {
            kind: 1,
            filling: vec![(1, 4)],
            count: 2,
        },
    ];
    leave_out(&mut launched, 1, 6);
    let left = Packing {
        launched,
        ..Packing::default()
    };
    let all: Vec<(Filling, u64)> = left
        .launched
        .iter()
        .map(|one| (one.filling.clone(), one.count))
        .collect();
    // The node without others is emptied first, the next keeps two; the mixed one stays.
    assert_eq!(all, [(vec![(0, 1), (1, 4)], 1), (vec![(1, 2)], 1)]);
    drop(problem);
}

#[test]
fn what_is_stopped_or_has_no_effort_offers_nothing() {
    let snapshot = cluster().freeze();
    let problem = lower(&snapshot);
    let start = karpenter_order::pack(&problem, false);
    let patterns = every_pattern(&problem);
    let options = PlanOptions::default();
    let over = Over(std::cell::Cell::new(1));
    let mut effort = Effort::new(&options, &over);
    assert_eq!(improve(&problem, &patterns, &[&start], &mut effort), Ok(None));
    let options = PlanOptions {
        work_limit: WorkLimit(Some(10)),
        ..options
    };
    let mut effort = Effort::new(&options, &Unlimited);
    assert_eq!(improve(&problem, &patterns, &[&start], &mut effort), Ok(None));
    assert_eq!(improve(&problem, &patterns, &[], &mut effort), Ok(None));
}

#[test]
fn what_the_relaxation_uses_is_chosen_and_what_costs_more_than_is_to_gain_is_not() {
    let snapshot = cluster().freeze();
    let problem = lower(&snapshot);
    let start = Packing {
        launched: vec![Launched {
            kind: 0,
            filling: vec![(0, 2)],
            count: 4,
        }],
        left: vec![0],
        ..Packing::default()
    };
    let pattern = |kind: usize, count: u64| Pattern {
        kind,
        filling: vec![(0, count)],
    };
    let options = PlanOptions::default();
    let mut effort = Effort::new(&options, &Unlimited);
    let restricted = Restricted::new(&problem, &[&start]);
    // Eight pods (the start has one more than there are) at 37 500 each are 300 000 together.
    let all = [
        pattern(1, 1),
        pattern(0, 1),
        pattern(1, 4),
        pattern(0, 2),
        pattern(1, 3),
    ];
    let mut chosen = |cost: u64| {
        let chosen = restricted.choose(&all, cost, &mut effort).unwrap().unwrap();
        assert!((chosen[1].1 - 2.0).abs() < 1e-6, "{chosen:?}");
        let patterns = chosen.into_iter().map(|(pattern, _)| pattern);
        patterns.collect::<Vec<Pattern>>()
    };
    let used = [pattern(0, 2), pattern(1, 4)];
    let all = chosen(start.cost(&problem));
    assert_eq!(all[..2], used);
    // One alone on a large node costs 112 500 more than it is worth, and 100 000 are to gain.
    assert_eq!(all[2..], [pattern(1, 3), pattern(0, 1)]);
    // Three on a large node cost 37 500 more than they are worth, and only 30 000 are to gain.
    assert_eq!(chosen(330_000), used);
}
