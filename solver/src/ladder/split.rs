//! The rungs for problems whose rows span nodes: all engines on a problem that is split along the best packing.
//!
//! Promises: the same as the other rungs. What splitting leaves to choose says nothing about other numbers of pods by part,
//! so no bound comes from it.

use crate::check::{Rule, Violation};
#[cfg(feature = "highs")]
use crate::lower::side::{Excess, SideRows};
use crate::options::PlanOptions;
#[cfg(feature = "highs")]
use crate::pack::dive;
use crate::pack::effort::Share;
use crate::pack::memory::Memory;
use crate::pack::side::shift::{shifted, shifts};
use crate::pack::side::split::Split;
use crate::pack::{Packing, density, search};
use crate::quota::{Portion, WorkLimit};

use super::{CHECKS, Ladder, Rungs, cost};

/// For all engines on a split problem, while others may find better numbers by part afterwards: some seconds.
const SPLIT: Share = Share {
    units: 120_000_000,
    hundredths: 60,
};
/// For the same in the end.
#[cfg(feature = "highs")]
const LAST: Share = Share {
    hundredths: 100,
    ..SPLIT
};

/// For bounding without rows across nodes: as much as generating columns takes elsewhere.
#[cfg(feature = "highs")]
const RELAXED: Share = Share {
    units: 30_000_000,
    hundredths: 30,
};
/// For other numbers by part, each tried by one run of the density greedy.
const SHIFT: Share = Share {
    units: 10_000_000,
    hundredths: 20,
};
/// Shifts made at most, and tries for each.
const SHIFTS: usize = 12;
const TRIES: usize = 12;

impl Ladder<'_> {
    /// Engines on what is split along the best packing; once more where column generation with rows finds a better one.
    pub(super) fn spanning(&mut self) {
        self.shift_and_split(SPLIT);
        #[cfg(feature = "highs")]
        {
            self.relaxed();
            let before = self.incumbents.len();
            self.side_rows();
            if self.incumbents.len() > before {
                self.shift_and_split(LAST);
            }
        }
    }

    /// Better numbers of pods by part, then all engines on what they leave to choose.
    fn shift_and_split(&mut self, share: Share) {
        let share = share.times(self.options.thoroughness);
        let promising = self.shift();
        let before = self.incumbents.len();
        if let Some(promising) = promising {
            self.split(&promising, share);
        }
        if let Some(best) = self.incumbent().cloned()
            && self.incumbents.len() == before
        {
            self.split(&best, share);
        }
    }

    /// The packing by whose numbers of pods by part a quick engine packs best; none where that is the incumbent.
    fn shift(&mut self) -> Option<Packing> {
        let best = self.incumbent().filter(|_| !self.is_done()).cloned()?;
        if best.launched.is_empty() || !self.effort.begin(SHIFT, self.looks()) {
            return None;
        }
        let start = self.quota.elapsed();
        let mut leading = self.quickly(&best)?;
        let mut is_shifted = false;
        for _ in 0..SHIFTS {
            let better = shifts(self.problem, &leading)
                .iter()
                .take(TRIES)
                .find_map(|shift| {
                    if self.effort.is_used_up() {
                        return None;
                    }
                    let other = self.quickly(&shifted(self.problem, &leading, shift)?)?;
                    other.is_better_than(&leading, self.problem).then_some(other)
                });
            let Some(better) = better else { break };
            leading = better;
            is_shifted = true;
        }
        self.enter("shift", start, Ok(leading.clone()));
        (is_shifted && self.incumbent() != Some(&leading)).then_some(leading)
    }

    /// What the density greedy makes of a packing's numbers of pods by part.
    fn quickly(&mut self, packing: &Packing) -> Option<Packing> {
        let split = Split::along(self.problem, packing);
        let values = split.values(&self.prices.as_ref()?.values());
        let filler = search::filler(&split.problem, &values);
        let found = density::pack(&split.problem, &filler, &mut self.effort);
        let whole = split.whole(&found);
        let better = whole.filter(|whole| whole.is_better_than(packing, self.problem));
        Some(better.unwrap_or_else(|| packing.clone()))
    }

    /// A bound without the rows across nodes, and without what isn't as wished: both only add to what a packing costs.
    #[cfg(feature = "highs")]
    fn relaxed(&mut self) {
        let share = RELAXED.times(self.options.thoroughness);
        // Without the rows nothing pushes pods to lighter pools.
        let begins =
            !self.is_done() && self.problem.weights_are_settled() && self.effort.begin(share, self.looks());
        let Some((best, prices)) = self
            .incumbents
            .last()
            .zip(self.prices.as_ref())
            .filter(|_| begins)
        else {
            return;
        };
        let start = self.quota.elapsed();
        let mut problem = self.problem.clone();
        problem.side = within_nodes(&self.problem.side);
        match dive::bound(&problem, best, &prices.values(), share, &mut self.effort) {
            Ok(farley) => {
                self.bounds.farley.extend(farley);
                self.record("relaxed columns", start, None);
            }
            Err(refused) => self.enter("relaxed columns", start, Err(refused.to_string())),
        }
    }

    /// All engines on the problem split along a packing.
    fn split(&mut self, along: &Packing, share: Share) {
        if along.launched.is_empty() || self.is_done() || !self.effort.begin(share, self.looks()) {
            return;
        }
        let split = Split::along(self.problem, along);
        self.climb_split(&split, share, &|part| {
            part.price();
            if let Some(prices) = &part.prices {
                let mut filler = search::filler(part.problem, &prices.values());
                part.engines(&mut filler, &Memory::default());
            }
        });
    }

    /// Runs engines on a split problem; what they find becomes the incumbent if the whole of it is better and sound.
    fn climb_split(&mut self, split: &Split<'_>, share: Share, run: &dyn Fn(&mut Ladder<'_>)) {
        let Some(whole) = split.whole(&split.packing) else {
            return;
        };
        // What is frozen, and what uneven numbers cost.
        let beside = whole.cost(self.problem) - split.packing.cost(&split.problem);
        let other = self.incumbent().filter(|best| **best != whole);
        let known = cost(other.map_or(u64::MAX, |best| best.cost(self.problem)));
        let quota = Portion::of(self.quota, share.hundredths);
        let options = PlanOptions {
            work_limit: WorkLimit(Some(self.effort.left())),
            ..*self.options
        };
        let judge_whole = self.judge;
        let judge = |packing: &Packing| match split.whole(packing) {
            Some(whole) => judge_whole(&whole),
            None => Err(vec![incomplete()]),
        };
        let mut part = Ladder::new(&split.problem, &options, &quota, &judge);
        part.judging = self.judging;
        part.effort.reserve(self.judging * CHECKS);
        part.incumbents.push(split.packing.clone());
        run(&mut part);
        self.effort.join(&part.effort);
        self.judging = part.judging;
        self.effort.reserve(self.judging * CHECKS);
        let Rungs {
            incumbent,
            work,
            useful,
            ..
        } = part.end();
        let found = incumbent.and_then(|(packing, body)| Some((split.whole(&packing)?, body)));
        if let Some((packing, body)) = found
            && self
                .incumbent()
                .is_none_or(|best| packing.is_better_than(best, self.problem))
        {
            if !self.problem.weighs_more_than_nodes() {
                self.incumbents.push(packing);
                self.best_rating = None;
                self.body = Some(body);
            } else {
                // Engines on a part don't know of wishes: what they found is balanced and weighed as a whole.
                self.work.failures += usize::from(self.propose(packing).is_err());
            }
        }
        self.useful
            .extend(useful.iter().map(|filling| split.outside(filling)));
        self.work.failures += work.failures;
        self.work.recounted += work.recounted;
        self.work.columns = self.work.columns.max(work.columns);
        let bound = cost(self.incumbent().map_or(0, |best| self.bound(best)));
        for mut phase in work.phases {
            phase.name = format!("split: {}", phase.name);
            phase.cost = (phase.cost + cost(beside)).min(known);
            phase.bound = bound;
            self.work.phases.push(phase);
        }
    }
}

/// Caps and conflicts that are hard.
#[cfg(feature = "highs")]
fn within_nodes(side: &SideRows) -> SideRows {
    let hard = side.caps.iter().filter(|cap| cap.excess == Excess::Forbidden);
    SideRows {
        caps: hard.cloned().collect(),
        conflicts: side.conflicts.clone(),
        ..SideRows::default()
    }
}

fn incomplete() -> Violation {
    Violation {
        rule: Rule::Placement,
        subject: "a split packing".to_owned(),
        detail: "leaves pods whose number by part rows rest on".to_owned(),
    }
}

#[cfg(feature = "highs")]
#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;
