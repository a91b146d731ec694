//! Room for DaemonSets: those that would run on a node to come, under the labels of each offer, and those that an
//! existing node still expects, are not given away.
//!
//! A DaemonSet runs where its selector and affinity admit the node and its tolerations cover the hard taints that stay.
//! A DaemonSet pod that is pending and bound to one node by name keeps its room there even where its DaemonSet isn't in
//! the snapshot. A node to come keeps the headroom that a policy wants on it as well. Room that strangers took already is no fault of the plan's: only what it adds is judged.

use std::collections::BTreeSet;

use crate::model::node_pool::NodePool;
use crate::model::pod::PodPlace;
use crate::model::taint::first_untolerated;

use super::launches::Launches;
use super::placement::Placed;
use super::prospect::Prospect;
use super::resources;
use super::world::{Amounts, World, add};
use super::{Rule, Violations};

/// Sums up the DaemonSets of a node to come; one that can't be judged for want of a label is a finding.
pub(super) fn count(world: &World<'_>, prospect: &mut Prospect<'_>) {
    for (daemon_set, requests) in world.snapshot.daemon_sets.iter().zip(&world.daemon_requests) {
        let spec = &daemon_set.spec;
        if first_untolerated(&prospect.pool.taints, &spec.tolerations).is_some()
            || !prospect.could_admit(spec)
        {
            continue;
        }
        if let Some(key) = prospect.first_unchosen(spec) {
            let detail = format!("DaemonSet {} reads {key}, which has no value", daemon_set.name);
            prospect.findings.push((Rule::Labels, detail));
        }
        add(&mut prospect.overhead, requests);
    }
}

/// What a policy wants every new node of a pool to keep free.
pub(super) fn headroom(world: &World<'_>, pool: &NodePool) -> Amounts {
    match world.snapshot.placement.headroom.get(&pool.name) {
        Some(headroom) => world.amounts(headroom),
        None => vec![0; world.resources.len()],
    }
}

pub(super) fn check(world: &World<'_>, launches: &Launches<'_>, placed: &Placed, found: &mut Violations) {
    for filling in &launches.fillings {
        for offer in launches.rooms(filling) {
            let Some(prospect) = launches.prospect(offer) else {
                continue;
            };
            let mut sum = filling.requests.clone();
            for (sum, daemons) in sum.iter_mut().zip(&prospect.overhead) {
                *sum += daemons;
            }
            let without = world.shortage(&sum, &prospect.allocatable).is_some();
            add(&mut sum, &prospect.headroom);
            let Some(detail) = world.shortage(&sum, &prospect.allocatable) else {
                continue;
            };
            // Pods that don't even fit alone are `resources`' finding.
            if world.shortage(&filling.requests, &prospect.allocatable).is_some() {
                continue;
            }
            let with = if without {
                "its DaemonSets"
            } else {
                "the headroom that a policy wants"
            };
            let detail = format!("with {with}, {detail}");
            found.add(Rule::Overhead, filling.name_as(offer), detail);
        }
    }
    existing(world, placed, found);
}

fn existing(world: &World<'_>, placed: &Placed, found: &mut Violations) {
    let pinned = pinned_pods(world);
    for (node, added) in &placed.on_node {
        let pods = &world.snapshot.pods;
        // DaemonSet pods may take the room that is kept for DaemonSets.
        if added.iter().all(|pod| pods[*pod].is_daemon()) {
            continue;
        }
        let there = resources::judged(world, *node, added);
        let mut sum = resources::on_node(world, *node, added);
        if world.shortage(&sum, &there).is_some() {
            continue; // the pods alone don't fit: said already
        }
        for requests in expected(world, *node, added, &pinned) {
            add(&mut sum, requests);
        }
        if let Some(detail) = world.shortage(&sum, &there) {
            let detail = format!("with the DaemonSets that it still expects, {detail}");
            let name = &world.snapshot.nodes[*node].name;
            found.add(Rule::Overhead, format!("node {name}"), detail);
        }
    }
}

/// Pending DaemonSet pods by the node that their affinity names.
fn pinned_pods(world: &World<'_>) -> Vec<Vec<usize>> {
    let mut pinned = vec![Vec::new(); world.snapshot.nodes.len()];
    for (at, pod) in world.snapshot.pods.iter().enumerate() {
        if pod.place != PodPlace::Pending || !pod.is_daemon() {
            continue;
        }
        let terms = pod.spec.node_affinity.iter().flat_map(|terms| &terms.0);
        let names = terms.filter_map(|term| term.node_name.as_ref()?.finite());
        let nodes: BTreeSet<usize> = names
            .flatten()
            .filter_map(|name| world.node(&name.as_str().into()))
            .collect();
        for node in nodes {
            pinned[node].push(at);
        }
    }
    pinned
}

/// Requests of the DaemonSet pods that the node expects and that are neither there nor come by this plan.
fn expected<'w>(
    world: &'w World<'_>,
    node: usize,
    added: &[usize],
    pinned: &[Vec<usize>],
) -> Vec<&'w Amounts> {
    let snapshot = world.snapshot;
    let there: Vec<usize> = world.pods_on[node].iter().chain(added).copied().collect();
    let mut present: BTreeSet<usize> = there
        .iter()
        .filter(|pod| snapshot.pods[**pod].is_daemon())
        .filter_map(|pod| world.daemon_set_of(&snapshot.pods[*pod]))
        .collect();
    let mut requests = Vec::new();
    for pod in &pinned[node] {
        let owner = world.daemon_set_of(&snapshot.pods[*pod]);
        let counted = owner.is_some_and(|owner| !present.insert(owner));
        if !counted && !added.contains(pod) {
            requests.push(world.requests(*pod));
        }
    }
    let node = &snapshot.nodes[node];
    for (at, daemon_set) in snapshot.daemon_sets.iter().enumerate() {
        let spec = &daemon_set.spec;
        if !present.contains(&at)
            && first_untolerated(&node.taints, &spec.tolerations).is_none()
            && spec.admits_node(&node.labels, Some(node.name.as_str()))
        {
            requests.push(&world.daemon_requests[at]);
        }
    }
    requests
}
