//! The smallest fix: one change that would give refused pods a place, found by trying it.
//!
//! Promises: a fix is only named after a plan with exactly that change has placed every pod of the group, while all
//! else stays where the first plan put it; the effort is bounded by counts, so that the same input names the same
//! fixes on every machine (the quota only guards against the unforeseen). Only single changes are tried: a pod that
//! needs two gets none.
//!
//! In order of preference: a higher limit, a larger capacity reservation, one toleration, one more value of a requirement, one more label, and where
//! a pod is only just too large, a smaller request.

mod addresses;
mod candidates;
mod change;
mod limit;
mod refusal;
mod reservation;
mod residual;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use refusal::{NodeRefusal, node_refusals};

use crate::check::check;
use crate::model::explain::{Reason, Unschedulable};
use crate::model::name::PodName;
use crate::model::plan::{Checked, Plan, PlanBody};
use crate::model::pod::{Pod, PodPlace, PodSpec};
use crate::model::snapshot::{Snapshot, SnapshotParts};
use crate::options::{Engine, PlanOptions};
use crate::plan::PlanError;
use crate::quota::Quota;
use change::Change;

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
    let found = fixes(snapshot, &plan, only, &mut plan_again);
    let mut body = plan.into_body();
    for refusal in &mut body.unschedulable {
        if let Some(fix) = found.get(&refusal.pod) {
            refusal.fix = Some(fix.clone());
        }
    }
    check(snapshot, Plan::propose(body)).map_err(|failure| PlanError::Unsound {
        violations: failure.violations,
    })
}

/// A smallest fix for each pod that has one; `plan_again` plans a changed snapshot, `None` ends the search.
fn fixes(
    snapshot: &Snapshot,
    plan: &PlanBody,
    only: Option<&PodName>,
    plan_again: &mut dyn FnMut(&Snapshot) -> Option<PlanBody>,
) -> BTreeMap<PodName, String> {
    let mut found = BTreeMap::new();
    let residual = residual::after(snapshot, plan);
    let mut groups = groups(snapshot, plan);
    groups.retain(|group| only.is_none_or(|pod| group.pods.contains(&pod)));
    let mut effort_left = MOST_EFFORT;
    for group in groups.into_iter().take(MOST_GROUPS) {
        let mut trial = Trial {
            residual: &residual,
            group: &group,
            plans_left: MOST_PLANS,
            effort_left: &mut effort_left,
            plan_again,
        };
        if let Some(fix) = smallest(&mut trial) {
            let text = fix.to_string();
            found.extend(group.pods.iter().map(|pod| ((*pod).clone(), text.clone())));
        }
    }
    found
}

/// Refused pods with the same specification and the same reasons.
struct Group<'a> {
    spec: &'a PodSpec,
    reasons: &'a [Reason],
    pods: Vec<&'a PodName>,
}

/// Namespace and name of a gang.
type Gang<'a> = (&'a str, &'a str);

impl<'a> Group<'a> {
    fn gang(&self) -> Option<Gang<'a>> {
        let gang = self.spec.rules.gang.as_ref()?;
        Some((&self.pods.first()?.namespace, &gang.name))
    }
}

fn groups<'a>(snapshot: &'a Snapshot, plan: &'a PlanBody) -> Vec<Group<'a>> {
    let mut groups: BTreeMap<(&PodSpec, &[Reason]), Vec<&PodName>> = BTreeMap::new();
    for Unschedulable { pod, reasons, fix: _ } in &plan.unschedulable {
        // A DaemonSet's pod is bound to its node: no change to a NodePool gives it another.
        if let Some(known) = snapshot.pod(pod).filter(|known| !known.is_daemon()) {
            groups
                .entry((&*known.spec, reasons.as_slice()))
                .or_default()
                .push(pod);
        }
    }
    let mut groups: Vec<Group<'_>> = groups
        .into_iter()
        .map(|((spec, reasons), pods)| Group { spec, reasons, pods })
        .collect();
    let mut of_gang: BTreeMap<Gang<'_>, usize> = BTreeMap::new();
    for gang in groups.iter().filter_map(Group::gang) {
        *of_gang.entry(gang).or_default() += 1;
    }
    // What places one kind of a gang's pods places none of them.
    groups.retain(|group| group.gang().is_none_or(|gang| of_gang[&gang] == 1));
    groups.sort_by_key(|group| std::cmp::Reverse(group.pods.len()));
    groups
}

fn smallest(trial: &mut Trial<'_>) -> Option<Change> {
    if let Some(change) = limit::raised(trial).or_else(|| addresses::freed(trial)) {
        return Some(change);
    }
    if let Some(change) = reservation::enlarged(trial) {
        return Some(change);
    }
    for change in candidates::single_changes(trial.residual, trial.group.spec, trial.group.reasons) {
        if trial.places(&change).is_some() {
            return Some(change);
        }
    }
    candidates::lower_request(trial)
}

/// What a change is tried on, and how often still.
struct Trial<'a> {
    residual: &'a SnapshotParts,
    group: &'a Group<'a>,
    plans_left: usize,
    effort_left: &'a mut usize,
    plan_again: &'a mut dyn FnMut(&Snapshot) -> Option<PlanBody>,
}

impl Trial<'_> {
    fn effort(&self) -> usize {
        let classes = self.residual.node_classes.values();
        let types: usize = classes.map(|class| class.instance_types.len()).sum();
        self.residual.pods.len() + self.group.pods.len() + types
    }

    /// The plan under a change, if it places the whole group.
    fn places(&mut self, change: &Change) -> Option<PlanBody> {
        self.plans_left = self.plans_left.checked_sub(1)?;
        *self.effort_left = self.effort_left.checked_sub(self.effort())?;
        let mut parts = self.residual.clone();
        let spec = Arc::new(self.group.spec.clone());
        let pods = self.group.pods.iter().map(|name| Pod {
            name: (*name).clone(),
            spec: Arc::clone(&spec),
            place: PodPlace::Pending,
            created: None,
        });
        let first = parts.pods.len();
        parts.pods.extend(pods);
        change.apply(&mut parts, first);
        let snapshot = parts.freeze().ok()?;
        let plan = (self.plan_again)(&snapshot)?;
        plan.unschedulable.is_empty().then_some(plan)
    }
}
