//! Nodes, as far as planning reads them.

use serde::Deserialize;

use super::meta::{Amounts, Condition, Metadata, or_default};

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Node {
    /// What all objects have.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// What was decided about it.
    #[serde(default, deserialize_with = "or_default")]
    pub spec: NodeSpec,
    /// What it says of itself.
    #[serde(default, deserialize_with = "or_default")]
    pub status: NodeStatus,
}

/// What was decided about a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct NodeSpec {
    /// The cloud's name for its machine.
    #[serde(default, rename = "providerID", deserialize_with = "or_default")]
    pub provider_id: String,
    /// Taints.
    #[serde(default, deserialize_with = "or_default")]
    pub taints: Vec<Taint>,
    /// Cordoned.
    #[serde(default, deserialize_with = "or_default")]
    pub unschedulable: bool,
}

/// A taint as written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value.
    #[serde(default, deserialize_with = "or_default")]
    pub value: String,
    /// Its effect.
    pub effect: String,
}

/// What a node says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct NodeStatus {
    /// What the machine has.
    #[serde(default)]
    pub capacity: Amounts,
    /// What pods may use of it.
    #[serde(default)]
    pub allocatable: Amounts,
    /// Its conditions.
    #[serde(default, deserialize_with = "or_default")]
    pub conditions: Vec<Condition>,
}
