//! Larger problems whose answer a reader can work out.

use dovetail_solver::lower::Problem;
use dovetail_solver::lower::side::{Conflict, Excess, Penalty, SideRows, Together};
use dovetail_solver::model::snapshot::Snapshot;
use dovetail_solver::pack::Packing;
use dovetail_solver::pack::effort::Effort;
use dovetail_solver::pack::side::verdict::broken;
use dovetail_solver::pack::side::{Outcome, Shares, pack};
use dovetail_solver::testing::synthetic::{Synthetic, cap, group, groups, problem, zone, zone_spread, zones};
use dovetail_solver::{PlanOptions, Unlimited, WorkLimit};

fn outcome(problem: &Problem<'_>, limit: Option<u64>) -> Outcome {
    let options = PlanOptions {
        work_limit: WorkLimit(limit),
        ..PlanOptions::default()
    };
    let mut effort = Effort::new(&options, &Unlimited);
    pack(problem, Shares::default(), &mut effort).unwrap().unwrap()
}

/// Cost, bound and packing; nobody is left over and every rule is kept.
fn solved(snapshot: &Snapshot, side: impl FnOnce(&Problem<'_>, &mut SideRows)) -> (u64, u64, Packing) {
    let mut problem = problem(snapshot);
    let mut rows = SideRows::default();
    side(&problem, &mut rows);
    problem.side = rows;
    let outcome = outcome(&problem, None);
    let packing = outcome.packing.unwrap();
    assert_eq!(broken(&problem, &packing), []);
    assert!(packing.left.iter().all(|left| *left == 0), "{packing:?}");
    let bound = outcome.bound.unwrap().bound(&packing.placed(&problem));
    (packing.cost(&problem), bound, packing)
}

/// By zone, in a packing of kinds that are in the order of zones: launched nodes.
fn nodes_by_zone(snapshot: &Snapshot, packing: &Packing) -> Vec<u64> {
    let problem = problem(snapshot);
    let mut nodes = vec![0; 3];
    for launched in &packing.launched {
        nodes[problem.kinds[launched.kind].part] += launched.count;
    }
    nodes
}

#[test]
fn twenty_replicas_that_avoid_each_other_over_three_zones() {
    let snapshot = Synthetic::new()
        .machine("m", 2)
        .offer("m", "zone-a", 100_000, None)
        .offer("m", "zone-b", 100_000, None)
        .offer("m", "zone-c", 130_000, None)
        .machine("l", 8)
        .offer_everywhere("l", 390_000)
        .pods("web", 20, 1_000)
        .freeze();
    let (cost, bound, packing) = solved(&snapshot, |problem, side| {
        side.caps.push(cap(problem, &["web"], 1));
        side.spreads.push(zone_spread(problem, &["web"], 1));
    });
    // Seven, seven and, where it is dear, six.
    assert_eq!(nodes_by_zone(&snapshot, &packing), [7, 7, 6]);
    assert_eq!(cost, 14 * 100_000 + 6 * 130_000);
    assert!(bound <= cost && bound * 100 >= cost * 99, "{bound} {cost}");
}

#[test]
fn a_reservation_of_three_nodes_is_used_up_first() {
    let snapshot = Synthetic::new()
        .machine("m", 4)
        .offer("m", "zone-a", 0, Some(3))
        .offer("m", "zone-b", 100_000, None)
        .pods("web", 20, 1_000)
        .freeze();
    let (cost, bound, packing) = solved(&snapshot, |_, _| {});
    assert_eq!(nodes_by_zone(&snapshot, &packing), [3, 2, 0]);
    assert_eq!((cost, bound), (200_000, 200_000));
}

#[test]
fn the_first_five_nodes_at_half_the_price() {
    let snapshot = Synthetic::new()
        .machine("m", 4)
        .offer("m", "zone-a", 50_000, Some(5))
        .offer("m", "zone-a", 100_000, None)
        .pods("web", 32, 1_000)
        .freeze();
    let (cost, bound, _) = solved(&snapshot, |_, _| {});
    assert_eq!((cost, bound), (5 * 50_000 + 3 * 100_000, 550_000));
}

#[test]
fn a_group_of_one_zone_goes_where_all_of_it_is_cheapest() {
    // Zone a is cheaper until its five nodes are used up; the group of one zone has no place there.
    let snapshot = Synthetic::new()
        .machine("m", 4)
        .offer("m", "zone-a", 80_000, Some(5))
        .offer("m", "zone-b", 100_000, None)
        .offer("m", "zone-c", 90_000, None)
        .pods("db", 24, 1_000)
        .pods("web", 16, 1_000)
        .freeze();
    let (cost, bound, packing) = solved(&snapshot, |problem, side| {
        side.together.push(Together {
            groups: groups(problem, &["db"]),
            domains: zones(problem),
        });
    });
    assert_eq!(nodes_by_zone(&snapshot, &packing), [4, 0, 6]);
    assert_eq!(cost, 4 * 80_000 + 6 * 90_000);
    assert!(bound <= cost && bound * 100 >= cost * 90, "{bound} {cost}");
}

#[test]
fn two_teams_that_share_no_node_and_a_third_that_fills_the_gaps() {
    let snapshot = Synthetic::new()
        .machine("m", 4)
        .offer_everywhere("m", 100_000)
        .pods("red", 9, 1_000)
        .pods("blue", 9, 1_000)
        .pods("gaps", 6, 1_000)
        .freeze();
    let (cost, _, packing) = solved(&snapshot, |problem, side| {
        side.conflicts.push(Conflict {
            one: groups(problem, &["red"]),
            other: groups(problem, &["blue"]),
            ..Conflict::default()
        });
    });
    // Three nodes each, with three cores left on the last of each: just enough for the third team.
    assert_eq!(cost, 600_000);
    let problem = problem(&snapshot);
    let (red, blue) = (group(&problem, "red"), group(&problem, "blue"));
    for launched in &packing.launched {
        let has = |wanted: usize| launched.filling.iter().any(|(group, _)| *group == wanted);
        assert!(!(has(red) && has(blue)), "{launched:?}");
    }
}

#[test]
fn a_wish_is_worth_its_price_and_no_more() {
    let snapshot = Synthetic::new()
        .machine("m", 4)
        .offer("m", "zone-a", 100_000, None)
        .offer("m", "zone-b", 120_000, None)
        .pods("web", 40, 1_000)
        .freeze();
    let away_from_a = |each: u64| {
        solved(&snapshot, |problem, side| {
            side.penalties.push(Penalty {
                groups: groups(problem, &["web"]),
                places: zone(problem, "zone-a"),
                each,
            });
        })
    };
    // Four pods a node: the other zone is worth it from a twentieth of a cent a pod.
    let (cost, bound, _) = away_from_a(4_999);
    assert_eq!(
        (cost, bound),
        (10 * 100_000 + 40 * 4_999, 10 * 100_000 + 40 * 4_999)
    );
    let (cost, bound, _) = away_from_a(5_001);
    assert_eq!((cost, bound), (1_200_000, 1_200_000));
}

/// Six hundred pods of six groups with everything at once: near the bound, and the same again.
fn mixture() -> Snapshot {
    let mut synthetic = Synthetic::new()
        .machine("s", 2)
        .offer_everywhere("s", 100_000)
        .machine("m", 4)
        .offer("m", "zone-a", 190_000, None)
        .offer("m", "zone-b", 185_000, None)
        .machine("l", 8)
        .offer("l", "zone-b", 360_000, None)
        .offer("l", "zone-c", 350_000, None)
        .offer("l", "zone-c", 175_000, Some(4));
    for (name, count, millis) in [
        ("api", 120, 700),
        ("db", 30, 1_500),
        ("job", 200, 250),
        ("queue", 50, 900),
        ("web", 150, 400),
        ("edge", 20, 300),
    ] {
        synthetic = synthetic.pods(name, count, millis);
    }
    synthetic.freeze()
}

fn mixed(problem: &Problem<'_>) -> SideRows {
    let mut side = SideRows::default();
    side.caps.push(cap(problem, &["edge"], 1));
    side.caps.push(cap(problem, &["db", "queue"], 2));
    let mut soft = cap(problem, &["web"], 4);
    soft.excess = Excess::Costs(500);
    side.caps.push(soft);
    side.conflicts.push(Conflict {
        one: groups(problem, &["db"]),
        other: groups(problem, &["job"]),
        ..Conflict::default()
    });
    side.spreads.push(zone_spread(problem, &["api"], 1));
    side.spreads.push(zone_spread(problem, &["edge"], 1));
    let mut soft = zone_spread(problem, &["web"], 2);
    soft.excess = Excess::Costs(100);
    side.spreads.push(soft);
    side.together.push(Together {
        groups: groups(problem, &["queue"]),
        domains: zones(problem),
    });
    side.penalties.push(Penalty {
        groups: groups(problem, &["job"]),
        places: zone(problem, "zone-a"),
        each: 300,
    });
    side
}

#[test]
fn six_groups_under_everything_at_once() {
    let snapshot = mixture();
    let (cost, bound, packing) = solved(&snapshot, |problem, side| *side = mixed(problem));
    println!(
        "{cost} over {bound}, {} nodes",
        nodes_by_zone(&snapshot, &packing).iter().sum::<u64>()
    );
    assert!(bound <= cost && cost * 100 <= bound * 102, "{cost} over {bound}");
}

#[test]
fn the_same_effort_gives_the_same_packing_and_never_a_broken_one() {
    let snapshot = mixture();
    let mut problem = problem(&snapshot);
    problem.side = mixed(&problem);
    for limit in [0, 20_000, 1_000_000, 20_000_000] {
        let once = outcome(&problem, Some(limit));
        let again = outcome(&problem, Some(limit));
        assert_eq!(
            (&once.packing, &once.bound),
            (&again.packing, &again.bound),
            "{limit}"
        );
        if let Some(packing) = once.packing {
            assert_eq!(broken(&problem, &packing), [], "{limit}");
        }
    }
}
