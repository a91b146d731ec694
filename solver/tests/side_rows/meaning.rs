//! What each side row means, by the exact solver on problems small enough to see the answer.

use std::collections::BTreeMap;

use dovetail_solver::lower::Problem;
use dovetail_solver::lower::side::{
    Apart, Conflict, Excess, NodeTerm, Penalty, Places, PodTerm, Row, SideRows, Together,
};
use dovetail_solver::model::snapshot::Snapshot;
use dovetail_solver::pack::random::Random;
use dovetail_solver::pack::side::verdict::{Broken, broken};
use dovetail_solver::pack::{Launched, Packing};
use dovetail_solver::testing::synthetic::{
    self, Ingredients, Synthetic, ZONES, cap, group, groups, problem, zone, zone_spread, zones,
};
use dovetail_solver::testing::synthetic_exact::optimum;

/// Four cores in every zone for 0.1 dollars, and so many pods of a core.
fn plain(pods: usize) -> Synthetic {
    let machine = Synthetic::new().machine("m", 4).offer_everywhere("m", 100_000);
    machine.pods("web", pods, 1_000)
}

/// The least cost under side rows; nobody is left over.
fn least(snapshot: &Snapshot, side: impl FnOnce(&Problem<'_>) -> SideRows) -> u64 {
    let mut problem = problem(snapshot);
    problem.side = side(&problem);
    let best = optimum(&problem).unwrap();
    assert_eq!(best.left, 0, "{:?}", best.packing);
    best.cost
}

fn with(edit: impl FnOnce(&mut SideRows)) -> SideRows {
    let mut side = SideRows::default();
    edit(&mut side);
    side
}

#[test]
fn without_side_rows_pods_share_nodes() {
    assert_eq!(least(&plain(6).freeze(), |_| SideRows::default()), 200_000);
}

#[test]
fn kinds_of_two_zones_stay_apart_and_merge_otherwise() {
    let snapshot = plain(1).freeze();
    assert_eq!(problem(&snapshot).kinds.len(), 3);
    assert_eq!(dovetail_solver::lower::lower(&snapshot).kinds.len(), 1);
    let parts: Vec<usize> = problem(&snapshot).kinds.iter().map(|kind| kind.part).collect();
    assert_eq!(parts, [0, 1, 2]);
}

#[test]
fn a_cap_of_one_gives_each_pod_its_node() {
    let alone = |problem: &Problem<'_>| with(|side| side.caps.push(cap(problem, &["web"], 1)));
    assert_eq!(least(&plain(3).freeze(), alone), 300_000);
    // Two groups under one cap are together at most so many.
    let both = |problem: &Problem<'_>| with(|side| side.caps.push(cap(problem, &["web", "db"], 2)));
    assert_eq!(least(&plain(3).pods("db", 1, 1_000).freeze(), both), 200_000);
}

#[test]
fn pods_on_an_existing_node_count_for_its_cap() {
    let snapshot = plain(3).node("n", "m", "zone-a").freeze();
    let capped = |there: u64| {
        least(&snapshot, |problem| {
            let mut cap = cap(problem, &["web"], 2);
            cap.there = BTreeMap::from([(0, there)]);
            with(|side| side.caps.push(cap))
        })
    };
    assert_eq!(
        [capped(0), capped(1), capped(2), capped(5)],
        [100_000, 100_000, 200_000, 200_000]
    );
}

#[test]
fn a_soft_cap_is_broken_where_a_node_costs_more() {
    let soft = |each: u64| {
        least(&plain(3).freeze(), |problem| {
            let mut cap = cap(problem, &["web"], 1);
            cap.excess = Excess::Costs(each);
            with(|side| side.caps.push(cap))
        })
    };
    assert_eq!(
        [soft(10_000), soft(99_000), soft(150_000)],
        [120_000, 298_000, 300_000]
    );
}

#[test]
fn groups_in_conflict_share_no_node() {
    let snapshot = plain(2).pods("db", 2, 500).freeze();
    let apart = |problem: &Problem<'_>| {
        with(|side| {
            side.conflicts.push(Conflict {
                one: groups(problem, &["web"]),
                other: groups(problem, &["db"]),
                ..Conflict::default()
            });
        })
    };
    assert_eq!(least(&snapshot, |_| SideRows::default()), 100_000);
    assert_eq!(least(&snapshot, apart), 200_000);
}

#[test]
fn a_running_pod_keeps_those_in_conflict_off_its_node() {
    let snapshot = plain(1).pods("db", 1, 500).node("n", "m", "zone-a").freeze();
    let beside = |web_is_there: bool| {
        least(&snapshot, |problem| {
            let mut conflict = Conflict {
                one: groups(problem, &["web"]),
                other: groups(problem, &["db"]),
                ..Conflict::default()
            };
            conflict.rooms_with_one.grow(1);
            conflict.rooms_with_one.set(0, web_is_there);
            with(|side| side.conflicts.push(conflict))
        })
    };
    // One of them has to go elsewhere either way: db if web is there, else either.
    assert_eq!([beside(false), beside(true)], [100_000, 100_000]);
    let mut problem = problem(&snapshot);
    problem.side = with(|side| {
        let mut conflict = Conflict {
            one: groups(&problem, &["web"]),
            other: groups(&problem, &["db"]),
            ..Conflict::default()
        };
        conflict.rooms_with_one.grow(1);
        conflict.rooms_with_one.insert(0);
        side.conflicts.push(conflict);
    });
    assert_eq!(
        optimum(&problem).unwrap().packing.rooms,
        [[(group(&problem, "web"), 1)]]
    );
}

#[test]
fn a_spread_puts_pods_into_all_zones_evenly() {
    let spread = |pods: usize, skew: u64| {
        let one =
            |problem: &Problem<'_>| with(|side| side.spreads.push(zone_spread(problem, &["web"], skew)));
        least(&plain(pods).freeze(), one)
    };
    // One pod: one zone. Two: two zones. Three and more: three. With a skew of two the second may stay with the first.
    assert_eq!(
        [spread(1, 1), spread(2, 1), spread(3, 1), spread(6, 1)],
        [100_000, 200_000, 300_000, 300_000]
    );
    assert_eq!(
        [spread(2, 2), spread(3, 2), spread(4, 2)],
        [100_000, 200_000, 200_000]
    );
}

#[test]
fn a_zone_that_has_too_many_already_gets_none_and_stops_nobody() {
    let snapshot = plain(2).freeze();
    let mut problem = problem(&snapshot);
    let mut spread = zone_spread(&problem, &["web"], 1);
    spread.domains[0].there = 9;
    problem.side.spreads.push(spread);
    let best = optimum(&problem).unwrap();
    assert_eq!((best.left, best.cost), (0, 200_000));
    let used: Vec<usize> = best
        .packing
        .launched
        .iter()
        .map(|launched| launched.kind)
        .collect();
    let zones: Vec<usize> = used.iter().map(|kind| problem.kinds[*kind].part).collect();
    assert_eq!(zones, [1, 2]);
}

#[test]
fn with_too_few_zones_the_least_counts_as_nothing() {
    let snapshot = plain(6).freeze();
    let mut problem = problem(&snapshot);
    let mut spread = zone_spread(&problem, &["web"], 1);
    spread.fewest_domains = 4;
    problem.side.spreads.push(spread);
    assert_eq!(optimum(&problem).unwrap().left, 3);
    problem.side.spreads[0].excess = Excess::Costs(1_000);
    let best = optimum(&problem).unwrap();
    // Five in one zone would save nothing: two nodes either way, so three and three, two beyond the one admitted.
    assert_eq!((best.left, best.cost), (0, 202_000));
}

#[test]
fn what_must_be_together_is_in_one_zone() {
    let snapshot = Synthetic::new()
        .machine("m", 2)
        .offer("m", "zone-a", 100_000, Some(1))
        .offer("m", "zone-b", 110_000, None)
        .pods("web", 3, 1_000)
        .freeze();
    let together = |problem: &Problem<'_>| {
        with(|side| {
            side.together.push(Together {
                groups: groups(problem, &["web"]),
                domains: zones(problem),
            });
        })
    };
    assert_eq!(least(&snapshot, |_| SideRows::default()), 210_000);
    assert_eq!(least(&snapshot, together), 220_000);
}

#[test]
fn what_must_be_apart_is_in_two_zones() {
    let snapshot = plain(1).pods("db", 1, 1_000).freeze();
    let apart = |problem: &Problem<'_>| {
        with(|side| {
            side.apart.push(Apart {
                one: groups(problem, &["web"]),
                other: groups(problem, &["db"]),
                domains: zones(problem),
            });
        })
    };
    assert_eq!(least(&snapshot, apart), 200_000);
}

#[test]
fn a_row_bounds_pods_and_nodes_in_places() {
    let snapshot = plain(4).freeze();
    // At most one pod a zone.
    let mut problem = problem(&snapshot);
    for places in zones(&problem) {
        problem.side.rows.push(Row {
            pods: vec![PodTerm {
                groups: groups(&problem, &["web"]),
                places,
                coefficient: 1,
            }],
            upper: Some(1),
            ..Row::default()
        });
    }
    let best = optimum(&problem).unwrap();
    assert_eq!((best.left, best.cost), (1, 300_000));
    // A subnet with 17 addresses left, ten for each node, in two of the zones.
    problem.side.rows.clear();
    let mut kinds = zone(&problem, "zone-a").kinds;
    kinds.union_with(&zone(&problem, "zone-b").kinds);
    let nodes = |coefficient| {
        vec![NodeTerm {
            kinds: kinds.clone(),
            coefficient,
        }]
    };
    problem.side.rows.push(Row {
        nodes: nodes(10),
        upper: Some(17),
        ..Row::default()
    });
    problem.side.caps.push(cap(&problem, &["web"], 1));
    let best = optimum(&problem).unwrap();
    let in_c: u64 = best
        .packing
        .launched
        .iter()
        .filter(|one| problem.kinds[one.kind].part == 2)
        .map(|one| one.count)
        .sum();
    assert_eq!((best.left, best.cost), (0, 400_000));
    assert!(in_c >= 3, "{:?}", best.packing);
}

#[test]
fn a_penalty_is_paid_where_it_costs_less_than_to_avoid_it() {
    let snapshot = Synthetic::new()
        .machine("m", 2)
        .offer("m", "zone-a", 100_000, None)
        .offer("m", "zone-b", 130_000, None)
        .pods("web", 2, 1_000)
        .freeze();
    let avoiding = |each: u64| {
        least(&snapshot, |problem| {
            with(|side| {
                side.penalties.push(Penalty {
                    groups: groups(problem, &["web"]),
                    places: zone(problem, "zone-a"),
                    each,
                });
            })
        })
    };
    assert_eq!([avoiding(10_000), avoiding(20_000)], [120_000, 130_000]);
}

#[test]
fn supplies_tiers_limits_and_fixed_costs_are_the_problems_own() {
    let machine = || Synthetic::new().machine("m", 1);
    // A reservation of two nodes, then the list price.
    let reserved = machine()
        .offer("m", "zone-a", 0, Some(2))
        .offer("m", "zone-b", 100_000, None);
    assert_eq!(
        least(&reserved.pods("web", 3, 1_000).freeze(), |_| SideRows::default()),
        100_000
    );
    // The first two at half the price.
    let tiers = machine()
        .offer("m", "zone-a", 50_000, Some(2))
        .offer("m", "zone-a", 100_000, None);
    assert_eq!(
        least(&tiers.pods("web", 4, 1_000).freeze(), |_| SideRows::default()),
        300_000
    );
    // Two nodes at most: one pod stays.
    let limited = machine()
        .offer("m", "zone-a", 100_000, None)
        .at_most(2)
        .pods("web", 3, 1_000);
    let snapshot = limited.freeze();
    let best = optimum(&problem(&snapshot)).unwrap();
    assert_eq!((best.left, best.cost), (1, 200_000));
    // A fixed cost of each node, or of its interruptions, makes few large nodes of many small ones.
    let sizes = machine()
        .offer("m", "zone-a", 50_000, None)
        .machine("l", 4)
        .offer("l", "zone-a", 220_000, None);
    let snapshot = sizes.pods("web", 4, 1_000).freeze();
    assert_eq!(least(&snapshot, |_| SideRows::default()), 200_000);
    let mut dearer = problem(&snapshot);
    for kind in &mut dearer.kinds {
        kind.cost += 10_000;
    }
    assert_eq!(optimum(&dearer).unwrap().cost, 230_000);
}

/// One of each rule broken at a time, by a packing that the verdict must not let pass.
#[test]
fn the_verdict_names_what_is_broken() {
    let snapshot = plain(2).pods("db", 2, 2_500).at_most(2).freeze();
    let mut problem = problem(&snapshot);
    let (web, db) = (group(&problem, "web"), group(&problem, "db"));
    let kind = |at: usize| (0..3).find(|kind| problem.kinds[*kind].part == at).unwrap();
    let (a, b) = (kind(0), kind(1));
    let launched = |kind: usize, filling: &[(usize, u64)], count: u64| Launched {
        kind,
        filling: filling.to_vec(),
        count,
    };
    let packing = |launches: &[Launched]| {
        let mut left = problem.counts();
        for (group, count) in launches
            .iter()
            .flat_map(|one| one.filling.iter().map(|(group, each)| (group, each * one.count)))
        {
            left[*group] = left[*group].saturating_sub(count);
        }
        Packing {
            rooms: Vec::new(),
            launched: launches.to_vec(),
            left,
        }
    };
    let fine = packing(&[launched(a, &[(web.min(db), 1), (web.max(db), 1)], 2)]);
    let split = packing(&[launched(a, &[(web, 1)], 1), launched(b, &[(web, 1)], 1)]);
    let crowded = packing(&[launched(a, &[(db, 2)], 1)]);
    let thrice = packing(&[launched(a, &[(web, 1)], 3)]);
    assert_eq!(broken(&problem, &fine), []);
    assert_eq!(
        broken(&problem, &crowded),
        [Broken::Room(dovetail_solver::lower::side::Place::Kind(a))]
    );
    assert_eq!(broken(&problem, &thrice), [Broken::Count(web), Broken::Limit(0)]);
    let place = dovetail_solver::lower::side::Place::Kind(a);
    let (of_web, of_db, all) = (
        groups(&problem, &["web"]),
        groups(&problem, &["db"]),
        zones(&problem),
    );
    let here = zone(&problem, ZONES[0]);
    let pods = |groups| PodTerm {
        groups,
        places: here.clone(),
        coefficient: 1,
    };
    let (ones, none) = (cap(&problem, &["web", "db"], 1), Places::default());
    let spread = zone_spread(&problem, &["web"], 1);
    let mut judge = |packing: &Packing, edit: &dyn Fn(&mut SideRows)| {
        problem.side = with(edit);
        broken(&problem, packing)
    };
    assert_eq!(
        judge(&fine, &|side| side.caps.push(ones.clone())),
        [Broken::Cap(0, place)]
    );
    let conflict = Conflict {
        one: of_web.clone(),
        other: of_db.clone(),
        ..Conflict::default()
    };
    assert_eq!(
        judge(&fine, &|side| side.conflicts.push(conflict.clone())),
        [Broken::Conflict(0, place)]
    );
    assert_eq!(
        judge(&fine, &|side| side.spreads.push(spread.clone())),
        [Broken::Spread(0)]
    );
    assert_eq!(judge(&split, &|side| side.spreads.push(spread.clone())), []);
    let together = |domains: Vec<Places>| Together {
        groups: of_web.clone(),
        domains,
    };
    assert_eq!(
        judge(&split, &|side| side.together.push(together(all.clone()))),
        [Broken::Together(0)]
    );
    assert_eq!(
        judge(&fine, &|side| side.together.push(together(all.clone()))),
        []
    );
    assert_eq!(
        judge(&fine, &|side| side.together.push(together(vec![none.clone()]))),
        [Broken::Together(0)]
    );
    let apart = Apart {
        one: of_web.clone(),
        other: of_db.clone(),
        domains: all.clone(),
    };
    assert_eq!(
        judge(&fine, &|side| side.apart.push(apart.clone())),
        [Broken::Apart(0)]
    );
    assert_eq!(judge(&split, &|side| side.apart.push(apart.clone())), []);
    let row = |lower, upper| Row {
        pods: vec![pods(of_web.clone())],
        nodes: Vec::new(),
        lower,
        upper,
    };
    for (lower, upper, expected) in [
        (None, Some(1), true),
        (None, Some(2), false),
        (Some(3), None, true),
        (Some(2), None, false),
    ] {
        let expected: &[Broken] = if expected { &[Broken::Row(0)] } else { &[] };
        assert_eq!(judge(&fine, &|side| side.rows.push(row(lower, upper))), expected);
    }
}

/// Most random problems are worth solving: something can be placed, and side rows change the answer.
#[test]
fn random_problems_are_neither_empty_nor_free_of_their_side_rows() {
    let (mut placed, mut dearer) = (0, 0);
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let with = Ingredients::ALL.some(&mut random);
        let snapshot = synthetic::cluster(&mut random, with);
        let mut problem = problem(&snapshot);
        let free = optimum(&problem).unwrap();
        problem.side = synthetic::side(&mut random, &problem, with);
        let Some(bound) = optimum(&problem) else { continue };
        assert!((free.left, free.cost) <= (bound.left, bound.cost), "seed {seed}");
        assert_eq!(broken(&problem, &bound.packing), [], "seed {seed}");
        placed += usize::from(bound.left == 0);
        dearer += usize::from((free.left, free.cost) < (bound.left, bound.cost));
    }
    assert!(placed > 90 && dearer > 120, "{placed} {dearer}");
}
