//! The most valuable fillings of one place: a knapsack with caps and conflicts.
//!
//! A hard cap is one more column of room and requests. Where the excess of a cap costs, a group stands there twice: within
//! the cap at its value with a share of that column, beyond it without one at its value less what the excess costs.
//! A column for the group then keeps the two from being more than its pods. Conflicts the search keeps itself.

use crate::pack::float;
use std::collections::BTreeMap;

use fixedbitset::FixedBitSet;

use crate::lower::Problem;
use crate::lower::rules::resources;
use crate::lower::side::{Cap, Excess, Place};
use crate::pack::Filling;
use crate::pack::effort::Effort;
use crate::pack::knapsack::{Ask, Conflicts, Item, Knapsack, quick_bound};

use super::bound::Values;
use super::linear::Linear;

/// Ways a group on average that are enough: each cap whose excess costs doubles those of its groups. Further ones are
/// left out, which keeps the bound valid; what a filling costs counts them in any case.
const MOST_WAYS: usize = 8;
/// Starts from which the first filling is bettered by swaps.
const KICKS: u32 = 4;

/// A group in one of the ways it may be there.
#[derive(Clone, Debug)]
struct Way {
    group: usize,
    value: f64,
    request: Vec<u64>,
    most: u64,
}

/// What was found of one place.
#[derive(Clone, Debug, Default)]
pub struct Filled {
    /// The most valuable filling and its value; empty where none is worth more than asked for.
    pub filling: Filling,
    /// Its value, in micro-dollars.
    pub value: f64,
    /// No filling is worth more.
    pub upper: f64,
}

/// Fills places.
#[derive(Debug)]
pub struct Filler<'a> {
    problem: &'a Problem<'a>,
    linear: &'a Linear,
    knapsack: Knapsack,
}

impl<'a> Filler<'a> {
    /// For a problem and its rows.
    #[must_use]
    pub fn new(problem: &'a Problem<'a>, linear: &'a Linear) -> Self {
        Self {
            problem,
            linear,
            knapsack: Knapsack::default(),
        }
    }

    /// Whether a group may be in a place.
    #[must_use]
    pub fn is_usable(&self, group: usize, place: Place) -> bool {
        let problem = self.problem;
        let by_itself = match place {
            Place::Kind(kind) => {
                problem.usable[group].contains(kind)
                    && problem.tiers[group].first() == Some(&problem.kinds[kind].tier)
            }
            Place::Room(room) => problem.rooms[room]
                .profiles
                .contains(problem.groups[group].profile),
        };
        by_itself && self.linear.admits(group, place) && !self.is_barred(group, place)
    }

    /// Whether pods that run there keep a group off a room.
    fn is_barred(&self, group: usize, place: Place) -> bool {
        let Place::Room(room) = place else { return false };
        self.problem.side.conflicts.iter().any(|conflict| {
            conflict.one.contains(group) && conflict.rooms_with_other.contains(room)
                || conflict.other.contains(group) && conflict.rooms_with_one.contains(room)
        })
    }

    /// The most of a group alone that a place holds without an excess.
    #[must_use]
    pub fn copies(&self, group: usize, place: Place) -> u64 {
        if !self.is_usable(group, place) {
            return 0;
        }
        let caps = self
            .problem
            .side
            .caps
            .iter()
            .filter(|cap| cap.groups.contains(group));
        caps.map(|cap| cap.most.saturating_sub(cap.there(place))).fold(
            resources::copies(self.problem.request(group), self.problem.room_of(place)),
            u64::min,
        )
    }

    /// The most valuable filling of a place that is worth more than `floor`, from so many pods of each group.
    pub fn fill(
        &mut self,
        place: Place,
        values: &Values,
        (left, used): (&[u64], &[i64]),
        (floor, nodes): (f64, u64),
        effort: &mut Effort<'_>,
    ) -> Filled {
        let problem = self.problem;
        let most = |group: usize| self.linear.most(group, place, left, used);
        let left: Vec<u64> = (0..left.len()).map(most).collect();
        let worth: Vec<(usize, f64)> = (0..left.len())
            .filter(|group| left[*group] > 0 && self.is_usable(*group, place))
            .map(|group| (group, values.pod(problem, self.linear, group, place)))
            .filter(|(_, value)| *value > 0.0)
            .collect();
        effort.spend(u64::try_from(left.len()).unwrap_or(u64::MAX));
        let (ways, room) = self.ways(place, &worth, &left);
        let items: Vec<Item<'_>> = ways
            .iter()
            .enumerate()
            .map(|(at, way)| Item {
                group: at,
                value: way.value,
                request: &way.request,
                most: way.most,
            })
            .collect();
        if items.is_empty() {
            return Filled::default();
        }
        let multipliers = self.knapsack.multipliers(&room, &items);
        let bound = quick_bound(&multipliers, &room, &items);
        let looks = u64::try_from(items.len()).unwrap_or(u64::MAX);
        effort.spend(5 * looks);
        if bound <= floor {
            return Filled {
                upper: bound,
                ..Filled::default()
            };
        }
        let ask = Ask {
            floor: floor.max(0.0),
            nodes,
            keep: 1,
            kicks: (KICKS, 0),
        };
        let conflicts = self.conflicts(&ways);
        let answer = Knapsack::search(&multipliers, &room, &items, &conflicts, ask, effort);
        let (value, best) = answer.fillings.into_iter().next().unwrap_or_default();
        let mut filling: BTreeMap<usize, u64> = BTreeMap::new();
        for (at, count) in best {
            *filling.entry(ways[at].group).or_default() += count;
        }
        Filled {
            filling: filling.into_iter().collect(),
            value,
            upper: answer.upper.min(bound),
        }
    }

    /// Ways that may not be on a node together.
    fn conflicts(&self, ways: &[Way]) -> Conflicts {
        let mut conflicts = Conflicts::new();
        for conflict in &self.problem.side.conflicts {
            let of = |groups: &FixedBitSet| -> Vec<usize> {
                (0..ways.len())
                    .filter(|at| groups.contains(ways[*at].group))
                    .collect()
            };
            let (one, other) = (of(&conflict.one), of(&conflict.other));
            for at in &one {
                conflicts.entry(*at).or_default().extend(&other);
            }
            for at in &other {
                conflicts.entry(*at).or_default().extend(&one);
            }
        }
        for others in conflicts.values_mut() {
            others.sort_unstable();
            others.dedup();
        }
        conflicts.retain(|_, others| !others.is_empty());
        conflicts
    }

    /// The ways of all groups, and the room with a column for each cap that some of them are under.
    fn ways(&self, place: Place, worth: &[(usize, f64)], left: &[u64]) -> (Vec<Way>, Vec<u64>) {
        let mut room = self.problem.room_of(place).to_vec();
        let mut ways: Vec<Way> = worth
            .iter()
            .map(|(group, value)| Way {
                group: *group,
                value: *value,
                request: self.problem.request(*group).to_vec(),
                most: left[*group],
            })
            .collect();
        for cap in &self.problem.side.caps {
            let counts = cap.excess == Excess::Forbidden || ways.len() < MOST_WAYS * worth.len();
            let mut under_it = worth.iter().filter(|(group, _)| cap.groups.contains(*group));
            let (first, second) = (under_it.next(), under_it.next());
            if let (Some((alone, _)), None, Excess::Forbidden) = (first, second, cap.excess) {
                // No column is needed where one group alone is under it.
                for way in ways.iter_mut().filter(|way| way.group == *alone) {
                    way.most = way.most.min(cap.most.saturating_sub(cap.there(place)));
                }
            } else if counts && first.is_some() {
                room.push(cap.most.saturating_sub(cap.there(place)));
                ways = under(cap, ways, room.len());
            }
        }
        for (group, _) in worth {
            let mut own = ways.iter().filter(|way| way.group == *group);
            if let (Some(first), Some(_)) = (own.next(), own.next()) {
                room.push(first.most);
                for way in &mut ways {
                    way.request.resize(room.len(), 0);
                    if way.group == *group {
                        way.request[room.len() - 1] = 1;
                    }
                }
            }
        }
        for way in &mut ways {
            way.most = way.most.min(resources::copies(&way.request, &room));
        }
        ways.retain(|way| way.most > 0 && way.value > 0.0);
        (ways, room)
    }
}

/// Puts ways under a cap, whose column is the last of so many; those that may go beyond it stand there twice then.
fn under(cap: &Cap, ways: Vec<Way>, columns: usize) -> Vec<Way> {
    let mut put: Vec<Way> = Vec::with_capacity(ways.len());
    let mut beyond: Vec<Way> = Vec::new();
    for mut way in ways {
        way.request.resize(columns, 0);
        if cap.groups.contains(way.group) {
            if let Excess::Costs(each) = cap.excess {
                let mut dearer = way.clone();
                dearer.value -= float(each);
                beyond.push(dearer);
            }
            way.request[columns - 1] = 1;
        }
        put.push(way);
    }
    put.extend(beyond);
    put
}
