//! Linear programs: the only place that names a solver.
//!
//! Promises: the same program gives the same numbers (one thread, one seed, rows built in order). Says nothing about
//! truth: callers verify in integers whatever they conclude from the answer.

#[cfg(feature = "highs")]
pub mod highs;
#[cfg(feature = "highs")]
mod interrupt;
#[cfg(feature = "highs")]
pub mod run;
#[cfg(feature = "highs")]
pub mod solver;

use good_lp::{Expression, ProblemVariables, Solution, SolverModel, Variable, default_solver, variable};

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
    let mut variables = ProblemVariables::new();
    let columns: Vec<Variable> = program
        .objective
        .iter()
        .map(|_| variables.add(variable().min(0.0)))
        .collect();
    let objective: Expression = columns
        .iter()
        .zip(&program.objective)
        .map(|(column, coefficient)| *column * *coefficient)
        .sum();
    let mut model = quiet(variables.maximise(objective).using(default_solver));
    for row in &program.rows {
        let sum: Expression = row
            .terms
            .iter()
            .map(|(column, coefficient)| columns[*column] * *coefficient)
            .sum();
        model.add_constraint(sum.leq(row.limit));
    }
    let solution = model.solve().ok()?;
    let values: Vec<f64> = columns.iter().map(|column| solution.value(*column)).collect();
    values.iter().all(|value| value.is_finite()).then_some(values)
}

#[cfg(feature = "highs")]
fn quiet(model: good_lp::solvers::highs::HighsProblem) -> good_lp::solvers::highs::HighsProblem {
    use good_lp::solvers::highs::HighsParallelType;
    let mut model = model.set_parallel(HighsParallelType::Off).set_threads(1);
    model.set_verbose(false);
    model.set_option("random_seed", 0)
}

#[cfg(not(feature = "highs"))]
fn quiet<Model>(model: Model) -> Model {
    model
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_corner() {
        let row = |terms: &[(usize, f64)], limit| Row {
            terms: terms.to_vec(),
            limit,
        };
        let program = Program {
            objective: vec![3.0, 2.0],
            rows: vec![row(&[(0, 1.0), (1, 1.0)], 4.0), row(&[(0, 1.0)], 3.0)],
        };
        let best = maximise(&program).unwrap();
        assert!(
            (best[0] - 3.0).abs() < 1e-6 && (best[1] - 1.0).abs() < 1e-6,
            "{best:?}"
        );
    }

    #[test]
    fn an_unbounded_program_has_no_answer() {
        let program = Program {
            objective: vec![1.0],
            rows: Vec::new(),
        };
        assert_eq!(maximise(&program), None);
    }
}
