//! Limits of NodePools, offers limited in number, and amounts at the end of their range.

use super::*;

use dovetail_solver::model::offering::{Reservation, ReservationType};

#[test]
fn limits_count_existing_nodes_and_the_worst_choice() {
    let snapshot = |nodes: Option<u64>, cpu: Option<u64>| {
        let cluster = Cluster::new()
            .instance_type(machine("m.small", "2", "4Gi", "0.1"))
            .instance_type(machine("m.large", "4", "8Gi", "0.2"))
            .pool_with("p", |pool| {
                pool.limits.nodes = nodes;
                if let Some(cpu) = cpu {
                    pool.limits.resources.set(ResourceName::Cpu, Amount::new(cpu));
                }
            })
            .pool("other")
            .node_with("n1", "p", "m.small", "zone-a", |node| node.ready = false)
            .node("n2", "other", "m.small", "zone-a");
        cluster.pods("x", 2, "2", "1Gi").freeze()
    };
    let launched = |snapshot: &Snapshot, larger: bool| {
        let offers = [("m.small", "zone-a", OnDemand), ("m.large", "zone-a", OnDemand)];
        let offers = &offers[..1 + usize::from(larger)];
        let draft = Draft::new(snapshot).launch("p", offers, &["default/x-0"]);
        broken(snapshot, draft.launch("p", offers, &["default/x-1"]).body())
    };
    assert_eq!(launched(&snapshot(Some(3), None), true), []);
    assert_eq!(launched(&snapshot(Some(2), None), true), [Rule::Limits]);
    assert_eq!(launched(&snapshot(None, Some(6_000)), false), []);
    assert_eq!(launched(&snapshot(None, Some(5_999)), false), [Rule::Limits]);
    assert_eq!(launched(&snapshot(None, Some(9_999)), true), [Rule::Limits]);
    assert_eq!(launched(&snapshot(None, Some(10_000)), true), []);
}

#[test]
fn limited_offers_suffice_for_the_worst_joint_choice() {
    let snapshot = |limit: u32, held: usize| {
        let mut machine = machine("m", "2", "4Gi", "0.1");
        let offering = Offering {
            price: Price::parse("0.04").unwrap(),
            limit: Some(limit),
            commitment: Some("plan".to_owned()),
            ..machine.offerings[0].clone()
        };
        machine.offerings.insert(0, offering);
        let mut cluster = Cluster::new().instance_type(machine).pool("p").pool("q");
        for number in 0..held {
            cluster = cluster.node(&format!("n{number}"), "p", "m", "zone-a");
        }
        cluster.pods("x", 2, "2", "1Gi").freeze()
    };
    let launched = |snapshot: &Snapshot, as_alternative: bool| {
        let cheap = ("m", "zone-a", OnDemand);
        let first = if as_alternative {
            ("m", "zone-b", OnDemand)
        } else {
            cheap
        };
        let draft = Draft::new(snapshot).launch("p", &[cheap], &["default/x-0"]);
        broken(
            snapshot,
            draft.launch("q", &[first, cheap], &["default/x-1"]).body(),
        )
    };
    assert_eq!(launched(&snapshot(2, 0), false), []);
    assert_eq!(launched(&snapshot(2, 0), true), []);
    assert_eq!(launched(&snapshot(1, 0), false), [Rule::Offerings]);
    assert_eq!(launched(&snapshot(1, 0), true), [Rule::Offerings]);
    assert_eq!(launched(&snapshot(3, 1), true), []);
    assert_eq!(
        launched(&snapshot(2, 1), true),
        [Rule::Offerings],
        "one is held by a node that exists"
    );
}

#[test]
fn a_price_of_zero_is_no_offer_unless_reserved() {
    let snapshot = |capacity_type: CapacityType, reservation: Option<&str>| {
        let mut machine = machine("m", "2", "4Gi", "0");
        for offering in &mut machine.offerings {
            offering.capacity_type = capacity_type;
            offering.reservation = reservation.map(Reservation::plain);
        }
        Cluster::new()
            .instance_type(machine)
            .pool("p")
            .pods("x", 1, "1", "1Gi")
            .freeze()
    };
    let paid = snapshot(Reserved, Some("cr-1"));
    accepted(
        &paid,
        Draft::new(&paid).launch("p", &[("m", "zone-a", Reserved)], &["default/x-0"]),
    );
    let free = snapshot(OnDemand, None);
    refused(
        &free,
        Draft::new(&free).launch("p", &[("m", "zone-a", OnDemand)], &["default/x-0"]),
        Rule::Offerings,
    );
}

#[test]
fn two_reservations_of_one_price_are_told_apart_by_their_label() {
    let mut machine = machine("m", "2", "4Gi", "0");
    machine.offerings.truncate(1);
    machine.offerings[0].capacity_type = Reserved;
    machine.offerings[0].limit = Some(1);
    machine.offerings[0].reservation = Some(Reservation::plain("cr-1"));
    let second = Offering {
        reservation: Some(Reservation::plain("cr-2")),
        ..machine.offerings[0].clone()
    };
    machine.offerings.push(second);
    let pool = |id: &'static str| {
        move |pool: &mut dovetail_solver::model::node_pool::NodePool| {
            pool.requirements = requirements(&[(RESERVATION_LABEL, Operator::In, &[id])]);
        }
    };
    let snapshot = Cluster::new()
        .instance_type(machine)
        .pool_with("one", pool("cr-1"))
        .pool_with("two", pool("cr-2"))
        .pool("any")
        .pods("x", 3, "2", "1Gi")
        .freeze();
    let offer = [("m", "zone-a", Reserved)];
    let launched = |pools: &[&str]| {
        let mut draft = Draft::new(&snapshot);
        for (number, pool) in pools.iter().enumerate() {
            let name = format!("default/x-{number}");
            draft = draft.launch(pool, &offer, &[name.as_str()]);
        }
        for number in pools.len()..3 {
            draft = draft.refuse(&format!("default/x-{number}"));
        }
        broken(&snapshot, draft.body())
    };
    assert_eq!(launched(&["one", "two"]), []);
    assert_eq!(launched(&["any", "two"]), []);
    assert_eq!(launched(&["two", "two"]), [Rule::Offerings]);
    assert_eq!(launched(&["one", "two", "any"]), [Rule::Offerings]);
}

/// `m` of five reservations of one price, with so many machines each; a pool for each set of them.
fn five_reservations(numbers: [u32; 5], pools: &[&'static [&'static str]]) -> Cluster {
    let mut machine = machine("m", "2", "4Gi", "0");
    let offering = machine.offerings[0].clone();
    machine.offerings.clear();
    for (at, number) in numbers.into_iter().enumerate() {
        machine.offerings.push(Offering {
            capacity_type: Reserved,
            limit: Some(number),
            reservation: Some(Reservation::plain(format!("cr-{}", at + 1))),
            ..offering.clone()
        });
    }
    let mut cluster = Cluster::new().instance_type(machine);
    for (at, ids) in pools.iter().enumerate() {
        cluster = cluster.pool_with(&format!("p{at}"), |pool| {
            pool.requirements = requirements(&[(RESERVATION_LABEL, Operator::In, ids)]);
        });
    }
    cluster.pods("x", pools.len(), "2", "1Gi")
}

/// Neither one set of offers by itself nor all together have too few; three sets that overlap have.
#[test]
fn offers_that_overlap_are_matched_and_not_only_counted() {
    let pools: [&[&str]; 5] = [
        &["cr-1", "cr-2"],
        &["cr-2", "cr-3"],
        &["cr-1", "cr-3"],
        &["cr-3", "cr-1"],
        &["cr-4", "cr-5"],
    ];
    let launched = |numbers| {
        let snapshot = five_reservations(numbers, &pools).freeze();
        let mut draft = Draft::new(&snapshot);
        for at in 0..pools.len() {
            let name = format!("default/x-{at}");
            draft = draft.launch(&format!("p{at}"), &[("m", "zone-a", Reserved)], &[name.as_str()]);
        }
        broken(&snapshot, draft.body())
    };
    assert_eq!(launched([1, 1, 2, 9, 9]), []);
    assert_eq!(launched([1, 1, 1, 9, 9]), [Rule::Offerings]);
    assert_eq!(launched([0, 2, 2, 9, 9]), []);
    assert_eq!(
        launched([0, 4, 1, 9, 9]),
        [Rule::Offerings],
        "two need the one of cr-3"
    );
}

#[test]
fn a_commitment_is_one_number_for_all_its_types_and_zones() {
    let sold = |name: &str, limits: [u32; 2]| {
        let mut machine = machine(name, "2", "4Gi", "0.1");
        let cheap = machine
            .offerings
            .clone()
            .into_iter()
            .zip(limits)
            .map(|(offering, limit)| Offering {
                price: Price::parse("0.04").unwrap(),
                limit: Some(limit),
                commitment: Some("plan".to_owned()),
                ..offering
            });
        machine.offerings.splice(0..0, cheap.collect::<Vec<_>>());
        machine
    };
    let launched = |limits: [[u32; 2]; 2], held: bool| {
        let mut cluster = Cluster::new()
            .instance_type(sold("m", limits[0]))
            .instance_type(sold("n", limits[1]))
            .pool("p");
        if held {
            cluster = cluster.node("n1", "p", "n", "zone-b");
        }
        let snapshot = cluster.pods("x", 2, "2", "1Gi").freeze();
        let draft = Draft::new(&snapshot).launch("p", &[("m", "zone-a", OnDemand)], &["default/x-0"]);
        broken(
            &snapshot,
            draft
                .launch("p", &[("n", "zone-b", OnDemand)], &["default/x-1"])
                .body(),
        )
    };
    assert_eq!(launched([[2, 2], [2, 2]], false), []);
    assert_eq!(launched([[1, 1], [1, 1]], false), [Rule::Offerings]);
    assert_eq!(
        launched([[9, 9], [1, 9]], false),
        [Rule::Offerings],
        "the least counts"
    );
    assert_eq!(launched([[2, 2], [2, 2]], true), [Rule::Offerings]);
    assert_eq!(launched([[3, 3], [3, 3]], true), []);
}

#[test]
fn what_stands_in_for_a_reservation_is_of_its_kind_and_nothing_for_a_capacity_block() {
    let launched = |kinds: [ReservationType; 2], interruptible: [bool; 2], named: Option<&str>| {
        let mut snapshot = five_reservations([9; 5], &[&["cr-1", "cr-2"]]).parts;
        let class = snapshot.node_classes.values_mut().next().unwrap();
        let offerings = &mut class.instance_types[0].offerings;
        offerings.truncate(2);
        for (at, offering) in offerings.iter_mut().enumerate() {
            let reservation = offering.reservation.as_mut().unwrap();
            (reservation.kind, reservation.interruptible) = (kinds[at], interruptible[at]);
            offering.price = Price::from_micros(u64::try_from(at).unwrap());
        }
        let snapshot = snapshot.freeze().unwrap();
        let draft = Draft::new(&snapshot).launch("p0", &[("m", "zone-a", Reserved)], &["default/x-0"]);
        let mut body = draft.body();
        body.launch[0].alternatives = [Alternative {
            capacity_type: Reserved,
            reservation_id: named.map(str::to_owned),
            ..other("m", 1)
        }]
        .into();
        broken(&snapshot, body)
    };
    let (plain, block) = (ReservationType::Default, ReservationType::CapacityBlock);
    assert_eq!(launched([plain; 2], [false; 2], Some("cr-2")), []);
    assert_eq!(
        launched([plain; 2], [false; 2], Some("cr-1")),
        [Rule::Offerings],
        "it costs something else"
    );
    assert_eq!(launched([plain; 2], [true, false], None), [Rule::Offerings]);
    assert_eq!(launched([plain, block], [false; 2], None), [Rule::Offerings]);
    assert_eq!(launched([block; 2], [false; 2], None), [Rule::Offerings]);
}

/// Two of three nodes of a static pool are there, one of them on its way out; so two are missing.
fn static_pool(replicas: u64, limit: Option<u64>) -> Cluster {
    let is_limited = limit.is_some();
    let mut sold = machine("m", "2", "4Gi", "0.1");
    for offering in &mut sold.offerings {
        offering.available = is_limited || replicas < 9;
    }
    Cluster::new()
        .instance_type(sold)
        .pool_with("p", |pool| {
            pool.replicas = Some(replicas);
            pool.limits.nodes = limit;
        })
        .pool("q")
        .node("n1", "p", "m", "zone-a")
        .node_with("n2", "p", "m", "zone-a", |node| node.deleting = true)
        .pods("x", 1, "1", "1Gi")
}

#[test]
fn a_static_pool_launches_what_it_lacks_and_no_more() {
    let launched = |snapshot: &Snapshot, pods: &[&[&str]]| {
        let mut draft = Draft::new(snapshot);
        for pods in pods {
            draft = draft.launch("p", &[("m", "zone-a", OnDemand), ("m", "zone-b", OnDemand)], pods);
        }
        if pods.iter().all(|pods| pods.is_empty()) {
            draft = draft.on_node("n1", &["default/x-0"]);
        }
        broken(snapshot, draft.body())
    };
    let (for_pod, empty): (&[&str], &[&str]) = (&["default/x-0"], &[]);
    let three = static_pool(3, None).freeze();
    assert_eq!(launched(&three, &[empty, for_pod]), []);
    assert_eq!(launched(&three, &[empty, empty]), []);
    assert_eq!(launched(&three, &[for_pod]), [Rule::StaticPools]);
    assert_eq!(launched(&three, &[empty, empty, for_pod]), [Rule::StaticPools]);
    let at_most_three = static_pool(3, Some(3)).freeze();
    assert_eq!(launched(&at_most_three, &[empty]), []);
    assert_eq!(launched(&at_most_three, &[]), [Rule::StaticPools]);
    assert_eq!(launched(&at_most_three, &[empty, empty]), [Rule::Limits]);
    let not_sold = static_pool(9, None).freeze();
    assert_eq!(launched(&not_sold, &[]), [], "nothing can be had");
}

#[test]
fn a_pool_that_is_left_out_launches_nothing_and_is_blamed_itself() {
    let with = |why: Option<&'static str>| {
        move |cluster: Cluster| {
            cluster
                .pool_with("p", |pool| pool.left_out = why.map(str::to_owned))
                .pods("x", 1, "1", "1Gi")
        }
    };
    assert_eq!(labels::launches(with(None), &[]), []);
    assert_eq!(labels::launches(with(Some("not ready")), &[]), [Rule::Placement]);
    let blamed = |why: Option<&'static str>| {
        let cluster = Cluster::new().instance_type(machine("m", "2", "4Gi", "0.1"));
        let snapshot = with(why)(cluster).freeze();
        let mut draft = Draft::new(&snapshot).refuse("default/x-0");
        draft.body.unschedulable[0].reasons[0].constraint = Constraint::NodePool;
        broken(&snapshot, draft.body())
    };
    assert_eq!(blamed(Some("not ready")), []);
    assert_eq!(blamed(None), [Rule::Honesty]);
}

#[test]
fn amounts_at_the_end_of_the_range_neither_wrap_nor_panic() {
    let mut parts = Cluster::new()
        .instance_type(machine("m", "2", "4Gi", "0.1"))
        .pool_with("p", |pool| {
            pool.limits
                .resources
                .set(ResourceName::Cpu, Amount::new(u64::MAX));
        })
        .daemon_set("agent", "1", "1Gi")
        .pods("x", 3, "1", "1Gi")
        .parts;
    let class = parts.node_classes.values_mut().next().unwrap();
    class.instance_types[0]
        .allocatable
        .set(ResourceName::Cpu, Amount::new(u64::MAX));
    class.instance_types[0]
        .capacity
        .set(ResourceName::Cpu, Amount::new(u64::MAX));
    for offering in &mut class.instance_types[0].offerings {
        offering.price = Price::from_micros(u64::MAX);
    }
    for pod in &mut parts.pods {
        let spec = std::sync::Arc::make_mut(&mut pod.spec);
        spec.requests.set(ResourceName::Cpu, Amount::new(u64::MAX / 2));
    }
    let snapshot = parts.freeze().unwrap();
    let offer = [("m", "zone-a", OnDemand)];
    let draft = || Draft::new(&snapshot).launch("p", &offer, &["default/x-0", "default/x-1"]);
    let rules = broken(&snapshot, draft().launch("p", &offer, &["default/x-2"]).body());
    // Two halves of the largest amount fit, but not with a DaemonSet; and two such nodes exceed any limit.
    assert_eq!(rules, [Rule::Overhead, Rule::Limits]);
    let rules = broken(
        &snapshot,
        Draft::new(&snapshot)
            .launch("p", &offer, &["default/x-0", "default/x-1", "default/x-2"])
            .body(),
    );
    assert_eq!(rules, [Rule::Resources]);
}

#[test]
fn launches_that_are_alike_are_judged_once_and_told_apart_from_others() {
    let mut cluster = cluster();
    cluster = cluster.pods("many", 40, "1500m", "1Gi");
    let snapshot = cluster.freeze();
    let mut draft = draft(&snapshot);
    for pair in 0..20 {
        let (one, two) = (
            format!("default/many-{}", 2 * pair),
            format!("default/many-{}", 2 * pair + 1),
        );
        draft = draft.launch(
            "default",
            &[("m.medium", "zone-b", OnDemand), ("m.large", "zone-b", OnDemand)],
            &[&one, &two],
        );
    }
    let mut body = draft.body();
    let shared = body.launch[2].alternatives.clone();
    for launch in &mut body.launch[2..] {
        launch.alternatives = shared.clone();
    }
    assert_eq!(broken(&snapshot, body.clone()), []);
    // A third pod in just one of them: too much for its first choice, not for its alternative.
    let third = body.launch[21].pods.pop().unwrap();
    body.launch[9].pods.push(third);
    ask(&mut body, 9, ResourceName::Cpu, 1_500);
    ask(&mut body, 9, ResourceName::Memory, 1 << 30);
    ask(&mut body, 9, ResourceName::Pods, 1);
    ask(&mut body, 21, ResourceName::Cpu, -1_500);
    ask(&mut body, 21, ResourceName::Memory, -(1 << 30));
    ask(&mut body, 21, ResourceName::Pods, -1);
    let failure = check(&snapshot, Plan::propose(body)).unwrap_err();
    assert_eq!(failure.violations.len(), 1, "{:#?}", failure.violations);
    assert!(
        failure.violations[0].subject.starts_with("launch/9 as m.medium"),
        "{:#?}",
        failure.violations
    );
}
