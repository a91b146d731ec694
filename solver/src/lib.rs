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
mod divisor;
pub mod explain;
mod gangs;
mod ladder;
mod lift;
pub mod lower;
pub mod lp;
pub mod model;
mod options;
pub mod pack;
mod plan;
mod quota;
pub mod random;
#[cfg(feature = "testing")]
pub mod testing;

pub use options::{Engine, PlanOptions};
pub use pack::memory::Memory;
pub use plan::{PlanError, plan, plan_with_memory};
pub use quota::{Quota, Unlimited, WorkLimit};
