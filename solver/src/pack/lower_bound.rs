//! A lower bound that no plan undercuts, and what each pod is worth under it.
//!
//! Relaxation: nodes of one class of kinds melt into one volume. A class is the kinds that the same groups can use;
//! where those are too many, the kinds that the same profiles can use, or all of them. Its dual has a price λ for
//! each resource of each class and a value μ for each group:
//!
//! maximise Σ d·μ  subject to  λ·W ≤ c for each kind of a class,  μ ≤ λ·w for each class that a group can use.
//!
//! Why any feasible (λ, μ) bounds from below, in integers: let a plan launch nodes n of kinds k(n) with classes κ(n),
//! and put pods of groups s(p) on them. Every pod p on n has μ_s(p) ≤ λ_κ(n)·w_s(p), and the pods on n ask for W_k(n) at
//! most, so Σ over p on n of μ_s(p) ≤ λ_κ(n)·W_k(n) ≤ c_k(n). Summed over launched nodes: Σ μ over the pods on them ≤
//! cost. Existing nodes that the same profiles may use melt into a volume with prices λ_e of its own and μ ≤ λ_e·w for
//! each group that fits one of them: pods there are worth λ_e·free at most, and never more than all that could go there.
//! A node of a limited offer holds Λ·W at most, where Λ is the largest λ of each resource over the classes, so it saves
//! Λ·W − c at most, as often as there is one. So cost ≥ Σ d·μ − credits, where unlimited kinds alone need λ·W ≤ c. The LP only suggests λ: here λ is rounded to
//! integers, scaled down until every kind's inequality holds exactly, and μ is the exact minimum. Cost is a whole
//! number of micro-dollars, so the bound may be rounded up. Limits only restrict plans: leaving them out keeps the bound
//! valid. Weights restrict as well; they are used only where no limit can push a group to lower ones.
//!
//! Paper: papers.md, Caprara and Toth (bounds for vector packing).

use std::collections::BTreeMap;

use fixedbitset::FixedBitSet;

use crate::lower::Problem;
use crate::lower::prune::Kind;
use crate::lower::rules::resources;
use crate::lp::{Program, Row, maximise};

use super::room_volume::{Volume, volumes};

/// Rows of the dual program beyond which classes are made coarser.
const MOST_ROWS: usize = 6_000;
/// An exact λ counts 2⁻⁵⁶ micro-dollars a base unit: fine enough for bytes; where a product leaves 128 bits there is no bound.
const SCALE_BITS: u32 = 56;

/// Resource prices by class, exact, and what they say of each group.
#[derive(Clone, Debug)]
pub struct Prices {
    /// By class: λ in 2⁻⁵⁶ micro-dollars.
    lambda: Vec<Vec<u128>>,
    /// By group: μ in 2⁻⁵⁶ micro-dollars.
    mu: Vec<u128>,
    /// By group: kinds that count for it.
    usable: Vec<FixedBitSet>,
    /// Existing nodes, melted, each with its own λ in 2⁻⁵⁶ micro-dollars.
    volumes: Vec<(Volume, Vec<u128>)>,
}

/// Kinds that can be launched in any number.
fn unlimited<'a>(problem: &'a Problem<'_>) -> impl Iterator<Item = (usize, &'a Kind)> {
    let kinds = problem.kinds.iter().enumerate();
    kinds.filter(|(_, kind)| kind.supply.is_none())
}

/// Kinds that count for a group: unlimited ones, of its heaviest pools unless limits can push it further.
fn usable(problem: &Problem<'_>) -> Vec<FixedBitSet> {
    let restricted = problem.is_restricted();
    let mut all = problem.usable.clone();
    for (group, usable) in all.iter_mut().enumerate() {
        let heaviest = problem.tiers[group].first();
        for (index, kind) in problem.kinds.iter().enumerate() {
            let counts = kind.supply.is_none() && (restricted || heaviest == Some(&kind.tier));
            usable.set(index, counts && usable.contains(index));
        }
    }
    all
}

/// The prices for placing so many pods of each group.
#[must_use]
pub fn prices(problem: &Problem<'_>, counts: &[u64]) -> Option<Prices> {
    let usable = usable(problem);
    let active: Vec<usize> = (0..counts.len())
        .filter(|group| counts[*group] > 0 && !usable[*group].is_clear())
        .collect();
    if active.is_empty() {
        return None;
    }
    [by_group, by_profile, together].into_iter().find_map(|classes| {
        let class = classes(problem, &usable, &active);
        let program = Dual::new(problem, &usable, &active, class)?;
        program.solve(problem, &usable, counts)
    })
}

type Classes = Vec<usize>;

fn by_group(problem: &Problem<'_>, usable: &[FixedBitSet], active: &[usize]) -> Classes {
    let signature = |kind: usize| -> FixedBitSet {
        let mut groups = FixedBitSet::with_capacity(active.len());
        for (at, group) in active.iter().enumerate() {
            groups.set(at, usable[*group].contains(kind));
        }
        groups
    };
    intern((0..problem.kinds.len()).map(signature))
}

fn by_profile(problem: &Problem<'_>, _: &[FixedBitSet], _: &[usize]) -> Classes {
    intern(
        problem
            .kinds
            .iter()
            .map(|kind| (kind.tier, kind.profiles.clone())),
    )
}

fn together(problem: &Problem<'_>, _: &[FixedBitSet], _: &[usize]) -> Classes {
    vec![0; problem.kinds.len()]
}

fn intern<Key: Ord>(keys: impl Iterator<Item = Key>) -> Classes {
    let mut known: BTreeMap<Key, usize> = BTreeMap::new();
    keys.map(|key| {
        let next = known.len();
        *known.entry(key).or_insert(next)
    })
    .collect()
}

/// The dual program over classes.
struct Dual {
    class: Classes,
    classes: usize,
    active: Vec<usize>,
    /// Classes of each active group.
    uses: Vec<Vec<usize>>,
    /// Existing nodes that active groups may use.
    volumes: Vec<Volume>,
}

impl Dual {
    /// `None` where it would be too large, unless everything is one class already.
    fn new(problem: &Problem<'_>, usable: &[FixedBitSet], active: &[usize], class: Classes) -> Option<Self> {
        let classes = class.iter().max().map_or(0, |last| last + 1);
        let uses: Vec<Vec<usize>> = active
            .iter()
            .map(|group| {
                let mut used: Vec<usize> = usable[*group].ones().map(|kind| class[kind]).collect();
                used.sort_unstable();
                used.dedup();
                used
            })
            .collect();
        let volumes = volumes(problem, active);
        let of_rooms: usize = volumes.iter().map(|volume| volume.takes.len()).sum();
        let rows: usize = uses.iter().map(Vec::len).sum::<usize>() + of_rooms + problem.kinds.len();
        (classes == 1 || rows <= MOST_ROWS).then(|| Self {
            class,
            classes,
            active: active.to_vec(),
            uses,
            volumes,
        })
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the program only suggests prices; they are verified in integers below"
    )]
    fn solve(self, problem: &Problem<'_>, usable: &[FixedBitSet], counts: &[u64]) -> Option<Prices> {
        let columns = problem.resources.len();
        let units = Units::of(problem);
        let answer = maximise(&self.program(problem, counts, &units))?;
        let scale = (1_u64 << SCALE_BITS) as f64;
        let exact = |block: usize| -> Vec<u128> {
            let price = |at: usize| answer[block * columns + at].max(0.0) * units.dearest / units.amount[at];
            (0..columns).map(|at| (price(at) * scale) as u128).collect()
        };
        let lambda: Vec<Vec<u128>> = (0..self.classes).map(exact).collect();
        let block = |at: usize| if self.is_merged() { 0 } else { self.classes + at };
        let volumes = (0..self.volumes.len())
            .map(|at| exact(block(at)))
            .collect::<Vec<_>>();
        let volumes = self.volumes.into_iter().zip(volumes).collect();
        verified(problem, &self.class, lambda, volumes, usable)
    }

    /// One class only: its λ says what each group is worth, and no values are needed.
    fn is_merged(&self) -> bool {
        self.classes == 1
    }

    /// Variables: λ of each class, then λ of each volume, then μ of each active group.
    #[expect(clippy::cast_precision_loss, reason = "the program only suggests prices")]
    fn program(&self, problem: &Problem<'_>, counts: &[u64], units: &Units) -> Program {
        let columns = problem.resources.len();
        let total: f64 = self.active.iter().map(|group| counts[*group] as f64).sum();
        let mut program = Program {
            objective: Vec::new(),
            rows: Vec::new(),
        };
        if self.is_merged() {
            program.objective = vec![0.0; columns];
            for group in &self.active {
                let weight = counts[*group] as f64 / total;
                for (column, amount) in problem.request(*group).iter().enumerate() {
                    program.objective[column] += weight * *amount as f64 / units.amount[column];
                }
            }
        } else {
            let blocks = self.classes + self.volumes.len();
            program.objective = vec![0.0; blocks * columns + self.active.len()];
            for (at, group) in self.active.iter().enumerate() {
                program.objective[blocks * columns + at] = counts[*group] as f64 / total;
            }
            self.add_values(problem, units, &mut program);
        }
        for (at, volume) in self.volumes.iter().enumerate() {
            let block = if self.is_merged() { 0 } else { self.classes + at };
            for (column, free) in volume.free.iter().enumerate() {
                program.objective[block * columns + column] -= *free as f64 / units.amount[column] / total;
            }
        }
        for (index, kind) in unlimited(problem) {
            let room = problem.room(index);
            let terms = (0..columns)
                .filter(|at| room[*at] > 0)
                .map(|at| {
                    (
                        self.class[index] * columns + at,
                        room[at] as f64 / units.amount[at],
                    )
                })
                .collect();
            program.rows.push(Row {
                terms,
                limit: kind.cost as f64 / units.dearest,
            });
        }
        program
    }

    /// μ of a group is at most what it asks for at the prices of each class and volume it may use.
    #[expect(clippy::cast_precision_loss, reason = "the program only suggests prices")]
    fn add_values(&self, problem: &Problem<'_>, units: &Units, program: &mut Program) {
        let columns = problem.resources.len();
        let blocks = self.classes + self.volumes.len();
        for (at, group) in self.active.iter().enumerate() {
            let volumes = self.volumes.iter().enumerate();
            let there = volumes.filter(|(_, volume)| volume.takes.contains_key(group));
            let there = there.map(|(volume, _)| self.classes + volume);
            for block in self.uses[at].iter().copied().chain(there) {
                let mut terms = vec![(blocks * columns + at, 1.0)];
                for (column, amount) in problem.request(*group).iter().enumerate() {
                    if *amount > 0 {
                        terms.push((block * columns + column, -(*amount as f64) / units.amount[column]));
                    }
                }
                program.rows.push(Row { terms, limit: 0.0 });
            }
        }
    }
}

/// Units that bring all coefficients of the program near one.
struct Units {
    /// By resource: the most that any kind has.
    amount: Vec<f64>,
    /// Micro-dollars of the dearest kind.
    dearest: f64,
}

impl Units {
    #[expect(clippy::cast_precision_loss, reason = "the program only suggests prices")]
    fn of(problem: &Problem<'_>) -> Self {
        let most = |at: usize| (0..problem.kinds.len()).map(|kind| problem.room(kind)[at]).max();
        let amount = (0..problem.resources.len()).map(|at| most(at).unwrap_or(1).max(1) as f64);
        let dearest = problem.kinds.iter().map(|kind| kind.cost).max();
        Self {
            amount: amount.collect(),
            dearest: dearest.unwrap_or(1).max(1) as f64,
        }
    }
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

/// Scales λ down until it is feasible for every kind, exactly, and derives μ.
fn verified(
    problem: &Problem<'_>,
    class: &[usize],
    mut lambda: Vec<Vec<u128>>,
    volumes: Vec<(Volume, Vec<u128>)>,
    usable: &[FixedBitSet],
) -> Option<Prices> {
    for (index, kind) in unlimited(problem) {
        let prices = &mut lambda[class[index]];
        let limit = u128::from(kind.cost) << SCALE_BITS;
        let mut sum = worth(prices, problem.room(index))?;
        // Each round takes the excess off, and a little more for rounding: two rounds do.
        while sum > limit {
            let share = (((limit >> 44) << 40) / ((sum >> 44) + 1)).saturating_sub(1);
            for price in prices.iter_mut() {
                *price = (*price >> 40) * share + (((*price & ((1 << 40) - 1)) * share) >> 40);
            }
            sum = worth(prices, problem.room(index))?;
        }
    }
    let mut mu = Vec::with_capacity(usable.len());
    for (group, kinds) in usable.iter().enumerate() {
        let mut least: Option<u128> = None;
        for kind in kinds.ones() {
            let value = worth(&lambda[class[kind]], problem.request(group))?;
            least = Some(least.map_or(value, |least| least.min(value)));
        }
        for (volume, prices) in &volumes {
            if let Some(least) = least.as_mut().filter(|_| volume.takes.contains_key(&group)) {
                *least = worth(prices, problem.request(group))?.min(*least);
            }
        }
        mu.push(least.unwrap_or(0));
    }
    Some(Prices {
        lambda,
        mu,
        usable: usable.to_vec(),
        volumes,
    })
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
        self.volume(problem, counts)
            .unwrap_or(0)
            .max(self.single(problem, counts))
    }

    fn volume(&self, problem: &Problem<'_>, counts: &[u64]) -> Option<u64> {
        let value = |group: usize| self.mu[group].checked_mul(u128::from(counts[group]));
        let mut sum = 0_u128;
        for group in 0..counts.len() {
            // Pods that only existing nodes can take are worth nothing here.
            sum = sum.checked_add(value(group)?)?;
        }
        let columns = problem.resources.len();
        let largest: Vec<u128> = (0..columns)
            .map(|at| self.lambda.iter().map(|prices| prices[at]).max().unwrap_or(0))
            .collect();
        for (volume, prices) in &self.volumes {
            let mut there = 0_u128;
            for (group, most) in &volume.takes {
                there = there
                    .saturating_add(self.mu[*group].checked_mul(u128::from((*most).min(counts[*group])))?);
            }
            sum = sum.saturating_sub(worth(prices, &volume.free).map_or(there, |all| all.min(there)));
        }
        // A limited offer saves what its node holds beyond its price, as often as there is one.
        let mut savings = vec![0_u128; problem.supplies.len()];
        for (index, kind) in problem.kinds.iter().enumerate() {
            if let Some(supply) = kind.supply {
                let cost = u128::from(kind.cost) << SCALE_BITS;
                let saving = worth(&largest, problem.room(index))?.saturating_sub(cost);
                savings[supply] = savings[supply].max(saving);
            }
        }
        for (saving, number) in savings.iter().zip(&problem.supplies) {
            sum = sum.saturating_sub(saving.checked_mul(u128::from(*number))?);
        }
        u64::try_from((sum + ((1 << SCALE_BITS) - 1)) >> SCALE_BITS).ok()
    }

    /// The largest of what each group costs alone: as many pods as existing nodes can't take, on the kind that holds
    /// them at the least cost a pod; at least one whole node of the cheapest kind.
    fn single(&self, problem: &Problem<'_>, counts: &[u64]) -> u64 {
        let mut most = 0;
        for (group, item) in problem.groups.iter().enumerate() {
            let request = problem.request(group);
            let absorbed = problem
                .rooms
                .iter()
                .filter(|room| room.profiles.contains(item.profile))
                .fold(0_u64, |sum, room| {
                    sum.saturating_add(resources::copies(request, &room.free))
                });
            let needed = counts[group].saturating_sub(absorbed);
            if needed == 0 {
                continue;
            }
            // Here limited offers count as if there were any number of them.
            let limited = |kind: &usize| problem.kinds[*kind].supply.is_some();
            let kinds = || {
                let scarce = problem.usable[group].ones().filter(limited);
                self.usable[group].ones().chain(scarce)
            };
            let alone = kinds()
                .map(|kind| {
                    let cost = u128::from(problem.kinds[kind].cost);
                    let copies = u128::from(resources::copies(request, problem.room(kind)));
                    (u128::from(needed) * cost).div_ceil(copies.max(1))
                })
                .min();
            let cheapest = kinds().map(|kind| problem.kinds[kind].cost).min().unwrap_or(0);
            let alone = alone.and_then(|alone| u64::try_from(alone).ok()).unwrap_or(0);
            most = most.max(alone).max(cheapest);
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::lower;
    use crate::testing::build::{Cluster, machine};

    fn bound(cluster: Cluster) -> u64 {
        let snapshot = cluster.freeze();
        let problem = lower(&snapshot);
        let counts = problem.counts();
        prices(&problem, &counts).map_or(0, |prices| prices.bound(&problem, &counts))
    }

    fn cluster() -> Cluster {
        Cluster::new()
            .instance_type(machine("small", "2", "8Gi", "0.1"))
            .pool("default")
    }

    #[test]
    fn pods_that_fill_nodes_to_the_brim_cost_what_the_nodes_do() {
        assert_eq!(bound(cluster().pods("web", 10, "1", "1Gi")), 500_000);
    }

    #[test]
    fn one_node_at_least_is_launched_for_the_smallest_pod() {
        assert_eq!(bound(cluster().pods("web", 1, "10m", "1Mi")), 100_000);
    }

    #[test]
    fn room_on_nodes_that_exist_is_credited() {
        let with_room = cluster().node("n1", "default", "small", "zone-a");
        assert_eq!(bound(with_room.pods("web", 2, "1", "1Gi")), 0);
    }
}
