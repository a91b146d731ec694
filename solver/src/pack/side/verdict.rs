//! A packing against everything that its problem asks for, read literally and counted in integers.
//!
//! For tests and for the last look at what an engine offers; no packing is built by it. Slow: each rule is counted from
//! the whole packing.

use std::fmt;

use fixedbitset::FixedBitSet;

use crate::lower::Problem;
use crate::lower::rules::resources;
use crate::lower::side::{
    Beside, Cap, Conflict, Excess, Near, Place, Places, Row, SideRows, Spread, Together,
};
use crate::pack::{Filling, Packing, load};

/// What a packing breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// More on a node than it has room for.
    Room(Place),
    /// A pod where its group may not be.
    Usable(usize, Place),
    /// Placed and left don't add up to the pods of this group.
    Count(usize),
    /// More nodes of this supply than there are.
    Supply(usize),
    /// More than the limits of this pool leave.
    Limit(usize),
    /// This cap, on a node of this place.
    Cap(usize, Place),
    /// This conflict, on a node of this place.
    Conflict(usize, Place),
    /// This spread.
    Spread(usize),
    /// These pods aren't together.
    Together(usize),
    /// These pods aren't apart.
    Apart(usize),
    /// This row.
    Row(usize),
    /// These pods aren't near those that they want to be near.
    Near(usize),
    /// These aren't on nodes of theirs.
    Beside(usize),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// Nodes of a packing with their number: each room once, each launch as often as it counts.
pub(super) fn nodes(packing: &Packing) -> impl Iterator<Item = (Place, &Filling, u64)> {
    let rooms = packing.rooms.iter().enumerate();
    let rooms = rooms.map(|(room, filling)| (Place::Room(room), filling, 1));
    let launched = packing.launched.iter();
    rooms.chain(launched.map(|launched| (Place::Kind(launched.kind), &launched.filling, launched.count)))
}

/// Pods of some groups in some places.
fn pods(packing: &Packing, groups: &FixedBitSet, places: &Places) -> u64 {
    nodes(packing)
        .filter(|(place, ..)| places.contains(*place))
        .map(|(_, filling, count)| of(filling, groups) * count)
        .sum()
}

/// Pods of some groups on one node.
pub(super) fn of(filling: &Filling, groups: &FixedBitSet) -> u64 {
    let parts = filling.iter().filter(|(group, _)| groups.contains(*group));
    parts.map(|(_, count)| count).sum()
}

/// All that a packing breaks.
#[must_use]
pub fn broken(problem: &Problem<'_>, packing: &Packing) -> Vec<Broken> {
    let mut broken = Vec::new();
    for (place, filling, count) in nodes(packing) {
        if count > 0 {
            broken.extend(on_node(problem, place, filling));
        }
    }
    broken.extend(beside_side_rows(problem, packing));
    broken.extend(across_nodes(&problem.side, packing));
    broken
}

/// What the pods on one node break by themselves.
#[must_use]
pub fn on_node(problem: &Problem<'_>, place: Place, filling: &Filling) -> Vec<Broken> {
    let mut broken = Vec::new();
    if !resources::fits(&load(problem, filling), problem.room_of(place)) {
        broken.push(Broken::Room(place));
    }
    for (group, _) in filling {
        let usable = match place {
            Place::Kind(kind) => problem.usable[*group].contains(kind),
            Place::Room(room) => problem.rooms[room]
                .profiles
                .contains(problem.groups[*group].profile),
        };
        if !usable {
            broken.push(Broken::Usable(*group, place));
        }
    }
    for (at, cap) in problem.side.caps.iter().enumerate() {
        if cap.excess == Excess::Forbidden && beyond(cap, place, filling) > 0 {
            broken.push(Broken::Cap(at, place));
        }
    }
    for (at, conflict) in problem.side.conflicts.iter().enumerate() {
        if meets(conflict, place, filling) {
            broken.push(Broken::Conflict(at, place));
        }
    }
    broken
}

/// Pods on a node that are more than a cap admits; none where none came.
fn beyond(cap: &Cap, place: Place, filling: &Filling) -> u64 {
    let new = of(filling, &cap.groups);
    (cap.there(place) + new).saturating_sub(cap.most).min(new)
}

/// Whether a node gets pods of one set beside pods of the other.
fn meets(conflict: &Conflict, place: Place, filling: &Filling) -> bool {
    let has = |rooms: &FixedBitSet| matches!(place, Place::Room(room) if rooms.contains(room));
    let (one, other) = (of(filling, &conflict.one) > 0, of(filling, &conflict.other) > 0);
    one && (other || has(&conflict.rooms_with_other)) || other && has(&conflict.rooms_with_one)
}

/// Pods that don't add up, and more than limits and supplies admit.
fn beside_side_rows(problem: &Problem<'_>, packing: &Packing) -> Vec<Broken> {
    let mut broken = Vec::new();
    for (group, count) in problem.counts().into_iter().enumerate() {
        let mut only = FixedBitSet::with_capacity(problem.groups.len());
        only.insert(group);
        let placed: u64 = nodes(packing)
            .map(|(_, filling, count)| of(filling, &only) * count)
            .sum();
        if placed + packing.left[group] != count {
            broken.push(Broken::Count(group));
        }
    }
    let kinds = || {
        packing
            .launched
            .iter()
            .map(|launched| (&problem.kinds[launched.kind], launched.count))
    };
    for (supply, number) in problem.supplies.iter().enumerate() {
        let taken = kinds().filter(|(kind, _)| kind.supply == Some(supply));
        if taken.map(|(_, count)| count).sum::<u64>() > *number {
            broken.push(Broken::Supply(supply));
        }
    }
    for (account, left) in problem.accounts.left.iter().enumerate() {
        let drawn = |counter: usize| -> u64 {
            let own = kinds().filter(|(kind, _)| kind.account == account);
            own.map(|(kind, count)| kind.usage[counter].saturating_mul(count))
                .fold(0, u64::saturating_add)
        };
        // A pool that is over its limit may still launch what doesn't draw on it.
        if (0..left.len()).any(|counter| drawn(counter) > left[counter]) {
            broken.push(Broken::Limit(account));
        }
    }
    broken
}

/// What can only be told from all nodes together.
#[must_use]
pub fn across_nodes(side: &SideRows, packing: &Packing) -> Vec<Broken> {
    let mut broken = Vec::new();
    for (at, spread) in side.spreads.iter().enumerate() {
        if spread.excess == Excess::Forbidden && is_uneven(spread, packing) {
            broken.push(Broken::Spread(at));
        }
    }
    for (at, together) in side.together.iter().enumerate() {
        if !is_together(together, packing) {
            broken.push(Broken::Together(at));
        }
    }
    for (at, apart) in side.apart.iter().enumerate() {
        let meet = |domain: &Places| {
            pods(packing, &apart.one, domain) > 0 && pods(packing, &apart.other, domain) > 0
        };
        if apart.domains.iter().any(meet) {
            broken.push(Broken::Apart(at));
        }
    }
    for (at, row) in side.rows.iter().enumerate() {
        let sum = sum(row, packing);
        let low = row.lower.is_some_and(|lower| sum < i128::from(lower));
        if low || row.upper.is_some_and(|upper| sum > i128::from(upper)) {
            broken.push(Broken::Row(at));
        }
    }
    for (at, near) in side.near.iter().enumerate() {
        if !is_near(near, packing) {
            broken.push(Broken::Near(at));
        }
    }
    for (at, beside) in side.beside.iter().enumerate() {
        if !is_beside(beside, packing) {
            broken.push(Broken::Beside(at));
        }
    }
    broken
}

/// By domain: new pods that are bound, and all pods that count.
fn filled(spread: &Spread, packing: &Packing) -> Vec<(u64, u64)> {
    let domains = spread.domains.iter();
    let numbers = domains.map(|domain| {
        let new = pods(packing, &spread.groups, &domain.places);
        (pods(packing, &spread.bound, &domain.places), domain.there + new)
    });
    numbers.collect()
}

fn least(spread: &Spread, filled: &[(u64, u64)]) -> u64 {
    let least = filled.iter().map(|(_, all)| *all).min().unwrap_or(0);
    if spread.has_too_few_domains() { 0 } else { least }
}

fn is_uneven(spread: &Spread, packing: &Packing) -> bool {
    let filled = filled(spread, packing);
    let most = least(spread, &filled).saturating_add(spread.skew);
    filled.iter().any(|(bound, all)| *bound > 0 && *all > most)
}

fn is_together(together: &Together, packing: &Packing) -> bool {
    let everywhere: u64 = nodes(packing)
        .map(|(_, filling, count)| of(filling, &together.groups) * count)
        .sum();
    let mut domains = together.domains.iter();
    everywhere == 0 || domains.any(|domain| pods(packing, &together.groups, domain) == everywhere)
}

/// Pods that match but don't follow the others.
fn leaders(of: &FixedBitSet, groups: &FixedBitSet) -> FixedBitSet {
    let mut leaders = of.clone();
    leaders.difference_with(groups);
    leaders
}

fn is_near(near: &Near, packing: &Packing) -> bool {
    let everywhere: u64 = nodes(packing)
        .map(|(_, filling, count)| of(filling, &near.groups) * count)
        .sum();
    let leaders = leaders(&near.of, &near.groups);
    let domains = near.domains.iter().map(|domain| {
        let is_lit = domain.there > 0 || pods(packing, &leaders, &domain.places) > 0;
        (is_lit, pods(packing, &near.groups, &domain.places))
    });
    let domains: Vec<(bool, u64)> = domains.collect();
    let lit = domains.iter().filter(|(is_lit, _)| *is_lit);
    let starts = near.may_start && domains.iter().all(|(is_lit, _)| !is_lit);
    lit.map(|(_, here)| here).sum::<u64>() == everywhere
        || starts && domains.iter().any(|(_, here)| *here == everywhere)
}

fn is_beside(beside: &Beside, packing: &Packing) -> bool {
    let leaders = leaders(&beside.of, &beside.groups);
    let is_lit = |place: Place, filling: &Filling| {
        matches!(place, Place::Room(room) if beside.rooms_with.contains(room)) || of(filling, &leaders) > 0
    };
    let with: Vec<(bool, u64)> = nodes(packing)
        .map(|(place, filling, count)| (is_lit(place, filling), of(filling, &beside.groups), count))
        .filter(|(is_lit, here, _)| *is_lit || *here > 0)
        .map(|(is_lit, here, count)| (is_lit, if here > 0 { count } else { 0 }))
        .collect();
    let unlit: u64 = with
        .iter()
        .filter(|(is_lit, _)| !is_lit)
        .map(|(_, nodes)| nodes)
        .sum();
    let starts = beside.may_start && with.iter().all(|(is_lit, _)| !is_lit);
    unlit == 0 || starts && unlit == 1
}

fn sum(row: &Row, packing: &Packing) -> i128 {
    let of_pods = row
        .pods
        .iter()
        .map(|term| i128::from(term.coefficient) * i128::from(pods(packing, &term.groups, &term.places)));
    let of_nodes = row.nodes.iter().map(|term| {
        let launched = packing.launched.iter();
        let counted = launched.filter(|launched| term.kinds.contains(launched.kind));
        let number: u64 = counted.map(|launched| launched.count).sum();
        i128::from(term.coefficient) * i128::from(number)
    });
    of_pods.chain(of_nodes).sum()
}

/// Micro-dollars per hour for all that isn't as wished.
#[must_use]
pub fn penalty(side: &SideRows, packing: &Packing) -> u64 {
    let mut sum = 0_u64;
    for (place, filling, count) in nodes(packing) {
        sum = sum.saturating_add(on_node_penalty(side, place, filling).saturating_mul(count));
    }
    for spread in &side.spreads {
        if let Excess::Costs(each) = spread.excess {
            let filled = filled(spread, packing);
            let most = filled.iter().map(|(_, all)| *all).max().unwrap_or(0);
            let beyond = most.saturating_sub(least(spread, &filled).saturating_add(spread.skew));
            sum = sum.saturating_add(each.saturating_mul(beyond));
        }
    }
    sum
}

/// The same for one node alone.
#[must_use]
pub fn on_node_penalty(side: &SideRows, place: Place, filling: &Filling) -> u64 {
    let of_pods = filling
        .iter()
        .map(|(group, count)| side.penalty(*group, place).saturating_mul(*count));
    let of_caps = side.caps.iter().map(|cap| match cap.excess {
        Excess::Forbidden => 0,
        Excess::Costs(each) => each.saturating_mul(beyond(cap, place, filling)),
    });
    of_pods.chain(of_caps).fold(0, u64::saturating_add)
}
