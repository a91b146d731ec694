//! The pure planner of Dovetail: a snapshot in, a checked plan with its proof out.
//!
//! ```text
//! Snapshot ─lower─▶ Problem ─pack─▶ Packing ─lift─▶ Plan<Proposed> ─check─▶ Plan<Checked>
//! (names)           (indices, matrices)             (names again)
//! ```
//!
//! Touches nothing: no clock, environment, file, socket or global random source. The same snapshot, options and work
//! limit give the same plan to the last byte.

pub mod check;
pub mod model;
mod options;
mod quota;

pub use options::{Engine, PlanOptions};
pub use quota::{Quota, Unlimited, WorkLimit};
