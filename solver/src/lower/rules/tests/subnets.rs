//! Addresses of subnets as nodes that a zone has left.

use super::*;

use crate::model::explain::Constraint;
use crate::model::instance_type::NODE_POOL_LABEL;
use crate::model::plan::{Checked, Plan};
use crate::model::subnet::Subnet;
use crate::options::PlanOptions;
use crate::quota::Unlimited;

#[cfg(test)]
fn planned(free: &[(&str, u64)], count: usize, edit: impl Fn(&mut Cluster)) -> Plan<Checked> {
    let mut cluster = pods(cluster(), "web", count, |spec| {
        anti_affinity(spec, HOSTNAME_LABEL, "web");
    });
    cluster.parts.subnets = (free.iter().enumerate())
        .map(|(at, (zone, free))| Subnet {
            id: format!("subnet-{at}").into(),
            zone: (*zone).into(),
            free_addresses: *free,
        })
        .collect();
    cluster.parts.addresses_per_node = Some(17);
    edit(&mut cluster);
    crate::plan(&cluster.freeze(), &PlanOptions::default(), &Unlimited).unwrap()
}

fn zones(plan: &Plan<Checked>) -> Vec<&str> {
    let mut zones: Vec<&str> = plan.launch.iter().map(|launch| launch.zone.as_str()).collect();
    zones.sort_unstable();
    zones
}

#[test]
fn a_zone_gets_as_many_nodes_as_it_has_addresses_for() {
    let plan = planned(&[("zone-a", 3), ("zone-b", 40)], 4, |_| {});
    assert_eq!(zones(&plan), ["zone-b", "zone-b"]);
    let reason = &plan.unschedulable[0].reasons[0];
    assert_eq!(reason.constraint, Constraint::Subnet);
    let detail = "a node takes 17 addresses of one subnet, and none has so many left: subnet-0 in zone-a has 3, subnet-1 in zone-b has 6";
    assert_eq!(reason.detail, detail);
    assert!(plan.launch.iter().all(|launch| launch.alternatives.is_empty()));
}

#[test]
fn zones_share_what_one_of_them_has_too_little_for() {
    let plan = planned(&[("zone-a", 34), ("zone-a", 20), ("zone-b", 17)], 4, |_| {});
    assert_eq!(zones(&plan), ["zone-a", "zone-a", "zone-a", "zone-b"]);
}

#[test]
fn plenty_of_addresses_change_nothing() {
    let plan = planned(&[("zone-a", 1_000), ("zone-b", 1_000)], 4, |_| {});
    assert_eq!(plan.launch.len(), 4);
    assert!(plan.launch.iter().all(|launch| launch.alternatives.len() == 1));
}

#[test]
fn nodes_on_their_way_have_theirs_coming() {
    let plan = planned(&[("zone-a", 40)], 2, |cluster| {
        let parts = std::mem::take(&mut cluster.parts);
        *cluster = Cluster { parts }.node_with("n", "default", "m", "zone-a", |node| {
            node.stage = crate::model::node::NodeStage::InFlight;
            node.launched = false;
            node.unschedulable = true;
        });
    });
    assert_eq!((plan.launch.len(), plan.unschedulable.len()), (1, 1));
}

#[test]
fn what_the_cloud_has_made_has_its_addresses() {
    let plan = planned(&[("zone-a", 40)], 2, |cluster| {
        let parts = std::mem::take(&mut cluster.parts);
        *cluster = Cluster { parts }.node_with("n", "default", "m", "zone-a", |node| {
            node.stage = crate::model::node::NodeStage::InFlight;
            node.unschedulable = true;
        });
    });
    assert_eq!(plan.launch.len(), 2);
}

#[test]
fn each_type_takes_as_many_as_it_has_pod_slots() {
    for (free, launches) in [
        (&[("zone-a", 25)][..], 2),
        (&[("zone-a", 15), ("zone-a", 15)], 2),
        (&[("zone-a", 9)], 0),
    ] {
        let plan = planned(free, 3, |cluster| cluster.parts.addresses_per_node = None);
        assert_eq!(plan.launch.len(), launches, "ten a node of {free:?}");
    }
}

#[test]
fn classes_take_from_subnets_of_their_own_and_shared_ones() {
    // The first class may use both subnets, the second only the first.
    let shared = |free: [u64; 2]| {
        planned(&[("zone-a", free[0]), ("zone-a", free[1])], 2, |cluster| {
            let mut second = cluster.parts.node_classes.values().next().unwrap().clone();
            second.name = "second".into();
            second.subnets = ["subnet-0".into()].into();
            cluster.parts.node_classes.insert("second".into(), second);
            let mut pool = cluster.parts.node_pools[0].clone();
            pool.name = "second".into();
            pool.node_class = "second".into();
            pool.labels
                .insert(NODE_POOL_LABEL.to_owned(), "second".to_owned());
            cluster.parts.node_pools.push(pool);
            let parts = std::mem::take(&mut cluster.parts);
            *cluster = pods(Cluster { parts }, "second", 1, |spec| {
                anti_affinity(spec, HOSTNAME_LABEL, "web");
                let pool = (NODE_POOL_LABEL.to_owned(), "second".to_owned());
                spec.node_selector.extend([pool]);
            });
        })
    };
    for (free, launches) in [([17, 34], 3), ([34, 17], 3), ([17, 17], 2), ([0, 51], 2)] {
        let plan = shared(free);
        assert_eq!(plan.launch.len(), launches, "{free:?}");
        let refused = plan.unschedulable.iter().flat_map(|one| &one.reasons);
        let own = refused.filter(|reason| reason.constraint == Constraint::Subnet);
        assert_eq!(own.count() > 0, launches < 3, "{free:?}");
    }
}
