//! One instance under one budget, in a process of its own, so that its memory is its own and a crash is only its own.
//!
//! The bench starts itself with `--one`; the child prints an [`Outcome`] as one line of JSON.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use dovetail_solver::Engine;
use dovetail_solver::model::money::Cost;
use dovetail_solver::model::plan::{ProofKind, Stopped, Work};
use serde::{Deserialize, Serialize};

use super::common::{peak_kib, run};
use super::sets::Case;

/// What came of an instance under a budget. Costs in dollars per hour, times in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// `set/name`.
    pub(crate) case: String,
    pub(crate) budget: f64,
    pub(crate) groups: usize,
    pub(crate) offerings: usize,
    pub(crate) columns: usize,
    pub(crate) nodes: usize,
    pub(crate) cost: f64,
    /// The plan's own lower bound.
    pub(crate) bound: f64,
    /// First-fit decreasing in Karpenter's order.
    pub(crate) baseline: f64,
    pub(crate) proof: ProofKind,
    pub(crate) stopped: Stopped,
    pub(crate) read: f64,
    pub(crate) freeze: f64,
    pub(crate) plan: f64,
    /// `None` where the system doesn't say.
    pub(crate) peak_kib: Option<u64>,
    pub(crate) phases: Vec<Moment>,
}

/// Where planning stood when an engine had ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Moment {
    /// The engine.
    pub(crate) name: String,
    /// Since the first engine began.
    pub(crate) seconds: f64,
    /// The cheapest plan so far.
    pub(crate) cost: f64,
    /// The highest bound so far, where there is one.
    pub(crate) bound: Option<f64>,
    /// Why the engine's plan didn't count.
    pub(crate) failed: Option<String>,
}

/// Plans an instance in this process.
pub(crate) fn here(case: &Case, budget: f64) -> Result<Outcome> {
    let text = case.text()?;
    let planned = run(&text, Engine::Auto, Duration::from_secs_f64(budget));
    let body = &planned.body;
    let placed: usize = body.launch.iter().map(|launch| launch.pods.len()).sum();
    ensure!(
        placed as u64 == case.pods,
        "{placed} of {} pods have a place",
        case.pods
    );
    let baseline = body.work.phases.first().context("no engine ran")?.cost;
    Ok(Outcome {
        case: case.path(),
        budget,
        groups: body.work.groups,
        offerings: body.work.offerings,
        columns: body.work.columns,
        nodes: body.launch.len(),
        cost: dollars(body.cost.objective),
        bound: dollars(body.cost.lower_bound),
        baseline: dollars(baseline),
        proof: body.proof.kind,
        stopped: body.proof.stopped,
        read: planned.read.as_secs_f64(),
        freeze: planned.freeze.as_secs_f64(),
        plan: planned.plan.as_secs_f64(),
        peak_kib: peak_kib(),
        phases: moments(&body.work),
    })
}

/// The engines one after the other, cheapest cost and highest bound so far.
fn moments(work: &Work) -> Vec<Moment> {
    let mut moments: Vec<Moment> = Vec::new();
    for phase in &work.phases {
        let (seconds, cost, bound) = moments.last().map_or((0.0, f64::INFINITY, None), |before| {
            (before.seconds, before.cost, before.bound)
        });
        // What an engine that failed made counts for nothing; the first is the baseline, which is all there is then.
        let counts = phase.failed.is_none() || moments.is_empty();
        let own = if counts { dollars(phase.cost) } else { cost };
        let own_bound = Some(dollars(phase.bound)).filter(|bound| *bound > 0.0);
        moments.push(Moment {
            name: phase.name.clone(),
            seconds: seconds + phase.seconds.as_secs_f64(),
            cost: cost.min(own),
            bound: bound.into_iter().chain(own_bound).reduce(f64::max),
            failed: phase.failed.clone(),
        });
    }
    moments
}

fn dollars(cost: Cost) -> f64 {
    cost.micros() as f64 / 1e6
}

/// Plans an instance in a process of its own.
pub(crate) fn apart(case: &Case, budget: f64, topology_rules: bool) -> Result<Outcome> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--one", &case.path(), "--budgets", &budget.to_string()]);
    if topology_rules {
        command.arg("--topology-rules");
    }
    let output = command.stdin(Stdio::null()).output()?;
    let failure = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
    ensure!(output.status.success(), "{}: {}", output.status, failure());
    serde_json::from_slice(&output.stdout).context("what the process printed")
}
