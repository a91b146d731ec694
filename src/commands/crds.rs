//! `dovetail crds`: prints the custom resource definitions, or writes each to a file of its own.

use std::io::Write;
use std::path::Path;

use anyhow::Context;

use crate::api;

/// Prints every definition to `out`, as one stream of documents for `kubectl apply -f -`; with `directory`, writes each to its
/// file there instead, and prints nothing. Both are deterministic.
pub fn run(directory: Option<&Path>, out: &mut dyn Write) -> anyhow::Result<()> {
    for definition in api::definitions() {
        let text = api::to_yaml(&definition).context("writing a definition as YAML")?;
        let Some(directory) = directory else {
            write!(out, "---\n{text}").context("writing to the output")?;
            continue;
        };
        std::fs::create_dir_all(directory)
            .with_context(|| format!("creating the directory {}", directory.display()))?;
        let file = directory.join(api::file_name(&definition));
        std::fs::write(&file, text).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(())
}
