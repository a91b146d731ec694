//! The snapshot indexed for the check: pods and nodes by name, pods by what decides where they may run.
//!
//! Promises: looking up a name takes logarithmic time whatever the names are (a hash only orders them), and every
//! number given out depends on the order of the snapshot alone. Amounts are dense vectors in the order of `resources`,
//! in base units; sums have 128 bits, so that a million pods of any request can't wrap.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::name::{NodeName, PodName};
use crate::model::pod::{DaemonSet, Pod, PodPlace, PodSpec};
use crate::model::requirement::{Labels, NodeSelectorTerms};
use crate::model::resources::{Amount, ResourceName, Resources};
use crate::model::snapshot::Snapshot;
use crate::model::taint::Toleration;

/// Amounts by position in [`World::resources`].
pub(super) type Amounts = Vec<u64>;
/// Sums of them.
pub(super) type Sums = Vec<u128>;

/// Pods that ask for the same and may run in the same places: they differ in name, labels, owner or priority only.
pub(super) struct PodGroup<'a> {
    pub(super) spec: &'a PodSpec,
    /// Position in [`World::constraints`].
    pub(super) constraint: usize,
    pub(super) requests: Amounts,
}

/// The snapshot, indexed.
pub(super) struct World<'a> {
    pub(super) snapshot: &'a Snapshot,
    /// Every resource that a pod, a DaemonSet, a limit or a headroom names.
    pub(super) resources: Vec<&'a ResourceName>,
    /// Specs of pods, each allocation once; equal ones may be here several times.
    pub(super) specs: Vec<&'a PodSpec>,
    /// Spec of each pod.
    pub(super) spec_of: Vec<usize>,
    pub(super) groups: Vec<PodGroup<'a>>,
    /// Group of each pod.
    pub(super) group_of: Vec<usize>,
    /// One pod spec for each different set of selector, affinity and tolerations.
    pub(super) constraints: Vec<&'a PodSpec>,
    /// Requests of each DaemonSet.
    pub(super) daemon_requests: Vec<Amounts>,
    /// Pods on each node, terminating ones too.
    pub(super) pods_on: Vec<Vec<usize>>,
    /// Node of each pod.
    pub(super) node_of: Vec<Option<usize>>,
    pods: NameIndex,
    nodes: NameIndex,
}

impl<'a> World<'a> {
    pub(super) fn new(snapshot: &'a Snapshot) -> Self {
        let nodes = NameIndex::new(snapshot.nodes.iter().map(|node| hash(&[node.name.as_str()])));
        let pods = NameIndex::new(snapshot.pods.iter().map(|pod| hash_pod(&pod.name)));
        let mut world = Self {
            snapshot,
            resources: Vec::new(),
            specs: Vec::new(),
            spec_of: Vec::with_capacity(snapshot.pods.len()),
            groups: Vec::new(),
            group_of: Vec::with_capacity(snapshot.pods.len()),
            constraints: Vec::new(),
            daemon_requests: Vec::new(),
            pods_on: vec![Vec::new(); snapshot.nodes.len()],
            node_of: Vec::with_capacity(snapshot.pods.len()),
            pods,
            nodes,
        };
        world.intern_groups();
        for (at, pod) in snapshot.pods.iter().enumerate() {
            let node = pod.node().and_then(|name| world.node(name));
            world.node_of.push(node);
            if let Some(node) = node {
                world.pods_on[node].push(at);
            }
        }
        world
    }

    fn intern_groups(&mut self) {
        type Constraint<'a> = (&'a Labels, Option<&'a NodeSelectorTerms>, &'a [Toleration]);
        let snapshot = self.snapshot;
        let mut by_address: BTreeMap<*const PodSpec, usize> = BTreeMap::new();
        let mut by_value: BTreeMap<(&Resources, usize), usize> = BTreeMap::new();
        let mut constraints: BTreeMap<Constraint<'_>, usize> = BTreeMap::new();
        let mut group_of_spec: Vec<usize> = Vec::new();
        for pod in &snapshot.pods {
            let spec: &PodSpec = &pod.spec;
            let at = *by_address.entry(Arc::as_ptr(&pod.spec)).or_insert_with(|| {
                let key = (
                    &spec.node_selector,
                    spec.node_affinity.as_ref(),
                    spec.tolerations.as_slice(),
                );
                let constraint = *constraints.entry(key).or_insert_with(|| {
                    self.constraints.push(spec);
                    self.constraints.len() - 1
                });
                let group = *by_value.entry((&spec.requests, constraint)).or_insert_with(|| {
                    self.groups.push(PodGroup {
                        spec,
                        constraint,
                        requests: Amounts::new(),
                    });
                    self.groups.len() - 1
                });
                group_of_spec.push(group);
                self.specs.push(spec);
                self.specs.len() - 1
            });
            self.spec_of.push(at);
            self.group_of.push(group_of_spec[at]);
        }
        let mut names: BTreeSet<&ResourceName> = BTreeSet::new();
        let asked = self.groups.iter().map(|group| &group.spec.requests);
        let daemons = snapshot
            .daemon_sets
            .iter()
            .map(|daemon_set| &daemon_set.spec.requests);
        let limits = snapshot.node_pools.iter().map(|pool| &pool.limits.resources);
        let headroom = snapshot.placement.headroom.values();
        for resources in asked.chain(daemons).chain(limits).chain(headroom) {
            names.extend(resources.iter().map(|(name, _)| name));
        }
        self.resources = names.into_iter().collect();
        let requests: Vec<Amounts> = self
            .groups
            .iter()
            .map(|group| self.amounts(&group.spec.requests))
            .collect();
        for (group, requests) in self.groups.iter_mut().zip(requests) {
            group.requests = requests;
        }
        self.daemon_requests = snapshot
            .daemon_sets
            .iter()
            .map(|daemon_set| self.amounts(&daemon_set.spec.requests))
            .collect();
    }

    /// In the order of `resources`; what nobody asks for is left out.
    pub(super) fn amounts(&self, resources: &Resources) -> Amounts {
        self.resources
            .iter()
            .map(|name| resources.get(name).get())
            .collect()
    }

    pub(super) fn zero(&self) -> Sums {
        vec![0; self.resources.len()]
    }

    /// A sum as amounts, for comparing with what a plan says; sticks at the largest amount, as the model's own does.
    pub(super) fn clipped(sum: u128) -> Amount {
        Amount::new(u64::try_from(sum).unwrap_or(u64::MAX))
    }

    pub(super) fn requests(&self, pod: usize) -> &Amounts {
        &self.groups[self.group_of[pod]].requests
    }

    pub(super) fn pod(&self, name: &PodName) -> Option<usize> {
        let pods = &self.snapshot.pods;
        self.pods.find(hash_pod(name), |at| pods[at].name.cmp(name))
    }

    pub(super) fn node(&self, name: &NodeName) -> Option<usize> {
        let nodes = &self.snapshot.nodes;
        self.nodes
            .find(hash(&[name.as_str()]), |at| nodes[at].name.cmp(name))
    }

    /// Whether a pod needs a place: pending, or running on a node that is being deleted and no DaemonSet's.
    pub(super) fn needs_place(&self, at: usize) -> bool {
        let pod = &self.snapshot.pods[at];
        match pod.place {
            PodPlace::Pending => true,
            PodPlace::Terminating(_) => false,
            PodPlace::Bound(_) => {
                !pod.is_daemon() && self.node_of[at].is_some_and(|node| self.snapshot.nodes[node].deleting)
            }
        }
    }

    /// The DaemonSet that owns a pod.
    pub(super) fn daemon_set_of(&self, pod: &Pod) -> Option<usize> {
        self.snapshot
            .daemon_sets
            .iter()
            .position(|daemon_set: &DaemonSet| daemon_set.owns(pod))
    }

    /// `cpu: needs 2500m, 1930m there` for the first resource of which there is too little.
    pub(super) fn shortage(&self, needed: &Sums, there: &[u64]) -> Option<String> {
        let at = first_short(needed, there)?;
        let name = self.resources[at];
        let needs = Self::clipped(needed[at]).display(name.unit());
        let has = Amount::new(there[at]).display(name.unit());
        Some(format!("{name}: needs {needs}, {has} there"))
    }
}

/// The first resource of which there is too little.
pub(super) fn first_short(needed: &Sums, there: &[u64]) -> Option<usize> {
    needed
        .iter()
        .zip(there)
        .position(|(needed, there)| *needed > u128::from(*there))
}

pub(super) fn add(sums: &mut Sums, amounts: &[u64]) {
    for (sum, amount) in sums.iter_mut().zip(amounts) {
        *sum += u128::from(*amount);
    }
}

/// Names in the order of a hash: comparing integers beats comparing long texts that start alike. A directory by the first
/// bits of the hash says where to look, since halving a million entries twenty times misses the cache each time. Equal
/// hashes keep the order of the names, and what shares its first bits is halved, so that no choice of names makes a
/// lookup slow.
struct NameIndex {
    entries: Vec<(u64, usize)>,
    /// By first bits of the hash: where its entries begin; one more at the end.
    starts: Vec<usize>,
    /// Bits of a hash behind the first ones.
    rest: u32,
}

impl NameIndex {
    /// The hashes come in the order of the names.
    fn new(hashes: impl Iterator<Item = u64>) -> Self {
        let mut entries: Vec<(u64, usize)> = hashes.zip(0..).collect();
        entries.sort_unstable();
        let first_bits = entries.len().checked_ilog2().unwrap_or(0).max(1);
        let rest = u64::BITS - first_bits;
        let mut starts = Vec::with_capacity((1 << first_bits) + 1);
        for (at, (hash, _)) in entries.iter().enumerate() {
            while u64::try_from(starts.len()).is_ok_and(|bucket| bucket <= hash >> rest) {
                starts.push(at);
            }
        }
        starts.resize((1 << first_bits) + 1, entries.len());
        Self {
            entries,
            starts,
            rest,
        }
    }

    fn find(&self, hash: u64, compare: impl Fn(usize) -> Ordering) -> Option<usize> {
        let bucket = usize::try_from(hash >> self.rest).ok()?;
        let near = &self.entries[self.starts[bucket]..self.starts[bucket + 1]];
        let from = near.partition_point(|(other, _)| *other < hash);
        let rest = &near[from..];
        let same = &rest[..rest.partition_point(|(other, _)| *other == hash)];
        let found = same.binary_search_by(|(_, at)| compare(*at)).ok()?;
        Some(same[found].1)
    }
}

fn hash_pod(name: &PodName) -> u64 {
    hash(&[&name.namespace, &name.name])
}

/// FNV-1a with a separator behind each part, and its bits mixed once more: those of names that differ in a last digit
/// hardly differ in the first ones otherwise.
fn hash(parts: &[&str]) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = parts.iter().fold(0xcbf2_9ce4_8422_2325, |hash, part| {
        step(part.bytes().fold(hash, step), b'/')
    });
    (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_no_other() {
        // Hashes that share their first bits, that are equal, and at both ends of the range.
        let hashes = [
            0,
            1,
            1,
            1,
            5 << 40,
            6 << 40,
            1 << 63,
            (1 << 63) + 1,
            u64::MAX,
            u64::MAX,
        ];
        let index = NameIndex::new(hashes.iter().copied());
        for (name, hash) in hashes.iter().enumerate() {
            assert_eq!(index.find(*hash, |other| other.cmp(&name)), Some(name));
            assert_eq!(index.find(*hash, |other| other.cmp(&99)), None);
        }
        for hash in [2, 7 << 40, (1 << 63) - 1, u64::MAX - 1] {
            assert_eq!(index.find(hash, |other| other.cmp(&0)), None);
        }
        assert_eq!(
            NameIndex::new(std::iter::empty()).find(7, |other| other.cmp(&0)),
            None
        );
    }
}
