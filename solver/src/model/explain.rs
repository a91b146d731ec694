//! Why a pod found no place, in words a program can read.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::name::{NodeName, NodePoolName, PodName};

/// The closed list of constraints that can refuse a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Constraint {
    /// No node or instance type is large enough, DaemonSets counted.
    Resources,
    /// A limit of the NodePool leaves no room.
    Limit,
    /// The pod's selector or affinity and the NodePool's requirements or labels exclude each other.
    Requirement,
    /// The same, where the zone decides.
    Zone,
    /// A taint that the pod doesn't tolerate.
    Taint,
    /// Required affinity to other pods.
    Affinity,
    /// Required anti-affinity between pods.
    AntiAffinity,
    /// A hard topology spread.
    TopologySpread,
    /// A host port that is taken.
    HostPort,
    /// A volume that is elsewhere, missing, or one too many.
    Volume,
    /// minValues of the NodePool.
    MinValues,
    /// Nothing suitable is offered, or not now.
    Capacity,
    /// No free address in the subnets.
    Subnet,
    /// DaemonSets leave no room.
    Overhead,
    /// The pod is of a gang, which is placed whole or not at all.
    Gang,
    /// A PackingPolicy forbids it.
    Policy,
    /// The NodePool isn't ready, static, or its node class is missing.
    NodePool,
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Why one NodePool, or one existing node, can't take a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reason {
    /// The NodePool that was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_pool: Option<NodePoolName>,
    /// Or the existing node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeName>,
    /// What decided.
    pub constraint: Constraint,
    /// With the figures: what is needed, what there is.
    pub detail: String,
}

/// A pod without a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unschedulable {
    /// The pod.
    pub pod: PodName,
    /// One reason for each NodePool (or node) that was tried.
    pub reasons: Vec<Reason>,
    /// The smallest change that places it, verified by planning again; `None` when no single change does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// Whether the search for one ended before all was tried that could have helped. A search for this pod alone goes
    /// further.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fix_search_cut_short: bool,
}
