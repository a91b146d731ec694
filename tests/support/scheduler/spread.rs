//! PodTopologySpread: hard constraints.

use std::collections::{BTreeMap, BTreeSet};

use super::rules::{Spread, matches};
use super::{Kind, Place, Scheduler};
use crate::support::pods::Pod;
use crate::support::selection::{admits, untolerated};

/// Whether a constraint of one pod counts another. A selector without expressions counts nobody: the scheduler's own rule.
pub(super) fn counts(spread: &Spread, of: &Pod, other: &Pod) -> bool {
    let says_something = spread
        .selector
        .as_ref()
        .is_some_and(|selector| !selector.is_empty());
    says_something && of.namespace == other.namespace && matches(&spread.selector, &other.labels)
}

impl Scheduler<'_> {
    /// Why no constraint of the kind lets it onto the place.
    pub(super) fn spread_refusal(&self, kind: usize, place: usize) -> Option<String> {
        let wanted = &self.kinds[kind];
        wanted.rules.spreads.iter().enumerate().find_map(|(index, spread)| {
            let Some(domain) = self.places[place].labels.get(&spread.key) else {
                return Some(format!("PodTopologySpread: the node has no {}", spread.key));
            };
            let found = self.domains(kind, index);
            let least = if (found.len() as u64) < spread.min_domains {
                0
            } else {
                found.values().min().copied().unwrap_or(i64::from(i32::MAX))
            };
            let itself = i64::from(matches(&spread.selector, &wanted.pod.labels));
            let here = found.get(domain.as_str()).copied().unwrap_or_default();
            (here + itself - least > spread.max_skew).then(|| {
                format!(
                    "PodTopologySpread: {}={domain} would have {} over a least of {least}, skew {} in {found:?}",
                    spread.key,
                    here + itself,
                    spread.max_skew
                )
            })
        })
    }

    /// Pods counted in each domain of a constraint.
    fn domains(&self, kind: usize, index: usize) -> BTreeMap<&str, i64> {
        let wanted = &self.kinds[kind];
        let spread = &wanted.rules.spreads[index];
        let mut known = self.eligible.borrow_mut();
        let eligible = known.entry((kind, index)).or_insert_with(|| {
            self.places
                .iter()
                .map(|place| is_eligible(wanted, index, place))
                .collect()
        });
        let mut found = BTreeMap::new();
        for (place, _) in self.places.iter().zip(eligible).filter(|(_, counts)| **counts) {
            let counted = place
                .kinds
                .iter()
                .filter(|(other, _)| wanted.counts[**other][index]);
            let count: i64 = counted.map(|(_, count)| count).sum();
            *found.entry(place.labels[&spread.key].as_str()).or_default() += count;
        }
        found
    }

    /// Final counts against the domains that there are *and* those that could be launched: staying out of a dearer zone
    /// doesn't meet a spread. Judged for pods that count themselves, where whoever is planned and counted has the
    /// constraint too. `launchable` gives the values of a key that a new node for the pod could have that has all the keys
    /// it spreads over.
    pub(super) fn left_out(
        &self,
        planned: &BTreeSet<(usize, usize)>,
        launchable: impl Fn(&Pod, &str, &BTreeSet<&str>) -> BTreeSet<String>,
    ) -> Vec<String> {
        let mut findings = Vec::new();
        let kinds: BTreeSet<usize> = planned.iter().map(|(kind, _)| *kind).collect();
        for kind in &kinds {
            let wanted = &self.kinds[*kind];
            for (index, spread) in wanted.rules.spreads.iter().enumerate() {
                let alike = |other: &usize| {
                    !wanted.counts[*other][index]
                        || self.kinds[*other]
                            .rules
                            .spreads
                            .iter()
                            .any(|theirs| theirs.key == spread.key && theirs.selector == spread.selector)
                };
                let own = counts(spread, &wanted.pod, &wanted.pod);
                if spread.key == "kubernetes.io/hostname" || !own || !kinds.iter().all(alike) {
                    continue;
                }
                let mut found = self.domains(*kind, index);
                let keys = (wanted.rules.spreads.iter())
                    .map(|spread| spread.key.as_str())
                    .filter(|key| *key != "kubernetes.io/hostname");
                let possible = launchable(&wanted.pod, &spread.key, &keys.collect());
                for domain in &possible {
                    found.entry(domain).or_default();
                }
                let least = if (found.len() as u64) < spread.min_domains {
                    0
                } else {
                    found.values().min().copied().unwrap_or(0)
                };
                let has_planned = |domain: &str| {
                    planned.iter().any(|(planned, place)| {
                        let labels = &self.places[*place].labels;
                        planned == kind && labels.get(&spread.key).is_some_and(|value| value == domain)
                    })
                };
                for (domain, count) in &found {
                    if count - least > spread.max_skew && has_planned(domain) {
                        findings.push(format!(
                            "spread over {}: {domain} has {count}, {least} is the least of {found:?}",
                            spread.key
                        ));
                    }
                }
            }
        }
        findings
    }
}

/// Whether a node's domain and pods count for a constraint: the node must have every key that the pod spreads over, and
/// meet the constraint's policies.
fn is_eligible(wanted: &Kind, index: usize, place: &Place) -> bool {
    let (spec, spread) = (&wanted.pod.spec, &wanted.rules.spreads[index]);
    let has_keys = wanted
        .rules
        .spreads
        .iter()
        .all(|one| place.labels.contains_key(&one.key));
    has_keys
        && (!spread.honours_affinity || admits(spec, &place.labels, Some(&place.name)).is_ok())
        && (!spread.honours_taints || untolerated(spec, &place.taints, false).is_none())
}
