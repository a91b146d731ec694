//! One HiGHS model that grows: columns are added and row bounds changed while the basis is kept.
//!
//! The only unsafe code of the project, with `interrupt`. Promises: quiet, one thread, one fixed seed, so the same calls
//! give the same numbers; a solution is handed out only where HiGHS says that it has one. Doesn't promise that "optimal"
//! is true: HiGHS 1.16.0 answers wrongly when a MIP has a start (the test below), and callers verify in integers.
//!
//! Not `Send`: HiGHS keeps its scheduler by thread, so a model stays on the thread that made it. [`Solver`] gives it
//! one, and is what all others use.
//!
//! Paper: papers.md, 25.
//!
//! [`Solver`]: super::solver::Solver

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

use highs_sys as raw;
use raw::HighsInt;

use super::interrupt::{self, Signal};
use super::run::{Column, Refused, Run, Simplex, Solution, Status};

/// Minimise cost over rows `lower ≤ Σ coefficient · x ≤ upper`.
#[derive(Debug)]
pub(super) struct Model {
    highs: NonNull<c_void>,
    rows: usize,
    columns: usize,
    /// Whether some column takes whole numbers only.
    whole: bool,
    /// HiGHS has a pointer to it, so it must live as long as the model.
    signal: Arc<Signal>,
}

impl Model {
    /// An empty model that a signal can interrupt.
    ///
    /// # Errors
    /// When HiGHS can't be set up.
    pub(super) fn new(signal: Arc<Signal>) -> Result<Self, Refused> {
        // SAFETY: takes nothing and returns a model that is ours alone, or null.
        let highs = unsafe { raw::Highs_create() };
        let highs = NonNull::new(highs).ok_or(Refused("make a model"))?;
        let mut model = Self {
            highs,
            rows: 0,
            columns: 0,
            whole: false,
            signal,
        };
        model.switch(c"output_flag", false)?;
        model.choose(c"threads", 1)?;
        model.choose(c"random_seed", 0)?;
        // SAFETY: the model is alive; both strings end in zero and are only read during the call.
        let status =
            unsafe { raw::Highs_setStringOptionValue(model.raw(), c"parallel".as_ptr(), c"off".as_ptr()) };
        accepted(status, "run on one thread")?;
        // SAFETY: the model is alive and new; it holds the signal, and is destroyed before its fields are.
        if unsafe { interrupt::listen(model.raw(), &model.signal) } {
            Ok(model)
        } else {
            Err(Refused("listen to a signal"))
        }
    }

    /// From now on no run simplifies the model first: a run cut short then keeps its basis in any case.
    ///
    /// # Errors
    /// When HiGHS refuses.
    pub(super) fn skip_presolve(&mut self) -> Result<(), Refused> {
        // SAFETY: the model is alive; both strings end in zero and are only read during the call.
        let status =
            unsafe { raw::Highs_setStringOptionValue(self.raw(), c"presolve".as_ptr(), c"off".as_ptr()) };
        accepted(status, "skip presolve")
    }

    fn raw(&mut self) -> *mut c_void {
        self.highs.as_ptr()
    }

    fn switch(&mut self, option: &CStr, on: bool) -> Result<(), Refused> {
        // SAFETY: the model is alive; the name ends in zero and is only read during the call.
        let status =
            unsafe { raw::Highs_setBoolOptionValue(self.raw(), option.as_ptr(), HighsInt::from(on)) };
        accepted(status, "set a switch")
    }

    fn choose(&mut self, option: &CStr, value: HighsInt) -> Result<(), Refused> {
        // SAFETY: the model is alive; the name ends in zero and is only read during the call.
        let status = unsafe { raw::Highs_setIntOptionValue(self.raw(), option.as_ptr(), value) };
        accepted(status, "set an option")
    }

    fn measure(&mut self, option: &CStr, value: f64) -> Result<(), Refused> {
        // SAFETY: the model is alive; the name ends in zero and is only read during the call.
        let status = unsafe { raw::Highs_setDoubleOptionValue(self.raw(), option.as_ptr(), value) };
        accepted(status, "set a measure")
    }

    /// Adds rows without terms; the columns that come later bring them.
    ///
    /// # Errors
    /// When HiGHS refuses them.
    pub(super) fn add_rows(&mut self, bounds: &[(f64, f64)]) -> Result<(), Refused> {
        let lower: Vec<f64> = bounds.iter().map(|(lower, _)| *lower).collect();
        let upper: Vec<f64> = bounds.iter().map(|(_, upper)| *upper).collect();
        let starts = vec![0; bounds.len()];
        let count = index(bounds.len())?;
        let (none, nothing) = ([0; 1], [0.0; 1]);
        // SAFETY: the model is alive; `lower`, `upper` and `starts` have `count` entries; no term is announced, so
        // the last two are not read.
        let status = unsafe {
            raw::Highs_addRows(
                self.raw(),
                count,
                lower.as_ptr(),
                upper.as_ptr(),
                0,
                starts.as_ptr(),
                none.as_ptr(),
                nothing.as_ptr(),
            )
        };
        accepted(status, "add rows")?;
        self.rows += bounds.len();
        Ok(())
    }

    /// Adds columns at once; a basis that is there is kept, with the new ones outside it.
    ///
    /// # Errors
    /// When a term names a row that isn't there, or HiGHS refuses.
    pub(super) fn add_columns(&mut self, columns: &[Column]) -> Result<(), Refused> {
        let count = index(columns.len())?;
        let costs: Vec<f64> = columns.iter().map(|column| column.cost).collect();
        let lower = vec![0.0; columns.len()];
        let upper: Vec<f64> = columns.iter().map(|column| column.upper).collect();
        let (mut starts, mut rows, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for column in columns {
            starts.push(index(rows.len())?);
            for (row, value) in &column.terms {
                if *row >= self.rows {
                    return Err(Refused("add a column to a row that isn't there"));
                }
                rows.push(index(*row)?);
                values.push(*value);
            }
        }
        let terms = index(rows.len())?;
        // SAFETY: the model is alive; `costs`, `lower`, `upper` and `starts` have `count` entries, `rows` and `values`
        // have `terms`; starts ascend within them and every row is one of the model's.
        let status = unsafe {
            raw::Highs_addCols(
                self.raw(),
                count,
                costs.as_ptr(),
                lower.as_ptr(),
                upper.as_ptr(),
                terms,
                starts.as_ptr(),
                rows.as_ptr(),
                values.as_ptr(),
            )
        };
        accepted(status, "add columns")?;
        self.columns += columns.len();
        Ok(())
    }

    /// Changes what a row's sum may be.
    ///
    /// # Errors
    /// When there is no such row, or HiGHS refuses.
    pub(super) fn set_row_bounds(&mut self, row: usize, lower: f64, upper: f64) -> Result<(), Refused> {
        let row = known(row, self.rows)?;
        // SAFETY: the model is alive and has this row.
        let status = unsafe { raw::Highs_changeRowBounds(self.raw(), row, lower, upper) };
        accepted(status, "change a row's bounds")
    }

    /// Changes what a column costs.
    ///
    /// # Errors
    /// When there is no such column, or HiGHS refuses.
    pub(super) fn set_cost(&mut self, column: usize, cost: f64) -> Result<(), Refused> {
        let column = known(column, self.columns)?;
        // SAFETY: the model is alive and has this column.
        let status = unsafe { raw::Highs_changeColCost(self.raw(), column, cost) };
        accepted(status, "change a cost")
    }

    /// Changes what a column may be.
    ///
    /// # Errors
    /// When there is no such column, or HiGHS refuses.
    pub(super) fn set_bounds(&mut self, column: usize, lower: f64, upper: f64) -> Result<(), Refused> {
        let column = known(column, self.columns)?;
        // SAFETY: the model is alive and has this column.
        let status = unsafe { raw::Highs_changeColBounds(self.raw(), column, lower, upper) };
        accepted(status, "change a column's bounds")
    }

    /// Takes columns out; those behind them move up. The basis is kept as far as it was without them.
    ///
    /// # Errors
    /// When one isn't there, they don't ascend, or HiGHS refuses.
    pub(super) fn delete_columns(&mut self, columns: &[usize]) -> Result<(), Refused> {
        if !columns.is_sorted_by(|one, two| one < two) {
            return Err(Refused("delete columns out of order"));
        }
        let set: Vec<HighsInt> = columns
            .iter()
            .map(|column| known(*column, self.columns))
            .collect::<Result<_, _>>()?;
        let count = index(set.len())?;
        // SAFETY: the model is alive; `set` has `count` entries that ascend, each a column of the model.
        let status = unsafe { raw::Highs_deleteColsBySet(self.raw(), count, set.as_ptr()) };
        accepted(status, "delete columns")?;
        self.columns -= columns.len();
        Ok(())
    }

    /// From now on a column takes whole numbers only. Give it a finite upper bound.
    ///
    /// # Errors
    /// When there is no such column, or HiGHS refuses.
    pub(super) fn set_integer(&mut self, column: usize) -> Result<(), Refused> {
        let column = known(column, self.columns)?;
        // SAFETY: the model is alive and has this column.
        let status =
            unsafe { raw::Highs_changeColIntegrality(self.raw(), column, raw::kHighsVarTypeInteger) };
        accepted(status, "ask for whole numbers")?;
        self.whole = true;
        Ok(())
    }

    /// Gives a solution to start from, a value for every column.
    ///
    /// # Errors
    /// When values are missing, or HiGHS refuses.
    pub(super) fn set_start(&mut self, values: &[f64]) -> Result<(), Refused> {
        if values.len() != self.columns {
            return Err(Refused("start from a solution of another length"));
        }
        let null = std::ptr::null();
        // SAFETY: the model is alive; `values` has an entry for every column; null stands for "not given".
        let status = unsafe { raw::Highs_setSolution(self.raw(), values.as_ptr(), null, null, null) };
        accepted(status, "start from a solution")
    }

    /// Runs until it is done, a limit is reached or the signal says stop.
    pub(super) fn run(&mut self, run: &Run) -> Status {
        if self.prepare(run).is_err() {
            return Status::Trouble;
        }
        // SAFETY: the model is alive and nothing else uses it.
        if unsafe { raw::Highs_run(self.raw()) } == raw::kHighsStatusError {
            return Status::Trouble;
        }
        // SAFETY: the model is alive.
        match unsafe { raw::Highs_getModelStatus(self.raw()) } {
            raw::kHighsModelStatusOptimal => Status::Optimal,
            raw::kHighsModelStatusInfeasible => Status::Infeasible,
            raw::kHighsModelStatusUnbounded | raw::kHighsModelStatusUnboundedOrInfeasible => {
                Status::Unbounded
            }
            raw::kHighsModelStatusIterationLimit => Status::IterationLimit,
            raw::kHighsModelStatusSolutionLimit => Status::NodeLimit,
            raw::kHighsModelStatusTimeLimit => Status::TimeLimit,
            raw::kHighsModelStatusInterrupt if self.signal.is_raised() => Status::Interrupted,
            raw::kHighsModelStatusInterrupt => Status::IterationLimit,
            _ => Status::Trouble,
        }
    }

    fn prepare(&mut self, run: &Run) -> Result<(), Refused> {
        let strategy = match run.simplex {
            Simplex::Dual => 1,
            Simplex::Primal => 4,
        };
        let most = |limit: Option<u32>| {
            limit
                .and_then(|limit| HighsInt::try_from(limit).ok())
                .unwrap_or(HighsInt::MAX)
        };
        // HiGHS' own limit is one for each relaxation.
        let (together, each) = if self.whole {
            (run.iterations, None)
        } else {
            (None, run.iterations)
        };
        self.signal.allow(together.map_or(u64::MAX, u64::from));
        self.choose(c"simplex_strategy", strategy)?;
        self.choose(c"simplex_iteration_limit", most(each))?;
        self.choose(c"mip_max_nodes", most(run.nodes))?;
        self.measure(c"mip_rel_gap", run.gap)?;
        for heuristic in [
            c"mip_heuristic_run_rins",
            c"mip_heuristic_run_rens",
            c"mip_heuristic_run_root_reduced_cost",
        ] {
            self.switch(heuristic, run.sub_programs)?;
        }
        // SAFETY: the model is alive.
        let before = unsafe { raw::Highs_getRunTime(self.raw()) };
        self.measure(
            c"time_limit",
            run.seconds.map_or(f64::INFINITY, |seconds| before + seconds),
        )
    }

    /// Simplex iterations of the last run.
    pub(super) fn iterations(&mut self) -> u64 {
        let mut count: HighsInt = 0;
        let name = c"simplex_iteration_count".as_ptr();
        // SAFETY: the model is alive; `count` is a place for the one number written.
        unsafe { raw::Highs_getIntInfoValue(self.raw(), name, &raw mut count) };
        u64::try_from(count).unwrap_or(0)
    }

    /// Nodes of the tree of the last run.
    pub(super) fn nodes(&mut self) -> u64 {
        let mut count: i64 = 0;
        let name = c"mip_node_count".as_ptr();
        // SAFETY: the model is alive; `count` is a place for the one number written.
        unsafe { raw::Highs_getInt64InfoValue(self.raw(), name, &raw mut count) };
        u64::try_from(count).unwrap_or(0)
    }

    /// What HiGHS says no solution in whole numbers costs less than, if it asked for some and knows.
    pub(super) fn dual_bound(&mut self) -> Option<f64> {
        let mut bound = f64::NEG_INFINITY;
        let name = c"mip_dual_bound".as_ptr();
        // SAFETY: the model is alive; `bound` is a place for the one number written.
        let status = unsafe { raw::Highs_getDoubleInfoValue(self.raw(), name, &raw mut bound) };
        (self.whole && status == raw::kHighsStatusOk && bound.is_finite()).then_some(bound)
    }

    /// The feasible solution of the last run, if it has one.
    pub(super) fn solution(&mut self) -> Option<Solution> {
        let mut known: HighsInt = 0;
        let name = c"primal_solution_status".as_ptr();
        // SAFETY: the model is alive; `known` is a place for the one number written.
        let status = unsafe { raw::Highs_getIntInfoValue(self.raw(), name, &raw mut known) };
        accepted(status, "tell whether there is a solution").ok()?;
        if known != raw::kHighsSolutionStatusFeasible {
            return None;
        }
        let mut columns = vec![0.0; self.columns];
        let mut costs = vec![0.0; self.columns];
        let mut sums = vec![0.0; self.rows];
        let mut duals = vec![0.0; self.rows];
        // SAFETY: the model is alive; HiGHS writes a value for every column into the first two and one for every row
        // into the others, which is how long they are.
        let status = unsafe {
            raw::Highs_getSolution(
                self.raw(),
                columns.as_mut_ptr(),
                costs.as_mut_ptr(),
                sums.as_mut_ptr(),
                duals.as_mut_ptr(),
            )
        };
        accepted(status, "give its solution").ok()?;
        // SAFETY: the model is alive.
        let objective = unsafe { raw::Highs_getObjectiveValue(self.raw()) };
        let all = columns.iter().chain(&duals).chain([&objective]);
        let finite = all.into_iter().all(|value| value.is_finite());
        finite.then_some(Solution {
            columns,
            duals,
            objective,
        })
    }

    /// Forgets basis and solution: the way out when a run ended in trouble.
    ///
    /// # Errors
    /// When HiGHS refuses even that.
    pub(super) fn clear(&mut self) -> Result<(), Refused> {
        // SAFETY: the model is alive and nothing else uses it.
        let status = unsafe { raw::Highs_clearSolver(self.raw()) };
        accepted(status, "forget its basis")
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: made by `Highs_create`, destroyed here and nowhere else.
        unsafe { raw::Highs_destroy(self.raw()) };
    }
}

/// A warning is no refusal: HiGHS warns of small coefficients and of limits reached.
fn accepted(status: HighsInt, what: &'static str) -> Result<(), Refused> {
    if status == raw::kHighsStatusError {
        Err(Refused(what))
    } else {
        Ok(())
    }
}

fn index(value: usize) -> Result<HighsInt, Refused> {
    HighsInt::try_from(value).map_err(|_| Refused("count that far"))
}

fn known(at: usize, count: usize) -> Result<HighsInt, Refused> {
    if at < count {
        index(at)
    } else {
        Err(Refused("change what isn't there"))
    }
}

#[cfg(test)]
#[path = "highs_tests.rs"]
mod tests;
