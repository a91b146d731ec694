//! Launched nodes become others, or several.
//!
//! Promises: those of [`super`].

use crate::lower::rules::resources;
use crate::lower::side::Place;
use crate::pack::effort::Effort;
use crate::pack::{self, Filling};

use super::super::verdict::of;
use super::Balance;

/// Nodes beyond which none is split: with many, some have many pods of a group and others few already.
const MOST_SPLIT: usize = 500;
/// Nodes of equal cost together that one is split into at most.
const MOST_PARTS: u64 = 4;

impl Balance<'_, '_> {
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
    pub(super) fn exchange_kinds(&mut self, effort: &mut Effort<'_>) {
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
    pub(super) fn split(&mut self, effort: &mut Effort<'_>) {
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
}
