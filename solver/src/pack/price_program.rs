//! Suggests resource prices for [`super::lower_bound`]: the dual program with a price vector for each kind.
//!
//! maximise Σ d·μ + Σ r·σ − Σ n·s  subject to  λ_b·W_b + Σ σ − s ≤ c_b for each block b over the covers that it is in,
//! μ_i ≤ λ_b·w_i for each item i that may use it.
//!
//! A block is a kind of node, or existing nodes melted into one volume, which costs nothing. What is limited in number
//! may hold more worth than it costs: s for each of its n. A cover is a set of blocks of which r are needed at least,
//! however few parts of them would do. Written out there is a row for each item and block. Few of
//! them bind: the program starts with the few that look tight and grows by those that its answer breaks. For values μ
//! the cheapest λ_b is a program of its own with a handful of rows, which says as well which items would be worth more
//! than the block costs.
//!
//! Nothing rests on the answer: any λ gives a valid bound, a good one a close bound. So rounds end when time is up; one
//! round takes hundredths of a second at most.

use std::collections::BTreeSet;
use std::time::Duration;

use fixedbitset::FixedBitSet;

use crate::lp::{Program, Row, maximise};

use super::effort::Effort;
use super::multipliers::Relaxation;

/// Times that the program is solved; the last few hardly raise the bound.
const ROUNDS: usize = 12;
/// Pairs of item and block beyond which one λ for all blocks has to do: looking at every pair takes too long.
const MOST_PAIRS: usize = 4_000_000;
/// Distance from the program's optimum at which it is good enough.
const CLOSE_ENOUGH: f64 = 5e-4;
/// By how much a block may be exceeded without being looked at again.
const EXCEEDED: f64 = 1e-5;
/// How many times as long as the last round the next one may take: programs grow from round to round.
const LONGER: u32 = 2;
/// By how much the first values are raised, so that the blocks that come into question stand out.
const RAISED: f64 = 1.01;

/// Pods that are priced alike.
#[derive(Clone, Debug)]
pub struct Item {
    /// What one asks for.
    pub request: Vec<f64>,
    /// How many there are.
    pub count: f64,
    /// Blocks that it may use.
    pub blocks: FixedBitSet,
}

/// Where pods go: a kind of node or existing nodes taken together.
#[derive(Clone, Debug)]
pub struct Block {
    /// What it has.
    pub room: Vec<f64>,
    /// What one costs, as a share of the dearest kind.
    pub cost: f64,
    /// What it draws on, where it is limited in number.
    pub supply: Option<usize>,
}

/// Blocks of which a number is needed at least.
#[derive(Clone, Debug)]
pub struct Cover {
    /// Which blocks.
    pub blocks: FixedBitSet,
    /// How many of them.
    pub least: f64,
}

/// What came of it, in shares of the dearest kind.
#[derive(Clone, Debug)]
pub struct Suggestion {
    /// By block: a price for a unit of each resource.
    pub prices: Vec<Vec<f64>>,
    /// By cover: what one of its blocks is worth for being there.
    pub covers: Vec<f64>,
}

/// The program.
#[derive(Clone, Debug)]
pub struct PriceProgram {
    /// What is priced.
    pub items: Vec<Item>,
    /// What bounds the prices.
    pub blocks: Vec<Block>,
    /// How many there are of each supply.
    pub supplies: Vec<f64>,
    /// What is needed at least.
    pub covers: Vec<Cover>,
}

/// Worths of the blocks' resources and of the covers.
#[derive(Clone)]
struct Worths {
    /// By block: what all of each resource of one node is worth, so that λ·W is their sum.
    shares: Vec<Vec<f64>>,
    /// By cover.
    covers: Vec<f64>,
}

/// What the items' values are worth on each block.
struct Look {
    /// By block, as in [`Worths`].
    shares: Vec<Vec<f64>>,
    /// Pairs of block and item that the values break.
    broken: Vec<(usize, usize)>,
}

/// An answer of the program over the pairs so far.
struct Answer {
    optimum: f64,
    values: Vec<f64>,
    /// By supply: by how much its blocks may be exceeded.
    savings: Vec<f64>,
    covers: Vec<f64>,
}

impl PriceProgram {
    /// Prices that are feasible but for rounding, and near the best if there is time for it.
    #[must_use]
    pub fn suggest(&self, effort: &mut Effort<'_>) -> Suggestion {
        let start = self.start();
        let shares = |block: &Block| -> Vec<f64> {
            block
                .room
                .iter()
                .zip(&start)
                .map(|(room, price)| room * price)
                .collect()
        };
        let worths = Worths {
            shares: self.blocks.iter().map(shares).collect(),
            covers: vec![0.0; self.covers.len()],
        };
        let mut best = (f64::NEG_INFINITY, worths);
        if self.items.len() * self.blocks.len() <= MOST_PAIRS && !effort.is_late() {
            best.0 = self.value(&best.1);
            self.refine(&start, &mut best, effort);
        }
        let Worths { shares, covers } = best.1;
        let price = |(share, room): (&f64, &f64)| if *room > 0.0 { share / room } else { 0.0 };
        let prices =
            |(shares, block): (&Vec<f64>, &Block)| shares.iter().zip(&block.room).map(price).collect();
        Suggestion {
            prices: shares.iter().zip(&self.blocks).map(prices).collect(),
            covers,
        }
    }

    /// One price for each resource that serves every block; all zero where there is none.
    #[must_use]
    pub fn start(&self) -> Vec<f64> {
        let columns = self.blocks.first().map_or(0, |block| block.room.len());
        let unit: Vec<f64> = (0..columns)
            .map(|at| self.blocks.iter().map(|block| block.room[at]).fold(1.0, f64::max))
            .collect();
        let total = self.pods();
        let mut program = Program {
            objective: vec![0.0; columns],
            rows: Vec::new(),
        };
        let buyable = |block: usize| self.is_unlimited(block);
        for item in self.items.iter().filter(|item| item.blocks.ones().any(buyable)) {
            for (at, request) in item.request.iter().enumerate() {
                program.objective[at] += item.count / total * request / unit[at];
            }
        }
        for block in &self.blocks {
            match block.supply {
                None => {
                    let terms = (0..columns).filter(|at| block.room[*at] > 0.0);
                    program.rows.push(Row {
                        terms: terms.map(|at| (at, block.room[at] / unit[at])).collect(),
                        limit: block.cost,
                    });
                }
                Some(supply) if block.cost == 0.0 => {
                    let number = self.supplies[supply];
                    for (at, room) in block.room.iter().enumerate() {
                        program.objective[at] -= number * room / unit[at] / total;
                    }
                }
                Some(_) => {}
            }
        }
        let answer = maximise(&program).unwrap_or_else(|| vec![0.0; columns]);
        answer
            .iter()
            .zip(unit)
            .map(|(price, unit)| price.max(0.0) / unit)
            .collect()
    }

    /// Solves with ever more pairs and keeps the best prices seen. Counts no effort, since rounds are few; asks the quota
    /// before each of them.
    fn refine(&self, start: &[f64], best: &mut (f64, Worths), effort: &mut Effort<'_>) {
        let mut relaxation = Relaxation::default();
        let worth = |item: &Item| dot(&item.request, start) * RAISED;
        let mut values: Vec<f64> = self.items.iter().map(worth).collect();
        let mut pairs: BTreeSet<(usize, usize)> = self.alone().collect();
        let mut shares = best.1.shares.clone();
        let mut last = Duration::ZERO;
        for round in 0..=ROUNDS {
            if effort.ask_quota() || !effort.has_time_for(last * LONGER) {
                return;
            }
            let from = effort.elapsed();
            let mut answer = None;
            if round > 0 {
                answer = self.solve(&pairs);
                let Some(answer) = &answer else { return };
                values.clone_from(&answer.values);
            }
            let look = self.look(&values, answer.as_ref(), shares, &mut relaxation);
            shares = look.shares;
            let worths = Worths {
                shares: shares.clone(),
                covers: answer
                    .as_ref()
                    .map_or_else(|| best.1.covers.clone(), |answer| answer.covers.clone()),
            };
            let value = self.value(&worths);
            if value > best.0 {
                *best = (value, worths);
            }
            let known = pairs.len();
            pairs.extend(look.broken);
            let reached = answer.is_some_and(|answer| best.0 >= answer.optimum * (1.0 - CLOSE_ENOUGH));
            if reached || round > 0 && pairs.len() == known {
                return;
            }
            last = effort.elapsed().saturating_sub(from);
        }
    }

    /// How many pods there are, one at least: objectives are divided by it.
    fn pods(&self) -> f64 {
        let counts = self.items.iter().map(|item| item.count);
        counts.sum::<f64>().max(1.0)
    }

    fn is_unlimited(&self, block: usize) -> bool {
        self.blocks[block].supply.is_none()
    }

    /// For each item the block where it alone costs least, of those in any number if it may use one: so that no value
    /// grows without bound.
    fn alone(&self) -> impl Iterator<Item = (usize, usize)> {
        self.items.iter().enumerate().filter_map(|(at, item)| {
            let cost = |block: usize| {
                let block = &self.blocks[block];
                block.cost * largest_share(&item.request, &block.room)
            };
            let key = |block: usize| (!self.is_unlimited(block), cost(block));
            let least = item.blocks.ones().min_by(|one, two| {
                let (one, two) = (key(*one), key(*two));
                one.0.cmp(&two.0).then(one.1.total_cmp(&two.1))
            });
            least.map(|block| (block, at))
        })
    }

    /// The cheapest prices of each block under which no item is worth less than its value.
    fn look(
        &self,
        values: &[f64],
        answer: Option<&Answer>,
        mut shares: Vec<Vec<f64>>,
        relaxation: &mut Relaxation,
    ) -> Look {
        let mut broken = Vec::new();
        for (at, block) in self.blocks.iter().enumerate() {
            let saving = match (block.supply, answer) {
                (Some(supply), Some(answer)) => answer.savings[supply],
                _ => 0.0,
            };
            let covered = answer.map_or(0.0, |answer| self.covered(at, &answer.covers));
            let limit = (block.cost + saving - covered).max(0.0) * (1.0 + EXCEEDED) + f64::EPSILON;
            let here: Vec<usize> = (0..self.items.len())
                .filter(|item| values[*item] > 0.0 && self.items[*item].blocks.contains(at))
                .collect();
            let worth = |item: usize, shares: &[f64]| worth(&self.items[item].request, &block.room, shares);
            let serves = |shares: &[f64]| {
                shares.iter().sum::<f64>() <= limit
                    && here.iter().all(|item| worth(*item, shares) >= values[*item])
            };
            if serves(&shares[at]) {
                continue;
            }
            shares[at] = self.cheapest(block, &here, values, relaxation);
            if shares[at].iter().sum::<f64>() > limit {
                let tight = |item: &&usize| worth(**item, &shares[at]) <= values[**item] * (1.0 + EXCEEDED);
                broken.extend(here.iter().filter(tight).map(|item| (at, *item)));
            }
        }
        Look { shares, broken }
    }

    /// The cheapest prices of one block under which none of its items is worth less than its value.
    fn cheapest(
        &self,
        block: &Block,
        here: &[usize],
        values: &[f64],
        relaxation: &mut Relaxation,
    ) -> Vec<f64> {
        let rows: Vec<usize> = (0..block.room.len())
            .filter(|row| block.room[*row] > 0.0)
            .collect();
        let worths: Vec<f64> = here.iter().map(|item| values[*item]).collect();
        let mut weights = Vec::with_capacity(here.len() * rows.len());
        for item in here {
            let request = &self.items[*item].request;
            weights.extend(rows.iter().map(|row| request[*row] / block.room[*row]));
        }
        let most = vec![f64::INFINITY; here.len()];
        let multipliers = relaxation.solve(rows.len(), &worths, &weights, &most);
        let mut shares = vec![0.0; block.room.len()];
        for (row, multiplier) in rows.iter().zip(multipliers) {
            shares[*row] = multiplier;
        }
        shares
    }

    /// What a block is worth for being there.
    fn covered(&self, block: usize, covers: &[f64]) -> f64 {
        let here = self
            .covers
            .iter()
            .zip(covers)
            .filter(|(cover, _)| cover.blocks.contains(block));
        here.map(|(_, worth)| worth).sum()
    }

    /// The bound that prices give, once those of blocks that may be had in any number are scaled to their cost.
    fn value(&self, Worths { shares, covers }: &Worths) -> f64 {
        let sums: Vec<f64> = shares.iter().map(|shares| shares.iter().sum()).collect();
        let covered: Vec<f64> = (0..shares.len()).map(|at| self.covered(at, covers)).collect();
        let factor = |at: usize| {
            let limit = (self.blocks[at].cost - covered[at]).max(0.0);
            if self.is_unlimited(at) && sums[at] > limit {
                limit / sums[at]
            } else {
                1.0
            }
        };
        let factors: Vec<f64> = (0..shares.len()).map(factor).collect();
        let mut value = 0.0;
        for item in &self.items {
            let worths = item
                .blocks
                .ones()
                .map(|block| worth(&item.request, &self.blocks[block].room, &shares[block]) * factors[block]);
            let least = worths.fold(f64::INFINITY, f64::min);
            value += if least.is_finite() {
                least * item.count
            } else {
                0.0
            };
        }
        let mut savings = vec![0.0_f64; self.supplies.len()];
        for (at, block) in self.blocks.iter().enumerate() {
            if let Some(supply) = block.supply {
                savings[supply] = savings[supply].max(sums[at] + covered[at] - block.cost);
            }
        }
        let needed: f64 = self
            .covers
            .iter()
            .zip(covers)
            .map(|(cover, worth)| cover.least * worth)
            .sum();
        value + needed - dot(&savings, &self.supplies)
    }

    /// Variables: values of the items, then savings of the supplies, then worths of the covers, then shares of the blocks
    /// that occur in pairs.
    fn solve(&self, pairs: &BTreeSet<(usize, usize)>) -> Option<Answer> {
        let total = self.pods();
        let (items, supplies) = (self.items.len(), self.supplies.len());
        let mut program = Program {
            objective: self.items.iter().map(|item| item.count / total).collect(),
            rows: Vec::new(),
        };
        let numbers = self.supplies.iter().map(|number| -number / total);
        program.objective.extend(numbers);
        program
            .objective
            .extend(self.covers.iter().map(|cover| cover.least / total));
        let mut pairs = pairs.iter().peekable();
        for (at, block) in self.blocks.iter().enumerate() {
            let first = program.objective.len();
            let occurs = pairs.peek().is_some_and(|(block, _)| *block == at);
            let covers = self
                .covers
                .iter()
                .enumerate()
                .filter(|(_, cover)| cover.blocks.contains(at));
            let mut terms: Vec<(usize, f64)> =
                covers.map(|(cover, _)| (items + supplies + cover, 1.0)).collect();
            if occurs {
                program.objective.extend(block.room.iter().map(|_| 0.0));
                terms.extend((first..program.objective.len()).map(|share| (share, 1.0)));
            }
            if !terms.is_empty() {
                terms.extend(block.supply.map(|supply| (items + supply, -1.0)));
                program.rows.push(Row {
                    terms,
                    limit: block.cost,
                });
            }
            while let Some((_, item)) = pairs.next_if(|(block, _)| *block == at) {
                let mut terms = vec![(*item, 1.0)];
                for (row, (request, room)) in self.items[*item].request.iter().zip(&block.room).enumerate() {
                    if *request > 0.0 && *room > 0.0 {
                        terms.push((first + row, -request / room));
                    }
                }
                program.rows.push(Row { terms, limit: 0.0 });
            }
        }
        // Where all places are limited in number there may be too few: no pod is worth more than the dearest node.
        for (at, item) in self.items.iter().enumerate() {
            if !item.blocks.ones().any(|block| self.is_unlimited(block)) {
                program.rows.push(Row {
                    terms: vec![(at, 1.0)],
                    limit: 1.0,
                });
            }
        }
        let answer = maximise(&program)?;
        let optimum: f64 = answer
            .iter()
            .zip(&program.objective)
            .map(|(one, two)| one * two)
            .sum();
        let positive = |values: &[f64]| values.iter().map(|value| value.max(0.0)).collect();
        Some(Answer {
            optimum: optimum * total,
            values: positive(&answer[..items]),
            savings: positive(&answer[items..items + supplies]),
            covers: positive(&answer[items + supplies..items + supplies + self.covers.len()]),
        })
    }
}

fn dot(one: &[f64], two: &[f64]) -> f64 {
    one.iter().zip(two).map(|(one, two)| one * two).sum()
}

fn largest_share(request: &[f64], room: &[f64]) -> f64 {
    let share = |(request, room): (&f64, &f64)| if *request > 0.0 { request / room } else { 0.0 };
    request.iter().zip(room).map(share).fold(0.0, f64::max)
}

/// What a request is worth where all of each resource is worth so much.
fn worth(request: &[f64], room: &[f64], shares: &[f64]) -> f64 {
    let mut sum = 0.0;
    for ((request, room), share) in request.iter().zip(room).zip(shares) {
        if *request > 0.0 && *room > 0.0 {
            sum += request / room * share;
        }
    }
    sum
}

#[cfg(test)]
#[path = "price_program_tests.rs"]
mod tests;
