//! README.md tells the truth where a program can check it: the sample output is what the program prints.

#![expect(clippy::unwrap_used, reason = "a test that can't go on says so by failing")]

use std::path::PathBuf;
use std::process::Command;

/// What stands before the sample; the block after it is compared.
const BEFORE: &str = "<!-- What the first command prints; `BLESS=1 dev/cargo test --test readme` writes it anew. -->\n\n```text\n";
const AFTER: &str = "```\n";
/// The command that README shows first, from the program's name on.
const FIRST: &str = "plan -f examples/shop";

fn readme() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("README.md")
}

/// What the program prints, with time enough that a slow machine changes nothing.
fn printed() -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_dovetail"))
        .args(FIRST.split(' '))
        .args(["--work-limit", "1000000000"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_sample_is_what_the_first_command_prints() {
    let text = std::fs::read_to_string(readme()).unwrap();
    let first = text.lines().find(|line| line.contains("dev/cargo run")).unwrap();
    assert!(first.contains(FIRST), "{first}");
    let (head, rest) = text.split_once(BEFORE).unwrap();
    let (sample, tail) = rest.split_once(AFTER).unwrap();
    let printed = printed();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(readme(), [head, BEFORE, &printed, AFTER, tail].concat()).unwrap();
    } else {
        assert_eq!(
            sample, printed,
            "README's sample isn't what is printed (BLESS=1 writes it)"
        );
    }
}

#[test]
fn every_command_of_the_readme_is_one_that_the_program_has() {
    let text = std::fs::read_to_string(readme()).unwrap();
    let help = |command: &str| {
        let run = Command::new(env!("CARGO_BIN_EXE_dovetail"))
            .args([command, "--help"])
            .output()
            .unwrap();
        assert!(run.status.success(), "README names `dovetail {command}`");
        String::from_utf8(run.stdout).unwrap()
    };
    let mut checked = 0;
    for line in text.lines() {
        let Some((_, shown)) = line.split_once("dovetail ") else {
            continue;
        };
        let Some(command) = ["plan", "explain", "catalog", "crds", "completions"]
            .into_iter()
            .find(|command| shown.starts_with(command))
        else {
            continue;
        };
        let known = help(command);
        // A comment, and prose after the end of the code, aren't options.
        let code = shown.split([' ', '`', '|']).take_while(|word| *word != "#");
        for flag in code.filter(|word| word.starts_with("--")) {
            let name = flag.split('=').next().unwrap_or(flag);
            assert!(known.contains(name), "{line}: {command} has no {flag}");
            checked += 1;
        }
    }
    assert!(checked > 0);
}
