//! Linear programs, with and without whole numbers: the only place that names a solver.
//!
//! Small ones go through good_lp, which has two back ends; those that grow, or have to stop when told, go to HiGHS on a
//! thread of its own (`solver`). Promises: the same program gives the same numbers (one thread, one seed, rows built in
//! order). Says nothing about truth: callers verify in integers whatever they conclude from the answer; for programs in
//! whole numbers [`whole`] does.

#[cfg(feature = "highs")]
mod highs;
#[cfg(feature = "highs")]
mod interrupt;
mod modelled;
#[cfg(feature = "highs")]
pub mod run;
#[cfg(feature = "highs")]
pub mod solver;
pub mod whole;

/// What solves a program. Which of them there are is a matter of features; HiGHS is the usual one where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackEnd {
    /// HiGHS, in C++.
    #[cfg(feature = "highs")]
    Highs,
    /// A simplex in Rust alone.
    #[cfg(feature = "microlp")]
    Microlp,
}

impl BackEnd {
    /// All that this build has, the usual one first.
    pub const ALL: &[Self] = &[
        #[cfg(feature = "highs")]
        Self::Highs,
        #[cfg(feature = "microlp")]
        Self::Microlp,
    ];

    /// The one that plans are made with.
    pub const USUAL: Self = Self::ALL[0];
}

#[cfg(not(any(feature = "highs", feature = "microlp")))]
compile_error!("one of the features `highs` and `microlp` is needed");

/// Maximise `objective · x` where each row's terms sum to its limit at most and no x is negative.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// One coefficient a variable.
    pub objective: Vec<f64>,
    /// Terms and limit of each row.
    pub rows: Vec<Row>,
}

/// `Σ coefficient · x ≤ limit`.
#[derive(Clone, Debug)]
pub struct Row {
    /// Variable and coefficient.
    pub terms: Vec<(usize, f64)>,
    /// What the sum may be at most.
    pub limit: f64,
}

/// An optimal x; `None` where the solver finds none.
#[must_use]
pub fn maximise(program: &Program) -> Option<Vec<f64>> {
    maximise_with(program, BackEnd::USUAL)
}

/// The same by one of the back ends.
#[must_use]
pub fn maximise_with(program: &Program, back_end: BackEnd) -> Option<Vec<f64>> {
    modelled::maximise(program, back_end)
}

#[cfg(test)]
#[path = "back_ends_tests.rs"]
mod tests;
