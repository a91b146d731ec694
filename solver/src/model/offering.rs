//! Offerings: an instance type in a zone under a capacity type, with its price.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::instance_type::{
    CAPACITY_TYPE_LABEL, RESERVATION_INTERRUPTIBLE_LABEL, RESERVATION_LABEL, RESERVATION_TYPE_LABEL,
    ZONE_ID_LABEL, ZONE_LABEL,
};
use super::money::Price;
use super::name::ZoneName;
use super::time::Timestamp;

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

/// Kinds of capacity reservations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReservationType {
    /// An ordinary one.
    #[default]
    Default,
    /// A capacity block: it has an end, and EC2 takes its machines back before that.
    CapacityBlock,
}

impl ReservationType {
    /// The value of the label `karpenter.k8s.aws/capacity-reservation-type`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::CapacityBlock => "capacity-block",
        }
    }
}

/// The capacity reservation behind an offering.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reservation {
    /// Its id. Offerings of one reservation share one number, the least that any of them states.
    pub id: String,
    /// Its kind.
    #[serde(default)]
    pub kind: ReservationType,
    /// Whether EC2 may take its machines back.
    #[serde(default)]
    pub interruptible: bool,
    /// When it ends; `None`: never, or not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<Timestamp>,
}

impl Reservation {
    /// An ordinary one without an end.
    #[must_use]
    pub fn plain(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            kind: ReservationType::Default,
            interruptible: false,
            ends: None,
        }
    }
}

/// The name under which offerings share one number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Supply {
    /// A capacity reservation's id.
    Reservation(String),
    /// A commitment's name.
    Commitment(String),
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
    /// How many at this price; `None`: any number. Offerings of one reservation or commitment share the least of theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The capacity reservation behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<Reservation>,
    /// Savings plan or the like that makes this price. It means nothing beside a reservation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commitment: Option<String>,
}

impl Offering {
    /// The id of its capacity reservation.
    #[must_use]
    pub fn reservation_id(&self) -> Option<&str> {
        self.reservation
            .as_ref()
            .map(|reservation| reservation.id.as_str())
    }

    /// The name under which it shares its number, where it has one.
    #[must_use]
    pub fn supply(&self) -> Option<Supply> {
        let reservation = self.reservation_id().map(|id| Supply::Reservation(id.to_owned()));
        reservation.or_else(|| self.commitment.clone().map(Supply::Commitment))
    }

    /// The value that a node bought like this has under a label that is the offering's own.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        let reservation = self.reservation.as_ref();
        match key {
            ZONE_LABEL => Some(self.zone.as_str()),
            ZONE_ID_LABEL => self.zone_id.as_deref(),
            CAPACITY_TYPE_LABEL => Some(self.capacity_type.as_str()),
            RESERVATION_LABEL => self.reservation_id(),
            RESERVATION_TYPE_LABEL => reservation.map(|reservation| reservation.kind.as_str()),
            RESERVATION_INTERRUPTIBLE_LABEL => reservation.map(|reservation| {
                if reservation.interruptible {
                    "true"
                } else {
                    "false"
                }
            }),
            _ => None,
        }
    }

    /// Labels that are an offering's own, whether or not each has them.
    pub const LABELS: [&str; 6] = [
        ZONE_LABEL,
        ZONE_ID_LABEL,
        CAPACITY_TYPE_LABEL,
        RESERVATION_LABEL,
        RESERVATION_TYPE_LABEL,
        RESERVATION_INTERRUPTIBLE_LABEL,
    ];
}
