//! The first rungs in a hurry: so many pods and so little time that one plan may be all that can be judged.
//!
//! Promises: the better of the baseline and a start of the density greedy is judged, the other only if that is refused.
//! Takes some hundredths of a second more than the baseline alone, whatever the time.

use std::time::Duration;

use crate::options::Engine;
use crate::pack::effort::{Effort, Share};
use crate::pack::{karpenter_order, search};
use crate::quota::Unlimited;

use super::Ladder;

/// Pods from which on judging is what takes time, beside which one start of the density greedy counts for little.
const MANY_PODS: usize = 5_000;
/// Pods that are lifted and checked in a millisecond, at best.
const JUDGED_A_MILLISECOND: usize = 1_000;
/// How many times as long as judging takes at best has to be left for judging the baseline first: it takes four or five
/// times as long for pods that are refused with their reasons, and as much longer again on a busy machine; and another
/// plan and the answer have to be judged after it.
const JUDGINGS: u32 = 80;
/// Counted effort of the density greedy before the first judging: some hundredths of a second, less than judging takes.
const HURRIED: Share = Share {
    units: 1_000_000,
    hundredths: 100,
};
/// Looks at all groups for all kinds that one start takes about.
const LOOKS_A_START: u64 = 4;

impl Ladder<'_> {
    /// Whether the density greedy has to come before the baseline is judged, since there are so many pods and so little
    /// time that one plan may be all that can be judged, and the density greedy takes no time beside that.
    pub(super) fn is_hurried(&self) -> bool {
        let judging = self.work.pods / JUDGED_A_MILLISECOND;
        let judging = Duration::from_millis(u64::try_from(judging).unwrap_or(u64::MAX));
        self.options.engine != Engine::Greedy
            && self.work.pods >= MANY_PODS
            && self.problem.side.is_empty()
            && self.looks() * LOOKS_A_START <= HURRIED.units
            && (self.quota.remaining()).is_some_and(|left| left < judging.saturating_mul(JUDGINGS))
    }

    /// The baseline and a start of the density greedy, the better judged first: the other only if that is refused.
    pub(super) fn hurry(&mut self) {
        let start = self.quota.elapsed();
        let baseline = karpenter_order::pack(self.problem, false);
        self.price();
        if let Some(prices) = &self.prices {
            let start = self.quota.elapsed();
            let mut filler = search::filler(self.problem, &prices.values());
            // Counted alone: even where time is up already it is well spent.
            let mut effort = Effort::new(self.options, &Unlimited);
            effort.grant(HURRIED);
            let mut found = search::starts(self.problem, &mut filler, self.options.seed, &mut effort);
            karpenter_order::complete(self.problem, &mut found);
            self.effort.spend(effort.spent());
            if found.is_better_than(&baseline, self.problem) {
                self.enter("density", start, Ok(found));
            }
        }
        self.enter_baseline(start, baseline);
    }
}
