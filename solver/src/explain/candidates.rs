//! Which single changes of NodePools, policies and sizes are worth trying, the mildest first. Each is only a guess until
//! a plan has confirmed it.

use super::Trial;
use super::change::Change;
use super::offers::one_more_value;
use crate::model::explain::Constraint;
use crate::model::instance_type::INSTANCE_TYPE_LABEL;
use crate::model::name::{NodePoolName, PodName};
use crate::model::node_pool::NodePool;
use crate::model::offering::Offering;
use crate::model::pod::PodSpec;
use crate::model::resources::{Amount, ResourceName};
use crate::model::snapshot::SnapshotParts;
use crate::model::taint::Taint;

/// So many changes of what pools admit are tried: what comes after is left a part of the plans.
const MOST_CHANGES: usize = 12;

/// What may be helped by one more value of a requirement.
const WIDENING: [Constraint; 10] = [
    Constraint::Requirement,
    Constraint::Zone,
    Constraint::Resources,
    Constraint::Overhead,
    Constraint::Capacity,
    Constraint::Subnet,
    Constraint::Volume,
    Constraint::Affinity,
    Constraint::AntiAffinity,
    Constraint::TopologySpread,
];

/// The mildest change of a NodePool or its policy, or a toleration.
pub(super) fn pool(trial: &mut Trial<'_>) -> Option<Change> {
    if let Some(change) = lower_min_values(trial) {
        return Some(change);
    }
    let mut changes: Vec<Change> = Vec::new();
    for spec in &trial.group.specs {
        for change in single_changes(trial, spec) {
            if !changes.contains(&change) {
                changes.push(change);
            }
        }
    }
    trial.is_cut_short |= changes.len() > MOST_CHANGES;
    changes.truncate(MOST_CHANGES);
    trial.first(changes)
}

/// Changes by their mildness: what a pool admits, then labels, then tolerations, then what a policy forbids. A pod that
/// asks for an extended resource is meant for the nodes that have it, which taints mostly guard: there the toleration comes
/// first.
fn single_changes(trial: &Trial<'_>, pod: &PodSpec) -> Vec<Change> {
    let tolerable = trial.pools(&[Constraint::Taint]).into_iter();
    let mut tolerations: Vec<Change> = tolerable.filter_map(|pool| toleration(pool, pod)).collect();
    let mut changes = Vec::new();
    let is_extended = |(name, amount): (&ResourceName, Amount)| {
        matches!(name, ResourceName::Other(_)) && amount > Amount::ZERO
    };
    if pod.requests.iter().any(is_extended) {
        changes.append(&mut tolerations);
    }
    let parts = trial.residual;
    let widened = trial.pools(&WIDENING).into_iter();
    changes.extend(widened.flat_map(|pool| one_more_value(parts, pool, pod)));
    let labelled = trial.pools(&[
        Constraint::Requirement,
        Constraint::TopologySpread,
        Constraint::Affinity,
    ]);
    changes.extend(
        labelled
            .into_iter()
            .filter_map(|pool| missing_label(parts, pool, pod)),
    );
    changes.append(&mut tolerations);
    let forbidden = trial.pools(&[Constraint::Policy]).into_iter();
    let kept = forbidden.filter(|pool| parts.placement.keep_off_accelerators.contains(&pool.name));
    changes.extend(kept.map(|pool| Change::AllowAccelerators(pool.name.clone())));
    changes
}

/// The only hard taint that the pod doesn't tolerate.
fn toleration(pool: &NodePool, pod: &PodSpec) -> Option<Change> {
    let refused = |taint: &&Taint| {
        taint.effect.is_hard()
            && !pod
                .tolerations
                .iter()
                .any(|toleration| toleration.tolerates(taint))
    };
    let mut taints = pool.taints.iter().filter(refused);
    let first = taints.next()?;
    taints
        .next()
        .is_none()
        .then(|| Change::AddToleration(first.clone()))
}

/// The only label that the pod selects and no node of the pool could have.
fn missing_label(parts: &SnapshotParts, pool: &NodePool, pod: &PodSpec) -> Option<Change> {
    let types = parts
        .node_classes
        .get(&pool.node_class)?
        .instance_types
        .as_slice();
    let known = |key: &str| {
        key == INSTANCE_TYPE_LABEL
            || Offering::LABELS.contains(&key)
            || pool.labels.contains_key(key)
            || types
                .iter()
                .any(|kind| kind.labels.contains_key(key) || kind.choices.contains_key(key))
    };
    let selector = pod.selector_requirements();
    let terms = pod.node_affinity.iter().flat_map(|terms| &terms.0);
    let wanted = selector
        .iter()
        .chain(terms.flat_map(|term| term.expressions.iter()));
    let mut missing = wanted.filter(|(key, wanted)| !wanted.admits_absence() && !known(key));
    let (key, set) = missing.next()?;
    let value = set.finite()?.first()?;
    let (key, value) = (key.to_owned(), value.clone());
    let pool_name = pool.name.clone();
    Some(if pool.requirements.get(&key).is_some() {
        Change::Admit {
            pool: pool_name,
            key,
            value,
        }
    } else {
        Change::AddLabel {
            pool: pool_name,
            key,
            value,
        }
    })
}

/// The most values of one key that may still be asked for.
fn lower_min_values(trial: &mut Trial<'_>) -> Option<Change> {
    let wanted: Vec<(NodePoolName, String, u32)> = trial
        .pools(&[Constraint::MinValues])
        .into_iter()
        .flat_map(|pool| {
            let wanted = pool.requirements.min_values();
            wanted.map(|(key, least)| (pool.name.clone(), key.to_owned(), least))
        })
        .collect();
    wanted.into_iter().find_map(|(pool, key, least)| {
        let lowered = |to: u64| Change::LowerMinValues {
            pool: pool.clone(),
            key: key.clone(),
            to: u32::try_from(to).unwrap_or(u32::MAX),
        };
        largest(trial, 1, u64::from(least), lowered)
    })
}

/// Of the changes to figures from `least` up to below `now`, that to the largest which places the pods, if `least` does.
pub(super) fn largest(
    trial: &mut Trial<'_>,
    least: u64,
    now: u64,
    change: impl Fn(u64) -> Change,
) -> Option<Change> {
    if least >= now {
        return None;
    }
    trial.places(&change(least))?;
    let (mut fits, mut fits_not) = (least, now);
    while fits_not - fits > 1 && trial.plans_left > 0 {
        let middle = fits.midpoint(fits_not);
        if trial.places(&change(middle)).is_some() {
            fits = middle;
        } else {
            fits_not = middle;
        }
    }
    Some(change(fits))
}

/// A request may be lowered by at most an eighth: beyond that it would be another pod.
const LARGEST_CUT: u64 = 8;
/// A DaemonSet's by at most a half.
const LARGEST_DAEMON_CUT: u64 = 2;
/// So many DaemonSets are tried, those that ask for most first.
const MOST_DAEMON_SETS: usize = 2;
/// What is lowered, and in which steps: hundredths of a core, MiB.
const STEPS: [(ResourceName, u64); 2] = [(ResourceName::Cpu, 10), (ResourceName::Memory, 1 << 20)];

/// Something smaller beside which, or as which, the pod fits: its own request, headroom, or a DaemonSet's request.
pub(super) fn smaller(trial: &mut Trial<'_>) -> Option<Change> {
    if !trial.is_refused_by(&[Constraint::Resources, Constraint::Overhead, Constraint::Policy]) {
        return None;
    }
    lower_request(trial)
        .or_else(|| lower_headroom(trial))
        .or_else(|| lower_daemon_request(trial))
}

/// The largest request of one resource, not much below the present one, that finds a place.
fn lower_request(trial: &mut Trial<'_>) -> Option<Change> {
    let [spec] = trial.group.specs.as_slice() else {
        return None;
    };
    let requests = &spec.requests;
    STEPS.into_iter().find_map(|(resource, step)| {
        let asked = requests.get(&resource).get();
        let least = (asked - asked / LARGEST_CUT).div_ceil(step);
        largest(trial, least, asked.div_ceil(step), |steps| Change::LowerRequest {
            resource: resource.clone(),
            to: Amount::new(steps * step),
        })
    })
}

/// The most headroom of one resource beside which it finds a place.
fn lower_headroom(trial: &mut Trial<'_>) -> Option<Change> {
    let tight = [Constraint::Resources, Constraint::Overhead, Constraint::Policy];
    let pools: Vec<NodePoolName> = (trial.pools(&tight).into_iter())
        .map(|pool| pool.name.clone())
        .collect();
    pools.into_iter().find_map(|pool| {
        let headroom = trial.residual.placement.headroom.get(&pool)?;
        STEPS.into_iter().find_map(|(resource, step)| {
            let now = headroom.get(&resource).get().div_ceil(step);
            largest(trial, 0, now, |steps| Change::LowerHeadroom {
                pool: pool.clone(),
                resource: resource.clone(),
                to: Amount::new(steps * step),
            })
        })
    })
}

/// The largest request of a DaemonSet, not much below the present one, beside which it finds a place.
fn lower_daemon_request(trial: &mut Trial<'_>) -> Option<Change> {
    if !trial.is_refused_by(&[Constraint::Overhead]) {
        return None;
    }
    STEPS.into_iter().find_map(|(resource, step)| {
        let daemon_sets = trial.residual.daemon_sets.iter();
        let asking = daemon_sets.map(|one| (one.spec.requests.get(&resource).get(), &one.name));
        let mut asking: Vec<(u64, &PodName)> = asking.filter(|(asked, _)| *asked > step).collect();
        asking.sort_by_key(|(asked, _)| std::cmp::Reverse(*asked));
        asking
            .into_iter()
            .take(MOST_DAEMON_SETS)
            .find_map(|(asked, name)| {
                let least = (asked - asked / LARGEST_DAEMON_CUT).div_ceil(step);
                largest(trial, least, asked.div_ceil(step), |steps| {
                    Change::LowerDaemonRequest {
                        daemon_set: name.clone(),
                        resource: resource.clone(),
                        to: Amount::new(steps * step),
                    }
                })
            })
    })
}
