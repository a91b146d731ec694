//! How fast a whole plan is: a ladder of 1 to 100 000 pods against the built-in catalogue, cost and bound beside time.
//!
//! `cargo bench --bench speed` climbs it all; `-- --quick` up to 1 000 pods; `-- --mix small` another mix of pods. Each rung
//! runs in a process of its own, so that its memory is its own. Deterministic input; seconds are the machine's.
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints figures, and ends where it can't go on"
)]

mod common;
mod pods;

use std::time::Duration;

use common::{deployment, peak_kib, pool, run};
use dovetail_solver::Engine;
use dovetail_solver::model::plan::PlanBody;
use pods::{MIXES, Mix, groups};

const LADDER: [u64; 6] = [1, 10, 100, 1_000, 10_000, 100_000];
/// What `dovetail plan` gives itself unless told otherwise.
const BUDGET: Duration = Duration::from_secs(1);
/// The best of this many runs is printed: the others measure what else the machine did.
const RUNS: usize = 3;

fn main() {
    if let Some(rung) = value("--rung") {
        let (mix, pods) = rung.split_once(':').unwrap();
        let mix = MIXES.iter().find(|one| one.name == mix).unwrap();
        rung_of(mix, pods.parse().unwrap());
        return;
    }
    let highest = if flag("--quick") { 1_000 } else { u64::MAX };
    println!(
        "Pod ladder, built-in catalogue of us-east-1, spot and on-demand, amd64 and arm64, budget {BUDGET:?}"
    );
    println!(
        "greedy: the baseline alone, of which pods/s; first: until the first plan; plan: all engines, lift and check\n"
    );
    println!(
        "{:8} {:>7} {:>6} {:>9} | {:>7} {:>7} {:>8} {:>10} {:>7} | {:>7} {:>9} | {:>11} {:>11} {:>7} {:>6} {:>8}",
        "mix",
        "pods",
        "groups",
        "offerings",
        "read s",
        "freeze",
        "greedy s",
        "pods/s",
        "first s",
        "plan s",
        "pods/s",
        "$/h",
        "bound",
        "gap %",
        "nodes",
        "peak MiB"
    );
    for mix in MIXES
        .iter()
        .filter(|mix| value("--mix").is_none_or(|wanted| wanted == mix.name))
    {
        for pods in LADDER.into_iter().filter(|pods| *pods <= highest) {
            // The smaller rungs say nothing that `mixed` doesn't.
            if mix.name == "mixed" || pods >= 10_000 || value("--mix").is_some() {
                let process = std::process::Command::new(std::env::current_exe().unwrap())
                    .args(["--rung", &format!("{}:{pods}", mix.name)])
                    .status();
                assert!(
                    process.unwrap().success(),
                    "the rung of {pods} {} pods failed",
                    mix.name
                );
            }
        }
    }
}

/// The text of one rung: as many Deployments as the mix has kinds of pods, their replicas adding up.
fn input(mix: &Mix, pods: u64) -> String {
    let mut text = pool(
        "      - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}\n      \
         - {key: kubernetes.io/arch, operator: In, values: [amd64, arm64]}\n",
    );
    for (index, group) in groups(mix, pods).iter().enumerate() {
        let (milli, mib) = group.size;
        let requests = format!("cpu: {milli}m, memory: {mib}Mi");
        text += &deployment(&format!("app-{index}"), &requests, group.count);
    }
    text
}

fn rung_of(mix: &Mix, pods: u64) {
    let text = input(mix, pods);
    let once = |_| run(&text, Engine::Auto, BUDGET);
    // Memory of one run: what a fresh `dovetail plan` has.
    let first = once(0);
    let peak = peak_kib();
    let runs = (1..RUNS).map(once).chain([first]);
    let best = runs
        .min_by_key(|planned| planned.read + planned.freeze + planned.plan)
        .unwrap();
    let baseline = run(&text, Engine::Greedy, BUDGET);
    let body = &best.body;
    let placed: usize = body.launch.iter().map(|launch| launch.pods.len()).sum();
    assert_eq!(placed as u64, pods, "every pod of the ladder has a place");
    let greedy = body
        .work
        .phases
        .first()
        .map(|phase| phase.seconds)
        .unwrap_or_default();
    let all = best.read + best.freeze + best.plan;
    println!(
        "{:8} {pods:7} {:6} {:9} | {:7.3} {:7.3} {:8.4} {:10.0} {:7.3} | {:7.3} {:9.0} | {:>11} {:>11} {:7.2} {:6} {:>8}",
        mix.name,
        body.work.groups,
        body.work.offerings,
        best.read.as_secs_f64(),
        best.freeze.as_secs_f64(),
        greedy.as_secs_f64(),
        pods as f64 / greedy.as_secs_f64().max(1e-6),
        (baseline.read + baseline.freeze + baseline.plan).as_secs_f64(),
        best.plan.as_secs_f64(),
        pods as f64 / all.as_secs_f64(),
        body.cost.objective.to_string(),
        body.cost.lower_bound.to_string(),
        over(body),
        body.launch.len(),
        peak.map_or_else(|| "?".to_owned(), |kib| (kib / 1024).to_string()),
    );
}

/// Whether an option stands on the command line.
fn flag(name: &str) -> bool {
    std::env::args().any(|arg| arg == name)
}

/// The value behind an option.
fn value(name: &str) -> Option<String> {
    std::env::args().skip_while(|arg| arg != name).nth(1)
}

/// Objective over the bound in percent; endless where nothing is proven.
fn over(body: &PlanBody) -> f64 {
    let (objective, bound) = (
        body.cost.objective.micros() as f64,
        body.cost.lower_bound.micros() as f64,
    );
    (objective / bound - 1.0) * 100.0
}
