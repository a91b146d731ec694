//! Which pods a rule is about: a label selector in some namespaces.
//!
//! Source: Kubernetes API reference, `LabelSelector`: all requirements must hold; a selector without any matches every
//! pod, no selector at all matches none. Namespaces are resolved to names before they come here, so that a
//! snapshot needs no Namespace objects.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::requirement::{Labels, Requirements};

/// Namespaces by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Namespaces {
    /// Every namespace, also one that is made later.
    All,
    /// These.
    These(BTreeSet<String>),
}

/// Pods by namespace and labels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSelector {
    /// Where they are.
    pub namespaces: Namespaces,
    /// What their labels meet; `None` matches no pod.
    pub labels: Option<Requirements>,
}

impl PodSelector {
    /// Pods of one namespace that meet these requirements.
    #[must_use]
    pub fn within(namespace: impl Into<String>, labels: Requirements) -> Self {
        Self {
            namespaces: Namespaces::These(BTreeSet::from([namespace.into()])),
            labels: Some(labels),
        }
    }

    /// Whether a pod of this namespace and these labels is one of them.
    #[must_use]
    pub fn matches(&self, namespace: &str, labels: &Labels) -> bool {
        let is_there = match &self.namespaces {
            Namespaces::All => true,
            Namespaces::These(names) => names.contains(namespace),
        };
        is_there
            && self
                .labels
                .as_ref()
                .is_some_and(|requirements| requirements.admits(labels))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_selector_matches_all_of_its_namespace_and_none_matches_nobody() {
        let labels = Labels::from([("app".to_owned(), "web".to_owned())]);
        let all = PodSelector::within("shop", Requirements::new());
        assert!(all.matches("shop", &labels));
        assert!(!all.matches("other", &labels));
        let none = PodSelector {
            namespaces: Namespaces::All,
            labels: None,
        };
        assert!(!none.matches("shop", &labels));
        let web = PodSelector {
            namespaces: Namespaces::All,
            labels: Some(Requirements::of_labels(&labels)),
        };
        assert!(web.matches("anywhere", &labels));
        assert!(!web.matches("anywhere", &Labels::new()));
    }
}
