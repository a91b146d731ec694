//! Snapshots of inputs that people have.

use super::*;
pub(super) use crate::cluster::manifests::read_bytes;
use dovetail_solver::model::pod::PodPlace;

pub(super) const CATALOG: &str = "apiVersion: dovetail.sh/v1alpha1\nkind: Catalog\nmetadata: {name: small}\nspec:\n  region: eu-west-1\n  zones: [eu-west-1a, eu-west-1b]\n  instanceTypes:\n  - {name: c7i.large, capacity: {cpu: '2', memory: 4Gi, pods: 29}, allocatable: {cpu: 1930m, memory: 3114Mi, pods: 29}, onDemand: 0.1}\n  - name: m7i.large\n    capacity: {cpu: '2', memory: 8Gi, pods: 29}\n    offerings:\n    - {zone: eu-west-1a, capacityType: on-demand, price: 0.2}\n    - {zone: eu-west-1a, capacityType: on-demand, price: 0.05, limit: 1, commitment: plan}\n---\n";
pub(super) const CLASS: &str = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: default}\nspec: {amiSelectorTerms: [{alias: al2023@latest}], role: r, subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}]}\n---\n";

pub(super) fn pool(name: &str, class: &str, more: &str) -> String {
    format!(
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: {name}}}\nspec: {{template: {{spec: {{requirements: [], nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: {class}}}}}}}}}\n{more}---\n"
    )
}

fn pod(name: &str, spec: &str, more: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{{name: c, resources: {{requests: {{cpu: 1}}}}}}], {spec}}}\n{more}---\n"
    )
}

pub(super) fn node(name: &str, instance_type: &str, more: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{node.kubernetes.io/instance-type: {instance_type}, topology.kubernetes.io/zone: eu-west-1a}}}}\nspec: {{{more}}}\nstatus: {{capacity: {{cpu: 2}}}}\n---\n"
    )
}

pub(super) fn frozen(documents: &[String]) -> Frozen {
    let read = read_bytes("input", documents.concat().as_bytes(), &[]).unwrap();
    assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
    freeze(&read.index, &FreezeOptions::default()).unwrap()
}

pub(super) fn said(frozen: &Frozen) -> Vec<String> {
    frozen
        .notes
        .iter()
        .map(|note| format!("{} {note}", note.severity))
        .collect()
}

#[test]
fn a_pool_its_class_and_a_pending_pod() {
    let frozen = frozen(&[
        CATALOG.to_owned(),
        CLASS.to_owned(),
        pool("default", "default", ""),
        pod("p", "", ""),
    ]);
    assert!(frozen.notes.is_empty(), "{:?}", said(&frozen));
    assert_eq!(
        (frozen.region_reason.as_str(), frozen.spot_is_estimated),
        ("Catalog small", false)
    );
    let snapshot = &frozen.snapshot;
    assert_eq!(snapshot.region, "eu-west-1");
    assert_eq!(
        snapshot.node_class(&snapshot.node_pools[0]).instance_types.len(),
        2
    );
    assert_eq!(snapshot.pods[0].spec.requests.to_string(), "cpu 1, pods 1");
}

#[test]
fn a_pool_without_its_class_is_left_out_and_the_rest_is_planned() {
    let not_ready = "status: {conditions: [{type: Ready, status: 'False', reason: NoSubnets}]}\n";
    let other = pool("other", "default", "").replace("EC2NodeClass", "KWOKNodeClass");
    let frozen = frozen(&[
        CATALOG.to_owned(),
        CLASS.to_owned(),
        pool("good", "default", ""),
        pool("lost", "gone", ""),
        pool("sick", "default", not_ready),
        other,
    ]);
    let names: Vec<&str> = frozen
        .snapshot
        .node_pools
        .iter()
        .map(|pool| pool.name.as_str())
        .collect();
    assert_eq!(names, ["good", "lost", "other", "sick"]);
    let pools = frozen.snapshot.node_pools.iter();
    let why: Vec<&str> = pools.map(|pool| pool.left_out.as_deref().unwrap_or("")).collect();
    assert_eq!(why[0], "", "its class is another's too");
    assert!(
        !frozen
            .snapshot
            .node_class(&frozen.snapshot.node_pools[0])
            .instance_types
            .is_empty()
    );
    assert!(
        why[1].starts_with("EC2NodeClass gone isn't in the input"),
        "{why:?}"
    );
    assert!(
        why[2].contains("KWOKNodeClass") && why[3] == "it isn't Ready (NoSubnets)",
        "{why:?}"
    );
    let said = said(&frozen);
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(
        said[0].starts_with("error input, document 4")
            && said[0].contains("EC2NodeClass gone isn't in the input"),
        "{said:?}"
    );
    assert!(
        said[1].contains("NodePool other") && said[1].contains("KWOKNodeClass"),
        "{said:?}"
    );
    assert!(said[2].contains("it isn't Ready (NoSubnets)"), "{said:?}");
}

#[test]
fn a_pool_that_makes_no_sense_says_where() {
    let odd = pool("odd", "default", "").replace("spec: {template", "spec: {weight: -1, template");
    let frozen = frozen(&[CATALOG.to_owned(), CLASS.to_owned(), odd]);
    let why = frozen.snapshot.node_pools[0].left_out.as_deref();
    assert_eq!(
        why,
        Some("spec.weight: expected a weight from 1 to 100"),
        "{:?}",
        said(&frozen)
    );
}

#[test]
fn pods_that_are_not_planned_are_named_once_a_reason() {
    let status = "status: {phase: Succeeded}\n";
    let opted_out = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: karpenter.sh/nodepool, operator: DoesNotExist}]}]}}}";
    let frozen = frozen(&[
        CATALOG.to_owned(),
        CLASS.to_owned(),
        pool("default", "default", ""),
        node("n1", "c7i.large", ""),
        pod("done", "", status),
        pod("gated", "schedulingGates: [{name: g}]", ""),
        pod("other", "schedulerName: volcano", ""),
        pod("nominated", "", "status: {nominatedNodeName: n1}\n"),
        pod("lost", "nodeName: gone", ""),
        pod("out", opted_out, ""),
        pod("bound", "nodeName: n1", ""),
    ]);
    let pods: Vec<(&str, &PodPlace)> = frozen
        .snapshot
        .pods
        .iter()
        .map(|pod| (pod.name.name.as_str(), &pod.place))
        .collect();
    assert_eq!(pods, [("bound", &PodPlace::Bound("n1".into()))]);
    assert_eq!(frozen.notes.len(), 5, "{:?}", said(&frozen));
    assert!(frozen.notes.iter().all(|note| note.count == 1));
}

#[test]
fn limited_offers_go_to_the_first_nodes_and_unknown_types_cost_nothing() {
    let frozen = frozen(&[
        CATALOG.to_owned(),
        node("a", "m7i.large", "").replace(
            "labels: {",
            "labels: {eks.amazonaws.com/capacityType: ON_DEMAND, ",
        ),
        node("b", "m7i.large", ""),
        node("c", "x1.huge", ""),
    ]);
    let prices: Vec<String> = frozen
        .snapshot
        .nodes
        .iter()
        .map(|node| node.price.to_string())
        .collect();
    assert_eq!(prices, ["0.05", "0.2", "0"]);
    assert!(
        said(&frozen)
            .iter()
            .any(|text| text.contains("x1.huge on-demand in eu-west-1a")),
        "{:?}",
        said(&frozen)
    );
}

#[test]
fn a_pod_of_a_node_that_goes_needs_what_its_restart_needs() {
    let set = "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: web}\nspec: {replicas: 1, template: {spec: {containers: [{name: c, resources: {requests: {cpu: 2, memory: 1Mi}}}]}}}\n---\n";
    let owned = |name: &str, node: &str| {
        pod(name, &format!("nodeName: {node}"), "").replace(
            "{name: p",
            "{ownerReferences: [{kind: ReplicaSet, name: web}], name: p",
        )
    };
    let frozen = frozen(&[
        CATALOG.to_owned(),
        set.to_owned(),
        node(
            "going",
            "c7i.large",
            "taints: [{key: karpenter.sh/disrupted, effect: NoSchedule}]",
        ),
        node("here", "c7i.large", ""),
        owned("p1", "going"),
        owned("p2", "here"),
    ]);
    let requests: Vec<String> = frozen
        .snapshot
        .pods
        .iter()
        .map(|pod| pod.spec.requests.to_string())
        .collect();
    assert_eq!(requests, ["cpu 2, memory 1Mi, pods 1", "cpu 1, pods 1"]);
}

#[test]
fn workloads_are_expanded_under_names_that_nobody_has() {
    let workload = |kind: &str, replicas: u64| {
        format!(
            "apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: web}}\nspec: {{replicas: {replicas}, template: {{spec: {{}}}}}}\n---\n"
        )
    };
    let frozen = frozen(&[
        CATALOG.to_owned(),
        workload("Deployment", 2),
        workload("StatefulSet", 1),
        pod("web-1", "", ""),
    ]);
    let names: Vec<&str> = frozen
        .snapshot
        .pods
        .iter()
        .map(|pod| pod.name.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["web-1", "web-deployment-0", "web-deployment-1", "web-0"]
            .iter()
            .copied()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
    );
    let shared: Vec<_> = frozen
        .snapshot
        .pods
        .iter()
        .filter(|pod| pod.name.name.starts_with("web-deployment"))
        .collect();
    assert!(std::sync::Arc::ptr_eq(&shared[0].spec, &shared[1].spec));
}

#[test]
fn a_workload_of_two_billion_replicas_is_refused() {
    let huge = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2147483647, template: {spec: {}}}\n---\n";
    let frozen = frozen(&[CATALOG.to_owned(), huge.to_owned(), pod("p", "", "")]);
    assert_eq!(frozen.snapshot.pods.len(), 1);
    let note = frozen
        .notes
        .iter()
        .find(|note| note.reason == Reason::TooManyPods)
        .unwrap();
    assert!(note.origin.is_some());
    assert_eq!(note.path.as_deref(), Some("spec.replicas"));
}

#[test]
fn fewer_than_no_pods_is_said_and_brings_none() {
    let negative = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: -1, template: {spec: {}}}\n---\n\
                    apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {parallelism: -3, template: {spec: {}}}\n---\n";
    let frozen = frozen(&[CATALOG.to_owned(), negative.to_owned(), pod("p", "", "")]);
    assert_eq!(frozen.snapshot.pods.len(), 1);
    let odd: Vec<String> = frozen
        .notes
        .iter()
        .filter(|note| note.reason == Reason::Odd)
        .map(ToString::to_string)
        .collect();
    assert_eq!(odd.len(), 2, "{odd:?}");
    assert!(
        odd[0].contains("Deployment default/web: spec.replicas: expected 0 or more, found -1"),
        "{odd:?}"
    );
    assert!(
        odd[1].contains("Job default/j: spec.parallelism: expected 0 or more, found -3"),
        "{odd:?}"
    );
}

#[test]
fn the_region_is_chosen_said_or_usual() {
    let in_europe = "apiVersion: v1\nkind: Node\nmetadata: {name: n, labels: {topology.kubernetes.io/region: eu-west-1}}\nstatus: {capacity: {cpu: 1}}\n---\n";
    let read = read_bytes("input", in_europe.as_bytes(), &[]).unwrap();
    assert_eq!(
        region(&read.index, &FreezeOptions::default()),
        ("eu-west-1".to_owned(), "node labels")
    );
    let chosen = FreezeOptions {
        region: Some("us-west-2".to_owned()),
        ..FreezeOptions::default()
    };
    assert_eq!(region(&read.index, &chosen), ("us-west-2".to_owned(), "flag"));
    assert_eq!(
        region(&Index::new(), &FreezeOptions::default()),
        ("us-east-1".to_owned(), "default")
    );
}

#[test]
fn two_catalogs_are_one_too_many() {
    let text = CATALOG.to_owned() + &CATALOG.replace("name: small", "name: large");
    let read = read_bytes("input", text.as_bytes(), &[]).unwrap();
    let error = freeze(&read.index, &FreezeOptions::default()).unwrap_err();
    assert!(error.to_string().contains("large, small"), "{error}");
}

#[test]
fn an_optimistic_policy_has_instance_types_of_its_own() {
    let policy = "apiVersion: dovetail.sh/v1alpha1\nkind: PackingPolicy\nmetadata: {name: p}\nspec: {nodePools: [bold], overhead: optimistic}\n---\n";
    let frozen = frozen(&[
        CATALOG.to_owned(),
        CLASS.to_owned(),
        pool("bold", "default", ""),
        pool("usual", "default", ""),
        policy.to_owned(),
    ]);
    let memory = |pool: usize| {
        let class = frozen.snapshot.node_class(&frozen.snapshot.node_pools[pool]);
        class.instance_types[1].allocatable.get(&"memory".into())
    };
    assert_eq!(
        frozen.snapshot.node_pools[0].labels["karpenter.k8s.aws/ec2nodeclass"],
        "default"
    );
    assert!(memory(0) > memory(1));
    assert_eq!(frozen.gap, Some(dovetail_solver::model::plan::Gap(5_000)));
}

const STORAGE: &str = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: gp3}\nprovisioner: ebs.csi.aws.com\nvolumeBindingMode: WaitForFirstConsumer\n---\n";
const EBS: &str = "attachable-volumes-csi-ebs.csi.aws.com";

fn stateful_set(more: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: db}}\nspec: {{replicas: 2, template: {{spec: {{containers: [{{name: c}}]}}{more}}}, volumeClaimTemplates: [{{metadata: {{name: data}}, spec: {{storageClassName: gp3}}}}]}}\n---\n"
    )
}

#[test]
fn replicas_of_a_stateful_set_attach_a_volume_each_and_their_claims_are_looked_up() {
    let bound = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data-db-1}\nspec: {volumeName: v}\n---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v, labels: {topology.kubernetes.io/zone: eu-west-1b}}\nspec: {csi: {driver: ebs.csi.aws.com, volumeHandle: x}}\n---\n";
    let csi_node = "apiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: n1}\nspec: {drivers: [{name: ebs.csi.aws.com, nodeID: i, allocatable: {count: 7}}]}\n---\n";
    let frozen = frozen(&[
        CATALOG.to_owned(),
        CLASS.to_owned(),
        pool("default", "default", ""),
        node("n1", "c7i.large", ""),
        node("n2", "c7i.large", ""),
        STORAGE.to_owned(),
        stateful_set(""),
        bound.to_owned(),
        csi_node.to_owned(),
    ]);
    let snapshot = &frozen.snapshot;
    let attaches = |at: usize| snapshot.pods[at].spec.requests.get(&EBS.into()).get();
    assert_eq!((attaches(0), attaches(1)), (1, 1));
    assert!(snapshot.pods[0].spec.rules.volumes.is_empty());
    assert_eq!(snapshot.pods[1].spec.rules.volumes[0].claim, "data-db-1");
    let room = |at: usize| snapshot.nodes[at].allocatable.get(&EBS.into()).get();
    // What the node says; what its type takes less a second interface and the root volume where it says nothing.
    assert_eq!((room(0), room(1)), (7, 31));
    let types = &snapshot.node_class(&snapshot.node_pools[0]).instance_types;
    assert_eq!(types[0].allocatable.get(&EBS.into()).get(), 31);
}

#[test]
fn a_dump_without_storage_says_so_once_and_refuses_nothing() {
    let frozen = frozen(&[
        CATALOG.to_owned(),
        CLASS.to_owned(),
        pool("default", "default", ""),
        stateful_set(""),
        pod(
            "p",
            "volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]",
            "",
        ),
    ]);
    let said = said(&frozen);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("warning 3 pods have volumes of claims"),
        "{said:?}"
    );
    let pods = &frozen.snapshot.pods;
    assert!(pods.iter().all(|pod| pod.spec.rules.is_empty()));
}

#[test]
fn a_gang_is_named_by_pods_templates_and_requests_alike() {
    let gang = "metadata: {annotations: {dovetail.sh/gang: g, dovetail.sh/gang-size: '2'}}";
    let set = stateful_set(&format!(", {gang}"));
    let pod =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {dovetail.sh/gang: g}}\nspec: {}\n---\n";
    let frozen = frozen(&[
        CATALOG.to_owned(),
        CLASS.to_owned(),
        STORAGE.to_owned(),
        set,
        pod.to_owned(),
    ]);
    let gangs: Vec<(&str, Option<u32>)> = frozen
        .snapshot
        .pods
        .iter()
        .filter_map(|pod| pod.spec.rules.gang.as_ref())
        .map(|gang| (gang.name.as_str(), gang.size))
        .collect();
    assert_eq!(gangs, [("g", Some(2)), ("g", Some(2)), ("g", None)]);
}

#[test]
fn a_status_that_counts_more_nodes_than_the_input_has_is_named_where_they_matter() {
    let said_of = |spec: &str, nodes: u32| {
        let more = format!("status: {{nodes: {nodes}}}\n");
        let pool =
            pool("default", "default", &more).replace("spec: {template", &format!("spec: {{{spec}template"));
        let labelled =
            node("n1", "c7i.large", "").replace("labels: {", "labels: {karpenter.sh/nodepool: default, ");
        said(&frozen(&[CATALOG.to_owned(), CLASS.to_owned(), pool, labelled]))
    };
    let [note] = &said_of("limits: {cpu: 10}, ", 3)[..] else {
        panic!("one note");
    };
    assert!(
        note.contains("it counts 3 nodes, 1 of them are in the input"),
        "{note}"
    );
    assert_eq!(said_of("replicas: 1, ", 2).len(), 1);
    assert!(said_of("limits: {cpu: 10}, ", 1).is_empty());
    assert!(said_of("", 3).is_empty(), "nothing counts them");
}
