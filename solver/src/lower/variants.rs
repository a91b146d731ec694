//! Variants: values for the labels that a NodePool leaves open and somebody selects.
//!
//! A key is open when the NodePool admits several values of it (In with several values, Exists, NotIn, …) and
//! neither the instance type, the offering nor the template fixes one; or when the instance type itself has several
//! (`choices`). A launch takes one value for each. Only values that pods or DaemonSets tell apart are tried, and every
//! named value of a topology key in use; where the combinations are many, those that each profile needs are kept, so
//! that no group loses its chance.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::node::Node;
use crate::model::requirement::{Labels, Requirements, ValueSet};
use crate::model::rules::Volume;

use super::group::Profile;

/// Beyond this many combinations of values each profile gets those that it needs itself instead.
const MOST_COMBINATIONS: usize = 256;

/// What pods and DaemonSets require of each label key.
#[derive(Debug, Default)]
pub struct Interests {
    by_key: BTreeMap<String, BTreeSet<ValueSet>>,
    /// Keys of which every value is another place, with the values of nodes that exist.
    topology: BTreeMap<String, BTreeSet<String>>,
}

impl Interests {
    /// Of these profiles.
    #[must_use]
    pub fn of<'a>(profiles: impl Iterator<Item = &'a Profile>) -> Self {
        let mut interests = Self::default();
        for profile in profiles {
            interests.add(&profile.selector);
            for term in profile.terms() {
                interests.add(&term.expressions);
            }
        }
        interests
    }

    /// These too.
    pub fn add(&mut self, requirements: &Requirements) {
        for (key, set) in requirements.iter() {
            match self.by_key.get_mut(key) {
                Some(sets) if sets.contains(set) => {}
                Some(sets) => {
                    sets.insert(set.clone());
                }
                None => {
                    self.by_key.insert(key.to_owned(), BTreeSet::from([set.clone()]));
                }
            }
        }
    }

    /// Every value of these topology keys is another place.
    pub fn tell_apart(&mut self, topology_keys: &BTreeSet<&str>, nodes: &[Node]) {
        for key in topology_keys {
            let values = nodes.iter().filter_map(|node| node.labels.get(*key)).cloned();
            self.topology.insert((*key).to_owned(), values.collect());
        }
    }

    /// Whether anybody requires anything of the key, or a topology has it.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.by_key.contains_key(key) || self.is_topology(key)
    }

    fn is_topology(&self, key: &str) -> bool {
        self.topology.contains_key(key)
    }

    fn of_key(&self, key: &str) -> impl Iterator<Item = &ValueSet> {
        self.by_key.get(key).into_iter().flatten()
    }
}

/// Whether a profile requires anything of a key.
#[must_use]
pub fn mentions(profile: &Profile, key: &str) -> bool {
    profile.selector.get(key).is_some() || profile.terms().any(|term| term.expressions.get(key).is_some())
}

/// The combinations of values worth trying for these open keys; a key that is missing in one is absent on the node.
///
/// `groups` are the profiles of pods; those of `daemons` count only for telling values apart. The flag says whether these
/// are all that could matter: where it is false, cheaper plans may exist than any that uses them.
#[must_use]
pub fn variants(
    open: &BTreeMap<String, ValueSet>,
    interests: &Interests,
    groups: &[Profile],
    daemons: &[Profile],
) -> (Vec<Labels>, bool) {
    let choices: Vec<(&str, Vec<Option<String>>)> = open
        .iter()
        .filter(|(key, _)| interests.has(key))
        .map(|(key, set)| (key.as_str(), values(key, set, interests)))
        .collect();
    let combinations = choices.iter().fold(1_usize, |product, (_, values)| {
        product.saturating_mul(values.len())
    });
    let is_complete = combinations <= MOST_COMBINATIONS;
    let mut all = if is_complete {
        product(&choices)
    } else {
        needed(&choices, interests, groups)
    };
    if !daemons
        .iter()
        .any(|daemon| choices.iter().any(|(key, _)| mentions(daemon, key)))
    {
        keep_maximal(&mut all, &choices, interests, groups);
    }
    (all, is_complete)
}

/// Values of one key that somebody can tell apart, real ones before absence.
fn values(key: &str, set: &ValueSet, interests: &Interests) -> Vec<Option<String>> {
    let mut named = interests.topology.get(key).cloned().unwrap_or_default();
    let mut numbers: BTreeSet<i64> = BTreeSet::new();
    for wanted in interests.of_key(key).chain([set]) {
        named.extend(wanted.named_values().iter().cloned());
        let (lower, upper) = wanted.bounds();
        for bound in [lower, upper].into_iter().flatten() {
            numbers.extend([bound.saturating_sub(1), bound, bound.saturating_add(1)]);
        }
    }
    // One value that nobody names: the first free integer, as Karpenter takes an integer too.
    let mut fresh = 1_i64;
    while named.contains(&fresh.to_string()) || numbers.contains(&fresh) {
        fresh += 1;
    }
    let candidates = named
        .iter()
        .cloned()
        .chain(numbers.iter().map(ToString::to_string))
        .chain([fresh.to_string()])
        .map(Some)
        .chain([None]);
    let mut seen = BTreeSet::new();
    candidates
        .filter(|value| set.admits(value.as_deref()))
        .filter(|value| {
            let told_apart: Vec<bool> = interests
                .of_key(key)
                .map(|wanted| wanted.admits(value.as_deref()))
                .collect();
            let place = interests.is_topology(key).then(|| value.clone());
            seen.insert((told_apart, place))
        })
        .collect()
}

fn product(choices: &[(&str, Vec<Option<String>>)]) -> Vec<Labels> {
    let mut all = vec![Labels::new()];
    for (key, values) in choices {
        all = all
            .iter()
            .flat_map(|labels| values.iter().map(move |value| with(labels, key, value.as_ref())))
            .collect();
    }
    all
}

fn with(labels: &Labels, key: &str, value: Option<&String>) -> Labels {
    let mut labels = labels.clone();
    if let Some(value) = value {
        labels.insert(key.to_owned(), value.clone());
    }
    labels
}

fn replaced(labels: &Labels, key: &str, value: Option<&String>) -> Labels {
    let mut labels = labels.clone();
    labels.remove(key);
    with(&labels, key, value)
}

/// For each profile and each of its terms the first values that it admits, and one more of each value of a topology key.
fn needed(choices: &[(&str, Vec<Option<String>>)], interests: &Interests, groups: &[Profile]) -> Vec<Labels> {
    let mut all = BTreeSet::new();
    for profile in groups {
        let terms: Vec<Option<&Requirements>> = match &profile.spec.node_affinity {
            None => vec![None],
            Some(terms) => terms.0.iter().map(|term| Some(&term.expressions)).collect(),
        };
        for term in terms {
            let admitted = |key: &str, value: Option<&str>| {
                let by =
                    |requirements: &Requirements| requirements.get(key).is_none_or(|set| set.admits(value));
                let mut volumes = profile.spec.rules.volumes.iter();
                let reached = |volume: &Volume| volume.reach.0.iter().any(|term| by(&term.expressions));
                by(&profile.selector) && term.is_none_or(by) && volumes.all(reached)
            };
            let chosen: Option<Labels> = choices.iter().try_fold(Labels::new(), |labels, (key, values)| {
                let value = values.iter().find(|value| admitted(key, value.as_deref()))?;
                Some(with(&labels, key, value.as_ref()))
            });
            for (key, values) in choices.iter().filter(|(key, _)| interests.is_topology(key)) {
                let others = values.iter().filter(|value| admitted(key, value.as_deref()));
                let others = others.zip(chosen.iter().cycle());
                all.extend(others.map(|(value, labels)| replaced(labels, key, value.as_ref())));
            }
            all.extend(chosen);
        }
    }
    if all.is_empty() {
        all.insert(Labels::new());
    }
    all.into_iter().collect()
}

/// Drops combinations whose profiles all have another combination in the same place that admits them and more.
fn keep_maximal(
    all: &mut Vec<Labels>,
    choices: &[(&str, Vec<Option<String>>)],
    interests: &Interests,
    groups: &[Profile],
) {
    let concerned: Vec<&Profile> = groups
        .iter()
        .filter(|profile| choices.iter().any(|(key, _)| mentions(profile, key)))
        .collect();
    let admitted: Vec<Vec<bool>> = all
        .iter()
        .map(|labels| {
            concerned
                .iter()
                .flat_map(|profile| admissions(profile, labels, choices))
                .collect()
        })
        .collect();
    let topology = || choices.iter().filter(|(key, _)| interests.is_topology(key));
    let places: Vec<Vec<Option<String>>> = all
        .iter()
        .map(|labels| topology().map(|(key, _)| labels.get(*key).cloned()).collect())
        .collect();
    let covers = |one: usize, two: usize| {
        let admits = admitted[one].iter().zip(&admitted[two]);
        places[one] == places[two] && admits.into_iter().all(|(one, two)| *one || !*two)
    };
    let kept: Vec<bool> = (0..all.len())
        .map(|at| {
            !(0..all.len())
                .any(|other| other != at && covers(other, at) && (!covers(at, other) || other < at))
        })
        .collect();
    let mut kept = kept.into_iter();
    all.retain(|_| kept.next().unwrap_or(true));
}

/// Whether a profile's requirements on the open keys admit these values, term by term: a term that reads none of the
/// keys may fail by another one, so it can't stand for those that do.
fn admissions(profile: &Profile, labels: &Labels, choices: &[(&str, Vec<Option<String>>)]) -> Vec<bool> {
    let by = |requirements: &Requirements| {
        choices.iter().all(|(key, _)| {
            requirements
                .get(key)
                .is_none_or(|set| set.admits(labels.get(*key).map(String::as_str)))
        })
    };
    let selected = by(&profile.selector);
    let mut admissions = match &profile.spec.node_affinity {
        None => vec![selected],
        Some(terms) => (terms.0.iter())
            .map(|term| selected && by(&term.expressions))
            .collect(),
    };
    let volumes = profile.spec.rules.volumes.iter();
    let reaches = volumes.flat_map(|volume| &volume.reach.0);
    admissions.extend(reaches.map(|term| by(&term.expressions)));
    admissions
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::pod::PodSpec;
    use crate::model::requirement::{Operator, Requirement};

    #[test]
    fn too_many_combinations_are_owned_up_to() {
        for (keys, is_complete) in [(2, true), (9, false)] {
            let names: Vec<String> = (0..keys).map(|key| format!("example.com/key-{key}")).collect();
            let exists = |name: &String| {
                let requirement = Requirement {
                    key: name.clone(),
                    operator: Operator::Exists,
                    values: Vec::new(),
                    min_values: None,
                };
                (name.clone(), ValueSet::of(&requirement).unwrap())
            };
            let open: BTreeMap<String, ValueSet> = names.iter().map(exists).collect();
            let pods: Vec<Profile> = ["a", "b"]
                .into_iter()
                .map(|value| {
                    let node_selector = names
                        .iter()
                        .map(|name| (name.clone(), value.to_owned()))
                        .collect();
                    Profile::of(&Arc::new(PodSpec {
                        node_selector,
                        ..PodSpec::default()
                    }))
                })
                .collect();
            let (all, complete) = variants(&open, &Interests::of(pods.iter()), &pods, &[]);
            assert_eq!(complete, is_complete, "{keys} keys");
            let admitting = |pod: &Profile| all.iter().any(|labels| pod.selector.admits(labels));
            assert!(pods.iter().all(admitting), "{keys} keys: each pod has its choice");
        }
    }
}
