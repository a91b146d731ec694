//! Which offers the plan names, and which kinds of pods meet them: each once, whatever number of launches repeat it.
//!
//! Whether a node to come admits a pod depends on the offer, the chosen labels and the pod's selector, affinity and
//! tolerations, not on the rest of the filling. So each different meeting is judged once and reported with the first
//! launch where it happens.

use std::collections::BTreeSet;
use std::fmt;

use fixedbitset::FixedBitSet;

use super::launches::{Launches, Offer};
use super::world::World;

/// Bits of the table that finds repetitions; beyond it, meetings are judged as often as they happen.
const MOST_BITS: usize = 1 << 28;

/// An offer, where it is named first.
pub(super) struct Meeting<'s, 'a> {
    launch: usize,
    pub(super) offer: &'s Offer<'a>,
    /// Position in [`World::constraints`] of a kind of pod there.
    pub(super) constraint: usize,
}

impl fmt::Display for Meeting<'_, '_> {
    /// `launch/3 as c7i.large in us-east-1a, …`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "launch/{} as {}", self.launch, self.offer.named)
    }
}

/// All of them.
pub(super) struct Meetings<'s, 'a> {
    /// Offers, once for each node to come that they mean; those that mean none as often as they are named.
    pub(super) offers: Vec<(usize, &'s Offer<'a>)>,
    /// With the pods there.
    pub(super) pods: Vec<Meeting<'s, 'a>>,
}

impl<'s, 'a> Meetings<'s, 'a> {
    pub(super) fn new(world: &World<'_>, launches: &'s Launches<'a>) -> Self {
        let (prospects, constraints) = (launches.prospects.len(), world.constraints.len());
        let bits = prospects.saturating_mul(constraints);
        let mut met = FixedBitSet::with_capacity(if bits <= MOST_BITS { bits } else { 0 });
        let mut named = FixedBitSet::with_capacity(prospects);
        let mut lists: BTreeSet<(usize, usize)> = BTreeSet::new();
        let mut meetings = Self {
            offers: Vec::new(),
            pods: Vec::new(),
        };
        let firsts = launches
            .fillings
            .iter()
            .map(|filling| (filling.launch, &filling.first));
        let others = launches
            .lists
            .iter()
            .flat_map(|list| list.offers.iter().map(|offer| (list.launch, offer)));
        for (launch, offer) in firsts.chain(others) {
            if offer.prospect.is_none_or(|at| !named.put(at)) {
                meetings.offers.push((launch, offer));
            }
        }
        let mut meet = |launch: usize, offer: &'s Offer<'a>, constraint: usize| {
            let Some(prospect) = offer.prospect else { return };
            let bit = prospect * constraints + constraint;
            if bit >= met.len() || !met.put(bit) {
                meetings.pods.push(Meeting {
                    launch,
                    offer,
                    constraint,
                });
            }
        };
        for filling in &launches.fillings {
            for constraint in &filling.constraints {
                meet(filling.launch, &filling.first, *constraint);
                if lists.insert((filling.list, *constraint)) {
                    for offer in &launches.lists[filling.list].offers {
                        meet(filling.launch, offer, *constraint);
                    }
                }
            }
        }
        meetings
    }
}
