//! The baseline: first-fit decreasing in Karpenter's order, on groups.
//!
//! Pods by CPU, then memory, largest first (the order of the groups). Each tries existing nodes, then the open node
//! with the fewest pods, then a new node of the heaviest pool. An open node keeps every kind that still holds its
//! pods and costs what the cheapest of them does (`nodes`, `shapes`). Pods of one group are placed together: what is computed once
//! for a group and a node then serves all of them, and the order of placement is the same as pod by pod.
//!
//! Where rows span nodes, a node's kinds are all of one part, and a group that such rows know is first shared out over the
//! parts (`domains`). Who wants to be near or beside others comes after those; who has found no place by then tries again
//! as long as that helps.
//!
//! Promises: every row is kept that an empty packing keeps. Doesn't promise that every pod is placed that could be.

mod beside;
mod domains;
mod launch;
mod nodes;
mod shapes;
mod undo;

use std::cmp::Reverse;

use fixedbitset::FixedBitSet;

use crate::lower::Problem;
use crate::lower::rules::resources;
use crate::lower::side::Place;

use super::ledger::Ledger;
use super::{Packing, put};
use beside::Spot;
use nodes::State;

/// Rounds of trying again: each goes over the groups left, and few chains of pods that wait for each other are longer.
const MOST_ROUNDS: usize = 8;

/// Packs in Karpenter's order; `by_priority` serves higher priorities first, which Karpenter doesn't.
#[must_use]
pub fn pack(problem: &Problem<'_>, by_priority: bool) -> Packing {
    pack_without(problem, by_priority, &FixedBitSet::new())
}

/// The same without some groups, of which nothing is placed.
#[must_use]
pub fn pack_without(problem: &Problem<'_>, by_priority: bool, without: &FixedBitSet) -> Packing {
    let groups = 0..problem.groups.len();
    let mut order: Vec<usize> = groups.filter(|group| !without.contains(*group)).collect();
    if by_priority {
        order.sort_by_key(|group| Reverse(problem.groups[*group].priority));
    }
    run(
        State::new(problem),
        &leaders_first(problem, order, by_priority),
        problem.counts(),
    )
}

/// Places what a packing has left, the most urgent first, as far as may be: on nodes that exist, then on further launches. An engine that is cut
/// short has packed its part well; this way that part counts.
pub fn complete(problem: &Problem<'_>, packing: &mut Packing) {
    let mut order: Vec<usize> = (0..problem.groups.len())
        .filter(|group| packing.left[*group] > 0)
        .collect();
    order.sort_by_key(|group| Reverse(problem.groups[*group].priority));
    if order.is_empty() {
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
    book(&mut state, packing);
    let turns = leaders_first(problem, order, true);
    let more = run(state, &turns, std::mem::take(&mut packing.left));
    for (filling, more) in packing.rooms.iter_mut().zip(more.rooms) {
        for (group, count) in more {
            put(filling, group, count);
        }
    }
    packing.launched.extend(more.launched);
    packing.left = more.left;
    packing.normalise();
}

/// Books what a packing has in the counts across nodes.
fn book(state: &mut State<'_>, packing: &Packing) {
    let rooms = packing.rooms.iter().enumerate();
    let rooms = rooms.map(|(room, filling)| (Place::Room(room), Spot::Room(room), filling, 1));
    let launched = packing.launched.iter().map(|launched| {
        let place = Place::Kind(launched.kind);
        (place, Spot::Elsewhere, &launched.filling, launched.count)
    });
    for (place, spot, filling, count) in rooms.chain(launched) {
        let part = state.across.parts.part(place);
        if let Place::Kind(_) = place {
            let nodes = i64::try_from(count).unwrap_or(i64::MAX);
            state.across.launch(part, nodes);
        }
        for (group, each) in filling {
            state.across.place(*group, part, each * count);
            state.start_beside(*group, spot);
        }
    }
}

/// A group's turn: so many of its pods at most.
type Turn = (usize, u64);

/// The order with groups that others want to be near or beside before those, as far as they don't want the same of them.
/// `by_priority`: of less urgent ones only a single pod, since one is enough to be near to and the room may be for others.
fn leaders_first(problem: &Problem<'_>, order: Vec<usize>, by_priority: bool) -> Vec<Turn> {
    let leaders = leaders(problem);
    let mut pending = FixedBitSet::with_capacity(problem.groups.len());
    order.iter().for_each(|group| pending.insert(*group));
    let mut seeded = FixedBitSet::with_capacity(problem.groups.len());
    let mut turns = Vec::with_capacity(order.len());
    for first in order {
        let is_less_urgent =
            |group: usize| by_priority && problem.groups[group].priority < problem.groups[first].priority;
        // A chain of groups that wait for the next one each; who is in it already isn't waited for.
        let mut chain = vec![first];
        while let Some(group) = chain.last() {
            let next = leaders[*group].ones().find(|leader| {
                let is_there = is_less_urgent(*leader) && seeded.contains(*leader);
                pending.contains(*leader) && !is_there && !chain.contains(leader)
            });
            if let Some(next) = next {
                chain.push(next);
            } else if let Some(group) = chain.pop()
                && pending.contains(group)
            {
                if is_less_urgent(group) {
                    seeded.insert(group);
                    turns.push((group, 1));
                } else {
                    pending.set(group, false);
                    turns.push((group, u64::MAX));
                }
            }
        }
    }
    turns
}

/// By group: others that it wants to be near or beside.
fn leaders(problem: &Problem<'_>) -> Vec<FixedBitSet> {
    let side = &problem.side;
    let near = side.near.iter().map(|near| (&near.groups, &near.of));
    let beside = side.beside.iter().map(|beside| (&beside.groups, &beside.of));
    let mut leaders = vec![FixedBitSet::new(); problem.groups.len()];
    for (followers, of) in near.chain(beside) {
        let mut of = of.clone();
        of.difference_with(followers);
        for group in followers.ones() {
            leaders[group].union_with(&of);
        }
    }
    leaders
}

/// Places so many pods of each group, the groups in the order of their turns.
fn run(mut state: State<'_>, turns: &[Turn], mut left: Vec<u64>) -> Packing {
    let problem = state.problem;
    let smallest = Smallest::after(problem, turns);
    for (at, (group, most)) in turns.iter().enumerate() {
        let now = left[*group].min(*most);
        left[*group] = left[*group] - now + state.place(*group, now);
        state.retire(smallest.rows.get(at + 1));
    }
    for _ in 0..MOST_ROUNDS {
        let last = turns
            .iter()
            .filter(|(_, most)| *most == u64::MAX)
            .map(|(group, _)| *group);
        let waiting: Vec<usize> = last
            .filter(|group| left[*group] > 0 && state.across.concerns(*group))
            .collect();
        if waiting.is_empty() {
            break;
        }
        let before: u64 = left.iter().sum();
        state.revive();
        for group in waiting {
            left[group] = state.place(group, left[group]);
        }
        if left.iter().sum::<u64>() == before {
            break;
        }
    }
    state.finish(left)
}

/// The smallest request in each resource among the groups from a turn on.
struct Smallest {
    rows: Vec<Vec<u64>>,
}

impl Smallest {
    fn after(problem: &Problem<'_>, turns: &[Turn]) -> Self {
        let mut rows: Vec<Vec<u64>> = Vec::with_capacity(turns.len());
        for (group, _) in turns.iter().rev() {
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
