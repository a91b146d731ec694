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

use crate::lower::rules::resources;

use super::Filling;
use super::multipliers::Relaxation;

/// Factor by which an upper bound is raised so that no rounding makes it too low.
pub const OUTWARD: f64 = 1.0 + 1e-9;
/// Differences below this share of the best value aren't looked for; the bound says so.
const CLOSE: f64 = 1.0 + 1e-7;

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

/// What is known of a knapsack.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The best filling found; empty where none is worth more than asked for.
    pub filling: Filling,
    /// Its value.
    pub value: f64,
    /// No filling is worth more.
    pub upper: f64,
    /// How many times an item was looked at.
    pub looks: u64,
}

/// An item in the order of the search.
struct Ranked {
    item: usize,
    /// Its share of the room's worth.
    size: f64,
    density: f64,
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

#[expect(
    clippy::cast_precision_loss,
    reason = "bounds are raised by more than this loses"
)]
fn float(amount: u64) -> f64 {
    amount as f64
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

    /// The best filling worth more than `floor`, as far as so many nodes of the tree tell.
    #[must_use]
    pub fn search(multipliers: &[f64], room: &[u64], items: &[Item<'_>], floor: f64, nodes: u64) -> Answer {
        let mut search = Search::new(multipliers, room, items, floor);
        search.descend(0);
        for _ in 0..nodes {
            if !search.step_back() {
                break;
            }
        }
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
    /// Fillings below this are of no interest.
    floor: f64,
    best: f64,
    best_filling: Vec<(usize, u64)>,
    looks: u64,
}

impl<'a> Search<'a> {
    fn new(multipliers: &'a [f64], room: &[u64], items: &'a [Item<'a>], floor: f64) -> Self {
        let mut ranked: Vec<Ranked> = items
            .iter()
            .enumerate()
            .map(|(item, Item { value, request, .. })| {
                let size = worth(multipliers, request);
                let density = if size > 0.0 { value / size } else { f64::INFINITY };
                Ranked { item, size, density }
            })
            .collect();
        ranked
            .sort_unstable_by(|one, two| (two.density.total_cmp(&one.density)).then(one.item.cmp(&two.item)));
        Self {
            multipliers,
            items,
            ranked,
            path: Vec::new(),
            rests: room.to_vec(),
            value: 0.0,
            floor,
            best: 0.0,
            best_filling: Vec::new(),
            looks: 0,
        }
    }

    fn rest(&self) -> &[u64] {
        &self.rests[self.rests.len() - self.multipliers.len()..]
    }

    /// Takes as many as fit of each item from here on, then looks whether that is the best.
    fn descend(&mut self, from: usize) {
        for rank in from..self.ranked.len() {
            let item = &self.items[self.ranked[rank].item];
            let count = resources::copies(item.request, self.rest()).min(item.most);
            if count > 0 {
                self.choose(rank, count);
            }
        }
        self.looks += u64::try_from(self.ranked.len() - from).unwrap_or(u64::MAX);
        if self.value > self.best {
            self.best = self.value;
            self.best_filling = self
                .path
                .iter()
                .map(|choice| (self.ranked[choice.rank].item, choice.count))
                .collect();
        }
    }

    fn choose(&mut self, rank: usize, count: u64) {
        let item = &self.items[self.ranked[rank].item];
        let start = self.rests.len();
        self.rests.extend_from_within(start - self.multipliers.len()..);
        resources::take(&mut self.rests[start..], item.request, count);
        self.path.push(Choice {
            rank,
            count,
            value: self.value,
        });
        self.value += item.value * float(count);
    }

    /// Goes to the next filling that may be better; false when there is none.
    fn step_back(&mut self) -> bool {
        while let Some(choice) = self.path.pop() {
            self.rests.truncate(self.rests.len() - self.multipliers.len());
            let Choice { rank, count, value } = choice;
            self.value = value;
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
        self.best.max(self.floor) * CLOSE
    }

    /// The most that is possible with so many of an item after the path, or fewer.
    fn bound_with(&self, rank: usize, count: u64) -> f64 {
        let ranked = &self.ranked[rank];
        let spent = ranked.size * float(count);
        let left = (worth(self.multipliers, self.rest()) - spent).max(0.0);
        let own = self.items[ranked.item].value * float(count);
        (self.value + own + self.fractional(rank + 1, left, None)) * OUTWARD
    }

    fn bound_with_rest(&mut self, from: usize) -> f64 {
        let left = worth(self.multipliers, self.rest());
        self.looks += 4;
        (self.value + self.fractional(from, left, Some(self.rest()))) * OUTWARD
    }

    /// The fractional knapsack of the items from a rank on; with a rest, of those that still fit it.
    fn fractional(&self, from: usize, mut left: f64, rest: Option<&[u64]>) -> f64 {
        let mut sum = 0.0;
        for ranked in &self.ranked[from..] {
            let item = &self.items[ranked.item];
            if rest.is_some_and(|rest| !resources::fits(item.request, rest)) {
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
        sum
    }

    /// What is known now: all that the path leaves open counts for the upper bound.
    fn answer(mut self) -> Answer {
        let mut upper = self.enough();
        while let Some(choice) = self.path.pop() {
            self.rests.truncate(self.rests.len() - self.multipliers.len());
            self.value = choice.value;
            upper = upper.max(self.bound_with(choice.rank, choice.count - 1));
        }
        let mut filling: Filling = self
            .best_filling
            .iter()
            .map(|(item, count)| (self.items[*item].group, *count))
            .collect();
        filling.sort_unstable();
        Answer {
            filling,
            value: self.best,
            upper: upper * OUTWARD,
            looks: self.looks,
        }
    }
}

fn worth(multipliers: &[f64], amounts: &[u64]) -> f64 {
    let parts = amounts.iter().zip(multipliers);
    parts.map(|(amount, price)| float(*amount) * price).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::random::Random;

    /// The best value by trying everything.
    fn by_force(items: &[Item<'_>], room: &[u64]) -> f64 {
        let Some((item, others)) = items.split_first() else {
            return 0.0;
        };
        let mut best = 0.0_f64;
        for count in 0..=resources::copies(item.request, room).min(item.most) {
            let mut rest = room.to_vec();
            resources::take(&mut rest, item.request, count);
            best = best.max(item.value * float(count) + by_force(others, &rest));
        }
        best
    }

    fn amount(random: &mut Random, below: usize) -> u64 {
        u64::try_from(random.below(below)).unwrap()
    }

    #[test]
    fn it_finds_the_best_and_its_bounds_hold() {
        let mut random = Random::new(11);
        let mut knapsack = Knapsack::default();
        let mut short = 0;
        for case in 0..1_500 {
            let columns = 1 + random.below(3);
            let room: Vec<u64> = (0..columns).map(|_| 5 + amount(&mut random, 25)).collect();
            let requests: Vec<Vec<u64>> = (0..1 + random.below(6))
                .map(|_| (0..columns).map(|_| amount(&mut random, 9)).collect())
                .collect();
            let items: Vec<Item<'_>> = requests
                .iter()
                .enumerate()
                .filter(|(_, request)| resources::fits(request, &room))
                .map(|(group, request)| Item {
                    group,
                    value: 0.05 + random.unit(),
                    request,
                    most: (1 + amount(&mut random, 4)).min(resources::copies(request, &room)),
                })
                .collect();
            let best = by_force(&items, &room);
            let mut multipliers = knapsack.multipliers(&room, &items);
            if case % 3 == 0 {
                // Any that aren't negative have to do.
                multipliers = (0..columns).map(|_| random.unit()).collect();
            }
            assert!(
                quick_bound(&multipliers, &room, &items) >= best,
                "case {case}: the quick bound is below {best}"
            );
            let whole = Knapsack::search(&multipliers, &room, &items, 0.0, u64::MAX);
            assert!(
                whole.value >= best / CLOSE - 1e-12 && whole.value <= best * CLOSE + 1e-12,
                "case {case}: {} instead of {best}",
                whole.value
            );
            let cut = Knapsack::search(&multipliers, &room, &items, 0.0, amount(&mut random, 4));
            let floored = Knapsack::search(&multipliers, &room, &items, 0.9 * best, 2);
            for answer in [&whole, &cut, &floored] {
                assert!(answer.upper >= best, "case {case}: {} below {best}", answer.upper);
                let mut rest = room.clone();
                let mut value = 0.0;
                for (group, count) in &answer.filling {
                    let item = items.iter().find(|item| item.group == *group).unwrap();
                    assert!(resources::copies(item.request, &rest) >= *count && *count <= item.most);
                    resources::take(&mut rest, item.request, *count);
                    value += item.value * float(*count);
                }
                assert!((value - answer.value).abs() < 1e-9, "case {case}");
            }
            short += usize::from(cut.value < best / CLOSE - 1e-12);
        }
        assert!(short > 0, "no search was ever cut short of the best");
    }
}
