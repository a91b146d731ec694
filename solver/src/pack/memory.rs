//! What is kept from one plan for the next: good fillings, by what their pods ask for.
//!
//! Clusters change little between two plans, so most fillings that were worth it are so again; column generation that
//! starts from them has less to find. Pods are known by requests and rules, not by name or index, and no kind of node is
//! kept: a filling goes to the cheapest kind that holds it now. What no longer fits is left out, not wrong.
//!
//! Promises: bounded in size, those trimmed first that no relaxation and no packing used for longest; the same memory and
//! the same problem give the same fillings in the same order. It says nothing of what is sound: packings made of these
//! fillings are verified as all others are.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::lower::Problem;
use crate::lower::group::identity;
use crate::model::pod::PodSpec;

use super::downsize::cheapest;
use super::ledger::Ledger;
use super::{Filling, Launched};

/// Fillings that are kept: a plan of ten thousand pods uses some hundreds, and a master program with a few thousand
/// columns is still solved in hundredths of a second.
const MOST_FILLINGS: usize = 2_000;

/// Pods that no rule can tell apart, by one's specification.
#[derive(Clone, Debug)]
struct Like(Arc<PodSpec>);

impl Ord for Like {
    fn cmp(&self, other: &Self) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) {
            Ordering::Equal
        } else {
            identity(&self.0).cmp(&identity(&other.0))
        }
    }
}

impl PartialOrd for Like {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Like {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Like {}

/// Fillings of earlier plans; nothing at first.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Plans that were kept so far.
    plans: u64,
    /// Pods of fillings by a number each.
    known: BTreeMap<Like, u64>,
    numbers: u64,
    /// Numbers of pods with their counts, and the last plan that used them so.
    fillings: BTreeMap<Vec<(u64, u64)>, u64>,
}

impl Memory {
    /// How many fillings it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.fillings.len()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fillings.is_empty()
    }

    /// The fillings in a problem's words, once each, those used last first: pods that are gone left out, no more pods than
    /// there are, each on the cheapest kind of its pods' heaviest pools that holds it.
    #[must_use]
    pub fn recall(&self, problem: &Problem<'_>) -> Vec<Launched> {
        if self.is_empty() {
            return Vec::new();
        }
        let groups: BTreeMap<u64, usize> = (0..problem.groups.len())
            .filter_map(|group| Some((*self.known.get(&like(problem, group))?, group)))
            .collect();
        let counts = problem.counts();
        let ledger = Ledger::new(problem);
        let tiers = problem.kinds.iter().map(|kind| kind.tier + 1).max().unwrap_or(0);
        let mut kinds = vec![Vec::new(); tiers];
        for (index, kind) in problem.kinds.iter().enumerate() {
            if kind.supply.is_none() {
                kinds[kind.tier].push(index);
            }
        }
        let mut by_age: Vec<(&Vec<(u64, u64)>, &u64)> = self.fillings.iter().collect();
        by_age.sort_by(|(one, last), (two, later)| later.cmp(last).then_with(|| one.cmp(two)));
        let mut seen = BTreeSet::new();
        let mut recalled = Vec::new();
        for (remembered, _) in by_age {
            let parts = remembered.iter().filter_map(|(number, count)| {
                let group = *groups.get(number)?;
                Some((group, counts[group].min(*count)))
            });
            let mut filling: Filling = parts.filter(|(_, count)| *count > 0).collect();
            filling.sort_unstable();
            let Some(tier) = filling
                .first()
                .and_then(|(group, _)| problem.tiers[*group].first())
            else {
                continue;
            };
            let heaviest = |(group, _): &(usize, u64)| problem.tiers[*group].first() == Some(tier);
            if !filling.iter().all(heaviest) {
                continue;
            }
            if let Some(kind) = cheapest(problem, &filling, &kinds[*tier], &ledger)
                && seen.insert(filling.clone())
            {
                recalled.push(Launched {
                    kind,
                    filling,
                    count: 1,
                });
            }
        }
        recalled
    }

    /// Keeps the fillings that a plan for this problem used, and trims what was not used for longest.
    pub fn keep<'f>(&mut self, problem: &Problem<'_>, fillings: impl IntoIterator<Item = &'f Filling>) {
        self.plans += 1;
        let mut numbers: BTreeMap<usize, u64> = BTreeMap::new();
        for filling in fillings {
            let mut remembered: Vec<(u64, u64)> = filling
                .iter()
                .map(|(group, count)| {
                    let number = numbers
                        .entry(*group)
                        .or_insert_with(|| self.number(like(problem, *group)));
                    (*number, *count)
                })
                .collect();
            remembered.sort_unstable();
            self.fillings.insert(remembered, self.plans);
        }
        self.trim(MOST_FILLINGS);
    }

    fn number(&mut self, pods: Like) -> u64 {
        let next = self.numbers;
        let number = *self.known.entry(pods).or_insert(next);
        self.numbers += u64::from(number == next);
        number
    }

    fn trim(&mut self, most: usize) {
        if self.fillings.len() > most {
            let mut by_age: Vec<(u64, Vec<(u64, u64)>)> = std::mem::take(&mut self.fillings)
                .into_iter()
                .map(|(filling, last)| (last, filling))
                .collect();
            by_age.sort_by(|(one, filling), (two, other)| two.cmp(one).then_with(|| filling.cmp(other)));
            by_age.truncate(most);
            self.fillings = by_age
                .into_iter()
                .map(|(last, filling)| (filling, last))
                .collect();
        }
        let used: BTreeSet<u64> = self
            .fillings
            .keys()
            .flatten()
            .map(|(number, _)| *number)
            .collect();
        self.known.retain(|_, number| used.contains(number));
    }
}

fn like(problem: &Problem<'_>, group: usize) -> Like {
    let first = problem.groups[group].pods[0];
    Like(Arc::clone(&problem.snapshot.pods[first].spec))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::lower;
    use crate::model::snapshot::Snapshot;
    use crate::testing::build::{Cluster, machine};

    fn shop(types: &[(&str, &str, &str)], web: usize, db: usize) -> Snapshot {
        let mut cluster = Cluster::new().pool("p");
        for (name, cpu, price) in types {
            cluster = cluster.instance_type(machine(name, cpu, "64Gi", price));
        }
        let cluster = cluster.pods("web", web, "1", "1Gi");
        cluster.pods("db", db, "3", "1Gi").freeze()
    }

    const BOTH: [(&str, &str, &str); 2] = [("small", "4", "0.1"), ("large", "8", "0.19")];

    /// Group of the pods that ask for so many cores.
    fn group(problem: &Problem<'_>, cores: u64) -> usize {
        let mut groups = 0..problem.groups.len();
        groups
            .find(|group| problem.request(*group)[0] == cores * 1_000)
            .unwrap()
    }

    fn after(memory: &mut Memory, snapshot: &Snapshot, fillings: &[(u64, u64)]) {
        let problem = lower(snapshot);
        let fillings: Vec<Filling> = fillings
            .iter()
            .map(|(web, db)| {
                let mut filling = vec![(group(&problem, 1), *web), (group(&problem, 3), *db)];
                filling.retain(|(_, count)| *count > 0);
                filling.sort_unstable();
                filling
            })
            .collect();
        memory.keep(&problem, &fillings);
    }

    /// Price of the kind in micro-dollars, and pods by cores.
    fn recalled(memory: &Memory, snapshot: &Snapshot) -> Vec<(u64, Vec<(u64, u64)>)> {
        let problem = lower(snapshot);
        let words = |launched: Launched| {
            let pods = launched.filling.iter();
            let mut pods: Vec<(u64, u64)> = pods
                .map(|(group, count)| (problem.request(*group)[0] / 1_000, *count))
                .collect();
            pods.sort_unstable();
            (problem.kinds[launched.kind].cost, pods)
        };
        memory.recall(&problem).into_iter().map(words).collect()
    }

    #[test]
    fn fillings_come_back_in_the_words_of_another_problem() {
        let mut memory = Memory::default();
        let first = shop(&BOTH, 9, 4);
        assert!(recalled(&memory, &first).is_empty());
        after(&mut memory, &first, &[(1, 1), (2, 2)]);
        let both = [(100_000, vec![(1, 1), (3, 1)]), (190_000, vec![(1, 2), (3, 2)])];
        assert_eq!(recalled(&memory, &first), both);
        // More pods, and the same on the only kind left.
        assert_eq!(
            recalled(&memory, &shop(&BOTH[1..], 90, 40)),
            [(190_000, vec![(1, 1), (3, 1)]), (190_000, vec![(1, 2), (3, 2)])]
        );
        // One pod of a group left, then none: both fillings become the same one.
        assert_eq!(
            recalled(&memory, &shop(&BOTH, 9, 1)),
            [(100_000, vec![(1, 1), (3, 1)]), (190_000, vec![(1, 2), (3, 1)])]
        );
        assert_eq!(
            recalled(&memory, &shop(&BOTH, 1, 0)),
            [(100_000, vec![(1, 1)])],
            "and once only"
        );
        // No kind holds the larger one any more.
        assert_eq!(
            recalled(&memory, &shop(&BOTH[..1], 9, 4)),
            [(100_000, vec![(1, 1), (3, 1)])]
        );
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let mut memory = Memory::default();
        let snapshot = shop(&BOTH, 9, 4);
        after(&mut memory, &snapshot, &[(1, 0), (2, 0)]);
        after(&mut memory, &snapshot, &[(0, 1), (1, 0)]);
        after(&mut memory, &snapshot, &[(1, 2)]);
        memory.trim(3);
        let pods: Vec<Vec<(u64, u64)>> = recalled(&memory, &snapshot)
            .into_iter()
            .map(|(_, pods)| pods)
            .collect();
        assert_eq!(pods.len(), 3);
        assert_eq!(pods[0], [(1, 1), (3, 2)], "the newest comes first");
        assert!(
            !pods.contains(&vec![(1, 2)]),
            "two of web alone were used once only"
        );
        memory.trim(0);
        assert!(memory.is_empty() && memory.known.is_empty());
    }

    #[test]
    fn it_never_holds_more_than_it_may() {
        let mut memory = Memory::default();
        let snapshot = shop(&[("huge", "60", "1.0")], 60, 20);
        let all: Vec<(u64, u64)> = (0..60).flat_map(|web| (0..20).map(move |db| (web, db))).collect();
        for part in all.chunks(400) {
            after(&mut memory, &snapshot, &part[1..]);
            assert!(memory.len() <= MOST_FILLINGS);
        }
        let problem = lower(&snapshot);
        assert!(memory.recall(&problem).iter().all(|launched| {
            let load = super::super::load(&problem, &launched.filling);
            crate::lower::rules::resources::fits(&load, problem.room(launched.kind))
        }));
    }
}
