//! What the table and the page have in common: launches alike, nodes that take pods, pods without a place, counted.

use std::collections::BTreeMap;

use dovetail_solver::model::explain::{Reason, Unschedulable};
use dovetail_solver::model::instance_type::InstanceType;
use dovetail_solver::model::money::Cost;
use dovetail_solver::model::name::PodName;
use dovetail_solver::model::offering::CapacityType;
use dovetail_solver::model::plan::{Launch, NodeAction, PlanBody, ProofKind, Stopped};
use dovetail_solver::model::pod::Pod;
use dovetail_solver::model::resources::{Amount, ResourceName, Resources};
use dovetail_solver::model::snapshot::Snapshot;

use super::{counted, dollars, percent};

/// Launches of one node pool, type, way of buying and zone.
#[derive(Clone, Debug)]
pub(crate) struct LaunchGroup<'a> {
    pub(crate) launch: &'a Launch,
    pub(crate) count: usize,
    pub(crate) pods: usize,
    /// Of all together, in millionths of their allocatable.
    pub(crate) cpu_fill: Option<u64>,
    pub(crate) memory_fill: Option<u64>,
    /// Dollars per hour of all together.
    pub(crate) micros: i64,
}

/// The instance type that a launch is of, as its node class sees it.
pub(crate) fn type_of<'a>(snapshot: &'a Snapshot, launch: &Launch) -> Option<&'a InstanceType> {
    let pool = snapshot.node_pool(&launch.node_pool)?;
    let types = &snapshot.node_class(pool).instance_types;
    types
        .binary_search_by(|candidate| candidate.name.cmp(&launch.instance_type))
        .ok()
        .map(|at| &types[at])
}

/// The dearest group first.
pub(crate) fn launch_groups<'a>(snapshot: &Snapshot, plan: &'a PlanBody) -> Vec<LaunchGroup<'a>> {
    type Key<'k> = (&'k str, &'k str, CapacityType, &'k str, u64);
    let mut groups: BTreeMap<Key<'_>, Vec<&Launch>> = BTreeMap::new();
    for launch in &plan.launch {
        let key = (
            launch.node_pool.as_str(),
            launch.instance_type.as_str(),
            launch.capacity_type,
            launch.zone.as_str(),
            launch.price.micros(),
        );
        groups.entry(key).or_default().push(launch);
    }
    let mut groups: Vec<LaunchGroup<'_>> = groups
        .into_values()
        .map(|launches| launch_group(snapshot, &launches))
        .collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.micros));
    groups
}

fn launch_group<'a>(snapshot: &Snapshot, launches: &[&'a Launch]) -> LaunchGroup<'a> {
    let first = launches[0];
    let mut requests = Resources::new();
    for launch in launches {
        requests.add_all(&launch.requests);
    }
    let fill = |name: &ResourceName| {
        let allocatable = type_of(snapshot, first)?.allocatable.get(name);
        share(requests.get(name), allocatable.times(launches.len() as u64))
    };
    LaunchGroup {
        launch: first,
        count: launches.len(),
        pods: launches.iter().map(|launch| launch.pods.len()).sum(),
        cpu_fill: fill(&ResourceName::Cpu),
        memory_fill: fill(&ResourceName::Memory),
        micros: launches.iter().map(|launch| launch.price.cost().micros()).sum(),
    }
}

/// Part of a whole in millionths; `None` where there is no whole.
pub(crate) fn share(part: Amount, whole: Amount) -> Option<u64> {
    (whole > Amount::ZERO)
        .then(|| u128::from(part.get()) * 1_000_000 / u128::from(whole.get()))
        .and_then(|millionths| u64::try_from(millionths).ok())
}

/// Pods of one workload that are refused alike.
#[derive(Clone, Debug)]
pub(crate) struct Refused<'a> {
    pub(crate) workload: String,
    pub(crate) pods: Vec<&'a PodName>,
    pub(crate) reasons: &'a [Reason],
    pub(crate) fix: Option<&'a str>,
    pub(crate) fix_search_cut_short: bool,
}

/// The most pods first.
pub(crate) fn refused<'a>(snapshot: &Snapshot, plan: &'a PlanBody) -> Vec<Refused<'a>> {
    type Key<'k> = (String, &'k [Reason], Option<&'k str>, bool);
    let mut groups: BTreeMap<Key<'a>, Vec<&'a PodName>> = BTreeMap::new();
    for Unschedulable {
        pod,
        reasons,
        fix,
        fix_search_cut_short,
    } in &plan.unschedulable
    {
        let workload = workload(snapshot, pod);
        let key = (
            workload,
            reasons.as_slice(),
            fix.as_deref(),
            *fix_search_cut_short,
        );
        groups.entry(key).or_default().push(pod);
    }
    let mut groups: Vec<Refused<'_>> = groups
        .into_iter()
        .map(|((workload, reasons, fix, fix_search_cut_short), pods)| Refused {
            workload,
            pods,
            reasons,
            fix,
            fix_search_cut_short,
        })
        .collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.pods.len()));
    groups
}

/// `namespace/name` of the workload that a pod belongs to; its own name where it has none.
pub(crate) fn workload(snapshot: &Snapshot, name: &PodName) -> String {
    snapshot
        .pod(name)
        .and_then(workload_name)
        .map_or_else(|| name.to_string(), |owner| format!("{}/{owner}", name.namespace))
}

/// The owner's name; of a ReplicaSet that a Deployment made, the Deployment's.
fn workload_name(pod: &Pod) -> Option<&str> {
    let owner = pod.spec.owner.as_ref()?;
    let hash = pod.spec.labels.get("pod-template-hash");
    Some(match hash {
        Some(hash) if owner.kind == "ReplicaSet" => owner
            .name
            .strip_suffix(hash.as_str())
            .and_then(|rest| rest.strip_suffix('-'))
            .unwrap_or(&owner.name),
        _ => &owner.name,
    })
}

/// Nodes before and after.
pub(crate) fn node_counts(snapshot: &Snapshot, plan: &PlanBody) -> (usize, usize) {
    let before = snapshot.nodes.len();
    let leaving = plan
        .nodes
        .iter()
        .filter(|node| node.action != NodeAction::Keep)
        .count();
    (before, before + plan.launch.len() - leaving.min(before))
}

/// Where no single change helps, or none was found among those that were tried.
pub(crate) fn no_fix(is_cut_short: bool) -> &'static str {
    if is_cut_short {
        "no single change was found that gives it a place before the search was cut short"
    } else {
        "no single change was found that gives it a place"
    }
}

/// Whether an estimate of spot prices can matter to this plan.
pub(crate) fn uses_spot(plan: &PlanBody) -> bool {
    let is_spot = |capacity_type: CapacityType| capacity_type == CapacityType::Spot;
    plan.launch.iter().any(|launch| {
        let mut others = launch.alternatives.iter();
        is_spot(launch.capacity_type) || others.any(|other| is_spot(other.capacity_type))
    })
}

/// Whether anything is known of how cheap a plan could be: a bound of nothing under a cost says nothing.
pub(crate) fn bound_is_known(plan: &PlanBody) -> bool {
    plan.cost.lower_bound.micros() > 0 || plan.cost.objective.micros() <= 0
}

/// What is proven about the cost, in one sentence.
pub(crate) fn proof(plan: &PlanBody) -> String {
    let bound = dollars(plan.cost.lower_bound.micros());
    let sentence = match plan.proof.kind {
        ProofKind::Optimal => format!("no plan costs less (lower bound {bound}/h)"),
        ProofKind::WithinGap => format!(
            "within {} of the lower bound {bound}/h, as near as was asked for",
            percent(plan.cost.gap.0)
        ),
        ProofKind::Heuristic if !bound_is_known(plan) => {
            "how far from the least possible isn't known".to_owned()
        }
        // Hundreds of per cent say less than "three times".
        ProofKind::Heuristic if plan.cost.gap.0 >= 1_000_000 => {
            let tenths = (plan.cost.gap.0 + 1_000_000).div_ceil(100_000);
            let (whole, tenth) = (tenths / 10, tenths % 10);
            format!("at most {whole}.{tenth} times the least possible (lower bound {bound}/h)")
        }
        ProofKind::Heuristic => format!(
            "at most {} above the least possible (lower bound {bound}/h)",
            percent(plan.cost.gap.0)
        ),
    };
    match plan.proof.stopped {
        Stopped::Finished => sentence,
        Stopped::WorkLimit => sentence + "; the work limit ended the search",
        Stopped::Deadline => sentence + "; the time budget ended the search",
    }
}

/// What the objective is made of, where it isn't the bill alone: `$0.1925/h: price $0.1785 + preference $0.014`.
pub(crate) fn objective(plan: &PlanBody) -> Option<String> {
    let cost = plan.cost;
    if cost.objective == cost.after {
        return None;
    }
    let terms = cost
        .terms
        .named()
        .into_iter()
        .filter(|(_, term)| *term != Cost::ZERO);
    let terms: Vec<String> = terms
        .map(|(name, term)| format!("{name} {}", dollars(term.micros())))
        .collect();
    Some(format!(
        "{}/h: {}",
        dollars(cost.objective.micros()),
        terms.join(" + ")
    ))
}

/// What to say where planner and check differ on what is only weighed.
pub(crate) fn recounted(plan: &PlanBody) -> Option<String> {
    let more = plan.cost.recounted.micros();
    let than = if more > 0 { "more" } else { "less" };
    (more != 0).then(|| {
        format!(
            "What is only weighed costs {}/h {than} by the check's count, which is shown, than by the planner's. All rules are \
             kept, but there may be a cheaper plan: a defect of dovetail, please report it",
            dollars(more.abs())
        )
    })
}

/// How the cost came down: `greedy $2.43/h → density $1.67/h → columns $1.66/h`, engines that found nothing cheaper left
/// out; `None` where the first plan stood.
pub(crate) fn descent(plan: &PlanBody) -> Option<String> {
    let mut steps: Vec<(&str, Cost)> = Vec::new();
    for phase in &plan.work.phases {
        if steps.last().is_none_or(|(_, cost)| *cost != phase.cost) {
            steps.push((&phase.name, phase.cost));
        }
    }
    let text = |(name, cost): &(&str, Cost)| format!("{name} {}/h", dollars(cost.micros()));
    (steps.len() > 1).then(|| steps.iter().map(text).collect::<Vec<_>>().join(" → "))
}

/// `3 pods pending`.
pub(crate) fn pending(plan: &PlanBody) -> String {
    match plan.work.pods {
        0 => "no pod pending".to_owned(),
        pods => counted(pods, "pod", "pods") + " pending",
    }
}
