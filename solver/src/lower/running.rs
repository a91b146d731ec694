//! Pods that are on nodes already, as rules about other pods see them.
//!
//! Present is every pod on a node that stays, terminating ones too, and every DaemonSet pod that is still to come to it:
//! they keep others off by anti-affinity and host ports. Staying are those that don't terminate: they count for spread
//! and are near others. Pods alike in what they match are counted together, so that many pods times many selectors stay few.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fixedbitset::FixedBitSet;

use crate::model::name::NodeName;
use crate::model::pod::{Pod, PodPlace, PodSpec};
use crate::model::rules::HostPort;
use crate::model::snapshot::Snapshot;

use super::existing::DaemonPods;
use super::rules::overhead;
use super::selectors::Selectors;

/// Pods on existing nodes. Nodes are indices into the snapshot's.
#[derive(Clone, Debug, Default)]
pub struct Running<'a> {
    /// By what they match: the number of staying pods on each node, nothing where others are present.
    by_matches: BTreeMap<FixedBitSet, BTreeMap<usize, u64>>,
    /// By what they match: nodes that will have a DaemonSet's pod without any plan's word.
    to_come: BTreeMap<FixedBitSet, BTreeSet<usize>>,
    /// By topology key and selector: nodes with pods that have it as required anti-affinity.
    holders: BTreeMap<(&'a str, usize), BTreeSet<usize>>,
    /// By node: host ports in use.
    ports: BTreeMap<usize, BTreeSet<&'a HostPort>>,
}

impl<'a> Running<'a> {
    /// All of a snapshot, with the DaemonSet pods that find their place.
    #[must_use]
    pub fn of(snapshot: &'a Snapshot, selectors: &Selectors<'_>, daemon_pods: &DaemonPods) -> Self {
        let mut running = Self::default();
        let mut last: Option<(&Pod, FixedBitSet)> = None;
        let mut node: Option<(&NodeName, usize)> = None;
        for pod in snapshot.pods.iter().filter(|pod| !snapshot.needs_place(pod)) {
            let Some(name) = pod.node() else { continue };
            let ports = &pod.spec.rules.host_ports;
            if selectors.is_empty() && ports.is_empty() {
                continue;
            }
            let at = match node {
                Some((before, at)) if before == name => at,
                _ => match snapshot.nodes.binary_search_by(|node| node.name.cmp(name)) {
                    Ok(at) => at,
                    Err(_) => continue,
                },
            };
            node = Some((name, at));
            if snapshot.nodes[at].deleting {
                continue;
            }
            let alike = last.take().filter(|(before, _)| {
                Arc::ptr_eq(&before.spec, &pod.spec) && before.name.namespace == pod.name.namespace
            });
            let matches = alike.map_or_else(
                || selectors.matching(&pod.name.namespace, &pod.spec.labels),
                |(_, matches)| matches,
            );
            let stays = matches!(pod.place, PodPlace::Bound(_));
            running.add(at, &pod.spec, &matches, u64::from(stays), selectors);
            last = Some((pod, matches));
        }
        for (pod, node) in &daemon_pods.placed {
            let pod = &snapshot.pods[*pod];
            let matches = selectors.matching(&pod.name.namespace, &pod.spec.labels);
            running.add(*node, &pod.spec, &matches, 1, selectors);
        }
        running.expect_daemons(snapshot, selectors, daemon_pods);
        running
    }

    fn add(
        &mut self,
        node: usize,
        spec: &'a Arc<PodSpec>,
        matches: &FixedBitSet,
        staying: u64,
        selectors: &Selectors<'_>,
    ) {
        if !matches.is_clear() {
            if !self.by_matches.contains_key(matches) {
                self.by_matches.insert(matches.clone(), BTreeMap::new());
            }
            let by_node = self.by_matches.get_mut(matches);
            *by_node.expect("put there just now").entry(node).or_default() += staying;
        }
        for term in &spec.rules.anti_affinity {
            if let Some(selector) = selectors.position(&term.selector) {
                let key = (term.topology_key.as_str(), selector);
                self.holders.entry(key).or_default().insert(node);
            }
        }
        for port in &spec.rules.host_ports {
            self.ports.entry(node).or_default().insert(port);
        }
    }

    /// DaemonSet pods that are still to come to nodes without any plan's word.
    fn expect_daemons(
        &mut self,
        snapshot: &'a Snapshot,
        selectors: &Selectors<'_>,
        daemon_pods: &DaemonPods,
    ) {
        let present = overhead::present(snapshot);
        let leaving: BTreeSet<(&NodeName, usize)> = overhead::terminating(snapshot).collect();
        let owner = |pod: usize| overhead::owner(snapshot, &snapshot.pods[pod]);
        let placed = daemon_pods.placed.iter();
        let placed: BTreeSet<(usize, usize)> = placed
            .filter_map(|(pod, node)| Some((*node, owner(*pod)?)))
            .collect();
        let refused = daemon_pods.refused.iter();
        let refused: BTreeSet<(&NodeName, usize)> = refused
            .filter_map(|(pod, reason)| Some((reason.node.as_ref()?, owner(*pod)?)))
            .collect();
        for (owner, daemon_set) in snapshot.daemon_sets.iter().enumerate() {
            let spec = &daemon_set.spec;
            let matches = selectors.matching(&daemon_set.name.namespace, &spec.labels);
            if matches.is_clear() && spec.rules.anti_affinity.is_empty() && spec.rules.host_ports.is_empty() {
                continue;
            }
            let is_certain = spec.rules.anti_affinity.is_empty() && !selectors.may_keep_off(&matches);
            for (at, node) in snapshot.nodes.iter().enumerate() {
                let is_there = present
                    .get(&node.name)
                    .is_some_and(|there| there.contains(&owner));
                let comes = placed.contains(&(at, owner));
                if !node.deleting && !is_there && !comes && overhead::expects(daemon_set, node) {
                    self.add(at, spec, &matches, 0, selectors);
                    // One that is still there in another shape, or has no room, may take its time.
                    let key = (&node.name, owner);
                    if is_certain && !refused.contains(&key) && !leaving.contains(&key) {
                        self.to_come.entry(matches.clone()).or_default().insert(at);
                    }
                }
            }
        }
    }

    /// By node: staying pods that all of these selectors match.
    #[must_use]
    pub fn staying(&self, selectors: &[usize]) -> BTreeMap<usize, u64> {
        let mut staying = BTreeMap::new();
        for (_, by_node) in self.matching(selectors) {
            for (node, count) in by_node.iter().filter(|(_, count)| **count > 0) {
                *staying.entry(*node).or_default() += count;
            }
        }
        staying
    }

    /// Nodes where a staying pod is that all of these selectors match, or a DaemonSet's will be.
    #[must_use]
    pub fn staying_or_to_come(&self, selectors: &[usize]) -> BTreeSet<usize> {
        let matched = |matches: &FixedBitSet| selectors.iter().all(|selector| matches.contains(*selector));
        let to_come = self.to_come.iter().filter(|(matches, _)| matched(matches));
        let to_come = to_come.flat_map(|(_, nodes)| nodes.iter().copied());
        self.staying(selectors).into_keys().chain(to_come).collect()
    }

    /// Nodes where a pod is present that a selector matches.
    #[must_use]
    pub fn present(&self, selector: usize) -> BTreeSet<usize> {
        let matching = self.matching(std::slice::from_ref(&selector));
        matching
            .flat_map(|(_, by_node)| by_node.keys().copied())
            .collect()
    }

    fn matching(&self, selectors: &[usize]) -> impl Iterator<Item = (&FixedBitSet, &BTreeMap<usize, u64>)> {
        let all = move |matches: &FixedBitSet| selectors.iter().all(|selector| matches.contains(*selector));
        self.by_matches.iter().filter(move |(matches, _)| all(matches))
    }

    /// Topology keys and selectors by which pods that are present keep others off, with their nodes.
    pub fn holders(&self) -> impl Iterator<Item = (&'a str, usize, &BTreeSet<usize>)> {
        self.holders
            .iter()
            .map(|((key, selector), nodes)| (*key, *selector, nodes))
    }

    /// Host ports in use, with the node of each.
    pub fn ports(&self) -> impl Iterator<Item = (usize, &'a HostPort)> {
        let ports = self.ports.iter();
        ports.flat_map(|(node, ports)| ports.iter().map(|port| (*node, *port)))
    }
}
