//! Pods into groups that no rule can tell apart, and their scheduling rules into profiles.
//!
//! A profile is what decides which nodes a pod may use apart from their room: selector, affinity, tolerations, reach of
//! volumes, and what is certain of its rules about other pods. A group is a profile with requests, a priority, rules about other pods, and what the rules of others see in it: which
//! of the snapshot's selectors it matches. Pods are looked at once each: a pod with the same specification value as the
//! one before costs a pointer comparison, any other a hash and a comparison with its like.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use fixedbitset::FixedBitSet;

use crate::model::pod::{Pod, PodSpec};
use crate::model::requirement::{NodeSelectorTerm, NodeSelectorTerms, Requirements};
use crate::model::resources::ResourceName;
use crate::model::rules::{PodRules, Volume};
use crate::model::snapshot::Snapshot;

use super::narrow::Narrowing;
use super::rules::{accelerators, gang, overhead, resources};
use super::selectors::Selectors;

/// Selector, affinity, tolerations and volumes that some pods or a DaemonSet have.
#[derive(Clone, Debug)]
pub struct Profile {
    /// A specification that has them.
    pub spec: Arc<PodSpec>,
    /// Its `nodeSelector` as requirements, and what rules about other pods require of labels.
    pub selector: Requirements,
    /// The latter alone.
    pub narrowing: Narrowing,
    /// Whether a policy may keep it off nodes that have an accelerator.
    pub asks_for_no_accelerator: bool,
}

impl Profile {
    pub(crate) fn of(spec: &Arc<PodSpec>) -> Self {
        Self {
            spec: Arc::clone(spec),
            selector: spec.selector_requirements(),
            narrowing: Narrowing::default(),
            asks_for_no_accelerator: false,
        }
    }

    fn narrowed(spec: &Arc<PodSpec>, narrowing: Narrowing, asks_for_no_accelerator: bool) -> Self {
        let mut profile = Self::of(spec);
        profile.selector.add_all(&narrowing.requirements);
        profile.narrowing = narrowing;
        profile.asks_for_no_accelerator = asks_for_no_accelerator;
        profile
    }

    /// Terms of its affinity and of the reach of its volumes.
    pub(crate) fn terms(&self) -> impl Iterator<Item = &NodeSelectorTerm> {
        let volumes = self.spec.rules.volumes.iter().map(|volume| &volume.reach);
        let all = self.spec.node_affinity.iter().chain(volumes);
        all.flat_map(|terms| &terms.0)
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
    /// By group: the selectors that its pods match.
    pub matches: Vec<FixedBitSet>,
    /// Profiles that the groups refer to.
    pub profiles: Vec<Profile>,
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

/// What makes two specifications the same.
pub(crate) fn identity(spec: &PodSpec) -> impl Hash + Ord + '_ {
    (
        &spec.requests,
        spec.priority,
        &spec.node_selector,
        &spec.node_affinity,
        &spec.tolerations,
        is_daemon(spec),
        beside_claims(&spec.rules),
    )
}

/// The rules without the names of claims: volumes that the same nodes reach are alike.
fn beside_claims(rules: &PodRules) -> impl Hash + Ord + '_ {
    let PodRules {
        spread,
        affinity,
        anti_affinity,
        preferred_affinity,
        preferred_anti_affinity,
        preferred_nodes,
        host_ports,
        volumes,
        gang,
        impossible,
    } = rules;
    (
        (spread, affinity, anti_affinity),
        (preferred_affinity, preferred_anti_affinity, preferred_nodes),
        (host_ports, reaches(volumes), gang, impossible),
    )
}

fn reaches(volumes: &[Volume]) -> Vec<&NodeSelectorTerms> {
    volumes.iter().map(|volume| &volume.reach).collect()
}

/// Pods that are one group.
#[derive(Clone, Debug)]
pub struct Set<'a> {
    /// A specification of theirs.
    pub spec: &'a Arc<PodSpec>,
    /// The selectors that they match.
    pub matches: FixedBitSet,
    /// Gangs are of one namespace.
    gang_namespace: Option<&'a str>,
    pods: Vec<usize>,
}

impl<'a> Set<'a> {
    fn of(pod: &'a Pod, selectors: &Selectors<'_>) -> Self {
        let in_gang = pod.spec.rules.gang.is_some();
        Self {
            spec: &pod.spec,
            matches: selectors.matching(&pod.name.namespace, &pod.spec.labels),
            gang_namespace: in_gang.then_some(pod.name.namespace.as_str()),
            pods: Vec::new(),
        }
    }

    /// The gang that they are of.
    #[must_use]
    pub fn gang(&self) -> Option<gang::Key<'a>> {
        let spec: &'a PodSpec = self.spec;
        let gang = spec.rules.gang.as_ref().filter(|_| !is_daemon(spec))?;
        Some((self.gang_namespace?, &gang.name))
    }

    fn identity(&self) -> impl Hash + Ord + '_ {
        (identity(self.spec), self.gang_namespace, &self.matches)
    }
}

fn rules(spec: &PodSpec) -> impl Ord + '_ {
    let own = (&spec.node_selector, &spec.node_affinity, &spec.tolerations);
    (own, reaches(&spec.rules.volumes))
}

fn is_daemon(spec: &PodSpec) -> bool {
    spec.owner.as_ref().is_some_and(|owner| owner.kind == "DaemonSet")
}

/// The pods that need a place in sets of like ones, the largest requests first; beside them pending pods of DaemonSets
/// that are pinned to an existing node.
#[must_use]
pub fn sets<'a>(snapshot: &'a Snapshot, selectors: &Selectors<'_>) -> (Vec<Set<'a>>, Vec<usize>) {
    let (mut sets, pinned) = collect(snapshot, selectors);
    // By value, not by name or place in the snapshot: permuting or renaming pods changes no cost.
    sets.sort_by(|one, two| {
        let size = |set: &Set<'_>| {
            (
                set.spec.requests.get(&ResourceName::Cpu),
                set.spec.requests.get(&ResourceName::Memory),
            )
        };
        (size(two).cmp(&size(one))).then_with(|| one.identity().cmp(&two.identity()))
    });
    (sets, pinned)
}

/// Makes each set a group, with what rules about other pods require of its nodes.
#[must_use]
pub fn group(snapshot: &Snapshot, sets: Vec<Set<'_>>, narrowings: Vec<Narrowing>) -> Grouping {
    let mut grouping = Grouping::default();
    let mut known = BTreeMap::new();
    for (set, narrowing) in sets.into_iter().zip(narrowings) {
        let Set {
            spec,
            matches,
            gang_namespace: _,
            mut pods,
        } = set;
        let profiles = &mut grouping.profiles;
        let asks_for_none = accelerators::asks_for_none(snapshot, spec, is_daemon(spec));
        let key = (rules(spec), narrowing.clone(), asks_for_none);
        let profile = *known.entry(key).or_insert_with(|| {
            profiles.push(Profile::narrowed(spec, narrowing, asks_for_none));
            profiles.len() - 1
        });
        // The snapshot is ordered by name; a stable sort keeps that among pods of one age.
        pods.sort_by_key(|pod| {
            let created = snapshot.pods[*pod].created;
            (created.is_none(), created)
        });
        grouping.groups.push(Group {
            pods,
            profile,
            priority: spec.priority,
            launches: !is_daemon(spec),
        });
        grouping.matches.push(matches);
    }
    grouping
}

fn collect<'a>(snapshot: &'a Snapshot, selectors: &Selectors<'_>) -> (Vec<Set<'a>>, Vec<usize>) {
    let mut sets: Vec<Set<'a>> = Vec::new();
    let mut by_hash: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let mut pinned = Vec::new();
    let mut last: Option<(&Pod, usize)> = None;
    for (index, pod) in snapshot.pods.iter().enumerate() {
        if !snapshot.needs_place(pod) {
            continue;
        }
        if let Some((before, set)) = last
            && Arc::ptr_eq(&before.spec, &pod.spec)
            && before.name.namespace == pod.name.namespace
        {
            sets[set].pods.push(index);
            continue;
        }
        if pod.is_daemon() && overhead::pinned_to(pod).is_some() {
            pinned.push(index);
            continue;
        }
        let new = Set::of(pod, selectors);
        let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
        new.identity().hash(&mut hasher);
        let alike = by_hash.entry(hasher.finish()).or_default();
        let found = alike
            .iter()
            .copied()
            .find(|set| sets[*set].identity().cmp(&new.identity()).is_eq());
        let set = found.unwrap_or_else(|| {
            sets.push(new);
            alike.push(sets.len() - 1);
            sets.len() - 1
        });
        sets[set].pods.push(index);
        last = Some((pod, set));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::instance_type::ZONE_LABEL;
    use crate::model::name::PodName;
    use crate::model::pod::PodPlace;
    use crate::model::rules::Gang;
    use crate::model::selector::Namespaces;
    use crate::testing::build::{Cluster, machine};
    use crate::testing::rules::{affinity, anti_affinity, app, spread, volume};

    fn cluster() -> Cluster {
        Cluster::new()
            .instance_type(machine("m", "8", "32Gi", "1"))
            .pool("default")
    }

    fn sizes(cluster: Cluster) -> Vec<usize> {
        let snapshot = cluster.freeze();
        let (sets, _) = sets(&snapshot, &Selectors::of(&snapshot));
        sets.iter().map(|set| set.pods.len()).collect()
    }

    #[test]
    fn labels_only_count_where_a_rule_reads_them() {
        let two_apps = |cluster: Cluster| {
            let web = cluster.pods_with("web", 3, "1", "1Gi", |spec| app(spec, "web"));
            web.pods_with("db", 2, "1", "1Gi", |spec| app(spec, "db"))
        };
        assert_eq!(sizes(two_apps(cluster())), [5]);
        let third = |cluster: Cluster, edit: fn(&mut PodSpec)| cluster.pods_with("x", 1, "2", "1Gi", edit);
        let spread_web = |spec: &mut PodSpec| {
            spread(spec, ZONE_LABEL, 1, "web");
        };
        let mut told_apart = sizes(third(two_apps(cluster()), spread_web));
        told_apart.sort_unstable();
        assert_eq!(told_apart, [1, 2, 3]);
        // A selector of another namespace sees none of them.
        let elsewhere = |spec: &mut PodSpec| {
            spread(spec, ZONE_LABEL, 1, "web").selector.namespaces =
                Namespaces::These(["other".to_owned()].into());
        };
        assert_eq!(sizes(third(two_apps(cluster()), elsewhere)), [1, 5]);
    }

    #[test]
    fn of_running_pods_only_anti_affinity_matters() {
        let with = |edit: fn(&mut PodSpec)| {
            sizes(
                cluster()
                    .node("n", "default", "m", "zone-a")
                    .bound_with("old", "n", "1", "1Gi", edit)
                    .pods_with("web", 3, "1", "1Gi", |spec| app(spec, "web"))
                    .pods("db", 2, "1", "1Gi"),
            )
        };
        assert_eq!(with(|spec| affinity(spec, ZONE_LABEL, "web")), [5]);
        let mut apart = with(|spec| anti_affinity(spec, ZONE_LABEL, "web"));
        apart.sort_unstable();
        assert_eq!(apart, [2, 3]);
    }

    #[test]
    fn gangs_are_of_one_namespace_and_claims_have_no_names() {
        let gang = |spec: &mut PodSpec| {
            spec.rules.gang = Some(Gang {
                name: "g".to_owned(),
                size: None,
            });
        };
        let mut cluster = cluster().pods_with("a", 4, "1", "1Gi", gang);
        cluster.parts.pods[3].name = PodName::new("other", "b");
        assert_eq!(cluster.parts.pods[3].place, PodPlace::Pending);
        let mut apart = sizes(cluster);
        apart.sort_unstable();
        assert_eq!(apart, [1, 3]);
        let claims = ["one", "two"]
            .into_iter()
            .fold(self::cluster(), |cluster, claim| {
                cluster.pods_with(claim, 1, "1", "1Gi", |spec| {
                    volume(spec, claim, "zone-a");
                })
            });
        assert_eq!(sizes(claims), [2]);
    }
}
