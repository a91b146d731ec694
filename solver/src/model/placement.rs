//! Where PackingPolicies want pods to go, beside what it costs.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::instance_type::InstanceType;
use super::name::NodePoolName;
use super::node::Node;
use super::resources::{ResourceName, Resources};

/// What is asked of the nodes of some NodePools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// On nodes of these that have an accelerator, only pods that ask for one are placed. DaemonSets' are not asked.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub keep_off_accelerators: BTreeSet<NodePoolName>,
    /// Room that every new node of these keeps free of the pods that it is launched for. Room of existing nodes isn't kept.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headroom: BTreeMap<NodePoolName, Resources>,
}

impl Placement {
    /// Whether it asks for nothing.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether a resource is an accelerator: NVIDIA's and AMD's GPUs, Neuron devices and cores, Gaudi.
#[must_use]
pub fn is_accelerator(name: &ResourceName) -> bool {
    let name = name.as_str();
    let families = ["nvidia.com/gpu", "nvidia.com/mig-", "aws.amazon.com/neuron"];
    ["amd.com/gpu", "habana.ai/gaudi"].contains(&name)
        || families.iter().any(|family| name.starts_with(family))
}

/// Whether any accelerator is among these amounts.
#[must_use]
pub fn names_accelerator(amounts: &Resources) -> bool {
    amounts
        .iter()
        .any(|(name, amount)| amount.get() > 0 && is_accelerator(name))
}

impl InstanceType {
    /// Whether its nodes have an accelerator.
    #[must_use]
    pub fn has_accelerator(&self) -> bool {
        names_accelerator(&self.capacity) || names_accelerator(&self.allocatable)
    }
}

impl Node {
    /// Whether it has an accelerator, in use or not.
    #[must_use]
    pub fn has_accelerator(&self) -> bool {
        names_accelerator(&self.capacity) || names_accelerator(&self.allocatable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accelerators_are_known_by_name() {
        for (name, expected) in [
            ("nvidia.com/gpu", true),
            ("nvidia.com/gpu.shared", true),
            ("nvidia.com/mig-1g.5gb", true),
            ("amd.com/gpu", true),
            ("aws.amazon.com/neuron", true),
            ("aws.amazon.com/neuroncore", true),
            ("habana.ai/gaudi", true),
            ("vpc.amazonaws.com/efa", false),
            ("cpu", false),
            ("example.com/nvidia.com/gpu", false),
        ] {
            assert_eq!(is_accelerator(&ResourceName::from(name)), expected, "{name}");
        }
    }
}
