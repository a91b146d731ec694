//! The `dovetail` command: reads its arguments, runs one subcommand, reports how that ended.
//!
//! Promises: data goes to standard output and everything else to standard error; status 0 when it worked, 1 on any
//! error (wrong usage included), 2 only where `--exit-code` asks for it; a reader that goes away early is no error.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use anyhow::Context as _;
use clap::Parser;
use dovetail::args::{Cli, ColorWhen};
use dovetail::commands::{self, Ending, Streams};
use dovetail::render::plain;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => {
            // Help and version are no errors; both go where the reader may already have left.
            let _written = usage.print();
            return ExitCode::from(u8::from(usage.use_stderr()));
        }
    };
    let coloured = |of_stream: ColorChoice| match cli.color {
        ColorWhen::Auto => of_stream != ColorChoice::Never,
        ColorWhen::Always => true,
        ColorWhen::Never => false,
    };
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut remarks = io::stderr().lock();
    let mut streams = Streams {
        out_is_coloured: coloured(AutoStream::choice(&io::stdout())),
        remarks_are_coloured: coloured(AutoStream::choice(&io::stderr())),
        out: &mut out,
        remarks: &mut remarks,
    };
    let ended = commands::run(&cli, &mut streams).and_then(|ending| {
        out.flush().context("writing the output")?;
        Ok(ending)
    });
    match ended {
        Ok(Ending::Done) => ExitCode::SUCCESS,
        Ok(Ending::SomethingUnplaced) => ExitCode::from(2),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // What was written before the error belongs before it.
            let _flushed = out.flush();
            // It may quote input, which must not steer the terminal.
            let message = plain(&format!("{error:#}"));
            let _written = writeln!(remarks, "dovetail: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the reader of our output has gone, as `head` does when it has enough.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    })
}
