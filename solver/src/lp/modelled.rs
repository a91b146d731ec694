//! Programs in the words of good_lp, for either of its back ends.
//!
//! Promises: quiet, one thread, one seed. A number that is none, or that is asked for within seconds and not found, is no
//! answer.

use good_lp::{Constraint, Expression, ProblemVariables, Solution, SolverModel, Variable, variable};
use good_lp::{WithInitialSolution, WithTimeLimit};

use super::whole::{self, Aim};
use super::{BackEnd, Program};

/// An optimal x of a program without whole numbers.
pub(super) fn maximise(program: &Program, back_end: BackEnd) -> Option<Vec<f64>> {
    let mut variables = ProblemVariables::new();
    let columns: Vec<Variable> = program
        .objective
        .iter()
        .map(|_| variables.add(variable().min(0.0)))
        .collect();
    let objective = sum(columns.iter().copied().zip(program.objective.iter().copied()));
    let rows = program
        .rows
        .iter()
        .map(|row| sum(row.terms.iter().map(|(column, value)| (columns[*column], *value))).leq(row.limit));
    let question = Question {
        columns: &columns,
        rows: rows.collect(),
        start: None,
        seconds: None,
    };
    ask(variables, (Aim::Most, objective), question, back_end)
}

/// The best values of a program in whole numbers that were found.
pub(super) fn solve(
    program: &whole::Program,
    back_end: BackEnd,
    start: Option<&[u64]>,
    seconds: Option<f64>,
) -> Option<Vec<f64>> {
    let mut variables = ProblemVariables::new();
    let uppers = program.uppers();
    let columns: Vec<Variable> = uppers
        .map(|upper| variables.add(variable().integer().min(0.0).max(upper)))
        .collect();
    let objective = sum(columns.iter().copied().zip(program.costs()));
    let mut rows = Vec::new();
    for row in program.scaled() {
        let left = || sum(row.terms.iter().map(|(column, value)| (columns[*column], *value)));
        rows.extend(row.lower.map(|lower| left().geq(lower)));
        rows.extend(row.upper.map(|upper| left().leq(upper)));
    }
    let question = Question {
        columns: &columns,
        rows,
        start: start.map(whole::floats),
        seconds,
    };
    ask(variables, (program.aim, objective), question, back_end)
}

fn sum(terms: impl Iterator<Item = (Variable, f64)>) -> Expression {
    terms.map(|(column, coefficient)| column * coefficient).sum()
}

/// All but the objective.
struct Question<'a> {
    columns: &'a [Variable],
    rows: Vec<Constraint>,
    start: Option<Vec<f64>>,
    seconds: Option<f64>,
}

fn ask(
    variables: ProblemVariables,
    (aim, objective): (Aim, Expression),
    question: Question<'_>,
    back_end: BackEnd,
) -> Option<Vec<f64>> {
    let problem = match aim {
        Aim::Least => variables.minimise(objective),
        Aim::Most => variables.maximise(objective),
    };
    match back_end {
        #[cfg(feature = "highs")]
        BackEnd::Highs => answer(quiet(problem.using(good_lp::highs)), question),
        #[cfg(feature = "microlp")]
        BackEnd::Microlp => answer(problem.using(good_lp::microlp), question),
    }
}

fn answer<Model>(mut model: Model, question: Question<'_>) -> Option<Vec<f64>>
where
    Model: SolverModel + WithInitialSolution + WithTimeLimit,
{
    let Question {
        columns,
        rows,
        start,
        seconds,
    } = question;
    for row in rows {
        model.add_constraint(row);
    }
    if let Some(start) = start {
        model = model.with_initial_solution(columns.iter().copied().zip(start));
    }
    if let Some(seconds) = seconds {
        model = model.with_time_limit(seconds);
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
    // To the end: the usual gap of 0.01 % would be no optimum.
    model.set_option("random_seed", 0).set_option("mip_rel_gap", 0.0)
}
