//! One file a subcommand: what it reads, what it runs, what it prints.

pub mod catalog;
mod completions;
pub mod crds;

use std::io::Write;

use crate::args::{Cli, Command};

/// How a command ended that met no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It did what it was asked for.
    Done,
    /// The same, but a pod has no place, and the caller wanted to know.
    SomethingUnplaced,
}

/// Runs the subcommand; data goes to `out`.
///
/// # Errors
/// Whatever kept it from its work; the chain says what was being done.
pub fn run(cli: &Cli, out: &mut dyn Write) -> anyhow::Result<Ending> {
    match &cli.command {
        Command::Catalog(args) => catalog::run(args, out)?,
        Command::Crds { dir } => crds::run(dir.as_deref(), out)?,
        Command::Completions { shell } => completions::run(*shell, out)?,
    }
    Ok(Ending::Done)
}
