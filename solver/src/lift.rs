//! Packing → Plan: gives names back.
//!
//! Pods of a group go to nodes in the order of their names (the oldest first), nodes that exist before launches. No
//! decision about money is taken here but one: which other offerings may stand in for a launch ([`alternatives`]).

mod alternatives;

use std::collections::BTreeMap;

use crate::lower::Problem;
use crate::lower::refusal::{PoolRefusals, Subnets};
use crate::model::explain::{Constraint, Reason, Unschedulable};
use crate::model::money::Cost;
use crate::model::name::ZoneName;
use crate::model::plan::{CostSummary, Launch, Move, NodeAction, NodePlan, PlanBody};
use crate::model::pod::PodPlace;
use crate::model::snapshot::Snapshot;
use crate::pack::{Filling, Packing};

use alternatives::Lifter;

/// The plan that a packing means; bound, proof and work are the caller's to add.
pub(crate) fn lift(problem: &Problem<'_>, packing: &Packing) -> PlanBody {
    let mut queue = Queue {
        problem,
        next: vec![0; problem.groups.len()],
    };
    let nodes = nodes(problem, packing, &mut queue);
    let launch = launches(problem, packing, &mut queue);
    let mut body = PlanBody {
        moves: moves(problem.snapshot, &nodes, &launch),
        unschedulable: unschedulable(problem, packing, &launch, &mut queue),
        launch,
        nodes,
        ..PlanBody::default()
    };
    body.cost = cost(problem.snapshot, &body);
    body
}

/// Hands out the pods of each group.
struct Queue<'a> {
    problem: &'a Problem<'a>,
    next: Vec<usize>,
}

impl Queue<'_> {
    /// Pods for a filling, in the order of the snapshot.
    fn take(&mut self, filling: &Filling) -> Vec<usize> {
        let mut pods = Vec::new();
        for (group, count) in filling {
            let from = self.next[*group];
            let all = &self.problem.groups[*group].pods;
            let count = usize::try_from(*count).unwrap_or(usize::MAX);
            let to = from.saturating_add(count).min(all.len());
            pods.extend_from_slice(&all[from..to]);
            self.next[*group] = to;
        }
        pods.sort_unstable();
        pods
    }

    fn rest(&mut self, group: usize) -> Vec<usize> {
        let all = &self.problem.groups[group].pods;
        all[std::mem::replace(&mut self.next[group], all.len())..].to_vec()
    }
}

fn nodes(problem: &Problem<'_>, packing: &Packing, queue: &mut Queue<'_>) -> Vec<NodePlan> {
    let snapshot = problem.snapshot;
    let mut added: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (pod, node) in &problem.daemon_pods.placed {
        added.entry(*node).or_default().push(*pod);
    }
    for (room, filling) in problem.rooms.iter().zip(&packing.rooms) {
        if !filling.is_empty() {
            added.entry(room.node).or_default().extend(queue.take(filling));
        }
    }
    let mut there: BTreeMap<usize, Vec<usize>> = added.keys().map(|node| (*node, Vec::new())).collect();
    if !there.is_empty() {
        for (at, pod) in snapshot.pods.iter().enumerate() {
            if let PodPlace::Bound(name) = &pod.place
                && let Ok(node) = snapshot.nodes.binary_search_by(|node| node.name.cmp(name))
                && let Some(there) = there.get_mut(&node)
            {
                there.push(at);
            }
        }
    }
    added
        .into_iter()
        .map(|(node, mut added)| {
            added.sort_unstable();
            let names = |pods: &[usize]| pods.iter().map(|pod| snapshot.pods[*pod].name.clone()).collect();
            NodePlan {
                name: snapshot.nodes[node].name.clone(),
                action: NodeAction::Keep,
                reason: None,
                pods: names(&there[&node]),
                added: names(&added),
                price: snapshot.nodes[node].price,
                blocked_by: None,
            }
        })
        .collect()
}

fn launches(problem: &Problem<'_>, packing: &Packing, queue: &mut Queue<'_>) -> Vec<Launch> {
    let mut lifter = Lifter::new(problem, packing);
    let mut launches = Vec::new();
    for launched in &packing.launched {
        for _ in 0..launched.count {
            let (first, alternatives) = lifter.choose(launched);
            let shape = problem.universe.shape(first);
            let offering = problem.universe.offering(first);
            let pods = queue.take(&launched.filling);
            let mut requests = problem.overhead_of(first);
            for (group, count) in &launched.filling {
                let pod = problem.groups[*group].pods[0];
                for (name, amount) in problem.snapshot.pods[pod].spec.requests.iter() {
                    requests.add(name.clone(), amount.times(*count));
                }
            }
            launches.push(Launch {
                node_pool: problem.universe.pool(shape).name.clone(),
                instance_type: problem.universe.instance_type(shape).name.clone(),
                zone: offering.zone.clone(),
                capacity_type: offering.capacity_type,
                price: offering.price,
                pods: pods
                    .iter()
                    .map(|pod| problem.snapshot.pods[*pod].name.clone())
                    .collect(),
                requests,
                labels: lifter.labels(first, &launched.filling),
                alternatives,
            });
        }
    }
    launches
}

/// Pods of nodes that go, and where they went.
fn moves(snapshot: &Snapshot, nodes: &[NodePlan], launches: &[Launch]) -> Vec<Move> {
    if snapshot.nodes.iter().all(|node| !node.deleting) {
        return Vec::new();
    }
    let on_nodes = nodes
        .iter()
        .flat_map(|node| node.added.iter().map(|pod| (pod, node.name.to_string())));
    let on_launches = launches.iter().enumerate().flat_map(|(number, launch)| {
        launch
            .pods
            .iter()
            .map(move |pod| (pod, format!("launch/{number}")))
    });
    let mut moves: Vec<Move> = on_nodes
        .chain(on_launches)
        .filter_map(|(name, to)| {
            let from = snapshot.pod(name)?.node()?.clone();
            Some(Move {
                pod: name.clone(),
                from,
                to,
            })
        })
        .collect();
    moves.sort();
    moves
}

/// Pods without a place, each with a reason from every node pool; a DaemonSet's pod with one from its node.
fn unschedulable(
    problem: &Problem<'_>,
    packing: &Packing,
    launches: &[Launch],
    queue: &mut Queue<'_>,
) -> Vec<Unschedulable> {
    let snapshot = problem.snapshot;
    let spent = spent(problem, packing);
    let mut taken: BTreeMap<&ZoneName, u64> = BTreeMap::new();
    for launch in launches {
        *taken.entry(&launch.zone).or_default() += 1;
    }
    let subnets = Subnets {
        addresses: &problem.addresses,
        taken: &taken,
    };
    let mut refused: Vec<(usize, Vec<Reason>)> = problem
        .daemon_pods
        .refused
        .iter()
        .map(|(pod, reason)| (*pod, vec![reason.clone()]))
        .collect();
    let mut groups: Vec<(usize, Vec<usize>, Vec<Reason>)> = (0..problem.groups.len())
        .map(|group| (group, queue.rest(group), Vec::new()))
        .filter(|(_, pods, _)| !pods.is_empty())
        .collect();
    for (pool, spent) in snapshot.node_pools.iter().zip(&spent) {
        let refusals = PoolRefusals::new(snapshot, pool, spent).beside(subnets);
        for (group, pods, reasons) in &mut groups {
            reasons.push(if problem.groups[*group].launches {
                let profile = &problem.profiles[problem.groups[*group].profile];
                refusals.reason(&snapshot.pods[pods[0]].spec, profile)
            } else {
                Reason {
                    node_pool: Some(pool.name.clone()),
                    node: None,
                    constraint: Constraint::NodePool,
                    detail: "no node is launched for a pod of a DaemonSet".to_owned(),
                }
            });
        }
    }
    for (_, pods, reasons) in groups {
        refused.extend(pods.into_iter().map(|pod| (pod, reasons.clone())));
    }
    refused.sort();
    let named = |(pod, reasons): (usize, Vec<Reason>)| Unschedulable {
        pod: snapshot.pods[pod].name.clone(),
        reasons,
        fix: None,
    };
    refused.into_iter().map(named).collect()
}

/// By node pool: what the launches take from each counter of its limits.
fn spent(problem: &Problem<'_>, packing: &Packing) -> Vec<Vec<u64>> {
    let mut spent: Vec<Vec<u64>> = problem
        .allowances
        .iter()
        .map(|allowance| vec![0; allowance.left.len()])
        .collect();
    for launched in &packing.launched {
        let kind = &problem.kinds[launched.kind];
        for (spent, usage) in spent[kind.pool].iter_mut().zip(&kind.usage) {
            *spent += usage * launched.count;
        }
    }
    spent
}

fn cost(snapshot: &Snapshot, body: &PlanBody) -> CostSummary {
    let staying = || snapshot.nodes.iter().filter(|node| !node.deleting);
    let launched: Cost = body.launch.iter().map(|launch| launch.price.cost()).sum();
    let after = staying().map(|node| node.price.cost()).sum::<Cost>() + launched;
    let weights = &snapshot.objective;
    let nodes: Cost = staying()
        .map(|node| weights.weights(node.node_pool.as_ref()).node(node.price))
        .sum();
    let launches: Cost = body
        .launch
        .iter()
        .map(|launch| weights.weights(Some(&launch.node_pool)).node(launch.price))
        .sum();
    CostSummary {
        before: snapshot.nodes.iter().map(|node| node.price.cost()).sum(),
        after,
        launched,
        objective: nodes + launches,
        ..CostSummary::default()
    }
}
