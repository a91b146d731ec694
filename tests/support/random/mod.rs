//! Random small clusters as documents: every scheduling rule mixed, on machines so few that rules bite.
//!
//! What it makes is valid for the API server; running pods may stand where no scheduler would put them now, as happens in
//! clusters whose labels and rules have changed.

mod dice;
mod pods;
pub(crate) mod shrink;

use serde_json::{Value, json};

use super::support::dice::Dice;

const ZONES: [&str; 3] = ["us-east-1a", "us-east-1b", "us-east-1c"];
const RACK: &str = "example.com/rack";
const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";
const CAPACITY_TYPE: &str = "karpenter.sh/capacity-type";
const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
const EBS: &str = "ebs.csi.aws.com";

/// Name, milli-CPU to use, mebibytes to use, pod slots, price.
const MACHINES: [(&str, u32, u32, u32, f64); 5] = [
    ("c7i.large", 1900, 3000, 8, 0.089),
    ("m7i.large", 1900, 7000, 8, 0.101),
    ("c7i.xlarge", 3900, 6500, 12, 0.1785),
    ("m7g.xlarge", 3900, 14000, 12, 0.163),
    ("r7i.2xlarge", 7900, 60000, 20, 0.53),
];

/// A cluster under construction.
struct Cluster {
    dice: Dice,
    zones: Vec<&'static str>,
    machines: Vec<usize>,
    pools: Vec<String>,
    nodes: Vec<String>,
    documents: Vec<Value>,
}

/// The documents of a seed's cluster.
pub(crate) fn cluster(seed: u64) -> Vec<Value> {
    let mut dice = Dice::new(seed);
    let zones = ZONES[..2 + dice.below(2)].to_vec();
    let machines = dice.some(&[0, 1, 2, 3, 4]);
    let mut cluster = Cluster {
        dice,
        zones,
        machines,
        pools: Vec::new(),
        nodes: Vec::new(),
        documents: Vec::new(),
    };
    cluster.catalogue();
    cluster.node_class();
    for index in 0..=cluster.dice.below(3) {
        cluster.pool(index);
    }
    for index in 0..cluster.dice.below(7) {
        cluster.node(index);
    }
    cluster.namespaces();
    cluster.storage();
    for index in 0..cluster.dice.below(3) {
        cluster.daemon_set(index);
    }
    for index in 0..=cluster.dice.below(8) {
        cluster.workload(index);
    }
    cluster.documents
}

/// One document a line block: JSON is YAML.
pub(crate) fn written(documents: &[Value]) -> String {
    let lines: Vec<String> = documents.iter().map(|one| format!("{one}\n")).collect();
    lines.join("---\n")
}

fn arch(name: &str) -> &'static str {
    if name.starts_with("m7g") { "arm64" } else { "amd64" }
}

impl Cluster {
    fn catalogue(&mut self) {
        let mut types = Vec::new();
        for index in self.machines.clone() {
            let (name, cpu, memory, pods, price) = MACHINES[index];
            let mut offerings = Vec::new();
            for zone in self.dice.some(&self.zones) {
                offerings.push(json!({"zone": zone, "capacityType": "on-demand", "price": price}));
                if self.dice.percent(60) {
                    let spot = (price * 1000.0 * (0.3 + 0.05 * self.dice.below(5) as f64)).round() / 1000.0;
                    offerings.push(json!({"zone": zone, "capacityType": "spot", "price": spot}));
                }
            }
            types.push(json!({
                "name": name,
                "labels": {"kubernetes.io/arch": arch(name)},
                "capacity": {"cpu": format!("{}m", cpu + 100), "memory": format!("{}Mi", memory + 500), "pods": pods},
                "allocatable": {"cpu": format!("{cpu}m"), "memory": format!("{memory}Mi"), "pods": pods},
                "offerings": offerings,
            }));
        }
        self.documents.push(json!({
            "apiVersion": "dovetail.sh/v1alpha1", "kind": "Catalog", "metadata": {"name": "random"},
            "spec": {"region": "us-east-1", "zones": self.zones, "instanceTypes": types},
        }));
    }

    fn node_class(&mut self) {
        let subnets: Vec<Value> = self
            .zones
            .iter()
            .enumerate()
            .map(|(index, zone)| json!({"id": format!("subnet-{index}"), "zone": zone, "zoneID": format!("use1-az{index}")}))
            .collect();
        self.documents.push(json!({
            "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "default"},
            "spec": {
                "amiSelectorTerms": [{"alias": "al2023@latest"}], "role": "node",
                "subnetSelectorTerms": [{"tags": {"cluster": "demo"}}],
                "securityGroupSelectorTerms": [{"tags": {"cluster": "demo"}}],
            },
            "status": {"subnets": subnets, "conditions": [{"type": "Ready", "status": "True"}]},
        }));
    }

    fn pool(&mut self, index: usize) {
        let name = format!("pool{index}");
        let mut requirements = Vec::new();
        let capacity = self.dice.some(&["spot", "on-demand"]);
        requirements.push(json!({"key": CAPACITY_TYPE, "operator": "In", "values": capacity}));
        if self.dice.percent(30) {
            requirements.push(json!({"key": ZONE, "operator": "In", "values": self.dice.some(&self.zones)}));
        }
        let mut labels = json!({});
        match self.dice.below(6) {
            0 => requirements.push(json!({"key": RACK, "operator": "In", "values": ["r1", "r2"]})),
            1 => labels[RACK] = json!("r1"),
            2 => labels[RACK] = json!("r2"),
            _ => {}
        }
        let mut spec = json!({
            "requirements": requirements,
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
        });
        if self.dice.percent(35) {
            spec["taints"] = json!([self.taint()]);
        }
        let mut document = json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name},
            "spec": {"template": {"metadata": {"labels": labels}, "spec": spec}},
        });
        if self.dice.percent(20) {
            document["spec"]["weight"] = json!(1 + self.dice.below(3));
        }
        match self.dice.below(8) {
            0 => document["spec"]["limits"] = json!({"cpu": format!("{}", 4 + 4 * self.dice.below(3))}),
            1 => document["spec"]["limits"] = json!({"nodes": format!("{}", 1 + self.dice.below(3))}),
            _ => {}
        }
        self.pools.push(name);
        self.documents.push(document);
    }

    fn taint(&mut self) -> Value {
        let effect = *self
            .dice
            .one(&["NoSchedule", "NoSchedule", "NoExecute", "PreferNoSchedule"]);
        json!({"key": "dedicated", "value": self.dice.one(&["x", "y"]), "effect": effect})
    }

    fn node(&mut self, index: usize) {
        let name = format!("n{index}");
        let machine = *self.dice.one(&self.machines);
        let (kind, cpu, memory, pods, _) = MACHINES[machine];
        let pool = self.dice.one(&self.pools).clone();
        let mut labels = json!({
            HOSTNAME: name, INSTANCE_TYPE: kind, "kubernetes.io/arch": arch(kind), "kubernetes.io/os": "linux",
            "topology.kubernetes.io/region": "us-east-1", "karpenter.sh/nodepool": pool,
            CAPACITY_TYPE: self.dice.one(&["spot", "on-demand"]),
        });
        if self.dice.percent(95) {
            labels[ZONE] = json!(self.dice.one(&self.zones));
        }
        if self.dice.percent(40) {
            labels[RACK] = json!(self.dice.one(&["r1", "r2", "r3"]));
        }
        let mut spec = json!({"providerID": format!("aws:///us-east-1a/i-{index}")});
        let mut taints = Vec::new();
        if self.dice.percent(20) {
            taints.push(self.taint());
        }
        if self.dice.percent(5) {
            spec["unschedulable"] = json!(true);
            taints.push(json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}));
        }
        spec["taints"] = json!(taints);
        let mut metadata = json!({"name": name, "labels": labels});
        if self.dice.percent(3) {
            metadata["deletionTimestamp"] = json!("2026-01-07T09:00:00Z");
            metadata["finalizers"] = json!(["karpenter.sh/termination"]);
        }
        let size =
            json!({"cpu": format!("{cpu}m"), "memory": format!("{memory}Mi"), "pods": pods.to_string()});
        self.documents.push(json!({
            "apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec,
            "status": {"capacity": size, "allocatable": size, "conditions": [{"type": "Ready", "status": "True"}]},
        }));
        if self.dice.percent(30) {
            self.documents.push(json!({
                "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name},
                "spec": {"drivers": [{"name": EBS, "nodeID": name, "allocatable": {"count": 1 + self.dice.below(2)}}]},
            }));
        }
        self.nodes.push(name);
    }

    fn namespaces(&mut self) {
        for (name, team) in [("default", "red"), ("other", "blue")] {
            self.documents.push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"team": team}}}));
        }
    }

    /// Two classes; claims are made by the pods that want them.
    fn storage(&mut self) {
        let topologies =
            json!([{"matchLabelExpressions": [{"key": ZONE, "values": self.dice.some(&self.zones)}]}]);
        for (name, topologies) in [("free", json!([])), ("zonal", topologies)] {
            self.documents.push(json!({
                "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
                "provisioner": EBS, "volumeBindingMode": "WaitForFirstConsumer", "allowedTopologies": topologies,
            }));
        }
    }
}
