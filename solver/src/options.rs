//! How to plan: which engines, how long, how close to the bound.

use std::time::Duration;

use crate::model::plan::Gap;
use crate::quota::WorkLimit;

/// Thoroughness beyond which nothing new is found any more, only time is spent.
const MOST_THOROUGH: u32 = 600;

/// Which engines may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The baseline alone: first-fit decreasing in Karpenter's order.
    Greedy,
    /// After the baseline and the density greedy only what rests on linear and integer programs.
    Ilp,
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
    /// Counted effort of all engines together.
    pub work_limit: WorkLimit,
    /// How many times the effort that makes up a good second the engines may spend, 1 at least.
    pub thoroughness: u32,
}

impl Default for PlanOptions {
    /// All engines, half a percent, seed 0, no work limit, a good second's effort.
    fn default() -> Self {
        Self {
            engine: Engine::Auto,
            gap: Gap(5_000),
            seed: 0,
            work_limit: WorkLimit(None),
            thoroughness: 1,
        }
    }
}

impl PlanOptions {
    /// The same with the thoroughness that can make use of so much time. The quota still says when it is over.
    #[must_use]
    pub fn for_budget(self, budget: Duration) -> Self {
        let seconds = u32::try_from(budget.as_secs()).unwrap_or(u32::MAX);
        Self {
            thoroughness: seconds.clamp(1, MOST_THOROUGH),
            ..self
        }
    }
}
