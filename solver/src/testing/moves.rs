//! Metamorphic moves: changes of a snapshot whose effect on the best plan is known without knowing the plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::model::instance_type::InstanceType;
use crate::model::money::Price;
use crate::model::pod::PodSpec;
use crate::model::snapshot::{Snapshot, SnapshotParts};

use super::build::{CLASS, taint};

/// Without one of its pods: nothing gets dearer.
///
/// # Panics
/// When there is no such pod.
#[must_use]
pub fn without_pod(snapshot: &Snapshot, at: usize) -> Snapshot {
    edited(snapshot, |parts| {
        parts.pods.remove(at);
    })
}

/// With one more instance type: the optimum gets no dearer.
///
/// # Panics
/// When a type of the name is there already.
#[must_use]
pub fn with_instance_type(snapshot: &Snapshot, instance_type: InstanceType) -> Snapshot {
    edited(snapshot, |parts| {
        let class = parts.node_classes.get_mut(CLASS).unwrap();
        class.instance_types.push(instance_type);
    })
}

/// Every list in another order: nothing changes, since a snapshot is ordered by name.
///
/// # Panics
/// Never: the same parts freeze again.
#[must_use]
pub fn permuted(snapshot: &Snapshot) -> Snapshot {
    edited(snapshot, |parts| {
        parts.pods.reverse();
        parts.nodes.reverse();
        parts.node_pools.reverse();
        parts.daemon_sets.reverse();
        for class in parts.node_classes.values_mut() {
            class.instance_types.reverse();
        }
    })
}

/// Pods, nodes, pools, types and zones under other names in the same order: no cost changes.
///
/// # Panics
/// Never: the same parts freeze again.
#[must_use]
pub fn renamed(snapshot: &Snapshot) -> Snapshot {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut rename = |name: &str| {
        names.insert(name.to_owned(), format!("q{name}"));
    };
    for class in snapshot.node_classes.values() {
        for instance_type in &class.instance_types {
            rename(instance_type.name.as_str());
            for offering in &instance_type.offerings {
                rename(offering.zone.as_str());
            }
        }
    }
    for pool in &snapshot.node_pools {
        rename(pool.name.as_str());
    }
    for node in &snapshot.nodes {
        rename(node.name.as_str());
    }
    for pod in &snapshot.pods {
        let name = &pod.name;
        names.insert(name.to_string(), format!("q{}/q{}", name.namespace, name.name));
    }
    for daemon_set in &snapshot.daemon_sets {
        let name = &daemon_set.name;
        names.insert(name.to_string(), format!("q{}/q{}", name.namespace, name.name));
        names.insert(name.name.clone(), format!("q{}", name.name));
    }
    let value = serde_json::to_value(snapshot).unwrap();
    serde_json::from_value(replace(value, &names)).unwrap()
}

/// Every text that is a name, keys too.
fn replace(value: Value, names: &BTreeMap<String, String>) -> Value {
    let new = |text: String| names.get(&text).cloned().unwrap_or(text);
    match value {
        Value::String(text) => Value::String(new(text)),
        Value::Array(list) => list.into_iter().map(|value| replace(value, names)).collect(),
        Value::Object(map) => map
            .into_iter()
            .map(|(key, value)| (new(key), replace(value, names)))
            .collect(),
        other => other,
    }
}

/// Every price so many times: every cost too, where the objective is the bill.
///
/// # Panics
/// Never: the same parts freeze again.
#[must_use]
pub fn with_prices_times(snapshot: &Snapshot, factor: u64) -> Snapshot {
    let times = |price: Price| Price::from_micros(price.micros() * factor);
    edited(snapshot, |parts| {
        for class in parts.node_classes.values_mut() {
            for instance_type in &mut class.instance_types {
                for offering in &mut instance_type.offerings {
                    offering.price = times(offering.price);
                }
            }
        }
        for node in &mut parts.nodes {
            node.price = times(node.price);
        }
        for weights in parts.objective.weights.values_mut() {
            weights.node_hour = times(weights.node_hour);
        }
    })
}

/// Every pod that needs a place tightened: no more pods find one.
///
/// # Panics
/// Never: the same parts freeze again.
#[must_use]
pub fn with_pods(snapshot: &Snapshot, tighten: impl Fn(&mut PodSpec)) -> Snapshot {
    edited(snapshot, |parts| {
        for pod in &mut parts.pods {
            if pod.node().is_none() && !pod.is_daemon() {
                tighten(Arc::make_mut(&mut pod.spec));
            }
        }
    })
}

/// Every pool tainted once more, with a taint that nobody tolerates by name.
///
/// # Panics
/// Never: the same parts freeze again.
#[must_use]
pub fn with_a_taint_on_every_pool(snapshot: &Snapshot) -> Snapshot {
    edited(snapshot, |parts| {
        for pool in &mut parts.node_pools {
            pool.taints.push(taint("example.com/closed", ""));
        }
    })
}

fn edited(snapshot: &Snapshot, edit: impl FnOnce(&mut SnapshotParts)) -> Snapshot {
    let mut parts = snapshot.clone().into_parts();
    edit(&mut parts);
    parts.freeze().unwrap()
}
