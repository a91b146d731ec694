//! The snapshot: everything a decision needs, frozen at one instant.
//!
//! Promises: ordered by name, validated (every name that is referred to exists, no name twice), versioned,
//! serialisable. The planner and the check read nothing else.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::instance_type::{CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL};
use super::money::{Cost, Price};
use super::name::{NodeClassName, NodeName, NodePoolName, PodName};
use super::node::Node;
use super::node_pool::{MinValuesPolicy, NodeClass, NodePool};
use super::objective::Objective;
use super::offering::CapacityType;
use super::placement::Placement;
use super::pod::{DaemonSet, Pod, PodPlace};
use super::subnet::Subnet;
use super::time::Timestamp;

/// Version of the serialised form; raised whenever its meaning changes.
pub const SNAPSHOT_VERSION: u32 = 1;

/// Everything a decision needs. Made by [`SnapshotParts::freeze`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "Serialised", into = "Serialised")]
pub struct Snapshot {
    parts: SnapshotParts,
}

/// What a snapshot is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotParts {
    /// The instant: ages and schedules count from it.
    pub now: Timestamp,
    /// AWS region of the catalogue.
    pub region: String,
    /// By name.
    pub node_classes: BTreeMap<NodeClassName, NodeClass>,
    /// Ordered by name.
    pub node_pools: Vec<NodePool>,
    /// Ordered by name.
    pub nodes: Vec<Node>,
    /// Ordered by name.
    pub daemon_sets: Vec<DaemonSet>,
    /// Ordered by namespace and name; finished pods aren't here.
    pub pods: Vec<Pod>,
    /// What to minimise.
    pub objective: Objective,
    /// Subnets, ordered by id. Where there are any, every launch takes its addresses from one of its zone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subnets: Vec<Subnet>,
    /// Addresses that a node takes when it starts; `None`: as many as its type has pod slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses_per_node: Option<u64>,
    /// How minValues of the NodePools are meant.
    #[serde(default)]
    pub min_values_policy: MinValuesPolicy,
    /// Where policies want pods to go.
    #[serde(default, skip_serializing_if = "Placement::is_default")]
    pub placement: Placement,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Serialised {
    version: u32,
    #[serde(flatten)]
    parts: SnapshotParts,
}

/// Why parts make no snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SnapshotError {
    /// A later or earlier format.
    #[error("snapshot version {found} can't be read (expected {SNAPSHOT_VERSION})")]
    Version {
        /// What the document says.
        found: u32,
    },
    /// The same name twice in one list.
    #[error("{kind} {name} is there twice")]
    Duplicate {
        /// What kind of thing.
        kind: &'static str,
        /// Which.
        name: String,
    },
    /// A NodePool whose node class isn't there.
    #[error("node pool {node_pool} names node class {node_class}, which isn't there")]
    NoNodeClass {
        /// The NodePool.
        node_pool: NodePoolName,
        /// What it names.
        node_class: NodeClassName,
    },
    /// A pod on a node that isn't there.
    #[error("pod {pod} is on node {node}, which isn't there")]
    NoNode {
        /// The pod.
        pod: PodName,
        /// What it names.
        node: NodeName,
    },
}

impl SnapshotParts {
    /// Orders and validates the parts.
    ///
    /// # Errors
    /// A name that is there twice, or one that is referred to and isn't there.
    pub fn freeze(mut self) -> Result<Snapshot, SnapshotError> {
        self.node_pools.sort_by(|one, two| one.name.cmp(&two.name));
        self.nodes.sort_by(|one, two| one.name.cmp(&two.name));
        self.daemon_sets.sort_by(|one, two| one.name.cmp(&two.name));
        self.pods.sort_by(|one, two| one.name.cmp(&two.name));
        self.subnets.sort_by(|one, two| one.id.cmp(&two.id));
        for class in self.node_classes.values_mut() {
            class.instance_types.sort_by(|one, two| one.name.cmp(&two.name));
            refuse_twice(
                "instance type",
                class
                    .instance_types
                    .iter()
                    .map(|instance_type| &instance_type.name),
            )?;
        }
        refuse_twice("node pool", self.node_pools.iter().map(|pool| &pool.name))?;
        refuse_twice("node", self.nodes.iter().map(|node| &node.name))?;
        refuse_twice(
            "daemon set",
            self.daemon_sets.iter().map(|daemon_set| &daemon_set.name),
        )?;
        refuse_twice("subnet", self.subnets.iter().map(|subnet| &subnet.id))?;
        refuse_twice("pod", self.pods.iter().map(|pod| &pod.name))?;
        self.refuse_dangling()?;
        Ok(Snapshot { parts: self })
    }

    fn refuse_dangling(&self) -> Result<(), SnapshotError> {
        for pool in &self.node_pools {
            if !self.node_classes.contains_key(&pool.node_class) {
                let (node_pool, node_class) = (pool.name.clone(), pool.node_class.clone());
                return Err(SnapshotError::NoNodeClass {
                    node_pool,
                    node_class,
                });
            }
        }
        let nodes: BTreeSet<&NodeName> = self.nodes.iter().map(|node| &node.name).collect();
        for pod in &self.pods {
            if let Some(node) = pod.node().filter(|node| !nodes.contains(node)) {
                return Err(SnapshotError::NoNode {
                    pod: pod.name.clone(),
                    node: node.clone(),
                });
            }
        }
        Ok(())
    }
}

/// The names are sorted already.
fn refuse_twice<'a, N: Ord + ToString + 'a>(
    kind: &'static str,
    names: impl Iterator<Item = &'a N>,
) -> Result<(), SnapshotError> {
    let mut last: Option<&N> = None;
    for name in names {
        if last == Some(name) {
            return Err(SnapshotError::Duplicate {
                kind,
                name: name.to_string(),
            });
        }
        last = Some(name);
    }
    Ok(())
}

impl std::ops::Deref for Snapshot {
    type Target = SnapshotParts;
    fn deref(&self) -> &SnapshotParts {
        &self.parts
    }
}

impl Snapshot {
    /// The parts again, to change one and freeze anew (what-if).
    #[must_use]
    pub fn into_parts(self) -> SnapshotParts {
        self.parts
    }

    /// A node pool by name.
    #[must_use]
    pub fn node_pool(&self, name: &NodePoolName) -> Option<&NodePool> {
        self.node_pools
            .binary_search_by(|pool| pool.name.cmp(name))
            .ok()
            .map(|at| &self.node_pools[at])
    }

    /// The node class of a node pool; there always is one.
    #[must_use]
    pub fn node_class(&self, pool: &NodePool) -> &NodeClass {
        self.node_classes
            .get(&pool.node_class)
            .expect("freeze refuses a node pool without its node class")
    }

    /// What the objective weighs of the interruptions of one node, bought like this, of this type of a node pool; nothing
    /// where the pool or its type isn't known.
    #[must_use]
    pub fn interruptions(
        &self,
        node_pool: Option<&NodePoolName>,
        instance_type: &str,
        capacity_type: Option<CapacityType>,
    ) -> Cost {
        let weights = self.objective.weights(node_pool);
        if weights.interruption == Price::default() {
            return Cost::ZERO;
        }
        let pool = node_pool.and_then(|name| self.node_pool(name));
        let types = pool.map_or(&[][..], |pool| &self.node_class(pool).instance_types);
        let known = types.binary_search_by(|other| other.name.as_str().cmp(instance_type));
        match (known, capacity_type) {
            (Ok(at), Some(capacity_type)) => weights.interruptions(types[at].interruptions(capacity_type)),
            _ => Cost::ZERO,
        }
    }

    /// The same of an existing node, by its labels.
    #[must_use]
    pub fn interruptions_of(&self, node: &Node) -> Cost {
        let label = |key: &str| node.labels.get(key).map(String::as_str);
        let capacity_type = label(CAPACITY_TYPE_LABEL).and_then(CapacityType::parse);
        let instance_type = label(INSTANCE_TYPE_LABEL).unwrap_or_default();
        self.interruptions(node.node_pool.as_ref(), instance_type, capacity_type)
    }

    /// A node by name.
    #[must_use]
    pub fn node(&self, name: &NodeName) -> Option<&Node> {
        self.nodes
            .binary_search_by(|node| node.name.cmp(name))
            .ok()
            .map(|at| &self.nodes[at])
    }

    /// A pod by name.
    #[must_use]
    pub fn pod(&self, name: &PodName) -> Option<&Pod> {
        self.pods
            .binary_search_by(|pod| pod.name.cmp(name))
            .ok()
            .map(|at| &self.pods[at])
    }

    /// Whether a pod needs a place: pending, or on a node that is going and not a DaemonSet's.
    #[must_use]
    pub fn needs_place(&self, pod: &Pod) -> bool {
        match &pod.place {
            PodPlace::Pending => true,
            PodPlace::Bound(node) => !pod.is_daemon() && self.node(node).is_some_and(|node| node.deleting),
            PodPlace::Terminating(_) => false,
        }
    }

    /// A fingerprint of all of it: equal snapshots have equal fingerprints on every machine (FNV-1a, 128 bits, over
    /// the serialised form). Not meant against forgery.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let bytes = serde_json::to_vec(self).expect("a snapshot has only string keys, so it serialises");
        let hash = bytes
            .iter()
            .fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
                (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
            });
        format!("{hash:032x}")
    }
}

impl From<Snapshot> for Serialised {
    fn from(snapshot: Snapshot) -> Self {
        Self {
            version: SNAPSHOT_VERSION,
            parts: snapshot.parts,
        }
    }
}

impl TryFrom<Serialised> for Snapshot {
    type Error = SnapshotError;

    fn try_from(serialised: Serialised) -> Result<Self, SnapshotError> {
        if serialised.version == SNAPSHOT_VERSION {
            serialised.parts.freeze()
        } else {
            Err(SnapshotError::Version {
                found: serialised.version,
            })
        }
    }
}
