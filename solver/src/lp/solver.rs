//! A HiGHS model on a thread of its own: whoever asks waits for the answer, and can stop waiting.
//!
//! The model is made, used and destroyed on that one thread. Changes are collected and sent with the next run, so that
//! a run costs one round trip however much was changed: in rounds of 0.2 to 2 ms, as column generation has them, no
//! difference to direct calls could be measured (between 0.7 and 1.1 of their time). Promises: a run ends within a few
//! hundredths of a second after `stop` says so, whatever HiGHS does, because a thread that doesn't come back is left to
//! itself (it ends when HiGHS does, and then frees all it has); a thread that dies is an error here and no panic. Never
//! stopped, the same calls give the same numbers. Doesn't promise that the answers are true: `highs` says why.
//!
//! Paper: papers.md, 25.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::highs::Model;
use super::interrupt::Signal;
use super::run::{Column, Refused, Run, Solution, Status};

/// Time between two questions whether to stop: small against the 50 ms within which a deadline has to be honoured, and
/// large against what a question costs.
const TICK: Duration = Duration::from_millis(2);
/// Ticks that HiGHS gets to come back after it was told to stop.
const PATIENCE: u32 = 10;
/// HiGHS' heuristics call themselves: as much as a main thread has, of which only what is used counts.
const STACK: usize = 8 << 20;

/// A change of the model.
#[derive(Debug)]
enum Change {
    SkipPresolve,
    Rows(Vec<(f64, f64)>),
    Columns(Vec<Column>),
    RowBounds(usize, f64, f64),
    Cost(usize, f64),
    Bounds(usize, f64, f64),
    Delete(Vec<usize>),
    Integer(usize),
    Start(Vec<f64>),
    Clear,
}

/// Changes, and a run after them.
#[derive(Debug)]
struct Batch {
    changes: Vec<Change>,
    run: Run,
}

/// How a run ended and what it found.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// Simplex iterations that it took.
    pub iterations: u64,
    /// Nodes of the tree that it looked at, where integers are asked for.
    pub nodes: u64,
    /// The best solution found, if any; not the best there is unless the status says so.
    pub solution: Option<Solution>,
    /// What no solution in whole numbers costs less than, as far as floats can say: a hint, no proof.
    pub dual_bound: Option<f64>,
}

type Answer = Result<Outcome, Refused>;

/// Minimise cost over rows `lower ≤ Σ coefficient · x ≤ upper`.
#[derive(Debug)]
pub struct Solver {
    /// `None` once the thread was left to itself.
    worker: Option<Worker>,
    signal: Arc<Signal>,
    changes: Vec<Change>,
    rows: usize,
    columns: usize,
    costs: Vec<f64>,
}

#[derive(Debug)]
struct Worker {
    batches: Sender<Batch>,
    answers: Receiver<Answer>,
    thread: JoinHandle<()>,
}

impl Solver {
    /// An empty model on a new thread.
    ///
    /// # Errors
    /// When there is no thread to be had. That HiGHS can't be set up only the first run says.
    pub fn new() -> Result<Self, Refused> {
        Self::with(serve)
    }

    /// With another way to answer.
    fn with(
        serve: impl FnOnce(&Receiver<Batch>, &Sender<Answer>, Arc<Signal>) + Send + 'static,
    ) -> Result<Self, Refused> {
        let (batches, asked) = channel();
        let (reply, answers) = channel();
        let signal = Arc::new(Signal::default());
        let shared = Arc::clone(&signal);
        let thread = std::thread::Builder::new()
            .name("highs".to_owned())
            .stack_size(STACK)
            .spawn(move || serve(&asked, &reply, shared))
            .map_err(|_| Refused("start a thread"))?;
        Ok(Self {
            worker: Some(Worker {
                batches,
                answers,
                thread,
            }),
            signal,
            changes: Vec::new(),
            rows: 0,
            columns: 0,
            costs: Vec::new(),
        })
    }

    /// Rows so far.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns so far.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// From now on no run simplifies the model first: a run cut short then keeps its basis in any case.
    pub fn skip_presolve(&mut self) {
        self.changes.push(Change::SkipPresolve);
    }

    /// Adds rows without terms; the columns that come later bring them.
    pub fn add_rows(&mut self, bounds: Vec<(f64, f64)>) {
        self.rows += bounds.len();
        self.changes.push(Change::Rows(bounds));
    }

    /// Adds columns; a basis that is there is kept, with the new ones outside it.
    ///
    /// # Errors
    /// When a term names a row that isn't there.
    pub fn add_columns(&mut self, columns: Vec<Column>) -> Result<(), Refused> {
        let mut terms = columns.iter().flat_map(|column| &column.terms);
        if terms.any(|(row, _)| *row >= self.rows) {
            return Err(Refused("add a column to a row that isn't there"));
        }
        self.columns += columns.len();
        self.costs.extend(columns.iter().map(|column| column.cost));
        self.changes.push(Change::Columns(columns));
        Ok(())
    }

    /// Changes what a row's sum may be.
    ///
    /// # Errors
    /// When there is no such row.
    pub fn set_row_bounds(&mut self, row: usize, lower: f64, upper: f64) -> Result<(), Refused> {
        known(row, self.rows)?;
        self.changes.push(Change::RowBounds(row, lower, upper));
        Ok(())
    }

    /// Changes what a column costs.
    ///
    /// # Errors
    /// When there is no such column.
    pub fn set_cost(&mut self, column: usize, cost: f64) -> Result<(), Refused> {
        known(column, self.columns)?;
        self.costs[column] = cost;
        self.changes.push(Change::Cost(column, cost));
        Ok(())
    }

    /// Changes what a column may be.
    ///
    /// # Errors
    /// When there is no such column.
    pub fn set_bounds(&mut self, column: usize, lower: f64, upper: f64) -> Result<(), Refused> {
        known(column, self.columns)?;
        self.changes.push(Change::Bounds(column, lower, upper));
        Ok(())
    }

    /// Takes columns out, named in ascending order; those behind them move up. The basis is kept without them, and is
    /// lost where it has them in it.
    ///
    /// # Errors
    /// When there is no such column, or they don't ascend.
    pub fn delete_columns(&mut self, columns: Vec<usize>) -> Result<(), Refused> {
        if !columns.is_sorted_by(|one, two| one < two) {
            return Err(Refused("delete columns out of order"));
        }
        for column in &columns {
            known(*column, self.columns)?;
        }
        let mut at = 0;
        self.costs.retain(|_| {
            at += 1;
            columns.binary_search(&(at - 1)).is_err()
        });
        self.columns -= columns.len();
        self.changes.push(Change::Delete(columns));
        Ok(())
    }

    /// From now on a column takes whole numbers only. Give it a finite upper bound.
    ///
    /// # Errors
    /// When there is no such column.
    pub fn set_integer(&mut self, column: usize) -> Result<(), Refused> {
        known(column, self.columns)?;
        self.changes.push(Change::Integer(column));
        Ok(())
    }

    /// Gives a solution to start from, a value for every column.
    ///
    /// # Errors
    /// When values are missing.
    pub fn set_start(&mut self, values: Vec<f64>) -> Result<(), Refused> {
        if values.len() != self.columns {
            return Err(Refused("start from a solution of another length"));
        }
        self.changes.push(Change::Start(values));
        Ok(())
    }

    /// Forgets basis and solution: the way out when a run ended in trouble.
    pub fn clear(&mut self) {
        self.changes.push(Change::Clear);
    }

    /// Makes the changes and runs, until it is done, a limit is reached or `stop`, which is asked every few
    /// milliseconds, says so. A run that is stopped in the middle still gives the best solution in whole numbers that it
    /// had found.
    ///
    /// # Errors
    /// When HiGHS refuses a change, and ever after; and when the thread is gone, because a run was abandoned or it died.
    pub fn run(&mut self, run: &Run, mut stop: impl FnMut() -> bool) -> Result<Outcome, Refused> {
        let gone = Refused("answer");
        let changes = std::mem::take(&mut self.changes);
        // Before the signal is taken back, which a thread left to itself still has to see.
        let Some(worker) = &self.worker else {
            return Err(gone);
        };
        self.signal.reset();
        worker
            .batches
            .send(Batch { changes, run: *run })
            .map_err(|_| gone)?;
        let mut told = 0;
        loop {
            match worker.answers.recv_timeout(TICK) {
                Ok(answer) => {
                    if answer.is_err() {
                        // The changes after the one refused are lost: model and caller no longer mean the same.
                        self.retire();
                    }
                    return answer;
                }
                Err(RecvTimeoutError::Disconnected) => return Err(gone),
                Err(RecvTimeoutError::Timeout) if told > PATIENCE => return Ok(self.abandon()),
                Err(RecvTimeoutError::Timeout) if told > 0 => told += 1,
                Err(RecvTimeoutError::Timeout) if stop() => {
                    self.signal.raise();
                    told = 1;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Waits until the model is destroyed, which an idle thread does at once.
    fn retire(&mut self) {
        if let Some(Worker {
            batches,
            answers,
            thread,
        }) = self.worker.take()
        {
            // Idle unless `stop` panicked.
            self.signal.raise();
            drop((batches, answers));
            // A thread that panicked has nothing left to say.
            drop(thread.join());
        }
    }

    /// Leaves the thread to itself, and takes what it found.
    fn abandon(&mut self) -> Outcome {
        self.worker = None;
        let columns = self.signal.incumbent();
        let solution = columns
            .filter(|columns| columns.len() == self.columns && columns.iter().all(|value| value.is_finite()))
            .map(|columns| Solution {
                objective: columns.iter().zip(&self.costs).map(|(x, cost)| x * cost).sum(),
                duals: vec![0.0; self.rows],
                columns,
            });
        Outcome {
            status: Status::Abandoned,
            iterations: 0,
            nodes: 0,
            solution,
            dual_bound: None,
        }
    }
}

impl Drop for Solver {
    fn drop(&mut self) {
        self.retire();
    }
}

fn known(at: usize, count: usize) -> Result<(), Refused> {
    if at < count {
        Ok(())
    } else {
        Err(Refused("change what isn't there"))
    }
}

/// What the thread does until nobody asks any more.
fn serve(asked: &Receiver<Batch>, reply: &Sender<Answer>, signal: Arc<Signal>) {
    let mut model = Model::new(signal);
    while let Ok(batch) = asked.recv() {
        let answer = match &mut model {
            Ok(model) => carry_out(model, batch),
            Err(refused) => Err(*refused),
        };
        if reply.send(answer).is_err() {
            return;
        }
    }
}

fn carry_out(model: &mut Model, batch: Batch) -> Answer {
    for change in batch.changes {
        match change {
            Change::SkipPresolve => model.skip_presolve(),
            Change::Rows(bounds) => model.add_rows(&bounds),
            Change::Columns(columns) => model.add_columns(&columns),
            Change::RowBounds(row, lower, upper) => model.set_row_bounds(row, lower, upper),
            Change::Cost(column, cost) => model.set_cost(column, cost),
            Change::Bounds(column, lower, upper) => model.set_bounds(column, lower, upper),
            Change::Delete(columns) => model.delete_columns(&columns),
            Change::Integer(column) => model.set_integer(column),
            Change::Start(values) => model.set_start(&values),
            Change::Clear => model.clear(),
        }?;
    }
    let status = model.run(&batch.run);
    Ok(Outcome {
        status,
        iterations: model.iterations(),
        nodes: model.nodes(),
        solution: model.solution(),
        dual_bound: model.dual_bound(),
    })
}

#[cfg(test)]
#[path = "solver_tests.rs"]
mod tests;
