//! Rules that this version doesn't weigh: said once a rule, with how much of the plan it concerns.
//!
//! A rule that is weighed some day leaves this file.

use std::collections::{BTreeMap, BTreeSet};

use crate::cluster::diagnostics::{Note, Reason};
use crate::cluster::objects::meta::OwnerReference;
use crate::cluster::objects::pod::PodSpec;

/// A rule that is not weighed; in the order in which notes appear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    ResourceClaims,
}

impl Rule {
    /// What pods have, as their manifests call it.
    fn words(self) -> &'static str {
        match self {
            Self::ResourceClaims => "resource claims",
        }
    }

    /// What of these is there.
    fn all_of(spec: &PodSpec) -> Vec<Self> {
        [(Self::ResourceClaims, spec.resource_claims > 0)]
            .into_iter()
            .filter_map(|(rule, is_there)| is_there.then_some(rule))
            .collect()
    }
}

/// Counts pods and workloads by rule.
#[derive(Debug, Default)]
pub struct Unweighed {
    by_rule: BTreeMap<Rule, (u64, BTreeSet<String>)>,
}

impl Unweighed {
    /// Counts the rules of `pods` pods that are to be placed.
    pub fn count(
        &mut self,
        spec: &PodSpec,
        namespace: &str,
        name: &str,
        owner: Option<&OwnerReference>,
        pods: u64,
    ) {
        for rule in Rule::all_of(spec) {
            let (count, workloads) = self.by_rule.entry(rule).or_default();
            *count += pods;
            workloads.insert(match owner {
                Some(owner) => format!("{} {namespace}/{}", owner.kind, owner.name),
                None => format!("Pod {namespace}/{name}"),
            });
        }
    }

    /// One note a rule.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        self.by_rule
            .iter()
            .map(|(rule, (pods, workloads))| {
                let have = if *pods == 1 { "pod has" } else { "pods have" };
                let what = format!(
                    "{pods} {have} {}, which this version doesn't weigh yet ({})",
                    rule.words(),
                    listed(workloads),
                );
                let message = format!("{what}: the scheduler may refuse the places that the plan gives them");
                Note::warning(Reason::NotWeighed, message).counting(*pods)
            })
            .collect()
    }
}

/// The first few by name.
fn listed(workloads: &BTreeSet<String>) -> String {
    const SHOWN: usize = 3;
    let names: Vec<&str> = workloads.iter().take(SHOWN).map(String::as_str).collect();
    match workloads.len().saturating_sub(SHOWN) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::diagnostics::Severity;
    use serde_json::json;

    fn read(spec: serde_json::Value) -> PodSpec {
        serde_json::from_value(spec).unwrap()
    }

    #[test]
    fn one_note_a_rule_with_pods_and_workloads() {
        let claim = json!({"resourceClaims": [{"name": "gpu"}]});
        let owner = OwnerReference {
            kind: "ReplicaSet".to_owned(),
            name: "web".to_owned(),
            controller: true,
        };
        let mut unweighed = Unweighed::default();
        let mut count = |spec: &serde_json::Value, name: &str, owner, pods| {
            unweighed.count(&read(spec.clone()), "shop", name, owner, pods);
        };
        count(&claim, "web-0", Some(&owner), 11);
        count(&claim, "bare", None, 1);
        count(&json!({"containers": []}), "plain", None, 1);
        let notes = unweighed.notes();
        let said: Vec<(Severity, u64)> = notes.iter().map(|note| (note.severity, note.count)).collect();
        assert_eq!(said, [(Severity::Warning, 12)]);
        assert!(notes[0].message.starts_with("12 pods have resource claims, which this version doesn't weigh yet (Pod shop/bare, ReplicaSet shop/web)"));
    }

    #[test]
    fn a_plain_pod_has_no_rules() {
        let plain =
            read(json!({"containers": [{"ports": [{"containerPort": 80}]}], "volumes": [{"emptyDir": {}}]}));
        assert!(Rule::all_of(&plain).is_empty());
    }
}
