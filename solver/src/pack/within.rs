//! Every filling that is worth its cost, or nearly: all that a packing near the bound can consist of.
//!
//! Values of pods under which no filling is worth more than its kind costs bound every packing from below by what all
//! pods are worth. What a node of a packing costs more than the pods on it are worth is lost, and the losses of its
//! nodes sum up to what it is above the bound. So a packing that is above the bound by a slack is made of fillings none
//! of which loses more, and where the slack is small they are few: a few thousand where every node has to be full.
//!
//! Looks at the fillings of a kind depth-first in the order of value for size, without those branches whose relaxation
//! loses too much. Not for problems with conflicts on a node, which that order knows nothing of.
//!
//! Papers: papers.md, 1 and 9.

use super::Filling;
use super::effort::Effort;
use super::float;
use super::generator::Generator;
use super::knapsack::{Item, OUTWARD, Ranked, ranked, worth};
use super::master::Pattern;
use super::valuation::Valuation;
use crate::lower::rules::resources;

/// The share of a kind's cost by which a filling may lose more: sums of floats in another order differ by far less, and no
/// price that people write by so little.
const ROUNDING: f64 = 1e-7;
/// Looks at a pod that take the time of one unit of effort.
const LOOKS_A_UNIT: u64 = 10;
/// Looks between two counts of the effort: a tenth of a millisecond.
const COUNT_EVERY: u64 = 20_000;

impl Generator<'_> {
    /// All fillings that lose no more than a slack in micro-dollars, of kinds than which no cheaper one holds them; `None`
    /// where there are more than `most`, a value is no number, or the effort is used up.
    pub fn within(
        &mut self,
        valuation: &Valuation,
        left: &[u64],
        slack: f64,
        most: usize,
        effort: &mut Effort<'_>,
    ) -> Option<Vec<Pattern>> {
        if !self.rules.conflicts.is_empty() || !valuation.values.iter().all(|value| value.is_finite()) {
            return None;
        }
        let mut patterns = Vec::new();
        for candidate in &self.candidates {
            let groups = candidate.groups.iter();
            let items: Vec<Item<'_>> = groups
                .filter(|(group, _)| left[*group] > 0)
                .map(|(group, copies)| Item {
                    group: *group,
                    value: valuation.values[*group].max(0.0),
                    request: &self.requests[*group],
                    most: left[*group].min(*copies),
                })
                .collect();
            let valued: Vec<Item<'_>> = items.iter().filter(|item| item.value > 0.0).cloned().collect();
            let multipliers = self.knapsack.multipliers(&candidate.room, &valued);
            let cost = valuation.costs[candidate.kind];
            let ranked = ranked(&multipliers, &items);
            let mut walk = Walk {
                multipliers: &multipliers,
                least: least(&ranked, &items, &candidate.room),
                ranked,
                items: &items,
                floor: cost - slack - cost * ROUNDING,
                most: most - patterns.len(),
                path: Vec::new(),
                rests: candidate.room.clone(),
                found: Vec::new(),
                looks: 0,
            };
            if !walk.on(0, 0.0, effort) {
                return None;
            }
            effort.spend(walk.looks / LOOKS_A_UNIT);
            let found = std::mem::take(&mut walk.found).into_iter();
            let settled = found.map(|filling| self.settled(candidate.kind, filling, &self.nothing_launched));
            patterns.extend(settled.filter(|pattern| pattern.kind == candidate.kind));
        }
        Some(patterns)
    }
}

/// By rank: the least that any item from there on asks for of each resource.
fn least(ranked: &[Ranked], items: &[Item<'_>], room: &[u64]) -> Vec<Vec<u64>> {
    let mut least = vec![room.to_vec(); ranked.len()];
    let mut here = room.to_vec();
    for (rank, Ranked { item, .. }) in ranked.iter().enumerate().rev() {
        for (least, request) in here.iter_mut().zip(items[*item].request) {
            *least = (*least).min(*request);
        }
        least[rank].clone_from(&here);
    }
    least
}

/// A walk over the fillings of one kind.
struct Walk<'a> {
    multipliers: &'a [f64],
    items: &'a [Item<'a>],
    ranked: Vec<Ranked>,
    /// By rank: the least that any item from there on asks for of each resource.
    least: Vec<Vec<u64>>,
    /// What a filling has to be worth.
    floor: f64,
    most: usize,
    /// Items on the node, with how many of each.
    path: Vec<(usize, u64)>,
    /// What is left of the room before each of them, and after the last, one row after the other.
    rests: Vec<u64>,
    found: Vec<Filling>,
    looks: u64,
}

impl Walk<'_> {
    fn rest(&self) -> &[u64] {
        &self.rests[self.rests.len() - self.multipliers.len()..]
    }

    /// Over all fillings that begin with the path and go on with items from a rank on; false when it has to end.
    fn on(&mut self, from: usize, value: f64, effort: &mut Effort<'_>) -> bool {
        if value >= self.floor && !self.path.is_empty() {
            if self.found.len() >= self.most {
                return false;
            }
            self.found.push(self.filling());
        }
        self.looks += 1;
        if self.looks >= COUNT_EVERY {
            effort.spend(std::mem::take(&mut self.looks) / LOOKS_A_UNIT);
            if effort.is_used_up() {
                return false;
            }
        }
        // Most branches end here: what is left of the room is of no use to any pod.
        if self
            .least
            .get(from)
            .is_none_or(|least| !resources::fits(least, self.rest()))
        {
            return true;
        }
        let left = worth(self.multipliers, self.rest());
        for rank in from..self.ranked.len() {
            self.looks += 1;
            let at = self.ranked[rank].item;
            let item = &self.items[at];
            let copies = resources::copies(item.request, self.rest()).min(item.most);
            if copies == 0 {
                continue;
            }
            if value + self.fractional(rank, left) < self.floor {
                break;
            }
            for count in (1..=copies).rev() {
                let start = self.rests.len();
                self.rests.extend_from_within(start - self.multipliers.len()..);
                resources::take(&mut self.rests[start..], item.request, count);
                self.path.push((at, count));
                let goes_on = self.on(rank + 1, value + item.value * float(count), effort);
                self.path.pop();
                self.rests.truncate(start);
                if !goes_on {
                    return false;
                }
            }
        }
        true
    }

    /// The most that items from a rank on may be worth in so much of the room's worth.
    fn fractional(&mut self, from: usize, mut left: f64) -> f64 {
        let mut sum = 0.0;
        for Ranked { item, size, .. } in &self.ranked[from..] {
            self.looks += 1;
            let Item { value, most, .. } = &self.items[*item];
            if *size <= 0.0 {
                sum += value * float(*most);
                continue;
            }
            let count = (left / size).min(float(*most));
            sum += value * count;
            left -= size * count;
            if left <= 0.0 {
                break;
            }
        }
        sum * OUTWARD
    }

    fn filling(&self) -> Filling {
        let parts = self.path.iter();
        let named = parts.map(|(item, count)| (self.items[*item].group, *count));
        let mut filling: Filling = named.collect();
        filling.sort_unstable();
        filling
    }
}

#[cfg(test)]
#[path = "within_tests.rs"]
mod tests;
