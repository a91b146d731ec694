//! Pods with volumes: where they may go, what they attach, what they can't get.

use super::defaults::SchedulerConfig;
use super::*;
use crate::cluster::manifests::read_bytes;
use dovetail_solver::model::explain::Constraint;
use serde_json::{Value, json};

const STORAGE: &str = "\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: gp3, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
allowedTopologies: [{matchLabelExpressions: [{key: topology.ebs.csi.aws.com/zone, values: [a, b]}]}]
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: anywhere}
provisioner: kubernetes.io/aws-ebs
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: at-once}
provisioner: ebs.csi.aws.com
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-a, labels: {failure-domain.beta.kubernetes.io/zone: a__c}}
spec:
  csi: {driver: ebs.csi.aws.com, volumeHandle: vol-1}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.ebs.csi.aws.com/zone, operator: In, values: [a, b]}]}]}}
status: {phase: Bound}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk-1}
spec:
  storageClassName: local
  capacity: {storage: 10Gi}
  accessModes: [ReadWriteOnce]
  local: {path: /mnt/1}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}]}}
status: {phase: Available}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: shared}
spec: {csi: {driver: efs.csi.aws.com, volumeHandle: fs-1}}
---
";

fn index_of(yaml: &str) -> Index {
    let read = read_bytes("input", yaml.as_bytes(), &[]).unwrap();
    let said = read.diagnostics.notes().iter().filter(|_| !yaml.is_empty());
    assert_eq!(said.count(), 0);
    read.index
}

fn claim(name: &str, spec: &str, more: &str) -> String {
    format!(
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {name}, namespace: shop{more}}}\nspec: {{{spec}}}\n---\n"
    )
}

fn asked_of(yaml: &str, spec: Value, templates: Value) -> Asked {
    let index = index_of(yaml);
    let spec: PodSpec = serde_json::from_value(spec).unwrap();
    let templates: Vec<ClaimTemplate> = serde_json::from_value(templates).unwrap();
    let subject = Subject {
        namespace: "shop",
        pod: Some("db-0"),
        labels: &Labels::new(),
        owner: None,
        claim_templates: &templates,
        gang: None,
    };
    let config = SchedulerConfig::default();
    Surroundings::of(&index, &config).asked(&spec, subject).unwrap()
}

/// What a pod with these claims asks, where these documents stand beside the classes and volumes.
fn with_claims(documents: &[String], names: &[&str]) -> Asked {
    let volumes: Vec<Value> = names
        .iter()
        .map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}))
        .collect();
    let yaml = [STORAGE.to_owned(), documents.concat()].concat();
    asked_of(&yaml, json!({"volumes": volumes}), json!([]))
}

fn admits(asked: &Asked, key: &str, value: &str) -> bool {
    let labels = Labels::from([(key.to_owned(), value.to_owned())]);
    let mut volumes = asked.rules.volumes.iter();
    volumes.all(|volume| volume.reach.admits(&labels, None))
}

fn in_zone(asked: &Asked, zone: &str) -> bool {
    admits(asked, "topology.kubernetes.io/zone", zone)
}

fn refusal(document: &str) -> String {
    let asked = with_claims(&[document.to_owned()], &["data"]);
    let impossible = asked.rules.impossible.unwrap();
    assert_eq!(impossible.constraint, Constraint::Volume);
    impossible.detail
}

#[test]
fn a_bound_volume_is_reached_where_its_affinity_and_its_labels_say() {
    let asked = with_claims(&[claim("data", "volumeName: pv-a", "")], &["data"]);
    assert_eq!(asked.rules.volumes[0].claim, "data");
    assert!(in_zone(&asked, "a") && !in_zone(&asked, "b") && !in_zone(&asked, "c"));
    assert_eq!(
        asked.attached,
        BTreeMap::from([("ebs.csi.aws.com".to_owned(), 1)])
    );
    assert_eq!(asked.rules.impossible, None);
}

#[test]
fn a_claim_that_waits_may_go_where_its_class_allows() {
    let by_default = with_claims(&[claim("data", "", "")], &["data"]);
    assert!(in_zone(&by_default, "a") && !in_zone(&by_default, "c"));
    let free = with_claims(&[claim("data", "storageClassName: anywhere", "")], &["data"]);
    assert!(free.rules.volumes.is_empty());
    assert_eq!(free.attached["ebs.csi.aws.com"], 1);
    let annotation = ", annotations: {volume.beta.kubernetes.io/storage-class: anywhere}";
    let annotated = with_claims(&[claim("data", "", annotation)], &["data"]);
    assert!(annotated.rules.volumes.is_empty());
}

#[test]
fn a_claim_of_volumes_made_by_hand_goes_where_one_is_free() {
    let wanted = |size: &str| {
        let spec = format!(
            "storageClassName: local, accessModes: [ReadWriteOnce], resources: {{requests: {{storage: {size}}}}}"
        );
        claim("data", &spec, "")
    };
    let asked = with_claims(&[wanted("5Gi")], &["data"]);
    assert!(admits(&asked, "kubernetes.io/hostname", "n1"));
    assert!(!admits(&asked, "kubernetes.io/hostname", "n2"));
    assert!(asked.attached.is_empty());
    assert_eq!(
        refusal(&wanted("50Gi")),
        "no volume of storage class local is available for claim data"
    );
}

#[test]
fn what_a_pod_cannot_get_is_said() {
    let deleted = ", deletionTimestamp: '2026-01-01T00:00:00Z'";
    let lost = claim("data", "volumeName: pv-a", "").replace("---", "status: {phase: Lost}\n---");
    for (document, message) in [
        (String::new(), "persistent volume claim data doesn't exist"),
        (
            claim("data", "volumeName: pv-a", deleted),
            "persistent volume claim data is being deleted",
        ),
        (
            claim("data", "volumeName: gone", ""),
            "persistent volume gone of claim data doesn't exist",
        ),
        (lost, "persistent volume claim data has lost its volume pv-a"),
        (
            claim("data", "storageClassName: gone", ""),
            "storage class gone of claim data doesn't exist",
        ),
        (
            claim("data", "storageClassName: ''", ""),
            "claim data isn't bound to a volume and has no storage class that could make one",
        ),
        (
            claim("data", "storageClassName: at-once", ""),
            "claim data isn't bound to a volume, and storage class at-once doesn't wait for a pod to bind it",
        ),
    ] {
        assert_eq!(refusal(&document), message);
    }
}

#[test]
fn each_volume_counts_once_and_only_where_its_driver_counts() {
    let documents = [
        claim("one", "storageClassName: anywhere", ""),
        claim("two", "storageClassName: anywhere", ""),
        claim("three", "volumeName: shared", ""),
    ];
    let asked = with_claims(&documents, &["one", "two", "one", "three"]);
    assert_eq!(
        asked.attached,
        BTreeMap::from([("ebs.csi.aws.com".to_owned(), 2)])
    );
    let node = "apiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: n1}\nspec: {drivers: [{name: efs.csi.aws.com, nodeID: i, allocatable: {count: 9}}]}\n---\n";
    let counted = with_claims(&[documents.concat(), node.to_owned()], &["one", "three"]);
    assert_eq!(counted.attached.len(), 2);
}

#[test]
fn claims_that_are_made_with_the_pod_are_as_their_template_says_until_they_are_there() {
    let ephemeral = json!({"volumes": [
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "gp3"}}}}
    ]});
    let templates = json!([{"metadata": {"name": "data"}, "spec": {"storageClassName": "at-once"}}]);
    let asked = asked_of(STORAGE, ephemeral.clone(), templates.clone());
    assert!(in_zone(&asked, "b") && !in_zone(&asked, "c"));
    assert_eq!(asked.attached["ebs.csi.aws.com"], 2);
    assert_eq!(asked.rules.impossible, None);
    assert_eq!(asked.rules.volumes[0].claim, "scratch");

    let made = [
        claim("data-db-0", "volumeName: pv-a", ""),
        claim("db-0-scratch", "volumeName: pv-a", ""),
    ];
    let yaml = [STORAGE.to_owned(), made.concat()].concat();
    let asked = asked_of(&yaml, ephemeral, templates);
    assert!(in_zone(&asked, "a") && !in_zone(&asked, "b"));
    let volumes = asked.rules.volumes.iter();
    let names: Vec<&str> = volumes.map(|volume| volume.claim.as_str()).collect();
    assert_eq!(names, ["data-db-0", "db-0-scratch"]);
}

#[test]
fn without_any_storage_object_nothing_is_refused() {
    let spec = json!({"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]});
    let asked = asked_of("", spec, json!([]));
    assert!(asked.rules.is_empty() && asked.attached.is_empty());
}
