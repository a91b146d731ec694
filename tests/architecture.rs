//! Keeps the tree in the shape that ARCHITECTURE.md describes: who may depend on whom, who may name what, where
//! things stand.
//!
//! The rules are functions in `architecture/rules.rs`; here they meet the tree, and in `architecture/can_fail.rs` trees
//! that break them. Nothing is compiled for this: crates are judged by `cargo tree`, names by the scanner in
//! `architecture/source.rs`, documents by what they claim.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "architecture/can_fail.rs"]
mod can_fail;
#[path = "architecture/documents.rs"]
mod documents;
#[path = "architecture/rules.rs"]
mod rules;
#[path = "architecture/source.rs"]
mod source;

use std::path::Path;
use std::process::Command;

use rules::*;
use source::{Source, read_tree};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const CODE: &[&str] = &["src", "solver", "benches", "tests", "fuzz", "examples"];

/// The names of the packages that `cargo tree` lists for one of ours, dev-dependencies left out.
fn packages_under(package: &str) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--locked",
            "--all-features",
            "-e",
            "normal,build",
            "--prefix",
            "none",
        ])
        .args(["--format", "{p}", "-p", package])
        .current_dir(ROOT)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "cargo tree: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let listing = String::from_utf8(output.stdout).unwrap();
    listing
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

fn tree() -> Vec<Source> {
    read_tree(Path::new(ROOT), CODE)
}

#[track_caller]
fn must_hold(violations: &[String]) {
    assert!(
        violations.is_empty(),
        "{} violations:\n  {}",
        violations.len(),
        violations.join("\n  ")
    );
}

#[test]
fn sources_keep_to_the_rules() {
    let sources = tree();
    assert!(
        sources.iter().any(|file| file.path == "solver/src/lib.rs"),
        "the tree was not read"
    );
    let mut found = Violations::new();
    found.extend(kubernetes_is_in_its_places(&sources));
    found.extend(aws_is_in_its_place(&sources));
    found.extend(highs_is_in_its_place(&sources));
    found.extend(unsafe_is_in_its_place(&sources));
    found.extend(only_check_says_checked(&sources));
    found.extend(floats_are_in_their_places(&sources, FLOATS_EXCUSED));
    found.extend(solver_touches_nothing(&sources));
    found.extend(layers_hold(&sources));
    found.extend(rules_have_twins(&sources, CHECKED_ONLY));
    found.extend(files_say_what_they_are(&sources));
    found.extend(files_are_short(&sources));
    must_hold(&found);
}

#[test]
fn top_level_names_are_the_agreed_ones() {
    let listing = Command::new("git").args(["ls-files"]).current_dir(ROOT).output();
    let Ok(listing) = listing else { return }; // not a clone: an unpacked release has nothing to add
    must_hold(&top_level_is_known(
        String::from_utf8_lossy(&listing.stdout).lines(),
    ));
}

#[test]
fn the_solver_is_pure_by_manifest() {
    let packages = packages_under("dovetail-solver");
    assert!(
        packages.iter().any(|name| name == "good_lp"),
        "cargo tree was not understood: {packages:?}"
    );
    must_hold(&solver_depends_on_no_world(packages.iter().map(String::as_str)));
}

#[test]
fn one_tls_provider_only() {
    // Two of them in one process make the first Kubernetes client panic.
    let packages = packages_under("dovetail");
    assert!(
        packages.iter().any(|name| name == "kube"),
        "cargo tree was not understood: {packages:?}"
    );
    assert!(
        !packages.iter().any(|name| name == "ring"),
        "ring stands beside aws-lc-rs: `cargo tree -i ring` says why"
    );
}

#[test]
fn documents_speak_of_what_is_there() {
    let root = Path::new(ROOT);
    let mut found = documents::links_lead_somewhere(root);
    found.extend(documents::paths_exist(root));
    found.extend(documents::code_map_is_complete(root));
    must_hold(&found);
}
