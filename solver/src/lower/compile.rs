//! Rules about other pods, domains and ports → side rows: what each rule's file has to look at, and their order.

use std::collections::BTreeMap;

use fixedbitset::FixedBitSet;

use crate::model::pod::PodSpec;

use super::Problem;
use super::narrow::Standing;
use super::rules::pod_affinity::{self, Wish};
use super::rules::{host_ports, topology_spread};
use super::running::Running;
use super::selectors::Selectors;
use super::side::{Cap, Places, SideRows};

/// The problem so far, and who is meant by which selector.
pub struct Context<'c, 'a> {
    /// Without side rows yet.
    pub problem: &'c Problem<'a>,
    /// The selectors that matter.
    pub selectors: &'c Selectors<'a>,
    /// Pods on existing nodes.
    pub running: &'c Running<'a>,
    /// Part of each bin.
    pub bin_parts: &'c [usize],
    /// By group: the selectors that it matches.
    matches: &'c [FixedBitSet],
    /// By node of the snapshot: its room.
    room_of: BTreeMap<usize, usize>,
}

/// All rows that the rules of the groups need.
#[must_use]
pub fn compile(context: &Context<'_, '_>, wishes: &[Wish<'_>]) -> SideRows {
    let mut side = SideRows::default();
    host_ports::compile(context, &mut side);
    pod_affinity::compile(context, wishes, &mut side);
    topology_spread::compile(context, &mut side);
    side.caps = distinct(side.caps);
    side
}

/// Each cap once: two rules may say the same of the same pods. Only those that begin with one group are compared, since
/// thousands of apps have a cap each.
fn distinct(caps: Vec<Cap>) -> Vec<Cap> {
    let mut by_first: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    let mut kept: Vec<Cap> = Vec::with_capacity(caps.len());
    for cap in caps {
        let alike = by_first.entry(cap.groups.minimum()).or_default();
        if !alike.iter().any(|at| kept[*at] == cap) {
            alike.push(kept.len());
            kept.push(cap);
        }
    }
    kept
}

impl<'c, 'a> Context<'c, 'a> {
    /// Of a problem with its kinds.
    #[must_use]
    pub fn new(
        problem: &'c Problem<'a>,
        standing: Standing<'c, 'a>,
        matches: &'c [FixedBitSet],
        bin_parts: &'c [usize],
    ) -> Self {
        let rooms = problem.rooms.iter().enumerate();
        Self {
            problem,
            selectors: standing.selectors,
            running: standing.running,
            bin_parts,
            matches,
            room_of: rooms.map(|(at, room)| (room.node, at)).collect(),
        }
    }

    /// How many groups there are.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.problem.groups.len()
    }

    /// A specification of a group.
    #[must_use]
    pub fn spec(&self, group: usize) -> &'a PodSpec {
        let snapshot = self.problem.snapshot;
        &snapshot.pods[self.problem.groups[group].pods[0]].spec
    }

    /// No group.
    #[must_use]
    pub fn no_groups(&self) -> FixedBitSet {
        FixedBitSet::with_capacity(self.groups())
    }

    /// The groups that a selector matches.
    #[must_use]
    pub fn matching(&self, selector: usize) -> FixedBitSet {
        let mut groups = self.no_groups();
        let matching = (0..self.groups()).filter(|group| self.matches[*group].contains(selector));
        groups.extend(matching);
        groups
    }

    /// The room of a node, where it takes pods.
    #[must_use]
    pub fn room_of(&self, node: usize) -> Option<usize> {
        self.room_of.get(&node).copied()
    }

    /// Rooms of these nodes.
    #[must_use]
    pub fn rooms<'n>(&self, nodes: impl IntoIterator<Item = &'n usize>) -> FixedBitSet {
        let mut rooms = FixedBitSet::with_capacity(self.problem.rooms.len());
        rooms.extend(nodes.into_iter().filter_map(|node| self.room_of(*node)));
        rooms
    }

    /// No place.
    #[must_use]
    pub fn no_places(&self) -> Places {
        Places {
            kinds: FixedBitSet::with_capacity(self.problem.kinds.len()),
            rooms: FixedBitSet::with_capacity(self.problem.rooms.len()),
        }
    }

    /// The value that a key has on nodes of a kind.
    #[must_use]
    pub fn value_of_kind(&self, kind: usize, key: &str) -> Option<&str> {
        self.value_of_part(self.problem.kinds[kind].part, key)
    }

    /// The same for a part.
    #[must_use]
    pub fn value_of_part(&self, part: usize, key: &str) -> Option<&str> {
        let topology = &self.problem.topology;
        let at = topology.keys.iter().position(|other| other == key)?;
        topology.parts[part][at].as_deref()
    }

    /// All places by the value of a key; those without the label are left out.
    #[must_use]
    pub fn domains(&self, key: &str) -> BTreeMap<&str, Places> {
        let mut domains: BTreeMap<&str, Places> = BTreeMap::new();
        for kind in 0..self.problem.kinds.len() {
            if let Some(value) = self.value_of_kind(kind, key) {
                let places = domains.entry(value).or_insert_with(|| self.no_places());
                places.kinds.insert(kind);
            }
        }
        for (room, part) in self.problem.topology.room_parts.iter().enumerate() {
            if let Some(value) = self.value_of_part(*part, key) {
                let places = domains.entry(value).or_insert_with(|| self.no_places());
                places.rooms.insert(room);
            }
        }
        domains
    }
}
