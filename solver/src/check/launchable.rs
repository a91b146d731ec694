//! Nodes that could be launched, as far as some labels go: what a hard spread has for domains beside existing nodes.
//!
//! A node could be launched where a NodePool that launches for pods, one of its instance types and one of its offerings that
//! can be bought now agree. Kube-scheduler's domains are those of nodes that exist: where nothing can be bought, none comes to
//! be, and Karpenter counts no zone whose offers have no price or aren't available either. How many are left of what can be
//! bought, limits of the NodePool and the size of pods don't matter, as they don't to kube-scheduler, which takes nodes for
//! domains however full they are. Only labels that are asked for are looked at,
//! so that many offerings are few different nodes. A key that the NodePool leaves open counts with each value that it
//! names; one without an end of values with none.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::model::instance_type::{HOSTNAME_LABEL, INSTANCE_TYPE_LABEL, InstanceType};
use crate::model::node_pool::{NodeClass, NodePool};
use crate::model::offering::{CapacityType, Offering};
use crate::model::pod::PodSpec;
use crate::model::requirement::ValueSet;
use crate::model::snapshot::Snapshot;
use crate::model::taint::first_untolerated;

use super::prospect::{UNKNOWN_HOSTNAME, is_always_typed};

/// What a node to come has under a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Held<'a> {
    /// This value.
    Value(Cow<'a, str>),
    /// One of these, which nobody chose yet.
    Open(ValueSet),
    /// Nothing.
    Missing,
}

impl Held<'_> {
    fn could_be(&self, wanted: &ValueSet) -> bool {
        match self {
            Self::Value(value) => wanted.admits(Some(value)),
            Self::Open(values) => !values.intersect(wanted).is_empty(),
            Self::Missing => wanted.admits(None),
        }
    }
}

/// All nodes that could be launched, those alike in the keys once.
pub(super) struct Launchable<'a> {
    snapshot: &'a Snapshot,
    keys: Vec<&'a str>,
    /// Position of the NodePool, and what the node has under each key.
    nodes: BTreeSet<(usize, Vec<Held<'a>>)>,
    /// Whether a key that may be absent counts as one that may be there.
    is_exact: bool,
}

/// An offering that a price is known of, or that is paid, and of which some are left.
fn is_buyable(offering: &Offering) -> bool {
    let has_price = offering.price.micros() > 0 || offering.capacity_type == CapacityType::Reserved;
    offering.available && has_price && offering.limit != Some(0)
}

impl<'a> Launchable<'a> {
    /// Under these keys and those that selector and affinity of the specs read.
    pub(super) fn new(
        snapshot: &'a Snapshot,
        keys: impl IntoIterator<Item = &'a str>,
        specs: impl IntoIterator<Item = &'a PodSpec>,
    ) -> Self {
        Self::of(snapshot, keys, specs, false)
    }

    /// The same under any choice of labels that the NodePool leaves open.
    pub(super) fn under_any_labels(
        snapshot: &'a Snapshot,
        keys: impl IntoIterator<Item = &'a str>,
        specs: impl IntoIterator<Item = &'a PodSpec>,
    ) -> Self {
        Self::of(snapshot, keys, specs, true)
    }

    fn of(
        snapshot: &'a Snapshot,
        keys: impl IntoIterator<Item = &'a str>,
        specs: impl IntoIterator<Item = &'a PodSpec>,
        is_exact: bool,
    ) -> Self {
        let mut keys: BTreeSet<&str> = keys.into_iter().collect();
        for spec in specs {
            keys.extend(spec.node_selector.keys().map(String::as_str));
            let terms = spec.node_affinity.iter().flat_map(|terms| &terms.0);
            keys.extend(terms.flat_map(|term| term.expressions.iter().map(|(key, _)| key)));
        }
        let mut launchable = Self {
            snapshot,
            keys: keys.into_iter().collect(),
            nodes: BTreeSet::new(),
            is_exact,
        };
        for (at, pool) in snapshot.node_pools.iter().enumerate() {
            if pool.replicas.is_none() && pool.left_out.is_none() {
                launchable.add_pool(at, pool);
            }
        }
        launchable
    }

    fn add_pool(&mut self, at: usize, pool: &'a NodePool) {
        let source = Source::new(pool, self.snapshot.node_class(pool), self.is_exact);
        let decisive = source.decisive_keys();
        let keys: BTreeSet<&str> = self.keys.iter().chain(&decisive).copied().collect();
        let (of_offering, of_type): (Vec<&str>, Vec<&str>) =
            keys.into_iter().partition(|key| is_of_offering(key));
        // By what a type decides: the offerings that were looked at.
        let mut known: BTreeMap<Vec<Held<'a>>, BTreeSet<Identity<'a>>> = BTreeMap::new();
        for instance_type in &source.class.instance_types {
            let mut offerings = instance_type.offerings.iter();
            let Some(any) = offerings.find(|offering| is_buyable(offering)) else {
                continue;
            };
            let typed = of_type
                .iter()
                .map(|key| source.held(instance_type, any, key))
                .collect();
            let choices = instance_type.choices.keys();
            let mut choices = choices.filter(|key| !of_type.contains(&key.as_str()));
            let Some(typed): Option<Vec<Held<'a>>> = typed else {
                continue;
            };
            if choices.any(|key| source.held(instance_type, any, key).is_none()) {
                continue;
            }
            // What offers lack of their own, the type's labels may have.
            let has_own = instance_type.labels.keys().any(|key| is_of_offering(key));
            let known_of = known.get_mut(&typed).filter(|_| !has_own);
            let mut seen = known_of.map(std::mem::take).unwrap_or_default();
            for offering in instance_type.offerings.iter().filter(|it| is_buyable(it)) {
                if !seen.insert(identity(offering)) {
                    continue;
                }
                let own = of_offering
                    .iter()
                    .map(|key| source.held(instance_type, offering, key));
                let Some(own): Option<Vec<Held<'a>>> = own.collect() else {
                    continue;
                };
                let held = self.keys.iter().map(|key| {
                    let among = |list: &[&str]| list.iter().position(|other| other == key);
                    let typed_held = among(&of_type).map(|at| &typed[at]);
                    let held = typed_held.or_else(|| among(&of_offering).map(|at| &own[at]));
                    held.cloned().unwrap_or(Held::Missing)
                });
                self.nodes.insert((at, held.collect()));
            }
            if !has_own {
                known.insert(typed, seen);
            }
        }
    }

    /// Values of a key on nodes that a pod could have launched and that have all these keys beside a host name; none where
    /// there is no such node, or none has the key.
    pub(super) fn values(&self, spec: &PodSpec, key: &str, all: &[&str]) -> BTreeSet<&str> {
        let mut values = BTreeSet::new();
        let Ok(at) = self.keys.binary_search(&key) else {
            return values;
        };
        let all = all.iter().filter(|other| **other != HOSTNAME_LABEL);
        let all: Vec<usize> = all
            .filter_map(|other| self.keys.binary_search(other).ok())
            .collect();
        for (pool, held) in &self.nodes {
            if all.iter().any(|other| held[*other] == Held::Missing) {
                continue;
            }
            let taints = &self.snapshot.node_pools[*pool].taints;
            if first_untolerated(taints, &spec.tolerations).is_some() {
                continue;
            }
            match &held[at] {
                Held::Value(value) => {
                    if self.could_admit(spec, held, None) {
                        values.insert(value);
                    }
                }
                Held::Open(open) => {
                    let named = open.finite().into_iter().flatten();
                    let admitted = named.filter(|value| self.could_admit(spec, held, Some((at, value))));
                    values.extend(admitted.map(String::as_str));
                }
                Held::Missing => {}
            }
        }
        values
    }

    /// Values of a key, none of them open, on nodes of a NodePool.
    pub(super) fn values_of_pool(&self, pool: usize, key: &str) -> BTreeSet<&str> {
        let at = self.keys.binary_search(&key);
        let nodes = self.nodes.iter().filter(|(other, _)| *other == pool);
        nodes
            .filter_map(|(_, held)| match held.get(at.ok()?)? {
                Held::Value(value) => Some(&**value),
                Held::Open(_) | Held::Missing => None,
            })
            .collect()
    }

    /// Whether selector and affinity could admit the node, one open key set to a value.
    fn could_admit(&self, spec: &PodSpec, held: &[Held<'_>], chosen: Option<(usize, &str)>) -> bool {
        let could_be = |key: &str, wanted: &ValueSet| match (self.keys.binary_search(&key), chosen) {
            (Ok(at), Some((open, value))) if at == open => wanted.admits(Some(value)),
            (Ok(at), _) => held[at].could_be(wanted),
            (Err(_), _) => wanted.admits(None),
        };
        let mut selector = spec.node_selector.iter();
        selector.all(|(key, value)| could_be(key, &ValueSet::exactly(value.clone())))
            && spec.node_affinity.as_ref().is_none_or(|terms| {
                terms.0.iter().any(|term| {
                    !term.is_empty()
                        && term.node_name.is_none()
                        && term.expressions.iter().all(|(key, wanted)| could_be(key, wanted))
                })
            })
    }
}

/// A NodePool and its class.
struct Source<'a> {
    pool: &'a NodePool,
    class: &'a NodeClass,
    /// Keys of its requirements that only instance types decide.
    typed: BTreeSet<&'a str>,
    /// Whether a key that may be absent is open.
    is_exact: bool,
}

impl<'a> Source<'a> {
    fn new(pool: &'a NodePool, class: &'a NodeClass, is_exact: bool) -> Self {
        let has = |key: &str| {
            let mut types = class.instance_types.iter();
            types.any(|it| it.labels.contains_key(key) || it.choices.contains_key(key))
        };
        let keys = pool.requirements.iter().map(|(key, _)| key);
        let typed = keys.filter(|key| is_always_typed(key) || has(key)).collect();
        Self {
            pool,
            class,
            typed,
            is_exact,
        }
    }

    /// Keys that can make an offer none of the NodePool's, those of a type's choices apart.
    fn decisive_keys(&self) -> Vec<&'a str> {
        let required = self.pool.requirements.iter().map(|(key, _)| key);
        required
            .chain(self.pool.labels.keys().map(String::as_str))
            .collect()
    }

    /// What a node will have under a key; `None`: the NodePool has no such node.
    fn held(&self, instance_type: &'a InstanceType, offering: &'a Offering, key: &str) -> Option<Held<'a>> {
        let wanted = self.pool.requirements.get(key);
        let choices = instance_type.choices.get(key);
        let template = self.pool.labels.get(key).map(String::as_str);
        let offered = offered(instance_type, offering, key);
        if let Some(value) = offered.or(template) {
            let agrees = template.is_none_or(|other| other == value);
            let admits = |set: Option<&ValueSet>| set.is_none_or(|set| set.admits(Some(value)));
            let is_free = key != HOSTNAME_LABEL || wanted.is_none();
            return (agrees && is_free && admits(wanted) && admits(choices))
                .then_some(Held::Value(Cow::Borrowed(value)));
        }
        let allowed = match (choices, wanted) {
            (Some(offered), Some(wanted)) => offered.intersect(wanted),
            (Some(offered), None) => offered.clone(),
            (None, Some(wanted)) if self.typed.contains(key) => {
                return wanted.admits(None).then_some(Held::Missing);
            }
            (None, Some(wanted)) => wanted.clone(),
            (None, None) => return Some(Held::Missing),
        };
        if allowed.is_empty() {
            None
        } else if let Some(value) = allowed.single() {
            Some(Held::Value(Cow::Owned(value.to_owned())))
        } else if allowed.admits_absence() && !self.is_exact {
            Some(Held::Missing)
        } else {
            Some(Held::Open(allowed))
        }
    }
}

/// All of an offering that labels tell.
type Identity<'a> = [Option<&'a str>; Offering::LABELS.len()];

fn identity(offering: &Offering) -> Identity<'_> {
    Offering::LABELS.map(|key| offering.label(key))
}

fn is_of_offering(key: &str) -> bool {
    Offering::LABELS.contains(&key)
}

/// A label that comes with the offer.
fn offered<'a>(instance_type: &'a InstanceType, offering: &'a Offering, key: &str) -> Option<&'a str> {
    let own = match key {
        INSTANCE_TYPE_LABEL => Some(instance_type.name.as_str()),
        HOSTNAME_LABEL => Some(UNKNOWN_HOSTNAME),
        _ => offering.label(key),
    };
    own.or_else(|| instance_type.labels.get(key).map(String::as_str))
}
