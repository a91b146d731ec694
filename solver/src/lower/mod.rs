//! Snapshot → Problem: names become indices, rules become bit sets, amounts become rows of integers.
//!
//! Nothing is decided here. What a rule excludes is gone from the problem; why it is gone, [`refusal`] can say.

pub mod accounts;
pub mod company;
pub mod compile;
pub mod existing;
pub mod group;
pub mod narrow;
pub mod prune;
pub mod refusal;
pub mod rules;
pub mod running;
pub mod selectors;
pub mod side;
pub mod terms;
pub mod topology;
pub mod universe;
pub mod variants;
pub mod wishes;

use std::collections::BTreeSet;
use std::sync::Arc;

use fixedbitset::FixedBitSet;
use ndarray::Array2;

use crate::model::instance_type::HOSTNAME_LABEL;
use crate::model::pod::PodSpec;
use crate::model::resources::{ResourceName, Resources};
use crate::model::snapshot::Snapshot;

use accounts::Accounts;
use compile::Context;
use existing::{DaemonPods, Existing, Room};
use group::{Group, Profile};
use narrow::{Member, Standing};
use prune::{Facts, Kind};
use rules::gang::{self, Gang, Refused};
use rules::min_values::{self, Demand, Outcome};
use rules::offerings::Supplies;
use rules::preferences::{self, Views};
use rules::requirements::Evaluator;
use rules::{accelerators, overhead, pod_affinity, resources, volumes, zone_imbalance};
use running::Running;
use selectors::Selectors;
use side::{Place, SideRows};
use topology::Topology;
use universe::Universe;
use wishes::Wishes;

/// What the engines work on.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    /// Where names are.
    pub snapshot: &'a Snapshot,
    /// Columns of all rows.
    pub resources: Vec<ResourceName>,
    /// Item classes, largest requests first.
    pub groups: Vec<Group>,
    /// Requests, a row a group.
    pub demand: Array2<u64>,
    /// What groups may use apart from room.
    pub profiles: Vec<Profile>,
    /// Every node that could be launched.
    pub universe: Universe<'a>,
    /// Bins that each profile may use.
    pub compatible: Vec<FixedBitSet>,
    /// Of each bin: its part.
    pub parts: Vec<usize>,
    /// Of each bin: indices of the DaemonSets that come with it.
    pub overhead: Vec<Arc<[usize]>>,
    /// Bin classes: the kinds of node worth launching, cheapest first.
    pub kinds: Vec<Kind>,
    /// Allocatable, a row a kind.
    pub allocatable: Array2<u64>,
    /// Kinds that each group may use and of which an empty one has room for it.
    pub usable: Vec<FixedBitSet>,
    /// Ranks of pool weights at which a group has usable kinds, heaviest first.
    pub tiers: Vec<Vec<usize>>,
    /// What limits of node pools and subnets leave.
    pub accounts: Accounts,
    /// How many there are of each limited offer.
    pub supplies: Vec<u64>,
    /// Nodes that take pods, in the order of filling.
    pub rooms: Vec<Room>,
    /// Pending DaemonSet pods of existing nodes.
    pub daemon_pods: DaemonPods,
    /// Gangs; none in a problem that is a part of another.
    pub gangs: Vec<Gang<'a>>,
    /// Domains of the topology keys in use.
    pub topology: Topology,
    /// What a packing keeps beside all this: rules about other pods, domains and ports.
    pub side: SideRows,
    /// What it may leave undone at a price.
    pub wishes: Wishes,
}

impl Problem<'_> {
    /// Requests of a group.
    #[must_use]
    pub fn request(&self, group: usize) -> &[u64] {
        let columns = self.resources.len();
        let all = self
            .demand
            .as_slice()
            .expect("made from rows, so in standard layout");
        &all[group * columns..(group + 1) * columns]
    }

    /// Room of an empty node of a kind.
    #[must_use]
    pub fn room(&self, kind: usize) -> &[u64] {
        let columns = self.resources.len();
        let all = self
            .allocatable
            .as_slice()
            .expect("made from rows, so in standard layout");
        &all[kind * columns..(kind + 1) * columns]
    }

    /// Room of a place: of an empty node of a kind, or what is free on a node that exists.
    #[must_use]
    pub fn room_of(&self, place: Place) -> &[u64] {
        match place {
            Place::Kind(kind) => self.room(kind),
            Place::Room(room) => &self.rooms[room].free,
        }
    }

    /// Pods of each group.
    #[must_use]
    pub fn counts(&self) -> Vec<u64> {
        let count = |group: &Group| u64::try_from(group.pods.len()).unwrap_or(u64::MAX);
        self.groups.iter().map(count).collect()
    }

    /// Whether limits, subnets or limited offers can stop a launch.
    #[must_use]
    pub fn is_restricted(&self) -> bool {
        self.kinds
            .iter()
            .any(|kind| kind.supply.is_some() || kind.usage.iter().any(|usage| *usage > 0))
    }

    /// Whether a pod's group alone tells the weight of the pools that it goes to: the heaviest that takes it. Limits, limited
    /// offers and rows across nodes may push some of its pods to lighter ones.
    #[must_use]
    pub fn weights_are_settled(&self) -> bool {
        let has_one_weight = self.kinds.iter().all(|kind| kind.tier == 0);
        has_one_weight || !self.is_restricted() && !self.side.span_nodes()
    }

    /// Whether what pods strand on nodes is weighed.
    #[must_use]
    pub fn weighs_stranding(&self) -> bool {
        // Asked for each node that is looked at: there are fewer policies than kinds.
        let mut weights = self.snapshot.objective.weights.values();
        weights.any(|weights| weights.fragmentation.micros() > 0)
    }

    /// Whether a packing is weighed by more than what its nodes cost and rows charge.
    #[must_use]
    pub fn weighs_more_than_nodes(&self) -> bool {
        !self.wishes.is_empty() || self.weighs_stranding()
    }

    /// What a bin's DaemonSets ask for.
    #[must_use]
    pub fn overhead_of(&self, bin: usize) -> Resources {
        let mut sum = Resources::new();
        for daemon_set in self.overhead[bin].iter() {
            sum.add_all(&self.snapshot.daemon_sets[*daemon_set].spec.requests);
        }
        sum
    }

    /// Room for pods on an empty node of a bin, headroom taken off; `None` where that and its DaemonSets alone don't fit.
    #[must_use]
    pub fn bin_room(&self, bin: usize) -> Option<Vec<u64>> {
        let shape = self.universe.shape(bin);
        let allocatable = &self.universe.instance_type(shape).allocatable;
        let mut taken = self.overhead_of(bin);
        if let Some(headroom) = overhead::headroom(self.snapshot, &self.universe.pool(shape).name) {
            taken.add_all(headroom);
        }
        room(&self.resources, allocatable, &taken)
    }
}

fn room(columns: &[ResourceName], allocatable: &Resources, overhead: &Resources) -> Option<Vec<u64>> {
    let mut room = resources::row(columns, allocatable);
    for (room, overhead) in room.iter_mut().zip(resources::row(columns, overhead)) {
        *room = room.checked_sub(overhead)?;
    }
    Some(room)
}

/// Lowers a snapshot.
#[must_use]
pub fn lower(snapshot: &Snapshot) -> Problem<'_> {
    lower_apart(snapshot, &[])
}

/// The same with nodes of different values of these topology keys told apart, whether or not a rule needs it: for
/// [`side`] rows that are filled in by hand.
#[must_use]
pub fn lower_apart<'a>(snapshot: &'a Snapshot, apart: &[&'a str]) -> Problem<'a> {
    lower_without(snapshot, apart, &gang::waiting(snapshot))
}

/// The same with no place for these gangs, rather than for those that have to wait.
#[must_use]
pub fn lower_without<'a>(snapshot: &'a Snapshot, apart: &[&'a str], refused: &Refused<'_>) -> Problem<'a> {
    lower_for(snapshot, apart, refused, u64::MAX)
}

/// The same for packings of so many launches at most: only subnets that could run out by them are counted.
#[must_use]
pub fn lower_for<'a>(
    snapshot: &'a Snapshot,
    apart: &[&'a str],
    refused: &Refused<'_>,
    most_launches: u64,
) -> Problem<'a> {
    let selectors = Selectors::of(snapshot);
    let (sets, pinned) = group::sets(snapshot, &selectors);
    let daemons: Vec<Profile> = snapshot
        .daemon_sets
        .iter()
        .map(|daemon_set| Profile::of(&daemon_set.spec))
        .collect();
    let requests = (sets.iter().map(|set| set.spec))
        .chain(snapshot.daemon_sets.iter().map(|daemon_set| &daemon_set.spec))
        .chain(pinned.iter().map(|pod| &snapshot.pods[*pod].spec))
        .map(|spec: &Arc<PodSpec>| &spec.requests)
        .chain(snapshot.placement.headroom.values());
    let columns = resources::columns(requests);
    let mut existing = Existing::new(snapshot, &columns);
    let daemon_pods = existing.place_daemons(&pinned);
    let standing = Standing {
        snapshot,
        selectors: &selectors,
        running: &Running::of(snapshot, &selectors, &daemon_pods),
    };
    let members: Vec<Member<'_, '_>> = sets.iter().map(Member::of).collect();
    let wishes = pod_affinity::wishes(standing, &members);
    let mut narrowings = narrow::narrowings(standing, &members, &wishes);
    gang::keep_out(refused, &sets, &mut narrowings);
    let grouping = group::group(snapshot, sets, narrowings);
    let mut topology_keys = topology::keys(snapshot, &grouping, &selectors);
    topology_keys.extend(apart);
    topology_keys.extend(zone_imbalance::keys(snapshot));
    let specs = || {
        grouping
            .groups
            .iter()
            .map(|group| &*snapshot.pods[group.pods[0]].spec)
    };
    let interests = universe::Interest {
        topology_keys: &topology_keys,
        preferred: specs()
            .flat_map(preferences::terms)
            .map(|term| &term.wish)
            .collect(),
        stated_keys: preferences::keys(specs()),
    };
    let universe = Universe::of(snapshot, &grouping.profiles, &daemons, interests);
    let (compatible, overhead) = evaluate(&universe, &grouping.profiles, &daemons);
    let launching = grouping.groups.iter().filter(|group| group.launches);
    let pods = launching.map(|group| u64::try_from(group.pods.len()).unwrap_or(u64::MAX));
    // Each launch is for a pod at least.
    let accounts = Accounts::of(snapshot, most_launches.min(pods.fold(0, u64::saturating_add)));
    let rooms = existing::rooms(existing, &grouping.profiles);
    let (topology, parts) = Topology::of(&universe, &rooms, &topology_keys);
    let rows = group::demand(snapshot, &grouping.groups, &columns);
    let mut problem = Problem {
        snapshot,
        demand: matrix(&rows, columns.len()),
        gangs: gang::gangs(snapshot, &grouping.groups, refused),
        resources: columns,
        groups: grouping.groups,
        profiles: grouping.profiles,
        universe,
        compatible,
        parts,
        overhead,
        kinds: Vec::new(),
        allocatable: Array2::zeros((0, 0)),
        usable: Vec::new(),
        tiers: Vec::new(),
        accounts,
        supplies: Vec::new(),
        rooms,
        daemon_pods,
        topology,
        side: SideRows::default(),
        wishes: Wishes::default(),
    };
    let views = Views::of(&problem.universe, &problem.groups);
    let free = free_profiles(&problem, &grouping.matches);
    let (kinds, supplies, has_lost) = kinds(&problem, &views, &free);
    problem.universe.has_every_choice &= !has_lost;
    add_kinds(&mut problem, kinds, supplies);
    let context = Context::new(&problem, standing, &grouping.matches, &problem.parts);
    let side = compile::compile(&context, &wishes);
    let wishes = Wishes {
        imbalances: zone_imbalance::compile(&problem),
        ..preferences::compile(&context, &views)
    };
    Problem {
        side,
        wishes,
        ..problem
    }
}

/// Bins by profile, and the DaemonSets of each bin.
fn evaluate<'e>(
    universe: &'e Universe<'e>,
    profiles: &'e [Profile],
    daemons: &'e [Profile],
) -> (Vec<FixedBitSet>, Vec<Arc<[usize]>>) {
    let mut evaluator = Evaluator::new(universe);
    let daemon_bins: Vec<FixedBitSet> = (daemons.iter())
        .map(|daemon| evaluator.bins(&daemon.spec, &daemon.selector))
        .collect();
    let kept = accelerators::kept(universe);
    let compatible: Vec<FixedBitSet> = (profiles.iter())
        .map(|profile| {
            let mut bins = evaluator.bins(&profile.spec, &profile.selector);
            volumes::narrow(&mut evaluator, &profile.spec, &mut bins);
            if profile.asks_for_no_accelerator {
                bins.difference_with(&kept);
            }
            for daemon_set in &profile.narrowing.without_daemons {
                bins.difference_with(&daemon_bins[*daemon_set]);
            }
            let companies = &profile.narrowing.company;
            company::narrow(universe, companies, daemons, &daemon_bins, &mut bins);
            bins
        })
        .collect();
    let mut overhead: Vec<Arc<[usize]>> = Vec::with_capacity(universe.bins.len());
    for bin in 0..universe.bins.len() {
        let here: Vec<usize> = (0..daemons.len())
            .filter(|daemon_set| daemon_bins[*daemon_set].contains(bin))
            .collect();
        // Neighbouring bins mostly have the same: share it.
        let shared = overhead.last().filter(|last| ***last == *here).map(Arc::clone);
        overhead.push(shared.unwrap_or_else(|| here.into()));
    }
    (compatible, overhead)
}

/// Profiles of which no pod has a rule about the parts that nodes are of, or is selected by anybody's.
fn free_profiles(problem: &Problem<'_>, matches: &[FixedBitSet]) -> FixedBitSet {
    let mut free = FixedBitSet::with_capacity(problem.profiles.len());
    free.insert_range(..);
    for (group, matches) in problem.groups.iter().zip(matches) {
        let rules = &problem.snapshot.pods[group.pods[0]].spec.rules;
        let has_own = rules.topology_keys().any(|key| key != HOSTNAME_LABEL);
        if has_own || !matches.is_clear() {
            free.remove(group.profile);
        }
    }
    free
}

/// The kinds worth launching, how many there are of each limited offer, and whether any lost room or profiles to companions.
fn kinds(problem: &Problem<'_>, views: &Views<'_>, free: &FixedBitSet) -> (Vec<Kind>, Vec<u64>, bool) {
    let mut rooms: Vec<Option<Vec<u64>>> = Vec::with_capacity(problem.universe.bins.len());
    for bin in 0..problem.universe.bins.len() {
        let like_the_last = bin > 0
            && problem.universe.bins[bin].shape == problem.universe.bins[bin - 1].shape
            && Arc::ptr_eq(&problem.overhead[bin], &problem.overhead[bin - 1]);
        let room = if like_the_last {
            rooms[bin - 1].clone()
        } else {
            problem.bin_room(bin)
        };
        rooms.push(room);
    }
    let mut supplies = Supplies::default();
    let tiers = ranks(problem.snapshot);
    let facts = Facts {
        universe: &problem.universe,
        rooms: &rooms,
        compatible: &problem.compatible,
        accounts: &problem.accounts,
        tiers: &tiers,
        parts: &problem.parts,
        views,
    };
    let merged = prune::merge(facts, &mut supplies);
    let launching = problem.groups.iter().enumerate();
    let demands: Vec<Demand<'_>> = launching
        .filter(|(_, group)| group.launches)
        .map(|(at, group)| Demand {
            profile: group.profile,
            request: problem.request(at),
        })
        .collect();
    let Outcome { kinds, has_lost } = min_values::keep(facts, merged, &demands, free);
    let kinds = prune::prune(kinds);
    (kinds, supplies.left, has_lost)
}

fn add_kinds(problem: &mut Problem<'_>, kinds: Vec<Kind>, supplies: Vec<u64>) {
    let rows: Vec<Vec<u64>> = kinds.iter().map(|kind| kind.room.clone()).collect();
    problem.allocatable = matrix(&rows, problem.resources.len());
    problem.kinds = kinds;
    problem.supplies = supplies;
    for group in 0..problem.groups.len() {
        let usable = usable(problem, group);
        problem.tiers.push(prune::tiers(&problem.kinds, &usable));
        problem.usable.push(usable);
    }
}

fn usable(problem: &Problem<'_>, group: usize) -> FixedBitSet {
    let mut usable = FixedBitSet::with_capacity(problem.kinds.len());
    let item = &problem.groups[group];
    if item.launches {
        for (index, kind) in problem.kinds.iter().enumerate() {
            let fits = resources::fits(problem.request(group), problem.room(index));
            usable.set(index, fits && kind.profiles.contains(item.profile));
        }
    }
    usable
}

/// Rank of each pool's weight among the weights in use.
fn ranks(snapshot: &Snapshot) -> Vec<usize> {
    let weights: BTreeSet<u32> = snapshot.node_pools.iter().map(|pool| pool.weight).collect();
    let heavier = |weight: u32| weights.iter().filter(|other| **other > weight).count();
    snapshot
        .node_pools
        .iter()
        .map(|pool| heavier(pool.weight))
        .collect()
}

fn matrix(rows: &[Vec<u64>], columns: usize) -> Array2<u64> {
    Array2::from_shape_vec((rows.len(), columns), rows.concat()).expect("every row has one entry a column")
}
