//! Required affinity and anti-affinity between pods, in both directions.
//!
//! **Anti-affinity.** Terms of one key and selector belong together, whoever has them: pods that have it and those that it
//! matches are never in one domain, pods that are both at most once. Under the hostname these are caps and conflicts, under
//! other keys rows and [`Apart`]. Domains that running pods bar are required away ([`keep_apart`]).
//!
//! **Affinity.** Pods that want to be near the same others are a [`Wish`]. A pod matches only if all selectors of the wish
//! match it. Where pods of DaemonSets do, those and running pods are all that counts ([`Company`]). Wishes are looked at one
//! after the other, each near pods of groups that need none or whose wish came before:
//! pods that wait for each other in a circle have no order in which they could come.

use std::collections::{BTreeMap, BTreeSet};

use fixedbitset::FixedBitSet;

use crate::lower::company::Company;
use crate::lower::compile::Context;
use crate::lower::narrow::{Member, Narrowing, Standing};
use crate::lower::side::{
    Apart, Beside, Cap, Conflict, Domain, Excess, Near, Places, PodTerm, Row, SideRows, Together,
};
use crate::model::instance_type::HOSTNAME_LABEL;
use crate::model::rules;
use crate::model::snapshot::Snapshot;

/// Groups that want to be near the same pods.
#[derive(Clone, Debug)]
pub struct Wish<'a> {
    /// Near is: the same value of each of these.
    keys: BTreeSet<&'a str>,
    /// Who wants it.
    pub groups: FixedBitSet,
    /// Groups that match and don't depend on these.
    of: FixedBitSet,
    /// By node of the snapshot: staying pods that match.
    there: BTreeMap<usize, u64>,
    /// What there is instead of all these where DaemonSets match: those, and nodes that have or will have a match.
    company: Option<(BTreeSet<usize>, BTreeSet<usize>)>,
    /// Whether they match themselves, and no pod that runs or will does.
    may_start: bool,
}

/// Keys, selectors, and whether the pods match themselves.
type Asked<'a> = (BTreeSet<&'a str>, BTreeSet<usize>, bool);

/// What groups want to be near, each before those that depend on it.
#[must_use]
pub fn wishes<'a>(standing: Standing<'_, 'a>, members: &[Member<'_, 'a>]) -> Vec<Wish<'a>> {
    let nobody = || FixedBitSet::with_capacity(members.len());
    let mut asked: BTreeMap<Asked<'a>, FixedBitSet> = BTreeMap::new();
    let mut settled = nobody();
    for (at, member) in members.iter().enumerate() {
        let terms = &member.spec.rules.affinity;
        if terms.is_empty() {
            settled.insert(at);
            continue;
        }
        let keys = terms.iter().map(|term| term.topology_key.as_str()).collect();
        let selectors = terms
            .iter()
            .filter_map(|term| standing.selectors.position(&term.selector));
        let selectors: BTreeSet<usize> = selectors.collect();
        let matches_itself = all(&selectors, member.matches);
        asked
            .entry((keys, selectors, matches_itself))
            .or_insert_with(nobody)
            .insert(at);
    }
    let mut open: Vec<(Wish<'a>, FixedBitSet)> = Vec::new();
    for ((keys, selectors, matches_itself), groups) in asked {
        let selected: Vec<usize> = selectors.iter().copied().collect();
        let there = standing.running.staying(&selected);
        let daemon_sets = standing.daemon_sets(&selectors);
        let mut of = nobody();
        if daemon_sets.is_empty() {
            of.extend((0..members.len()).filter(|at| all(&selectors, members[*at].matches)));
            of.difference_with(&groups);
        }
        let may_start = matches_itself && there.is_empty() && daemon_sets.is_empty();
        let company = (!daemon_sets.is_empty()).then(|| {
            let certain = daemon_sets.into_iter().filter(|at| standing.is_certain(*at));
            (certain.collect(), standing.running.staying_or_to_come(&selected))
        });
        let wish = Wish {
            keys,
            groups,
            of: nobody(),
            there,
            company,
            may_start,
        };
        open.push((wish, of));
    }
    let mut wishes = Vec::with_capacity(open.len());
    while !open.is_empty() {
        let is_free = |(_, of): &(Wish<'_>, FixedBitSet)| of.is_subset(&settled);
        let can_be = |(wish, of): &(Wish<'_>, FixedBitSet)| {
            !wish.there.is_empty() || wish.may_start || !of.is_disjoint(&settled)
        };
        let next = open
            .iter()
            .position(is_free)
            .or_else(|| open.iter().position(can_be));
        let (mut wish, mut of) = open.remove(next.unwrap_or(0));
        of.intersect_with(&settled);
        wish.of = of;
        if wish.is_possible() {
            settled.union_with(&wish.groups);
        }
        wishes.push(wish);
    }
    wishes
}

fn all(selectors: &BTreeSet<usize>, matches: &FixedBitSet) -> bool {
    selectors.iter().all(|selector| matches.contains(*selector))
}

impl Wish<'_> {
    fn is_possible(&self) -> bool {
        !self.there.is_empty() || self.may_start || !self.of.is_clear() || self.company.is_some()
    }

    /// Whether running pods and those of DaemonSets are all that there is to be near.
    fn is_settled(&self) -> bool {
        !self.may_start && self.of.is_clear()
    }

    /// What is certain: the labels that a node has to have, and their values where only running pods match.
    pub fn narrow(&self, snapshot: &Snapshot, narrowing: &mut Narrowing) {
        let values = |key: &str, nodes: &mut dyn Iterator<Item = &usize>| -> BTreeSet<String> {
            let labels = nodes.map(|node| &snapshot.nodes[*node].labels);
            labels.filter_map(|labels| labels.get(key)).cloned().collect()
        };
        for key in &self.keys {
            if let Some((daemon_sets, nodes)) = &self.company {
                let company = Company {
                    daemon_sets: daemon_sets.clone(),
                    values: values(key, &mut nodes.iter()),
                };
                narrowing.company.insert((*key).to_owned(), company);
            } else if self.is_settled() {
                narrowing.has_one_of(key, values(key, &mut self.there.keys()));
                continue;
            }
            if *key != HOSTNAME_LABEL {
                narrowing.has(key);
            }
        }
    }

    fn compile(&self, context: &Context<'_, '_>, side: &mut SideRows) {
        if self.is_settled() {
            return;
        }
        for key in &self.keys {
            if *key == HOSTNAME_LABEL {
                side.beside.push(Beside {
                    groups: self.groups.clone(),
                    of: self.of.clone(),
                    rooms_with: context.rooms(self.there.keys()),
                    may_start: self.may_start,
                });
                continue;
            }
            let domains = context.domains(key);
            if self.of.is_clear() {
                side.together.push(Together {
                    groups: self.groups.clone(),
                    domains: domains.into_values().collect(),
                });
                continue;
            }
            let there = |value: &str| {
                let nodes = &context.problem.snapshot.nodes;
                let here = |node: usize| nodes[node].labels.get(*key).is_some_and(|own| own == value);
                let counts = self.there.iter().filter(|(node, _)| here(**node));
                counts.map(|(_, count)| count).sum()
            };
            let domains = domains.into_iter().map(|(value, places)| Domain {
                there: there(value),
                places,
            });
            side.near.push(Near {
                groups: self.groups.clone(),
                of: self.of.clone(),
                domains: domains.collect(),
                may_start: self.may_start,
            });
        }
    }
}

/// Requires away the domains where running pods are that these can't be with, and DaemonSets that they can't be with.
pub fn keep_apart(standing: Standing<'_, '_>, member: Member<'_, '_>, narrowing: &mut Narrowing) {
    let Standing {
        snapshot,
        selectors,
        running,
    } = standing;
    let values = |key: &str, nodes: &BTreeSet<usize>| {
        let labels = nodes.iter().map(|node| &snapshot.nodes[*node].labels);
        labels.filter_map(|labels| labels.get(key)).cloned().collect()
    };
    let own = &member.spec.rules.anti_affinity;
    for term in own.iter().filter(|term| term.topology_key != HOSTNAME_LABEL) {
        if let Some(selector) = selectors.position(&term.selector) {
            let key = &term.topology_key;
            narrowing.has_none_of(key, values(key, &running.present(selector)));
        }
    }
    for (key, selector, nodes) in running.holders() {
        if key != HOSTNAME_LABEL && member.matches.contains(selector) {
            narrowing.has_none_of(key, values(key, nodes));
        }
    }
    for (at, daemon_set) in snapshot.daemon_sets.iter().enumerate() {
        let theirs = &daemon_set.spec.rules.anti_affinity;
        if own.is_empty() && theirs.is_empty() {
            continue;
        }
        let (namespace, labels) = (&daemon_set.name.namespace, &daemon_set.spec.labels);
        let matched = |term: &&rules::PodTerm| term.selector.matches(namespace, labels);
        let matching = |term: &&rules::PodTerm| {
            let selector = selectors.position(&term.selector);
            selector.is_some_and(|selector| member.matches.contains(selector))
        };
        for term in own.iter().filter(matched).chain(theirs.iter().filter(matching)) {
            narrowing.without_daemons.insert(at);
            // Other nodes of the domain may have its pods too, launched or not: no domain is safe.
            if term.topology_key != HOSTNAME_LABEL {
                narrowing.lacks(&term.topology_key);
            }
        }
    }
}

/// Adds the rows.
pub fn compile(context: &Context<'_, '_>, wishes: &[Wish<'_>], side: &mut SideRows) {
    let mut owners: BTreeMap<(&str, usize), FixedBitSet> = BTreeMap::new();
    for group in 0..context.groups() {
        for term in &context.spec(group).rules.anti_affinity {
            if let Some(selector) = context.selectors.position(&term.selector) {
                let owners = owners.entry((&term.topology_key, selector));
                owners.or_insert_with(|| context.no_groups()).insert(group);
            }
        }
    }
    let held = context
        .running
        .holders()
        .filter(|(key, ..)| *key == HOSTNAME_LABEL);
    let holders: BTreeMap<usize, &BTreeSet<usize>> =
        held.map(|(_, selector, nodes)| (selector, nodes)).collect();
    for selector in holders.keys() {
        owners
            .entry((HOSTNAME_LABEL, *selector))
            .or_insert_with(|| context.no_groups());
    }
    for ((key, selector), owners) in owners {
        let sides = Sides::new(owners, context.matching(selector));
        if key == HOSTNAME_LABEL {
            let present = context.running.present(selector);
            let nobody = BTreeSet::new();
            let holders = holders.get(&selector).copied().unwrap_or(&nobody);
            sides.on_nodes(context, &present, holders, side);
        } else {
            sides.in_domains(context, key, side);
        }
    }
    for wish in wishes {
        wish.compile(context, side);
    }
}

/// Groups by what they have to do with a term.
struct Sides {
    /// They have it, and it matches them.
    both: FixedBitSet,
    /// They have it.
    owners: FixedBitSet,
    /// It matches them.
    matched: FixedBitSet,
}

impl Sides {
    fn new(owners: FixedBitSet, matched: FixedBitSet) -> Self {
        let mut both = owners.clone();
        both.intersect_with(&matched);
        let without = |mut groups: FixedBitSet| {
            groups.difference_with(&both);
            groups
        };
        Self {
            owners: without(owners),
            matched: without(matched),
            both,
        }
    }

    /// Owners and matched ones.
    fn others(&self) -> FixedBitSet {
        let mut others = self.owners.clone();
        others.union_with(&self.matched);
        others
    }

    /// `present`: nodes with pods that the term matches; `holders`: with pods that have it.
    fn on_nodes(
        self,
        context: &Context<'_, '_>,
        present: &BTreeSet<usize>,
        holders: &BTreeSet<usize>,
        side: &mut SideRows,
    ) {
        let (with_owners, with_matched) = (context.rooms(holders), context.rooms(present));
        let no_rooms = || FixedBitSet::with_capacity(context.problem.rooms.len());
        let others = self.others();
        if !self.both.is_clear() {
            let barred = with_owners.union(&with_matched);
            side.caps.push(Cap {
                groups: self.both.clone(),
                most: 1,
                there: barred.map(|room| (room, 1)).collect(),
                excess: Excess::Forbidden,
            });
            if !others.is_clear() {
                side.conflicts.push(Conflict {
                    one: self.both,
                    other: others,
                    rooms_with_one: no_rooms(),
                    rooms_with_other: no_rooms(),
                });
            }
        }
        let keeps_off = |groups: &FixedBitSet, rooms: &FixedBitSet| !groups.is_clear() && !rooms.is_clear();
        if !self.owners.is_clear() && !self.matched.is_clear()
            || keeps_off(&self.owners, &with_matched)
            || keeps_off(&self.matched, &with_owners)
        {
            side.conflicts.push(Conflict {
                one: self.owners,
                other: self.matched,
                rooms_with_one: with_owners,
                rooms_with_other: with_matched,
            });
        }
    }

    fn in_domains(self, context: &Context<'_, '_>, key: &str, side: &mut SideRows) {
        let domains: Vec<Places> = context.domains(key).into_values().collect();
        let others = self.others();
        if !self.both.is_clear() {
            side.rows.extend(domains.iter().map(|places| Row {
                pods: vec![PodTerm {
                    groups: self.both.clone(),
                    places: places.clone(),
                    coefficient: 1,
                }],
                nodes: Vec::new(),
                lower: None,
                upper: Some(1),
            }));
            if !others.is_clear() {
                side.apart.push(Apart {
                    one: self.both,
                    other: others,
                    domains: domains.clone(),
                });
            }
        }
        if !self.owners.is_clear() && !self.matched.is_clear() {
            side.apart.push(Apart {
                one: self.owners,
                other: self.matched,
                domains,
            });
        }
    }
}
