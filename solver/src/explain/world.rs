//! Who is where once a plan is done, as far as rules about other pods ask.
//!
//! Counted as the scheduler does: bound pods that aren't terminating, by the value that their node has of a topology
//! key. Beside the nodes that are there, values count that a NodePool could launch with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::name::{NodeName, PodName};
use crate::model::node::Node;
use crate::model::pod::{Pod, PodPlace, PodSpec};
use crate::model::rules::{PodTerm, TopologySpread};
use crate::model::selector::PodSelector;
use crate::model::snapshot::SnapshotParts;
use crate::model::taint::first_untolerated;

/// The world after a plan, indexed.
pub(super) struct World<'a> {
    pub(super) parts: &'a SnapshotParts,
    nodes: BTreeMap<&'a NodeName, &'a Node>,
    /// Required anti-affinity of pods that are there, with the first pod that has it in each place.
    keeping_off: Vec<(&'a PodTerm, &'a Pod)>,
}

/// A spread's pods by domain, and what follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) by_value: BTreeMap<String, u64>,
    /// The least of any, or nothing where there are fewer domains than it wants.
    pub(super) least: u64,
}

impl<'a> World<'a> {
    pub(super) fn of(parts: &'a SnapshotParts) -> Self {
        let nodes = parts.nodes.iter().map(|node| (&node.name, node)).collect();
        let mut keeping_off = Vec::new();
        let mut seen: BTreeSet<(&PodTerm, Option<&NodeName>)> = BTreeSet::new();
        for pod in parts.pods.iter().filter(|pod| pod.node().is_some()) {
            for term in &pod.spec.rules.anti_affinity {
                if seen.insert((term, pod.node())) {
                    keeping_off.push((term, pod));
                }
            }
        }
        Self {
            parts,
            nodes,
            keeping_off,
        }
    }

    fn node_of(&self, pod: &Pod) -> Option<&'a Node> {
        self.nodes.get(pod.node()?).copied()
    }

    /// Pods on nodes that all of these selectors match, with the nodes; `but` is left out.
    pub(super) fn matching(&self, selectors: &[&PodSelector], but: &PodName) -> Vec<(&'a Pod, &'a Node)> {
        let mut found = Vec::new();
        // Pods of one workload stand together and share one value.
        let mut last: Option<(&Pod, bool)> = None;
        for pod in &self.parts.pods {
            let PodPlace::Bound(_) = &pod.place else {
                continue;
            };
            let is_same = |before: &Pod| {
                Arc::ptr_eq(&before.spec, &pod.spec) && before.name.namespace == pod.name.namespace
            };
            let matches = match last {
                Some((before, matched)) if is_same(before) => matched,
                _ => {
                    (selectors.iter()).all(|selector| selector.matches(&pod.name.namespace, &pod.spec.labels))
                }
            };
            last = Some((pod, matches));
            if matches && pod.name != *but {
                found.extend(self.node_of(pod).map(|node| (pod, node)));
            }
        }
        found
    }

    /// By value of a key: the first of the pods that a term names, and how many they are.
    pub(super) fn named_by(&self, term: &PodTerm, but: &PodName) -> BTreeMap<&'a str, (&'a PodName, usize)> {
        let mut places: BTreeMap<&str, (&PodName, usize)> = BTreeMap::new();
        for (pod, node) in self.matching(&[&term.selector], but) {
            if let Some(value) = node.labels.get(&term.topology_key) {
                places.entry(value).or_insert((&pod.name, 0)).1 += 1;
            }
        }
        places
    }

    /// Pods that keep this one off by their own rule: the rule, who, and the value of its key there.
    pub(super) fn keeping_off(&self, pod: &Pod) -> Vec<(&'a PodTerm, &'a PodName, &'a str)> {
        let all = self.keeping_off.iter();
        let naming = all.filter(|(term, other)| {
            other.name != pod.name && term.selector.matches(&pod.name.namespace, &pod.spec.labels)
        });
        let placed = naming.filter_map(|(term, other)| {
            let value = self.node_of(other)?.labels.get(&term.topology_key)?;
            Some((*term, &other.name, value.as_str()))
        });
        placed.collect()
    }

    /// How many pods of a hard spread each domain has.
    pub(super) fn counts(&self, spread: &TopologySpread, pod: &Pod) -> Counts {
        let spec = &*pod.spec;
        let mut by_value: BTreeMap<String, u64> = BTreeMap::new();
        let eligible: BTreeSet<&NodeName> = (self.parts.nodes.iter())
            .filter(|node| is_eligible(spread, spec, node))
            .map(|node| &node.name)
            .collect();
        for name in &eligible {
            if let Some(value) = self.nodes[*name].labels.get(&spread.topology_key) {
                by_value.entry(value.clone()).or_default();
            }
        }
        for value in self.launchable(spread, spec) {
            by_value.entry(value).or_default();
        }
        for (_, node) in self.matching(&[&spread.selector], &pod.name) {
            let value = node.labels.get(&spread.topology_key);
            let value = value.filter(|_| eligible.contains(&node.name));
            if let Some(count) = value.and_then(|value| by_value.get_mut(value)) {
                *count += 1;
            }
        }
        let domains = u32::try_from(by_value.len()).unwrap_or(u32::MAX);
        let is_short = spread.min_domains.is_some_and(|fewest| domains < fewest);
        let least = by_value.values().min().copied().filter(|_| !is_short);
        Counts {
            least: least.unwrap_or(0),
            by_value,
        }
    }

    /// Values that nodes to come may have, where an offer decides that.
    fn launchable(&self, spread: &TopologySpread, spec: &PodSpec) -> BTreeSet<String> {
        let key = spread.topology_key.as_str();
        let wanted = spec.selector_requirements();
        let mut values = BTreeSet::new();
        for pool in &self.parts.node_pools {
            let refuses = first_untolerated(&pool.taints, &spec.tolerations).is_some();
            let Some(class) = self.parts.node_classes.get(&pool.node_class) else {
                continue;
            };
            if pool.replicas.is_some() || refuses && spread.honours_taints {
                continue;
            }
            let offerings = class.instance_types.iter().flat_map(|kind| &kind.offerings);
            let offered = offerings.filter_map(|offering| offering.label(key));
            let admitted = offered.filter(|value| {
                let is_in = |set: Option<&crate::model::requirement::ValueSet>| {
                    set.is_none_or(|set| set.admits(Some(value)))
                };
                is_in(pool.requirements.get(key)) && (!spread.honours_affinity || is_in(wanted.get(key)))
            });
            values.extend(admitted.map(str::to_owned));
        }
        values
    }
}

/// Whether a node is a domain of a spread and its pods count.
fn is_eligible(spread: &TopologySpread, spec: &PodSpec, node: &Node) -> bool {
    let has_keys = (spec.rules.spread.iter())
        .filter(|other| other.is_hard)
        .all(|other| node.labels.contains_key(&other.topology_key));
    let is_admitted = spec.admits_node(&node.labels, Some(node.name.as_str()));
    let is_tolerated = first_untolerated(&node.taints, &spec.tolerations).is_none();
    has_keys
        && (is_admitted || !spread.honours_affinity)
        && (is_tolerated && !node.unschedulable || !spread.honours_taints)
}
