//! What goes into a run of HiGHS and what comes out: plain values, safe to send to its thread and back.

/// A call that HiGHS refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("HiGHS refused to {0}")]
pub struct Refused(pub(super) &'static str);

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// To the end, says HiGHS.
    Optimal,
    /// No x satisfies the rows.
    Infeasible,
    /// The objective has no floor.
    Unbounded,
    /// The iterations allowed were used; the next run of a program without whole numbers goes on from there.
    IterationLimit,
    /// The nodes of the tree that were allowed were used.
    NodeLimit,
    /// The time allowed was used.
    TimeLimit,
    /// It was told to stop, and did.
    Interrupted,
    /// It was told to stop, and didn't in time: whatever it still does, nobody waits for it.
    Abandoned,
    /// Anything else: nothing is known.
    Trouble,
}

/// Which simplex to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simplex {
    /// After a row bound was changed: the basis is still dual feasible.
    Dual,
    /// After columns were added: the basis is still primal feasible.
    Primal,
}

/// A variable `0 ≤ x ≤ upper` with its cost and its coefficients.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Cost of one.
    pub cost: f64,
    /// The most it may be.
    pub upper: f64,
    /// Row and coefficient, each row at most once.
    pub terms: Vec<(usize, f64)>,
}

/// How a run is done and when it ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// For programs without whole numbers.
    pub simplex: Simplex,
    /// Simplex iterations at most, over all nodes of the tree where integers are asked for; counted, so the same on
    /// every machine.
    pub iterations: Option<u32>,
    /// Nodes of the tree at most, where integers are asked for; counted as well. The root alone may take long.
    pub nodes: Option<u32>,
    /// Seconds by HiGHS' own clock at most.
    pub seconds: Option<f64>,
    /// Share of the cost by which the dual bound may stay below it, where integers are asked for.
    pub gap: f64,
    /// Whether HiGHS may try parts of a program in whole numbers as programs of their own. They find solutions that the
    /// tree alone finds late, take many times as long as the iterations say, and don't stop when told.
    pub sub_programs: bool,
}

impl Default for Run {
    /// To the end, by the dual simplex.
    fn default() -> Self {
        Self {
            simplex: Simplex::Dual,
            iterations: None,
            nodes: None,
            seconds: None,
            gap: 0.0,
            sub_programs: true,
        }
    }
}

/// What a run found.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// By column.
    pub columns: Vec<f64>,
    /// By row: what one more unit of its bound costs. Zeros where integers are asked for.
    pub duals: Vec<f64>,
    /// Cost as HiGHS reports it.
    pub objective: f64,
}
