//! The most valuable filling of one kind of node, and a value that no filling of it exceeds.
//!
//! Depth first over pods in the order of value for what they take of the room, with the fractional knapsack under the
//! [`super::multipliers`] as bound, until a number of nodes of the tree is used up. What fits is decided in integers.
//!
//! The bound is computed in floats. All its terms are sums, products and quotients of numbers that aren't negative,
//! and a difference enters only as what is left of the room's worth, whose error is a share of the worth spent before
//! it at no lower rate; a few thousand operations at 2⁻⁵³ each stay far below [`OUTWARD`], by which it is raised.
//!
//! Papers: papers.md, 1 and 9.

use super::float;
use std::collections::BTreeMap;

use crate::lower::rules::resources;

use super::Filling;
use super::effort::Effort;
use super::multipliers::Relaxation;
use super::swaps::Swaps;

/// Factor by which an upper bound is raised so that no rounding makes it too low.
pub const OUTWARD: f64 = 1.0 + 1e-9;
/// Differences below this share of the best value aren't looked for; the bound says so.
pub const CLOSE: f64 = 1.0 + 1e-7;
/// Nodes of the tree between two looks at the effort: some ten microseconds each.
const ASK_EVERY: u64 = 32;
/// Looks of the search that take the time of one unit of effort; a swap's look takes twice as long.
const LOOKS_A_UNIT: u64 = 10;

/// Pods of one group that may go on the node.
#[derive(Clone, Debug)]
pub struct Item<'a> {
    /// Which group.
    pub group: usize,
    /// What one of them is worth, more than nothing.
    pub value: f64,
    /// What one of them asks for; at least one fits.
    pub request: &'a [u64],
    /// How many there may be at most, at least one.
    pub most: u64,
}

/// Groups that may not be on a node together, by group; each pair stands at both. Caps on the pods of some groups need no
/// word here: they are further columns of room and requests.
pub type Conflicts = BTreeMap<usize, Vec<usize>>;

/// What is asked of a search.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// Only fillings worth more are of interest.
    pub floor: f64,
    /// Nodes of the tree after which it ends.
    pub nodes: u64,
    /// How many fillings to hand out.
    pub keep: usize,
    /// How often to better the first one by swaps from another start, and the seed of it.
    pub kicks: (u32, u64),
}

/// What is known of a knapsack.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Fillings worth more than asked for, with their values, the best first.
    pub fillings: Vec<(f64, Filling)>,
    /// No filling is worth more.
    pub upper: f64,
}

impl Answer {
    /// Whether a filling that is worth more than what was asked for and found isn't ruled out.
    #[must_use]
    pub fn is_open(&self, floor: f64) -> bool {
        let best = self.fillings.first().map_or(0.0, |(value, _)| *value);
        // Sums of the same pods in another order differ by less.
        self.upper > best.max(floor) * CLOSE * CLOSE
    }
}

/// An item in the order of the search.
pub(super) struct Ranked {
    pub(super) item: usize,
    /// Its share of the room's worth.
    pub(super) size: f64,
    density: f64,
}

/// Items in the order of value for what they take of the room.
pub(super) fn ranked(multipliers: &[f64], items: &[Item<'_>]) -> Vec<Ranked> {
    let each = items.iter().enumerate();
    let mut ranked: Vec<Ranked> = each
        .map(|(item, Item { value, request, .. })| {
            let size = worth(multipliers, request);
            let density = if size > 0.0 { value / size } else { f64::INFINITY };
            Ranked { item, size, density }
        })
        .collect();
    ranked.sort_unstable_by(|one, two| (two.density.total_cmp(&one.density)).then(one.item.cmp(&two.item)));
    ranked
}

/// A choice on the path from the root: so many of an item, and what was there before it.
struct Choice {
    rank: usize,
    count: u64,
    value: f64,
}

/// The search, with its buffers.
#[derive(Debug, Default)]
pub struct Knapsack {
    relaxation: Relaxation,
}

/// The Lagrangian bound of some multipliers on the worth of a room: valid whatever they are, as long as none is negative.
#[must_use]
pub fn quick_bound(multipliers: &[f64], room: &[u64], items: &[Item<'_>]) -> f64 {
    let paid = |amounts: &[u64]| -> f64 {
        let parts = amounts.iter().zip(multipliers);
        parts.map(|(amount, price)| float(*amount) * price).sum()
    };
    let mut sum = paid(room);
    for item in items {
        sum += float(item.most) * (item.value - paid(item.request)).max(0.0);
    }
    // The difference above loses a share of the value at most, not of what is left.
    let lost: f64 = items.iter().map(|item| float(item.most) * item.value).sum();
    sum * OUTWARD + lost * 1e-14
}

impl Knapsack {
    /// Multipliers of a room's resources, a base unit each.
    pub fn multipliers(&mut self, room: &[u64], items: &[Item<'_>]) -> Vec<f64> {
        let values: Vec<f64> = items.iter().map(|item| item.value).collect();
        let most: Vec<f64> = items.iter().map(|item| float(item.most)).collect();
        let mut weights = Vec::with_capacity(items.len() * room.len());
        for item in items {
            let shares = item.request.iter().zip(room);
            weights.extend(shares.map(|(request, room)| float(*request) / float((*room).max(1))));
        }
        let mut multipliers = self.relaxation.solve(room.len(), &values, &weights, &most);
        for (multiplier, room) in multipliers.iter_mut().zip(room) {
            *multiplier /= float((*room).max(1));
        }
        multipliers
    }

    /// The best fillings worth more than asked for, as far as so many nodes of the tree tell.
    #[must_use]
    pub fn search(
        multipliers: &[f64],
        room: &[u64],
        items: &[Item<'_>],
        conflicts: &Conflicts,
        ask: Ask,
        effort: &mut Effort<'_>,
    ) -> Answer {
        let mut search = Search::new(multipliers, room, items, conflicts, ask);
        search.descend(0);
        if conflicts.is_empty() && ask.kicks.0 > 0 {
            search.swap(room);
        }
        for node in 0..ask.nodes {
            if !search.step_back() {
                break;
            }
            if node % ASK_EVERY == 0 {
                effort.spend(std::mem::take(&mut search.looks) / LOOKS_A_UNIT);
                if effort.is_used_up() {
                    break;
                }
            }
        }
        effort.spend(search.looks / LOOKS_A_UNIT);
        search.answer()
    }
}

struct Search<'a> {
    multipliers: &'a [f64],
    items: &'a [Item<'a>],
    ranked: Vec<Ranked>,
    path: Vec<Choice>,
    /// What is left of the room before each choice of the path, and after the last, one row after the other.
    rests: Vec<u64>,
    value: f64,
    ask: Ask,
    best: f64,
    /// The most valuable fillings so far, as items, the best first.
    kept: Vec<(f64, Vec<(usize, u64)>)>,
    /// By item: those that it may not be beside; empty where there are no conflicts at all.
    beside: Vec<Vec<usize>>,
    /// By item: how many on the path it may not be beside.
    blocked: Vec<u32>,
    looks: u64,
}

/// The items that each item may not be beside.
fn beside(items: &[Item<'_>], conflicts: &Conflicts) -> Vec<Vec<usize>> {
    if conflicts.is_empty() {
        return Vec::new();
    }
    let place: BTreeMap<usize, usize> = (items.iter().enumerate())
        .map(|(at, item)| (item.group, at))
        .collect();
    let others = |item: &Item<'_>| {
        let groups = conflicts.get(&item.group).into_iter().flatten();
        groups.filter_map(|group| place.get(group).copied()).collect()
    };
    items.iter().map(others).collect()
}

impl<'a> Search<'a> {
    fn new(
        multipliers: &'a [f64],
        room: &[u64],
        items: &'a [Item<'a>],
        conflicts: &Conflicts,
        ask: Ask,
    ) -> Self {
        Self {
            multipliers,
            items,
            ranked: ranked(multipliers, items),
            path: Vec::new(),
            rests: room.to_vec(),
            value: 0.0,
            ask,
            best: 0.0,
            kept: Vec::new(),
            beside: beside(items, conflicts),
            blocked: vec![0; items.len()],
            looks: 0,
        }
    }

    fn rest(&self) -> &[u64] {
        &self.rests[self.rests.len() - self.multipliers.len()..]
    }

    /// Takes as many as fit of each item from here on, then looks whether that is among the best.
    fn descend(&mut self, from: usize) {
        for rank in from..self.ranked.len() {
            let at = self.ranked[rank].item;
            if self.blocked[at] > 0 {
                continue;
            }
            let item = &self.items[at];
            let count = resources::copies(item.request, self.rest()).min(item.most);
            if count > 0 {
                self.choose(rank, count);
            }
        }
        self.looks += u64::try_from(self.ranked.len() - from).unwrap_or(u64::MAX);
        if self.is_worth_keeping(self.value) {
            self.keep(self.value, self.filling());
        }
        self.best = self.best.max(self.value);
    }

    fn filling(&self) -> Vec<(usize, u64)> {
        let parts = self.path.iter();
        let named = parts.map(|choice| (self.ranked[choice.rank].item, choice.count));
        let mut filling: Vec<(usize, u64)> = named.collect();
        filling.sort_unstable();
        filling
    }

    fn is_worth_keeping(&self, value: f64) -> bool {
        let worst = self.kept.last().map_or(0.0, |(value, _)| *value);
        value > self.ask.floor && (self.kept.len() < self.ask.keep || value > worst)
    }

    fn keep(&mut self, value: f64, filling: Vec<(usize, u64)>) {
        self.best = self.best.max(value);
        if self.kept.iter().any(|(_, other)| *other == filling) {
            return;
        }
        let place = self.kept.partition_point(|(other, _)| *other >= value);
        self.kept.insert(place, (value, filling));
        self.kept.truncate(self.ask.keep);
    }

    /// Betters the filling at hand by swaps, from several starts.
    fn swap(&mut self, room: &[u64]) {
        let (kicks, seed) = self.ask.kicks;
        let mut swaps = Swaps::new(self.items, room, &self.filling(), seed);
        for _ in 0..kicks {
            swaps.climb();
            let (value, filling) = swaps.filling();
            if self.is_worth_keeping(value) {
                self.keep(value, filling);
            }
            swaps.kick();
        }
        self.looks += 2 * swaps.take_looks();
    }

    fn choose(&mut self, rank: usize, count: u64) {
        let at = self.ranked[rank].item;
        let item = &self.items[at];
        let start = self.rests.len();
        self.rests.extend_from_within(start - self.multipliers.len()..);
        resources::take(&mut self.rests[start..], item.request, count);
        self.path.push(Choice {
            rank,
            count,
            value: self.value,
        });
        self.value += item.value * float(count);
        if !self.beside.is_empty() {
            for other in &self.beside[at] {
                self.blocked[*other] += 1;
            }
        }
    }

    /// Takes the last choice back.
    fn undo(&mut self) -> Option<Choice> {
        let choice = self.path.pop()?;
        self.rests.truncate(self.rests.len() - self.multipliers.len());
        self.value = choice.value;
        if !self.beside.is_empty() {
            for other in &self.beside[self.ranked[choice.rank].item] {
                self.blocked[*other] -= 1;
            }
        }
        Some(choice)
    }

    /// Goes to the next filling that may be better; false when there is none.
    fn step_back(&mut self) -> bool {
        while let Some(Choice { rank, count, .. }) = self.undo() {
            if self.bound_with(rank, count - 1) <= self.enough() {
                // Even fewer of it, with all of the rest filled at the next rate, is no better.
                continue;
            }
            if count > 1 {
                self.choose(rank, count - 1);
            }
            if self.bound_with_rest(rank + 1) > self.enough() {
                self.descend(rank + 1);
                return true;
            }
            if count == 1 {
                continue;
            }
            return true;
        }
        false
    }

    /// What a bound must exceed to be looked at.
    fn enough(&self) -> f64 {
        self.best.max(self.ask.floor) * CLOSE
    }

    /// The most that is possible with so many of an item after the path, or fewer.
    fn bound_with(&mut self, rank: usize, count: u64) -> f64 {
        let ranked = &self.ranked[rank];
        let spent = ranked.size * float(count);
        let left = (worth(self.multipliers, self.rest()) - spent).max(0.0);
        let own = self.items[ranked.item].value * float(count);
        let (more, looks) = self.fractional(rank + 1, left, None);
        self.looks += looks;
        (self.value + own + more) * OUTWARD
    }

    fn bound_with_rest(&mut self, from: usize) -> f64 {
        let left = worth(self.multipliers, self.rest());
        let (more, looks) = self.fractional(from, left, Some(self.rest()));
        self.looks += looks;
        (self.value + more) * OUTWARD
    }

    /// The fractional knapsack of the items from a rank on, and how many it looked at; with a rest, of those that
    /// still may be added to the path and fit it.
    fn fractional(&self, from: usize, mut left: f64, rest: Option<&[u64]>) -> (f64, u64) {
        let (mut sum, mut looks) = (0.0, 1);
        for ranked in &self.ranked[from..] {
            looks += 1;
            let item = &self.items[ranked.item];
            let out = |rest| self.blocked[ranked.item] > 0 || !resources::fits(item.request, rest);
            if rest.is_some_and(out) {
                continue;
            }
            let most = float(item.most);
            if ranked.size <= 0.0 {
                sum += item.value * most;
                continue;
            }
            let count = (left / ranked.size).min(most);
            sum += item.value * count;
            left -= ranked.size * count;
            if left <= 0.0 {
                break;
            }
        }
        (sum, looks)
    }

    /// What is known now: all that the path leaves open counts for the upper bound.
    fn answer(mut self) -> Answer {
        let mut upper = self.enough();
        while let Some(choice) = self.undo() {
            upper = upper.max(self.bound_with(choice.rank, choice.count - 1));
        }
        let groups = |(value, filling): &(f64, Vec<(usize, u64)>)| {
            let parts = filling.iter();
            let named = parts.map(|(item, count)| (self.items[*item].group, *count));
            let mut filling: Filling = named.collect();
            filling.sort_unstable();
            (*value, filling)
        };
        Answer {
            fillings: self.kept.iter().map(groups).collect(),
            upper: upper * OUTWARD,
        }
    }
}

/// What amounts are worth under multipliers.
pub(super) fn worth(multipliers: &[f64], amounts: &[u64]) -> f64 {
    let parts = amounts.iter().zip(multipliers);
    parts.map(|(amount, price)| float(*amount) * price).sum()
}

#[cfg(test)]
#[path = "knapsack_tests.rs"]
mod tests;
