//! Other numbers of pods by part: pods moved from where they cost more to where they cost less, for [`super::split`] to
//! pack anew.
//!
//! Promises: a packing that is handed out keeps every rule, by [`verdict`]. What a pod costs somewhere is a guess: its share
//! of the node that is cheapest for it. Moved pods get launches of their own, which engines are to improve on.

use crate::lower::Problem;
use crate::lower::rules::resources;
use crate::lower::side::{Place, Places};
use crate::pack::{self, Filling, Launched, Packing, float};

use super::group_parts::Parts;
use super::node::OnNode;
use super::verdict::{self, nodes};

/// Pods that may move.
#[derive(Clone, Debug)]
pub struct Shift {
    /// Of these groups; of several all pods move.
    groups: Vec<usize>,
    from: Places,
    to: Places,
    /// Micro-dollars per hour that it is thought to save.
    saving: f64,
}

/// Shifts that may save something, the most promising first.
#[must_use]
pub fn shifts(problem: &Problem<'_>, packing: &Packing) -> Vec<Shift> {
    let parts = Parts::of(problem);
    let mut shifts = Vec::new();
    for group in 0..problem.groups.len() {
        let places = parts.places(group);
        if places.len() > 1 {
            add_pairs(&mut shifts, problem, packing, &[group], &places);
        }
    }
    let side = &problem.side;
    for together in &side.together {
        let groups: Vec<usize> = together.groups.ones().collect();
        add_pairs(&mut shifts, problem, packing, &groups, &together.domains);
    }
    for near in side.near.iter().filter(|near| near.may_start) {
        let groups: Vec<usize> = near.groups.ones().collect();
        let domains: Vec<Places> = near.domains.iter().map(|domain| domain.places.clone()).collect();
        add_pairs(&mut shifts, problem, packing, &groups, &domains);
    }
    shifts.sort_by(|one, two| two.saving.total_cmp(&one.saving));
    shifts
}

fn add_pairs(
    shifts: &mut Vec<Shift>,
    problem: &Problem<'_>,
    packing: &Packing,
    groups: &[usize],
    domains: &[Places],
) {
    for (from, here) in domains.iter().enumerate() {
        let counts: Vec<u64> = groups.iter().map(|group| pods(packing, *group, here)).collect();
        if counts.iter().all(|count| *count == 0) {
            continue;
        }
        for (_, there) in domains.iter().enumerate().filter(|(to, _)| *to != from) {
            let saving = groups.iter().zip(&counts).map(|(group, count)| {
                let cost = |places: &Places| cheapest(problem, *group, places).map(|(_, cost)| cost);
                // Those on existing nodes cost nothing, and are no reason to launch elsewhere.
                Some(float(*count) * (cost(here)? - cost(there)?))
            });
            if let Some(saving) = saving.sum::<Option<f64>>()
                && saving > 0.0
            {
                shifts.push(Shift {
                    groups: groups.to_vec(),
                    from: here.clone(),
                    to: there.clone(),
                    saving,
                });
            }
        }
    }
}

/// Pods of a group in some places.
fn pods(packing: &Packing, group: usize, places: &Places) -> u64 {
    let of = |filling: &Filling| -> u64 {
        let parts = filling.iter().filter(|(other, _)| *other == group);
        parts.map(|(_, count)| count).sum()
    };
    nodes(packing)
        .filter(|(place, ..)| places.contains(*place))
        .map(|(_, filling, count)| of(filling) * count)
        .sum()
}

/// The kind among these, of the heaviest pools that take the group, on which a pod's share of the node costs least, and what it
/// costs: being cheaper is no reason to go to a lighter pool.
fn cheapest(problem: &Problem<'_>, group: usize, places: &Places) -> Option<(usize, f64)> {
    let cost = |kind: usize| {
        let rooms = problem.room(kind).iter();
        let shares = problem
            .request(group)
            .iter()
            .zip(rooms)
            .filter(|(request, _)| **request > 0);
        let share = shares
            .map(|(request, room)| float(*request) / float(*room))
            .fold(0.0, f64::max);
        share * float(problem.kinds[kind].cost)
    };
    let heaviest = problem.tiers[group].first();
    let kinds = problem.usable[group]
        .intersection(&places.kinds)
        .filter(|kind| heaviest == Some(&problem.kinds[*kind].tier));
    let costs = kinds.map(|kind| (kind, cost(kind)));
    costs.min_by(|(_, one), (_, two)| one.total_cmp(two))
}

/// The packing after a shift: of one group as many pods as rows admit, halved until they do.
#[must_use]
pub fn shifted(problem: &Problem<'_>, packing: &Packing, shift: &Shift) -> Option<Packing> {
    let all = shift
        .groups
        .iter()
        .map(|group| pods(packing, *group, &shift.from))
        .max()?;
    let mut most = all;
    while most > 0 {
        let moved = moved(problem, packing, shift, most)?;
        if verdict::across_nodes(&problem.side, &moved).is_empty() {
            return verdict::broken(problem, &moved).is_empty().then_some(moved);
        }
        most = if shift.groups.len() > 1 { 0 } else { most / 2 };
    }
    None
}

/// At most so many pods of each group moved.
fn moved(problem: &Problem<'_>, packing: &Packing, shift: &Shift, most: u64) -> Option<Packing> {
    let mut moved = packing.clone();
    let rules = OnNode::new(problem);
    for group in &shift.groups {
        let taken = take(&mut moved, *group, &shift.from, most);
        let (kind, _) = cheapest(problem, *group, &shift.to)?;
        let fit = resources::copies(problem.request(*group), problem.room(kind));
        let each = fit
            .min(rules.most(*group, Place::Kind(kind), &[]))
            .min(taken.max(1));
        if each == 0 {
            return None;
        }
        let mut launch = |pods: u64, count: u64| {
            if pods * count > 0 {
                moved.launched.push(Launched {
                    kind,
                    filling: vec![(*group, pods)],
                    count,
                });
            }
        };
        launch(each, taken / each);
        launch(taken % each, 1);
    }
    moved.normalise();
    Some(moved)
}

/// Takes at most so many pods of a group out of some places; how many it took.
fn take(packing: &mut Packing, group: usize, places: &Places, most: u64) -> u64 {
    let mut left = most;
    for (room, filling) in packing.rooms.iter_mut().enumerate() {
        if places.rooms.contains(room) {
            left -= pack::take(filling, group, left);
        }
    }
    let mut launched = Vec::with_capacity(packing.launched.len() + 1);
    for mut node in std::mem::take(&mut packing.launched) {
        let there = node.filling.iter().find(|(other, _)| *other == group);
        let each = there.map_or(0, |(_, count)| *count);
        if each == 0 || !places.kinds.contains(node.kind) {
            launched.push(node);
            continue;
        }
        for (pods, count) in [(each, left / each), (left % each, 1)] {
            let count = count.min(node.count);
            if pods * count > 0 {
                let mut less = node.clone();
                less.count = count;
                left -= pack::take(&mut less.filling, group, pods) * count;
                node.count -= count;
                launched.push(less);
            }
        }
        launched.push(node);
    }
    launched.retain(|node| node.count > 0 && !node.filling.is_empty());
    packing.launched = launched;
    most - left
}
