//! An order in which pods with required affinity come, or the pods for which there is none.
//!
//! A pod that was admitted stays so, since more pods only make more matches; so what can come is taken in as soon as it
//! can. Only starts are a choice: a pod that matches itself may be the first of all that its rule is about.

use std::collections::BTreeMap;

use fixedbitset::FixedBitSet;

use crate::model::rules::PodTerm;

use super::daemons::Expected;
use super::sites::{Kind, Presence, Sites};
use super::topology::Topology;

/// By key.
pub(super) type Topologies<'s> = BTreeMap<&'s str, Topology<'s>>;

/// How many starts are tried where rules are about each other's pods; beyond it, no order counts as found.
pub(super) const MOST_TRIALS: u32 = 64;

/// Required terms of some pods, with the sites where a match is.
#[derive(Clone)]
pub(super) struct Near<'s> {
    pub(super) terms: Vec<&'s PodTerm>,
    /// By term: domains of its key.
    topologies: Vec<&'s Topology<'s>>,
    /// Kinds that match all terms.
    pub(super) matched: FixedBitSet,
    /// By term: domains with a match, whichever offers are taken.
    near: Vec<FixedBitSet>,
    /// Sites with a match.
    sites: FixedBitSet,
    /// A match runs, or a start made one: no pod can be the first.
    has_first: bool,
    /// Kind and presence of the pods that aren't admitted yet.
    pub(super) waiting: Vec<(usize, Presence)>,
}

impl<'s> Near<'s> {
    pub(super) fn new(
        sites: &Sites<'_, '_>,
        topologies: &'s Topologies<'s>,
        terms: Vec<&'s PodTerm>,
    ) -> Self {
        let topologies = terms.iter().map(|term| &topologies[term.topology_key.as_str()]);
        let topologies: Vec<&Topology<'s>> = topologies.collect();
        let lengths = topologies.iter().map(|topology| topology.len());
        let mut near = Self {
            matched: matched(sites, &terms),
            near: lengths.map(FixedBitSet::with_capacity).collect(),
            sites: FixedBitSet::with_capacity(sites.len),
            terms,
            topologies,
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
                    near.matches_at(presence.site);
                }
            }
        }
        near
    }

    fn matches_at(&mut self, site: usize) {
        self.sites.insert(site);
        for (topology, near) in self.topologies.iter().zip(&mut self.near) {
            if topology.is_one(site) {
                near.extend(topology.domains(site));
            }
        }
    }

    /// A domain of a term that a site could be in and that has no match.
    fn lacking(&self, term: usize, site: usize) -> Option<usize> {
        let mut domains = self.topologies[term].domains(site);
        domains.find(|domain| !self.near[term].contains(*domain) && !self.sites.contains(site))
    }

    /// How many keys of a site have no match at its value; `None`: it lacks a key.
    fn lacks(&self, site: usize) -> Option<usize> {
        let mut lacking = 0;
        for term in 0..self.terms.len() {
            if self.topologies[term].may_lack(site) {
                return None;
            }
            lacking += usize::from(self.lacking(term, site).is_some());
        }
        Some(lacking)
    }

    /// Pods that could be the first of all, those that open most before others.
    fn starts(&self) -> Vec<(usize, usize)> {
        if self.has_first {
            return Vec::new();
        }
        let own = self
            .waiting
            .iter()
            .filter(|(kind, _)| self.matched.contains(*kind));
        let opened = own.filter_map(|(kind, presence)| {
            let opens = self.lacks(presence.site)?;
            Some((std::cmp::Reverse(opens), *kind, presence.site))
        });
        let mut opened: Vec<_> = opened.collect();
        opened.sort_unstable();
        opened.into_iter().map(|(_, kind, site)| (kind, site)).collect()
    }

    /// Whether a pod of this rule that waits matches another.
    fn feeds(&self, other: &Self) -> bool {
        self.waiting.iter().any(|(kind, _)| other.matched.contains(*kind))
    }
}

/// Takes in what matches allow now; whether that was any.
fn admit(rules: &mut [Near<'_>]) -> bool {
    let mut has_admitted = false;
    for rule in 0..rules.len() {
        let waiting = std::mem::take(&mut rules[rule].waiting);
        let is_near = |presence: &Presence| rules[rule].lacks(presence.site) == Some(0);
        let (admitted, waiting): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|(_, presence)| is_near(presence));
        rules[rule].waiting = waiting;
        has_admitted |= !admitted.is_empty();
        for (kind, presence) in admitted {
            for other in rules.iter_mut().filter(|other| other.matched.contains(kind)) {
                other.matches_at(presence.site);
            }
        }
    }
    has_admitted
}

/// Admits what can be, with the starts that it takes; whether that is all. Rules that have nothing to do with each other
/// start one by one; where one's start is a match for another, several are tried.
pub(super) fn settle(rules: &mut Vec<Near<'_>>, trials: &mut u32) -> bool {
    loop {
        while admit(rules) {}
        if rules.iter().all(|rule| rule.waiting.is_empty()) {
            return true;
        }
        let starts: Vec<Vec<(usize, usize)>> = rules.iter().map(Near::starts).collect();
        let mut has_begun = false;
        let alone: Vec<usize> = (0..rules.len()).filter(|at| is_alone(rules, *at)).collect();
        for at in alone {
            if let Some(start) = starts[at].first() {
                begin(rules, *start);
                has_begun = true;
            }
        }
        if has_begun {
            continue;
        }
        // The best of every rule, then the second best, and so on.
        let longest = starts.iter().map(Vec::len).max().unwrap_or(0);
        let in_turn = (0..longest).flat_map(|place| starts.iter().filter_map(move |of| of.get(place)));
        for start in in_turn.clone() {
            if *trials == 0 {
                break;
            }
            *trials -= 1;
            let mut trial = rules.clone();
            begin(&mut trial, *start);
            if settle(&mut trial, trials) {
                *rules = trial;
                return true;
            }
        }
        let Some(start) = in_turn.clone().next() else {
            return false;
        };
        begin(rules, *start);
        *trials = 0; // nothing helps all: go on for the sake of what is said
    }
}

/// Whether no start of a rule is a match for another that waits, nor the other way round.
fn is_alone(rules: &[Near<'_>], at: usize) -> bool {
    let own = &rules[at];
    let mut others = rules.iter().enumerate().filter(|(other, _)| *other != at);
    !others.any(|(_, other)| {
        !other.waiting.is_empty() && !own.waiting.is_empty() && (own.feeds(other) || other.feeds(own))
    })
}

/// A pod comes before everything else.
fn begin(rules: &mut [Near<'_>], (kind, site): (usize, usize)) {
    for rule in rules.iter_mut().filter(|rule| rule.matched.contains(kind)) {
        rule.has_first = true;
        rule.matches_at(site);
    }
}

/// What a site lacks for a rule, for people.
pub(super) fn lack(sites: &Sites<'_, '_>, rule: &Near<'_>, site: usize) -> String {
    let place = sites.site(site);
    for (at, term) in rule.terms.iter().enumerate() {
        let key = &term.topology_key;
        if rule.topologies[at].may_lack(site) {
            return format!("must be near others by {key}, which {place} has not");
        }
        if let Some(domain) = rule.lacking(at, site) {
            let value = rule.topologies[at].name(domain);
            let where_else = rule.near[at].count_ones(..);
            return format!(
                "must be near others by {key}, and in {value}, where {place} is, no pod matches that could be \
                 there before ({where_else} other values have one)"
            );
        }
    }
    format!("must be near others, and no order brings it to {place}")
}

/// Kinds that all these terms match.
pub(super) fn matched(sites: &Sites<'_, '_>, terms: &[&PodTerm]) -> FixedBitSet {
    let matches = |kind: &Kind<'_>| {
        let mut selectors = terms.iter().map(|term| &term.selector);
        selectors.all(|selector| selector.matches(kind.namespace, &kind.spec.labels))
    };
    let mut kinds = FixedBitSet::with_capacity(sites.kinds.len());
    let all = sites.kinds.iter().enumerate();
    kinds.extend(all.filter(|(_, kind)| matches(kind)).map(|(at, _)| at));
    kinds
}
