//! The compact program: which kind each node of a small plan is and how many pods of each group are on it.
//!
//! Not bound to fillings that somebody found, so it gets the last of what column generation leaves where there are few
//! nodes; beyond that it has too many variables to get anywhere. Nodes are in the order of their kinds, which takes away
//! the copies of a plan that differ in the order alone, and there may be a few nodes more than before, since many small
//! ones may cost less. Pods on nodes that exist stay there, pods without a place stay without; limits, supplies and caps
//! within a node hold. Other side rows aren't stated: where there are some it has nothing to offer.
//!
//! Its bound is a hint and no proof: it is HiGHS' own, in floats, and says nothing of plans with more nodes.
//!
//! Papers: papers.md, 25; the model is the textbook one.

use crate::lower::Problem;
use crate::lower::rules::resources;
use crate::lower::side::{Excess, SideRows};
use crate::lp::whole::{Program, Row};

use super::effort::Effort;
use super::mip::{self, Failure, whole};
use super::side::verdict;
use super::{Filling, Launched, Packing};

/// Nodes beyond which it gets nowhere in the time there is.
pub const MOST_NODES: u64 = 10;
/// Nodes that it may use beyond those of the start.
const MORE_NODES: usize = 2;
/// Variables beyond which even the root takes too long.
const MOST_VARIABLES: usize = 6_000;
/// Nodes of the tree; its end is mostly that of the effort.
const TREE: u32 = 200_000;
/// Micro-dollars of a dollar, the unit of HiGHS' bound.
const DOLLAR: f64 = 1_000_000.0;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// A better packing than the start, if one was found.
    pub packing: Option<Packing>,
    /// Micro-dollars below which HiGHS sees no packing with so few nodes and the same pods in the same rooms. In floats:
    /// to stop looking, never to prove.
    pub hint: Option<u64>,
}

/// Looks for a better packing than the start, which has [`MOST_NODES`] launches at most; `None` where the program has
/// nothing to offer.
///
/// # Errors
/// When HiGHS fails or its answer isn't true; the engine is out then, and nothing else.
pub fn improve(
    problem: &Problem<'_>,
    start: &Packing,
    effort: &mut Effort<'_>,
) -> Result<Option<Outcome>, Failure> {
    let Some(compact) = Compact::new(problem, start) else {
        return Ok(None);
    };
    let Some(found) = mip::solve(&compact.program, &compact.start, TREE, effort)? else {
        return Ok(None);
    };
    let packing = compact.packing(start, &found.answer.values);
    let packing = Some(packing).filter(|packing| packing.is_better_than(start, problem));
    if packing
        .as_ref()
        .is_some_and(|packing| !verdict::broken(problem, packing).is_empty())
    {
        return Err(Failure::Unsound);
    }
    Ok(Some(Outcome {
        packing,
        hint: found.bound.map(micros),
    }))
}

/// The program with the meaning of its variables.
struct Compact<'a> {
    problem: &'a Problem<'a>,
    /// Kinds to choose from, in their order.
    kinds: Vec<usize>,
    /// Groups with pods to place.
    groups: Vec<(usize, u64)>,
    /// By node: variables that say whether it is of each of the kinds.
    chosen: Vec<Vec<usize>>,
    /// By node: variables that say how many pods of each of the groups it has.
    placed: Vec<Vec<usize>>,
    program: Program,
    start: Vec<u64>,
}

impl<'a> Compact<'a> {
    /// `None` where the program can't say all that has to hold, or is too large.
    fn new(problem: &'a Problem<'a>, start: &Packing) -> Option<Self> {
        let count = start.launches();
        if count == 0 || count > MOST_NODES || !problem.weights_are_settled() || !can_state(&problem.side) {
            return None;
        }
        let mut demand = vec![0; problem.groups.len()];
        for launched in &start.launched {
            for (group, each) in &launched.filling {
                demand[*group] += each * launched.count;
            }
        }
        let groups: Vec<(usize, u64)> = demand
            .into_iter()
            .enumerate()
            .filter(|(_, pods)| *pods > 0)
            .collect();
        let cost = start.cost(problem);
        let kinds: Vec<usize> = (0..problem.kinds.len())
            .filter(|kind| problem.kinds[*kind].cost <= cost)
            .filter(|kind| {
                groups
                    .iter()
                    .any(|(group, _)| mip::goes_to(problem, *group, *kind))
            })
            .collect();
        let nodes = usize::try_from(count).ok()? + MORE_NODES;
        if nodes * (kinds.len() + groups.len()) > MOST_VARIABLES {
            return None;
        }
        let mut compact = Self {
            problem,
            kinds,
            groups,
            chosen: Vec::new(),
            placed: Vec::new(),
            program: Program::default(),
            start: Vec::new(),
        };
        for _ in 0..nodes {
            compact.add_node();
        }
        compact.keep_order();
        compact.place_all();
        compact.begin(start)?;
        Some(compact)
    }

    /// Pods of a group that an empty node of a kind holds, none where they don't go there.
    fn most(&self, group: usize, kind: usize) -> u64 {
        if mip::goes_to(self.problem, group, kind) {
            resources::copies(self.problem.request(group), self.problem.room(kind))
        } else {
            0
        }
    }

    /// A node of one kind at most, with no more than that has room for.
    fn add_node(&mut self) {
        let costs = self
            .kinds
            .iter()
            .map(|kind| whole(self.problem.kinds[*kind].cost));
        let chosen: Vec<usize> = costs.map(|cost| self.program.add(cost, 1)).collect();
        let mut placed = Vec::with_capacity(self.groups.len());
        let one_kind = chosen.iter().map(|variable| (*variable, 1)).collect();
        self.program.rows.push(Row::at_most(one_kind, 1));
        for (group, pods) in &self.groups {
            let by_kind = self.kinds.iter().map(|kind| self.most(*group, *kind).min(*pods));
            let by_kind: Vec<u64> = by_kind.collect();
            let here = self.program.add(0, by_kind.iter().copied().max().unwrap_or(0));
            placed.push(here);
            // None without a kind that takes it: resources alone would allow a share of a node for a share of its price.
            let room = chosen.iter().zip(&by_kind).filter(|(_, most)| **most > 0);
            let mut terms: Vec<(usize, i64)> =
                room.map(|(variable, most)| (*variable, -whole(*most))).collect();
            terms.push((here, 1));
            self.program.rows.push(Row::at_most(terms, 0));
        }
        for resource in 0..self.problem.resources.len() {
            let needs = self.groups.iter().zip(&placed);
            let needs = needs
                .map(|((group, _), variable)| (*variable, whole(self.problem.request(*group)[resource])));
            let room = self.kinds.iter().zip(&chosen);
            let room = room.map(|(kind, variable)| (*variable, -whole(self.problem.room(*kind)[resource])));
            let terms: Vec<(usize, i64)> = needs.chain(room).filter(|(_, amount)| *amount != 0).collect();
            self.program.rows.push(Row::at_most(terms, 0));
        }
        for cap in &self.problem.side.caps {
            let counted = self.groups.iter().zip(&placed);
            let counted = counted.filter(|((group, _), _)| cap.groups.contains(*group));
            let terms: Vec<(usize, i64)> = counted.map(|(_, variable)| (*variable, 1)).collect();
            self.program.rows.push(Row::at_most(terms, whole(cap.most)));
        }
        self.chosen.push(chosen);
        self.placed.push(placed);
    }

    /// Nodes in the order of their kinds, the last first, those that aren't used in the end.
    fn keep_order(&mut self) {
        for pair in self.chosen.windows(2) {
            let ranked = |node: &[usize], sign: i64| -> Vec<(usize, i64)> {
                let ranks = node.iter().zip(1..);
                ranks.map(|(variable, rank)| (*variable, sign * rank)).collect()
            };
            let terms = [ranked(&pair[0], 1), ranked(&pair[1], -1)].concat();
            self.program.rows.push(Row::at_least(terms, 0));
        }
    }

    /// Every pod is somewhere, and limits and supplies hold.
    fn place_all(&mut self) {
        for (at, (_, pods)) in self.groups.iter().enumerate() {
            let terms = self.placed.iter().map(|placed| (placed[at], 1)).collect();
            self.program.rows.push(Row {
                terms,
                lower: Some(whole(*pods)),
                upper: Some(whole(*pods)),
            });
        }
        let kinds = self.chosen.iter().flat_map(|node| node.iter().zip(&self.kinds));
        let kinds: Vec<(usize, usize)> = kinds.map(|(variable, kind)| (*variable, *kind)).collect();
        self.program.rows.extend(mip::limits(self.problem, &kinds));
    }

    /// The start's nodes in the order that the program keeps; `None` where the program doesn't admit them.
    fn begin(&mut self, start: &Packing) -> Option<()> {
        let mut nodes: Vec<(usize, &Filling)> = Vec::new();
        for launched in &start.launched {
            nodes.extend((0..launched.count).map(|_| (launched.kind, &launched.filling)));
        }
        nodes.sort_by(|one, two| two.cmp(one));
        self.start = vec![0; self.program.variables.len()];
        for (at, (kind, filling)) in nodes.into_iter().enumerate() {
            let kind = self.kinds.binary_search(&kind).ok()?;
            self.start[self.chosen[at][kind]] = 1;
            for (group, count) in filling {
                let group = self
                    .groups
                    .binary_search_by_key(group, |(group, _)| *group)
                    .ok()?;
                self.start[self.placed[at][group]] = *count;
            }
        }
        self.program.admits(&self.start).then_some(())
    }

    /// What the values launch; a node without pods isn't.
    fn packing(&self, start: &Packing, values: &[u64]) -> Packing {
        let mut launched = Vec::new();
        for (chosen, placed) in self.chosen.iter().zip(&self.placed) {
            let groups = self.groups.iter().zip(placed);
            let filling = groups.map(|((group, _), variable)| (*group, values[*variable]));
            let filling: Filling = filling.filter(|(_, count)| *count > 0).collect();
            let kind = chosen.iter().position(|variable| values[*variable] == 1);
            if let (Some(kind), false) = (kind, filling.is_empty()) {
                launched.push(Launched {
                    kind: self.kinds[kind],
                    filling,
                    count: 1,
                });
            }
        }
        let packing = Packing {
            rooms: start.rooms.clone(),
            launched,
            left: start.left.clone(),
        };
        mip::settled(self.problem, packing)
    }
}

/// Whether the program says all that side rows ask for.
fn can_state(side: &SideRows) -> bool {
    let forbidden = |excess: Excess| excess == Excess::Forbidden;
    side.conflicts.is_empty()
        && side.penalties.is_empty()
        && !side.span_nodes()
        && side.caps.iter().all(|cap| forbidden(cap.excess))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a hint; saturates"
)]
fn micros(dollars: f64) -> u64 {
    (dollars * DOLLAR).floor() as u64
}

#[cfg(test)]
#[path = "compact_tests.rs"]
mod tests;
