//! Addresses of subnets as nodes that a zone has left.

use super::*;

use crate::model::explain::Constraint;
use crate::model::plan::{Checked, Plan};
use crate::model::subnet::Subnet;
use crate::options::PlanOptions;
use crate::quota::Unlimited;

fn planned(free: &[(&str, u64)], count: usize, edit: impl Fn(&mut Cluster)) -> Plan<Checked> {
    let mut cluster = pods(cluster(), "web", count, |spec| {
        anti_affinity(spec, HOSTNAME_LABEL, "web")
    });
    cluster.parts.subnets = (free.iter().enumerate())
        .map(|(at, (zone, free))| Subnet {
            id: format!("subnet-{at}"),
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
    let detail =
        "a node needs 17 free addresses of one subnet; zone-a: subnet-0 has 3; zone-b: subnet-1 has 6";
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
    assert_eq!(plan.cost.objective, plan.cost.lower_bound);
    assert!(plan.launch.iter().all(|launch| launch.alternatives.len() == 1));
}

#[test]
fn nodes_on_their_way_have_theirs_coming() {
    let plan = planned(&[("zone-a", 40)], 2, |cluster| {
        let parts = std::mem::take(&mut cluster.parts);
        *cluster = Cluster { parts }.node_with("n", "default", "m", "zone-a", |node| {
            node.stage = crate::model::node::NodeStage::InFlight;
            node.unschedulable = true;
        });
    });
    assert_eq!((plan.launch.len(), plan.unschedulable.len()), (1, 1));
}

#[test]
fn where_types_take_different_numbers_each_counts_as_the_largest() {
    let plan = planned(&[("zone-a", 25)], 3, |cluster| {
        let mut large = machine("l", "16", "64Gi", "2");
        large.capacity.set(
            crate::model::resources::ResourceName::Pods,
            crate::model::resources::Amount::new(20),
        );
        let class = cluster.parts.node_classes.values_mut().next().unwrap();
        class.instance_types.push(large);
        cluster.parts.addresses_per_node = None;
    });
    assert_eq!(plan.launch.len(), 1);
}
