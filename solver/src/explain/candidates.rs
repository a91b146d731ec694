//! Which single changes are worth trying, the mildest first. Each is only a guess until a plan has confirmed it.

use std::collections::BTreeMap;

use super::Trial;
use super::change::Change;
use crate::model::explain::{Constraint, Reason};
use crate::model::instance_type::{INSTANCE_TYPE_LABEL, InstanceType};
use crate::model::money::Price;
use crate::model::node_pool::NodePool;
use crate::model::offering::Offering;
use crate::model::pod::PodSpec;
use crate::model::requirement::ValueSet;
use crate::model::resources::{Amount, ResourceName};
use crate::model::snapshot::SnapshotParts;
use crate::model::taint::Taint;

/// Changes by their mildness: what a pool admits, then labels, then tolerations. A pod that asks for an extended
/// resource is meant for the nodes that have it, which taints mostly guard: there the toleration comes first.
pub(super) fn single_changes(parts: &SnapshotParts, pod: &PodSpec, reasons: &[Reason]) -> Vec<Change> {
    let pools: Vec<(&NodePool, Constraint)> = reasons
        .iter()
        .filter_map(|reason| {
            let name = reason.node_pool.as_ref()?;
            let pool = parts.node_pools.iter().find(|pool| pool.name == *name)?;
            Some((pool, reason.constraint))
        })
        .collect();
    let tolerable = pools
        .iter()
        .filter(|(_, constraint)| *constraint == Constraint::Taint);
    let mut tolerations: Vec<Change> = tolerable.filter_map(|(pool, _)| toleration(pool, pod)).collect();
    let mut changes = Vec::new();
    let is_extended = |(name, amount): (&ResourceName, Amount)| {
        matches!(name, ResourceName::Other(_)) && amount > Amount::ZERO
    };
    if pod.requests.iter().any(is_extended) {
        changes.append(&mut tolerations);
    }
    let widening = [
        Constraint::Requirement,
        Constraint::Zone,
        Constraint::Resources,
        Constraint::Overhead,
        Constraint::Capacity,
    ];
    for (pool, _) in pools
        .iter()
        .filter(|(_, constraint)| widening.contains(constraint))
    {
        changes.extend(one_more_value(parts, pool, pod));
    }
    let labelled = pools
        .iter()
        .filter(|(_, constraint)| *constraint == Constraint::Requirement);
    changes.extend(labelled.flat_map(|(pool, _)| missing_label(parts, pool, pod)));
    changes.append(&mut tolerations);
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

/// Offers that hold the pod and that one requirement of the pool alone excludes: the cheapest value by key.
fn one_more_value(parts: &SnapshotParts, pool: &NodePool, pod: &PodSpec) -> Vec<Change> {
    let Some(class) = parts.node_classes.get(&pool.node_class) else {
        return Vec::new();
    };
    let mut best: BTreeMap<&str, (Price, &str)> = BTreeMap::new();
    for instance_type in class
        .instance_types
        .iter()
        .filter(|kind| pod.requests.fits(&kind.allocatable))
    {
        for offering in instance_type
            .offerings
            .iter()
            .filter(|offering| offering.available)
        {
            let offer = Offer {
                pool,
                instance_type,
                offering,
            };
            let Some((key, value)) = offer.only_unmet().filter(|_| offer.admitted_by(pod)) else {
                continue;
            };
            let better = best.get(key).is_none_or(|(price, _)| offering.price < *price);
            if better {
                best.insert(key, (offering.price, value));
            }
        }
    }
    let mut changes: Vec<(Price, Change)> = best
        .into_iter()
        .map(|(key, (price, value))| {
            let change = Change::Admit {
                pool: pool.name.clone(),
                key: key.to_owned(),
                value: value.to_owned(),
            };
            (price, change)
        })
        .collect();
    changes.sort_by_key(|(price, _)| *price);
    changes.into_iter().map(|(_, change)| change).collect()
}

/// One way to launch a node of a pool.
struct Offer<'a> {
    pool: &'a NodePool,
    instance_type: &'a InstanceType,
    offering: &'a Offering,
}

impl<'a> Offer<'a> {
    fn label(&self, key: &str) -> Option<&'a str> {
        match key {
            INSTANCE_TYPE_LABEL => Some(self.instance_type.name.as_str()),
            _ if Offering::LABELS.contains(&key) => self.offering.label(key),
            _ => {
                let (own, template) = (&self.instance_type.labels, &self.pool.labels);
                own.get(key).or_else(|| template.get(key)).map(String::as_str)
            }
        }
    }

    /// The one requirement of the pool that this offer doesn't meet. A key without a label is open.
    fn only_unmet(&self) -> Option<(&'a str, &'a str)> {
        let mut unmet = self.pool.requirements.iter().filter_map(|(key, set)| {
            let value = self.label(key)?;
            (!set.admits(Some(value))).then_some((key, value))
        });
        let first = unmet.next()?;
        unmet.next().is_none().then_some(first)
    }

    /// Whether selector and affinity of the pod may be met, as far as labels are known.
    fn admitted_by(&self, pod: &PodSpec) -> bool {
        let meets = |key: &str, wanted: &ValueSet| match self.label(key) {
            Some(value) => wanted.admits(Some(value)),
            None => self
                .pool
                .requirements
                .get(key)
                .map_or_else(|| wanted.admits(None), |open| !open.intersect(wanted).is_empty()),
        };
        let selector = pod.selector_requirements();
        selector.iter().all(|(key, wanted)| meets(key, wanted))
            && pod.node_affinity.as_ref().is_none_or(|terms| {
                terms.0.iter().any(|term| {
                    term.node_name.is_none()
                        && term.expressions.iter().all(|(key, wanted)| meets(key, wanted))
                })
            })
    }
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

/// A request may be lowered by at most an eighth: beyond that it would be another pod.
const LARGEST_CUT: u64 = 8;

/// The largest request of one resource, not much below the present one, that finds a place.
pub(super) fn lower_request(trial: &mut Trial<'_>) -> Option<Change> {
    let too_large =
        |reason: &Reason| matches!(reason.constraint, Constraint::Resources | Constraint::Overhead);
    if !trial.group.reasons.iter().any(too_large) {
        return None;
    }
    for (resource, step) in [(ResourceName::Cpu, 10), (ResourceName::Memory, 1 << 20)] {
        let asked = trial.group.spec.requests.get(&resource).get();
        let least = (asked - asked / LARGEST_CUT).div_ceil(step);
        let lowered = |steps: u64| Change::LowerRequest {
            resource: resource.clone(),
            to: Amount::new(steps * step),
        };
        if asked == 0 || trial.places(&lowered(least)).is_none() {
            continue;
        }
        let (mut fits, mut fits_not) = (least, asked.div_ceil(step));
        while fits_not - fits > 1 && trial.plans_left > 0 {
            let middle = fits.midpoint(fits_not);
            if trial.places(&lowered(middle)).is_some() {
                fits = middle;
            } else {
                fits_not = middle;
            }
        }
        return Some(lowered(fits));
    }
    None
}
