//! The rungs of linear and integer programs where limits decide which weight a pod goes to: each weight by itself.
//!
//! Those programs state which pools a group goes to, and can't where a limit may push some of its pods to lighter ones.
//! The best packing so far settles it: the pods that it has on nodes of a weight are packed anew on nodes of that weight.
//!
//! Promises: the same as the other rungs. Doesn't use room that becomes free within a limit for pods of lighter weights;
//! the density greedy has served heavier weights first by then, and whoever polishes starts from that.

use crate::pack::dive::{self, Shares};
use crate::pack::effort::Share;
use crate::pack::one_weight::Part;
use crate::pack::{Packing, compact, restricted, search};

use super::Ladder;
use super::programs::{COLUMNS, COMPACT, RESTRICTED, ROUNDS};

impl Ladder<'_> {
    /// Packs the launches of each weight anew, the heaviest first.
    pub(super) fn weight_by_weight(&mut self) {
        let problem = self.problem;
        let tiers = problem.kinds.iter().map(|kind| kind.tier + 1).max().unwrap_or(0);
        for tier in 0..tiers {
            let Some(best) = self.incumbent().filter(|_| !self.is_done()) else {
                return;
            };
            if let Some(part) = Part::of(problem, best, tier) {
                // What the lighter weights need stays.
                self.one_weight(&part, u32::try_from(tiers - tier).unwrap_or(u32::MAX));
            }
        }
    }

    /// One of so many weights that share the time left.
    fn one_weight(&mut self, part: &Part<'_>, parts: u32) {
        let of_time = |share: Share| Share {
            hundredths: (share.hundredths / parts).max(1),
            ..share.times(self.options.thoroughness)
        };
        let shares = Shares {
            generate: of_time(COLUMNS.generate),
            dive: of_time(COLUMNS.dive),
        };
        let (of_restricted, of_compact) = (of_time(RESTRICTED), of_time(COMPACT));
        let least = self.looks();
        let is_begun = self.effort.begin(shares.generate, ROUNDS * least);
        let Some(prices) = self.prices.as_ref().filter(|_| is_begun) else {
            return;
        };
        let start = self.quota.elapsed();
        let values = prices.values();
        let filler = search::filler(&part.problem, &values);
        let mut best = part.packing.clone();
        let found = dive::pack(
            &part.problem,
            &filler,
            &[&best],
            &values,
            shares,
            &mut self.effort,
        );
        let outcome = match found {
            Ok(Some(outcome)) => outcome,
            Ok(None) => return,
            Err(refused) => return self.enter("columns", start, Err(refused.to_string())),
        };
        self.work.columns += outcome.patterns.len();
        self.exchange("columns", start, part, &mut best, Some(outcome.packing));
        if !self.is_done() && self.effort.begin(of_restricted, least) {
            let start = self.quota.elapsed();
            match restricted::improve(&part.problem, &outcome.patterns, &[&best], &mut self.effort) {
                Ok(found) => self.exchange("restricted", start, part, &mut best, found),
                Err(failure) => self.enter("restricted", start, Err(failure.to_string())),
            }
        }
        let nodes = best.launches();
        if nodes <= compact::MOST_NODES && !self.is_done() && self.effort.begin(of_compact, least) {
            let start = self.quota.elapsed();
            match compact::improve(&part.problem, &best, &mut self.effort) {
                Ok(found) => {
                    let found = found.and_then(|outcome| outcome.packing);
                    self.exchange("compact", start, part, &mut best, found);
                }
                Err(failure) => self.enter("compact", start, Err(failure.to_string())),
            }
        }
    }

    /// Enters the whole packing with the part as it was found, where that is better than the part's best.
    fn exchange(
        &mut self,
        name: &str,
        start: std::time::Duration,
        part: &Part<'_>,
        best: &mut Packing,
        found: Option<Packing>,
    ) {
        let better = found.filter(|found| found.is_better_than(best, &part.problem));
        let whole = better.as_ref().and_then(|found| part.replaced(found));
        match better.zip(whole) {
            Some((found, whole)) => {
                *best = found;
                self.enter(name, start, Ok(whole));
            }
            None => self.record(name, start, None),
        }
    }
}
