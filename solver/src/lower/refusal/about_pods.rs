//! Why rules about other pods, domains, ports and volumes leave a node pool without a place.
//!
//! What narrows a pod's places from the start is told with what it leaves; what only stands in the way of one pod more, once
//! others are placed, by the rule alone.

use std::collections::BTreeSet;

use crate::lower::company::Company;
use crate::lower::group::Profile;
use crate::lower::rules::{host_ports, taints};
use crate::model::explain::Constraint;
use crate::model::instance_type::HOSTNAME_LABEL;
use crate::model::node_pool::NodePool;
use crate::model::pod::{Pod, PodSpec};
use crate::model::requirement::{Requirements, ValueSet};
use crate::model::rules::{PodTerm, Volume};
use crate::model::snapshot::Snapshot;

use super::{Candidate, Prospect, admits, prospect, values, ways};

/// A constraint with its figures.
type Said = (Constraint, String);

/// The candidates that rules leave, or the rule that excludes the last of them.
pub(super) fn narrow<'a>(
    snapshot: &Snapshot,
    pool: &NodePool,
    mut candidates: Vec<Candidate<'a>>,
    spec: &PodSpec,
    profile: &Profile,
) -> Result<Vec<Candidate<'a>>, Said> {
    for volume in &spec.rules.volumes {
        let first = candidates.first().copied();
        candidates.retain(|candidate| is_in_reach(pool, *candidate, volume));
        if candidates.is_empty() {
            return Err((Constraint::Volume, away(pool, first, volume)));
        }
    }
    for (key, set) in profile.narrowing.requirements.iter() {
        let first = candidates.first().copied();
        candidates.retain(|candidate| prospect(pool, *candidate, key).meets(set));
        if let Some(first) = first.filter(|_| candidates.is_empty()) {
            return Err(barred(spec, key, set, &prospect(pool, first, key)));
        }
    }
    for (key, company) in &profile.narrowing.company {
        candidates.retain(|candidate| has_company(snapshot, pool, *candidate, (key, company)));
        if candidates.is_empty() {
            let names = company
                .daemon_sets
                .iter()
                .map(|at| snapshot.daemon_sets[*at].name.to_string());
            let names: Vec<String> = names.collect();
            let detail = format!(
                "{key}: the pods that it has to be near aren't on the pool's nodes, nor is DaemonSet {}",
                names.join(" or ")
            );
            return Err((Constraint::Affinity, detail));
        }
    }
    for at in &profile.narrowing.without_daemons {
        let daemon_set = &snapshot.daemon_sets[*at];
        if taints::refused_by(pool, &daemon_set.spec).is_some() {
            continue;
        }
        let its_ways = ways(&daemon_set.spec);
        candidates.retain(|candidate| !admits(pool, *candidate, &its_ways, false));
        if candidates.is_empty() {
            let everywhere = format!("DaemonSet {} is on every node of the pool", daemon_set.name);
            return Err(match host_ports::clash(spec, daemon_set) {
                Some(port) => {
                    let detail = format!("port {} is taken: {everywhere}", port.number);
                    (Constraint::HostPort, detail)
                }
                None => (Constraint::AntiAffinity, everywhere),
            });
        }
    }
    Ok(candidates)
}

/// Whether a DaemonSet brings what a pod has to be near, or its domain has that.
fn has_company(
    snapshot: &Snapshot,
    pool: &NodePool,
    candidate: Candidate<'_>,
    (key, company): (&str, &Company),
) -> bool {
    let comes = |at: &usize| {
        let spec = &snapshot.daemon_sets[*at].spec;
        taints::refused_by(pool, spec).is_none() && admits(pool, candidate, &ways(spec), false)
    };
    let there = ValueSet::one_of(company.values.clone());
    prospect(pool, candidate, key).meets(&there) || company.daemon_sets.iter().any(comes)
}

fn is_in_reach(pool: &NodePool, candidate: Candidate<'_>, volume: &Volume) -> bool {
    let meets =
        |wanted: &Requirements| (wanted.iter()).all(|(key, set)| prospect(pool, candidate, key).meets(set));
    let mut terms = volume.reach.0.iter();
    terms.any(|term| term.node_name.is_none() && !term.is_empty() && meets(&term.expressions))
}

/// Where a volume is, and what the pool has there.
fn away(pool: &NodePool, first: Option<Candidate<'_>>, volume: &Volume) -> String {
    let expressions = volume.reach.0.iter().flat_map(|term| term.expressions.iter());
    let told = expressions.map(|(key, set)| {
        let has = first.and_then(|first| prospect(pool, first, key).said());
        let has = has.unwrap_or_else(|| "no such label".to_owned());
        format!("{key} {}, and the pool's first choice has {has}", values(set))
    });
    let told: Vec<String> = told.collect();
    format!("a volume is only within reach of {}", told.join("; or "))
}

/// The rule that requires a value of a key which no node of the pool has.
fn barred(spec: &PodSpec, key: &str, set: &ValueSet, has: &Prospect<'_>) -> Said {
    let rules = &spec.rules;
    let is_near = rules.affinity.iter().any(|term| term.topology_key == key);
    let is_hostname = key == HOSTNAME_LABEL;
    if let Some(where_they_are) = set.finite().filter(|_| is_near || is_hostname) {
        let detail = if where_they_are.is_empty() {
            "no pod that it has to be near is there or comes before it".to_owned()
        } else {
            format!("{key}: the pods that it has to be near are in {}", values(set))
        };
        return (Constraint::Affinity, detail);
    }
    let Some(has) = has.said() else {
        let constraint = if is_near {
            Constraint::Affinity
        } else {
            Constraint::TopologySpread
        };
        return (
            constraint,
            format!("{key}: the pool's nodes don't have that label"),
        );
    };
    let detail = format!("{key}: {has} has pods that it must not be with");
    (Constraint::AntiAffinity, detail)
}

/// The rule that stands in the way of one pod more, where a node could be launched for it.
pub(super) fn left_over(spec: &PodSpec) -> Option<Said> {
    let rules = &spec.rules;
    let mut apart = rules.anti_affinity.iter();
    if let Some(term) = apart.find(|term| term.topology_key != HOSTNAME_LABEL) {
        let detail = format!("{}: every value that it could have is taken", term.topology_key);
        return Some((Constraint::AntiAffinity, detail));
    }
    if let Some(term) = rules.affinity.first() {
        let detail = format!(
            "{}: no room where the pods are that it has to be near",
            term.topology_key
        );
        return Some((Constraint::Affinity, detail));
    }
    let spread = rules.spread.iter().find(|spread| spread.is_hard)?;
    let (key, skew) = (&spread.topology_key, spread.max_skew);
    let detail =
        format!("{key}: one more would be over {skew} above the value with the fewest, which takes none");
    Some((Constraint::TopologySpread, detail))
}

/// Required anti-affinity of pods that need a place, over domains of many nodes.
pub(super) fn terms(snapshot: &Snapshot) -> BTreeSet<&PodTerm> {
    let pods = snapshot.pods.iter().filter(|pod| snapshot.needs_place(pod));
    pods.flat_map(|pod| &pod.spec.rules.anti_affinity)
        .filter(|term| term.topology_key != HOSTNAME_LABEL)
        .collect()
}

/// The term of others, placed before it, that stands in the way of a pod.
pub(super) fn kept_off(terms: &BTreeSet<&PodTerm>, pod: &Pod) -> Option<Said> {
    let mut terms = terms.iter();
    let matched = |term: &&&PodTerm| term.selector.matches(&pod.name.namespace, &pod.spec.labels);
    let key = &terms.find(matched)?.topology_key;
    let detail = format!("{key}: every value that it could have has pods that keep it off");
    Some((Constraint::AntiAffinity, detail))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::lower::lower;
    use crate::lower::refusal::PoolRefusals;
    use crate::model::explain::Constraint;
    use crate::model::instance_type::ZONE_LABEL;
    use crate::model::pod::PodSpec;
    use crate::model::resources::{Amount, ResourceName};
    use crate::model::rules::Impossible;
    use crate::testing::build::{Cluster, daemon_owner, in_zone, machine};
    use crate::testing::rules::{affinity, anti_affinity, app, host_port, spread, volume};

    /// The reason that the pool gives for one pod, with a pod of `web` in zone-a, and a DaemonSet with port 80.
    fn said(edit: impl Fn(&mut PodSpec)) -> (Constraint, String) {
        let snapshot = Cluster::new()
            .instance_type(machine("m", "8", "32Gi", "1"))
            .pool("default")
            .node("n1", "default", "m", "zone-a")
            .bound_with("old", "n1", "1", "1Gi", |spec| app(spec, "web"))
            .daemon_set_with("proxy", "0", "0", |spec| {
                spec.owner = Some(daemon_owner("proxy"));
                host_port(spec, 80);
            })
            .pods_with("p", 1, "1", "1Gi", edit)
            .freeze();
        let problem = lower(&snapshot);
        let pod = &snapshot.pods[problem.groups[0].pods[0]];
        let profile = &problem.profiles[problem.groups[0].profile];
        let reason = PoolRefusals::new(&snapshot, &snapshot.node_pools[0], &[], &BTreeMap::new(), &[])
            .reason(pod, profile);
        (reason.constraint, reason.detail)
    }

    #[track_caller]
    fn says(edit: impl Fn(&mut PodSpec), constraint: Constraint, word: &str) {
        let (found, detail) = said(edit);
        assert_eq!(found, constraint, "{detail}");
        assert!(detail.contains(word), "{detail}");
    }

    #[test]
    fn each_rule_gives_its_own_reason() {
        says(
            |spec| volume(spec, "data", "zone-z"),
            Constraint::Volume,
            "zone-z",
        );
        says(
            |spec| affinity(spec, ZONE_LABEL, "db"),
            Constraint::Affinity,
            "no pod",
        );
        let away = |spec: &mut PodSpec| {
            spec.node_selector = in_zone("zone-b");
            affinity(spec, ZONE_LABEL, "web");
        };
        says(away, Constraint::Affinity, "zone-a");
        let beside = |spec: &mut PodSpec| {
            spec.node_selector = in_zone("zone-a");
            anti_affinity(spec, ZONE_LABEL, "web");
        };
        says(beside, Constraint::AntiAffinity, "zone-a");
        let port = |spec: &mut PodSpec| {
            host_port(spec, 80);
        };
        says(port, Constraint::HostPort, "kube-system/proxy");
        says(port, Constraint::HostPort, "port 80 is");
        let unknown_key = |spec: &mut PodSpec| {
            spread(spec, "example.com/rack", 1, "web");
        };
        says(unknown_key, Constraint::TopologySpread, "example.com/rack");
        let uneven = |spec: &mut PodSpec| {
            spread(spec, ZONE_LABEL, 1, "web");
        };
        says(uneven, Constraint::TopologySpread, ZONE_LABEL);
        let impossible = |spec: &mut PodSpec| {
            spec.rules.impossible = Some(Impossible {
                constraint: Constraint::Volume,
                detail: "claim data isn't there".to_owned(),
                remedy: None,
            });
        };
        says(impossible, Constraint::Volume, "claim data");
        let attached = |spec: &mut PodSpec| {
            let name = ResourceName::from("attachable-volumes-csi-ebs.csi.aws.com");
            spec.requests.set(name, Amount::new(1));
        };
        says(attached, Constraint::Volume, "attachable-volumes");
    }

    #[test]
    fn a_pod_that_others_keep_off_is_told_by_their_rule() {
        let snapshot = Cluster::new()
            .instance_type(machine("m", "8", "32Gi", "1"))
            .pool("default")
            .pods_with("alone", 2, "1", "1Gi", |spec| {
                anti_affinity(spec, ZONE_LABEL, "web");
            })
            .pods_with("web", 1, "1", "1Gi", |spec| app(spec, "web"))
            .freeze();
        let problem = lower(&snapshot);
        let web = snapshot
            .pods
            .iter()
            .position(|pod| pod.name.name == "web-0")
            .unwrap();
        let group = problem
            .groups
            .iter()
            .find(|group| group.pods.contains(&web))
            .unwrap();
        let nothing = BTreeMap::new();
        let refusals = PoolRefusals::new(&snapshot, &snapshot.node_pools[0], &[], &nothing, &[]);
        let reason = refusals.reason(&snapshot.pods[web], &problem.profiles[group.profile]);
        assert_eq!(reason.constraint, Constraint::AntiAffinity, "{}", reason.detail);
        assert!(reason.detail.contains(ZONE_LABEL), "{}", reason.detail);
    }
}
