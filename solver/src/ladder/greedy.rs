//! The rungs that come first: the baseline, the volume bound with its prices, the density greedy under them.
//!
//! Promises: the same as the other rungs.

use std::time::Duration;

use crate::pack::effort::Share;
use crate::pack::filler::Filler;
use crate::pack::lower_bound::table::Table;
use crate::pack::lower_bound::{self, coarse};
use crate::pack::{Packing, karpenter_order, search};

use super::{GREEDY, Ladder};

/// For the lower bound: its rounds are counted, and the prices that it stands on guide all that comes after it.
const BOUND: Share = Share {
    units: u64::MAX,
    hundredths: 35,
};
/// Looks at all groups for all kinds and existing nodes that take a few milliseconds: so much is done for the bound
/// whatever the time.
const FEW_LOOKS: u64 = 200_000;
/// For the starts of the density greedy: a tenth of a second or so.
const DENSITY: Share = Share {
    units: 12_000_000,
    hundredths: 20,
};

impl<'a> Ladder<'a> {
    /// Karpenter's order; where pods are left over and some matter more than others, once more by priority.
    pub(super) fn baseline(&mut self) {
        let start = self.quota.elapsed();
        let packing = karpenter_order::pack(self.problem, false);
        self.enter_baseline(start, packing);
    }

    pub(super) fn enter_baseline(&mut self, start: Duration, packing: Packing) {
        let left = packing.left_by_priority(self.problem);
        self.enter(GREEDY, start, Ok(packing));
        if left.len() > 1 && left.iter().any(|(_, count)| *count > 0) {
            let start = self.quota.elapsed();
            let packing = karpenter_order::pack(self.problem, true);
            self.enter("greedy by priority", start, Ok(packing));
        }
    }

    /// The volume LP: resource prices and a lower bound.
    pub(super) fn price(&mut self) {
        let start = self.quota.elapsed();
        let counts = self.problem.counts();
        let places = self.problem.kinds.len() + self.problem.rooms.len();
        let looks = u64::try_from(counts.len() * places).unwrap_or(u64::MAX);
        self.prices = if self.effort.begin(BOUND, looks) || looks <= FEW_LOOKS {
            lower_bound::prices(self.problem, &counts, &mut self.effort)
        } else {
            coarse::prices(self.problem, &counts)
        };
        if self.prices.is_some() {
            self.bounds.table = Table::of(self.problem, &counts, &mut self.effort);
        }
        if self.incumbent().is_some() && self.prices.is_some() {
            self.record("lower bound", start, None);
        }
    }

    /// The density greedy from several starts.
    pub(super) fn density(&mut self, filler: &mut Filler<'a>) {
        if self.is_done() {
            return;
        }
        let start = self.quota.elapsed();
        if !self.effort.begin(DENSITY, self.looks()) {
            return;
        }
        let packing = search::starts(self.problem, filler, self.options.seed, &mut self.effort);
        self.enter("density", start, Ok(packing));
    }
}
