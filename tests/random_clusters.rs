//! Random small clusters with every rule mixed: plans are made as `dovetail plan` makes them and judged by a literal
//! reading of Kubernetes' rules that shares no code with the program.
//!
//! `CASES=10000` sets how many, `FIRST=17` where they begin; a failing case is made small and printed as documents.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "a test that can't go on says so by failing"
)]

#[path = "support/random/mod.rs"]
mod random;
#[expect(dead_code, reason = "what only tests of the whole program need")]
mod support;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Parser;
use dovetail::args::Cli;
use dovetail::commands::{self, Streams};
use serde_json::Value;

use random::shrink::shrunk;
use support::input::Input;
use support::verify;

/// Cases of the gate: as many as take some twenty seconds on two cores.
const CASES: u64 = 400;

/// Counted effort for each: the same plan on every machine.
const WORK_LIMIT: &str = "20000";

/// Failures that are made small and printed; the others are only counted.
const TOLD: usize = 5;

/// What came of one case.
#[derive(Default)]
struct Outcome {
    wrong: Vec<String>,
    needless: Vec<String>,
    placed: usize,
    refused: usize,
}

/// Plans as the command does and judges the printed plan.
fn outcome(documents: &[Value]) -> Outcome {
    let planned = catch_unwind(AssertUnwindSafe(|| plan(documents)))
        .unwrap_or_else(|_| Err("Panic: the planner panics".to_owned()));
    let plan = match planned {
        Ok(plan) => plan,
        Err(error) => {
            return Outcome {
                wrong: vec![error],
                ..Outcome::default()
            };
        }
    };
    let (wrong, needless) = verify::judged(&Input::of(documents.to_vec()), &plan);
    let lists = |field: &str, of: &str| {
        let all = plan[field].as_array().into_iter().flatten();
        all.filter_map(|one| one[of].as_array())
            .map(Vec::len)
            .sum::<usize>()
    };
    Outcome {
        wrong,
        needless,
        placed: lists("launch", "pods") + lists("nodes", "added"),
        refused: plan["unschedulable"].as_array().map_or(0, Vec::len),
    }
}

fn plan(documents: &[Value]) -> Result<Value, String> {
    let scratch = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    std::fs::write(scratch.path(), random::written(documents)).unwrap();
    let file = scratch.path().to_str().unwrap();
    let args = [
        "dovetail",
        "plan",
        "-f",
        file,
        "--work-limit",
        WORK_LIMIT,
        "-o",
        "json",
    ];
    let cli = Cli::try_parse_from(args).map_err(|error| error.to_string())?;
    let (mut out, mut remarks) = (Vec::new(), Vec::new());
    let mut streams = Streams {
        out: &mut out,
        out_is_coloured: false,
        remarks: &mut remarks,
        remarks_are_coloured: false,
    };
    commands::run(&cli, &mut streams).map_err(|error| format!("Error: {error:#}"))?;
    serde_json::from_slice(&out).map_err(|error| format!("Error: prints no JSON: {error}"))
}

/// What kind of finding it is, so that a case made small still fails for the same reason.
fn kind(finding: &str) -> String {
    let told = [
        "PodTopologySpread",
        "another's anti-affinity",
        "its anti-affinity",
        "InterPodAffinity: no match",
        "InterPodAffinity",
        "NodePorts",
        "NodeAffinity",
        "TaintToleration",
        "NodeResourcesFit",
        "VolumeBinding",
        "NodeVolumeLimits",
        "is refused, but fits",
        "is refused, but",
        "spread over",
        "Panic",
        "cost.",
        "lowerBound",
        "gap is",
        "called optimal",
        "higher weight",
        "its limit",
        "aren't ordered",
        "counted anew",
        "overfull",
        "too small",
    ];
    if let Some((_, refusal)) = finding.split_once("breaks ") {
        // The program's own checker: the rule, without who broke it.
        let rule = refusal.split(": ").nth(1).unwrap_or("");
        let where_it_is = if refusal.contains("under its first choice") {
            "of alternatives"
        } else {
            ""
        };
        return format!("Error: check: {rule} {where_it_is}");
    }
    let found = told.iter().find(|word| finding.contains(**word));
    found.map_or_else(|| finding.to_owned(), |word| (*word).to_owned())
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

#[test]
fn no_scheduler_disagrees_with_a_plan() {
    let (first, cases) = (number("FIRST", 0), number("CASES", CASES));
    let next = AtomicU64::new(first);
    let all: Mutex<BTreeMap<u64, Outcome>> = Mutex::default();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + cases {
                        return;
                    }
                    let outcome = outcome(&random::cluster(seed));
                    all.lock().unwrap().insert(seed, outcome);
                }
            });
        }
    });
    let all = all.into_inner().unwrap();
    let placed: usize = all.values().map(|one| one.placed).sum();
    let refused: usize = all.values().map(|one| one.refused).sum();
    let needless: usize = all.values().map(|one| one.needless.len()).sum();
    eprintln!("{cases} cases: {placed} pods placed, {refused} refused, {needless} refusals in doubt");
    let doubts = all.iter().filter(|(_, one)| !one.needless.is_empty());
    for (seed, one) in doubts.take(number("DOUBTS", 0) as usize) {
        tell(*seed, &one.needless[0], |outcome| &outcome.needless);
    }
    let mut kinds: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (seed, one) in &all {
        for finding in &one.wrong {
            let seeds = kinds.entry(kind(finding)).or_default();
            if seeds.last() != Some(seed) {
                seeds.push(*seed);
            }
        }
    }
    for (kind, seeds) in &kinds {
        eprintln!(
            "── {kind}: {} cases: {:?}",
            seeds.len(),
            &seeds[..seeds.len().min(12)]
        );
    }
    let only = std::env::var("ONLY").unwrap_or_default();
    let wanted = kinds.iter().filter(|(kind, _)| kind.contains(&only));
    for (kind, seeds) in wanted.take(number("TOLD", TOLD as u64) as usize) {
        let finding = all[&seeds[0]].wrong.iter().find(|one| self::kind(one) == *kind);
        tell(seeds[0], finding.unwrap(), |outcome| &outcome.wrong);
    }
    assert!(kinds.is_empty(), "{} kinds of disagreement", kinds.len());
    // Clusters on which hardly anything can be placed would show nothing.
    assert!(placed > refused, "{placed} placed, {refused} refused");
}

/// Prints a failing case, made small; the whole of it goes into the directory `KEEP`.
fn tell(seed: u64, finding: &str, part: fn(&Outcome) -> &Vec<String>) {
    let wanted = kind(finding);
    if let Ok(directory) = std::env::var("KEEP") {
        let whole = random::written(&random::cluster(seed));
        std::fs::write(format!("{directory}/case-{seed}.yaml"), whole).unwrap();
    }
    let small = shrunk(random::cluster(seed), |documents| {
        part(&outcome(documents)).iter().any(|one| kind(one) == wanted)
    });
    let after = outcome(&small);
    let now = part(&after).iter().find(|one| kind(one) == wanted).cloned();
    eprintln!(
        "case {seed}: {finding}\nmade small: {}\n{}",
        now.unwrap_or_default(),
        random::written(&small)
    );
    eprintln!(
        "plan: {}",
        plan(&small).map_or_else(|error| error, |plan| short(&plan))
    );
}

/// The plan without what is not needed to understand it.
fn short(plan: &Value) -> String {
    let mut plan = plan.clone();
    if let Some(fields) = plan.as_object_mut() {
        fields.remove("work");
        fields.remove("proof");
        fields.remove("cost");
    }
    plan.to_string()
}
