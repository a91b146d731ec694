//! Pods that should be in even numbers go from the fullest domains to the least.
//!
//! Promises: those of [`super`].

use std::collections::BTreeSet;

use crate::lower::wishes::Spot;
use crate::pack::effort::Effort;

use super::super::verdict::of;
use super::{Balance, Node, TRIES};

impl Balance<'_, '_> {
    fn level(&self, row: usize, node: usize) -> u64 {
        let evenly = &self.problem.wishes.evenly[row];
        let Node { place, filling, .. } = &self.nodes[node];
        evenly.there_on(*place) + of(filling, &evenly.counted)
    }

    /// Takes pods of a spread from its fullest domains to its least.
    pub(super) fn even_out(&mut self, row: usize, effort: &mut Effort<'_>) {
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
}
