//! Ruin and recreate: takes a few nodes back and packs their pods anew, as long as that gets no dearer.
//!
//! Nodes that cost more than their pods are worth go first. Their pods may slip into what is left on other nodes;
//! for the rest the density greedy runs with values shaken a little and some of the kinds, so that each attempt
//! differs. Merging, splitting, dropping and downsizing of nodes are all cases of it. Deterministic: seeded and
//! counted.

use std::collections::BTreeMap;

use crate::lower::Problem;
use crate::lower::rules::resources;
use crate::lower::side::Place;

use super::density::Cover;
use super::effort::Effort;
use super::filler::Filler;
use super::ledger::Ledger;
use super::random::Random;
use super::side::node::OnNode;
use super::{Filling, Launched, Packing, downsize, load, put};

/// Kinds that one attempt chooses from, beside those of the nodes it takes back.
const SAMPLED_KINDS: usize = 24;
/// Other nodes that one attempt looks at for room.
const LOOKED_AT: usize = 40;

/// Attempts in vain after which the search ends: so many for each pod up to a number of them, or for each node.
const ATTEMPTS_A_POD: u64 = 40;
const COUNTED_PODS: u64 = 25;
const ATTEMPTS_A_NODE: u64 = 200;

struct Node {
    kind: usize,
    filling: Filling,
    load: Vec<u64>,
}

/// Pods that slip onto another node: node, group, count.
type Slips = Vec<(usize, usize, u64)>;

struct Search<'a, 'f> {
    problem: &'a Problem<'a>,
    filler: &'f mut Filler<'a>,
    values: Vec<f64>,
    /// By kind: how it is favoured in the attempt at hand.
    bias: Vec<f64>,
    nodes: Vec<Node>,
    ledger: Ledger,
    random: Random,
    /// Pods to be packed anew, by group; all zero between attempts.
    left: Vec<u64>,
    rules: OnNode<'a>,
}

/// Improves a packing until its launches cost `floor` or the effort granted is used up.
#[must_use]
pub fn improve<'a>(
    problem: &'a Problem<'a>,
    filler: &mut Filler<'a>,
    mut packing: Packing,
    floor: u64,
    seed: u64,
    effort: &mut Effort<'_>,
) -> Packing {
    if problem.side.span_nodes() {
        return packing;
    }
    let mut ledger = Ledger::new(problem);
    let mut nodes = Vec::new();
    for launched in std::mem::take(&mut packing.launched) {
        ledger.open(problem, launched.kind, launched.count);
        for _ in 0..launched.count {
            nodes.push(node(problem, launched.kind, launched.filling.clone()));
        }
    }
    effort.spend(u64::try_from(nodes.len()).unwrap_or(u64::MAX));
    let mut cost: u64 = nodes.iter().map(|node| cost_of(problem, node)).sum();
    let mut search = Search {
        problem,
        values: filler.values.clone(),
        bias: vec![1.0; problem.kinds.len()],
        filler,
        nodes,
        ledger,
        random: Random::new(seed),
        left: vec![0; problem.groups.len()],
        rules: OnNode::new(problem),
    };
    let mut vain = 0;
    let patience = patience(&search.nodes);
    while cost > floor && vain < patience && !search.nodes.is_empty() && !effort.is_used_up() {
        // What an attempt costs beside filling nodes.
        effort.spend(50);
        let saved = search.attempt(effort);
        cost -= saved;
        vain = if saved > 0 { 0 } else { vain + 1 };
    }
    search.filler.values.clone_from(&search.values);
    packing.launched = search
        .nodes
        .into_iter()
        .map(|node| Launched {
            kind: node.kind,
            filling: node.filling,
            count: 1,
        })
        .collect();
    packing.normalise();
    packing
}

fn patience(nodes: &[Node]) -> u64 {
    let pods: u64 = nodes
        .iter()
        .flat_map(|node| &node.filling)
        .map(|(_, count)| count)
        .sum();
    let by_nodes = u64::try_from(nodes.len())
        .unwrap_or(u64::MAX)
        .saturating_mul(ATTEMPTS_A_NODE);
    // Few pods have few ways to be packed, however many nodes they are on.
    by_nodes
        .min(ATTEMPTS_A_NODE * pods / 2)
        .max(ATTEMPTS_A_POD * pods.min(COUNTED_PODS))
}

fn node(problem: &Problem<'_>, kind: usize, filling: Filling) -> Node {
    Node {
        kind,
        load: load(problem, &filling),
        filling,
    }
}

fn cost_of(problem: &Problem<'_>, node: &Node) -> u64 {
    downsize::cost(problem, node.kind, &node.filling)
}

impl Search<'_, '_> {
    /// One attempt; what it saves.
    fn attempt(&mut self, effort: &mut Effort<'_>) -> u64 {
        let problem = self.problem;
        let mut taken = self.choose();
        taken.sort_unstable();
        let before: u64 = taken.iter().map(|at| cost_of(problem, &self.nodes[*at])).sum();
        for at in &taken {
            let node = &self.nodes[*at];
            self.ledger.close(problem, node.kind, 1);
            for (group, count) in &node.filling {
                self.left[*group] += count;
            }
        }
        let slips = if self.random.below(3) == 0 {
            self.slip(&taken)
        } else {
            Slips::new()
        };
        let launched = self.recreate(&taken, effort);
        let launches: u64 = launched
            .iter()
            .map(|launched| downsize::cost(problem, launched.kind, &launched.filling) * launched.count)
            .sum();
        let (more, less) = self.cost_of_slips(&slips);
        let (before, after) = (before + less, launches + more);
        let complete = self.left.iter().all(|left| *left == 0);
        if complete && after <= before {
            self.accept(&taken, &slips, launched);
            before - after
        } else {
            self.revert(&taken, &launched);
            0
        }
    }

    /// Nodes to take back, all of one weight: the first one that is poorly used, then others at random.
    fn choose(&mut self) -> Vec<usize> {
        let count = self.nodes.len();
        let most = match self.random.below(10) {
            0 => 1,
            1..=3 => 2,
            4..=6 => 3,
            7..=8 => 4,
            _ => 8,
        };
        let first = self.poorest_of(3);
        let tier = self.problem.kinds[self.nodes[first].kind].tier;
        let mut taken = vec![first];
        for _ in 1..most.min(count) {
            let next = if self.random.below(2) == 0 {
                self.poorest_of(2)
            } else {
                self.random.below(count)
            };
            if !taken.contains(&next) && self.problem.kinds[self.nodes[next].kind].tier == tier {
                taken.push(next);
            }
        }
        taken
    }

    /// Among a few nodes at random the one whose pods are worth least for its price.
    #[expect(clippy::cast_precision_loss, reason = "guidance only")]
    fn poorest_of(&mut self, number: usize) -> usize {
        let worth = |node: &Node| {
            let value: f64 = node
                .filling
                .iter()
                .map(|(group, count)| self.values[*group] * *count as f64)
                .sum();
            value / self.problem.kinds[node.kind].cost.max(1) as f64
        };
        let mut poorest = self.random.below(self.nodes.len());
        for _ in 1..number {
            let other = self.random.below(self.nodes.len());
            if worth(&self.nodes[other]) < worth(&self.nodes[poorest]) {
                poorest = other;
            }
        }
        poorest
    }

    /// Puts pods into what is left on other nodes.
    fn slip(&mut self, taken: &[usize]) -> Slips {
        let problem = self.problem;
        let groups: Vec<usize> = self.at_hand(taken);
        let tier = problem.kinds[self.nodes[taken[0]].kind].tier;
        let mut slips = Slips::new();
        let start = self.random.below(self.nodes.len());
        for step in 0..LOOKED_AT.min(self.nodes.len()) {
            let at = (start + step) % self.nodes.len();
            let node = &self.nodes[at];
            if taken.contains(&at) || problem.kinds[node.kind].tier != tier {
                continue;
            }
            // What stands on it matters only where there are rules for it.
            let mut there = if problem.side.is_empty() {
                Filling::new()
            } else {
                node.filling.clone()
            };
            let mut rest: Vec<u64> = problem
                .room(node.kind)
                .iter()
                .zip(&node.load)
                .map(|(room, load)| room - load)
                .collect();
            for group in &groups {
                let request = problem.request(*group);
                let count = self.left[*group]
                    .min(resources::copies(request, &rest))
                    .min(self.rules.most(*group, Place::Kind(node.kind), &there));
                if count > 0 && problem.usable[*group].contains(node.kind) {
                    resources::take(&mut rest, request, count);
                    if !problem.side.is_empty() {
                        there.push((*group, count));
                    }
                    self.left[*group] -= count;
                    slips.push((at, *group, count));
                }
            }
        }
        slips
    }

    /// What nodes to which pods slip cost with and without them: what isn't as wished there, and what is stranded.
    fn cost_of_slips(&self, slips: &Slips) -> (u64, u64) {
        if self.problem.side.is_empty() && !self.problem.weighs_stranding() {
            return (0, 0);
        }
        let mut fillings: BTreeMap<usize, Filling> = BTreeMap::new();
        for (at, group, count) in slips {
            let filling = fillings.entry(*at);
            let filling = filling.or_insert_with(|| self.nodes[*at].filling.clone());
            filling.push((*group, *count));
        }
        fillings.iter().fold((0, 0), |(with, without), (at, filling)| {
            let node = &self.nodes[*at];
            (
                with + downsize::cost(self.problem, node.kind, filling),
                without + cost_of(self.problem, node),
            )
        })
    }

    fn at_hand(&self, taken: &[usize]) -> Vec<usize> {
        let mut groups: Vec<usize> = taken
            .iter()
            .flat_map(|at| self.nodes[*at].filling.iter().map(|(group, _)| *group))
            .collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    fn recreate(&mut self, taken: &[usize], effort: &mut Effort<'_>) -> Vec<Launched> {
        let problem = self.problem;
        let tier = problem.kinds[self.nodes[taken[0]].kind].tier;
        let groups = self.at_hand(taken);
        let strength = [0.0, 0.05, 0.15, 0.4][self.random.below(4)];
        for group in &groups {
            let shaken = self.values[*group] * (1.0 + strength * (self.random.unit() - 0.5));
            self.filler.values[*group] = shaken;
        }
        let mut kinds: Vec<usize> = taken.iter().map(|at| self.nodes[*at].kind).collect();
        for _ in 0..SAMPLED_KINDS {
            kinds.push(self.random.below(problem.kinds.len()));
        }
        kinds.sort_unstable();
        kinds.dedup();
        kinds.retain(|kind| problem.kinds[*kind].tier == tier);
        let favour = [0.0, 0.1, 0.3][self.random.below(3)];
        for kind in &kinds {
            self.bias[*kind] = 1.0 + favour * (self.random.unit() - 0.5);
        }
        let cover = Cover {
            problem,
            filler: &*self.filler,
            kinds: &kinds,
            bias: &self.bias,
        };
        cover.run_on(groups, &mut self.left, &mut self.ledger, effort)
    }

    fn accept(&mut self, taken: &[usize], slips: &Slips, launched: Vec<Launched>) {
        for (at, group, count) in slips {
            let node = &mut self.nodes[*at];
            resources::give(&mut node.load, self.problem.request(*group), *count);
            put(&mut node.filling, *group, *count);
        }
        // From the last, so that the places of those before stay.
        for at in taken.iter().rev() {
            self.nodes.swap_remove(*at);
        }
        for launched in launched {
            for _ in 0..launched.count {
                self.nodes
                    .push(node(self.problem, launched.kind, launched.filling.clone()));
            }
        }
    }

    fn revert(&mut self, taken: &[usize], launched: &[Launched]) {
        for launched in launched {
            self.ledger.close(self.problem, launched.kind, launched.count);
        }
        for at in taken {
            let node = &self.nodes[*at];
            self.ledger.open(self.problem, node.kind, 1);
            for (group, _) in &node.filling {
                self.left[*group] = 0;
            }
        }
    }
}
