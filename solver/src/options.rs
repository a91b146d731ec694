//! How to plan: which engines, how long, how close to the bound.

use crate::model::plan::Gap;
use crate::quota::WorkLimit;

/// Which engines may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The baseline alone: first-fit decreasing in Karpenter's order.
    Greedy,
    /// All of them, the cheapest checked plan wins.
    #[default]
    Auto,
}

/// Named options of [`crate::plan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanOptions {
    /// Which engines may run.
    pub engine: Engine,
    /// Stop improving at this distance from the lower bound.
    pub gap: Gap,
    /// Seed of every tie that is broken at random.
    pub seed: u64,
    /// Counted effort.
    pub work_limit: WorkLimit,
}

impl Default for PlanOptions {
    /// All engines, half a percent, seed 0, no work limit.
    fn default() -> Self {
        Self {
            engine: Engine::Auto,
            gap: Gap(5_000),
            seed: 0,
            work_limit: WorkLimit(None),
        }
    }
}
