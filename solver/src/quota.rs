//! Stop signals: an outside deadline and a counted effort.
//!
//! The solver has no clock. Whoever calls it passes a [`Quota`] that knows when to stop; a [`WorkLimit`] counts effort
//! instead and so gives the same plan on every machine.

use std::time::Duration;

/// An outside stop signal with a clock.
pub trait Quota {
    /// Time since planning began.
    fn elapsed(&self) -> Duration;
    /// Time until it says stop, so that engines can share it; `None` where it never will.
    fn remaining(&self) -> Option<Duration>;
    /// Whether to stop now and answer with the best plan known.
    fn is_exhausted(&self) -> bool {
        self.remaining() == Some(Duration::ZERO)
    }
}

/// Never stops, and knows no time: for tests and reproducible runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unlimited;

impl Quota for Unlimited {
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn remaining(&self) -> Option<Duration> {
        None
    }
}

/// A part of the time that a quota leaves.
#[derive(Clone, Copy)]
pub(crate) struct Portion<'q> {
    quota: &'q dyn Quota,
    /// What stays for others.
    kept: Duration,
}

impl<'q> Portion<'q> {
    /// So many hundredths of what is left now.
    pub(crate) fn of(quota: &'q dyn Quota, hundredths: u32) -> Self {
        let left = quota.remaining().unwrap_or_default();
        Self {
            quota,
            kept: left * (100 - hundredths.min(100)) / 100,
        }
    }
}

impl Quota for Portion<'_> {
    fn elapsed(&self) -> Duration {
        self.quota.elapsed()
    }

    fn remaining(&self) -> Option<Duration> {
        self.quota.remaining().map(|left| left.saturating_sub(self.kept))
    }
}

/// How much counted effort engines may spend; `None`: until they end by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkLimit(pub Option<u64>);
