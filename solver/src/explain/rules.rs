//! Which rule of a pod about others, ports or volumes might be relaxed, the mildest way first.

use std::collections::BTreeSet;

use super::Trial;
use super::change::Change;
use crate::model::explain::Constraint;
use crate::model::name::PodName;
use crate::model::pod::{Owner, PodPlace, PodSpec};
use crate::model::rules::{HostPort, PodTerm, TopologySpread};

/// So far above what it is a skew is raised: beyond that it would be another rule, and `ScheduleAnyway` says it better.
const LARGEST_RAISE: u32 = 8;
/// So many rules of others are tried.
const MOST_OTHERS: usize = 3;

/// How one kind of rule is relaxed.
type Relaxing = fn(&mut Trial<'_>, &PodSpec) -> Option<Change>;

/// The mildest change of a rule. What hides behind a lack of capacity may be such a rule as well.
pub(super) fn relaxed(trial: &mut Trial<'_>) -> Option<Change> {
    let specs: Vec<&PodSpec> = trial.group.specs.clone();
    if trial.is_gang() {
        let size = gang_size(trial);
        if let Some(change) = size.filter(|change| trial.places(change).is_some()) {
            return Some(change);
        }
    }
    specs.into_iter().find_map(|spec| {
        let by_reason: [(Constraint, Relaxing); 5] = [
            (Constraint::Volume, remedy),
            (Constraint::HostPort, other_port),
            (Constraint::TopologySpread, spread),
            (Constraint::Affinity, affinity),
            (Constraint::AntiAffinity, anti_affinity),
        ];
        by_reason.into_iter().find_map(|(constraint, change)| {
            let is_named = trial.is_refused_by(&[constraint, Constraint::Capacity]);
            if is_named { change(trial, spec) } else { None }
        })
    })
}

fn remedy(trial: &mut Trial<'_>, spec: &PodSpec) -> Option<Change> {
    let remedy = spec.rules.impossible.as_ref()?.remedy.as_ref()?;
    trial.first([Change::Remedy(remedy.what.clone())])
}

/// For each port the next one that nobody has.
fn other_port(trial: &mut Trial<'_>, spec: &PodSpec) -> Option<Change> {
    if spec.rules.host_ports.is_empty() {
        return None;
    }
    let parts = trial.residual;
    let others = parts.pods.iter().map(|pod| &pod.spec);
    let others = others.chain(parts.daemon_sets.iter().map(|daemon_set| &daemon_set.spec));
    let ports = others.flat_map(|other| &other.rules.host_ports);
    let taken: BTreeSet<u16> = ports
        .chain(&spec.rules.host_ports)
        .map(|port| port.number)
        .collect();
    let change = |port: &HostPort| {
        let to = (port.number..=u16::MAX).find(|number| !taken.contains(number))?;
        Some(Change::MovePort {
            port: port.clone(),
            to,
        })
    };
    trial.first(spec.rules.host_ports.iter().filter_map(change))
}

fn spread(trial: &mut Trial<'_>, spec: &PodSpec) -> Option<Change> {
    let hard: Vec<&TopologySpread> = spec.rules.spread.iter().filter(|spread| spread.is_hard).collect();
    let figures = hard
        .iter()
        .find_map(|spread| lower_min_domains(trial, spread).or_else(|| raise_skew(trial, spread)));
    figures.or_else(|| trial.first(hard.into_iter().cloned().map(Change::SoftenSpread)))
}

fn lower_min_domains(trial: &mut Trial<'_>, spread: &TopologySpread) -> Option<Change> {
    let now = spread.min_domains?;
    super::candidates::largest(trial, 1, u64::from(now), |to| Change::LowerMinDomains {
        spread: spread.clone(),
        to: u32::try_from(to).unwrap_or(u32::MAX),
    })
}

/// The smallest skew that will do: whether the largest does comes first, since mostly it's another rule if it doesn't.
fn raise_skew(trial: &mut Trial<'_>, spread: &TopologySpread) -> Option<Change> {
    let raised = |by: u32| Change::RaiseSkew {
        spread: spread.clone(),
        to: spread.max_skew.saturating_add(by),
    };
    trial.places(&raised(LARGEST_RAISE))?;
    let (mut fits_not, mut fits) = (0, LARGEST_RAISE);
    while fits - fits_not > 1 && trial.plans_left > 0 {
        let middle = fits_not.midpoint(fits);
        if trial.places(&raised(middle)).is_some() {
            fits = middle;
        } else {
            fits_not = middle;
        }
    }
    Some(raised(fits))
}

fn affinity(trial: &mut Trial<'_>, spec: &PodSpec) -> Option<Change> {
    trial.first(spec.rules.affinity.iter().cloned().map(Change::SoftenAffinity))
}

fn anti_affinity(trial: &mut Trial<'_>, spec: &PodSpec) -> Option<Change> {
    let own = spec.rules.anti_affinity.iter().cloned();
    let found = trial.first(own.map(Change::SoftenAntiAffinity));
    found.or_else(|| {
        let others = keeping_off(trial, spec);
        trial.first(others)
    })
}

/// Anti-affinity of pods that are there or come with every node, and that this pod is named by.
fn keeping_off(trial: &Trial<'_>, spec: &PodSpec) -> Vec<Change> {
    let namespaces: BTreeSet<&str> = (trial.group.pods.iter())
        .map(|(pod, _)| pod.namespace.as_str())
        .collect();
    let parts = trial.residual;
    let there = parts.pods.iter().map(|pod| (&pod.name, &pod.spec));
    let to_come = parts
        .daemon_sets
        .iter()
        .map(|daemon_set| (&daemon_set.name, &daemon_set.spec));
    let mut changes: Vec<Change> = Vec::new();
    let mut seen: BTreeSet<&PodTerm> = BTreeSet::new();
    for (name, other) in there.chain(to_come) {
        for term in &other.rules.anti_affinity {
            let mut all = namespaces.iter();
            let mut names_it = || all.any(|namespace| term.selector.matches(namespace, &spec.labels));
            if changes.len() < MOST_OTHERS && !seen.contains(term) && names_it() {
                changes.push(Change::SoftenOthers {
                    term: term.clone(),
                    of: workload(name, other.owner.as_ref()),
                });
            }
            seen.insert(term);
        }
    }
    changes
}

fn workload(name: &PodName, owner: Option<&Owner>) -> String {
    match owner {
        Some(owner) => format!("{} {}/{}", owner.kind, name.namespace, owner.name),
        None => format!("pod {name}"),
    }
}

/// As many as are there, where a gang waits for more.
fn gang_size(trial: &Trial<'_>) -> Option<Change> {
    let (first, spec) = *trial.group.pods.first()?;
    let gang = trial.group.specs[spec].rules.gang.as_ref()?;
    let running = trial.residual.pods.iter().filter(|pod| {
        let is_of_it = |other: &crate::model::rules::Gang| other.name == gang.name;
        matches!(pod.place, PodPlace::Bound(_))
            && pod.name.namespace == first.namespace
            && pod.spec.rules.gang.as_ref().is_some_and(is_of_it)
    });
    let there = u32::try_from(running.count() + trial.group.pods.len()).unwrap_or(u32::MAX);
    let sizes = trial
        .group
        .specs
        .iter()
        .filter_map(|spec| spec.rules.gang.as_ref()?.size);
    (sizes.max()? > there).then(|| Change::LowerGangSize {
        gang: gang.name.clone(),
        to: there,
    })
}
