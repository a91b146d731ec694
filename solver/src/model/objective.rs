//! What a plan minimises: money per hour, weighed per NodePool.
//!
//! Units: every dollar figure in micro-dollars, every share in millionths. The prices of a PackingPolicy become
//! these integers at the edge, so that the same policy gives the same plan to the last byte.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::money::{Cost, Price};
use super::name::NodePoolName;

/// One whole in millionths.
pub const MILLION: u64 = 1_000_000;

/// Weights of one NodePool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Weights {
    /// Objective dollars per dollar on the bill, in millionths.
    pub price_millionths: u64,
    /// Fixed objective dollars per node and hour.
    pub node_hour: Price,
    /// Objective dollars per interruption that is to be expected.
    #[serde(default)]
    pub interruption: Price,
    /// Objective dollars per hour that a soft constraint of weight 1 is unmet.
    #[serde(default = "usual_preference")]
    pub preference: Price,
}

/// A tenth of a cent an hour.
fn usual_preference() -> Price {
    Price::from_micros(1_000)
}

impl Default for Weights {
    /// The bill, and little for what is wished.
    fn default() -> Self {
        Self {
            price_millionths: MILLION,
            node_hour: Price::default(),
            interruption: Price::default(),
            preference: usual_preference(),
        }
    }
}

impl Weights {
    /// Objective of one node at this price, rounded to the nearest micro-dollar.
    #[must_use]
    pub fn node(&self, price: Price) -> Cost {
        let weighted =
            u128::from(price.micros()) * u128::from(self.price_millionths) + u128::from(MILLION / 2);
        let micros = weighted / u128::from(MILLION) + u128::from(self.node_hour.micros());
        Cost::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
    }

    /// Objective per hour of so many interruptions in a million hours, rounded to the nearest micro-dollar.
    #[must_use]
    pub fn interruptions(&self, in_a_million_hours: u32) -> Cost {
        let weighted = u128::from(self.interruption.micros()) * u128::from(in_a_million_hours);
        let micros = (weighted + u128::from(MILLION / 2)) / u128::from(MILLION);
        Cost::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
    }
}

/// Weights by NodePool; a pool that isn't named has the defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Objective {
    /// By NodePool.
    #[serde(default)]
    pub weights: BTreeMap<NodePoolName, Weights>,
}

impl Objective {
    /// The weights of a node pool; the defaults for a node of none.
    #[must_use]
    pub fn weights(&self, node_pool: Option<&NodePoolName>) -> Weights {
        node_pool
            .and_then(|name| self.weights.get(name))
            .copied()
            .unwrap_or_default()
    }

    /// What a soft constraint of weight 1 across nodes counts: the most that it does on nodes of any of these pools.
    #[must_use]
    pub fn preference_across<'a>(&self, node_pools: impl IntoIterator<Item = &'a NodePoolName>) -> Price {
        let of_pools = node_pools.into_iter();
        let most = of_pools.map(|name| self.weights(Some(name)).preference).max();
        most.unwrap_or_else(usual_preference)
    }
}
