//! What the documents say about the tree, compared with the tree: links lead to files, paths in code marks exist,
//! and the code map leaves nothing out. Prose is not judged.

use std::path::Path;

const DOCUMENTS: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "papers.md",
];

/// How a document says that a path is where something *will* stand.
const PLANNED: &str = "not yet";

/// Places of the first release that the documents describe ahead of the code. Empty once it is complete.
const PROMISED: &[&str] = &[
    "solver/src/lower/",
    "solver/src/pack/",
    "solver/src/lp/",
    "solver/src/check/",
    "solver/src/testing/",
    "solver/tests/",
    "src/cluster/",
    "src/cloud/",
    "src/commands/",
    "tests/scenarios/",
    "tests/cluster/",
    "benches/",
    "benches/README.md",
    "fuzz/",
    "deploy/crds/",
    "examples/",
    "examples/shop",
];

fn read(root: &Path, name: &str) -> String {
    std::fs::read_to_string(root.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// `[text](target)` for targets in this repository.
pub(crate) fn links_lead_somewhere(root: &Path) -> Vec<String> {
    each_line(root, |line| {
        line.split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
            .filter(|target| {
                !target.contains("://") && !target.starts_with('#') && !target.starts_with("mailto:")
            })
            .map(|target| target.split('#').next().unwrap_or(target).to_owned())
            .collect()
    })
    .into_iter()
    .filter(|(_, _, _, target)| !root.join(target).exists())
    .map(|(name, line, _, target)| format!("{name}:{line}: links to {target}, which is not there"))
    .collect()
}

/// `` `solver/src/…` `` and its like exist, or else the line says that they are planned.
pub(crate) fn paths_exist(root: &Path) -> Vec<String> {
    each_line(root, paths_in)
        .into_iter()
        .filter_map(|(name, line, text, path)| {
            let there = root.join(&path).exists();
            match (there, text.contains(PLANNED)) {
                (false, false) if !PROMISED.contains(&path.as_str()) => Some(format!(
                    "{name}:{line}: speaks of {path}, which is not there; correct it, or say “{PLANNED}” in that line"
                )),
                // A folder may well be there while what a paper would add to it is not.
                (true, true) if !path.ends_with('/') || text.contains(&format!("`{path}` ({PLANNED})")) => {
                    Some(format!("{name}:{line}: says “{PLANNED}” beside {path}, which is there; say what it does"))
                }
                _ => None,
            }
        })
        .collect()
}

/// Every folder directly below a crate's `src` has its line in the code map.
pub(crate) fn code_map_is_complete(root: &Path) -> Vec<String> {
    let map = read(root, "ARCHITECTURE.md");
    ["src", "solver/src"]
        .into_iter()
        .flat_map(|crate_root| {
            std::fs::read_dir(root.join(crate_root))
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.is_dir())
                .map(move |path| format!("{crate_root}/{}/", path.file_name().unwrap().to_string_lossy()))
        })
        .filter(|folder| !map.contains(&format!("`{folder}`")))
        .map(|folder| format!("ARCHITECTURE.md: the code map has no line for `{folder}`"))
        .collect()
}

/// Document, line number, line and what `find` found in it.
fn each_line(root: &Path, find: impl Fn(&str) -> Vec<String>) -> Vec<(&'static str, usize, String, String)> {
    let mut found = Vec::new();
    for name in DOCUMENTS {
        for (index, line) in read(root, name).lines().enumerate() {
            found.extend(
                find(line)
                    .into_iter()
                    .map(|target| (*name, index + 1, line.to_owned(), target)),
            );
        }
    }
    found
}

/// Only what is plainly a path in this repository: below a known folder, without placeholders.
fn paths_in(line: &str) -> Vec<String> {
    const FOLDERS: &[&str] = &[
        "src/",
        "solver/",
        "tests/",
        "dev/",
        "deploy/",
        "benches/",
        "fuzz/",
        "examples/",
        ".ci/",
    ];
    line.split('`')
        .skip(1)
        .step_by(2)
        .flat_map(str::split_whitespace)
        .filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)))
        .filter(|word| !word.contains(['<', '*', '{', '…', '=', ':']))
        .map(|word| word.trim_end_matches([',', '.', ';']).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_patterns_and_prose() {
        assert_eq!(
            paths_in("see `solver/src/lp/` and `dev/cargo run -f examples/shop`"),
            ["solver/src/lp/", "dev/cargo", "examples/shop"]
        );
        assert_eq!(
            paths_in("`solver/src/lower/rules/<name>.rs`, src/lib.rs, `cargo test`"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn missing_targets_are_found() {
        let root = tempfile::tempdir().unwrap();
        for name in DOCUMENTS {
            std::fs::write(root.path().join(name), "").unwrap();
        }
        std::fs::create_dir_all(root.path().join("src/api")).unwrap();
        std::fs::create_dir_all(root.path().join("solver/src")).unwrap();
        std::fs::write(
            root.path().join("README.md"),
            "[a](LICENSE) [b](papers.md#1)\n`src/gone.rs`\n`src/later.rs`: not yet\n`src/now.rs`: not yet",
        )
        .unwrap();
        assert_eq!(
            links_lead_somewhere(root.path()),
            ["README.md:1: links to LICENSE, which is not there"]
        );
        std::fs::write(root.path().join("src/now.rs"), "").unwrap();
        let paths = paths_exist(root.path());
        assert_eq!(paths.len(), 2, "{paths:#?}");
        assert!(paths[0].starts_with("README.md:2: speaks of src/gone.rs"));
        assert!(paths[1].starts_with("README.md:4: says"));
        assert_eq!(
            code_map_is_complete(root.path()),
            ["ARCHITECTURE.md: the code map has no line for `src/api/`"]
        );
    }
}
