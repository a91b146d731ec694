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
    /// Objective dollars per hour of a vCPU that is stranded on a launched node: free, with no memory of the node's own
    /// proportion free beside it; or the vCPU that stranded memory stands for in that proportion.
    #[serde(default)]
    pub fragmentation: Price,
    /// Objective dollars per hour of each vCPU by which the pool's fullest zone exceeds its emptiest.
    #[serde(default)]
    pub zone_imbalance: Price,
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
            fragmentation: Price::default(),
            zone_imbalance: Price::default(),
        }
    }
}

impl Weights {
    /// Objective of one node at this price, rounded to the nearest micro-dollar.
    #[must_use]
    pub fn node(&self, price: Price) -> Cost {
        self.scaled(price) + self.node_hour.cost()
    }

    /// The same without what is fixed per node.
    #[must_use]
    pub fn scaled(&self, price: Price) -> Cost {
        let weighted =
            u128::from(price.micros()) * u128::from(self.price_millionths) + u128::from(MILLION / 2);
        Cost::from_micros(i64::try_from(weighted / u128::from(MILLION)).unwrap_or(i64::MAX))
    }

    /// Objective per hour of so many interruptions in a million hours, rounded to the nearest micro-dollar.
    #[must_use]
    pub fn interruptions(&self, in_a_million_hours: u32) -> Cost {
        let weighted = u128::from(self.interruption.micros()) * u128::from(in_a_million_hours);
        let micros = (weighted + u128::from(MILLION / 2)) / u128::from(MILLION);
        Cost::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
    }
}

/// What the objective of a plan is made of, each after the weight that it is charged by. Dollars per hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Terms {
    /// Prices of all nodes, scaled.
    pub price: Cost,
    /// What is fixed per node.
    pub node_hour: Cost,
    /// Interruptions that are to be expected.
    pub interruption: Cost,
    /// Soft constraints that aren't met.
    pub preference: Cost,
    /// What is stranded on launched nodes.
    pub fragmentation: Cost,
    /// By how much zones differ.
    pub zone_imbalance: Cost,
}

impl Terms {
    /// Each with its name, that of its weight.
    #[must_use]
    pub fn named(&self) -> [(&'static str, Cost); 6] {
        let Self {
            price,
            node_hour,
            interruption,
            preference,
            fragmentation,
            zone_imbalance,
        } = *self;
        [
            ("price", price),
            ("nodeHour", node_hour),
            ("interruption", interruption),
            ("preference", preference),
            ("fragmentation", fragmentation),
            ("zoneImbalance", zone_imbalance),
        ]
    }

    /// All of them together: the objective.
    #[must_use]
    pub fn sum(&self) -> Cost {
        self.named().iter().map(|(_, cost)| *cost).sum()
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
