//! The restricted master program with side rows: how often each known filling of each place is used.
//!
//! A row a group: its pods on nodes and those left over make up its demand, at least; exactly where one pod too many could
//! break another row. Then the [`Linear`] rows. Pods left over cost more than any node, the more urgent the more. A row
//! that nothing keeps without pods may be broken, for more than all pods left over cost. Money is in dollars inside, rows of
//! large numbers are scaled, so that the solver's tolerances mean the same everywhere.
//!
//! Papers: papers.md, 1 and 4.

use std::collections::{BTreeMap, BTreeSet};

use crate::lower::Problem;
use crate::lower::side::{Excess, Place};
use crate::lp::run::{Column, Refused, Run, Simplex, Status};
use crate::lp::solver::Solver;
use crate::pack::effort::Effort;
use crate::pack::{Filling, Launched, Packing, float};

use super::linear::Linear;
use super::verdict;

/// Iterations between two looks at the effort.
const ITERATIONS: u32 = 500;
/// Effort that an iteration counts for each row: what it takes in the time of a look at a group.
const EFFORT_A_ROW: u64 = 10;
/// Nodes of the tree for the whole numbers.
const MOST_NODES: u32 = 2_000;
/// Iterations below which a search over whole numbers isn't worth its start.
const LEAST_ITERATIONS: u64 = 1_000;
const DOLLAR: f64 = 1_000_000.0;
/// Pods that a pod left over may cost the nodes of: more than can be forced by one pod.
const COUNTED_PODS: u64 = 1_000;
/// How much more a pod of the next priority counts, and how many priorities are told apart.
const BY_PRIORITY: f64 = 4.0;
const PRIORITIES: usize = 5;

/// A filling of a place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern {
    /// Where.
    pub place: Place,
    /// What is on it.
    pub filling: Filling,
}

impl Pattern {
    /// Micro-dollars of one node of it, with what isn't as wished.
    #[must_use]
    pub fn cost(&self, problem: &Problem<'_>) -> u64 {
        let node = match self.place {
            Place::Kind(kind) => problem.kinds[kind].cost,
            Place::Room(_) => 0,
        };
        node.saturating_add(verdict::on_node_penalty(&problem.side, self.place, &self.filling))
    }
}

/// An optimal solution of the relaxation.
#[derive(Clone, Debug)]
pub struct Relaxed {
    /// By pattern: how often it is used.
    pub levels: Vec<f64>,
    /// By auxiliary variable.
    pub auxiliaries: Vec<f64>,
    /// Pods left over.
    pub left: f64,
    /// By group: what one pod is worth, in micro-dollars.
    pub values: Vec<f64>,
    /// By row: what one more is worth, in micro-dollars.
    pub duals: Vec<f64>,
    /// Micro-dollars of all that is used, of pods left over as well.
    pub cost: f64,
}

/// The program with its patterns.
#[derive(Debug)]
pub struct Program<'a> {
    problem: &'a Problem<'a>,
    linear: &'a Linear,
    solver: Solver,
    /// By row of [`Linear`]: what its numbers are divided by.
    scales: Vec<f64>,
    /// Columns before those of auxiliary variables and before those of patterns.
    first_auxiliary: usize,
    first_pattern: usize,
    patterns: Vec<Pattern>,
    known: BTreeSet<Pattern>,
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the program only suggests; packings are built in integers"
)]
fn signed(amount: i64) -> f64 {
    amount as f64
}

/// What leaving a pod of each group counts for, in micro-dollars.
fn prices_of_leaving(problem: &Problem<'_>) -> Vec<f64> {
    let side = &problem.side;
    let dearest = problem.kinds.iter().map(|kind| kind.cost).max().unwrap_or(0);
    let wishes: f64 = side.penalties.iter().map(|penalty| float(penalty.each)).sum();
    let excesses = (side.caps.iter().map(|cap| cap.excess)).chain(side.spreads.iter().map(|one| one.excess));
    let excesses = excesses.map(|excess| match excess {
        Excess::Forbidden => 0,
        Excess::Costs(each) => each,
    });
    let each = float(dearest) + wishes + excesses.map(float).sum::<f64>();
    let pods = problem
        .counts()
        .iter()
        .fold(0, |sum: u64, count| sum.saturating_add(*count));
    let least = (each + 1.0) * float(pods.clamp(2, COUNTED_PODS));
    let priorities: BTreeSet<i32> = problem.groups.iter().map(|group| group.priority).collect();
    let rank: BTreeMap<i32, usize> = priorities.into_iter().zip(0..).collect();
    let price = |priority: i32| {
        let rank = rank[&priority].min(PRIORITIES - 1);
        (0..rank).fold(least, |price, _| price * BY_PRIORITY)
    };
    problem.groups.iter().map(|group| price(group.priority)).collect()
}

/// What each row's numbers are divided by: the largest that a node counts.
fn scales(problem: &Problem<'_>, linear: &Linear) -> Vec<f64> {
    let mut scales = vec![1.0_f64; linear.rows.len()];
    for kind in 0..problem.kinds.len() {
        for (row, coefficient) in linear.node(Place::Kind(kind)) {
            scales[*row] = scales[*row].max(signed(coefficient.saturating_abs()));
        }
    }
    scales
}

impl<'a> Program<'a> {
    /// Without patterns.
    ///
    /// # Errors
    /// When the solver can't be set up.
    pub fn new(problem: &'a Problem<'a>, linear: &'a Linear) -> Result<Self, Refused> {
        let mut program = Self {
            problem,
            linear,
            solver: Solver::new()?,
            scales: scales(problem, linear),
            first_auxiliary: problem.groups.len(),
            first_pattern: 0,
            patterns: Vec::new(),
            known: BTreeSet::new(),
        };
        let counts = problem.counts();
        let mut bounds: Vec<(f64, f64)> = (counts.iter().enumerate())
            .map(|(group, count)| program.demand_bounds(group, *count))
            .collect();
        let rows = 0..linear.rows.len();
        bounds.extend(rows.map(|row| program.row_bounds(row, 0)));
        program.solver.add_rows(bounds);
        let leaving = prices_of_leaving(problem);
        // Leaving all pods is better than breaking a row.
        let breaking: f64 = 1.0
            + (counts.iter().zip(&leaving))
                .map(|(count, price)| float(*count) * price)
                .sum::<f64>();
        let mut columns: Vec<Column> = (counts.iter().zip(&leaving).enumerate())
            .map(|(group, (count, price))| Column {
                cost: price / DOLLAR,
                upper: float(*count),
                terms: vec![(group, 1.0)],
            })
            .collect();
        let mut terms = vec![Vec::new(); linear.auxiliaries.len()];
        for (row, bounds) in linear.rows.iter().enumerate() {
            for (auxiliary, coefficient) in &bounds.auxiliaries {
                terms[*auxiliary].push((counts.len() + row, signed(*coefficient) / program.scales[row]));
            }
        }
        columns.extend(
            linear
                .auxiliaries
                .iter()
                .zip(terms)
                .map(|(auxiliary, terms)| Column {
                    cost: float(auxiliary.cost) / DOLLAR,
                    upper: float(auxiliary.upper),
                    terms,
                }),
        );
        for (row, _) in linear
            .rows
            .iter()
            .enumerate()
            .filter(|(_, bounds)| bounds.needs_pods)
        {
            for sign in [1.0, -1.0] {
                columns.push(Column {
                    cost: breaking / DOLLAR,
                    upper: f64::INFINITY,
                    terms: vec![(counts.len() + row, sign / program.scales[row])],
                });
            }
        }
        program.first_pattern = columns.len();
        program.solver.add_columns(columns)?;
        Ok(program)
    }

    fn demand_bounds(&self, group: usize, count: u64) -> (f64, f64) {
        let upper = if self.linear.is_exact(group) {
            float(count)
        } else {
            f64::INFINITY
        };
        (float(count), upper)
    }

    fn row_bounds(&self, row: usize, used: i64) -> (f64, f64) {
        let bounds = &self.linear.rows[row];
        let side = |bound: Option<i64>, open: f64| {
            bound.map_or(open, |bound| {
                signed(bound.saturating_sub(used)) / self.scales[row]
            })
        };
        (
            side(bounds.lower, f64::NEG_INFINITY),
            side(bounds.upper, f64::INFINITY),
        )
    }

    /// The patterns so far.
    #[must_use]
    pub fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    /// What one node of a pattern counts in each row.
    #[must_use]
    pub fn activity(&self, pattern: &Pattern) -> BTreeMap<usize, i64> {
        let mut sums: BTreeMap<usize, i64> = self.linear.node(pattern.place).iter().copied().collect();
        for (group, count) in &pattern.filling {
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            for (row, coefficient) in self.linear.pod(*group, pattern.place) {
                let sum = sums.entry(row).or_default();
                *sum = sum.saturating_add(coefficient.saturating_mul(count));
            }
        }
        sums
    }

    /// Adds those that aren't there yet; how many.
    ///
    /// # Errors
    /// When the solver refuses them.
    pub fn add(&mut self, patterns: Vec<Pattern>) -> Result<usize, Refused> {
        let groups = self.problem.groups.len();
        let mut columns = Vec::new();
        for pattern in patterns {
            if !self.known.insert(pattern.clone()) {
                continue;
            }
            let pods = pattern
                .filling
                .iter()
                .map(|(group, count)| (*group, float(*count)));
            let rows = self.activity(&pattern).into_iter().filter(|(_, sum)| *sum != 0);
            let rows = rows.map(|(row, sum)| (groups + row, signed(sum) / self.scales[row]));
            columns.push(Column {
                cost: float(pattern.cost(self.problem)) / DOLLAR,
                upper: f64::INFINITY,
                terms: pods.chain(rows).collect(),
            });
            self.patterns.push(pattern);
        }
        let added = columns.len();
        if added > 0 {
            self.solver.add_columns(columns)?;
        }
        Ok(added)
    }

    /// From now on so many pods of each group have to be placed, with so much of each row used already.
    ///
    /// # Errors
    /// When the solver refuses it.
    pub fn rest(&mut self, demand: &[u64], used: &[i64]) -> Result<(), Refused> {
        for (group, count) in demand.iter().enumerate() {
            let (lower, upper) = self.demand_bounds(group, *count);
            self.solver.set_row_bounds(group, lower, upper)?;
            self.solver.set_bounds(group, 0.0, float(*count))?;
        }
        for (row, used) in used.iter().enumerate() {
            let (lower, upper) = self.row_bounds(row, *used);
            self.solver.set_row_bounds(demand.len() + row, lower, upper)?;
        }
        Ok(())
    }

    /// Lets a pattern be used from now on, or not.
    ///
    /// # Errors
    /// When the solver refuses it.
    pub fn allow(&mut self, at: usize, allowed: bool) -> Result<(), Refused> {
        let upper = if allowed { f64::INFINITY } else { 0.0 };
        self.solver.set_bounds(self.first_pattern + at, 0.0, upper)
    }

    /// Holds an auxiliary variable between two numbers.
    ///
    /// # Errors
    /// When the solver refuses it.
    pub fn hold(&mut self, auxiliary: usize, lower: u64, upper: u64) -> Result<(), Refused> {
        let column = self.first_auxiliary + auxiliary;
        self.solver.set_bounds(column, float(lower), float(upper))
    }

    /// Solves the relaxation; `None` when it has no solution, the effort is used up or the solver is in trouble.
    pub fn solve(&mut self, simplex: Simplex, effort: &mut Effort<'_>) -> Option<Relaxed> {
        let run = Run {
            simplex,
            iterations: Some(ITERATIONS),
            ..Run::default()
        };
        let rows = u64::try_from(self.solver.rows()).unwrap_or(u64::MAX);
        let columns = u64::try_from(self.solver.columns()).unwrap_or(u64::MAX);
        let mut troubles = 0;
        let solution = loop {
            let outcome = self.solver.run(&run, || effort.ask_quota()).ok()?;
            effort.spend((outcome.iterations + 1) * rows * EFFORT_A_ROW + columns);
            match outcome.status {
                Status::Optimal => break outcome.solution?,
                Status::IterationLimit if !effort.is_used_up() => {}
                Status::Trouble if troubles == 0 => {
                    troubles += 1;
                    self.solver.clear();
                }
                _ => return None,
            }
        };
        let groups = self.problem.groups.len();
        let (values, duals) = solution.duals.split_at(groups);
        Some(Relaxed {
            left: solution.columns[..groups].iter().sum(),
            auxiliaries: solution.columns[self.first_auxiliary..][..self.linear.auxiliaries.len()].to_vec(),
            levels: solution.columns[self.first_pattern..].to_vec(),
            values: values.iter().map(|value| value * DOLLAR).collect(),
            duals: (duals.iter().zip(&self.scales))
                .map(|(dual, scale)| dual * DOLLAR / scale)
                .collect(),
            cost: solution.objective * DOLLAR,
        })
    }

    /// The best packing of these patterns that a search over whole numbers finds with so much effort; it may be none.
    ///
    /// # Errors
    /// When the solver refuses it.
    pub fn in_whole_numbers(&self, units: u64, effort: &mut Effort<'_>) -> Result<Option<Packing>, Refused> {
        let mut program = Self::new(self.problem, self.linear)?;
        program.add(self.patterns.clone())?;
        let counts = self.problem.counts();
        for (group, count) in counts.iter().enumerate() {
            program.solver.set_bounds(group, 0.0, float(*count))?;
            program.solver.set_integer(group)?;
        }
        for (at, auxiliary) in self.linear.auxiliaries.iter().enumerate() {
            if auxiliary.whole {
                program.solver.set_integer(program.first_auxiliary + at)?;
            }
        }
        for (at, pattern) in self.patterns.iter().enumerate() {
            let enough = pattern
                .filling
                .iter()
                .map(|(group, each)| counts[*group].div_ceil(*each));
            // No more than that are of use, and whole numbers need an end.
            let most = enough.max().unwrap_or(0);
            let column = program.first_pattern + at;
            program.solver.set_bounds(column, 0.0, float(most))?;
            program.solver.set_integer(column)?;
        }
        let rows = u64::try_from(program.solver.rows()).unwrap_or(u64::MAX);
        let iterations = (units / (rows * EFFORT_A_ROW).max(1)).max(LEAST_ITERATIONS);
        let run = Run {
            iterations: Some(u32::try_from(iterations).unwrap_or(u32::MAX)),
            nodes: Some(MOST_NODES),
            ..Run::default()
        };
        let outcome = program.solver.run(&run, || effort.ask_quota())?;
        effort.spend((outcome.iterations + 1) * rows * EFFORT_A_ROW);
        let packing = |columns: &[f64]| {
            let levels = columns[program.first_pattern..]
                .iter()
                .map(|level| rounded(*level));
            assembled(self.problem, self.patterns.iter().zip(levels))
        };
        Ok(outcome.solution.map(|solution| packing(&solution.columns)))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "verified in integers afterwards"
)]
fn rounded(level: f64) -> u64 {
    level.max(0.0).round() as u64
}

/// The packing of patterns, each so often; what is covered twice is left out.
#[must_use]
pub fn assembled<'p>(problem: &Problem<'_>, patterns: impl Iterator<Item = (&'p Pattern, u64)>) -> Packing {
    let mut packing = Packing {
        rooms: vec![Filling::new(); problem.rooms.len()],
        launched: Vec::new(),
        left: problem.counts(),
    };
    for (pattern, count) in patterns {
        for _ in 0..count {
            let left = &mut packing.left;
            let parts = pattern.filling.iter();
            let parts = parts.map(|(group, count)| (*group, left[*group].min(*count)));
            let filling: Filling = parts.filter(|(_, count)| *count > 0).collect();
            for (group, count) in &filling {
                left[*group] -= count;
            }
            match pattern.place {
                _ if filling.is_empty() => {}
                Place::Room(room) => packing.rooms[room] = filling,
                Place::Kind(kind) => packing.launched.push(Launched {
                    kind,
                    filling,
                    count: 1,
                }),
            }
        }
    }
    packing.normalise();
    packing
}
