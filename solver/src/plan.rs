//! The pipeline: lower, run the engines, lift and check what each found, keep the best.
//!
//! Promises: the baseline always runs first, so there is always an answer; an engine whose plan fails the check costs
//! nothing but itself; the same snapshot, options and work limit give the same plan to the byte, `work` apart.

use thiserror::Error;

use crate::check::{CheckFailure, Violation, check};
use crate::lift::lift;
use crate::lower::{Problem, lower};
use crate::model::money::Cost;
use crate::model::plan::{Checked, Gap, Phase, Plan, PlanBody, ProofKind};
use crate::model::snapshot::Snapshot;
use crate::options::PlanOptions;
use crate::pack::{Packing, karpenter_order};
use crate::quota::Quota;

/// Why there is no plan.
#[derive(Debug, Error)]
pub enum PlanError {
    /// Not even the baseline passed the check: a defect of the planner, not of the input.
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
    let mut contest = Contest {
        problem: &problem,
        quota,
        phases: Vec::new(),
        best: None,
        failures: Vec::new(),
    };
    contest.run("greedy", |problem| karpenter_order::pack(problem, false));
    let _ = options;
    let Contest {
        phases,
        best,
        failures,
        ..
    } = contest;
    let Some((_, plan)) = best else {
        let violations = failures.into_iter().next().map(|failure| failure.violations);
        return Err(PlanError::Unsound {
            violations: violations.unwrap_or_default(),
        });
    };
    let mut body = plan.into_body();
    body.work.pods = problem.groups.iter().map(|group| group.pods.len()).sum();
    body.work.groups = problem.groups.len();
    body.work.offerings = problem.universe.bins.len();
    body.work.phases = phases;
    prove(&mut body, Cost::ZERO);
    check(snapshot, Plan::propose(body)).map_err(|failure| PlanError::Unsound {
        violations: failure.violations,
    })
}

/// States what is known of the plan's distance to the best.
fn prove(body: &mut PlanBody, lower_bound: Cost) {
    body.cost.lower_bound = lower_bound;
    body.cost.gap = Gap::between(body.cost.objective, lower_bound);
    if body.cost.objective == lower_bound {
        body.proof.kind = ProofKind::Optimal;
    }
}

/// The engines' plans, the best of them kept.
struct Contest<'a> {
    problem: &'a Problem<'a>,
    quota: &'a dyn Quota,
    phases: Vec<Phase>,
    best: Option<(Packing, Plan<Checked>)>,
    failures: Vec<CheckFailure>,
}

impl Contest<'_> {
    fn run(&mut self, name: &str, engine: impl FnOnce(&Problem<'_>) -> Packing) {
        let start = self.quota.elapsed();
        let packing = engine(self.problem);
        let better = self
            .best
            .as_ref()
            .is_none_or(|(best, _)| packing.is_better_than(best, self.problem));
        let price = |packing: &Packing| {
            let micros: u64 = packing
                .launched
                .iter()
                .map(|launched| self.problem.kinds[launched.kind].price.micros() * launched.count)
                .sum();
            Cost::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
        };
        let cost = price(&packing);
        if better {
            match check(self.problem.snapshot, Plan::propose(lift(self.problem, &packing))) {
                Ok(plan) => self.best = Some((packing, plan)),
                Err(failure) => self.failures.push(failure),
            }
        }
        self.phases.push(Phase {
            name: name.to_owned(),
            seconds: self.quota.elapsed().saturating_sub(start),
            cost,
        });
    }
}
