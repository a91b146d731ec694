//! Rooms and open nodes while they are filled.
//!
//! What a group has on a node counts apart from the state until the group is done, and can be
//! taken back until then.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::lower::Problem;
use crate::lower::rules::resources;
use crate::lower::side::Place;
use crate::pack::ledger::Ledger;
use crate::pack::side::across::Across;
use crate::pack::side::node::OnNode;
use crate::pack::{Filling, Launched, Packing};

use super::beside::Spot;
use super::shapes::Shapes;

/// A node that is being filled.
#[derive(Clone, Debug)]
pub(super) struct Open {
    /// Its shape, without the pods of the group that is being placed.
    pub(super) state: usize,
    /// The kind that it is booked as in the ledger.
    pub(super) booked: usize,
    /// The same before the group that is being placed.
    pub(super) booked_before: usize,
    /// The part of all its kinds.
    pub(super) part: usize,
    pub(super) pods: u64,
    /// Those of the group that is being placed.
    pub(super) added: u64,
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
    pub(super) restricted: bool,
    pub(super) open: Vec<Open>,
    pub(super) shapes: Shapes<'a>,
    /// By part: open nodes that some later pod may fit.
    pub(super) live: Vec<Vec<usize>>,
    pub(super) rules: OnNode<'a>,
    /// By tier and part: the shape of a new node for the group that is being placed.
    pub(super) fresh: BTreeMap<(usize, Option<usize>), usize>,
    /// Rooms and open nodes that have pods of the group that is being placed, and the rooms' numbers.
    pub(super) touched: Vec<(Spot, u64)>,
}

impl<'a> State<'a> {
    /// With nothing placed.
    pub(super) fn new(problem: &'a Problem<'a>) -> Self {
        let across = Across::new(problem);
        Self {
            problem,
            ledger: Ledger::new(problem),
            live: vec![Vec::new(); across.parts.count()],
            across,
            started: vec![None; problem.side.beside.len()],
            before: Vec::new(),
            free: problem.rooms.iter().map(|room| room.free.clone()).collect(),
            rooms: vec![Filling::new(); problem.rooms.len()],
            restricted: problem.is_restricted(),
            open: Vec::new(),
            shapes: Shapes::new(problem),
            rules: OnNode::new(problem),
            fresh: BTreeMap::new(),
            touched: Vec::new(),
        }
    }

    /// Places pods of a group; how many are left.
    pub(super) fn place(&mut self, group: usize, count: u64) -> u64 {
        self.shapes.turn();
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
        self.live[self.open[at].part].retain(|other| *other != at);
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
        let live = part.map_or(self.live.as_slice(), |part| &self.live[part..=part]);
        let mut capacities = Vec::new();
        for at in live.iter().flatten() {
            let open = &self.open[*at];
            if self.problem.kinds[open.booked].tier == tier && self.admits(group, Spot::Open(*at)) {
                let capacity = self.capacity(open, group).saturating_sub(open.added);
                if capacity > 0 {
                    capacities.push((*at, capacity));
                }
            }
        }
        capacities
    }

    /// How many pods of a group a node takes beside others.
    pub(super) fn capacity(&self, open: &Open, group: usize) -> u64 {
        let most = |filling: &Filling| self.rules.most(group, Place::Kind(open.booked), filling);
        self.shapes.capacity(open.state, group, most)
    }

    /// Books the cheapest kind that holds one more pod of the group, if limits and supplies allow one.
    fn rebook(&mut self, at: usize, group: usize) -> bool {
        let problem = self.problem;
        let open = &self.open[at];
        let mut kinds = self.shapes.kinds(open.state).iter().copied();
        let found = kinds.find(|kind| {
            problem.usable[group].contains(*kind)
                && self.shapes.copies_of(open.state, group, *kind) > open.added
                && (*kind == open.booked || self.ledger.may_swap(problem, open.booked, *kind))
        });
        if let Some(kind) = found {
            self.book_as(at, kind);
        }
        found.is_some()
    }

    pub(super) fn book_as(&mut self, at: usize, kind: usize) {
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

    /// After a group: what it has on nodes is theirs for good.
    fn settle(&mut self, group: usize) {
        for (spot, _) in std::mem::take(&mut self.touched) {
            if let Spot::Open(at) = spot {
                let open = &mut self.open[at];
                open.state = self.shapes.with(open.state, group, open.added);
                (open.added, open.booked_before) = (0, open.booked);
            }
        }
        self.fresh.clear();
    }

    /// Sets nodes aside that not even the smallest pod to come fits.
    pub(super) fn retire(&mut self, smallest: Option<&Vec<u64>>) {
        let Some(smallest) = smallest else { return };
        let (open, shapes) = (&self.open, &self.shapes);
        for live in &mut self.live {
            live.retain(|at| shapes.takes(open[*at].state, smallest));
        }
    }

    /// Looks at all nodes again, also at those that were set aside.
    pub(super) fn revive(&mut self) {
        self.live.iter_mut().for_each(Vec::clear);
        for (at, open) in self.open.iter().enumerate().filter(|(_, open)| open.pods > 0) {
            self.live[open.part].push(at);
        }
    }

    /// What is on an open node beside the group that is being placed.
    pub(super) fn filling(&self, at: usize) -> &Filling {
        self.shapes.filling(self.open[at].state)
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
        for open in self.open.into_iter().filter(|open| open.pods > 0) {
            // Where nothing is scarce a node costs what the cheapest kind does that holds it.
            let cheapest = self.shapes.cheapest(open.state).filter(|_| !self.restricted);
            packing.launched.push(Launched {
                kind: cheapest.unwrap_or(open.booked),
                filling: sorted(self.shapes.filling(open.state).clone()),
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
