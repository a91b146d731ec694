//! The exact optimum of tiny synthetic problems, by enumeration of all packings.
//!
//! Promises: the fewest pods left, and the least cost with so few left, over all ways to fill rooms and launched nodes;
//! each packing is judged by [`verdict`], which reads side rows literally and no engine builds by. All pods count the
//! same here, whatever their priority. Meant for six or seven pods and four kinds.

use crate::lower::Problem;
use crate::lower::side::Place;
use crate::pack::side::verdict;
use crate::pack::{Filling, Launched, Packing};

/// The best that is possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Optimum {
    /// Pods without a place.
    pub left: u64,
    /// Micro-dollars per hour.
    pub cost: u64,
    /// A packing that is so good.
    pub packing: Packing,
}

/// The best packing; `None` where even leaving all pods breaks a rule.
#[must_use]
pub fn optimum(problem: &Problem<'_>) -> Option<Optimum> {
    let fillings = |place: Place| fillings(problem, place);
    let mut launches = Vec::new();
    for kind in 0..problem.kinds.len() {
        for filling in fillings(Place::Kind(kind)) {
            if !filling.is_empty() {
                let penalty = verdict::on_node_penalty(&problem.side, Place::Kind(kind), &filling);
                launches.push((problem.kinds[kind].cost + penalty, kind, filling));
            }
        }
    }
    launches.sort();
    let rooms = (0..problem.rooms.len()).map(|room| fillings(Place::Room(room)));
    let mut search = Search {
        problem,
        rooms: rooms.collect(),
        launches,
        best: None,
        packing: Packing {
            left: problem.counts(),
            ..Packing::default()
        },
    };
    search.fill_rooms(0);
    search.best
}

/// All that a place can hold by itself, nothing included.
fn fillings(problem: &Problem<'_>, place: Place) -> Vec<Filling> {
    let mut all = vec![Filling::new()];
    for (group, count) in problem.counts().into_iter().enumerate() {
        let mut more = Vec::new();
        for filling in &all {
            for count in 1..=count {
                let mut filling = filling.clone();
                filling.push((group, count));
                if verdict::on_node(problem, place, &filling).is_empty() {
                    more.push(filling);
                }
            }
        }
        all.extend(more);
    }
    all
}

struct Search<'a> {
    problem: &'a Problem<'a>,
    rooms: Vec<Vec<Filling>>,
    /// Cost, kind and filling, cheapest first.
    launches: Vec<(u64, usize, Filling)>,
    best: Option<Optimum>,
    packing: Packing,
}

impl Search<'_> {
    fn fill_rooms(&mut self, room: usize) {
        let Some(fillings) = self.rooms.get(room).cloned() else {
            self.launch(0, 0);
            return;
        };
        for filling in fillings {
            if self.take(&filling) {
                self.packing.rooms.push(filling);
                self.fill_rooms(room + 1);
                let filling = self.packing.rooms.pop().unwrap();
                self.give(&filling);
            }
        }
    }

    /// Launches further nodes, none before `from` in the list: the order of nodes doesn't matter.
    fn launch(&mut self, from: usize, spent: u64) {
        let beaten = |best: &Optimum| best.left == 0 && best.cost <= spent;
        if self.best.as_ref().is_some_and(beaten) {
            return;
        }
        self.judge();
        for at in from..self.launches.len() {
            let (cost, kind, filling) = self.launches[at].clone();
            if self.take(&filling) {
                self.packing.launched.push(Launched {
                    kind,
                    filling,
                    count: 1,
                });
                self.launch(at, spent + cost);
                let launched = self.packing.launched.pop().unwrap();
                self.give(&launched.filling);
            }
        }
    }

    fn judge(&mut self) {
        let left: u64 = self.packing.left.iter().sum();
        let cost = self.packing.cost(self.problem);
        let better = |best: &Optimum| (left, cost) < (best.left, best.cost);
        if self.best.as_ref().is_none_or(better) && verdict::broken(self.problem, &self.packing).is_empty() {
            self.best = Some(Optimum {
                left,
                cost,
                packing: self.packing.clone(),
            });
        }
    }

    fn take(&mut self, filling: &Filling) -> bool {
        let left = &mut self.packing.left;
        let enough = filling.iter().all(|(group, count)| left[*group] >= *count);
        if enough {
            for (group, count) in filling {
                left[*group] -= count;
            }
        }
        enough
    }

    fn give(&mut self, filling: &Filling) {
        for (group, count) in filling {
            self.packing.left[*group] += count;
        }
    }
}
