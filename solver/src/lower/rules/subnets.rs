//! Subnets: a zone gets no more nodes than its subnets have addresses for.
//!
//! A node has all of its addresses from one subnet, so what is left of each is worth whole nodes. Where types take
//! different numbers of addresses, each counts as the one that takes most: then whatever is launched finds a subnet.
//! Nodes on their way count as if they had taken nothing yet. A zone with fewer nodes left than could be launched is a
//! supply; a zone with none isn't there.

use std::collections::{BTreeMap, BTreeSet};

use crate::lower::universe::Universe;
use crate::model::instance_type::ZONE_LABEL;
use crate::model::name::ZoneName;
use crate::model::node::{Node, NodeStage};
use crate::model::resources::{ResourceName, Resources};
use crate::model::snapshot::Snapshot;

/// What the subnets leave.
#[derive(Clone, Debug, Default)]
pub struct Addresses<'a> {
    /// Addresses that a node counts as.
    pub per_node: u64,
    /// Whether some node takes fewer.
    pub is_uneven: bool,
    /// Nodes that each zone has addresses for; empty where nothing limits them.
    pub nodes: BTreeMap<&'a ZoneName, u64>,
}

impl<'a> Addresses<'a> {
    /// Of the zones in which something could be launched.
    #[must_use]
    pub fn of(universe: &Universe<'a>) -> Self {
        let snapshot = universe.snapshot;
        if snapshot.subnets.is_empty() {
            return Self::default();
        }
        let on_their_way: Vec<&Node> = snapshot.nodes.iter().filter(|node| is_on_its_way(node)).collect();
        let types = universe.shapes.iter().map(|shape| universe.instance_type(shape));
        let capacities = types.map(|instance_type| &instance_type.capacity);
        let needs: BTreeSet<u64> = capacities
            .chain(on_their_way.iter().map(|node| &node.capacity))
            .map(|capacity| needed(snapshot, capacity))
            .collect();
        let per_node = needs.last().copied().unwrap_or(0);
        if per_node == 0 {
            return Self::default();
        }
        let zones = (0..universe.bins.len()).map(|bin| &universe.offering(bin).zone);
        let mut nodes: BTreeMap<&ZoneName, u64> = zones.map(|zone| (zone, 0)).collect();
        for subnet in &snapshot.subnets {
            if let Some(nodes) = nodes.get_mut(&subnet.zone) {
                *nodes = nodes.saturating_add(subnet.free_addresses / per_node);
            }
        }
        for node in on_their_way {
            if let Some(zone) = node.labels.get(ZONE_LABEL)
                && let Some(nodes) = nodes.get_mut(&ZoneName::from(zone.as_str()))
            {
                *nodes = nodes.saturating_sub(1);
            }
        }
        Self {
            per_node,
            is_uneven: needs.len() > 1,
            nodes,
        }
    }

    /// Zones that have addresses for fewer nodes than so many, and for how many.
    #[must_use]
    pub fn scarce(&self, launches: u64) -> BTreeMap<&'a ZoneName, u64> {
        let all = self.nodes.iter().map(|(zone, nodes)| (*zone, *nodes));
        all.filter(|(_, nodes)| *nodes < launches).collect()
    }

    /// Whether a zone has no address left.
    #[must_use]
    pub fn is_full(&self, zone: &ZoneName) -> bool {
        self.nodes.get(zone) == Some(&0)
    }

    /// The subnets of these zones with what launches leave of them, where none of the zones has addresses for one more;
    /// `taken` says how many nodes are launched in each.
    #[must_use]
    pub fn shortage(
        &self,
        snapshot: &Snapshot,
        zones: &BTreeSet<&ZoneName>,
        taken: &BTreeMap<&ZoneName, u64>,
    ) -> Option<String> {
        let launched = |zone: &ZoneName| taken.get(zone).copied().unwrap_or(0);
        let is_short = |zone: &&ZoneName| {
            self.nodes
                .get(*zone)
                .is_some_and(|nodes| *nodes <= launched(zone))
        };
        if zones.is_empty() || !zones.iter().all(is_short) {
            return None;
        }
        let mut said: Vec<String> = Vec::new();
        for zone in zones {
            let mut nodes = launched(zone);
            let on_their_way = snapshot.nodes.iter().filter(|node| is_on_its_way(node));
            let there =
                on_their_way.filter(|node| node.labels.get(ZONE_LABEL).is_some_and(|it| it == zone.as_str()));
            nodes += u64::try_from(there.count()).unwrap_or(0);
            let own = snapshot.subnets.iter().filter(|subnet| subnet.zone == **zone);
            let mut left: Vec<String> = Vec::new();
            for subnet in own {
                let here = nodes.min(subnet.free_addresses / self.per_node);
                nodes -= here;
                let free = subnet.free_addresses - here * self.per_node;
                left.push(format!("{} has {free}", subnet.id));
            }
            let left = if left.is_empty() {
                "no subnet".to_owned()
            } else {
                left.join(", ")
            };
            said.push(format!("{zone}: {left}"));
        }
        let needed = self.per_node;
        Some(format!(
            "a node needs {needed} free addresses of one subnet; {}",
            said.join("; ")
        ))
    }
}

/// Addresses that a node takes when it starts.
fn needed(snapshot: &Snapshot, capacity: &Resources) -> u64 {
    let slots = || capacity.get(&ResourceName::Pods).get();
    snapshot.addresses_per_node.unwrap_or_else(slots)
}

fn is_on_its_way(node: &Node) -> bool {
    node.stage == NodeStage::InFlight
}
