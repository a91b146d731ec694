//! The figures as lines of text.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::measure::Outcome;
use super::score::{Scored, Summary};

/// Heads the lines of single instances.
pub(crate) fn head() -> String {
    format!(
        "{:42} {:>6} {:>6} {:>7} {:>11} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6} {:>8} {:>8} {:>5} {:>10} {:>10}",
        "instance",
        "budget",
        "pods",
        "groups",
        "$/h",
        "÷ bound",
        "÷ best",
        "÷ greedy",
        "÷ rival",
        "own gap%",
        "nodes",
        "plan s",
        "all s",
        "MiB",
        "proof",
        "stopped"
    )
}

/// One instance under one budget; a star behind `÷ best` says that this is the known optimum.
pub(crate) fn line(scored: &Scored<'_>) -> String {
    let outcome = scored.outcome;
    let star = if scored.is_optimal() == Some(true) {
        "*"
    } else {
        ""
    };
    format!(
        "{:42} {:>6} {:>6} {:>7} {:>11.4} {:>8} {:>8} {:>8.4} {:>8} {:>8} {:>6} {:>8.3} {:>8.3} {:>5} {:>10} {:>10}",
        outcome.case,
        outcome.budget,
        scored.case.pods,
        outcome.groups,
        outcome.cost,
        ratio(scored.over_bound()),
        ratio(scored.over_best()) + star,
        scored.over_baseline(),
        ratio(scored.over_rival()),
        percent(scored.over_own_bound()),
        outcome.nodes,
        outcome.plan,
        outcome.read + outcome.freeze + outcome.plan,
        mib(outcome.peak_kib),
        word(&outcome.proof),
        word(&outcome.stopped),
    )
}

/// The means, a block for each set or class.
pub(crate) fn summary(blocks: &[Vec<Summary>]) -> String {
    let mut text = format!(
        "{:24} {:>6} {:>5} {:>8} {:>8} {:>8} {:>8} {:>7} {:>8} {:>9} {:>7} {:>8} {:>8} {:>5}\n",
        "geometric means",
        "budget",
        "n",
        "÷ bound",
        "÷ best",
        "÷ greedy",
        "÷ rival",
        "dearer",
        "own gap%",
        "optimal",
        "proved",
        "plan s",
        "longest",
        "MiB"
    );
    for line in blocks.iter().flatten() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", summary_line(line));
    }
    text
}

fn summary_line(line: &Summary) -> String {
    let (hits, judged) = line.optimal;
    format!(
        "{:24} {:>6} {:>5} {:>8} {:>8} {:>8} {:>8} {:>7} {:>8} {:>9} {:>6.0}% {:>8.3} {:>8.3} {:>5}",
        line.title,
        line.budget,
        line.count,
        ratio(line.over_bound),
        ratio(line.over_best),
        ratio(line.over_baseline),
        ratio(line.over_rival),
        line.over_rival
            .map_or_else(|| "-".to_owned(), |_| line.dearer.to_string()),
        percent(line.over_own_bound),
        if judged == 0 {
            "-".to_owned()
        } else {
            format!("{hits}/{judged}")
        },
        100.0 * line.proved as f64 / line.count as f64,
        line.seconds,
        line.longest,
        mib(line.peak_kib),
    )
}

/// A line for each engine that failed somewhere: how often, and why the first time.
pub(crate) fn failed_engines(outcomes: &[Outcome]) -> String {
    let mut failures: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    for outcome in outcomes {
        for moment in &outcome.phases {
            if let Some(why) = &moment.failed {
                let first = || (0, format!("{} at {} s: {why}", outcome.case, outcome.budget));
                failures.entry(&moment.name).or_insert_with(first).0 += 1;
            }
        }
    }
    failures
        .iter()
        .map(|(engine, (count, first))| format!("engine {engine} failed {count} times, first in {first}\n"))
        .collect()
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.4}"))
}

/// How far above one, in percent.
fn percent(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{:.2}", (ratio - 1.0) * 100.0))
}

fn mib(kib: Option<u64>) -> String {
    kib.map_or_else(|| "?".to_owned(), |kib| (kib / 1024).to_string())
}

/// A value as the plan's document writes it.
fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => "?".to_owned(),
    }
}
