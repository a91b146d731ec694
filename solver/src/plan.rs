//! The pipeline: lower, run the engines, keep the best plan that passes the check.
//!
//! Promises: the baseline always runs first, so there is always an answer; an engine whose plan fails the check costs
//! nothing but itself; the same snapshot, options and work limit give the same plan to the byte, `work` apart.

use std::time::Duration;

use thiserror::Error;

use crate::check::{Violation, check};
use crate::lift::lift;
use crate::lower::{Problem, lower};
use crate::model::money::Cost;
use crate::model::plan::{Checked, Gap, Phase, Plan, PlanBody, ProofKind};
use crate::model::snapshot::Snapshot;
use crate::options::{Engine, PlanOptions};
#[cfg(feature = "highs")]
use crate::pack::dive::{self, Shares};
use crate::pack::effort::Effort;
use crate::pack::farley::Farley;
use crate::pack::filler::Filler;
use crate::pack::lower_bound::{self, Prices};
use crate::pack::{Packing, karpenter_order, search};
use crate::quota::Quota;

/// Effort granted to the starts of the density greedy: a tenth of a second or so.
const DENSITY_EFFORT: u64 = 12_000_000;
/// Effort granted to ruin and recreate: a quarter of a second or so.
const IMPROVE_EFFORT: u64 = 12_000_000;
/// The same for whoever asks for a smaller gap than usual: until the quota says stop, mostly.
const THOROUGH_EFFORT: u64 = 100_000_000;
/// Effort granted to generating columns and to diving: half a second and a quarter or so.
#[cfg(feature = "highs")]
const SHARES: Shares = Shares {
    generate: 30_000_000,
    dive: 20_000_000,
};
#[cfg(feature = "highs")]
const THOROUGH_SHARES: Shares = Shares {
    generate: 250_000_000,
    dive: 100_000_000,
};

/// Starts of ruin and recreate beside the best packing, as far as the effort goes.
const RESTARTS: u64 = 3;
/// The same for whoever asks for a smaller gap than usual.
const THOROUGH_RESTARTS: u64 = 40;

/// Place of the baseline among the engines: it always runs first.
const BASELINE: usize = 0;

/// Why there is no plan.
#[derive(Debug, Error)]
pub enum PlanError {
    /// No engine's plan passed the check: a defect of the planner, not of the input.
    #[error("no plan passed the check; the baseline breaks {} rules, the first: {}", violations.len(), first(violations))]
    Unsound {
        /// What the check found in the baseline's plan.
        violations: Vec<Violation>,
    },
}

fn first(violations: &[Violation]) -> String {
    violations.first().map(ToString::to_string).unwrap_or_default()
}

/// Plans: where every pod that needs a place goes, and what is launched for them.
///
/// # Errors
/// When no engine's plan passes the check.
pub fn plan(
    snapshot: &Snapshot,
    options: &PlanOptions,
    quota: &dyn Quota,
) -> Result<Plan<Checked>, PlanError> {
    let problem = lower(snapshot);
    let mut effort = Effort::new(options, quota);
    let mut contest = Contest {
        problem: &problem,
        quota,
        phases: Vec::new(),
        packings: Vec::new(),
        farley: None,
        columns: 0,
    };
    contest.baseline();
    let counts = problem.counts();
    let prices = lower_bound::prices(&problem, &counts);
    if options.engine == Engine::Auto
        && let Some(prices) = &prices
    {
        contest.search(prices, options, &mut effort);
    }
    let mut violations = Vec::new();
    let Contest {
        mut phases,
        packings,
        farley,
        columns,
        ..
    } = contest;
    let bounds = Bounds {
        prices: prices.as_ref(),
        farley: farley.as_ref(),
    };
    for (engine, packing) in best_first(packings, &problem) {
        let mut body = lift(&problem, &packing);
        body.work.pods = problem.groups.iter().map(|group| group.pods.len()).sum();
        body.work.groups = problem.groups.len();
        body.work.offerings = problem.universe.bins.len();
        body.work.columns = columns;
        body.work.phases.clone_from(&phases);
        body.proof.stopped = effort.stopped();
        prove(&mut body, &problem, &packing, bounds, options);
        match check(snapshot, Plan::propose(body)) {
            Ok(plan) => return Ok(plan),
            Err(failure) => {
                phases[engine].name.push_str(", refused by the check");
                // The baseline's say most: it is the simplest engine, and ran first.
                if engine == BASELINE {
                    violations = failure.violations;
                }
            }
        }
    }
    Err(PlanError::Unsound { violations })
}

/// Packings with their engines, the best first; of equals the earlier engine's.
fn best_first(packings: Vec<Packing>, problem: &Problem<'_>) -> Vec<(usize, Packing)> {
    let mut packings: Vec<(usize, Packing)> = packings.into_iter().enumerate().collect();
    packings.sort_by_cached_key(|(engine, packing)| (packing.score(problem), *engine));
    packings
}

/// What is known of the cost of any packing.
#[derive(Clone, Copy)]
struct Bounds<'a> {
    prices: Option<&'a Prices>,
    farley: Option<&'a Farley>,
}

impl Bounds<'_> {
    /// Micro-dollars that a packing of the same pods costs at least.
    fn of(self, problem: &Problem<'_>, packing: &Packing) -> u64 {
        if !problem.universe.has_every_choice {
            return 0;
        }
        let placed = packing.placed(problem);
        let by_prices = self.prices.map_or(0, |prices| prices.bound(problem, &placed));
        by_prices.max(self.farley.map_or(0, |farley| farley.bound(&placed)))
    }
}

/// States what is known of the plan's distance to the best that places the same pods.
fn prove(
    body: &mut PlanBody,
    problem: &Problem<'_>,
    packing: &Packing,
    bounds: Bounds<'_>,
    options: &PlanOptions,
) {
    let kept = body.cost.objective - cost(packing.cost(problem));
    let bound = bounds.of(problem, packing);
    debug_assert!(
        bound <= packing.cost(problem),
        "the bound holds for every packing"
    );
    body.cost.lower_bound = kept + cost(bound);
    body.cost.gap = Gap::between(body.cost.objective, body.cost.lower_bound);
    body.proof.kind = if body.cost.objective == body.cost.lower_bound {
        ProofKind::Optimal
    } else if body.cost.lower_bound > Cost::ZERO && body.cost.gap <= options.gap {
        ProofKind::WithinGap
    } else {
        ProofKind::Heuristic
    };
}

fn cost(micros: u64) -> Cost {
    Cost::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}

/// The engines' packings, in order.
struct Contest<'a> {
    problem: &'a Problem<'a>,
    quota: &'a dyn Quota,
    phases: Vec<Phase>,
    packings: Vec<Packing>,
    /// The bound that column generation found.
    farley: Option<Farley>,
    /// Fillings that it generated.
    columns: usize,
}

impl<'a> Contest<'a> {
    fn enter(&mut self, name: &str, engine: impl FnOnce(&'a Problem<'a>) -> Packing) {
        let start = self.quota.elapsed();
        let packing = engine(self.problem);
        self.add(name, start, packing);
    }

    fn add(&mut self, name: &str, start: Duration, packing: Packing) {
        let micros: u64 = packing
            .launched
            .iter()
            .map(|launched| self.problem.kinds[launched.kind].price.micros() * launched.count)
            .sum();
        self.phases.push(Phase {
            name: name.to_owned(),
            seconds: self.quota.elapsed().saturating_sub(start),
            cost: cost(micros),
        });
        self.packings.push(packing);
    }

    fn best(&self) -> Option<&Packing> {
        self.packings
            .iter()
            .min_by_key(|packing| packing.score(self.problem))
    }

    /// Karpenter's order; where pods are left over and some matter more than others, once more by priority.
    fn baseline(&mut self) {
        self.enter("greedy", |problem| karpenter_order::pack(problem, false));
        let left = self.packings[BASELINE].left_by_priority(self.problem);
        if left.len() > 1 && left.iter().any(|(_, count)| *count > 0) {
            self.enter("greedy by priority", |problem| {
                karpenter_order::pack(problem, true)
            });
        }
    }

    /// The cost at which a packing is good enough.
    fn floor(&self, packing: &Packing, prices: &Prices, options: &PlanOptions) -> u64 {
        let bounds = Bounds {
            prices: Some(prices),
            farley: self.farley.as_ref(),
        };
        let bound = bounds.of(self.problem, packing);
        let slack = u128::from(bound) * u128::from(options.gap.0) / 1_000_000;
        bound + u64::try_from(slack).unwrap_or(0)
    }

    /// Column generation with a dive, from the packings so far. In trouble it costs nothing but itself.
    #[cfg(feature = "highs")]
    fn generate(
        &mut self,
        prices: &Prices,
        filler: &Filler<'a>,
        options: &PlanOptions,
        effort: &mut Effort<'_>,
    ) {
        let Some(best) = self.best() else { return };
        if best.cost(self.problem) <= self.floor(best, prices, options) {
            return;
        }
        let start = self.quota.elapsed();
        let mut starts: Vec<&Packing> = self.packings.iter().collect();
        starts.sort_by_key(|packing| packing.score(self.problem));
        let usual = options.gap >= PlanOptions::default().gap;
        let shares = if usual { SHARES } else { THOROUGH_SHARES };
        let outcome = dive::pack(self.problem, filler, &starts, &prices.values(), shares, effort);
        if let Ok(Some(outcome)) = outcome {
            self.farley = outcome.farley;
            self.columns = outcome.columns;
            self.add("columns", start, outcome.packing);
        }
    }

    /// The density greedy from several starts, then ruin and recreate on the best packing so far.
    fn search(&mut self, prices: &Prices, options: &PlanOptions, effort: &mut Effort<'_>) {
        let problem = self.problem;
        let mut filler = search::filler(problem, prices);
        effort.grant(DENSITY_EFFORT);
        self.enter("density", |problem| {
            search::starts(problem, &mut filler, options.seed, effort)
        });
        // A first round before columns are generated: where those take all the time, few pods are packed well already.
        #[cfg(feature = "highs")]
        {
            self.improve(
                "improve",
                (IMPROVE_EFFORT, 1),
                prices,
                &mut filler,
                options,
                effort,
            );
            self.generate(prices, &filler, options, effort);
        }
        let usual = options.gap >= PlanOptions::default().gap;
        let (units, restarts) = if usual {
            (IMPROVE_EFFORT, RESTARTS)
        } else {
            (THOROUGH_EFFORT, THOROUGH_RESTARTS)
        };
        self.improve("polish", (units, restarts), prices, &mut filler, options, effort);
    }

    /// Ruin and recreate on the best packing so far, for so much effort and so many restarts.
    fn improve(
        &mut self,
        name: &str,
        (units, restarts): (u64, u64),
        prices: &Prices,
        filler: &mut Filler<'a>,
        options: &PlanOptions,
        effort: &mut Effort<'_>,
    ) {
        let Some(best) = self.best().cloned() else { return };
        let floor = self.floor(&best, prices, options);
        if best.cost(self.problem) > floor {
            effort.grant(units);
            self.enter(name, |problem| {
                search::improved(problem, filler, best, floor, options.seed, restarts, effort)
            });
        }
    }
}
