//! Plans 1 to 100 000 pods over a catalogue of 636 types × 6 zones × 2 capacity types; prints seconds and memory.
//!
//! `cargo run --release -p dovetail-solver --example ladder [PODS [GROUPS]]`
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a tool that looks at the clock and prints"
)]

#[path = "../tests/support/ec2.rs"]
#[expect(dead_code, reason = "shared with tests that read more of it")]
mod ec2;

use std::sync::Arc;
use std::time::{Duration, Instant};

use dovetail_solver::model::money::Price;
use dovetail_solver::model::offering::{CapacityType, Offering};
use dovetail_solver::model::pod::{Pod, PodPlace, PodSpec};
use dovetail_solver::model::resources::{Amount, ResourceName};
use dovetail_solver::model::snapshot::Snapshot;
use dovetail_solver::{Engine, PlanOptions, Quota, plan};

struct Clock(Instant);

impl Quota for Clock {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn is_exhausted(&self) -> bool {
        self.0.elapsed() > Duration::from_secs(60)
    }
}

fn offerings(price: Price) -> Vec<Offering> {
    let mut offerings = Vec::new();
    for zone in 0..6_u64 {
        for capacity_type in [CapacityType::Spot, CapacityType::OnDemand] {
            let micros = match capacity_type {
                CapacityType::OnDemand => price.micros(),
                _ => price.micros() * (30 + zone) / 100,
            };
            offerings.push(Offering {
                zone: format!(
                    "us-east-1{}",
                    ["a", "b", "c", "d", "e", "f"][usize::try_from(zone).unwrap()]
                )
                .as_str()
                .into(),
                zone_id: None,
                capacity_type,
                price: Price::from_micros(micros),
                available: true,
                limit: None,
                reservation_id: None,
                commitment: None,
            });
        }
    }
    offerings
}

fn snapshot(pods: u64, groups: u64) -> Snapshot {
    let instance = ec2::instances().into_iter().next().unwrap();
    let mut parts = instance.snapshot.into_parts();
    for class in parts.node_classes.values_mut() {
        for instance_type in &mut class.instance_types {
            let price = instance_type.offerings[0].price;
            instance_type.offerings = offerings(price);
        }
    }
    parts.pods.clear();
    let mut state = 1_u64;
    let mut random = |end: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    for group in 0..groups {
        let cpu =
            [100, 250, 500, 1000, 1500, 2000, 4000][usize::try_from(random(7)).unwrap()] + 10 * (group / 7);
        let memory = cpu * (1 + random(7)) * 1024 / 1000;
        let mut spec = PodSpec::default();
        spec.requests.set(ResourceName::Cpu, Amount::new(cpu));
        spec.requests.set(ResourceName::Memory, Amount::new(memory << 20));
        spec.requests.set(ResourceName::Pods, Amount::new(1));
        spec.labels.insert("app".to_owned(), format!("app-{group}"));
        let spec = Arc::new(spec);
        for copy in 0..(pods / groups) + u64::from(group < pods % groups) {
            parts.pods.push(Pod {
                name: format!("default/app-{group}-{copy}").parse().unwrap(),
                spec: Arc::clone(&spec),
                place: PodPlace::Pending,
                created: None,
            });
        }
    }
    parts.freeze().unwrap()
}

fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.unwrap_or("VmHWM unknown").replace('\t', " ")
}

fn main() {
    let arguments: Vec<u64> = std::env::args()
        .skip(1)
        .map(|text| text.parse().unwrap())
        .collect();
    let sizes = arguments
        .first()
        .map_or_else(|| vec![1, 10, 100, 1_000, 10_000, 100_000], |size| vec![*size]);
    for pods in sizes {
        let snapshot = snapshot(pods, arguments.get(1).copied().unwrap_or(200).min(pods));
        let start = Instant::now();
        let problem = dovetail_solver::lower::lower(&snapshot);
        let lowered = start.elapsed();
        println!(
            "{} kinds, {} bins, lowered in {lowered:?}",
            problem.kinds.len(),
            problem.universe.bins.len()
        );
        drop(problem);
        for engine in [Engine::Greedy, Engine::Auto] {
            let clock = Clock(Instant::now());
            let options = PlanOptions {
                engine,
                ..PlanOptions::default()
            };
            let result = plan(&snapshot, &options, &clock).unwrap();
            println!(
                "{pods} pods {engine:?}: {:.3} s, {} launches, cost {} gap {:?}, {}; {:?}",
                clock.elapsed().as_secs_f64(),
                result.launch.len(),
                result.cost.objective,
                result.cost.gap,
                memory(),
                result
                    .work
                    .phases
                    .iter()
                    .map(|phase| (&phase.name, phase.seconds))
                    .collect::<Vec<_>>(),
            );
        }
    }
}
