//! PackingPolicy: what the objective weighs besides the bill, per node pool. Without one, everything behaves as Karpenter's
//! users expect.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Condition, Resources, absent, schema};

/// Which node pools, and what is different for them.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "dovetail.sh",
    version = "v1alpha1",
    kind = "PackingPolicy",
    plural = "packingpolicies",
    category = "dovetail",
    shortname = "pp",
    status = "PackingPolicyStatus",
    doc = "What the objective weighs besides the bill, per node pool.",
    printcolumn(name = "Objective", type_ = "string", json_path = ".status.objective"),
    printcolumn(name = "Gap", type_ = "string", json_path = ".status.gap"),
    printcolumn(name = "Savings", type_ = "string", json_path = ".status.savings"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.nodePools) != has(self.nodePoolSelector)",
    "message": "exactly one of 'nodePools' and 'nodePoolSelector' is needed"
}]))]
pub struct PackingPolicySpec {
    /// When consolidation is worth its while.
    #[serde(default, deserialize_with = "absent::or_default")]
    #[schemars(extend("default" = {}))]
    pub consolidation: Consolidation,
    /// Room that every new node of these pools keeps free.
    #[serde(default = "no_headroom", deserialize_with = "headroom")]
    #[schemars(schema_with = "schema::headroom")]
    pub headroom: Resources,
    /// The node pools, by their labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::label_selector")]
    pub node_pool_selector: Option<LabelSelector>,
    /// The node pools, by name; beats a policy that selects by labels.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend(
        "default" = null,
        "minItems" = 1,
        "maxItems" = 1000,
        "items" = {"type": "string", "minLength" : 1, "maxLength": 253},
        "x-kubernetes-list-type" = "set"
    ))]
    pub node_pools: Vec<String>,
    /// How far an instance type's memory is trusted before a node of it was seen.
    #[serde(default, deserialize_with = "absent::or_default")]
    pub overhead: Overhead,
    /// Where pods go.
    #[serde(default, deserialize_with = "absent::or_default")]
    #[schemars(extend("default" = {}))]
    pub placement: Placement,
    /// How long and how far the solver searches; the smallest of the policies in use counts.
    #[serde(default, deserialize_with = "absent::or_default")]
    #[schemars(extend("default" = {}))]
    pub solver: SolverSettings,
    /// What is weighed.
    #[serde(default, deserialize_with = "absent::or_default")]
    #[schemars(extend("default" = {}))]
    pub weights: Weights,
}

fn no_headroom() -> Resources {
    ["cpu", "memory"]
        .into_iter()
        .map(|name| (name.to_owned(), Quantity("0".to_owned())))
        .collect()
}

fn headroom<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Resources, D::Error> {
    absent::or(deserializer, no_headroom)
}

/// Readers of fields that a struct's `Default` gives a value: `null` means that value, as it does on the API server.
macro_rules! null_is_default {
    ($module:ident of $type:ident { $($field:ident: $kind:ty),* $(,)? }) => {
        mod $module {
            use super::*;
            $(pub(super) fn $field<'de, D: Deserializer<'de>>(deserializer: D) -> Result<$kind, D::Error> {
                absent::or(deserializer, || $type::default().$field)
            })*
        }
    };
}

null_is_default!(weights of Weights {
    eviction: f64,
    fragmentation: f64,
    interruption: f64,
    node_hour: NodeHour,
    preference: f64,
    price: f64,
    zone_imbalance: f64,
});

null_is_default!(consolidation of Consolidation {
    destination_guard: bool,
    empty_after: String,
    honour_safe_to_evict: bool,
    horizon: String,
    max_evictions_per_hour: i32,
    max_payback: String,
    min_saving: String,
    spot_to_spot: bool,
    spot_to_spot_min_types: i32,
    surge: bool,
});

null_is_default!(placement of Placement {
    keep_off_accelerators: bool,
    nominate: bool,
});

null_is_default!(solver of SolverSettings {
    gap: String,
    time_budget: String,
});

/// What the objective weighs, in dollars.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Weights {
    /// $ per evicted pod, scaled by what its eviction costs.
    #[serde(deserialize_with = "weights::eviction")]
    #[schemars(extend("format" = null, "minimum" = 0))]
    pub eviction: f64,
    /// $ per hour of a vCPU that is stranded on a launched node: free, without its proportion of the node's memory free
    /// beside it; or such memory, as the vCPUs that it stands for.
    #[serde(deserialize_with = "weights::fragmentation")]
    #[schemars(extend("format" = null, "minimum" = 0))]
    pub fragmentation: f64,
    /// $ per interruption to be expected. A spot node expects so many an hour as its type's class in EC2's spot advisor
    /// says, or the Catalog's `interruptionRate`; on demand there are none.
    #[serde(deserialize_with = "weights::interruption")]
    #[schemars(extend("format" = null, "minimum" = 0))]
    pub interruption: f64,
    /// $ per node and hour on top of its price, or `auto`: what the class' volumes cost by EBS's prices in us-east-1.
    #[serde(deserialize_with = "weights::node_hour")]
    #[schemars(schema_with = "schema::node_hour")]
    pub node_hour: NodeHour,
    /// $ per hour in which a soft rule of weight 1 is not met.
    #[serde(deserialize_with = "weights::preference")]
    #[schemars(extend("format" = null, "minimum" = 0))]
    pub preference: f64,
    /// $ per $ on the bill.
    #[serde(deserialize_with = "weights::price")]
    #[schemars(extend("format" = null, "minimum" = 0))]
    pub price: f64,
    /// $ per hour of each vCPU by which the pool's fullest zone exceeds its emptiest, of the zones that it can launch in.
    #[serde(deserialize_with = "weights::zone_imbalance")]
    #[schemars(extend("format" = null, "minimum" = 0))]
    pub zone_imbalance: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            eviction: 0.0,
            fragmentation: 0.0,
            interruption: 0.0,
            node_hour: NodeHour::default(),
            // Small enough never to buy a node, large enough to decide between equals.
            preference: 0.001,
            price: 1.0,
            zone_imbalance: 0.0,
        }
    }
}

/// What a node costs per hour on top of its price.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NodeHour {
    /// So many dollars.
    Dollars(f64),
    /// What the volumes of its class cost.
    Auto,
}

impl Default for NodeHour {
    fn default() -> Self {
        Self::Dollars(0.0)
    }
}

impl Serialize for NodeHour {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Dollars(dollars) => serializer.serialize_f64(*dollars),
            Self::Auto => serializer.serialize_str("auto"),
        }
    }
}

impl<'de> Deserialize<'de> for NodeHour {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = NodeHour;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a number of dollars or `auto`")
            }

            fn visit_f64<E: de::Error>(self, dollars: f64) -> Result<NodeHour, E> {
                Ok(NodeHour::Dollars(dollars))
            }

            fn visit_u64<E: de::Error>(self, dollars: u64) -> Result<NodeHour, E> {
                u32::try_from(dollars)
                    .map(|dollars| NodeHour::Dollars(dollars.into()))
                    .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(dollars), &self))
            }

            fn visit_i64<E: de::Error>(self, dollars: i64) -> Result<NodeHour, E> {
                i32::try_from(dollars)
                    .map(|dollars| NodeHour::Dollars(dollars.into()))
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(dollars), &self))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<NodeHour, E> {
                match text {
                    "auto" => Ok(NodeHour::Auto),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// When consolidation is worth its while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Consolidation {
    /// A node within `consolidateAfter` of its last pod event takes no pods from nodes that consolidation empties.
    #[serde(deserialize_with = "consolidation::destination_guard")]
    pub destination_guard: bool,
    /// How long a node has to be empty before it may go; the pool's `consolidateAfter`, where empty.
    #[serde(deserialize_with = "consolidation::empty_after")]
    #[schemars(extend("pattern" = "^(([0-9]+(s|m|h))+|Never)?$"))]
    pub empty_after: String,
    /// Whether `cluster-autoscaler.kubernetes.io/safe-to-evict` is honoured.
    #[serde(deserialize_with = "consolidation::honour_safe_to_evict")]
    pub honour_safe_to_evict: bool,
    /// Dollars that are spent once count as dollars per this in the hourly objective.
    #[serde(deserialize_with = "consolidation::horizon")]
    #[schemars(extend("pattern" = schema::SPAN))]
    pub horizon: String,
    /// The most evictions in an hour; 0 for no limit.
    #[serde(deserialize_with = "consolidation::max_evictions_per_hour")]
    #[schemars(extend("minimum" = 0))]
    pub max_evictions_per_hour: i32,
    /// The longest time in which what is spent once has to be saved; 0 for no limit.
    #[serde(deserialize_with = "consolidation::max_payback")]
    #[schemars(extend("pattern" = schema::SPAN))]
    pub max_payback: String,
    /// The least saving, as a share of what the touched nodes cost.
    #[serde(deserialize_with = "consolidation::min_saving")]
    #[schemars(extend("pattern" = schema::PERCENT))]
    pub min_saving: String,
    /// Whether a spot node may be replaced by a spot node.
    #[serde(deserialize_with = "consolidation::spot_to_spot")]
    pub spot_to_spot: bool,
    /// At least so many instance types have to be open to a spot node that replaces one.
    #[serde(deserialize_with = "consolidation::spot_to_spot_min_types")]
    #[schemars(extend("minimum" = 0))]
    pub spot_to_spot_min_types: i32,
    /// Whether replacements start before what they replace is evicted, even where that exceeds a limit for a moment.
    #[serde(deserialize_with = "consolidation::surge")]
    pub surge: bool,
}

impl Default for Consolidation {
    fn default() -> Self {
        Self {
            destination_guard: true,
            empty_after: String::new(),
            honour_safe_to_evict: false,
            horizon: "24h".to_owned(),
            max_evictions_per_hour: 0,
            max_payback: "0s".to_owned(),
            min_saving: "0%".to_owned(),
            spot_to_spot: false,
            spot_to_spot_min_types: 0,
            surge: false,
        }
    }
}

/// Where pods go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Placement {
    /// Pods that ask for no accelerator stay off nodes that have one, also off those that are there already.
    #[serde(deserialize_with = "placement::keep_off_accelerators")]
    pub keep_off_accelerators: bool,
    /// The scheduler is told which node a pod was planned for.
    #[serde(deserialize_with = "placement::nominate")]
    pub nominate: bool,
}

impl Default for Placement {
    fn default() -> Self {
        Self {
            keep_off_accelerators: false,
            nominate: true,
        }
    }
}

/// How far an instance type's memory is trusted before a node of it was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Overhead {
    /// The usual share is taken off.
    #[default]
    Pessimistic,
    /// EC2's figure is taken as it is.
    Optimistic,
}

/// How long and how far the solver searches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SolverSettings {
    /// It stops once the plan costs no more than this above the bound.
    #[serde(deserialize_with = "solver::gap")]
    #[schemars(extend("pattern" = schema::PERCENT))]
    pub gap: String,
    /// It stops after this time.
    #[serde(deserialize_with = "solver::time_budget")]
    #[schemars(extend("pattern" = schema::SPAN))]
    pub time_budget: String,
}

impl Default for SolverSettings {
    fn default() -> Self {
        Self {
            gap: "0.5%".to_owned(),
            time_budget: "1s".to_owned(),
        }
    }
}

/// What the last plan came to for these pools. Sums are texts, exact to six decimals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PackingPolicyStatus {
    /// Whether the policy is in force, and why not.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null))]
    pub conditions: Vec<Condition>,
    /// How far the objective may be above the least possible, as a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<String>,
    /// When the last plan was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_plan: Option<Time>,
    /// What no plan can undercut, in $ per hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_bound: Option<String>,
    /// The weighted objective, in $ per hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// What the plan saves, in $ per hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub savings: Option<String>,
}
