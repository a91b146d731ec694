//! Pods into groups that no rule can tell apart, and their scheduling rules into profiles.
//!
//! A profile is what decides which nodes a pod may use apart from their room: selector, affinity, tolerations. A
//! group is a profile with requests and a priority. Pods are looked at once each: a pod with the same specification
//! value as the one before costs a pointer comparison, any other a hash and a comparison with its like.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::model::pod::PodSpec;
use crate::model::requirement::Requirements;
use crate::model::resources::ResourceName;
use crate::model::snapshot::Snapshot;

use super::rules::{overhead, resources};

/// Selector, affinity and tolerations that some pods or a DaemonSet have.
#[derive(Clone, Debug)]
pub struct Profile {
    /// A specification that has them.
    pub spec: Arc<PodSpec>,
    /// Its `nodeSelector` as requirements.
    pub selector: Requirements,
}

impl Profile {
    pub(crate) fn of(spec: &Arc<PodSpec>) -> Self {
        Self {
            spec: Arc::clone(spec),
            selector: spec.selector_requirements(),
        }
    }
}

/// Pods that no rule can tell apart.
#[derive(Clone, Debug)]
pub struct Group {
    /// Indices into the snapshot's pods, those that waited longest first.
    pub pods: Vec<usize>,
    /// Index of its profile.
    pub profile: usize,
    /// Scheduling priority.
    pub priority: i32,
    /// Whether nodes may be launched for it; not for DaemonSets' pods, which belong to nodes that exist.
    pub launches: bool,
}

/// The pods that need a place, in groups, largest requests first.
#[derive(Debug, Default)]
pub struct Grouping {
    /// The groups.
    pub groups: Vec<Group>,
    /// Profiles that the groups refer to.
    pub profiles: Vec<Profile>,
    /// Pending pods of DaemonSets that are pinned to an existing node.
    pub pinned: Vec<usize>,
}

/// FNV-1a: the same on every machine and run, unlike the standard library's.
struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// What makes two pods the same.
pub(crate) fn identity(spec: &PodSpec) -> impl Hash + Ord + '_ {
    (
        &spec.requests,
        spec.priority,
        &spec.node_selector,
        &spec.node_affinity,
        &spec.tolerations,
        is_daemon(spec),
    )
}

fn rules(spec: &PodSpec) -> impl Ord + '_ {
    (&spec.node_selector, &spec.node_affinity, &spec.tolerations)
}

fn is_daemon(spec: &PodSpec) -> bool {
    spec.owner.as_ref().is_some_and(|owner| owner.kind == "DaemonSet")
}

/// Groups the pods that need a place.
#[must_use]
pub fn group(snapshot: &Snapshot) -> Grouping {
    let (sets, pinned) = collect(snapshot);
    let mut sets: Vec<(&Arc<PodSpec>, Vec<usize>)> = sets;
    // By value, not by name or place in the snapshot: permuting or renaming pods changes no cost.
    sets.sort_by(|(one, _), (two, _)| {
        let size = |spec: &PodSpec| {
            (
                spec.requests.get(&ResourceName::Cpu),
                spec.requests.get(&ResourceName::Memory),
            )
        };
        (size(two).cmp(&size(one))).then_with(|| identity(one).cmp(&identity(two)))
    });
    let mut profiles: Vec<Profile> = Vec::new();
    let mut known = BTreeMap::new();
    let mut groups = Vec::with_capacity(sets.len());
    for (spec, mut pods) in sets {
        let profile = *known.entry(rules(spec)).or_insert_with(|| {
            profiles.push(Profile::of(spec));
            profiles.len() - 1
        });
        // The snapshot is ordered by name; a stable sort keeps that among pods of one age.
        pods.sort_by_key(|pod| {
            let created = snapshot.pods[*pod].created;
            (created.is_none(), created)
        });
        groups.push(Group {
            pods,
            profile,
            priority: spec.priority,
            launches: !is_daemon(spec),
        });
    }
    Grouping {
        groups,
        profiles,
        pinned,
    }
}

type Sets<'a> = Vec<(&'a Arc<PodSpec>, Vec<usize>)>;

fn collect(snapshot: &Snapshot) -> (Sets<'_>, Vec<usize>) {
    let mut sets: Sets<'_> = Vec::new();
    let mut by_hash: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let mut pinned = Vec::new();
    let mut last: Option<(&Arc<PodSpec>, usize)> = None;
    for (index, pod) in snapshot.pods.iter().enumerate() {
        if !snapshot.needs_place(pod) {
            continue;
        }
        if let Some((spec, set)) = last
            && Arc::ptr_eq(spec, &pod.spec)
        {
            sets[set].1.push(index);
            continue;
        }
        if pod.is_daemon() && overhead::pinned_to(pod).is_some() {
            pinned.push(index);
            continue;
        }
        let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
        identity(&pod.spec).hash(&mut hasher);
        let alike = by_hash.entry(hasher.finish()).or_default();
        let found = alike
            .iter()
            .copied()
            .find(|set| identity(sets[*set].0).cmp(&identity(&pod.spec)).is_eq());
        let set = found.unwrap_or_else(|| {
            sets.push((&pod.spec, Vec::new()));
            alike.push(sets.len() - 1);
            sets.len() - 1
        });
        sets[set].1.push(index);
        last = Some((&pod.spec, set));
    }
    (sets, pinned)
}

/// Requests of each group as rows over the columns.
#[must_use]
pub fn demand(snapshot: &Snapshot, groups: &[Group], columns: &[ResourceName]) -> Vec<Vec<u64>> {
    groups
        .iter()
        .map(|group| resources::row(columns, &snapshot.pods[group.pods[0]].spec.requests))
        .collect()
}
