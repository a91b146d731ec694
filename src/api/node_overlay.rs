//! NodeOverlay: what planning should believe of some offerings' price and extra capacity.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Condition, Operator, Resources, absent, schema, whole};

/// What a NodeOverlay changes, and on which offerings.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "karpenter.sh",
    version = "v1alpha1",
    kind = "NodeOverlay",
    plural = "nodeoverlays",
    category = "karpenter",
    shortname = "overlays",
    status = "NodeOverlayStatus",
    doc = "What planning should believe of some offerings' price and extra capacity.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Weight", type_ = "integer", priority = 1, json_path = ".spec.weight")
)]
#[schemars(extend("x-kubernetes-validations" = [
    {
        "rule": "!has(self.price) || !has(self.priceAdjustment)",
        "message": "'price' and 'priceAdjustment' exclude each other"
    }
]))]
pub struct NodeOverlaySpec {
    /// Extended resources that matching instance types have besides their own.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "absent::entries"
    )]
    #[schemars(schema_with = "schema::extended_resources")]
    pub capacity: Resources,
    /// The price of matching offerings, in $ per hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = r"^\d+(\.\d+)?$"))]
    pub price: Option<String>,
    /// What is added to the price of matching offerings: `+0.1`, `-0.1`, `+5%`, `-100%`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = r"^(([+-]{1}(\d*\.?\d+))|(\+{1}\d*\.?\d+%)|(^(-\d{1,2}(\.\d+)?%)$)|(-100%))$"))]
    pub price_adjustment: Option<String>,
    /// Which offerings match.
    #[schemars(extend("maxItems" = 100))]
    pub requirements: Vec<OverlayRequirement>,
    /// Where overlays disagree, the greater weight wins.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole::optional"
    )]
    #[schemars(extend("minimum" = 1, "maximum" = 10000))]
    pub weight: Option<i32>,
}

/// A condition on an offering's label; a requirement without minValues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OverlayRequirement {
    /// The label's key.
    #[schemars(extend("maxLength" = 316, "pattern" = schema::QUALIFIED_NAME))]
    pub key: String,
    /// How the label is compared with the values.
    pub operator: Operator,
    /// What it is compared with.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null))]
    pub values: Vec<String>,
}

/// What is known of a NodeOverlay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeOverlayStatus {
    /// Whether it is in force, and why not.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null))]
    pub conditions: Vec<Condition>,
}
