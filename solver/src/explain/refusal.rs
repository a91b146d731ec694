//! Why existing nodes can't take a pod, nodes alike together.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::model::explain::Constraint;
use crate::model::name::NodeName;
use crate::model::node::Node;
use crate::model::placement::names_accelerator;
use crate::model::plan::PlanBody;
use crate::model::pod::{Pod, PodSpec};
use crate::model::resources::{Amount, ResourceName, Resources};
use crate::model::snapshot::{Snapshot, SnapshotParts};
use crate::model::taint::first_untolerated;

use super::neighbours::{Clash, Neighbours};
use super::world::World;
use super::{residual, words};

/// How resources begin that say how many volumes may be attached to a node.
const ATTACHMENTS: &str = "attachable-volumes-";

/// Existing nodes that can't take a pod for the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeRefusal {
    /// Which.
    pub nodes: Vec<NodeName>,
    /// What decides; `None` where they take no new pods at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraint: Option<Constraint>,
    /// With the figures of the node that comes closest.
    pub detail: String,
}

/// What decides on one node, without the figures.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Refusal {
    Closed(&'static str),
    Taint(String),
    Labels(String),
    Volume(String),
    Accelerator,
    Impossible(Constraint, String),
    Clash(Clash),
    Lacking(ResourceName),
}

/// Nodes with one refusal, what the best of them has left, and what is said of the first.
#[derive(Default)]
struct Alike {
    nodes: Vec<NodeName>,
    most: Amount,
    of_first: String,
}

/// Every existing node that can't take the pod once the plan is done, the most numerous reason first. Nodes that
/// could take it (the plan may have had a better use for them) are left out.
#[must_use]
pub fn node_refusals(snapshot: &Snapshot, plan: &PlanBody, pod: &Pod) -> Vec<NodeRefusal> {
    let after = residual::after(snapshot, plan);
    let world = World::of(&after);
    let neighbours = Neighbours::of(&world, pod);
    let used = used(&after, pod);
    let comes = coming(snapshot, plan);
    let mut groups: BTreeMap<Refusal, Alike> = BTreeMap::new();
    for node in &snapshot.nodes {
        let mut free = node.allocatable.clone();
        if let Some(used) = used.get(&node.name) {
            free.subtract_all(used);
        }
        free.subtract_all(&neighbours.kept_for_daemons(node));
        if let Some((refusal, of_first)) = refusal(snapshot, node, &free, pod, &neighbours) {
            let left = match &refusal {
                Refusal::Lacking(resource) => free.get(resource),
                _ => Amount::ZERO,
            };
            let of_first = match (&refusal, comes.get(&node.name)) {
                (Refusal::Lacking(_), Some((first, taken))) if would_fit(pod, &free, taken) => {
                    format!("the plan gives {first} room there")
                }
                _ => of_first,
            };
            let alike = groups.entry(refusal).or_default();
            if alike.of_first.is_empty() {
                alike.of_first = of_first;
            }
            alike.nodes.push(node.name.clone());
            alike.most = left.max(alike.most);
        }
    }
    let mut refusals: Vec<NodeRefusal> = groups
        .into_iter()
        .map(|(refusal, alike)| told(&refusal, alike, &pod.spec))
        .collect();
    refusals.sort_by_key(|refusal| std::cmp::Reverse(refusal.nodes.len()));
    refusals
}

/// Whether what the plan gives to others on a node is what the pod lacks.
fn would_fit(pod: &Pod, free: &Resources, taken: &Resources) -> bool {
    let mut all = free.clone();
    all.add_all(taken);
    pod.spec.requests.first_lacking(&all).is_none()
}

/// By node: the pod of the highest priority that the plan puts there, in words, and what all of them ask for.
fn coming<'a>(snapshot: &'a Snapshot, plan: &'a PlanBody) -> BTreeMap<&'a NodeName, (String, Resources)> {
    let coming = plan.nodes.iter().filter_map(|node| {
        let added = || node.added.iter().filter_map(|name| snapshot.pod(name));
        let first = added().max_by_key(|pod| (pod.spec.priority, std::cmp::Reverse(&pod.name)))?;
        let mut taken = Resources::default();
        added().for_each(|pod| taken.add_all(&pod.spec.requests));
        Some((&node.name, (words::pod(first), taken)))
    });
    coming.collect()
}

fn told(refusal: &Refusal, alike: Alike, pod: &PodSpec) -> NodeRefusal {
    let Alike {
        nodes,
        most,
        of_first,
    } = alike;
    let (constraint, detail) = match refusal {
        Refusal::Closed(why) => (None, (*why).to_owned()),
        Refusal::Taint(taint) => (Some(Constraint::Taint), format!("{taint} is not tolerated")),
        Refusal::Labels(what) => (Some(Constraint::Requirement), what.clone()),
        Refusal::Volume(claim) => (
            Some(Constraint::Volume),
            format!("volume {claim} is out of reach"),
        ),
        Refusal::Accelerator => (
            Some(Constraint::Policy),
            "a PackingPolicy keeps pods that ask for no accelerator off nodes that have one".to_owned(),
        ),
        Refusal::Impossible(constraint, detail) => (Some(*constraint), detail.clone()),
        Refusal::Clash(clash) => {
            let (constraint, detail) = told_clash(clash);
            (Some(constraint), detail)
        }
        Refusal::Lacking(resource) => {
            let written = |amount: Amount| amount.display(resource.unit());
            let at_most = if nodes.len() > 1 { "at most " } else { "" };
            let asked = written(pod.requests.get(resource));
            let detail = format!("{resource}: needs {asked}, {at_most}{} left", written(most));
            let constraint = if resource.to_string().starts_with(ATTACHMENTS) {
                Constraint::Volume
            } else {
                Constraint::Resources
            };
            (Some(constraint), detail)
        }
    };
    let detail = match (of_first.is_empty(), nodes.as_slice()) {
        (true, _) => detail,
        (false, [first, _, ..]) => format!("{detail}; on {first}: {of_first}"),
        (false, _) => format!("{detail}; {of_first}"),
    };
    NodeRefusal {
        nodes,
        constraint,
        detail,
    }
}

fn told_clash(clash: &Clash) -> (Constraint, String) {
    match clash {
        Clash::Port(port) => (Constraint::HostPort, format!("port {port} is taken")),
        Clash::Lonely(term) => (
            Constraint::Affinity,
            format!("required affinity {term}: none is near"),
        ),
        Clash::Near(key) => (
            Constraint::AntiAffinity,
            format!("{key}: its value has a pod that it can't be near"),
        ),
        Clash::NoLabel(key) => (
            Constraint::Requirement,
            format!("{key}: it has no such label, and a required rule of the pod reads it"),
        ),
        Clash::Crowded(said) => (Constraint::TopologySpread, said.clone()),
    }
}

/// What pods use on each node once the plan is done, the pod in question apart.
fn used<'a>(after: &'a SnapshotParts, but: &Pod) -> BTreeMap<&'a NodeName, Resources> {
    let mut used: BTreeMap<&NodeName, Resources> = BTreeMap::new();
    for pod in after.pods.iter().filter(|pod| pod.name != but.name) {
        if let Some(node) = pod.node() {
            used.entry(node).or_default().add_all(&pod.spec.requests);
        }
    }
    used
}

/// The first rule by which a node can't take the pod, and what is to be said of this node alone.
fn refusal<'a>(
    snapshot: &Snapshot,
    node: &'a Node,
    free: &Resources,
    pod: &Pod,
    neighbours: &Neighbours<'a>,
) -> Option<(Refusal, String)> {
    if let Some(refusal) = refusal_alone(snapshot, node, pod) {
        return Some((refusal, String::new()));
    }
    if let Some((clash, who)) = neighbours.clash(node) {
        return Some((Refusal::Clash(clash), who));
    }
    let lacking = pod.spec.requests.first_lacking(free)?;
    Some((Refusal::Lacking(lacking.clone()), String::new()))
}

/// What a node refuses a pod by, whatever else is there.
fn refusal_alone(snapshot: &Snapshot, node: &Node, pod: &Pod) -> Option<Refusal> {
    let (of_daemon_set, pod) = (pod.is_daemon(), &*pod.spec);
    if let Some(impossible) = &pod.rules.impossible {
        return Some(Refusal::Impossible(
            impossible.constraint,
            impossible.detail.clone(),
        ));
    }
    if node.deleting {
        return Some(Refusal::Closed("is being deleted"));
    }
    if node.unschedulable {
        return Some(Refusal::Closed("is cordoned"));
    }
    if !node.takes_pods() {
        return Some(Refusal::Closed("is not ready"));
    }
    if let Some(taint) = first_untolerated(&node.taints, &pod.tolerations) {
        return Some(Refusal::Taint(taint.to_string()));
    }
    if let Some((key, wanted)) = pod.selector_requirements().first_unmet(&node.labels) {
        return Some(Refusal::Labels(format!("{key} has to be {wanted}")));
    }
    if !pod.admits_node(&node.labels, Some(node.name.as_str())) {
        return Some(Refusal::Labels(
            "no term of the required node affinity matches".to_owned(),
        ));
    }
    let mut volumes = pod.rules.volumes.iter();
    let name = Some(node.name.as_str());
    if let Some(volume) = volumes.find(|volume| !volume.reach.admits(&node.labels, name)) {
        return Some(Refusal::Volume(volume.claim.clone()));
    }
    let kept = &snapshot.placement.keep_off_accelerators;
    let is_kept = node.node_pool.as_ref().is_some_and(|pool| kept.contains(pool));
    if is_kept && node.has_accelerator() && !of_daemon_set && !names_accelerator(&pod.requests) {
        return Some(Refusal::Accelerator);
    }
    None
}
