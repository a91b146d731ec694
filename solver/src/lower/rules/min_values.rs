//! minValues: a launch and what may stand in for it have so many different values of a key together.
//!
//! A kind of a NodePool that asks for that brings companions: bins of other values that must be able to stand in, so the
//! kind has the room that all of them have, the profiles that all of them admit, and takes from the limits what the largest
//! takes. Companions that cost nothing of that are preferred; where there are none, a kind becomes several, which lose
//! different profiles, and one more for each group of pods that would have no place otherwise. So a pod is left without a
//! place by this rule only where too few values hold it alone.
//!
//! Companions have the same chosen labels, and for pods that rules across nodes concern they are of the same part, where
//! their launch counts; for others they may be of any. What is reserved has companions of its kind of reservation. Offers
//! that are limited in number are no companions, since their number is booked for first choices.

use std::collections::{BTreeMap, BTreeSet};

use fixedbitset::FixedBitSet;

use crate::lower::prune::{Facts, Kind, prune};
use crate::lower::universe::Universe;
use crate::model::instance_type::INSTANCE_TYPE_LABEL;
use crate::model::node_pool::{MinValuesPolicy, NodePool};
use crate::model::offering::ReservationType;
use crate::model::requirement::Labels;

use super::{requirements, resources};

/// So many kinds at most are made of one that can't keep all of its profiles, beside those that single groups need.
const MOST_VERSIONS: usize = 8;

/// What a group of pods asks of a node.
#[derive(Clone, Copy, Debug)]
pub struct Demand<'a> {
    /// Its profile.
    pub profile: usize,
    /// Its requests.
    pub request: &'a [u64],
}

/// Kinds after the rule.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Those that are left, with companions where their NodePool wants them.
    pub kinds: Vec<Kind>,
    /// Whether some lost room or profiles to one choice of companions where another would have kept them: then no lower
    /// bound can be drawn from the kinds.
    pub has_lost: bool,
}

/// What a NodePool asks for that keeps to it strictly, by key.
#[must_use]
pub fn wanted(policy: MinValuesPolicy, pool: &NodePool) -> Vec<(&str, usize)> {
    if policy == MinValuesPolicy::BestEffort {
        return Vec::new();
    }
    let all = pool.requirements.min_values();
    all.map(|(key, least)| (key, usize::try_from(least).unwrap_or(usize::MAX)))
        .collect()
}

/// The value of a key that every node of a bin has: the offering's, the type's or the NodePool's, never a chosen one.
#[must_use]
pub fn value<'u>(universe: &'u Universe<'_>, bin: usize, key: &str) -> Option<&'u str> {
    if requirements::is_offering_key(key) {
        return universe.offering(bin).label(key);
    }
    let shape = universe.shape(bin);
    let instance_type = universe.instance_type(shape);
    if key == INSTANCE_TYPE_LABEL {
        return Some(instance_type.name.as_str());
    }
    let of_type = instance_type.labels.get(key);
    let of_pool = || universe.pool(shape).labels.get(key);
    let fixed = || universe.fixed[shape.pool].get(key);
    of_type.or_else(of_pool).or_else(fixed).map(String::as_str)
}

/// Gives kinds of NodePools with minValues their companions, and drops those that can't have enough.
///
/// `free` are the profiles whose pods no rule across nodes concerns.
#[must_use]
pub fn keep(facts: Facts<'_>, kinds: Vec<Kind>, demands: &[Demand<'_>], free: &FixedBitSet) -> Outcome {
    let snapshot = facts.universe.snapshot;
    let mut outcome = Outcome {
        kinds,
        has_lost: false,
    };
    for (at, pool) in snapshot.node_pools.iter().enumerate() {
        let wanted = wanted(snapshot.min_values_policy, pool);
        if !wanted.is_empty() {
            let (own, others): (Vec<Kind>, _) = outcome.kinds.into_iter().partition(|kind| kind.pool == at);
            outcome.kinds = others;
            let parts: BTreeSet<usize> = own.iter().map(|kind| kind.part).collect();
            let mut scopes = vec![(own.clone(), Scope::Part)];
            if parts.len() > 1 {
                scopes.push((for_profiles(own, free), Scope::Everywhere));
            }
            for (kinds, scope) in scopes {
                let mut chooser = Chooser::new(facts.universe, kinds, &wanted, scope, free);
                outcome.kinds.extend(chooser.keep(demands));
                outcome.has_lost |= chooser.has_lost;
            }
        }
    }
    outcome
}

/// The kinds for some profiles alone, as far as they are for any of them.
fn for_profiles(mut kinds: Vec<Kind>, some: &FixedBitSet) -> Vec<Kind> {
    for kind in &mut kinds {
        kind.profiles.intersect_with(some);
    }
    kinds.retain(|kind| !kind.profiles.is_clear());
    kinds
}

/// Where companions may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// In the part of their kind.
    Part,
    /// Anywhere.
    Everywhere,
}

/// A bin that may be a companion.
struct Candidate {
    kind: usize,
    bin: usize,
    /// By key: its value.
    values: Vec<Option<usize>>,
}

/// Where companions may come from: the part if that matters, the labels that were chosen, and what can be bought in one request
/// with it, where it is reserved.
type Place<'u> = (Option<usize>, &'u Labels, Option<Reserved<'u>>);

/// Type of the reservation, whether it is interruptible, and a capacity block's id.
type Reserved<'u> = (ReservationType, bool, Option<&'u str>);

/// Candidates of a place in other orders than by cost.
struct Orders {
    /// By resource: those with most room first.
    by_room: Vec<Vec<usize>>,
    /// By counter of the limits: those that take least first.
    by_usage: Vec<Vec<usize>>,
}

impl Orders {
    fn of(candidates: &[Candidate], kinds: &[Kind]) -> Self {
        let (resources, counters) = kinds
            .first()
            .map_or((0, 0), |kind| (kind.room.len(), kind.usage.len()));
        let of = |at: &usize| &kinds[candidates[*at].kind];
        let sorted = |key: &dyn Fn(&usize) -> u64| {
            let mut order: Vec<usize> = (0..candidates.len()).collect();
            order.sort_by_key(key);
            order
        };
        Self {
            by_room: (0..resources)
                .map(|column| sorted(&|at| u64::MAX - of(at).room[column]))
                .collect(),
            by_usage: (0..counters)
                .map(|counter| sorted(&|at| of(at).usage[counter]))
                .collect(),
        }
    }
}

struct Chooser<'u> {
    universe: &'u Universe<'u>,
    /// All kinds of the NodePool, none beaten.
    kinds: Vec<Kind>,
    /// By place, the cheapest first.
    candidates: BTreeMap<Place<'u>, Vec<Candidate>>,
    orders: BTreeMap<Place<'u>, Orders>,
    /// Values of each bin, by key.
    values: BTreeMap<usize, Vec<Option<usize>>>,
    /// By key: how many different values.
    needs: Vec<usize>,
    scope: Scope,
    /// Profiles that have kinds with companions of any part beside these.
    free: &'u FixedBitSet,
    has_lost: bool,
}

/// Values of the launch so far, by key.
struct Values(Vec<BTreeSet<usize>>);

impl Values {
    fn of(values: &[Option<usize>]) -> Self {
        Self(
            values
                .iter()
                .map(|value| value.iter().copied().collect())
                .collect(),
        )
    }

    fn is_enough(&self, needs: &[usize]) -> bool {
        self.0
            .iter()
            .zip(needs)
            .all(|(values, need)| values.len() >= *need)
    }

    /// Whether a candidate has a value that is still needed.
    fn lacks(&self, candidate: &Candidate, needs: &[usize]) -> bool {
        let keys = self.0.iter().zip(needs).zip(&candidate.values);
        keys.into_iter().any(|((values, need), value)| {
            values.len() < *need && value.is_some_and(|value| !values.contains(&value))
        })
    }

    fn add(&mut self, candidate: &Candidate) {
        for (values, value) in self.0.iter_mut().zip(&candidate.values) {
            values.extend(value);
        }
    }
}

impl<'u> Chooser<'u> {
    fn new(
        universe: &'u Universe<'u>,
        kinds: Vec<Kind>,
        wanted: &[(&str, usize)],
        scope: Scope,
        free: &'u FixedBitSet,
    ) -> Self {
        let mut known: BTreeMap<(usize, &str), usize> = BTreeMap::new();
        let mut candidates: BTreeMap<Place<'u>, Vec<Candidate>> = BTreeMap::new();
        let mut values_of: BTreeMap<usize, Vec<Option<usize>>> = BTreeMap::new();
        let mut order: Vec<usize> = (0..kinds.len()).collect();
        order.sort_by_key(|kind| (kinds[*kind].cost, kinds[*kind].bins.first().copied()));
        for kind in order {
            let mut seen = BTreeSet::new();
            for bin in &kinds[kind].bins {
                let keys = wanted.iter().enumerate();
                let values: Vec<Option<usize>> = keys
                    .map(|(at, (key, _))| {
                        let value = value(universe, *bin, key)?;
                        let next = known.len();
                        Some(*known.entry((at, value)).or_insert(next))
                    })
                    .collect();
                values_of.insert(*bin, values.clone());
                if seen.insert(values.clone()) {
                    let place = place(universe, scope, &kinds[kind], *bin);
                    candidates.entry(place).or_default().push(Candidate {
                        kind,
                        bin: *bin,
                        values,
                    });
                }
            }
        }
        Self {
            universe,
            kinds,
            candidates,
            orders: BTreeMap::new(),
            values: values_of,
            needs: wanted.iter().map(|(_, least)| *least).collect(),
            scope,
            free,
            has_lost: false,
        }
    }

    /// The kinds with companions.
    fn keep(&mut self, demands: &[Demand<'_>]) -> Vec<Kind> {
        self.drop_hopeless_profiles();
        let places = self.candidates.iter();
        self.orders = places
            .map(|(place, candidates)| (*place, Orders::of(candidates, &self.kinds)))
            .collect();
        let mut firsts = prune(self.kinds.clone());
        for kind in &mut firsts {
            self.clip(kind);
        }
        let mut kept = Vec::new();
        for kind in &firsts {
            kept.extend(self.versions(kind));
        }
        for demand in demands {
            let has_place = |kind: &Kind| {
                kind.profiles.contains(demand.profile) && resources::fits(demand.request, &kind.room)
            };
            if !kept.iter().any(has_place) && self.is_reachable(&has_place) {
                kept.extend(firsts.iter().filter(|kind| has_place(kind)).find_map(|kind| {
                    let allowed = |other: &Kind| has_place(other);
                    let companions = self.nearest(kind, &allowed)?;
                    Some(self.with(kind, &companions))
                }));
            }
        }
        kept
    }

    /// Takes profiles from kinds of places where too few values admit them, limited offers counted: whatever the
    /// companions there are, a launch for them can't have enough. Limited offers are no companions from here on.
    fn drop_hopeless_profiles(&mut self) {
        let several_places = self.candidates.len() > 1;
        for candidates in self.candidates.values_mut() {
            let mut of_profiles: BTreeMap<usize, Values> = BTreeMap::new();
            for candidate in candidates.iter() {
                for profile in self.kinds[candidate.kind].profiles.ones() {
                    let values = of_profiles.entry(profile);
                    values
                        .or_insert_with(|| Values::of(&candidate.values))
                        .add(candidate);
                }
            }
            of_profiles.retain(|_, values| !values.is_enough(&self.needs));
            for candidate in candidates.iter() {
                for hopeless in of_profiles.keys() {
                    let profiles = &mut self.kinds[candidate.kind].profiles;
                    // Where no row counts its pods, companions of another place would have done.
                    let is_settled = self.scope == Scope::Part && self.free.contains(*hopeless);
                    self.has_lost |= several_places && !is_settled && profiles.contains(*hopeless);
                    profiles.remove(*hopeless);
                }
            }
            candidates.retain(|candidate| self.kinds[candidate.kind].supply.is_none());
        }
    }

    /// Takes from a kind the room that no companions could have beside it, and adds what they must take from the limits,
    /// each resource by itself: so much is lost whichever they are.
    fn clip(&self, kind: &mut Kind) {
        let Some((candidates, own)) = self.beside(kind) else {
            return;
        };
        let key = kind
            .bins
            .first()
            .map(|bin| place(self.universe, self.scope, kind, *bin));
        let Some(orders) = key
            .and_then(|key| self.orders.get(&key))
            .filter(|_| !own.is_enough(&self.needs))
        else {
            return;
        };
        // The first in this order at which there are enough values.
        let enough = |order: &[usize]| {
            let mut values = Values(own.0.clone());
            order.iter().map(|at| &candidates[*at]).find(|candidate| {
                values.add(candidate);
                values.is_enough(&self.needs)
            })
        };
        for (at, order) in orders.by_room.iter().enumerate() {
            if let Some(last) = enough(order) {
                kind.room[at] = kind.room[at].min(self.kinds[last.kind].room[at]);
            }
        }
        for (at, order) in orders.by_usage.iter().enumerate() {
            if let Some(last) = enough(order) {
                kind.usage[at] = kind.usage[at].max(self.kinds[last.kind].usage[at]);
            }
        }
    }

    /// Whether in some place enough values can take a demand.
    fn is_reachable(&self, has_place: &dyn Fn(&Kind) -> bool) -> bool {
        self.candidates.values().any(|candidates| {
            let mut values = Values(vec![BTreeSet::new(); self.needs.len()]);
            let able = candidates.iter();
            for candidate in able.filter(|candidate| has_place(&self.kinds[candidate.kind])) {
                values.add(candidate);
            }
            values.is_enough(&self.needs)
        })
    }

    /// The kind with companions that take nothing from it; else several that take different things.
    fn versions(&mut self, kind: &Kind) -> Vec<Kind> {
        if kind.profiles.is_clear() {
            return Vec::new();
        }
        let whole = |other: &Kind| {
            kind.profiles.is_subset(&other.profiles)
                && resources::fits(&kind.room, &other.room)
                && resources::fits(&other.usage, &kind.usage)
        };
        if let Some(companions) = self.cheapest(kind, &whole) {
            return vec![self.with(kind, &companions)];
        }
        self.has_lost = true;
        let mut versions: Vec<Kind> = Vec::new();
        for profile in kind.profiles.ones() {
            if versions.len() == MOST_VERSIONS {
                break;
            }
            if versions.iter().any(|version| version.profiles.contains(profile)) {
                continue;
            }
            let admits = |other: &Kind| other.profiles.contains(profile);
            if let Some(companions) = self.nearest(kind, &admits) {
                versions.push(self.with(kind, &companions));
            }
        }
        versions
    }

    /// What may stand in for a kind, and its own values.
    fn beside(&self, kind: &Kind) -> Option<(&[Candidate], Values)> {
        let bin = *kind.bins.first()?;
        let candidates = self
            .candidates
            .get(&place(self.universe, self.scope, kind, bin))?;
        let values = Values::of(self.values.get(&bin)?);
        Some((candidates, values))
    }

    /// Companions among those that are allowed, the cheapest first.
    fn cheapest(&self, kind: &Kind, allowed: &dyn Fn(&Kind) -> bool) -> Option<Vec<usize>> {
        let (candidates, mut values) = self.beside(kind)?;
        let mut chosen = Vec::new();
        for (at, candidate) in candidates.iter().enumerate() {
            if values.is_enough(&self.needs) {
                break;
            }
            if values.lacks(candidate, &self.needs) && allowed(&self.kinds[candidate.kind]) {
                values.add(candidate);
                chosen.push(at);
            }
        }
        values.is_enough(&self.needs).then_some(chosen)
    }

    /// The same, those first that take the least room and the fewest profiles.
    fn nearest(&self, kind: &Kind, allowed: &dyn Fn(&Kind) -> bool) -> Option<Vec<usize>> {
        let (candidates, mut values) = self.beside(kind)?;
        let mut chosen = Vec::new();
        while !values.is_enough(&self.needs) {
            let useful = candidates.iter().enumerate().filter(|(_, candidate)| {
                values.lacks(candidate, &self.needs) && allowed(&self.kinds[candidate.kind])
            });
            // Of equally near ones the cheapest, which comes first.
            let (at, candidate) = useful.max_by_key(|(at, candidate)| {
                (
                    kept_share(kind, &self.kinds[candidate.kind]),
                    std::cmp::Reverse(*at),
                )
            })?;
            values.add(candidate);
            chosen.push(at);
        }
        Some(chosen)
    }

    /// A kind with companions.
    fn with(&self, kind: &Kind, companions: &[usize]) -> Kind {
        let mut result = kind.clone();
        result.bins.truncate(1);
        let Some((candidates, _)) = self.beside(kind) else {
            return result;
        };
        for candidate in companions.iter().map(|at| &candidates[*at]) {
            let other = &self.kinds[candidate.kind];
            for (room, there) in result.room.iter_mut().zip(&other.room) {
                *room = (*room).min(*there);
            }
            for (usage, more) in result.usage.iter_mut().zip(&other.usage) {
                *usage = (*usage).max(*more);
            }
            result.profiles.intersect_with(&other.profiles);
            result.companions.push(candidate.bin);
        }
        result.companions.sort_unstable();
        result
    }
}

fn place<'u>(universe: &'u Universe<'_>, scope: Scope, kind: &Kind, bin: usize) -> Place<'u> {
    let part = (scope == Scope::Part).then_some(kind.part);
    let reserved = universe.offering(bin).reservation.as_ref().map(|reservation| {
        let is_block = reservation.kind == ReservationType::CapacityBlock;
        let id = is_block.then_some(reservation.id.as_str());
        (reservation.kind, reservation.interruptible, id)
    });
    (part, &universe.variants[universe.shape(bin).variant], reserved)
}

/// Thousandths of a kind's room and profiles that a companion leaves, summed over resources.
fn kept_share(kind: &Kind, other: &Kind) -> u128 {
    let share = |part: u64, whole: u64| (u128::from(part.min(whole)) * 1_000).checked_div(u128::from(whole));
    let rooms = other.room.iter().zip(&kind.room);
    let of_room: u128 = rooms.filter_map(|(there, own)| share(*there, *own)).sum();
    let both = kind.profiles.intersection(&other.profiles).count();
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    of_room + share(count(both), count(kind.profiles.count_ones(..))).unwrap_or(0)
}
