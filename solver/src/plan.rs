//! The pipeline: lower, run the engines, keep the best plan that passes the check.
//!
//! Promises: the baseline always runs first, so there is always an answer; an engine whose plan fails the check costs
//! nothing but itself; the same snapshot, options and work limit give the same plan to the byte, `work` apart.

use thiserror::Error;

use crate::check::{Violation, check};
use crate::lift::lift;
use crate::lower::{Problem, lower};
use crate::model::money::Cost;
use crate::model::plan::{Checked, Gap, Phase, Plan, PlanBody, ProofKind};
use crate::model::snapshot::Snapshot;
use crate::options::{Engine, PlanOptions};
use crate::pack::effort::Effort;
use crate::pack::filler::Filler;
use crate::pack::lower_bound::{self, Prices};
use crate::pack::random::Random;
use crate::pack::{Packing, density, downsize, improve, karpenter_order};
use crate::quota::Quota;

/// Effort granted to the starts of the density greedy: a tenth of a second or so.
const DENSITY_EFFORT: u64 = 12_000_000;
/// Starts of the density greedy.
const STARTS: u32 = 8;
/// Effort granted to ruin and recreate: a quarter of a second or so.
const IMPROVE_EFFORT: u64 = 12_000_000;
/// The same for whoever asks for a smaller gap than usual: until the quota says stop, mostly.
const THOROUGH_EFFORT: u64 = 100_000_000;

/// Starts of ruin and recreate beside the best packing, as far as the effort goes, and by how much they are shaken.
const RESTARTS: u64 = 3;
const THOROUGH_RESTARTS: u64 = 40;
const RESTART_STRENGTH: f64 = 0.5;

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
        mut phases, packings, ..
    } = contest;
    for (engine, packing) in best_first(packings, &problem) {
        let mut body = lift(&problem, &packing);
        body.work.pods = problem.groups.iter().map(|group| group.pods.len()).sum();
        body.work.groups = problem.groups.len();
        body.work.offerings = problem.universe.bins.len();
        body.work.phases.clone_from(&phases);
        body.proof.stopped = effort.stopped();
        prove(&mut body, &problem, &packing, prices.as_ref(), options);
        match check(snapshot, Plan::propose(body)) {
            Ok(plan) => return Ok(plan),
            Err(failure) => {
                phases[engine].name.push_str(", refused by the check");
                violations = failure.violations;
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

/// States what is known of the plan's distance to the best that places the same pods.
fn prove(
    body: &mut PlanBody,
    problem: &Problem<'_>,
    packing: &Packing,
    prices: Option<&Prices>,
    options: &PlanOptions,
) {
    let placed: Vec<u64> = problem
        .counts()
        .iter()
        .zip(&packing.left)
        .map(|(count, left)| count - left)
        .collect();
    let cost = |micros: u64| Cost::from_micros(i64::try_from(micros).unwrap_or(i64::MAX));
    let kept = body.cost.objective - cost(packing.cost(problem));
    let bound = prices.map_or(0, |prices| prices.bound(problem, &placed));
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

/// The engines' packings, in order.
struct Contest<'a> {
    problem: &'a Problem<'a>,
    quota: &'a dyn Quota,
    phases: Vec<Phase>,
    packings: Vec<Packing>,
}

impl<'a> Contest<'a> {
    fn enter(&mut self, name: &str, engine: impl FnOnce(&'a Problem<'a>) -> Packing) {
        let start = self.quota.elapsed();
        let packing = engine(self.problem);
        let micros: u64 = packing
            .launched
            .iter()
            .map(|launched| self.problem.kinds[launched.kind].price.micros() * launched.count)
            .sum();
        self.phases.push(Phase {
            name: name.to_owned(),
            seconds: self.quota.elapsed().saturating_sub(start),
            cost: Cost::from_micros(i64::try_from(micros).unwrap_or(i64::MAX)),
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
        let left = self.packings[0].left_by_priority(self.problem);
        if left.len() > 1 && left.iter().any(|(_, count)| *count > 0) {
            self.enter("greedy by priority", |problem| {
                karpenter_order::pack(problem, true)
            });
        }
    }

    /// The density greedy from several starts, then ruin and recreate on the best packing so far.
    fn search(&mut self, prices: &Prices, options: &PlanOptions, effort: &mut Effort<'_>) {
        let counts = self.problem.counts();
        let values = prices.values();
        let scale = scale(self.problem, &counts);
        let floor = |packing: &Packing| {
            let placed: Vec<u64> = counts
                .iter()
                .zip(&packing.left)
                .map(|(count, left)| count - left)
                .collect();
            let bound = prices.bound(self.problem, &placed);
            let slack = u128::from(bound) * u128::from(options.gap.0) / 1_000_000;
            bound + u64::try_from(slack).unwrap_or(0)
        };
        let problem = self.problem;
        let mut filler = Filler::new(problem, blended(problem, &values, &scale), &scale);
        effort.grant(DENSITY_EFFORT);
        self.enter("density", |problem| {
            starts(problem, &mut filler, options.seed, effort)
        });
        let Some(best) = self.best().cloned() else { return };
        if best.cost(problem) > floor(&best) {
            let usual = options.gap >= PlanOptions::default().gap;
            effort.grant(if usual { IMPROVE_EFFORT } else { THOROUGH_EFFORT });
            let floor = floor(&best);
            let restarts = if usual { RESTARTS } else { THOROUGH_RESTARTS };
            let seeds = (options.seed, restarts);
            self.enter("improve", |problem| {
                improved(problem, &mut filler, best, floor, seeds, effort)
            });
        }
    }
}

/// Ruin and recreate from the best packing, then from others at random: what one start never reaches another may.
fn improved<'a>(
    problem: &'a Problem<'a>,
    filler: &mut Filler<'a>,
    best: Packing,
    floor: u64,
    (seed, restarts): (u64, u64),
    effort: &mut Effort<'_>,
) -> Packing {
    let mut best = improve::improve(problem, filler, best, floor, seed, effort);
    downsize::downsize(problem, &mut best);
    for restart in 1..=restarts {
        if best.cost(problem) <= floor || effort.is_used_up() {
            break;
        }
        let seed = seed.wrapping_add(restart);
        let start = shaken(problem, filler, RESTART_STRENGTH, &mut Random::new(seed), effort);
        let other = improve::improve(problem, filler, start, floor, seed, effort);
        if other.is_better_than(&best, problem) {
            best = other;
        }
    }
    best
}

/// The density greedy with each value up to half of `strength` higher or lower.
fn shaken<'a>(
    problem: &'a Problem<'a>,
    filler: &mut Filler<'a>,
    strength: f64,
    random: &mut Random,
    effort: &mut Effort<'_>,
) -> Packing {
    let values = filler.values.clone();
    for value in &mut filler.values {
        *value *= 1.0 + strength * (random.unit() - 0.5);
    }
    let packing = density::pack(problem, filler, effort);
    filler.values = values;
    packing
}

/// The best of several runs, the first with values as they are, the others shaken.
fn starts<'a>(
    problem: &'a Problem<'a>,
    filler: &mut Filler<'a>,
    seed: u64,
    effort: &mut Effort<'_>,
) -> Packing {
    let mut random = Random::new(seed);
    let mut best = density::pack(problem, filler, effort);
    for start in 1..STARTS {
        if effort.is_used_up() {
            break;
        }
        let other = shaken(problem, filler, 0.04 * f64::from(start), &mut random, effort);
        if other.is_better_than(&best, problem) {
            best = other;
        }
    }
    best
}

/// What a unit of each resource is worth where the bound's prices don't tell: its share of all that is asked for.
#[expect(clippy::cast_precision_loss, reason = "guidance only")]
fn scale(problem: &Problem<'_>, counts: &[u64]) -> Vec<f64> {
    (0..problem.resources.len())
        .map(|column| {
            let total: f64 = counts
                .iter()
                .enumerate()
                .map(|(group, count)| problem.request(group)[column] as f64 * *count as f64)
                .sum();
            if total > 0.0 { 1.0 / total } else { 0.0 }
        })
        .collect()
}

/// Values with a little of each pod's size mixed in, so that none is worth nothing.
#[expect(clippy::cast_precision_loss, reason = "guidance only")]
fn blended(problem: &Problem<'_>, values: &[f64], scale: &[f64]) -> Vec<f64> {
    let counts = problem.counts();
    let total: f64 = values
        .iter()
        .zip(&counts)
        .map(|(value, count)| value * *count as f64)
        .sum();
    let size = |group: usize| -> f64 {
        let request = problem.request(group).iter().zip(scale);
        request.map(|(amount, scale)| *amount as f64 * scale).sum()
    };
    values
        .iter()
        .enumerate()
        .map(|(group, value)| value + 0.01 * total.max(1.0) * size(group))
        .collect()
}
