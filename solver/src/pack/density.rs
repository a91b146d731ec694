//! The bin-centric greedy: again and again the filling that is worth most for its price.
//!
//! A pod's worth is its value under the resource prices of [`super::lower_bound`]. Kinds are looked at lazily: what a
//! kind could give for its price only falls while pods get fewer, so only those at the top are filled anew. The best
//! filling is used as often as the pods last, on the cheapest kind that holds it.
//!
//! Paper: papers.md, 5 (bin-centric heuristics); lazy evaluation as in greedy set cover.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::lower::Problem;
use crate::lower::side::Place;

use super::downsize::cheapest;
use super::effort::Effort;
use super::filler::{Filler, Orders};
use super::ledger::Ledger;
use super::{Filling, Launched, Packing};

/// Only fillings this near to the densest are worth the slower way of filling.
const WORTH_BALANCING: f64 = 0.95;

/// A kind with what it gave for its price when it was last looked at.
#[derive(Clone, Copy, PartialEq)]
struct Candidate {
    density: f64,
    kind: usize,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.density.total_cmp(&other.density)).then_with(|| other.kind.cmp(&self.kind))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Packs everything: existing nodes first, then launches, heavier pools before lighter ones.
#[must_use]
pub fn pack(problem: &Problem<'_>, filler: &Filler<'_>, effort: &mut Effort<'_>) -> Packing {
    if problem.side.span_nodes() {
        return Packing::nothing(problem);
    }
    let mut left = problem.counts();
    let mut packing = Packing {
        rooms: fill_rooms(problem, filler, &mut left, effort),
        ..Packing::default()
    };
    let mut ledger = Ledger::new(problem);
    packing.launched = launch(problem, filler, &mut left, &mut ledger, effort);
    packing.left = left;
    packing.normalise();
    packing
}

/// Launches for as many of the pods left as may be, heavier pools before lighter ones.
pub fn launch(
    problem: &Problem<'_>,
    filler: &Filler<'_>,
    left: &mut [u64],
    ledger: &mut Ledger,
    effort: &mut Effort<'_>,
) -> Vec<Launched> {
    let bias = vec![1.0; problem.kinds.len()];
    let tiers = problem.kinds.iter().map(|kind| kind.tier + 1).max().unwrap_or(0);
    let mut launched = Vec::new();
    for tier in 0..tiers {
        let kinds: Vec<usize> = (0..problem.kinds.len())
            .filter(|kind| problem.kinds[*kind].tier == tier)
            .collect();
        let cover = Cover {
            problem,
            filler,
            kinds: &kinds,
            bias: &bias,
        };
        launched.extend(cover.run(left, ledger, effort));
    }
    launched
}

fn fill_rooms(
    problem: &Problem<'_>,
    filler: &Filler<'_>,
    left: &mut [u64],
    effort: &mut Effort<'_>,
) -> Vec<Filling> {
    let mut groups: Vec<usize> = (0..left.len()).filter(|group| left[*group] > 0).collect();
    let mut rooms = Vec::with_capacity(problem.rooms.len());
    let mut orders = filler.orders(&groups);
    for room in 0..problem.rooms.len() {
        if effort.is_used_up() {
            rooms.push(Filling::new());
            continue;
        }
        let place = Place::Room(room);
        let (value, mut filling) = filler.best(place, left, &orders, effort);
        let (balanced, other) = filler.balanced(place, left, &groups, effort);
        if balanced > value || filling.is_empty() {
            filling = other;
        }
        let mut gone = false;
        for (group, count) in &filling {
            left[*group] -= count;
            gone |= left[*group] == 0;
        }
        if gone {
            effort.spend(u64::try_from(groups.len()).unwrap_or(u64::MAX));
            groups.retain(|group| left[*group] > 0);
            orders.retain(|group| left[group] > 0);
        }
        rooms.push(filling);
    }
    rooms
}

/// Pods that still have to be placed.
struct AtHand<'a> {
    left: &'a [u64],
    groups: &'a [usize],
    orders: &'a Orders,
}

/// Covering pods with nodes of some kinds.
pub struct Cover<'a> {
    /// What is packed.
    pub problem: &'a Problem<'a>,
    /// How nodes are filled.
    pub filler: &'a Filler<'a>,
    /// What may be launched, all of one weight.
    pub kinds: &'a [usize],
    /// By kind: how much more than its density counts; one where nothing is shaken.
    pub bias: &'a [f64],
}

impl Cover<'_> {
    /// Launches for as many of the pods as may be; what is left stays in `left`.
    pub fn run(&self, left: &mut [u64], ledger: &mut Ledger, effort: &mut Effort<'_>) -> Vec<Launched> {
        self.run_on(self.coverable(left), left, ledger, effort)
    }

    /// The same for some groups alone.
    pub fn run_on(
        &self,
        mut groups: Vec<usize>,
        left: &mut [u64],
        ledger: &mut Ledger,
        effort: &mut Effort<'_>,
    ) -> Vec<Launched> {
        groups.retain(|group| left[*group] > 0);
        let mut orders = self.filler.orders(&groups);
        let mut heap: BinaryHeap<Candidate> = self
            .kinds
            .iter()
            .map(|kind| Candidate {
                density: f64::INFINITY,
                kind: *kind,
            })
            .collect();
        let mut launched = Vec::new();
        while !groups.is_empty() && !effort.is_used_up() {
            let at_hand = AtHand {
                left,
                groups: &groups,
                orders: &orders,
            };
            let Some((kind, filling)) = self.next(&mut heap, &at_hand, ledger, effort) else {
                break;
            };
            let kind = cheapest(self.problem, &filling, self.kinds, ledger).unwrap_or(kind);
            let lasts = filling.iter().map(|(group, count)| left[*group] / count).min();
            let count = lasts.unwrap_or(0).min(ledger.allowed(self.problem, kind));
            if count == 0 {
                break;
            }
            ledger.open(self.problem, kind, count);
            let mut gone = false;
            for (group, each) in &filling {
                left[*group] -= each * count;
                gone |= left[*group] == 0;
            }
            if gone {
                effort.spend(u64::try_from(groups.len()).unwrap_or(u64::MAX));
                groups.retain(|group| left[*group] > 0);
                orders.retain(|group| left[group] > 0);
            }
            launched.push(Launched { kind, filling, count });
        }
        launched
    }

    fn coverable(&self, left: &[u64]) -> Vec<usize> {
        let usable = |group: usize| {
            self.kinds
                .iter()
                .any(|kind| self.problem.usable[group].contains(*kind))
        };
        (0..left.len())
            .filter(|group| left[*group] > 0 && usable(*group))
            .collect()
    }

    /// The densest filling; kinds whose last density is below that of one just filled needn't be looked at.
    fn next(
        &self,
        heap: &mut BinaryHeap<Candidate>,
        at_hand: &AtHand<'_>,
        ledger: &Ledger,
        effort: &mut Effort<'_>,
    ) -> Option<(usize, Filling)> {
        let mut best: Option<(Candidate, Filling)> = None;
        let mut looked_at = Vec::new();
        while let Some(top) = heap.pop() {
            if let Some((best, _)) = &best
                && best.density >= top.density
            {
                heap.push(top);
                break;
            }
            if best.is_some() && effort.is_used_up() {
                // Hundreds of kinds for thousands of groups would take longer than a deadline can wait.
                heap.push(top);
                break;
            }
            let most = best.as_ref().map_or(0.0, |(best, _)| best.density);
            let Some((density, filling)) = self.look(top.kind, most, at_hand, ledger, effort) else {
                continue;
            };
            let candidate = Candidate {
                density,
                kind: top.kind,
            };
            looked_at.push(candidate);
            if best.as_ref().is_none_or(|(best, _)| candidate > *best) {
                best = Some((candidate, filling));
            }
        }
        heap.extend(looked_at);
        best.map(|(candidate, filling)| (candidate.kind, filling))
    }

    /// `None` where the kind can take nothing more, now or later. `most` is the best density so far.
    fn look(
        &self,
        kind: usize,
        most: f64,
        at_hand: &AtHand<'_>,
        ledger: &Ledger,
        effort: &mut Effort<'_>,
    ) -> Option<(f64, Filling)> {
        let problem = self.problem;
        let AtHand { left, groups, orders } = at_hand;
        if ledger.allowed(problem, kind) == 0 {
            return None;
        }
        let place = Place::Kind(kind);
        #[expect(clippy::cast_precision_loss, reason = "guidance only")]
        let cost = problem.kinds[kind].cost.max(1) as f64 / self.bias[kind];
        let (mut value, mut filling) = self.filler.best(place, left, orders, effort);
        if filling.is_empty() {
            // Pods that are worth nothing still need a place.
            let copies = |group: &usize| (*group, self.filler.copies(*group, place));
            let (group, copies) = groups.iter().map(copies).find(|(_, copies)| *copies > 0)?;
            filling = vec![(group, left[group].min(copies))];
        } else if value / cost > WORTH_BALANCING * most {
            let (balanced, other) = self.filler.balanced(place, left, groups, effort);
            if balanced > value {
                (value, filling) = (balanced, other);
            }
        }
        Some((value / cost, filling))
    }
}
