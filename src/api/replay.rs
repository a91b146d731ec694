//! Replay: a day in a file. What happens to a simulated cluster, and when.
//!
//! A file format; its definition is printed so that editors and API servers can check it. Times and durations are texts such
//! as `1500ms`, `45s`, `1h30m`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{absent, schema, whole};

/// The world, and what happens in it.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "dovetail.sh",
    version = "v1alpha1",
    kind = "Replay",
    plural = "replays",
    category = "dovetail",
    doc = "A day in a file: what happens to a simulated cluster, and when."
)]
pub struct ReplaySpec {
    /// What happens.
    #[serde(default, deserialize_with = "absent::or_default")]
    #[schemars(extend("default" = null))]
    pub events: Vec<ReplayEvent>,
    /// By how much the controller's view of the cluster is behind.
    #[serde(default = "at_once", deserialize_with = "at_once_or")]
    #[schemars(extend("pattern" = schema::SPAN))]
    pub informer_lag: String,
    /// How long after its launch a node is ready.
    #[serde(default = "ready_after", deserialize_with = "ready_after_or")]
    #[schemars(extend("pattern" = schema::SPAN))]
    pub node_ready_after: String,
    /// How the simulated scheduler chooses between nodes.
    #[serde(default, deserialize_with = "absent::or_default")]
    pub scheduler: ReplayScheduler,
    /// The wall clock at 0s; a Wednesday morning, where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Time>,
    /// How long after it is ready a node's startup taints go.
    #[serde(default = "at_once", deserialize_with = "at_once_or")]
    #[schemars(extend("pattern" = schema::SPAN))]
    pub startup_taints_after: String,
    /// When it ends.
    #[schemars(extend("pattern" = schema::SPAN))]
    pub until: String,
}

fn at_once() -> String {
    "0s".to_owned()
}

fn at_once_or<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    absent::or(deserializer, at_once)
}

/// What an EC2 node of an ordinary image takes.
fn ready_after() -> String {
    "45s".to_owned()
}

fn ready_after_or<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    absent::or(deserializer, ready_after)
}

/// How the simulated scheduler chooses between nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReplayScheduler {
    /// The emptiest.
    #[default]
    LeastAllocated,
    /// The fullest.
    MostAllocated,
}

/// What happens at one instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplayEvent {
    /// When, from the start.
    #[schemars(extend("pattern" = schema::SPAN))]
    pub at: String,
    /// Objects that are created or changed.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(schema_with = "schema::any_objects")]
    pub apply: Vec<serde_json::Value>,
    /// A workload gets another number of replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<ReplayScale>,
    /// An object is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delete: Option<ReplayDelete>,
    /// EC2 runs out of something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<ReplayUnavailable>,
    /// A price changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<ReplayPrice>,
    /// EC2 takes machines back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupt: Option<ReplayInterrupt>,
    /// A kubelet breaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unready: Option<ReplayUnready>,
    /// The controller is started anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_controller: Option<ReplayRestart>,
    /// EC2 refuses some calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle: Option<ReplayThrottle>,
}

/// A workload gets another number of replicas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayScale {
    /// Namespace and name, as `default/web`.
    pub deployment: String,
    /// How many it gets.
    #[serde(deserialize_with = "whole::required")]
    #[schemars(extend("minimum" = 0))]
    pub replicas: i32,
}

/// An object is deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayDelete {
    /// Kind.
    pub kind: String,
    /// Name, with the namespace in front where it has one.
    pub name: String,
}

/// EC2 runs out of something; `*` stands for all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplayUnavailable {
    /// Instance type.
    pub instance_type: String,
    /// Zone.
    pub zone: String,
    /// Capacity type.
    pub capacity_type: String,
    /// For how long.
    #[serde(rename = "for")]
    #[schemars(extend("pattern" = schema::SPAN))]
    pub duration: String,
    /// The code that EC2 answers with.
    pub error: String,
}

/// A price changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplayPrice {
    /// Instance type.
    pub instance_type: String,
    /// Zone.
    pub zone: String,
    /// Capacity type.
    pub capacity_type: String,
    /// The new price, in $ per hour.
    #[schemars(extend("format" = null, "minimum" = 0))]
    pub usd: f64,
}

/// EC2 takes machines back; what isn't said matches all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplayInterrupt {
    /// Instance type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_type: Option<String>,
    /// Zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Capacity type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_type: Option<String>,
    /// The time over which the notices are spread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = schema::SPAN))]
    pub over: Option<String>,
}

/// A kubelet breaks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplayUnready {
    /// The node; the next one launched, where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// For how long.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = schema::SPAN))]
    pub duration: Option<String>,
    /// The machine never becomes a node.
    #[serde(default, deserialize_with = "absent::or_default")]
    pub never: bool,
}

/// The controller is started anew; it takes no settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayRestart {}

/// EC2 refuses some calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayThrottle {
    /// Which share of them.
    #[schemars(extend("format" = null, "minimum" = 0, "maximum" = 1))]
    pub share: f64,
    /// For how long.
    #[serde(rename = "for")]
    #[schemars(extend("pattern" = schema::SPAN))]
    pub duration: String,
}
