//! No pod is where a hard taint stands that it doesn't tolerate. Startup taints of a NodePool go by themselves.

use crate::model::taint::first_untolerated;

use super::launches::Launches;
use super::placement::Placed;
use super::world::World;
use super::{Rule, Violations};

pub(super) fn check(world: &World<'_>, launches: &Launches<'_>, placed: &Placed, found: &mut Violations) {
    for filling in &launches.fillings {
        for constraint in &filling.constraints {
            let spec = world.constraints[*constraint];
            if let Some(taint) = first_untolerated(&filling.pool.taints, &spec.tolerations) {
                let detail = format!(
                    "a pod doesn't tolerate {taint} of node pool {}",
                    filling.pool.name
                );
                found.add(Rule::Taints, filling.name(), detail);
            }
        }
    }
    for (node, pods) in &placed.on_node {
        let node = &world.snapshot.nodes[*node];
        for pod in pods {
            let pod = &world.snapshot.pods[*pod];
            if let Some(taint) = first_untolerated(&node.taints, &pod.spec.tolerations) {
                let detail = format!("doesn't tolerate {taint} of node {}", node.name);
                found.add(Rule::Taints, &pod.name, detail);
            }
        }
    }
}
