//! The last polish for wishes: pods move and change places between nodes, nodes become others of the same cost, as long as
//! less is left unmet.
//!
//! Promises: places the same pods; cost and what is unmet never rise together; rules are kept that were kept, since no pod that
//! a row across nodes knows leaves its part, and no node that has one becomes another. A node dearer than before is only taken where
//! its pods' own wishes about nodes save more. Each change lowers a figure of whole numbers, and effort is counted: the same
//! packing and work limit give the same.

mod kinds;
mod numbers;

use std::collections::BTreeMap;

use crate::lower::Problem;
use crate::lower::rules::resources;
use crate::lower::side::Place;
use crate::pack::effort::Effort;
use crate::pack::{self, Filling, Launched, Packing};

use super::across::Across;
use super::node::OnNode;
use super::tally::{Tally, Unmet};

/// Rounds over all nodes: the second finds what the first made room for.
const ROUNDS: usize = 3;
/// Other nodes that are tried for one pod: most of what more would find, a later round finds.
const TRIES: usize = 48;
/// Groups on another node whose pods are tried in exchange.
const EXCHANGES: usize = 4;
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
    if !problem.weighs_more_than_nodes() || launched > MOST_NODES {
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
