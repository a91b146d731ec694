//! Static NodePools: a pool with `replicas` keeps so many nodes, whatever pods there are.
//!
//! What it lacks is launched, as far as its limits go; nodes being deleted don't count as its nodes and still count towards
//! the limits. Karpenter leaves the type to the cloud provider, which takes the cheapest: so does this, offers that are
//! limited in number while there are some. Pods launch nothing from such a pool, but they may land on its nodes: those
//! to come are nodes in flight to everything that follows, so rules, limits and limited offers count them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::lower::universe::open_keys;
use crate::model::instance_type::{HOSTNAME_LABEL, InstanceType};
use crate::model::name::NodeName;
use crate::model::node::{Node, NodeStage};
use crate::model::node_pool::NodePool;
use crate::model::offering::{Offering, ReservationType};
use crate::model::requirement::{Labels, ValueSet};
use crate::model::resources::Resources;
use crate::model::snapshot::Snapshot;

use super::limits::Allowance;
use super::offerings::{self, Shared};
use super::subnets::{self, Addresses};
use super::{min_values, overhead, requirements, taints};

/// As many types as Karpenter once sent to EC2 at most.
const MOST_TYPES: usize = 60;

/// One node that a static pool lacks.
#[derive(Clone, Debug)]
pub struct Standing<'a> {
    /// Its pool.
    pub pool: &'a NodePool,
    /// What is launched.
    pub first: Choice<'a>,
    /// What may stand in for it while no pod is on it, by price; shared by nodes of one first choice.
    pub others: Arc<[Choice<'a>]>,
    /// The node in flight that it is to everything else.
    pub node: Node,
    /// Where it has its addresses, by index of the snapshot's subnets; `None`: nothing is known of them.
    pub subnet: Option<usize>,
}

/// One way to launch a node of a pool.
#[derive(Clone, Debug)]
pub struct Choice<'a> {
    /// The type.
    pub instance_type: &'a InstanceType,
    /// How it is bought.
    pub offering: &'a Offering,
    /// Values of the keys that the pool leaves open.
    pub chosen: Labels,
    /// All of its labels.
    labels: Labels,
}

/// How many nodes a static pool lacks, and how many of them its limit on nodes admits.
#[must_use]
pub fn missing(snapshot: &Snapshot, pool: &NodePool) -> (u64, u64) {
    let own = || {
        snapshot
            .nodes
            .iter()
            .filter(|node| node.node_pool.as_ref() == Some(&pool.name))
    };
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let running = count(own().filter(|node| !node.deleting).count());
    let lacks = pool.replicas.unwrap_or(0).saturating_sub(running);
    let room = pool
        .limits
        .nodes
        .map(|limit| limit.saturating_sub(count(own().count())));
    (lacks, room.map_or(lacks, |room| room.min(lacks)))
}

/// What all static pools launch.
#[must_use]
pub fn standing(snapshot: &Snapshot) -> Vec<Standing<'_>> {
    let mut taken: BTreeMap<Shared, u64> = BTreeMap::new();
    let keys = topology_keys(snapshot);
    let mut addresses = Addresses::of(snapshot, 0).left;
    let mut all = Vec::new();
    for pool in &snapshot.node_pools {
        let (_, number) = missing(snapshot, pool);
        if number == 0 {
            continue;
        }
        let choices = choices(snapshot, pool);
        let allowance = Allowance::of(snapshot, pool);
        let mut left = allowance.left.clone();
        // A pool may lack thousands of nodes, mostly of one kind.
        let mut known: BTreeMap<usize, Arc<[Choice<'_>]>> = BTreeMap::new();
        for at in 0..number {
            let is_left = |choice: &&Choice<'_>| {
                let shared = Shared::of(choice.instance_type, choice.offering);
                let usage = allowance.usage(choice.instance_type);
                shared.is_none_or(|shared| {
                    let used = shared.held(snapshot) + taken.get(&shared).copied().unwrap_or(0);
                    used < shared.number(snapshot)
                }) && (addresses.is_empty() || roomiest(snapshot, pool, choice, &addresses).is_some())
                    && usage.iter().zip(&left).all(|(usage, left)| usage <= left)
            };
            let Some(best) = choices.iter().position(|choice| is_left(&choice)) else {
                break;
            };
            let first = &choices[best];
            let others = known
                .entry(best)
                .or_insert_with(|| others(snapshot, pool, first, &choices, &keys).into());
            let others = Arc::clone(others);
            if !has_values(snapshot, pool, first, &others) {
                break;
            }
            if let Some(shared) = Shared::of(first.instance_type, first.offering) {
                *taken.entry(shared).or_default() += 1;
            }
            let subnet = roomiest(snapshot, pool, first, &addresses);
            if let Some(subnet) = subnet {
                addresses[subnet] -= subnets::needed(snapshot, &first.instance_type.capacity);
            }
            for (left, usage) in left.iter_mut().zip(allowance.usage(first.instance_type)) {
                *left -= usage;
            }
            all.push(Standing {
                pool,
                node: in_flight(snapshot, pool, first, at),
                first: first.clone(),
                others,
                subnet,
            });
        }
    }
    all
}

/// The snapshot with these nodes in flight; `None` where there are none.
#[must_use]
pub fn with(snapshot: &Snapshot, standing: &[Standing<'_>]) -> Option<Snapshot> {
    if standing.is_empty() {
        return None;
    }
    let mut parts = (**snapshot).clone();
    parts.nodes.extend(standing.iter().map(|one| one.node.clone()));
    for one in standing {
        if let Some(subnet) = one.subnet {
            let need = subnets::needed(snapshot, &one.first.instance_type.capacity);
            let free = &mut parts.subnets[subnet].free_addresses;
            *free = free.saturating_sub(need);
        }
    }
    // Only a node of the same name could be in the way, and no Kubernetes object has a slash in its name.
    parts.freeze().ok()
}

/// The subnet with most addresses left that has enough for a node, the first of several.
fn roomiest(snapshot: &Snapshot, pool: &NodePool, choice: &Choice<'_>, left: &[u64]) -> Option<usize> {
    let need = subnets::needed(snapshot, &choice.instance_type.capacity);
    let there = subnets::usable(snapshot, Some(snapshot.node_class(pool)), &choice.offering.zone);
    let enough = there.into_iter().filter(|subnet| left[*subnet] >= need);
    enough.rev().max_by_key(|subnet| left[*subnet])
}

/// Keys by which rules about pods tell nodes apart.
fn topology_keys(snapshot: &Snapshot) -> BTreeSet<&str> {
    let pods = snapshot.pods.iter().map(|pod| &pod.spec);
    let specs = pods.chain(snapshot.daemon_sets.iter().map(|daemon_set| &daemon_set.spec));
    let mut keys: BTreeSet<&str> = specs.flat_map(|spec| spec.rules.topology_keys()).collect();
    keys.remove(HOSTNAME_LABEL);
    keys
}

/// Every node that the pool could launch now and that has room for its DaemonSets, the cheapest first.
fn choices<'a>(snapshot: &'a Snapshot, pool: &'a NodePool) -> Vec<Choice<'a>> {
    let class = snapshot.node_class(pool);
    let typed_keys = requirements::typed_keys(class);
    let weights = snapshot.objective.weights(Some(&pool.name));
    let read = read(snapshot);
    let mut choices = Vec::new();
    for instance_type in &class.instance_types {
        let Some(open) = open_keys(pool, instance_type, &typed_keys) else {
            continue;
        };
        let chosen: Labels = open
            .iter()
            .filter_map(|(key, set)| Some((key.clone(), choose(set, read.get(key)?)?)))
            .collect();
        for offering in &instance_type.offerings {
            if !offerings::is_buyable(offering) || !requirements::pool_admits_offering(pool, offering) {
                continue;
            }
            let fixed = pool.requirements.iter().filter_map(|(key, set)| {
                let is_typed = requirements::is_decided_by_type(key, &typed_keys);
                Some((key.to_owned(), set.single().filter(|_| !is_typed)?.to_owned()))
            });
            let mut labels: Labels = fixed.collect();
            labels.extend(instance_type.labels_with(offering));
            labels.extend(pool.labels.clone());
            labels.extend(chosen.clone());
            let choice = Choice {
                instance_type,
                offering,
                chosen: chosen.clone(),
                labels,
            };
            if taken(snapshot, pool, &choice).fits(&instance_type.allocatable) {
                choices.push(choice);
            }
        }
    }
    choices.sort_by_key(|choice| {
        let cost = weights.node(choice.offering.price)
            + weights.interruptions(choice.instance_type.interruptions(choice.offering.capacity_type));
        // Of equally dear ones what is limited, since it is paid already, and then the largest.
        let cpu = choice
            .instance_type
            .capacity
            .get(&crate::model::resources::ResourceName::Cpu);
        (cost, choice.offering.limit.is_none(), Reverse(cpu))
    });
    choices
}

/// Keys that pods without a place and DaemonSets read, with what they want of them, and those by which rules tell nodes apart.
fn read(snapshot: &Snapshot) -> BTreeMap<String, Vec<ValueSet>> {
    let mut read: BTreeMap<String, Vec<ValueSet>> = BTreeMap::new();
    let waiting = snapshot.pods.iter().filter(|pod| snapshot.needs_place(pod));
    let daemon_sets = snapshot.daemon_sets.iter().map(|daemon_set| &daemon_set.spec);
    // Thousands of pods share a few specifications.
    let specs: BTreeSet<_> = waiting.map(|pod| &pod.spec).chain(daemon_sets).collect();
    for spec in specs {
        let selector = spec.selector_requirements();
        let terms = spec.node_affinity.iter().flat_map(|terms| &terms.0);
        let wanted = terms.flat_map(|term| term.expressions.iter());
        for (key, set) in selector.iter().chain(wanted) {
            read.entry(key.to_owned()).or_default().push(set.clone());
        }
    }
    for key in topology_keys(snapshot) {
        read.entry(key.to_owned()).or_default();
    }
    read
}

/// A value for an open key that somebody reads: `default` where that is one (of the tenancy others cost more), else the first
/// that is named, else one that is wanted.
fn choose(open: &ValueSet, wanted: &[ValueSet]) -> Option<String> {
    const USUAL: &str = "default";
    let first = |set: &ValueSet| set.finite()?.first().cloned();
    match open.finite() {
        Some(values) if values.contains(USUAL) => Some(USUAL.to_owned()),
        Some(_) => first(open),
        None => wanted.iter().find_map(|wanted| first(&open.intersect(wanted))),
    }
}

/// What DaemonSets and headroom take of a node.
fn taken(snapshot: &Snapshot, pool: &NodePool, choice: &Choice<'_>) -> Resources {
    let mut sum = daemons(snapshot, pool, &choice.labels);
    if let Some(headroom) = overhead::headroom(snapshot, &pool.name) {
        sum.add_all(headroom);
    }
    sum
}

fn daemons(snapshot: &Snapshot, pool: &NodePool, labels: &Labels) -> Resources {
    let mut labels = labels.clone();
    labels.insert(HOSTNAME_LABEL.to_owned(), requirements::NEW_HOSTNAME.to_owned());
    let mut sum = Resources::new();
    let expected = snapshot.daemon_sets.iter().filter(|daemon_set| {
        taints::refused_by(pool, &daemon_set.spec).is_none() && daemon_set.spec.admits_node(&labels, None)
    });
    expected.for_each(|daemon_set| sum.add_all(&daemon_set.spec.requests));
    sum
}

impl Standing<'_> {
    /// What its DaemonSets ask for.
    #[must_use]
    pub fn daemons(&self, snapshot: &Snapshot) -> Resources {
        daemons(snapshot, self.pool, &self.first.labels)
    }
}

/// What may stand in for a node without pods: as it is bought, no cheaper, in any number, with the same values of all keys by
/// which rules tell nodes apart, and taking no more of the limits.
fn others<'a>(
    snapshot: &Snapshot,
    pool: &NodePool,
    first: &Choice<'a>,
    choices: &[Choice<'a>],
    keys: &BTreeSet<&str>,
) -> Vec<Choice<'a>> {
    let kind = |choice: &Choice<'_>| {
        let reservation = choice.offering.reservation.as_ref();
        let kind = reservation.map(|reservation| (reservation.kind, reservation.interruptible));
        (choice.offering.capacity_type, kind)
    };
    let block = Some(ReservationType::CapacityBlock);
    let is_first = |choice: &Choice<'_>| {
        std::ptr::eq(choice.instance_type, first.instance_type)
            && std::ptr::eq(choice.offering, first.offering)
    };
    let allowance = Allowance::of(snapshot, pool);
    let most = allowance.usage(first.instance_type);
    if !snapshot.subnets.is_empty() {
        // Its addresses are in one subnet: nothing else has any.
        return Vec::new();
    }
    let stands_in = |choice: &&Choice<'a>| {
        let usage = allowance.usage(choice.instance_type);
        // An alternative without labels would have its launch's.
        let says_its_labels = !choice.chosen.is_empty() || first.chosen.is_empty();
        !is_first(choice)
            && says_its_labels
            && kind(choice) == kind(first)
            && kind(choice).1.map(|(kind, _)| kind) != block
            && choice.offering.price >= first.offering.price
            && choice.offering.limit.is_none()
            && keys
                .iter()
                .all(|key| choice.labels.get(*key) == first.labels.get(*key))
            && usage.iter().zip(&most).all(|(usage, most)| usage <= most)
    };
    let mut found: Vec<&Choice<'a>> = choices.iter().filter(stands_in).collect();
    found.sort_by_key(|choice| choice.offering.price);
    let mut types = BTreeSet::from([&first.instance_type.name]);
    let wants_more = pool.requirements.min_values().next().is_some();
    found.retain(|choice| {
        let name = &choice.instance_type.name;
        let is_kept = wants_more || types.len() < MOST_TYPES || types.contains(name);
        if is_kept {
            types.insert(name);
        }
        is_kept
    });
    found.into_iter().cloned().collect()
}

/// Whether a node and what may stand in for it have as many different values as minValues ask for.
fn has_values(snapshot: &Snapshot, pool: &NodePool, first: &Choice<'_>, others: &[Choice<'_>]) -> bool {
    let wanted = min_values::wanted(snapshot.min_values_policy, pool);
    wanted.into_iter().all(|(key, least)| {
        let all = others.iter().chain([first]);
        let values: BTreeSet<&String> = all.filter_map(|choice| choice.labels.get(key)).collect();
        values.len() >= least
    })
}

/// The node as it will be there. Where minValues ask for more than one type, which of them comes isn't known, so no pod
/// counts on it.
fn in_flight(snapshot: &Snapshot, pool: &NodePool, choice: &Choice<'_>, at: u64) -> Node {
    let name = NodeName::from(format!("static/{}/{at:06}", pool.name));
    let mut labels = choice.labels.clone();
    labels.insert(HOSTNAME_LABEL.to_owned(), name.to_string());
    let mut allocatable = choice.instance_type.allocatable.clone();
    if let Some(headroom) = overhead::headroom(snapshot, &pool.name) {
        allocatable.subtract_all(headroom);
    }
    Node {
        name,
        node_pool: Some(pool.name.clone()),
        stage: NodeStage::InFlight,
        // Its addresses are booked.
        launched: true,
        ready: false,
        unschedulable: pool.requirements.min_values().next().is_some(),
        deleting: false,
        labels,
        taints: pool.taints.clone(),
        capacity: choice.instance_type.capacity.clone(),
        allocatable,
        price: choice.offering.price,
        supply: choice
            .offering
            .supply()
            .filter(|_| choice.offering.limit.is_some()),
        created: None,
    }
}
