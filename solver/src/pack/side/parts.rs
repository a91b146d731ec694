//! Parts: places that no row across nodes tells apart.
//!
//! A partition is the list of domains of one row; rows mostly share them. Kinds and rooms that are in the same domain of every
//! partition are one part. Counting by part is then enough for all rows, and a node whose kinds are all of one part never
//! moves between domains.

use std::collections::BTreeMap;

use fixedbitset::FixedBitSet;

use crate::lower::Problem;
use crate::lower::side::{Place, Places};

/// Partitions while rows are read.
#[derive(Debug, Default)]
pub struct Partitions<'a> {
    known: BTreeMap<Vec<(&'a FixedBitSet, &'a FixedBitSet)>, usize>,
    all: Vec<Vec<&'a Places>>,
}

impl<'a> Partitions<'a> {
    /// The index of a list of domains.
    pub fn index(&mut self, domains: impl Iterator<Item = &'a Places>) -> usize {
        let domains: Vec<&Places> = domains.collect();
        let key = domains
            .iter()
            .map(|domain| (&domain.kinds, &domain.rooms))
            .collect();
        let next = self.all.len();
        let index = *self.known.entry(key).or_insert(next);
        if index == next {
            self.all.push(domains);
        }
        index
    }
}

/// The parts of a problem.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// By kind.
    kinds: Vec<usize>,
    /// By room.
    rooms: Vec<usize>,
    /// By part: rooms, in the order of filling.
    pub rooms_of: Vec<Vec<usize>>,
    /// By partition and part: the domain.
    domains: Vec<Vec<Option<usize>>>,
}

impl Parts {
    /// The parts that these partitions make.
    #[must_use]
    pub fn of(problem: &Problem<'_>, partitions: &Partitions<'_>) -> Self {
        let (kinds, rooms) = (problem.kinds.len(), problem.rooms.len());
        let mut signatures = vec![vec![None; partitions.all.len()]; kinds + rooms];
        for (partition, domains) in partitions.all.iter().enumerate() {
            for (index, domain) in domains.iter().enumerate() {
                for kind in domain.kinds.ones().filter(|kind| *kind < kinds) {
                    signatures[kind][partition] = Some(index);
                }
                for room in domain.rooms.ones().filter(|room| *room < rooms) {
                    signatures[kinds + room][partition] = Some(index);
                }
            }
        }
        let mut parts = Self {
            domains: vec![Vec::new(); partitions.all.len()],
            ..Self::default()
        };
        let mut known: BTreeMap<&[Option<usize>], usize> = BTreeMap::new();
        for (place, signature) in signatures.iter().enumerate() {
            let next = known.len();
            let part = *known.entry(signature).or_insert(next);
            if part == next {
                parts.rooms_of.push(Vec::new());
                for (domains, domain) in parts.domains.iter_mut().zip(signature) {
                    domains.push(*domain);
                }
            }
            if place < kinds {
                parts.kinds.push(part);
            } else {
                parts.rooms.push(part);
                parts.rooms_of[part].push(place - kinds);
            }
        }
        parts
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.rooms_of.len()
    }

    /// The part of a place.
    #[must_use]
    pub fn part(&self, place: Place) -> usize {
        match place {
            Place::Kind(kind) => self.kinds[kind],
            Place::Room(room) => self.rooms[room],
        }
    }

    /// The domain that a part is in.
    #[must_use]
    pub fn domain(&self, partition: usize, part: usize) -> Option<usize> {
        self.domains[partition][part]
    }
}
