//! Why a node pool can't take a pod: the step that excludes the last of its nodes to come, with the figures.
//!
//! The steps, in order: the pool itself, taints, requirements (the zone apart), resources, DaemonSets, offerings,
//! limits. Works from the snapshot, since the problem no longer holds what was excluded.

use crate::model::explain::{Constraint, Reason};
use crate::model::instance_type::{HOSTNAME_LABEL, InstanceType, ZONE_LABEL};
use crate::model::node_pool::NodePool;
use crate::model::offering::Offering;
use crate::model::pod::PodSpec;
use crate::model::requirement::{Labels, Requirements, ValueSet};
use crate::model::resources::{Amount, ResourceName, Resources};
use crate::model::snapshot::Snapshot;

use super::rules::limits::Allowance;
use super::rules::{offerings, requirements, taints};
use super::universe::open_keys;

/// A node that the pool would launch if it could be bought.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    instance_type: &'a InstanceType,
    offering: &'a Offering,
}

/// The constraint by which a node pool can't take one more pod of these, what is launched already counted.
///
/// `spent` is what the plan's own launches take from the pool's allowance, counter by counter.
#[must_use]
pub fn refusal(snapshot: &Snapshot, pool: &NodePool, spec: &PodSpec, spent: &[u64]) -> Reason {
    let (constraint, detail) = decisive(snapshot, pool, spec, spent);
    Reason {
        node_pool: Some(pool.name.clone()),
        node: None,
        constraint,
        detail,
    }
}

fn decisive(snapshot: &Snapshot, pool: &NodePool, spec: &PodSpec, spent: &[u64]) -> (Constraint, String) {
    if let Some(replicas) = pool.replicas {
        let detail = format!("the pool is static (replicas {replicas}) and never launches for pods");
        return (Constraint::NodePool, detail);
    }
    if let Some(taint) = taints::refused_by(pool, spec) {
        return (Constraint::Taint, format!("{taint} isn't tolerated"));
    }
    let all = candidates(snapshot, pool);
    if all.is_empty() {
        let detail = "no instance type meets the pool's own requirements".to_owned();
        return (Constraint::Requirement, detail);
    }
    let admitted: Vec<Candidate<'_>> = all
        .iter()
        .copied()
        .filter(|candidate| admits(pool, *candidate, spec, false))
        .collect();
    if admitted.is_empty() {
        return unmet(pool, &all, spec);
    }
    let fitting: Vec<Candidate<'_>> = admitted
        .iter()
        .copied()
        .filter(|candidate| {
            let needed = with_overhead(snapshot, pool, *candidate, spec);
            needed.fits(&candidate.instance_type.allocatable)
        })
        .collect();
    if fitting.is_empty() {
        return too_large(snapshot, pool, &admitted, spec);
    }
    let buyable: Vec<Candidate<'_>> = fitting
        .into_iter()
        .filter(|candidate| offerings::is_buyable(candidate.offering))
        .collect();
    let Some(smallest) = buyable.first() else {
        let detail = "no offering of a type that fits can be launched now".to_owned();
        return (Constraint::Capacity, detail);
    };
    limited(snapshot, pool, &buyable, spent).unwrap_or_else(|| {
        let detail = format!("no {} is left to launch", smallest.instance_type.name);
        (Constraint::Capacity, detail)
    })
}

/// All types and offerings that the pool's own requirements admit, bought or not.
fn candidates<'a>(snapshot: &'a Snapshot, pool: &'a NodePool) -> Vec<Candidate<'a>> {
    let class = snapshot.node_class(pool);
    let typed_keys = requirements::typed_keys(class);
    class
        .instance_types
        .iter()
        .filter(|instance_type| open_keys(pool, instance_type, &typed_keys).is_some())
        .flat_map(|instance_type| {
            let offerings = instance_type.offerings.iter();
            offerings.map(move |offering| Candidate {
                instance_type,
                offering,
            })
        })
        .filter(|candidate| requirements::pool_admits_offering(pool, candidate.offering))
        .collect()
}

/// What a pool and a type admit of each key of a node to come.
fn admitted_of(pool: &NodePool, candidate: Candidate<'_>, key: &str) -> ValueSet {
    let labels: Labels = candidate.instance_type.labels_with(candidate.offering);
    if key == HOSTNAME_LABEL {
        return ValueSet::exactly(requirements::NEW_HOSTNAME);
    }
    if let Some(value) = labels.get(key).or_else(|| pool.labels.get(key)) {
        return ValueSet::exactly(value.clone());
    }
    let choice = candidate.instance_type.choices.get(key);
    let required = pool.requirements.get(key);
    match (choice, required) {
        (Some(choice), Some(required)) => choice.intersect(required),
        (Some(choice), None) => choice.clone(),
        (None, Some(required)) => required.clone(),
        _ => ValueSet::absence(),
    }
}

/// Whether some choice of open labels makes the node admissible; `any_zone` leaves the zone out of account.
fn admits(pool: &NodePool, candidate: Candidate<'_>, spec: &PodSpec, any_zone: bool) -> bool {
    let meets = |requirements: &Requirements| {
        requirements.iter().all(|(key, set)| {
            any_zone && key == ZONE_LABEL || !admitted_of(pool, candidate, key).intersect(set).is_empty()
        })
    };
    let selector = spec.selector_requirements();
    match &spec.node_affinity {
        None => meets(&selector),
        Some(terms) => terms.0.iter().any(|term| {
            let mut both = selector.clone();
            both.add_all(&term.expressions);
            term.node_name.is_none() && !term.is_empty() && meets(&both)
        }),
    }
}

fn unmet(pool: &NodePool, all: &[Candidate<'_>], spec: &PodSpec) -> (Constraint, String) {
    if all.iter().any(|candidate| admits(pool, *candidate, spec, true)) {
        let zones: std::collections::BTreeSet<&str> = all
            .iter()
            .map(|candidate| candidate.offering.zone.as_str())
            .collect();
        let zones: Vec<&str> = zones.into_iter().collect();
        let wanted = wanted(spec, ZONE_LABEL);
        let detail = format!(
            "the pod needs zone {wanted}, the pool launches in {}",
            zones.join(", ")
        );
        return (Constraint::Zone, detail);
    }
    let keys = spec.selector_requirements();
    let terms = spec.node_affinity.iter().flat_map(|terms| &terms.0);
    let mut required: Vec<(&str, &ValueSet)> = keys.iter().collect();
    required.extend(terms.flat_map(|term| term.expressions.iter()));
    let alone = required.iter().find(|(key, set)| {
        all.iter()
            .all(|candidate| admitted_of(pool, *candidate, key).intersect(set).is_empty())
    });
    let detail = match alone {
        Some((key, set)) => {
            let offered = admitted_of(pool, all[0], key);
            let needs = values(set);
            if offered.admits_some_value() {
                format!(
                    "{key}: the pod needs {needs}, the pool's nodes have {}",
                    values(&offered)
                )
            } else {
                format!("{key}: the pod needs {needs}, the pool's nodes don't have that label")
            }
        }
        None => "no instance type meets all that the pod requires together".to_owned(),
    };
    (Constraint::Requirement, detail)
}

fn wanted(spec: &PodSpec, key: &str) -> String {
    let selector = spec.selector_requirements();
    let terms = spec.node_affinity.iter().flat_map(|terms| &terms.0);
    let sets = terms.filter_map(|term| term.expressions.get(key));
    let all: Vec<String> = selector.get(key).into_iter().chain(sets).map(values).collect();
    all.join(" or ")
}

/// A set as part of a sentence: a short list of values without the operator that gave them.
fn values(set: &ValueSet) -> String {
    const SHOWN: usize = 5;
    match set.finite() {
        Some(values) if (1..=SHOWN).contains(&values.len()) => {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            values.join(" or ")
        }
        _ => set.to_string(),
    }
}

/// DaemonSets that come with a node, given the labels that are certain there.
fn overhead(snapshot: &Snapshot, pool: &NodePool, candidate: Candidate<'_>) -> Resources {
    let mut sum = Resources::new();
    for daemon_set in &snapshot.daemon_sets {
        if taints::refused_by(pool, &daemon_set.spec).is_none()
            && admits(pool, candidate, &daemon_set.spec, false)
        {
            sum.add_all(&daemon_set.spec.requests);
        }
    }
    sum
}

fn with_overhead(
    snapshot: &Snapshot,
    pool: &NodePool,
    candidate: Candidate<'_>,
    spec: &PodSpec,
) -> Resources {
    let mut needed = overhead(snapshot, pool, candidate);
    needed.add_all(&spec.requests);
    needed
}

/// The type that comes nearest lacks some resource: names it with the figures.
fn too_large(
    snapshot: &Snapshot,
    pool: &NodePool,
    admitted: &[Candidate<'_>],
    spec: &PodSpec,
) -> (Constraint, String) {
    let lacking = |candidate: &Candidate<'_>| {
        let needed = with_overhead(snapshot, pool, *candidate, spec);
        let lacking: Vec<ResourceName> = needed
            .iter()
            .filter(|(name, amount)| *amount > candidate.instance_type.allocatable.get(name))
            .map(|(name, _)| name.clone())
            .collect();
        lacking
    };
    let nearest = admitted
        .iter()
        .min_by_key(|candidate| {
            let lacking = lacking(candidate);
            let most = lacking
                .first()
                .map_or(Amount::ZERO, |name| candidate.instance_type.allocatable.get(name));
            (lacking.len(), std::cmp::Reverse(most))
        })
        .copied();
    let Some(nearest) = nearest else {
        return (Constraint::Resources, "no instance type is admitted".to_owned());
    };
    let Some(name) = lacking(&nearest).into_iter().next() else {
        return (Constraint::Resources, "no instance type has the room".to_owned());
    };
    let text = |amount: Amount| written(&name, amount);
    let asked = spec.requests.get(&name);
    let taken = overhead(snapshot, pool, nearest).get(&name);
    let largest = nearest.instance_type.allocatable.get(&name);
    let which = &nearest.instance_type.name;
    if taken > Amount::ZERO {
        let sum = text(asked.plus(taken));
        let detail = format!(
            "{name}: needs {sum} ({} and {} for DaemonSets), the largest allowed type {which} has {}",
            text(asked),
            text(taken),
            text(largest),
        );
        let constraint = if asked > largest {
            Constraint::Resources
        } else {
            Constraint::Overhead
        };
        return (constraint, detail);
    }
    let detail = if largest == Amount::ZERO {
        format!("{name}: needs {}, no allowed type has any", text(asked))
    } else {
        format!(
            "{name}: needs {}, the largest allowed type {which} has {}",
            text(asked),
            text(largest)
        )
    };
    (Constraint::Resources, detail)
}

/// CPU in cores from one on, so that large figures stay readable; quantities write them in thousandths.
fn written(name: &ResourceName, amount: Amount) -> String {
    match name {
        ResourceName::Cpu if amount.get() > 1_000 => {
            let (cores, thousandths) = (amount.get() / 1_000, amount.get() % 1_000);
            let fraction = format!("{thousandths:03}");
            match fraction.trim_end_matches('0') {
                "" => cores.to_string(),
                digits => format!("{cores}.{digits}"),
            }
        }
        _ => amount.display(name.unit()).to_string(),
    }
}

/// The limit that stops even the smallest node that would do.
fn limited(
    snapshot: &Snapshot,
    pool: &NodePool,
    buyable: &[Candidate<'_>],
    spent: &[u64],
) -> Option<(Constraint, String)> {
    let allowance = Allowance::of(snapshot, pool);
    let left: Vec<u64> = allowance
        .left
        .iter()
        .enumerate()
        .map(|(counter, left)| left.saturating_sub(spent.get(counter).copied().unwrap_or(0)))
        .collect();
    let usages: Vec<Vec<u64>> = buyable
        .iter()
        .map(|candidate| allowance.usage(candidate.instance_type))
        .collect();
    let smallest = |counter: usize| usages.iter().map(|usage| usage[counter]).min().unwrap_or(0);
    let counter = (0..left.len()).find(|counter| smallest(*counter) > left[*counter])?;
    let detail = match allowance.resource(counter) {
        Some(name) => {
            let text = |amount: u64| Amount::new(amount).display(name.unit()).to_string();
            let limit = pool.limits.resources.get(name);
            format!(
                "{name}: needs {}, {} left of {}",
                text(smallest(counter)),
                text(left[counter]),
                text(limit.get())
            )
        }
        None => {
            let limit = pool.limits.nodes.unwrap_or(0);
            format!("nodes: needs 1, {} left of {limit}", left[counter])
        }
    };
    Some((Constraint::Limit, detail))
}
