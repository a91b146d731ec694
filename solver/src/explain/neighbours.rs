//! Why an existing node can't take a pod beside those that are there, or near those that are near.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::name::{NodeName, PodName};
use crate::model::node::Node;
use crate::model::pod::{DaemonSet, Pod};
use crate::model::resources::Resources;
use crate::model::rules::{HostPort, PodTerm, TopologySpread};
use crate::model::selector::PodSelector;
use crate::model::taint::first_untolerated;

use super::words;
use super::world::{Counts, World};

/// A rule that stands in the way, without what differs between nodes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Clash {
    Port(String),
    /// No such pod is near.
    Lonely(String),
    /// A pod that it keeps off, or that keeps it off, is near.
    Near(String),
    /// The node has no such label.
    NoLabel(String),
    Crowded(String),
}

/// All that rules of one pod ask of its neighbours, looked up once for all nodes.
pub(super) struct Neighbours<'a> {
    pod: &'a Pod,
    /// Ports by node, with who has them.
    ports: BTreeMap<&'a NodeName, Vec<(&'a HostPort, &'a PodName)>>,
    /// DaemonSets with a pod on each node.
    there: BTreeSet<(&'a NodeName, &'a str, &'a str)>,
    daemon_sets: &'a [DaemonSet],
    /// Required affinity: the values that have what it has to be near.
    near: Vec<(&'a PodTerm, BTreeSet<&'a str>)>,
    /// Whether it is the first of the pods that it has to be near.
    is_first: bool,
    /// By key and value: who keeps off whom.
    apart: BTreeMap<(&'a str, &'a str), String>,
    spreads: Vec<(&'a TopologySpread, Counts)>,
}

impl<'a> Neighbours<'a> {
    pub(super) fn of(world: &World<'a>, pod: &'a Pod) -> Self {
        let rules = &pod.spec.rules;
        let parts = world.parts;
        let mut ports: BTreeMap<&NodeName, Vec<(&HostPort, &PodName)>> = BTreeMap::new();
        let mut there = BTreeSet::new();
        for other in parts.pods.iter().filter(|other| other.name != pod.name) {
            let Some(node) = other.node() else { continue };
            if !rules.host_ports.is_empty() {
                let of_other = other.spec.rules.host_ports.iter();
                ports
                    .entry(node)
                    .or_default()
                    .extend(of_other.map(|port| (port, &other.name)));
            }
            if let Some(owner) = other.spec.owner.as_ref().filter(|_| other.is_daemon()) {
                there.insert((node, other.name.namespace.as_str(), owner.name.as_str()));
            }
        }
        let selectors: Vec<&PodSelector> = rules.affinity.iter().map(|term| &term.selector).collect();
        let companions = if selectors.is_empty() {
            Vec::new()
        } else {
            world.matching(&selectors, &pod.name)
        };
        let near = rules.affinity.iter().map(|term| {
            let values = companions
                .iter()
                .filter_map(|(_, node)| node.labels.get(&term.topology_key).map(String::as_str));
            (term, values.collect())
        });
        let own = (selectors.iter()).all(|selector| selector.matches(&pod.name.namespace, &pod.spec.labels));
        let mut apart: BTreeMap<(&str, &str), String> = BTreeMap::new();
        for term in &rules.anti_affinity {
            for (value, (first, _)) in world.named_by(term, &pod.name) {
                let said = format!("{first}, which the pod keeps off, is there");
                apart.entry((&term.topology_key, value)).or_insert(said);
            }
        }
        for (term, other, value) in world.keeping_off(pod) {
            let said = format!(
                "{other}, which keeps {} off, is there",
                words::selector(&term.selector)
            );
            apart.entry((&term.topology_key, value)).or_insert(said);
        }
        let hard = rules.spread.iter().filter(|spread| spread.is_hard);
        Self {
            pod,
            ports,
            there,
            daemon_sets: &parts.daemon_sets,
            near: near.collect(),
            is_first: own && companions.is_empty(),
            apart,
            spreads: hard.map(|spread| (spread, world.counts(spread, pod))).collect(),
        }
    }

    /// DaemonSets whose pod is still to come to a node.
    fn expected(&self, node: &'a Node) -> impl Iterator<Item = &'a DaemonSet> {
        self.daemon_sets.iter().filter(move |daemon_set| {
            let name = &daemon_set.name;
            let key = (&node.name, name.namespace.as_str(), name.name.as_str());
            let spec = &daemon_set.spec;
            !self.there.contains(&key)
                && first_untolerated(&node.taints, &spec.tolerations).is_none()
                && spec.admits_node(&node.labels, Some(node.name.as_str()))
        })
    }

    /// What DaemonSets still need of a node; nothing for their own pods, which are part of it.
    pub(super) fn kept_for_daemons(&self, node: &'a Node) -> Resources {
        let mut kept = Resources::default();
        if !self.pod.is_daemon() {
            self.expected(node)
                .for_each(|daemon_set| kept.add_all(&daemon_set.spec.requests));
        }
        kept
    }

    /// The first rule that keeps the pod off a node, and by whom.
    pub(super) fn clash(&self, node: &'a Node) -> Option<(Clash, String)> {
        self.port(node)
            .or_else(|| self.lonely(node))
            .or_else(|| self.near_others(node))
            .or_else(|| self.crowded(node))
    }

    fn port(&self, node: &'a Node) -> Option<(Clash, String)> {
        let wanted = &self.pod.spec.rules.host_ports;
        if wanted.is_empty() {
            return None;
        }
        let there = self.ports.get(&node.name).into_iter().flatten();
        let there = there.map(|(port, pod)| (*port, pod.to_string()));
        let to_come = self.expected(node).flat_map(|daemon_set| {
            let ports = daemon_set.spec.rules.host_ports.iter();
            ports.map(move |port| (port, format!("DaemonSet {}", daemon_set.name)))
        });
        let to_come = to_come.filter(|_| !self.pod.is_daemon());
        there.chain(to_come).find_map(|(port, holder)| {
            let own = wanted.iter().find(|own| own.clashes_with(port))?;
            Some((Clash::Port(words::port(own)), format!("{holder} has it")))
        })
    }

    fn lonely(&self, node: &Node) -> Option<(Clash, String)> {
        self.near.iter().find_map(|(term, values)| {
            let key = &term.topology_key;
            let Some(value) = node.labels.get(key) else {
                return Some((Clash::NoLabel(key.clone()), String::new()));
            };
            if self.is_first || values.contains(value.as_str()) {
                return None;
            }
            let places: Vec<&str> = values.iter().copied().collect();
            let found = if places.is_empty() {
                "they are nowhere".to_owned()
            } else {
                format!("they are in {}", words::listed(&places))
            };
            Some((Clash::Lonely(words::term(term)), found))
        })
    }

    fn near_others(&self, node: &Node) -> Option<(Clash, String)> {
        let mut keys = self.apart.iter();
        keys.find_map(|((key, value), who)| {
            let is_here = node.labels.get(*key).is_some_and(|own| own == value);
            is_here.then(|| (Clash::Near((*key).to_owned()), who.clone()))
        })
    }

    fn crowded(&self, node: &Node) -> Option<(Clash, String)> {
        let (namespace, labels) = (&self.pod.name.namespace, &self.pod.spec.labels);
        self.spreads.iter().find_map(|(spread, counts)| {
            let key = &spread.topology_key;
            let Some(value) = node.labels.get(key) else {
                return Some((Clash::NoLabel(key.clone()), String::new()));
            };
            let own = u64::from(spread.selector.matches(namespace, labels));
            let there = counts.by_value.get(value).copied().unwrap_or(0);
            let least = counts.least;
            if there + own <= least + u64::from(spread.max_skew) {
                return None;
            }
            let said = format!(
                "{key}={value} has {there} {}, the least has {least}, maxSkew is {}",
                words::selector(&spread.selector),
                spread.max_skew
            );
            Some((Clash::Crowded(said), String::new()))
        })
    }
}

#[cfg(test)]
#[path = "neighbours_tests.rs"]
mod tests;
