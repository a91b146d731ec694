//! Clusters from short code.
//!
//! ```
//! use dovetail_solver::testing::build::{Cluster, machine};
//!
//! let snapshot = Cluster::new()
//!     .instance_type(machine("c.large", "2", "4Gi", "0.1"))
//!     .pool("default")
//!     .pods("web", 3, "500m", "256Mi")
//!     .freeze();
//! assert_eq!(snapshot.pods.len(), 3);
//! ```

use std::sync::Arc;

use crate::model::instance_type::{HOSTNAME_LABEL, InstanceType, NODE_POOL_LABEL, ZONE_LABEL};
use crate::model::money::Price;
use crate::model::name::{NodeName, NodePoolName, PodName};
use crate::model::node::{Node, NodeStage};
use crate::model::node_pool::{Limits, NodeClass, NodePool};
use crate::model::offering::{CapacityType, Offering};
use crate::model::pod::{DaemonSet, Owner, Pod, PodPlace, PodSpec};
use crate::model::quantity::Rounding;
use crate::model::requirement::{
    Labels, NodeSelectorTerm, NodeSelectorTerms, Operator, Requirement, Requirements, ValueSet,
};
use crate::model::resources::{Amount, ResourceName, Resources};
use crate::model::snapshot::{Snapshot, SnapshotParts};
use crate::model::taint::{Taint, TaintEffect, Toleration, TolerationOperator};

/// Zones of every [`machine`].
pub const ZONES: [&str; 2] = ["zone-a", "zone-b"];
/// The node class of every pool.
pub const CLASS: &str = "default";

/// A snapshot in the making.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// What it is made of so far, open to any edit.
    pub parts: SnapshotParts,
}

impl Default for Cluster {
    fn default() -> Self {
        Self::new()
    }
}

impl Cluster {
    /// An empty cluster with one node class.
    #[must_use]
    pub fn new() -> Self {
        let mut parts = SnapshotParts {
            region: "region".to_owned(),
            ..SnapshotParts::default()
        };
        parts.node_classes.insert(
            CLASS.into(),
            NodeClass {
                name: CLASS.into(),
                subnets: std::collections::BTreeSet::new(),
                instance_types: Vec::new(),
            },
        );
        Self { parts }
    }

    /// Adds an instance type to the node class.
    #[must_use]
    pub fn instance_type(mut self, instance_type: InstanceType) -> Self {
        let class = self.parts.node_classes.get_mut(CLASS).unwrap();
        class.instance_types.push(instance_type);
        self
    }

    /// Adds a NodePool that takes everything.
    #[must_use]
    pub fn pool(self, name: &str) -> Self {
        self.pool_with(name, |_| {})
    }

    /// Adds a NodePool and edits it.
    #[must_use]
    pub fn pool_with(mut self, name: &str, edit: impl FnOnce(&mut NodePool)) -> Self {
        let mut pool = NodePool {
            name: name.into(),
            node_class: CLASS.into(),
            weight: 0,
            requirements: Requirements::new(),
            labels: Labels::from([(NODE_POOL_LABEL.to_owned(), name.to_owned())]),
            taints: Vec::new(),
            startup_taints: Vec::new(),
            limits: Limits::default(),
            replicas: None,
            left_out: None,
        };
        edit(&mut pool);
        self.parts.node_pools.push(pool);
        self
    }

    /// Adds pending pods `default/NAME-0` and so on.
    #[must_use]
    pub fn pods(self, name: &str, count: usize, cpu: &str, memory: &str) -> Self {
        self.pods_with(name, count, cpu, memory, |_| {})
    }

    /// The same, with more in their spec.
    #[must_use]
    pub fn pods_with(
        mut self,
        name: &str,
        count: usize,
        cpu: &str,
        memory: &str,
        edit: impl FnOnce(&mut PodSpec),
    ) -> Self {
        let mut spec = PodSpec {
            requests: amounts(cpu, memory, 1),
            ..PodSpec::default()
        };
        edit(&mut spec);
        let spec = Arc::new(spec);
        self.parts.pods.extend((0..count).map(|number| Pod {
            name: PodName::new("default", format!("{name}-{number}")),
            spec: Arc::clone(&spec),
            place: PodPlace::Pending,
            created: None,
        }));
        self
    }

    /// Adds a pod `default/NAME` that runs on a node.
    #[must_use]
    pub fn bound(self, name: &str, node: &str, cpu: &str, memory: &str) -> Self {
        self.bound_with(name, node, cpu, memory, |_| {})
    }

    /// The same, with more in its spec.
    #[must_use]
    pub fn bound_with(
        mut self,
        name: &str,
        node: &str,
        cpu: &str,
        memory: &str,
        edit: impl FnOnce(&mut PodSpec),
    ) -> Self {
        let mut spec = PodSpec {
            requests: amounts(cpu, memory, 1),
            ..PodSpec::default()
        };
        edit(&mut spec);
        self.parts.pods.push(Pod {
            name: PodName::new("default", name),
            spec: Arc::new(spec),
            place: PodPlace::Bound(node.into()),
            created: None,
        });
        self
    }

    /// Adds a DaemonSet `kube-system/NAME`.
    #[must_use]
    pub fn daemon_set(self, name: &str, cpu: &str, memory: &str) -> Self {
        self.daemon_set_with(name, cpu, memory, |_| {})
    }

    /// The same, with more in its spec.
    #[must_use]
    pub fn daemon_set_with(
        mut self,
        name: &str,
        cpu: &str,
        memory: &str,
        edit: impl FnOnce(&mut PodSpec),
    ) -> Self {
        let mut spec = PodSpec {
            requests: amounts(cpu, memory, 1),
            owner: Some(daemon_owner(name)),
            ..PodSpec::default()
        };
        edit(&mut spec);
        self.parts.daemon_sets.push(DaemonSet {
            name: PodName::new("kube-system", name),
            spec: Arc::new(spec),
        });
        self
    }

    /// Adds a DaemonSet's pod for a node: on it, or pending and pinned to it.
    #[must_use]
    pub fn daemon_pod(mut self, daemon_set: &str, node: &str, runs: bool) -> Self {
        let name = PodName::new("kube-system", daemon_set);
        let template = self.parts.daemon_sets.iter().find(|other| other.name == name);
        let mut spec = PodSpec::clone(&template.unwrap().spec);
        spec.node_affinity = Some(NodeSelectorTerms(vec![NodeSelectorTerm {
            node_name: Some(ValueSet::exactly(node)),
            ..NodeSelectorTerm::default()
        }]));
        self.parts.pods.push(Pod {
            name: PodName::new("kube-system", format!("{daemon_set}-{node}")),
            spec: Arc::new(spec),
            place: if runs {
                PodPlace::Bound(node.into())
            } else {
                PodPlace::Pending
            },
            created: None,
        });
        self
    }

    /// Adds an initialised node of a pool, launched from the named offer at its price.
    #[must_use]
    pub fn node(self, name: &str, pool: &str, instance_type: &str, zone: &str) -> Self {
        self.node_with(name, pool, instance_type, zone, |_| {})
    }

    /// The same, edited.
    #[must_use]
    pub fn node_with(
        mut self,
        name: &str,
        pool: &str,
        instance_type: &str,
        zone: &str,
        edit: impl FnOnce(&mut Node),
    ) -> Self {
        let types = &self.parts.node_classes.get(CLASS).unwrap().instance_types;
        let instance_type = types
            .iter()
            .find(|other| other.name.as_str() == instance_type)
            .unwrap();
        let offerings = &instance_type.offerings;
        let offering = offerings
            .iter()
            .find(|offering| offering.zone.as_str() == zone)
            .unwrap();
        let pools = &self.parts.node_pools;
        let pool = pools.iter().find(|other| other.name.as_str() == pool).unwrap();
        let mut labels = instance_type.labels_with(offering);
        labels.extend(pool.labels.clone());
        labels.insert(HOSTNAME_LABEL.to_owned(), name.to_owned());
        let mut node = Node {
            name: NodeName::from(name),
            node_pool: Some(pool.name.clone()),
            stage: NodeStage::Initialized,
            launched: true,
            ready: true,
            unschedulable: false,
            deleting: false,
            labels,
            taints: pool.taints.clone(),
            capacity: instance_type.capacity.clone(),
            allocatable: instance_type.allocatable.clone(),
            price: offering.price,
            supply: offering.supply().filter(|_| offering.limit.is_some()),
            created: None,
        };
        edit(&mut node);
        self.parts.nodes.push(node);
        self
    }

    /// The snapshot.
    ///
    /// # Panics
    /// When the parts contradict each other.
    #[must_use]
    pub fn freeze(self) -> Snapshot {
        self.parts.freeze().unwrap()
    }
}

/// What pods of this DaemonSet are owned by.
#[must_use]
pub fn daemon_owner(name: &str) -> Owner {
    Owner {
        kind: "DaemonSet".to_owned(),
        name: name.to_owned(),
    }
}

/// CPU, memory and pod slots.
#[must_use]
pub fn amounts(cpu: &str, memory: &str, pods: u64) -> Resources {
    let mut amounts = Resources::parse([("cpu", cpu), ("memory", memory)], Rounding::Up).unwrap();
    amounts.set(ResourceName::Pods, Amount::new(pods));
    amounts
}

/// An instance type of ten pod slots, on demand in every zone at one price, with nothing reserved for the system.
#[must_use]
pub fn machine(name: &str, cpu: &str, memory: &str, price: &str) -> InstanceType {
    let capacity = amounts(cpu, memory, 10);
    let offering = |zone: &&str| Offering {
        zone: (*zone).into(),
        zone_id: None,
        capacity_type: CapacityType::OnDemand,
        price: Price::parse(price).unwrap(),
        available: true,
        limit: None,
        reservation: None,
        commitment: None,
    };
    InstanceType {
        interruptions_per_million_hours: 0,
        name: name.into(),
        labels: Labels::new(),
        choices: std::collections::BTreeMap::new(),
        allocatable: capacity.clone(),
        capacity,
        offerings: ZONES.iter().map(offering).collect(),
    }
}

/// Requirements from key, operator and values.
#[must_use]
pub fn requirements(list: &[(&str, Operator, &[&str])]) -> Requirements {
    let written: Vec<Requirement> = list
        .iter()
        .map(|(key, operator, values)| Requirement {
            key: (*key).to_owned(),
            operator: *operator,
            values: values.iter().map(|value| (*value).to_owned()).collect(),
            min_values: None,
        })
        .collect();
    Requirements::of(&written).unwrap()
}

/// A required node affinity of one term for each list.
#[must_use]
pub fn affinity(terms: &[&[(&str, Operator, &[&str])]]) -> NodeSelectorTerms {
    let term = |list: &&[(&str, Operator, &[&str])]| NodeSelectorTerm {
        expressions: requirements(list),
        node_name: None,
    };
    NodeSelectorTerms(terms.iter().map(term).collect())
}

/// A `NoSchedule` taint.
#[must_use]
pub fn taint(key: &str, value: &str) -> Taint {
    Taint {
        key: key.to_owned(),
        value: value.to_owned(),
        effect: TaintEffect::NoSchedule,
    }
}

/// Tolerates every taint of a key; of every key when it is empty.
#[must_use]
pub fn tolerates(key: &str) -> Toleration {
    Toleration {
        key: (!key.is_empty()).then(|| key.to_owned()),
        operator: TolerationOperator::Exists,
        effect: None,
    }
}

/// Selects a zone.
#[must_use]
pub fn in_zone(zone: &str) -> Labels {
    Labels::from([(ZONE_LABEL.to_owned(), zone.to_owned())])
}

/// The name of a pool as its type.
#[must_use]
pub fn pool_name(name: &str) -> NodePoolName {
    name.into()
}
