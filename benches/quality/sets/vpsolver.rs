//! Two small instances of VPSolver with proved optima: 20 dimensions, and bins of three sizes.
//!
//! `benches/instances/vpsolver/SOURCE.txt` says what the files are, and which were left out and why.

use anyhow::{Result, bail};

use super::vector::Problem;
use super::{Case, Known, number, read, table};

/// Name of the set and of its folder.
pub(crate) const SET: &str = "vpsolver";

/// All instances.
pub(crate) fn cases() -> Result<Vec<Case>> {
    let optima = read(SET, "optima.tsv")?;
    table(&optima)
        .iter()
        .map(|row| {
            let file = row["instance"].to_owned();
            let problem = problem(&file)?;
            let optimum = number(row, "optimum")?;
            Ok(Case {
                set: SET,
                name: file,
                classes: Vec::new(),
                pods: problem.copies(),
                known: Known {
                    lower_bound: optimum,
                    best: optimum,
                    best_is_optimum: true,
                    rival: None,
                },
                in_sample: true,
                text: Box::new(move || problem.manifests()),
            })
        })
        .collect()
}

/// An instance by the name of its file.
pub(crate) fn problem(file: &str) -> Result<Problem> {
    let text = read(SET, file)?;
    match file.rsplit_once('.') {
        Some((_, "vbp")) => Problem::parse_vbp(&text),
        Some((_, "mvp")) => Problem::parse_mvp(&text),
        _ => bail!("{file}: neither .vbp nor .mvp"),
    }
}
