//! What a class' selectors came to.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::InstanceMatchCriteria;
use crate::api::{Condition, absent};

/// What is known of an EC2NodeClass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EC2NodeClassStatus {
    /// Images, the newest first.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null))]
    pub amis: Vec<Ami>,
    /// Capacity reservations.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null))]
    pub capacity_reservations: Vec<CapacityReservation>,
    /// Whether the class is usable, and why not.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null))]
    pub conditions: Vec<Condition>,
    /// The instance profile of machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_profile: Option<String>,
    /// Security groups.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null))]
    pub security_groups: Vec<SecurityGroup>,
    /// Subnets, those with the most free addresses first.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null))]
    pub subnets: Vec<Subnet>,
}

/// An image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ami {
    /// Whether its owner advises against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<bool>,
    /// Identifier.
    pub id: String,
    /// Name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Which instance types it runs on.
    pub requirements: Vec<AmiRequirement>,
}

/// A condition on an instance type's label, in Kubernetes' own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AmiRequirement {
    /// The label's key.
    pub key: String,
    /// How the label is compared with the values; not checked by the schema.
    pub operator: String,
    /// What it is compared with.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null, "x-kubernetes-list-type" = "atomic"))]
    pub values: Vec<String>,
}

/// A subnet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subnet {
    /// Identifier.
    pub id: String,
    /// Zone.
    pub zone: String,
    /// Zone, by the identifier that means the same in every account.
    #[serde(default, rename = "zoneID", skip_serializing_if = "Option::is_none")]
    pub zone_id: Option<String>,
}

/// A security group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecurityGroup {
    /// Identifier.
    pub id: String,
    /// Name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A capacity reservation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapacityReservation {
    /// Zone.
    pub availability_zone: String,
    /// When it ends; never, where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Time>,
    /// Identifier.
    #[schemars(extend("pattern" = "^cr-[0-9a-z]+$"))]
    pub id: String,
    /// Which machines run in it.
    pub instance_match_criteria: InstanceMatchCriteria,
    /// Instance type.
    pub instance_type: String,
    /// Whether EC2 may take its machines back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interruptible: Option<bool>,
    /// Account number of the owner.
    #[serde(rename = "ownerID")]
    #[schemars(extend("pattern" = "^[0-9]{12}$"))]
    pub owner_id: String,
    /// Kind of reservation.
    #[serde(default, deserialize_with = "absent::or_default")]
    pub reservation_type: ReservationType,
    /// Whether it is near its end.
    #[serde(default, deserialize_with = "absent::or_default")]
    pub state: ReservationState,
}

/// Kinds of capacity reservations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReservationType {
    /// An ordinary one.
    #[default]
    Default,
    /// One of machine learning's blocks, which end.
    CapacityBlock,
}

/// Whether a capacity reservation is near its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReservationState {
    /// It isn't.
    #[default]
    Active,
    /// It is: nothing new is put there, and what runs there has to move.
    Expiring,
}
