//! The baseline: first-fit decreasing in Karpenter's order, on groups.
//!
//! Pods by CPU, then memory, largest first (the order of the groups). Each tries existing nodes, then the open node
//! with the fewest pods, then a new node of the heaviest pool. An open node keeps every kind that still holds its
//! pods and costs what the cheapest of them does. Pods of one group are placed together: what is computed once for a
//! group and a node then serves all of them, and the order of placement is the same as pod by pod.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::lower::Problem;
use crate::lower::rules::resources;
use crate::lower::side::Place;

use super::ledger::Ledger;
use super::side::node::OnNode;
use super::{Filling, Launched, Packing};

/// A node that is being filled.
struct Open {
    /// Kinds that hold what is on it, cheapest first; all of one pool.
    kinds: Vec<usize>,
    /// The one that it is booked as in the ledger.
    booked: usize,
    load: Vec<u64>,
    pods: u64,
    filling: Filling,
}

/// Packs in Karpenter's order; `by_priority` serves higher priorities first, which Karpenter doesn't.
#[must_use]
pub fn pack(problem: &Problem<'_>, by_priority: bool) -> Packing {
    if problem.side.span_nodes() {
        return Packing::nothing(problem);
    }
    let mut order: Vec<usize> = (0..problem.groups.len()).collect();
    if by_priority {
        order.sort_by_key(|group| Reverse(problem.groups[*group].priority));
    }
    State::new(problem).run(&order, problem.counts())
}

/// Places what a packing has left, as far as may be: on nodes that exist, then on further launches. An engine that is cut
/// short has packed its part well; this way that part counts.
pub fn complete(problem: &Problem<'_>, packing: &mut Packing) {
    let order: Vec<usize> = (0..problem.groups.len())
        .filter(|group| packing.left[*group] > 0)
        .collect();
    if order.is_empty() || problem.side.span_nodes() {
        return;
    }
    let mut state = State::new(problem);
    state.before.clone_from(&packing.rooms);
    for (free, filling) in state.free.iter_mut().zip(&packing.rooms) {
        for (group, count) in filling {
            resources::take(free, problem.request(*group), *count);
        }
    }
    state.ledger = Ledger::with(problem, &packing.launched);
    let more = state.run(&order, std::mem::take(&mut packing.left));
    for (filling, more) in packing.rooms.iter_mut().zip(more.rooms) {
        for (group, count) in more {
            match filling.binary_search_by_key(&group, |(group, _)| *group) {
                Ok(at) => filling[at].1 += count,
                Err(at) => filling.insert(at, (group, count)),
            }
        }
    }
    packing.launched.extend(more.launched);
    packing.left = more.left;
    packing.normalise();
}

/// The smallest request in each resource among the groups from a place in the order on.
struct Smallest {
    rows: Vec<Vec<u64>>,
}

impl Smallest {
    fn after(problem: &Problem<'_>, order: &[usize]) -> Self {
        let mut rows: Vec<Vec<u64>> = Vec::with_capacity(order.len());
        for group in order.iter().rev() {
            let request = problem.request(*group);
            let row = match rows.last() {
                None => request.to_vec(),
                Some(last) => last.iter().zip(request).map(|(one, two)| *one.min(two)).collect(),
            };
            rows.push(row);
        }
        rows.reverse();
        Self { rows }
    }
}

struct State<'a> {
    problem: &'a Problem<'a>,
    ledger: Ledger,
    /// Whether limits or supplies matter at all.
    restricted: bool,
    free: Vec<Vec<u64>>,
    rooms: Vec<Filling>,
    open: Vec<Open>,
    /// Open nodes that some later pod may fit.
    live: Vec<usize>,
    rules: OnNode<'a>,
    /// By room: what is on it before.
    before: Vec<Filling>,
}

impl<'a> State<'a> {
    /// With nothing placed.
    fn new(problem: &'a Problem<'a>) -> Self {
        Self {
            problem,
            ledger: Ledger::new(problem),
            restricted: problem.is_restricted(),
            free: problem.rooms.iter().map(|room| room.free.clone()).collect(),
            rooms: vec![Filling::new(); problem.rooms.len()],
            open: Vec::new(),
            live: Vec::new(),
            rules: OnNode::new(problem),
            before: Vec::new(),
        }
    }

    /// Places so many pods of each group, the groups in this order.
    fn run(mut self, order: &[usize], mut left: Vec<u64>) -> Packing {
        let smallest = Smallest::after(self.problem, order);
        for (at, group) in order.iter().enumerate() {
            left[*group] = self.place(*group, left[*group]);
            self.retire(smallest.rows.get(at + 1));
        }
        self.finish(left)
    }

    /// Places pods of a group; how many are left.
    fn place(&mut self, group: usize, count: u64) -> u64 {
        let mut left = self.fill_rooms(group, count);
        for tier in &self.problem.tiers[group] {
            if left == 0 {
                break;
            }
            left = self.place_at(group, left, *tier);
        }
        left
    }

    fn fill_rooms(&mut self, group: usize, count: u64) -> u64 {
        let request = self.problem.request(group);
        let profile = self.problem.groups[group].profile;
        let mut left = count;
        for (at, room) in self.problem.rooms.iter().enumerate() {
            if left == 0 {
                break;
            }
            let copies = left.min(resources::copies(request, &self.free[at]));
            if copies == 0 || !room.profiles.contains(profile) {
                continue;
            }
            let placed = copies.min(self.most_in_room(group, at));
            if placed > 0 {
                resources::take(&mut self.free[at], request, placed);
                self.rooms[at].push((group, placed));
                left -= placed;
            }
        }
        left
    }

    /// How many pods of a group caps and conflicts admit to a room, beside what is on it.
    fn most_in_room(&self, group: usize, at: usize) -> u64 {
        let place = Place::Room(at);
        match self.before.get(at).filter(|before| !before.is_empty()) {
            None => self.rules.most(group, place, &self.rooms[at]),
            Some(before) => {
                let both = [before.as_slice(), &self.rooms[at]].concat();
                self.rules.most(group, place, &both)
            }
        }
    }

    fn place_at(&mut self, group: usize, count: u64, tier: usize) -> u64 {
        let mut left = count;
        // Fewest pods first; among equals the node that was opened first.
        let mut heap: BinaryHeap<Reverse<(u64, usize, u64)>> = BinaryHeap::new();
        for at in &self.live {
            let open = &self.open[*at];
            if self.problem.kinds[open.booked].tier == tier {
                let capacity = self.capacity(open, group);
                if capacity > 0 {
                    heap.push(Reverse((open.pods, *at, capacity)));
                }
            }
        }
        while left > 0 {
            let Some(Reverse((pods, at, capacity))) = heap.pop() else {
                let Some(capacity) = self.launch(group, tier) else {
                    break;
                };
                heap.push(Reverse((0, self.open.len() - 1, capacity)));
                continue;
            };
            if self.restricted && !self.rebook(at, group) {
                continue;
            }
            self.put(at, group);
            left -= 1;
            if capacity > 1 {
                heap.push(Reverse((pods + 1, at, capacity - 1)));
            }
        }
        self.narrow(group);
        left
    }

    /// How many more pods of a group a node may take, by the roomiest of its kinds.
    fn capacity(&self, open: &Open, group: usize) -> u64 {
        let problem = self.problem;
        let request = problem.request(group);
        let most = self.rules.most(group, Place::Kind(open.booked), &open.filling);
        open.kinds
            .iter()
            .filter(|kind| problem.usable[group].contains(**kind))
            .map(|kind| copies_beside(request, &open.load, problem.room(*kind)))
            .max()
            .unwrap_or(0)
            .min(most)
    }

    /// Books the cheapest kind that holds one more pod of the group, if limits and supplies allow one.
    fn rebook(&mut self, at: usize, group: usize) -> bool {
        let problem = self.problem;
        let request = problem.request(group);
        let open = &self.open[at];
        let found = open.kinds.iter().copied().find(|kind| {
            problem.usable[group].contains(*kind)
                && copies_beside(request, &open.load, problem.room(*kind)) > 0
                && (*kind == open.booked || self.ledger.may_swap(problem, open.booked, *kind))
        });
        if let Some(kind) = found {
            self.ledger.close(problem, open.booked, 1);
            self.ledger.open(problem, kind, 1);
            self.open[at].booked = kind;
        }
        found.is_some()
    }

    fn put(&mut self, at: usize, group: usize) {
        let open = &mut self.open[at];
        resources::give(&mut open.load, self.problem.request(group), 1);
        open.pods += 1;
        match open.filling.last_mut() {
            Some((last, count)) if *last == group => *count += 1,
            _ => open.filling.push((group, 1)),
        }
    }

    /// Opens a node of the first pool that can take the group; how many of it fit.
    fn launch(&mut self, group: usize, tier: usize) -> Option<u64> {
        let problem = self.problem;
        let candidates = || {
            problem.usable[group]
                .ones()
                .filter(|kind| problem.kinds[*kind].tier == tier)
                .filter(|kind| self.ledger.allowed(problem, *kind) > 0)
        };
        // Among pools of one weight Karpenter takes the last by name.
        let pool = candidates().map(|kind| problem.kinds[kind].pool).max()?;
        let kinds: Vec<usize> = candidates()
            .filter(|kind| problem.kinds[*kind].pool == pool)
            .collect();
        let booked = *kinds.first()?;
        if self.rules.most(group, Place::Kind(booked), &[]) == 0 {
            return None;
        }
        self.ledger.open(problem, booked, 1);
        let open = Open {
            kinds,
            booked,
            load: vec![0; problem.resources.len()],
            pods: 0,
            filling: Filling::new(),
        };
        let capacity = self.capacity(&open, group);
        self.live.push(self.open.len());
        self.open.push(open);
        Some(capacity)
    }

    /// After a group: nodes that took it keep the kinds that hold them.
    fn narrow(&mut self, group: usize) {
        let problem = self.problem;
        for at in &self.live {
            let open = &mut self.open[*at];
            if open.filling.last().is_some_and(|(last, _)| *last == group) {
                let load = &open.load;
                open.kinds.retain(|kind| {
                    problem.usable[group].contains(*kind) && resources::fits(load, problem.room(*kind))
                });
                if !self.restricted
                    && let Some(cheapest) = open.kinds.first()
                {
                    open.booked = *cheapest;
                }
            }
        }
    }

    /// Sets nodes aside that not even the smallest pod to come fits.
    fn retire(&mut self, smallest: Option<&Vec<u64>>) {
        let Some(smallest) = smallest else { return };
        let (open, problem) = (&self.open, self.problem);
        self.live.retain(|at| {
            let node = &open[*at];
            node.kinds
                .iter()
                .any(|kind| copies_beside(smallest, &node.load, problem.room(*kind)) > 0)
        });
    }

    fn finish(self, left: Vec<u64>) -> Packing {
        let mut packing = Packing {
            rooms: self.rooms,
            launched: Vec::with_capacity(self.open.len()),
            left,
        };
        for mut open in self.open.into_iter().filter(|open| open.pods > 0) {
            open.filling.sort_unstable();
            packing.launched.push(Launched {
                kind: open.booked,
                filling: open.filling,
                count: 1,
            });
        }
        packing.normalise();
        packing
    }
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

#[cfg(test)]
mod tests {
    use crate::lower::lower;
    use crate::pack::{Packing, karpenter_order};
    use crate::testing::build::{Cluster, machine};

    fn pack(cluster: Cluster) -> (Packing, Vec<String>) {
        let snapshot = cluster.freeze();
        let problem = lower(&snapshot);
        let packing = karpenter_order::pack(&problem, false);
        let types = packing.launched.iter().map(|launched| {
            let bin = problem.kinds[launched.kind].bins[0];
            let shape = problem.universe.shape(bin);
            format!(
                "{} × {}",
                launched.count,
                problem.universe.instance_type(shape).name
            )
        });
        let types = types.collect();
        (packing, types)
    }

    #[test]
    fn fills_one_large_node_where_two_small_ones_would_do() {
        let small = machine("small", "2", "8Gi", "0.1");
        let large = machine("large", "16", "64Gi", "0.9");
        let cluster = Cluster::new()
            .instance_type(small)
            .instance_type(large)
            .pool("default");
        let (packing, types) = pack(cluster.pods("web", 2, "1500m", "1Gi"));
        assert_eq!(types, ["1 × large"]);
        assert_eq!(packing.left, [0]);
    }

    #[test]
    fn what_is_left_goes_beside_what_is_placed() {
        let snapshot = Cluster::new()
            .instance_type(machine("small", "2", "8Gi", "0.1"))
            .pool_with("default", |pool| pool.limits.nodes = Some(4))
            .node("n", "default", "small", "zone-a")
            .pods("web", 3, "1500m", "1Gi")
            .pods("tiny", 4, "500m", "1Gi")
            .freeze();
        let problem = lower(&snapshot);
        let whole = karpenter_order::pack(&problem, false);
        assert_eq!(whole.left, [0, 0]);
        for part in 0..whole.launched.len() {
            let mut cut = whole.clone();
            for launched in cut.launched.drain(part..) {
                for (group, count) in launched.filling {
                    cut.left[group] += count * launched.count;
                }
            }
            let (group, count) = cut.rooms[0].pop().unwrap();
            cut.left[group] += count;
            karpenter_order::complete(&problem, &mut cut);
            assert_eq!(cut.left, [0, 0]);
            assert_eq!(cut.cost(&problem), whole.cost(&problem));
            assert_eq!(cut.rooms, whole.rooms);
        }
    }

    #[test]
    fn a_limit_on_nodes_stops_at_the_last_one() {
        let cluster = Cluster::new()
            .instance_type(machine("small", "2", "8Gi", "0.1"))
            .pool_with("default", |pool| pool.limits.nodes = Some(3));
        let (packing, types) = pack(cluster.pods("web", 5, "1500m", "1Gi"));
        assert_eq!(types, ["3 × small"]);
        assert_eq!(packing.left, [2]);
    }
}
