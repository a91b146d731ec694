//! What each launch of the plan may become: its offers as nodes to come, shared between launches that are alike.
//!
//! Promises: the work grows with the different fillings and offers, not with launches × alternatives. A large plan
//! repeats few fillings often, and their alternatives are one shared allocation: two launches of one NodePool, with the
//! same labels, the same first choice, the same alternatives (the very allocation) and the same pods but for their
//! names are judged together.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::model::instance_type::InstanceType;
use crate::model::money::Price;
use crate::model::name::{InstanceTypeName, SubnetId, ZoneName};
use crate::model::node_pool::{NodeClass, NodePool};
use crate::model::offering::{CapacityType, Offering};
use crate::model::plan::{Launch, PlanBody};
use crate::model::requirement::Labels;

use super::placement::Placed;
use super::prospect::{Prospect, typed_keys};
use super::world::{Amounts, Sums, World, add};
use super::{Rule, Violations};

/// One offer that a plan names.
#[derive(Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) instance_type: &'a InstanceTypeName,
    pub(super) zone: &'a ZoneName,
    pub(super) subnet: Option<&'a SubnetId>,
    pub(super) capacity_type: CapacityType,
    /// The capacity reservation; `None`: none is named.
    pub(super) reservation: Option<&'a str>,
    pub(super) price: Price,
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            instance_type,
            zone,
            subnet: _,
            capacity_type,
            reservation,
            price,
        } = self;
        write!(f, "{instance_type} in {zone}, {capacity_type}")?;
        if let Some(reservation) = reservation {
            write!(f, " of {reservation}")?;
        }
        write!(f, ", at {price}")
    }
}

/// An offer of a launch and the nodes to come that it may mean.
pub(super) struct Offer<'a> {
    pub(super) named: Named<'a>,
    /// Position in [`Launches::prospects`]; `None`: the catalogue has no such offer.
    pub(super) prospect: Option<usize>,
    /// All positions that the name may mean; more than one where reservations have the same price.
    pub(super) all: Vec<usize>,
}

/// Launches that are alike but for the names of their pods.
pub(super) struct Filling<'a> {
    pub(super) pool: &'a NodePool,
    /// Number of the first launch.
    pub(super) launch: usize,
    /// How many launches.
    pub(super) count: usize,
    pub(super) first: Offer<'a>,
    /// Position in [`Launches::lists`].
    pub(super) list: usize,
    /// Different [`super::world::PodGroup::constraint`]s of the pods.
    pub(super) constraints: Vec<usize>,
    /// What the pods ask for together, DaemonSets not counted.
    pub(super) requests: Sums,
}

impl Filling<'_> {
    /// `launch/3 and 12 like it`.
    pub(super) fn name(&self) -> String {
        if self.count == 1 {
            format!("launch/{}", self.launch)
        } else {
            format!("launch/{} and {} like it", self.launch, self.count - 1)
        }
    }

    /// The same, under one offer.
    pub(super) fn name_as(&self, offer: &Offer<'_>) -> String {
        format!("{} as {}", self.name(), offer.named)
    }
}

/// Alternatives of launches that share them: what depends on nothing else is judged once.
pub(super) struct List<'a> {
    pub(super) offers: Vec<Offer<'a>>,
    /// Number of the first launch that has it.
    pub(super) launch: usize,
    /// Offers that stand for all: every other has the room and the DaemonSets of one of these.
    pub(super) rooms: Vec<usize>,
    /// Offers that may be limited in number.
    pub(super) limited: Vec<usize>,
    /// The most raw capacity of each resource.
    pub(super) largest: Amounts,
}

/// All launches.
#[derive(Default)]
pub(super) struct Launches<'a> {
    pub(super) fillings: Vec<Filling<'a>>,
    /// Filling of each launch; `None` where its NodePool isn't there.
    pub(super) filling_of: Vec<Option<usize>>,
    pub(super) prospects: Vec<Prospect<'a>>,
    pub(super) lists: Vec<List<'a>>,
}

impl<'a> Launches<'a> {
    /// The first choice, and alternatives that stand for all as far as room goes.
    pub(super) fn rooms<'s>(&'s self, filling: &'s Filling<'a>) -> impl Iterator<Item = &'s Offer<'a>> {
        let list = &self.lists[filling.list];
        let alternatives = list.rooms.iter().map(|at| &list.offers[*at]);
        std::iter::once(&filling.first).chain(alternatives)
    }

    /// The node to come that an offer means.
    pub(super) fn prospect(&self, offer: &Offer<'_>) -> Option<&Prospect<'a>> {
        offer.prospect.map(|at| &self.prospects[at])
    }

    pub(super) fn resolve(
        world: &World<'a>,
        plan: &'a PlanBody,
        placed: &Placed,
        found: &mut Violations,
    ) -> Self {
        let mut resolver = Resolver::new(world);
        let mut by_key: BTreeMap<Key<'_>, usize> = BTreeMap::new();
        for (at, launch) in plan.launch.iter().enumerate() {
            let snapshot = world.snapshot;
            let position = snapshot
                .node_pools
                .binary_search_by(|pool| pool.name.cmp(&launch.node_pool));
            let Ok(pool) = position else {
                found.add(
                    Rule::Offerings,
                    format!("launch/{at}"),
                    format!("node pool {} isn't there", launch.node_pool),
                );
                resolver.launches.filling_of.push(None);
                continue;
            };
            let mut groups: Vec<usize> = placed.in_launch[at]
                .iter()
                .map(|pod| world.group_of[*pod])
                .collect();
            groups.sort_unstable();
            let key = Key {
                pool,
                labels: &launch.labels,
                first: (
                    &launch.instance_type,
                    &launch.zone,
                    &launch.subnet,
                    launch.capacity_type,
                    launch.reservation_id.as_deref(),
                    launch.price,
                ),
                alternatives: (launch.alternatives.as_ptr() as usize, launch.alternatives.len()),
                groups,
            };
            let filling = if let Some(filling) = by_key.get(&key) {
                resolver.launches.fillings[*filling].count += 1;
                *filling
            } else {
                let filling = resolver.filling(world, pool, at, launch, &key.groups);
                resolver.launches.fillings.push(filling);
                let position = resolver.launches.fillings.len() - 1;
                by_key.insert(key, position);
                position
            };
            resolver.launches.filling_of.push(Some(filling));
        }
        resolver.launches
    }
}

/// What makes launches alike.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    pool: usize,
    groups: Vec<usize>,
    /// Address and length: the plan keeps the allocation alive, so the same address is the same content. Only ever
    /// compared for a memo; no order that anybody sees comes from it.
    alternatives: (usize, usize),
    first: (
        &'a InstanceTypeName,
        &'a ZoneName,
        &'a Option<SubnetId>,
        CapacityType,
        Option<&'a str>,
        Price,
    ),
    labels: &'a Labels,
}

/// Position of a NodePool, an instance type and an offering, and the labels chosen.
type ProspectKey<'a> = (usize, usize, usize, &'a Labels);

struct Resolver<'w, 'a> {
    world: &'w World<'a>,
    launches: Launches<'a>,
    classes: Vec<(&'a NodeClass, BTreeSet<&'a str>)>,
    by_key: BTreeMap<ProspectKey<'a>, usize>,
    lists: BTreeMap<(usize, (usize, usize), &'a Labels), usize>,
}

impl<'w, 'a> Resolver<'w, 'a> {
    fn new(world: &'w World<'a>) -> Self {
        let snapshot = world.snapshot;
        let classes = snapshot.node_pools.iter().map(|pool| snapshot.node_class(pool));
        Self {
            world,
            launches: Launches::default(),
            classes: classes.map(|class| (class, typed_keys(class))).collect(),
            by_key: BTreeMap::new(),
            lists: BTreeMap::new(),
        }
    }

    fn filling(
        &mut self,
        world: &World<'_>,
        pool: usize,
        at: usize,
        launch: &'a Launch,
        groups: &[usize],
    ) -> Filling<'a> {
        let mut requests = world.zero();
        for group in groups {
            add(&mut requests, &world.groups[*group].requests);
        }
        let constraints: BTreeSet<usize> = groups
            .iter()
            .map(|group| world.groups[*group].constraint)
            .collect();
        let first = Named {
            instance_type: &launch.instance_type,
            zone: &launch.zone,
            subnet: launch.subnet.as_ref(),
            capacity_type: launch.capacity_type,
            reservation: launch.reservation_id.as_deref(),
            price: launch.price,
        };
        Filling {
            pool: &self.world.snapshot.node_pools[pool],
            launch: at,
            count: 1,
            first: self.offer(pool, first, &launch.labels),
            list: self.list(pool, at, launch),
            constraints: constraints.into_iter().collect(),
            requests,
        }
    }

    fn list(&mut self, pool: usize, at: usize, launch: &'a Launch) -> usize {
        let alternatives = &launch.alternatives;
        let address = (alternatives.as_ptr() as usize, alternatives.len());
        let key = (pool, address, &launch.labels);
        if let Some(list) = self.lists.get(&key) {
            return *list;
        }
        let offers = alternatives.iter().map(|alternative| {
            let named = Named {
                instance_type: &alternative.instance_type,
                zone: &alternative.zone,
                subnet: alternative.subnet.as_ref(),
                capacity_type: alternative.capacity_type,
                reservation: alternative.reservation_id.as_deref(),
                price: alternative.price,
            };
            let labels = if alternative.labels.is_empty() {
                &launch.labels
            } else {
                &alternative.labels
            };
            self.offer(pool, named, labels)
        });
        let offers: Vec<Offer<'a>> = offers.collect();
        let list = self.summarise(at, offers);
        self.launches.lists.push(list);
        let position = self.launches.lists.len() - 1;
        self.lists.insert(key, position);
        position
    }

    fn summarise(&self, launch: usize, offers: Vec<Offer<'a>>) -> List<'a> {
        let mut seen: BTreeSet<(&Amounts, &Sums)> = BTreeSet::new();
        let mut largest = vec![0; self.world.resources.len()];
        let (mut rooms, mut limited) = (Vec::new(), Vec::new());
        let mut last_type: Option<&InstanceType> = None;
        for (at, offer) in offers.iter().enumerate() {
            let Some(prospect) = self.launches.prospect(offer) else {
                continue;
            };
            if seen.insert((&prospect.allocatable, &prospect.overhead)) {
                rooms.push(at);
            }
            if offer
                .all
                .iter()
                .all(|at| self.launches.prospects[*at].offering.limit.is_some())
            {
                limited.push(at);
            }
            if !last_type.is_some_and(|last| std::ptr::eq(last, prospect.instance_type)) {
                last_type = Some(prospect.instance_type);
                let capacity = self.world.amounts(&prospect.instance_type.capacity);
                for (most, amount) in largest.iter_mut().zip(capacity) {
                    *most = amount.max(*most);
                }
            }
        }
        List {
            offers,
            launch,
            rooms,
            limited,
            largest,
        }
    }

    fn offer(&mut self, pool: usize, named: Named<'a>, labels: &'a Labels) -> Offer<'a> {
        let class = self.classes[pool].0;
        let types = &class.instance_types;
        let mut all = Vec::new();
        if let Ok(at) = types.binary_search_by(|instance_type| instance_type.name.cmp(named.instance_type)) {
            let instance_type = &types[at];
            for (number, offering) in instance_type.offerings.iter().enumerate() {
                if offering.zone == *named.zone
                    && offering.capacity_type == named.capacity_type
                    && offering.price == named.price
                    && named
                        .reservation
                        .is_none_or(|id| offering.reservation_id() == Some(id))
                    && offering.available
                {
                    all.push(self.prospect((pool, at, number, labels), instance_type, offering));
                }
            }
        }
        let sound = |at: &&usize| self.launches.prospects[**at].findings.is_empty();
        let prospect = all.iter().find(sound).or(all.first()).copied();
        if all.len() > 1 {
            all.retain(|at| self.launches.prospects[*at].findings.is_empty());
        }
        Offer { named, prospect, all }
    }

    fn prospect(
        &mut self,
        key: ProspectKey<'a>,
        instance_type: &'a InstanceType,
        offering: &'a Offering,
    ) -> usize {
        if let Some(prospect) = self.by_key.get(&key) {
            return *prospect;
        }
        let (pool, _, _, labels) = key;
        let typed = &self.classes[pool].1;
        let pool = &self.world.snapshot.node_pools[pool];
        let prospect = Prospect::new(self.world, pool, typed, instance_type, offering, labels);
        self.launches.prospects.push(prospect);
        let position = self.launches.prospects.len() - 1;
        self.by_key.insert(key, position);
        position
    }
}
