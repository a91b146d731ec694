//! What rules about other pods leave of the places that a pod's own selector and affinity admit.
//!
//! All that is certain before anything is packed is said as requirements of labels: that a domain has to have its key,
//! that running pods bar a domain, or are the only ones to be near. Then it costs the engines nothing. The rest become
//! side rows.

use std::collections::{BTreeMap, BTreeSet};

use fixedbitset::FixedBitSet;

use crate::model::instance_type::HOSTNAME_LABEL;
use crate::model::pod::PodSpec;
use crate::model::requirement::{Operator, Requirement, Requirements, ValueSet};
use crate::model::snapshot::Snapshot;

use super::company::Company;
use super::group::Set;
use super::rules::pod_affinity::{self, Wish};
use super::rules::{host_ports, topology_spread};
use super::running::Running;
use super::selectors::Selectors;

/// Pods that are one group, as rules see them.
#[derive(Clone, Copy, Debug)]
pub struct Member<'m, 'a> {
    /// A specification of theirs.
    pub spec: &'a PodSpec,
    /// The selectors that they match.
    pub matches: &'m FixedBitSet,
}

impl<'m, 'a> Member<'m, 'a> {
    /// Of a set of pods.
    #[must_use]
    pub fn of(set: &'m Set<'a>) -> Self {
        Self {
            spec: set.spec,
            matches: &set.matches,
        }
    }
}

/// What is known before groups have profiles.
#[derive(Clone, Copy)]
pub struct Standing<'s, 'a> {
    /// All of it.
    pub snapshot: &'a Snapshot,
    /// The selectors that matter.
    pub selectors: &'s Selectors<'a>,
    /// Pods on existing nodes.
    pub running: &'s Running<'a>,
}

impl Standing<'_, '_> {
    /// DaemonSets whose pods all of these selectors match, as indices into the snapshot's.
    #[must_use]
    pub fn daemon_sets(&self, selectors: &BTreeSet<usize>) -> BTreeSet<usize> {
        let daemon_sets = self.snapshot.daemon_sets.iter().enumerate();
        let matched = daemon_sets.filter(|(_, daemon_set)| {
            let (namespace, labels) = (&daemon_set.name.namespace, &daemon_set.spec.labels);
            let matches = self.selectors.matching(namespace, labels);
            selectors.iter().all(|selector| matches.contains(*selector))
        });
        matched.map(|(at, _)| at).collect()
    }

    /// Whether no anti-affinity can keep a DaemonSet's pod off a node that it is for.
    #[must_use]
    pub fn is_certain(&self, daemon_set: usize) -> bool {
        let daemon_set = &self.snapshot.daemon_sets[daemon_set];
        let matches = self
            .selectors
            .matching(&daemon_set.name.namespace, &daemon_set.spec.labels);
        daemon_set.spec.rules.anti_affinity.is_empty() && !self.selectors.may_keep_off(&matches)
    }
}

/// What rules about other pods require of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Narrowing {
    /// Of its labels.
    pub requirements: Requirements,
    /// DaemonSets that must not come with it, as indices into the snapshot's.
    pub without_daemons: BTreeSet<usize>,
    /// By topology key: what has to be near it, where pods of DaemonSets are among that.
    pub company: BTreeMap<String, Company>,
}

impl Narrowing {
    /// That the node has a label.
    pub fn has(&mut self, key: &str) {
        self.require(key, Operator::Exists, BTreeSet::new());
    }

    /// That it doesn't have a label.
    pub fn lacks(&mut self, key: &str) {
        self.requirements.add(key.to_owned(), ValueSet::absence());
    }

    /// That it has one of these values.
    pub fn has_one_of(&mut self, key: &str, values: BTreeSet<String>) {
        self.requirements.add(key.to_owned(), ValueSet::one_of(values));
    }

    /// That it has none of these values; the label may be missing.
    pub fn has_none_of(&mut self, key: &str, values: BTreeSet<String>) {
        if !values.is_empty() {
            self.require(key, Operator::NotIn, values);
        }
    }

    /// That there is no such node.
    pub fn nowhere(&mut self) {
        self.has_one_of(HOSTNAME_LABEL, BTreeSet::new());
    }

    fn require(&mut self, key: &str, operator: Operator, values: BTreeSet<String>) {
        let set = ValueSet::of(&Requirement {
            key: key.to_owned(),
            operator,
            values: values.into_iter().collect(),
            min_values: None,
        });
        let set = set.expect("only In and comparisons can make no sense");
        self.requirements.add(key.to_owned(), set);
    }
}

/// What each of these needs; `wishes` are those of all of them.
#[must_use]
pub fn narrowings(
    standing: Standing<'_, '_>,
    members: &[Member<'_, '_>],
    wishes: &[Wish<'_>],
) -> Vec<Narrowing> {
    let mut narrowings: Vec<Narrowing> = members
        .iter()
        .map(|member| {
            let mut narrowing = Narrowing::default();
            let rules = &member.spec.rules;
            if rules.impossible.is_some() {
                narrowing.nowhere();
            }
            topology_spread::narrow(member.spec, &mut narrowing);
            if !standing.selectors.is_empty() {
                pod_affinity::keep_apart(standing, *member, &mut narrowing);
            }
            if !rules.host_ports.is_empty() {
                let daemon_sets = standing.snapshot.daemon_sets.iter().enumerate();
                let clashing = daemon_sets
                    .filter(|(_, daemon_set)| host_ports::clash(member.spec, daemon_set).is_some());
                narrowing.without_daemons.extend(clashing.map(|(at, _)| at));
            }
            narrowing
        })
        .collect();
    for wish in wishes {
        for member in wish.groups.ones() {
            wish.narrow(standing.snapshot, &mut narrowings[member]);
        }
    }
    narrowings
}
