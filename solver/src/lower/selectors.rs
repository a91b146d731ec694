//! Which pods the rules of others are about: the distinct selectors that matter, and which of them a pod matches.
//!
//! Those of the rules of pods that need a place matter, and of others and of DaemonSets the required anti-affinity, which holds against pods
//! to come. Pods are told apart by what they match, never by labels as such. A selector with an exact label
//! is only looked at for pods that have it, so that many selectors cost a pod little.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fixedbitset::FixedBitSet;

use crate::model::pod::PodSpec;
use crate::model::requirement::{Labels, Requirements};
use crate::model::selector::PodSelector;
use crate::model::snapshot::Snapshot;

/// The selectors that matter, each once, in the order of their values.
#[derive(Clone, Debug, Default)]
pub struct Selectors<'a> {
    all: Vec<&'a PodSelector>,
    /// Those that ask for exactly this label.
    by_label: BTreeMap<(&'a str, &'a str), Vec<usize>>,
    /// Those that ask for no exact label.
    others: Vec<usize>,
    /// Those by which somebody keeps others off.
    apart: FixedBitSet,
}

impl<'a> Selectors<'a> {
    /// Those of a snapshot.
    #[must_use]
    pub fn of(snapshot: &'a Snapshot) -> Self {
        let mut distinct = BTreeSet::new();
        let mut apart = BTreeSet::new();
        let mut last: Option<(&Arc<PodSpec>, bool)> = None;
        for pod in snapshot.pods.iter().filter(|pod| !pod.spec.rules.is_empty()) {
            let needs_place = snapshot.needs_place(pod);
            let is_known =
                last.is_some_and(|(spec, needed)| needed == needs_place && Arc::ptr_eq(spec, &pod.spec));
            if is_known {
                continue;
            }
            last = Some((&pod.spec, needs_place));
            if needs_place {
                distinct.extend(pod.spec.rules.selectors());
            }
            apart.extend(pod.spec.rules.anti_affinity.iter().map(|term| &term.selector));
        }
        for daemon_set in &snapshot.daemon_sets {
            let terms = &daemon_set.spec.rules.anti_affinity;
            apart.extend(terms.iter().map(|term| &term.selector));
        }
        distinct.extend(&apart);
        let mut selectors = Self {
            all: distinct.into_iter().collect(),
            ..Self::default()
        };
        selectors.apart.grow(selectors.all.len());
        for (at, selector) in selectors.all.iter().enumerate() {
            selectors.apart.set(at, apart.contains(selector));
            let exact = selector.labels.iter().flat_map(Requirements::iter);
            let mut exact = exact.filter_map(|(key, set)| Some((key, set.single()?)));
            match exact.next() {
                Some(label) => selectors.by_label.entry(label).or_default().push(at),
                None => selectors.others.push(at),
            }
        }
        selectors
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none: then no rule is about other pods.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether some pod may keep one off that these match.
    #[must_use]
    pub fn may_keep_off(&self, matches: &FixedBitSet) -> bool {
        !self.apart.is_disjoint(matches)
    }

    /// The index of one.
    #[must_use]
    pub fn position(&self, selector: &PodSelector) -> Option<usize> {
        self.all.binary_search(&selector).ok()
    }

    /// Those that match pods of a namespace with these labels.
    #[must_use]
    pub fn matching(&self, namespace: &str, labels: &Labels) -> FixedBitSet {
        let mut matching = FixedBitSet::with_capacity(self.all.len());
        if self.all.is_empty() {
            return matching;
        }
        let by_label = labels
            .iter()
            .filter_map(|(key, value)| self.by_label.get(&(key.as_str(), value.as_str())));
        for at in by_label.flatten().chain(&self.others) {
            if self.all[*at].matches(namespace, labels) {
                matching.insert(*at);
            }
        }
        matching
    }
}
