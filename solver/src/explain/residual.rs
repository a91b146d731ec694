//! The world after a plan: what it launches is there, what it places is bound, what it refuses is gone.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::instance_type::{HOSTNAME_LABEL, InstanceType};
use crate::model::name::{NodeName, PodName};
use crate::model::node::{Node, NodeStage};
use crate::model::offering::{Offering, Supply};
use crate::model::plan::{Launch, NodeAction, PlanBody};
use crate::model::pod::PodPlace;
use crate::model::resources::ResourceName;
use crate::model::snapshot::{Snapshot, SnapshotParts};

/// Everything as the plan leaves it, without the pods that it refuses.
pub(super) fn after(snapshot: &Snapshot, plan: &PlanBody) -> SnapshotParts {
    let mut parts: SnapshotParts = (**snapshot).clone();
    let mut places: BTreeMap<&PodName, NodeName> = BTreeMap::new();
    for node in &plan.nodes {
        places.extend(node.added.iter().map(|pod| (pod, node.name.clone())));
    }
    for (index, launch) in plan.launch.iter().enumerate() {
        let name = NodeName::from(format!("launch/{index}"));
        if let Some(node) = in_flight(snapshot, launch, name.clone()) {
            parts.nodes.push(node);
            places.extend(launch.pods.iter().map(|pod| (pod, name.clone())));
            take_addresses(&mut parts, launch);
        }
    }
    let leaving: BTreeSet<&NodeName> = plan
        .nodes
        .iter()
        .filter(|node| node.action != NodeAction::Keep)
        .map(|node| &node.name)
        .collect();
    parts.nodes.retain(|node| !leaving.contains(&node.name));
    parts.pods.retain_mut(|pod| {
        if let Some(node) = places.remove(&pod.name) {
            pod.place = PodPlace::Bound(node);
            return true;
        }
        !snapshot.needs_place(pod) && pod.node().is_none_or(|node| !leaving.contains(node))
    });
    parts
}

/// A launch as a node on its way.
fn in_flight(snapshot: &Snapshot, launch: &Launch, name: NodeName) -> Option<Node> {
    let pool = snapshot.node_pool(&launch.node_pool)?;
    let instance_type = type_of(&snapshot.node_class(pool).instance_types, launch)?;
    let mut labels = instance_type.labels_with(offering_of(instance_type, launch)?);
    labels.extend(pool.labels.clone());
    labels.extend(launch.labels.clone());
    labels.insert(HOSTNAME_LABEL.to_owned(), name.to_string());
    // As long as it is only planned, it keeps its headroom.
    let mut allocatable = instance_type.allocatable.clone();
    if let Some(headroom) = snapshot.placement.headroom.get(&pool.name) {
        allocatable.subtract_all(headroom);
    }
    Some(Node {
        name,
        node_pool: Some(pool.name.clone()),
        stage: NodeStage::InFlight,
        launched: true,
        ready: false,
        unschedulable: false,
        deleting: false,
        labels,
        taints: pool.taints.clone(),
        capacity: instance_type.capacity.clone(),
        allocatable,
        price: launch.price,
        supply: supply_of(instance_type, launch),
        created: None,
    })
}

/// The name of the number that a launch uses up.
fn supply_of(instance_type: &InstanceType, launch: &Launch) -> Option<Supply> {
    let is_bought = |offering: &&Offering| {
        offering.zone == launch.zone
            && offering.capacity_type == launch.capacity_type
            && offering.price == launch.price
            && offering.reservation_id() == launch.reservation_id.as_deref()
    };
    let offering = instance_type.offerings.iter().find(is_bought)?;
    offering.supply().filter(|_| offering.limit.is_some())
}

/// The instance type of a launch among those of its node class, which are ordered by name.
pub(super) fn type_of<'a>(types: &'a [InstanceType], launch: &Launch) -> Option<&'a InstanceType> {
    types
        .binary_search_by(|candidate| candidate.name.cmp(&launch.instance_type))
        .ok()
        .map(|at| &types[at])
}

/// Addresses that a node of a type takes when it starts.
pub(super) fn needed(parts: &SnapshotParts, instance_type: &InstanceType) -> u64 {
    let slots = || instance_type.capacity.get(&ResourceName::Pods).get();
    parts.addresses_per_node.unwrap_or_else(slots)
}

fn is_of(offering: &Offering, launch: &Launch) -> bool {
    offering.zone == launch.zone
        && offering.capacity_type == launch.capacity_type
        && offering.price == launch.price
}

fn offering_of<'a>(instance_type: &'a InstanceType, launch: &Launch) -> Option<&'a Offering> {
    instance_type
        .offerings
        .iter()
        .find(|offering| is_of(offering, launch))
}

/// Addresses of its subnet; where it names none, there are enough in any case.
fn take_addresses(parts: &mut SnapshotParts, launch: &Launch) {
    let pools = &parts.node_pools;
    let pool = pools.iter().find(|pool| pool.name == launch.node_pool);
    let class = pool.and_then(|pool| parts.node_classes.get(&pool.node_class));
    let Some(instance_type) = class.and_then(|class| type_of(&class.instance_types, launch)) else {
        return;
    };
    let need = needed(parts, instance_type);
    let named = (parts.subnets.iter_mut()).find(|subnet| launch.subnet.as_ref() == Some(&subnet.id));
    if let Some(subnet) = named {
        subnet.free_addresses = subnet.free_addresses.saturating_sub(need);
    }
}
