//! Few pods: the least cost for every number of pods of each group, in a table.
//!
//! What so many pods cost at least is what a node costs with what pods cost that are left beside it, over all nodes that
//! are worth launching and all ways to fill each to the brim: a dynamic programme from no pods to all of them. Offers of
//! limited number and nodes that exist each add a turn in which one of them may be used or not. A node may hold less than
//! its filling, so a filling counts as covering at most so many.
//!
//! Promises: in integers throughout, and no packing costs less: limits of pools, caps and rows only take packings away,
//! and penalties only add to their cost. Without any of these it is the optimum. Declines what would take more than
//! a tenth of a second.

use std::collections::BTreeMap;

use fixedbitset::FixedBitSet;

use crate::lower::Problem;
use crate::lower::rules::resources;

use super::super::effort::{Effort, Share};
use super::usable;

/// Looks at one group in one filling for one entry, all turns together: a twentieth of a second or so.
const MOST_LOOKS: u64 = 4_000_000;
/// Fillings of one node beyond which it isn't worth comparing them.
const MOST_FILLINGS: usize = 400;
/// For listing fillings, comparing them and all those looks.
const TABLE: Share = Share {
    units: 2 * MOST_LOOKS,
    hundredths: 15,
};

/// Stands for pods that no number of nodes can take.
const NEVER: u64 = u64::MAX;

/// The least cost by number of pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Groups that count, with the most pods of each and how far apart entries are that differ by one pod of it.
    axes: Vec<Axis>,
    /// Micro-dollars.
    least: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Axis {
    group: usize,
    pods: u64,
    step: usize,
}

/// A node with as many pods as go on it together, by axis.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Full {
    cost: u64,
    pods: Vec<u64>,
}

/// Nodes of which some are used in one turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Turn {
    fillings: Vec<Full>,
    /// How many of these nodes there are.
    number: u64,
}

impl Table {
    /// For up to so many pods of each group; `None` where they are too many, or there is no time for it.
    #[must_use]
    pub fn of(problem: &Problem<'_>, counts: &[u64], effort: &mut Effort<'_>) -> Option<Self> {
        let usable = usable(problem);
        let axes = axes(counts, &usable)?;
        let size = axes.last().map(|axis| axis.step * (wide(axis.pods) + 1))?;
        if !effort.begin(TABLE, number(size)) {
            return None;
        }
        let mut listing = Listing {
            problem,
            usable: &usable,
            axes: &axes,
            effort,
        };
        let unlimited = listing.unlimited()?;
        let turns = listing.turns()?;
        let fillings = |turn: &Turn| number(turn.fillings.len()).saturating_mul(turn.number);
        let fillings = turns
            .iter()
            .map(fillings)
            .fold(number(unlimited.len()), u64::saturating_add);
        let looks = fillings
            .saturating_mul(number(size))
            .saturating_mul(number(axes.len()));
        if looks > MOST_LOOKS {
            return None;
        }
        let mut table = Self {
            axes,
            least: vec![NEVER; size],
        };
        table.fill(&unlimited, effort)?;
        for turn in &turns {
            for _ in 0..turn.number {
                table.use_one(turn, effort)?;
            }
        }
        Some(table)
    }

    /// Micro-dollars that launches for so many pods of each group cost at least.
    #[must_use]
    pub fn bound(&self, placed: &[u64]) -> u64 {
        let parts = self
            .axes
            .iter()
            .map(|axis| axis.step * wide(placed[axis.group].min(axis.pods)));
        match self.least.get(parts.sum::<usize>()) {
            // Nobody could have placed these.
            None | Some(&NEVER) => 0,
            Some(least) => *least,
        }
    }

    /// With any number of nodes, from no pods on. `None` where time is up first: half a table bounds nothing.
    fn fill(&mut self, fillings: &[Full], effort: &mut Effort<'_>) -> Option<()> {
        let mut pods = vec![0; self.axes.len()];
        self.least[0] = 0;
        for entry in 1..self.least.len() {
            self.next(&mut pods);
            self.least[entry] = self.best(entry, &pods, fillings);
            self.look(fillings, effort)?;
        }
        Some(())
    }

    /// With one node more, from all pods down: what is left beside it has not had its turn then.
    fn use_one(&mut self, turn: &Turn, effort: &mut Effort<'_>) -> Option<()> {
        let mut pods: Vec<u64> = self.axes.iter().map(|axis| axis.pods).collect();
        for entry in (1..self.least.len()).rev() {
            self.least[entry] = self.least[entry].min(self.best(entry, &pods, &turn.fillings));
            self.previous(&mut pods);
            self.look(&turn.fillings, effort)?;
        }
        Some(())
    }

    fn look(&self, fillings: &[Full], effort: &mut Effort<'_>) -> Option<()> {
        effort.spend(number(fillings.len() * self.axes.len()));
        (!effort.is_used_up()).then_some(())
    }

    fn best(&self, entry: usize, pods: &[u64], fillings: &[Full]) -> u64 {
        let beside = |full: &Full| -> usize {
            let taken = self.axes.iter().zip(pods).zip(&full.pods);
            entry
                - taken
                    .map(|((axis, pods), most)| axis.step * wide(*pods.min(most)))
                    .sum::<usize>()
        };
        let costs = fillings.iter().filter_map(|full| {
            let beside = beside(full);
            (beside != entry).then(|| self.least[beside].saturating_add(full.cost))
        });
        costs.min().unwrap_or(NEVER)
    }

    /// The numbers of pods of the entry after this one.
    fn next(&self, pods: &mut [u64]) {
        for (axis, pods) in self.axes.iter().zip(pods) {
            if *pods < axis.pods {
                *pods += 1;
                return;
            }
            *pods = 0;
        }
    }

    /// The numbers of pods of the entry before this one.
    fn previous(&self, pods: &mut [u64]) {
        for (axis, pods) in self.axes.iter().zip(pods) {
            if *pods > 0 {
                *pods -= 1;
                return;
            }
            *pods = axis.pods;
        }
    }
}

fn wide(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// The groups that launches may be for; `None` where the table would be too long.
fn axes(counts: &[u64], usable: &[FixedBitSet]) -> Option<Vec<Axis>> {
    let mut step = 1_u64;
    let mut axes = Vec::new();
    for (group, pods) in counts.iter().enumerate() {
        if *pods > 0 && !usable[group].is_clear() {
            axes.push(Axis {
                group,
                pods: *pods,
                step: wide(step),
            });
            step = step.checked_mul(pods.checked_add(1)?)?;
            if step > MOST_LOOKS {
                return None;
            }
        }
    }
    Some(axes)
}

/// Lists the fillings worth keeping.
struct Listing<'a, 'q> {
    problem: &'a Problem<'a>,
    usable: &'a [FixedBitSet],
    axes: &'a [Axis],
    effort: &'a mut Effort<'q>,
}

impl Listing<'_, '_> {
    /// Of kinds of which there is any number.
    fn unlimited(&mut self) -> Option<Vec<Full>> {
        let mut kept = Vec::new();
        for kind in (0..self.problem.kinds.len()).filter(|kind| self.problem.kinds[*kind].supply.is_none()) {
            self.of_kind(kind, &mut kept)?;
        }
        Some(kept)
    }

    /// Of offers of limited number, and of nodes that exist.
    fn turns(&mut self) -> Option<Vec<Turn>> {
        let pods: u64 = self.axes.iter().map(|axis| axis.pods).sum();
        let mut limited: BTreeMap<usize, Turn> = BTreeMap::new();
        for (kind, details) in self.problem.kinds.iter().enumerate() {
            if let Some(supply) = details.supply {
                let turn = limited.entry(supply).or_default();
                // A node that is launched holds a pod at least.
                turn.number = self.problem.supplies[supply].min(pods);
                self.of_kind(kind, &mut turn.fillings)?;
            }
        }
        let mut turns: Vec<Turn> = limited.into_values().collect();
        for room in &self.problem.rooms {
            let mut turn = Turn {
                fillings: Vec::new(),
                number: 1,
            };
            let takes = |group: usize| room.profiles.contains(self.problem.groups[group].profile);
            self.add(0, &room.free, &takes, &mut turn.fillings)?;
            turns.push(turn);
        }
        turns.retain(|turn| !turn.fillings.is_empty());
        Some(turns)
    }

    fn of_kind(&mut self, kind: usize, kept: &mut Vec<Full>) -> Option<()> {
        let usable = self.usable;
        let takes = |group: usize| usable[group].contains(kind);
        let problem = self.problem;
        self.add(problem.kinds[kind].cost, problem.room(kind), &takes, kept)
    }

    /// Adds the fillings of one node that no filling kept before covers for as little; `None` where there are too many.
    /// Nodes come in the order of cost.
    fn add(
        &mut self,
        cost: u64,
        room: &[u64],
        takes: &dyn Fn(usize) -> bool,
        kept: &mut Vec<Full>,
    ) -> Option<()> {
        let mut fillings = Vec::new();
        self.fillings(room, takes, &mut vec![0; self.axes.len()], 0, &mut fillings)?;
        for pods in fillings {
            self.effort.spend(number((kept.len() + 1) * self.axes.len()));
            if self.effort.is_used_up() {
                return None;
            }
            let covers = |full: &Full| full.pods.iter().zip(&pods).all(|(more, pods)| more >= pods);
            if pods.iter().any(|pods| *pods > 0) && !kept.iter().any(covers) {
                kept.push(Full { cost, pods });
            }
        }
        Some(())
    }

    /// All ways to fill a room with pods from an axis on, the most of the first ones first: what covers another way comes
    /// before it. Of the last axis as many as there may be.
    fn fillings(
        &self,
        room: &[u64],
        takes: &dyn Fn(usize) -> bool,
        pods: &mut Vec<u64>,
        from: usize,
        found: &mut Vec<Vec<u64>>,
    ) -> Option<()> {
        let Some(axis) = self.axes.get(from) else {
            found.push(pods.clone());
            return (found.len() <= MOST_FILLINGS).then_some(());
        };
        let request = self.problem.request(axis.group);
        let most = if takes(axis.group) {
            resources::copies(request, room).min(axis.pods)
        } else {
            0
        };
        let least = if from + 1 == self.axes.len() { most } else { 0 };
        for copies in (least..=most).rev() {
            let mut rest = room.to_vec();
            resources::take(&mut rest, request, copies);
            pods[from] = copies;
            self.fillings(&rest, takes, pods, from + 1, found)?;
        }
        pods[from] = 0;
        Some(())
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
