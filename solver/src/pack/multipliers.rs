//! What a node's resources are worth to the pods that could go there: the linear relaxation of one knapsack.
//!
//! maximise Σ value·x with Σ weight·x ≤ room and 0 ≤ x ≤ most. A handful of rows and a hundred columns, thousands of
//! times a second: a small dense simplex with bounded columns, where a general one would spend its time on being called.
//! Nothing rests on its answer: any multipliers that aren't negative bound a knapsack, the best ones bound it closest.

/// Steps after which it stops where it is: ties could keep it going in circles.
const MOST_STEPS: usize = 200;
const NOTHING: f64 = 1e-9;

/// One knapsack as the relaxation sees it, weights in shares of the room.
#[derive(Debug, Default)]
pub struct Relaxation {
    rows: usize,
    columns: usize,
    /// Row by row, the slacks' columns last.
    table: Vec<f64>,
    /// What another unit of each column is worth.
    gain: Vec<f64>,
    /// The most that each column may be.
    most: Vec<f64>,
    /// Values of the basic columns.
    level: Vec<f64>,
    basis: Vec<usize>,
}

impl Relaxation {
    /// Multipliers by row, none negative. `weights` holds `rows` shares for each value.
    pub fn solve(&mut self, rows: usize, values: &[f64], weights: &[f64], most: &[f64]) -> Vec<f64> {
        self.start(rows, values, weights, most);
        for _ in 0..MOST_STEPS {
            let Some((column, step, row)) = self.entering() else {
                break;
            };
            match row {
                Some(row) => self.pivot(column, row),
                None => self.flip(column, step),
            }
        }
        let slacks = self.columns - rows..self.columns;
        self.gain[slacks].iter().map(|gain| (-gain).max(0.0)).collect()
    }

    fn start(&mut self, rows: usize, values: &[f64], weights: &[f64], most: &[f64]) {
        self.rows = rows;
        self.columns = values.len() + rows;
        self.table.clear();
        self.table.resize(rows * self.columns, 0.0);
        for row in 0..rows {
            for at in 0..values.len() {
                self.table[row * self.columns + at] = weights[at * rows + row];
            }
            self.table[row * self.columns + values.len() + row] = 1.0;
        }
        self.gain.clear();
        self.gain.extend_from_slice(values);
        self.gain.resize(self.columns, 0.0);
        self.most.clear();
        self.most.extend_from_slice(most);
        self.most.resize(self.columns, f64::INFINITY);
        self.level.clear();
        self.level.resize(rows, 1.0);
        self.basis.clear();
        self.basis.extend(values.len()..values.len() + rows);
    }

    /// The column that gains most by entering, how far it goes, and the row that stops it, if not its own bound.
    fn entering(&self) -> Option<(usize, f64, Option<usize>)> {
        let mut best: Option<(f64, usize, f64, Option<usize>)> = None;
        for column in 0..self.columns {
            let gain = self.gain[column];
            if gain <= NOTHING {
                continue;
            }
            let (mut step, mut stopped_by) = (self.most[column], None);
            for row in 0..self.rows {
                let slope = self.table[row * self.columns + column];
                let limit = if slope > NOTHING {
                    self.level[row] / slope
                } else if slope < -NOTHING {
                    (self.most[self.basis[row]] - self.level[row]) / -slope
                } else {
                    continue;
                };
                if limit < step {
                    (step, stopped_by) = (limit.max(0.0), Some(row));
                }
            }
            // Ties at a step of nothing go by the gain alone.
            let worth = gain * (step + NOTHING);
            if step.is_finite() && best.is_none_or(|(most, ..)| worth > most) {
                best = Some((worth, column, step, stopped_by));
            }
        }
        best.map(|(_, column, step, row)| (column, step, row))
    }

    /// A column goes to its other bound and is counted from there.
    fn flip(&mut self, column: usize, step: f64) {
        for row in 0..self.rows {
            let slope = &mut self.table[row * self.columns + column];
            self.level[row] -= *slope * step;
            *slope = -*slope;
        }
        self.gain[column] = -self.gain[column];
    }

    fn pivot(&mut self, column: usize, row: usize) {
        let width = self.columns;
        let leaving = self.basis[row];
        if self.table[row * width + column] < 0.0 {
            // It leaves at its upper bound: count it from there, so that it leaves at zero.
            for at in 0..width {
                if at != leaving {
                    self.table[row * width + at] = -self.table[row * width + at];
                }
            }
            self.level[row] = self.most[leaving] - self.level[row];
        }
        let scale = self.table[row * width + column];
        for at in 0..width {
            self.table[row * width + at] /= scale;
        }
        self.level[row] /= scale;
        for other in 0..self.rows {
            let factor = self.table[other * width + column];
            if other != row && factor != 0.0 {
                for at in 0..width {
                    self.table[other * width + at] -= factor * self.table[row * width + at];
                }
                self.level[other] -= factor * self.level[row];
            }
        }
        let factor = self.gain[column];
        for at in 0..width {
            self.gain[at] -= factor * self.table[row * width + at];
        }
        self.basis[row] = column;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lp::{Program, Row, maximise};
    use crate::pack::random::Random;

    /// What the multipliers bound: Σ multiplier + Σ most · max(0, value − multiplier · weight).
    fn bound(multipliers: &[f64], values: &[f64], weights: &[f64], most: &[f64]) -> f64 {
        let rows = multipliers.len();
        let rest = |at: usize| {
            let weight = &weights[at * rows..(at + 1) * rows];
            let paid: f64 = weight.iter().zip(multipliers).map(|(one, two)| one * two).sum();
            most[at] * (values[at] - paid).max(0.0)
        };
        multipliers.iter().sum::<f64>() + (0..values.len()).map(rest).sum::<f64>()
    }

    #[test]
    fn its_bound_is_the_optimum_of_the_relaxation() {
        let mut random = Random::new(3);
        let mut relaxation = Relaxation::default();
        for case in 0..300 {
            let (rows, count) = (1 + random.below(4), 1 + random.below(12));
            let values: Vec<f64> = (0..count).map(|_| 0.1 + random.unit()).collect();
            let weights: Vec<f64> = (0..count * rows).map(|_| 0.01 + 0.5 * random.unit()).collect();
            let most: Vec<f64> = (0..count).map(|_| 1.0 + 9.0 * random.unit()).collect();
            let multipliers = relaxation.solve(rows, &values, &weights, &most);
            let mut program = Program {
                objective: values.clone(),
                rows: Vec::new(),
            };
            for row in 0..rows {
                let terms = (0..count).map(|at| (at, weights[at * rows + row])).collect();
                program.rows.push(Row { terms, limit: 1.0 });
            }
            for (at, most) in most.iter().enumerate() {
                program.rows.push(Row {
                    terms: vec![(at, 1.0)],
                    limit: *most,
                });
            }
            let answer = maximise(&program).unwrap();
            let optimum: f64 = answer.iter().zip(&values).map(|(one, two)| one * two).sum();
            let bound = bound(&multipliers, &values, &weights, &most);
            assert!(
                (bound - optimum).abs() < 1e-5,
                "case {case}: {bound} against {optimum}"
            );
        }
    }
}
