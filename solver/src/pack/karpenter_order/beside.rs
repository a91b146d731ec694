//! Pods that want to be on nodes where certain others are.
//!
//! They go to rooms and open nodes that have a match, and never to a new node as long as there is a match anywhere. Where
//! there is none, those that match themselves start on one node, and stay there.

use crate::lower::side::Place;
use crate::pack::Filling;

use super::nodes::State;

/// One node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    /// An existing one.
    Room(usize),
    /// One that is being filled.
    Open(usize),
    /// One that isn't: new, or filled by another engine.
    Elsewhere,
}

impl State<'_> {
    /// Whether a row has a match anywhere.
    fn has_match(&self, row: usize) -> bool {
        let [leaders, _] = self.across.leaders_and_followers(row);
        leaders > 0 || !self.problem.side.beside[row].rooms_with.is_clear()
    }

    /// Whether a node has a match for a row.
    fn is_match(&self, row: usize, spot: Spot) -> bool {
        let beside = &self.problem.side.beside[row];
        let leads = |filling: &Filling| {
            let mut groups = filling.iter().map(|(group, _)| *group);
            groups.any(|group| beside.of.contains(group) && !beside.groups.contains(group))
        };
        match spot {
            Spot::Room(room) => {
                beside.rooms_with.contains(room)
                    || leads(&self.rooms[room])
                    || self.before.get(room).is_some_and(leads)
            }
            Spot::Open(at) => leads(self.filling(at)),
            Spot::Elsewhere => false,
        }
    }

    /// Whether these rows admit a group to a node as it is.
    pub(super) fn admits(&self, group: usize, spot: Spot) -> bool {
        self.across.beside(group).iter().all(|(row, follows, leads)| {
            let started = self.started[*row].is_none_or(|started| started == spot && spot != Spot::Elsewhere);
            if *follows && self.has_match(*row) {
                self.is_match(*row, spot)
            } else if *follows {
                self.problem.side.beside[*row].may_start && started
            } else {
                // A match elsewhere would leave those that have started without one.
                !leads || self.has_match(*row) || started
            }
        })
    }

    /// Whether a group has to choose a node to start on.
    pub(super) fn has_to_start_beside(&self, group: usize) -> bool {
        self.across
            .beside(group)
            .iter()
            .any(|(row, follows, _)| *follows && !self.has_match(*row) && self.started[*row].is_none())
    }

    /// Notes where the rows of a group start, as far as they have to.
    pub(super) fn start_beside(&mut self, group: usize, spot: Spot) {
        let rows = self.across.beside(group).iter();
        let rows = rows
            .filter(|(row, follows, _)| *follows && !self.has_match(*row) && self.started[*row].is_none());
        let rows: Vec<usize> = rows.map(|(row, ..)| *row).collect();
        for row in rows {
            self.started[row] = Some(spot);
        }
    }

    /// Places pods of a group on one node: the first that holds all of them, rooms first, then open nodes, then new ones, the
    /// cheapest part first; or else the one that holds most. How many are left.
    pub(super) fn start_on_one_node(&mut self, group: usize, count: u64, parts: &[usize]) -> u64 {
        let found = self.roomiest_node(group, count, parts);
        let is_enough = found.is_some_and(|(_, capacity)| capacity >= count);
        let fresh = if is_enough {
            None
        } else {
            self.roomiest_part(group, count, parts)
        };
        let is_better = |(.., capacity): &(usize, usize, u64)| found.is_none_or(|(_, most)| *capacity > most);
        let (spot, capacity) = match fresh.filter(is_better) {
            Some((tier, part, _)) => match self.launch(group, tier, Some(part)) {
                Some((at, capacity)) => {
                    let most = self.across.allowance(group, part);
                    (Spot::Open(at), capacity.min(most))
                }
                None => return count,
            },
            None => match found {
                Some(found) => found,
                None => return count,
            },
        };
        let wanted = count.min(capacity);
        let (part, placed) = match spot {
            Spot::Room(room) => {
                self.put_in_room(group, room, wanted);
                (self.across.parts.part(Place::Room(room)), wanted)
            }
            Spot::Open(at) => (self.part_of_open(at), self.put_as_many(at, group, wanted)),
            Spot::Elsewhere => return count,
        };
        if placed > 0 {
            self.start_beside(group, spot);
            self.across.place(group, part, placed);
        }
        count - placed
    }

    /// The first room or open node that holds so many, or else the one that holds most.
    fn roomiest_node(&self, group: usize, count: u64, parts: &[usize]) -> Option<(Spot, u64)> {
        let mut best: Option<(Spot, u64)> = None;
        let allowances: Vec<(usize, u64)> = parts
            .iter()
            .map(|part| (*part, self.across.allowance(group, *part)))
            .collect();
        let rooms = allowances.iter().flat_map(|(part, most)| {
            let rooms = self.across.parts.rooms_of[*part].iter();
            rooms.map(|room| (Spot::Room(*room), self.room_capacity(group, *room).min(*most)))
        });
        let tiers = self.problem.tiers[group].iter();
        let open = tiers.flat_map(|tier| {
            allowances.iter().flat_map(|(part, most)| {
                let open = self.capacities(group, *tier, Some(*part)).into_iter();
                open.map(|(at, capacity)| (Spot::Open(at), capacity.min(*most)))
            })
        });
        for (spot, capacity) in rooms.chain(open) {
            let most = best.map_or(0, |(_, most)| most);
            if capacity > most {
                best = Some((spot, capacity));
                if capacity >= count {
                    break;
                }
            }
        }
        best
    }

    /// Tier and part of the first new node that holds so many, or else of the one that holds most.
    fn roomiest_part(&self, group: usize, count: u64, parts: &[usize]) -> Option<(usize, usize, u64)> {
        let mut best: Option<(usize, usize, u64)> = None;
        for tier in &self.problem.tiers[group] {
            for part in parts {
                let most = self.across.allowance(group, *part).min(count);
                let capacity = self.largest_new(group, *tier, *part).min(most);
                if capacity > best.map_or(0, |(.., most)| most) {
                    best = Some((*tier, *part, capacity));
                }
            }
        }
        best
    }
}
