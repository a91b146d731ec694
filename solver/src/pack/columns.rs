//! Column generation: fillings that are worth more than they cost, until there are none.
//!
//! Each round solves the master program and first draws on fillings that were found before and only now are worth
//! their cost. Where those are few, the generator looks at values between the duals and the best values so far (the
//! duals jump, what lies between settles) and at some around the duals. The same look gives an upper bound for each
//! kind, and with it [`Farley`]'s bound. How far between is adjusted by where the bound would rise; where values
//! between find nothing that the duals find worthwhile, the next try is nearer to them; where the duals find nothing
//! either, the search goes deeper before it ends.
//!
//! Papers: papers.md, 1, 2, 9 and 12.

use super::float;
use crate::lower::Problem;
use crate::lp::run::{Refused, Simplex};

use super::effort::Effort;
use super::farley::Farley;
use super::generator::{Found, Generator, Look, WORTHWHILE};
use super::lower_bound::attainable;
use super::master::{Master, Relaxed};
use super::random::Random;
use super::reserve::Reserve;
use super::smoothing::Smoothing;
use super::valuation::Valuation;

/// Under values between, a filling worth nearly its cost may well be worth more under the duals.
const NEARLY_WORTHWHILE: f64 = 0.97;
/// How often a round looks around the duals as well, and how far at first: without it the master gets too few columns
/// that go well together, and ten thousand pods stay one per cent dearer.
const AROUND: u32 = 4;
const STRENGTH: f64 = 0.15;
/// Nodes of the tree for each kind and starts of its swaps: at first, and ever more before the search is given up.
const DEPTHS: [(u64, u32); 4] = [(60, 8), (500, 30), (4_000, 60), (30_000, 100)];
/// Fillings of each kind that a look keeps: the best alone would have the master swap one filling for its next of kin round
/// after round, and those beyond the first few are nearly the same.
const KEEP: usize = 4;
/// Where kinds are few, a look for fillings that go well together takes what is worth half its cost: the last of them are
/// never worth more, and needed.
const HALF: f64 = 0.5;
/// Worthwhile fillings from around the duals below which the looks go less far, and above which farther again.
const TOO_FEW: usize = 8;
const PLENTY: usize = 40;
const LEAST_STRENGTH: f64 = 0.002;
/// Columns added in a round, and the number that makes a round worth it without a look: about as many as a relaxation of a
/// hundred groups has in use, and a fraction of that which still moves the duals.
const MOST_A_ROUND: usize = 150;
const ENOUGH: usize = 20;
/// Distance of the relaxation from its bound at which generating ends.
const CLOSE_ENOUGH: f64 = 5e-4;
/// What a filling may be worth over its cost in a deep search: a third of that distance, so that the rest is for the LP.
const TOLERATED: f64 = 1.0 + CLOSE_ENOUGH / 3.0;

/// The share by which the relaxation's cost may be too high by rounding: HiGHS' own tolerance on duals.
const ROUNDING: f64 = 1e-7;

/// What generating led to.
#[derive(Debug)]
pub struct Converged {
    /// The last solution of the relaxation; `None` when not even the first was reached.
    pub relaxed: Option<Relaxed>,
    /// Values with the best bound.
    pub farley: Option<Farley>,
    /// Fillings that weren't worth their cost so far.
    pub reserve: Reserve,
}

/// Column generation at work.
struct Convergence<'m, 'a, 'd> {
    problem: &'a Problem<'a>,
    master: &'m mut Master<'a>,
    generator: &'m mut Generator<'a>,
    demand: &'d [u64],
    reserve: Reserve,
    random: Random,
    /// The best bound so far, in micro-dollars.
    bound: f64,
    farley: Option<Farley>,
    smoothing: Smoothing,
    /// Place among [`DEPTHS`].
    depth: usize,
    /// Micro-dollars in which costs differ.
    step: f64,
    /// How far around the duals to look.
    strength: f64,
}

/// Generates columns until the relaxation is near its bound, nothing is found, or the effort is used up.
///
/// # Errors
/// When the solver refuses what it is given.
pub fn converge<'a>(
    problem: &'a Problem<'a>,
    master: &mut Master<'a>,
    generator: &mut Generator<'a>,
    demand: &[u64],
    start: &[f64],
    effort: &mut Effort<'_>,
) -> Result<Converged, Refused> {
    // What the look at all kinds doesn't see must not count for the bound.
    let seen = |(value, count): (&f64, &u64)| if *count > 0 { *value } else { 0.0 };
    let start = Valuation::new(problem, start.iter().zip(demand).map(seen).collect());
    let mut convergence = Convergence {
        problem,
        master,
        generator,
        demand,
        reserve: Reserve::default(),
        random: Random::new(0),
        bound: 0.0,
        farley: None,
        smoothing: Smoothing::new(start.clone()),
        depth: 0,
        step: float(attainable(problem, demand, 1)),
        strength: STRENGTH,
    };
    convergence.look(&start, NEARLY_WORTHWHILE, effort);
    let relaxed = convergence.run(effort)?;
    Ok(Converged {
        relaxed,
        farley: convergence.farley,
        reserve: convergence.reserve,
    })
}

impl Convergence<'_, '_, '_> {
    fn run(&mut self, effort: &mut Effort<'_>) -> Result<Option<Relaxed>, Refused> {
        let mut last = None;
        while let Some(solved) = self.master.solve(Simplex::Primal, effort) {
            let duals = Valuation::new(self.problem, solved.values.clone());
            let cost = solved.cost;
            last = Some(solved);
            let mut drawn = self.reserve.draw(self.generator, &duals, MOST_A_ROUND, effort);
            if drawn.len() < ENOUGH {
                if self.is_close_to(cost) || !self.search(&duals, cost, effort) {
                    break;
                }
                drawn.extend(self.reserve.draw(self.generator, &duals, MOST_A_ROUND, effort));
            }
            if self.master.add(drawn)? == 0 {
                break;
            }
        }
        Ok(last)
    }

    /// Looks for fillings that are worthwhile under the duals until the reserve has one; false when there are none, or
    /// the bound is close enough.
    fn search(&mut self, duals: &Valuation, cost: f64, effort: &mut Effort<'_>) -> bool {
        self.around(duals, effort);
        self.smoothing.begin();
        loop {
            let between = self.smoothing.between(duals);
            let share = if self.depth > 0 {
                TOLERATED
            } else if self.smoothing.weight() > 0.0 {
                NEARLY_WORTHWHILE
            } else {
                WORTHWHILE
            };
            if !self.look(&between, share, effort) {
                return false;
            }
            if self.is_close_to(cost) {
                return false;
            }
            if self.reserve.has_worthwhile(self.generator, duals) {
                return true;
            }
            if self.smoothing.weight() > 0.0 {
                self.smoothing.miss();
            } else if self.depth + 1 < DEPTHS.len() {
                self.depth += 1;
                self.smoothing.begin();
            } else {
                return false;
            }
        }
    }

    /// Whether the relaxation can hardly get cheaper than that, or not by a whole step of prices.
    fn is_close_to(&self, cost: f64) -> bool {
        let steps = |cost: f64| (cost / self.step).ceil();
        self.bound >= cost * (1.0 - CLOSE_ENOUGH) || steps(self.bound) >= steps(cost * (1.0 - ROUNDING))
    }

    /// One look at all kinds; false when the effort is used up.
    fn look(&mut self, values: &Valuation, share: f64, effort: &mut Effort<'_>) -> bool {
        let (nodes, kicks) = DEPTHS[self.depth];
        let look = Look {
            share,
            nodes,
            keep: KEEP,
            kicks,
        };
        let Some(Found { patterns, excess }) = self.generator.look(values, self.demand, look, effort) else {
            return false;
        };
        let bound = values.worth_of_all(self.demand) / excess;
        self.smoothing.learn(patterns.first(), self.demand, bound);
        if bound > self.bound {
            self.bound = bound;
            self.farley = Some(Farley::new(&values.values, excess));
            self.smoothing.move_to(values.clone());
        }
        self.reserve.keep(patterns);
        true
    }

    /// Fillings for values near the duals: one kind alone has many, and the master needs those that go well together.
    fn around(&mut self, duals: &Valuation, effort: &mut Effort<'_>) {
        let look = Look {
            share: NEARLY_WORTHWHILE,
            nodes: DEPTHS[0].0,
            keep: 1,
            kicks: 1,
        };
        if self.generator.has_few_kinds() {
            let look = Look { share: HALF, ..look };
            let patterns = self.generator.together(duals, self.demand, look, effort);
            self.reserve.keep(patterns);
        }
        let mut useful = 0;
        for _ in 0..AROUND {
            let shaken = duals.shaken(self.strength, &mut self.random);
            let Some(found) = self.generator.look(&shaken, self.demand, look, effort) else {
                return;
            };
            let patterns = found.patterns.iter();
            useful += patterns
                .filter(|pattern| self.generator.is_worthwhile(pattern, duals))
                .count();
            self.reserve.keep(found.patterns);
        }
        if useful < TOO_FEW {
            self.strength = (self.strength * 0.7).max(LEAST_STRENGTH);
        } else if useful > PLENTY {
            self.strength = (self.strength * 1.3).min(STRENGTH);
        }
    }
}
