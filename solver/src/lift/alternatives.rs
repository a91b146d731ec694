//! Which offerings may stand in for a launch: same node pool, room for what is on it, no rule broken.
//!
//! At most sixty types, the cheapest, and more where minValues ask for them; bought as the first choice is: on-demand in place
//! of spot would be several times dearer than planned, so a spot market that is empty asks for a new plan; so does a capacity
//! reservation that turns out to be full. Reservations stand in only for those of their kind, and nothing for a capacity
//! block: EC2 takes no request for both. Where a rule counts pods of the node by zone or by other labels, all have the same
//! values of those, and count or don't count alike; where a policy weighs zones, the same zone. Limits, subnets and limited
//! offers hold for the worst joint choice: each launch reserves
//! the largest of its alternatives, and counts in every limited offer that it names. Launches of one filling share
//! one list.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fixedbitset::FixedBitSet;

use crate::lower::Problem;
use crate::lower::group::Profile;
use crate::lower::prune::Kind;
use crate::lower::rules::{min_values, resources};
use crate::model::money::Price;
use crate::model::offering::{Offering, ReservationType};
use crate::model::plan::Alternative;
use crate::model::requirement::Labels;
use crate::pack::ledger::Ledger;
use crate::pack::side::group_parts::under_rows;
use crate::pack::{Filling, Launched, Packing, load};

/// As many types as Karpenter once sent to EC2 at most; more make a request too large.
const MOST_TYPES: usize = 60;

/// A bin, and the subnet that its addresses are booked in.
type Booked = (usize, Option<usize>);

type List = (Vec<Booked>, usize, Labels);

/// Chooses first choices and alternatives, launch by launch.
pub(super) struct Lifter<'a> {
    problem: &'a Problem<'a>,
    rooms: Vec<Option<Vec<u64>>>,
    /// Bins of each node pool by price, then names.
    by_price: Vec<Vec<usize>>,
    /// Place of each bin in that order.
    rank: Vec<usize>,
    /// Shapes of each instance type, by node pool and type.
    shapes: Vec<BTreeMap<usize, Vec<usize>>>,
    /// Whether any label was left open and chosen.
    any_labels: bool,
    daemons: Vec<Profile>,
    /// Groups that rows across nodes concern.
    under_rows: FixedBitSet,
    /// Whether such rows count nodes whatever is on them.
    rows_count_nodes: bool,
    /// What the first choices of all launches leave.
    ledger: Ledger,
    lists: BTreeMap<List, Arc<[Alternative]>>,
    /// The list of the filling at hand, where no launch of it can differ.
    last: Option<(Launched, usize, Arc<[Alternative]>)>,
}

impl<'a> Lifter<'a> {
    pub(super) fn new(problem: &'a Problem<'a>, packing: &Packing) -> Self {
        let universe = &problem.universe;
        let mut by_price: Vec<Vec<usize>> = vec![Vec::new(); problem.snapshot.node_pools.len()];
        for bin in 0..universe.bins.len() {
            by_price[universe.shape(bin).pool].push(bin);
        }
        let mut rank = vec![0; universe.bins.len()];
        for bins in &mut by_price {
            bins.sort_by_key(|bin| sort_key(problem, *bin));
            for (place, bin) in bins.iter().enumerate() {
                rank[*bin] = place;
            }
        }
        let mut shapes: Vec<BTreeMap<usize, Vec<usize>>> = vec![BTreeMap::new(); by_price.len()];
        for (index, shape) in universe.shapes.iter().enumerate() {
            let of_pool = &mut shapes[shape.pool];
            of_pool.entry(shape.instance_type).or_default().push(index);
        }
        let mut ledger = Ledger::new(problem);
        for launched in &packing.launched {
            ledger.open(problem, launched.kind, launched.count);
        }
        Self {
            problem,
            rooms: (0..universe.bins.len())
                .map(|bin| {
                    let has_addresses = !problem.accounts.subnets_of(universe, bin).is_empty();
                    problem.bin_room(bin).filter(|_| has_addresses)
                })
                .collect(),
            by_price,
            rank,
            shapes,
            any_labels: universe.variants.iter().any(|labels| !labels.is_empty()),
            daemons: problem
                .snapshot
                .daemon_sets
                .iter()
                .map(|daemon_set| Profile::of(&daemon_set.spec))
                .collect(),
            under_rows: under_rows(&problem.side),
            rows_count_nodes: problem.side.rows.iter().any(|row| !row.nodes.is_empty()),
            ledger,
            lists: BTreeMap::new(),
            last: None,
        }
    }

    /// The first choice of the next launch of this filling, and what may stand in for it.
    pub(super) fn choose(&mut self, launched: &Launched) -> (usize, Arc<[Alternative]>) {
        if let Some((last, first, list)) = &self.last
            && last == launched
        {
            return (*first, Arc::clone(list));
        }
        let problem = self.problem;
        let kind = &problem.kinds[launched.kind];
        let alike = |bin: &usize| self.counts_alike(&launched.filling, kind.bins[0], *bin);
        let bins = kind.bins.iter().copied().filter(alike);
        let first = bins.min_by_key(|bin| self.rank[*bin]).unwrap_or_default();
        let candidates = self.candidates(launched, first);
        let (bins, uniform) = self.within_limits(launched, candidates);
        let bins = self.with_companions(bins, first, kind);
        let list = self.list(bins, first, &launched.filling);
        if uniform {
            self.last = Some((launched.clone(), first, Arc::clone(&list)));
        }
        (first, list)
    }

    /// Values of open labels that somebody there selects.
    pub(super) fn labels(&self, bin: usize, filling: &Filling) -> Labels {
        let problem = self.problem;
        let shape = problem.universe.shape(bin);
        if problem.universe.variants[shape.variant].is_empty() {
            return Labels::new();
        }
        let pods = filling
            .iter()
            .map(|(group, _)| &problem.profiles[problem.groups[*group].profile]);
        let all: Vec<&Profile> = pods.chain(&self.daemons).collect();
        problem.universe.chosen_labels(shape, &all)
    }

    /// Bins that could take the filling, by price: all offers of the cheapest types.
    fn candidates(&self, launched: &Launched, first: usize) -> Vec<usize> {
        let problem = self.problem;
        let universe = &problem.universe;
        let load = load(problem, &launched.filling);
        let profiles: BTreeSet<usize> = launched
            .filling
            .iter()
            .map(|(group, _)| problem.groups[*group].profile)
            .collect();
        let compatible: Vec<&FixedBitSet> = profiles
            .iter()
            .map(|profile| &problem.compatible[*profile])
            .collect();
        let bought = universe.offering(first);
        if is_capacity_block(bought) {
            return Vec::new();
        }
        let is_bound = self.is_bound_to_its_part(&launched.filling);
        // Whoever buys the cheapest of the list would otherwise buy what wishes, interruptions or stranded room spoke against.
        let pool = &universe.pool(universe.shape(first)).name;
        let weights = problem.snapshot.objective.weights(Some(pool));
        let zone = (weights.zone_imbalance > Price::default()).then(|| &universe.offering(first).zone);
        let holds = |bin: usize| {
            let room = self.rooms[bin].as_ref();
            is_bought_alike(universe.offering(bin), bought)
                && universe.offering(bin).price >= bought.price
                && zone.is_none_or(|zone| universe.offering(bin).zone == *zone)
                && (!is_bound || problem.parts[bin] == problem.parts[first])
                && self.counts_alike(&launched.filling, first, bin)
                && (!problem.side.opening_bins.contains(bin) || problem.parts[bin] == problem.parts[first])
                && room.is_some_and(|room| resources::fits(&load, room))
                && compatible.iter().all(|bins| bins.contains(bin))
        };
        let home = universe.shape(first);
        let mut types = BTreeSet::from([home.instance_type]);
        for bin in self.by_price[home.pool].iter().copied() {
            if types.len() == MOST_TYPES {
                break;
            }
            let instance_type = universe.shape(bin).instance_type;
            if !types.contains(&instance_type) && holds(bin) {
                types.insert(instance_type);
            }
        }
        self.add_types_of_other_values(&mut types, first, &holds);
        let shapes = types
            .iter()
            .flat_map(|instance_type| &self.shapes[home.pool][instance_type]);
        let mut bins: Vec<usize> = shapes
            .flat_map(|shape| universe.shapes[*shape].bins.clone())
            .filter(|bin| *bin != first && holds(*bin))
            .collect();
        if self.any_labels {
            bins = self.one_of_each(bins, first, &launched.filling);
        }
        bins.sort_unstable_by_key(|bin| self.rank[*bin]);
        bins
    }

    /// Whether a node in another part would count elsewhere in a row across nodes.
    fn is_bound_to_its_part(&self, filling: &Filling) -> bool {
        let mut groups = filling.iter().map(|(group, _)| *group);
        self.rows_count_nodes || groups.any(|group| self.under_rows.contains(group))
    }

    /// Whether a spread counts the pods on the one bin's node as it does on the other's.
    fn counts_alike(&self, filling: &Filling, one: usize, other: usize) -> bool {
        let spreads = self.problem.side.spreads.iter();
        let mut eligible =
            spreads.filter_map(|spread| Some((&spread.groups, spread.eligible_bins.as_ref()?)));
        eligible.all(|(groups, bins)| {
            bins.contains(one) == bins.contains(other)
                || !filling.iter().any(|(group, _)| groups.contains(*group))
        })
    }

    /// Offers that differ only in open labels once, with the launch's labels where they will do.
    fn one_of_each(&self, bins: Vec<usize>, first: usize, filling: &Filling) -> Vec<usize> {
        let universe = &self.problem.universe;
        let wanted = self.labels(first, filling);
        let mut best: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for bin in bins {
            let shape = universe.shape(bin);
            let labels = self.labels(bin, filling);
            // An alternative without labels has its launch's; one that must have none can't say so.
            if labels.is_empty() && !wanted.is_empty() {
                continue;
            }
            let slot = best
                .entry((shape.instance_type, universe.bins[bin].offering))
                .or_insert(bin);
            if labels == wanted && self.labels(*slot, filling) != wanted {
                *slot = bin;
            }
        }
        let home = (universe.shape(first).instance_type, universe.bins[first].offering);
        best.remove(&home);
        best.into_values().collect()
    }

    /// Those that limits, subnets and limited offers still admit beside everything that was promised before; whether other
    /// launches of the filling get the same.
    fn within_limits(&mut self, launched: &Launched, candidates: Vec<usize>) -> (Vec<Booked>, bool) {
        let problem = self.problem;
        let kind = &problem.kinds[launched.kind];
        let limited = |bin: &usize| problem.universe.offering(*bin).limit.is_some();
        let limits = !kind.usage.is_empty();
        if !limits && !candidates.iter().any(limited) {
            return (candidates.into_iter().map(|bin| (bin, None)).collect(), true);
        }
        let mut reserved = kind.usage.clone();
        let mut kept = Vec::new();
        for bin in candidates {
            // How many of a limited offer are left is booked for first choices alone: leave it to them.
            if limited(&bin) {
                continue;
            }
            kept.extend(self.book(kind, bin, &mut reserved));
        }
        (kept, !limits)
    }

    /// A bin with a subnet such that all it takes beyond what the launch has reserved is there, and reserved from here on.
    fn book(&mut self, kind: &Kind, bin: usize, reserved: &mut [u64]) -> Option<Booked> {
        let universe = &self.problem.universe;
        let accounts = &self.problem.accounts;
        let mut ways: Vec<(u64, Option<usize>, Vec<u64>)> = (accounts.subnets_of(universe, bin).into_iter())
            .map(|subnet| {
                let usage = accounts.usage(universe, universe.shape(bin), subnet);
                let beyond = |(usage, reserved): (&u64, &u64)| usage.saturating_sub(*reserved);
                let more: Vec<u64> = usage.iter().zip(reserved.iter()).map(beyond).collect();
                (
                    more.iter().fold(0_u64, |sum, more| sum.saturating_add(*more)),
                    subnet,
                    more,
                )
            })
            .collect();
        // The subnet of the launch itself comes first: there it takes its addresses only once.
        ways.sort();
        let (_, subnet, more) = ways
            .into_iter()
            .find(|(_, _, more)| self.ledger.reserve(kind.account, more))?;
        for (reserved, more) in reserved.iter_mut().zip(&more) {
            *reserved += more;
        }
        Some((bin, subnet))
    }

    /// Those that minValues ask for beside the others; they are booked with their kind.
    fn with_companions(&self, mut bins: Vec<Booked>, first: usize, kind: &Kind) -> Vec<Booked> {
        if kind.companions.is_empty() {
            return bins;
        }
        let universe = &self.problem.universe;
        let accounts = &self.problem.accounts;
        let offer = |bin: usize| (universe.shape(bin).instance_type, universe.bins[bin].offering);
        let mut present: BTreeSet<(usize, usize)> = bins.iter().map(|(bin, _)| offer(*bin)).collect();
        present.insert(offer(first));
        let missing = (kind.companions.iter()).filter(|bin| !present.contains(&offer(**bin)));
        let booked = missing.map(|bin| {
            let is_booked = |subnet: &Option<usize>| {
                let usage = accounts.usage(universe, universe.shape(*bin), *subnet);
                resources::fits(&usage, &kind.usage)
            };
            let mut subnets = accounts.subnets_of(universe, *bin).into_iter();
            (*bin, subnets.find(is_booked).flatten())
        });
        bins.extend(booked);
        bins.sort_unstable_by_key(|(bin, _)| self.rank[*bin]);
        bins
    }

    /// The cheapest types of values that minValues still ask for, where they are kept as far as can be.
    fn add_types_of_other_values(
        &self,
        types: &mut BTreeSet<usize>,
        first: usize,
        holds: &dyn Fn(usize) -> bool,
    ) {
        let universe = &self.problem.universe;
        let home = universe.shape(first);
        for (key, least) in universe.pool(home).requirements.min_values() {
            let typed = types.iter().flat_map(|at| &self.shapes[home.pool][at]);
            let mut values: BTreeSet<&str> = typed
                .flat_map(|shape| universe.shapes[*shape].bins.clone())
                .filter(|bin| holds(*bin))
                .filter_map(|bin| min_values::value(universe, bin, key))
                .collect();
            for bin in self.by_price[home.pool].iter().copied() {
                if u32::try_from(values.len()).is_ok_and(|there| there >= least) {
                    break;
                }
                if let Some(value) = min_values::value(universe, bin, key)
                    && !values.contains(value)
                    && holds(bin)
                {
                    values.insert(value);
                    types.insert(universe.shape(bin).instance_type);
                }
            }
        }
    }

    fn list(&mut self, bins: Vec<Booked>, first: usize, filling: &Filling) -> Arc<[Alternative]> {
        let problem = self.problem;
        let labels = self.labels(first, filling);
        let differs = |(bin, _): &Booked| self.labels(*bin, filling) != labels;
        let variants = self.any_labels && bins.iter().any(differs);
        let key = (bins, if variants { first } else { usize::MAX }, labels);
        if let Some(list) = self.lists.get(&key) {
            return Arc::clone(list);
        }
        let (bins, _, labels) = &key;
        let list: Arc<[Alternative]> = bins
            .iter()
            .map(|(bin, subnet)| {
                let offering = problem.universe.offering(*bin);
                let own = self.labels(*bin, filling);
                Alternative {
                    instance_type: problem
                        .universe
                        .instance_type(problem.universe.shape(*bin))
                        .name
                        .clone(),
                    zone: offering.zone.clone(),
                    subnet: subnet.map(|subnet| problem.snapshot.subnets[subnet].id.clone()),
                    capacity_type: offering.capacity_type,
                    reservation_id: offering.reservation_id().map(str::to_owned),
                    price: offering.price,
                    labels: if own == *labels { Labels::new() } else { own },
                }
            })
            .collect();
        self.lists.insert(key, Arc::clone(&list));
        list
    }
}

/// One request goes to one capacity block.
fn is_capacity_block(offering: &Offering) -> bool {
    let reservation = offering.reservation.as_ref();
    reservation.is_some_and(|reservation| reservation.kind == ReservationType::CapacityBlock)
}

/// Whether one request can ask for both: capacity reservations of one kind only, that are interruptible or not.
fn is_bought_alike(one: &Offering, other: &Offering) -> bool {
    let kind = |offering: &Offering| {
        let reservation = offering.reservation.as_ref();
        reservation.map(|reservation| (reservation.kind, reservation.interruptible))
    };
    one.capacity_type == other.capacity_type && kind(one) == kind(other)
}

fn sort_key<'a>(problem: &'a Problem<'_>, bin: usize) -> impl Ord + 'a {
    let offering = problem.universe.offering(bin);
    let instance_type = problem.universe.instance_type(problem.universe.shape(bin));
    (
        offering.price,
        &instance_type.name,
        &offering.zone,
        offering.capacity_type,
        bin,
    )
}
