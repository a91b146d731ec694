//! Nodes, NodeClaims, NodePools and the node class of the dump, as `kubectl` prints them.

use std::fmt::Write;

use crate::dump::Numbers;
use crate::fleet::{Node, POD_SLOTS, Pool, ZONES};
use crate::objects::{ROLLED_OUT, condition, metadata, taints};

/// The images of the node class, by architecture.
const IMAGES: [(&str, &str); 2] = [
    ("amd64", "ami-0b5c0f1d2e3a49687"),
    ("arm64", "ami-09d8e7c6b5a403f21"),
];
fn node_labels(node: &Node) -> Vec<(&'static str, String)> {
    let (machine, zone) = (node.machine, ZONES[node.zone]);
    let family = machine.family();
    let mut labels = vec![
        ("beta.kubernetes.io/arch", machine.arch.to_owned()),
        ("beta.kubernetes.io/os", "linux".to_owned()),
        ("karpenter.k8s.aws/ec2nodeclass", "default".to_owned()),
        (
            "karpenter.k8s.aws/instance-category",
            family.chars().take(1).collect(),
        ),
        ("karpenter.k8s.aws/instance-cpu", machine.vcpus.to_string()),
        ("karpenter.k8s.aws/instance-family", family.to_owned()),
        (
            "karpenter.k8s.aws/instance-generation",
            family.chars().filter(char::is_ascii_digit).collect(),
        ),
        (
            "karpenter.k8s.aws/instance-memory",
            (machine.memory_gib * 1024).to_string(),
        ),
        (
            "karpenter.k8s.aws/instance-size",
            machine.name.rsplit('.').next().unwrap_or("").to_owned(),
        ),
        ("karpenter.sh/capacity-type", node.pool.capacity_type.to_owned()),
        ("karpenter.sh/initialized", "true".to_owned()),
        ("karpenter.sh/nodepool", node.pool.name.to_owned()),
        ("karpenter.sh/registered", "true".to_owned()),
        ("kubernetes.io/arch", machine.arch.to_owned()),
        ("kubernetes.io/hostname", node.name.clone()),
        ("kubernetes.io/os", "linux".to_owned()),
        ("node.kubernetes.io/instance-type", machine.name.to_owned()),
        ("topology.k8s.aws/zone-id", zone.1.to_owned()),
        ("topology.kubernetes.io/region", "us-east-1".to_owned()),
        ("topology.kubernetes.io/zone", zone.0.to_owned()),
    ];
    if machine.gpus > 0 {
        labels.push(("karpenter.k8s.aws/instance-gpu-count", machine.gpus.to_string()));
        labels.push(("karpenter.k8s.aws/instance-gpu-manufacturer", "nvidia".to_owned()));
        labels.push(("karpenter.k8s.aws/instance-gpu-name", "a10g".to_owned()));
        labels.sort();
    }
    labels
}

fn borrowed<'a>(labels: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
    labels.iter().map(|(key, value)| (*key, value.as_str())).collect()
}

fn sizes(node: &Node, milli: u64, kib: u64) -> String {
    let mut text = format!(
        "    cpu: {}\n",
        if milli.is_multiple_of(1000) {
            format!("\"{}\"", milli / 1000)
        } else {
            format!("{milli}m")
        }
    );
    let _ = writeln!(
        text,
        "    ephemeral-storage: \"18242267924\"\n    hugepages-2Mi: \"0\"\n    memory: {kib}Ki"
    );
    if node.machine.gpus > 0 {
        let _ = writeln!(text, "    nvidia.com/gpu: \"{}\"", node.machine.gpus);
    }
    let _ = writeln!(text, "    pods: \"{POD_SLOTS}\"");
    text
}

fn sized(node: &Node) -> String {
    let machine = node.machine;
    let allocatable = sizes(node, machine.allocatable_milli(), machine.allocatable_kib());
    let capacity = sizes(node, machine.vcpus * 1000, machine.memory_kib());
    format!(
        "  allocatable:\n{allocatable}  capacity:\n{}",
        capacity.replace("\"18242267924\"", "20893676Ki")
    )
}

/// A Node.
pub(crate) fn node(node: &Node, numbers: &mut Numbers) -> String {
    let labels = node_labels(node);
    let meta = metadata(("", &node.name, &node.created), &borrowed(&labels), None, numbers);
    let zone = ZONES[node.zone].0;
    format!(
        "apiVersion: v1\nkind: Node\n{meta}spec:\n  providerID: aws:///{zone}/{}\n{}status:\n  addresses:\n  - address: {}\n    type: InternalIP\n  - address: {}\n    type: Hostname\n{}  conditions:\n{}{}  nodeInfo:\n    architecture: {}\n    containerRuntimeVersion: containerd://1.7.29\n    kernelVersion: 6.12.58-82.121.amzn2023.x86_64\n    kubeletVersion: v1.34.2-eks-ecaa3a6\n    operatingSystem: linux\n    osImage: Amazon Linux 2023.9.20251208\n",
        node.instance,
        taints(node.pool, "  "),
        node.address,
        node.name,
        sized(node),
        condition(
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            &node.created
        ),
        condition("Ready", "True", "KubeletReady", &node.created),
        node.machine.arch,
    )
}

/// The NodeClaim of a node.
pub(crate) fn node_claim(node: &Node, numbers: &mut Numbers) -> String {
    let labels: Vec<_> = node_labels(node)
        .into_iter()
        .filter(|(key, _)| !key.starts_with("beta.") && !key.ends_with("hostname") && !key.ends_with("ed"))
        .collect();
    let owner = Some(("NodePool", node.pool.name));
    let meta = metadata(
        ("", &node.claim, &node.created),
        &borrowed(&labels),
        owner,
        numbers,
    );
    let image = IMAGES
        .iter()
        .find(|(arch, _)| *arch == node.machine.arch)
        .map_or("", |(_, image)| image);
    let conditions: String = ["Launched", "Registered", "Initialized", "Ready", "Consolidatable"]
        .map(|kind| condition(kind, "True", kind, &node.created))
        .concat();
    format!(
        "apiVersion: karpenter.sh/v1\nkind: NodeClaim\n{meta}spec:\n  expireAfter: 720h\n  nodeClassRef:\n    group: karpenter.k8s.aws\n    kind: EC2NodeClass\n    name: default\n  requirements:\n  - key: node.kubernetes.io/instance-type\n    operator: In\n    values:\n    - {}\n{}status:\n{}  conditions:\n{conditions}  imageID: {image}\n  nodeName: {}\n  providerID: aws:///{}/{}\n",
        node.machine.name,
        taints(node.pool, "  "),
        sized(node),
        node.name,
        ZONES[node.zone].0,
        node.instance,
    )
}

/// A NodePool.
pub(crate) fn node_pool(pool: &Pool, numbers: &mut Numbers) -> String {
    let requirement = |key: &str, operator: &str, values: &[&str]| {
        let values: String = values
            .iter()
            .map(|value| {
                let quote = if value.starts_with(|c: char| c.is_ascii_digit()) {
                    "\""
                } else {
                    ""
                };
                format!("        - {quote}{value}{quote}\n")
            })
            .collect();
        format!("      - key: {key}\n        operator: {operator}\n        values:\n{values}")
    };
    let arch = if pool.name == "graviton" { "arm64" } else { "amd64" };
    let mut requirements = requirement("kubernetes.io/arch", "In", &[arch]);
    requirements += &requirement("karpenter.sh/capacity-type", "In", &[pool.capacity_type]);
    if pool.name == "gpu" {
        requirements += &requirement("karpenter.k8s.aws/instance-family", "In", &["g5", "g6"]);
    } else {
        requirements += &requirement("karpenter.k8s.aws/instance-category", "In", &["c", "m", "r"]);
        requirements += &requirement("karpenter.k8s.aws/instance-generation", "Gt", &["5"]);
        requirements += &requirement(
            "karpenter.k8s.aws/instance-size",
            "In",
            &["large", "xlarge", "2xlarge", "4xlarge", "8xlarge"],
        );
    }
    let limit = if pool.name == "gpu" {
        "nvidia.com/gpu: 8"
    } else {
        "cpu: 1000"
    };
    format!(
        "apiVersion: karpenter.sh/v1\nkind: NodePool\n{}spec:\n  disruption:\n    budgets:\n    - nodes: 10%\n    consolidateAfter: 5m\n    consolidationPolicy: WhenEmptyOrUnderutilized\n  limits:\n    {limit}\n  template:\n    spec:\n      expireAfter: 720h\n      nodeClassRef:\n        group: karpenter.k8s.aws\n        kind: EC2NodeClass\n        name: default\n      requirements:\n{requirements}{}status:\n  conditions:\n{}{}{}",
        metadata(("", pool.name, "2025-11-03T08:10:00Z"), &[], None, numbers),
        taints(pool, "      "),
        condition("ValidationSucceeded", "True", "ValidationSucceeded", ROLLED_OUT),
        condition("NodeClassReady", "True", "NodeClassReady", ROLLED_OUT),
        condition("Ready", "True", "Ready", ROLLED_OUT),
    )
}

/// The EC2NodeClass.
pub(crate) fn node_class(numbers: &mut Numbers) -> String {
    let images: String = IMAGES.iter().map(|(arch, image)| format!(
        "  - id: {image}\n    name: amazon-eks-node-al2023-{arch}-1.34\n    requirements:\n    - key: kubernetes.io/arch\n      operator: In\n      values:\n      - {arch}\n"
    )).collect();
    let subnets: String = ZONES
        .iter()
        .enumerate()
        .map(|(index, (zone, id))| {
            format!("  - id: subnet-0a1b2c3d4e5f6789{index}\n    zone: {zone}\n    zoneID: {id}\n")
        })
        .collect();
    format!(
        "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\n{}spec:\n  amiFamily: AL2023\n  amiSelectorTerms:\n  - alias: al2023@latest\n  role: demo-node\n  securityGroupSelectorTerms:\n  - tags:\n      karpenter.sh/discovery: demo\n  subnetSelectorTerms:\n  - tags:\n      karpenter.sh/discovery: demo\nstatus:\n  amis:\n{images}  conditions:\n{}{}  instanceProfile: demo-node\n  securityGroups:\n  - id: sg-0123456789abcdef0\n    name: demo-node\n  subnets:\n{subnets}",
        metadata(("", "default", "2025-11-03T08:10:00Z"), &[], None, numbers),
        condition("ValidationSucceeded", "True", "ValidationSucceeded", ROLLED_OUT),
        condition("Ready", "True", "Ready", ROLLED_OUT),
    )
}
