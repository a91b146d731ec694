//! Wall-clock time for the solver, which has none: a deadline as a [`Quota`].

use std::time::{Duration, Instant};

use dovetail_solver::Quota;

/// Says stop when a time budget is used up.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    started: Instant,
    budget: Duration,
}

impl Deadline {
    /// Starts now.
    #[must_use]
    pub fn after(budget: Duration) -> Self {
        Self {
            started: Instant::now(),
            budget,
        }
    }
}

impl Quota for Deadline {
    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn remaining(&self) -> Option<Duration> {
        Some(self.budget.saturating_sub(self.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_of_nothing_is_used_up_at_once() {
        assert!(Deadline::after(Duration::ZERO).is_exhausted());
        assert!(!Deadline::after(Duration::from_secs(3_600)).is_exhausted());
    }
}
