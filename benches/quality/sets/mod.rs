//! The instances: what each is called, what is known of it, and how it reads as manifests.
//!
//! Promises: the same instances in the same order every time; only the small tables are read to list them, the instance
//! itself when its text is asked for. Costs are in dollars per hour, of which a bin of a packing set costs one.

pub(crate) mod caprara_toth;
pub(crate) mod ec2;
pub(crate) mod karpenter_mix;
pub(crate) mod vector;
pub(crate) mod vectorpack;
pub(crate) mod vpsolver;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};

/// The names of all sets, in the order of the report.
pub(crate) const SETS: [&str; 5] = [
    ec2::SET,
    vectorpack::SET,
    vpsolver::SET,
    caprara_toth::SET,
    karpenter_mix::SET,
];

/// What is known of an instance beforehand.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Known {
    /// No plan costs less.
    pub(crate) lower_bound: Option<f64>,
    /// The cheapest plan known.
    pub(crate) best: Option<f64>,
    /// Whether that one is proved to be the cheapest there is.
    pub(crate) best_is_optimum: bool,
    /// What another planner makes of it: Karpenter 1.15.0, or the best of all constructive heuristics.
    pub(crate) rival: Option<f64>,
}

/// An instance.
pub(crate) struct Case {
    /// Its set.
    pub(crate) set: &'static str,
    /// Its name, unique in the set.
    pub(crate) name: String,
    /// What it is summed up under besides its set: classes, sizes.
    pub(crate) classes: Vec<String>,
    /// How many pods.
    pub(crate) pods: u64,
    /// What is known.
    pub(crate) known: Known,
    /// Whether it is one of the few that run unless all are asked for.
    pub(crate) in_sample: bool,
    text: Box<dyn Fn() -> Result<String> + Send + Sync>,
}

impl Case {
    /// `set/name`.
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", self.set, self.name)
    }

    /// The instance as manifests.
    pub(crate) fn text(&self) -> Result<String> {
        (self.text)().with_context(|| self.path())
    }
}

/// All instances of all sets; with the topology rules of the one set that has some, or without.
pub(crate) fn all(topology_rules: bool) -> Result<Vec<Case>> {
    let mut cases = ec2::cases()?;
    cases.extend(vectorpack::cases()?);
    cases.extend(vpsolver::cases()?);
    cases.extend(caprara_toth::cases());
    cases.extend(karpenter_mix::cases(topology_rules));
    Ok(cases)
}

/// A file of a set's folder.
fn read(set: &str, name: &str) -> Result<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("benches/instances")
        .join(set)
        .join(name);
    std::fs::read_to_string(&path).with_context(|| path.display().to_string())
}

/// The rows of a table by column, its first line naming the columns.
pub(crate) fn table(text: &str) -> Vec<BTreeMap<&str, &str>> {
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    lines
        .map(|line| columns.iter().copied().zip(line.split('\t')).collect())
        .collect()
}

/// A number of a table; an empty cell has none.
fn number(row: &BTreeMap<&str, &str>, column: &str) -> Result<Option<f64>> {
    match row.get(column) {
        None => anyhow::bail!("no column {column}"),
        Some(&"") => Ok(None),
        Some(text) => text
            .parse()
            .map(Some)
            .with_context(|| format!("{column}: {text}")),
    }
}
