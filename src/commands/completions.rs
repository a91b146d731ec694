//! `dovetail completions SHELL`: the script that teaches a shell our subcommands and options.

use std::io::Write;

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;

/// Prints the script.
///
/// # Errors
/// When `out` can't be written.
pub(super) fn run(shell: Shell, out: &mut dyn Write) -> anyhow::Result<()> {
    // The generator panics where it can't write, so it gets memory.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "dovetail", &mut script);
    out.write_all(&script).context("writing the completion script")
}
