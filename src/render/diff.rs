//! The difference between two plans: money, launches, and where pods go.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use dovetail_solver::model::money::Cost;
use dovetail_solver::model::name::PodName;
use dovetail_solver::model::plan::{CostSummary, Launch, PlanBody};
use serde::Serialize;

use super::style::{BAD, FAINT, GOOD, HEADING, Paint, STRONG, plain};
use super::{counted, dollars, percent};

/// What changed from an earlier plan to a later one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// Figures of the earlier plan, of the later one, and how much more `after` is.
    pub cost: CostDifference,
    /// Launches by kind whose number changed.
    pub launch: Vec<LaunchDifference>,
    /// Pods that have no place any more.
    pub newly_unschedulable: Vec<PodName>,
    /// Pods that have a place now.
    pub newly_schedulable: Vec<PodName>,
    /// Pods that go somewhere else.
    pub elsewhere: Vec<Elsewhere>,
}

/// Money of two plans.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostDifference {
    /// The earlier plan's.
    pub from: CostSummary,
    /// The later plan's.
    pub to: CostSummary,
    /// Difference of `after`.
    pub change: Cost,
}

/// How many more, or fewer, nodes of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchDifference {
    /// Of which NodePool.
    pub node_pool: String,
    /// Type.
    pub instance_type: String,
    /// How it is bought.
    pub capacity_type: String,
    /// Nodes in the earlier plan.
    pub from: usize,
    /// Nodes in the later plan.
    pub to: usize,
}

/// A pod that goes somewhere else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Elsewhere {
    /// The pod.
    pub pod: PodName,
    /// A node's name, or the kind of the launch: `default: c7i.large, spot, us-east-1a`.
    pub from: String,
    /// The same.
    pub to: String,
}

/// Compares two plans.
#[must_use]
pub fn compare(from: &PlanBody, to: &PlanBody) -> Difference {
    let refused = |plan: &PlanBody| -> Vec<PodName> {
        plan.unschedulable
            .iter()
            .map(|refusal| refusal.pod.clone())
            .collect()
    };
    let only_in = |one: &[PodName], two: &[PodName]| -> Vec<PodName> {
        let other: std::collections::BTreeSet<_> = two.iter().collect();
        one.iter().filter(|pod| !other.contains(pod)).cloned().collect()
    };
    let (refused_before, refused_after) = (refused(from), refused(to));
    let (before, after) = (places(from), places(to));
    let elsewhere = after
        .iter()
        .filter_map(|(pod, to)| {
            let from = before.get(pod).filter(|from| *from != to)?;
            Some(Elsewhere {
                pod: (*pod).clone(),
                from: from.clone(),
                to: to.clone(),
            })
        })
        .collect();
    let newly_schedulable = only_in(&refused_before, &refused_after)
        .into_iter()
        .filter(|pod| after.contains_key(pod))
        .collect();
    Difference {
        cost: CostDifference {
            from: from.cost,
            to: to.cost,
            change: to.cost.after - from.cost.after,
        },
        launch: launch_difference(from, to),
        newly_unschedulable: only_in(&refused_after, &refused_before),
        newly_schedulable,
        elsewhere,
    }
}

fn launch_difference(from: &PlanBody, to: &PlanBody) -> Vec<LaunchDifference> {
    fn key(launch: &Launch) -> (&str, &str, &str) {
        let Launch {
            node_pool,
            instance_type,
            capacity_type,
            ..
        } = launch;
        (node_pool.as_str(), instance_type.as_str(), capacity_type.as_str())
    }
    let mut counts: BTreeMap<(&str, &str, &str), (usize, usize)> = BTreeMap::new();
    for launch in &from.launch {
        counts.entry(key(launch)).or_default().0 += 1;
    }
    for launch in &to.launch {
        counts.entry(key(launch)).or_default().1 += 1;
    }
    counts
        .into_iter()
        .filter(|(_, (from, to))| from != to)
        .map(
            |((node_pool, instance_type, capacity_type), (from, to))| LaunchDifference {
                node_pool: node_pool.to_owned(),
                instance_type: instance_type.to_owned(),
                capacity_type: capacity_type.to_owned(),
                from,
                to,
            },
        )
        .collect()
}

/// Where each pod that a plan places goes.
fn places(plan: &PlanBody) -> BTreeMap<&PodName, String> {
    let mut places = BTreeMap::new();
    for launch in &plan.launch {
        let place = format!(
            "{}: {}, {}, {}",
            launch.node_pool, launch.instance_type, launch.capacity_type, launch.zone
        );
        places.extend(launch.pods.iter().map(|pod| (pod, place.clone())));
    }
    for node in &plan.nodes {
        let placed = node.added.iter().chain(&node.pods);
        places.extend(placed.map(|pod| (pod, node.name.to_string())));
    }
    places
}

impl Difference {
    /// Whether nothing changed that a user would notice.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cost.change == Cost::ZERO
            && self.launch.is_empty()
            && self.newly_unschedulable.is_empty()
            && self.newly_schedulable.is_empty()
            && self.elsewhere.is_empty()
    }
}

macro_rules! line {
    ($text:expr, $($argument:tt)*) => {{
        // `String` as a formatting target never fails.
        let _infallible = writeln!($text, $($argument)*);
    }};
}

/// For people. With `verbose` every pod is listed.
#[must_use]
pub fn render(difference: &Difference, verbose: bool) -> String {
    let mut text = String::new();
    let CostDifference { from, to, change } = &difference.cost;
    let sign = if change.micros() > 0 { "+" } else { "" };
    let style = if change.micros() > 0 { BAD } else { GOOD };
    line!(
        text,
        "{}  {}/h → {} ({})",
        Paint(STRONG, "cost       "),
        dollars(from.after.micros()),
        Paint(STRONG, &format!("{}/h", dollars(to.after.micros()))),
        Paint(style, &format!("{sign}{}", dollars(change.micros()))),
    );
    line!(
        text,
        "{}  {}/h → {}/h",
        Paint(STRONG, "lower bound"),
        dollars(from.lower_bound.micros()),
        dollars(to.lower_bound.micros())
    );
    line!(
        text,
        "{}  {} → {}",
        Paint(STRONG, "gap        "),
        percent(from.gap.0),
        percent(to.gap.0)
    );
    if difference.is_empty() {
        line!(text, "{}", Paint(FAINT, "The plans launch and place the same."));
    }
    for launch in &difference.launch {
        let (more, style) = if launch.to > launch.from {
            (format!("+{}", launch.to - launch.from), BAD)
        } else {
            (format!("-{}", launch.from - launch.to), GOOD)
        };
        line!(
            text,
            "{}  {} {} in {} ({} → {})",
            Paint(style, &format!("{more:>11}")),
            plain(&launch.instance_type),
            launch.capacity_type,
            plain(&launch.node_pool),
            launch.from,
            launch.to
        );
    }
    pods(
        "no place any more",
        &difference.newly_unschedulable,
        verbose,
        &mut text,
    );
    pods("a place now", &difference.newly_schedulable, verbose, &mut text);
    elsewhere(&difference.elsewhere, verbose, &mut text);
    text
}

/// So many pods stand for the rest.
const SHOWN: usize = 5;

fn pods(what: &str, pods: &[PodName], verbose: bool, text: &mut String) {
    if pods.is_empty() {
        return;
    }
    let shown = if verbose {
        pods.len()
    } else {
        SHOWN.min(pods.len())
    };
    let title = format!("{}: {what}", counted(pods.len(), "pod", "pods"));
    line!(text, "{}", Paint(HEADING, &title));
    for pod in &pods[..shown] {
        line!(text, "  {}", plain(&pod.to_string()));
    }
    rest(pods.len() - shown, text);
}

fn elsewhere(moved: &[Elsewhere], verbose: bool, text: &mut String) {
    if moved.is_empty() {
        return;
    }
    let title = format!("{}: another place", counted(moved.len(), "pod", "pods"));
    line!(text, "{}", Paint(HEADING, &title));
    let shown = if verbose {
        moved.len()
    } else {
        SHOWN.min(moved.len())
    };
    for Elsewhere { pod, from, to } in &moved[..shown] {
        line!(
            text,
            "  {}  {} → {}",
            plain(&pod.to_string()),
            plain(from),
            plain(to)
        );
    }
    rest(moved.len() - shown, text);
}

fn rest(left: usize, text: &mut String) {
    if left > 0 {
        line!(
            text,
            "{}",
            Paint(FAINT, &format!("  … {left} more (--verbose lists them)"))
        );
    }
}
