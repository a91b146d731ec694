//! Room on nodes that exist or are on their way, and the DaemonSet pods that wait for theirs.
//!
//! Free is what is allocatable less all pods there (terminating ones too) and less DaemonSet pods that are expected
//! there and haven't come. A pending DaemonSet pod belongs to the node it is pinned to: it gets its place there or a
//! reason, and never a new node.

use std::collections::{BTreeMap, BTreeSet};

use fixedbitset::FixedBitSet;

use crate::model::explain::{Constraint, Reason};
use crate::model::name::NodeName;
use crate::model::node::{Node, NodeStage};
use crate::model::pod::PodSpec;
use crate::model::resources::{Amount, ResourceName};
use crate::model::snapshot::Snapshot;
use crate::model::taint::first_untolerated;

use super::group::Profile;
use super::rules::{accelerators, overhead, resources, taints, volumes};

/// A node that takes pods.
#[derive(Clone, Debug)]
pub struct Room {
    /// Index of the node in the snapshot.
    pub node: usize,
    /// What is free, over the problem's resources.
    pub free: Vec<u64>,
    /// Profiles that may use it.
    pub profiles: FixedBitSet,
}

/// What becomes of pending DaemonSet pods, by index of the pod in the snapshot.
#[derive(Clone, Debug, Default)]
pub struct DaemonPods {
    /// Pod and index of its node.
    pub placed: Vec<(usize, usize)>,
    /// Pod and why its node can't take it.
    pub refused: Vec<(usize, Reason)>,
}

/// Rooms in the order of filling: initialised nodes first, then the largest rooms; names only break ties.
#[must_use]
pub fn rooms(mut existing: Existing<'_>, profiles: &[Profile]) -> Vec<Room> {
    existing.keep_room_for_daemons();
    let snapshot = existing.snapshot;
    let mut rooms: Vec<Room> = snapshot
        .nodes
        .iter()
        .zip(existing.free)
        .enumerate()
        .filter(|(_, (node, free))| node.takes_pods() && free.iter().any(|free| *free > 0))
        .map(|(at, (node, free))| Room {
            node: at,
            free,
            profiles: admitted(snapshot, node, profiles),
        })
        .collect();
    rooms.sort_by(|one, two| {
        let stage = |room: &Room| match snapshot.nodes[room.node].stage {
            NodeStage::Initialized => 0,
            NodeStage::Registered => 1,
            NodeStage::InFlight => 2,
        };
        (stage(one).cmp(&stage(two)))
            .then_with(|| two.free.cmp(&one.free))
            .then_with(|| one.profiles.cmp(&two.profiles))
            .then_with(|| one.node.cmp(&two.node))
    });
    rooms
}

/// What is free on each node, while room is given and kept.
#[derive(Clone, Debug)]
pub struct Existing<'a> {
    snapshot: &'a Snapshot,
    columns: &'a [ResourceName],
    /// By node.
    free: Vec<Vec<u64>>,
    /// DaemonSets that have a pod on a node, or get one.
    present: BTreeMap<&'a NodeName, BTreeSet<usize>>,
}

impl<'a> Existing<'a> {
    /// Allocatable less all pods there.
    #[must_use]
    pub fn new(snapshot: &'a Snapshot, columns: &'a [ResourceName]) -> Self {
        let allocatable = |node: &Node| resources::row(columns, &node.allocatable);
        let mut existing = Self {
            snapshot,
            columns,
            free: snapshot.nodes.iter().map(allocatable).collect(),
            present: overhead::present(snapshot),
        };
        for pod in &snapshot.pods {
            if let Some(node) = pod.node().and_then(|node| existing.position(node)) {
                let request = existing.request(&pod.spec);
                reserve(&mut existing.free[node], &request);
            }
        }
        existing
    }

    fn position(&self, name: &NodeName) -> Option<usize> {
        let nodes = &self.snapshot.nodes;
        nodes.binary_search_by(|node| node.name.cmp(name)).ok()
    }

    fn request(&self, spec: &PodSpec) -> Vec<u64> {
        resources::row(self.columns, &spec.requests)
    }

    /// Gives DaemonSet pods that are pinned to a node their place there, or a reason.
    pub fn place_daemons(&mut self, pinned: &[usize]) -> DaemonPods {
        let snapshot = self.snapshot;
        let mut daemons = DaemonPods::default();
        for pod in pinned {
            let spec = &snapshot.pods[*pod].spec;
            let name = overhead::pinned_to(&snapshot.pods[*pod]).unwrap_or_default();
            let Some(at) = self.position(&name) else {
                let detail = format!("node {name} isn't there");
                let reason = refusal(&name, Constraint::Requirement, detail);
                daemons.refused.push((*pod, reason));
                continue;
            };
            let node = &snapshot.nodes[at];
            let owner = overhead::owner(snapshot, &snapshot.pods[*pod]);
            let request = self.request(spec);
            if let Some(reason) = refused_by(node, spec, self.columns, &self.free[at], &request) {
                daemons.refused.push((*pod, reason));
                // Where its DaemonSet is expected there, that keeps the room.
                let expected = |owner: usize| overhead::expects(&snapshot.daemon_sets[owner], node);
                if !owner.is_some_and(expected) {
                    reserve(&mut self.free[at], &request);
                }
                continue;
            }
            resources::take(&mut self.free[at], &request, 1);
            daemons.placed.push((*pod, at));
            self.present.entry(&node.name).or_default().extend(owner);
        }
        daemons
    }

    /// Takes off what DaemonSets that have no pod on a node yet are expected to need there.
    fn keep_room_for_daemons(&mut self) {
        let snapshot = self.snapshot;
        for (at, node) in snapshot.nodes.iter().enumerate() {
            if !node.takes_pods() {
                continue;
            }
            let there = self.present.get(&node.name);
            for (owner, daemon_set) in snapshot.daemon_sets.iter().enumerate() {
                let missing = there.is_none_or(|there| !there.contains(&owner));
                if missing && overhead::expects(daemon_set, node) {
                    let request = resources::row(self.columns, &daemon_set.spec.requests);
                    reserve(&mut self.free[at], &request);
                }
            }
        }
    }
}

fn reserve(free: &mut [u64], request: &[u64]) {
    for (free, request) in free.iter_mut().zip(request) {
        *free = free.saturating_sub(*request);
    }
}

fn admitted(snapshot: &Snapshot, node: &Node, profiles: &[Profile]) -> FixedBitSet {
    let mut admitted = FixedBitSet::with_capacity(profiles.len());
    let is_kept = accelerators::is_kept(snapshot, node);
    for (index, profile) in profiles.iter().enumerate() {
        if !(is_kept && profile.asks_for_no_accelerator)
            && taints::tolerates(&node.taints, &profile.spec)
            && profile.spec.admits_node(&node.labels, Some(node.name.as_str()))
            && profile.selector.admits(&node.labels)
            && volumes::out_of_reach(&profile.spec, node).is_none()
            && has_company(node, profile)
        {
            admitted.insert(index);
        }
    }
    admitted
}

fn has_company(node: &Node, profile: &Profile) -> bool {
    let mut all = profile.narrowing.company.iter();
    all.all(|(key, company)| company.is_at(node.labels.get(key).map(String::as_str)))
}

fn refused_by(
    node: &Node,
    spec: &PodSpec,
    columns: &[ResourceName],
    free: &[u64],
    request: &[u64],
) -> Option<Reason> {
    let name = &node.name;
    if node.deleting {
        return Some(refusal(
            name,
            Constraint::Policy,
            format!("node {name} is being removed"),
        ));
    }
    if !node.ready && node.stage == NodeStage::Initialized {
        return Some(refusal(
            name,
            Constraint::Policy,
            format!("node {name} isn't ready"),
        ));
    }
    if let Some(taint) = first_untolerated(&node.taints, &spec.tolerations) {
        return Some(refusal(
            name,
            Constraint::Taint,
            format!("node {name} has taint {taint}"),
        ));
    }
    if !spec.admits_node(&node.labels, Some(name.as_str())) {
        let detail = format!("selector or affinity excludes node {name}");
        return Some(refusal(name, Constraint::Requirement, detail));
    }
    if let Some(volume) = volumes::out_of_reach(spec, node) {
        let detail = format!("volume {} is out of reach of node {name}", volume.claim);
        return Some(refusal(name, Constraint::Volume, detail));
    }
    let (at, resource) = columns
        .iter()
        .enumerate()
        .find(|(at, _)| request[*at] > free[*at])?;
    let text = |amount: u64| Amount::new(amount).display(resource.unit());
    let detail = format!(
        "{resource}: {} short on {name} (needs {}, {} left)",
        text(request[at] - free[at]),
        text(request[at]),
        text(free[at]),
    );
    let constraint = if volumes::is_attachment(resource) {
        Constraint::Volume
    } else {
        Constraint::Resources
    };
    Some(refusal(name, constraint, detail))
}

fn refusal(node: &NodeName, constraint: Constraint, detail: String) -> Reason {
    Reason {
        node_pool: None,
        node: Some(node.clone()),
        constraint,
        detail,
    }
}
