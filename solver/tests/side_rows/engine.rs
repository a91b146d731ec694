//! The engine for side rows against the exact optimum: bound ≤ exact ≤ engine, every rule kept, and mostly exact.

use dovetail_solver::lower::Problem;
use dovetail_solver::pack::effort::Effort;
use dovetail_solver::pack::random::Random;
use dovetail_solver::pack::side::verdict::broken;
use dovetail_solver::pack::side::{Outcome, Shares, pack};
use dovetail_solver::testing::synthetic::{self, Ingredients, problem};
use dovetail_solver::testing::synthetic_exact::optimum;
use dovetail_solver::{PlanOptions, Unlimited};

/// Fillings are generated as for many pods, with nothing listed beforehand.
const GENERATED: fn() -> Shares = || Shares {
    list: 0,
    ..Shares::default()
};

fn packed(problem: &Problem<'_>, shares: Shares) -> Outcome {
    let options = PlanOptions::default();
    let mut effort = Effort::new(&options, &Unlimited);
    pack(problem, shares, &mut effort).unwrap().unwrap()
}

#[derive(Debug, Default)]
struct Tally {
    all: usize,
    exact: usize,
    tight: usize,
}

/// Random tiny problems: every packing keeps all rules and is on its side of the optimum, as is the bound.
fn tally(seeds: std::ops::Range<u64>, with: Ingredients, mixed: bool, shares: fn() -> Shares) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        let mut random = Random::new(seed);
        let with = if mixed { with.some(&mut random) } else { with };
        let snapshot = synthetic::cluster(&mut random, with);
        let mut problem = problem(&snapshot);
        problem.side = synthetic::side(&mut random, &problem, with);
        let outcome = packed(&problem, shares());
        let Some(exact) = optimum(&problem) else {
            assert_eq!(outcome.packing, None, "seed {seed}: nothing keeps the rules");
            continue;
        };
        tally.all += 1;
        if let Some(bound) = &outcome.bound {
            let placed = exact.packing.placed(&problem);
            let bound = bound.bound(&placed);
            assert!(bound <= exact.cost, "seed {seed}: bound {bound} above {exact:?}");
            tally.tight += usize::from(bound * 100 >= exact.cost * 99);
        }
        let Some(packing) = outcome.packing else { continue };
        assert_eq!(broken(&problem, &packing), [], "seed {seed}");
        let found = (packing.left.iter().sum::<u64>(), packing.cost(&problem));
        let best = (exact.left, exact.cost);
        assert!(found >= best, "seed {seed}: {packing:?} is better than {exact:?}");
        if let Some(bound) = &outcome.bound {
            let bound = bound.bound(&packing.placed(&problem));
            assert!(bound <= found.1, "seed {seed}: bound {bound} above {packing:?}");
        }
        tally.exact += usize::from(found == best);
    }
    tally
}

/// Shares in thousandths that are to be exact, and of bounds that are to be within one per cent.
fn assert_shares(tally: &Tally, least: usize, exact: usize, tight: usize) {
    assert!(tally.all >= least, "{tally:?}");
    assert!(tally.exact * 1_000 >= tally.all * exact, "{tally:?}");
    assert!(tally.tight * 1_000 >= tally.all * tight, "{tally:?}");
}

const NONE: Ingredients = Ingredients {
    caps: false,
    conflicts: false,
    penalties: false,
    spreads: false,
    together: false,
    apart: false,
    rows: false,
    bound: false,
    near: false,
    beside: false,
    soft: false,
    supplies: false,
    limits: false,
    rooms: false,
};

/// What the engine keeps.
const KEPT: Ingredients = Ingredients {
    bound: false,
    near: false,
    beside: false,
    ..Ingredients::ALL
};

#[test]
fn each_side_row_alone() {
    let one = |edit: &dyn Fn(&mut Ingredients)| {
        let mut with = NONE;
        edit(&mut with);
        with
    };
    // With all fillings listed every answer is exact; with fillings generated so many thousandths are.
    let alone: [(&str, Ingredients, usize); 12] = [
        ("caps", one(&|with| with.caps = true), 980),
        (
            "soft caps",
            one(&|with| (with.caps, with.soft) = (true, true)),
            950,
        ),
        ("conflicts", one(&|with| with.conflicts = true), 980),
        ("penalties", one(&|with| with.penalties = true), 980),
        ("spreads", one(&|with| with.spreads = true), 880),
        (
            "soft spreads",
            one(&|with| (with.spreads, with.soft) = (true, true)),
            900,
        ),
        ("together", one(&|with| with.together = true), 980),
        ("apart", one(&|with| with.apart = true), 960),
        ("rows", one(&|with| with.rows = true), 900),
        ("supplies and tiers", one(&|with| with.supplies = true), 980),
        ("limits", one(&|with| with.limits = true), 970),
        (
            "rooms and spreads",
            one(&|with| (with.rooms, with.spreads) = (true, true)),
            880,
        ),
    ];
    for (name, with, exact) in alone {
        for (shares, exact) in [(Shares::default as fn() -> Shares, 1_000), (GENERATED, exact)] {
            let tally = tally(0..100, with, false, shares);
            println!("{name}: {tally:?}");
            assert_shares(&tally, 85, exact, 500);
        }
    }
}

#[test]
fn all_side_rows_mixed_and_all_fillings_known() {
    assert_shares(&tally(0..1_000, KEPT, true, Shares::default), 900, 1_000, 600);
}

#[test]
fn all_side_rows_mixed_and_fillings_generated() {
    assert_shares(&tally(0..1_000, KEPT, true, GENERATED), 900, 930, 600);
}

/// What the engine leaves out: bounds hold without it, and a packing that breaks it isn't handed out.
#[test]
fn rows_that_are_left_out_keep_bounds_and_packings_sound() {
    let mut found = 0;
    for shares in [Shares::default as fn() -> Shares, GENERATED] {
        let tally = tally(0..500, Ingredients::ALL, true, shares);
        assert!(tally.all > 400, "{tally:?}");
        found += tally.exact;
    }
    assert!(found > 400, "{found}");
}
