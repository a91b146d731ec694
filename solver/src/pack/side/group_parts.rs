//! What rows across nodes tell apart, and what of a packing has to stay as it is for them: for [`super::split`].

use std::collections::BTreeMap;

use fixedbitset::FixedBitSet;

use crate::lower::Problem;
use crate::lower::prune::Kind;
use crate::lower::side::{Place, Places, Row, SideRows};
use crate::pack::{Filling, Launched, Packing};

/// Places by what rows tell apart, for each group.
#[derive(Clone, Debug)]
pub struct Parts {
    kinds: usize,
    /// Groups that any row concerns.
    has_rows: FixedBitSet,
    /// By group: its partition. Groups that the same sets of places matter to share one.
    partition: Vec<usize>,
    /// By partition: the part of each kind, then of each room.
    parts: Vec<Vec<usize>>,
}

impl Parts {
    /// Of a problem.
    #[must_use]
    pub fn of(problem: &Problem<'_>) -> Self {
        let mut sets: Vec<&Places> = Vec::new();
        let mut sees: Vec<Vec<usize>> = vec![Vec::new(); problem.groups.len()];
        for (groups, places) in sights(&problem.side) {
            let from = sets.len();
            sets.extend(places);
            for group in groups.ones() {
                sees[group].extend(from..sets.len());
            }
        }
        let mut known: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
        let mut parts = Vec::new();
        let partition = sees.into_iter().map(|seen| {
            let made = known.len();
            *known.entry(seen).or_insert_with_key(|seen| {
                let seen: Vec<&Places> = seen.iter().map(|set| sets[*set]).collect();
                parts.push(apart(problem, &seen));
                made
            })
        });
        let partition = partition.collect();
        Self {
            kinds: problem.kinds.len(),
            has_rows: under_rows(&problem.side),
            partition,
            parts,
        }
    }

    /// Whether a row across nodes concerns a group.
    #[must_use]
    pub fn has_rows(&self, group: usize) -> bool {
        self.has_rows.contains(group)
    }

    /// The partition of a group.
    #[must_use]
    pub fn partition(&self, group: usize) -> usize {
        self.partition[group]
    }

    /// All parts of a group.
    #[must_use]
    pub fn places(&self, group: usize) -> Vec<Places> {
        let parts = &self.parts[self.partition[group]];
        let count = parts.iter().max().map_or(0, |last| last + 1);
        let none = Places {
            kinds: FixedBitSet::with_capacity(self.kinds),
            rooms: FixedBitSet::with_capacity(parts.len() - self.kinds),
        };
        let mut places = vec![none; count];
        for (at, part) in parts.iter().enumerate() {
            match at.checked_sub(self.kinds) {
                None => places[*part].kinds.insert(at),
                Some(room) => places[*part].rooms.insert(room),
            }
        }
        places
    }

    /// The part of a place for a group; the first for groups without rows.
    #[must_use]
    pub fn part(&self, group: usize, place: Place) -> usize {
        let parts = &self.parts[self.partition[group]];
        match place {
            Place::Kind(kind) => parts[kind],
            Place::Room(room) => parts[self.kinds + room],
        }
    }
}

/// Groups that some row across nodes concerns.
#[must_use]
pub fn under_rows(side: &SideRows) -> FixedBitSet {
    let mut groups = FixedBitSet::new();
    for (row, _) in sights(side) {
        groups.union_with(&row);
    }
    groups
}

/// For each row across nodes: its groups, and the sets of places by which it counts them.
#[must_use]
pub fn sights(side: &SideRows) -> Vec<(FixedBitSet, Vec<&Places>)> {
    let SideRows {
        caps: _,
        conflicts: _,
        penalties: _,
        spreads,
        together,
        apart,
        rows,
        near,
        beside,
        opening_bins: _,
    } = side;
    let mut sights = Vec::new();
    for spread in spreads {
        let domains = spread.domains.iter().map(|domain| &domain.places);
        sights.push((both(&spread.groups, &spread.bound), domains.collect()));
    }
    for together in together {
        sights.push((together.groups.clone(), together.domains.iter().collect()));
    }
    for apart in apart {
        sights.push((both(&apart.one, &apart.other), apart.domains.iter().collect()));
    }
    for term in rows.iter().flat_map(|row| &row.pods) {
        sights.push((term.groups.clone(), vec![&term.places]));
    }
    for near in near {
        let domains = near.domains.iter().map(|domain| &domain.places);
        sights.push((both(&near.groups, &near.of), domains.collect()));
    }
    for beside in beside {
        sights.push((both(&beside.groups, &beside.of), Vec::new()));
    }
    sights
}

fn both(one: &FixedBitSet, other: &FixedBitSet) -> FixedBitSet {
    let mut both = one.clone();
    both.union_with(other);
    both
}

/// The part of each kind, then of each room: those that are in the same sets have the same.
fn apart(problem: &Problem<'_>, sets: &[&Places]) -> Vec<usize> {
    let kinds = (0..problem.kinds.len()).map(Place::Kind);
    let rooms = (0..problem.rooms.len()).map(Place::Room);
    let mut known: BTreeMap<Vec<bool>, usize> = BTreeMap::new();
    let part = |place: Place| {
        let made = known.len();
        let within = sets.iter().map(|set| set.contains(place));
        *known.entry(within.collect()).or_insert(made)
    };
    kinds.chain(rooms).map(part).collect()
}

/// What has to stay as it is.
#[derive(Clone, Debug, Default)]
pub struct Freeze {
    /// Groups that want to be on nodes where others are.
    beside: FixedBitSet,
    /// Kinds of which rows may need as many nodes as there are.
    least: FixedBitSet,
    /// Sets of kinds of which rows may admit no more nodes than there are.
    most: Vec<FixedBitSet>,
}

impl Freeze {
    /// By these rows.
    #[must_use]
    pub fn of(side: &SideRows) -> Self {
        let mut freeze = Self::default();
        for beside in &side.beside {
            freeze.beside.union_with(&beside.groups);
        }
        for row in &side.rows {
            for term in &row.nodes {
                if could_break(row, term.coefficient.saturating_neg()) {
                    freeze.least.union_with(&term.kinds);
                }
                if could_break(row, term.coefficient) {
                    freeze.most.push(term.kinds.clone());
                }
            }
        }
        freeze
    }

    /// Whether pods stay on an existing node.
    #[must_use]
    pub fn room(&self, filling: &Filling) -> bool {
        filling.iter().any(|(group, _)| self.beside.contains(*group))
    }

    /// Whether launched nodes stay.
    #[must_use]
    pub fn launched(&self, launched: &Launched) -> bool {
        self.least.contains(launched.kind) || self.room(&launched.filling)
    }

    /// The kinds with the supplies that remain.
    #[must_use]
    pub fn kinds(&self, problem: &Problem<'_>, frozen: &Packing, open: &Packing) -> (Vec<Kind>, Vec<u64>) {
        let mut kinds = problem.kinds.clone();
        let mut supplies = problem.supplies.clone();
        let mut take = |kind: &Kind, count: u64| {
            if let Some(supply) = kind.supply {
                supplies[supply] = supplies[supply].saturating_sub(count);
            }
        };
        for launched in &frozen.launched {
            take(&problem.kinds[launched.kind], launched.count);
        }
        let within = |kind: usize| -> Vec<bool> { self.most.iter().map(|set| set.contains(kind)).collect() };
        let is_limited = |kind: usize| self.most.iter().any(|set| set.contains(kind));
        for launched in open.launched.iter().filter(|launched| is_limited(launched.kind)) {
            take(&problem.kinds[launched.kind], launched.count);
        }
        let mut known: BTreeMap<(Vec<bool>, Option<usize>), usize> = BTreeMap::new();
        for (at, kind) in kinds.iter_mut().enumerate().filter(|(at, _)| is_limited(*at)) {
            let supply = *known.entry((within(at), kind.supply)).or_insert_with(|| {
                supplies.push(0);
                supplies.len() - 1
            });
            kind.supply = Some(supply);
        }
        for launched in open.launched.iter().filter(|launched| is_limited(launched.kind)) {
            if let Some(supply) = kinds[launched.kind].supply {
                supplies[supply] += launched.count;
            }
        }
        (kinds, supplies)
    }
}

/// Whether a row's sum could leave its bounds by growing so.
fn could_break(row: &Row, coefficient: i64) -> bool {
    coefficient > 0 && row.upper.is_some() || coefficient < 0 && row.lower.is_some()
}
