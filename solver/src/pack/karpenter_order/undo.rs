//! Taking back what the group that is being placed was given.

use fixedbitset::FixedBitSet;

use crate::lower::rules::resources;
use crate::lower::side::Place;

use super::beside::Spot;
use super::nodes::State;

impl State<'_> {
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
            self.live[part].retain(|at| !closed.contains(*at));
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
}
