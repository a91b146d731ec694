//! Offerings: an instance type in a zone under a capacity type, with its price.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::money::Price;
use super::name::ZoneName;

/// How capacity is bought. The order is Karpenter's: reserved before spot before on-demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CapacityType {
    /// Out of a capacity reservation that is paid already.
    Reserved,
    /// Spare capacity that may be taken back.
    Spot,
    /// At list price.
    OnDemand,
}

impl CapacityType {
    /// The value of the label `karpenter.sh/capacity-type`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::Spot => "spot",
            Self::OnDemand => "on-demand",
        }
    }

    /// From the value of the label.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "reserved" => Self::Reserved,
            "spot" => Self::Spot,
            "on-demand" => Self::OnDemand,
            _ => return None,
        })
    }
}

impl fmt::Display for CapacityType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One way to buy an instance type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Offering {
    /// Where.
    pub zone: ZoneName,
    /// The zone's account-independent id (`use1-az1`), where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone_id: Option<String>,
    /// How it is bought.
    pub capacity_type: CapacityType,
    /// Dollars per hour. Zero is no offer unless it is reserved: whoever builds the catalogue leaves such offers out.
    pub price: Price,
    /// Whether it can be launched now.
    pub available: bool,
    /// How many at this price; `None`: any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Capacity reservation behind it (label `karpenter.k8s.aws/capacity-reservation-id`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation_id: Option<String>,
    /// Savings plan or the like that makes this price; offerings of one commitment share nothing but the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commitment: Option<String>,
}
