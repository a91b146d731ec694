//! Status conditions, as every kind here carries them, and the names of those that other programs read.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::absent;

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
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
