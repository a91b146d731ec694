//! What wishes are to the climb: each packing that an engine finds is balanced before it is weighed, and where the problem is small,
//! one engine weighs nodes against wishes from the start.
//!
//! The other engines pack as if there were no wishes: those cost nothing until a packing is there. Floors and gaps of theirs are
//! of nodes alone for that reason; the plan's own are of everything.

use crate::pack::effort::Share;
use crate::pack::side::balance::{balanced, unmet_of};
use crate::pack::side::verdict::broken;
use crate::pack::{Packing, stranding};

use super::Ladder;

/// For balancing one packing: a tenth of a second or so.
const BALANCE: Share = Share {
    units: 4_000_000,
    hundredths: 20,
};

/// Pods left by priority, objective, and how uneven numbers are.
pub(super) type Rating = (Vec<(i32, u64)>, u64, i128);

impl Ladder<'_> {
    /// What a packing is worth, all wishes weighed; the lower, the better.
    pub(super) fn rating(&self, packing: &Packing) -> Rating {
        let (left, cost) = packing.score(self.problem);
        if !self.problem.weighs_more_than_nodes() {
            return (left, cost, 0);
        }
        // What is stranded is a part of both.
        let cost = cost - stranding::of(self.problem, packing);
        let (money, uneven) = unmet_of(self.problem, packing);
        (
            left,
            cost.saturating_add(u64::try_from(money).unwrap_or(u64::MAX)),
            uneven,
        )
    }

    /// The packing balanced, with its rating, if it is better than the best so far.
    pub(super) fn better(&mut self, mut packing: Packing) -> Option<(Packing, Rating)> {
        if self.best_rating.is_none() {
            self.best_rating = self.incumbent().map(|best| self.rating(best));
        }
        let is_beaten =
            |ladder: &Self, rating: &Rating| ladder.best_rating.as_ref().is_some_and(|best| rating >= best);
        if self.problem.weighs_more_than_nodes() {
            let (left, cost) = packing.score(self.problem);
            let cost = cost - stranding::of(self.problem, &packing);
            if is_beaten(self, &(left, cost, 0)) {
                // Not even with every wish met and nothing stranded.
                return None;
            }
            self.effort.grant(BALANCE);
            let found = balanced(self.problem, &packing, &mut self.effort);
            if broken(self.problem, &found).is_empty() {
                packing = found;
            }
        }
        let rating = self.rating(&packing);
        (!is_beaten(self, &rating)).then_some((packing, rating))
    }
}

#[cfg(feature = "highs")]
mod weighed {
    use fixedbitset::FixedBitSet;

    use crate::lower::Problem;
    use crate::lower::side::{Cap, Domain, Excess, Penalty, Places, SideRows, Spread};
    use crate::lower::wishes::{Company, Domains, Evenly, Taste};
    use crate::pack::Packing;
    use crate::pack::side::{self, Shares};

    use super::super::Ladder;
    use super::super::side_rows::MOST_LOOKS;

    impl Ladder<'_> {
        /// Weighs nodes against wishes, as far as side rows can say them.
        pub(in crate::ladder) fn wishes(&mut self) {
            let Some(best) = self.incumbent().cloned() else {
                return;
            };
            let places = self.problem.rooms.len() + self.problem.kinds.len();
            let is_near = best.objective(self.problem) <= self.floor(&best);
            if self.problem.wishes.is_empty()
                || is_near
                || places * self.problem.groups.len() > MOST_LOOKS
                || !self.effort.begin(Shares::default().generate, self.looks())
            {
                return;
            }
            let start = self.quota.elapsed();
            let mut problem = self.problem.clone();
            add(self.problem, &mut problem.side);
            if problem.side == self.problem.side {
                return;
            }
            match side::pack(&problem, Shares::default(), &mut self.effort) {
                Ok(Some(outcome)) => {
                    self.bounds.wished.extend(outcome.bound);
                    self.work.columns = self.work.columns.max(outcome.columns);
                    match outcome.packing {
                        Some(packing) => self.enter("wishes", start, Ok(packing)),
                        None => self.record("wishes", start, None),
                    }
                }
                Ok(None) => {}
                Err(refused) => self.enter("wishes", start, Err(refused.to_string())),
            }
        }
    }

    /// Whether what the rows cost is no more than the wishes do, for these pods.
    pub(in crate::ladder) fn bounds_hold(problem: &Problem<'_>, packing: &Packing) -> bool {
        let placed = packing.placed(problem);
        let any = |wishers: &FixedBitSet| wishers.ones().any(|group| placed[group] > 0);
        // A choice of labels that only wishes tell apart may not have been looked at.
        let has_all = problem
            .universe
            .variants
            .iter()
            .all(std::collections::BTreeMap::is_empty);
        has_all && problem.wishes.evenly.iter().all(|evenly| any(&evenly.wishers))
    }

    fn add(problem: &Problem<'_>, side: &mut SideRows) {
        let wishes = &problem.wishes;
        side.penalties.extend(wishes.tastes.iter().flat_map(penalties));
        side.spreads.extend(wishes.evenly.iter().filter_map(spread));
        side.caps.extend(wishes.company.iter().filter_map(cap));
    }

    fn penalties(taste: &Taste) -> Vec<Penalty> {
        let mut costs: Vec<u64> = taste.kinds.iter().chain(&taste.rooms).copied().collect();
        costs.sort_unstable();
        costs.dedup();
        let places = |cost: u64| {
            let of = |all: &[u64]| {
                let mut places = FixedBitSet::with_capacity(all.len());
                places.extend((0..all.len()).filter(|at| all[*at] == cost));
                places
            };
            Places {
                kinds: of(&taste.kinds),
                rooms: of(&taste.rooms),
            }
        };
        let penalty = |each: u64| Penalty {
            groups: taste.groups.clone(),
            places: places(each),
            each,
        };
        costs.into_iter().filter(|cost| *cost > 0).map(penalty).collect()
    }

    /// Where domains are fixed and shared by nodes.
    fn spread(evenly: &Evenly) -> Option<Spread> {
        let is_fixed = !evenly.domains.by_node && evenly.always.iter().all(|always| *always);
        let domain = |at: usize| Domain {
            places: places(&evenly.domains, at),
            there: evenly.there[at],
        };
        is_fixed.then(|| Spread {
            groups: evenly.counted.clone(),
            bound: evenly.wishers.clone(),
            domains: (0..evenly.domains.count).map(domain).collect(),
            skew: evenly.skew,
            fewest_domains: 0,
            eligible_bins: None,
            excess: Excess::Costs(evenly.each),
        })
    }

    fn places(domains: &Domains, domain: usize) -> Places {
        let of = |all: &[Option<usize>]| {
            let mut places = FixedBitSet::with_capacity(all.len());
            places.extend((0..all.len()).filter(|at| all[*at] == Some(domain)));
            places
        };
        Places {
            kinds: of(&domains.kinds),
            rooms: of(&domains.rooms),
        }
    }

    /// Away from each other on nodes.
    fn cap(company: &Company) -> Option<Cap> {
        let is_cap =
            !company.is_near && company.domains.by_node && company.wishers.is_subset(&company.matching);
        let there = company.there.iter().copied().enumerate();
        is_cap.then(|| Cap {
            groups: company.wishers.clone(),
            most: 1,
            there: there.filter(|(_, pods)| *pods > 0).collect(),
            excess: Excess::Costs(company.each),
        })
    }
}

#[cfg(feature = "highs")]
pub(super) use weighed::bounds_hold;
