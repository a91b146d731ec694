//! Node pools and node classes, as far as a plan depends on them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::instance_type::InstanceType;
use super::name::{NodeClassName, NodePoolName, SubnetId};
use super::requirement::{Labels, Requirements};
use super::resources::Resources;
use super::taint::Taint;

/// A node class: the instance types as its AMI family, kubelet settings, disks and subnets make them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeClass {
    /// Its name.
    pub name: NodeClassName,
    /// Ordered by name.
    pub instance_types: Vec<InstanceType>,
    /// The subnets that its nodes may be in; empty: any of those that are known.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub subnets: BTreeSet<SubnetId>,
}

/// Limits of a NodePool: what all its nodes may have together, existing and in flight included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// By resource, counted in raw capacity. A resource that isn't named is not limited.
    #[serde(default)]
    pub resources: Resources,
    /// How many nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
}

/// What happens where fewer values of a key are left than a NodePool's minValues ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MinValuesPolicy {
    /// Nothing is launched.
    #[default]
    Strict,
    /// What is launched offers as many as there are.
    BestEffort,
}

/// A NodePool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodePool {
    /// Its name.
    pub name: NodePoolName,
    /// Which instance types it launches.
    pub node_class: NodeClassName,
    /// Preference: a pod goes to the pools of the highest weight that can take it, whatever they cost.
    pub weight: u32,
    /// What its nodes must be like, and by that which labels they may carry. A key with several admitted values is
    /// open: a launch fixes one of them.
    pub requirements: Requirements,
    /// Labels that all of its nodes carry: the template's, the pool's own name, the node class's.
    pub labels: Labels,
    /// Taints that stay.
    pub taints: Vec<Taint>,
    /// Taints that go when the node has started; pods need not tolerate them.
    #[serde(default)]
    pub startup_taints: Vec<Taint>,
    /// What all its nodes may have together.
    #[serde(default)]
    pub limits: Limits,
    /// Node count of a static pool: such a pool launches by its count, never for pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u64>,
    /// Why it launches nothing at all, where it doesn't: it isn't ready, or makes no sense, or its class is missing. Its other
    /// fields may then be empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

impl NodePool {
    /// Whether it launches nodes for pods.
    #[must_use]
    pub fn launches_for_pods(&self) -> bool {
        self.replicas.is_none() && self.left_out.is_none()
    }
}
