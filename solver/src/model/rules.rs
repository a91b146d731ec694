//! What a pod asks of its place beside room, selector and tolerations: other pods, domains, ports, volumes.
//!
//! Hard rules and preferences stand apart. Everything is resolved: namespaces by name, `matchLabelKeys` and
//! `mismatchLabelKeys` merged into the selectors, the cluster's default spread constraints filled in, claims looked up.
//! Sources: Kubernetes API reference, `TopologySpreadConstraint`, `PodAffinityTerm`, `PreferredSchedulingTerm`,
//! `ContainerPort`; Kubernetes documentation, "Pod Topology Spread Constraints" and "Assigning Pods to Nodes".

use serde::{Deserialize, Serialize};

use super::explain::Constraint;
use super::requirement::{NodeSelectorTerm, NodeSelectorTerms};
use super::resources::Resources;
use super::selector::PodSelector;

/// One topology spread constraint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TopologySpread {
    /// The label whose values are the domains; nodes without it are no domain, and no place under a hard constraint.
    pub topology_key: String,
    /// The most that a domain may have above the least; at least 1.
    pub max_skew: u32,
    /// Where there are fewer eligible domains, the least counts as nothing. Only with a hard constraint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_domains: Option<u32>,
    /// `DoNotSchedule`; otherwise `ScheduleAnyway`, a preference.
    pub is_hard: bool,
    /// The pods that count.
    pub selector: PodSelector,
    /// `nodeAffinityPolicy: Honor`: only nodes that the pod's selector and affinity admit are domains.
    pub honours_affinity: bool,
    /// `nodeTaintsPolicy: Honor`: only nodes whose taints the pod tolerates are domains.
    pub honours_taints: bool,
}

/// Pods that another wants to be near or away from, and how near is near.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodTerm {
    /// Nodes with the same value of this label are near each other; one without it is near none.
    pub topology_key: String,
    /// The pods.
    pub selector: PodSelector,
}

/// A preference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Weighted<T> {
    /// 1 to 100.
    pub weight: u32,
    /// What is preferred.
    pub wish: T,
}

/// A transport protocol of a host port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Protocol {
    /// TCP, also where nothing is said.
    #[default]
    #[serde(rename = "TCP")]
    Tcp,
    /// UDP.
    #[serde(rename = "UDP")]
    Udp,
    /// SCTP.
    #[serde(rename = "SCTP")]
    Sctp,
}

/// A port on the node. Two clash if number and protocol are equal, and the address is, or either has all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostPort {
    /// Which.
    pub number: u16,
    /// Its protocol.
    pub protocol: Protocol,
    /// One address of the node; `None`: all of them (also `0.0.0.0` and `::`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

impl HostPort {
    /// Whether the two can't be on one node.
    #[must_use]
    pub fn clashes_with(&self, other: &Self) -> bool {
        let shares_address =
            self.address.is_none() || other.address.is_none() || self.address == other.address;
        self.number == other.number && self.protocol == other.protocol && shares_address
    }
}

/// A persistent volume that only some nodes reach.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Volume {
    /// Name of its claim, for explanations.
    pub claim: String,
    /// Nodes that reach it: node affinity of the bound volume, or allowed topologies of the storage class.
    pub reach: NodeSelectorTerms,
}

/// Pods that are placed all or none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Gang {
    /// Its name within the pods' namespace.
    pub name: String,
    /// Nothing is placed before there are so many, running ones counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
}

/// Why no place will do for a pod as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Impossible {
    /// Which rule.
    pub constraint: Constraint,
    /// What is wrong, with names.
    pub detail: String,
    /// What would make it possible, where that is one act and all else is well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Remedy>,
}

/// One act outside of the pod and the NodePools that would make a pod possible, and what the pod asks for then.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remedy {
    /// The act, in words.
    pub what: String,
    /// What the pod asks for then, beside what it asks for now.
    #[serde(default)]
    pub requests: Resources,
    /// The volume that it has then, where not all nodes reach it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<Volume>,
}

/// All rules of a pod about more than a node's room, labels and taints.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodRules {
    /// Topology spread constraints, hard and soft.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spread: Vec<TopologySpread>,
    /// Required affinity to other pods; a pod counts only if it matches *all* these selectors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub affinity: Vec<PodTerm>,
    /// Required anti-affinity; it holds in both directions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub anti_affinity: Vec<PodTerm>,
    /// Preferred affinity to other pods.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub preferred_affinity: Vec<Weighted<PodTerm>>,
    /// Preferred anti-affinity.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub preferred_anti_affinity: Vec<Weighted<PodTerm>>,
    /// Preferred node affinity.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub preferred_nodes: Vec<Weighted<NodeSelectorTerm>>,
    /// Ports that it takes on its node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_ports: Vec<HostPort>,
    /// Volumes that tie it to some nodes; how many may be attached to a node is a resource.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<Volume>,
    /// Others with which it comes or stays away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gang: Option<Gang>,
    /// Set where no place will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impossible: Option<Impossible>,
}

impl PodRules {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Terms of all rules about other pods, preferences among them; spreads apart.
    fn terms(&self) -> impl Iterator<Item = &PodTerm> {
        let wishes = self
            .preferred_affinity
            .iter()
            .chain(&self.preferred_anti_affinity);
        let terms = self.affinity.iter().chain(&self.anti_affinity);
        terms.chain(wishes.map(|wish| &wish.wish))
    }

    /// Selectors of all rules about other pods, preferences among them.
    pub fn selectors(&self) -> impl Iterator<Item = &PodSelector> {
        let of_spreads = self.spread.iter().map(|spread| &spread.selector);
        of_spreads.chain(self.terms().map(|term| &term.selector))
    }

    /// Topology keys of all rules about other pods.
    pub fn topology_keys(&self) -> impl Iterator<Item = &str> {
        let of_spreads = self.spread.iter().map(|spread| spread.topology_key.as_str());
        of_spreads.chain(self.terms().map(|term| term.topology_key.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(number: u16, address: Option<&str>) -> HostPort {
        HostPort {
            number,
            protocol: Protocol::Tcp,
            address: address.map(str::to_owned),
        }
    }

    #[test]
    fn ports_clash_where_they_share_number_protocol_and_an_address() {
        assert!(port(80, None).clashes_with(&port(80, Some("10.0.0.1"))));
        assert!(port(80, Some("10.0.0.1")).clashes_with(&port(80, Some("10.0.0.1"))));
        assert!(!port(80, Some("10.0.0.2")).clashes_with(&port(80, Some("10.0.0.1"))));
        assert!(!port(81, None).clashes_with(&port(80, None)));
        let udp = HostPort {
            protocol: Protocol::Udp,
            ..port(80, None)
        };
        assert!(!udp.clashes_with(&port(80, None)));
    }

    #[test]
    fn rules_that_are_not_there_are_not_written() {
        assert_eq!(serde_json::to_string(&PodRules::default()).unwrap(), "{}");
        assert!(PodRules::default().is_empty());
        let read: PodRules =
            serde_json::from_str(r#"{"hostPorts": [{"number": 80, "protocol": "UDP"}]}"#).unwrap();
        assert!(!read.is_empty());
        assert_eq!(read.host_ports[0].protocol, Protocol::Udp);
    }
}
