//! A group that rows across nodes know: how many of it go to which part, and what becomes of those that find no place there.
//!
//! Shares come from the counts alone ([`Across::shares`](crate::pack::side::across::Across::shares)). A part that can't take
//! its share is stuck: what others got beyond what that admits is taken back, and shared out anew among the rest. Where one
//! domain has to be chosen, each is tried with the whole group, the cheapest first, until one holds all of it.

use std::collections::BTreeMap;

use fixedbitset::FixedBitSet;

use crate::lower::side::Place;

use super::nodes::State;

impl State<'_> {
    /// Places pods of a group that rows know; how many are left.
    pub(super) fn place_by_rows(&mut self, group: usize, count: u64) -> u64 {
        let ranked = self.ranked(group);
        let parts: Vec<usize> = ranked.iter().map(|(_, part)| *part).collect();
        if self.has_to_start_beside(group) {
            return self.start_on_one_node(group, count, &parts);
        }
        let choices = self.across.choices(group);
        if choices.is_empty() {
            return self.share_by_weight(group, count, &ranked);
        }
        let mut best: Option<(u64, &[usize])> = None;
        let candidates = self.by_domain(&choices, &parts);
        for parts in &candidates {
            let placed = self.share_out(group, count, parts);
            let number: u64 = placed.iter().sum();
            if number == count {
                return 0;
            }
            self.forget(group, &placed);
            if number > best.map_or(0, |(number, _)| number) {
                best = Some((number, parts));
            }
        }
        let placed = best.map(|(_, parts)| self.share_out(group, count, parts));
        count - placed.into_iter().flatten().sum::<u64>()
    }

    /// Places pods of a group in these parts, the best first; how many are left. One that spreads only count levels the parts
    /// of the heaviest pools, and goes to those of lighter ones with what the others don't take.
    fn share_by_weight(&mut self, group: usize, count: u64, ranked: &[(usize, usize)]) -> u64 {
        let parts: Vec<usize> = ranked.iter().map(|(_, part)| *part).collect();
        let mut left = count;
        for (at, (rank, _)) in ranked.iter().enumerate() {
            let is_last = ranked
                .get(at + 1)
                .is_none_or(|(next, _)| next > rank && *rank > 0);
            if left > 0 && is_last && (at + 1 == ranked.len() || !self.across.is_spread(group)) {
                left -= self.share_out(group, left, &parts[..=at]).iter().sum::<u64>();
            }
        }
        left
    }

    /// Parts where a group has any place, each behind its rank: those with rooms for it first, then the heaviest pools' and the
    /// cheapest for it.
    fn ranked(&self, group: usize) -> Vec<(usize, usize)> {
        let problem = self.problem;
        let parts = &self.across.parts;
        let mut ranks: BTreeMap<usize, (usize, u64)> = BTreeMap::new();
        for kind in problem.usable[group].ones() {
            let rank = (1 + problem.kinds[kind].tier, self.cost_of_each(group, kind).0);
            let part = parts.part(Place::Kind(kind));
            let best = ranks.entry(part).or_insert(rank);
            *best = rank.min(*best);
        }
        for (part, rooms) in parts.rooms_of.iter().enumerate() {
            if rooms.iter().any(|room| self.room_capacity(group, *room) > 0) {
                ranks.insert(part, (0, 0));
            }
        }
        let mut ranked: Vec<usize> = ranks.keys().copied().collect();
        ranked.sort_by_key(|part| ranks[part]);
        ranked.into_iter().map(|part| (ranks[&part].0, part)).collect()
    }

    /// Parts by their domains in all of these partitions; those outside are left out.
    fn by_domain(&self, partitions: &[usize], parts: &[usize]) -> Vec<Vec<usize>> {
        let mut known: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
        for part in parts {
            let domains = partitions
                .iter()
                .map(|partition| self.across.parts.domain(*partition, *part));
            let Some(domains) = domains.collect::<Option<Vec<usize>>>() else {
                continue;
            };
            match known.iter_mut().find(|(other, _)| *other == domains) {
                Some((_, parts)) => parts.push(*part),
                None => known.push((domains, vec![*part])),
            }
        }
        known.into_iter().map(|(_, parts)| parts).collect()
    }

    /// Places pods of a group in these parts, the best first, and books them; how many by part.
    fn share_out(&mut self, group: usize, count: u64, ranked: &[usize]) -> Vec<u64> {
        let mut placed = vec![0; self.across.parts.count()];
        let mut stuck = FixedBitSet::with_capacity(placed.len());
        loop {
            let left = count - placed.iter().sum::<u64>();
            let shares = self.across.shares(group, left, ranked, &stuck);
            let mut is_short = false;
            for part in ranked.iter().copied().filter(|part| shares[*part] > 0) {
                let share = shares[part];
                let here = share - self.place_in(group, share, Some(part));
                self.across.place(group, part, here);
                placed[part] += here;
                if here < share {
                    stuck.insert(part);
                    is_short = true;
                }
            }
            while let Some((part, beyond)) = self.across.surplus(group, &placed) {
                self.take_back(group, part, beyond);
                self.across.unplace(group, part, beyond);
                placed[part] -= beyond;
            }
            if !is_short {
                return placed;
            }
        }
    }

    /// Takes back all that a group was given.
    fn forget(&mut self, group: usize, placed: &[u64]) {
        self.take_all_back(group, placed);
        for (part, count) in placed.iter().enumerate() {
            self.across.unplace(group, part, *count);
        }
    }
}
