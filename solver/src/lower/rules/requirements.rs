//! Requirements: nodeSelector, required node affinity and NodePool requirements against the labels of nodes to come.
//!
//! What a key requires becomes a bit set over all bins, computed once for each distinct requirement; a pod's rules
//! are ANDs of them, its OR-ed affinity terms unions. A label that neither type, offering nor NodePool brings is
//! simply absent. A node to come has a hostname that nobody can name yet.

use std::collections::{BTreeMap, BTreeSet};

use fixedbitset::FixedBitSet;

use crate::lower::universe::Universe;
use crate::model::instance_type::{HOSTNAME_LABEL, INSTANCE_TYPE_LABEL, NODE_POOL_LABEL};
use crate::model::node_pool::{NodeClass, NodePool};
use crate::model::offering::Offering;
use crate::model::pod::PodSpec;
use crate::model::requirement::{NodeSelectorTerm, NodeSelectorTerms, Requirements, ValueSet};

/// Stands for the hostname of a node to come; no selector can spell it.
pub(crate) const NEW_HOSTNAME: &str = "\u{0}";

/// Labels under this name are facts about EC2's instance types.
const INSTANCE_TYPE_DOMAIN: &str = "karpenter.k8s.aws/";

/// Keys that types of a class carry, whether or not each of them does.
#[must_use]
pub fn typed_keys(class: &NodeClass) -> BTreeSet<&str> {
    class
        .instance_types
        .iter()
        .flat_map(|instance_type| instance_type.labels.keys().chain(instance_type.choices.keys()))
        .map(String::as_str)
        .collect()
}

/// Whether only the instance type, the offering or the machinery gives a key its value, never a NodePool's choice.
#[must_use]
pub fn is_decided_by_type(key: &str, typed_keys: &BTreeSet<&str>) -> bool {
    is_offering_key(key)
        || [INSTANCE_TYPE_LABEL, HOSTNAME_LABEL, NODE_POOL_LABEL].contains(&key)
        || key.starts_with(INSTANCE_TYPE_DOMAIN)
        || typed_keys.contains(key)
}

/// Whether the key is the offering's.
#[must_use]
pub fn is_offering_key(key: &str) -> bool {
    Offering::LABELS.contains(&key)
}

/// Whether an offering meets the NodePool's requirements and template labels on the keys that are the offering's.
#[must_use]
pub fn pool_admits_offering(pool: &NodePool, offering: &Offering) -> bool {
    let contradicts = |(key, value): (&String, &String)| {
        is_offering_key(key) && offering.label(key).is_some_and(|other| other != value)
    };
    !pool.labels.iter().any(contradicts)
        && pool
            .requirements
            .iter()
            .filter(|(key, _)| is_offering_key(key))
            .all(|(key, set)| set.admits(offering.label(key)))
}

/// Finds the bins that requirements admit.
pub struct Evaluator<'a> {
    universe: &'a Universe<'a>,
    known: BTreeMap<&'a str, BTreeMap<&'a ValueSet, FixedBitSet>>,
}

impl<'a> Evaluator<'a> {
    /// Over these bins.
    #[must_use]
    pub fn new(universe: &'a Universe<'a>) -> Self {
        Self {
            universe,
            known: BTreeMap::new(),
        }
    }

    /// Bins whose labels the pod's selector and any one of its affinity terms admit, and whose taints it tolerates.
    pub fn bins(&mut self, spec: &'a PodSpec, selector: &'a Requirements) -> FixedBitSet {
        let mut bins = self.tolerated(spec);
        bins.intersect_with(&self.admitted(spec, selector));
        bins
    }

    /// Bins whose labels the selector and any one of the pod's affinity terms admit.
    pub fn admitted(&mut self, spec: &'a PodSpec, selector: &'a Requirements) -> FixedBitSet {
        let mut admitted = FixedBitSet::with_capacity(self.universe.bins.len());
        admitted.insert_range(..);
        self.narrow(&mut admitted, selector);
        if let Some(terms) = &spec.node_affinity {
            admitted.intersect_with(&self.any(terms));
        }
        admitted
    }

    /// Bins that any one of these terms admits.
    pub fn any(&mut self, terms: &'a NodeSelectorTerms) -> FixedBitSet {
        let mut any = FixedBitSet::with_capacity(self.universe.bins.len());
        for term in &terms.0 {
            any.union_with(&self.term(term));
        }
        any
    }

    /// Bins whose taints the pod tolerates.
    #[must_use]
    pub fn tolerated(&self, spec: &PodSpec) -> FixedBitSet {
        let mut admitted = FixedBitSet::with_capacity(self.universe.bins.len());
        for shape in &self.universe.shapes {
            if super::taints::refused_by(self.universe.pool(shape), spec).is_none() {
                admitted.insert_range(shape.bins.clone());
            }
        }
        admitted
    }

    /// Bins that a term admits.
    pub fn term(&mut self, term: &'a NodeSelectorTerm) -> FixedBitSet {
        let mut admitted = FixedBitSet::with_capacity(self.universe.bins.len());
        // A term on the node's name names a node that exists; one without any requirement matches nothing.
        if term.node_name.is_none() && !term.is_empty() {
            admitted.insert_range(..);
            self.narrow(&mut admitted, &term.expressions);
        }
        admitted
    }

    fn narrow(&mut self, admitted: &mut FixedBitSet, requirements: &'a Requirements) {
        for (key, set) in requirements.iter() {
            let universe = self.universe;
            let bits = self
                .known
                .entry(key)
                .or_default()
                .entry(set)
                .or_insert_with(|| evaluate(universe, key, set));
            admitted.intersect_with(bits);
        }
    }
}

fn evaluate(universe: &Universe<'_>, key: &str, set: &ValueSet) -> FixedBitSet {
    let mut bits = FixedBitSet::with_capacity(universe.bins.len());
    for shape in &universe.shapes {
        if key == HOSTNAME_LABEL {
            if set.admits(Some(NEW_HOSTNAME)) {
                bits.insert_range(shape.bins.clone());
            }
        } else if is_offering_key(key) {
            for bin in shape.bins.clone() {
                if set.admits(universe.offering(bin).label(key)) {
                    bits.insert(bin);
                }
            }
        } else if set.admits(universe.label(shape, key)) {
            bits.insert_range(shape.bins.clone());
        }
    }
    bits
}
