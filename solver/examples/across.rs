//! How fast the baseline is under rows across nodes: Karpenter's mix of rules, without the program around the solver.
//!
//! `cargo run --release -p dovetail-solver --example across -- [PODS [A GROUP]]`. 400 machines in three zones; a fifth of the
//! groups each: nothing special; zone spread; hostname spread; affinity to their own zone; hostname anti-affinity. Processor
//! time (Linux), the best of five runs.
#![expect(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measuring program reads a clock, prints figures, and ends where it can't go on"
)]

use dovetail_solver::lower::Problem;
use dovetail_solver::lower::side::{Domain, Near};
use dovetail_solver::model::resources::ResourceName;
use dovetail_solver::pack::karpenter_order;
use dovetail_solver::pack::random::Random;
use dovetail_solver::pack::side::verdict::broken;
use dovetail_solver::testing::synthetic::{Synthetic, cap, groups, problem, zone_spread, zones};

const MILLI: [u64; 5] = [100, 250, 500, 1_000, 1_500];
const RUNS: usize = 5;

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).map(|arg| arg.parse().unwrap()).collect();
    let pods = numbers.first().copied().unwrap_or(20_000);
    let each = numbers.get(1).copied().unwrap_or(200);
    let mut synthetic = Synthetic::new();
    for cores in 1..=400 {
        let name = format!("m{cores}");
        synthetic = synthetic
            .machine(&name, cores)
            .offer_everywhere(&name, 300_000 * cores);
    }
    let mut random = Random::new(42);
    let names: Vec<String> = (0..pods / each).map(|app| format!("app{app}x")).collect();
    for name in &names {
        synthetic = synthetic.pods(name, each, MILLI[random.below(MILLI.len())]);
    }
    let snapshot = synthetic.freeze();
    let mut problem = problem(&snapshot);
    more_slots(&mut problem);
    for (app, name) in names.iter().enumerate() {
        add_rule(&mut problem, app % 5, name);
    }
    let mut best = f64::INFINITY;
    let mut packing = karpenter_order::pack(&problem, false);
    for _ in 0..RUNS {
        let start = processor_seconds();
        packing = karpenter_order::pack(&problem, false);
        best = best.min(processor_seconds() - start);
    }
    let left: u64 = packing.left.iter().sum();
    let nodes: u64 = packing.launched.iter().map(|launched| launched.count).sum();
    println!(
        "{pods} pods, {} groups, {} kinds: {best:.4} s, {:.0} pods/s; {left} left, {nodes} nodes, {} broken, {} micro-dollars/h",
        problem.groups.len(),
        problem.kinds.len(),
        pods as f64 / best,
        broken(&problem, &packing).len(),
        packing.cost(&problem),
    );
}

/// What this thread has run so far, which a busy machine doesn't distort.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanoseconds: u64 = text.split_whitespace().next().unwrap().parse().unwrap();
    nanoseconds as f64 / 1e9
}

/// Ten pods a core, as in Karpenter's mix.
fn more_slots(problem: &mut Problem<'_>) {
    let column = |name: &ResourceName| problem.resources.iter().position(|other| other == name);
    let (Some(cpu), Some(slots)) = (column(&ResourceName::Cpu), column(&ResourceName::Pods)) else {
        return;
    };
    for kind in 0..problem.kinds.len() {
        let most = problem.allocatable[(kind, cpu)] / 100;
        problem.allocatable[(kind, slots)] = most;
        problem.kinds[kind].room[slots] = most;
    }
}

fn add_rule(problem: &mut Problem<'_>, rule: usize, name: &str) {
    let names = [name];
    match rule {
        1 => problem.side.spreads.push(zone_spread(problem, &names, 1)),
        3 => {
            let domain = |places| Domain { places, there: 0 };
            problem.side.near.push(Near {
                groups: groups(problem, &names),
                of: groups(problem, &names),
                domains: zones(problem).into_iter().map(domain).collect(),
                may_start: true,
            });
        }
        2 | 4 => problem.side.caps.push(cap(problem, &names, 1)),
        _ => {}
    }
}
