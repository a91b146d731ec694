//! The restricted master program in whole numbers: how often to use fillings that are known, at the least cost.
//!
//! Whatever launches a packing has, their fillings and many others are put together anew. Alone this is poor; with the
//! fillings of a dive and with its packing as a start it gains what the dive lost by fixing one filling after the other.
//! Pods on nodes that exist stay there, pods without a place stay without, and limits and supplies hold.
//!
//! Doesn't look at side rows that span nodes: where there are some it has nothing to offer.
//!
//! Papers: papers.md, 1 and 4.

use std::collections::BTreeMap;

use crate::lower::Problem;
use crate::lower::side::Place;
use crate::lp::whole::{Program, Row};

use super::effort::Effort;
use super::ledger::Ledger;
use super::master::Pattern;
use super::mip::{self, Failure, whole};
use super::side::verdict;
use super::{Filling, Launched, Packing};

/// Fillings that the program may choose from beside those of packings: those that cost least beyond what their pods are
/// worth. More of them take the tree's time and hardly ever help.
const MOST_PATTERNS: usize = 600;
/// Nodes of the tree: what it finds it mostly finds in the first of them.
const NODES: u32 = 500;

/// A better packing made of the fillings of `packings`, the best of which comes first and is where it starts from, and
/// of `patterns`; of those that are worth most under `values`, by group in micro-dollars. `None` where none is found
/// that is better.
///
/// # Errors
/// When HiGHS fails or its answer isn't true; the engine is out then, and nothing else.
pub fn improve(
    problem: &Problem<'_>,
    patterns: &[Pattern],
    values: &[f64],
    packings: &[&Packing],
    effort: &mut Effort<'_>,
) -> Result<Option<Packing>, Failure> {
    let Some(start) = packings.first() else {
        return Ok(None);
    };
    if !mip::weights_are_settled(problem) || problem.side.span_nodes() || start.launched.is_empty() {
        return Ok(None);
    }
    let master = Master::new(problem, patterns, values, packings);
    let Some(found) = mip::solve(&master.program, &master.start, NODES, effort)? else {
        return Ok(None);
    };
    let packing = master.packing(start, &found.answer.values);
    if !packing.is_better_than(start, problem) {
        return Ok(None);
    }
    if verdict::broken(problem, &packing).is_empty() {
        Ok(Some(packing))
    } else {
        Err(Failure::Unsound)
    }
}

/// The program with its fillings.
struct Master<'a> {
    problem: &'a Problem<'a>,
    /// By variable.
    patterns: Vec<Pattern>,
    program: Program,
    /// How often the packing it starts from uses each.
    start: Vec<u64>,
    /// Pods to be covered.
    demand: Vec<u64>,
}

impl<'a> Master<'a> {
    fn new(problem: &'a Problem<'a>, patterns: &[Pattern], values: &[f64], packings: &[&Packing]) -> Self {
        let mut demand = vec![0; problem.groups.len()];
        let mut counts: BTreeMap<Pattern, u64> = BTreeMap::new();
        for launched in packings.iter().take(1).flat_map(|start| &start.launched) {
            for (group, count) in &launched.filling {
                demand[*group] += count * launched.count;
            }
            let Launched { kind, filling, count } = launched.clone();
            *counts.entry(Pattern { kind, filling }).or_default() += count;
        }
        let known = packings.iter().skip(1).flat_map(|packing| &packing.launched);
        let known = known.map(|launched| (launched.kind, &launched.filling));
        let others = chosen(problem, patterns, values);
        for (kind, filling) in known.chain(others) {
            let clipped = clipped(filling, &demand);
            if is_possible(problem, kind, &clipped) {
                counts
                    .entry(Pattern {
                        kind,
                        filling: clipped,
                    })
                    .or_default();
            }
        }
        let mut master = Self {
            problem,
            patterns: Vec::with_capacity(counts.len()),
            program: Program::default(),
            start: Vec::with_capacity(counts.len()),
            demand,
        };
        for (pattern, count) in counts {
            master.add(pattern, count);
        }
        master.restrict();
        master
    }

    /// Adds a variable for a filling that the start uses so often.
    fn add(&mut self, pattern: Pattern, count: u64) {
        let Pattern { kind, filling } = &pattern;
        let place = Place::Kind(*kind);
        let penalty = verdict::on_node_penalty(&self.problem.side, place, filling);
        // More than covers all it holds is never needed.
        let needed = filling
            .iter()
            .map(|(group, each)| self.demand[*group].div_ceil(*each));
        let allowed = Ledger::new(self.problem).allowed(self.problem, *kind);
        self.program.add(
            whole(self.problem.kinds[*kind].cost + penalty),
            needed.max().unwrap_or(0).min(allowed),
        );
        self.start.push(count);
        self.patterns.push(pattern);
    }

    /// All pods are covered, and limits and supplies hold.
    fn restrict(&mut self) {
        let mut covers = vec![Vec::new(); self.demand.len()];
        for (variable, pattern) in self.patterns.iter().enumerate() {
            for (group, each) in &pattern.filling {
                covers[*group].push((variable, whole(*each)));
            }
        }
        for (terms, count) in covers.into_iter().zip(&self.demand) {
            if *count > 0 {
                self.program.rows.push(Row::at_least(terms, whole(*count)));
            }
        }
        let kinds = self.patterns.iter().enumerate();
        let kinds: Vec<(usize, usize)> = kinds
            .map(|(variable, pattern)| (variable, pattern.kind))
            .collect();
        self.program.rows.extend(mip::limits(self.problem, &kinds));
    }

    /// What the values launch, without the pods covered twice and on the cheapest kinds that still hold the rest.
    fn packing(&self, start: &Packing, values: &[u64]) -> Packing {
        let mut surplus = vec![0; self.demand.len()];
        let mut launched = Vec::new();
        for (pattern, count) in self.patterns.iter().zip(values).filter(|(_, count)| **count > 0) {
            for (group, each) in &pattern.filling {
                surplus[*group] += each * count;
            }
            launched.push(Launched {
                kind: pattern.kind,
                filling: pattern.filling.clone(),
                count: *count,
            });
        }
        for (group, demand) in self.demand.iter().enumerate() {
            leave_out(&mut launched, group, surplus[group].saturating_sub(*demand));
        }
        let packing = Packing {
            rooms: start.rooms.clone(),
            launched,
            left: start.left.clone(),
        };
        mip::settled(self.problem, packing)
    }
}

/// The fillings that cost least beyond what their pods are worth, for their cost.
fn chosen<'p>(
    problem: &Problem<'_>,
    patterns: &'p [Pattern],
    values: &[f64],
) -> impl Iterator<Item = (usize, &'p Filling)> {
    let worth = |pattern: &Pattern| -> f64 {
        let parts = pattern.filling.iter();
        let all: f64 = parts.map(|(group, count)| values[*group] * float(*count)).sum();
        all / float(problem.kinds[pattern.kind].cost.max(1))
    };
    let mut order: Vec<(f64, &Pattern)> = patterns.iter().map(|pattern| (worth(pattern), pattern)).collect();
    order.sort_by(|one, two| two.0.total_cmp(&one.0).then_with(|| one.1.cmp(two.1)));
    order.truncate(MOST_PATTERNS);
    order
        .into_iter()
        .map(|(_, pattern)| (pattern.kind, &pattern.filling))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "only chooses what the program may choose from"
)]
fn float(amount: u64) -> f64 {
    amount as f64
}

/// A filling without what nobody asks for.
fn clipped(filling: &Filling, demand: &[u64]) -> Filling {
    let parts = filling
        .iter()
        .map(|(group, count)| (*group, demand[*group].min(*count)));
    parts.filter(|(_, count)| *count > 0).collect()
}

/// Whether a node of a kind may be launched with this on it.
fn is_possible(problem: &Problem<'_>, kind: usize, filling: &Filling) -> bool {
    let mut groups = filling.iter().map(|(group, _)| *group);
    !filling.is_empty()
        && groups.all(|group| mip::goes_to(problem, group, kind))
        && verdict::on_node(problem, Place::Kind(kind), filling).is_empty()
}

/// Takes pods of a group off the launches again, first where the least else is: what is empty then isn't launched.
fn leave_out(launched: &mut Vec<Launched>, group: usize, mut surplus: u64) {
    let others = |launched: &Launched| -> u64 {
        let others = launched.filling.iter().filter(|(other, _)| *other != group);
        others.map(|(_, count)| count).sum()
    };
    launched.sort_by_cached_key(|launched| (others(launched), launched.clone()));
    let mut rest = Vec::new();
    for launched in launched.iter_mut() {
        let Some(at) = launched.filling.iter().position(|(other, _)| *other == group) else {
            continue;
        };
        let each = launched.filling[at].1;
        // So many nodes lose all of the group, and one more the remainder.
        let all = (surplus / each).min(launched.count);
        surplus -= all * each;
        launched.count -= all;
        let mut without = launched.filling.clone();
        without.remove(at);
        rest.push((launched.kind, without, all));
        if launched.count > 0 && surplus > 0 {
            let mut with_fewer = launched.filling.clone();
            with_fewer[at].1 -= surplus;
            surplus = 0;
            launched.count -= 1;
            rest.push((launched.kind, with_fewer, 1));
        }
    }
    launched.extend(
        rest.into_iter()
            .map(|(kind, filling, count)| Launched { kind, filling, count }),
    );
    launched.retain(|launched| launched.count > 0 && !launched.filling.is_empty());
}

#[cfg(test)]
#[path = "restricted_tests.rs"]
mod tests;
