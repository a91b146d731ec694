//! Why a pod goes where it goes, or what refuses it.

use std::fmt::Write as _;

use dovetail_solver::explain::{NodeRefusal, node_refusals};
use dovetail_solver::model::explain::{Reason, Unschedulable};
use dovetail_solver::model::money::Price;
use dovetail_solver::model::name::{NodeName, PodName};
use dovetail_solver::model::plan::{Alternative, Launch};
use dovetail_solver::model::pod::{Pod, PodPlace};
use dovetail_solver::model::resources::{ResourceName, Resources};
use serde::Serialize;

use super::style::{BAD, FAINT, GOOD, Paint, STRONG, WARN, plain};
use super::summary::{no_fix, share, type_of};
use super::{Report, counted, dollars, table};

/// What there is to say about a pod.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The pod.
    pub pod: PodName,
    /// What it asks for.
    pub requests: String,
    /// Where it is or goes, or what refuses it.
    pub verdict: Verdict,
}

/// Where a pod is or goes, or what refuses it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// It runs already and stays.
    Runs {
        /// Where.
        node: NodeName,
    },
    /// It goes to a node that exists.
    ExistingNode {
        /// Where.
        node: NodeName,
        /// With which others, pods of DaemonSets apart.
        beside: Vec<PodName>,
    },
    /// It goes to a node that is launched.
    Launch(Box<LaunchVerdict>),
    /// It goes nowhere.
    Refused {
        /// By each NodePool.
        reasons: Vec<Reason>,
        /// By existing nodes.
        nodes: Vec<NodeRefusal>,
        /// The smallest change that would help.
        #[serde(skip_serializing_if = "Option::is_none")]
        fix: Option<String>,
        /// Whether the search for one ended before all was tried.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        fix_search_cut_short: bool,
    },
}

/// The node that is launched for a pod.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchVerdict {
    /// Its place in the plan.
    pub index: usize,
    /// NodePool, type, zone, how it is bought, price.
    pub offer: Alternative,
    /// Of which NodePool.
    pub node_pool: String,
    /// The pod's share of the price, by the scarcer of CPU and memory.
    pub price_share: Price,
    /// With which others.
    pub beside: Vec<PodName>,
    /// Used part of CPU and memory in whole percent.
    pub fill_percent: (u64, u64),
    /// How many other offers may stand in.
    pub alternatives: usize,
    /// The dearest of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dearest_alternative: Option<Price>,
    /// Existing nodes that can't take it.
    pub nodes: Vec<NodeRefusal>,
}

/// What the plan says about a pod; `None` where the plan needn't say anything (a pod of a DaemonSet to come).
#[must_use]
pub fn explain(report: &Report<'_>, pod: &Pod) -> Option<Explanation> {
    let verdict = refused(report, pod)
        .or_else(|| launched(report, pod))
        .or_else(|| on_existing(report, pod))
        .or_else(|| match &pod.place {
            PodPlace::Bound(node) | PodPlace::Terminating(node) => Some(Verdict::Runs { node: node.clone() }),
            PodPlace::Pending => None,
        })?;
    Some(Explanation {
        pod: pod.name.clone(),
        requests: pod.spec.requests.to_string(),
        verdict,
    })
}

fn refused(report: &Report<'_>, pod: &Pod) -> Option<Verdict> {
    let refusal = report
        .plan
        .unschedulable
        .iter()
        .find(|refusal| refusal.pod == pod.name)?;
    let Unschedulable {
        pod: _,
        reasons,
        fix,
        fix_search_cut_short,
    } = refusal.clone();
    Some(Verdict::Refused {
        reasons,
        nodes: node_refusals(report.snapshot, report.plan, pod),
        fix,
        fix_search_cut_short,
    })
}

fn others(pods: &[PodName], but: &PodName) -> Vec<PodName> {
    pods.iter().filter(|pod| *pod != but).cloned().collect()
}

fn on_existing(report: &Report<'_>, pod: &Pod) -> Option<Verdict> {
    let node = report
        .plan
        .nodes
        .iter()
        .find(|node| node.added.contains(&pod.name))?;
    let mut beside = others(&node.added, &pod.name);
    beside.extend(node.pods.iter().cloned());
    Some(Verdict::ExistingNode {
        node: node.name.clone(),
        beside,
    })
}

fn launched(report: &Report<'_>, pod: &Pod) -> Option<Verdict> {
    let mut launches = report.plan.launch.iter().enumerate();
    let (index, launch) = launches.find(|(_, launch)| launch.pods.contains(&pod.name))?;
    let allocatable = type_of(report.snapshot, launch).map(|kind| &kind.allocatable)?;
    let part =
        |asked: &Resources, name: ResourceName| share(asked.get(&name), allocatable.get(&name)).unwrap_or(0);
    let scarcer =
        part(&pod.spec.requests, ResourceName::Cpu).max(part(&pod.spec.requests, ResourceName::Memory));
    let micros = u128::from(launch.price.micros()) * u128::from(scarcer) / 1_000_000;
    let fill = |name| (part(&launch.requests, name) + 5_000) / 10_000;
    Some(Verdict::Launch(Box::new(LaunchVerdict {
        index,
        offer: offer(launch),
        node_pool: launch.node_pool.to_string(),
        price_share: Price::from_micros(u64::try_from(micros).unwrap_or(u64::MAX)),
        beside: others(&launch.pods, &pod.name),
        fill_percent: (fill(ResourceName::Cpu), fill(ResourceName::Memory)),
        alternatives: launch.alternatives.len(),
        dearest_alternative: launch.alternatives.iter().map(|other| other.price).max(),
        nodes: node_refusals(report.snapshot, report.plan, pod),
    })))
}

fn offer(launch: &Launch) -> Alternative {
    Alternative {
        instance_type: launch.instance_type.clone(),
        zone: launch.zone.clone(),
        subnet: launch.subnet.clone(),
        capacity_type: launch.capacity_type,
        reservation_id: launch.reservation_id.clone(),
        price: launch.price,
        labels: launch.labels.clone(),
    }
}

macro_rules! line {
    ($text:expr, $($argument:tt)*) => {{
        // `String` as a formatting target never fails.
        let _infallible = writeln!($text, $($argument)*);
    }};
}

/// For people.
#[must_use]
pub fn render(explanation: &Explanation) -> String {
    let mut text = String::new();
    line!(
        text,
        "{} asks for {}",
        Paint(STRONG, &explanation.pod.to_string()),
        plain(&explanation.requests)
    );
    match &explanation.verdict {
        Verdict::Runs { node } => line!(text, "It runs on node {} and stays there.", plain(node.as_str())),
        Verdict::ExistingNode { node, beside } => {
            line!(
                text,
                "It goes to node {}, which exists and has room: nothing to pay.",
                Paint(GOOD, node.as_str())
            );
            besides(beside, &mut text);
        }
        Verdict::Launch(launch) => launch_text(launch, &mut text),
        Verdict::Refused {
            reasons,
            nodes,
            fix,
            fix_search_cut_short,
        } => {
            line!(text, "{}", Paint(BAD.bold(), "It finds no place."));
            line!(text, "{}", Paint(FAINT, "  NodePools"));
            table::reasons(reasons, &mut text);
            existing(nodes, &mut text);
            match fix {
                Some(fix) => line!(
                    text,
                    "{} {} {}",
                    Paint(GOOD.bold(), "Smallest fix:"),
                    Paint(GOOD, fix),
                    Paint(FAINT, "(tried: the pod then has a place)")
                ),
                None => line!(
                    text,
                    "{}",
                    Paint(
                        FAINT,
                        &format!("There is no fix to propose: {}.", no_fix(*fix_search_cut_short))
                    )
                ),
            }
        }
    }
    text
}

fn launch_text(launch: &LaunchVerdict, text: &mut String) {
    let LaunchVerdict {
        index,
        offer,
        node_pool,
        price_share,
        beside,
        fill_percent: (cpu, memory),
        alternatives,
        dearest_alternative,
        nodes,
    } = launch;
    let kind = format!(
        "{} ({}, {})",
        offer.instance_type, offer.capacity_type, offer.zone
    );
    line!(
        text,
        "It goes to a new {} of NodePool {} for {}/h (launch/{index} of the plan).",
        Paint(GOOD, &kind),
        Paint(STRONG, node_pool),
        dollars(offer.price.cost().micros())
    );
    line!(
        text,
        "  Its share of that, by the scarcer of CPU and memory: {}/h. The node is filled to {cpu} % of CPU and {memory} % of memory.",
        dollars(price_share.cost().micros())
    );
    besides(beside, text);
    match dearest_alternative {
        Some(dearest) => line!(
            text,
            "  {} may stand in, for up to {}/h.",
            counted(*alternatives, "other offer", "other offers"),
            dollars(dearest.cost().micros())
        ),
        None => line!(text, "  No other offer may stand in."),
    }
    existing(nodes, text);
}

fn besides(beside: &[PodName], text: &mut String) {
    const SHOWN: usize = 5;
    if beside.is_empty() {
        line!(text, "  It has the node for itself (DaemonSets apart).");
        return;
    }
    let names: Vec<String> = beside
        .iter()
        .take(SHOWN)
        .map(|pod| plain(&pod.to_string()))
        .collect();
    let more = beside.len().saturating_sub(SHOWN);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    line!(text, "  Beside it: {}{more}.", names.join(", "));
}

fn existing(nodes: &[NodeRefusal], text: &mut String) {
    const SHOWN: usize = 3;
    if nodes.is_empty() {
        return;
    }
    line!(text, "{}", Paint(FAINT, "  Nodes that exist"));
    for NodeRefusal {
        nodes,
        constraint,
        detail,
    } in nodes
    {
        let constraint = constraint.map_or_else(|| "Closed".to_owned(), |constraint| constraint.to_string());
        let names: Vec<String> = nodes
            .iter()
            .take(SHOWN)
            .map(|node| plain(node.as_str()))
            .collect();
        let more = if nodes.len() > SHOWN { ", …" } else { "" };
        line!(
            text,
            "    {}  {}  {} {}",
            counted(nodes.len(), "node", "nodes"),
            Paint(WARN, &constraint),
            plain(detail),
            Paint(FAINT, &format!("({}{more})", names.join(", ")))
        );
    }
}
