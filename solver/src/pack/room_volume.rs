//! Existing nodes in the lower bound: rooms that the same profiles may use melt into one volume.
//!
//! A relaxation, so the bound stays valid: what fits the single rooms fits their sum. Used by [`super::lower_bound`].

use std::collections::BTreeMap;

use crate::lower::Problem;
use crate::lower::existing::Room;
use crate::lower::rules::resources;

/// Pairs of group and volume beyond which all rooms melt into one.
const MOST_PAIRS: usize = 100_000;
/// Pairs of group and room beyond which rooms are not looked at one by one.
const MOST_LOOKS: usize = 4_000_000;

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

/// Rooms of one volume while it is put together.
struct Melting<'a> {
    /// Whose profiles count for all of them.
    first: &'a Room,
    /// What is free in each.
    rooms: Vec<&'a [u64]>,
}

fn melt(problem: &Problem<'_>, groups: &[usize], into_one: bool) -> Vec<Volume> {
    let mut by_profiles: BTreeMap<_, Melting<'_>> = BTreeMap::new();
    for room in &problem.rooms {
        let melting = by_profiles.entry(&room.profiles).or_insert_with(|| Melting {
            first: room,
            rooms: Vec::new(),
        });
        melting.rooms.push(&room.free);
    }
    let one_by_one = problem.rooms.len().saturating_mul(groups.len()) <= MOST_LOOKS;
    let mut volumes: Vec<Volume> = Vec::new();
    for melting in by_profiles.into_values() {
        let volume = melting.volume(problem, groups, one_by_one);
        match volumes.last_mut() {
            _ if volume.takes.is_empty() => {}
            Some(all) if into_one => all.add(volume),
            _ => volumes.push(volume),
        }
    }
    volumes
}

impl Melting<'_> {
    fn volume(self, problem: &Problem<'_>, groups: &[usize], one_by_one: bool) -> Volume {
        let usable = |group: &usize| self.first.profiles.contains(problem.groups[*group].profile);
        let groups: Vec<usize> = groups.iter().copied().filter(usable).collect();
        let sum = |at: usize| self.rooms.iter().map(|free| u128::from(free[at])).sum();
        let free: Vec<u128> = (0..problem.resources.len()).map(sum).collect();
        let mut takes = BTreeMap::new();
        if one_by_one {
            for group in groups {
                let request = problem.request(group);
                let rooms = self.rooms.iter();
                let copies = rooms.fold(0_u64, |sum, free| {
                    sum.saturating_add(resources::copies(request, free))
                });
                if copies > 0 {
                    takes.insert(group, copies);
                }
            }
        } else {
            // What one of the rooms holds, the most of each resource in any of them does; all of them hold what their sum does.
            let most = |at: usize| self.rooms.iter().map(|free| free[at]).max().unwrap_or(0);
            let most: Vec<u64> = (0..problem.resources.len()).map(most).collect();
            for group in groups {
                let request = problem.request(group);
                if resources::fits(request, &most) {
                    takes.insert(group, copies_in_all(request, &free));
                }
            }
        }
        Volume { free, takes }
    }
}

impl Volume {
    fn add(&mut self, other: Self) {
        for (sum, free) in self.free.iter_mut().zip(other.free) {
            *sum += free;
        }
        for (group, copies) in other.takes {
            let sum = self.takes.entry(group).or_default();
            *sum = sum.saturating_add(copies);
        }
    }
}

/// How many times a request fits into a sum of rooms.
fn copies_in_all(request: &[u64], free: &[u128]) -> u64 {
    let asked = request.iter().zip(free).filter(|(request, _)| **request > 0);
    let copies = asked.map(|(request, free)| free / u128::from(*request)).min();
    copies
        .and_then(|copies| u64::try_from(copies).ok())
        .unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::lower;
    use crate::testing::strategies::{Ingredients, check_cases, cluster};
    use proptest::prop_assert;

    #[test]
    fn rooms_taken_in_sum_take_at_least_what_they_take_one_by_one() {
        check_cases(200, &cluster(Ingredients::SMALL), |snapshot| {
            let problem = lower(&snapshot);
            let groups: Vec<usize> = (0..problem.groups.len()).collect();
            for room in &problem.rooms {
                let melting = || Melting {
                    first: room,
                    rooms: vec![&room.free, &room.free],
                };
                let apart = melting().volume(&problem, &groups, true);
                let summed = melting().volume(&problem, &groups, false);
                prop_assert!(apart.free == summed.free);
                for (group, copies) in apart.takes {
                    prop_assert!(summed.takes[&group] >= copies);
                }
            }
            Ok(())
        });
    }
}
