//! Offerings: only what can be bought now, and no more of it than there is.
//!
//! A price of zero is no offer unless the capacity is paid already. Offers that are limited in number are one supply if
//! they are of one capacity reservation or one commitment, else each by itself, whichever node pools draw on it. There are
//! as many as the least number that any of its offers states, less the existing nodes that hold one.

use std::collections::BTreeMap;

use crate::model::instance_type::{CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, InstanceType, ZONE_LABEL};
use crate::model::node::Node;
use crate::model::offering::{CapacityType, Offering, Supply};
use crate::model::snapshot::Snapshot;

/// Whether the offering can be launched now.
#[must_use]
pub fn is_buyable(offering: &Offering) -> bool {
    offering.available
        && (offering.price.micros() > 0 || offering.capacity_type == CapacityType::Reserved)
        && offering.limit != Some(0)
}

/// What shares one number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shared {
    /// Under a name.
    Named(Supply),
    /// One offer of an instance type, which has no name.
    Alone(String, Offering),
}

impl Shared {
    /// The number that an offer draws on; `None`: it isn't limited.
    #[must_use]
    pub fn of(instance_type: &InstanceType, offering: &Offering) -> Option<Self> {
        offering.limit?;
        let alone = || Self::Alone(instance_type.name.to_string(), offering.clone());
        Some(offering.supply().map_or_else(alone, Self::Named))
    }

    /// How many there are, those in use among them.
    #[must_use]
    pub fn number(&self, snapshot: &Snapshot) -> u64 {
        let number = match self {
            Self::Alone(_, offering) => offering.limit,
            Self::Named(name) => {
                let types = snapshot
                    .node_classes
                    .values()
                    .flat_map(|class| &class.instance_types);
                let offerings = types.flat_map(|instance_type| &instance_type.offerings);
                let shared =
                    offerings.filter(|other| other.limit.is_some() && other.supply().as_ref() == Some(name));
                shared.filter_map(|other| other.limit).min()
            }
        };
        u64::from(number.unwrap_or(0))
    }

    /// How many existing nodes hold one.
    #[must_use]
    pub fn held(&self, snapshot: &Snapshot) -> u64 {
        let holds = |node: &&Node| match self {
            Self::Named(name) => node.supply.as_ref() == Some(name),
            Self::Alone(instance_type, offering) => {
                let is = |key: &str, value: &str| node.labels.get(key).is_some_and(|label| label == value);
                node.supply.is_none()
                    && node.price == offering.price
                    && is(INSTANCE_TYPE_LABEL, instance_type)
                    && is(ZONE_LABEL, offering.zone.as_str())
                    && is(CAPACITY_TYPE_LABEL, offering.capacity_type.as_str())
            }
        };
        u64::try_from(snapshot.nodes.iter().filter(holds).count()).unwrap_or(u64::MAX)
    }
}

/// Offers that are limited in number: how many there are of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Supplies {
    /// How many may be launched, by index.
    pub left: Vec<u64>,
    index: BTreeMap<Shared, usize>,
}

impl Supplies {
    /// The index of a limited offer's number; offers that share it have the same index in every node pool.
    pub fn of(
        &mut self,
        snapshot: &Snapshot,
        instance_type: &InstanceType,
        offering: &Offering,
    ) -> Option<usize> {
        let left = &mut self.left;
        let shared = Shared::of(instance_type, offering)?;
        if let Some(index) = self.index.get(&shared) {
            return Some(*index);
        }
        left.push(shared.number(snapshot).saturating_sub(shared.held(snapshot)));
        self.index.insert(shared, left.len() - 1);
        Some(left.len() - 1)
    }
}
