//! Subnets have addresses for wherever the launches may come to be.

use super::*;

use dovetail_solver::model::node::NodeStage;
use dovetail_solver::model::subnet::Subnet;

const A: (&str, &str, CapacityType) = ("m", "zone-a", OnDemand);
const B: (&str, &str, CapacityType) = ("m", "zone-b", OnDemand);

/// Subnets of zone-a with so many free addresses, and one of zone-b with plenty; a node takes ten, or its ten slots.
fn parts(free: &[u64], per_node: Option<u64>) -> SnapshotParts {
    let mut parts = Cluster::new()
        .instance_type(machine("m", "2", "4Gi", "0.1"))
        .pool("p")
        .pods("x", 2, "1", "1Gi")
        .parts;
    let subnet = |(at, free): (usize, &u64)| Subnet {
        id: format!("a-{at}").into(),
        zone: "zone-a".into(),
        free_addresses: *free,
    };
    parts.subnets = free.iter().enumerate().map(subnet).collect();
    parts.subnets.push(Subnet {
        id: "b".into(),
        zone: "zone-b".into(),
        free_addresses: 10,
    });
    parts.addresses_per_node = per_node;
    parts
}

fn launched(parts: SnapshotParts, offers: [&[(&str, &str, CapacityType)]; 2]) -> Vec<Rule> {
    let snapshot = parts.freeze().unwrap();
    let draft = Draft::new(&snapshot).launch("p", offers[0], &["default/x-0"]);
    broken(&snapshot, draft.launch("p", offers[1], &["default/x-1"]).body())
}

#[test]
fn each_node_has_its_addresses_from_one_subnet() {
    for (free, per_node, expected) in [
        (&[20][..], None, &[][..]),
        (&[19], None, &[Rule::Subnets]),
        (&[10, 10], None, &[]),
        (&[15, 9], None, &[Rule::Subnets]),
        (&[], None, &[Rule::Subnets]),
        (&[19], Some(9), &[]),
        (&[], Some(0), &[]),
    ] {
        assert_eq!(
            launched(parts(free, per_node), [&[A], &[A]]),
            expected,
            "{free:?}"
        );
    }
}

/// A launch as first choice and alternatives, each with the subnet that it names.
fn naming(parts: SnapshotParts, subnets: [&[Option<&str>]; 2]) -> Vec<Rule> {
    let snapshot = parts.freeze().unwrap();
    let mut draft = Draft::new(&snapshot)
        .launch("p", &[A, B][..subnets[0].len()], &["default/x-0"])
        .launch("p", &[A, B][..subnets[1].len()], &["default/x-1"]);
    let id = |name: &Option<&str>| name.map(Into::into);
    for (launch, named) in draft.body.launch.iter_mut().zip(subnets) {
        launch.subnet = id(&named[0]);
        let mut others = launch.alternatives.to_vec();
        for (other, named) in others.iter_mut().zip(&named[1..]) {
            other.subnet = id(named);
        }
        launch.alternatives = others.into();
    }
    broken(&snapshot, draft.body())
}

#[test]
fn a_named_subnet_has_the_addresses_and_is_one_of_the_node_s() {
    let two = || parts(&[10, 10], None);
    assert_eq!(naming(two(), [&[Some("a-0")], &[Some("a-1")]]), []);
    assert_eq!(naming(two(), [&[Some("a-0")], &[Some("a-0")]]), [Rule::Subnets]);
    assert_eq!(naming(two(), [&[Some("a-0")], &[None]]), []);
    assert_eq!(
        naming(two(), [&[Some("a-0"), Some("b")], &[Some("a-1"), None]]),
        [Rule::Subnets]
    );
    assert_eq!(
        naming(two(), [&[Some("b")], &[Some("a-1")]]),
        [Rule::Subnets],
        "another zone's"
    );
    assert_eq!(
        naming(two(), [&[Some("c")], &[Some("a-1")]]),
        [Rule::Subnets],
        "unknown"
    );
    let mut other = two();
    other
        .node_classes
        .values_mut()
        .for_each(|class| class.subnets = ["a-1".into()].into());
    assert_eq!(
        naming(other, [&[Some("a-0")], &[Some("a-1")]]),
        [Rule::Subnets],
        "not the class's"
    );
}

#[test]
fn alternatives_count_where_they_may_come_to_be() {
    assert_eq!(launched(parts(&[10], None), [&[A], &[B]]), []);
    assert_eq!(launched(parts(&[10], None), [&[A], &[B, A]]), [Rule::Subnets]);
    assert_eq!(launched(parts(&[20], None), [&[A, B], &[A]]), []);
    assert_eq!(launched(parts(&[20], None), [&[A, B], &[B, A]]), [Rule::Subnets]);
}

#[test]
fn nodes_on_their_way_take_theirs_too() {
    let with = |stage: NodeStage, made: bool| {
        let mut parts = parts(&[29], None);
        let cluster = Cluster { parts: parts.clone() };
        parts.nodes = cluster
            .node_with("n", "p", "m", "zone-a", |node| {
                node.stage = stage;
                node.launched = made;
            })
            .parts
            .nodes;
        launched(parts, [&[A], &[A]])
    };
    assert_eq!(with(NodeStage::Initialized, true), []);
    assert_eq!(with(NodeStage::InFlight, true), []);
    assert_eq!(with(NodeStage::InFlight, false), [Rule::Subnets]);
}

#[test]
fn subnets_are_blamed_where_there_are_some() {
    let mut parts = parts(&[], None);
    parts.subnets.clear();
    let snapshot = parts.freeze().unwrap();
    let mut draft = Draft::new(&snapshot).refuse("default/x-0").refuse("default/x-1");
    draft.body.unschedulable[0].reasons[0].constraint = Constraint::Subnet;
    assert_eq!(broken(&snapshot, draft.body()), [Rule::Honesty]);
}
