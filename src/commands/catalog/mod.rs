//! `dovetail catalog list|show`: the instance types that plans are made from.
//!
//! The built-in catalogue of a region, or that of a Catalog document. `~` marks an estimate wherever people read it, and
//! JSON says it in a field of its own. Prices are dollars per hour.

mod list;
mod nearest;
mod show;

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};

use crate::api;
use crate::args::catalog::{CatalogArgs, CatalogCommand, Source};
use crate::cloud::catalog::{Catalogue, ClassSettings};

/// Runs the command, writing to `out`.
///
/// # Errors
/// An unknown region or instance type (with the nearest names), a Catalog document that can't be read, a closed output.
pub fn run(args: &CatalogArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let text = match &args.command {
        CatalogCommand::List(args) => list::run(args)?,
        CatalogCommand::Show(args) => show::run(args)?,
    };
    out.write_all(text.as_bytes()).context("writing the catalogue")
}

/// The catalogue that the options name.
fn catalogue(source: &Source) -> anyhow::Result<Catalogue> {
    match &source.file {
        None => Ok(Catalogue::built_in(&source.region)?),
        Some(file) => {
            let document = document(file).with_context(|| format!("reading {}", file.display()))?;
            Catalogue::from_document(&document).with_context(|| format!("reading {}", file.display()))
        }
    }
}

/// A node class that says nothing but the family of images.
fn class(source: &Source) -> ClassSettings {
    ClassSettings {
        ami_family: source.ami_family,
        ..ClassSettings::default()
    }
}

/// The one Catalog document of a file, which may hold other objects.
fn document(file: &Path) -> anyhow::Result<api::Catalog> {
    let text = std::fs::read_to_string(file)?;
    let documents: Vec<serde_json::Value> = serde_saphyr::from_multiple(&text)?;
    let is_catalog = |document: &serde_json::Value| document["kind"] == "Catalog";
    let mut found = documents
        .into_iter()
        .enumerate()
        .filter(|(_, document)| is_catalog(document));
    let Some((index, document)) = found.next() else {
        bail!("no document of kind Catalog");
    };
    if let Some((second, _)) = found.next() {
        bail!(
            "documents {} and {} are both of kind Catalog",
            index + 1,
            second + 1
        );
    }
    serde_path_to_error::deserialize(document).with_context(|| format!("document {}", index + 1))
}

/// How an estimate is marked where people read it.
fn marked(text: &str, is_estimate: bool) -> String {
    format!("{}{text}", if is_estimate { "~" } else { "" })
}

/// A table without lines: columns two blanks apart, the last one not padded.
fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let header: Vec<String> = header.iter().map(|&title| title.to_owned()).collect();
    let all = || std::iter::once(&header).chain(rows);
    let width = |column: usize| {
        let cells = all().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let mut text = String::new();
    for row in all() {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        catalog: CatalogArgs,
    }

    fn ran(args: &[&str]) -> anyhow::Result<String> {
        let command = Command::try_parse_from(std::iter::once("catalog").chain(args.iter().copied()))?;
        let mut out = Vec::new();
        run(&command.catalog, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    fn document_file(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn lists_a_family() {
        let text = ran(&["list", "--family", "m7i", "--sort", "price"]).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("TYPE "), "{text}");
        let first: Vec<&str> = lines[1].split_whitespace().collect();
        assert_eq!(
            &first[..6],
            ["m7i.large", "2", "8Gi", "29", "amd64", "0.1008"],
            "{text}"
        );
        assert!(first[6].starts_with('~'), "spot is an estimate: {text}");
        assert!(text.contains("us-east-1") && !text.contains("c7i"), "{text}");
    }

    #[test]
    fn filters_and_reads_as_json() {
        let text = ran(&[
            "list",
            "--region",
            "eu-west-1",
            "--arch",
            "arm64",
            "--category",
            "c,m",
            "-o",
            "json",
        ])
        .unwrap();
        let types: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
        assert!(types.len() > 20);
        for found in &types {
            assert_eq!(found["arch"], "arm64");
            let name = found["instanceType"].as_str().unwrap();
            assert!(name.starts_with(['c', 'm']), "{name}");
            assert_eq!(found["spotIsEstimate"], true);
        }
    }

    #[test]
    fn shows_one_type() {
        let text = ran(&["show", "c6id.xlarge", "--ami-family", "windows2022"]).unwrap();
        for part in [
            "karpenter.k8s.aws/instance-local-nvme",
            "3920m",
            "0.2016",
            "~",
            "us-east-1a",
            "kubernetes.io/os",
            "windows",
            "licences",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let json = ran(&["show", "c6id.xlarge", "-o", "json"]).unwrap();
        let shown: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(shown["allocatable"]["memory"], "6584Mi");
        assert_eq!(shown["allocatable"]["pods"], "58");
        assert_eq!(shown["offerings"][0]["capacityType"], "spot");
        assert_eq!(shown["offerings"][0]["isEstimate"], true);
    }

    #[test]
    fn an_unknown_type_or_region_names_what_there_is() {
        let error = ran(&["show", "m7i.larg"]).unwrap_err().to_string();
        assert!(error.contains("m7i.large"), "{error}");
        let error = ran(&["list", "--region", "us-east-9"]).unwrap_err().to_string();
        assert!(error.contains("us-east-1"), "{error}");
        let error = ran(&["list", "--family", "q9"]).unwrap_err().to_string();
        assert!(error.contains("q9"), "{error}");
        assert!(ran(&["list", "--ami-family", "Ubuntu"]).is_err());
    }

    #[test]
    fn reads_a_catalog_document_among_others() {
        let file = document_file(
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\n\
             apiVersion: dovetail.sh/v1alpha1\nkind: Catalog\nmetadata: {name: small}\nspec:\n  zones: [us-east-1a]\n  \
             instanceTypes:\n  - {name: x1.tiny, capacity: {cpu: 1, memory: 2Gi, pods: 8}, spot: 0.01}\n",
        );
        let path = file.path().to_str().unwrap();
        let text = ran(&["list", "-f", path]).unwrap();
        assert!(text.contains("x1.tiny") && !text.contains('~'), "{text}");

        let wrong =
            document_file("kind: Catalog\nspec: {instanceTypes: [{name: a.b, capacity: {cpu: [1]}}]}\n");
        let error = ran(&["list", "-f", wrong.path().to_str().unwrap()]).unwrap_err();
        let chain = format!("{error:#}");
        assert!(
            chain.contains("document 1") && chain.contains("spec.instanceTypes[0].capacity.cpu"),
            "{chain}"
        );
        let none = document_file("kind: Pod\n");
        assert!(ran(&["list", "-f", none.path().to_str().unwrap()]).is_err());
    }
}
