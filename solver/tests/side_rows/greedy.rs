//! The engines that fill nodes one by one: they keep caps and conflicts, count penalties, and leave rows across nodes alone,
//! except for the baseline, which has a file of its own for those.

use dovetail_solver::lower::Problem;
use dovetail_solver::lower::side::SideRows;
use dovetail_solver::pack::effort::{Effort, Share};
use dovetail_solver::pack::random::Random;
use dovetail_solver::pack::side::verdict::broken;
use dovetail_solver::pack::{Packing, karpenter_order, lower_bound, search};
use dovetail_solver::testing::synthetic::{self, Ingredients, Synthetic, cap, group, problem, zone_spread};
use dovetail_solver::testing::synthetic_exact::optimum;
use dovetail_solver::{PlanOptions, Unlimited};

/// What only one node at a time is needed for.
const LOCAL: Ingredients = Ingredients {
    spreads: false,
    together: false,
    apart: false,
    rows: false,
    bound: false,
    near: false,
    beside: false,
    ..Ingredients::ALL
};

/// Packings of the engines, the baseline's first, each improved on the one before.
fn packings(problem: &Problem<'_>) -> Vec<Packing> {
    let options = PlanOptions::default();
    let mut effort = Effort::new(&options, &Unlimited);
    let mut packings = vec![karpenter_order::pack(problem, false)];
    let Some(prices) = lower_bound::prices(problem, &problem.counts(), &mut effort) else {
        return packings;
    };
    let mut filler = search::filler(problem, &prices.values());
    let dense = search::starts(problem, &mut filler, 0, &mut effort);
    effort.grant(Share {
        units: 200_000,
        hundredths: 100,
    });
    packings.push(dense.clone());
    packings.push(search::improved(
        problem,
        &mut filler,
        dense,
        0,
        0,
        1,
        &mut effort,
    ));
    packings
}

#[test]
fn caps_conflicts_and_penalties_are_kept_and_counted() {
    let (mut all, mut exact, mut complete) = (0, [0; 3], 0);
    for seed in 0..1_500 {
        let mut random = Random::new(seed);
        let with = LOCAL.some(&mut random);
        let snapshot = synthetic::cluster(&mut random, with);
        let mut problem = problem(&snapshot);
        problem.side = synthetic::side(&mut random, &problem, with);
        let best = optimum(&problem).unwrap();
        let packings = packings(&problem);
        if packings.len() < 3 {
            continue;
        }
        all += 1;
        for (at, packing) in packings.iter().enumerate() {
            assert_eq!(broken(&problem, packing), [], "seed {seed}, engine {at}");
            let found = (packing.left.iter().sum::<u64>(), packing.cost(&problem));
            assert!(
                found >= (best.left, best.cost),
                "seed {seed}, engine {at}: {packing:?}"
            );
            exact[at] += usize::from(found == (best.left, best.cost));
        }
        // Completing leaves nothing broken either.
        let mut rest = packings[2].clone();
        if let Some(launched) = rest.launched.pop() {
            for (group, count) in &launched.filling {
                rest.left[*group] += count * launched.count;
            }
            karpenter_order::complete(&problem, &mut rest);
            assert_eq!(broken(&problem, &rest), [], "seed {seed}, completed");
            complete += 1;
        }
    }
    println!("of {all}, exact: {exact:?}; completed {complete}");
    assert!(all > 1_200 && complete > 800, "{all} {complete}");
    assert!(
        exact[2] * 100 >= all * 87 && exact[2] > exact[0],
        "{exact:?} of {all}"
    );
}

/// Columns generated and dived without side rows' own program, which takes caps and conflicts alone.
#[cfg(feature = "highs")]
mod columns {
    use dovetail_solver::lower::side::Excess;
    use dovetail_solver::pack::dive::{Outcome, Shares, pack};

    use super::*;

    const CAPS_AND_CONFLICTS: Ingredients = Ingredients {
        penalties: false,
        soft: false,
        rooms: false,
        supplies: false,
        ..LOCAL
    };

    pub(super) fn outcome(problem: &Problem<'_>) -> Option<Outcome> {
        let options = PlanOptions::default();
        let mut effort = Effort::new(&options, &Unlimited);
        let prices = lower_bound::prices(problem, &problem.counts(), &mut effort)?;
        let filler = search::filler(problem, &prices.values());
        let start = karpenter_order::pack(problem, false);
        let share = Share {
            units: 2_000_000,
            hundredths: 100,
        };
        let shares = Shares {
            generate: share,
            dive: share,
        };
        let options = PlanOptions::default();
        let mut effort = Effort::new(&options, &Unlimited);
        pack(problem, &filler, &[&start], &prices.values(), shares, &mut effort).unwrap()
    }

    #[test]
    fn caps_and_conflicts_are_kept_and_tighten_the_bound() {
        let (mut all, mut exact, mut above) = (0, 0, 0);
        for seed in 0..1_500 {
            let mut random = Random::new(seed);
            let with = CAPS_AND_CONFLICTS.some(&mut random);
            let snapshot = synthetic::cluster(&mut random, with);
            let mut problem = problem(&snapshot);
            let without = outcome(&problem);
            problem.side = synthetic::side(&mut random, &problem, with);
            let best = optimum(&problem).unwrap();
            let Some(outcome) = outcome(&problem) else {
                continue;
            };
            all += 1;
            let packing = outcome.packing;
            assert_eq!(broken(&problem, &packing), [], "seed {seed}");
            let found = (packing.left.iter().sum::<u64>(), packing.cost(&problem));
            assert!(found >= (best.left, best.cost), "seed {seed}: {packing:?}");
            exact += usize::from(found == (best.left, best.cost));
            let (Some(farley), Some(without)) = (outcome.farley, without.and_then(|one| one.farley)) else {
                continue;
            };
            let placed = best.packing.placed(&problem);
            let bound = farley.bound(&placed);
            assert!(bound <= best.cost, "seed {seed}: bound {bound} above {best:?}");
            above += usize::from(bound > without.bound(&placed) && with.caps);
        }
        println!("of {all}, exact: {exact}; bound raised by caps: {above}");
        assert!(
            all > 1_000 && exact * 100 >= all * 80 && above > 50,
            "{exact} of {all}, {above}"
        );
    }

    #[test]
    fn what_else_there_is_to_keep_is_left_to_the_program_with_side_rows() {
        let snapshot = Synthetic::new()
            .machine("m", 4)
            .offer_everywhere("m", 100_000)
            .pods("web", 6, 1_000)
            .freeze();
        let mut problem = problem(&snapshot);
        problem.side.caps.push(cap(&problem, &["web"], 2));
        assert!(outcome(&problem).is_some());
        problem.side.caps[0].excess = Excess::Costs(1);
        assert!(outcome(&problem).is_none());
        problem.side.caps.clear();
        problem.side.spreads.push(zone_spread(&problem, &["web"], 1));
        assert!(outcome(&problem).is_none());
    }
}

#[test]
fn rows_across_nodes_are_left_to_the_engines_that_can_keep_them() {
    let snapshot = Synthetic::new()
        .machine("m", 4)
        .offer_everywhere("m", 100_000)
        .pods("web", 6, 1_000)
        .freeze();
    let mut problem = problem(&snapshot);
    problem.side.spreads.push(zone_spread(&problem, &["web"], 1));
    let packings = packings(&problem);
    assert_eq!((packings[0].left[0], packings[0].cost(&problem)), (0, 300_000));
    assert_eq!(broken(&problem, &packings[0]), []);
    assert_eq!(packings[1], Packing::nothing(&problem));
    problem.side = SideRows::default();
    for packing in self::packings(&problem) {
        assert_eq!(packing.left, [0]);
    }
}

/// Five hundred pods that avoid each other, among two thousand others that fill their nodes.
#[test]
fn five_hundred_pods_that_avoid_each_other() {
    let snapshot = Synthetic::new()
        .machine("s", 2)
        .offer("s", "zone-a", 100_000, None)
        .machine("l", 16)
        .offer("l", "zone-a", 700_000, None)
        .pods("alone", 500, 1_000)
        .pods("web", 2_000, 250)
        .freeze();
    let mut problem = problem(&snapshot);
    problem.side.caps.push(cap(&problem, &["alone"], 1));
    let alone = group(&problem, "alone");
    for packing in packings(&problem) {
        assert_eq!(broken(&problem, &packing), []);
        assert!(packing.left.iter().all(|left| *left == 0));
        for launched in &packing.launched {
            let mut here = launched.filling.iter().filter(|(group, _)| *group == alone);
            assert!(here.all(|(_, count)| *count == 1));
        }
    }
    // Each on a small node with as many of the others beside it: nothing is wasted. Seen one by one, pods that could fill
    // large nodes look better there.
    let best = 500 * 100_000;
    let cost = packings(&problem)[2].cost(&problem);
    assert!((best..=best * 106 / 100).contains(&cost), "{cost}");
    #[cfg(feature = "highs")]
    {
        let by_columns = columns::outcome(&problem).unwrap();
        assert_eq!(by_columns.packing.cost(&problem), best);
        assert_eq!(broken(&problem, &by_columns.packing), []);
        use dovetail_solver::pack::side::{Shares, pack};
        let options = PlanOptions::default();
        let outcome = pack(
            &problem,
            Shares::default(),
            &mut Effort::new(&options, &Unlimited),
        );
        let packing = outcome.unwrap().unwrap().packing.unwrap();
        assert_eq!(packing.cost(&problem), best);
    }
}
