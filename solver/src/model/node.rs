//! Nodes that exist or are on their way.

use serde::{Deserialize, Serialize};

use super::money::Price;
use super::name::{NodeName, NodePoolName};
use super::offering::Supply;
use super::requirement::Labels;
use super::resources::Resources;
use super::taint::Taint;
use super::time::Timestamp;

/// How far a node has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NodeStage {
    /// A NodeClaim without a Node yet: what it will have is known from its instance type.
    InFlight,
    /// A Node that isn't initialised: startup and ephemeral taints will go, devices will come.
    Registered,
    /// A Node that says itself what it has.
    Initialized,
}

/// One node, existing or in flight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// Its name; the NodeClaim's while there is no Node.
    pub name: NodeName,
    /// The NodePool it belongs to; `None`: not ours to disrupt, but pods may use its room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_pool: Option<NodePoolName>,
    /// How far it has come.
    pub stage: NodeStage,
    /// Whether the cloud has made it: then it has its addresses, whatever its stage.
    #[serde(default)]
    pub launched: bool,
    /// Whether it takes new pods as far as its `Ready` condition goes.
    pub ready: bool,
    /// Cordoned: takes no new pods.
    pub unschedulable: bool,
    /// Being deleted or disrupted: takes no new pods, and its pods need other places.
    pub deleting: bool,
    /// Its labels, the hostname among them.
    pub labels: Labels,
    /// Taints that pods must tolerate; those that go by themselves before it is initialised are left out.
    pub taints: Vec<Taint>,
    /// Raw size; limits of the NodePool count this.
    pub capacity: Resources,
    /// What pods, DaemonSets included, may use in all.
    pub allocatable: Resources,
    /// What it costs by the catalogue; zero where the catalogue doesn't know its type.
    pub price: Price,
    /// The reservation or commitment whose number it uses up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supply: Option<Supply>,
    /// When it was created, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
}

impl Node {
    /// Whether a pod that isn't there yet may be put there at all.
    #[must_use]
    pub fn takes_pods(&self) -> bool {
        !self.unschedulable && !self.deleting && (self.ready || self.stage != NodeStage::Initialized)
    }
}
