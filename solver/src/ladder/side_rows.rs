//! The rungs that column generation with side rows has: for problems whose rows the other rungs can't keep, or whose costs
//! they don't count, and for those with nodes that exist or offers of limited number, which it alone fills anew.
//!
//! Promises: the same as the other rungs.

use std::time::Duration;

use crate::pack::effort::Share;
use crate::pack::side::node::rules;
use crate::pack::side::{self, Shares};

use super::Ladder;

/// Groups times places up to which all of them are looked at anew; beyond it the rung would take the polish's time.
pub(super) const MOST_LOOKS: usize = 20_000;
/// For a try at places that the other engines leave as they are.
const EXISTING: Share = Share {
    units: 10_000_000,
    hundredths: 40,
};

impl Ladder<'_> {
    /// Whether column generation without side rows leaves something out.
    pub(super) fn needs_side_rows(&self) -> bool {
        rules(&self.problem.side).is_none()
    }

    /// Column generation with side rows, from nothing: no other engine's packing need keep them.
    pub(super) fn side_rows(&mut self) {
        let times = |share: Share| share.times(self.options.thoroughness);
        let usual = Shares::default();
        let shares = Shares {
            generate: times(usual.generate),
            dive: times(usual.dive),
            search: times(usual.search),
            ..usual
        };
        let is_complete = (self.incumbent()).is_some_and(|best| best.left.iter().all(|left| *left == 0));
        if is_complete && self.is_done() || !self.effort.begin(shares.generate, self.looks()) {
            return;
        }
        let start = self.quota.elapsed();
        self.side_by_side("side rows", shares, start);
    }

    /// The same for nodes that exist and offers of limited number: the other engines fill them once and leave them so.
    pub(super) fn existing_places(&mut self) {
        let places = self.problem.rooms.len() + self.problem.kinds.len();
        let has_any = !self.problem.rooms.is_empty() || !self.problem.supplies.is_empty();
        let is_complete = (self.incumbent()).is_some_and(|best| best.left.iter().all(|left| *left == 0));
        if !has_any
            || self.needs_side_rows()
            || is_complete && self.is_done()
            || places * self.problem.groups.len() > MOST_LOOKS
            || !self.effort.begin(EXISTING, self.looks())
        {
            return;
        }
        let start = self.quota.elapsed();
        let shares = Shares {
            generate: EXISTING,
            dive: EXISTING,
            search: EXISTING,
            ..Shares::default()
        };
        self.side_by_side("existing places", shares, start);
    }

    fn side_by_side(&mut self, name: &str, shares: Shares, start: Duration) {
        match side::pack(self.problem, shares, &mut self.effort) {
            Ok(Some(outcome)) => {
                self.bounds.side.extend(outcome.bound);
                self.work.columns = self.work.columns.max(outcome.columns);
                match outcome.packing {
                    Some(packing) => self.enter(name, start, Ok(packing)),
                    None if self.needs_side_rows() => {
                        self.enter(name, start, Err("no packing found keeps all rows".to_owned()));
                    }
                    None => self.record(name, start, None),
                }
            }
            Ok(None) => {}
            Err(refused) => self.enter(name, start, Err(refused.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lower::side::Excess;
    use crate::options::PlanOptions;
    use crate::pack::Packing;
    use crate::pack::memory::Memory;
    use crate::pack::side::verdict::broken;
    use crate::plan::judged;
    use crate::quota::Unlimited;
    use crate::testing::synthetic::{Synthetic, cap, problem, zone_spread};

    use super::*;

    #[test]
    fn rows_across_nodes_have_a_rung_of_their_own() {
        let snapshot = Synthetic::new()
            .machine("m", 4)
            .offer_everywhere("m", 100_000)
            .pods("web", 6, 1_000)
            .pods("db", 3, 500)
            .freeze();
        let mut problem = problem(&snapshot);
        problem.side.spreads.push(zone_spread(&problem, &["web"], 1));
        problem.side.caps.push(cap(&problem, &["db"], 1));
        let options = PlanOptions::default();
        let climbed = |problem: &crate::lower::Problem<'_>| {
            let judge = |packing: &Packing| judged(problem, packing, &options);
            let mut ladder = Ladder::new(problem, &options, &Unlimited, &judge);
            ladder.climb(&Memory::default());
            let rungs = ladder.end();
            let (packing, _) = rungs.incumbent.unwrap();
            assert_eq!(broken(problem, &packing), []);
            assert_eq!(packing.left, [0, 0]);
            assert!(rungs.bound <= packing.cost(problem));
            let names = rungs.work.phases.into_iter().map(|phase| phase.name);
            (packing.cost(problem), rungs.bound, names.collect::<Vec<String>>())
        };
        // Three zones, a node in each, with a pod of the other group beside.
        let (cost, bound, phases) = climbed(&problem);
        assert_eq!((cost, bound), (300_000, 300_000));
        let of_rows = |name: &String| ["shift", "side rows"].contains(&name.as_str());
        assert!(phases.iter().any(of_rows), "{phases:?}");
        assert!(!phases.contains(&"columns".to_owned()), "{phases:?}");
        // Caps alone are for all.
        problem.side.spreads.clear();
        let (cost, _, phases) = climbed(&problem);
        assert_eq!(cost, 300_000);
        assert!(!phases.contains(&"side rows".to_owned()), "{phases:?}");
        // An excess that costs is what only this rung weighs.
        problem.side.caps[0].excess = Excess::Costs(1_000);
        let (cost, _, _) = climbed(&problem);
        assert_eq!(cost, 201_000);
    }
}
