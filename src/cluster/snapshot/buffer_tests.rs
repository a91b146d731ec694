//! CapacityBuffers in snapshots.

use super::tests::*;
use super::*;

const TEMPLATE: &str = "apiVersion: v1\nkind: PodTemplate\nmetadata: {name: unit}\ntemplate:\n  metadata: {labels: {app: buffer}}\n  spec: {containers: [{name: c, resources: {requests: {cpu: 500m, memory: 1Gi}}}]}\n---\n";
const WEB: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 7\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: c, resources: {requests: {cpu: 1}}}]\n---\n";

fn buffer(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: autoscaling.x-k8s.io/v1beta1\nkind: CapacityBuffer\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n---\n"
    )
}

fn world(spec: &str) -> Frozen {
    let documents = [CATALOG, CLASS, TEMPLATE, WEB].map(str::to_owned);
    let mut documents = documents.to_vec();
    documents.push(pool("default", "default", ""));
    documents.push(buffer("spare", spec));
    frozen(&documents)
}

fn spare(frozen: &Frozen) -> usize {
    let pods = frozen.snapshot.pods.iter();
    pods.filter(|pod| pod.name.name.starts_with("spare-")).count()
}

#[test]
fn a_buffer_is_so_many_pods_of_the_lowest_priority() {
    for (spec, count) in [
        ("podTemplateRef: {name: unit}, replicas: 3", 3),
        ("podTemplateRef: {name: unit}, replicas: 3, limits: {cpu: 1}", 2),
        ("podTemplateRef: {name: unit}, limits: {cpu: 4, memory: 3Gi}", 3),
        ("scalableRef: {kind: Deployment, name: web}, percentage: 20", 2),
        ("scalableRef: {kind: Deployment, name: web}, percentage: 1", 1),
        (
            "scalableRef: {kind: Deployment, name: web}, percentage: 20, replicas: 5",
            5,
        ),
        ("podTemplateRef: {name: unit}, replicas: 0", 0),
    ] {
        let frozen = world(spec);
        assert_eq!(spare(&frozen), count, "{spec}: {:?}", said(&frozen));
        let pods = frozen.snapshot.pods.iter();
        let mut spare = pods.filter(|pod| pod.name.name.starts_with("spare-"));
        assert!(spare.all(|pod| pod.spec.priority == i32::MIN), "{spec}");
    }
}

#[test]
fn a_buffer_without_its_template_is_named() {
    for (spec, expected) in [
        (
            "podTemplateRef: {name: other}, replicas: 3",
            "PodTemplate other isn't in the input",
        ),
        (
            "scalableRef: {kind: Deployment, name: other}, replicas: 1",
            "Deployment other isn't in the input",
        ),
        ("replicas: 3", "neither podTemplateRef nor scalableRef"),
        (
            "podTemplateRef: {name: unit}, replicas: 3, provisioningStrategy: other",
            "active-capacity",
        ),
    ] {
        let frozen = world(spec);
        assert_eq!(spare(&frozen), 0, "{spec}");
        assert!(
            said(&frozen).iter().any(|note| note.contains(expected)),
            "{:?}",
            said(&frozen)
        );
    }
}
