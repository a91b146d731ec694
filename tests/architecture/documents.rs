//! What the documents say about the tree, compared with the tree: links lead to files, paths in code marks exist,
//! and the code map leaves nothing out. Prose is not judged.

use std::path::Path;

use crate::source::line_of;

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

fn read(root: &Path, name: &str) -> String {
    std::fs::read_to_string(root.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// `[text](target)` for targets in this repository.
pub(crate) fn links_lead_somewhere(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for name in DOCUMENTS {
        let text = read(root, name);
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split(')').next().unwrap_or_default();
            let elsewhere =
                target.contains("://") || target.starts_with('#') || target.starts_with("mailto:");
            let file = target.split('#').next().unwrap_or(target);
            if !elsewhere && !is_there(&root.join(file)) {
                found.push(format!(
                    "{name}:{}: links to {file}, which is not there",
                    line_of(&text, at)
                ));
            }
        }
    }
    found
}

/// `` `solver/src/…` `` and its like exist, or else “not yet” follows them.
pub(crate) fn paths_exist(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for name in DOCUMENTS {
        let text = read(root, name);
        for Mention {
            offset,
            path,
            planned,
        } in mentions(&text)
        {
            let line = line_of(&text, offset);
            match (is_there(&root.join(&path)), planned) {
                (false, false) => found.push(format!(
                    "{name}:{line}: speaks of {path}, which is not there; correct it, or put “{PLANNED}” behind it"
                )),
                (true, true) => found.push(format!(
                    "{name}:{line}: says “{PLANNED}” of {path}, which is there; say what it does"
                )),
                _ => {}
            }
        }
    }
    found
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
                .filter(|path| path.is_dir() && is_there(path))
                .map(move |path| format!("{crate_root}/{}/", path.file_name().unwrap().to_string_lossy()))
        })
        .filter(|folder| !map.contains(&format!("`{folder}`")))
        .map(|folder| format!("ARCHITECTURE.md: the code map has no line for `{folder}`"))
        .collect()
}

/// An empty folder is none: git does not keep it, so that one clone has it and another has not.
fn is_there(path: &Path) -> bool {
    match std::fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => path.exists(),
    }
}

/// A path in this repository that a document marks as code.
struct Mention {
    offset: usize,
    path: String,
    /// Whether “not yet” follows.
    planned: bool,
}

/// All of them: in code marks and in fenced blocks.
fn mentions(text: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut offset = 0;
    for (index, block) in text.split("```").enumerate() {
        let fenced = index % 2 == 1;
        let mut at = offset;
        for (index, span) in block.split('`').enumerate() {
            let end = at + span.len();
            if fenced || index % 2 == 1 {
                let after = text[end..].trim_start_matches(['`', ',', ':', '(', ' ', '\n']);
                let planned = !fenced && after.starts_with(PLANNED);
                found.extend(paths_in(span).into_iter().map(|path| Mention {
                    offset: at,
                    path,
                    planned,
                }));
            }
            at = end + 1;
        }
        offset += block.len() + 3;
    }
    found
}

/// Only what is plainly a path in this repository: below a known folder, without placeholders.
fn paths_in(code: &str) -> Vec<String> {
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
    code.split_whitespace()
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
        let found = |text: &str| {
            mentions(text)
                .into_iter()
                .map(|found| found.path)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            found("see `solver/src/lp/` and `dev/cargo run -f examples/shop`"),
            ["solver/src/lp/", "dev/cargo", "examples/shop"]
        );
        assert_eq!(
            found("```sh\ndev/setup && x # examples/a\n```\n`src/b`"),
            ["dev/setup", "examples/a", "src/b"]
        );
        assert_eq!(
            found("`solver/src/lower/rules/<name>.rs`, src/lib.rs, `cargo test`"),
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
        std::fs::write(root.path().join("src/api/mod.rs"), "").unwrap();
        std::fs::create_dir_all(root.path().join("src/empty")).unwrap();
        std::fs::create_dir_all(root.path().join("solver/src")).unwrap();
        std::fs::write(root.path().join("src/now.rs"), "").unwrap();
        std::fs::write(
            root.path().join("README.md"),
            "[a](LICENSE) [b](papers.md#1)\n`src/gone.rs`\n`src/later.rs`, not\nyet `src/later.rs` (not yet)\n\
             `src/now.rs`: not yet\n```\ndev/gone -x\n```\n",
        )
        .unwrap();
        assert_eq!(
            links_lead_somewhere(root.path()),
            ["README.md:1: links to LICENSE, which is not there"]
        );
        let paths = paths_exist(root.path());
        assert_eq!(paths.len(), 4, "{paths:#?}");
        assert!(paths[0].starts_with("README.md:2: speaks of src/gone.rs"));
        assert!(
            paths[1].starts_with("README.md:3: speaks of src/later.rs"),
            "the words must stand in one line"
        );
        assert!(paths[2].starts_with("README.md:5: says"));
        assert!(paths[3].starts_with("README.md:6: speaks of dev/gone"));
        assert_eq!(
            code_map_is_complete(root.path()),
            ["ARCHITECTURE.md: the code map has no line for `src/api/`"]
        );
    }
}
