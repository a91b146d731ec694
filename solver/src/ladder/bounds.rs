//! What packings cost at least, by all that the rungs found out.
//!
//! Promises: a bound that one rung found holds for every packing, so all of them are kept and the highest counts: for the
//! same pods placed it never falls from one rung to the next. For other pods it may be any other.

use crate::lower::Problem;
use crate::pack::Packing;
use crate::pack::farley::Farley;
use crate::pack::lower_bound::table::Table;
use crate::pack::lower_bound::{self, Prices};
#[cfg(feature = "highs")]
use crate::pack::side::bound::Bound;

use super::Ladder;

/// All bounds beside that of the prices.
#[derive(Default)]
pub(super) struct Bounds {
    /// Of few pods: the least cost of each number of them.
    pub(super) table: Option<Table>,
    /// Of column generation.
    pub(super) farley: Vec<Farley>,
    /// Of column generation with side rows.
    #[cfg(feature = "highs")]
    pub(super) side: Vec<Bound>,
    /// The same with wishes as side rows: of what isn't as wished too.
    #[cfg(feature = "highs")]
    pub(super) wished: Vec<Bound>,
}

impl Bounds {
    /// Micro-dollars that launches for so many pods of each group cost at least.
    fn of(&self, problem: &Problem<'_>, prices: Option<&Prices>, placed: &[u64]) -> u64 {
        let table = self.table.iter().map(|table| table.bound(placed));
        let prices = prices.iter().map(|prices| prices.bound(problem, placed));
        let farley = self.farley.iter().map(|farley| farley.bound(placed));
        let bound = table.chain(prices).chain(farley).max().unwrap_or(0);
        #[cfg(feature = "highs")]
        let bound = self
            .side
            .iter()
            .map(|side| side.bound(placed))
            .fold(bound, u64::max);
        bound
    }
}

impl Ladder<'_> {
    /// Micro-dollars that a packing of the same pods costs at least.
    pub(super) fn bound(&self, packing: &Packing) -> u64 {
        if !self.problem.universe.has_every_choice {
            return 0;
        }
        let placed = packing.placed(self.problem);
        let bound = self.bounds.of(self.problem, self.prices.as_ref(), &placed);
        if !self.problem.side.is_empty() || self.problem.weighs_stranding() {
            // Penalties, and what is stranded, make costs of other steps than kinds' do.
            return bound;
        }
        lower_bound::attainable(self.problem, &placed, bound)
    }

    /// Micro-dollars that a packing of the same pods and what it leaves of the wishes cost at least.
    pub(super) fn proven(&self, packing: &Packing) -> u64 {
        let bound = self.bound(packing);
        #[cfg(feature = "highs")]
        if !self.bounds.wished.is_empty()
            && self.problem.universe.has_every_choice
            && super::wishes::bounds_hold(self.problem, packing)
        {
            let placed = packing.placed(self.problem);
            let wished = self.bounds.wished.iter().map(|wished| wished.bound(&placed));
            return wished.fold(bound, u64::max);
        }
        bound
    }

    /// The cost at which a packing is good enough.
    pub(super) fn floor(&self, packing: &Packing) -> u64 {
        let bound = self.bound(packing);
        let slack = u128::from(bound) * u128::from(self.options.gap.0) / 1_000_000;
        bound.saturating_add(u64::try_from(slack).unwrap_or(0))
    }

    /// Whether a packing is as near to its bound as was asked for.
    pub(super) fn is_near(&self, packing: &Packing) -> bool {
        packing.cost(self.problem) <= self.floor(packing)
    }
}
