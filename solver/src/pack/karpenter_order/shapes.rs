//! What open nodes are like: kinds that hold what is on them, and what that is.
//!
//! Nodes that have been filled alike share a shape, and shapes share lists of kinds. A list tells which of its kinds none other
//! of it surpasses: what fits into any fits into one of those, so that most questions look at a few kinds of hundreds.

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::lower::Problem;
use crate::lower::rules::resources;
use crate::pack::Filling;

/// Kinds of one pool and one part.
#[derive(Clone, Debug)]
struct Kinds {
    /// Cheapest first.
    all: Vec<usize>,
    /// Those that have not less of everything than another one.
    roomiest: Vec<usize>,
}

impl Kinds {
    fn new(problem: &Problem<'_>, all: Vec<usize>) -> Self {
        let mut roomiest: Vec<usize> = Vec::new();
        // The dearest are the largest, mostly.
        for kind in all.iter().rev() {
            let room = problem.room(*kind);
            if !roomiest
                .iter()
                .any(|other| resources::fits(room, problem.room(*other)))
            {
                roomiest.push(*kind);
            }
        }
        Self { all, roomiest }
    }
}

#[derive(Clone, Debug)]
struct Shape {
    /// Which list of kinds: the groups on it may use them all. Some may be too small for all of it.
    kinds: usize,
    load: Vec<u64>,
    /// In the order of placement.
    filling: Filling,
    /// For which group's turn a capacity is known, and that.
    known: Cell<(u64, u64)>,
}

/// All shapes.
pub(super) struct Shapes<'a> {
    problem: &'a Problem<'a>,
    lists: Vec<Kinds>,
    shapes: Vec<Shape>,
    /// By list: what is left of it for the group whose turn it is.
    narrowed: BTreeMap<usize, usize>,
    /// By shape and number of pods added: what becomes of it.
    next: BTreeMap<(usize, u64), usize>,
    turn: u64,
}

impl<'a> Shapes<'a> {
    /// None yet.
    pub(super) fn new(problem: &'a Problem<'a>) -> Self {
        Self {
            problem,
            lists: Vec::new(),
            shapes: Vec::new(),
            narrowed: BTreeMap::new(),
            next: BTreeMap::new(),
            turn: 0,
        }
    }

    /// It is another group's turn.
    pub(super) fn turn(&mut self) {
        self.turn += 1;
        self.narrowed.clear();
        self.next.clear();
    }

    /// The shape of an empty node.
    pub(super) fn empty(&mut self, kinds: Vec<usize>) -> usize {
        self.lists.push(Kinds::new(self.problem, kinds));
        self.shapes.push(Shape {
            kinds: self.lists.len() - 1,
            load: vec![0; self.problem.resources.len()],
            filling: Filling::new(),
            known: Cell::new((0, 0)),
        });
        self.shapes.len() - 1
    }

    /// Kinds of a shape, cheapest first.
    pub(super) fn kinds(&self, shape: usize) -> &[usize] {
        &self.lists[self.shapes[shape].kinds].all
    }

    /// What is on it.
    pub(super) fn filling(&self, shape: usize) -> &Filling {
        &self.shapes[shape].filling
    }

    /// The cheapest kind that holds what is on it.
    pub(super) fn cheapest(&self, shape: usize) -> Option<usize> {
        let load = &self.shapes[shape].load;
        let mut kinds = self.kinds(shape).iter().copied();
        kinds.find(|kind| resources::fits(load, self.problem.room(*kind)))
    }

    /// How many pods of the group whose turn it is go beside what is on it, by the roomiest of its kinds; `most` is what else
    /// admits, asked once a turn.
    pub(super) fn capacity(&self, shape: usize, group: usize, most: impl FnOnce(&Filling) -> u64) -> u64 {
        let shape = &self.shapes[shape];
        let (turn, known) = shape.known.get();
        if turn == self.turn {
            return known;
        }
        let most = most(&shape.filling);
        let capacity = if most == 0 {
            0
        } else {
            self.copies(shape, group).min(most)
        };
        shape.known.set((self.turn, capacity));
        capacity
    }

    fn copies(&self, shape: &Shape, group: usize) -> u64 {
        let (problem, list) = (self.problem, &self.lists[shape.kinds]);
        let usable = &problem.usable[group];
        let is_whole = list.roomiest.iter().all(|kind| usable.contains(*kind));
        let kinds = if is_whole { &list.roomiest } else { &list.all };
        let kinds = kinds.iter().filter(|kind| usable.contains(**kind));
        let request = problem.request(group);
        kinds
            .map(|kind| copies_beside(request, &shape.load, problem.room(*kind)))
            .max()
            .unwrap_or(0)
    }

    /// How many pods of a group a kind holds beside what is on a shape.
    pub(super) fn copies_of(&self, shape: usize, group: usize, kind: usize) -> u64 {
        let request = self.problem.request(group);
        copies_beside(request, &self.shapes[shape].load, self.problem.room(kind))
    }

    /// Whether a request fits beside what is on it.
    pub(super) fn takes(&self, shape: usize, request: &[u64]) -> bool {
        let shape = &self.shapes[shape];
        let mut kinds = self.lists[shape.kinds].roomiest.iter();
        kinds.any(|kind| copies_beside(request, &shape.load, self.problem.room(*kind)) > 0)
    }

    /// What becomes of a shape with so many pods of the group whose turn it is.
    pub(super) fn with(&mut self, shape: usize, group: usize, added: u64) -> usize {
        if let Some(next) = self.next.get(&(shape, added)) {
            return *next;
        }
        let before = &self.shapes[shape];
        let (mut load, mut filling) = (before.load.clone(), before.filling.clone());
        let kinds = self.narrowed(before.kinds, group);
        resources::give(&mut load, self.problem.request(group), added);
        match filling.last_mut().filter(|(last, _)| *last == group) {
            Some((_, count)) => *count += added,
            None => filling.push((group, added)),
        }
        self.shapes.push(Shape {
            kinds,
            load,
            filling,
            known: Cell::new((0, 0)),
        });
        let next = self.shapes.len() - 1;
        self.next.insert((shape, added), next);
        next
    }

    /// The kinds of a list that the group whose turn it is may use.
    fn narrowed(&mut self, list: usize, group: usize) -> usize {
        if let Some(narrowed) = self.narrowed.get(&list) {
            return *narrowed;
        }
        let usable = &self.problem.usable[group];
        let all = &self.lists[list].all;
        let narrowed = if all.iter().all(|kind| usable.contains(*kind)) {
            list
        } else {
            let kinds = all.iter().copied().filter(|kind| usable.contains(*kind));
            let kinds = Kinds::new(self.problem, kinds.collect());
            self.lists.push(kinds);
            self.lists.len() - 1
        };
        self.narrowed.insert(list, narrowed);
        narrowed
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
