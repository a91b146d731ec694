//! Effective requests of a pod, in Kubernetes' own formula.
//!
//! Containers run together; init containers one after the other, each beside the sidecars started before it; the pod needs
//! the larger of both, resource by resource. Amounts of the pod as a whole replace the sum, overhead comes on top, and
//! the pod takes one slot. Source: Kubernetes documentation, "Init Containers", "Sidecar Containers", "Pod Overhead",
//! "Assign pod-level resources", "Resize CPU and memory in place".

use std::collections::BTreeMap;

use dovetail_solver::model::resources::{Amount, ResourceName, Resources};

use crate::cluster::objects::meta::Amounts;
use crate::cluster::objects::pod::{Container, PodSpec};

/// What a pod of this spec needs of its node. `allocated` is what the kubelet gave single containers (a resize in place
/// that isn't finished counts with the larger of both).
#[must_use]
pub fn effective(spec: &PodSpec, allocated: &BTreeMap<String, Amounts>) -> Resources {
    let of = |container: &Container| {
        let mut requests = container.resources.requests.clone();
        requests.fill_from(&container.resources.limits);
        let requests = requests.requested();
        match allocated.get(&container.name) {
            Some(given) => Resources::larger(&requests, &given.requested()),
            None => requests,
        }
    };
    let mut running = Resources::new();
    for container in &spec.containers {
        running.add_all(&of(container));
    }
    let mut sidecars = Resources::new();
    let mut starting = Resources::new();
    for container in &spec.init_containers {
        let needs = of(container);
        let moment = if container.is_sidecar() {
            running.add_all(&needs);
            sidecars.add_all(&needs);
            sidecars.clone()
        } else {
            let mut moment = needs;
            moment.add_all(&sidecars);
            moment
        };
        starting = Resources::larger(&starting, &moment);
    }
    let mut total = Resources::larger(&running, &starting);
    for (name, amount) in pod_level(spec, &total).iter() {
        total.set(name.clone(), amount);
    }
    total.add_all(&spec.overhead.requested());
    total.set(ResourceName::Pods, Amount::new(1));
    total
}

/// What the pod as a whole asks for. A limit stands in for a request that neither the pod nor a container states.
fn pod_level(spec: &PodSpec, summed: &Resources) -> Resources {
    let mut written = spec.resources.requests.clone();
    for (name, amount) in spec.resources.limits.requested().iter() {
        if !written.contains(name) && (!summed.contains(name) || amount == Amount::ZERO) {
            written.fill_from(&spec.resources.limits.only(name));
        }
    }
    written
        .requested()
        .iter()
        .filter(|(name, _)| is_pod_level(name))
        .map(|(name, amount)| (name.clone(), amount))
        .collect()
}

/// Resources that may be stated for the pod as a whole.
fn is_pod_level(name: &ResourceName) -> bool {
    match name {
        ResourceName::Cpu | ResourceName::Memory => true,
        ResourceName::Other(name) => name.starts_with("hugepages-"),
        ResourceName::EphemeralStorage | ResourceName::Pods => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn needs(spec: Value) -> String {
        let spec: PodSpec = serde_json::from_value(spec).unwrap();
        effective(&spec, &BTreeMap::new()).to_string()
    }

    fn container(cpu: &str) -> Value {
        json!({"name": cpu, "resources": {"requests": {"cpu": cpu}}})
    }

    #[test]
    fn containers_add_up_and_init_containers_run_alone() {
        assert_eq!(
            needs(json!({"containers": [container("1"), container("500m")]})),
            "cpu 1500m, pods 1"
        );
        assert_eq!(
            needs(
                json!({"containers": [container("1")], "initContainers": [container("3"), container("2")]})
            ),
            "cpu 3, pods 1"
        );
        assert_eq!(needs(json!({})), "pods 1");
    }

    #[test]
    fn sidecars_run_beside_what_starts_after_them() {
        let sidecar = |cpu: &str| json!({"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": cpu}}});
        // Before the sidecar: 4. Beside it: 1 + 2. Running: 1 + 1.
        let spec = json!({"containers": [container("1")], "initContainers": [container("4"), sidecar("1"), container("2")]});
        assert_eq!(needs(spec), "cpu 4, pods 1");
        let spec = json!({"containers": [container("1")], "initContainers": [sidecar("1"), container("4"), sidecar("2")]});
        assert_eq!(needs(spec), "cpu 5, pods 1");
        let spec = json!({"containers": [container("2")], "initContainers": [sidecar("1"), sidecar("2")]});
        assert_eq!(needs(spec), "cpu 5, pods 1");
    }

    #[test]
    fn limits_stand_in_and_overhead_comes_on_top() {
        let spec = json!({"containers": [{"name": "a", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "200m"}}}],
            "overhead": {"memory": "120Mi"}});
        assert_eq!(needs(spec), "cpu 200m, memory 1144Mi, pods 1");
    }

    #[test]
    fn the_pod_as_a_whole_beats_the_sum() {
        let spec = json!({"containers": [container("1"), container("1")],
            "resources": {"requests": {"cpu": "5"}, "limits": {"cpu": "6", "memory": "2Gi"}}});
        assert_eq!(needs(spec), "cpu 5, memory 2Gi, pods 1");
        let summed =
            json!({"containers": [container("1"), container("1")], "resources": {"limits": {"cpu": "6"}}});
        assert_eq!(needs(summed), "cpu 2, pods 1");
    }

    #[test]
    fn a_resize_in_place_counts_with_the_larger_amount() {
        let spec: PodSpec = serde_json::from_value(json!({"containers": [container("1")]})).unwrap();
        let given = |cpu: &str| {
            BTreeMap::from([(
                "1".to_owned(),
                serde_json::from_value(json!({"cpu": cpu})).unwrap(),
            )])
        };
        assert_eq!(effective(&spec, &given("2")).to_string(), "cpu 2, pods 1");
        assert_eq!(effective(&spec, &given("200m")).to_string(), "cpu 1, pods 1");
    }

    #[test]
    fn extreme_amounts_stick_instead_of_wrapping() {
        let huge = json!({"name": "h", "resources": {"requests": {"memory": "9223372036854775807"}}});
        let spec = json!({"containers": [huge, huge, huge]});
        assert!(needs(spec).starts_with("memory 18446744073709551615"));
    }
}
