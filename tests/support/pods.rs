//! Pods, and the workloads that stand for pods not yet made.

use std::collections::BTreeMap;

use serde_json::Value;

use super::input::{Input, Labels, full_name, labels, list, text};
use super::quantity::{Amounts, add, amounts, larger, thousandths};

/// One pod of the input, or the template of a workload without pods.
#[derive(Clone)]
pub(crate) struct Pod {
    /// Its spec, literally.
    pub(crate) spec: Value,
    /// The label `app`.
    pub(crate) app: String,
    /// What it asks for, a pod slot included.
    pub(crate) requests: Amounts,
    /// The node that it is on.
    pub(crate) node: Option<String>,
    /// The DaemonSet that owns it.
    pub(crate) daemon_set: Option<String>,
    /// Waits for a place.
    pub(crate) pending: bool,
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its labels.
    pub(crate) labels: Labels,
    /// On its way out.
    pub(crate) terminating: bool,
    /// Claims that come with it, of a StatefulSet without pods.
    pub(crate) claim_templates: Vec<Value>,
}

/// All pods of an input.
pub(crate) struct Pods {
    named: BTreeMap<String, Pod>,
    workloads: BTreeMap<String, (Pod, u64)>,
}

impl Pods {
    /// Reads pods and workloads.
    pub(crate) fn read(input: &Input) -> Self {
        let mut named = BTreeMap::new();
        for document in input.kind("Pod") {
            if !["Succeeded", "Failed"].contains(&text(document, "/status/phase")) {
                named.insert(full_name(document), pod(document));
            }
        }
        let mut workloads = BTreeMap::new();
        for (kind, count) in [
            ("Deployment", "/spec/replicas"),
            ("ReplicaSet", "/spec/replicas"),
            ("StatefulSet", "/spec/replicas"),
            ("Job", "/spec/parallelism"),
        ] {
            for document in input.kind(kind) {
                if !has_pods(input, document) {
                    let replicas = document.pointer(count).and_then(Value::as_u64).unwrap_or(1);
                    workloads.insert(full_name(document), (template(input, document), replicas));
                }
            }
        }
        Self { named, workloads }
    }

    /// The pod of a name: one of the input's, or one of a workload's.
    pub(crate) fn find(&self, name: &str) -> Option<&Pod> {
        let of_workload = || {
            let prefixed = |(workload, _): &(&String, _)| {
                name.strip_prefix(workload.as_str())
                    .is_some_and(|rest| rest.starts_with('-'))
            };
            let longest = self
                .workloads
                .iter()
                .filter(prefixed)
                .max_by_key(|(workload, _)| workload.len());
            longest.map(|(_, (pod, _))| pod)
        };
        self.named.get(name).or_else(of_workload)
    }

    /// Pods on a node, DaemonSets' included.
    pub(crate) fn on<'a>(&'a self, node: &'a str) -> impl Iterator<Item = (&'a String, &'a Pod)> {
        self.named
            .iter()
            .filter(move |(_, pod)| pod.node.as_deref() == Some(node))
    }

    /// Pods that stand in the input themselves.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&String, &Pod)> {
        self.named.iter()
    }

    /// How many pods each workload without pods brings.
    pub(crate) fn expanded(&self) -> impl Iterator<Item = (&String, u64)> {
        self.workloads
            .iter()
            .map(|(name, (_, replicas))| (name, *replicas))
    }
}

fn pod(document: &Value) -> Pod {
    let owner = list(document, "/metadata/ownerReferences")
        .iter()
        .find(|owner| text(owner, "/kind") == "DaemonSet");
    let node = Some(text(document, "/spec/nodeName")).filter(|node| !node.is_empty());
    let gated = !list(document, "/spec/schedulingGates").is_empty();
    let spec = document.pointer("/spec").cloned().unwrap_or_default();
    Pod {
        app: text(document, "/metadata/labels/app").to_owned(),
        requests: requests(&spec, &Value::Null),
        node: node.map(str::to_owned),
        daemon_set: owner.map(|owner| text(owner, "/name").to_owned()),
        pending: node.is_none() && !gated,
        namespace: namespace_of(document),
        labels: labels(document, "/metadata/labels"),
        terminating: document.pointer("/metadata/deletionTimestamp").is_some(),
        claim_templates: Vec::new(),
        spec,
    }
}

/// The pod that a workload's template makes, with its namespace's defaults.
pub(crate) fn template(input: &Input, workload: &Value) -> Pod {
    let namespace = namespace_of(workload);
    let mut defaults = Value::Null;
    for range in input
        .kind("LimitRange")
        .filter(|range| namespace_of(range) == namespace)
    {
        for limit in list(range, "/spec/limits") {
            if text(limit, "/type") == "Container" {
                defaults = limit.clone();
            }
        }
    }
    let spec = workload
        .pointer("/spec/template/spec")
        .cloned()
        .unwrap_or_default();
    Pod {
        app: text(workload, "/spec/template/metadata/labels/app").to_owned(),
        requests: requests(&spec, &defaults),
        node: None,
        daemon_set: None,
        pending: true,
        namespace,
        labels: labels(workload, "/spec/template/metadata/labels"),
        terminating: false,
        claim_templates: list(workload, "/spec/volumeClaimTemplates").to_vec(),
        spec,
    }
}

fn namespace_of(document: &Value) -> String {
    full_name(document).split('/').next().unwrap_or("").to_owned()
}

/// Whether any pod of a workload is there: by owner, by an owner between, or by the selector.
fn has_pods(input: &Input, workload: &Value) -> bool {
    let (kind, name) = (text(workload, "/kind"), text(workload, "/metadata/name"));
    let owned = |document: &Value, kind: &str, name: &str| {
        list(document, "/metadata/ownerReferences")
            .iter()
            .any(|owner| text(owner, "/kind") == kind && text(owner, "/name") == name)
    };
    let selector = labels(workload, "/spec/selector/matchLabels");
    let selected = |pod: &Value| {
        let carried = labels(pod, "/metadata/labels");
        !selector.is_empty()
            && selector
                .iter()
                .all(|(key, value)| carried.get(key) == Some(value))
    };
    let made_by_another = list(workload, "/metadata/ownerReferences")
        .iter()
        .any(|owner| input.named(text(owner, "/kind"), text(owner, "/name")).is_some());
    let same_namespace = |pod: &&Value| namespace_of(pod) == namespace_of(workload);
    made_by_another
        || input
            .kind("Pod")
            .filter(same_namespace)
            .any(|pod| owned(pod, kind, name) || selected(pod))
}

/// Effective requests of a pod, a pod slot included.
fn requests(spec: &Value, defaults: &Value) -> Amounts {
    let of = |container: &Value| container_requests(container, defaults);
    let mut running = Amounts::new();
    let mut peak = Amounts::new();
    for container in list(spec, "/initContainers") {
        if text(container, "/restartPolicy") == "Always" {
            add(&mut running, &of(container));
        } else {
            let mut start = running.clone();
            add(&mut start, &of(container));
            peak = larger(&peak, &start);
        }
    }
    for container in list(spec, "/containers") {
        add(&mut running, &of(container));
    }
    let mut total = larger(&peak, &running);
    if let Some(of_pod) = spec.pointer("/resources/requests") {
        total.extend(amounts(of_pod));
    }
    if let Some(overhead) = spec.pointer("/overhead") {
        add(&mut total, &amounts(overhead));
    }
    total.insert("pods".to_owned(), 1000);
    total
}

/// A container's requests: its own, else its limits, else the namespace's defaults.
fn container_requests(container: &Value, defaults: &Value) -> Amounts {
    let mut result = Amounts::new();
    for pointer in ["/default", "/defaultRequest"] {
        result.extend(defaults.pointer(pointer).map(amounts).unwrap_or_default());
    }
    for pointer in ["/resources/limits", "/resources/requests"] {
        result.extend(container.pointer(pointer).map(amounts).unwrap_or_default());
    }
    result
}

/// Parses what the plan writes for one launch.
pub(crate) fn written(requests: &Value) -> Amounts {
    let entries = requests.as_object().into_iter().flatten();
    entries
        .map(|(name, value)| (name.clone(), thousandths(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sidecars_run_beside_and_init_containers_before() {
        let with = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        let mut sidecar = with("100m");
        sidecar["restartPolicy"] = json!("Always");
        let spec =
            json!({"initContainers": [sidecar, with("900m")], "containers": [with("300m"), with("400m")]});
        assert_eq!(requests(&spec, &Value::Null)["cpu"], 1000);
        assert_eq!(requests(&spec, &Value::Null)["pods"], 1000);
    }

    #[test]
    fn limits_and_the_namespace_s_defaults_stand_in() {
        let spec = json!({"containers": [{"resources": {"limits": {"cpu": "2"}}}, {}]});
        let defaults = json!({"defaultRequest": {"cpu": "1"}, "default": {"cpu": "4"}});
        assert_eq!(requests(&spec, &defaults)["cpu"], 3000);
    }
}
