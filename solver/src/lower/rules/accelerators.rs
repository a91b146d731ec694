//! Accelerators: where a policy says so, pods that ask for none stay off nodes that have one.
//!
//! DaemonSets' pods go where their DaemonSet puts them.

use fixedbitset::FixedBitSet;

use crate::lower::universe::Universe;
use crate::model::name::NodePoolName;
use crate::model::node::Node;
use crate::model::placement::names_accelerator;
use crate::model::pod::PodSpec;
use crate::model::snapshot::Snapshot;

/// Whether pods of this specification stay off nodes that have an accelerator, where any policy cares.
#[must_use]
pub fn asks_for_none(snapshot: &Snapshot, spec: &PodSpec, is_daemon: bool) -> bool {
    !snapshot.placement.keep_off_accelerators.is_empty() && !is_daemon && !names_accelerator(&spec.requests)
}

/// Whether a policy keeps nodes of a pool that have an accelerator for pods that ask for one.
#[must_use]
pub fn keeps_off(snapshot: &Snapshot, pool: &NodePoolName) -> bool {
    snapshot.placement.keep_off_accelerators.contains(pool)
}

/// Whether an existing node is kept for pods that ask for an accelerator.
#[must_use]
pub fn is_kept(snapshot: &Snapshot, node: &Node) -> bool {
    let of_pool = |pool: &NodePoolName| keeps_off(snapshot, pool);
    node.node_pool.as_ref().is_some_and(of_pool) && node.has_accelerator()
}

/// The bins that are.
#[must_use]
pub fn kept(universe: &Universe<'_>) -> FixedBitSet {
    let mut bins = FixedBitSet::with_capacity(universe.bins.len());
    for shape in &universe.shapes {
        let pool = &universe.pool(shape).name;
        if keeps_off(universe.snapshot, pool) && universe.instance_type(shape).has_accelerator() {
            bins.insert_range(shape.bins.clone());
        }
    }
    bins
}
