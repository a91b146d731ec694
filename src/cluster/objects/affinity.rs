//! What a pod asks of its place as it is written: which nodes, near or away from which pods, spread over what.
//!
//! Values are kept as they are; `convert` judges them, since a mistake in one pod must not cost the whole document.
//! Source: Kubernetes API reference, `Affinity`, `TopologySpreadConstraint`, `LabelSelector`.

use dovetail_solver::model::requirement::Labels;
use serde::Deserialize;

use super::meta::or_default;

/// Rules about nodes and other pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Affinity {
    /// About nodes.
    #[serde(default, deserialize_with = "or_default")]
    pub node_affinity: NodeAffinity,
    /// To be near other pods.
    #[serde(default, deserialize_with = "or_default")]
    pub pod_affinity: PodAffinity,
    /// To be apart from other pods.
    #[serde(default, deserialize_with = "or_default")]
    pub pod_anti_affinity: PodAffinity,
}

/// Which nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub struct NodeAffinity {
    /// One of these terms must match.
    #[serde(default, rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub required: Option<NodeSelector>,
    /// These are preferred.
    #[serde(
        default,
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "or_default"
    )]
    pub preferred: Vec<PreferredTerm>,
}

/// Nodes that are preferred.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub struct PreferredTerm {
    /// 1 to 100.
    #[serde(default, deserialize_with = "or_default")]
    pub weight: i64,
    /// Which.
    #[serde(default, deserialize_with = "or_default")]
    pub preference: NodeSelectorTerm,
}

/// Terms that are OR-ed.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSelector {
    /// The terms.
    #[serde(default, deserialize_with = "or_default")]
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// Requirements that are AND-ed.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSelectorTerm {
    /// Of labels.
    #[serde(default, deserialize_with = "or_default")]
    pub match_expressions: Vec<Expression>,
    /// Of fields.
    #[serde(default, deserialize_with = "or_default")]
    pub match_fields: Vec<Expression>,
}

/// One requirement as written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub struct Expression {
    /// Label or field.
    pub key: String,
    /// How it is compared.
    pub operator: String,
    /// With what.
    #[serde(default, deserialize_with = "or_default")]
    pub values: Vec<String>,
}

/// Other pods to be near, or apart from.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub struct PodAffinity {
    /// Must hold, each of them.
    #[serde(
        default,
        rename = "requiredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "or_default"
    )]
    pub required: Vec<PodAffinityTerm>,
    /// Should hold.
    #[serde(
        default,
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "or_default"
    )]
    pub preferred: Vec<WeightedTerm>,
}

/// Other pods, and how near is near.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodAffinityTerm {
    /// The pods; `None` matches none.
    #[serde(default)]
    pub label_selector: Option<LabelSelector>,
    /// Where they are, by name; beside what `namespace_selector` selects.
    #[serde(default, deserialize_with = "or_default")]
    pub namespaces: Vec<String>,
    /// Where they are, by labels; an empty one selects every namespace.
    #[serde(default)]
    pub namespace_selector: Option<LabelSelector>,
    /// Nodes with the same value of this label are near each other.
    #[serde(default, deserialize_with = "or_default")]
    pub topology_key: String,
    /// Labels in which the others are like the pod itself.
    #[serde(default, deserialize_with = "or_default")]
    pub match_label_keys: Vec<String>,
    /// Labels in which they differ from it.
    #[serde(default, deserialize_with = "or_default")]
    pub mismatch_label_keys: Vec<String>,
}

/// A preference about other pods.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WeightedTerm {
    /// 1 to 100.
    #[serde(default, deserialize_with = "or_default")]
    pub weight: i64,
    /// What is preferred.
    #[serde(default, deserialize_with = "or_default")]
    pub pod_affinity_term: PodAffinityTerm,
}

/// Which objects, by label: all conditions hold; without any, all objects match.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels with exactly these values.
    #[serde(default, deserialize_with = "or_default")]
    pub match_labels: Labels,
    /// More conditions on labels.
    #[serde(default, deserialize_with = "or_default")]
    pub match_expressions: Vec<Expression>,
}

impl LabelSelector {
    /// Whether it selects a pod of these labels. One without any condition selects none.
    #[must_use]
    pub fn selects(&self, labels: &Labels) -> bool {
        let Self {
            match_labels,
            match_expressions,
        } = self;
        if match_labels.is_empty() && match_expressions.is_empty() {
            return false;
        }
        match_labels
            .iter()
            .all(|(key, value)| labels.get(key) == Some(value))
            && match_expressions.iter().all(|expression| {
                let value = labels.get(&expression.key);
                match expression.operator.as_str() {
                    "In" => value.is_some_and(|value| expression.values.contains(value)),
                    "NotIn" => !value.is_some_and(|value| expression.values.contains(value)),
                    "Exists" => value.is_some(),
                    "DoesNotExist" => value.is_none(),
                    _ => false,
                }
            })
    }
}

/// One topology spread constraint.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TopologySpread {
    /// The label whose values are the domains.
    #[serde(default, deserialize_with = "or_default")]
    pub topology_key: String,
    /// The most that a domain may have above the least.
    #[serde(default, deserialize_with = "or_default")]
    pub max_skew: i64,
    /// How many domains there must be before the least counts.
    #[serde(default)]
    pub min_domains: Option<i64>,
    /// `DoNotSchedule` or `ScheduleAnyway`.
    #[serde(default, deserialize_with = "or_default")]
    pub when_unsatisfiable: String,
    /// The pods that count; `None` matches none.
    #[serde(default)]
    pub label_selector: Option<LabelSelector>,
    /// Labels in which they are like the pod itself.
    #[serde(default, deserialize_with = "or_default")]
    pub match_label_keys: Vec<String>,
    /// `Honor` (also where nothing is said) or `Ignore`: which nodes are domains.
    #[serde(default)]
    pub node_affinity_policy: Option<String>,
    /// `Honor` or `Ignore` (also where nothing is said): whether tainted nodes are domains.
    #[serde(default)]
    pub node_taints_policy: Option<String>,
}
