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
        id: format!("a-{at}"),
        zone: "zone-a".into(),
        free_addresses: *free,
    };
    parts.subnets = free.iter().enumerate().map(subnet).collect();
    parts.subnets.push(Subnet {
        id: "b".to_owned(),
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

#[test]
fn alternatives_count_where_they_may_come_to_be() {
    assert_eq!(launched(parts(&[10], None), [&[A], &[B]]), []);
    assert_eq!(launched(parts(&[10], None), [&[A], &[B, A]]), [Rule::Subnets]);
    assert_eq!(launched(parts(&[20], None), [&[A, B], &[A]]), []);
    assert_eq!(launched(parts(&[20], None), [&[A, B], &[B, A]]), [Rule::Subnets]);
}

#[test]
fn nodes_on_their_way_take_theirs_too() {
    let with = |stage: NodeStage| {
        let mut parts = parts(&[29], None);
        let cluster = Cluster { parts: parts.clone() };
        parts.nodes = cluster
            .node_with("n", "p", "m", "zone-a", |node| node.stage = stage)
            .parts
            .nodes;
        launched(parts, [&[A], &[A]])
    };
    assert_eq!(with(NodeStage::Initialized), []);
    assert_eq!(with(NodeStage::InFlight), [Rule::Subnets]);
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
