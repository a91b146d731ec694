//! Engines: Problem → Packing.
//!
//! All of them work on groups and kinds, never on single pods or offerings. Floats are confined to this folder and
//! `lp`; what they suggest is checked in integers before it counts.

pub mod by_worth;
#[cfg(feature = "highs")]
pub mod columns;
#[cfg(feature = "highs")]
pub mod compact;
#[cfg(feature = "highs")]
pub mod credits;
pub mod density;
#[cfg(feature = "highs")]
pub mod descent;
#[cfg(feature = "highs")]
pub mod dive;
pub mod downsize;
pub mod dynamic;
pub mod effort;
#[cfg(feature = "highs")]
pub mod even;
pub mod farley;
pub mod filler;
#[cfg(feature = "highs")]
pub mod generator;
pub mod improve;
pub mod karpenter_order;
pub mod knapsack;
pub mod ledger;
pub mod lower_bound;
#[cfg(feature = "highs")]
pub mod master;
pub mod memory;
pub mod merge;
pub mod merged;
#[cfg(feature = "highs")]
pub mod mip;
pub mod multipliers;
#[cfg(feature = "highs")]
pub mod one_weight;
pub mod packed;
pub mod price_program;
pub use crate::random;
#[cfg(feature = "highs")]
pub mod reserve;
#[cfg(feature = "highs")]
pub mod restricted;
pub mod room_volume;
pub mod search;
pub mod side;
#[cfg(feature = "highs")]
pub mod smoothing;
#[cfg(feature = "highs")]
pub mod snug;
pub mod stranding;
pub mod swaps;
#[cfg(feature = "highs")]
pub mod valuation;
pub mod whole_nodes;
#[cfg(feature = "highs")]
pub mod within;

use std::collections::BTreeMap;

use crate::lower::Problem;
use crate::lower::rules::resources;

/// A number or an amount as a float, exact up to 2⁵³. Floats guide, or bound with what rounding loses counted against them.
#[expect(
    clippy::cast_precision_loss,
    reason = "what is decided is decided in integers, and bounds are raised by more than this loses"
)]
pub(crate) fn float(amount: u64) -> f64 {
    amount as f64
}

/// How many whole nodes a level of a relaxation has.
#[cfg(feature = "highs")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded down on purpose; no level is negative"
)]
pub(crate) fn whole_part(level: f64) -> u64 {
    level as u64
}

/// Pods on one node: group and how many of it, ordered by group, no count zero.
pub type Filling = Vec<(usize, u64)>;

/// Pods left by priority, and micro-dollars per hour.
pub type Score = (Vec<(i32, u64)>, u64);

/// Nodes of one kind with one filling.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Launched {
    /// Which kind.
    pub kind: usize,
    /// What is on each of them.
    pub filling: Filling,
    /// How many there are.
    pub count: u64,
}

/// Where all groups go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packing {
    /// By room of the problem: what is put on nodes that exist.
    pub rooms: Vec<Filling>,
    /// What is launched.
    pub launched: Vec<Launched>,
    /// By group: pods without a place.
    pub left: Vec<u64>,
}

impl Packing {
    /// Nobody placed: what an engine says of a problem with rows across nodes that it can't hold.
    #[must_use]
    pub fn nothing(problem: &Problem<'_>) -> Self {
        Self {
            rooms: vec![Filling::new(); problem.rooms.len()],
            launched: Vec::new(),
            left: problem.counts(),
        }
    }

    /// Objective of what it launches, of what is stranded there and of side rows that cost, in micro-dollars per hour; the
    /// problem's wishes apart.
    #[must_use]
    pub fn cost(&self, problem: &Problem<'_>) -> u64 {
        let launched = self.launched.iter();
        let nodes: u64 = launched
            .map(|launched| problem.kinds[launched.kind].cost * launched.count)
            .sum();
        let nodes = nodes + stranding::of(problem, self);
        if problem.side.is_empty() {
            nodes
        } else {
            nodes + side::verdict::penalty(&problem.side, self)
        }
    }

    /// The same with all that is wished and isn't so.
    #[must_use]
    pub fn objective(&self, problem: &Problem<'_>) -> u64 {
        self.cost(problem)
            .saturating_add(side::unmet::unmet(problem, self))
    }

    /// How many nodes it launches.
    #[must_use]
    pub fn launches(&self) -> u64 {
        self.launched.iter().map(|launched| launched.count).sum()
    }

    /// Pods of each group that have a place.
    #[must_use]
    pub fn placed(&self, problem: &Problem<'_>) -> Vec<u64> {
        let counts = problem.counts();
        counts
            .iter()
            .zip(&self.left)
            .map(|(count, left)| count - left)
            .collect()
    }

    /// Merges equal launches and orders them by kind and filling.
    pub fn normalise(&mut self) {
        let mut merged: BTreeMap<(usize, Filling), u64> = BTreeMap::new();
        for launched in std::mem::take(&mut self.launched) {
            *merged.entry((launched.kind, launched.filling)).or_default() += launched.count;
        }
        self.launched = merged
            .into_iter()
            .map(|((kind, filling), count)| Launched { kind, filling, count })
            .collect();
    }

    /// Pods without a place by priority, highest first: the fewer of the higher, the better.
    #[must_use]
    pub fn left_by_priority(&self, problem: &Problem<'_>) -> Vec<(i32, u64)> {
        let mut left: BTreeMap<i32, u64> = BTreeMap::new();
        for (group, count) in self.left.iter().enumerate() {
            *left.entry(problem.groups[group].priority).or_default() += count;
        }
        left.into_iter().rev().collect()
    }

    /// What compares packings, the better one first: fewer pods left, the most urgent first, then cheaper.
    #[must_use]
    pub fn score(&self, problem: &Problem<'_>) -> Score {
        (self.left_by_priority(problem), self.cost(problem))
    }

    /// Whether its score is the better one.
    #[must_use]
    pub fn is_better_than(&self, other: &Self, problem: &Problem<'_>) -> bool {
        self.score(problem) < other.score(problem)
    }
}

/// Puts so many pods of a group into a filling.
pub(crate) fn put(filling: &mut Filling, group: usize, count: u64) {
    match filling.binary_search_by_key(&group, |(other, _)| *other) {
        Ok(at) => filling[at].1 += count,
        Err(at) => filling.insert(at, (group, count)),
    }
}

/// Takes at most so many pods of a group out of a filling; how many it took.
pub(crate) fn take(filling: &mut Filling, group: usize, most: u64) -> u64 {
    let Ok(at) = filling.binary_search_by_key(&group, |(other, _)| *other) else {
        return 0;
    };
    let taken = filling[at].1.min(most);
    filling[at].1 -= taken;
    if filling[at].1 == 0 {
        filling.remove(at);
    }
    taken
}

/// What pods on a node ask for together.
#[must_use]
pub fn load(problem: &Problem<'_>, filling: &[(usize, u64)]) -> Vec<u64> {
    let mut load = vec![0; problem.resources.len()];
    for (group, count) in filling {
        resources::give(&mut load, problem.request(*group), *count);
    }
    load
}
