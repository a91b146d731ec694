//! How good a plan is: the EC2 instances of `instances/ec2` against a certified bound, the best plan known, the baseline and
//! what Karpenter 1.15.0 decides on the same pods.
//!
//! `cargo bench --bench quality`; `-- --budget 10` for another time budget in seconds; `-- --only mixed` for some of them.
//! Goes through the whole program: each instance is written as a Catalog, a NodePool and Deployments, and read again.
#![expect(
    clippy::cast_precision_loss,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints figures, and ends where it can't go on"
)]

mod common;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use common::{deployment, pool, run, value};
use dovetail_solver::Engine;
use dovetail_solver::model::money::Price;
use serde_json::Value;

/// Cost of one instance over four others, as ratios.
struct Row {
    name: String,
    pods: u64,
    capped: bool,
    bound: f64,
    best: f64,
    baseline: f64,
    karpenter: f64,
}

fn main() {
    let budget = Duration::from_secs_f64(value("--budget").map_or(1.0, |text| text.parse().unwrap()));
    let only = value("--only").unwrap_or_default();
    println!(
        "EC2 instances, whole pipeline, budget {budget:?}; bound: the file's or ours, whichever is higher\n"
    );
    println!(
        "{:26} {:>6} {:>11} {:>9} {:>8} {:>10} {:>11} {:>9} {:>6} {:>8} {:>8}",
        "instance",
        "pods",
        "$/h",
        "÷ bound",
        "÷ best",
        "÷ baseline",
        "÷ Karpenter",
        "own gap %",
        "nodes",
        "plan s",
        "all s"
    );
    let (bounds, karpenter) = (table("bounds.tsv"), table("karpenter-1.15.0.tsv"));
    let chosen = bounds.iter().filter(|(name, _)| name.contains(&only));
    let rows: Vec<Row> = chosen
        .map(|(name, known)| row(name, known, &karpenter[name], budget))
        .collect();
    println!(
        "\ngeometric means              ÷ bound   ÷ best ÷ baseline ÷ Karpenter   never dearer than Karpenter"
    );
    for (title, chosen) in [
        ("all", (|_| true) as fn(&Row) -> bool),
        ("uncapped", |row| !row.capped),
        ("nodes ≤ 64 vCPU", |row| row.capped),
        ("n ≥ 1 000", |row| row.pods >= 1_000),
        ("n = 100", |row| row.pods < 1_000),
    ] {
        let of = |part: fn(&Row) -> f64| {
            rows.iter()
                .filter(|row| chosen(row))
                .map(part)
                .collect::<Vec<f64>>()
        };
        let mean = |part| geometric_mean(&of(part));
        if of(|row| row.bound).is_empty() {
            continue;
        }
        let dearer: Vec<&str> = rows
            .iter()
            .filter(|row| chosen(row) && row.karpenter > 1.0)
            .map(|row| row.name.as_str())
            .collect();
        println!(
            "{title:26} {:9.4} {:8.4} {:10.4} {:11.4}   {}",
            mean(|row| row.bound),
            mean(|row| row.best),
            mean(|row| row.baseline),
            mean(|row| row.karpenter),
            if dearer.is_empty() {
                "yes".to_owned()
            } else {
                format!("no: {}", dearer.join(", "))
            },
        );
    }
}

fn row(name: &str, known: &[String], karpenter: &[String], budget: Duration) -> Row {
    let text = input(name);
    let planned = run(&text, Engine::Auto, budget);
    let body = &planned.body;
    let (cost, own_bound) = (
        micros_of(body.cost.objective.micros()),
        micros_of(body.cost.lower_bound.micros()),
    );
    let pods: u64 = known[0].parse().unwrap();
    let placed: usize = body.launch.iter().map(|launch| launch.pods.len()).sum();
    assert_eq!(placed as u64, pods, "{name}: every pod has a place");
    // Karpenter's dollars are rounded to thousandths.
    let rounded = (cost * 1000.0).round() / 1000.0;
    let row = Row {
        name: name.to_owned(),
        pods,
        capped: name.ends_with("max64"),
        bound: cost / dollars(&known[3]).max(own_bound),
        best: cost / dollars(&known[4]),
        baseline: cost / micros_of(body.work.phases[0].cost.micros()),
        karpenter: rounded / dollars(&karpenter[0]),
    };
    println!(
        "{name:26} {pods:6} {cost:11.4} {:9.4} {:8.4} {:10.4} {:11.4} {:9.2} {:6} {:8.3} {:8.3}",
        row.bound,
        row.best,
        row.baseline,
        row.karpenter,
        if own_bound > 0.0 {
            (cost / own_bound - 1.0) * 100.0
        } else {
            f64::INFINITY
        },
        body.launch.len(),
        planned.plan.as_secs_f64(),
        (planned.read + planned.freeze + planned.plan).as_secs_f64(),
    );
    row
}

fn micros_of(micros: i64) -> f64 {
    micros as f64 / 1e6
}

fn dollars(text: &str) -> f64 {
    micros_of(Price::parse(text).unwrap().cost().micros())
}

fn read(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/instances/ec2");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// The rows of a table by their first cell.
fn table(name: &str) -> BTreeMap<String, Vec<String>> {
    let text = read(name);
    let rows = text.lines().skip(1).map(|line| {
        let mut cells = line.split('\t').map(str::to_owned);
        (cells.next().unwrap(), cells.collect())
    });
    rows.collect()
}

/// The manifests of an instance.
fn input(name: &str) -> String {
    let document: Value = serde_json::from_str(&read(&format!("{name}.json"))).unwrap();
    let mut text = pool("      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}\n");
    text += "---\napiVersion: dovetail.sh/v1alpha1\nkind: Catalog\nmetadata: {name: ec2}\nspec:\n  region: us-east-1\n  \
             zones: [us-east-1a]\n  instanceTypes:\n";
    let most = document["max_vcpu"].as_u64().map_or(u64::MAX, |most| most * 1000);
    for line in read("catalog.csv").lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [name, milli, mib, pods, price] = cells[..] else {
            continue;
        };
        if milli.parse::<u64>().unwrap() <= most {
            let size = format!("{{cpu: {milli}m, memory: {mib}Mi, pods: {pods}}}");
            let _ = writeln!(
                text,
                "  - {{name: {name}, labels: {{kubernetes.io/arch: amd64}}, capacity: {size}, allocatable: {size}, onDemand: {price}}}"
            );
        }
    }
    for (index, item) in document["items"].as_array().unwrap().iter().enumerate() {
        let number = |at: usize| item[at].as_u64().unwrap();
        text += &deployment(&format!("app-{index}"), (number(0), number(1)), number(2));
    }
    text
}

/// Geometric mean.
fn geometric_mean(ratios: &[f64]) -> f64 {
    let logs: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (logs / ratios.len() as f64).exp()
}
