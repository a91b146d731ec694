//! Betters one filling by swapping single pods: what depth-first search leaves of the room is seldom of use to any pod,
//! yet nearly always some pod on the node can make way for one that is worth more.
//!
//! Under good values all pods are worth about the same for their size, so that no bound tells fillings apart and the best
//! one is the one that leaves least. With twenty groups on the node and a hundred beside it there are two thousand
//! swaps, and the best of them leaves a fiftieth of what was left in each of two resources. A few pods taken out at
//! random start the climb anew.
//!
//! Promises: every filling it hands out fits, in integers; seeded, so the same again.

use super::float;
use crate::lower::rules::resources;

use super::knapsack::Item;
use super::random::Random;

/// Steps of one climb: most end by themselves after five.
const MOST_STEPS: u32 = 30;
/// A swap has to gain such a share of what the filling is worth.
const LEAST_GAIN: f64 = 1e-9;
/// Most pods that a kick takes out.
const KICKED: usize = 3;

/// A filling under change.
pub struct Swaps<'a> {
    items: &'a [Item<'a>],
    /// Items, the most valuable first.
    order: Vec<usize>,
    counts: Vec<u64>,
    rest: Vec<u64>,
    value: f64,
    random: Random,
    looks: u64,
}

impl<'a> Swaps<'a> {
    /// From a filling that fits the room: items with how many of each.
    #[must_use]
    pub fn new(items: &'a [Item<'a>], room: &[u64], filling: &[(usize, u64)], seed: u64) -> Self {
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by(|one, two| {
            let values = items[*two].value.total_cmp(&items[*one].value);
            values.then(one.cmp(two))
        });
        let mut swaps = Self {
            items,
            order,
            counts: vec![0; items.len()],
            rest: room.to_vec(),
            value: 0.0,
            random: Random::new(seed),
            looks: 0,
        };
        for (item, count) in filling {
            swaps.put(*item, *count);
        }
        swaps
    }

    fn put(&mut self, item: usize, count: u64) {
        resources::take(&mut self.rest, self.items[item].request, count);
        self.counts[item] += count;
        self.value += self.items[item].value * float(count);
    }

    fn remove(&mut self, item: usize, count: u64) {
        resources::give(&mut self.rest, self.items[item].request, count);
        self.counts[item] -= count;
        self.value -= self.items[item].value * float(count);
    }

    /// What is there now, and its value.
    #[must_use]
    pub fn filling(&self) -> (f64, Vec<(usize, u64)>) {
        let there = self.counts.iter().copied().enumerate();
        let filling: Vec<(usize, u64)> = there.filter(|(_, count)| *count > 0).collect();
        // Anew, because the running sum gathers errors.
        let value = filling
            .iter()
            .map(|(item, count)| self.items[*item].value * float(*count))
            .sum();
        (value, filling)
    }

    /// Items looked at since the last call.
    pub fn take_looks(&mut self) -> u64 {
        std::mem::take(&mut self.looks)
    }

    /// Adds and swaps the best pod each time, until none gains.
    pub fn climb(&mut self) {
        for _ in 0..MOST_STEPS {
            let least = self.value * LEAST_GAIN;
            let mut best = (least, None, None);
            if let Some(item) = self.best_for(&self.rest.clone(), least) {
                best = (self.items[item].value, None, Some(item));
            }
            for out in 0..self.items.len() {
                if self.counts[out] == 0 {
                    continue;
                }
                let mut room = self.rest.clone();
                resources::give(&mut room, self.items[out].request, 1);
                let lost = self.items[out].value;
                if let Some(item) = self.best_for(&room, lost + best.0) {
                    best = (self.items[item].value - lost, Some(out), Some(item));
                }
            }
            let (_, out, Some(item)) = best else { break };
            if let Some(out) = out {
                self.remove(out, 1);
            }
            self.put(item, 1);
        }
    }

    /// The most valuable item that fits a room and of which there may be one more, if it is worth more than that.
    fn best_for(&mut self, room: &[u64], worth: f64) -> Option<usize> {
        for (looked, item) in self.order.iter().enumerate() {
            let Item {
                value, request, most, ..
            } = &self.items[*item];
            if *value <= worth {
                self.looks += u64::try_from(looked).unwrap_or(u64::MAX) / 2 + 1;
                return None;
            }
            if self.counts[*item] < *most && resources::fits(request, room) {
                self.looks += u64::try_from(looked).unwrap_or(u64::MAX) / 2 + 1;
                return Some(*item);
            }
        }
        self.looks += u64::try_from(self.order.len()).unwrap_or(u64::MAX) / 2;
        None
    }

    /// Takes a few pods out at random and puts others in, in a random order.
    pub fn kick(&mut self) {
        for _ in 0..=self.random.below(KICKED) {
            let there: Vec<usize> = (0..self.items.len())
                .filter(|item| self.counts[*item] > 0)
                .collect();
            if there.is_empty() {
                return;
            }
            let out = there[self.random.below(there.len())];
            self.remove(out, 1);
        }
        for _ in 0..KICKED {
            let item = self.random.below(self.items.len());
            let fits = resources::fits(self.items[item].request, &self.rest);
            if fits && self.counts[item] < self.items[item].most {
                self.put(item, 1);
            }
        }
        self.looks += u64::try_from(self.items.len()).unwrap_or(u64::MAX) / 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_gets_worse_nor_leaves_the_room_and_mostly_gets_better() {
        let mut random = Random::new(17);
        let mut better = 0;
        for case in 0..300 {
            let amount = |random: &mut Random, below: usize| u64::try_from(random.below(below)).unwrap();
            let room: Vec<u64> = (0..2).map(|_| 60 + amount(&mut random, 40)).collect();
            let requests: Vec<Vec<u64>> = (0..12)
                .map(|_| (0..2).map(|_| 5 + amount(&mut random, 25)).collect())
                .collect();
            let items: Vec<Item<'_>> = requests
                .iter()
                .enumerate()
                .map(|(group, request)| Item {
                    group,
                    // About the same for its size, as under good values.
                    value: float(request[0] + request[1]) * (1.0 + 0.05 * random.unit()),
                    request,
                    most: 1 + amount(&mut random, 3),
                })
                .collect();
            // As many as fit of each, in the order that they come.
            let mut rest = room.clone();
            let mut filling = Vec::new();
            for (at, item) in items.iter().enumerate() {
                let count = resources::copies(item.request, &rest).min(item.most);
                resources::take(&mut rest, item.request, count);
                filling.push((at, count));
            }
            let mut swaps = Swaps::new(&items, &room, &filling, case);
            let before = swaps.filling().0;
            swaps.climb();
            let (climbed, _) = swaps.filling();
            assert!(climbed >= before - 1e-9, "case {case}");
            better += usize::from(climbed > before * 1.001);
            for _ in 0..3 {
                swaps.kick();
                swaps.climb();
                let (value, filling) = swaps.filling();
                let mut rest = room.clone();
                let mut worth = 0.0;
                for (at, count) in &filling {
                    assert!(resources::copies(items[*at].request, &rest) >= *count);
                    assert!(*count <= items[*at].most);
                    resources::take(&mut rest, items[*at].request, *count);
                    worth += items[*at].value * float(*count);
                }
                assert!((worth - value).abs() < 1e-6, "case {case}");
            }
            assert!(swaps.take_looks() > 0 && swaps.take_looks() == 0);
        }
        assert!(better > 150, "{better} of 300");
    }
}
