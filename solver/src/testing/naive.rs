//! The rules of placement once more, as plainly as they can be said and as slowly: for drafts and for the exact solver.
//!
//! Not shared with the check or the planner on purpose. Open keys: a value must be given for each that a pod or
//! DaemonSet reads; this knows only requirements that name values or admit a missing label.

use std::collections::BTreeSet;

use crate::model::instance_type::InstanceType;
use crate::model::node::Node;
use crate::model::node_pool::NodePool;
use crate::model::offering::Offering;
use crate::model::pod::{Pod, PodSpec};
use crate::model::requirement::Labels;
use crate::model::resources::Resources;
use crate::model::snapshot::Snapshot;
use crate::model::taint::{Taint, first_untolerated};

/// Labels of a node to come; `None` when the NodePool doesn't launch this offer with these values.
#[must_use]
pub fn labels_of(
    pool: &NodePool,
    instance_type: &InstanceType,
    offering: &Offering,
    chosen: &Labels,
) -> Option<Labels> {
    if chosen.keys().any(|key| pool.requirements.get(key).is_none()) {
        return None;
    }
    let mut labels = instance_type.labels_with(offering);
    for (key, value) in pool.labels.iter().chain(chosen) {
        if labels.get(key).is_some_and(|present| present != value) {
            return None;
        }
        labels.insert(key.clone(), value.clone());
    }
    for (key, wanted) in pool.requirements.iter() {
        if let Some(value) = wanted.single() {
            labels.entry(key.to_owned()).or_insert_with(|| value.to_owned());
        }
    }
    let open = |key: &str| !labels.contains_key(key) && !is_typed(key);
    let met = pool.requirements.iter().all(|(key, wanted)| {
        wanted.admits(labels.get(key).map(String::as_str)) || open(key) && !wanted.is_empty()
    });
    met.then_some(labels)
}

/// Test clusters name their custom keys `example.com/…`; all others are the instance type's or the pool's.
fn is_typed(key: &str) -> bool {
    !key.starts_with("example.com/")
}

/// Keys that the pool leaves open on such a node: several values, none of them chosen.
#[must_use]
pub fn open_keys(pool: &NodePool, labels: &Labels) -> BTreeSet<String> {
    pool.requirements
        .iter()
        .filter(|(key, wanted)| !labels.contains_key(*key) && !is_typed(key) && !wanted.admits_absence())
        .map(|(key, _)| key.to_owned())
        .collect()
}

fn reads(spec: &PodSpec, key: &str) -> bool {
    spec.node_selector.contains_key(key)
        || spec
            .node_affinity
            .iter()
            .flat_map(|terms| &terms.0)
            .any(|term| term.expressions.get(key).is_some())
}

/// Whether a pod may be on a node of these labels and taints, room apart.
#[must_use]
pub fn welcome(spec: &PodSpec, labels: &Labels, taints: &[Taint], node_name: Option<&str>) -> bool {
    first_untolerated(taints, &spec.tolerations).is_none() && spec.admits_node(labels, node_name)
}

/// What the DaemonSets of such a node ask for.
#[must_use]
pub fn daemons(snapshot: &Snapshot, pool: &NodePool, labels: &Labels) -> Resources {
    let mut sum = Resources::new();
    for daemon_set in &snapshot.daemon_sets {
        if welcome(&daemon_set.spec, labels, &pool.taints, None) {
            sum.add_all(&daemon_set.spec.requests);
        }
    }
    sum
}

/// Whether these pods may share a node to come.
#[must_use]
pub fn holds(
    snapshot: &Snapshot,
    pool: &NodePool,
    instance_type: &InstanceType,
    offering: &Offering,
    chosen: &Labels,
    pods: &[&Pod],
) -> bool {
    let Some(labels) = labels_of(pool, instance_type, offering, chosen) else {
        return false;
    };
    let open = open_keys(pool, &labels);
    let unread = |spec: &PodSpec| !open.iter().any(|key| reads(spec, key));
    let mut sum = daemons(snapshot, pool, &labels);
    for pod in pods {
        if pod.is_daemon() || !unread(&pod.spec) || !welcome(&pod.spec, &labels, &pool.taints, None) {
            return false;
        }
        sum.add_all(&pod.spec.requests);
    }
    let daemons_settled = snapshot.daemon_sets.iter().all(|daemon_set| {
        unread(&daemon_set.spec) || first_untolerated(&pool.taints, &daemon_set.spec.tolerations).is_some()
    });
    offering.available && daemons_settled && sum.fits(&instance_type.allocatable)
}

/// Whether these pods may all come to an existing node.
#[must_use]
pub fn takes(snapshot: &Snapshot, node: &Node, pods: &[&Pod]) -> bool {
    let name = Some(node.name.as_str());
    let (mut sum, mut asked) = (Resources::new(), Resources::new());
    for pod in pods {
        asked.add_all(&pod.spec.requests);
    }
    let there: Vec<&Pod> = snapshot
        .pods
        .iter()
        .filter(|pod| pod.node() == Some(&node.name))
        .collect();
    for pod in there.iter().chain(pods) {
        sum.add_all(&pod.spec.requests);
    }
    for daemon_set in &snapshot.daemon_sets {
        let present = there.iter().chain(pods).any(|pod| daemon_set.owns(pod));
        if !present && welcome(&daemon_set.spec, &node.labels, &node.taints, name) {
            sum.add_all(&daemon_set.spec.requests);
        }
    }
    node.takes_pods()
        && asked
            .iter()
            .all(|(name, amount)| amount.get() == 0 || sum.get(name) <= node.allocatable.get(name))
        && pods
            .iter()
            .all(|pod| welcome(&pod.spec, &node.labels, &node.taints, name))
}
