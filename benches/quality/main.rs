//! How good plans are, how fast and how well proved: five sets of instances under several time budgets, against certified
//! bounds, the best plans known, the greedy in Karpenter's order, and Karpenter 1.15.0 itself.
//!
//! `cargo bench --bench quality -- --help` says how to choose; `benches/README.md` says what each column is. Goes through
//! the whole program: each instance is a text of manifests, read by a process of its own. The tests of these modules are
//! in `tests/bench_quality.rs`, since a bench has no harness.
#![expect(
    clippy::cast_precision_loss,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a bench computes ratios and prints them"
)]

pub(crate) mod baseline;
#[path = "../common/mod.rs"]
pub(crate) mod common;
pub(crate) mod measure;
pub(crate) mod options;
pub(crate) mod plot;
pub(crate) mod score;
pub(crate) mod sets;
pub(crate) mod svg;
pub(crate) mod table;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, ensure};

use baseline::Baseline;
use measure::Outcome;
use options::{HELP, Options, USUAL_BASELINE};
use score::{Scored, summaries};
use sets::Case;

fn main() -> ExitCode {
    match bench() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn bench() -> Result<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    if options.help {
        print!("{HELP}");
        return Ok(());
    }
    let cases = sets::all(options.topology_rules)?;
    if let Some(path) = &options.one {
        let case = cases
            .iter()
            .find(|case| case.path() == *path)
            .context("no such instance")?;
        println!(
            "{}",
            serde_json::to_string(&measure::here(case, options.budgets[0])?)?
        );
        return Ok(());
    }
    let chosen = options.choose(&cases);
    ensure!(
        !chosen.is_empty(),
        "no instance has that name: `--all --list` names all"
    );
    if options.list {
        for case in &chosen {
            println!("{} ({} pods)", case.path(), case.pods);
        }
        return Ok(());
    }
    report(&options, &chosen)
}

/// Runs, prints and draws.
fn report(options: &Options, chosen: &[&Case]) -> Result<()> {
    let folder = folder()?;
    let before = earlier(options, &folder)?;
    let began = machine();
    println!(
        "{} instances, budgets {:?} s, whole pipeline, a process each; {began}\n",
        chosen.len(),
        options.budgets
    );
    println!("{}", table::head());
    let (outcomes, failures) = measured(options, chosen);
    let measured = format!("{began}, ended at {}", machine());
    let scored = Scored::all(chosen, &outcomes);
    let means = table::summary(&summaries(&scored, &options.budgets));
    println!("\n{means}\n{measured}");
    print!("{}", table::failed_engines(&outcomes));
    if let Some((name, before)) = &before {
        println!("\ndifference to baseline {name} ({})", before.measured);
        println!("{}", before.difference(&outcomes));
    }
    let mut lines: Vec<String> = scored.iter().map(table::line).collect();
    lines.insert(0, table::head());
    let tables = format!("{means}\n{}\n", lines.join("\n"));
    let page = folder.join("quality.html");
    std::fs::write(&page, plot::page(&scored, &options.budgets, &measured, &tables))?;
    println!("\nplot: {}", page.display());
    if let Some(name) = &options.save {
        let path = Baseline::path(&folder, name);
        Baseline::new(measured, outcomes).write(&path)?;
        println!("baseline {name}: {}", path.display());
    }
    ensure!(
        failures.is_empty(),
        "{} runs failed:\n{}",
        failures.len(),
        failures.join("\n")
    );
    Ok(())
}

/// The baseline to compare with. One that was named must be there; the usual one may be missing or stale.
fn earlier(options: &Options, folder: &std::path::Path) -> Result<Option<(String, Baseline)>> {
    if let Some(name) = &options.against {
        return Ok(Some((
            name.clone(),
            Baseline::read(&Baseline::path(folder, name))?,
        )));
    }
    let name = options.save.as_deref().unwrap_or(USUAL_BASELINE);
    let path = Baseline::path(folder, name);
    if !path.exists() {
        return Ok(None);
    }
    match Baseline::read(&path) {
        Ok(before) => Ok(Some((name.to_owned(), before))),
        Err(error) => {
            eprintln!("no comparison: {error:#}\n");
            Ok(None)
        }
    }
}

/// Every chosen instance under every budget, printed as it ends; in the order of the instances, with what went wrong.
fn measured(options: &Options, chosen: &[&Case]) -> (Vec<Outcome>, Vec<String>) {
    let runs: Vec<(&Case, f64)> = chosen
        .iter()
        .flat_map(|case| options.budgets.iter().map(|budget| (*case, *budget)))
        .collect();
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<Outcome>)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some((case, budget)) = runs.get(index) else {
                        break;
                    };
                    let outcome = measure::apart(case, *budget, options.topology_rules);
                    match &outcome {
                        Ok(outcome) => {
                            let scored = Scored::all(&[*case], std::slice::from_ref(outcome));
                            scored.iter().for_each(|one| println!("{}", table::line(one)));
                        }
                        Err(error) => println!("{}, {budget} s: {error:#}", case.path()),
                    }
                    if let Ok(mut done) = done.lock() {
                        done.push((index, outcome));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(index, _)| *index);
    let (mut outcomes, mut failures) = (Vec::new(), Vec::new());
    for (index, outcome) in done {
        let (case, budget) = runs[index];
        match outcome {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) => failures.push(format!("{}, {budget} s: {error:#}", case.path())),
        }
    }
    (outcomes, failures)
}

/// Where page and baselines go: beside what cargo builds.
fn folder() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    // target/release/deps/quality-…
    let target = program
        .ancestors()
        .nth(3)
        .context("no build folder around this program")?;
    let folder = target.join("dovetail-bench");
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(folder)
}

/// The time, and how busy the machine is.
fn machine() -> String {
    let now = jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC");
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split_whitespace().next().unwrap_or("?").to_owned();
    format!("{now} (load {load})")
}
