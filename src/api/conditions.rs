//! Status conditions, as every kind here carries them, and the names of those that other programs read.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{absent, whole};

/// One aspect of an object's state.
///
/// `k8s-openapi` has this type too, but without the rules that the definitions state. Only a NodeClaim may leave out reason
/// and message; reading is lenient for all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["lastTransitionTime", "message", "reason", "status", "type"]))]
pub struct Condition {
    /// When the condition last changed its status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// Details for people.
    #[serde(default, deserialize_with = "absent::or_default")]
    #[schemars(extend("default" = null, "maxLength" = 32768))]
    pub message: String,
    /// The generation of the object that was judged.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole::optional"
    )]
    #[schemars(extend("minimum" = 0))]
    pub observed_generation: Option<i64>,
    /// The reason of the last change, for programs.
    #[serde(default, deserialize_with = "absent::or_default")]
    #[schemars(extend(
        "default" = null,
        "minLength" = 1,
        "maxLength" = 1024,
        "pattern" = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
    ))]
    pub reason: String,
    /// `True`, `False` or `Unknown`.
    #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
    pub status: String,
    /// What is judged; with a domain in front where it isn't one of ours.
    #[serde(rename = "type")]
    #[schemars(extend(
        "maxLength" = 316,
        "pattern" = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
    ))]
    pub type_: String,
}

/// What conditions are about: values of [`Condition::type_`], and some reasons, that other programs read.
pub mod condition {
    /// The sum of those that the object needs to be of use.
    pub const READY: &str = "Ready";

    // Of a NodePool; Ready is the first two together.
    /// What the schema couldn't check is in order.
    pub const VALIDATION_SUCCEEDED: &str = "ValidationSucceeded";
    /// The pool's class is of use.
    pub const NODE_CLASS_READY: &str = "NodeClassReady";
    /// Machines of the pool usually become nodes.
    pub const NODE_REGISTRATION_HEALTHY: &str = "NodeRegistrationHealthy";

    // Of a NodeClaim; Ready is the first three together.
    /// The cloud has made the machine.
    pub const LAUNCHED: &str = "Launched";
    /// The machine has become a node.
    pub const REGISTERED: &str = "Registered";
    /// The node is of use for pods.
    pub const INITIALIZED: &str = "Initialized";
    /// The node has been quiet for long enough.
    pub const CONSOLIDATABLE: &str = "Consolidatable";
    /// The machine no longer is what its pool or class asks for.
    pub const DRIFTED: &str = "Drifted";
    /// No pods are left that have to be waited for.
    pub const DRAINED: &str = "Drained";
    /// No volumes are attached any more.
    pub const VOLUMES_DETACHED: &str = "VolumesDetached";
    /// The cloud has been told to take the machine down.
    pub const INSTANCE_TERMINATING: &str = "InstanceTerminating";
    /// Claim and node agree with each other.
    pub const CONSISTENT_STATE_FOUND: &str = "ConsistentStateFound";
    /// The node is being disrupted; the reason says why.
    pub const DISRUPTION_REASON: &str = "DisruptionReason";
    /// The machine is being rebooted.
    pub const REBOOTING: &str = "Rebooting";

    // Of an EC2NodeClass; Ready is all of them together.
    /// Images were found.
    pub const AMIS_READY: &str = "AMIsReady";
    /// Subnets were found.
    pub const SUBNETS_READY: &str = "SubnetsReady";
    /// Security groups were found.
    pub const SECURITY_GROUPS_READY: &str = "SecurityGroupsReady";
    /// The instance profile is there.
    pub const INSTANCE_PROFILE_READY: &str = "InstanceProfileReady";
    /// The placement group was found.
    pub const PLACEMENT_GROUP_READY: &str = "PlacementGroupReady";
    /// Capacity reservations were looked up.
    pub const CAPACITY_RESERVATIONS_READY: &str = "CapacityReservationsReady";

    // Of a CapacityBuffer.
    /// It is known what one unit of it is, and how many.
    pub const READY_FOR_PROVISIONING: &str = "ReadyForProvisioning";
    /// The room is there, or is being made.
    pub const PROVISIONING: &str = "Provisioning";
}
