//! Volumes: every volume of a pod is within reach of its node, beside what the pod itself requires.
//!
//! Which nodes are eligible for a spread doesn't depend on them. How many may be attached to a node is a resource.

use fixedbitset::FixedBitSet;

use crate::model::node::Node;
use crate::model::pod::PodSpec;
use crate::model::resources::ResourceName;
use crate::model::rules::Volume;

use super::requirements::Evaluator;

/// Of these bins, those that reach all volumes.
pub fn narrow<'a>(evaluator: &mut Evaluator<'a>, spec: &'a PodSpec, bins: &mut FixedBitSet) {
    for volume in &spec.rules.volumes {
        bins.intersect_with(&evaluator.any(&volume.reach));
    }
}

/// The first volume that an existing node doesn't reach.
#[must_use]
pub fn out_of_reach<'a>(spec: &'a PodSpec, node: &Node) -> Option<&'a Volume> {
    let reaches = |volume: &&Volume| volume.reach.admits(&node.labels, Some(node.name.as_str()));
    spec.rules.volumes.iter().find(|volume| !reaches(volume))
}

/// Whether a resource is the number of volumes that may be attached.
#[must_use]
pub fn is_attachment(resource: &ResourceName) -> bool {
    resource.to_string().starts_with("attachable-volumes-")
}
