//! Offerings: only what can be bought now, and no more of it than there is.
//!
//! A price of zero is no offer unless the capacity is paid already. An offer that is limited in number is one supply,
//! whichever node pools draw on it; existing nodes that hold it have used theirs.

use std::collections::BTreeMap;

use crate::model::instance_type::{
    CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, InstanceType, RESERVATION_LABEL, ZONE_LABEL,
};
use crate::model::name::ZoneName;
use crate::model::node::Node;
use crate::model::offering::{CapacityType, Offering};
use crate::model::snapshot::Snapshot;

/// Whether the offering can be launched now.
#[must_use]
pub fn is_buyable(offering: &Offering) -> bool {
    offering.available
        && (offering.price.micros() > 0 || offering.capacity_type == CapacityType::Reserved)
        && offering.limit != Some(0)
}

/// Offers that are limited in number: how many there are of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Supplies {
    /// How many may be launched, by index.
    pub left: Vec<u64>,
    index: BTreeMap<(String, Offering), usize>,
    /// Supplies of zones of which the subnets have few addresses.
    zones: BTreeMap<ZoneName, usize>,
    /// Whether a limited offer was given less of its zone than it might have had: each draws on one supply only.
    pub has_lost: bool,
}

impl Supplies {
    /// Nodes of a zone are limited in number, whatever their offer.
    pub fn limit_zone(&mut self, zone: &ZoneName, nodes: u64) {
        self.zones.insert(zone.clone(), self.left.len());
        self.left.push(nodes);
    }

    /// The index of a limited offer, or of its zone; the same offer has the same index in every node pool.
    pub fn of(
        &mut self,
        snapshot: &Snapshot,
        instance_type: &InstanceType,
        offering: &Offering,
    ) -> Option<usize> {
        let of_zone = self.zones.get(&offering.zone).copied();
        let Some(limit) = offering.limit else {
            return of_zone;
        };
        let (left, has_lost) = (&mut self.left, &mut self.has_lost);
        let key = (instance_type.name.to_string(), offering.clone());
        Some(*self.index.entry(key).or_insert_with(|| {
            let holding = snapshot
                .nodes
                .iter()
                .filter(|node| holds(node, instance_type, offering));
            let held = u64::try_from(holding.count()).unwrap_or(u64::MAX);
            let mut own = u64::from(limit).saturating_sub(held);
            if let Some(zone) = of_zone {
                own = own.min(left[zone]);
                left[zone] -= own;
                *has_lost = true;
            }
            left.push(own);
            left.len() - 1
        }))
    }
}

/// Whether an existing node is one of those that the limited offer counts.
fn holds(node: &Node, instance_type: &InstanceType, offering: &Offering) -> bool {
    let is = |key: &str, value: &str| node.labels.get(key).is_some_and(|label| label == value);
    node.price == offering.price
        && is(INSTANCE_TYPE_LABEL, instance_type.name.as_str())
        && is(ZONE_LABEL, offering.zone.as_str())
        && is(CAPACITY_TYPE_LABEL, offering.capacity_type.as_str())
        && match (node.labels.get(RESERVATION_LABEL), &offering.reservation_id) {
            (Some(label), Some(reservation)) => label == reservation,
            _ => true,
        }
}
