//! Instance types as one node class sees them.

use serde::{Deserialize, Serialize};

use super::name::{InstanceTypeName, ZoneName};
use super::offering::{CapacityType, Offering};
use super::requirement::{Labels, ValueSet};
use super::resources::Resources;

/// A kind of machine: its labels, what pods may use of it, and how it can be bought.
///
/// Allocatable depends on the node class (AMI family, kubelet settings, disks), so one EC2 type is as many values
/// of this type as there are node classes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceType {
    /// Its name.
    pub name: InstanceTypeName,
    /// Labels that every node of this type carries, zone and capacity type apart (those are the offering's).
    pub labels: Labels,
    /// Labels with several possible values, of which a launch takes one (`karpenter.k8s.aws/instance-tenancy`), by key.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub choices: std::collections::BTreeMap<String, ValueSet>,
    /// Raw size; NodePool limits count this.
    pub capacity: Resources,
    /// What pods, DaemonSets included, may use.
    pub allocatable: Resources,
    /// How often a spot node of it is taken back, in a million hours.
    #[serde(default, skip_serializing_if = "is_never")]
    pub interruptions_per_million_hours: u32,
    /// Ways to buy it, ordered by zone, capacity type and price. Unavailable ones are listed too.
    pub offerings: Vec<Offering>,
}

/// Label of the instance type's name.
pub const INSTANCE_TYPE_LABEL: &str = "node.kubernetes.io/instance-type";
/// Label of the zone.
pub const ZONE_LABEL: &str = "topology.kubernetes.io/zone";
/// Label of the zone's id.
pub const ZONE_ID_LABEL: &str = "topology.k8s.aws/zone-id";
/// Label of the capacity type.
pub const CAPACITY_TYPE_LABEL: &str = "karpenter.sh/capacity-type";
/// Label of the capacity reservation's id.
pub const RESERVATION_LABEL: &str = "karpenter.k8s.aws/capacity-reservation-id";
/// Label of its kind.
pub const RESERVATION_TYPE_LABEL: &str = "karpenter.k8s.aws/capacity-reservation-type";
/// Label of whether EC2 may take its machines back.
pub const RESERVATION_INTERRUPTIBLE_LABEL: &str = "karpenter.k8s.aws/capacity-reservation-interruptible";
/// Label of the host: pods may select it, a node to come has no value yet.
pub const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";
/// Label of the node pool.
pub const NODE_POOL_LABEL: &str = "karpenter.sh/nodepool";

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_never(interruptions: &u32) -> bool {
    *interruptions == 0
}

impl InstanceType {
    /// Interruptions to expect in a million hours of a node that is bought like this: only spot is taken back.
    #[must_use]
    pub fn interruptions(&self, capacity_type: CapacityType) -> u32 {
        match capacity_type {
            CapacityType::Spot => self.interruptions_per_million_hours,
            CapacityType::Reserved | CapacityType::OnDemand => 0,
        }
    }

    /// All labels that a node launched from this offering is certain to carry (the node pool's apart).
    #[must_use]
    pub fn labels_with(&self, offering: &Offering) -> Labels {
        let mut labels = self.labels.clone();
        labels.insert(INSTANCE_TYPE_LABEL.to_owned(), self.name.to_string());
        for key in Offering::LABELS {
            if let Some(value) = offering.label(key) {
                labels.insert(key.to_owned(), value.to_owned());
            }
        }
        labels
    }

    /// The cheapest available offering in a zone under a capacity type.
    #[must_use]
    pub fn offering(&self, zone: &ZoneName, capacity_type: CapacityType) -> Option<&Offering> {
        self.offerings
            .iter()
            .filter(|offering| {
                offering.available && offering.zone == *zone && offering.capacity_type == capacity_type
            })
            .min_by_key(|offering| offering.price)
    }
}
