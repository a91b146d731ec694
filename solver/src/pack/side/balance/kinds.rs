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

    /// The most that what is on a launched node could cost less elsewhere beside the node: distaste, what it strands, and how
    /// uneven zones are because of it.
    fn most_saved(&self, kind: usize, filling: &Filling) -> u64 {
        let place = Place::Kind(kind);
        let own = self.distaste(place, filling);
        let stranded = self.tally.stranded(place, filling);
        own.saturating_add(stranded).saturating_add(self.tally.uneven())
    }

    /// Launched nodes become others of the same cost, cheaper ones, or dearer ones that save more than that.
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
            let saved = self.most_saved(old, &filling);
            let usage = kind.usage.as_slice();
            // Where nothing is stranded or uneven, no cheaper one holds it.
            let is_dearer_for_terms = kind.stranding.each > 0 || kind.in_zone.each > 0;
            let least = if is_dearer_for_terms { 0 } else { kind.cost };
            let range = (kind.account, usage, least)..=(kind.account, usage, kind.cost.saturating_add(saved));
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
                    || self.problem.kinds[other].tier != self.problem.kinds[now].tier
                    || self.problem.kinds[other].part == self.problem.kinds[now].part && saved == 0
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

    /// Nodes become several that cost the same together, or no more above it than zones may differ less by, where pods on them
    /// or nodes of the pool should be apart.
    pub(super) fn split(&mut self, effort: &mut Effort<'_>) {
        for node in 0..self.nodes.len() {
            let Place::Kind(old) = self.nodes[node].place else {
                continue;
            };
            let kind = &self.problem.kinds[old];
            let concerned = |(group, _): &(usize, u64)| self.tally.concerns(*group);
            let uneven = if kind.in_zone.each > 0 {
                self.tally.uneven()
            } else {
                0
            };
            if self.nodes.len() > MOST_SPLIT
                || kind.supply.is_some()
                || !kind.usage.is_empty()
                || !self.is_free(node)
                || uneven == 0 && !self.nodes[node].filling.iter().any(concerned)
            {
                continue;
            }
            for parts in 2..=MOST_PARTS {
                let least = kind.cost.div_ceil(parts);
                let most = kind.cost.saturating_add(uneven) / parts;
                if most < least {
                    continue;
                }
                let key = |cost: u64| (kind.account, kind.usage.as_slice(), cost);
                let smaller = self.alike.range(key(least)..=key(most));
                let smaller: Vec<usize> = smaller.flat_map(|(_, kinds)| kinds).copied().collect();
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
        let is_as_heavy = matches!(place, Place::Kind(kind) if self.problem.kinds[kind].tier == self.problem.kinds[smaller].tier);
        if pods < parts || !is_as_heavy || !filling.iter().all(usable) {
            return false;
        }
        let before = self.tally.unmet();
        for (group, count) in &filling {
            self.take(node, *group, *count);
        }
        self.tally.launch(place, false);
        let first = self.nodes.len();
        let mut dearer = -i128::from(self.cost(place));
        for _ in 0..parts {
            let part = Place::Kind(self.in_emptiest_zone(smaller, &filling));
            dearer += i128::from(self.cost(part));
            self.tally.launch(part, true);
            self.add(part, &Filling::new());
        }
        let is_dealt = self.deal(&filling, first);
        let (money, squares) = self.tally.unmet();
        let is_better = is_dealt && (money + dearer, squares) < before;
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
            self.tally.launch(self.nodes[last].place, false);
            self.nodes.pop();
        }
        self.tally.launch(place, true);
        for (group, count) in filling {
            self.put(node, group, count);
        }
        false
    }

    fn cost(&self, place: Place) -> u64 {
        match place {
            Place::Kind(kind) => self.problem.kinds[kind].cost,
            Place::Room(_) => 0,
        }
    }

    /// Among kinds like one that cost the same, one whose zone has the least of the pool, where that is weighed.
    fn in_emptiest_zone(&self, kind: usize, filling: &Filling) -> usize {
        let like = &self.problem.kinds[kind];
        if like.in_zone.each == 0 {
            return kind;
        }
        let key = (like.account, like.usage.as_slice(), like.cost);
        let others = self.alike.get(&key).into_iter().flatten().copied();
        let usable = |other: usize| {
            let mut groups = filling.iter().map(|(group, _)| *group);
            groups.all(|group| self.problem.usable[group].contains(other))
        };
        let is_like = |other: &usize| {
            let kind = &self.problem.kinds[*other];
            kind.pool == like.pool && kind.in_zone == like.in_zone && usable(*other)
        };
        let emptiest = others
            .filter(is_like)
            .min_by_key(|other| self.tally.in_zone_of(*other));
        emptiest.unwrap_or(kind)
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
