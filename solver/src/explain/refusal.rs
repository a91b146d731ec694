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
use crate::model::snapshot::Snapshot;
use crate::model::taint::first_untolerated;

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
    Lacking(ResourceName),
}

/// Every existing node that can't take the pod once the plan is done, the most numerous reason first. Nodes that
/// could take it (the plan may have had a better use for them) are left out.
#[must_use]
pub fn node_refusals(snapshot: &Snapshot, plan: &PlanBody, pod: &Pod) -> Vec<NodeRefusal> {
    let used = used(snapshot, plan);
    let mut groups: BTreeMap<Refusal, (Vec<NodeName>, Amount)> = BTreeMap::new();
    for node in &snapshot.nodes {
        let mut free = node.allocatable.clone();
        if let Some(used) = used.get(&node.name) {
            free.subtract_all(used);
        }
        if let Some(refusal) = refusal(snapshot, node, &free, pod) {
            let left = match &refusal {
                Refusal::Lacking(resource) => free.get(resource),
                Refusal::Closed(_)
                | Refusal::Taint(_)
                | Refusal::Labels(_)
                | Refusal::Volume(_)
                | Refusal::Accelerator => Amount::ZERO,
            };
            let (nodes, most) = groups.entry(refusal).or_default();
            nodes.push(node.name.clone());
            *most = left.max(*most);
        }
    }
    let mut refusals: Vec<NodeRefusal> = groups
        .into_iter()
        .map(|(refusal, (nodes, most))| told(&refusal, nodes, most, &pod.spec))
        .collect();
    refusals.sort_by_key(|refusal| std::cmp::Reverse(refusal.nodes.len()));
    refusals
}

fn told(refusal: &Refusal, nodes: Vec<NodeName>, most: Amount, pod: &PodSpec) -> NodeRefusal {
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
    NodeRefusal {
        nodes,
        constraint,
        detail,
    }
}

/// What pods use on each existing node once the plan is done.
fn used<'a>(snapshot: &'a Snapshot, plan: &'a PlanBody) -> BTreeMap<&'a NodeName, Resources> {
    let mut used: BTreeMap<&NodeName, Resources> = BTreeMap::new();
    for pod in &snapshot.pods {
        if let Some(node) = pod.node() {
            used.entry(node).or_default().add_all(&pod.spec.requests);
        }
    }
    for node in &plan.nodes {
        for pod in node.added.iter().filter_map(|name| snapshot.pod(name)) {
            used.entry(&node.name).or_default().add_all(&pod.spec.requests);
        }
    }
    used
}

fn refusal(snapshot: &Snapshot, node: &Node, free: &Resources, pod: &Pod) -> Option<Refusal> {
    let (of_daemon_set, pod) = (pod.is_daemon(), &*pod.spec);
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
    pod.requests
        .first_lacking(free)
        .map(|lacking| Refusal::Lacking(lacking.clone()))
}
