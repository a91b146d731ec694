//! Overhead: the room that DaemonSets take on a node, and the DaemonSet pods that still wait for theirs.
//!
//! On a node to come those DaemonSets count whose selector, any one affinity term and tolerations admit it. On a node
//! that exists, those of them that have no pod there yet. Headroom that a policy wants on new nodes is taken off as well.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::name::{NodeName, NodePoolName};
use crate::model::node::Node;
use crate::model::pod::{DaemonSet, Pod, PodPlace};
use crate::model::resources::Resources;
use crate::model::snapshot::Snapshot;

use super::taints;

/// Whether a DaemonSet puts a pod on this existing node.
#[must_use]
pub fn expects(daemon_set: &DaemonSet, node: &Node) -> bool {
    taints::tolerates(&node.taints, &daemon_set.spec)
        && daemon_set
            .spec
            .admits_node(&node.labels, Some(node.name.as_str()))
}

/// What a node to come of a pool keeps free.
#[must_use]
pub fn headroom<'a>(snapshot: &'a Snapshot, pool: &NodePoolName) -> Option<&'a Resources> {
    snapshot.placement.headroom.get(pool)
}

/// The existing node that a pending DaemonSet pod is pinned to.
#[must_use]
pub fn pinned_to(pod: &Pod) -> Option<NodeName> {
    let terms = pod.spec.node_affinity.as_ref()?;
    terms
        .0
        .iter()
        .find_map(|term| term.node_name.as_ref()?.single())
        .map(NodeName::from)
}

/// DaemonSets that have a pod on each node: by node, indices into the snapshot's DaemonSets.
#[must_use]
pub fn present(snapshot: &Snapshot) -> BTreeMap<&NodeName, BTreeSet<usize>> {
    let mut present: BTreeMap<&NodeName, BTreeSet<usize>> = BTreeMap::new();
    for pod in snapshot.pods.iter().filter(|pod| pod.is_daemon()) {
        let PodPlace::Bound(node) = &pod.place else {
            continue;
        };
        if let Some(index) = owner(snapshot, pod) {
            present.entry(node).or_default().insert(index);
        }
    }
    present
}

/// Nodes with a pod of a DaemonSet that is being deleted, and the DaemonSet as an index into the snapshot's.
pub fn terminating(snapshot: &Snapshot) -> impl Iterator<Item = (&NodeName, usize)> {
    let pods = snapshot.pods.iter().filter(|pod| pod.is_daemon());
    pods.filter_map(|pod| match &pod.place {
        PodPlace::Terminating(node) => Some((node, owner(snapshot, pod)?)),
        _ => None,
    })
}

/// The DaemonSet that a pod belongs to, as an index into the snapshot's.
#[must_use]
pub fn owner(snapshot: &Snapshot, pod: &Pod) -> Option<usize> {
    snapshot
        .daemon_sets
        .iter()
        .position(|daemon_set| daemon_set.owns(pod))
}
