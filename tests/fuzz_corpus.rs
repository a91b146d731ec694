//! Every file of the fuzz corpus goes the way that its fuzz target would send it: no panic, and what must hold, holds.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../fuzz/src/engines.rs"]
mod engines;
#[path = "../fuzz/src/targets.rs"]
mod targets;

use std::path::Path;

fn replay(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(target);
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        run(&std::fs::read(entry.unwrap().path()).unwrap());
        files += 1;
    }
    assert!(files >= 8, "{target}: the corpus was lost");
}

#[test]
fn quantities() {
    replay("quantities", targets::quantities);
}

#[test]
fn requirements() {
    replay("requirements", targets::requirements);
}

#[test]
fn manifests() {
    replay("manifests", targets::manifests);
}

#[test]
fn engines_agree() {
    replay("engines_agree", engines::engines_agree);
}
