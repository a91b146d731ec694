//! NodeClaim: one machine that was asked for, and what became of it.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::node_pool::{default_expire_after, expire_after};
use super::{Condition, NodeClassReference, Requirement, Resources, Taint, absent, schema};

/// What a NodeClaim wants. It never changes.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "karpenter.sh",
    version = "v1",
    kind = "NodeClaim",
    plural = "nodeclaims",
    category = "karpenter",
    status = "NodeClaimStatus",
    doc = "One machine that was asked for, and what became of it.",
    printcolumn(
        name = "Type",
        type_ = "string",
        json_path = ".metadata.labels.node\\.kubernetes\\.io/instance-type"
    ),
    printcolumn(
        name = "Capacity",
        type_ = "string",
        json_path = ".metadata.labels.karpenter\\.sh/capacity-type"
    ),
    printcolumn(
        name = "Zone",
        type_ = "string",
        json_path = ".metadata.labels.topology\\.kubernetes\\.io/zone"
    ),
    printcolumn(name = "Node", type_ = "string", json_path = ".status.nodeName"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "ImageID",
        type_ = "string",
        priority = 1,
        json_path = ".status.imageID"
    ),
    printcolumn(name = "ID", type_ = "string", priority = 1, json_path = ".status.providerID"),
    printcolumn(
        name = "NodePool",
        type_ = "string",
        priority = 1,
        json_path = ".metadata.labels.karpenter\\.sh/nodepool"
    ),
    printcolumn(
        name = "NodeClass",
        type_ = "string",
        priority = 1,
        json_path = ".spec.nodeClassRef.name"
    ),
    printcolumn(
        name = "Drifted",
        type_ = "string",
        priority = 1,
        json_path = ".status.conditions[?(@.type==\"Drifted\")].status"
    )
)]
#[schemars(extend("x-kubernetes-validations" = [
    { "rule": "self == oldSelf", "message": "a claim's spec cannot change" }
]))]
pub struct NodeClaimSpec {
    /// How long the machine lives; `Never` for as long as it likes.
    #[serde(default = "default_expire_after", deserialize_with = "expire_after")]
    #[schemars(extend("pattern" = schema::DURATION_OR_NEVER))]
    pub expire_after: String,
    /// The cloud-specific half.
    pub node_class_ref: NodeClassReference,
    /// What the node's labels have to be.
    #[schemars(extend("maxItems" = 100))]
    pub requirements: Vec<Requirement>,
    /// The least that the machine has to offer.
    #[serde(
        default,
        skip_serializing_if = "NodeClaimResources::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null))]
    pub resources: NodeClaimResources,
    /// Taints that go away by themselves before the node counts as initialised; planning looks past them.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null))]
    pub startup_taints: Vec<Taint>,
    /// Taints of the node.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null))]
    pub taints: Vec<Taint>,
    /// How long draining the node may take before its pods are removed by force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = schema::DURATION))]
    pub termination_grace_period: Option<String>,
}

/// The least that a machine has to offer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeClaimResources {
    /// What its pods ask for together, those of DaemonSets included.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "absent::entries"
    )]
    #[schemars(schema_with = "schema::resources")]
    pub requests: Resources,
}

impl NodeClaimResources {
    fn is_empty(&self) -> bool {
        let Self { requests } = self;
        requests.is_empty()
    }
}

/// What became of a NodeClaim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeClaimStatus {
    /// What pods may use of the machine.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "absent::entries"
    )]
    #[schemars(schema_with = "schema::resources")]
    pub allocatable: Resources,
    /// What the machine has.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "absent::entries"
    )]
    #[schemars(schema_with = "schema::resources")]
    pub capacity: Resources,
    /// How far it has come.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null))]
    pub conditions: Vec<Condition>,
    /// The image that the machine was started from.
    #[serde(default, rename = "imageID", skip_serializing_if = "Option::is_none")]
    pub image_id: Option<String>,
    /// When a pod was last bound to the node, or last left it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_pod_event_time: Option<Time>,
    /// The node that the machine became.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,
    /// The cloud's name for the machine.
    #[serde(default, rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
}
