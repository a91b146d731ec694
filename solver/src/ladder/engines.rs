//! The rungs for problems whose rows concern nodes one by one: density greedy, ruin and recreate, and what rests on programs
//! between them.
//!
//! Promises: the same as the other rungs.

use crate::options::Engine;
use crate::pack::effort::Share;
use crate::pack::filler::Filler;
use crate::pack::memory::Memory;
use crate::pack::merged::MOST_GROUPS;
use crate::pack::search;

use super::Ladder;

/// For ruin and recreate before columns are generated: enough to pack few pods well, and no more, since columns gain more
/// in the same time where there are many.
pub(super) const IMPROVE: Share = Share {
    units: 12_000_000,
    hundredths: 25,
};
/// Nodes beyond which that changes next to nothing, some at a time, while columns change all of them at once.
const MOST_IMPROVED: u64 = 3_000;
/// For ruin and recreate in the end.
const POLISH: Share = Share {
    units: 12_000_000,
    hundredths: 100,
};

/// Starts of ruin and recreate beside the best packing, as far as the effort goes.
const RESTARTS: u64 = 3;
/// Rounds of ruin and recreate in vain after which there are no more.
const PATIENCE: u32 = 3;

impl<'a> Ladder<'a> {
    /// All of them, as far as the options ask for them.
    #[cfg_attr(
        not(feature = "highs"),
        expect(
            unused_variables,
            reason = "column generation alone starts from what is remembered"
        )
    )]
    pub(super) fn engines(&mut self, filler: &mut Filler<'a>, memory: &Memory) {
        let all = self.options.engine == Engine::Auto;
        #[cfg(feature = "highs")]
        if self.needs_side_rows() {
            self.side_rows();
        }
        if self.problem.groups.len() > MOST_GROUPS && self.problem.side.is_empty() {
            self.merged(filler);
        } else {
            self.density(filler);
            #[cfg(feature = "highs")]
            self.snug();
            if all && self.launches() <= MOST_IMPROVED {
                self.improve("improve", IMPROVE, self.options.seed, 1, filler);
            }
            #[cfg(feature = "highs")]
            if self.problem.weights_are_settled() {
                self.columns(filler, memory);
            } else {
                self.weight_by_weight();
            }
        }
        #[cfg(feature = "highs")]
        {
            self.restricted(1);
            self.compact();
            self.existing_places();
        }
        if all || cfg!(not(feature = "highs")) {
            self.polish(filler);
        }
    }

    /// Ruin and recreate with one seed after another, each time with twice the effort; what it finds is put together anew
    /// with all else that is known. Ends when that gets nowhere.
    fn polish(&mut self, filler: &mut Filler<'a>) {
        let (mut factor, mut left) = (1, self.options.thoroughness.max(1));
        let mut seed = self.options.seed;
        let mut vain = 0;
        while left > 0 && vain < PATIENCE && !self.is_done() {
            factor = left.min(factor);
            let before = self.incumbents.len();
            self.improve("polish", POLISH.times(factor), seed, RESTARTS, filler);
            #[cfg(feature = "highs")]
            if factor > 1 || self.incumbents.len() > before {
                self.restricted(factor);
            }
            vain = if self.incumbents.len() > before {
                0
            } else {
                vain + 1
            };
            seed = seed.wrapping_add(RESTARTS + 1);
            left -= factor;
            factor *= 2;
        }
    }

    /// Ruin and recreate on the best packing so far, with so many restarts.
    fn improve(&mut self, name: &str, share: Share, seed: u64, restarts: u64, filler: &mut Filler<'a>) {
        if self.is_done() {
            return;
        }
        let Some(best) = self.incumbent().cloned() else {
            return;
        };
        let start = self.quota.elapsed();
        let floor = self.floor(&best);
        if !self.effort.begin(share, self.looks()) {
            return;
        }
        let packing = search::improved(
            self.problem,
            filler,
            best,
            floor,
            seed,
            restarts,
            &mut self.effort,
        );
        self.enter(name, start, Ok(packing));
    }
}
