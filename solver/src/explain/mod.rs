//! The smallest fix: one change that would give refused pods a place, found by trying it.
//!
//! Promises: a fix is only named after a plan with exactly that change has placed every pod of the group, while all
//! else stays where the first plan put it; the effort is bounded by counts, so that the same input names the same
//! fixes on every machine (the quota only guards against the unforeseen). Only single changes are tried: a pod that
//! needs two gets none.
//!
//! In order of preference: a higher limit; addresses of a subnet; a larger capacity reservation; what a NodePool admits, its labels, its minValues, a toleration, a policy; a rule
//! of the pod about others relaxed; and where a pod is only just too large, a smaller request, of a DaemonSet's where that
//! is what fills the node. Where the search ended before all of it was tried, the refusal says so.

mod addresses;
mod apply;
mod candidates;
mod change;
mod figures;
mod limit;
mod neighbours;
mod offers;
mod refusal;
mod reservation;
mod residual;
mod rules;
mod words;
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use refusal::{NodeRefusal, node_refusals};

use crate::check::check;
use crate::model::explain::{Constraint, Reason};
use crate::model::name::{NodePoolName, PodName};
use crate::model::node_pool::NodePool;
use crate::model::plan::{Checked, Plan, PlanBody};
use crate::model::pod::{Pod, PodPlace, PodSpec};
use crate::model::snapshot::{Snapshot, SnapshotParts};
use crate::options::{Engine, PlanOptions};
use crate::plan::PlanError;
use crate::quota::Quota;
use change::Change;
use world::World;

/// So many groups of refused pods are looked at: beyond them nobody reads.
const MOST_GROUPS: usize = 40;
/// So many plans are made for one group.
const MOST_PLANS: usize = 16;
/// So many pods and instance types are gone through by all plans together: about a second of work. The largest groups
/// come first, so that what goes without are the small ones of a very large input.
const MOST_EFFORT: usize = 1_000_000;

/// The plan with a smallest fix beside each refusal that has one; `only` asks for that of a single pod.
///
/// The tries are made with the baseline engine: it takes next to no time, and where it places all pods, the plan of all
/// engines does too, since of two packings the one that leaves fewer pods wins. `quota` only guards against the
/// unforeseen: when it is exhausted, the rest goes without.
///
/// # Errors
/// When the plan no longer passes the check: a defect, since fixes are words.
pub fn with_fixes(
    snapshot: &Snapshot,
    plan: Plan<Checked>,
    options: &PlanOptions,
    quota: &dyn Quota,
    only: Option<&PodName>,
) -> Result<Plan<Checked>, PlanError> {
    if plan.unschedulable.is_empty() {
        return Ok(plan);
    }
    let options = PlanOptions {
        engine: Engine::Greedy,
        ..*options
    };
    let mut plan_again = |changed: &Snapshot| {
        if quota.is_exhausted() {
            return None;
        }
        crate::plan(changed, &options, quota).ok().map(Plan::into_body)
    };
    let residual = residual::after(snapshot, &plan);
    let found = fixes(snapshot, &plan, &residual, only, &mut plan_again);
    let mut body = plan.into_body();
    figures::add(snapshot, &World::of(&residual), &mut body);
    for refusal in &mut body.unschedulable {
        match found.get(&refusal.pod) {
            Some(Search::Found(fix)) => refusal.fix = Some(fix.clone()),
            Some(Search::CutShort) => refusal.fix_search_cut_short = true,
            None => {}
        }
    }
    check(snapshot, Plan::propose(body)).map_err(|failure| PlanError::Unsound {
        violations: failure.violations,
    })
}

/// What came of looking for a pod's fix.
enum Search {
    Found(String),
    /// Nothing, and not all was tried.
    CutShort,
}

/// What is found for each pod, those apart for which all was tried in vain; `plan_again` plans a changed snapshot, `None`
/// ends the search.
fn fixes(
    snapshot: &Snapshot,
    plan: &PlanBody,
    residual: &SnapshotParts,
    only: Option<&PodName>,
    plan_again: &mut dyn FnMut(&Snapshot) -> Option<PlanBody>,
) -> BTreeMap<PodName, Search> {
    let mut found = BTreeMap::new();
    let mut groups = groups(snapshot, plan);
    if let Some(only) = only {
        groups.retain(|group| group.pods.iter().any(|(pod, _)| *pod == only));
    }
    let mut effort_left = MOST_EFFORT;
    for (at, group) in groups.iter().enumerate() {
        let mut trial = Trial {
            residual,
            group,
            plans_left: if at < MOST_GROUPS { MOST_PLANS } else { 0 },
            effort_left: &mut effort_left,
            is_cut_short: at >= MOST_GROUPS,
            plan_again,
        };
        let fix = if at < MOST_GROUPS {
            smallest(&mut trial).map(|fix| fix.to_string())
        } else {
            None
        };
        let is_cut_short = trial.is_cut_short;
        let search = || match &fix {
            Some(fix) => Some(Search::Found(fix.clone())),
            None => is_cut_short.then_some(Search::CutShort),
        };
        let pods = group.pods.iter();
        found.extend(pods.filter_map(|(pod, _)| Some(((*pod).clone(), search()?))));
    }
    found
}

/// Refused pods with the same specification and the same reasons; those of a gang together.
struct Group<'a> {
    specs: Vec<&'a PodSpec>,
    reasons: &'a [Reason],
    /// Which, and which specification each has.
    pods: Vec<(&'a PodName, usize)>,
}

/// Namespace and name of a gang.
type Gang<'a> = (&'a str, &'a str);

fn groups<'a>(snapshot: &'a Snapshot, plan: &'a PlanBody) -> Vec<Group<'a>> {
    type Key<'a> = (Option<Gang<'a>>, &'a [Reason]);
    let mut groups: BTreeMap<Key<'a>, BTreeMap<&'a PodSpec, Vec<&'a PodName>>> = BTreeMap::new();
    for refusal in &plan.unschedulable {
        // A DaemonSet's pod is bound to its node: no change to a NodePool gives it another.
        if let Some(known) = snapshot.pod(&refusal.pod).filter(|known| !known.is_daemon()) {
            let gang = known.spec.rules.gang.as_ref();
            let gang = gang.map(|gang| (known.name.namespace.as_str(), gang.name.as_str()));
            let alike = groups.entry((gang, refusal.reasons.as_slice())).or_default();
            alike.entry(&known.spec).or_default().push(&refusal.pod);
        }
    }
    let mut split: Vec<Group<'_>> = Vec::new();
    for ((gang, reasons), by_spec) in groups {
        if gang.is_some() {
            // Only what places all of its kinds places any of them.
            split.push(group(reasons, by_spec.into_iter().collect()));
        } else {
            split.extend(by_spec.into_iter().map(|kind| group(reasons, vec![kind])));
        }
    }
    split.sort_by_key(|group| std::cmp::Reverse(group.pods.len()));
    split
}

fn group<'a>(reasons: &'a [Reason], kinds: Vec<(&'a PodSpec, Vec<&'a PodName>)>) -> Group<'a> {
    let (specs, pods): (Vec<&PodSpec>, Vec<Vec<&PodName>>) = kinds.into_iter().unzip();
    let pods = pods.into_iter().enumerate();
    let pods = pods.flat_map(|(spec, pods)| pods.into_iter().map(move |pod| (pod, spec)));
    Group {
        specs,
        reasons,
        pods: pods.collect(),
    }
}

fn smallest(trial: &mut Trial<'_>) -> Option<Change> {
    let stages = [
        limit::raised,
        addresses::freed,
        reservation::enlarged,
        candidates::pool,
        rules::relaxed,
        candidates::smaller,
    ];
    stages.into_iter().find_map(|stage| stage(trial))
}

/// What a change is tried on, and how often still.
struct Trial<'a> {
    residual: &'a SnapshotParts,
    group: &'a Group<'a>,
    plans_left: usize,
    effort_left: &'a mut usize,
    /// Whether something would have been tried and wasn't.
    is_cut_short: bool,
    plan_again: &'a mut dyn FnMut(&Snapshot) -> Option<PlanBody>,
}

impl Trial<'_> {
    fn effort(&self) -> usize {
        let classes = self.residual.node_classes.values();
        let types: usize = classes.map(|class| class.instance_types.len()).sum();
        self.residual.pods.len() + self.group.pods.len() + types
    }

    /// Whether any pool gives a reason of these kinds; of a gang of several kinds of pods the reason is the gang's.
    fn is_refused_by(&self, constraints: &[Constraint]) -> bool {
        let is_named = |reason: &Reason| constraints.contains(&reason.constraint);
        self.group.reasons.iter().any(is_named) || self.is_gang()
    }

    /// Whether the reason is that of a whole gang.
    fn is_gang(&self) -> bool {
        let mut reasons = self.group.reasons.iter();
        reasons.any(|reason| reason.constraint == Constraint::Gang)
    }

    /// Pools that give a reason of these kinds.
    fn pools(&self, constraints: &[Constraint]) -> Vec<&NodePool> {
        let is_gang = self.is_gang();
        let reasons = self.group.reasons.iter();
        let named = reasons.filter(|reason| is_gang || constraints.contains(&reason.constraint));
        let mut names: Vec<&NodePoolName> = named.filter_map(|reason| reason.node_pool.as_ref()).collect();
        names.dedup();
        let pools = &self.residual.node_pools;
        let known = names
            .into_iter()
            .map(|name| pools.iter().find(|pool| pool.name == *name));
        known.flatten().collect()
    }

    /// The first of these that places the whole group.
    fn first(&mut self, changes: impl IntoIterator<Item = Change>) -> Option<Change> {
        changes.into_iter().find(|change| self.places(change).is_some())
    }

    /// The plan under a change, if it places the whole group.
    fn places(&mut self, change: &Change) -> Option<PlanBody> {
        let effort = self.effort();
        if self.plans_left == 0 || *self.effort_left < effort {
            self.is_cut_short = true;
            return None;
        }
        self.plans_left -= 1;
        *self.effort_left -= effort;
        let mut parts = self.residual.clone();
        let mut specs: Vec<PodSpec> = self.group.specs.iter().map(|spec| (*spec).clone()).collect();
        change.apply(&mut parts, &mut specs);
        let specs: Vec<Arc<PodSpec>> = specs.into_iter().map(Arc::new).collect();
        let pods = self.group.pods.iter().map(|(name, spec)| Pod {
            name: (*name).clone(),
            spec: Arc::clone(&specs[*spec]),
            place: PodPlace::Pending,
            created: None,
        });
        parts.pods.extend(pods);
        let snapshot = parts.freeze().ok()?;
        let plan = (self.plan_again)(&snapshot);
        self.is_cut_short |= plan.is_none();
        plan.filter(|plan| plan.unschedulable.is_empty())
    }
}
