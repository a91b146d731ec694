//! Programs in whole numbers with whole data: stated exactly, solved in floats, verified exactly.
//!
//! What a solver answers is rounded, held against every row and bound in integers, and its cost is counted anew; only
//! that is ever handed out. Promises nothing about optimality beyond what the solver says.
//!
//! Rows are divided by what all their numbers have in common and then brought near to one, so that the solver's
//! tolerances are far below one unit of any row that people write. Money is in dollars inside.

use super::BackEnd;
use crate::divisor::common_divisor;

/// The largest coefficient of a row as solvers see it. Memory in MiB stays what it is up to 64 GiB; more would make
/// tolerances of 1e-6 mean more than rounding does.
const LARGEST: f64 = 65_536.0;
/// Micro-dollars of one unit of the solvers' objective.
const DOLLAR: f64 = 1_000_000.0;

/// Which way is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aim {
    /// The least cost.
    #[default]
    Least,
    /// The most.
    Most,
}

/// A whole number from nothing to `upper`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Micro-dollars of one.
    pub cost: i64,
    /// The most it may be.
    pub upper: u64,
}

/// `lower ≤ Σ coefficient · x ≤ upper`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Variable and coefficient, each variable at most once.
    pub terms: Vec<(usize, i64)>,
    /// The least the sum may be; `None`: anything.
    pub lower: Option<i64>,
    /// The most; `None`: anything.
    pub upper: Option<i64>,
}

impl Row {
    /// The sum may be so much at most.
    #[must_use]
    pub fn at_most(terms: Vec<(usize, i64)>, upper: i64) -> Self {
        Self {
            terms,
            lower: None,
            upper: Some(upper),
        }
    }

    /// The sum has to be so much at least.
    #[must_use]
    pub fn at_least(terms: Vec<(usize, i64)>, lower: i64) -> Self {
        Self {
            terms,
            lower: Some(lower),
            upper: None,
        }
    }

    /// Whether values keep it.
    #[must_use]
    pub fn admits(&self, values: &[u64]) -> bool {
        let sum: i128 = self
            .terms
            .iter()
            .map(|(variable, coefficient)| i128::from(*coefficient) * i128::from(values[*variable]))
            .sum();
        self.lower.is_none_or(|lower| sum >= i128::from(lower))
            && self.upper.is_none_or(|upper| sum <= i128::from(upper))
    }

    /// The same with small numbers: coefficients, least and most.
    fn scaled(&self) -> Scaled {
        let numbers = self
            .terms
            .iter()
            .map(|(_, coefficient)| coefficient.unsigned_abs());
        let common = numbers.clone().fold(0, common_divisor).max(1);
        let divisor = i64::try_from(common).unwrap_or(1);
        let largest = numbers.max().unwrap_or(0) / common;
        let mut scale = 1.0;
        while float(i64::try_from(largest).unwrap_or(i64::MAX)) * scale > LARGEST {
            scale /= 2.0;
        }
        // A sum of multiples of the divisor reaches no further than to the next multiple inside.
        Scaled {
            terms: self
                .terms
                .iter()
                .map(|(variable, coefficient)| (*variable, float(coefficient / divisor) * scale))
                .collect(),
            lower: self.lower.map(|lower| float(ceil(lower, divisor)) * scale),
            upper: self.upper.map(|upper| float(upper.div_euclid(divisor)) * scale),
        }
    }
}

/// A row in floats.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scaled {
    pub(super) terms: Vec<(usize, f64)>,
    pub(super) lower: Option<f64>,
    pub(super) upper: Option<f64>,
}

/// A program in whole numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Which way is better.
    pub aim: Aim,
    /// What is to be chosen.
    pub variables: Vec<Variable>,
    /// What the choice has to keep.
    pub rows: Vec<Row>,
}

/// Values that keep every row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// By variable.
    pub values: Vec<u64>,
    /// Micro-dollars, counted from the values.
    pub cost: i128,
}

/// A solver's answer that breaks the program it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an answer broke its own program")]
pub struct Untrue;

impl Program {
    /// Adds a variable; its index.
    pub fn add(&mut self, cost: i64, upper: u64) -> usize {
        self.variables.push(Variable { cost, upper });
        self.variables.len() - 1
    }

    /// Whether values keep all bounds and rows.
    #[must_use]
    pub fn admits(&self, values: &[u64]) -> bool {
        let bounded = |(variable, value): (&Variable, &u64)| *value <= variable.upper;
        values.len() == self.variables.len()
            && self.variables.iter().zip(values).all(bounded)
            && self.rows.iter().all(|row| row.admits(values))
    }

    /// Micro-dollars of some values.
    #[must_use]
    pub fn cost(&self, values: &[u64]) -> i128 {
        let costs = self.variables.iter().zip(values);
        costs
            .map(|(variable, value)| i128::from(variable.cost) * i128::from(*value))
            .sum()
    }

    /// What a solver meant by its floats, if that keeps all rows.
    ///
    /// # Errors
    /// When it doesn't.
    pub fn verified(&self, values: &[f64]) -> Result<Answer, Untrue> {
        let rounded: Vec<u64> = values.iter().map(|value| rounded(*value)).collect();
        if !self.admits(&rounded) {
            return Err(Untrue);
        }
        Ok(Answer {
            cost: self.cost(&rounded),
            values: rounded,
        })
    }

    /// Solves it to the end with one of good_lp's back ends, from a start if one is given and within so many seconds if
    /// they are; `None` where it finds nothing. Nobody can stop it otherwise: engines use [`super::solver`] instead.
    ///
    /// # Errors
    /// When what it finds is no solution.
    pub fn solve(
        &self,
        back_end: BackEnd,
        start: Option<&[u64]>,
        seconds: Option<f64>,
    ) -> Result<Option<Answer>, Untrue> {
        let values = super::modelled::solve(self, back_end, start, seconds);
        values.map(|values| self.verified(&values)).transpose()
    }

    /// Dollars of one, by variable.
    pub(super) fn costs(&self) -> impl Iterator<Item = f64> {
        let variables = self.variables.iter();
        variables.map(|variable| float(variable.cost) / DOLLAR)
    }

    /// The most of each variable.
    pub(super) fn uppers(&self) -> impl Iterator<Item = f64> {
        let variables = self.variables.iter();
        variables.map(|variable| float(i64::try_from(variable.upper).unwrap_or(i64::MAX)))
    }

    /// All rows in floats.
    pub(super) fn scaled(&self) -> Vec<Scaled> {
        self.rows.iter().map(Row::scaled).collect()
    }

    /// The program on a HiGHS thread, as minimising.
    ///
    /// # Errors
    /// When there is no thread to be had.
    #[cfg(feature = "highs")]
    pub fn on_a_thread(&self) -> Result<super::solver::Solver, super::run::Refused> {
        use super::run::Column;
        let sign = match self.aim {
            Aim::Least => 1.0,
            Aim::Most => -1.0,
        };
        let mut columns: Vec<Column> = self
            .costs()
            .zip(self.uppers())
            .map(|(cost, upper)| Column {
                cost: sign * cost,
                upper,
                terms: Vec::new(),
            })
            .collect();
        let mut bounds = Vec::with_capacity(self.rows.len());
        for (at, row) in self.scaled().into_iter().enumerate() {
            bounds.push((
                row.lower.unwrap_or(f64::NEG_INFINITY),
                row.upper.unwrap_or(f64::INFINITY),
            ));
            for (variable, coefficient) in row.terms {
                columns[variable].terms.push((at, coefficient));
            }
        }
        let mut solver = super::solver::Solver::new()?;
        solver.add_rows(bounds);
        solver.add_columns(columns)?;
        for variable in 0..self.variables.len() {
            solver.set_integer(variable)?;
        }
        Ok(solver)
    }
}

/// Values as solvers take them.
#[must_use]
pub fn floats(values: &[u64]) -> Vec<f64> {
    values
        .iter()
        .map(|value| float(i64::try_from(*value).unwrap_or(i64::MAX)))
        .collect()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "what a solver answers is verified in integers"
)]
fn float(number: i64) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, and what it gives is verified"
)]
fn rounded(value: f64) -> u64 {
    value.round() as u64
}

/// Division that rounds up; the divisor is positive.
fn ceil(number: i64, divisor: i64) -> i64 {
    number.div_euclid(divisor) + i64::from(number.rem_euclid(divisor) != 0)
}
