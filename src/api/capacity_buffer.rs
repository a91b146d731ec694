//! CapacityBuffer: room that is kept free for pods to come, by planning for pods that never exist.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Condition, Resources, absent, schema, whole};

/// The strategy of a buffer that states none, and the only one that is acted on.
pub fn default_provisioning_strategy() -> String {
    "buffer.x-k8s.io/active-capacity".to_owned()
}

fn provisioning_strategy<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    absent::or(deserializer, default_provisioning_strategy)
}

/// How much room, in terms of which pods.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "autoscaling.x-k8s.io",
    version = "v1beta1",
    kind = "CapacityBuffer",
    plural = "capacitybuffers",
    namespaced,
    category = "autoscaling",
    shortname = "cb",
    status = "CapacityBufferStatus",
    doc = "Room that is kept free for pods to come.",
    printcolumn(name = "Strategy", type_ = "string", json_path = ".spec.provisioningStrategy"),
    printcolumn(
        name = "PodTemplate",
        type_ = "string",
        json_path = ".status.podTemplateRef.name"
    ),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".status.replicas"),
    printcolumn(
        name = "ConditionsType",
        type_ = "string",
        json_path = ".status.conditions[*].type"
    ),
    printcolumn(
        name = "ConditionsStatus",
        type_ = "string",
        json_path = ".status.conditions[*].status"
    ),
    printcolumn(
        name = "ConditionsReason",
        type_ = "string",
        json_path = ".status.conditions[*].reason"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = [
    {
        "rule": "!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)",
        "message": "'podTemplateRef' needs 'replicas' or 'limits'"
    },
    {
        "rule": "!has(self.podTemplateRef) || !has(self.scalableRef)",
        "message": "'podTemplateRef' and 'scalableRef' exclude each other"
    }
]))]
pub struct CapacityBufferSpec {
    /// The most that the buffer's pods may ask for together.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "absent::entries"
    )]
    #[schemars(schema_with = "schema::resources")]
    pub limits: Resources,
    /// Size as a share of the workload's replicas.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole::optional"
    )]
    #[schemars(extend("minimum" = 0))]
    pub percentage: Option<i32>,
    /// The pod template that says what one unit is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_template_ref: Option<LocalReference>,
    /// How the room is kept.
    #[serde(
        default = "default_provisioning_strategy",
        deserialize_with = "provisioning_strategy"
    )]
    pub provisioning_strategy: String,
    /// Size as a number of pods.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole::optional"
    )]
    #[schemars(extend("minimum" = 0))]
    pub replicas: Option<i32>,
    /// The workload whose pods say what one unit is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scalable_ref: Option<ScalableReference>,
}

/// An object in the same namespace, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LocalReference {
    /// Its name.
    #[schemars(extend("minLength" = 1))]
    pub name: String,
}

/// A workload in the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScalableReference {
    /// API group; none means `apps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_group: Option<String>,
    /// Kind.
    #[schemars(extend("minLength" = 1))]
    pub kind: String,
    /// Name.
    #[schemars(extend("minLength" = 1))]
    pub name: String,
}

/// What is known of a CapacityBuffer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapacityBufferStatus {
    /// Whether the room is there, and why not.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null))]
    pub conditions: Vec<Condition>,
    /// The generation of the pod template that was last looked at.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole::optional"
    )]
    pub pod_template_generation: Option<i64>,
    /// The pod template in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_template_ref: Option<LocalReference>,
    /// The strategy in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisioning_strategy: Option<String>,
    /// How many pods it comes to.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole::optional"
    )]
    pub replicas: Option<i32>,
}
