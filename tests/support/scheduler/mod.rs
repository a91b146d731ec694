//! kube-scheduler's filters, literally, and a replay of a plan through them.
//!
//! Written from the Kubernetes documentation ("Pod Topology Spread Constraints", "Assigning Pods to Nodes", "Taints and
//! Tolerations", "Storage Classes", "Node-specific Volume Limits", scheduler "Filtering") and the scheduler's own
//! behaviour where that is silent; shares nothing with the planner or its checker.
//!
//! Deliberately simple: every question is answered by looking at all nodes and the pods on them. Pods that are alike are
//! counted together, since the same question needs no second answer.

mod neighbours;
mod replay;
mod rules;
mod spread;
#[cfg(test)]
mod tests;
mod volumes;

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::input::{Input, Labels, full_name};
use super::machine::{Node, daemons};
use super::pods::{Pod, Pods};
use super::quantity::{Amounts, add, lacking};
use super::selection::{admits, untolerated};

pub(crate) use replay::After;
use rules::{Port, Rules};
use volumes::Volumes;

/// Pods that no filter can tell apart, but for their volumes.
struct Kind {
    pod: Pod,
    rules: Rules,
    /// By other kind: whether each term of anti-affinity is about it, and whether all terms of affinity are.
    anti: Vec<Vec<bool>>,
    near: Vec<bool>,
    /// By other kind: whether each spread counts it.
    counts: Vec<Vec<bool>>,
}

/// A node and what is bound to it.
#[derive(Clone)]
struct Place {
    name: String,
    labels: Labels,
    taints: Vec<Value>,
    allocatable: Amounts,
    used: Amounts,
    kinds: BTreeMap<usize, i64>,
    ports: Vec<Port>,
    volumes: Volumes,
}

/// A pod to be placed: its kind, its name and where it should go.
#[derive(Clone)]
struct Wish {
    name: String,
    kind: usize,
    place: usize,
}

/// Nodes and pods at one moment.
struct Scheduler<'a> {
    input: &'a Input,
    kinds: Vec<Kind>,
    index: BTreeMap<String, usize>,
    namespaces: Vec<(String, Labels)>,
    places: Vec<Place>,
    /// By kind and constraint of a spread, whether each place counts: asked often, and always answered the same.
    eligible: RefCell<BTreeMap<(usize, usize), Vec<bool>>>,
    /// DaemonSets' pods that have their room and ports already, but that nobody sees before they are bound.
    unseen: Vec<(usize, usize)>,
}

impl<'a> Scheduler<'a> {
    /// Without nodes yet. Every pod that can turn up must be among `pods` or the DaemonSets' templates.
    fn new(input: &'a Input, pods: &Pods) -> Self {
        let workloads = pods
            .expanded()
            .filter_map(|(name, _)| pods.find(&format!("{name}-0")));
        let all: Vec<&Pod> = pods.named().map(|(_, pod)| pod).chain(workloads).collect();
        let templates: Vec<Pod> = input
            .kind("DaemonSet")
            .map(|set| super::pods::template(input, set))
            .collect();
        let namespaces = rules::namespaces(input, all.iter().copied().chain(&templates));
        let mut scheduler = Self {
            input,
            kinds: Vec::new(),
            index: BTreeMap::new(),
            namespaces,
            places: Vec::new(),
            eligible: RefCell::default(),
            unseen: Vec::new(),
        };
        for pod in all.into_iter().chain(&templates) {
            scheduler.learn(pod);
        }
        scheduler.compare();
        scheduler
    }

    fn key(pod: &Pod) -> String {
        let requests: Vec<String> = pod
            .requests
            .iter()
            .map(|(name, amount)| format!("{name}={amount}"))
            .collect();
        let mut spec = pod.spec.clone();
        if let Some(fields) = spec.as_object_mut() {
            // Where it is and what it mounts is asked of each pod, not of its kind.
            fields.remove("nodeName");
            fields.remove("volumes");
        }
        json!([pod.namespace, pod.labels, requests, spec]).to_string()
    }

    fn learn(&mut self, pod: &Pod) {
        let key = Self::key(pod);
        if self.index.contains_key(&key) {
            return;
        }
        self.index.insert(key, self.kinds.len());
        self.kinds.push(Kind {
            rules: Rules::read(pod, &self.namespaces),
            pod: pod.clone(),
            anti: Vec::new(),
            near: Vec::new(),
            counts: Vec::new(),
        });
    }

    fn compare(&mut self) {
        let answers = |one: &Kind| {
            let of_term = |other: &Kind| {
                let anti = one.rules.anti_affinity.iter();
                let spreads = one.rules.spreads.iter();
                (
                    anti.map(|term| term.is_about(&other.pod)).collect(),
                    one.rules.affinity.iter().all(|term| term.is_about(&other.pod)),
                    spreads
                        .map(|spread| spread::counts(spread, &one.pod, &other.pod))
                        .collect(),
                )
            };
            self.kinds
                .iter()
                .map(of_term)
                .collect::<Vec<(Vec<bool>, bool, Vec<bool>)>>()
        };
        let all: Vec<_> = self.kinds.iter().map(answers).collect();
        for (kind, answers) in self.kinds.iter_mut().zip(all) {
            for (anti, near, counts) in answers {
                kind.anti.push(anti);
                kind.near.push(near);
                kind.counts.push(counts);
            }
        }
    }

    fn kind_of(&self, pod: &Pod) -> usize {
        *self.index.get(&Self::key(pod)).expect("every pod was learnt")
    }

    /// A node, with the pods that its DaemonSets are still to bring to it.
    fn open(&mut self, node: &Node, pods: &Pods) -> usize {
        let place = self.places.len();
        self.eligible.borrow_mut().clear();
        self.places.push(Place {
            name: node.name.clone(),
            labels: node.labels.clone(),
            taints: node.taints.clone(),
            allocatable: node.allocatable.clone(),
            used: Amounts::new(),
            kinds: BTreeMap::new(),
            ports: Vec::new(),
            volumes: Volumes::of_node(self.input, &node.name, &node.allocatable),
        });
        for (name, pod) in pods.on(&node.name).filter(|(_, pod)| !pod.terminating) {
            self.bind(name, self.kind_of(pod), pod, place);
        }
        place
    }

    /// Puts the pods that DaemonSets are still to bring on a node, those that its filters let in.
    fn bring_daemons(&mut self, place: usize, pods: &Pods) {
        let there = &self.places[place];
        let (name, labels, taints) = (there.name.clone(), there.labels.clone(), there.taints.clone());
        for (set, pod) in daemons(self.input, &labels, Some(&name), &taints) {
            let has_one = pods.named().any(|(_, other)| {
                let of_set = other
                    .daemon_set
                    .as_ref()
                    .is_some_and(|own| format!("{}/{own}", other.namespace) == set);
                of_set && (other.node.as_deref() == Some(&name) || pinned(other) == Some(&name))
            });
            let kind = self.kind_of(&pod);
            if !has_one && self.refusal(&set, kind, &pod, place, true).is_none() {
                self.bind(&set, kind, &pod, place);
                self.unseen.push((place, kind));
            }
        }
    }

    /// Lets other pods see the DaemonSets' pods, or hides them again.
    fn show_daemons(&mut self, seen: bool) {
        for (place, kind) in &self.unseen {
            let count = self.places[*place].kinds.entry(*kind).or_default();
            *count += if seen { 1 } else { -1 };
            if *count == 0 {
                self.places[*place].kinds.remove(kind);
            }
        }
    }

    fn bind(&mut self, name: &str, kind: usize, pod: &Pod, place: usize) {
        let volumes = volumes::of_pod(self.input, name, pod);
        let place = &mut self.places[place];
        add(&mut place.used, &pod.requests);
        *place.kinds.entry(kind).or_default() += 1;
        place.ports.extend(self.kinds[kind].rules.ports.iter().cloned());
        place.volumes.attach(&volumes);
    }

    /// The first filter that keeps a pod from a node.
    fn refusal(&self, name: &str, kind: usize, pod: &Pod, place: usize, daemon: bool) -> Option<String> {
        let (there, rules) = (&self.places[place], &self.kinds[kind].rules);
        if let Err(refusal) = admits(&pod.spec, &there.labels, Some(&there.name)) {
            return Some(format!("NodeAffinity: {refusal}"));
        }
        if let Some(taint) = untolerated(&pod.spec, &there.taints, daemon) {
            return Some(format!("TaintToleration: {taint}"));
        }
        let mut used = there.used.clone();
        add(&mut used, &pod.requests);
        // Only what the pod itself asks for can be lacking.
        used.retain(|resource, _| pod.requests.get(resource).is_some_and(|amount| *amount > 0));
        if let Some(lacks) = lacking(&used, &there.allocatable) {
            return Some(format!("NodeResourcesFit: {lacks}"));
        }
        let taken = |port: &Port| there.ports.iter().any(|other| port.clashes(other));
        if rules.ports.iter().any(taken) {
            return Some("NodePorts: a port is taken".to_owned());
        }
        volumes::refusal(self.input, name, pod, there)
            .or_else(|| self.spread_refusal(kind, place))
            .or_else(|| self.neighbours_refusal(kind, place))
    }
}

/// The one node that a DaemonSet's pod is for.
fn pinned(pod: &Pod) -> Option<&str> {
    let terms = "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    let fields = super::input::list(&pod.spec, terms)
        .iter()
        .flat_map(|term| super::input::list(term, "/matchFields"));
    fields
        .filter_map(|field| field.pointer("/values/0").and_then(Value::as_str))
        .next()
}

/// Name within its namespace.
fn bare(name: &str) -> &str {
    name.split_once('/').map_or(name, |(_, name)| name)
}

/// A document of a namespaced kind.
fn namespaced<'a>(input: &'a Input, kind: &str, namespace: &str, name: &str) -> Option<&'a Value> {
    let wanted = format!("{namespace}/{name}");
    input.kind(kind).find(|document| full_name(document) == wanted)
}
