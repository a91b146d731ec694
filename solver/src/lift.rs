//! Packing → Plan: gives names back.
//!
//! Pods of a group go to nodes in the order of their names (the oldest first), nodes that exist before launches. No
//! decision about money is taken here but one: which other offerings may stand in for a launch ([`alternatives`]).

mod alternatives;
pub(crate) mod gangs;
pub(crate) mod static_pools;

use std::collections::BTreeMap;

use crate::lower::Problem;
use crate::lower::refusal::PoolRefusals;
use crate::lower::rules::offerings::Shared;
use crate::lower::rules::{subnets, volumes};
use crate::model::explain::{Constraint, Reason, Unschedulable};
use crate::model::money::Cost;
use crate::model::name::NodePoolName;
use crate::model::objective::Terms;
use crate::model::plan::{CostSummary, Launch, Move, NodeAction, NodePlan, PlanBody};
use crate::model::pod::PodPlace;
use crate::model::snapshot::Snapshot;
use crate::pack::side::unmet;
use crate::pack::{Filling, Packing, stranding};

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
        unschedulable: unschedulable(problem, packing, &mut queue),
        launch,
        nodes,
        ..PlanBody::default()
    };
    let soft = Terms {
        preference: micros(unmet::preferences(problem, packing)),
        fragmentation: micros(stranding::of(problem, packing)),
        zone_imbalance: micros(unmet::imbalances(problem, packing)),
        ..Terms::default()
    };
    body.cost = cost(problem.snapshot, &body, soft);
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
            let subnet = problem.kinds[launched.kind].subnet;
            let shape = problem.universe.shape(first);
            let offering = problem.universe.offering(first);
            let pods = queue.take(&launched.filling);
            let mut requests = problem.overhead_of(first);
            for (group, count) in &launched.filling {
                let pod = problem.groups[*group].pods[0];
                let asked = problem.snapshot.pods[pod].spec.requests.iter();
                for (name, amount) in asked.filter(|(name, _)| !volumes::is_attachment(name)) {
                    requests.add(name.clone(), amount.times(*count));
                }
            }
            launches.push(Launch {
                node_pool: problem.universe.pool(shape).name.clone(),
                instance_type: problem.universe.instance_type(shape).name.clone(),
                zone: offering.zone.clone(),
                subnet: subnet.map(|subnet| problem.snapshot.subnets[subnet].id.clone()),
                capacity_type: offering.capacity_type,
                reservation_id: offering.reservation_id().map(str::to_owned),
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
fn unschedulable(problem: &Problem<'_>, packing: &Packing, queue: &mut Queue<'_>) -> Vec<Unschedulable> {
    let snapshot = problem.snapshot;
    let mut refused: Vec<(usize, Vec<Reason>)> = problem
        .daemon_pods
        .refused
        .iter()
        .map(|(pod, reason)| (*pod, vec![reason.clone()]))
        .collect();
    let mut told = gangs::told(problem, packing);
    let others: Vec<usize> = (0..problem.groups.len())
        .filter(|group| packing.left[*group] > 0 && !told.contains_key(group))
        .collect();
    let reasons = reasons(problem, packing, &others);
    told.extend(others.into_iter().zip(reasons));
    for (group, reasons) in told {
        let pods = queue.rest(group).into_iter();
        refused.extend(pods.map(|pod| (pod, reasons.clone())));
    }
    refused.sort();
    let named = |(pod, reasons): (usize, Vec<Reason>)| Unschedulable {
        pod: snapshot.pods[pod].name.clone(),
        reasons,
        fix: None,
        fix_search_cut_short: false,
    };
    refused.into_iter().map(named).collect()
}

/// By group of these: why each node pool can't take one more of its pods beside what a packing has.
fn reasons(problem: &Problem<'_>, packing: &Packing, groups: &[usize]) -> Vec<Vec<Reason>> {
    let snapshot = problem.snapshot;
    let mut reasons: Vec<Vec<Reason>> = vec![Vec::new(); groups.len()];
    let taken = taken(problem, packing);
    let free = free_addresses(problem, packing);
    for (pool, spent) in snapshot.node_pools.iter().zip(&spent(problem, packing)) {
        let refusals = PoolRefusals::new(snapshot, pool, spent, &taken, &free);
        for (at, reasons) in groups.iter().zip(&mut reasons) {
            let group = &problem.groups[*at];
            reasons.push(if group.launches {
                let pod = &snapshot.pods[group.pods[0]];
                refusals.reason(pod, &problem.profiles[group.profile])
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
    reasons
}

/// By node pool: what the launches take from each counter of its limits.
fn spent(problem: &Problem<'_>, packing: &Packing) -> Vec<Vec<u64>> {
    let limits = |pool: usize| problem.accounts.limits(pool);
    let pools = 0..problem.snapshot.node_pools.len();
    let mut spent: Vec<Vec<u64>> = pools.map(|pool| vec![0; limits(pool).len()]).collect();
    for launched in &packing.launched {
        let kind = &problem.kinds[launched.kind];
        let usage = &kind.usage[limits(kind.pool)];
        for (spent, usage) in spent[kind.pool].iter_mut().zip(usage) {
            *spent += usage * launched.count;
        }
    }
    spent
}

/// How many of each limited offer the launches take.
fn taken(problem: &Problem<'_>, packing: &Packing) -> BTreeMap<Shared, u64> {
    let mut taken = BTreeMap::new();
    for launched in &packing.launched {
        let Some(bin) = problem.kinds[launched.kind].bins.first() else {
            continue;
        };
        let universe = &problem.universe;
        let instance_type = universe.instance_type(universe.shape(*bin));
        if let Some(shared) = Shared::of(instance_type, universe.offering(*bin)) {
            *taken.entry(shared).or_default() += launched.count;
        }
    }
    taken
}

/// By subnet: addresses that the launches leave, where they could run out.
fn free_addresses(problem: &Problem<'_>, packing: &Packing) -> Vec<u64> {
    let mut free = problem.accounts.addresses.left.clone();
    for launched in &packing.launched {
        let kind = &problem.kinds[launched.kind];
        if let (Some(subnet), Some(bin)) = (kind.subnet, kind.bins.first()) {
            let instance_type = problem.universe.instance_type(problem.universe.shape(*bin));
            let need = subnets::needed(problem.snapshot, &instance_type.capacity);
            free[subnet] = free[subnet].saturating_sub(need.saturating_mul(launched.count));
        }
    }
    free
}

fn micros(micros: u64) -> Cost {
    Cost::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}

/// `soft` has the terms that depend on more than single nodes.
fn cost(snapshot: &Snapshot, body: &PlanBody, soft: Terms) -> CostSummary {
    let staying = || snapshot.nodes.iter().filter(|node| !node.deleting);
    let launched: Cost = body.launch.iter().map(|launch| launch.price.cost()).sum();
    let weights = |pool: Option<&NodePoolName>| snapshot.objective.weights(pool);
    let mut terms = soft;
    for node in staying() {
        let weights = weights(node.node_pool.as_ref());
        terms.price += weights.scaled(node.price);
        terms.node_hour += weights.node_hour.cost();
        terms.interruption += snapshot.interruptions_of(node);
    }
    for launch in &body.launch {
        let pool = Some(&launch.node_pool);
        let bought_as = Some(launch.capacity_type);
        terms.price += weights(pool).scaled(launch.price);
        terms.node_hour += weights(pool).node_hour.cost();
        terms.interruption += snapshot.interruptions(pool, launch.instance_type.as_str(), bought_as);
    }
    CostSummary {
        before: snapshot.nodes.iter().map(|node| node.price.cost()).sum(),
        after: staying().map(|node| node.price.cost()).sum::<Cost>() + launched,
        launched,
        objective: terms.sum(),
        terms,
        ..CostSummary::default()
    }
}

#[cfg(test)]
mod tests {
    use crate::model::resources::{Amount, ResourceName};
    use crate::testing::build::{Cluster, machine};
    use crate::{PlanOptions, Unlimited, plan};

    #[test]
    fn attachments_of_volumes_are_counted_and_not_asked_for() {
        let disk = || ResourceName::from("attachable-volumes-csi-ebs.csi.aws.com");
        let mut with_slots = machine("m", "8", "32Gi", "1");
        with_slots.allocatable.set(disk(), Amount::new(2));
        let snapshot = Cluster::new()
            .instance_type(with_slots)
            .pool("default")
            .pods_with("db", 4, "1", "1Gi", |spec| {
                spec.requests.set(disk(), Amount::new(1));
            })
            .freeze();
        let plan = plan(&snapshot, &PlanOptions::default(), &Unlimited).unwrap();
        assert_eq!(plan.launch.len(), 2, "two volumes a node");
        for launch in &plan.launch {
            assert!(!launch.requests.contains(&disk()), "{}", launch.requests);
        }
    }
}
