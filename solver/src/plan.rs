//! The pipeline: lower, climb the [`Ladder`] of engines, prove, lift, check.
//!
//! Promises: the baseline always runs first, so there is always an answer; an engine whose plan fails the check costs
//! nothing but itself; the same snapshot, options and work limit give the same plan to the byte, `work` apart.
//! Static NodePools launch what they lack first; what follows sees that as nodes in flight.
//! Where gangs can't all be placed whole, it climbs once more without those that don't fit.

use thiserror::Error;

use crate::check::{Violation, check};
use crate::gangs;
use crate::ladder::{Ladder, Rungs, cost};
use crate::lift::{self, lift};
use crate::lower::rules::{gang, static_pools};
use crate::lower::{Problem, lower_for};
use crate::model::money::Cost;
use crate::model::plan::{Checked, Gap, Plan, PlanBody, ProofKind, Stopped};
use crate::model::snapshot::Snapshot;
use crate::options::PlanOptions;
use crate::pack::memory::Memory;
use crate::pack::{Packing, Score, karpenter_order};
use crate::quota::{Portion, Quota};

/// Hundredths of the time for trying with gangs that the baseline can't place whole: the rest is for the plan without them.
const WITH_ALL_GANGS: u32 = 40;

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
    plan_with_memory(snapshot, options, quota, &mut Memory::default())
}

/// The same with what is remembered of earlier plans, which spares the engines work where little has changed since. The
/// plan is the same for the same memory; what this one teaches is kept in it.
///
/// # Errors
/// When no engine's plan passes the check.
pub fn plan_with_memory(
    snapshot: &Snapshot,
    options: &PlanOptions,
    quota: &dyn Quota,
    memory: &mut Memory,
) -> Result<Plan<Checked>, PlanError> {
    let standing = static_pools::standing(snapshot);
    let Some(with_standing) = static_pools::with(snapshot, &standing) else {
        return for_pods(snapshot, options, quota, memory);
    };
    let plan = for_pods(&with_standing, options, quota, memory)?;
    let body = lift::static_pools::launched(snapshot, &standing, plan.into_body());
    check(snapshot, Plan::propose(body)).map_err(|failure| PlanError::Unsound {
        violations: failure.violations,
    })
}

/// What is launched for pods alone.
fn for_pods(
    snapshot: &Snapshot,
    options: &PlanOptions,
    quota: &dyn Quota,
    memory: &mut Memory,
) -> Result<Plan<Checked>, PlanError> {
    let (problem, most_launches) = lowered(snapshot);
    let Some(refused) = gangs::settle(&problem, quota) else {
        return climb(&problem, options, quota, memory)?.plan(snapshot);
    };
    // Where it is room that lacks, better engines may find some for a gang that the baseline can't place whole.
    let may_fit = problem.is_restricted() || problem.side.span_nodes();
    let with_all = if may_fit {
        climb(&problem, options, &Portion::of(quota, WITH_ALL_GANGS), memory).ok()
    } else {
        None
    };
    let rest = lower_for(snapshot, &[], &refused, most_launches);
    let without = climb(&rest, options, quota, memory)?;
    match with_all {
        Some(with_all) if with_all.score < without.score => with_all.plan(snapshot),
        _ => without.plan(snapshot),
    }
}

/// The problem, with the addresses of those subnets counted that could run out, and how many launches that is for.
///
/// Twice as many as the baseline's, and some for small plans, are more than any good packing has; should one have more, and addresses run out, the check
/// refuses it.
fn lowered(snapshot: &Snapshot) -> (Problem<'_>, u64) {
    let waiting = gang::waiting(snapshot);
    let problem = lower_for(snapshot, &[], &waiting, 0);
    if snapshot.subnets.is_empty() {
        return (problem, 0);
    }
    let baseline = karpenter_order::pack(&problem, false);
    let launches: u64 = baseline.launched.iter().map(|launched| launched.count).sum();
    let most = launches.saturating_mul(2).saturating_add(8);
    (lower_for(snapshot, &[], &waiting, most), most)
}

/// What engines found for a problem.
struct Found {
    /// What compares it with another's of the same groups.
    score: Score,
    body: PlanBody,
}

impl Found {
    fn plan(self, snapshot: &Snapshot) -> Result<Plan<Checked>, PlanError> {
        check(snapshot, Plan::propose(self.body)).map_err(|failure| PlanError::Unsound {
            violations: failure.violations,
        })
    }
}

/// Climbs the ladder.
fn climb(
    problem: &Problem<'_>,
    options: &PlanOptions,
    quota: &dyn Quota,
    memory: &mut Memory,
) -> Result<Found, PlanError> {
    let judge = |packing: &Packing| judged(problem, packing, options);
    let mut ladder = Ladder::new(problem, options, quota, &judge);
    ladder.climb(memory);
    let Rungs {
        incumbent,
        bound,
        stopped,
        work,
        violations,
        useful,
    } = ladder.end();
    memory.keep(problem, &useful);
    let Some((packing, mut body)) = incumbent else {
        return Err(PlanError::Unsound { violations });
    };
    prove(&mut body, problem, &packing, bound, options);
    body.work = work;
    body.proof.stopped = if body.proof.kind == ProofKind::Heuristic {
        stopped
    } else {
        // It is as good as was asked for: nothing was cut short that mattered.
        Stopped::Finished
    };
    let score = packing.score(problem);
    Ok(Found { score, body })
}

/// The plan that a packing means, checked, nothing being known of its distance to the best; or what it breaks.
pub(crate) fn judged(
    problem: &Problem<'_>,
    packing: &Packing,
    options: &PlanOptions,
) -> Result<PlanBody, Vec<Violation>> {
    let mut body = lift(problem, packing);
    prove(&mut body, problem, packing, 0, options);
    check(problem.snapshot, Plan::propose(body))
        .map(Plan::into_body)
        .map_err(|failure| failure.violations)
}

/// States what is known of the plan's distance to the best that places the same pods. `bound` is on what it launches.
fn prove(body: &mut PlanBody, problem: &Problem<'_>, packing: &Packing, bound: u64, options: &PlanOptions) {
    let launched = packing.objective(problem);
    debug_assert!(bound <= launched, "the bound holds for every packing");
    // What the check counted otherwise is no part of what the bound is about.
    let kept = body.cost.objective - body.cost.recounted - cost(launched);
    body.cost.lower_bound = (kept + cost(bound)).min(body.cost.objective);
    body.cost.gap = Gap::between(body.cost.objective, body.cost.lower_bound);
    body.proof.kind = if body.cost.recounted != Cost::ZERO {
        ProofKind::Heuristic
    } else if body.cost.objective == body.cost.lower_bound {
        ProofKind::Optimal
    } else if bound > 0 && body.cost.gap <= options.gap {
        ProofKind::WithinGap
    } else {
        ProofKind::Heuristic
    };
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
