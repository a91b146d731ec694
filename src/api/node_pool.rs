//! NodePool: the policy for a set of nodes. What to launch, how much of it, and when it may be disrupted.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Condition, NodeClassReference, Requirement, Resources, Taint, absent, schema, whole};

/// How long a node lives where nothing is said.
pub fn default_expire_after() -> String {
    "720h".to_owned()
}

pub(super) fn expire_after<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    absent::or(deserializer, default_expire_after)
}

/// How long a node is quiet before consolidation looks at it, where nothing is said.
pub fn default_consolidate_after() -> String {
    "0s".to_owned()
}

fn consolidate_after<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    absent::or(deserializer, default_consolidate_after)
}

/// The budgets of a pool that states none: a tenth of its nodes at once.
pub fn default_budgets() -> Vec<Budget> {
    vec![Budget {
        nodes: default_budget_nodes(),
        ..Budget::default()
    }]
}

fn budgets<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Budget>, D::Error> {
    absent::or(deserializer, default_budgets)
}

/// How many nodes a budget admits that doesn't say.
pub fn default_budget_nodes() -> String {
    "10%".to_owned()
}

fn budget_nodes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    absent::or(deserializer, default_budget_nodes)
}

/// What a NodePool wants.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "karpenter.sh",
    version = "v1",
    kind = "NodePool",
    plural = "nodepools",
    category = "karpenter",
    status = "NodePoolStatus",
    scale(spec_replicas_path = ".spec.replicas", status_replicas_path = ".status.nodes"),
    doc = "The policy for a set of nodes: what to launch, how much of it, and when it may be disrupted.",
    printcolumn(
        name = "NodeClass",
        type_ = "string",
        json_path = ".spec.template.spec.nodeClassRef.name"
    ),
    printcolumn(name = "Nodes", type_ = "string", json_path = ".status.nodes"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Weight", type_ = "integer", priority = 1, json_path = ".spec.weight"),
    printcolumn(
        name = "CPU",
        type_ = "string",
        priority = 1,
        json_path = ".status.resources.cpu"
    ),
    printcolumn(
        name = "Memory",
        type_ = "string",
        priority = 1,
        json_path = ".status.resources.memory"
    )
)]
#[schemars(extend("x-kubernetes-validations" = [
    {
        "rule": "has(self.replicas) == has(oldSelf.replicas)",
        "message": "a pool cannot change between a fixed and a dynamic number of nodes"
    },
    {
        "rule": "!has(self.replicas) || !has(self.limits) || self.limits.all(name, name == 'nodes')",
        "message": "a pool with a fixed number of nodes can limit only 'nodes'"
    },
    {
        "rule": "!has(self.replicas) || !has(self.weight)",
        "message": "a pool with a fixed number of nodes has no weight"
    }
]))]
pub struct NodePoolSpec {
    /// When and how many of the pool's nodes may be disrupted.
    #[serde(default, deserialize_with = "absent::or_default")]
    #[schemars(extend("default" = {"consolidateAfter": "0s"}))]
    pub disruption: Disruption,
    /// The most that the pool's nodes may have together; `nodes` counts them.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "absent::entries"
    )]
    #[schemars(schema_with = "schema::resources")]
    pub limits: Resources,
    /// Keeps the pool at exactly so many nodes, whether pods need them or not.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole::optional"
    )]
    #[schemars(extend("minimum" = 0))]
    pub replicas: Option<i64>,
    /// What the pool's nodes are made from.
    pub template: NodeClaimTemplate,
    /// Pools of greater weight are preferred.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole::optional"
    )]
    #[schemars(extend("minimum" = 1, "maximum" = 100))]
    pub weight: Option<i32>,
}

/// When and how many nodes may be disrupted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Disruption {
    /// How many nodes may go at once; all budgets have to agree.
    #[serde(default = "default_budgets", deserialize_with = "budgets")]
    #[schemars(extend(
        "default" = [{"nodes": "10%"}],
        "maxItems" = 50,
        "x-kubernetes-validations" = [{
            "rule": "self.all(budget, has(budget.schedule) == has(budget.duration))",
            "message": "'schedule' and 'duration' go together"
        }]
    ))]
    pub budgets: Vec<Budget>,
    /// How long a node has to be quiet before consolidation looks at it; `Never` switches consolidation off.
    #[serde(default = "default_consolidate_after", deserialize_with = "consolidate_after")]
    #[schemars(extend("pattern" = schema::DURATION_OR_NEVER))]
    pub consolidate_after: String,
    /// Which nodes consolidation may touch.
    #[serde(default, deserialize_with = "absent::or_default")]
    pub consolidation_policy: ConsolidationPolicy,
}

impl Default for Disruption {
    fn default() -> Self {
        Self {
            budgets: default_budgets(),
            consolidate_after: default_consolidate_after(),
            consolidation_policy: ConsolidationPolicy::default(),
        }
    }
}

/// Which nodes consolidation may touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConsolidationPolicy {
    /// Only nodes without pods of consequence.
    WhenEmpty,
    /// Any node, for any saving.
    #[default]
    WhenEmptyOrUnderutilized,
    /// Any node, for a saving that outweighs the disturbance.
    Balanced,
}

/// How many nodes may be disrupted at once, for which reasons, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Budget {
    /// How long the budget holds from each start of its schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = "^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$"))]
    pub duration: Option<String>,
    /// How many nodes, or which share of the pool's.
    #[serde(default = "default_budget_nodes", deserialize_with = "budget_nodes")]
    #[schemars(extend("pattern" = "^((100|[0-9]{1,2})%|[0-9]+)$"))]
    pub nodes: String,
    /// The reasons it holds for; all, where none is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxItems" = 50, "x-kubernetes-list-type" = "set"))]
    pub reasons: Option<Vec<DisruptionReason>>,
    /// When it starts to hold, as a cron line in UTC; always, where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "pattern" = r"^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\s(.+)\s(.+)\s(.+)\s(.+))$"
    ))]
    pub schedule: Option<String>,
}

/// Why a node is disrupted of our own accord.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum DisruptionReason {
    /// Its pods would cost less elsewhere.
    Underutilized,
    /// It has no pods of consequence.
    Empty,
    /// It no longer is what its pool or class asks for.
    Drifted,
    /// It is broken.
    Unhealthy,
}

/// What a pool's node claims are made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeClaimTemplate {
    /// Labels and annotations of the claims and their nodes.
    #[serde(
        default,
        skip_serializing_if = "TemplateMetadata::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null))]
    pub metadata: TemplateMetadata,
    /// What the claims want.
    pub spec: NodeClaimTemplateSpec,
}

/// Labels and annotations, the two parts of metadata that a template has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TemplateMetadata {
    /// Annotations.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "absent::entries"
    )]
    #[schemars(extend("default" = null))]
    pub annotations: BTreeMap<String, String>,
    /// Labels.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "absent::entries"
    )]
    #[schemars(extend("default" = null))]
    pub labels: BTreeMap<String, String>,
}

impl TemplateMetadata {
    fn is_empty(&self) -> bool {
        let Self { annotations, labels } = self;
        annotations.is_empty() && labels.is_empty()
    }
}

/// What the claims of a pool want.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeClaimTemplateSpec {
    /// How long a node lives; `Never` for as long as it likes.
    #[serde(default = "default_expire_after", deserialize_with = "expire_after")]
    #[schemars(extend("pattern" = schema::DURATION_OR_NEVER))]
    pub expire_after: String,
    /// The cloud-specific half.
    pub node_class_ref: NodeClassReference,
    /// What the nodes' labels have to be.
    #[schemars(extend("maxItems" = 100))]
    pub requirements: Vec<Requirement>,
    /// Taints that go away by themselves before the node counts as initialised; planning looks past them.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null))]
    pub startup_taints: Vec<Taint>,
    /// Taints of the nodes.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null))]
    pub taints: Vec<Taint>,
    /// How long draining a node may take before its pods are removed by force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = schema::DURATION))]
    pub termination_grace_period: Option<String>,
}

/// What is known of a NodePool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePoolStatus {
    /// Whether it is usable, and why not.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null))]
    pub conditions: Vec<Condition>,
    /// The generation of the class that was last looked at.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole::optional"
    )]
    pub node_class_observed_generation: Option<i64>,
    /// How many nodes it has.
    #[serde(default, deserialize_with = "absent::or_default")]
    pub nodes: i64,
    /// What its nodes have together.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "absent::entries"
    )]
    #[schemars(schema_with = "schema::resources")]
    pub resources: Resources,
}
