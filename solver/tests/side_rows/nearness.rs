//! What it means to be near or beside others, and to be bound by a spread that counts others.

use dovetail_solver::lower::Problem;
use dovetail_solver::lower::side::{Beside, Domain, Near, SideRows};
use dovetail_solver::model::snapshot::Snapshot;
use dovetail_solver::pack::side::verdict::{Broken, across_nodes};
use dovetail_solver::pack::{Filling, Launched, Packing};
use dovetail_solver::testing::synthetic::{Synthetic, group, groups, problem, zone_spread, zones};

/// Four cores in every zone for 0.1 dollars, four pods of a core, and so many others of half a core.
fn two(others: usize) -> Snapshot {
    Synthetic::new()
        .machine("m", 4)
        .offer_everywhere("m", 100_000)
        .pods("web", 4, 1_000)
        .pods("db", others, 500)
        .node("n", "m", "zone-a")
        .freeze()
}

/// A packing of these many pods by zone, a node each.
fn packing(problem: &Problem<'_>, nodes: &[(usize, &[(&str, u64)])]) -> Packing {
    let launched = nodes.iter().map(|(zone, pods)| {
        let mut filling: Filling = pods
            .iter()
            .map(|(name, count)| (group(problem, name), *count))
            .collect();
        filling.sort_unstable();
        let in_zone = problem.kinds.iter().position(|kind| kind.part == *zone);
        Launched {
            kind: in_zone.unwrap(),
            filling,
            count: 1,
        }
    });
    Packing {
        rooms: vec![Filling::new()],
        launched: launched.collect(),
        left: vec![0; problem.groups.len()],
    }
}

fn near(problem: &Problem<'_>, of: &[&str], there: [u64; 3]) -> SideRows {
    let domains = zones(problem).into_iter().zip(there);
    let domains = domains.map(|(places, there)| Domain { places, there });
    SideRows {
        near: vec![Near {
            groups: groups(problem, &["web"]),
            of: groups(problem, of),
            domains: domains.collect(),
            may_start: of.contains(&"web") && there == [0; 3],
        }],
        ..SideRows::default()
    }
}

#[test]
fn followers_are_in_zones_of_running_or_planned_leaders() {
    let snapshot = two(2);
    let problem = problem(&snapshot);
    let apart = packing(&problem, &[(0, &[("web", 2)]), (1, &[("web", 2)])]);
    let led = packing(&problem, &[(0, &[("web", 2)]), (1, &[("web", 2), ("db", 1)])]);
    let judge = |of: &[&str], there, packing| across_nodes(&near(&problem, of, there), packing);
    assert_eq!(judge(&["db"], [0; 3], &apart), [Broken::Near(0)]);
    assert_eq!(judge(&["db"], [1, 0, 0], &apart), [Broken::Near(0)]);
    assert_eq!(judge(&["db"], [1, 3, 0], &apart), []);
    assert_eq!(judge(&["db"], [0; 3], &led), [Broken::Near(0)]);
    assert_eq!(judge(&["db"], [1, 0, 0], &led), []);
}

#[test]
fn those_that_match_themselves_start_in_one_zone_unless_there_are_others() {
    let snapshot = two(2);
    let problem = problem(&snapshot);
    let judge = |there, nodes: &[(usize, &[(&str, u64)])]| {
        across_nodes(&near(&problem, &["web", "db"], there), &packing(&problem, nodes))
    };
    assert_eq!(judge([0; 3], &[(2, &[("web", 2)]), (2, &[("web", 2)])]), []);
    assert_eq!(
        judge([0; 3], &[(0, &[("web", 2)]), (2, &[("web", 2)])]),
        [Broken::Near(0)]
    );
    assert_eq!(
        judge([0; 3], &[(2, &[("web", 2)]), (1, &[("db", 2)])]),
        [Broken::Near(0)]
    );
    assert_eq!(judge([0, 0, 1], &[(0, &[("web", 2)])]), [Broken::Near(0)]);
    assert_eq!(judge([0; 3], &[(1, &[("db", 2)])]), []);
}

#[test]
fn who_is_beside_others_shares_their_node() {
    let snapshot = two(2);
    let problem = problem(&snapshot);
    let beside = |of: &[&str], with_room: bool| {
        let mut row = Beside {
            groups: groups(&problem, &["web"]),
            of: groups(&problem, of),
            may_start: of.contains(&"web") && !with_room,
            ..Beside::default()
        };
        row.rooms_with.grow(1);
        row.rooms_with.set(0, with_room);
        SideRows {
            beside: vec![row],
            ..SideRows::default()
        }
    };
    let mixed = packing(&problem, &[(0, &[("web", 2), ("db", 1)]), (1, &[("web", 1)])]);
    assert_eq!(across_nodes(&beside(&["db"], false), &mixed), [Broken::Beside(0)]);
    let mut shared = packing(&problem, &[(0, &[("web", 2), ("db", 1)])]);
    assert_eq!(across_nodes(&beside(&["db"], false), &shared), []);
    shared.rooms[0].push((group(&problem, "web"), 1));
    assert_eq!(
        across_nodes(&beside(&["db"], false), &shared),
        [Broken::Beside(0)]
    );
    assert_eq!(across_nodes(&beside(&["db"], true), &shared), []);
    // Who matches himself starts on one node, and one only.
    let one = packing(&problem, &[(0, &[("web", 3)]), (1, &[("db", 1)])]);
    assert_eq!(across_nodes(&beside(&["web"], false), &one), []);
    assert_eq!(across_nodes(&beside(&["web"], true), &one), [Broken::Beside(0)]);
    assert_eq!(
        across_nodes(&beside(&["web", "db"], false), &one),
        [Broken::Beside(0)]
    );
    let mut twice = one.clone();
    twice.launched[0].count = 2;
    assert_eq!(
        across_nodes(&beside(&["web"], false), &twice),
        [Broken::Beside(0)]
    );
}

#[test]
fn a_spread_holds_for_those_that_it_binds_alone() {
    let snapshot = two(6);
    let mut problem = problem(&snapshot);
    let mut spread = zone_spread(&problem, &["db"], 1);
    // The others count, and go where they like.
    spread.bound = groups(&problem, &["web"]);
    problem.side.spreads.push(spread);
    let judge = |nodes: &[(usize, &[(&str, u64)])]| across_nodes(&problem.side, &packing(&problem, nodes));
    assert_eq!(judge(&[(0, &[("db", 6)])]), []);
    assert_eq!(judge(&[(0, &[("db", 6)]), (1, &[("web", 4)])]), []);
    assert_eq!(judge(&[(0, &[("db", 6), ("web", 1)])]), [Broken::Spread(0)]);
    assert_eq!(judge(&[(0, &[("db", 1)]), (0, &[("web", 4)])]), []);
}
