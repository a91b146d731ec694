//! Limits of NodePools, offers limited in number, and amounts at the end of their range.

use super::*;

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
            offering.reservation_id = reservation.map(str::to_owned);
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
    machine.offerings[0].reservation_id = Some("cr-1".to_owned());
    let second = Offering {
        reservation_id: Some("cr-2".to_owned()),
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

#[test]
fn a_static_pool_launches_for_no_pod() {
    let with = |cluster: Cluster| {
        cluster
            .pool_with("p", |pool| pool.replicas = Some(2))
            .pods("x", 1, "1", "1Gi")
    };
    assert_eq!(labels::launches(with, &[]), [Rule::Placement]);
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
