//! Wishes: what a packing may leave undone, and what that costs.
//!
//! Plain data, over groups, kinds and rooms of one [`super::Problem`], apart from its [side rows](super::side): no engine has to
//! know of them to pack, and none is kept from packing by them. Only those of groups that nodes may be launched for are here.
//!
//! | rule | wish |
//! |---|---|
//! | preferred node affinity, `PreferNoSchedule` | [`Taste`] |
//! | `ScheduleAnyway` spread | [`Evenly`] |
//! | preferred affinity and anti-affinity between pods | [`Company`] |
//! | `zoneImbalance` of a PackingPolicy | [`Imbalance`] |
//!
//! A wish counts where a packing places pods that have it. Units: pods, micro-dollars per hour.

use std::sync::Arc;

use fixedbitset::FixedBitSet;

use super::side::Place;
use super::terms::Imbalance;

/// Where a place is, for one wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// In no domain: nothing there counts.
    Nowhere,
    /// Each node there is a domain of its own.
    OnNode,
    /// In the domain of this index.
    In(usize),
}

/// The domains of a topology key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Domains {
    /// How many there are; none where each node is one.
    pub count: usize,
    /// By kind.
    pub kinds: Vec<Option<usize>>,
    /// By room.
    pub rooms: Vec<Option<usize>>,
    /// Whether each node is a domain of its own: then the indices say nothing.
    pub by_node: bool,
}

impl Domains {
    /// Where a place is.
    #[must_use]
    pub fn of(&self, place: Place) -> Spot {
        let domain = match place {
            Place::Kind(kind) => self.kinds[kind],
            Place::Room(room) => self.rooms[room],
        };
        match domain {
            None => Spot::Nowhere,
            Some(_) if self.by_node => Spot::OnNode,
            Some(domain) => Spot::In(domain),
        }
    }
}

/// What nodes of each place cost a pod: terms that it prefers and they don't meet, soft taints that it doesn't tolerate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taste {
    /// Whose.
    pub groups: FixedBitSet,
    /// By kind.
    pub kinds: Vec<u64>,
    /// By room.
    pub rooms: Vec<u64>,
}

impl Taste {
    /// For each pod of its groups on a node of a place.
    #[must_use]
    pub fn cost(&self, place: Place) -> u64 {
        match place {
            Place::Kind(kind) => self.kinds[kind],
            Place::Room(room) => self.rooms[room],
        }
    }
}

/// Pods in even numbers over domains of places that those who wish it could use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evenly {
    /// The groups that wish it.
    pub wishers: FixedBitSet,
    /// The groups whose pods count.
    pub counted: FixedBitSet,
    /// Where they count.
    pub domains: Arc<Domains>,
    /// Running pods that count: by domain, or by room where each node is one.
    pub there: Vec<u64>,
    /// Whether a domain is one although no node is there.
    pub always: Vec<bool>,
    /// Where each node is a domain: running pods on those that take no more.
    pub elsewhere: Vec<u64>,
    /// The most that one may have above the least.
    pub skew: u64,
    /// What a step beyond costs.
    pub each: u64,
}

impl Evenly {
    /// Running pods that count on a node which is a domain of its own.
    #[must_use]
    pub fn there_on(&self, place: Place) -> u64 {
        on_room(&self.there, place)
    }

    /// Steps that the fullest domain is beyond what the least admits.
    #[must_use]
    pub fn steps(&self, most: u64, least: u64) -> u64 {
        most.saturating_sub(least).saturating_sub(self.skew)
    }
}

/// Pods near others, or away from them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Company {
    /// The groups that wish it.
    pub wishers: FixedBitSet,
    /// The groups that match.
    pub matching: FixedBitSet,
    /// How near is near.
    pub domains: Arc<Domains>,
    /// Running pods that match: by domain, or by room where each node is one.
    pub there: Vec<u64>,
    /// For each pod whose wish isn't met.
    pub each: u64,
    /// Near them; otherwise away.
    pub is_near: bool,
}

/// By room, what is on it; a node to launch has nothing yet.
fn on_room(there: &[u64], place: Place) -> u64 {
    match place {
        Place::Kind(_) => 0,
        Place::Room(room) => there[room],
    }
}

/// Pods of one domain, as a company sees them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Present {
    /// Wishers that match themselves.
    pub own: u64,
    /// Wishers that don't.
    pub others: u64,
    /// All that match, running ones and wishers among them.
    pub matching: u64,
}

impl Company {
    /// Running pods that match on a node which is a domain of its own.
    #[must_use]
    pub fn there_on(&self, place: Place) -> u64 {
        on_room(&self.there, place)
    }

    /// Wishers in a domain whose wish isn't met. Away: all but the first of those that match.
    #[must_use]
    pub fn unmet(&self, present: Present) -> u64 {
        let Present {
            own,
            others,
            matching,
        } = present;
        match (self.is_near, matching) {
            (true, 0) => others,
            (true, 1) => own,
            (false, 1..) => others + own.min(matching - 1),
            _ => 0,
        }
    }

    /// The same for so many outside of all domains.
    #[must_use]
    pub fn unmet_outside(&self, wishers: u64) -> u64 {
        if self.is_near { wishers } else { 0 }
    }
}

/// All wishes of a problem.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// About nodes.
    pub tastes: Vec<Taste>,
    /// About numbers.
    pub evenly: Vec<Evenly>,
    /// About other pods.
    pub company: Vec<Company>,
    /// About zones of a pool, no pod's but the objective's.
    pub imbalances: Vec<Imbalance>,
}

impl Wishes {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self {
            tastes,
            evenly,
            company,
            imbalances,
        } = self;
        tastes.is_empty() && evenly.is_empty() && company.is_empty() && imbalances.is_empty()
    }
}
