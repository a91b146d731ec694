//! Whether wants that each accept some suppliers can all be served at once: a transport problem, solved exactly.
//!
//! By Hall's theorem they can if no set of suppliers has less than is wanted of them alone; where they can't, such a set is
//! said. Work: a search over the sets for each unit that can't be served straight away, units of one search going together.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Suppliers of which more is wanted than they have.
pub(super) struct Shortage<S> {
    pub(super) suppliers: BTreeSet<S>,
    pub(super) wanted: u64,
    pub(super) left: u64,
}

/// The first shortage; `None`: every want is served. A supplier that `left` doesn't name has nothing.
pub(super) fn shortage<S: Copy + Ord>(
    wants: &BTreeMap<BTreeSet<S>, u64>,
    left: &BTreeMap<S, u64>,
) -> Option<Shortage<S>> {
    let accepts: Vec<&BTreeSet<S>> = wants.keys().collect();
    let mut free = left.clone();
    // What each want takes of each supplier.
    let mut taken: Vec<BTreeMap<S, u64>> = vec![BTreeMap::new(); accepts.len()];
    for (want, number) in wants.values().enumerate() {
        let mut open = *number;
        while open > 0 {
            match path(&accepts, &free, &taken, want) {
                Ok(path) => open -= push(&path, open, &mut free, &mut taken),
                Err(suppliers) => {
                    let only = wants
                        .iter()
                        .filter(|(accepted, _)| accepted.is_subset(&suppliers));
                    let wanted = only.fold(0_u64, |sum, (_, number)| sum.saturating_add(*number));
                    let left = suppliers.iter().filter_map(|supplier| left.get(supplier));
                    let left = left.fold(0_u64, |sum, number| sum.saturating_add(*number));
                    return Some(Shortage {
                        suppliers,
                        wanted,
                        left,
                    });
                }
            }
        }
    }
    None
}

/// A want and the supplier that it takes one more of, in turn: each but the first has to give up what the one before takes.
type Path<S> = Vec<(usize, S)>;

/// A shortest way to serve one more of a want; the suppliers that can be reached, where there is none.
fn path<S: Copy + Ord>(
    accepts: &[&BTreeSet<S>],
    free: &BTreeMap<S, u64>,
    taken: &[BTreeMap<S, u64>],
    want: usize,
) -> Result<Path<S>, BTreeSet<S>> {
    // By supplier: which want reached it; by want: which supplier it would give up.
    let mut reached: BTreeMap<S, usize> = BTreeMap::new();
    let mut gives_up: BTreeMap<usize, S> = BTreeMap::new();
    let mut queue = VecDeque::from([want]);
    while let Some(at) = queue.pop_front() {
        for supplier in accepts[at] {
            if reached.contains_key(supplier) {
                continue;
            }
            reached.insert(*supplier, at);
            if free.get(supplier).is_some_and(|left| *left > 0) {
                let mut path = vec![(at, *supplier)];
                let mut last = at;
                while let Some(supplier) = gives_up.get(&last) {
                    last = reached[supplier];
                    path.push((last, *supplier));
                }
                path.reverse();
                return Ok(path);
            }
            for (other, taken) in taken.iter().enumerate() {
                let takes = taken.get(supplier).is_some_and(|number| *number > 0);
                if takes && other != want && !gives_up.contains_key(&other) {
                    gives_up.insert(other, *supplier);
                    queue.push_back(other);
                }
            }
        }
    }
    Err(reached.into_keys().collect())
}

/// Moves as much as there is along a path; how much.
fn push<S: Copy + Ord>(
    path: &[(usize, S)],
    most: u64,
    free: &mut BTreeMap<S, u64>,
    taken: &mut [BTreeMap<S, u64>],
) -> u64 {
    let Some((_, last)) = path.last() else { return 0 };
    let mut amount = most.min(free.get(last).copied().unwrap_or(0));
    for pair in path.windows(2) {
        let ((_, supplier), (giver, _)) = (pair[0], pair[1]);
        amount = amount.min(taken[giver].get(&supplier).copied().unwrap_or(0));
    }
    for pair in path.windows(2) {
        let ((_, supplier), (giver, _)) = (pair[0], pair[1]);
        taken[giver]
            .entry(supplier)
            .and_modify(|number| *number -= amount);
    }
    for (want, supplier) in path {
        *taken[*want].entry(*supplier).or_default() += amount;
    }
    free.entry(*last).and_modify(|number| *number -= amount);
    amount
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Served if and only if no set of suppliers has less than is wanted of it alone: all sets are tried.
    #[test]
    fn says_what_hall_says() {
        let mut seed = 1_u64;
        let mut below = |most: u64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % most
        };
        let (mut served, mut short) = (0, 0);
        for _ in 0..4_000 {
            let suppliers = 1 + below(4);
            let left: BTreeMap<u64, u64> = (0..suppliers).map(|supplier| (supplier, below(4))).collect();
            let mut wants: BTreeMap<BTreeSet<u64>, u64> = BTreeMap::new();
            for _ in 0..=below(4) {
                let mask = 1 + below((1 << suppliers) - 1);
                let accepted = (0..suppliers)
                    .filter(|supplier| mask >> supplier & 1 == 1)
                    .collect();
                *wants.entry(accepted).or_default() += below(4);
            }
            let suffices = |mask: u64| {
                let has = |supplier: &u64| mask >> supplier & 1 == 1;
                let only = wants.iter().filter(|(accepted, _)| accepted.iter().all(has));
                let there = left.iter().filter(|(supplier, _)| has(supplier));
                only.map(|(_, number)| number).sum::<u64>() <= there.map(|(_, number)| number).sum()
            };
            let expected = (0..1 << suppliers).all(suffices);
            let found = shortage(&wants, &left);
            assert_eq!(found.is_none(), expected, "{wants:?} of {left:?}");
            if let Some(Shortage {
                suppliers,
                wanted,
                left,
            }) = found
            {
                assert!(wanted > left, "{suppliers:?}: {wanted} of {left}");
                short += 1;
            } else {
                served += 1;
            }
        }
        assert!(served > 500 && short > 500, "{served} served, {short} short");
    }
}
