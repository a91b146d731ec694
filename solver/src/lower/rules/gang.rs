//! Gangs: pods with one gang's name in a namespace are placed all or none, and none before there are as many as its size.
//!
//! The rule asks nothing of a node: a gang that gets no place gets no node at all. Here stands which have to wait for
//! more pods; which can't be placed whole beside the others, planning finds out by trying. Pods of DaemonSets belong to
//! their nodes and to no gang.

use std::collections::BTreeMap;

use crate::lower::group::{Group, Set};
use crate::lower::narrow::Narrowing;
use crate::model::explain::{Constraint, Reason};
use crate::model::node_pool::NodePool;
use crate::model::pod::{Pod, PodPlace};
use crate::model::snapshot::Snapshot;

/// A gang's namespace and name.
pub type Key<'a> = (&'a str, &'a str);

/// Gangs that get no place, with a reason for each node pool.
pub type Refused<'a> = BTreeMap<Key<'a>, Vec<Reason>>;

/// Pods that need a place and get one all or none.
#[derive(Clone, Debug)]
pub struct Gang<'a> {
    /// Which.
    pub key: Key<'a>,
    /// Its groups; nobody else is in them.
    pub groups: Vec<usize>,
    /// Why it gets no place, for each node pool; `None` where it may.
    pub refused: Option<Vec<Reason>>,
}

/// The gang that a pod is of.
#[must_use]
pub fn key(pod: &Pod) -> Option<Key<'_>> {
    let gang = pod.spec.rules.gang.as_ref().filter(|_| !pod.is_daemon())?;
    Some((&pod.name.namespace, &gang.name))
}

/// Gangs of which fewer pods are there than their size, pods that run and stay among them.
#[must_use]
pub fn waiting(snapshot: &Snapshot) -> Refused<'_> {
    let mut there: BTreeMap<Key<'_>, (u64, u64)> = BTreeMap::new();
    for pod in &snapshot.pods {
        let Some((key, gang)) = key(pod).zip(pod.spec.rules.gang.as_ref()) else {
            continue;
        };
        if matches!(pod.place, PodPlace::Terminating(_)) {
            continue;
        }
        let (count, size) = there.entry(key).or_default();
        *count += 1;
        *size = (*size).max(gang.size.map_or(0, u64::from));
    }
    let short = there.into_iter().filter(|(_, (count, size))| count < size);
    short
        .map(|(key, (count, size))| {
            let detail = format!("gang {}: waits for {size} pods, {count} are there", key.1);
            let reason = |pool: &NodePool| Reason {
                node_pool: Some(pool.name.clone()),
                node: None,
                constraint: Constraint::Gang,
                detail: detail.clone(),
            };
            (key, snapshot.node_pools.iter().map(reason).collect())
        })
        .collect()
}

/// Leaves refused gangs no place.
pub fn keep_out(refused: &Refused<'_>, sets: &[Set<'_>], narrowings: &mut [Narrowing]) {
    for (set, narrowing) in sets.iter().zip(narrowings) {
        if set.gang().is_some_and(|key| refused.contains_key(&key)) {
            narrowing.nowhere();
        }
    }
}

/// The gangs of these groups.
#[must_use]
pub fn gangs<'a>(snapshot: &'a Snapshot, groups: &[Group], refused: &Refused<'_>) -> Vec<Gang<'a>> {
    let mut gangs: BTreeMap<Key<'a>, Vec<usize>> = BTreeMap::new();
    for (at, group) in groups.iter().enumerate() {
        if let Some(key) = key(&snapshot.pods[group.pods[0]]) {
            gangs.entry(key).or_default().push(at);
        }
    }
    let gang = |(key, groups)| Gang {
        key,
        groups,
        refused: refused.get(&key).cloned(),
    };
    gangs.into_iter().map(gang).collect()
}
