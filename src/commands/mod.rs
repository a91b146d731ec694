//! One file a subcommand: what it reads, what it runs, what it prints.

pub mod catalog;
mod completions;
pub mod crds;
pub mod explain;
mod input;
pub mod plan;

use std::io::Write;

use crate::args::{Cli, Command, Explain};

/// How a command ended that met no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It did what it was asked for.
    Done,
    /// The same, but a pod has no place, and the caller wanted to know.
    SomethingUnplaced,
}

/// Runs the subcommand; data goes to `out`, remarks on the input that have no place there to `remarks`.
///
/// # Errors
/// Whatever kept it from its work; the chain says what was being done.
pub fn run(cli: &Cli, out: &mut dyn Write, remarks: &mut dyn Write) -> anyhow::Result<Ending> {
    match &cli.command {
        Command::Plan(args) => return plan::run(args, out, remarks),
        Command::Explain(Explain::Pod(args)) => explain::pod(args, out)?,
        Command::Catalog(args) => catalog::run(args, out)?,
        Command::Crds { dir } => crds::run(dir.as_deref(), out)?,
        Command::Completions { shell } => completions::run(*shell, out)?,
    }
    Ok(Ending::Done)
}

/// Columns of the terminal that standard output is; `None` where it is none.
fn terminal_width() -> Option<u16> {
    comfy_table::Table::new().width()
}
