//! Limits of a NodePool: raw capacity of all its nodes, existing and in flight, and their number.
//!
//! Each limited resource, and the number of nodes, is a counter that a launch draws on.

use crate::model::instance_type::InstanceType;
use crate::model::node_pool::NodePool;
use crate::model::resources::{Amount, ResourceName};
use crate::model::snapshot::Snapshot;

/// What a node pool may still launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    /// The limited resources, in the order of the counters.
    pub resources: Vec<ResourceName>,
    /// Whether the last counter is the number of nodes.
    pub nodes: bool,
    /// What is left, one counter a limited resource, then the nodes.
    pub left: Vec<u64>,
}

impl Allowance {
    /// What the limits of a pool leave beside the nodes that are there or on their way.
    #[must_use]
    pub fn of(snapshot: &Snapshot, pool: &NodePool) -> Self {
        let own = || {
            snapshot
                .nodes
                .iter()
                .filter(|node| node.node_pool.as_ref() == Some(&pool.name))
        };
        let mut allowance = Self::default();
        for (name, limit) in pool.limits.resources.iter() {
            let used = own().fold(Amount::ZERO, |sum, node| sum.plus(node.capacity.get(name)));
            allowance.resources.push(name.clone());
            allowance.left.push(limit.minus(used).get());
        }
        if let Some(limit) = pool.limits.nodes {
            let used = u64::try_from(own().count()).unwrap_or(u64::MAX);
            allowance.nodes = true;
            allowance.left.push(limit.saturating_sub(used));
        }
        allowance
    }

    /// What one node of this type takes from each counter.
    #[must_use]
    pub fn usage(&self, instance_type: &InstanceType) -> Vec<u64> {
        let mut usage: Vec<u64> = self
            .resources
            .iter()
            .map(|name| instance_type.capacity.get(name).get())
            .collect();
        if self.nodes {
            usage.push(1);
        }
        usage
    }

    /// Name of a counter: the resource, or `None` for the number of nodes.
    #[must_use]
    pub fn resource(&self, counter: usize) -> Option<&ResourceName> {
        self.resources.get(counter)
    }
}
