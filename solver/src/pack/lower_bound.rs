//! A lower bound that no plan undercuts, and what each pod is worth under it.
//!
//! Relaxation: a node's resources may be filled to the brim by parts of pods. Its dual has a price λ for each resource
//! of each kind of node and a value μ for each group:
//!
//! maximise Σ d·μ  subject to  λ_k·W_k ≤ c_k for each kind,  μ ≤ λ_k·w for each kind that a group can use.
//!
//! Why any (λ, μ) that keeps to this bounds from below, in integers: let a plan launch nodes n of kinds k(n), and put
//! pods of groups s(p) on them. Every pod p on n has μ_s(p) ≤ λ_k(n)·w_s(p), and the pods on n ask for W_k(n) at most,
//! so Σ over p on n of μ_s(p) ≤ λ_k(n)·W_k(n) ≤ c_k(n). Summed over launched nodes: Σ μ over the pods on them ≤ cost.
//! Kinds of limited number may have λ_k·W_k > c_k: a node of one saves that much at most, as often as there is one.
//! Existing nodes that the same profiles may use melt into a volume with prices λ_e of its own and μ ≤ λ_e·w for each
//! group that fits one of them: pods there are worth λ_e·free at most, and never more than all that could go there.
//!
//! Parts of nodes can't be bought. Where existing nodes can't take all pods of a group, some r nodes of the kinds it can
//! use are launched at least: as many as those pods take of the kind that holds most of them. Such a set of kinds is a
//! cover with a worth σ, and λ_k·W_k + Σ σ ≤ c_k over the covers that k is in: then Σ over p on n of μ_s(p) ≤ c_k(n) − Σ σ,
//! and summed over launched nodes, of which r or more are in each cover, Σ μ ≤ cost − Σ r·σ.
//! So cost ≥ Σ d·μ + Σ r·σ − savings − credits. [`super::price_program`] only suggests λ, from clusters of near-equal groups in
//! place of the groups where those are many: here λ is rounded to integers, scaled down until the inequality of every
//! kind of unlimited number holds exactly, and μ is the exact minimum for each real group. Cost is a whole number of
//! micro-dollars, so the bound may be rounded up. Limits only restrict plans: leaving them out keeps the bound valid.
//! Weights restrict as well; they are used only where no limit can push a group to lower ones.
//!
//! Paper: papers.md, 3 (bounds for vector packing).

pub mod coarse;
pub mod table;

use fixedbitset::FixedBitSet;

use crate::divisor::common_divisor;
use crate::lower::Problem;

use super::effort::Effort;
use super::merge::{Cluster, clusters};
use super::price_program::{Block, Item, PriceProgram, Suggestion};
use super::room_volume::{Volume, volumes};
use super::whole_nodes::{Alone, KindCover, covers};

/// Clusters that stand for all groups where prices are looked for: more hardly raise the bound.
const MOST_ITEMS: usize = 160;
/// An exact λ counts 2⁻⁵⁶ micro-dollars a base unit: fine enough for bytes; where a product leaves 128 bits there is no bound.
const SCALE_BITS: u32 = 56;

/// Resource prices by kind, exact, and what they say of each group.
#[derive(Clone, Debug)]
pub struct Prices {
    /// By group: μ in 2⁻⁵⁶ micro-dollars.
    mu: Vec<u128>,
    /// By group: what it costs alone.
    alone: Vec<Alone>,
    /// By supply: what one node of a limited offer saves at most, in 2⁻⁵⁶ micro-dollars.
    savings: Vec<u128>,
    /// Sets of kinds of which nodes are needed.
    covers: Vec<KindCover>,
    /// Existing nodes, melted, with what pods there are worth at most, in 2⁻⁵⁶ micro-dollars.
    volumes: Vec<(Volume, Option<u128>)>,
}

/// Kinds that count for a group: of its heaviest pools unless something can push it further, and of which there are any.
fn usable(problem: &Problem<'_>) -> Vec<FixedBitSet> {
    let are_settled = problem.weights_are_settled();
    let exists = |kind: usize| {
        problem.kinds[kind]
            .supply
            .is_none_or(|supply| problem.supplies[supply] > 0)
    };
    let mut all = problem.usable.clone();
    for (group, usable) in all.iter_mut().enumerate() {
        let heaviest = problem.tiers[group].first();
        for (index, kind) in problem.kinds.iter().enumerate() {
            let counts = exists(index) && (!are_settled || heaviest == Some(&kind.tier));
            usable.set(index, counts && usable.contains(index));
        }
    }
    all
}

/// The prices for placing so many pods of each group; `None` where there is nothing to launch for, or no bound. The less
/// time there is for it, the lower the bound; all groups are looked at for all kinds a few times in any case, for which
/// [`coarse::prices`] stands in where that takes too long.
#[must_use]
pub fn prices(problem: &Problem<'_>, counts: &[u64], effort: &mut Effort<'_>) -> Option<Prices> {
    let usable = usable(problem);
    let active: Vec<usize> = (0..counts.len())
        .filter(|group| counts[*group] > 0 && !usable[*group].is_clear())
        .collect();
    if active.is_empty() {
        return None;
    }
    let volumes = volumes(problem, &active);
    let alone = |group: usize| Alone::of(problem, group, &usable[group], &volumes);
    let alone: Vec<Alone> = (0..usable.len()).map(alone).collect();
    let covers = covers(&usable, &active);
    let mut program = program(problem, counts, &usable, &volumes, &active);
    program.covers = covers
        .iter()
        .map(|cover| cover.as_block_cover(&alone, counts))
        .collect();
    let Suggestion {
        prices,
        covers: worths,
    } = program.suggest(effort);
    let covers = rounded_covers(problem, covers, worths);
    exact(problem, prices, volumes, &usable, alone, covers)
}

/// Rounds suggested worths and lowers them until those of each unlimited kind's covers are its cost at most, exactly.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded towards zero on purpose; no worth is negative, and any lower one will do"
)]
fn rounded_covers(problem: &Problem<'_>, mut covers: Vec<KindCover>, worths: Vec<f64>) -> Vec<KindCover> {
    let scale = (1_u64 << SCALE_BITS) as f64 * dearest(problem) as f64;
    for (cover, worth) in covers.iter_mut().zip(worths) {
        // No node is worth more than the dearest.
        cover.worth = (worth.min(1.0) * scale) as u128;
    }
    for (index, kind) in problem.kinds.iter().enumerate() {
        if kind.supply.is_none() {
            let mut rest = u128::from(kind.cost) << SCALE_BITS;
            for cover in covers.iter_mut().filter(|cover| cover.kinds.contains(index)) {
                cover.worth = cover.worth.min(rest);
                rest -= cover.worth;
            }
        }
    }
    covers
}

/// The program over clusters of the active groups.
fn program(
    problem: &Problem<'_>,
    counts: &[u64],
    usable: &[FixedBitSet],
    volumes: &[Volume],
    active: &[usize],
) -> PriceProgram {
    // Pods that ask for nothing are worth nothing.
    let asks = |group: &usize| problem.request(*group).iter().any(|amount| *amount > 0);
    let asking: Vec<usize> = active.iter().copied().filter(asks).collect();
    let items = clusters(problem, &asking, counts, MOST_ITEMS);
    program_over(problem, counts, usable, volumes, items)
}

/// The program over given clusters.
#[expect(clippy::cast_precision_loss, reason = "the program only suggests prices")]
fn program_over(
    problem: &Problem<'_>,
    counts: &[u64],
    usable: &[FixedBitSet],
    volumes: &[Volume],
    items: Vec<Cluster>,
) -> PriceProgram {
    let dearest = dearest(problem) as f64;
    let kinds = problem.kinds.len();
    let of_kinds = problem.kinds.iter().enumerate().map(|(index, kind)| Block {
        room: problem.room(index).iter().map(|room| *room as f64).collect(),
        cost: kind.cost as f64 / dearest,
        supply: kind.supply,
    });
    let of_volumes = volumes.iter().enumerate().map(|(at, volume)| Block {
        room: volume.free.iter().map(|free| *free as f64).collect(),
        cost: 0.0,
        supply: Some(problem.supplies.len() + at),
    });
    let item = |cluster: Vec<usize>| {
        let mut item = Item {
            request: vec![0.0; problem.resources.len()],
            count: cluster.iter().map(|group| counts[*group] as f64).sum(),
            blocks: FixedBitSet::with_capacity(kinds + volumes.len()),
        };
        for group in cluster {
            for (sum, amount) in item.request.iter_mut().zip(problem.request(group)) {
                *sum += *amount as f64 * counts[group] as f64 / item.count;
            }
            item.blocks.union_with(&usable[group]);
            for (at, volume) in volumes.iter().enumerate() {
                if volume.takes.contains_key(&group) {
                    item.blocks.insert(kinds + at);
                }
            }
        }
        item
    };
    let numbers = problem.supplies.iter().map(|number| *number as f64);
    PriceProgram {
        items: items.into_iter().map(item).collect(),
        blocks: of_kinds.chain(of_volumes).collect(),
        supplies: numbers.chain(volumes.iter().map(|_| 1.0)).collect(),
        covers: Vec::new(),
    }
}

/// Micro-dollars of the dearest kind.
fn dearest(problem: &Problem<'_>) -> u64 {
    let costs = problem.kinds.iter().map(|kind| kind.cost);
    costs.max().unwrap_or(1).max(1)
}

/// λ·w; `None` where it leaves the range, which no price that fits a catalogue does.
fn worth<Unit: Copy + Into<u128>>(lambda: &[u128], amounts: &[Unit]) -> Option<u128> {
    lambda
        .iter()
        .zip(amounts)
        .try_fold(0_u128, |sum, (price, amount)| {
            sum.checked_add(price.checked_mul((*amount).into())?)
        })
}

/// Rounds suggested prices, scales those of unlimited kinds down until they are feasible, exactly, and derives the rest.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded towards zero on purpose; no price is negative, and any price will do"
)]
fn exact(
    problem: &Problem<'_>,
    suggested: Vec<Vec<f64>>,
    volumes: Vec<Volume>,
    usable: &[FixedBitSet],
    alone: Vec<Alone>,
    covers: Vec<KindCover>,
) -> Option<Prices> {
    let scale = (1_u64 << SCALE_BITS) as f64 * dearest(problem) as f64;
    let rounded =
        |prices: Vec<f64>| -> Vec<u128> { prices.iter().map(|price| (price * scale) as u128).collect() };
    let mut lambda: Vec<Vec<u128>> = suggested.into_iter().map(rounded).collect();
    let of_volumes = lambda.split_off(problem.kinds.len());
    let mut savings = vec![0_u128; problem.supplies.len()];
    for (index, kind) in problem.kinds.iter().enumerate() {
        let (prices, room) = (&mut lambda[index], problem.room(index));
        let limit = u128::from(kind.cost) << SCALE_BITS;
        let here = covers.iter().filter(|cover| cover.kinds.contains(index));
        let covered: u128 = here.map(|cover| cover.worth).sum();
        match kind.supply {
            None => scale_down(prices, room, limit - covered)?,
            Some(supply) => {
                let holds = worth(prices, room)?.checked_add(covered)?;
                savings[supply] = savings[supply].max(holds.saturating_sub(limit));
            }
        }
    }
    let mut mu = Vec::with_capacity(usable.len());
    for (group, kinds) in usable.iter().enumerate() {
        let request = problem.request(group);
        let mut least: Option<u128> = None;
        for kind in kinds.ones() {
            let value = worth(&lambda[kind], request)?;
            least = Some(least.map_or(value, |least| least.min(value)));
        }
        for (volume, prices) in volumes.iter().zip(&of_volumes) {
            if let Some(least) = least.as_mut().filter(|_| volume.takes.contains_key(&group)) {
                *least = worth(prices, request)?.min(*least);
            }
        }
        mu.push(least.unwrap_or(0));
    }
    let most = |(volume, prices): (Volume, Vec<u128>)| {
        let most = worth(&prices, &volume.free);
        (volume, most)
    };
    Some(Prices {
        mu,
        alone,
        savings,
        covers,
        volumes: volumes.into_iter().zip(of_volumes).map(most).collect(),
    })
}

/// Lowers prices until all of a room is worth a limit at most.
fn scale_down(prices: &mut [u128], room: &[u64], limit: u128) -> Option<()> {
    let mut sum = worth(prices, room)?;
    // Each round takes the excess off, and a little more for rounding: two rounds do.
    while sum > limit {
        let share = (((limit >> 44) << 40) / ((sum >> 44) + 1)).saturating_sub(1);
        for price in prices.iter_mut() {
            *price = (*price >> 40) * share + (((*price & ((1 << 40) - 1)) * share) >> 40);
        }
        sum = worth(prices, room)?;
    }
    Some(())
}

impl Prices {
    /// Value of a pod of each group in micro-dollars, for guiding engines.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "guidance only")]
    pub fn values(&self) -> Vec<f64> {
        let scale = (1_u64 << SCALE_BITS) as f64;
        self.mu.iter().map(|value| *value as f64 / scale).collect()
    }

    /// Micro-dollars that placing so many pods of each group costs at least.
    #[must_use]
    pub fn bound(&self, problem: &Problem<'_>, counts: &[u64]) -> u64 {
        let alone = self
            .alone
            .iter()
            .zip(counts)
            .map(|(alone, count)| alone.bound(*count));
        self.volume(problem, counts)
            .unwrap_or(0)
            .max(alone.max().unwrap_or(0))
    }

    fn volume(&self, problem: &Problem<'_>, counts: &[u64]) -> Option<u64> {
        let mut sum = 0_u128;
        for (value, count) in self.mu.iter().zip(counts) {
            // Pods that only existing nodes can take are worth nothing here.
            sum = sum.checked_add(value.checked_mul(u128::from(*count))?)?;
        }
        for cover in &self.covers {
            let nodes = u128::from(cover.nodes(&self.alone, counts));
            sum = sum.checked_add(cover.worth.checked_mul(nodes)?)?;
        }
        for (volume, most) in &self.volumes {
            let mut there = 0_u128;
            for (group, copies) in &volume.takes {
                there = there
                    .saturating_add(self.mu[*group].checked_mul(u128::from((*copies).min(counts[*group])))?);
            }
            sum = sum.saturating_sub(most.map_or(there, |all| all.min(there)));
        }
        for (saving, number) in self.savings.iter().zip(&problem.supplies) {
            sum = sum.saturating_sub(saving.checked_mul(u128::from(*number))?);
        }
        u64::try_from(sum.div_ceil(1 << SCALE_BITS)).ok()
    }
}

/// The least that launches for these pods can cost when they cost at least so much: every cost is a sum of kinds' costs,
/// so a multiple of what divides all of them. Of nodes that all cost the same it is a whole number of nodes.
#[must_use]
pub fn attainable(problem: &Problem<'_>, placed: &[u64], bound: u64) -> u64 {
    let mut open = FixedBitSet::with_capacity(problem.kinds.len());
    for (usable, _) in problem.usable.iter().zip(placed).filter(|(_, count)| **count > 0) {
        open.union_with(usable);
    }
    let step = open
        .ones()
        .fold(0, |step, kind| common_divisor(step, problem.kinds[kind].cost));
    bound.checked_next_multiple_of(step).unwrap_or(bound)
}

#[cfg(test)]
#[path = "lower_bound_tests.rs"]
mod tests;
