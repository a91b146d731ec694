//! A pod's rules about other pods and about ports, read from its spec as the API server and the scheduler read them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::input::{Input, Labels, labels, list, text};
use crate::support::pods::Pod;
use crate::support::selection::holds;

/// A label selector as its expressions; `None` matches nothing, no expressions match everything.
pub(crate) type Selector = Option<Vec<Value>>;

/// `labelSelector`, `namespaceSelector` and the like.
pub(crate) fn selector(of: &Value, pointer: &str) -> Selector {
    let written = of.pointer(pointer).filter(|written| !written.is_null())?;
    let mut expressions = list(written, "/matchExpressions").to_vec();
    for (key, value) in labels(written, "/matchLabels") {
        expressions.push(json!({"key": key, "operator": "In", "values": [value]}));
    }
    Some(expressions)
}

/// Whether a selector matches these labels.
pub(crate) fn matches(selector: &Selector, labels: &Labels) -> bool {
    let met = |one: &Value| holds(one, labels.get(text(one, "/key")).map(String::as_str));
    selector
        .as_ref()
        .is_some_and(|expressions| expressions.iter().all(met))
}

/// What `matchLabelKeys` and `mismatchLabelKeys` add to a selector: the pod's own values.
fn with_keys(mut selector: Selector, of: &Value, field: &str, operator: &str, own: &Labels) -> Selector {
    if let Some(expressions) = &mut selector {
        for key in list(of, field).iter().filter_map(Value::as_str) {
            if let Some(value) = own.get(key) {
                expressions.push(json!({"key": key, "operator": operator, "values": [value]}));
            }
        }
    }
    selector
}

/// A hard topology spread constraint.
pub(crate) struct Spread {
    /// Topology key.
    pub(crate) key: String,
    /// `maxSkew`.
    pub(crate) max_skew: i64,
    /// `minDomains`, 1 without.
    pub(crate) min_domains: u64,
    /// The pods of the same namespace that count.
    pub(crate) selector: Selector,
    /// `nodeAffinityPolicy: Honor`, as without.
    pub(crate) honours_affinity: bool,
    /// `nodeTaintsPolicy: Honor`.
    pub(crate) honours_taints: bool,
}

/// A required term of affinity or anti-affinity.
pub(crate) struct Term {
    /// Topology key.
    pub(crate) key: String,
    selector: Selector,
    namespaces: BTreeSet<String>,
}

impl Term {
    /// Whether a pod is one of those that the term is about.
    pub(crate) fn is_about(&self, pod: &Pod) -> bool {
        self.namespaces.contains(&pod.namespace) && matches(&self.selector, &pod.labels)
    }
}

/// A port on the node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Port {
    number: u64,
    protocol: String,
    address: String,
}

impl Port {
    /// Whether both can't be had.
    pub(crate) fn clashes(&self, other: &Self) -> bool {
        let every = "0.0.0.0";
        let shares = self.address == every || other.address == every || self.address == other.address;
        self.number == other.number && self.protocol == other.protocol && shares
    }
}

/// All of a pod's.
pub(crate) struct Rules {
    /// Hard spreads.
    pub(crate) spreads: Vec<Spread>,
    /// Required affinity.
    pub(crate) affinity: Vec<Term>,
    /// Required anti-affinity.
    pub(crate) anti_affinity: Vec<Term>,
    /// Host ports.
    pub(crate) ports: BTreeSet<Port>,
}

impl Rules {
    /// Of a pod; `namespaces` are all that there are.
    pub(crate) fn read(pod: &Pod, namespaces: &[(String, Labels)]) -> Self {
        let terms = |kind: &str| {
            let field = format!("/affinity/{kind}/requiredDuringSchedulingIgnoredDuringExecution");
            list(&pod.spec, &field)
                .iter()
                .map(|one| term(one, pod, namespaces))
                .collect()
        };
        let hard = list(&pod.spec, "/topologySpreadConstraints")
            .iter()
            .filter(|one| text(one, "/whenUnsatisfiable") != "ScheduleAnyway");
        Self {
            spreads: hard.map(|one| spread(one, pod)).collect(),
            affinity: terms("podAffinity"),
            anti_affinity: terms("podAntiAffinity"),
            ports: ports(&pod.spec),
        }
    }
}

fn spread(one: &Value, pod: &Pod) -> Spread {
    let selected = selector(one, "/labelSelector");
    Spread {
        key: text(one, "/topologyKey").to_owned(),
        max_skew: one.pointer("/maxSkew").and_then(Value::as_i64).unwrap_or(1),
        min_domains: one.pointer("/minDomains").and_then(Value::as_u64).unwrap_or(1),
        selector: with_keys(selected, one, "/matchLabelKeys", "In", &pod.labels),
        honours_affinity: text(one, "/nodeAffinityPolicy") != "Ignore",
        honours_taints: text(one, "/nodeTaintsPolicy") == "Honor",
    }
}

fn term(one: &Value, pod: &Pod, all: &[(String, Labels)]) -> Term {
    let mut namespaces: BTreeSet<String> = list(one, "/namespaces")
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    let by_labels = selector(one, "/namespaceSelector");
    if by_labels.is_none() && namespaces.is_empty() {
        namespaces.insert(pod.namespace.clone());
    }
    let selected = all.iter().filter(|(_, labels)| matches(&by_labels, labels));
    namespaces.extend(selected.map(|(name, _)| name.clone()));
    let selected = selector(one, "/labelSelector");
    let selected = with_keys(selected, one, "/matchLabelKeys", "In", &pod.labels);
    Term {
        key: text(one, "/topologyKey").to_owned(),
        selector: with_keys(selected, one, "/mismatchLabelKeys", "NotIn", &pod.labels),
        namespaces,
    }
}

/// All namespaces with their labels: those of the input, and those that its pods and workloads are in.
pub(crate) fn namespaces<'a>(input: &Input, pods: impl Iterator<Item = &'a Pod>) -> Vec<(String, Labels)> {
    let mut names: BTreeSet<String> = pods.map(|pod| pod.namespace.clone()).collect();
    let documents = input.kind("Namespace");
    names.extend(documents.map(|one| text(one, "/metadata/name").to_owned()));
    let with_labels = |name: String| {
        let document = input.named("Namespace", &name);
        let mut carried = document
            .map(|one| labels(one, "/metadata/labels"))
            .unwrap_or_default();
        carried.insert("kubernetes.io/metadata.name".to_owned(), name.clone());
        (name, carried)
    };
    names.into_iter().map(with_labels).collect()
}

/// Ports of containers that keep running; on the host's network each container port is one of the node's.
fn ports(spec: &Value) -> BTreeSet<Port> {
    let on_host = spec.pointer("/hostNetwork") == Some(&Value::Bool(true));
    let sidecars = list(spec, "/initContainers")
        .iter()
        .filter(|one| text(one, "/restartPolicy") == "Always");
    let running = list(spec, "/containers").iter().chain(sidecars);
    let written = running.flat_map(|one| list(one, "/ports"));
    let or = |given: &str, otherwise: &str| if given.is_empty() { otherwise } else { given }.to_owned();
    let port = |one: &Value| {
        let given = one.pointer("/hostPort").and_then(Value::as_u64);
        let own = one.pointer("/containerPort").and_then(Value::as_u64);
        let number = given.filter(|port| *port > 0).or(own.filter(|_| on_host))?;
        Some(Port {
            number,
            protocol: or(text(one, "/protocol"), "TCP"),
            address: or(text(one, "/hostIP"), "0.0.0.0"),
        })
    };
    written.filter_map(port).collect()
}
