//! The rungs for thousands of groups: engines pack a hundred or two clusters, and real pods take the places.
//!
//! Promises: the same as the other rungs. What the clusters cost is no bound on what the pods do.

use crate::options::Engine;
use crate::pack::effort::Share;
use crate::pack::filler::Filler;
use crate::pack::merged::{CLUSTERS, Merged};
use crate::pack::{Packing, search};

use super::Ladder;
use super::engines::IMPROVE;
#[cfg(feature = "highs")]
use super::programs::COLUMNS;

/// For the density greedy on clusters, one start of which takes hundredths of a second.
const DENSITY: Share = Share {
    units: 4_000_000,
    hundredths: 10,
};
/// For putting real pods in the places: tenths of a second where a fifth of them are packed anew. Each time leaves half
/// of the time to what comes after it.
const FIT: Share = Share {
    units: 20_000_000,
    hundredths: 50,
};

impl<'a> Ladder<'a> {
    /// Packs clusters in place of groups, each time better, and fits the real pods.
    pub(super) fn merged(&mut self, filler: &Filler<'a>) {
        let Some(prices) = self.prices.as_ref().filter(|_| !self.is_done()) else {
            return;
        };
        let start = self.quota.elapsed();
        let merged = Merged::of(self.problem, CLUSTERS);
        let values = merged.values(self.problem, &prices.values());
        let mut small = search::filler(&merged.problem, &values);
        let looks = u64::try_from(values.len() * self.problem.kinds.len()).unwrap_or(u64::MAX);
        if !self.effort.begin(DENSITY, looks) {
            return;
        }
        let seed = self.options.seed;
        let mut packing = search::starts(&merged.problem, &mut small, seed, &mut self.effort);
        self.fit("merged", start, &merged, filler, &packing);
        if self.options.engine == Engine::Auto && !self.is_done() && self.effort.begin(IMPROVE, looks) {
            let floor = self.incumbent().map_or(0, |best| self.floor(best));
            packing = search::improved(
                &merged.problem,
                &mut small,
                packing,
                floor,
                seed,
                0,
                &mut self.effort,
            );
        }
        #[cfg(feature = "highs")]
        self.merged_columns(filler, &merged, &small, packing, &values);
        #[cfg(not(feature = "highs"))]
        self.fit(
            "merged, improved",
            self.quota.elapsed(),
            &merged,
            filler,
            &packing,
        );
    }

    /// Column generation on the clusters.
    #[cfg(feature = "highs")]
    fn merged_columns(
        &mut self,
        filler: &Filler<'a>,
        merged: &Merged<'_>,
        small: &Filler<'_>,
        start_packing: Packing,
        values: &[f64],
    ) {
        use crate::pack::dive::{self, Shares};
        let start = self.quota.elapsed();
        let shares = Shares {
            generate: COLUMNS.generate.times(self.options.thoroughness),
            dive: COLUMNS.dive.times(self.options.thoroughness),
        };
        let starts = [&start_packing];
        match dive::pack(&merged.problem, small, &starts, values, shares, &mut self.effort) {
            Ok(outcome) => {
                let columns = outcome.as_ref().map_or(0, |outcome| outcome.patterns.len());
                self.work.columns = columns;
                let packing = outcome.map_or(start_packing, |outcome| outcome.packing);
                self.fit("merged columns", start, merged, filler, &packing);
            }
            Err(refused) => self.enter("merged columns", start, Err(refused.to_string())),
        }
    }

    fn fit(
        &mut self,
        name: &str,
        start: std::time::Duration,
        merged: &Merged<'_>,
        filler: &Filler<'a>,
        packing: &Packing,
    ) {
        self.effort.grant(FIT);
        let fitted = merged.fit(self.problem, filler, packing, &mut self.effort);
        self.enter(name, start, Ok(fitted));
    }
}
