//! Required affinity and anti-affinity between pods, in both directions, in whatever order kube-scheduler could take them.
//!
//! Source: Kubernetes documentation, "Assigning Pods to Nodes", inter-pod affinity and anti-affinity.
//!
//! **Anti-affinity.** No pod that comes is in one domain with another that its term matches, or whose term matches it:
//! whichever of the two comes second is refused, so order is no help. Terminating pods count: kube-scheduler refuses
//! others while they are there. DaemonSet pods count that a node to come may have under any offer, and those that an existing
//! node still expects. A node without the key is in no domain, and pods there are free. A launch whose offers differ in the
//! key is in all their domains at once: two pods could meet exactly where a domain of the one's site is one of the other's.
//!
//! **Affinity.** A match is a pod that *all* selectors of a pod's terms match. A pod comes to a site that has every key,
//! and under each key the value of a site with a match, or, if there was no match anywhere and it matches itself, to any
//! site. An order is built: first what needs none, then what that admits, as long as anything changes; then each rule that
//! is left may start once, if no match runs and no earlier start is one, before everything else. Rules that wait for each
//! other in a circle have no order, and are refused. Where starts get into each other's way, only so many are tried.
//! Terminating pods match nothing: they are gone when the plan is carried out. A launch whose offers differ in the key must
//! have a match in every domain that it could be in, or on itself; for others its pods are a match nowhere.
//!
//! (How the order is found: `admission`.)

use std::collections::{BTreeMap, BTreeSet};

use fixedbitset::FixedBitSet;

use crate::model::instance_type::HOSTNAME_LABEL;
use crate::model::rules::PodTerm;

use super::admission::{MOST_TRIALS, Near, Topologies, lack, matched, settle};
use super::daemons::Expected;
use super::sites::{Example, Presence, Sites};
use super::topology::Topology;
use super::{Rule, Violations};

pub(super) fn check(sites: &Sites<'_, '_>, found: &mut Violations) {
    let terms = sites.kinds.iter().flat_map(|kind| {
        let rules = &kind.spec.rules;
        rules.affinity.iter().chain(&rules.anti_affinity)
    });
    let keys: BTreeSet<&str> = terms.map(|term| term.topology_key.as_str()).collect();
    let topologies: Topologies<'_> = keys
        .into_iter()
        .map(|key| (key, Topology::new(sites, key)))
        .collect();
    let mut said = Said::new();
    apart(sites, &topologies, &mut said, found);
    together(sites, &topologies, &mut said, found);
}

/// Sites and keys that were reported because a launch leaves the key open.
type Said<'s> = BTreeSet<(usize, &'s str)>;

/// Pods on one side of a term in one domain.
#[derive(Clone, Copy, Default)]
struct Side {
    all: u64,
    /// One of them.
    any: Option<Example>,
    /// One that comes.
    arrival: Option<Example>,
}

impl Side {
    fn add(&mut self, presence: &Presence) {
        let expected = u64::from(presence.expected != Expected::Never);
        let count = presence.staying + presence.leaving + presence.coming + expected;
        self.all += count;
        if count > 0 {
            self.any.get_or_insert(presence.example);
        }
        if presence.coming > 0 {
            self.arrival.get_or_insert(presence.example);
        }
    }
}

/// Pods of one domain that have a term, that it matches, or both.
#[derive(Clone, Copy, Default)]
struct Domain {
    both: Side,
    owners: Side,
    matches: Side,
}

impl Domain {
    /// A pod that comes and one that it can't be with.
    fn clash(&self) -> Option<(Example, Option<Example>)> {
        let Self {
            both,
            owners,
            matches,
        } = self;
        if let Some(arrival) = both.arrival {
            if both.all > 1 {
                return Some((arrival, None));
            }
            if let Some(other) = owners.any.or(matches.any) {
                return Some((arrival, Some(other)));
            }
        }
        let owner = owners.arrival.zip(matches.any.or(both.any));
        let matched = matches.arrival.zip(owners.any.or(both.any));
        owner.or(matched).map(|(arrival, other)| (arrival, Some(other)))
    }
}

fn apart<'s>(
    sites: &Sites<'_, '_>,
    topologies: &Topologies<'s>,
    said: &mut Said<'s>,
    found: &mut Violations,
) {
    let mut owners: BTreeMap<&PodTerm, FixedBitSet> = BTreeMap::new();
    for (at, kind) in sites.kinds.iter().enumerate() {
        for term in &kind.spec.rules.anti_affinity {
            let empty = || FixedBitSet::with_capacity(sites.kinds.len());
            owners.entry(term).or_insert_with(empty).insert(at);
        }
    }
    for (term, owners) in &owners {
        let matched = matched(sites, &[term]);
        let is_new = |kinds: &FixedBitSet| kinds.ones().any(|kind| sites.kinds[kind].comes());
        if !is_new(owners) && !is_new(&matched) {
            continue;
        }
        let topology = &topologies[term.topology_key.as_str()];
        let mut domains: BTreeMap<usize, Domain> = BTreeMap::new();
        for at in owners.union(&matched) {
            let kind = &sites.kinds[at];
            for presence in &kind.presences {
                is_settled(sites, topology, presence, (Rule::AntiAffinity, said), found);
                for domain in topology.domains(presence.site) {
                    let domain = domains.entry(domain).or_default();
                    let side = match (owners.contains(at), matched.contains(at)) {
                        (true, true) => &mut domain.both,
                        (true, false) => &mut domain.owners,
                        _ => &mut domain.matches,
                    };
                    side.add(presence);
                }
            }
        }
        for (domain, pods) in &domains {
            let Some((arrival, other)) = pods.clash() else {
                continue;
            };
            let total = pods.both.all + pods.owners.all + pods.matches.all;
            let other = match other {
                Some(other) => format!("{} is", sites.name(other)),
                None => format!("{} of its kind are", total.saturating_sub(1)),
            };
            let (key, value) = (topology.key, topology.name(*domain));
            let detail = format!("keeps apart from others by {key}, and {other} in {value} too");
            found.add(Rule::AntiAffinity, sites.name(arrival), detail);
        }
    }
}

/// Said once for a launch and a key, whichever rule counts its pods first.
fn is_settled<'s>(
    sites: &Sites<'_, '_>,
    topology: &Topology<'s>,
    presence: &Presence,
    (rule, said): (Rule, &mut Said<'s>),
    found: &mut Violations,
) {
    if presence.coming == 0 || topology.key == HOSTNAME_LABEL {
        return;
    }
    let Some(open) = topology.open(presence.site) else {
        return;
    };
    if said.insert((presence.site, topology.key)) {
        let detail = format!("stands in {}, where {open}", sites.site(presence.site));
        found.add(rule, sites.name(presence.example), detail);
    }
}

fn together<'s>(
    sites: &'s Sites<'_, '_>,
    topologies: &'s Topologies<'s>,
    said: &mut Said<'s>,
    found: &mut Violations,
) {
    let mut rules: Vec<Near<'_>> = Vec::new();
    let mut by_terms: BTreeMap<Vec<&PodTerm>, usize> = BTreeMap::new();
    for (at, kind) in sites.kinds.iter().enumerate() {
        if kind.spec.rules.affinity.is_empty() || !kind.comes() {
            continue;
        }
        let terms: BTreeSet<&PodTerm> = kind.spec.rules.affinity.iter().collect();
        let terms: Vec<&PodTerm> = terms.into_iter().collect();
        let rule = *by_terms.entry(terms.clone()).or_insert_with(|| {
            rules.push(Near::new(sites, topologies, terms));
            rules.len() - 1
        });
        let waiting = kind.arrivals().map(|presence| (at, *presence));
        rules[rule].waiting.extend(waiting);
    }
    for rule in &rules {
        for term in &rule.terms {
            let topology = &topologies[term.topology_key.as_str()];
            for (_, presence) in &rule.waiting {
                is_settled(sites, topology, presence, (Rule::Affinity, said), found);
            }
        }
    }
    settle(&mut rules, &mut { MOST_TRIALS });
    for rule in &rules {
        for (_, presence) in &rule.waiting {
            let lack = lack(sites, rule, presence.site);
            found.add(Rule::Affinity, sites.name(presence.example), lack);
        }
    }
}
