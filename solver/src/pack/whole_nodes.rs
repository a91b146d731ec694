//! Whole nodes: what pods of one group need at least, and sets of kinds of which some nodes are launched in any case.
//!
//! Part of [`super::lower_bound`], which says why this bounds from below.

use std::collections::BTreeMap;

use fixedbitset::FixedBitSet;

use crate::lower::Problem;
use crate::lower::rules::resources;

use super::price_program::Cover;
use super::room_volume::Volume;

/// Pairs of cover and kind up to which covers are looked at, the smallest first: those of few kinds say most.
const MOST_COVERED: usize = 1_500;

/// Kinds that some groups can use.
#[derive(Clone, Debug)]
pub struct KindCover {
    /// Which kinds.
    pub kinds: FixedBitSet,
    /// Groups that can use these and no others.
    pub groups: Vec<usize>,
    /// σ in 2⁻⁵⁶ micro-dollars.
    pub worth: u128,
}

/// What pods of one group cost at least, whatever else is packed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone {
    /// Cost of the kind that holds them at the least cost a pod, and how many it holds.
    cost: u64,
    copies: u64,
    /// Cost of the cheapest kind.
    cheapest: u64,
    /// The most pods that any kind holds.
    most: u64,
    /// Pods that existing nodes can take.
    absorbed: u64,
}

/// The sets of kinds that groups can use, the smallest first.
#[must_use]
pub fn covers(usable: &[FixedBitSet], active: &[usize]) -> Vec<KindCover> {
    let mut by_kinds: BTreeMap<&FixedBitSet, Vec<usize>> = BTreeMap::new();
    for group in active {
        by_kinds.entry(&usable[*group]).or_default().push(*group);
    }
    let cover = |(kinds, groups): (&FixedBitSet, Vec<usize>)| KindCover {
        kinds: kinds.clone(),
        groups,
        worth: 0,
    };
    let mut covers: Vec<KindCover> = by_kinds.into_iter().map(cover).collect();
    covers.sort_by_key(|cover| cover.kinds.count_ones(..));
    let mut pairs = 0;
    covers.retain(|cover| {
        pairs += cover.kinds.count_ones(..);
        pairs <= MOST_COVERED
    });
    covers
}

impl KindCover {
    /// As the program of prices sees it.
    #[must_use]
    pub fn as_block_cover(&self, alone: &[Alone], counts: &[u64]) -> Cover {
        #[expect(clippy::cast_precision_loss, reason = "the program only suggests prices")]
        let least = self.nodes(alone, counts) as f64;
        Cover {
            blocks: self.kinds.clone(),
            least,
        }
    }

    /// How many nodes of its kinds it takes at least for so many pods of each group.
    #[must_use]
    pub fn nodes(&self, alone: &[Alone], counts: &[u64]) -> u64 {
        let nodes = self
            .groups
            .iter()
            .map(|group| alone[*group].nodes(counts[*group]));
        nodes.max().unwrap_or(0)
    }
}

impl Alone {
    /// Of a group that can use these kinds.
    #[must_use]
    pub fn of(problem: &Problem<'_>, group: usize, kinds: &FixedBitSet, volumes: &[Volume]) -> Self {
        let request = problem.request(group);
        let mut best = Self::default();
        // Kinds come in the order of cost. Limited offers count as if there were any number of them.
        if let Some(cheapest) = kinds.ones().next() {
            best.cheapest = problem.kinds[cheapest].cost;
        }
        for kind in kinds.ones() {
            let cost = problem.kinds[kind].cost;
            let copies = resources::copies(request, problem.room(kind));
            best.most = best.most.max(copies);
            let dearer =
                u128::from(cost) * u128::from(best.copies) >= u128::from(best.cost) * u128::from(copies);
            if best.copies == 0 || !dearer {
                (best.cost, best.copies) = (cost, copies);
            }
        }
        for volume in volumes {
            let there = volume.takes.get(&group).copied().unwrap_or(0);
            best.absorbed = best.absorbed.saturating_add(there);
        }
        best
    }

    /// Nodes that are launched at least for so many pods.
    #[must_use]
    pub fn nodes(&self, count: u64) -> u64 {
        let needed = count.saturating_sub(self.absorbed);
        if self.most == 0 {
            0
        } else {
            needed.div_ceil(self.most)
        }
    }

    /// Micro-dollars that so many pods cost at least: at least one whole node of the cheapest kind.
    #[must_use]
    pub fn bound(&self, count: u64) -> u64 {
        let needed = u128::from(count.saturating_sub(self.absorbed));
        if needed == 0 || self.copies == 0 {
            return 0;
        }
        let cost = (needed * u128::from(self.cost)).div_ceil(u128::from(self.copies));
        u64::try_from(cost).unwrap_or(0).max(self.cheapest)
    }
}
