//! Subnets: where nodes get their addresses.

use serde::{Deserialize, Serialize};

use super::name::{SubnetId, ZoneName};

/// A subnet and how much of it is free.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subnet {
    /// Its id.
    pub id: SubnetId,
    /// Its zone.
    pub zone: ZoneName,
    /// Addresses that nobody uses, in numbers.
    pub free_addresses: u64,
}
