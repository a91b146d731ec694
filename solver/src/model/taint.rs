//! Taints and tolerations.
//!
//! Source: Kubernetes documentation, "Taints and Tolerations".

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a taint does to pods that don't tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TaintEffect {
    /// New pods stay away.
    NoSchedule,
    /// New pods rather stay away: a preference.
    PreferNoSchedule,
    /// New pods stay away and running ones go.
    NoExecute,
}

impl TaintEffect {
    /// From its name in manifests.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "NoSchedule" => Self::NoSchedule,
            "PreferNoSchedule" => Self::PreferNoSchedule,
            "NoExecute" => Self::NoExecute,
            _ => return None,
        })
    }

    /// Whether the scheduler never places a pod against it.
    #[must_use]
    pub fn is_hard(self) -> bool {
        !matches!(self, Self::PreferNoSchedule)
    }
}

impl fmt::Display for TaintEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        })
    }
}

/// A taint of a node or of a NodePool's template.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value, often empty.
    pub value: String,
    /// What it does.
    pub effect: TaintEffect,
}

impl fmt::Display for Taint {
    /// `key=value:effect`, as kubectl prints it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.value.is_empty() {
            write!(f, "{}:{}", self.key, self.effect)
        } else {
            write!(f, "{}={}:{}", self.key, self.value, self.effect)
        }
    }
}

/// Which value of a taint is tolerated.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TolerationOperator {
    /// Any.
    Exists,
    /// This one.
    Equal(String),
}

/// A toleration of a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Toleration {
    /// The taint's key; `None` (only with `Exists`) tolerates every key.
    pub key: Option<String>,
    /// Which values.
    pub operator: TolerationOperator,
    /// The effect; `None` tolerates every effect.
    pub effect: Option<TaintEffect>,
}

impl Toleration {
    /// Whether this toleration covers the taint.
    #[must_use]
    pub fn tolerates(&self, taint: &Taint) -> bool {
        self.effect.is_none_or(|effect| effect == taint.effect)
            && self.key.as_ref().is_none_or(|key| *key == taint.key)
            && match &self.operator {
                TolerationOperator::Exists => true,
                TolerationOperator::Equal(value) => *value == taint.value,
            }
    }
}

/// The first hard taint (`NoSchedule` or `NoExecute`) that none of the tolerations covers.
#[must_use]
pub fn first_untolerated<'a>(taints: &'a [Taint], tolerations: &[Toleration]) -> Option<&'a Taint> {
    taints
        .iter()
        .filter(|taint| taint.effect.is_hard())
        .find(|taint| !tolerations.iter().any(|toleration| toleration.tolerates(taint)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerates_by_key_value_and_effect() {
        let taint = Taint {
            key: "gpu".to_owned(),
            value: "a100".to_owned(),
            effect: TaintEffect::NoSchedule,
        };
        let exists = Toleration {
            key: Some("gpu".to_owned()),
            operator: TolerationOperator::Exists,
            effect: None,
        };
        let equal = Toleration {
            operator: TolerationOperator::Equal("t4".to_owned()),
            ..exists.clone()
        };
        let everything = Toleration {
            key: None,
            operator: TolerationOperator::Exists,
            effect: None,
        };
        assert!(exists.tolerates(&taint) && everything.tolerates(&taint) && !equal.tolerates(&taint));
        assert_eq!(
            first_untolerated(std::slice::from_ref(&taint), &[equal]),
            Some(&taint)
        );
        let soft = Taint {
            effect: TaintEffect::PreferNoSchedule,
            ..taint
        };
        assert_eq!(first_untolerated(&[soft], &[]), None);
    }
}
