//! A problem whose rows span nodes, split along a packing into one whose rows don't, so that every engine can pack it.
//!
//! Rows across nodes tell places apart: zones, say. Places that no row of a group tells apart are one *part* for it. The
//! packing says how many pods of each group are in each of its parts; a *sub-group* is a group's pods of one part, and
//! may only use that. Groups under no such row stay whole, with the pods that the packing leaves. What remains are room,
//! limits, supplies, caps, conflicts and penalties.
//!
//! Promises: a packing of the sub-problem that leaves no pod of a group under a row means one of the whole problem
//! ([`Split::whole`]) that keeps all rows, and all of them cost so much more there, which is what doesn't change. Proof,
//! row by row, given that every sub-group has all its pods in its part:
//!
//! - spread, soft or hard; apart; near: each domain is a set of places that its groups' parts don't cross, so the pods of
//!   each group in each domain are as many as before, and these numbers are all that such a row asks for.
//! - together: the same, and so are pods outside of its domains.
//! - row, pods: the places of each term likewise.
//! - row, nodes: where fewer nodes of some kinds could break it, those that are launched stay as they are (*frozen*);
//!   where more could, no more are launched: each kind's supply is what there are, by what other terms and supplies say.
//! - beside: nodes with pods that want it are frozen, and no such pod is in the sub-problem. Others that match may go
//!   anywhere. Where no node matches, since pods that match themselves started alone, none of those that match has a place,
//!   nor gets one: what the packing leaves of groups under rows stays out.
//!
//! What is frozen on existing nodes takes its room and counts in caps and conflicts there; frozen launches are out, with what
//! they take of limits and supplies. Doesn't promise any bound: other numbers by part may be cheaper.

use std::collections::BTreeMap;

use fixedbitset::FixedBitSet;
use ndarray::Array2;

use crate::lower::Problem;
use crate::lower::existing::Room;
use crate::lower::group::Group;
use crate::lower::prune::{self, Kind};
use crate::lower::rules::resources;
use crate::lower::side::{Cap, Conflict, Penalty, Place, SideRows};
use crate::lower::wishes::Wishes;
use crate::pack::{Filling, Launched, Packing, load};

use super::group_parts::{Freeze, Parts};
use super::verdict::{nodes, of};

/// A problem split along a packing.
#[derive(Clone, Debug)]
pub struct Split<'a> {
    /// What remains to be packed; never to be lifted, since its groups' pods are the right ones in number alone.
    pub problem: Problem<'a>,
    /// The packing that it was split along, as one of it.
    pub packing: Packing,
    /// By sub-group: its group.
    origin: Vec<usize>,
    /// By sub-group: whether rows need all its pods to have places.
    settled: Vec<bool>,
    /// What stays as it is.
    frozen: Packing,
}

impl<'a> Split<'a> {
    /// Along a packing that keeps all rows.
    #[must_use]
    pub fn along(problem: &Problem<'a>, packing: &Packing) -> Self {
        let parts = Parts::of(problem);
        let freeze = Freeze::of(&problem.side);
        let (frozen, open) = divided(problem, packing, &parts, &freeze);
        let mut subs = Subs::default();
        for (place, filling, count) in nodes(&open) {
            for (group, each) in filling {
                subs.add(*group, parts.part(*group, place), each * count);
            }
        }
        for (group, left) in open.left.iter().enumerate().filter(|(_, left)| **left > 0) {
            // Under no row there is but one part.
            subs.add(group, 0, *left);
        }
        let origin: Vec<usize> = subs.pods.keys().map(|(group, _)| *group).collect();
        let subs_at: BTreeMap<(usize, usize), usize> = subs.pods.keys().copied().zip(0..).collect();
        let inside = |place: Place, filling: &Filling| -> Filling {
            let sub = |group: usize| subs_at[&(group, parts.part(group, place))];
            filling
                .iter()
                .map(|(group, count)| (sub(*group), *count))
                .collect()
        };
        let mut inner = Packing {
            rooms: open
                .rooms
                .iter()
                .enumerate()
                .map(|(room, filling)| inside(Place::Room(room), filling))
                .collect(),
            launched: (open.launched.iter())
                .map(|launched| Launched {
                    filling: inside(Place::Kind(launched.kind), &launched.filling),
                    ..*launched
                })
                .collect(),
            left: origin.iter().map(|group| open.left[*group]).collect(),
        };
        inner.normalise();
        Self {
            problem: subs.problem(problem, &parts, &freeze, &frozen, &open),
            packing: inner,
            settled: origin.iter().map(|group| parts.has_rows(*group)).collect(),
            origin,
            frozen,
        }
    }

    /// What a packing of the sub-problem means; `None` where it leaves pods that rows count on.
    #[must_use]
    pub fn whole(&self, packing: &Packing) -> Option<Packing> {
        let is_missing = |(left, settled): (&u64, &bool)| *left > 0 && *settled;
        if packing.left.iter().zip(&self.settled).any(is_missing) {
            return None;
        }
        let mut whole = self.frozen.clone();
        for (there, filling) in whole.rooms.iter_mut().zip(&packing.rooms) {
            *there = self.joined(there, filling);
        }
        whole
            .launched
            .extend(packing.launched.iter().map(|launched| Launched {
                filling: self.outside(&launched.filling),
                ..*launched
            }));
        for (sub, left) in packing.left.iter().enumerate() {
            whole.left[self.origin[sub]] += left;
        }
        whole.normalise();
        Some(whole)
    }

    /// What groups have as what sub-groups have.
    #[must_use]
    pub fn values(&self, values: &[f64]) -> Vec<f64> {
        self.origin.iter().map(|group| values[*group]).collect()
    }

    /// A filling in the whole problem's groups.
    #[must_use]
    pub fn outside(&self, filling: &Filling) -> Filling {
        self.joined(&Filling::new(), filling)
    }

    fn joined(&self, there: &Filling, filling: &Filling) -> Filling {
        let mut sum: BTreeMap<usize, u64> = there.iter().copied().collect();
        for (sub, count) in filling {
            *sum.entry(self.origin[*sub]).or_default() += count;
        }
        sum.into_iter().collect()
    }
}

/// What stays as it is, and what may be packed anew.
fn divided(problem: &Problem<'_>, packing: &Packing, parts: &Parts, freeze: &Freeze) -> (Packing, Packing) {
    let mut frozen = Packing {
        rooms: vec![Filling::new(); problem.rooms.len()],
        launched: Vec::new(),
        left: packing.left.clone(),
    };
    let mut open = Packing {
        left: vec![0; packing.left.len()],
        ..frozen.clone()
    };
    for (room, filling) in packing.rooms.iter().enumerate() {
        let into = if freeze.room(filling) {
            &mut frozen
        } else {
            &mut open
        };
        into.rooms[room].clone_from(filling);
    }
    for launched in &packing.launched {
        let into = if freeze.launched(launched) {
            &mut frozen
        } else {
            &mut open
        };
        into.launched.push(launched.clone());
    }
    for group in 0..packing.left.len() {
        if !parts.has_rows(group) {
            std::mem::swap(&mut frozen.left[group], &mut open.left[group]);
        }
    }
    (frozen, open)
}

/// Pods of each group and part, in the order of the sub-groups.
#[derive(Default)]
struct Subs {
    pods: BTreeMap<(usize, usize), u64>,
}

impl Subs {
    fn add(&mut self, group: usize, part: usize, pods: u64) {
        *self.pods.entry((group, part)).or_default() += pods;
    }

    /// What remains to be packed.
    fn problem<'a>(
        &self,
        problem: &Problem<'a>,
        parts: &Parts,
        freeze: &Freeze,
        frozen: &Packing,
        open: &Packing,
    ) -> Problem<'a> {
        let profiles = Profiles::of(self, problem, parts);
        let (kinds, supplies) = freeze.kinds(problem, frozen, open);
        let kinds = kinds.into_iter().enumerate().map(|(at, kind)| Kind {
            profiles: profiles.of_place(Place::Kind(at), &kind.profiles, parts),
            ..kind
        });
        let kinds: Vec<Kind> = kinds.collect();
        let rooms = problem
            .rooms
            .iter()
            .zip(&frozen.rooms)
            .enumerate()
            .map(|(at, (room, there))| {
                let mut free = room.free.clone();
                for (free, taken) in free.iter_mut().zip(load(problem, there)) {
                    *free = free.saturating_sub(taken);
                }
                Room {
                    free,
                    profiles: profiles.of_place(Place::Room(at), &room.profiles, parts),
                    ..*room
                }
            });
        let mut accounts = problem.accounts.clone();
        for launched in &frozen.launched {
            let kind = &problem.kinds[launched.kind];
            resources::take(&mut accounts.left[kind.account], &kind.usage, launched.count);
        }
        let usable: Vec<FixedBitSet> = self.pods.keys().map(|sub| usable(problem, parts, *sub)).collect();
        let columns = problem.resources.len();
        let mut demand = Array2::zeros((self.pods.len(), columns));
        for (sub, (group, _)) in self.pods.keys().enumerate() {
            demand.row_mut(sub).assign(&problem.demand.row(*group));
        }
        Problem {
            snapshot: problem.snapshot,
            resources: problem.resources.clone(),
            groups: self.groups(problem, &profiles),
            demand,
            profiles: profiles.by_origin(|profile| problem.profiles[profile].clone()),
            universe: problem.universe.clone(),
            compatible: profiles.by_origin(|profile| problem.compatible[profile].clone()),
            parts: problem.parts.clone(),
            overhead: problem.overhead.clone(),
            tiers: usable.iter().map(|usable| prune::tiers(&kinds, usable)).collect(),
            kinds,
            allocatable: problem.allocatable.clone(),
            usable,
            accounts,
            supplies,
            rooms: rooms.collect(),
            daemon_pods: problem.daemon_pods.clone(),
            gangs: Vec::new(),
            topology: problem.topology.clone(),
            side: self.side(&problem.side, frozen),
            // They are weighed on the whole.
            wishes: Wishes::default(),
        }
    }

    /// Each with as many pods as it has; which ones doesn't matter.
    fn groups(&self, problem: &Problem<'_>, profiles: &Profiles) -> Vec<Group> {
        let mut next = vec![0; problem.groups.len()];
        let subs = self.pods.iter().zip(&profiles.of_sub);
        let one = |((&(group, _), count), profile): ((&(usize, usize), &u64), &usize)| {
            let whole = &problem.groups[group];
            let from: usize = next[group];
            next[group] = from + usize::try_from(*count).unwrap_or(usize::MAX);
            Group {
                pods: whole.pods[from..next[group]].to_vec(),
                profile: *profile,
                ..*whole
            }
        };
        subs.map(one).collect()
    }

    /// Those of these groups.
    fn subs_of(&self, groups: &FixedBitSet) -> FixedBitSet {
        let mut subs = FixedBitSet::with_capacity(self.pods.len());
        for (sub, (group, _)) in self.pods.keys().enumerate() {
            subs.set(sub, groups.contains(*group));
        }
        subs
    }

    /// Rows within nodes; there are no others.
    fn side(&self, side: &SideRows, frozen: &Packing) -> SideRows {
        let cap = |cap: &Cap| {
            let mut there = cap.there.clone();
            for (room, filling) in frozen.rooms.iter().enumerate() {
                let pods = of(filling, &cap.groups);
                if pods > 0 {
                    *there.entry(room).or_default() += pods;
                }
            }
            Cap {
                groups: self.subs_of(&cap.groups),
                there,
                ..*cap
            }
        };
        let conflict = |conflict: &Conflict| {
            let with = |rooms: &FixedBitSet, groups: &FixedBitSet| {
                let mut rooms = rooms.clone();
                rooms.grow(frozen.rooms.len());
                for (room, filling) in frozen.rooms.iter().enumerate() {
                    rooms.set(room, rooms.contains(room) || of(filling, groups) > 0);
                }
                rooms
            };
            Conflict {
                one: self.subs_of(&conflict.one),
                other: self.subs_of(&conflict.other),
                rooms_with_one: with(&conflict.rooms_with_one, &conflict.one),
                rooms_with_other: with(&conflict.rooms_with_other, &conflict.other),
            }
        };
        let penalty = |penalty: &Penalty| Penalty {
            groups: self.subs_of(&penalty.groups),
            places: penalty.places.clone(),
            each: penalty.each,
        };
        SideRows {
            caps: (side.caps.iter().map(cap))
                .filter(|cap| !cap.groups.is_clear())
                .collect(),
            conflicts: side.conflicts.iter().map(conflict).collect(),
            penalties: (side.penalties.iter().map(penalty))
                .filter(|penalty| !penalty.groups.is_clear())
                .collect(),
            ..SideRows::default()
        }
    }
}

/// Kinds of a group that are in a part.
fn usable(problem: &Problem<'_>, parts: &Parts, (group, part): (usize, usize)) -> FixedBitSet {
    let mut usable = problem.usable[group].clone();
    for kind in problem.usable[group].ones() {
        usable.set(kind, parts.part(group, Place::Kind(kind)) == part);
    }
    usable
}

/// Profiles of the sub-groups: those of their groups, each in one part.
struct Profiles {
    /// Profile of the whole problem, and a group and a part of it that tell where it is open.
    all: Vec<(usize, usize, usize)>,
    /// By sub-group.
    of_sub: Vec<usize>,
}

impl Profiles {
    fn of(subs: &Subs, problem: &Problem<'_>, parts: &Parts) -> Self {
        let mut known: BTreeMap<(usize, usize, usize), usize> = BTreeMap::new();
        let mut profiles = Self {
            all: Vec::new(),
            of_sub: Vec::with_capacity(subs.pods.len()),
        };
        for (group, part) in subs.pods.keys() {
            let profile = problem.groups[*group].profile;
            let at = known
                .entry((profile, parts.partition(*group), *part))
                .or_insert_with(|| {
                    profiles.all.push((profile, *group, *part));
                    profiles.all.len() - 1
                });
            profiles.of_sub.push(*at);
        }
        profiles
    }

    /// Those that may use a place, where these may use it in the whole problem.
    fn of_place(&self, place: Place, open: &FixedBitSet, parts: &Parts) -> FixedBitSet {
        let mut profiles = FixedBitSet::with_capacity(self.all.len());
        for (at, (profile, group, part)) in self.all.iter().enumerate() {
            profiles.set(at, open.contains(*profile) && parts.part(*group, place) == *part);
        }
        profiles
    }

    fn by_origin<Of>(&self, of: impl Fn(usize) -> Of) -> Vec<Of> {
        self.all.iter().map(|(profile, ..)| of(*profile)).collect()
    }
}

#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;
