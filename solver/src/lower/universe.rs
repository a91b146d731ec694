//! The universe: every node that could be launched, as indices.
//!
//! A shape is a NodePool's instance type with one choice of open labels; a bin is a shape in one offering. All
//! offerings that the NodePool admits and that can be bought now are here, dear and cheap; pruning comes later.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::model::instance_type::{HOSTNAME_LABEL, INSTANCE_TYPE_LABEL, InstanceType};
use crate::model::node_pool::NodePool;
use crate::model::offering::Offering;
use crate::model::requirement::{Labels, NodeSelectorTerm, ValueSet};
use crate::model::snapshot::Snapshot;

use super::group::Profile;
use super::rules::{offerings, requirements};
use super::variants::{Interests, variants};

/// An instance type of a node pool with a choice of open labels.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Index of the node pool in the snapshot.
    pub pool: usize,
    /// Index of the type in the node class.
    pub instance_type: usize,
    /// Index of the chosen labels.
    pub variant: usize,
    /// Its bins.
    pub bins: Range<usize>,
}

/// A shape in one offering.
#[derive(Clone, Copy, Debug)]
pub struct Bin {
    /// Index of the shape.
    pub shape: usize,
    /// Index of the offering in the instance type.
    pub offering: usize,
}

/// Every node that could be launched.
#[derive(Clone, Debug)]
pub struct Universe<'a> {
    /// Where names are.
    pub snapshot: &'a Snapshot,
    /// In the order of node pools, types and variants.
    pub shapes: Vec<Shape>,
    /// In the order of shapes and offerings.
    pub bins: Vec<Bin>,
    /// Chosen values of open labels.
    pub variants: Vec<Labels>,
    /// Whether the variants, and what minValues left of the kinds, are all that could matter; where not, no lower bound can
    /// be drawn from them.
    pub has_every_choice: bool,
    /// By node pool: labels that its requirements fix at one value.
    pub fixed: Vec<Labels>,
    /// Topology keys in use: nodes of different values are different places.
    pub topology_keys: BTreeSet<&'a str>,
    /// Keys whose chosen values a launch says, whoever is on it.
    pub stated_keys: BTreeSet<&'a str>,
}

/// What is of interest in nodes beside what pods and DaemonSets require of them.
#[derive(Clone, Debug)]
pub struct Interest<'k, 'a> {
    /// Nodes of different values of these are told apart.
    pub topology_keys: &'k BTreeSet<&'a str>,
    /// What is preferred.
    pub preferred: Vec<&'a NodeSelectorTerm>,
    /// Keys whose chosen values are said in any case.
    pub stated_keys: BTreeSet<&'a str>,
}

impl<'a> Universe<'a> {
    /// All that can be bought now. `groups` and `daemons` say which labels anybody selects.
    #[must_use]
    pub fn of(
        snapshot: &'a Snapshot,
        groups: &[Profile],
        daemons: &[Profile],
        interest: Interest<'_, 'a>,
    ) -> Self {
        let topology_keys = interest.topology_keys;
        let mut interests = Interests::of(groups.iter().chain(daemons));
        interests.tell_apart(topology_keys, &snapshot.nodes);
        for term in &interest.preferred {
            interests.add(&term.expressions);
        }
        let mut universe = Self {
            snapshot,
            shapes: Vec::new(),
            bins: Vec::new(),
            variants: Vec::new(),
            has_every_choice: true,
            fixed: snapshot
                .node_pools
                .iter()
                .map(|pool| fixed_labels(snapshot, pool))
                .collect(),
            topology_keys: topology_keys.clone(),
            stated_keys: interest.stated_keys,
        };
        for (index, pool) in snapshot.node_pools.iter().enumerate() {
            if !pool.launches_for_pods() {
                continue;
            }
            let mut known: BTreeMap<BTreeMap<String, ValueSet>, Range<usize>> = BTreeMap::new();
            let class = snapshot.node_class(pool);
            let typed_keys = requirements::typed_keys(class);
            for (at, instance_type) in class.instance_types.iter().enumerate() {
                let Some(open) = open_keys(pool, instance_type, &typed_keys) else {
                    continue;
                };
                let chosen = known.entry(open).or_insert_with_key(|open| {
                    let first = universe.variants.len();
                    let (all, is_complete) = variants(open, &interests, groups, daemons);
                    universe.variants.extend(all);
                    universe.has_every_choice &= is_complete;
                    first..universe.variants.len()
                });
                for variant in chosen.clone() {
                    universe.add(index, at, variant);
                }
            }
        }
        universe
    }

    fn add(&mut self, pool: usize, instance_type: usize, variant: usize) {
        let node_pool = &self.snapshot.node_pools[pool];
        let offers = &self.snapshot.node_class(node_pool).instance_types[instance_type].offerings;
        let first = self.bins.len();
        let shape = self.shapes.len();
        for (offering, offer) in offers.iter().enumerate() {
            if offerings::is_buyable(offer) && requirements::pool_admits_offering(node_pool, offer) {
                self.bins.push(Bin { shape, offering });
            }
        }
        if self.bins.len() > first {
            self.shapes.push(Shape {
                pool,
                instance_type,
                variant,
                bins: first..self.bins.len(),
            });
        }
    }

    /// The node pool of a shape.
    #[must_use]
    pub fn pool(&self, shape: &Shape) -> &'a NodePool {
        &self.snapshot.node_pools[shape.pool]
    }

    /// The instance type of a shape.
    #[must_use]
    pub fn instance_type(&self, shape: &Shape) -> &'a InstanceType {
        &self.snapshot.node_class(self.pool(shape)).instance_types[shape.instance_type]
    }

    /// The shape of a bin.
    #[must_use]
    pub fn shape(&self, bin: usize) -> &Shape {
        &self.shapes[self.bins[bin].shape]
    }

    /// The offering of a bin.
    #[must_use]
    pub fn offering(&self, bin: usize) -> &'a Offering {
        &self.instance_type(self.shape(bin)).offerings[self.bins[bin].offering]
    }

    /// The value of a label on nodes of a shape; the offering's own keys are not asked for here.
    #[must_use]
    pub fn label(&self, shape: &Shape, key: &str) -> Option<&str> {
        let instance_type = self.instance_type(shape);
        if key == INSTANCE_TYPE_LABEL {
            return Some(instance_type.name.as_str());
        }
        instance_type
            .labels
            .get(key)
            .or_else(|| self.variants[shape.variant].get(key))
            .or_else(|| self.pool(shape).labels.get(key))
            .or_else(|| self.fixed[shape.pool].get(key))
            .map(String::as_str)
    }

    /// The value of a label on nodes of a bin.
    #[must_use]
    pub fn label_of_bin(&self, bin: usize, key: &str) -> Option<&str> {
        if requirements::is_offering_key(key) {
            self.offering(bin).label(key)
        } else {
            self.label(self.shape(bin), key)
        }
    }

    /// Labels of a shape that were chosen for it and that one of the profiles asks for, or a topology.
    #[must_use]
    pub fn chosen_labels(&self, shape: &Shape, profiles: &[&Profile]) -> Labels {
        let mentioned = |key: &str| {
            let mentions = |profile: &&Profile| super::variants::mentions(profile, key);
            let is_stated = self.topology_keys.contains(key) || self.stated_keys.contains(key);
            is_stated || profiles.iter().any(mentions)
        };
        self.variants[shape.variant]
            .iter()
            .filter(|(key, _)| mentioned(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }
}

/// Labels that a pool's requirements fix at one value.
fn fixed_labels(snapshot: &Snapshot, pool: &NodePool) -> Labels {
    let typed_keys = requirements::typed_keys(snapshot.node_class(pool));
    pool.requirements
        .iter()
        .filter(|(key, _)| !requirements::is_decided_by_type(key, &typed_keys))
        .filter(|(key, _)| !pool.labels.contains_key(*key))
        .filter_map(|(key, set)| Some((key.to_owned(), set.single()?.to_owned())))
        .collect()
}

/// The keys that the pool and the type leave open, with the values they admit; `None` where they exclude each other.
#[must_use]
pub fn open_keys(
    pool: &NodePool,
    instance_type: &InstanceType,
    typed_keys: &BTreeSet<&str>,
) -> Option<BTreeMap<String, ValueSet>> {
    let typed = |key: &str| match key {
        INSTANCE_TYPE_LABEL => Some(instance_type.name.as_str()),
        _ => instance_type.labels.get(key).map(String::as_str),
    };
    let contradicts = |(key, value): (&String, &String)| typed(key).is_some_and(|other| other != value);
    if pool.labels.iter().any(contradicts) || pool.requirements.get(HOSTNAME_LABEL).is_some() {
        return None;
    }
    let certain = |key: &str| typed(key).or_else(|| pool.labels.get(key).map(String::as_str));
    let mut open = BTreeMap::new();
    for (key, choice) in &instance_type.choices {
        if let Some(value) = certain(key) {
            if !choice.admits(Some(value)) {
                return None;
            }
            continue;
        }
        let admitted = match pool.requirements.get(key) {
            Some(set) => choice.intersect(set),
            None => choice.clone(),
        };
        if admitted.is_empty() {
            return None;
        }
        open.insert(key.clone(), admitted);
    }
    for (key, set) in pool.requirements.iter() {
        if requirements::is_offering_key(key) || open.contains_key(key) {
            continue;
        }
        let value = certain(key);
        if value.is_some() || requirements::is_decided_by_type(key, typed_keys) {
            if !set.admits(value) {
                return None;
            }
        } else if set.is_empty() {
            return None;
        } else if set.single().is_none() {
            open.insert(key.to_owned(), set.clone());
        }
    }
    Some(open)
}
