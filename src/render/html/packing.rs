//! What the page draws: a bar for each node, a block for each pod; identical bars once, with their number.

use std::collections::BTreeMap;

use dovetail_solver::model::instance_type::{CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, ZONE_LABEL};
use dovetail_solver::model::name::{NodeName, PodName};
use dovetail_solver::model::node::Node;
use dovetail_solver::model::plan::{Launch, NodeAction, NodePlan};
use dovetail_solver::model::pod::Pod;
use dovetail_solver::model::resources::{ResourceName, Resources};

use super::super::summary::{share, type_of, workload};
use super::super::{Report, dollars};

/// A node with more pods than this gets one block for each kind of pod.
const MOST_BLOCKS: usize = 48;
/// A pod below this share of its node, in millionths, is too narrow for its name: pods alike share a block.
const NARROW: u64 = 45_000;
/// So many names stand in one hover text.
const NAMES_SHOWN: usize = 12;

/// What a block stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// Pods that the plan puts there.
    Placed,
    /// Pods that were there before.
    Running,
    /// Pods of DaemonSets.
    Daemon,
}

/// One pod, or several alike.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) part: Part,
    pub(super) workload: String,
    pub(super) count: usize,
    /// In millionths of the node's allocatable.
    pub(super) cpu: u64,
    pub(super) memory: u64,
    pub(super) hint: String,
}

/// One node, or several alike.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    pub(super) count: usize,
    pub(super) instance_type: String,
    pub(super) zone: String,
    pub(super) capacity_type: String,
    pub(super) node_pool: String,
    pub(super) action: Option<NodeAction>,
    /// Dollars per hour of one.
    pub(super) micros: i64,
    pub(super) allocatable: Resources,
    pub(super) blocks: Vec<Block>,
    /// Names of existing nodes, or what may stand in for a launch.
    pub(super) hint: String,
    names: Vec<String>,
}

/// What makes two bars look the same.
type Look = (
    String,
    String,
    String,
    String,
    u8,
    i64,
    Vec<(Part, String, usize, u64, u64)>,
);

impl Bar {
    fn look(&self) -> Look {
        let blocks = self.blocks.iter();
        (
            self.node_pool.clone(),
            self.instance_type.clone(),
            self.zone.clone(),
            self.capacity_type.clone(),
            self.action.map_or(0, |action| action as u8 + 1),
            self.micros,
            blocks
                .map(|block| {
                    (
                        block.part,
                        block.workload.clone(),
                        block.count,
                        block.cpu,
                        block.memory,
                    )
                })
                .collect(),
        )
    }

    /// Name of an existing node that looks like no other.
    pub(super) fn only_name(&self) -> Option<&str> {
        match self.names.as_slice() {
            [name] => Some(name),
            _ => None,
        }
    }

    /// Used part in millionths, by CPU and by memory.
    pub(super) fn fill(&self) -> (u64, u64) {
        let sum = |of: fn(&Block) -> u64| self.blocks.iter().map(of).sum();
        (sum(|block| block.cpu), sum(|block| block.memory))
    }
}

/// Nodes to launch, the dearest kind first.
pub(super) fn launches(report: &Report<'_>) -> Vec<Bar> {
    let bars = report.plan.launch.iter().map(|launch| launch_bar(report, launch));
    let mut bars = once_each(bars);
    bars.sort_by_key(|bar| std::cmp::Reverse(bar.micros * i64::try_from(bar.count).unwrap_or(1)));
    bars
}

/// Existing nodes: those that change first, then by their number.
pub(super) fn existing(report: &Report<'_>) -> (Vec<Bar>, Vec<Bar>) {
    let mut there: BTreeMap<&NodeName, Vec<&Pod>> = BTreeMap::new();
    for pod in &report.snapshot.pods {
        if let Some(node) = pod.node() {
            there.entry(node).or_default().push(pod);
        }
    }
    let planned: BTreeMap<&NodeName, &NodePlan> =
        report.plan.nodes.iter().map(|node| (&node.name, node)).collect();
    let bars = report.snapshot.nodes.iter().map(|node| {
        let pods = there.get(&node.name).map_or(&[][..], Vec::as_slice);
        node_bar(report, node, planned.get(&node.name).copied(), pods)
    });
    let (mut changing, mut rest): (Vec<Bar>, Vec<Bar>) = once_each(bars)
        .into_iter()
        .partition(|bar| bar.action.is_some() || bar.blocks.iter().any(|block| block.part == Part::Placed));
    for bars in [&mut changing, &mut rest] {
        bars.sort_by_key(|bar| std::cmp::Reverse(bar.count));
    }
    (changing, rest)
}

fn once_each(bars: impl Iterator<Item = Bar>) -> Vec<Bar> {
    let mut places: BTreeMap<Look, usize> = BTreeMap::new();
    let mut unique: Vec<Bar> = Vec::new();
    for bar in bars {
        match places.get(&bar.look()) {
            Some(at) => {
                let first = &mut unique[*at];
                first.count += 1;
                first.names.extend(bar.names);
            }
            None => {
                places.insert(bar.look(), unique.len());
                unique.push(bar);
            }
        }
    }
    for bar in &mut unique {
        if !bar.names.is_empty() {
            bar.hint = listed(&bar.names);
        }
    }
    unique
}

fn listed(names: &[String]) -> String {
    let mut text = names
        .iter()
        .take(NAMES_SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    if names.len() > NAMES_SHOWN {
        text.push_str(&format!("\nand {} more", names.len() - NAMES_SHOWN));
    }
    text
}

fn launch_bar(report: &Report<'_>, launch: &Launch) -> Bar {
    let allocatable = type_of(report.snapshot, launch)
        .map_or_else(|| launch.requests.clone(), |kind| kind.allocatable.clone());
    let mut overhead = launch.requests.clone();
    let placed: Vec<(Part, &PodName, Resources)> = launch
        .pods
        .iter()
        .map(|name| {
            let requests = requests(report, name);
            overhead.subtract_all(&requests);
            (Part::Placed, name, requests)
        })
        .collect();
    let mut blocks = blocks(report, &placed, &allocatable);
    let cpu = share(
        overhead.get(&ResourceName::Cpu),
        allocatable.get(&ResourceName::Cpu),
    )
    .unwrap_or(0);
    let memory = share(
        overhead.get(&ResourceName::Memory),
        allocatable.get(&ResourceName::Memory),
    )
    .unwrap_or(0);
    if cpu > 0 || memory > 0 {
        let daemons = usize::try_from(overhead.get(&ResourceName::Pods).get())
            .unwrap_or(1)
            .max(1);
        blocks.push(Block {
            part: Part::Daemon,
            workload: "DaemonSets".to_owned(),
            count: daemons,
            cpu,
            memory,
            hint: format!("DaemonSets' pods\n{overhead}"),
        });
    }
    let others: Vec<String> = launch
        .alternatives
        .iter()
        .map(|other| {
            let price = dollars(other.price.cost().micros());
            format!(
                "{}, {}, {}: {price}/h",
                other.instance_type, other.zone, other.capacity_type
            )
        })
        .collect();
    let hint = if others.is_empty() {
        "no other offer may stand in".to_owned()
    } else {
        format!("any of these may stand in:\n{}", listed(&others))
    };
    Bar {
        count: 1,
        instance_type: launch.instance_type.to_string(),
        zone: launch.zone.to_string(),
        capacity_type: launch.capacity_type.to_string(),
        node_pool: launch.node_pool.to_string(),
        action: None,
        micros: launch.price.cost().micros(),
        allocatable,
        blocks,
        hint,
        names: Vec::new(),
    }
}

fn requests(report: &Report<'_>, name: &PodName) -> Resources {
    report
        .snapshot
        .pod(name)
        .map(|pod| pod.spec.requests.clone())
        .unwrap_or_default()
}

fn node_bar(report: &Report<'_>, node: &Node, planned: Option<&NodePlan>, pods: &[&Pod]) -> Bar {
    let running = pods.iter().map(|pod| {
        let part = if pod.is_daemon() {
            Part::Daemon
        } else {
            Part::Running
        };
        (part, &pod.name, pod.spec.requests.clone())
    });
    let added = planned.map_or(&[][..], |plan| plan.added.as_slice());
    let placed = added
        .iter()
        .map(|name| (Part::Placed, name, requests(report, name)));
    let all: Vec<_> = placed.chain(running).collect();
    let label = |key: &str| node.labels.get(key).cloned().unwrap_or_default();
    Bar {
        count: 1,
        instance_type: label(INSTANCE_TYPE_LABEL),
        zone: label(ZONE_LABEL),
        capacity_type: label(CAPACITY_TYPE_LABEL),
        node_pool: node
            .node_pool
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        action: planned
            .map(|plan| plan.action)
            .filter(|action| *action != NodeAction::Keep),
        micros: node.price.cost().micros(),
        allocatable: node.allocatable.clone(),
        blocks: blocks(report, &all, &node.allocatable),
        hint: String::new(),
        names: vec![node.name.to_string()],
    }
}

/// Blocks in the order of drawing: what is placed, what runs, DaemonSets; the larger workload first.
fn blocks(report: &Report<'_>, pods: &[(Part, &PodName, Resources)], allocatable: &Resources) -> Vec<Block> {
    type Kind<'k> = (Part, String, &'k Resources);
    let mut kinds: BTreeMap<Kind<'_>, Vec<&PodName>> = BTreeMap::new();
    for (part, name, requests) in pods {
        let key = (*part, workload(report.snapshot, name), requests);
        kinds.entry(key).or_default().push(name);
    }
    let merged = pods.len() > MOST_BLOCKS;
    let mut blocks = Vec::new();
    for ((part, workload, requests), names) in kinds {
        let part_of = |name: ResourceName, count: usize| {
            share(requests.get(&name).times(count as u64), allocatable.get(&name)).unwrap_or(0)
        };
        let hint = |names: &[&PodName]| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            let each = if names.len() == 1 { "" } else { "each " };
            format!("{}\n{each}{requests}", listed(&names))
        };
        let narrow = part_of(ResourceName::Cpu, 1).max(part_of(ResourceName::Memory, 1)) < NARROW;
        let chunks = if merged || narrow { names.len() } else { 1 };
        blocks.extend(names.chunks(chunks).map(|names| Block {
            part,
            workload: workload.clone(),
            count: names.len(),
            cpu: part_of(ResourceName::Cpu, names.len()),
            memory: part_of(ResourceName::Memory, names.len()),
            hint: hint(names),
        }));
    }
    blocks.sort_by(|one, two| {
        (one.part, std::cmp::Reverse(one.cpu), &one.workload).cmp(&(
            two.part,
            std::cmp::Reverse(two.cpu),
            &two.workload,
        ))
    });
    blocks
}
