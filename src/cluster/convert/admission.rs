//! What the API server's admission adds to a pod, for pods that haven't passed it: templates and hand-written pods.
//!
//! Defaults of a LimitRange, overhead and placement of a RuntimeClass, the priority of a PriorityClass. A pod with a uid
//! passed admission; only what it names and doesn't carry is looked up for it. Source: Kubernetes documentation, "Limit
//! Ranges", "Runtime Class", "Pod Priority and Preemption".

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cluster::index::Index;
use crate::cluster::objects::admission::{LimitRangeItem, RuntimeClass};
use crate::cluster::objects::meta::{Amounts, ObjectName};
use crate::cluster::objects::pod::PodSpec;

/// What admission knows, made once for a snapshot.
#[derive(Debug)]
pub struct Admission<'i> {
    index: &'i Index,
    /// Defaults of containers by namespace: of the first LimitRange by name that says something, as the server lists them.
    defaults: BTreeMap<&'i str, Defaults>,
    default_priority: i32,
}

#[derive(Clone, Debug, Default)]
struct Defaults {
    requests: Amounts,
    limits: Amounts,
}

impl<'i> Admission<'i> {
    /// Reads the index once.
    #[must_use]
    pub fn new(index: &'i Index) -> Self {
        let mut defaults: BTreeMap<&str, Defaults> = BTreeMap::new();
        for (name, stored) in index.limit_ranges() {
            let of_namespace = defaults.entry(&*name.namespace).or_default();
            for item in stored
                .object
                .spec
                .limits
                .iter()
                .filter(|item| item.kind == "Container")
            {
                let Defaults { requests, limits } = defaults_of(item);
                of_namespace.requests.fill_from(&requests);
                of_namespace.limits.fill_from(&limits);
            }
        }
        let default_priority = index
            .priority_classes()
            .values()
            .filter(|stored| stored.object.global_default)
            .map(|stored| stored.object.value)
            .min()
            .unwrap_or(0);
        Self {
            index,
            defaults,
            default_priority,
        }
    }

    /// The spec as it is after admission.
    #[must_use]
    pub fn admit(&self, spec: &Arc<PodSpec>, namespace: &str, has_passed: bool) -> Arc<PodSpec> {
        let mut admitted = PodSpec::clone(spec);
        if !has_passed && let Some(defaults) = self.defaults.get(namespace) {
            for container in admitted
                .containers
                .iter_mut()
                .chain(&mut admitted.init_containers)
            {
                // The server lets a container's own limits stand in for its requests before any LimitRange is asked.
                let limits = container.resources.limits.clone();
                container.resources.requests.fill_from(&limits);
                container.resources.requests.fill_from(&defaults.requests);
                container.resources.limits.fill_from(&defaults.limits);
            }
        }
        if let Some(class) = self.runtime_class(&admitted) {
            if admitted.overhead.is_empty() {
                admitted.overhead = class.overhead.pod_fixed.clone();
            }
            for (key, value) in &class.scheduling.node_selector {
                admitted
                    .node_selector
                    .entry(key.clone())
                    .or_insert_with(|| value.clone());
            }
            for toleration in &class.scheduling.tolerations {
                if !admitted.tolerations.contains(toleration) {
                    admitted.tolerations.push(toleration.clone());
                }
            }
        }
        admitted.priority = Some(self.priority(&admitted));
        Arc::new(admitted)
    }

    fn runtime_class(&self, spec: &PodSpec) -> Option<&RuntimeClass> {
        let name = spec.runtime_class_name.as_deref()?;
        self.index
            .runtime_classes()
            .get(&ObjectName::new("", name))
            .map(|stored| &stored.object)
    }

    fn priority(&self, spec: &PodSpec) -> i32 {
        if let Some(priority) = spec.priority {
            return priority;
        }
        match spec
            .priority_class_name
            .as_deref()
            .filter(|name| !name.is_empty())
        {
            None => self.default_priority,
            // Kubernetes' own two classes, on every cluster.
            Some("system-cluster-critical") => 2_000_000_000,
            Some("system-node-critical") => 2_000_001_000,
            Some(name) => self
                .index
                .priority_classes()
                .get(&ObjectName::new("", name))
                .map_or(0, |stored| stored.object.value),
        }
    }
}

/// One line of a LimitRange with what the server fills in: the most is a container's default limit, a default limit its
/// default request, and failing both the least.
fn defaults_of(item: &LimitRangeItem) -> Defaults {
    let mut limits = item.default.clone();
    limits.fill_from(&item.max);
    let mut requests = item.default_request.clone();
    requests.fill_from(&limits);
    requests.fill_from(&item.min);
    Defaults { requests, limits }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::convert::requests::effective;
    use crate::cluster::manifests::read_bytes;

    const INPUT: &str = r"
apiVersion: v1
kind: LimitRange
metadata: {name: a, namespace: shop}
spec: {limits: [{type: Container, default: {memory: 512Mi}, defaultRequest: {cpu: 250m}, max: {cpu: 2}}, {type: Pod, max: {cpu: 8}}]}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: usual}
value: 7
globalDefault: true
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: vm}
handler: vm
overhead: {podFixed: {memory: 160Mi}}
scheduling: {nodeSelector: {vm: yes}, tolerations: [{key: vm, operator: Exists}]}
";

    fn spec(yaml: serde_json::Value) -> Arc<PodSpec> {
        Arc::new(serde_json::from_value(yaml).unwrap())
    }

    #[test]
    fn a_template_gets_the_defaults_of_its_namespace() {
        let read = read_bytes("input", INPUT.as_bytes(), &[]).unwrap();
        let admission = Admission::new(&read.index);
        let bare = spec(
            serde_json::json!({"containers": [{"name": "a"}, {"name": "b", "resources": {"limits": {"cpu": "1"}}}]}),
        );
        let needs = |namespace: &str, has_passed| {
            effective(&admission.admit(&bare, namespace, has_passed), &BTreeMap::new()).to_string()
        };
        assert_eq!(needs("shop", false), "cpu 1250m, memory 1Gi, pods 1");
        assert_eq!(needs("shop", true), "cpu 1, pods 1");
        assert_eq!(needs("other", false), "cpu 1, pods 1");
    }

    #[test]
    fn priorities_and_runtimes_are_looked_up_by_name() {
        let read = read_bytes("input", INPUT.as_bytes(), &[]).unwrap();
        let admission = Admission::new(&read.index);
        let priority = |yaml: serde_json::Value| admission.admit(&spec(yaml), "x", true).priority;
        assert_eq!(priority(serde_json::json!({})), Some(7));
        assert_eq!(
            priority(serde_json::json!({"priorityClassName": "high"})),
            Some(1000)
        );
        assert_eq!(
            priority(serde_json::json!({"priorityClassName": "high", "priority": 3})),
            Some(3)
        );
        assert_eq!(
            priority(serde_json::json!({"priorityClassName": "system-node-critical"})),
            Some(2_000_001_000)
        );
        let vm = admission.admit(&spec(serde_json::json!({"runtimeClassName": "vm"})), "x", false);
        assert_eq!(
            effective(&vm, &BTreeMap::new()).to_string(),
            "memory 160Mi, pods 1"
        );
        assert_eq!(
            (vm.node_selector["vm"].as_str(), vm.tolerations.len()),
            ("yes", 1)
        );
    }
}
