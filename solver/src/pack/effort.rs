//! Counted effort: engines stop at the work limit, at their own share, or when the quota says so.
//!
//! One unit is about one look at a group for a node, some forty millions a second. Counting instead of timing keeps a
//! plan the same on every machine; the quota from outside is asked only now and then. A share of the time left, where
//! the quota knows it, keeps one engine from using up what the next could use better; a plan that such a share cut
//! short counts as one that the deadline did.

use std::time::Duration;

use crate::model::plan::Stopped;
use crate::options::PlanOptions;
use crate::quota::Quota;

/// How often the quota is asked: a clock reading costs more than many units of work, and this many take less than a
/// millisecond.
const ASK_EVERY: u64 = 20_000;

/// Counted effort that a busy machine manages in a millisecond: half of what a quiet one does.
const UNITS_A_MILLISECOND: u64 = 20_000;

/// What one engine may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Counted effort.
    pub units: u64,
    /// Hundredths of the time left, 100 at most.
    pub hundredths: u32,
}

impl Share {
    /// So many times the effort; the part of the time stays.
    #[must_use]
    pub fn times(self, factor: u32) -> Self {
        Self {
            units: self.units.saturating_mul(u64::from(factor)),
            ..self
        }
    }
}

/// What was spent and when to stop.
pub struct Effort<'a> {
    quota: &'a dyn Quota,
    limit: u64,
    spent: u64,
    share: u64,
    /// The time at which the engine at work has had its share.
    until: Option<Duration>,
    /// Time that stays for lifting and checking what the engines find.
    reserve: Duration,
    ask_at: u64,
    share_is_over: bool,
    was_cut: bool,
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
            until: None,
            reserve: Duration::ZERO,
            ask_at: ASK_EVERY,
            share_is_over: false,
            was_cut: false,
            stopped: Stopped::Finished,
        }
    }

    /// Engines stop so long before the quota does.
    pub fn reserve(&mut self, time: Duration) {
        self.reserve = time;
    }

    /// From here on an engine may use up so much, whatever the limits are.
    pub fn grant(&mut self, Share { units, hundredths }: Share) {
        self.share = self.spent.saturating_add(units);
        self.share_is_over = false;
        let remaining = self.quota.remaining();
        let own = remaining.map(|left| left.saturating_sub(self.reserve) * hundredths.min(100) / 100);
        self.until = own.map(|own| self.quota.elapsed() + own);
        self.ask_quota();
    }

    /// Grants a share, unless there is no time for so many units of it: an engine that gets nowhere only costs the
    /// others' time. A plan that misses an engine so counts as one that the deadline cut short.
    pub fn begin(&mut self, share: Share, least: u64) -> bool {
        self.grant(share);
        self.has_time_for(Duration::from_millis(least / UNITS_A_MILLISECOND)) && !self.is_used_up()
    }

    /// Whether the engine at work has so much time left. A plan for which something was left out for want of it counts as
    /// one that the deadline cut short.
    pub fn has_time_for(&mut self, needed: Duration) -> bool {
        let now = self.quota.elapsed();
        let is_short = self.until.is_some_and(|until| now + needed > until);
        self.was_cut |= is_short;
        !is_short
    }

    /// Time since planning began, by the quota's clock.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.quota.elapsed()
    }

    /// Counts work.
    pub fn spend(&mut self, units: u64) {
        self.spent = self.spent.saturating_add(units);
        if self.spent >= self.ask_at {
            self.ask_quota();
        }
        if self.spent >= self.limit && self.stopped == Stopped::Finished {
            self.stopped = Stopped::WorkLimit;
        }
    }

    /// Counts what an effort of its own, for a part of the work, has come to.
    pub fn join(&mut self, part: &Effort<'_>) {
        self.was_cut |= part.stopped() == Stopped::Deadline;
        self.spend(part.spent);
    }

    /// Asks the quota at once, where an engine waits for work that it can't count. Whether time is up for it: counted
    /// effort has no say here, since how often a waiting engine asks differs from run to run.
    pub fn ask_quota(&mut self) -> bool {
        self.ask_at = self.spent.saturating_add(ASK_EVERY);
        if self.stopped == Stopped::Finished
            && self.quota.remaining().is_some_and(|left| left <= self.reserve)
        {
            self.stopped = Stopped::Deadline;
        }
        if self.until.is_some_and(|until| self.quota.elapsed() >= until) {
            self.share_is_over = true;
            self.was_cut = true;
        }
        self.is_late()
    }

    /// Units that were counted so far.
    #[must_use]
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// Units that the engine at work may still spend.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.limit.min(self.share).saturating_sub(self.spent)
    }

    /// Whether the engine at work has to come to an end.
    #[must_use]
    pub fn is_used_up(&self) -> bool {
        self.stopped != Stopped::Finished || self.share_is_over || self.spent >= self.share
    }

    /// Whether the engine at work has no time left, whatever it has counted: for steps that are worth nothing by halves.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.stopped == Stopped::Deadline || self.share_is_over
    }

    /// Whether all engines have to: nothing that is granted now would be used.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.stopped != Stopped::Finished
    }

    /// Why planning stopped, if it was stopped from outside.
    #[must_use]
    pub fn stopped(&self) -> Stopped {
        match self.stopped {
            Stopped::Finished if self.was_cut => Stopped::Deadline,
            stopped => stopped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quota::{Unlimited, WorkLimit};
    use std::cell::Cell;

    /// A clock that the test moves.
    struct Stopwatch {
        now: Cell<u64>,
        budget: u64,
    }

    impl Quota for Stopwatch {
        fn elapsed(&self) -> Duration {
            Duration::from_millis(self.now.get())
        }

        fn remaining(&self) -> Option<Duration> {
            Some(Duration::from_millis(self.budget.saturating_sub(self.now.get())))
        }
    }

    fn share(units: u64, hundredths: u32) -> Share {
        Share { units, hundredths }
    }

    #[test]
    fn a_share_ends_before_the_deadline_does() {
        let watch = Stopwatch {
            now: Cell::new(0),
            budget: 1_000,
        };
        let mut effort = Effort::new(&PlanOptions::default(), &watch);
        effort.reserve(Duration::from_millis(100));
        effort.grant(share(u64::MAX, 50));
        assert!(!effort.ask_quota());
        watch.now.set(450);
        assert!(effort.ask_quota() && effort.is_late(), "half of 900 ms");
        assert!(!effort.is_over());
        effort.grant(share(u64::MAX, 100));
        assert!(!effort.ask_quota());
        assert_eq!(effort.stopped(), Stopped::Deadline, "one engine was cut short");
        watch.now.set(900);
        effort.spend(ASK_EVERY);
        assert!(effort.is_over(), "the rest is for the check");
    }

    #[test]
    fn what_would_get_nowhere_does_not_begin() {
        let watch = Stopwatch {
            now: Cell::new(0),
            budget: 100,
        };
        let mut effort = Effort::new(&PlanOptions::default(), &watch);
        assert!(effort.begin(share(u64::MAX, 50), 50 * UNITS_A_MILLISECOND));
        assert_eq!(effort.stopped(), Stopped::Finished);
        assert!(!effort.begin(share(u64::MAX, 50), 51 * UNITS_A_MILLISECOND));
        assert_eq!(effort.stopped(), Stopped::Deadline);
        let options = PlanOptions::default();
        let mut effort = Effort::new(&options, &Unlimited);
        assert!(effort.begin(share(1, 1), u64::MAX), "there is no clock");
    }

    #[test]
    fn counted_effort_ends_a_share_and_the_limit_all_of_them() {
        let options = PlanOptions {
            work_limit: WorkLimit(Some(100)),
            ..PlanOptions::default()
        };
        let mut effort = Effort::new(&options, &Unlimited);
        effort.grant(share(30, 1));
        effort.spend(30);
        assert!(effort.is_used_up() && !effort.is_over() && !effort.is_late());
        assert_eq!(effort.stopped(), Stopped::Finished);
        effort.grant(share(1_000, 100));
        assert!(!effort.is_used_up());
        effort.spend(70);
        assert!(effort.is_over());
        assert_eq!(effort.stopped(), Stopped::WorkLimit);
    }
}
