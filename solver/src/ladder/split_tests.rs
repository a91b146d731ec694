//! Tests of the rungs that split: never dearer, as good as can be where that is known, the same each time.

use std::time::Duration;

use crate::lower::Problem;
use crate::model::plan::PlanBody;
use crate::pack::Launched;
use crate::pack::random::Random;
use crate::pack::side::verdict::broken;
use crate::quota::Unlimited;
use crate::testing::synthetic::{self, Ingredients, Synthetic, group, problem, zone_spread};
use crate::testing::synthetic_exact::optimum;
use crate::testing::thrown::packed;

use super::*;

/// Split along a packing alone: what was found, its bound, and what it took.
fn climbed(problem: &Problem<'_>, start: &Packing, limit: u64) -> (Packing, u64, Vec<String>) {
    let options = PlanOptions {
        work_limit: WorkLimit(Some(limit)),
        ..PlanOptions::default()
    };
    // Whether rows are kept the test sees; the check doesn't know them.
    let judge = |_: &Packing| Ok(PlanBody::default());
    let mut ladder = Ladder::new(problem, &options, &Unlimited, &judge);
    ladder.enter("start", Duration::ZERO, Ok(start.clone()));
    ladder.price();
    ladder.relaxed();
    ladder.shift_and_split(SPLIT);
    let rungs = ladder.end();
    assert_eq!(rungs.work.failures, 0, "{:?}", rungs.work.phases);
    let costs: Vec<_> = rungs.work.phases.iter().map(|phase| phase.cost).collect();
    let places_more = start.left.iter().any(|left| *left > 0);
    assert!(
        places_more || costs.is_sorted_by(|one, two| one >= two),
        "{:?}",
        rungs.work.phases
    );
    let names = rungs.work.phases.into_iter().map(|phase| phase.name);
    (rungs.incumbent.unwrap().0, rungs.bound, names.collect())
}

#[test]
fn engines_pack_what_a_spread_over_zones_leaves_to_choose() {
    let snapshot = Synthetic::new()
        .machine("m", 4)
        .machine("s", 2)
        .offer_everywhere("m", 100_000)
        .offer_everywhere("s", 60_000)
        .pods("web", 9, 1_000)
        .pods("db", 3, 500)
        .freeze();
    let mut problem = problem(&snapshot);
    problem.side.spreads.push(zone_spread(&problem, &["web"], 1));
    let mut start = Packing::nothing(&problem);
    let small = |kind: &usize| problem.kinds[*kind].cost == 60_000;
    let kinds: Vec<usize> = (0..problem.kinds.len()).filter(small).collect();
    assert_eq!(kinds.len(), 3);
    for name in ["web", "db"] {
        let group = group(&problem, name);
        for kind in &kinds {
            start.launched.push(Launched {
                kind: *kind,
                filling: vec![(group, 1)],
                count: start.left[group] / 3,
            });
        }
        start.left[group] = 0;
    }
    start.normalise();
    assert_eq!(start.cost(&problem), 12 * 60_000);
    let (packing, bound, phases) = climbed(&problem, &start, u64::MAX);
    assert_eq!(broken(&problem, &packing), []);
    // Three pods and another in each zone, on one node.
    assert_eq!(packing.cost(&problem), 300_000, "{packing:?} {phases:?}");
    assert!(bound <= 300_000);
    assert!(
        phases.iter().any(|name| name.starts_with("split: ")),
        "{phases:?}"
    );
}

#[test]
fn pods_move_to_where_they_cost_less() {
    let snapshot = Synthetic::new()
        .machine("m", 4)
        .offer("m", "zone-a", 150_000, None)
        .offer("m", "zone-b", 100_000, None)
        .offer("m", "zone-c", 120_000, None)
        .pods("web", 6, 1_000)
        .freeze();
    let mut problem = problem(&snapshot);
    problem.side.together.push(crate::lower::side::Together {
        groups: synthetic::groups(&problem, &["web"]),
        domains: synthetic::zones(&problem),
    });
    let in_a = synthetic::zone(&problem, "zone-a");
    let start = Packing {
        launched: vec![Launched {
            kind: in_a.kinds.ones().next().unwrap(),
            filling: vec![(0, 3)],
            count: 2,
        }],
        left: vec![0],
        ..Packing::nothing(&problem)
    };
    let (packing, _, _) = climbed(&problem, &start, u64::MAX);
    assert_eq!(broken(&problem, &packing), []);
    assert_eq!(packing.cost(&problem), 200_000);
}

#[test]
fn splitting_is_never_dearer_never_better_than_the_best_and_always_the_same() {
    let mut random = Random::new(11);
    let (mut seen, mut best) = (0, 0);
    for case in 0..300 {
        let snapshot = synthetic::cluster(&mut random, Ingredients::ALL);
        let mut problem = synthetic::problem(&snapshot);
        if problem.kinds.is_empty() {
            continue;
        }
        let with = Ingredients::ALL.some(&mut random);
        problem.side = synthetic::side(&mut random, &problem, with);
        let Some(start) = packed(&problem, &mut random) else {
            continue;
        };
        let found = climbed(&problem, &start, 3_000_000);
        assert_eq!(found, climbed(&problem, &start, 3_000_000), "case {case}");
        let (packing, bound, _) = found;
        assert_eq!(broken(&problem, &packing), [], "case {case}");
        assert!(!start.is_better_than(&packing, &problem), "case {case}");
        let exact = optimum(&problem).unwrap();
        let left: u64 = packing.left.iter().sum();
        let score = (left, packing.cost(&problem));
        assert!((exact.left, exact.cost) <= score, "case {case}");
        if exact.left == 0 && left == 0 {
            assert!(bound <= exact.cost, "case {case}");
            seen += 1;
            best += usize::from(score.1 == exact.cost);
        }
    }
    assert!(seen > 12 && best * 3 > seen, "{best} of {seen}");
}
