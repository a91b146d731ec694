//! The plan document as JSON, indented, ending with a line feed.

use std::io::{self, Write};

use dovetail_solver::model::plan::PlanBody;
use serde::Serialize;

/// Writes the plan.
///
/// # Errors
/// When `out` can't be written.
pub fn write(plan: &PlanBody, out: &mut dyn Write) -> io::Result<()> {
    write_any(plan, out)
}

/// Writes any document the same way.
pub(crate) fn write_any(document: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    out.write_all(b"\n")
}
