//! The requirement algebra: which values of a label are admitted, absence included.
//!
//! A [`Requirement`] is a line as written; a [`ValueSet`] is what it means. Absence is a value: `NotIn` and
//! `DoesNotExist` admit a missing label, the others don't, and an intersection keeps that exactly (so `NotIn`
//! together with `Exists` wants the label to be there). Numbers compare as 64-bit integers, as Kubernetes does.
//!
//! Source: Kubernetes API reference, `NodeSelectorRequirement`; Karpenter adds `Gte`, `Lte` and `minValues`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Labels of a node, an instance type or a pod.
pub type Labels = BTreeMap<String, String>;

/// Operator of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Operator {
    /// One of the values.
    In,
    /// None of the values; a missing label is admitted.
    NotIn,
    /// Any value.
    Exists,
    /// The label is missing.
    DoesNotExist,
    /// Integer above.
    Gt,
    /// Integer below.
    Lt,
    /// Integer at least (Karpenter's own).
    Gte,
    /// Integer at most (Karpenter's own).
    Lte,
}

impl Operator {
    /// From its name in manifests.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "In" => Self::In,
            "NotIn" => Self::NotIn,
            "Exists" => Self::Exists,
            "DoesNotExist" => Self::DoesNotExist,
            "Gt" => Self::Gt,
            "Lt" => Self::Lt,
            "Gte" => Self::Gte,
            "Lte" => Self::Lte,
            _ => return None,
        })
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::In => "In",
            Self::NotIn => "NotIn",
            Self::Exists => "Exists",
            Self::DoesNotExist => "DoesNotExist",
            Self::Gt => "Gt",
            Self::Lt => "Lt",
            Self::Gte => "Gte",
            Self::Lte => "Lte",
        })
    }
}

/// One requirement as written in a NodePool or a node affinity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Requirement {
    /// Label key, normalised (`beta.kubernetes.io/arch` is read as `kubernetes.io/arch`) by whoever converts.
    pub key: String,
    /// How the values are meant.
    pub operator: Operator,
    /// The values; one integer for Gt, Lt, Gte and Lte; ignored for Exists and DoesNotExist.
    pub values: Vec<String>,
    /// How many different values a launch's instance types must offer together (NodePool only).
    pub min_values: Option<u32>,
}

/// Why a requirement makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RequirementError {
    /// In without values admits nothing.
    #[error("{key}: operator In needs at least one value")]
    NoValues {
        /// The label key.
        key: String,
    },
    /// Gt, Lt, Gte and Lte take exactly one integer.
    #[error("{key}: operator {operator} needs exactly one integer, got {values:?}")]
    NotAnInteger {
        /// The label key.
        key: String,
        /// Which comparison.
        operator: Operator,
        /// What was there instead.
        values: Vec<String>,
    },
}

/// The values of one label that are admitted, and whether its absence is.
///
/// Either a finite set (`complement` false: exactly `values`) or all but some (`complement` true: all strings but
/// `values`, and where a bound is set only integers within the bounds).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ValueSet {
    complement: bool,
    values: BTreeSet<String>,
    /// Smallest integer admitted (inclusive), only with `complement`.
    lower: Option<i64>,
    /// Largest integer admitted (inclusive), only with `complement`.
    upper: Option<i64>,
    absent: bool,
}

impl ValueSet {
    /// Everything, absence too: no requirement at all.
    #[must_use]
    pub fn anything() -> Self {
        Self {
            complement: true,
            values: BTreeSet::new(),
            lower: None,
            upper: None,
            absent: true,
        }
    }

    /// Nothing but absence.
    #[must_use]
    pub fn absence() -> Self {
        Self {
            absent: true,
            ..Self::one_of([])
        }
    }

    /// Exactly one value.
    #[must_use]
    pub fn exactly(value: impl Into<String>) -> Self {
        Self::one_of([value.into()])
    }

    /// One of these values.
    #[must_use]
    pub fn one_of(values: impl IntoIterator<Item = String>) -> Self {
        Self {
            complement: false,
            values: values.into_iter().collect(),
            lower: None,
            upper: None,
            absent: false,
        }
    }

    /// What a requirement means.
    ///
    /// # Errors
    /// In without values; a comparison without exactly one integer.
    pub fn of(requirement: &Requirement) -> Result<Self, RequirementError> {
        let Requirement {
            key,
            operator,
            values,
            min_values: _,
        } = requirement;
        let set: BTreeSet<String> = values.iter().cloned().collect();
        let complement = |values, absent| Self {
            complement: true,
            values,
            lower: None,
            upper: None,
            absent,
        };
        let integer = || match values.as_slice() {
            [value] => value.parse::<i64>().ok(),
            _ => None,
        };
        let bound = || {
            integer().ok_or_else(|| RequirementError::NotAnInteger {
                key: key.clone(),
                operator: *operator,
                values: values.iter().take(5).cloned().collect(),
            })
        };
        let nothing = || Self::one_of([]);
        Ok(match operator {
            Operator::In if set.is_empty() => return Err(RequirementError::NoValues { key: key.clone() }),
            Operator::In => Self::one_of(set),
            Operator::NotIn => complement(set, true),
            Operator::Exists => complement(BTreeSet::new(), false),
            Operator::DoesNotExist => Self {
                absent: true,
                ..nothing()
            },
            Operator::Gt => bound()?.checked_add(1).map_or_else(nothing, Self::at_least),
            Operator::Lt => bound()?.checked_sub(1).map_or_else(nothing, Self::at_most),
            Operator::Gte => Self::at_least(bound()?),
            Operator::Lte => Self::at_most(bound()?),
        })
    }

    fn at_least(least: i64) -> Self {
        Self {
            absent: false,
            lower: Some(least),
            ..Self::anything()
        }
    }

    fn at_most(most: i64) -> Self {
        Self {
            absent: false,
            upper: Some(most),
            ..Self::anything()
        }
    }

    fn within_bounds(&self, value: &str) -> bool {
        if self.lower.is_none() && self.upper.is_none() {
            return true;
        }
        value.parse::<i64>().is_ok_and(|number| {
            self.lower.is_none_or(|lower| lower <= number) && self.upper.is_none_or(|upper| number <= upper)
        })
    }

    /// Whether a label with this value (or its absence) is admitted.
    #[must_use]
    pub fn admits(&self, value: Option<&str>) -> bool {
        match value {
            None => self.absent,
            Some(value) if self.complement => !self.values.contains(value) && self.within_bounds(value),
            Some(value) => self.values.contains(value),
        }
    }

    /// What both admit.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        let absent = self.absent && other.absent;
        if self.complement && other.complement {
            let lower = self.lower.max(other.lower);
            let upper = match (self.upper, other.upper) {
                (Some(one), Some(two)) => Some(one.min(two)),
                (one, two) => one.or(two),
            };
            let values = self.values.union(&other.values).cloned().collect();
            return match (lower, upper) {
                (Some(lower), Some(upper)) if lower > upper => Self {
                    absent,
                    ..Self::one_of([])
                },
                _ => Self {
                    complement: true,
                    values,
                    lower,
                    upper,
                    absent,
                },
            };
        }
        let (finite, rest) = if self.complement {
            (other, self)
        } else {
            (self, other)
        };
        let values = finite
            .values
            .iter()
            .filter(|value| rest.admits(Some(value)))
            .cloned()
            .collect();
        Self {
            complement: false,
            values,
            lower: None,
            upper: None,
            absent,
        }
    }

    /// Whether nothing, not even absence, is admitted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.absent && !self.admits_some_value()
    }

    /// Whether any value at all is admitted (absence apart).
    #[must_use]
    pub fn admits_some_value(&self) -> bool {
        if !self.complement {
            return !self.values.is_empty();
        }
        if self.lower.is_none() && self.upper.is_none() {
            return true;
        }
        // All integers between the bounds may be excluded one by one.
        let lower = self.lower.unwrap_or(i64::MIN);
        let upper = self.upper.unwrap_or(i64::MAX);
        let span = i128::from(upper) - i128::from(lower) + 1;
        let excluded = self
            .values
            .iter()
            .filter(|value| is_canonical_within(value, lower, upper))
            .count();
        i128::try_from(excluded).is_ok_and(|excluded| excluded < span)
    }

    /// The values when they are finitely many and absence isn't one of them.
    #[must_use]
    pub fn finite(&self) -> Option<&BTreeSet<String>> {
        (!self.complement && !self.absent).then_some(&self.values)
    }

    /// The only value, when there is just one choice.
    #[must_use]
    pub fn single(&self) -> Option<&str> {
        self.finite()
            .filter(|values| values.len() == 1)?
            .first()
            .map(String::as_str)
    }

    /// Values named in it: admitted ones of a finite set, excluded ones of a complement.
    #[must_use]
    pub fn named_values(&self) -> &BTreeSet<String> {
        &self.values
    }

    /// Whether it is all but the named values.
    #[must_use]
    pub fn is_complement(&self) -> bool {
        self.complement
    }

    /// Whether a missing label is admitted.
    #[must_use]
    pub fn admits_absence(&self) -> bool {
        self.absent
    }

    /// Inclusive integer bounds.
    #[must_use]
    pub fn bounds(&self) -> (Option<i64>, Option<i64>) {
        (self.lower, self.upper)
    }
}

fn is_canonical_within(value: &str, lower: i64, upper: i64) -> bool {
    value
        .parse::<i64>()
        .is_ok_and(|number| number.to_string() == value && (lower..=upper).contains(&number))
}

impl fmt::Display for ValueSet {
    /// `in [a, b]`, `not in [a]`, `exists`, `≥ 3`; long lists are cut after five.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = || {
            let shown: Vec<&str> = self.values.iter().take(5).map(String::as_str).collect();
            let more = if self.values.len() > 5 {
                format!(", … {} more", self.values.len() - 5)
            } else {
                String::new()
            };
            format!("[{}{more}]", shown.join(", "))
        };
        if !self.complement {
            return match (self.values.is_empty(), self.absent) {
                (true, true) => f.write_str("does not exist"),
                (true, false) => f.write_str("admits no value"),
                (false, true) => write!(f, "absent or in {}", listed()),
                (false, false) => write!(f, "in {}", listed()),
            };
        }
        let mut parts = Vec::new();
        if let Some(lower) = self.lower {
            parts.push(format!("≥ {lower}"));
        }
        if let Some(upper) = self.upper {
            parts.push(format!("≤ {upper}"));
        }
        if !self.values.is_empty() {
            parts.push(format!("not in {}", listed()));
        }
        match (parts.is_empty(), self.absent) {
            (true, true) => f.write_str("anything"),
            (true, false) => f.write_str("exists"),
            (false, true) => f.write_str(&parts.join(" and ")),
            (false, false) if self.lower.is_none() && self.upper.is_none() => {
                write!(f, "exists and {}", parts.join(" and "))
            }
            (false, false) => f.write_str(&parts.join(" and ")),
        }
    }
}

/// AND-ed requirements, one [`ValueSet`] a key; a key that is missing admits anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Requirements {
    sets: BTreeMap<String, ValueSet>,
    min_values: BTreeMap<String, u32>,
}

impl Requirements {
    /// No requirement: admits all.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// All of them together.
    ///
    /// # Errors
    /// The first requirement that makes no sense.
    pub fn of<'a>(requirements: impl IntoIterator<Item = &'a Requirement>) -> Result<Self, RequirementError> {
        let mut result = Self::new();
        for requirement in requirements {
            result.add(requirement.key.clone(), ValueSet::of(requirement)?);
            if let Some(least) = requirement.min_values {
                let slot = result.min_values.entry(requirement.key.clone()).or_default();
                *slot = least.max(*slot);
            }
        }
        Ok(result)
    }

    /// Exactly these labels (a `nodeSelector`).
    #[must_use]
    pub fn of_labels(labels: &Labels) -> Self {
        let mut result = Self::new();
        for (key, value) in labels {
            result.add(key.clone(), ValueSet::exactly(value.clone()));
        }
        result
    }

    /// Narrows one key.
    pub fn add(&mut self, key: String, set: ValueSet) {
        let narrowed = match self.sets.get(&key) {
            Some(present) => present.intersect(&set),
            None => set,
        };
        self.sets.insert(key, narrowed);
    }

    /// Narrows by all of another; the larger minValues holds.
    pub fn add_all(&mut self, other: &Self) {
        for (key, set) in &other.sets {
            self.add(key.clone(), set.clone());
        }
        for (key, least) in &other.min_values {
            let slot = self.min_values.entry(key.clone()).or_default();
            *slot = (*slot).max(*least);
        }
    }

    /// What is required of a key, if anything is.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&ValueSet> {
        self.sets.get(key)
    }

    /// By key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ValueSet)> {
        self.sets.iter().map(|(key, set)| (key.as_str(), set))
    }

    /// minValues by key.
    pub fn min_values(&self) -> impl Iterator<Item = (&str, u32)> {
        self.min_values.iter().map(|(key, least)| (key.as_str(), *least))
    }

    /// Nothing is required.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Whether a node with exactly these labels meets all of them.
    #[must_use]
    pub fn admits(&self, labels: &Labels) -> bool {
        self.first_unmet(labels).is_none()
    }

    /// The first key whose requirement these labels don't meet.
    #[must_use]
    pub fn first_unmet<'a>(&'a self, labels: &Labels) -> Option<(&'a str, &'a ValueSet)> {
        self.iter()
            .find(|(key, set)| !set.admits(labels.get(*key).map(String::as_str)))
    }
}

/// One term of a node affinity: label requirements and requirements of fields, all AND-ed.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeSelectorTerm {
    /// `matchExpressions`.
    pub expressions: Requirements,
    /// `matchFields` on `metadata.name`, the only field that Kubernetes knows.
    pub node_name: Option<ValueSet>,
}

impl NodeSelectorTerm {
    /// A term without any requirement matches nothing (Kubernetes API reference, `NodeSelectorTerm`).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.expressions.is_empty() && self.node_name.is_none()
    }

    /// Whether a node of this name (`None`: not yet named) and labels matches.
    #[must_use]
    pub fn admits(&self, labels: &Labels, node_name: Option<&str>) -> bool {
        !self.is_empty()
            && self.expressions.admits(labels)
            && self
                .node_name
                .as_ref()
                .is_none_or(|names| node_name.is_some_and(|name| names.admits(Some(name))))
    }
}

/// `requiredDuringSchedulingIgnoredDuringExecution` of a node affinity: terms that are OR-ed.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeSelectorTerms(pub Vec<NodeSelectorTerm>);

impl NodeSelectorTerms {
    /// Whether any term matches. No terms at all match nothing; a pod without affinity has no `NodeSelectorTerms`.
    #[must_use]
    pub fn admits(&self, labels: &Labels, node_name: Option<&str>) -> bool {
        self.0.iter().any(|term| term.admits(labels, node_name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(operator: Operator, values: &[&str]) -> ValueSet {
        ValueSet::of(&Requirement {
            key: "k".to_owned(),
            operator,
            values: values.iter().map(|value| (*value).to_owned()).collect(),
            min_values: None,
        })
        .unwrap()
    }

    #[test]
    fn absence_is_a_value() {
        assert!(set(Operator::NotIn, &["a"]).admits(None));
        assert!(
            !set(Operator::NotIn, &["a"])
                .intersect(&set(Operator::Exists, &[]))
                .admits(None)
        );
        assert!(
            set(Operator::DoesNotExist, &[])
                .intersect(&set(Operator::Exists, &[]))
                .is_empty()
        );
        assert!(!set(Operator::Gt, &["3"]).admits(None));
    }

    #[test]
    fn bounds_compare_integers() {
        let between = set(Operator::Gt, &["3"]).intersect(&set(Operator::Lte, &["5"]));
        assert!(between.admits(Some("4")) && between.admits(Some("5")));
        assert!(!between.admits(Some("3")) && !between.admits(Some("x")));
        assert!(between.intersect(&set(Operator::NotIn, &["4", "5"])).is_empty());
        assert!(set(Operator::Gt, &["9223372036854775807"]).is_empty());
    }

    #[test]
    fn an_empty_term_matches_nothing() {
        assert!(!NodeSelectorTerms(vec![NodeSelectorTerm::default()]).admits(&Labels::new(), None));
        assert!(!NodeSelectorTerms(vec![]).admits(&Labels::new(), None));
    }
}
