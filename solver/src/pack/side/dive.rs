//! From a fractional program with side rows to a packing.
//!
//! First the choices that decide most: which domain a group goes to whole, which of two sets a domain is for. Each way is
//! tried on the relaxation, and the one that costs least is kept. Then fillings as in [`crate::pack::dive`]: what is used
//! at least once as often as the relaxation says, rounded down, which leaves a relaxation that can be solved; else what
//! it uses most once, and if that leaves none or more pods over, the next. What is left gets fillings of its own.
//!
//! Paper: papers.md, 11.

use crate::lower::Problem;
use crate::lower::side::Place;
use crate::lp::run::Refused;
use crate::pack::effort::Effort;
use crate::pack::{Filling, Packing, float, whole_part};

use super::generate::Generator;
use super::linear::Linear;
use super::program::{Pattern, Program, Relaxed, assembled};

/// Rounds of generating between two rounds of fixing.
const ROUNDS: u32 = 6;
/// Levels this near to a whole number are one.
const NEAR: f64 = 1e-6;
/// Fillings used less than once that are tried before the dive ends.
const MOST_TRIES: usize = 8;
/// Of so many fillings used less than once one is fixed at once: one by one takes as many rounds as there are nodes.
const AT_ONCE: usize = 10;

/// What was fixed so far.
struct Dive<'p, 'a> {
    problem: &'a Problem<'a>,
    program: &'p mut Program<'a>,
    generator: &'p mut Generator<'a>,
    linear: &'a Linear,
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
        problem,
        program,
        generator,
        linear,
        demand: problem.counts(),
        used: vec![0; linear.rows.len()],
        fixed: Vec::new(),
    };
    let (mut values, mut auxiliaries) = (relaxed.values.clone(), relaxed.auxiliaries.clone());
    let mut next = dive.choose(relaxed, effort)?;
    while let Some(relaxed) = next {
        if effort.is_used_up() || dive.demand.iter().all(|count| *count == 0) {
            break;
        }
        values.clone_from(&relaxed.values);
        auxiliaries.clone_from(&relaxed.auxiliaries);
        next = dive.fix(&relaxed, effort)?;
    }
    dive.finish(&values, &auxiliaries);
    let fixed = dive.fixed.iter().map(|(pattern, count)| (pattern, *count));
    Ok(assembled(problem, fixed))
}

impl Dive<'_, '_> {
    /// Decides the choices that stay open, one after the other.
    fn choose(&mut self, mut relaxed: Relaxed, effort: &mut Effort<'_>) -> Result<Option<Relaxed>, Refused> {
        let linear = self.linear;
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
                let Some(solved) =
                    self.generator
                        .again(self.program, (&self.demand, &self.used), ROUNDS, effort)?
                else {
                    continue;
                };
                if best.is_none_or(|(least, _)| solved.cost < least) {
                    best = Some((solved.cost, chosen));
                }
            }
            let Some((_, chosen)) = best else { return Ok(None) };
            self.decide(choice, chosen)?;
            match self
                .generator
                .again(self.program, (&self.demand, &self.used), ROUNDS, effort)?
            {
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
            let count = whole_part(relaxed.levels[*at] + NEAR);
            fixed |= count > 0 && self.apply(*at, count);
        }
        if fixed {
            return self.solve(relaxed, effort);
        }
        let before = (self.demand.clone(), self.used.clone(), self.fixed.len());
        for at in order.iter().take(order.len() / AT_ONCE) {
            fixed |= self.apply(*at, 1);
        }
        if fixed {
            if let Some(solved) = self.solve(relaxed, effort)?
                && solved.left <= relaxed.left + NEAR
            {
                return Ok(Some(solved));
            }
            (self.demand, self.used) = (before.0, before.1);
            self.fixed.truncate(before.2);
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
        let lasts = |(group, each): &(usize, u64)| self.most(*group, pattern.place) / each;
        let lasts = pattern.filling.iter().map(lasts).min().unwrap_or(0);
        let count = count.min(lasts);
        if count == 0 {
            return false;
        }
        self.book(pattern, count);
        true
    }

    /// Places what is left without asking the relaxation: again and again the filling that is worth most for its cost.
    fn finish(&mut self, values: &[f64], auxiliaries: &[f64]) {
        let mut patterns = self.generator.singles(&self.demand, &self.used);
        patterns.extend_from_slice(self.program.patterns());
        while self.demand.iter().any(|count| *count > 0) {
            let mut best: Option<(f64, Pattern)> = None;
            for pattern in &patterns {
                let filling = self.admitted(pattern);
                let worth: f64 = (filling.iter())
                    .map(|(group, count)| values[*group].max(1.0) * float(*count))
                    .sum();
                let pattern = Pattern {
                    place: pattern.place,
                    filling,
                };
                let ratio = worth / float(pattern.cost(self.problem).max(1));
                let is_better = best.as_ref().is_none_or(|(most, _)| ratio > *most);
                if worth > 0.0 && is_better && self.keeps_rows(&pattern, auxiliaries) {
                    best = Some((ratio, pattern));
                }
            }
            let Some((_, pattern)) = best else { break };
            self.book(pattern, 1);
        }
    }

    /// As much of a filling as there are pods for and as spreads admit.
    fn admitted(&self, pattern: &Pattern) -> Filling {
        let parts = pattern.filling.iter();
        let parts = parts.map(|(group, count)| (*group, self.most(*group, pattern.place).min(*count)));
        parts.filter(|(_, count)| *count > 0).collect()
    }

    /// Whether one more of a pattern exceeds no row, with auxiliary variables at these numbers. Spreads are left to
    /// [`Linear::most`].
    fn keeps_rows(&self, pattern: &Pattern, auxiliaries: &[f64]) -> bool {
        let mut sums = self.program.activity(pattern).into_iter();
        sums.all(|(row, sum)| {
            let bounds = &self.linear.rows[row];
            let mut beside = bounds.auxiliaries.iter();
            let is_plain = beside.all(|(auxiliary, _)| self.linear.auxiliaries[*auxiliary].whole);
            let used = self.used[row].saturating_add(sum);
            let beside = bounds.auxiliaries.iter();
            let beside: i64 = beside
                .map(|(auxiliary, coefficient)| coefficient * i64::from(auxiliaries[*auxiliary] > 0.5))
                .sum();
            !is_plain
                || bounds
                    .upper
                    .is_none_or(|upper| used.saturating_add(beside) <= upper)
        })
    }

    fn book(&mut self, pattern: Pattern, count: u64) {
        for (group, each) in &pattern.filling {
            self.demand[*group] -= each * count;
        }
        let number = i64::try_from(count).unwrap_or(i64::MAX);
        for (row, sum) in self.program.activity(&pattern) {
            self.used[row] = self.used[row].saturating_add(sum.saturating_mul(number));
        }
        self.fixed.push((pattern, count));
    }

    fn most(&self, group: usize, place: Place) -> u64 {
        self.linear.most(group, place, &self.demand, &self.used)
    }

    /// The relaxation of what is left: no filling holds more, and those that did come back smaller.
    fn solve(&mut self, relaxed: &Relaxed, effort: &mut Effort<'_>) -> Result<Option<Relaxed>, Refused> {
        self.program.rest(&self.demand, &self.used)?;
        let mut smaller = self.generator.singles(&self.demand, &self.used);
        for at in 0..self.program.patterns().len() {
            let pattern = &self.program.patterns()[at];
            let Pattern { place, filling } = pattern;
            let admitted = self.admitted(pattern);
            let within = admitted == *filling;
            let is_used = relaxed.levels.get(at).is_some_and(|level| *level > NEAR);
            if !within && is_used && !admitted.is_empty() {
                smaller.push(Pattern {
                    place: *place,
                    filling: admitted,
                });
            }
            self.program.allow(at, within)?;
        }
        self.program.add(smaller)?;
        self.generator
            .again(self.program, (&self.demand, &self.used), ROUNDS, effort)
    }
}
