//! What NodePool and NodeClaim say in the same words: requirements, taints, the reference to a node class.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{absent, whole};

/// How a requirement compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Operator {
    /// One of the values.
    In,
    /// None of the values; a node without the label fits.
    NotIn,
    /// The label is there.
    Exists,
    /// The label isn't there.
    DoesNotExist,
    /// A number greater than the value.
    Gt,
    /// A number less than the value.
    Lt,
    /// A number not less than the value.
    Gte,
    /// A number not greater than the value.
    Lte,
}

/// A condition on a node's label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Requirement {
    /// The label's key.
    #[schemars(extend("maxLength" = 316, "pattern" = super::schema::QUALIFIED_NAME))]
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
    /// At least so many different values have to stay possible, for diversity.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole::optional"
    )]
    #[schemars(extend("format" = null, "minimum" = 1, "maximum" = 50))]
    pub min_values: Option<i64>,
}

/// What a taint does to pods that don't tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TaintEffect {
    /// They are not put there.
    NoSchedule,
    /// They are put there only as a last resort.
    PreferNoSchedule,
    /// They are not put there, and those that run there go.
    NoExecute,
}

/// A taint that nodes are born with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Taint {
    /// What it does to pods that don't tolerate it.
    pub effect: TaintEffect,
    /// Its key.
    #[schemars(extend("minLength" = 1, "pattern" = super::schema::QUALIFIED_NAME))]
    pub key: String,
    /// When it was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_added: Option<Time>,
    /// Its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = super::schema::QUALIFIED_NAME))]
    pub value: Option<String>,
}

/// The cloud-specific half of a node pool, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeClassReference {
    /// API group, without the version.
    pub group: String,
    /// Kind.
    #[schemars(extend("minLength" = 1))]
    pub kind: String,
    /// Name.
    #[schemars(extend("minLength" = 1))]
    pub name: String,
}
