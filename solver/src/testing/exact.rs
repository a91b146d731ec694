//! The exact optimum of tiny problems, by enumeration.
//!
//! Promises: the least weighted objective at which every pod that needs a place has one, over all ways to share the
//! pods between existing nodes and nodes to launch, each in every offer and with every choice of open labels, under
//! limits, numbers of offers and addresses of subnets. Meant for at most six pods; the time doubles and more with each. A node to launch is
//! taken at its first choice alone, which is what a plan without alternatives would be held to.
//!
//! NodePool weights: a pod goes to pools of the highest weight that can take it alone on an empty node.

use std::collections::BTreeSet;

use crate::model::instance_type::{CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, InstanceType, ZONE_LABEL};
use crate::model::money::Cost;
use crate::model::node::Node;
use crate::model::node_pool::NodePool;
use crate::model::offering::Offering;
use crate::model::pod::{Pod, PodSpec};
use crate::model::requirement::Labels;
use crate::model::resources::ResourceName;
use crate::model::snapshot::Snapshot;

use super::naive;

/// Pods beyond this take too long.
const MOST_PODS: usize = 6;

/// A node that could be launched: pool, type, offering and the values of open keys.
struct Candidate<'a> {
    pool: &'a NodePool,
    instance_type: &'a InstanceType,
    offering: &'a Offering,
    objective: Cost,
    /// Sets of pods that it holds, as bits.
    holds: BTreeSet<u32>,
}

/// Pods that need a place and no DaemonSet owns.
#[must_use]
pub fn wanting(snapshot: &Snapshot) -> Vec<&Pod> {
    let pods = snapshot.pods.iter();
    pods.filter(|pod| snapshot.needs_place(pod) && !pod.is_daemon())
        .collect()
}

/// The least objective with all pods placed; `None` when they can't all be.
///
/// # Panics
/// Beyond six pods.
#[must_use]
pub fn optimum(snapshot: &Snapshot) -> Option<Cost> {
    let pods = wanting(snapshot);
    assert!(pods.len() <= MOST_PODS, "{} pods take too long", pods.len());
    let all = (1_u32 << pods.len()) - 1;
    let objective = &snapshot.objective;
    let standing: Cost = snapshot
        .nodes
        .iter()
        .filter(|node| !node.deleting)
        .map(|node| {
            objective.weights(node.node_pool.as_ref()).node(node.price) + snapshot.interruptions_of(node)
        })
        .sum();
    let candidates = candidates(snapshot, &pods);
    let nodes: Vec<BTreeSet<u32>> = snapshot
        .nodes
        .iter()
        .map(|node| {
            let takes = |set: &u32| *set == 0 || naive::takes(snapshot, node, &members(&pods, *set));
            (0..=all).filter(takes).collect()
        })
        .collect();
    let mut search = Search {
        snapshot,
        candidates,
        best: None,
        launched: Vec::new(),
    };
    let mut rests = BTreeSet::from([all]);
    for takes in &nodes {
        let fits = |rest: u32| takes.iter().filter(move |set| **set & !rest == 0);
        rests = rests
            .iter()
            .flat_map(|rest| fits(*rest).map(move |set| rest & !set))
            .collect();
    }
    for rest in rests {
        search.launch(rest, standing);
    }
    search.best
}

fn members<'a>(pods: &[&'a Pod], set: u32) -> Vec<&'a Pod> {
    let bit = |at: usize| set & (1 << at) != 0;
    let chosen = pods.iter().enumerate().filter(|(at, _)| bit(*at));
    chosen.map(|(_, pod)| *pod).collect()
}

struct Search<'a> {
    snapshot: &'a Snapshot,
    candidates: Vec<Candidate<'a>>,
    best: Option<Cost>,
    launched: Vec<usize>,
}

impl Search<'_> {
    /// Launches for the pods in `rest`, the first of them first.
    fn launch(&mut self, rest: u32, spent: Cost) {
        if self.best.is_some_and(|best| spent >= best) {
            return;
        }
        if rest == 0 {
            self.best = Some(spent);
            return;
        }
        let first = rest & rest.wrapping_neg();
        for at in 0..self.candidates.len() {
            if !self.may_launch(at) {
                continue;
            }
            let sets: Vec<u32> = self.candidates[at]
                .holds
                .iter()
                .copied()
                .filter(|set| set & first != 0 && set & !rest == 0)
                .collect();
            let spent = spent + self.candidates[at].objective;
            self.launched.push(at);
            for set in sets {
                self.launch(rest & !set, spent);
            }
            self.launched.pop();
        }
    }

    /// Whether limits and the number of its offer allow one more.
    fn may_launch(&self, at: usize) -> bool {
        let candidate = &self.candidates[at];
        let pool = candidate.pool;
        let same_pool = || {
            let launched = self.launched.iter().chain([&at]);
            launched
                .map(|at| &self.candidates[*at])
                .filter(|other| other.pool.name == pool.name)
        };
        let there = || {
            let nodes = self.snapshot.nodes.iter();
            nodes.filter(|node| node.node_pool.as_ref() == Some(&pool.name))
        };
        let count = u64::try_from(same_pool().count() + there().count()).unwrap();
        let nodes = pool.limits.nodes.is_none_or(|limit| count <= limit);
        let amounts = pool.limits.resources.iter().all(|(name, limit)| {
            let existing: u64 = there().map(|node| node.capacity.get(name).get()).sum();
            let launched: u64 = same_pool()
                .map(|other| other.instance_type.capacity.get(name).get())
                .sum();
            candidate.instance_type.capacity.get(name).get() == 0 || existing + launched <= limit.get()
        });
        let offers = candidate.offering.limit.is_none_or(|_| {
            let launched = self.launched.iter().chain([&at]);
            let same = launched
                .map(|at| &self.candidates[*at])
                .filter(|other| share(candidate, other))
                .count();
            let sharing = self.candidates.iter().filter(|other| share(candidate, other));
            let number = sharing.filter_map(|other| other.offering.limit).min().unwrap();
            let held = self.snapshot.nodes.iter().filter(|node| holds(node, candidate));
            u64::try_from(same + held.count()).unwrap() <= u64::from(number)
        });
        nodes && amounts && offers && self.have_addresses(at)
    }

    /// Whether each launch and one more find their addresses in one subnet each.
    fn have_addresses(&self, at: usize) -> bool {
        let snapshot = self.snapshot;
        let launched = self.launched.iter().chain([&at]);
        let launched: Vec<&Candidate<'_>> = launched.map(|at| &self.candidates[*at]).collect();
        let mut free: Vec<u64> = snapshot
            .subnets
            .iter()
            .map(|subnet| subnet.free_addresses)
            .collect();
        free.is_empty() || find_addresses(snapshot, &launched, &mut free)
    }
}

/// Whether all find theirs; the first in any of its subnets, the others in what that leaves.
fn find_addresses(snapshot: &Snapshot, launched: &[&Candidate<'_>], free: &mut [u64]) -> bool {
    let Some((first, others)) = launched.split_first() else {
        return true;
    };
    let slots = first.instance_type.capacity.get(&ResourceName::Pods).get();
    let need = snapshot.addresses_per_node.unwrap_or(slots);
    let class = snapshot.node_class(first.pool);
    (0..free.len()).any(|at| {
        let subnet = &snapshot.subnets[at];
        let is_own = class.subnets.is_empty() || class.subnets.contains(&subnet.id);
        if subnet.zone != first.offering.zone || !is_own || free[at] < need {
            return false;
        }
        free[at] -= need;
        let found = find_addresses(snapshot, others, free);
        free[at] += need;
        found
    })
}

/// Whether limited offers have one number: those of a reservation or a commitment, and each by itself.
fn share(one: &Candidate<'_>, other: &Candidate<'_>) -> bool {
    let name = one.offering.supply();
    let is_same = one.instance_type.name == other.instance_type.name && one.offering == other.offering;
    other.offering.limit.is_some()
        && if name.is_some() {
            name == other.offering.supply()
        } else {
            is_same
        }
}

/// Whether a node that exists takes one of the offer's number: by name, else of its type, zone and capacity type, at its
/// price.
fn holds(node: &Node, candidate: &Candidate<'_>) -> bool {
    let name = candidate.offering.supply();
    if name.is_some() || node.supply.is_some() {
        return name == node.supply;
    }
    let offered = candidate.instance_type.labels_with(candidate.offering);
    let same = |key: &str| node.labels.get(key) == offered.get(key);
    node.price == candidate.offering.price
        && [INSTANCE_TYPE_LABEL, ZONE_LABEL, CAPACITY_TYPE_LABEL]
            .into_iter()
            .all(same)
}

/// Every node that could be launched and holds at least one pod.
fn candidates<'a>(snapshot: &'a Snapshot, pods: &[&Pod]) -> Vec<Candidate<'a>> {
    let mut all = Vec::new();
    for pool in snapshot.node_pools.iter().filter(|pool| pool.launches_for_pods()) {
        let choices = choices(snapshot, pool, pods);
        for instance_type in &snapshot.node_class(pool).instance_types {
            for offering in &instance_type.offerings {
                for chosen in &choices {
                    let fits = |set: &u32| {
                        let members = members(pods, *set);
                        naive::holds(snapshot, pool, instance_type, offering, chosen, &members)
                    };
                    let holds: BTreeSet<u32> = (1..1_u32 << pods.len()).filter(fits).collect();
                    let weights = snapshot.objective.weights(Some(&pool.name));
                    all.push(Candidate {
                        pool,
                        instance_type,
                        offering,
                        objective: weights.node(offering.price)
                            + weights.interruptions(instance_type.interruptions(offering.capacity_type)),
                        holds,
                    });
                }
            }
        }
    }
    keep_to_weights(&mut all, pods.len());
    all.retain(|candidate| !candidate.holds.is_empty());
    all.sort_by_key(|candidate| candidate.objective);
    all
}

/// Takes pods away from pools that are lighter than another that can take them.
fn keep_to_weights(all: &mut [Candidate<'_>], pods: usize) {
    for pod in 0..pods {
        let bit = 1_u32 << pod;
        let heaviest = all
            .iter()
            .filter(|candidate| candidate.holds.contains(&bit))
            .map(|candidate| candidate.pool.weight)
            .max();
        for candidate in all.iter_mut() {
            if heaviest.is_some_and(|heaviest| candidate.pool.weight < heaviest) {
                candidate.holds.retain(|set| set & bit == 0);
            }
        }
    }
}

/// Every combination of values for the pool's open keys that somebody could tell apart.
fn choices(snapshot: &Snapshot, pool: &NodePool, pods: &[&Pod]) -> Vec<Labels> {
    let daemons = snapshot.daemon_sets.iter().map(|daemon_set| &daemon_set.spec);
    let specs: Vec<&PodSpec> = pods
        .iter()
        .map(|pod| &pod.spec)
        .chain(daemons)
        .map(|spec| &**spec)
        .collect();
    let mut all = vec![Labels::new()];
    for (key, wanted) in pool.requirements.iter() {
        if !key.starts_with("example.com/") || wanted.single().is_some() {
            continue;
        }
        let mut values: BTreeSet<String> = BTreeSet::from(["unheard-of".to_owned(), "1".to_owned()]);
        values.extend(wanted.named_values().iter().cloned());
        for spec in &specs {
            values.extend(spec.node_selector.get(key).cloned());
            for term in spec.node_affinity.iter().flat_map(|terms| &terms.0) {
                let named = term.expressions.get(key).map(|set| set.named_values().clone());
                values.extend(named.unwrap_or_default());
            }
        }
        let absent = wanted.admits_absence().then_some(None);
        let admitted = values.into_iter().filter(|value| wanted.admits(Some(value)));
        let values: Vec<Option<String>> = admitted.map(Some).chain(absent).collect();
        all = all
            .iter()
            .flat_map(|labels| {
                values.iter().map(move |value| {
                    let mut labels = labels.clone();
                    labels.extend(value.clone().map(|value| (key.to_owned(), value)));
                    labels
                })
            })
            .collect();
    }
    all
}

/// Whether some node to launch, empty and with no limit in the way, holds the pod alone.
#[must_use]
pub fn could_launch_for(snapshot: &Snapshot, pod: &Pod) -> bool {
    !candidates(snapshot, &[pod]).is_empty()
}
