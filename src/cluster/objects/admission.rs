//! What admission adds to pods: defaults of a namespace, priorities, overhead of a runtime.

use dovetail_solver::model::requirement::Labels;
use serde::Deserialize;

use super::meta::{Amounts, Metadata, or_default};
use super::pod::Toleration;

/// A LimitRange.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LimitRange {
    /// What all objects have.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// What it says.
    pub spec: LimitRangeSpec,
}

/// What a LimitRange says.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LimitRangeSpec {
    /// Per container, pod or claim.
    #[serde(default, deserialize_with = "or_default")]
    pub limits: Vec<LimitRangeItem>,
}

/// One line of a LimitRange.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitRangeItem {
    /// `Container`, `Pod` or `PersistentVolumeClaim`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Limits of a container that states none.
    #[serde(default)]
    pub default: Amounts,
    /// Requests of a container that states none.
    #[serde(default)]
    pub default_request: Amounts,
    /// The most.
    #[serde(default)]
    pub max: Amounts,
    /// The least.
    #[serde(default)]
    pub min: Amounts,
}

/// A PriorityClass.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PriorityClass {
    /// What all objects have.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// The priority.
    pub value: i32,
    /// Whether it holds for pods that name no class.
    #[serde(default, deserialize_with = "or_default")]
    pub global_default: bool,
}

/// A RuntimeClass.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RuntimeClass {
    /// What all objects have.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// What each of its pods costs besides its containers.
    #[serde(default, deserialize_with = "or_default")]
    pub overhead: Overhead,
    /// Where its pods may run.
    #[serde(default, deserialize_with = "or_default")]
    pub scheduling: Scheduling,
}

/// What each pod of a runtime costs besides its containers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Overhead {
    /// The same for every pod.
    #[serde(default)]
    pub pod_fixed: Amounts,
}

/// Where pods of a runtime may run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scheduling {
    /// Labels that their nodes must have.
    #[serde(default, deserialize_with = "or_default")]
    pub node_selector: Labels,
    /// Taints they may run against.
    #[serde(default, deserialize_with = "or_default")]
    pub tolerations: Vec<Toleration>,
}
