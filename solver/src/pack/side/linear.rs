//! Side rows, supplies, limits and rooms as linear rows over pods in places, nodes and a few auxiliary variables.
//!
//! Not everything is kept: [`Near`](crate::lower::side::Near), [`Beside`](crate::lower::side::Beside) and hard spreads that bind
//! others than those that count are left out. What is bounded is bounded without them, and what is packed may break them.
//!
//! A packing keeps the other rules across nodes if and only if some values of the auxiliary variables keep these rows:
//!
//! - supply, limit: nodes by what they take, at most what there is. A room is used once at most.
//! - spread over domains z with t_z pods there, x_z new ones, skew s: a least number m with m ≤ t_z + x_z, and
//!   t_z + x_z − m ≤ s. Where t_z > s, a domain that gets nothing has to be let off: u_z is 0 or 1, x_z ≤ D·u_z and
//!   x_z − m + t_z·u_z ≤ s, which says nothing new for u_z = 0. With too few domains m is 0. Where an excess costs,
//!   t_z + x_z − m − e ≤ s for all z, and e costs so much.
//! - together: u_z is 0 or 1, Σ u_z ≤ 1, and of each group x_z ≤ D·u_z; outside of the domains nothing is usable.
//! - apart: w_z is 0 or 1; of each group of the one set x_z ≤ D·w_z, of each of the other x_z ≤ D·(1 − w_z).
//! - rows are what they are.
//!
//! The numbers m and e need not be whole: all else in their rows is, and rounding m down and e up keeps the rows.
//! Whole numbers throughout; D is the number of pods that there are.

use fixedbitset::FixedBitSet;

use crate::lower::Problem;
use crate::lower::side::{Apart, Excess, Place, Places, Row, Spread, Together};

/// What the sum of a row may be, and what auxiliary variables count in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The least; `None`: anything.
    pub lower: Option<i64>,
    /// The most; `None`: anything.
    pub upper: Option<i64>,
    /// Auxiliary variable and coefficient.
    pub auxiliaries: Vec<(usize, i64)>,
    /// Whether no packing at all keeps it, not even that which leaves all pods: then it may be broken at a price until
    /// one is found that does.
    pub needs_pods: bool,
}

/// A variable beside the nodes, from 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Auxiliary {
    /// The most that it may be.
    pub upper: u64,
    /// Micro-dollars for each.
    pub cost: u64,
    /// Whether only whole numbers make sense.
    pub whole: bool,
}

/// A group's pods in some places count in a row.
#[derive(Clone, Copy, Debug)]
struct Term {
    row: usize,
    places: usize,
    coefficient: i64,
}

/// What a spread that must be kept admits to a domain.
#[derive(Clone, Debug)]
struct Evenly {
    groups: FixedBitSet,
    /// Set of places, row whose pods are those of the domain, pods there.
    domains: Vec<(usize, usize, i64)>,
    skew: i64,
    has_too_few_domains: bool,
}

impl Evenly {
    /// The most pods that may be added to a domain if so many pods are left for all of them: the others have to come so
    /// near that the skew is kept.
    fn most(&self, domain: usize, left: i64, used: &[i64]) -> i64 {
        let pods = |at: usize| self.domains[at].2 + used[self.domains[at].1];
        let here = pods(domain);
        if self.has_too_few_domains {
            return (self.skew - here).clamp(0, left.max(0));
        }
        let lacking = |more: i64| -> i64 {
            let others = (0..self.domains.len()).filter(|at| *at != domain);
            others
                .map(|at| (here + more - pods(at)).saturating_sub(self.skew).max(0))
                .sum()
        };
        let (mut low, mut high) = (0, left.max(0));
        while low < high {
            let middle = low + (high - low + 1) / 2;
            if lacking(middle) <= left - middle {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }
}

/// All rows of a problem.
#[derive(Clone, Debug, Default)]
pub struct Linear {
    /// The rows.
    pub rows: Vec<Bounds>,
    /// The variables beside the nodes.
    pub auxiliaries: Vec<Auxiliary>,
    /// Auxiliary variables of which one at most is 1, each in one set: choices that decide much.
    pub choices: Vec<Vec<usize>>,
    /// Sets of places that terms refer to.
    places: Vec<Places>,
    /// By group.
    pods: Vec<Vec<Term>>,
    /// By kind: row and coefficient.
    kinds: Vec<Vec<(usize, i64)>>,
    /// By room.
    rooms: Vec<Vec<(usize, i64)>>,
    /// Groups and the places where alone they may be.
    only: Vec<(FixedBitSet, Vec<Places>)>,
    /// Spreads that must be kept.
    evenly: Vec<Evenly>,
    /// By group: whether a pod too many could break a row.
    exact: FixedBitSet,
}

fn whole(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

impl Linear {
    /// The rows of a problem.
    #[must_use]
    pub fn of(problem: &Problem<'_>) -> Self {
        let mut linear = Self {
            pods: vec![Vec::new(); problem.groups.len()],
            kinds: vec![Vec::new(); problem.kinds.len()],
            rooms: vec![Vec::new(); problem.rooms.len()],
            exact: FixedBitSet::with_capacity(problem.groups.len()),
            ..Self::default()
        };
        linear.add_what_there_is(problem);
        let counts = problem.counts();
        let is_kept = |spread: &&Spread| spread.excess != Excess::Forbidden || spread.binds_what_counts();
        for spread in problem.side.spreads.iter().filter(is_kept) {
            linear.add_spread(spread, &counts);
        }
        for together in &problem.side.together {
            linear.add_together(together, &counts);
        }
        for apart in &problem.side.apart {
            linear.add_apart(apart, &counts);
        }
        for row in &problem.side.rows {
            linear.add_row(row);
        }
        linear
    }

    /// Row and coefficient of each row in which a pod counts there.
    pub fn pod(&self, group: usize, place: Place) -> impl Iterator<Item = (usize, i64)> + '_ {
        let here = move |term: &&Term| self.places[term.places].contains(place);
        let terms = self.pods[group].iter().filter(here);
        terms.map(|term| (term.row, term.coefficient))
    }

    /// Row and coefficient of each row in which a node counts.
    #[must_use]
    pub fn node(&self, place: Place) -> &[(usize, i64)] {
        match place {
            Place::Kind(kind) => &self.kinds[kind],
            Place::Room(room) => &self.rooms[room],
        }
    }

    /// Whether a group may be in a place as far as these rows tell.
    #[must_use]
    pub fn admits(&self, group: usize, place: Place) -> bool {
        let listed = |domains: &[Places]| domains.iter().any(|domain| domain.contains(place));
        let mut only = self.only.iter();
        only.all(|(groups, domains)| !groups.contains(group) || listed(domains))
    }

    /// Whether a pod of this group too many could break a row.
    #[must_use]
    pub fn is_exact(&self, group: usize) -> bool {
        self.exact.contains(group)
    }

    /// The most pods of a group that spreads admit to a place, with so many pods left and so much of each row used. Any
    /// packing of what is left keeps to it.
    #[must_use]
    pub fn most(&self, group: usize, place: Place, left: &[u64], used: &[i64]) -> u64 {
        let mut most = left[group];
        for spread in self.evenly.iter().filter(|spread| spread.groups.contains(group)) {
            let here = |(places, ..): &(usize, usize, i64)| self.places[*places].contains(place);
            if let Some(domain) = spread.domains.iter().position(here) {
                let pods = spread.groups.ones().map(|group| whole(left[group])).sum();
                most = most.min(u64::try_from(spread.most(domain, pods, used)).unwrap_or(0));
            }
        }
        most
    }

    fn auxiliary(&mut self, upper: u64, cost: u64, whole: bool) -> usize {
        self.auxiliaries.push(Auxiliary { upper, cost, whole });
        self.auxiliaries.len() - 1
    }

    fn row(&mut self, lower: Option<i64>, upper: Option<i64>, auxiliaries: &[(usize, i64)]) -> usize {
        self.rows.push(Bounds {
            lower,
            upper,
            auxiliaries: auxiliaries.to_vec(),
            needs_pods: false,
        });
        self.rows.len() - 1
    }

    fn add_places(&mut self, places: &Places) -> usize {
        self.places.push(places.clone());
        self.places.len() - 1
    }

    fn count(&mut self, row: usize, groups: impl Iterator<Item = usize>, places: usize, coefficient: i64) {
        for group in groups {
            self.exact.insert(group);
            self.pods[group].push(Term {
                row,
                places,
                coefficient,
            });
        }
    }

    fn add_what_there_is(&mut self, problem: &Problem<'_>) {
        for (supply, number) in problem.supplies.iter().enumerate() {
            let row = self.row(None, Some(whole(*number)), &[]);
            for (kind, details) in problem.kinds.iter().enumerate() {
                if details.supply == Some(supply) {
                    self.kinds[kind].push((row, 1));
                }
            }
        }
        for (account, counters) in problem.accounts.left.iter().enumerate() {
            for (counter, left) in counters.iter().enumerate() {
                let row = self.row(None, Some(whole(*left)), &[]);
                for (kind, details) in problem.kinds.iter().enumerate() {
                    if details.account == account && details.usage[counter] > 0 {
                        self.kinds[kind].push((row, whole(details.usage[counter])));
                    }
                }
            }
        }
        for room in 0..problem.rooms.len() {
            let row = self.row(None, Some(1), &[]);
            self.rooms[room].push((row, 1));
        }
    }

    fn add_spread(&mut self, spread: &Spread, counts: &[u64]) {
        let pods: u64 = spread.groups.ones().map(|group| counts[group]).sum();
        let most = spread
            .domains
            .iter()
            .map(|domain| domain.there)
            .max()
            .unwrap_or(0)
            + pods;
        let least = (!spread.has_too_few_domains()).then(|| self.auxiliary(most, 0, false));
        let beyond = match spread.excess {
            Excess::Forbidden => None,
            Excess::Costs(each) => Some(self.auxiliary(most, each, false)),
        };
        let skew = whole(spread.skew);
        let mut domains = Vec::new();
        for domain in &spread.domains {
            let places = self.add_places(&domain.places);
            let there = whole(domain.there);
            let mut beside: Vec<(usize, i64)> = least.iter().map(|least| (*least, -1)).collect();
            if let Some(least) = least {
                let row = self.row(Some(-there), None, &[(least, -1)]);
                self.count(row, spread.groups.ones(), places, 1);
            }
            let upper = if let Some(beyond) = beyond {
                beside.push((beyond, -1));
                skew - there
            } else if there > skew {
                // Let off as long as it gets nothing.
                let gets = self.auxiliary(1, 0, true);
                let row = self.row(None, Some(0), &[(gets, -whole(pods))]);
                self.count(row, spread.groups.ones(), places, 1);
                self.choices.push(vec![gets]);
                beside.push((gets, there));
                skew
            } else {
                skew - there
            };
            let row = self.row(None, Some(upper), &beside);
            self.count(row, spread.groups.ones(), places, 1);
            domains.push((places, row, there));
        }
        if spread.excess == Excess::Forbidden {
            self.evenly.push(Evenly {
                groups: spread.groups.clone(),
                domains,
                skew,
                has_too_few_domains: spread.has_too_few_domains(),
            });
        }
    }

    fn add_together(&mut self, together: &Together, counts: &[u64]) {
        self.only
            .push((together.groups.clone(), together.domains.clone()));
        let chosen: Vec<usize> = (together.domains.iter())
            .map(|_| self.auxiliary(1, 0, true))
            .collect();
        let once: Vec<(usize, i64)> = chosen.iter().map(|chosen| (*chosen, 1)).collect();
        self.row(None, Some(1), &once);
        for (domain, chosen) in together.domains.iter().zip(&chosen) {
            let places = self.add_places(domain);
            for group in together.groups.ones() {
                let row = self.row(None, Some(0), &[(*chosen, -whole(counts[group]))]);
                self.count(row, std::iter::once(group), places, 1);
            }
        }
        self.choices.push(chosen);
    }

    fn add_apart(&mut self, apart: &Apart, counts: &[u64]) {
        for domain in &apart.domains {
            let places = self.add_places(domain);
            let is_of_one = self.auxiliary(1, 0, true);
            for group in apart.one.ones() {
                let row = self.row(None, Some(0), &[(is_of_one, -whole(counts[group]))]);
                self.count(row, std::iter::once(group), places, 1);
            }
            for group in apart.other.ones() {
                let pods = whole(counts[group]);
                let row = self.row(None, Some(pods), &[(is_of_one, pods)]);
                self.count(row, std::iter::once(group), places, 1);
            }
            self.choices.push(vec![is_of_one]);
        }
    }

    fn add_row(&mut self, added: &Row) {
        let row = self.row(added.lower, added.upper, &[]);
        let empty = added.lower.is_none_or(|lower| lower <= 0) && added.upper.is_none_or(|upper| upper >= 0);
        self.rows[row].needs_pods = !empty;
        for term in &added.pods {
            let places = self.add_places(&term.places);
            self.count(row, term.groups.ones(), places, term.coefficient);
        }
        for term in &added.nodes {
            for kind in term.kinds.ones() {
                self.kinds[kind].push((row, term.coefficient));
            }
        }
    }
}
