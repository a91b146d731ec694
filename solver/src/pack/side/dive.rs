//! From a fractional program with side rows to a packing.
//!
//! First the choices that decide most: which domain a group goes to whole, which of two sets a domain is for. Each way is
//! tried on the relaxation, and the one that costs least is kept. Then fillings as in [`crate::pack::dive`]: what is used
//! at least once as often as the relaxation says, rounded down, which leaves a relaxation that can be solved; else what
//! it uses most once, and if that leaves none or more pods over, the next. What is left gets fillings of its own.
//!
//! Paper: papers.md, 11.

use crate::lower::Problem;
use crate::lp::run::Refused;
use crate::pack::effort::Effort;
use crate::pack::{Filling, Packing};

use super::generate::Generator;
use super::linear::Linear;
use super::program::{Pattern, Program, Relaxed, assembled};

/// Rounds of generating between two rounds of fixing.
const ROUNDS: u32 = 6;
/// Levels this near to a whole number are one.
const NEAR: f64 = 1e-6;
/// Fillings used less than once that are tried before the dive ends.
const MOST_TRIES: usize = 8;

/// What was fixed so far.
struct Dive<'p, 'a> {
    program: &'p mut Program<'a>,
    generator: &'p mut Generator<'a>,
    demand: Vec<u64>,
    /// By row.
    used: Vec<i64>,
    fixed: Vec<(Pattern, u64)>,
}

/// Dives from a solution of the relaxation.
///
/// # Errors
/// When the solver refuses what it is given.
pub fn dive<'a>(
    problem: &'a Problem<'a>,
    linear: &'a Linear,
    program: &mut Program<'a>,
    generator: &mut Generator<'a>,
    relaxed: Relaxed,
    effort: &mut Effort<'_>,
) -> Result<Packing, Refused> {
    let mut dive = Dive {
        program,
        generator,
        demand: problem.counts(),
        used: vec![0; linear.rows.len()],
        fixed: Vec::new(),
    };
    let mut next = dive.choose(linear, relaxed, effort)?;
    while let Some(relaxed) = next {
        if effort.is_used_up() || dive.demand.iter().all(|count| *count == 0) {
            break;
        }
        next = dive.fix(&relaxed, effort)?;
    }
    let fixed = dive.fixed.iter().map(|(pattern, count)| (pattern, *count));
    Ok(assembled(problem, fixed))
}

impl Dive<'_, '_> {
    /// Decides the choices that stay open, one after the other.
    fn choose(
        &mut self,
        linear: &Linear,
        mut relaxed: Relaxed,
        effort: &mut Effort<'_>,
    ) -> Result<Option<Relaxed>, Refused> {
        for choice in &linear.choices {
            let open =
                |at: &usize| (relaxed.auxiliaries[*at] - relaxed.auxiliaries[*at].round()).abs() > NEAR;
            if !choice.iter().any(open) {
                // As it is, so that what comes later doesn't open it again.
                for at in choice {
                    let level = u64::from(relaxed.auxiliaries[*at] > 0.5);
                    self.program.hold(*at, level, level)?;
                }
                continue;
            }
            let none = choice.len();
            let mut best: Option<(f64, usize)> = None;
            for chosen in 0..=none {
                self.decide(choice, chosen)?;
                let Some(solved) = self.generator.again(self.program, &self.demand, ROUNDS, effort)? else {
                    continue;
                };
                if best.is_none_or(|(least, _)| solved.cost < least) {
                    best = Some((solved.cost, chosen));
                }
            }
            let Some((_, chosen)) = best else { return Ok(None) };
            self.decide(choice, chosen)?;
            match self.generator.again(self.program, &self.demand, ROUNDS, effort)? {
                Some(solved) => relaxed = solved,
                None => return Ok(None),
            }
        }
        Ok(Some(relaxed))
    }

    /// One of a choice is 1, the others are 0; all of them where there is none of that number.
    fn decide(&mut self, choice: &[usize], chosen: usize) -> Result<(), Refused> {
        for (at, auxiliary) in choice.iter().enumerate() {
            let level = u64::from(at == chosen);
            self.program.hold(*auxiliary, level, level)?;
        }
        Ok(())
    }

    /// Fixes some fillings and solves for the rest; `None` when nothing more can be.
    fn fix(&mut self, relaxed: &Relaxed, effort: &mut Effort<'_>) -> Result<Option<Relaxed>, Refused> {
        let mut order: Vec<usize> = (0..relaxed.levels.len())
            .filter(|at| relaxed.levels[*at] > NEAR)
            .collect();
        order.sort_by(|one, two| (relaxed.levels[*two].total_cmp(&relaxed.levels[*one])).then(one.cmp(two)));
        let mut fixed = false;
        for at in &order {
            let count = whole(relaxed.levels[*at] + NEAR);
            fixed |= count > 0 && self.apply(*at, count);
        }
        if fixed {
            return self.solve(relaxed, effort);
        }
        let mut fewest: Option<(f64, usize)> = None;
        for at in order.iter().copied().take(MOST_TRIES) {
            let before = (self.demand.clone(), self.used.clone());
            if !self.apply(at, 1) {
                continue;
            }
            if let Some(solved) = self.solve(relaxed, effort)? {
                if solved.left <= relaxed.left + NEAR {
                    return Ok(Some(solved));
                }
                if fewest.is_none_or(|(least, _)| solved.cost < least) {
                    fewest = Some((solved.cost, at));
                }
            }
            (self.demand, self.used) = before;
            self.fixed.pop();
        }
        match fewest {
            Some((_, at)) if self.apply(at, 1) => self.solve(relaxed, effort),
            _ => Ok(None),
        }
    }

    /// Uses a pattern so often, as far as there are pods for it; whether at all.
    fn apply(&mut self, at: usize, count: u64) -> bool {
        let pattern = self.program.patterns()[at].clone();
        let lasts = pattern.filling.iter();
        let lasts = lasts
            .map(|(group, each)| self.demand[*group] / each)
            .min()
            .unwrap_or(0);
        let count = count.min(lasts);
        if count == 0 {
            return false;
        }
        for (group, each) in &pattern.filling {
            self.demand[*group] -= each * count;
        }
        let number = i64::try_from(count).unwrap_or(i64::MAX);
        for (row, sum) in self.program.activity(&pattern) {
            self.used[row] = self.used[row].saturating_add(sum.saturating_mul(number));
        }
        self.fixed.push((pattern, count));
        true
    }

    /// The relaxation of what is left: no filling holds more, and those that did come back smaller.
    fn solve(&mut self, relaxed: &Relaxed, effort: &mut Effort<'_>) -> Result<Option<Relaxed>, Refused> {
        self.program.rest(&self.demand, &self.used)?;
        let mut smaller = self.generator.singles(&self.demand);
        for at in 0..self.program.patterns().len() {
            let Pattern { place, filling } = &self.program.patterns()[at];
            let within = filling.iter().all(|(group, count)| *count <= self.demand[*group]);
            if !within && relaxed.levels.get(at).is_some_and(|level| *level > NEAR) {
                let parts = filling.iter();
                let parts = parts.map(|(group, count)| (*group, self.demand[*group].min(*count)));
                let filling: Filling = parts.filter(|(_, count)| *count > 0).collect();
                if !filling.is_empty() {
                    smaller.push(Pattern {
                        place: *place,
                        filling,
                    });
                }
            }
            self.program.allow(at, within)?;
        }
        self.program.add(smaller)?;
        self.generator.again(self.program, &self.demand, ROUNDS, effort)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded down on purpose; no level is negative"
)]
fn whole(level: f64) -> u64 {
    level as u64
}
