//! Hard topology spread: a domain that gets pods bound by a constraint doesn't stand out by more than the skew.
//!
//! Source: Kubernetes documentation, "Pod Topology Spread Constraints". Counted are pods of the selector that stay or
//! come, on nodes that are eligible: they have every key of the pod's hard constraints, and its selector, affinity and
//! tolerations admit them where the policies say so. Terminating pods don't count, nor do nodes that are being deleted.
//! Domains are the values on eligible existing nodes and on nodes with all the keys that the pod could have launched
//! (`launchable`). Volumes have no say. Under the host name a node to launch is a domain without pods: least is nothing wherever one could be.
//!
//! **What is accepted.** Pods only come, one after the other, and each is judged when it does. For one constraint let a
//! domain *d* have *i* pods at first, get *b* that count and are bound by some hard spread over the key, and *u* that
//! count and are not; *f* = *i + b + u*. An order exists in which each bound pod is admitted exactly if *i + b* ≤ min *f* +
//! skew in each domain that gets bound pods (all of them under this constraint).
//! *Needed*: when the last bound pod comes to *d*, *d* has at least *i + b* and the least domain at most min *f*.
//! *Enough*: place all *u* of domains without bound pods; then, always in the domain that lacks bound pods and has the
//! fewest now, one of those, first those that count; when it lacks none, its *u*. If the least domain now lacks bound
//! pods itself, the next pod goes there, one above the least at most, and the skew is at least one. If not, the least
//! domain has its *f*, so at least min *f*, and the pod makes at most *i + b* ≤ min *f* + skew. ∎
//! Where several constraints meet, each is judged so by itself: no order is looked for that serves all at once.
//!
//! A launch whose offers differ in being eligible, or in the key, counts where that is worse: in every domain that it could be
//! in for the most that there can be, and in none for the fewest. One that counts is a domain, whoever it is for: nodes come
//! in any order.

use std::collections::{BTreeMap, BTreeSet};

use fixedbitset::FixedBitSet;

use crate::model::instance_type::HOSTNAME_LABEL;
use crate::model::node::Node;
use crate::model::node_pool::NodePool;
use crate::model::pod::PodSpec;
use crate::model::requirement::Labels;
use crate::model::rules::TopologySpread;
use crate::model::taint::{Taint, TaintEffect, first_untolerated};

use super::launchable::Launchable;
use super::sites::{Example, Presence, Sites};
use super::topology::Topology;
use super::{Rule, Violations};

/// One constraint of pods for which the same nodes are eligible.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Constraint<'s> {
    spread: &'s TopologySpread,
    /// Position in `World::constraints` of what its pods select and tolerate.
    spec: usize,
    /// Keys of all hard constraints of its pods, ascending.
    keys: Vec<&'s str>,
}

/// One domain under a constraint.
#[derive(Clone, Copy, Default)]
struct Count {
    is_domain: bool,
    /// Pods that are there, or come and are bound: the most that there can be.
    early: u64,
    /// All pods that count in the end: the fewest that there can be.
    finally: u64,
    /// A bound pod that comes.
    arrival: Option<Example>,
}

pub(super) fn check(sites: &Sites<'_, '_>, found: &mut Violations) {
    let constraints = constraints(sites);
    if constraints.is_empty() {
        return;
    }
    let world = sites.world;
    let keys: BTreeSet<&str> = constraints
        .keys()
        .flat_map(|it| it.keys.iter().copied())
        .collect();
    let specs: BTreeSet<usize> = constraints.keys().map(|it| it.spec).collect();
    let specs = specs.iter().map(|spec| world.constraints[*spec]);
    let launchable = Launchable::new(world.snapshot, keys.iter().copied(), specs);
    let topologies = keys.iter().map(|key| (*key, Topology::new(sites, key)));
    let mut judge = Judge {
        sites,
        topologies: topologies.collect(),
        values: BTreeMap::new(),
        eligible: BTreeMap::new(),
        open: BTreeSet::new(),
    };
    for constraint in constraints.keys() {
        let (key, of_spec) = (
            constraint.spread.topology_key.as_str(),
            world.constraints[constraint.spec],
        );
        let values = || launchable.values(of_spec, key, &constraint.keys);
        let place = (constraint.spec, constraint.keys.clone(), key);
        judge.values.entry(place).or_insert_with(values);
    }
    for (constraint, bound) in &constraints {
        judge.constraint(constraint, bound, found);
    }
}

/// Hard constraints of pods that come, and the kinds that have them.
fn constraints<'s>(sites: &'s Sites<'s, '_>) -> BTreeMap<Constraint<'s>, Vec<usize>> {
    let mut constraints: BTreeMap<Constraint<'s>, Vec<usize>> = BTreeMap::new();
    for (at, kind) in sites.kinds.iter().enumerate() {
        let Some(spec) = kind.constraint.filter(|_| kind.comes()) else {
            continue;
        };
        let keys: BTreeSet<&str> = hard(kind.spec).map(|it| it.topology_key.as_str()).collect();
        for spread in hard(kind.spec) {
            let keys = keys.iter().copied().collect();
            let bound = constraints.entry(Constraint { spread, spec, keys }).or_default();
            if bound.last() != Some(&at) {
                bound.push(at);
            }
        }
    }
    constraints
}

fn hard(spec: &PodSpec) -> impl Iterator<Item = &TopologySpread> {
    spec.rules.spread.iter().filter(|spread| spread.is_hard)
}

/// What decides which nodes are eligible: what is selected and tolerated, where it is honoured, and the keys.
type Policy<'s> = (usize, bool, bool, Vec<&'s str>);

struct Judge<'s, 'a> {
    sites: &'s Sites<'s, 'a>,
    topologies: BTreeMap<&'s str, Topology<'s>>,
    /// Values of a key that pods could have launched, of nodes that have all keys.
    values: BTreeMap<(usize, Vec<&'s str>, &'s str), BTreeSet<&'s str>>,
    /// Existing nodes.
    eligible: BTreeMap<Policy<'s>, FixedBitSet>,
    /// Sites and keys that were reported because a launch leaves the key open.
    open: BTreeSet<(usize, &'s str)>,
}

impl<'s> Judge<'s, '_> {
    fn constraint(&mut self, constraint: &Constraint<'s>, bound: &[usize], found: &mut Violations) {
        let Constraint { spread, spec, keys } = constraint;
        let policy = (
            *spec,
            spread.honours_affinity,
            spread.honours_taints,
            keys.clone(),
        );
        let eligible = self
            .eligible
            .entry(policy)
            .or_insert_with(|| eligible_nodes(self.sites, constraint));
        let key = spread.topology_key.as_str();
        let values = self.values.get(&(*spec, keys.clone(), key));
        let (Some(topology), Some(values)) = (self.topologies.get_mut(key), values) else {
            return;
        };
        for value in values {
            topology.domain(value);
        }
        let topology = &*topology;
        let mut counts = vec![Count::default(); topology.len()];
        for node in eligible.ones() {
            if let Some(domain) = topology.domain_of[node] {
                counts[domain].is_domain = true;
            }
        }
        let mut least_is_nothing = key == HOSTNAME_LABEL && !values.is_empty();
        for domain in values.iter().filter_map(|value| topology.find(value)) {
            counts[domain].is_domain = key != HOSTNAME_LABEL;
        }
        self.openings(constraint, &mut counts);
        self.arrivals(constraint, bound, &mut counts, found);
        self.count(constraint, bound, &mut counts, found);
        let domains = counts.iter().filter(|count| count.is_domain).count();
        let fewest = spread.min_domains.unwrap_or(0);
        least_is_nothing |= u32::try_from(domains).is_ok_and(|domains| domains < fewest);
        let topology = &self.topologies[key];
        self.skew(spread, topology, &counts, least_is_nothing, found);
    }

    /// Marks the domains of launches that count, whoever they are for: they are none before.
    fn openings(&self, constraint: &Constraint<'s>, counts: &mut [Count]) {
        let topology = &self.topologies[constraint.spread.topology_key.as_str()];
        let prospects = &self.sites.launches.prospects;
        for (domain, count) in counts
            .iter_mut()
            .enumerate()
            .filter(|(_, count)| !count.is_domain)
        {
            count.is_domain = topology.prospects(domain).iter().any(|prospect| {
                let prospect = &prospects[*prospect];
                would_count(self.sites, constraint, prospect.pool, &prospect.labels)
            });
        }
    }

    /// Marks the domains that get bound pods; a place without the key is none.
    fn arrivals(
        &mut self,
        constraint: &Constraint<'s>,
        bound: &[usize],
        counts: &mut [Count],
        found: &mut Violations,
    ) {
        let (sites, key) = (self.sites, constraint.spread.topology_key.as_str());
        let topology = &self.topologies[key];
        for presence in bound.iter().flat_map(|kind| sites.kinds[*kind].arrivals()) {
            for domain in topology.domains(presence.site) {
                counts[domain].is_domain = true;
                counts[domain].arrival.get_or_insert(presence.example);
            }
            if topology.may_lack(presence.site) {
                let detail = format!(
                    "is spread over {key}, which {} has not",
                    sites.site(presence.site)
                );
                found.add(Rule::TopologySpread, sites.name(presence.example), detail);
            }
            is_settled(sites, topology, presence, &mut self.open, found);
        }
    }

    /// Counts the pods of the selector on eligible sites.
    fn count(
        &mut self,
        constraint: &Constraint<'s>,
        bound: &[usize],
        counts: &mut [Count],
        found: &mut Violations,
    ) {
        let Constraint { spread, spec, keys } = constraint;
        let (sites, key) = (self.sites, spread.topology_key.as_str());
        let policy = (
            *spec,
            spread.honours_affinity,
            spread.honours_taints,
            keys.clone(),
        );
        let (eligible, topology) = (&self.eligible[&policy], &self.topologies[key]);
        let mut of_prospects: BTreeMap<usize, bool> = BTreeMap::new();
        for (at, kind) in sites.kinds.iter().enumerate() {
            if kind.constraint.is_none() || !spread.selector.matches(kind.namespace, &kind.spec.labels) {
                continue;
            }
            let is_bound = bound.contains(&at);
            let comes_early = hard(kind.spec).any(|other| other.topology_key == key);
            for presence in &kind.presences {
                let (always, ever) = if presence.site < sites.nodes {
                    let is_eligible = eligible.contains(presence.site);
                    (is_eligible, is_eligible)
                } else if is_bound {
                    (true, true) // where it is not, another rule is broken
                } else {
                    eligible_launch(sites, constraint, presence.site, &mut of_prospects)
                };
                if ever && presence.coming > 0 {
                    is_settled(sites, topology, presence, &mut self.open, found);
                }
                let early = if comes_early { presence.coming } else { 0 };
                let is_there = always && topology.is_one(presence.site);
                for domain in topology.domains(presence.site) {
                    let count = &mut counts[domain];
                    count.early += u64::from(ever) * (presence.staying + early);
                    count.finally += u64::from(is_there) * (presence.staying + presence.coming);
                }
            }
        }
    }

    fn skew(
        &self,
        spread: &TopologySpread,
        topology: &Topology<'_>,
        counts: &[Count],
        least_is_nothing: bool,
        found: &mut Violations,
    ) {
        let domains = counts.iter().enumerate().filter(|(_, count)| count.is_domain);
        let Some((least_at, least)) = domains.min_by_key(|(_, count)| count.finally) else {
            return;
        };
        let least = if least_is_nothing { 0 } else { least.finally };
        let most = least.saturating_add(u64::from(spread.max_skew));
        for (domain, count) in counts.iter().enumerate() {
            let Some(example) = count.arrival.filter(|_| count.early > most) else {
                continue;
            };
            let origin = if least_is_nothing {
                "the least counts as 0".to_owned()
            } else {
                format!("{} has {least}", topology.name(least_at))
            };
            let Count { early, .. } = count;
            let (key, skew) = (&spread.topology_key, spread.max_skew);
            let detail = format!(
                "{key}={} gets {early} pods of its spread, {origin} and the skew is {skew} at most",
                topology.name(domain)
            );
            found.add(Rule::TopologySpread, self.sites.name(example), detail);
        }
    }
}

/// Said once for a launch and a key.
fn is_settled<'s>(
    sites: &Sites<'_, '_>,
    topology: &Topology<'s>,
    presence: &Presence,
    said: &mut BTreeSet<(usize, &'s str)>,
    found: &mut Violations,
) {
    let Some(open) = topology.open(presence.site) else {
        return;
    };
    if said.insert((presence.site, topology.key)) {
        let place = sites.site(presence.site);
        let detail = format!("counts for a spread in {place}, where {open}");
        found.add(Rule::TopologySpread, sites.name(presence.example), detail);
    }
}

/// Existing nodes that count for a constraint.
fn eligible_nodes(sites: &Sites<'_, '_>, constraint: &Constraint<'_>) -> FixedBitSet {
    let spec = sites.world.constraints[constraint.spec];
    let nodes = sites.world.snapshot.nodes.iter().enumerate();
    let counts = |node: &Node| {
        let spread = constraint.spread;
        !node.deleting
            && constraint.keys.iter().all(|key| node.labels.contains_key(*key))
            && (!spread.honours_affinity || spec.admits_node(&node.labels, Some(node.name.as_str())))
            && (!spread.honours_taints || tolerates(spec, node))
    };
    let mut eligible = FixedBitSet::with_capacity(sites.nodes);
    eligible.extend(nodes.filter(|(_, node)| counts(node)).map(|(at, _)| at));
    eligible
}

/// A cordoned node carries a taint that says so, whoever reads it.
pub(super) fn tolerates(spec: &PodSpec, node: &Node) -> bool {
    let cordoned = node.unschedulable.then(|| Taint {
        key: "node.kubernetes.io/unschedulable".to_owned(),
        value: String::new(),
        effect: TaintEffect::NoSchedule,
    });
    first_untolerated(&node.taints, &spec.tolerations).is_none()
        && first_untolerated(cordoned.as_slice(), &spec.tolerations).is_none()
}

/// Whether a launch counts under each of its offers, and under any.
fn eligible_launch(
    sites: &Sites<'_, '_>,
    constraint: &Constraint<'_>,
    site: usize,
    of_prospects: &mut BTreeMap<usize, bool>,
) -> (bool, bool) {
    let launches = sites.launches;
    let Some(filling) = launches.filling_of[site - sites.nodes] else {
        return (false, false);
    };
    let filling = &launches.fillings[filling];
    let others = &launches.lists[filling.list].offers;
    let (mut always, mut ever) = (true, false);
    for prospect in std::iter::once(&filling.first)
        .chain(others)
        .flat_map(|it| &it.all)
    {
        let is_eligible = *of_prospects.entry(*prospect).or_insert_with(|| {
            let prospect = &launches.prospects[*prospect];
            would_count(sites, constraint, prospect.pool, &prospect.labels)
        });
        always &= is_eligible;
        ever |= is_eligible;
    }
    (always && ever, ever)
}

fn would_count(sites: &Sites<'_, '_>, constraint: &Constraint<'_>, pool: &NodePool, labels: &Labels) -> bool {
    let (spread, spec) = (constraint.spread, sites.world.constraints[constraint.spec]);
    constraint.keys.iter().all(|key| labels.contains_key(*key))
        && (!spread.honours_affinity || spec.admits_node(labels, None))
        && (!spread.honours_taints || first_untolerated(&pool.taints, &spec.tolerations).is_none())
}
