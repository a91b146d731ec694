//! How good plans are, without the program around the solver: EC2-shaped instances (`.json`, beside their `catalog.csv` and
//! `bounds.tsv`) and equal-bin vector packing (`.vbp`, below their `optima.tsv`).
//!
//! `cargo run --release -p dovetail-solver --example quality -- [--budget SECONDS] [--cpu] FILE…`. With `--cpu` the
//! budget is processor time of this process (Linux), which a busy machine doesn't distort. A line an instance: cost, our
//! bound, cost over the better of our and the known bound, cost over the best known, then each phase's cost and seconds.
#![expect(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measuring program reads files and clocks, prints figures, and ends where it can't go on"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dovetail_solver::model::instance_type::InstanceType;
use dovetail_solver::model::money::Price;
use dovetail_solver::model::node_pool::{Limits, NodeClass, NodePool};
use dovetail_solver::model::offering::{CapacityType, Offering};
use dovetail_solver::model::pod::{Pod, PodPlace, PodSpec};
use dovetail_solver::model::requirement::Requirements;
use dovetail_solver::model::resources::{Amount, ResourceName, Resources};
use dovetail_solver::model::snapshot::{Snapshot, SnapshotParts};
use dovetail_solver::{PlanOptions, Quota, plan};

/// What is known of an instance, in micro-dollars; nothing: 0.
struct Known {
    bound: i64,
    best: i64,
}

struct Clock {
    start: Instant,
    by_processor: bool,
    budget: Duration,
    used_before: Duration,
}

/// Processor time of all threads so far, those that ended among them, in hundredths of a second, from Linux' books.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The name of the program may have spaces; what follows it doesn't.
    let (_, fields) = text.rsplit_once(')').unwrap();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<u64>().unwrap();
    Duration::from_millis(10 * (ticks(11) + ticks(12)))
}

impl Clock {
    fn new(budget: Duration, by_processor: bool) -> Self {
        Self {
            start: Instant::now(),
            by_processor,
            budget,
            used_before: processor_time(),
        }
    }
}

impl Quota for Clock {
    fn elapsed(&self) -> Duration {
        if self.by_processor {
            processor_time().saturating_sub(self.used_before)
        } else {
            self.start.elapsed()
        }
    }

    fn remaining(&self) -> Option<Duration> {
        Some(self.budget.saturating_sub(self.elapsed()))
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn resources(amounts: impl IntoIterator<Item = (ResourceName, u64)>) -> Resources {
    let amounts = amounts.into_iter();
    amounts
        .map(|(name, amount)| (name, Amount::new(amount)))
        .collect()
}

fn ec2(cpu_milli: u64, memory_mib: u64, pods: u64) -> Resources {
    resources([
        (ResourceName::Cpu, cpu_milli),
        (ResourceName::Memory, memory_mib << 20),
        (ResourceName::Pods, pods),
    ])
}

fn instance_type(name: &str, room: &Resources, price: Price) -> InstanceType {
    InstanceType {
        interruptions_per_million_hours: 0,
        name: name.into(),
        labels: BTreeMap::new(),
        choices: BTreeMap::new(),
        capacity: room.clone(),
        allocatable: room.clone(),
        offerings: vec![Offering {
            zone: "us-east-1a".into(),
            zone_id: None,
            capacity_type: CapacityType::OnDemand,
            price,
            available: true,
            limit: None,
            reservation: None,
            commitment: None,
        }],
    }
}

/// Pods of each request, on nodes of these types.
fn snapshot(instance_types: Vec<InstanceType>, requests: Vec<(Resources, u64)>) -> Snapshot {
    let mut pods = Vec::new();
    for (index, (requests, count)) in requests.into_iter().enumerate() {
        let spec = Arc::new(PodSpec {
            requests,
            ..PodSpec::default()
        });
        pods.extend((0..count).map(|copy| Pod {
            name: format!("default/app{index:03}-{copy:05}").parse().unwrap(),
            spec: Arc::clone(&spec),
            place: PodPlace::Pending,
            created: None,
        }));
    }
    let class = NodeClass {
        name: "default".into(),
        subnets: std::collections::BTreeSet::new(),
        instance_types,
    };
    let pool = NodePool {
        name: "default".into(),
        node_class: "default".into(),
        weight: 0,
        requirements: Requirements::new(),
        labels: BTreeMap::new(),
        taints: Vec::new(),
        startup_taints: Vec::new(),
        limits: Limits::default(),
        replicas: None,
        left_out: None,
    };
    let parts = SnapshotParts {
        node_classes: BTreeMap::from([(class.name.clone(), class)]),
        node_pools: vec![pool],
        pods,
        ..SnapshotParts::default()
    };
    parts.freeze().unwrap()
}

/// The row of a table that begins with these cells.
fn row(table: &Path, start: &[&str]) -> Vec<String> {
    let text = read(table);
    let rows = text.lines().map(|line| line.split('\t').map(str::to_owned));
    let mut rows = rows.map(Iterator::collect::<Vec<String>>);
    rows.find(|row| row.iter().zip(start).all(|(cell, start)| cell == start))
        .unwrap()
}

fn ec2_instance(path: &Path, name: &str) -> (Snapshot, Known) {
    let document: serde_json::Value = serde_json::from_str(&read(path)).unwrap();
    let most = document["max_vcpu"].as_u64().unwrap_or(u64::MAX / 1_000);
    let catalogue = read(&path.with_file_name("catalog.csv"));
    let types = catalogue.lines().skip(1).filter_map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells[at].parse::<u64>().unwrap();
        let room = ec2(number(1), number(2), number(3));
        let price = Price::parse(cells[4]).unwrap();
        (number(1) <= most * 1_000).then(|| instance_type(cells[0], &room, price))
    });
    let items = document["items"].as_array().unwrap().iter().map(|item| {
        let number = |at: usize| item[at].as_u64().unwrap();
        (ec2(number(0), number(1), 1), number(2))
    });
    let row = row(&path.with_file_name("bounds.tsv"), &[name]);
    let micros = |text: &str| Price::parse(text).unwrap().cost().micros();
    let known = Known {
        bound: micros(&row[4]),
        best: micros(&row[5]),
    };
    (snapshot(types.collect(), items.collect()), known)
}

/// Bins cost a dollar each.
fn vbp_instance(path: &Path, name: &str) -> (Snapshot, Known) {
    let text = read(path);
    let mut numbers = text.split_whitespace().map(|word| word.parse::<u64>().unwrap());
    let dimensions = usize::try_from(numbers.next().unwrap()).unwrap();
    let size = |numbers: &mut dyn Iterator<Item = u64>| {
        let amounts = numbers.take(dimensions).enumerate();
        let named = amounts.map(|(at, amount)| (ResourceName::from(format!("example.com/d{at}")), amount));
        resources(named.collect::<Vec<_>>())
    };
    let bin = size(&mut numbers);
    let count = numbers.next().unwrap();
    let items = (0..count).map(|_| (size(&mut numbers), numbers.next().unwrap()));
    let items: Vec<(Resources, u64)> = items.collect();
    let set = path.parent().unwrap();
    let table = set.with_file_name("optima.tsv");
    let row = row(&table, &[&set.file_name().unwrap().to_string_lossy(), name]);
    let dollars = |text: &str| text.parse::<i64>().unwrap_or(0) * 1_000_000;
    let best = if row[5].is_empty() { &row[6] } else { &row[5] };
    let known = Known {
        bound: dollars(&row[4]).max(dollars(&row[5])),
        best: dollars(best),
    };
    let price = Price::parse("1").unwrap();
    (snapshot(vec![instance_type("bin", &bin, price)], items), known)
}

fn main() {
    let mut budget = 1.0;
    let mut by_processor = false;
    let mut files: Vec<PathBuf> = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--budget" => budget = arguments.next().unwrap().parse().unwrap(),
            "--cpu" => by_processor = true,
            _ => files.push(argument.into()),
        }
    }
    let options = PlanOptions {
        gap: dovetail_solver::model::plan::Gap(0),
        ..PlanOptions::default()
    };
    let options = options.for_budget(Duration::from_secs_f64(budget));
    let (mut over_bound, mut over_best, mut reached) = (0.0, 0.0, 0);
    println!("instance\tcost\tbound\t%bound\t%best\tgroups\tcolumns\tseconds\tphases");
    for file in &files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let is_ec2 = file.extension().is_some_and(|extension| extension == "json");
        let (snapshot, known) = if is_ec2 {
            ec2_instance(file, &name)
        } else {
            vbp_instance(file, &name)
        };
        let clock = Clock::new(Duration::from_secs_f64(budget), by_processor);
        let plan = plan(&snapshot, &options, &clock).unwrap();
        let cost = plan.cost.objective.micros() as f64;
        let bound = plan.cost.lower_bound.micros();
        let percent = |than: i64| 100.0 * (cost / than as f64 - 1.0);
        let (by_bound, by_best) = (percent(bound.max(known.bound)), percent(known.best));
        let phase = |phase: &dovetail_solver::model::plan::Phase| {
            let cost = phase.cost.micros() as f64 / 1e6;
            let failed = phase.failed.as_deref().unwrap_or_default();
            format!(
                "{} {cost:.3} {:.2}s{failed}",
                phase.name,
                phase.seconds.as_secs_f64()
            )
        };
        let phases: Vec<String> = plan.work.phases.iter().map(phase).collect();
        println!(
            "{name}\t{:.4}\t{:.4}\t{by_bound:.3}\t{by_best:.3}\t{}\t{}\t{:.2}\t{}",
            cost / 1e6,
            bound as f64 / 1e6,
            plan.work.groups,
            plan.work.columns,
            clock.elapsed().as_secs_f64(),
            phases.join("; ")
        );
        over_bound += by_bound;
        over_best += by_best;
        reached += usize::from(by_best <= 1e-6);
    }
    let count = files.len().max(1) as f64;
    println!(
        "{} instances: {:.3} % over the bounds, {:.3} % over the best known, {reached} reach it",
        files.len(),
        over_bound / count,
        over_best / count
    );
}
