//! Subnets: a node takes all its addresses from one subnet of its zone, one that its node class may use.
//!
//! Where the subnets of a zone could run out, each is a counter of addresses that launches of all node pools draw on, and
//! a launch is of one of them: its kind says which. Elsewhere nothing is counted. Nodes that are on their way and that
//! the cloud hasn't made yet have their addresses coming: each, in order of name, from the subnet that has most left, as
//! Karpenter chooses.

use std::collections::BTreeSet;

use crate::model::instance_type::{InstanceType, ZONE_LABEL};
use crate::model::name::ZoneName;
use crate::model::node::{Node, NodeStage};
use crate::model::node_pool::NodeClass;
use crate::model::resources::{ResourceName, Resources};
use crate::model::snapshot::Snapshot;

/// What subnets have addresses for.
#[derive(Clone, Debug, Default)]
pub struct Addresses {
    /// By subnet of the snapshot: addresses that are free once nodes on their way have theirs.
    pub left: Vec<u64>,
    /// By subnet: whether it is counted, since those of its zone could run out.
    counted: Vec<bool>,
}

/// Where a launch may take its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Anywhere: there are enough, or nothing is known of them.
    Any,
    /// In one of these, by index of the snapshot; none: nowhere.
    OneOf(Vec<usize>),
}

impl Addresses {
    /// Of a snapshot, for so many launches at most.
    #[must_use]
    pub fn of(snapshot: &Snapshot, launches: u64) -> Self {
        let mut addresses = Self {
            left: snapshot
                .subnets
                .iter()
                .map(|subnet| subnet.free_addresses)
                .collect(),
            counted: vec![false; snapshot.subnets.len()],
        };
        if snapshot.subnets.is_empty() {
            return addresses;
        }
        for node in snapshot.nodes.iter().filter(|node| is_to_come(node)) {
            addresses.take_coming(snapshot, node);
        }
        let zones: BTreeSet<&ZoneName> = snapshot.subnets.iter().map(|subnet| &subnet.zone).collect();
        for zone in zones {
            if addresses.could_run_out(snapshot, zone, launches) {
                for (subnet, counted) in snapshot.subnets.iter().zip(&mut addresses.counted) {
                    *counted |= subnet.zone == *zone;
                }
            }
        }
        addresses
    }

    fn take_coming(&mut self, snapshot: &Snapshot, node: &Node) {
        let class = node.node_pool.as_ref().and_then(|pool| snapshot.node_pool(pool));
        let class = class.map(|pool| snapshot.node_class(pool));
        let Some(zone) = node.labels.get(ZONE_LABEL) else {
            return;
        };
        let there = usable(snapshot, class, &ZoneName::from(zone.as_str()));
        // The first of those that have most.
        let most = there.into_iter().rev().max_by_key(|subnet| self.left[*subnet]);
        if let Some(subnet) = most {
            let need = needed(snapshot, &node.capacity);
            self.left[subnet] = self.left[subnet].saturating_sub(need);
        }
    }

    /// Whether so many launches, each of the type that takes most, could find no room in some class's subnets of a zone.
    fn could_run_out(&self, snapshot: &Snapshot, zone: &ZoneName, launches: u64) -> bool {
        let classes = || snapshot.node_classes.values();
        let most = classes().flat_map(|class| {
            let largest = self.largest(usable(snapshot, Some(class), zone));
            let needs = class.instance_types.iter();
            needs
                .map(|instance_type| needed(snapshot, &instance_type.capacity))
                .filter(move |need| *need <= largest)
        });
        let Some(most) = most.max().filter(|most| *most > 0) else {
            return false;
        };
        classes().any(|class| {
            let there = usable(snapshot, Some(class), zone).into_iter();
            let nodes = there.map(|subnet| self.left[subnet] / most);
            nodes.fold(0, u64::saturating_add) < launches
        })
    }

    fn largest(&self, subnets: Vec<usize>) -> u64 {
        let left = subnets.into_iter().map(|subnet| self.left[subnet]);
        left.max().unwrap_or(0)
    }

    /// Where a node of this type may take its addresses.
    #[must_use]
    pub fn source(
        &self,
        snapshot: &Snapshot,
        class: &NodeClass,
        instance_type: &InstanceType,
        zone: &ZoneName,
    ) -> Source {
        let need = needed(snapshot, &instance_type.capacity);
        if self.left.is_empty() || need == 0 {
            return Source::Any;
        }
        let mut there = usable(snapshot, Some(class), zone);
        there.retain(|subnet| need <= self.left[*subnet]);
        match there.first() {
            Some(first) if !self.counted[*first] => Source::Any,
            _ => Source::OneOf(there),
        }
    }

    /// The counters: what is left in each subnet that is counted.
    #[must_use]
    pub fn counters(&self) -> Vec<u64> {
        let counted = self.left.iter().zip(&self.counted);
        counted
            .filter(|(_, counted)| **counted)
            .map(|(left, _)| *left)
            .collect()
    }

    /// What a node of a type takes from each counter, where it has its addresses from this subnet.
    #[must_use]
    pub fn usage(&self, snapshot: &Snapshot, instance_type: &InstanceType, from: Option<usize>) -> Vec<u64> {
        let counted = (0..self.counted.len()).filter(|subnet| self.counted[*subnet]);
        counted
            .map(|subnet| {
                if from == Some(subnet) {
                    needed(snapshot, &instance_type.capacity)
                } else {
                    0
                }
            })
            .collect()
    }
}

/// Addresses that a node of this size takes when it starts.
#[must_use]
pub fn needed(snapshot: &Snapshot, capacity: &Resources) -> u64 {
    let slots = || capacity.get(&ResourceName::Pods).get();
    snapshot.addresses_per_node.unwrap_or_else(slots)
}

/// The subnets of a zone that a class may use, in order; any of the zone where the class isn't known.
#[must_use]
pub fn usable(snapshot: &Snapshot, class: Option<&NodeClass>, zone: &ZoneName) -> Vec<usize> {
    let subnets = snapshot.subnets.iter().enumerate();
    let may_use = |id| class.is_none_or(|class| class.subnets.is_empty() || class.subnets.contains(id));
    subnets
        .filter(|(_, subnet)| subnet.zone == *zone && may_use(&subnet.id))
        .map(|(at, _)| at)
        .collect()
}

/// Whether its addresses aren't among those that are taken already.
fn is_to_come(node: &Node) -> bool {
    node.stage == NodeStage::InFlight && !node.launched
}
