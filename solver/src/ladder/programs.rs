//! The rungs that rest on linear and integer programs: columns and dives, the fillings found put together anew, and small
//! plans chosen freely.
//!
//! Promises: the same as the other rungs.

use crate::lower::side::Place;
use crate::pack::dive::{self, Shares};
use crate::pack::effort::Share;
use crate::pack::filler::Filler;
use crate::pack::master::Pattern;
use crate::pack::memory::Memory;
use crate::pack::side::verdict::on_node;
use crate::pack::{Packing, compact, restricted, snug};

use super::Ladder;

/// For generating columns and for diving: half a second and a quarter or so.
pub(super) const COLUMNS: Shares = Shares {
    generate: Share {
        units: 30_000_000,
        hundredths: 60,
    },
    dive: Share {
        units: 20_000_000,
        hundredths: 60,
    },
};
/// Looks at all kinds for all groups that column generation takes at least before its master program is worth a dive.
pub(super) const ROUNDS: u64 = 4;
/// Rounding of the relaxation's values, outward.
const WORTH_ITS_COST: f64 = 1.0 + 1e-6;
/// For nodes that lose nothing: with five hundred pods each to be told apart, a tenth of a second for finding their
/// fillings, and some tenths for a few dives. Little time is lost where there are none or too many.
const SNUG: snug::Shares = snug::Shares {
    find: Share {
        units: 12_000_000,
        hundredths: 15,
    },
    choose: Share {
        units: 80_000_000,
        hundredths: 50,
    },
};
/// For the restricted master: what it finds it mostly finds in the first tenths of a second.
pub(super) const RESTRICTED: Share = Share {
    units: 8_000_000,
    hundredths: 40,
};
/// For the compact program: with a second's budget those of up to some thousand variables, whose root takes a few tenths
/// of it; larger ones begin with a larger budget.
pub(super) const COMPACT: Share = Share {
    units: 16_000_000,
    hundredths: 60,
};

/// What column generation leaves to choose from; nothing where it didn't run.
#[derive(Debug, Default)]
pub(super) struct Choice {
    /// Fillings that were found.
    pub(super) patterns: Vec<Pattern>,
}

impl<'a> Ladder<'a> {
    /// A packing of nodes that lose nothing, where the bound may be attained by one.
    pub(super) fn snug(&mut self) {
        let least = self.looks();
        let is_begun = !self.is_done() && self.effort.begin(SNUG.find, least);
        let (Some(best), Some(prices)) = (self.incumbents.last().filter(|_| is_begun), &self.prices) else {
            return;
        };
        let start = self.quota.elapsed();
        let packing = snug::pack(self.problem, best, &prices.values(), SNUG, &mut self.effort);
        if let Some(packing) = packing {
            self.enter("snug", start, Ok(packing));
        }
    }

    /// Column generation with a dive, from the packings so far.
    pub(super) fn columns(&mut self, filler: &Filler<'a>, memory: &Memory) {
        let shares = Shares {
            generate: COLUMNS.generate.times(self.options.thoroughness),
            dive: COLUMNS.dive.times(self.options.thoroughness),
        };
        let is_begun = !self.is_done() && self.effort.begin(shares.generate, ROUNDS * self.looks());
        let Some(prices) = self.prices.as_ref().filter(|_| is_begun) else {
            return;
        };
        let start = self.quota.elapsed();
        let mut remembered = Packing {
            launched: memory.recall(self.problem),
            ..Packing::default()
        };
        if !self.problem.side.is_empty() {
            // Pods that were together before may be kept apart now.
            remembered.launched.retain(|launched| {
                on_node(self.problem, Place::Kind(launched.kind), &launched.filling).is_empty()
            });
        }
        let starts: Vec<&Packing> = self.incumbents.iter().rev().chain([&remembered]).collect();
        let outcome = dive::pack(
            self.problem,
            filler,
            &starts,
            &prices.values(),
            shares,
            &mut self.effort,
        );
        match outcome {
            Ok(Some(outcome)) => {
                self.bounds.farley.extend(outcome.farley);
                self.work.columns = outcome.patterns.len();
                self.learn(&outcome.patterns, &outcome.values);
                self.choice = Choice {
                    patterns: outcome.patterns,
                };
                self.enter("columns", start, Ok(outcome.packing));
            }
            Ok(None) => {}
            Err(refused) => self.enter("columns", start, Err(refused.to_string())),
        }
    }

    /// Takes down the fillings that cost no more than their pods are worth: a relaxation uses no others.
    #[expect(
        clippy::cast_precision_loss,
        reason = "guidance only: what is remembered is verified when it is used"
    )]
    fn learn(&mut self, patterns: &[Pattern], values: &[f64]) {
        for Pattern { kind, filling } in patterns {
            let worth = |(group, count): &(usize, u64)| values[*group] * *count as f64;
            let worth: f64 = filling.iter().map(worth).sum();
            if self.problem.kinds[*kind].cost as f64 <= worth * WORTH_ITS_COST {
                self.useful.push(filling.clone());
            }
        }
    }

    /// The restricted master program, from the best packing, over all fillings that are known.
    pub(super) fn restricted(&mut self, factor: u32) {
        let least = self.looks();
        if self.choice.patterns.is_empty()
            || self.is_done()
            || !self.effort.begin(RESTRICTED.times(factor), least)
        {
            return;
        }
        let start = self.quota.elapsed();
        let packings: Vec<&Packing> = self.incumbents.iter().rev().collect();
        match restricted::improve(self.problem, &self.choice.patterns, &packings, &mut self.effort) {
            Ok(Some(packing)) => self.enter("restricted", start, Ok(packing)),
            Ok(None) => self.record("restricted", start, None),
            Err(failure) => self.enter("restricted", start, Err(failure.to_string())),
        }
    }

    /// The compact program, where the best packing has few nodes.
    pub(super) fn compact(&mut self) {
        let Some(best) = self.incumbent().cloned().filter(|_| !self.is_done()) else {
            return;
        };
        let nodes = best.launches();
        let least = self.looks();
        let share = COMPACT.times(self.options.thoroughness);
        if nodes > compact::MOST_NODES || !self.effort.begin(share, least) {
            return;
        }
        let start = self.quota.elapsed();
        match compact::improve(self.problem, &best, &mut self.effort) {
            Ok(Some(outcome)) => match outcome.packing {
                Some(packing) => self.enter("compact", start, Ok(packing)),
                None => self.record("compact", start, None),
            },
            // Nothing was tried.
            Ok(None) => {}
            Err(failure) => self.enter("compact", start, Err(failure.to_string())),
        }
    }
}
