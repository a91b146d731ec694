//! Counted effort: engines stop at the work limit, at their own share, or when the quota says so.
//!
//! One unit is about one look at a group for a node. Counting instead of timing keeps a plan the same on every
//! machine; the quota from outside is asked only now and then.

use crate::model::plan::Stopped;
use crate::options::PlanOptions;
use crate::quota::Quota;

/// How often the quota is asked: a clock reading costs more than many units of work.
const ASK_EVERY: u64 = 20_000;

/// What was spent and when to stop.
pub struct Effort<'a> {
    quota: &'a dyn Quota,
    limit: u64,
    spent: u64,
    share: u64,
    ask_at: u64,
    stopped: Stopped,
}

impl<'a> Effort<'a> {
    /// Nothing spent yet.
    #[must_use]
    pub fn new(options: &PlanOptions, quota: &'a dyn Quota) -> Self {
        Self {
            quota,
            limit: options.work_limit.0.unwrap_or(u64::MAX),
            spent: 0,
            share: u64::MAX,
            ask_at: ASK_EVERY,
            stopped: Stopped::Finished,
        }
    }

    /// From here on an engine may spend so much, whatever the limits are.
    pub fn grant(&mut self, units: u64) {
        self.share = self.spent.saturating_add(units);
    }

    /// Counts work.
    pub fn spend(&mut self, units: u64) {
        self.spent = self.spent.saturating_add(units);
        if self.spent >= self.ask_at && self.stopped == Stopped::Finished {
            self.ask_at = self.spent.saturating_add(ASK_EVERY);
            if self.quota.is_exhausted() {
                self.stopped = Stopped::Deadline;
            }
        }
        if self.spent >= self.limit && self.stopped == Stopped::Finished {
            self.stopped = Stopped::WorkLimit;
        }
    }

    /// Asks the quota at once, where an engine waits for work that it can't count; whether it has to end.
    pub fn ask_quota(&mut self) -> bool {
        if self.stopped == Stopped::Finished && self.quota.is_exhausted() {
            self.stopped = Stopped::Deadline;
        }
        self.stopped != Stopped::Finished
    }

    /// Whether the engine at work has to come to an end.
    #[must_use]
    pub fn is_used_up(&self) -> bool {
        self.stopped != Stopped::Finished || self.spent >= self.share
    }

    /// Why planning stopped, if it was stopped from outside.
    #[must_use]
    pub fn stopped(&self) -> Stopped {
        self.stopped
    }
}
