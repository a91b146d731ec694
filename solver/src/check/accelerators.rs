//! Where a policy says so, no pod that asks for no accelerator comes to a node that has one, under the first choice or
//! any alternative. DaemonSets' pods aren't asked.

use crate::model::placement::names_accelerator;

use super::launches::Launches;
use super::placement::Placed;
use super::world::World;
use super::{Rule, Violations};

pub(super) fn check(world: &World<'_>, launches: &Launches<'_>, placed: &Placed, found: &mut Violations) {
    let snapshot = world.snapshot;
    let kept = &snapshot.placement.keep_off_accelerators;
    if kept.is_empty() {
        return;
    }
    let stranger = |pods: &[usize]| {
        let mut pods = pods.iter().map(|pod| &snapshot.pods[*pod]);
        pods.find(|pod| !pod.is_daemon() && !names_accelerator(&pod.spec.requests))
    };
    for filling in &launches.fillings {
        let Some(pod) = stranger(&placed.in_launch[filling.launch]) else {
            continue;
        };
        let alternatives = launches.lists[filling.list].offers.iter();
        for offer in std::iter::once(&filling.first).chain(alternatives) {
            let prospect = launches.prospect(offer);
            if kept.contains(&filling.pool.name)
                && prospect.is_some_and(|prospect| prospect.instance_type.has_accelerator())
            {
                let detail = format!("{} asks for no accelerator", pod.name);
                found.add(Rule::Accelerators, filling.name_as(offer), detail);
                break;
            }
        }
    }
    for (node, pods) in &placed.on_node {
        let node = &snapshot.nodes[*node];
        let is_kept = node.node_pool.as_ref().is_some_and(|pool| kept.contains(pool));
        if let Some(pod) = stranger(pods).filter(|_| is_kept && node.has_accelerator()) {
            let detail = format!("{} asks for no accelerator", pod.name);
            found.add(Rule::Accelerators, format!("node {}", node.name), detail);
        }
    }
}
