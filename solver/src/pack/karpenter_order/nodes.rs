//! Rooms and open nodes while they are filled.
//!
//! Open nodes that have been filled alike are in one state: what a group finds there, and which kinds are left afterwards, is
//! computed once for all of them. What a group has on a node counts apart from the state until the group is done, and can be
//! taken back until then.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use fixedbitset::FixedBitSet;

use crate::lower::Problem;
use crate::lower::rules::resources;
use crate::lower::side::Place;
use crate::pack::ledger::Ledger;
use crate::pack::side::across::Across;
use crate::pack::side::node::OnNode;
use crate::pack::{Filling, Launched, Packing};

use super::beside::Spot;

/// A node that is being filled.
#[derive(Clone, Debug)]
pub(super) struct Open {
    /// What it is like without the pods of the group that is being placed.
    state: usize,
    /// The kind that it is booked as in the ledger.
    booked: usize,
    /// The same before the group that is being placed.
    booked_before: usize,
    /// The part of all its kinds.
    part: usize,
    pods: u64,
    /// Those of the group that is being placed.
    added: u64,
}

/// What several open nodes are like.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// Kinds that hold what is on it, cheapest first; all of one pool and one part.
    kinds: Vec<usize>,
    load: Vec<u64>,
    /// In the order of placement.
    pub(super) filling: Filling,
}

/// All of it.
pub(super) struct State<'a> {
    pub(super) problem: &'a Problem<'a>,
    pub(super) ledger: Ledger,
    /// Counts of the rows across nodes.
    pub(super) across: Across,
    /// By row of those that put groups on certain nodes: where it started without a match.
    pub(super) started: Vec<Option<Spot>>,
    /// By room: what is on it before.
    pub(super) before: Vec<Filling>,
    pub(super) free: Vec<Vec<u64>>,
    pub(super) rooms: Vec<Filling>,
    /// Whether limits or supplies matter at all.
    restricted: bool,
    open: Vec<Open>,
    shapes: Vec<Shape>,
    /// Open nodes that some later pod may fit.
    live: Vec<usize>,
    rules: OnNode<'a>,
    /// By tier and part: the shape of a new node for the group that is being placed.
    fresh: BTreeMap<(usize, Option<usize>), usize>,
    /// Rooms and open nodes that have pods of the group that is being placed, and the rooms' numbers.
    touched: Vec<(Spot, u64)>,
}

impl<'a> State<'a> {
    /// With nothing placed.
    pub(super) fn new(problem: &'a Problem<'a>) -> Self {
        Self {
            problem,
            ledger: Ledger::new(problem),
            across: Across::new(problem),
            started: vec![None; problem.side.beside.len()],
            before: Vec::new(),
            free: problem.rooms.iter().map(|room| room.free.clone()).collect(),
            rooms: vec![Filling::new(); problem.rooms.len()],
            restricted: problem.is_restricted(),
            open: Vec::new(),
            shapes: Vec::new(),
            live: Vec::new(),
            rules: OnNode::new(problem),
            fresh: BTreeMap::new(),
            touched: Vec::new(),
        }
    }

    /// Places pods of a group; how many are left.
    pub(super) fn place(&mut self, group: usize, count: u64) -> u64 {
        let left = if self.across.concerns(group) {
            self.place_by_rows(group, count)
        } else {
            self.place_in(group, count, None)
        };
        self.settle(group);
        left
    }

    /// Places pods of a group in a part, or anywhere; how many are left. Doesn't book them in the counts across nodes.
    pub(super) fn place_in(&mut self, group: usize, count: u64, part: Option<usize>) -> u64 {
        let mut left = self.fill_rooms(group, count, part);
        for tier in &self.problem.tiers[group] {
            if left == 0 {
                break;
            }
            left = self.place_at(group, left, *tier, part);
        }
        left
    }

    fn fill_rooms(&mut self, group: usize, count: u64, part: Option<usize>) -> u64 {
        let rooms = match part {
            Some(part) => self.across.parts.rooms_of[part].len(),
            None => self.free.len(),
        };
        let mut left = count;
        for at in 0..rooms {
            if left == 0 {
                break;
            }
            let room = part.map_or(at, |part| self.across.parts.rooms_of[part][at]);
            let placed = left.min(self.room_capacity(group, room));
            self.put_in_room(group, room, placed);
            left -= placed;
        }
        left
    }

    /// How many more pods of a group a room takes.
    pub(super) fn room_capacity(&self, group: usize, at: usize) -> u64 {
        let problem = self.problem;
        let copies = resources::copies(problem.request(group), &self.free[at]);
        if copies == 0
            || !problem.rooms[at].profiles.contains(problem.groups[group].profile)
            || !self.admits(group, Spot::Room(at))
        {
            return 0;
        }
        let place = Place::Room(at);
        let most = match self.before.get(at).filter(|before| !before.is_empty()) {
            None => self.rules.most(group, place, &self.rooms[at]),
            Some(before) => {
                let both = [before.as_slice(), &self.rooms[at]].concat();
                self.rules.most(group, place, &both)
            }
        };
        copies.min(most)
    }

    /// Puts pods into a room that takes them.
    pub(super) fn put_in_room(&mut self, group: usize, room: usize, count: u64) {
        if count > 0 {
            resources::take(&mut self.free[room], self.problem.request(group), count);
            self.rooms[room].push((group, count));
            self.touched.push((Spot::Room(room), count));
        }
    }

    fn place_at(&mut self, group: usize, count: u64, tier: usize, part: Option<usize>) -> u64 {
        let (mut left, mut dropped) = (count, 0);
        // Fewest pods first; among equals the node that was opened first.
        let mut heap: BinaryHeap<Reverse<(u64, usize, u64)>> = BinaryHeap::new();
        for (at, capacity) in self.capacities(group, tier, part) {
            heap.push(Reverse((self.open[at].pods, at, capacity)));
        }
        while left > 0 {
            let Some(Reverse((pods, at, capacity))) = heap.pop() else {
                let Some((at, capacity)) = self.launch(group, tier, part) else {
                    break;
                };
                if let Some(part) = part {
                    // A node counts in sums as well, so that fewer pods may be left to place.
                    let placed = count - dropped - left;
                    let admitted = left.min(self.admitted_by_sums(group, part, placed));
                    dropped += left - admitted;
                    left = admitted;
                    if left == 0 {
                        self.close_empty(at);
                        break;
                    }
                }
                heap.push(Reverse((0, at, capacity)));
                continue;
            };
            if self.restricted && !self.rebook(at, group) {
                continue;
            }
            self.put(at);
            left -= 1;
            if capacity > 1 {
                heap.push(Reverse((pods + 1, at, capacity - 1)));
            }
        }
        left + dropped
    }

    /// Puts as many of so many pods on an open node as limits and supplies admit; how many.
    pub(super) fn put_as_many(&mut self, at: usize, group: usize, count: u64) -> u64 {
        let fits = |state: &mut Self| !state.restricted || state.rebook(at, group);
        let mut placed = 0;
        while placed < count && fits(self) {
            self.put(at);
            placed += 1;
        }
        if self.open[at].pods == 0 {
            self.close_empty(at);
        }
        placed
    }

    /// Closes a node that nothing came to.
    fn close_empty(&mut self, at: usize) {
        self.ledger.close(self.problem, self.open[at].booked, 1);
        self.across.launch(self.open[at].part, -1);
        self.live.retain(|other| *other != at);
    }

    /// The most pods of a group that a new node of a part takes.
    pub(super) fn largest_new(&self, group: usize, tier: usize, part: usize) -> u64 {
        let problem = self.problem;
        if !self.admits(group, Spot::Elsewhere) {
            return 0;
        }
        let kinds = self.candidates(group, tier, Some(part)).into_iter();
        let capacity = |kind: usize| {
            let copies = resources::copies(problem.request(group), problem.room(kind));
            copies.min(self.rules.most(group, Place::Kind(kind), &[]))
        };
        kinds.map(capacity).max().unwrap_or(0)
    }

    /// Sums alone, with so many pods placed that aren't booked yet.
    fn admitted_by_sums(&mut self, group: usize, part: usize, placed: u64) -> u64 {
        if !self.across.counts_nodes(part) {
            return u64::MAX;
        }
        self.across.place(group, part, placed);
        let admitted = self.across.allowed_by_sums(group, part);
        self.across.unplace(group, part, placed);
        admitted
    }

    /// Live nodes that take more of a group, and how many.
    pub(super) fn capacities(&self, group: usize, tier: usize, part: Option<usize>) -> Vec<(usize, u64)> {
        let mut known: BTreeMap<usize, u64> = BTreeMap::new();
        let mut capacities = Vec::new();
        for at in &self.live {
            let open = &self.open[*at];
            let is_here = part.is_none_or(|part| part == open.part);
            if !is_here
                || self.problem.kinds[open.booked].tier != tier
                || !self.admits(group, Spot::Open(*at))
            {
                continue;
            }
            let all = *known
                .entry(open.state)
                .or_insert_with(|| self.capacity(open, group));
            let capacity = all.saturating_sub(open.added);
            if capacity > 0 {
                capacities.push((*at, capacity));
            }
        }
        capacities
    }

    /// How many pods of a group a node takes beside others, by the roomiest of its kinds.
    fn capacity(&self, open: &Open, group: usize) -> u64 {
        let problem = self.problem;
        let request = problem.request(group);
        let shape = &self.shapes[open.state];
        let most = self.rules.most(group, Place::Kind(open.booked), &shape.filling);
        if most == 0 {
            return 0;
        }
        shape
            .kinds
            .iter()
            .filter(|kind| problem.usable[group].contains(**kind))
            .map(|kind| copies_beside(request, &shape.load, problem.room(*kind)))
            .max()
            .unwrap_or(0)
            .min(most)
    }

    /// Books the cheapest kind that holds one more pod of the group, if limits and supplies allow one.
    fn rebook(&mut self, at: usize, group: usize) -> bool {
        let problem = self.problem;
        let request = problem.request(group);
        let open = &self.open[at];
        let shape = &self.shapes[open.state];
        let found = shape.kinds.iter().copied().find(|kind| {
            problem.usable[group].contains(*kind)
                && copies_beside(request, &shape.load, problem.room(*kind)) > open.added
                && (*kind == open.booked || self.ledger.may_swap(problem, open.booked, *kind))
        });
        if let Some(kind) = found {
            self.book_as(at, kind);
        }
        found.is_some()
    }

    fn book_as(&mut self, at: usize, kind: usize) {
        let booked = self.open[at].booked;
        self.ledger.close(self.problem, booked, 1);
        self.ledger.open(self.problem, kind, 1);
        self.open[at].booked = kind;
    }

    /// Puts a pod on an open node that takes it.
    fn put(&mut self, at: usize) {
        let open = &mut self.open[at];
        if open.added == 0 {
            self.touched.push((Spot::Open(at), 0));
        }
        open.pods += 1;
        open.added += 1;
    }

    /// Opens a node of the first pool that can take the group; which it is, and how many of the group fit.
    pub(super) fn launch(&mut self, group: usize, tier: usize, part: Option<usize>) -> Option<(usize, u64)> {
        if !self.admits(group, Spot::Elsewhere) {
            return None;
        }
        let known = self.fresh.get(&(tier, part)).copied();
        let shape = match known.filter(|_| !self.restricted && !self.across.has_sums()) {
            Some(shape) => shape,
            None => self.new_shape(group, tier, part, known)?,
        };
        self.fresh.insert((tier, part), shape);
        let booked = *self.shapes[shape].kinds.first()?;
        let part = self.across.parts.part(Place::Kind(booked));
        let open = Open {
            state: shape,
            booked,
            booked_before: booked,
            part,
            pods: 0,
            added: 0,
        };
        let capacity = self.capacity(&open, group);
        if capacity == 0 {
            return None;
        }
        self.ledger.open(self.problem, booked, 1);
        self.across.launch(part, 1);
        let at = self.open.len();
        self.live.push(at);
        self.open.push(open);
        Some((at, capacity))
    }

    /// What a new node is like; the one that is known if that is still so.
    fn new_shape(
        &mut self,
        group: usize,
        tier: usize,
        part: Option<usize>,
        known: Option<usize>,
    ) -> Option<usize> {
        let problem = self.problem;
        let mut kinds = self.candidates(group, tier, part);
        // Among pools of one weight Karpenter takes the last by name.
        let pool = kinds.iter().map(|kind| problem.kinds[*kind].pool).max()?;
        kinds.retain(|kind| problem.kinds[*kind].pool == pool);
        if part.is_none() && self.across.parts.count() > 1 {
            // Where nothing says which part it is: the one that is the cheapest for the group.
            let cheapest = kinds.iter().min_by_key(|kind| self.cost_of_each(group, **kind))?;
            let part = self.across.parts.part(Place::Kind(*cheapest));
            kinds.retain(|kind| self.across.parts.part(Place::Kind(*kind)) == part);
        }
        if let Some(known) = known.filter(|known| self.shapes[*known].kinds == kinds) {
            return Some(known);
        }
        self.shapes.push(Shape {
            kinds,
            load: vec![0; problem.resources.len()],
            filling: Filling::new(),
        });
        Some(self.shapes.len() - 1)
    }

    /// Kinds that may be launched for a group.
    fn candidates(&self, group: usize, tier: usize, part: Option<usize>) -> Vec<usize> {
        let problem = self.problem;
        let parts = 0..self.across.parts.count();
        let may_launch: Vec<bool> = parts.map(|part| self.across.may_launch(part)).collect();
        let kinds = problem.usable[group].ones().filter(|kind| {
            let of_kind = self.across.parts.part(Place::Kind(*kind));
            problem.kinds[*kind].tier == tier
                && part.is_none_or(|part| part == of_kind)
                && may_launch[of_kind]
                && self.ledger.allowed(problem, *kind) > 0
        });
        kinds.collect()
    }

    /// What a pod of a group costs on a full node of a kind, and the kind.
    pub(super) fn cost_of_each(&self, group: usize, kind: usize) -> (u64, usize) {
        let problem = self.problem;
        let copies = resources::copies(problem.request(group), problem.room(kind));
        let most = self.rules.most(group, Place::Kind(kind), &[]);
        (problem.kinds[kind].cost / copies.min(most).max(1), kind)
    }

    /// Takes pods of the group that is being placed away from a part, those placed last first. Nodes that are empty then are
    /// closed.
    pub(super) fn take_back(&mut self, group: usize, part: usize, count: u64) {
        let mut left = count;
        let mut closed = FixedBitSet::new();
        let mut touched = std::mem::take(&mut self.touched);
        for (spot, in_room) in touched.iter_mut().rev() {
            match *spot {
                Spot::Room(room) if self.across.parts.part(Place::Room(room)) == part => {
                    let taken = left.min(*in_room);
                    if taken > 0 {
                        *in_room -= taken;
                        left -= taken;
                        self.take_from_room(group, room, taken);
                    }
                }
                Spot::Open(at) if self.open[at].part == part => {
                    let open = &mut self.open[at];
                    let taken = left.min(open.added);
                    open.added -= taken;
                    open.pods -= taken;
                    left -= taken;
                    if taken > 0 && open.pods == 0 {
                        closed.grow_and_insert(at);
                        self.ledger.close(self.problem, self.open[at].booked, 1);
                        self.across.launch(part, -1);
                    }
                }
                _ => {}
            }
        }
        touched.retain(|(spot, in_room)| match spot {
            Spot::Open(at) => self.open[*at].added > 0,
            _ => *in_room > 0,
        });
        self.touched = touched;
        if !closed.is_clear() {
            self.live.retain(|at| !closed.contains(*at));
        }
    }

    fn take_from_room(&mut self, group: usize, room: usize, count: u64) {
        resources::give(&mut self.free[room], self.problem.request(group), count);
        let mut left = count;
        for (other, here) in self.rooms[room].iter_mut().rev() {
            if *other == group {
                let taken = left.min(*here);
                *here -= taken;
                left -= taken;
            }
        }
        self.rooms[room].retain(|(_, here)| *here > 0);
    }

    /// Takes back all of the group that is being placed, and books nodes as before.
    pub(super) fn take_all_back(&mut self, group: usize, placed: &[u64]) {
        let touched = self.touched.clone();
        for (part, count) in placed.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.take_back(group, part, *count);
        }
        for (spot, _) in touched {
            if let Spot::Open(at) = spot
                && self.open[at].pods > 0
                && self.open[at].booked != self.open[at].booked_before
            {
                self.book_as(at, self.open[at].booked_before);
            }
        }
    }

    /// After a group: nodes that took it keep the kinds that hold them.
    fn settle(&mut self, group: usize) {
        let problem = self.problem;
        let request = problem.request(group);
        let mut next: BTreeMap<(usize, u64), usize> = BTreeMap::new();
        for (spot, _) in std::mem::take(&mut self.touched) {
            let Spot::Open(at) = spot else { continue };
            let (state, added) = (self.open[at].state, self.open[at].added);
            let shapes = &mut self.shapes;
            let shape = *next.entry((state, added)).or_insert_with(|| {
                let mut shape = shapes[state].clone();
                resources::give(&mut shape.load, request, added);
                match shape.filling.last_mut().filter(|(last, _)| *last == group) {
                    Some((_, count)) => *count += added,
                    None => shape.filling.push((group, added)),
                }
                let load = &shape.load;
                shape.kinds.retain(|kind| {
                    problem.usable[group].contains(*kind) && resources::fits(load, problem.room(*kind))
                });
                shapes.push(shape);
                shapes.len() - 1
            });
            let open = &mut self.open[at];
            (open.state, open.added) = (shape, 0);
            if !self.restricted
                && let Some(cheapest) = self.shapes[shape].kinds.first()
            {
                open.booked = *cheapest;
            }
            open.booked_before = open.booked;
        }
        self.fresh.clear();
    }

    /// Sets nodes aside that not even the smallest pod to come fits.
    pub(super) fn retire(&mut self, smallest: Option<&Vec<u64>>) {
        let Some(smallest) = smallest else { return };
        let (open, shapes, problem) = (&self.open, &self.shapes, self.problem);
        let mut known: BTreeMap<usize, bool> = BTreeMap::new();
        self.live.retain(|at| {
            *known.entry(open[*at].state).or_insert_with(|| {
                let shape = &shapes[open[*at].state];
                let mut kinds = shape.kinds.iter();
                kinds.any(|kind| copies_beside(smallest, &shape.load, problem.room(*kind)) > 0)
            })
        });
    }

    /// Looks at all nodes again, also at those that were set aside.
    pub(super) fn revive(&mut self) {
        self.live = (0..self.open.len())
            .filter(|at| self.open[*at].pods > 0)
            .collect();
    }

    /// What is on an open node beside the group that is being placed.
    pub(super) fn filling(&self, at: usize) -> &Filling {
        &self.shapes[self.open[at].state].filling
    }

    /// The part that an open node is of.
    pub(super) fn part_of_open(&self, at: usize) -> usize {
        self.open[at].part
    }

    pub(super) fn finish(self, left: Vec<u64>) -> Packing {
        let mut packing = Packing {
            rooms: self.rooms.into_iter().map(sorted).collect(),
            launched: Vec::with_capacity(self.open.len()),
            left,
        };
        let shapes = self.shapes;
        for open in self.open.into_iter().filter(|open| open.pods > 0) {
            packing.launched.push(Launched {
                kind: open.booked,
                filling: sorted(shapes[open.state].filling.clone()),
                count: 1,
            });
        }
        packing.normalise();
        packing
    }
}

/// By group, each group once.
fn sorted(filling: Filling) -> Filling {
    let mut merged: BTreeMap<usize, u64> = BTreeMap::new();
    for (group, count) in filling {
        *merged.entry(group).or_default() += count;
    }
    merged.into_iter().collect()
}

/// How many times a request fits beside a load.
fn copies_beside(request: &[u64], load: &[u64], room: &[u64]) -> u64 {
    let mut copies = u64::MAX;
    for ((request, load), room) in request.iter().zip(load).zip(room) {
        let Some(rest) = room.checked_sub(*load) else {
            return 0;
        };
        if *request > 0 {
            copies = copies.min(rest / request);
        }
    }
    copies
}
