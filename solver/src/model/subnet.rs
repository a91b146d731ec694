//! Subnets: where nodes have their addresses from.

use serde::{Deserialize, Serialize};

use super::name::ZoneName;

/// A subnet and how much of it is free.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subnet {
    /// Its id.
    pub id: String,
    /// Its zone.
    pub zone: ZoneName,
    /// Addresses that nobody uses.
    pub free_addresses: u64,
}
