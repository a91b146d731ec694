//! How many pods more one node takes under caps and conflicts: for the engines that fill nodes one by one.
//!
//! Only what is forbidden counts. An excess that costs shows in what a packing costs, and in nothing here. What running pods
//! bar from a room is in [`OnNode`]; `rules` are of launched nodes alone.

use crate::lower::Problem;
use crate::lower::side::{Excess, Place, SideRows};
#[cfg(feature = "highs")]
use crate::pack::knapsack::Conflicts;
#[cfg(feature = "highs")]
use crate::pack::valuation::{Class, Rules};

/// Caps and conflicts by group.
#[derive(Clone, Debug)]
pub struct OnNode<'a> {
    side: &'a SideRows,
    /// By group: caps that it counts for; empty where there are none at all.
    caps: Vec<Vec<usize>>,
    /// By group: conflicts that it is in, and whether on the one side.
    conflicts: Vec<Vec<(usize, bool)>>,
}

impl<'a> OnNode<'a> {
    /// Of a problem.
    #[must_use]
    pub fn new(problem: &'a Problem<'_>) -> Self {
        let side = &problem.side;
        let mut rules = Self {
            side,
            caps: Vec::new(),
            conflicts: Vec::new(),
        };
        if side.caps.is_empty() && side.conflicts.is_empty() {
            return rules;
        }
        rules.caps = vec![Vec::new(); problem.groups.len()];
        rules.conflicts = vec![Vec::new(); problem.groups.len()];
        for (at, cap) in side.caps.iter().enumerate() {
            if cap.excess == Excess::Forbidden {
                for group in cap.groups.ones() {
                    rules.caps[group].push(at);
                }
            }
        }
        for (at, conflict) in side.conflicts.iter().enumerate() {
            for (groups, of_one) in [(&conflict.one, true), (&conflict.other, false)] {
                for group in groups.ones() {
                    rules.conflicts[group].push((at, of_one));
                }
            }
        }
        rules
    }

    /// How many pods of a group may be added to a node of a place with these pods on it.
    #[must_use]
    pub fn most(&self, group: usize, place: Place, filling: &[(usize, u64)]) -> u64 {
        if self.caps.is_empty() {
            return u64::MAX;
        }
        for (at, of_one) in &self.conflicts[group] {
            let conflict = &self.side.conflicts[*at];
            let (against, rooms) = if *of_one {
                (&conflict.other, &conflict.rooms_with_other)
            } else {
                (&conflict.one, &conflict.rooms_with_one)
            };
            let there = matches!(place, Place::Room(room) if rooms.contains(room));
            if there || filling.iter().any(|(other, _)| against.contains(*other)) {
                return 0;
            }
        }
        let mut most = u64::MAX;
        for at in &self.caps[group] {
            let cap = &self.side.caps[*at];
            let here = filling.iter().filter(|(other, _)| cap.groups.contains(*other));
            let taken = cap.there(place) + here.map(|(_, count)| count).sum::<u64>();
            most = most.min(cap.most.saturating_sub(taken));
        }
        most
    }
}

/// Caps and conflicts for the generator of columns without side rows; `None` where there is more to keep or to count than
/// those.
#[cfg(feature = "highs")]
#[must_use]
pub fn rules(side: &SideRows) -> Option<Rules> {
    let is_hard = side.caps.iter().all(|cap| cap.excess == Excess::Forbidden);
    if !is_hard || side.span_nodes() || !side.penalties.is_empty() {
        return None;
    }
    let class = |cap: &crate::lower::side::Cap| Class {
        groups: cap.groups.ones().collect(),
        most: cap.most,
    };
    let mut conflicts = Conflicts::new();
    for conflict in &side.conflicts {
        for one in conflict.one.ones() {
            for other in conflict.other.ones() {
                conflicts.entry(one).or_default().push(other);
                conflicts.entry(other).or_default().push(one);
            }
        }
    }
    for others in conflicts.values_mut() {
        others.sort_unstable();
        others.dedup();
    }
    Some(Rules {
        classes: side.caps.iter().map(class).collect(),
        conflicts,
    })
}
