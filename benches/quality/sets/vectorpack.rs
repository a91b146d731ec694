//! The Vectorpack set: 451 instances of vector packing into equal bins, most with the optimum known.
//!
//! `benches/instances/vectorpack/SOURCE.txt` says what the files are. The rival is the best of all constructive heuristics
//! of the paper that they come from.

use anyhow::{Context, Result};

use super::vector::Problem;
use super::{Case, Known, number, read, table};

/// Name of the set and of its folder.
pub(crate) const SET: &str = "vectorpack";

/// Its authors' generator made one item more than it was asked for, and its names say.
pub(crate) const ONE_MORE: &str = "panigrahy_class9";

/// All instances.
pub(crate) fn cases() -> Result<Vec<Case>> {
    let optima = read(SET, "optima.tsv")?;
    table(&optima)
        .iter()
        .map(|row| {
            let (family, name) = (row["set"].to_owned(), row["instance"].to_owned());
            let class = name.split('_').next().unwrap_or_default();
            let file = format!("{family}_{class}");
            let (optimum, heuristic) = (number(row, "opt")?, number(row, "best_heuristic")?);
            let items: u64 = row["items"].parse().context("items")?;
            let pods = items + u64::from(file == ONE_MORE);
            // Of each class one of the smaller and one of the middling.
            let in_sample = name.ends_with('1') && row["dims"] == "3" && matches!(items, 60 | 249 | 250);
            Ok(Case {
                set: SET,
                classes: vec![family.clone(), format!("{family} {class}")],
                pods,
                known: Known {
                    lower_bound: optimum.or(number(row, "volume_lb")?),
                    best: optimum.or(heuristic),
                    best_is_optimum: optimum.is_some(),
                    rival: heuristic,
                },
                in_sample,
                text: {
                    let name = name.clone();
                    Box::new(move || problem(&file, &name)?.manifests())
                },
                name: format!("{family}_{name}"),
            })
        })
        .collect()
}

/// One instance of a class's file.
pub(crate) fn problem(file: &str, name: &str) -> Result<Problem> {
    let text = read(SET, &format!("{file}.vbps"))?;
    let (_, instance) = parts(&text)
        .find(|(title, _)| *title == name)
        .with_context(|| format!("{file}.vbps has no {name}"))?;
    Problem::parse_vbp(instance)
}

/// The instances of a class's file with their names.
pub(crate) fn parts(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("= ").skip(1).filter_map(|part| part.split_once('\n'))
}
