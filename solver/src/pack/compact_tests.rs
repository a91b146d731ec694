//! Tests of the compact program: the optimum of tiny problems, by every back end, and nothing worse than its start.

use super::*;
use crate::lower::lower;
use crate::lp::BackEnd;
use crate::options::PlanOptions;
use crate::pack::karpenter_order;
use crate::pack::mip::starts::scattered;
use crate::pack::random::Random;
use crate::quota::{Quota, Unlimited, WorkLimit};
use crate::testing::build::{Cluster, machine};
use crate::testing::synthetic::{self, Ingredients};
use crate::testing::synthetic_exact;

const SOME: Ingredients = Ingredients {
    supplies: true,
    limits: true,
    caps: true,
    rooms: true,
    conflicts: false,
    penalties: false,
    soft: false,
    spreads: false,
    together: false,
    apart: false,
    rows: false,
    bound: false,
    near: false,
    beside: false,
};

fn improved(problem: &Problem<'_>, start: &Packing) -> Option<Outcome> {
    let options = PlanOptions::default();
    improve(problem, start, &mut Effort::new(&options, &Unlimited)).unwrap()
}

fn nodes(packing: &Packing) -> u64 {
    packing.launches()
}

#[test]
fn it_finds_the_optimum_by_whichever_back_end() {
    let mut random = Random::new(8);
    let (mut compared, mut better) = (0, 0);
    for case in 0..300 {
        let with = Ingredients { rooms: false, ..SOME }.some(&mut random);
        let snapshot = synthetic::cluster(&mut random, with);
        let mut problem = synthetic::problem(&snapshot);
        let start = scattered(&problem, &mut random);
        problem.side = synthetic::side(&mut random, &problem, with);
        if start.launched.is_empty() || !verdict::broken(&problem, &start).is_empty() {
            continue;
        }
        let exact = synthetic_exact::optimum(&problem).unwrap();
        let within = nodes(&exact.packing) <= nodes(&start) + 2;
        let outcome = improved(&problem, &start).unwrap();
        let best = outcome.packing.as_ref().unwrap_or(&start);
        if best.left != exact.packing.left || !within {
            assert!(best.cost(&problem) >= exact.cost || best.left.iter().sum::<u64>() > exact.left);
            continue;
        }
        compared += 1;
        better += u32::from(outcome.packing.is_some());
        assert_eq!(
            best.cost(&problem),
            exact.cost,
            "{case}: {best:?}, and there is {:?}",
            exact.packing
        );
        let hint = outcome.hint.unwrap();
        assert!(
            hint <= exact.cost && hint + 2 >= exact.cost,
            "{case}: {hint} for {}",
            exact.cost
        );
        if compared <= 60 {
            let compact = Compact::new(&problem, &start).unwrap();
            for back_end in BackEnd::ALL {
                let answer = compact.program.solve(*back_end, Some(&compact.start), None);
                let answer = answer.unwrap().unwrap();
                assert_eq!(answer.cost, i128::from(exact.cost), "{case}: {back_end:?}");
            }
        }
    }
    assert!(
        compared > 120 && better > 20,
        "{compared} compared, {better} better than the start"
    );
}

#[test]
fn it_is_sound_and_no_worse_than_its_start() {
    let mut random = Random::new(9);
    let mut better = 0;
    for case in 0..200 {
        let with = SOME.some(&mut random);
        let snapshot = synthetic::cluster(&mut random, with);
        let mut problem = synthetic::problem(&snapshot);
        let start = scattered(&problem, &mut random);
        problem.side = synthetic::side(&mut random, &problem, with);
        if start.launched.is_empty() || !verdict::broken(&problem, &start).is_empty() {
            continue;
        }
        let Some(packing) = improved(&problem, &start).unwrap().packing else {
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
            improved(&problem, &start).unwrap().packing,
            Some(packing),
            "{case}: again"
        );
    }
    assert!(better > 10, "{better} are better");
}

fn cluster(pods: usize) -> Cluster {
    Cluster::new()
        .instance_type(machine("small", "2", "8Gi", "0.1"))
        .instance_type(machine("middle", "3", "10Gi", "0.138"))
        .instance_type(machine("large", "4", "16Gi", "0.18"))
        .pool("default")
        .pods("web", pods, "700m", "1Gi")
        .pods("db", pods, "900m", "2500Mi")
        .pods("job", pods, "450m", "3Gi")
}

#[test]
fn what_it_cannot_say_it_leaves_alone() {
    let snapshot = cluster(40).freeze();
    let problem = lower(&snapshot);
    let start = karpenter_order::pack(&problem, false);
    assert!(nodes(&start) > MOST_NODES);
    assert_eq!(improved(&problem, &start), None);
    let snapshot = cluster(2).freeze();
    let mut problem = lower(&snapshot);
    let start = karpenter_order::pack(&problem, false);
    assert!(improved(&problem, &start).is_some());
    problem
        .side
        .conflicts
        .push(crate::lower::side::Conflict::default());
    assert_eq!(improved(&problem, &start), None);
    assert_eq!(improved(&problem, &Packing::default()), None);
}

/// A quota that says stop from its third question on.
struct Third(std::cell::Cell<u32>);

impl Quota for Third {
    fn elapsed(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }

    fn remaining(&self) -> Option<std::time::Duration> {
        self.0.set(self.0.get() + 1);
        (self.0.get() >= 3).then_some(std::time::Duration::ZERO)
    }
}

#[test]
fn a_program_stopped_halfway_gives_no_worse_than_its_start() {
    let snapshot = cluster(9).freeze();
    let problem = lower(&snapshot);
    let start = karpenter_order::pack(&problem, false);
    assert!(nodes(&start) <= MOST_NODES, "{start:?}");
    let options = PlanOptions::default();
    let third = Third(std::cell::Cell::new(0));
    let mut effort = Effort::new(&options, &third);
    let outcome = improve(&problem, &start, &mut effort).unwrap();
    assert!(effort.is_used_up(), "it ended by itself");
    assert_eq!(third.0.get(), 3, "nobody asks after the answer");
    for packing in outcome.into_iter().filter_map(|outcome| outcome.packing) {
        assert!(packing.is_better_than(&start, &problem));
    }
    let limited = PlanOptions {
        work_limit: WorkLimit(Some(1_000)),
        ..options
    };
    let mut effort = Effort::new(&limited, &Unlimited);
    assert_eq!(improve(&problem, &start, &mut effort), Ok(None));
}
