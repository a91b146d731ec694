//! The instances of `benches/instances/ec2` as snapshots: one NodePool, one zone, on-demand offers only.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use dovetail_solver::model::instance_type::InstanceType;
use dovetail_solver::model::money::Price;
use dovetail_solver::model::node_pool::{NodeClass, NodePool};
use dovetail_solver::model::offering::{CapacityType, Offering};
use dovetail_solver::model::pod::{Pod, PodPlace, PodSpec};
use dovetail_solver::model::requirement::Requirements;
use dovetail_solver::model::resources::{Amount, ResourceName, Resources};
use dovetail_solver::model::snapshot::{Snapshot, SnapshotParts};

/// One instance and what is known of it.
pub(crate) struct Instance {
    /// Its name.
    pub(crate) name: String,
    /// The input.
    pub(crate) snapshot: Snapshot,
    /// Number of pods.
    pub(crate) pods: u64,
    /// Certified lower bound, in micro-dollars.
    pub(crate) lower_bound: i64,
    /// Cost of the best plan known.
    pub(crate) best_known: i64,
    /// Cost of Karpenter's plan, rounded to thousandths of a dollar.
    pub(crate) karpenter: i64,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../benches/instances/ec2")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

fn table(name: &str) -> BTreeMap<String, Vec<String>> {
    let text = read(name);
    let rows = text.lines().skip(1).map(|line| {
        let mut cells = line.split('\t').map(str::to_owned);
        (cells.next().unwrap(), cells.collect())
    });
    rows.collect()
}

fn micros(text: &str) -> i64 {
    Price::parse(text).unwrap().cost().micros()
}

fn resources(cpu_milli: u64, memory_mib: u64, pods: u64) -> Resources {
    [
        (ResourceName::Cpu, cpu_milli),
        (ResourceName::Memory, memory_mib << 20),
        (ResourceName::Pods, pods),
    ]
    .into_iter()
    .map(|(name, amount)| (name, Amount::new(amount)))
    .collect()
}

fn catalogue(max_vcpu: Option<u64>) -> Vec<InstanceType> {
    let text = read("catalog.csv");
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells[at].parse::<u64>().unwrap();
        let room = resources(number(1), number(2), number(3));
        InstanceType {
            interruptions_per_million_hours: 0,
            name: cells[0].into(),
            labels: BTreeMap::new(),
            choices: BTreeMap::new(),
            capacity: room.clone(),
            allocatable: room,
            offerings: vec![Offering {
                zone: "us-east-1a".into(),
                zone_id: None,
                capacity_type: CapacityType::OnDemand,
                price: Price::parse(cells[4]).unwrap(),
                available: true,
                limit: None,
                reservation: None,
                commitment: None,
            }],
        }
    };
    let types = text.lines().skip(1).map(row);
    types
        .filter(|kind| {
            max_vcpu.is_none_or(|most| kind.allocatable.get(&ResourceName::Cpu).get() <= most * 1_000)
        })
        .collect()
}

fn snapshot(document: &serde_json::Value) -> Snapshot {
    let mut pods = Vec::new();
    for (index, item) in document["items"].as_array().unwrap().iter().enumerate() {
        let number = |at: usize| item[at].as_u64().unwrap();
        let spec = Arc::new(PodSpec {
            requests: resources(number(0), number(1), 1),
            ..PodSpec::default()
        });
        for copy in 0..number(2) {
            pods.push(Pod {
                name: format!("default/app{index:03}-{copy:05}").parse().unwrap(),
                spec: Arc::clone(&spec),
                place: PodPlace::Pending,
                created: None,
            });
        }
    }
    let class = NodeClass {
        name: "default".into(),
        subnets: std::collections::BTreeSet::new(),
        instance_types: catalogue(document["max_vcpu"].as_u64()),
    };
    let pool = NodePool {
        name: "default".into(),
        node_class: "default".into(),
        weight: 0,
        requirements: Requirements::new(),
        labels: BTreeMap::new(),
        taints: Vec::new(),
        startup_taints: Vec::new(),
        limits: dovetail_solver::model::node_pool::Limits::default(),
        replicas: None,
        left_out: None,
    };
    SnapshotParts {
        node_classes: BTreeMap::from([(class.name.clone(), class)]),
        node_pools: vec![pool],
        pods,
        ..SnapshotParts::default()
    }
    .freeze()
    .unwrap()
}

/// All of them, by name.
pub(crate) fn instances() -> Vec<Instance> {
    let bounds = table("bounds.tsv");
    let karpenter = table("karpenter-1.15.0.tsv");
    let instance = |(name, row): (&String, &Vec<String>)| {
        let document: serde_json::Value = serde_json::from_str(&read(&format!("{name}.json"))).unwrap();
        Instance {
            name: name.clone(),
            snapshot: snapshot(&document),
            pods: row[0].parse().unwrap(),
            lower_bound: micros(&row[3]),
            best_known: micros(&row[4]),
            karpenter: micros(&karpenter[name][0]),
        }
    };
    bounds.iter().map(instance).collect()
}
