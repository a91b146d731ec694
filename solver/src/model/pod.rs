//! Pods, and the groups that no rule can tell apart.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::name::{NodeName, PodName};
use super::requirement::{Labels, NodeSelectorTerms, Requirements};
use super::resources::Resources;
use super::rules::PodRules;
use super::taint::Toleration;
use super::time::Timestamp;

/// The controller that owns a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Owner {
    /// Its kind: `ReplicaSet`, `DaemonSet`, …
    pub kind: String,
    /// Its name, in the pod's namespace.
    pub name: String,
}

/// All of a pod that decides where it may run. Pods of one workload share one value.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSpec {
    /// Effective requests: containers, init containers, sidecars, pod-level resources and overhead, and one pod slot.
    pub requests: Resources,
    /// `nodeSelector`: labels with exactly these values.
    #[serde(default)]
    pub node_selector: Labels,
    /// Required node affinity; `None` when the pod has none (an empty list would match nothing).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_affinity: Option<NodeSelectorTerms>,
    /// Taints it may run against.
    #[serde(default)]
    pub tolerations: Vec<Toleration>,
    /// Scheduling priority; higher goes first where room is scarce.
    #[serde(default)]
    pub priority: i32,
    /// Labels, which selectors of spread, affinity and disruption budgets read.
    #[serde(default)]
    pub labels: Labels,
    /// Its controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// Rules about other pods, domains, ports and volumes.
    #[serde(default, skip_serializing_if = "PodRules::is_empty")]
    pub rules: PodRules,
}

impl PodSpec {
    /// The `nodeSelector` as requirements.
    #[must_use]
    pub fn selector_requirements(&self) -> Requirements {
        Requirements::of_labels(&self.node_selector)
    }

    /// Whether selector and required affinity admit a node of these labels. `node_name` is `None` for a node to come.
    #[must_use]
    pub fn admits_node(&self, labels: &Labels, node_name: Option<&str>) -> bool {
        self.node_selector
            .iter()
            .all(|(key, value)| labels.get(key) == Some(value))
            && self
                .node_affinity
                .as_ref()
                .is_none_or(|terms| terms.admits(labels, node_name))
    }
}

/// Where a pod is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PodPlace {
    /// Nowhere yet: to be planned.
    Pending,
    /// On a node, using its room.
    Bound(NodeName),
    /// On a node and terminating: uses its room still, needs no other place.
    Terminating(NodeName),
}

/// One pod that isn't finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pod {
    /// Its name.
    pub name: PodName,
    /// What decides where it may run.
    pub spec: Arc<PodSpec>,
    /// Where it is.
    pub place: PodPlace,
    /// When it was created, where that is known: older pods go first among equals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
}

impl Pod {
    /// Whether a DaemonSet owns it.
    #[must_use]
    pub fn is_daemon(&self) -> bool {
        self.spec
            .owner
            .as_ref()
            .is_some_and(|owner| owner.kind == "DaemonSet")
    }

    /// The node it is on, if any.
    #[must_use]
    pub fn node(&self) -> Option<&NodeName> {
        match &self.place {
            PodPlace::Pending => None,
            PodPlace::Bound(node) | PodPlace::Terminating(node) => Some(node),
        }
    }
}

/// A DaemonSet: one pod on every node that its template admits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DaemonSet {
    /// Namespace and name.
    pub name: PodName,
    /// The pod it puts on a node. Its owner is the DaemonSet itself.
    pub spec: Arc<PodSpec>,
}

impl DaemonSet {
    /// Whether this pod is one of the DaemonSet's.
    #[must_use]
    pub fn owns(&self, pod: &Pod) -> bool {
        pod.is_daemon()
            && pod.name.namespace == self.name.namespace
            && pod
                .spec
                .owner
                .as_ref()
                .is_some_and(|owner| owner.name == self.name.name)
    }
}
