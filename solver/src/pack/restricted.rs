//! The restricted master program in whole numbers: how often to use fillings that are known, at the least cost.
//!
//! Whatever launches a packing has, their fillings and many others are put together anew, each about as often as start and
//! relaxation have it. Alone this is poor; with the fillings of a dive and with its packing as a start it gains what the
//! dive lost by fixing one filling after the other: a few tenths of a per cent on some plans of ten to thirty nodes, nothing
//! on most others. For when there is a second to spare.
//! Pods on nodes that exist stay there, pods without a place stay without, and limits and supplies hold.
//!
//! Doesn't look at side rows that span nodes: where there are some it has nothing to offer.
//!
//! Papers: papers.md, 1 and 4.

use std::collections::{BTreeMap, BTreeSet};

use crate::lower::Problem;
use crate::lower::side::Place;
use crate::lp::run::Simplex;
use crate::lp::whole::{Program, Row};

use super::effort::Effort;
use super::ledger::Ledger;
use super::master::{Master, Pattern};
use super::mip::{self, Failure, whole};
use super::side::verdict;
use super::{Filling, Launched, Packing, float};

/// Fillings that the program may choose from beside those of packings. More of them take the tree's time and hardly ever
/// help.
const MOST_PATTERNS: usize = 600;
/// How far each number may be from both the relaxation's and the start's. Fewer values to choose from make the tree many
/// times smaller, and with ten thousand pods all better packings that are found are as near as this.
const REACH: u64 = 3;
/// Nodes of the tree; its end is mostly that of the effort.
const NODES: u32 = 5_000;

/// A better packing made of the fillings of `packings`, the best of which comes first and is where it starts from, and
/// of `patterns`, as many as there may be: those that the relaxation comes nearest to using. `None` where none is found
/// that is better.
///
/// # Errors
/// When HiGHS fails or its answer isn't true; the engine is out then, and nothing else.
pub fn improve(
    problem: &Problem<'_>,
    patterns: &[Pattern],
    packings: &[&Packing],
    effort: &mut Effort<'_>,
) -> Result<Option<Packing>, Failure> {
    let Some(start) = packings.first() else {
        return Ok(None);
    };
    if !problem.weights_are_settled() || problem.side.span_nodes() || start.launched.is_empty() {
        return Ok(None);
    }
    let mut restricted = Restricted::new(problem, packings);
    let Some(chosen) = restricted.choose(patterns, start.cost(problem), effort)? else {
        return Ok(None);
    };
    restricted.state(chosen);
    let Some(found) = mip::solve(&restricted.program, &restricted.start, NODES, effort)? else {
        return Ok(None);
    };
    let packing = restricted.packing(start, &found.answer.values);
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
struct Restricted<'a> {
    problem: &'a Problem<'a>,
    /// Fillings of packings, and how often the packing it starts from uses each.
    known: BTreeMap<Pattern, u64>,
    /// By variable.
    patterns: Vec<Pattern>,
    program: Program,
    /// By variable: how often the filling is used in any case; the program says how often beyond that.
    fixed: Vec<u64>,
    /// By variable: how often the packing it starts from uses it beyond that.
    start: Vec<u64>,
    /// Pods to be covered.
    demand: Vec<u64>,
}

impl<'a> Restricted<'a> {
    /// With the fillings of packings, not stated yet.
    fn new(problem: &'a Problem<'a>, packings: &[&Packing]) -> Self {
        let mut restricted = Self {
            problem,
            known: BTreeMap::new(),
            patterns: Vec::new(),
            program: Program::default(),
            fixed: Vec::new(),
            start: Vec::new(),
            demand: vec![0; problem.groups.len()],
        };
        for launched in packings.iter().take(1).flat_map(|start| &start.launched) {
            for (group, count) in &launched.filling {
                restricted.demand[*group] += count * launched.count;
            }
            let Launched { kind, filling, count } = launched.clone();
            *restricted.known.entry(Pattern { kind, filling }).or_default() += count;
        }
        for launched in packings.iter().skip(1).flat_map(|packing| &packing.launched) {
            if let Some(pattern) = restricted.possible(launched.kind, &launched.filling) {
                restricted.known.entry(pattern).or_default();
            }
        }
        restricted
    }

    /// A filling without what nobody asks for, if a node with the rest may be launched.
    fn possible(&self, kind: usize, filling: &Filling) -> Option<Pattern> {
        let parts = filling.iter();
        let parts = parts.map(|(group, count)| (*group, self.demand[*group].min(*count)));
        let filling: Filling = parts.filter(|(_, count)| *count > 0).collect();
        let mut groups = filling.iter().map(|(group, _)| *group);
        let is_possible = !filling.is_empty()
            && groups.all(|group| mip::goes_to(self.problem, group, kind))
            && verdict::on_node(self.problem, Place::Kind(kind), &filling).is_empty();
        is_possible.then_some(Pattern { kind, filling })
    }

    /// The fillings of packings, and those of the patterns that the relaxation over all of them comes nearest to using,
    /// with how often it uses each. A filling that alone makes it as dear as the start is in no better packing. `None` when
    /// the effort is used up.
    fn choose(
        &self,
        patterns: &[Pattern],
        cost: u64,
        effort: &mut Effort<'_>,
    ) -> Result<Option<Vec<(Pattern, f64)>>, Failure> {
        let possible = patterns.iter();
        let possible = possible.filter_map(|pattern| self.possible(pattern.kind, &pattern.filling));
        let others: BTreeSet<Pattern> = possible
            .filter(|pattern| !self.known.contains_key(pattern))
            .collect();
        let mut master = Master::new(self.problem, &self.demand)?;
        master.add(self.known.keys().cloned().chain(others).collect())?;
        let Some(relaxed) = master.solve(Simplex::Dual, effort) else {
            return Ok(None);
        };
        let gap = (float(cost) - relaxed.cost).max(0.0) + 1.0;
        let dearer = |pattern: &Pattern| {
            let parts = pattern.filling.iter();
            let worth: f64 = parts
                .map(|(group, count)| relaxed.values[*group] * float(*count))
                .sum();
            float(self.problem.kinds[pattern.kind].cost) - worth
        };
        let all = master
            .patterns()
            .iter()
            .cloned()
            .zip(relaxed.levels.iter().copied());
        let mut all: Vec<(Pattern, f64)> = all.collect();
        let others = all.split_off(self.known.len()).into_iter();
        let mut others: Vec<(f64, (Pattern, f64))> = others.map(|other| (dearer(&other.0), other)).collect();
        others.retain(|(dearer, _)| *dearer < gap);
        others.sort_by(|one, two| one.0.total_cmp(&two.0).then_with(|| one.1.0.cmp(&two.1.0)));
        others.truncate(MOST_PATTERNS);
        all.extend(others.into_iter().map(|(_, other)| other));
        Ok(Some(all))
    }

    /// States the program with these fillings, each of which the relaxation uses so often.
    fn state(&mut self, chosen: Vec<(Pattern, f64)>) {
        for (pattern, level) in chosen {
            let count = self.known.get(&pattern).copied().unwrap_or(0);
            self.add(pattern, count, level);
        }
        self.restrict();
    }

    /// Adds a variable for a filling that start and relaxation use so often.
    fn add(&mut self, pattern: Pattern, count: u64, level: f64) {
        let Pattern { kind, filling } = &pattern;
        let place = Place::Kind(*kind);
        let penalty = verdict::on_node_penalty(&self.problem.side, place, filling)
            + super::stranding::on_node(self.problem, place, filling);
        // More than covers all it holds is never needed.
        let needed = filling
            .iter()
            .map(|(group, each)| self.demand[*group].div_ceil(*each));
        let allowed = Ledger::new(self.problem).allowed(self.problem, *kind);
        let most = needed.max().unwrap_or(0).min(allowed);
        let level = rounded(level);
        let fixed = level.min(count).saturating_sub(REACH);
        let reached = (level.max(count) + REACH).min(most);
        self.program
            .add(whole(self.problem.kinds[*kind].cost + penalty), reached - fixed);
        self.fixed.push(fixed);
        self.start.push(count - fixed);
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
        for row in &mut self.program.rows {
            let fixed = row.terms.iter();
            let fixed = fixed
                .map(|(variable, each)| each.saturating_mul(whole(self.fixed[*variable])))
                .fold(0, i64::saturating_add);
            row.lower = row.lower.map(|lower| lower.saturating_sub(fixed));
            row.upper = row.upper.map(|upper| upper.saturating_sub(fixed));
        }
    }

    /// What the values launch, without the pods covered twice and on the cheapest kinds that still hold the rest.
    fn packing(&self, start: &Packing, values: &[u64]) -> Packing {
        let mut surplus = vec![0; self.demand.len()];
        let mut launched = Vec::new();
        let counts = self.fixed.iter().zip(values).map(|(fixed, more)| fixed + more);
        for (pattern, count) in self.patterns.iter().zip(counts).filter(|(_, count)| *count > 0) {
            for (group, each) in &pattern.filling {
                surplus[*group] += each * count;
            }
            launched.push(Launched {
                kind: pattern.kind,
                filling: pattern.filling.clone(),
                count,
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

/// A level of the relaxation as a number of nodes.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates; only says where the program looks"
)]
fn rounded(level: f64) -> u64 {
    level.round() as u64
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
