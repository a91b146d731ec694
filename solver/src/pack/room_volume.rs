//! Existing nodes in the lower bound: rooms that the same profiles may use melt into one volume.
//!
//! A relaxation, so the bound stays valid: what fits the single rooms fits their sum. Used by [`super::lower_bound`].

use std::collections::BTreeMap;

use crate::lower::Problem;
use crate::lower::rules::resources;

/// Pairs of group and volume beyond which all rooms melt into one.
const MOST_PAIRS: usize = 2_000;

/// Rooms taken together.
#[derive(Clone, Debug)]
pub struct Volume {
    /// What is free in all of them together, over the problem's resources.
    pub free: Vec<u128>,
    /// Groups that at least one of the rooms can take, with how many pods of it they could hold at most, alone.
    pub takes: BTreeMap<usize, u64>,
}

/// The volumes of all rooms that can take any of these groups.
#[must_use]
pub fn volumes(problem: &Problem<'_>, groups: &[usize]) -> Vec<Volume> {
    let apart = melt(problem, groups, false);
    let pairs: usize = apart.iter().map(|volume| volume.takes.len()).sum();
    if pairs > MOST_PAIRS {
        melt(problem, groups, true)
    } else {
        apart
    }
}

fn melt(problem: &Problem<'_>, groups: &[usize], into_one: bool) -> Vec<Volume> {
    let mut volumes: BTreeMap<_, Volume> = BTreeMap::new();
    for room in &problem.rooms {
        let key = (!into_one).then_some(&room.profiles);
        let volume = volumes.entry(key).or_insert_with(|| Volume {
            free: vec![0; problem.resources.len()],
            takes: BTreeMap::new(),
        });
        let mut takes_any = false;
        for group in groups {
            let usable = room.profiles.contains(problem.groups[*group].profile);
            let copies = if usable {
                resources::copies(problem.request(*group), &room.free)
            } else {
                0
            };
            if copies > 0 {
                takes_any = true;
                let sum = volume.takes.entry(*group).or_default();
                *sum = sum.saturating_add(copies);
            }
        }
        if takes_any {
            for (sum, free) in volume.free.iter_mut().zip(&room.free) {
                *sum += u128::from(*free);
            }
        }
    }
    volumes
        .into_values()
        .filter(|volume| !volume.takes.is_empty())
        .collect()
}
