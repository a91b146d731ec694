//! One file a subcommand: what it reads, what it runs, what it prints.

pub mod catalog;
mod completions;
pub mod crds;
pub mod explain;
mod input;
pub mod plan;

use std::io::{self, Write};

use crate::args::{Cli, Command, Explain};

/// How a command ended that met no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It did what it was asked for.
    Done,
    /// The same, but a pod has no place, and the caller wanted to know.
    SomethingUnplaced,
}

/// Where a command writes. Documents go to `out` as they are; text is written with colours, which are taken out here
/// where they aren't wanted (doing that to every byte of a large document would cost more than planning).
pub struct Streams<'a> {
    /// Data.
    pub out: &'a mut dyn Write,
    /// Whether text there keeps its colours.
    pub out_is_coloured: bool,
    /// Remarks on the input that have no place in the data.
    pub remarks: &'a mut dyn Write,
    /// Whether text there keeps its colours.
    pub remarks_are_coloured: bool,
}

impl Streams<'_> {
    fn text(&mut self, text: &str) -> io::Result<()> {
        write_text(self.out, self.out_is_coloured, text)
    }

    fn remark(&mut self, text: &str) -> io::Result<()> {
        write_text(self.remarks, self.remarks_are_coloured, text)
    }
}

fn write_text(stream: &mut dyn Write, coloured: bool, text: &str) -> io::Result<()> {
    if coloured {
        stream.write_all(text.as_bytes())
    } else {
        write!(stream, "{}", anstream::adapter::strip_str(text))
    }
}

/// Runs the subcommand.
///
/// # Errors
/// Whatever kept it from its work; the chain says what was being done.
pub fn run(cli: &Cli, streams: &mut Streams<'_>) -> anyhow::Result<Ending> {
    match &cli.command {
        Command::Plan(args) => return plan::run(args, streams),
        Command::Explain(Explain::Pod(args)) => explain::pod(args, streams)?,
        Command::Catalog(args) => catalog::run(args, streams.out)?,
        Command::Crds { dir } => crds::run(dir.as_deref(), streams.out)?,
        Command::Completions { shell } => completions::run(*shell, streams.out)?,
    }
    Ok(Ending::Done)
}

/// Columns of the terminal that standard output is; `None` where it is none.
fn terminal_width() -> Option<u16> {
    comfy_table::Table::new().width()
}
