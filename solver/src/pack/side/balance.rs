//! The last polish for wishes: pods move and change places between nodes, nodes become others of the same cost, as long as
//! less is left unmet.
//!
//! Promises: places the same pods; cost and what is unmet never rise together; rules are kept that were kept, since no pod that
//! a row across nodes knows leaves its part, and no node that has one becomes another. A node dearer than before is only taken where
//! its pods' own wishes about nodes save more. Each change lowers a figure of whole numbers, and effort is counted: the same
//! packing and work limit give the same.

use std::collections::{BTreeMap, BTreeSet};

use crate::lower::Problem;
use crate::lower::rules::resources;
use crate::lower::side::Place;
use crate::lower::wishes::Spot;
use crate::pack::effort::Effort;
use crate::pack::{self, Filling, Launched, Packing};

use super::across::Across;
use super::node::OnNode;
use super::tally::{Tally, Unmet};
use super::verdict::of;

/// Rounds over all nodes: the second finds what the first made room for.
const ROUNDS: usize = 3;
/// Other nodes that are tried for one pod: most of what more would find, a later round finds.
const TRIES: usize = 48;
/// Groups on another node whose pods are tried in exchange.
const EXCHANGES: usize = 4;
/// Nodes beyond which none is split: with many, some have many pods of a group and others few already.
const MOST_SPLIT: usize = 500;
/// Nodes of equal cost together that one is split into at most.
const MOST_PARTS: u64 = 4;
/// Nodes beyond which nothing is done.
const MOST_NODES: u64 = 20_000;

struct Node {
    place: Place,
    filling: Filling,
    free: Vec<u64>,
}

struct Balance<'p, 'a> {
    problem: &'p Problem<'a>,
    tally: Tally<'p>,
    across: Across,
    rules: OnNode<'p>,
    nodes: Vec<Node>,
    /// Kinds by pool, limits drawn on and cost: those of one entry cost the same in every respect.
    alike: BTreeMap<(usize, &'p [u64], u64), Vec<usize>>,
}

/// The same pods with less unmet, as far as the effort goes.
#[must_use]
pub fn balanced(problem: &Problem<'_>, packing: &Packing, effort: &mut Effort<'_>) -> Packing {
    let launched = packing.launches();
    if problem.wishes.is_empty() || launched > MOST_NODES {
        return packing.clone();
    }
    let mut balance = Balance::new(problem, packing);
    for _ in 0..ROUNDS {
        let before = balance.tally.unmet();
        balance.exchange_kinds(effort);
        balance.split(effort);
        balance.settle(effort);
        for row in 0..problem.wishes.evenly.len() {
            balance.even_out(row, effort);
        }
        if effort.is_used_up() || balance.tally.unmet() == before {
            break;
        }
    }
    balance.packing(packing)
}

impl<'p, 'a> Balance<'p, 'a> {
    fn new(problem: &'p Problem<'a>, packing: &Packing) -> Self {
        let mut alike: BTreeMap<(usize, &'p [u64], u64), Vec<usize>> = BTreeMap::new();
        for (at, kind) in problem.kinds.iter().enumerate() {
            if kind.supply.is_none() {
                let key = (kind.account, kind.usage.as_slice(), kind.cost);
                alike.entry(key).or_default().push(at);
            }
        }
        let mut balance = Self {
            problem,
            tally: Tally::new(problem, packing),
            across: Across::new(problem),
            rules: OnNode::new(problem),
            nodes: Vec::new(),
            alike,
        };
        for (room, filling) in packing.rooms.iter().enumerate() {
            balance.add(Place::Room(room), filling);
        }
        for launched in &packing.launched {
            for _ in 0..launched.count {
                balance.tally.launch(Place::Kind(launched.kind), true);
                balance.add(Place::Kind(launched.kind), &launched.filling);
            }
        }
        balance
    }

    fn add(&mut self, place: Place, filling: &Filling) {
        self.nodes.push(Node {
            place,
            filling: Filling::new(),
            free: self.problem.room_of(place).to_vec(),
        });
        for (group, count) in filling {
            self.put(self.nodes.len() - 1, *group, *count);
        }
    }

    fn put(&mut self, node: usize, group: usize, count: u64) {
        let Node { place, filling, free } = &mut self.nodes[node];
        self.tally.change(group, *place, filling, count, true);
        resources::take(free, self.problem.request(group), count);
        pack::put(filling, group, count);
    }

    fn take(&mut self, node: usize, group: usize, count: u64) {
        let Node { place, filling, free } = &mut self.nodes[node];
        self.tally.change(group, *place, filling, count, false);
        resources::give(free, self.problem.request(group), count);
        pack::take(filling, group, count);
    }

    /// Whether a pod of a group may go from one node to another, whatever room is there.
    fn may_go(&self, group: usize, from: usize, to: usize) -> bool {
        let (from, to) = (self.nodes[from].place, self.nodes[to].place);
        let problem = self.problem;
        let is_usable = match to {
            Place::Kind(kind) => {
                let tier = problem.kinds[kind].tier;
                let is_as_heavy = match from {
                    Place::Kind(from) => problem.kinds[from].tier == tier,
                    Place::Room(_) => problem.tiers[group].first() == Some(&tier),
                };
                is_as_heavy && problem.usable[group].contains(kind)
            }
            Place::Room(room) => problem.rooms[room]
                .profiles
                .contains(problem.groups[group].profile),
        };
        is_usable && (!self.across.concerns(group) || self.is_same_part(group, from, to))
    }

    fn is_same_part(&self, group: usize, from: Place, to: Place) -> bool {
        self.across.beside(group).is_empty() && self.across.parts.part(from) == self.across.parts.part(to)
    }

    /// Whether a node has room for a pod more, and no rule about single nodes is against it.
    fn has_room(&self, group: usize, node: usize) -> bool {
        let Node { place, filling, free } = &self.nodes[node];
        resources::fits(self.problem.request(group), free) && self.rules.most(group, *place, filling) > 0
    }

    /// Moves a pod if less is unmet then. A launched node keeps one.
    fn try_move(&mut self, group: usize, from: usize, to: usize, effort: &mut Effort<'_>) -> bool {
        effort.spend(1);
        let pods: u64 = self.nodes[from].filling.iter().map(|(_, count)| count).sum();
        let stays = matches!(self.nodes[from].place, Place::Room(_)) || pods > 1;
        if !stays || !self.may_go(group, from, to) || !self.has_room(group, to) {
            return false;
        }
        effort.spend(2 * self.tally.looks(group));
        let before = self.tally.unmet();
        self.take(from, group, 1);
        self.put(to, group, 1);
        if self.tally.unmet() < before {
            return true;
        }
        self.take(to, group, 1);
        self.put(from, group, 1);
        false
    }

    /// Exchanges two pods if less is unmet then.
    fn try_exchange(&mut self, one: (usize, usize), two: (usize, usize), effort: &mut Effort<'_>) -> bool {
        effort.spend(1);
        let ((group, from), (other, to)) = (one, two);
        if !self.may_go(group, from, to) || !self.may_go(other, to, from) {
            return false;
        }
        effort.spend(2 * (self.tally.looks(group) + self.tally.looks(other)));
        let before = self.tally.unmet();
        self.take(from, group, 1);
        self.take(to, other, 1);
        let goes = self.has_room(group, to) && self.has_room(other, from);
        if goes {
            self.put(to, group, 1);
            self.put(from, other, 1);
            if self.tally.unmet() < before {
                return true;
            }
            self.take(to, group, 1);
            self.take(from, other, 1);
        }
        self.put(from, group, 1);
        self.put(to, other, 1);
        false
    }

    /// Moves a pod, or exchanges it for one of another group.
    fn try_any(&mut self, group: usize, from: usize, to: usize, effort: &mut Effort<'_>) -> bool {
        if self.try_move(group, from, to, effort) {
            return true;
        }
        let others: Vec<usize> = self.nodes[to].filling.iter().map(|(other, _)| *other).collect();
        let others = others.into_iter().filter(|other| *other != group);
        others
            .take(EXCHANGES)
            .any(|other| self.try_exchange((group, from), (other, to), effort))
    }

    /// Whether a launched node may become another: no row across nodes knows it.
    fn is_free(&self, node: usize) -> bool {
        let concerned = |(group, _): &(usize, u64)| self.across.concerns(*group);
        !self.across.has_sums() && !self.nodes[node].filling.iter().any(concerned)
    }

    fn holds(&self, kind: usize, filling: &Filling) -> bool {
        let load = pack::load(self.problem, filling);
        let usable = |(group, _): &(usize, u64)| self.problem.usable[*group].contains(kind);
        filling.iter().all(usable) && resources::fits(&load, self.problem.room(kind))
    }

    /// Cost of wishes about nodes of what is on one.
    fn distaste(&self, place: Place, filling: &Filling) -> u64 {
        let tastes = self.problem.wishes.tastes.iter();
        tastes
            .map(|taste| taste.cost(place).saturating_mul(of(filling, &taste.groups)))
            .fold(0, u64::saturating_add)
    }

    fn become_kind(&mut self, node: usize, kind: usize) {
        let filling = self.nodes[node].filling.clone();
        for (group, count) in &filling {
            self.take(node, *group, *count);
        }
        self.tally.launch(self.nodes[node].place, false);
        let place = Place::Kind(kind);
        self.nodes[node].place = place;
        self.nodes[node].free = self.problem.room_of(place).to_vec();
        self.tally.launch(place, true);
        for (group, count) in filling {
            self.put(node, group, count);
        }
    }

    /// Launched nodes become others of the same cost, or dearer ones that their pods like better.
    fn exchange_kinds(&mut self, effort: &mut Effort<'_>) {
        for node in 0..self.nodes.len() {
            let Place::Kind(old) = self.nodes[node].place else {
                continue;
            };
            let kind = &self.problem.kinds[old];
            let filling = self.nodes[node].filling.clone();
            if kind.supply.is_some() || !self.is_free(node) || filling.is_empty() {
                continue;
            }
            let distaste = self.distaste(self.nodes[node].place, &filling);
            let usage = kind.usage.as_slice();
            let range =
                (kind.account, usage, kind.cost)..=(kind.account, usage, kind.cost.saturating_add(distaste));
            let others: Vec<usize> = self
                .alike
                .range(range)
                .flat_map(|(_, kinds)| kinds)
                .copied()
                .collect();
            let looks: u64 = filling.iter().map(|(group, _)| self.tally.looks(*group)).sum();
            for other in others {
                if effort.is_used_up() {
                    return;
                }
                effort.spend(1);
                let Place::Kind(now) = self.nodes[node].place else {
                    break;
                };
                if other == now
                    || self.problem.kinds[other].part == self.problem.kinds[now].part && distaste == 0
                    || !self.holds(other, &filling)
                {
                    continue;
                }
                effort.spend(4 * looks);
                let cost = |kind: usize| i128::from(self.problem.kinds[kind].cost);
                let dearer = cost(other) - cost(now);
                let before = self.tally.unmet();
                self.become_kind(node, other);
                let (money, squares) = self.tally.unmet();
                if (money + dearer, squares) >= before {
                    self.become_kind(node, now);
                }
            }
        }
    }

    /// Nodes become several that cost the same together, where pods on them should be apart.
    fn split(&mut self, effort: &mut Effort<'_>) {
        for node in 0..self.nodes.len() {
            let Place::Kind(old) = self.nodes[node].place else {
                continue;
            };
            let kind = &self.problem.kinds[old];
            let concerned = |(group, _): &(usize, u64)| self.tally.concerns(*group);
            if self.nodes.len() > MOST_SPLIT
                || kind.supply.is_some()
                || !kind.usage.is_empty()
                || !self.is_free(node)
                || !self.nodes[node].filling.iter().any(concerned)
            {
                continue;
            }
            for parts in 2..=MOST_PARTS {
                let key = (kind.account, kind.usage.as_slice(), kind.cost / parts);
                let smaller = self.alike.get(&key).filter(|_| kind.cost.is_multiple_of(parts));
                let smaller: Vec<usize> = smaller.into_iter().flatten().copied().collect();
                let mut smaller = smaller.into_iter();
                if effort.is_used_up() || smaller.any(|smaller| self.try_split(node, smaller, parts, effort))
                {
                    break;
                }
            }
        }
    }

    fn try_split(&mut self, node: usize, smaller: usize, parts: u64, effort: &mut Effort<'_>) -> bool {
        let (place, filling) = (self.nodes[node].place, self.nodes[node].filling.clone());
        let pods: u64 = filling.iter().map(|(_, count)| count).sum();
        effort.spend(pods * parts * 2);
        let usable = |(group, _): &(usize, u64)| self.problem.usable[*group].contains(smaller);
        if pods < parts || !filling.iter().all(usable) {
            return false;
        }
        let before = self.tally.unmet();
        for (group, count) in &filling {
            self.take(node, *group, *count);
        }
        self.tally.launch(place, false);
        let first = self.nodes.len();
        for _ in 0..parts {
            self.tally.launch(Place::Kind(smaller), true);
            self.add(Place::Kind(smaller), &Filling::new());
        }
        let is_better = self.deal(&filling, first) && self.tally.unmet() < before;
        if is_better {
            let last = self.nodes.swap_remove(node);
            debug_assert!(last.filling.is_empty(), "all of its pods went to its parts");
            return true;
        }
        while self.nodes.len() > first {
            let last = self.nodes.len() - 1;
            for (group, count) in self.nodes[last].filling.clone() {
                self.take(last, group, count);
            }
            self.tally.launch(Place::Kind(smaller), false);
            self.nodes.pop();
        }
        self.tally.launch(place, true);
        for (group, count) in filling {
            self.put(node, group, count);
        }
        false
    }

    /// Deals pods out to the nodes from `first` on, each to the one that has the fewest of its group; whether all have room, and
    /// no node is left without.
    fn deal(&mut self, filling: &Filling, first: usize) -> bool {
        for (group, count) in filling {
            for _ in 0..*count {
                let nodes = (first..self.nodes.len()).filter(|node| self.has_room(*group, *node));
                let fewest = nodes.min_by_key(|node| {
                    let filling = &self.nodes[*node].filling;
                    let own = filling.iter().find(|(other, _)| other == group);
                    let all: u64 = filling.iter().map(|(_, count)| count).sum();
                    (own.map_or(0, |(_, count)| *count), all, *node)
                });
                let Some(node) = fewest else { return false };
                self.put(node, *group, 1);
            }
        }
        self.nodes[first..].iter().all(|node| !node.filling.is_empty())
    }

    /// Pods whose own wishes aren't met go elsewhere.
    fn settle(&mut self, effort: &mut Effort<'_>) {
        let all = self.nodes.len();
        for from in 0..all {
            for (group, count) in self.nodes[from].filling.clone() {
                let mut next = from + 1;
                for _ in 0..count {
                    let Node { place, filling, .. } = &self.nodes[from];
                    if effort.is_used_up() || !self.tally.is_discontent(group, *place, filling) {
                        break;
                    }
                    let mut others = (0..all.min(TRIES)).map(|step| (next + step) % all);
                    let found = others.find(|to| *to != from && self.try_any(group, from, *to, effort));
                    let Some(found) = found else { break };
                    next = found + 1;
                    if !self.nodes[from].filling.iter().any(|(other, _)| *other == group) {
                        break;
                    }
                }
            }
        }
    }

    fn level(&self, row: usize, node: usize) -> u64 {
        let evenly = &self.problem.wishes.evenly[row];
        let Node { place, filling, .. } = &self.nodes[node];
        evenly.there_on(*place) + of(filling, &evenly.counted)
    }

    /// Takes pods of a spread from its fullest domains to its least.
    fn even_out(&mut self, row: usize, effort: &mut Effort<'_>) {
        let domains = &self.problem.wishes.evenly[row].domains;
        let is_there = |node: &usize| domains.of(self.nodes[*node].place) != Spot::Nowhere;
        let nodes: Vec<usize> = (0..self.nodes.len()).filter(is_there).collect();
        if domains.by_node {
            let levels = nodes.iter().map(|node| (self.level(row, *node), *node));
            self.even_nodes(row, levels.collect(), effort);
        } else {
            self.even_domains(row, &nodes, effort);
        }
    }

    fn even_nodes(&mut self, row: usize, mut levels: BTreeSet<(u64, usize)>, effort: &mut Effort<'_>) {
        while let Some((most, from)) = levels.pop_last() {
            if effort.is_used_up() {
                return;
            }
            effort.spend(1);
            let low = levels
                .iter()
                .take(TRIES)
                .take_while(|(level, _)| level + 2 <= most);
            let low: Vec<(u64, usize)> = low.copied().collect();
            let Some((level, to)) = low
                .into_iter()
                .find(|(_, to)| self.try_from(row, from, *to, effort))
            else {
                continue;
            };
            levels.remove(&(level, to));
            levels.insert((self.level(row, to), to));
            levels.insert((self.level(row, from), from));
        }
    }

    /// Any pod that counts for a spread from one node to another.
    fn try_from(&mut self, row: usize, from: usize, to: usize, effort: &mut Effort<'_>) -> bool {
        let counted = &self.problem.wishes.evenly[row].counted;
        let here = self.nodes[from]
            .filling
            .iter()
            .filter(|(group, _)| counted.contains(*group));
        let groups: Vec<usize> = here.map(|(group, _)| *group).collect();
        groups
            .into_iter()
            .any(|group| self.try_any(group, from, to, effort))
    }

    fn even_domains(&mut self, row: usize, nodes: &[usize], effort: &mut Effort<'_>) {
        let evenly = &self.problem.wishes.evenly[row];
        let mut nodes_in: Vec<Vec<usize>> = vec![Vec::new(); evenly.domains.count];
        let mut pods = evenly.there.clone();
        for node in nodes {
            if let Spot::In(domain) = evenly.domains.of(self.nodes[*node].place) {
                nodes_in[domain].push(*node);
                pods[domain] += of(&self.nodes[*node].filling, &evenly.counted);
            }
        }
        let mut order: BTreeSet<(u64, usize)> = pods.iter().copied().zip(0..).collect();
        while let Some((most, from)) = order.pop_last() {
            if effort.is_used_up() {
                return;
            }
            effort.spend(1);
            let low = order.iter().take_while(|(level, _)| level + 2 <= most);
            let low: Vec<(u64, usize)> = low.copied().collect();
            let mut found = None;
            for (level, to) in low {
                if self.try_between(row, &nodes_in[from], &nodes_in[to], effort) {
                    found = Some((level, to));
                    break;
                }
            }
            if let Some((level, to)) = found {
                order.remove(&(level, to));
                order.insert((level + 1, to));
                order.insert((most - 1, from));
            }
        }
    }

    /// Any pod that counts for a spread from some node to some other.
    fn try_between(&mut self, row: usize, from: &[usize], to: &[usize], effort: &mut Effort<'_>) -> bool {
        let counted = &self.problem.wishes.evenly[row].counted;
        let has_some = |node: &&usize| of(&self.nodes[**node].filling, counted) > 0;
        let sources: Vec<usize> = from.iter().filter(has_some).take(TRIES).copied().collect();
        sources.into_iter().any(|from| {
            let mut targets = to.iter().take(TRIES);
            !effort.is_used_up() && targets.any(|to| self.try_from(row, from, *to, effort))
        })
    }

    fn packing(self, before: &Packing) -> Packing {
        let mut packing = Packing {
            left: before.left.clone(),
            ..Packing::default()
        };
        for Node { place, filling, .. } in self.nodes {
            match place {
                Place::Room(_) => packing.rooms.push(filling),
                Place::Kind(kind) => packing.launched.push(Launched {
                    kind,
                    filling,
                    count: 1,
                }),
            }
        }
        packing.normalise();
        packing
    }
}

/// What is unmet of a packing, and how uneven its numbers are.
#[must_use]
pub fn unmet_of(problem: &Problem<'_>, packing: &Packing) -> Unmet {
    Balance::new(problem, packing).tally.unmet()
}
