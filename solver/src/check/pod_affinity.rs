//! Required affinity and anti-affinity between pods, in both directions, in whatever order kube-scheduler could take them.
//!
//! Source: Kubernetes documentation, "Assigning Pods to Nodes", inter-pod affinity and anti-affinity.
//!
//! **Anti-affinity.** No pod that comes is in one domain with another that its term matches, or whose term matches it:
//! whichever of the two comes second is refused, so order is no help. Terminating pods count: kube-scheduler refuses
//! others while they are there. DaemonSet pods count that a node to come may have under any offer, and those that an existing
//! node still expects. A node without the key is in no domain, and pods there are free.
//!
//! **Affinity.** A match is a pod that *all* selectors of a pod's terms match. A pod comes to a site that has every key,
//! and under each key the value of a site with a match, or, if there was no match anywhere and it matches itself, to any
//! site. An order is built: first what needs none, then what that admits, as long as anything changes; then each rule that
//! is left may start once, if no match runs and no earlier start is one, with the pod that opens most, before everything
//! else. So rules that wait for each other in a circle have no order, and are refused. Terminating pods match nothing: they
//! are gone when the plan is carried out.
//!
//! A pod that was admitted stays so, since more pods only make more matches: the order is found greedily.

use std::collections::{BTreeMap, BTreeSet};

use fixedbitset::FixedBitSet;

use crate::model::instance_type::HOSTNAME_LABEL;
use crate::model::rules::PodTerm;

use super::daemons::Expected;
use super::sites::{Example, Kind, Presence, Sites};
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

/// Sites and keys that were reported because the offers of a launch don't agree.
type Said<'s> = BTreeSet<(usize, &'s str)>;

type Topologies<'s> = BTreeMap<&'s str, Topology<'s>>;

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
                offers_agree(sites, topology, presence, (Rule::AntiAffinity, said), found);
                if let Some(domain) = topology.domain_of[presence.site] {
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

/// Kinds that all these terms match.
fn matched(sites: &Sites<'_, '_>, terms: &[&PodTerm]) -> FixedBitSet {
    let matches = |kind: &Kind<'_>| {
        let mut selectors = terms.iter().map(|term| &term.selector);
        selectors.all(|selector| selector.matches(kind.namespace, &kind.spec.labels))
    };
    let mut kinds = FixedBitSet::with_capacity(sites.kinds.len());
    let all = sites.kinds.iter().enumerate();
    kinds.extend(all.filter(|(_, kind)| matches(kind)).map(|(at, _)| at));
    kinds
}

/// Said once for a launch and a key, whichever rule counts its pods first.
fn offers_agree<'s>(
    sites: &Sites<'_, '_>,
    topology: &Topology<'s>,
    presence: &Presence,
    (rule, said): (Rule, &mut Said<'s>),
    found: &mut Violations,
) {
    if presence.coming == 0 || topology.key == HOSTNAME_LABEL {
        return;
    }
    let Some(disagreement) = topology.disagreement(sites, presence.site) else {
        return;
    };
    if said.insert((presence.site, topology.key)) {
        let detail = format!("stands in {}, where {disagreement}", sites.site(presence.site));
        found.add(rule, sites.name(presence.example), detail);
    }
}

/// Required terms of some pods, with the sites where a match is.
struct Near<'s> {
    terms: Vec<&'s PodTerm>,
    /// Kinds that match all terms.
    matched: FixedBitSet,
    /// By term: domains with a match.
    near: Vec<FixedBitSet>,
    /// A match runs, or a start made one: no pod can be the first.
    has_first: bool,
    /// Kind and presence of the pods that aren't admitted yet.
    waiting: Vec<(usize, Presence)>,
}

impl<'s> Near<'s> {
    fn domain(&self, topologies: &Topologies<'_>, term: usize, site: usize) -> Option<usize> {
        topologies[self.terms[term].topology_key.as_str()].domain_of[site]
    }

    fn new(sites: &Sites<'_, '_>, topologies: &Topologies<'_>, terms: Vec<&'s PodTerm>) -> Self {
        let lengths = terms
            .iter()
            .map(|term| topologies[term.topology_key.as_str()].len());
        let mut near = Self {
            matched: matched(sites, &terms),
            near: lengths.map(FixedBitSet::with_capacity).collect(),
            terms,
            has_first: false,
            waiting: Vec::new(),
        };
        for at in near.matched.clone().ones() {
            let kind = &sites.kinds[at];
            let is_free = kind.spec.rules.affinity.is_empty();
            for presence in &kind.presences {
                let runs = presence.staying > 0 || presence.expected == Expected::Surely;
                near.has_first |= runs;
                if runs || is_free && presence.coming > 0 {
                    near.matches_at(topologies, presence.site);
                }
            }
        }
        near
    }

    fn matches_at(&mut self, topologies: &Topologies<'_>, site: usize) {
        for term in 0..self.terms.len() {
            if let Some(domain) = self.domain(topologies, term, site) {
                self.near[term].insert(domain);
            }
        }
    }

    /// How many keys of a site have no match at its value; `None`: it lacks a key.
    fn lacks(&self, topologies: &Topologies<'_>, site: usize) -> Option<usize> {
        let mut lacking = 0;
        for term in 0..self.terms.len() {
            let domain = self.domain(topologies, term, site)?;
            lacking += usize::from(!self.near[term].contains(domain));
        }
        Some(lacking)
    }

    /// The pod that opens most if it is the first of all.
    fn start(&self, topologies: &Topologies<'_>) -> Option<(usize, usize)> {
        if self.has_first {
            return None;
        }
        let own = self
            .waiting
            .iter()
            .filter(|(kind, _)| self.matched.contains(*kind));
        let opened = own.filter_map(|(kind, presence)| {
            let opens = self.lacks(topologies, presence.site)?;
            Some((opens, *kind, presence.site))
        });
        // The first of equals: a later one replaces it only if it opens more.
        let best = opened.reduce(|best, next| if next.0 > best.0 { next } else { best });
        best.map(|(_, kind, site)| (kind, site))
    }
}

fn together<'s>(
    sites: &Sites<'_, '_>,
    topologies: &Topologies<'s>,
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
            let waiting = rule.waiting.iter().map(|(_, presence)| presence);
            let matched = rule.matched.ones().map(|kind| &sites.kinds[kind]);
            let matched = matched.filter(|kind| kind.spec.rules.affinity.is_empty());
            for presence in waiting.chain(matched.flat_map(Kind::arrivals)) {
                offers_agree(sites, topology, presence, (Rule::Affinity, said), found);
            }
        }
    }
    loop {
        while admit(&mut rules, topologies) {}
        if !begin(&mut rules, topologies) {
            break;
        }
    }
    for rule in &rules {
        for (_, presence) in &rule.waiting {
            let lack = lack(sites, topologies, rule, presence.site);
            found.add(Rule::Affinity, sites.name(presence.example), lack);
        }
    }
}

/// Takes in what matches allow now; whether that was any.
fn admit(rules: &mut [Near<'_>], topologies: &Topologies<'_>) -> bool {
    let mut has_admitted = false;
    for rule in 0..rules.len() {
        let waiting = std::mem::take(&mut rules[rule].waiting);
        let is_near = |presence: &Presence| rules[rule].lacks(topologies, presence.site) == Some(0);
        let (admitted, waiting): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|(_, presence)| is_near(presence));
        rules[rule].waiting = waiting;
        has_admitted |= !admitted.is_empty();
        for (kind, presence) in admitted {
            for other in rules.iter_mut().filter(|other| other.matched.contains(kind)) {
                other.matches_at(topologies, presence.site);
            }
        }
    }
    has_admitted
}

/// Lets every rule that is stuck and may have a first pod have it; whether any did.
fn begin(rules: &mut [Near<'_>], topologies: &Topologies<'_>) -> bool {
    let mut has_begun = false;
    for rule in 0..rules.len() {
        let Some((kind, site)) = rules[rule].start(topologies) else {
            continue;
        };
        has_begun = true;
        for other in rules.iter_mut().filter(|other| other.matched.contains(kind)) {
            other.has_first = true;
            other.matches_at(topologies, site);
        }
    }
    has_begun
}

/// What a site lacks for a rule, for people.
fn lack(sites: &Sites<'_, '_>, topologies: &Topologies<'_>, rule: &Near<'_>, site: usize) -> String {
    let place = sites.site(site);
    for (at, term) in rule.terms.iter().enumerate() {
        let key = &term.topology_key;
        match rule.domain(topologies, at, site) {
            None => return format!("must be near others by {key}, which {place} has not"),
            Some(domain) if !rule.near[at].contains(domain) => {
                let value = topologies[key.as_str()].name(domain);
                let where_else = rule.near[at].count_ones(..);
                return format!(
                    "must be near others by {key}, and in {value}, where {place} is, no pod matches that could be \
                     there before ({where_else} other values have one)"
                );
            }
            Some(_) => {}
        }
    }
    format!("must be near others, and no order brings it to {place}")
}
