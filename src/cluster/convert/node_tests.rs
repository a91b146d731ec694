//! Nodes as dumps of real clusters have them.

use super::*;
use crate::cluster::manifests::read_bytes;
use dovetail_solver::model::resources::ResourceName;

const CLAIM: &str = "apiVersion: karpenter.sh/v1\nkind: NodeClaim\nmetadata: {name: c1, labels: {karpenter.sh/nodepool: p, node.kubernetes.io/instance-type: g5.xlarge}}\nspec:\n  requirements: [{key: topology.kubernetes.io/zone, operator: In, values: [z]}, {key: a, operator: Exists}]\n  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}\n  startupTaints: [{key: agent, effect: NoExecute, value: x}]\n  taints: [{key: team, effect: NoSchedule}]\n";

fn converted(yaml: &str) -> Vec<ModelNode> {
    let read = read_bytes("input", yaml.as_bytes(), &[]).unwrap();
    assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
    let size_of = |instance_type: &str, class: &str| {
        assert_eq!((instance_type, class), ("g5.xlarge", "default"));
        let size = |cpu| {
            Resources::from_iter([
                (ResourceName::Cpu, Amount::new(cpu)),
                (ResourceName::from("nvidia.com/gpu"), Amount::new(1)),
            ])
        };
        Some((size(4_000), size(3_920)))
    };
    machines(&read.index)
        .iter()
        .map(
            |machine| match machine.convert(&size_of, !read.index.nodes().is_empty()) {
                Converted::Node(node) => *node,
                Converted::Unknown(note) => panic!("{note}"),
            },
        )
        .collect()
}

#[test]
fn a_claim_in_flight_is_what_its_instance_type_will_be() {
    let nodes = converted(CLAIM);
    let node = &nodes[0];
    assert_eq!(
        (node.name.as_str(), node.stage, node.takes_pods()),
        ("c1", NodeStage::InFlight, true)
    );
    assert_eq!(node.allocatable.to_string(), "cpu 3920m, nvidia.com/gpu 1");
    assert_eq!(node.labels["topology.kubernetes.io/zone"], "z");
    assert!(!node.labels.contains_key("a"));
    let taints: Vec<&str> = node.taints.iter().map(|taint| taint.key.as_str()).collect();
    assert_eq!(taints, ["team"]);
}

#[test]
fn a_node_that_starts_ignores_what_goes_by_itself() {
    let node = "---\napiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {karpenter.sh/nodepool: p}}\nspec: {providerID: 'aws:///z/i-1', taints: [{key: agent, effect: NoExecute}, {key: node.kubernetes.io/not-ready, effect: NoSchedule}, {key: team, effect: NoSchedule}, {key: other, effect: NoSchedule}]}\nstatus: {capacity: {cpu: 4}, allocatable: {cpu: 3900m, nvidia.com/gpu: 0}, conditions: [{type: Ready, status: 'False'}]}\n";
    let status = "status: {providerID: 'aws:///z/i-1', capacity: {cpu: 4, nvidia.com/gpu: 1}, allocatable: {cpu: 3920m, nvidia.com/gpu: 1}}\n";
    let nodes = converted(&[CLAIM, status, node].concat());
    assert_eq!(nodes.len(), 1);
    assert_eq!(
        (nodes[0].name.as_str(), nodes[0].stage, nodes[0].ready),
        ("n1", NodeStage::Registered, false)
    );
    assert_eq!(nodes[0].allocatable.to_string(), "cpu 3900m, nvidia.com/gpu 1");
    let taints: Vec<&str> = nodes[0].taints.iter().map(|taint| taint.key.as_str()).collect();
    assert_eq!(taints, ["team", "other"]);
    let started = "status: {providerID: 'aws:///z/i-1', conditions: [{type: Initialized, status: 'True'}, {type: Registered, status: 'True'}]}\n";
    let nodes = converted(&[CLAIM, started, node].concat());
    assert_eq!(
        (nodes[0].stage, nodes[0].taints.len()),
        (NodeStage::Initialized, 4)
    );
    assert!(!nodes[0].takes_pods());
}

#[test]
fn a_node_that_nobody_claims_speaks_for_itself() {
    let nodes = converted(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {beta.kubernetes.io/arch: arm64}}\nstatus: {capacity: {cpu: 4}}\n",
    );
    assert_eq!(
        (nodes[0].stage, nodes[0].ready, nodes[0].node_pool.clone()),
        (NodeStage::Initialized, true, None)
    );
    assert_eq!(nodes[0].labels["kubernetes.io/arch"], "arm64");
    assert_eq!(nodes[0].labels["kubernetes.io/hostname"], "n1");
    assert_eq!(nodes[0].allocatable.to_string(), "cpu 4");
}

#[test]
fn what_is_being_deleted_is_known_from_node_claim_or_taint() {
    for (metadata, spec) in [
        ("deletionTimestamp: '2026-01-01T00:00:00Z'", ""),
        (
            "labels: {}",
            "taints: [{key: karpenter.sh/disrupted, effect: NoSchedule}]",
        ),
    ] {
        let nodes = converted(&format!(
            "apiVersion: v1\nkind: Node\nmetadata: {{name: n1, {metadata}}}\nspec: {{{spec}}}\n"
        ));
        assert!(nodes[0].deleting);
    }
}

#[test]
fn claims_stand_for_nodes_where_no_node_was_given() {
    let status =
        "status: {nodeName: n7, capacity: {cpu: 4}, conditions: [{type: Initialized, status: 'True'}]}\n";
    let nodes = converted(&[CLAIM, status].concat());
    assert_eq!(
        (nodes[0].name.as_str(), nodes[0].stage),
        ("n7", NodeStage::Initialized)
    );
    assert!(nodes[0].takes_pods());
}

#[test]
fn a_claim_that_is_not_launched_counts_as_the_largest_of_its_types_and_has_room_as_the_smallest() {
    let size_of = |instance_type: &str, class: &str| {
        assert_eq!(class, "default");
        let size = |cpu, gpu| {
            let cpu = (ResourceName::Cpu, Amount::new(cpu));
            let gpu = (ResourceName::from("nvidia.com/gpu"), Amount::new(gpu));
            Resources::from_iter([cpu].into_iter().chain((gpu.1 > Amount::ZERO).then_some(gpu)))
        };
        match instance_type {
            "small" => Some((size(2_000, 0), size(1_900, 0))),
            "gpu" => Some((size(4_000, 1), size(3_900, 1))),
            _ => None,
        }
    };
    let sized = |requirement: &str, requests: &str| {
        let claim = CLAIM
            .replace(", node.kubernetes.io/instance-type: g5.xlarge", "")
            .replace("{key: a, operator: Exists}", requirement)
            .replace(
                "  taints:",
                &format!("  resources: {{requests: {{{requests}}}}}\n  taints:"),
            );
        let read = read_bytes("input", claim.as_bytes(), &[]).unwrap();
        assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
        let machine = machines(&read.index)[0];
        let Converted::Node(node) = machine.convert(&size_of, true) else {
            panic!("{claim}");
        };
        assert_eq!(
            (machine.node_pool(), node.stage),
            (Some("p"), NodeStage::InFlight)
        );
        (node.capacity.to_string(), node.allocatable.to_string())
    };
    let of =
        |types: &str| format!("{{key: node.kubernetes.io/instance-type, operator: In, values: [{types}]}}");
    let text = |capacity: &str, allocatable: &str| (capacity.to_owned(), allocatable.to_owned());
    let both = text("cpu 4, nvidia.com/gpu 1", "cpu 1900m");
    for types in ["small, gpu", "gpu, small", "gone, gpu, small"] {
        let (capacity, allocatable) = sized(&of(types), "");
        assert_eq!(capacity, both.0, "{types}");
        assert_eq!(
            allocatable.trim_end_matches(", nvidia.com/gpu 0"),
            both.1,
            "{types}"
        );
    }
    let asked = text("cpu 3", "cpu 3");
    assert_eq!(sized(&of("gone"), "cpu: 3"), asked);
    assert_eq!(sized("{key: a, operator: Exists}", "cpu: 3"), asked);
    assert_eq!(
        sized("{key: a, operator: Exists}", ""),
        text("", ""),
        "one node all the same"
    );
}
