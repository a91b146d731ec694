//! Side rows: what a packing keeps beside room, compatibility, limits of pools and supplies of offers.
//!
//! Plain data, over groups, kinds and rooms of one [`super::Problem`]. Rules of Kubernetes are lowered into them:
//!
//! | rule | side row |
//! |---|---|
//! | hostname anti-affinity to itself; a host port | [`Cap`] of one |
//! | hostname spread | [`Cap`] of the skew (an empty node is always possible) |
//! | hostname anti-affinity between groups | [`Conflict`] |
//! | spread over zones, capacity types or any label | [`Spread`] |
//! | all in one zone | [`Together`] |
//! | at most one a zone; addresses of a subnet; a share on spot | [`Row`] |
//! | only in zones where pods of others are | [`Near`] |
//! | only on nodes where pods of others are | [`Beside`] |
//! | never in one zone with others | [`Apart`] |
//! | preferred node affinity, `PreferNoSchedule` | [`Penalty`] |
//! | preferred spread and anti-affinity | [`Cap`] or [`Spread`] whose excess costs |
//!
//! Not here, because the problem has it already: the number of a reservation or of a price's first nodes is the supply of
//! a kind, which other kinds may share (a price tier is two kinds: so many at the lower price, any number at the higher), the limits of a pool are its
//! allowance, and the fixed cost of a node and of its expected interruptions are part of its kind's cost.
//!
//! A kind may merge offers of several zones. Where a row tells them apart, [`super::lower_apart`] keeps them apart.
//! Nodes that are launched hold at least one pod. Units: pods and nodes in numbers, money in micro-dollars per hour.

use std::collections::BTreeMap;

use fixedbitset::FixedBitSet;

/// Somewhere a pod may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// On a launched node of this kind.
    Kind(usize),
    /// On the existing node of this room.
    Room(usize),
}

/// Some kinds and some rooms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Indices of kinds.
    pub kinds: FixedBitSet,
    /// Indices of rooms.
    pub rooms: FixedBitSet,
}

impl Places {
    /// Whether a place is one of them.
    #[must_use]
    pub fn contains(&self, place: Place) -> bool {
        match place {
            Place::Kind(kind) => self.kinds.contains(kind),
            Place::Room(room) => self.rooms.contains(room),
        }
    }
}

/// What becomes of a soft limit that is exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// It must not be.
    Forbidden,
    /// Each step beyond costs so much.
    Costs(u64),
}

/// On each node: at most so many pods of some groups together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cap {
    /// The groups whose pods count.
    pub groups: FixedBitSet,
    /// The most of them on one node.
    pub most: u64,
    /// By room: pods there that count already. Where those are too many, none may be added.
    pub there: BTreeMap<usize, u64>,
    /// What a pod beyond costs.
    pub excess: Excess,
}

impl Cap {
    /// Pods on a place that count already.
    #[must_use]
    pub fn there(&self, place: Place) -> u64 {
        match place {
            Place::Kind(_) => 0,
            Place::Room(room) => self.there.get(&room).copied().unwrap_or(0),
        }
    }
}

/// On each node: pods of one set of groups or of the other, never of both. No group is in both; that would be a cap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conflict {
    /// The one set.
    pub one: FixedBitSet,
    /// The other.
    pub other: FixedBitSet,
    /// Rooms that have pods of the one already: they take none of the other.
    pub rooms_with_one: FixedBitSet,
    /// Rooms that have pods of the other already.
    pub rooms_with_other: FixedBitSet,
}

/// One value of a topology key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Domain {
    /// Nodes that have it.
    pub places: Places,
    /// Pods there that count and stay.
    pub there: u64,
}

/// Pods of some groups in even numbers over domains.
///
/// A domain that gets pods that are bound has at most `skew` more than the least domain, existing pods counted. One that gets
/// none of them may have any number: nobody is moved, and pods that only count go where they like. Pods outside of all domains
/// don't count; where a bound pod must not be outside, its group has no place there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The groups whose pods count: those that the constraint selects.
    pub groups: FixedBitSet,
    /// The groups that have the constraint. Whether they count as well is told by `groups` alone.
    pub bound: FixedBitSet,
    /// The domains, no place in two of them.
    pub domains: Vec<Domain>,
    /// The most that one may have above the least.
    pub skew: u64,
    /// Where there are fewer domains than this, the least counts as nothing.
    pub fewest_domains: usize,
    /// The bins on whose nodes pods count, by position in the universe; `None`: on all. Kinds that can't hold the groups may
    /// have both sorts.
    pub eligible_bins: Option<FixedBitSet>,
    /// What a step beyond costs: of the fullest domain, whether it gets pods or not. Forbidden: only those that get bound
    /// pods.
    pub excess: Excess,
}

impl Spread {
    /// Whether exactly those that have the constraint count, as a constraint that selects its own pods does.
    #[must_use]
    pub fn binds_what_counts(&self) -> bool {
        self.groups == self.bound
    }

    /// Whether the least domain counts as nothing, whatever it has.
    #[must_use]
    pub fn has_too_few_domains(&self) -> bool {
        self.domains.len() < self.fewest_domains
    }
}

/// Pods of some groups all in one of these domains, whichever; none elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Together {
    /// The groups.
    pub groups: FixedBitSet,
    /// The domains, no place in two of them. Where pods are already, only theirs is listed.
    pub domains: Vec<Places>,
}

/// Pods of some groups only in domains where pods are that they want to be near.
///
/// Those are running pods, counted by [`Domain::there`], and planned ones of groups that are in `of` but not in `groups`. Where
/// no domain has any, pods that match themselves may start: all of them in one domain. None outside of all domains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Near {
    /// The groups that want it.
    pub groups: FixedBitSet,
    /// The groups that match.
    pub of: FixedBitSet,
    /// The domains, no place in two of them, each with the running pods that match.
    pub domains: Vec<Domain>,
    /// Whether pods of `groups` match themselves, and no running pod matches.
    pub may_start: bool,
}

/// The same with each node a domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// The groups that want it.
    pub groups: FixedBitSet,
    /// The groups that match.
    pub of: FixedBitSet,
    /// Rooms where running pods match.
    pub rooms_with: FixedBitSet,
    /// Whether pods of `groups` match themselves, and no running pod matches, on no node at all.
    pub may_start: bool,
}

/// In each domain: pods of one set of groups or of the other, never of both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Apart {
    /// The one set.
    pub one: FixedBitSet,
    /// The other; no group is in both.
    pub other: FixedBitSet,
    /// The domains, no place in two of them.
    pub domains: Vec<Places>,
}

/// Each pod of these groups in these places counts so much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodTerm {
    /// The groups.
    pub groups: FixedBitSet,
    /// The places.
    pub places: Places,
    /// What one pod counts.
    pub coefficient: i64,
}

/// Each launched node of these kinds counts so much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTerm {
    /// The kinds.
    pub kinds: FixedBitSet,
    /// What one node counts.
    pub coefficient: i64,
}

/// A sum over all nodes between bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// What pods count.
    pub pods: Vec<PodTerm>,
    /// What nodes count.
    pub nodes: Vec<NodeTerm>,
    /// The least that the sum may be; `None`: anything.
    pub lower: Option<i64>,
    /// The most that it may be; `None`: anything.
    pub upper: Option<i64>,
}

/// Each pod of these groups in these places costs so much more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Penalty {
    /// The groups.
    pub groups: FixedBitSet,
    /// Where their wish isn't met.
    pub places: Places,
    /// For each pod.
    pub each: u64,
}

/// All side rows of a problem.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideRows {
    /// Within each node.
    pub caps: Vec<Cap>,
    /// Within each node.
    pub conflicts: Vec<Conflict>,
    /// Of each pod.
    pub penalties: Vec<Penalty>,
    /// Across nodes.
    pub spreads: Vec<Spread>,
    /// Across nodes.
    pub together: Vec<Together>,
    /// Across nodes.
    pub apart: Vec<Apart>,
    /// Across nodes.
    pub rows: Vec<Row>,
    /// Across nodes.
    pub near: Vec<Near>,
    /// Across nodes, since those without a match depend on whether there is any.
    pub beside: Vec<Beside>,
    /// Bins, by position in the universe, whose nodes would be a new domain of a spread although none of its pods can be
    /// there: the first pods elsewhere would be too many at once. A launch becomes none of them that wasn't chosen so.
    pub opening_bins: FixedBitSet,
}

impl SideRows {
    /// Whether there are none at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self {
            caps,
            conflicts,
            penalties,
            ..
        } = self;
        caps.is_empty() && conflicts.is_empty() && penalties.is_empty() && !self.span_nodes()
    }

    /// Whether some can't be told from one node alone.
    #[must_use]
    pub fn span_nodes(&self) -> bool {
        let Self {
            caps: _,
            conflicts: _,
            penalties: _,
            spreads,
            together,
            apart,
            rows,
            near,
            beside,
            opening_bins: _,
        } = self;
        let no_sums = spreads.is_empty() && rows.is_empty();
        let no_domains = together.is_empty() && apart.is_empty() && near.is_empty();
        !(no_sums && no_domains && beside.is_empty())
    }

    /// What a pod of a group costs in a place beside its share of the node.
    #[must_use]
    pub fn penalty(&self, group: usize, place: Place) -> u64 {
        self.penalties
            .iter()
            .filter(|penalty| penalty.groups.contains(group) && penalty.places.contains(place))
            .map(|penalty| penalty.each)
            .sum()
    }
}
