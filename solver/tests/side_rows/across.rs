//! The baseline under rows across nodes: it keeps every one of them, and places about as many pods as can be.

use dovetail_solver::lower::Problem;
use dovetail_solver::lower::side::{Apart, Beside, Domain, Excess, Near, NodeTerm, PodTerm, Row, Together};
use dovetail_solver::pack::random::Random;
use dovetail_solver::pack::side::verdict::{Broken, broken};
use dovetail_solver::pack::{Packing, karpenter_order};
use dovetail_solver::testing::synthetic::{
    self, Ingredients, Synthetic, ZONES, cap, group, groups, problem, zone, zone_spread, zones,
};
use dovetail_solver::testing::synthetic_exact::optimum;

/// What spans nodes, and all else at random.
fn drawn(random: &mut Random) -> Ingredients {
    let mut with = Ingredients::ALL.some(random);
    match random.below(6) {
        0 => with.spreads = true,
        1 => with.together = true,
        2 => with.apart = true,
        3 => with.rows = true,
        4 => with.near = true,
        _ => with.beside = true,
    }
    with
}

/// Rows that an empty packing breaks are nobody's aim.
fn without_demands(problem: &mut Problem<'_>) {
    let nothing = Packing::nothing(problem);
    let keeps = |row: &Row| {
        let mut alone = problem.clone();
        alone.side = Default::default();
        alone.side.rows.push(row.clone());
        broken(&alone, &nothing).is_empty()
    };
    let rows: Vec<Row> = problem
        .side
        .rows
        .iter()
        .filter(|row| keeps(row))
        .cloned()
        .collect();
    problem.side.rows = rows;
}

fn placed_by_zone(problem: &Problem<'_>, packing: &Packing, name: &str) -> [u64; 3] {
    let wanted = group(problem, name);
    let mut placed = [0; 3];
    for (at, name) in ZONES.iter().enumerate() {
        let here = zone(problem, name);
        let rooms = packing.rooms.iter().enumerate();
        let rooms = rooms
            .filter(|(room, _)| here.rooms.contains(*room))
            .map(|(_, filling)| (filling, 1));
        let launched = packing
            .launched
            .iter()
            .filter(|launched| here.kinds.contains(launched.kind));
        for (filling, count) in rooms.chain(launched.map(|launched| (&launched.filling, launched.count))) {
            let of_group = filling.iter().filter(|(group, _)| *group == wanted);
            placed[at] += of_group.map(|(_, each)| each * count).sum::<u64>();
        }
    }
    placed
}

#[test]
fn every_packing_keeps_every_row_and_most_place_all_that_can_be() {
    let (mut all, mut most, mut placed, mut placeable) = (0_u64, 0_u64, 0, 0);
    for seed in 0..2_000 {
        let mut random = Random::new(seed);
        let with = drawn(&mut random);
        let snapshot = synthetic::cluster(&mut random, with);
        let mut problem = problem(&snapshot);
        problem.side = synthetic::side(&mut random, &problem, with);
        without_demands(&mut problem);
        let packing = karpenter_order::pack(&problem, false);
        assert_eq!(broken(&problem, &packing), [], "seed {seed}: {packing:?}");
        assert_eq!(packing, karpenter_order::pack(&problem, false), "seed {seed}");
        let by_priority = karpenter_order::pack(&problem, true);
        assert_eq!(broken(&problem, &by_priority), [], "seed {seed}, by priority");
        let mut cut = packing.clone();
        if let Some(launched) = cut.launched.pop() {
            for (group, count) in &launched.filling {
                cut.left[*group] += count * launched.count;
            }
            let sound = broken(&problem, &cut).is_empty();
            karpenter_order::complete(&problem, &mut cut);
            assert!(
                !sound || broken(&problem, &cut).is_empty(),
                "seed {seed}: {cut:?}"
            );
        }
        if seed % 4 == 0 {
            let best = optimum(&problem).unwrap();
            let left: u64 = packing.left.iter().sum();
            assert!(left >= best.left, "seed {seed}");
            let pods: u64 = problem.counts().iter().sum();
            all += 1;
            most += u64::from(left == best.left);
            placed += pods - left;
            placeable += pods - best.left;
        }
    }
    println!("of {all} as many as can be: {most}; pods {placed} of {placeable}");
    assert!(
        most * 100 >= all * 80 && placed * 100 >= placeable * 90,
        "{most} of {all}, {placed} of {placeable}"
    );
}

#[test]
fn a_spread_is_filled_where_it_is_lowest() {
    let snapshot = Synthetic::new()
        .machine("m", 4)
        .offer_everywhere("m", 100_000)
        .pods("web", 100, 1_000)
        .freeze();
    let mut problem = problem(&snapshot);
    let mut spread = zone_spread(&problem, &["web"], 1);
    for (domain, there) in spread.domains.iter_mut().zip([0, 7, 20]) {
        domain.there = there;
    }
    problem.side.spreads.push(spread);
    let packing = karpenter_order::pack(&problem, false);
    let placed = placed_by_zone(&problem, &packing, "web");
    assert_eq!(placed.iter().sum::<u64>(), 100);
    assert!([43, 42].contains(&placed[0]), "{placed:?}");
    // Softly spread, and nothing is refused.
    problem.side.spreads[0].excess = Excess::Costs(1);
    let packing = karpenter_order::pack(&problem, false);
    assert_eq!(placed_by_zone(&problem, &packing, "web"), placed);
}

#[test]
fn a_zone_that_is_full_holds_the_others_back() {
    let snapshot = Synthetic::new()
        .machine("m", 4)
        .offer("m", "zone-a", 100_000, Some(1))
        .offer("m", "zone-b", 100_000, None)
        .offer("m", "zone-c", 100_000, None)
        .pods("web", 30, 1_000)
        .freeze();
    let mut problem = problem(&snapshot);
    let room = {
        let kind = problem
            .kinds
            .iter()
            .position(|kind| kind.supply.is_some())
            .unwrap();
        problem.room(kind)[0] / 1_000
    };
    for skew in [1, 3] {
        problem.side.spreads = vec![zone_spread(&problem, &["web"], skew)];
        let packing = karpenter_order::pack(&problem, false);
        assert_eq!(broken(&problem, &packing), []);
        assert_eq!(
            placed_by_zone(&problem, &packing, "web"),
            [room, room + skew, room + skew]
        );
    }
}

#[test]
fn pods_that_belong_together_choose_the_zone_that_holds_them() {
    let snapshot = Synthetic::new()
        .machine("m", 4)
        .offer("m", "zone-a", 90_000, Some(1))
        .offer("m", "zone-b", 100_000, None)
        .pods("web", 10, 1_000)
        .freeze();
    let mut problem = problem(&snapshot);
    problem.side.together.push(Together {
        groups: groups(&problem, &["web"]),
        domains: zones(&problem),
    });
    let packing = karpenter_order::pack(&problem, false);
    assert_eq!(broken(&problem, &packing), []);
    assert_eq!(placed_by_zone(&problem, &packing, "web"), [0, 10, 0]);
    // So do those that start near themselves.
    problem.side.together.clear();
    let domain = |places| Domain { places, there: 0 };
    problem.side.near.push(Near {
        groups: groups(&problem, &["web"]),
        of: groups(&problem, &["web"]),
        domains: zones(&problem).into_iter().map(domain).collect(),
        may_start: true,
    });
    assert_eq!(karpenter_order::pack(&problem, false), packing);
    problem.side.near[0].domains[0].there = 1;
    problem.side.near[0].may_start = false;
    let packing = karpenter_order::pack(&problem, false);
    assert_eq!(broken(&problem, &packing), []);
    assert!(placed_by_zone(&problem, &packing, "web")[0] > 0 && packing.left[0] > 0);
}

#[test]
fn followers_come_after_those_that_they_follow() {
    // The follower is the larger one, and would be first.
    let snapshot = Synthetic::new()
        .machine("m", 8)
        .offer_everywhere("m", 100_000)
        .pods("web", 4, 1_000)
        .pods("db", 2, 500)
        .freeze();
    let mut problem = problem(&snapshot);
    let (web, db) = (groups(&problem, &["web"]), groups(&problem, &["db"]));
    problem.side.caps.push(cap(&problem, &["db"], 1));
    let domain = |places| Domain { places, there: 0 };
    problem.side.near.push(Near {
        groups: web.clone(),
        of: db.clone(),
        domains: zones(&problem).into_iter().map(domain).collect(),
        may_start: false,
    });
    let packing = karpenter_order::pack(&problem, false);
    assert_eq!((broken(&problem, &packing), &packing.left), (vec![], &vec![0, 0]));
    problem.side.near.clear();
    problem.side.beside.push(Beside {
        groups: web.clone(),
        of: db,
        ..Beside::default()
    });
    let packing = karpenter_order::pack(&problem, false);
    assert_eq!((broken(&problem, &packing), &packing.left), (vec![], &vec![0, 0]));
    // Alone they start on one node, as many as it holds.
    problem.side.beside[0].of = web;
    problem.side.beside[0].may_start = true;
    let packing = karpenter_order::pack(&problem, false);
    assert_eq!((broken(&problem, &packing), &packing.left), (vec![], &vec![0, 0]));
    let with_web = packing.launched.iter().filter(|launched| {
        let mut groups = launched.filling.iter();
        groups.any(|(other, _)| *other == group(&problem, "web"))
    });
    assert_eq!(with_web.map(|launched| launched.count).sum::<u64>(), 1);
}

#[test]
fn zones_of_two_sets_and_sums_are_kept() {
    let snapshot = Synthetic::new()
        .machine("m", 4)
        .offer_everywhere("m", 100_000)
        .pods("web", 12, 1_000)
        .pods("db", 6, 500)
        .freeze();
    let mut problem = problem(&snapshot);
    problem.side.apart.push(Apart {
        one: groups(&problem, &["web"]),
        other: groups(&problem, &["db"]),
        domains: zones(&problem),
    });
    let apart = karpenter_order::pack(&problem, false);
    assert_eq!(broken(&problem, &apart), []);
    assert_eq!(apart.left, [0, 0]);
    // Two pods and a node of three count five in the one zone, whose sum is at most eight.
    problem.side.apart.clear();
    problem.side.rows.push(Row {
        pods: vec![PodTerm {
            groups: groups(&problem, &["web"]),
            places: zone(&problem, "zone-a"),
            coefficient: 1,
        }],
        nodes: vec![NodeTerm {
            kinds: zone(&problem, "zone-a").kinds,
            coefficient: 3,
        }],
        lower: None,
        upper: Some(5),
    });
    problem.side.spreads.push(zone_spread(&problem, &["web"], 1));
    let packing = karpenter_order::pack(&problem, false);
    assert_eq!(broken(&problem, &packing), []);
    assert_eq!(placed_by_zone(&problem, &packing, "web"), [2, 3, 3]);
    assert!(!broken(&problem, &apart).contains(&Broken::Count(0)));
}
