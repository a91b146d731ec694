//! Every pod that needs a place is once somewhere or once refused; nothing else is; nodes and moves agree with it.
//!
//! A pod that needs none is left where it is: the model has no disruption budgets yet, so a plan that disrupts a node
//! which isn't going already is refused. DaemonSet pods belong to existing nodes; launches count them by themselves.

use crate::model::name::PodName;
use crate::model::node::{Node, NodeStage};
use crate::model::plan::{NodeAction, NodePlan, PlanBody};
use crate::model::pod::{Pod, PodPlace};

use super::world::World;
use super::{Rule, Violations};

/// Positions of the pods that the plan puts somewhere.
pub(super) struct Placed {
    /// By launch.
    pub(super) in_launch: Vec<Vec<usize>>,
    /// By entry of `nodes`: the node's position and the pods that come. An unknown node has no entry.
    pub(super) on_node: Vec<(usize, Vec<usize>)>,
}

impl Placed {
    /// All of them, launches first.
    pub(super) fn all(&self) -> impl Iterator<Item = usize> {
        let on_nodes = self.on_node.iter().flat_map(|(_, pods)| pods);
        self.in_launch.iter().flatten().chain(on_nodes).copied()
    }
}

/// Where the plan has a pod.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Launch(usize),
    Node(usize),
    Refused,
}

struct Ledger<'w, 'a, 'f> {
    world: &'w World<'a>,
    places: Vec<Option<Place>>,
    found: &'f mut Violations,
}

pub(super) fn check(world: &World<'_>, plan: &PlanBody, found: &mut Violations) -> Placed {
    let places = vec![None; world.snapshot.pods.len()];
    let mut ledger = Ledger { world, places, found };
    let in_launch = launches(&mut ledger, plan);
    let on_node = nodes(&mut ledger, plan);
    for refused in &plan.unschedulable {
        ledger.put(&refused.pod, Place::Refused);
    }
    ledger.nobody_forgotten();
    moves(&mut ledger, plan);
    Placed { in_launch, on_node }
}

impl Ledger<'_, '_, '_> {
    fn wrong(&mut self, subject: impl std::fmt::Display, detail: impl Into<String>) {
        self.found.add(Rule::Placement, subject, detail);
    }

    fn put(&mut self, name: &PodName, place: Place) -> Option<usize> {
        let Some(pod) = self.world.pod(name) else {
            self.wrong(name, "isn't in the snapshot");
            return None;
        };
        if !self.world.needs_place(pod) {
            self.wrong(name, "needs no place and gets one");
            return None;
        }
        match self.places[pod] {
            None => self.places[pod] = Some(place),
            Some(_) => self.wrong(name, "is in the plan more than once"),
        }
        Some(pod)
    }

    fn nobody_forgotten(&mut self) {
        for at in 0..self.places.len() {
            if self.places[at].is_none() && self.world.needs_place(at) {
                let name = &self.world.snapshot.pods[at].name;
                self.wrong(name, "needs a place and isn't in the plan");
            }
        }
    }
}

fn launches(ledger: &mut Ledger<'_, '_, '_>, plan: &PlanBody) -> Vec<Vec<usize>> {
    let pools = &ledger.world.snapshot.node_pools;
    let mut in_launch = Vec::with_capacity(plan.launch.len());
    for (number, launch) in plan.launch.iter().enumerate() {
        let pool = pools.binary_search_by(|pool| pool.name.cmp(&launch.node_pool));
        let pool = pool.ok().map(|pool| &pools[pool]);
        if launch.pods.is_empty() && pool.is_none_or(|pool| pool.replicas.is_none()) {
            ledger.wrong(format!("launch/{number}"), "is for no pod");
        }
        if let Some(why) = pool.and_then(|pool| pool.left_out.as_ref()) {
            let detail = format!("node pool {} launches nothing: {why}", launch.node_pool);
            ledger.wrong(format!("launch/{number}"), detail);
        }
        let mut pods = Vec::with_capacity(launch.pods.len());
        for name in &launch.pods {
            let Some(pod) = ledger.put(name, Place::Launch(number)) else {
                continue;
            };
            if ledger.world.snapshot.pods[pod].is_daemon() {
                ledger.wrong(name, format!("is a DaemonSet's and stands in launch/{number}"));
            }
            pods.push(pod);
        }
        in_launch.push(pods);
    }
    in_launch
}

fn nodes(ledger: &mut Ledger<'_, '_, '_>, plan: &PlanBody) -> Vec<(usize, Vec<usize>)> {
    let world = ledger.world;
    let mut seen = vec![false; world.snapshot.nodes.len()];
    let mut on_node = Vec::with_capacity(plan.nodes.len());
    for entry in &plan.nodes {
        let Some(at) = world.node(&entry.name) else {
            ledger.wrong(format!("node {}", entry.name), "isn't in the snapshot");
            continue;
        };
        if std::mem::replace(&mut seen[at], true) {
            ledger.wrong(format!("node {}", entry.name), "is in the plan more than once");
        }
        let node = &world.snapshot.nodes[at];
        if entry.action != NodeAction::Keep && !node.deleting {
            let detail = "is disrupted, and nothing says that it may be";
            ledger.wrong(format!("node {}", entry.name), detail);
        }
        staying(ledger, entry, at, node);
        let mut pods = Vec::with_capacity(entry.added.len());
        for name in &entry.added {
            let Some(pod) = ledger.put(name, Place::Node(at)) else {
                continue;
            };
            if !may_come(node, &world.snapshot.pods[pod]) {
                ledger.wrong(name, format!("is put on node {}, which takes no pods", node.name));
            }
            pods.push(pod);
        }
        on_node.push((at, pods));
    }
    on_node
}

/// `pods` of a node: on it now and not leaving. All of them, but for DaemonSets' and for nodes that go.
fn staying(ledger: &mut Ledger<'_, '_, '_>, entry: &NodePlan, at: usize, node: &Node) {
    let world = ledger.world;
    let mut listed: Vec<usize> = Vec::with_capacity(entry.pods.len());
    for name in &entry.pods {
        match world.pod(name) {
            Some(pod) if world.node_of[pod] != Some(at) => {
                ledger.wrong(name, format!("stays on node {}, where it isn't", node.name));
            }
            Some(pod) if world.needs_place(pod) => {
                ledger.wrong(name, format!("stays on node {}, which goes", node.name));
            }
            Some(pod) => listed.push(pod),
            None => ledger.wrong(name, "isn't in the snapshot"),
        }
    }
    listed.sort_unstable();
    if let Some(twice) = listed.windows(2).find(|pair| pair[0] == pair[1]) {
        let name = &world.snapshot.pods[twice[0]].name;
        ledger.wrong(name, format!("stands twice on node {}", node.name));
    }
    for pod in &world.pods_on[at] {
        let there = &world.snapshot.pods[*pod];
        let stays = matches!(there.place, PodPlace::Bound(_)) && !there.is_daemon() && !node.deleting;
        if stays && listed.binary_search(pod).is_err() {
            ledger.wrong(
                &there.name,
                format!("is on node {} and isn't listed there", node.name),
            );
        }
    }
}

/// DaemonSet pods come to a cordoned node too; a node that goes gets none.
fn may_come(node: &Node, pod: &Pod) -> bool {
    let ready = node.ready || node.stage != NodeStage::Initialized;
    node.takes_pods() || pod.is_daemon() && !node.deleting && ready
}

/// Exactly the running pods that got another place, each with the right one.
fn moves(ledger: &mut Ledger<'_, '_, '_>, plan: &PlanBody) {
    let world = ledger.world;
    let mut moved = vec![false; ledger.places.len()];
    for step in &plan.moves {
        let Some(pod) = world.pod(&step.pod) else {
            ledger.wrong(&step.pod, "moves and isn't in the snapshot");
            continue;
        };
        if std::mem::replace(&mut moved[pod], true) {
            ledger.wrong(&step.pod, "moves more than once");
        }
        let from = world.node_of[pod].map(|node| &world.snapshot.nodes[node].name);
        if from != Some(&step.from) {
            ledger.wrong(&step.pod, format!("moves from {}, where it isn't", step.from));
        }
        let to = match ledger.places[pod] {
            Some(Place::Launch(number)) => format!("launch/{number}"),
            Some(Place::Node(node)) => world.snapshot.nodes[node].name.to_string(),
            Some(Place::Refused) | None => {
                ledger.wrong(&step.pod, "moves and gets no place");
                continue;
            }
        };
        if to != step.to {
            ledger.wrong(&step.pod, format!("moves to {} and stands in {to}", step.to));
        }
    }
    for (pod, moved) in moved.iter().enumerate() {
        let placed = matches!(ledger.places[pod], Some(Place::Launch(_) | Place::Node(_)));
        if placed && !moved && world.node_of[pod].is_some() {
            let name = &world.snapshot.pods[pod].name;
            ledger.wrong(name, "gets another place and isn't among the moves");
        }
    }
}
