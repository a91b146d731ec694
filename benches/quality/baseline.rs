//! Figures kept from an earlier run, and the difference to them.
//!
//! A file of JSON in the build folder. One that is missing or has another shape is said so plainly and never half read.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use dovetail_solver::model::plan::ProofKind;
use serde::{Deserialize, Serialize};

use super::measure::Outcome;
use super::score::geometric_mean;

/// Goes up whenever the meaning of a figure changes.
const FORMAT: u32 = 1;
/// Relative difference of cost below which two plans are as good as each other.
const SAME: f64 = 1e-9;
/// How many of the instances that moved most are named.
const NAMED: usize = 5;

/// What is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Baseline {
    format: u32,
    /// When it was measured, and how busy the machine was.
    pub(crate) measured: String,
    pub(crate) outcomes: Vec<Outcome>,
}

impl Baseline {
    pub(crate) fn new(measured: String, outcomes: Vec<Outcome>) -> Self {
        Self {
            format: FORMAT,
            measured,
            outcomes,
        }
    }

    /// The file of a name.
    pub(crate) fn path(folder: &Path, name: &str) -> PathBuf {
        folder.join(format!("baseline-{name}.json"))
    }

    /// Reads one.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let hint = "`--save [NAME]` makes one";
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("no baseline {}; {hint}", path.display()))?;
        let shape = || format!("{} is not a baseline of this bench; {hint} anew", path.display());
        let value: serde_json::Value = serde_json::from_str(&text).with_context(shape)?;
        ensure!(
            value.get("format") == Some(&FORMAT.into()),
            "{} has format {}, this bench reads {FORMAT}; {hint} anew",
            path.display(),
            value.get("format").unwrap_or(&serde_json::Value::Null)
        );
        serde_json::from_value(value).with_context(shape)
    }

    /// Writes it whole or not at all.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let unfinished = path.with_extension("unfinished");
        std::fs::write(&unfinished, serde_json::to_string(self)?)?;
        std::fs::rename(&unfinished, path)?;
        Ok(())
    }

    /// What changed since, in words and figures.
    pub(crate) fn difference(&self, now: &[Outcome]) -> String {
        let key = |outcome: &Outcome| (outcome.case.clone(), outcome.budget.to_bits());
        let before: BTreeMap<_, _> = self
            .outcomes
            .iter()
            .map(|outcome| (key(outcome), outcome))
            .collect();
        let pairs: Vec<(&Outcome, &Outcome)> = now
            .iter()
            .filter_map(|outcome| Some((*before.get(&key(outcome))?, outcome)))
            .collect();
        if pairs.is_empty() {
            return "no instance ran under the same budget as then: nothing to compare\n".to_owned();
        }
        let mut text = format!(
            "{:24} {:>6} {:>5} {:>9} {:>9} {:>7} {:>6} {:>14} {:>17}\n",
            "now ÷ then",
            "budget",
            "n",
            "cost",
            "seconds",
            "cheaper",
            "dearer",
            "newly optimal",
            "no longer optimal"
        );
        let mut groups: BTreeMap<(&str, u64), Vec<(&Outcome, &Outcome)>> = BTreeMap::new();
        for (then, now) in &pairs {
            let set = now.case.split('/').next().unwrap_or_default();
            groups
                .entry((set, now.budget.to_bits()))
                .or_default()
                .push((*then, *now));
        }
        for ((set, budget), pairs) in groups {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{}", group(set, f64::from_bits(budget), &pairs));
        }
        text + &movers(&pairs) + &self.unmatched(now.len(), pairs.len())
    }

    fn unmatched(&self, now: usize, both: usize) -> String {
        let then = self.outcomes.len();
        if then == both && now == both {
            return String::new();
        }
        format!(
            "compared: {both}; only then: {}; only now: {}\n",
            then - both,
            now - both
        )
    }
}

fn cost_ratio((then, now): &(&Outcome, &Outcome)) -> f64 {
    now.cost / then.cost
}

fn group(set: &str, budget: f64, pairs: &[(&Outcome, &Outcome)]) -> String {
    let count = |holds: fn(&(&Outcome, &Outcome)) -> bool| pairs.iter().filter(|pair| holds(pair)).count();
    let is_proved = |outcome: &Outcome| outcome.proof == ProofKind::Optimal;
    let newly = pairs
        .iter()
        .filter(|(then, now)| !is_proved(then) && is_proved(now));
    let no_longer = pairs
        .iter()
        .filter(|(then, now)| is_proved(then) && !is_proved(now));
    format!(
        "{set:24} {budget:>6} {:>5} {:>9.5} {:>9.3} {:>7} {:>6} {:>14} {:>17}",
        pairs.len(),
        geometric_mean(pairs.iter().map(cost_ratio)).unwrap_or(1.0),
        geometric_mean(pairs.iter().map(|(then, now)| now.plan / then.plan)).unwrap_or(1.0),
        count(|pair| cost_ratio(pair) < 1.0 - SAME),
        count(|pair| cost_ratio(pair) > 1.0 + SAME),
        newly.count(),
        no_longer.count(),
    )
}

/// The instances whose cost moved most, the worst first.
fn movers(pairs: &[(&Outcome, &Outcome)]) -> String {
    let mut dearer: Vec<_> = pairs
        .iter()
        .filter(|pair| cost_ratio(pair) > 1.0 + SAME)
        .collect();
    let mut cheaper: Vec<_> = pairs
        .iter()
        .filter(|pair| cost_ratio(pair) < 1.0 - SAME)
        .collect();
    dearer.sort_by(|one, two| cost_ratio(two).total_cmp(&cost_ratio(one)));
    cheaper.sort_by(|one, two| cost_ratio(one).total_cmp(&cost_ratio(two)));
    let mut text = String::new();
    for (title, moved) in [("dearer", dearer), ("cheaper", cheaper)] {
        for pair in moved.iter().take(NAMED) {
            let (then, now) = pair;
            let percent = (cost_ratio(pair) - 1.0) * 100.0;
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "{title}: {} at {} s: {:.6} → {:.6} ({percent:+.3} %)",
                now.case, now.budget, then.cost, now.cost
            );
        }
    }
    text
}
