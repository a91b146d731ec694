//! Bins that no packing can tell apart become one kind; kinds that another beats are dropped.
//!
//! A kind is beaten by one of the same weight that is no dearer, has no less room, serves no fewer profiles, is not
//! limited in number, draws no more on any limit, is of the same part, leaves no wish unmet that the other meets, and is
//! cheaper by all that terms about nodes (what is stranded, how zones differ) may speak for the other. An optimal plan never needs a beaten kind; the plan's alternatives still come from all bins.

use std::collections::{BTreeMap, BTreeSet};

use fixedbitset::FixedBitSet;

use crate::model::money::Price;

use super::accounts::Accounts;
use super::rules::fragmentation;
use super::rules::offerings::Supplies;
use super::rules::preferences::{self, Views};
use super::rules::resources;
use super::rules::zone_imbalance;
use super::terms::{InZone, Stranding};
use super::universe::Universe;

/// Nine million dollars an hour. What is dearer counts as this, so that the sum over two million nodes stays within 64
/// bits; a bound from lower costs is still one.
pub const MOST_COST: u64 = 1 << 43;

/// Bins that can stand for each other in every respect that packing knows.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Index of the node pool.
    pub pool: usize,
    /// Rank of the pool's weight; 0 is the heaviest.
    pub tier: usize,
    /// Objective of one node, in micro-dollars per hour; 2⁴³ at most.
    pub cost: u64,
    /// Price of one node.
    pub price: Price,
    /// What pods may use, over the problem's resources: allocatable less DaemonSets.
    pub room: Vec<u64>,
    /// Profiles that may use it.
    pub profiles: FixedBitSet,
    /// Its bins, in the order of the universe.
    pub bins: Vec<usize>,
    /// Bins of other values that must be able to stand in for it, where the pool has minValues; nothing of its room, its
    /// profiles or its usage is but what they share.
    pub companions: Vec<usize>,
    /// The supply it draws on, where its offer is limited in number.
    pub supply: Option<usize>,
    /// The account that it draws on.
    pub account: usize,
    /// What it takes from each counter of its account.
    pub usage: Vec<u64>,
    /// The subnet that it has its addresses from, where those are counted.
    pub subnet: Option<usize>,
    /// The part of the bins that it is from: side rows may tell those of two parts apart.
    pub part: usize,
    /// By taste: what a pod on it costs for wishes that it doesn't meet.
    pub unmet: Vec<u64>,
    /// Which pods with soft spreads may use it.
    pub reached: FixedBitSet,
    /// What pods strand on it.
    pub stranding: Stranding,
    /// What it adds to its zone.
    pub in_zone: InZone,
}

/// Price, interruptions where they are weighed, room, profiles, supply, part, what is wished and the subnet: bins of a shape that
/// agree in these are one kind.
type Likeness = (
    (u64, u32, Vec<u64>, FixedBitSet, Option<usize>, usize),
    (Vec<u64>, FixedBitSet),
    Option<usize>,
);

/// What the merging of bins needs to know of each.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The bins.
    pub universe: &'a Universe<'a>,
    /// Room of each bin; `None` where its DaemonSets alone don't fit.
    pub rooms: &'a [Option<Vec<u64>>],
    /// Bins by profile.
    pub compatible: &'a [FixedBitSet],
    /// What limits and subnets leave.
    pub accounts: &'a Accounts,
    /// Rank of each pool's weight.
    pub tiers: &'a [usize],
    /// Part of each bin.
    pub parts: &'a [usize],
    /// What preferences see in each bin.
    pub views: &'a Views<'a>,
}

/// Merges the bins; kinds that no profile can use are left out.
#[must_use]
pub fn merge(facts: Facts<'_>, supplies: &mut Supplies) -> Vec<Kind> {
    let universe = facts.universe;
    let mut kinds = Vec::new();
    for shape in &universe.shapes {
        let pool = universe.pool(shape);
        let weights = universe.snapshot.objective.weights(Some(&pool.name));
        let is_weighed = weights.interruption > Price::default();
        let instance_type = universe.instance_type(shape);
        let mut merged: BTreeMap<Likeness, Vec<usize>> = BTreeMap::new();
        for bin in shape.bins.clone() {
            let Some(room) = &facts.rooms[bin] else {
                continue;
            };
            let mut profiles = FixedBitSet::with_capacity(facts.compatible.len());
            for (profile, bins) in facts.compatible.iter().enumerate() {
                profiles.set(profile, bins.contains(bin));
            }
            if profiles.is_clear() {
                continue;
            }
            let offering = universe.offering(bin);
            let hard = (
                offering.price.micros(),
                if is_weighed {
                    instance_type.interruptions(offering.capacity_type)
                } else {
                    0
                },
                room.clone(),
                profiles,
                supplies.of(universe.snapshot, instance_type, offering),
                facts.parts[bin],
            );
            let soft = facts.views.of_bin(bin);
            for subnet in facts.accounts.subnets_of(universe, bin) {
                let key = (hard.clone(), soft.clone(), subnet);
                merged.entry(key).or_default().push(bin);
            }
        }
        for (((price, interruptions, room, profiles, supply, part), (unmet, reached), subnet), bins) in merged
        {
            let price = Price::from_micros(price);
            let cost = weights.node(price) + weights.interruptions(interruptions);
            kinds.push(Kind {
                stranding: fragmentation::stranding(&weights, instance_type, &room),
                in_zone: zone_imbalance::in_zone(&weights, instance_type),
                pool: shape.pool,
                tier: facts.tiers[shape.pool],
                cost: u64::try_from(cost.micros()).map_or(0, |cost| cost.min(MOST_COST)),
                price,
                room,
                profiles,
                bins,
                companions: Vec::new(),
                supply,
                account: facts.accounts.of_pool(shape.pool),
                usage: facts.accounts.usage(universe, shape, subnet),
                subnet,
                part,
                unmet,
                reached,
            });
        }
    }
    kinds
}

/// Ranks of pool weights among some kinds, the heaviest first.
#[must_use]
pub fn tiers(kinds: &[Kind], some: &FixedBitSet) -> Vec<usize> {
    let tiers: BTreeSet<usize> = some.ones().map(|kind| kinds[kind].tier).collect();
    tiers.into_iter().collect()
}

/// Drops beaten kinds and orders the rest by cost, the larger first among equals.
#[must_use]
pub fn prune(mut kinds: Vec<Kind>) -> Vec<Kind> {
    kinds.sort_by(|one, two| {
        (one.cost.cmp(&two.cost))
            .then_with(|| two.room.cmp(&one.room))
            .then_with(|| two.profiles.count_ones(..).cmp(&one.profiles.count_ones(..)))
            .then_with(|| one.price.cmp(&two.price))
            .then_with(|| one.usage.cmp(&two.usage))
    });
    let mut kept: Vec<Kind> = Vec::new();
    for kind in kinds {
        // The dearest kept so far are the largest: the likeliest to beat it.
        if !kept.iter().rev().any(|other| beats(other, &kind)) {
            kept.push(kind);
        }
    }
    kept
}

/// `one` costs no more than `two` by the order of sorting.
fn beats(one: &Kind, two: &Kind) -> bool {
    one.tier == two.tier
        && one.part == two.part
        && one.supply.is_none()
        && resources::fits(&two.room, &one.room)
        && (one.usage.is_empty() || one.account == two.account && resources::fits(&one.usage, &two.usage))
        && two.profiles.is_subset(&one.profiles)
        && preferences::is_no_better(one, two)
        && saves_terms(one, two)
}

/// Whether it is as much cheaper as the terms of the objective about nodes may speak for `two`.
fn saves_terms(one: &Kind, two: &Kind) -> bool {
    let gained = fragmentation::most_gained(one, two).saturating_add(zone_imbalance::most_gained(one, two));
    one.cost.saturating_add(gained) <= two.cost
}
