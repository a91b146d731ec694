//! The restricted master program: how often each known filling is used, at the least cost that covers the demand.
//!
//! A row a group (so many pods at least), a column a filling of a kind. Covering instead of partitioning keeps the
//! values of pods from being negative; what is covered twice is simply left out. Money is in dollars inside, so that
//! the solver's tolerances mean the same for every catalogue, and in micro-dollars outside.
//!
//! Papers: papers.md, 1 and 4.

use super::float;
use std::collections::BTreeSet;

use crate::lower::Problem;
use crate::lp::run::{Column, Refused, Run, Simplex, Status};
use crate::lp::solver::Solver;

use super::Filling;
use super::effort::Effort;

/// Iterations between two looks at the effort.
const ITERATIONS: u32 = 500;
/// Effort that an iteration counts, and more for each row: some twenty microseconds with a hundred rows or with five hundred.
const EFFORT_AN_ITERATION: u64 = 700;
const EFFORT_A_ROW: u64 = 1;
const DOLLAR: f64 = 1_000_000.0;

/// A filling of a kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern {
    /// Which kind.
    pub kind: usize,
    /// What is on it.
    pub filling: Filling,
}

/// An optimal solution of the relaxation.
#[derive(Clone, Debug)]
pub struct Relaxed {
    /// By pattern: how often it is used.
    pub levels: Vec<f64>,
    /// By group: what one pod is worth, in micro-dollars; none negative.
    pub values: Vec<f64>,
    /// Micro-dollars of all that is used.
    pub cost: f64,
}

/// The program with its patterns.
#[derive(Debug)]
pub struct Master<'a> {
    problem: &'a Problem<'a>,
    solver: Solver,
    /// By group: its row.
    rows: Vec<Option<usize>>,
    patterns: Vec<Pattern>,
    known: BTreeSet<Pattern>,
    usable: Vec<bool>,
}

impl<'a> Master<'a> {
    /// Without patterns; rows for the groups with a demand.
    ///
    /// # Errors
    /// When the solver can't be set up.
    pub fn new(problem: &'a Problem<'a>, demand: &[u64]) -> Result<Self, Refused> {
        let mut solver = Solver::new()?;
        solver.skip_presolve();
        let mut rows = vec![None; demand.len()];
        let mut bounds = Vec::new();
        for (group, count) in demand.iter().enumerate().filter(|(_, count)| **count > 0) {
            rows[group] = Some(bounds.len());
            bounds.push((float(*count), f64::INFINITY));
        }
        solver.add_rows(bounds);
        Ok(Self {
            problem,
            solver,
            rows,
            patterns: Vec::new(),
            known: BTreeSet::new(),
            usable: Vec::new(),
        })
    }

    /// The patterns so far, those out of use among them.
    #[must_use]
    pub fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    /// Adds those that aren't there yet; how many.
    ///
    /// # Errors
    /// When the solver refuses them.
    pub fn add(&mut self, patterns: Vec<Pattern>) -> Result<usize, Refused> {
        let mut columns = Vec::new();
        for pattern in patterns {
            if !self.known.insert(pattern.clone()) {
                continue;
            }
            let terms = pattern.filling.iter();
            let terms = terms.filter_map(|(group, count)| Some((self.rows[*group]?, float(*count))));
            columns.push(Column {
                cost: float(self.problem.kinds[pattern.kind].cost) / DOLLAR,
                upper: f64::INFINITY,
                terms: terms.collect(),
            });
            self.patterns.push(pattern);
            self.usable.push(true);
        }
        let added = columns.len();
        if added > 0 {
            self.solver.add_columns(columns)?;
        }
        Ok(added)
    }

    /// From now on this is what has to be covered, by patterns of which one alone isn't more than that, and whose kind may
    /// be launched. The patterns that went out of use.
    ///
    /// # Errors
    /// When the solver refuses it.
    pub fn cover(&mut self, demand: &[u64], allowed: impl Fn(usize) -> bool) -> Result<Vec<usize>, Refused> {
        for (row, count) in self.rows.iter().zip(demand) {
            if let Some(row) = row {
                self.solver.set_row_bounds(*row, float(*count), f64::INFINITY)?;
            }
        }
        let mut retired = Vec::new();
        for at in 0..self.patterns.len() {
            let Pattern { kind, filling } = &self.patterns[at];
            let within = filling.iter().all(|(group, count)| demand[*group] >= *count);
            let usable = within && allowed(*kind);
            if usable == self.usable[at] {
                continue;
            }
            self.usable[at] = usable;
            let most = if usable { f64::INFINITY } else { 0.0 };
            self.solver.set_bounds(at, 0.0, most)?;
            if !usable {
                retired.push(at);
            }
        }
        Ok(retired)
    }

    /// Solves the relaxation; `None` when the effort is used up or the solver is in trouble.
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
            effort.spend((outcome.iterations + 2) * (EFFORT_AN_ITERATION + rows * EFFORT_A_ROW) + columns);
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
        let value = |row: &Option<usize>| row.map_or(0.0, |row| solution.duals[row].max(0.0) * DOLLAR);
        Some(Relaxed {
            values: self.rows.iter().map(value).collect(),
            levels: solution.columns,
            cost: solution.objective * DOLLAR,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::lower;
    use crate::options::PlanOptions;
    use crate::quota::Unlimited;
    use crate::testing::build::{Cluster, machine};

    #[test]
    fn no_pattern_is_worth_more_than_it_costs_and_all_demand_is_covered() {
        let snapshot = Cluster::new()
            .instance_type(machine("small", "2", "8Gi", "0.1"))
            .instance_type(machine("large", "4", "16Gi", "0.19"))
            .pool("default")
            .pods("web", 7, "1", "1Gi")
            .pods("db", 3, "1", "6Gi")
            .freeze();
        let problem = lower(&snapshot);
        let demand = problem.counts();
        let mut master = Master::new(&problem, &demand).unwrap();
        let mut patterns = Vec::new();
        for kind in 0..problem.kinds.len() {
            for filling in [vec![(0, 1)], vec![(1, 2)], vec![(0, 1), (1, 1)]] {
                patterns.push(Pattern { kind, filling });
            }
        }
        assert_eq!(master.add(patterns.clone()).unwrap(), 6);
        assert_eq!(master.add(patterns).unwrap(), 0);
        let options = PlanOptions::default();
        let mut effort = Effort::new(&options, &Unlimited);
        let relaxed = master.solve(Simplex::Primal, &mut effort).unwrap();
        for (pattern, level) in master.patterns().iter().zip(&relaxed.levels) {
            let parts = pattern.filling.iter();
            let worth: f64 = parts
                .map(|(group, count)| relaxed.values[*group] * float(*count))
                .sum();
            let cost = float(problem.kinds[pattern.kind].cost);
            assert!(worth <= cost + 1.0, "{pattern:?} is worth {worth}");
            assert!(
                *level < 1e-9 || worth >= cost - 1.0,
                "{pattern:?} is used and not worth it"
            );
        }
        let value: f64 = relaxed
            .values
            .iter()
            .zip(&demand)
            .map(|(value, count)| value * float(*count))
            .sum();
        assert!(
            (value - relaxed.cost).abs() < 1.0,
            "{value} against {}",
            relaxed.cost
        );
        let retired = master.cover(&[0, 9], |_| true).unwrap();
        assert_eq!(retired.len(), 4, "those with a pod of the first group");
        let relaxed = master.solve(Simplex::Dual, &mut effort).unwrap();
        assert!(retired.iter().all(|at| relaxed.levels[*at] < 1e-9));
        assert!(master.cover(&demand, |_| true).unwrap().is_empty());
        let again = master.solve(Simplex::Dual, &mut effort).unwrap();
        assert!((again.cost - value).abs() < 1.0, "all are back in use");
    }
}
