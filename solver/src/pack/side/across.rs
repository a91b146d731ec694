//! Pods by domain while a packing grows: what the rows across nodes still admit.
//!
//! Promises: whatever is placed as [`Across::allowance`] admits, or placed otherwise and found [kept](Across::is_kept), keeps
//! every spread, together, apart, near and row that keeps nobody out (those that an empty packing keeps). A row that asks for
//! pods, as that of a gang does, is nobody's aim here. Which node is a match for [`Beside`](crate::lower::side::Beside) the
//! caller knows; here is only whether there is any. Each question and each change costs as many steps as the group has rows.

use fixedbitset::FixedBitSet;

use crate::lower::Problem;
use crate::lower::side::{Excess, Place, Places};

use super::counts::{Even, Near, Sum, Two, room};
use super::parts::{Partitions, Parts};

/// What one group is in: indices of rows and its role.
#[derive(Clone, Debug, Default)]
struct Roles {
    /// Row, whether it counts, whether it is bound.
    spreads: Vec<(usize, bool, bool)>,
    together: Vec<usize>,
    /// Row, whether it is of the one set.
    apart: Vec<(usize, bool)>,
    /// Row, coefficient by part.
    sums: Vec<(usize, Vec<i64>)>,
    /// Row, whether it follows, whether it leads.
    near: Vec<(usize, bool, bool)>,
    /// Row, whether it follows, whether it leads.
    beside: Vec<(usize, bool, bool)>,
}

/// Counts of all rows across nodes.
#[derive(Clone, Debug, Default)]
pub struct Across {
    /// Places that rows tell apart.
    pub parts: Parts,
    /// By group.
    roles: Vec<Roles>,
    spreads: Vec<Even>,
    /// Partition, and pods by domain.
    together: Vec<(usize, Vec<i64>)>,
    apart: Vec<Two>,
    sums: Vec<Sum>,
    near: Vec<Near>,
    /// By row: leaders, followers.
    beside: Vec<[i64; 2]>,
}

fn members<'m>(
    one: &'m FixedBitSet,
    other: &'m FixedBitSet,
) -> impl Iterator<Item = (usize, bool, bool)> + 'm {
    one.union(other)
        .map(|group| (group, one.contains(group), other.contains(group)))
}

impl Across {
    /// With nothing placed.
    #[must_use]
    pub fn new(problem: &Problem<'_>) -> Self {
        let side = &problem.side;
        if !side.span_nodes() {
            return Self {
                parts: Parts::of(problem, &Partitions::default()),
                ..Self::default()
            };
        }
        let of_kinds: Vec<Places> = side.rows.iter().flat_map(Sum::kinds).collect();
        let mut partitions = Partitions::default();
        let mut across = Self {
            roles: vec![Roles::default(); problem.groups.len()],
            ..Self::default()
        };
        for spread in &side.spreads {
            let partition = partitions.index(spread.domains.iter().map(|domain| &domain.places));
            across.spreads.push(Even::new(spread, partition));
        }
        for together in &side.together {
            let partition = partitions.index(together.domains.iter());
            across.together.push((partition, vec![0; together.domains.len()]));
        }
        for apart in &side.apart {
            let partition = partitions.index(apart.domains.iter());
            across.apart.push(Two::new(partition, apart.domains.len()));
        }
        for near in &side.near {
            let partition = partitions.index(near.domains.iter().map(|domain| &domain.places));
            across.near.push(Near::new(near, partition));
        }
        across.beside = vec![[0; 2]; side.beside.len()];
        for row in &side.rows {
            for term in &row.pods {
                partitions.index(std::iter::once(&term.places));
            }
        }
        for places in &of_kinds {
            partitions.index(std::iter::once(places));
        }
        across.parts = Parts::of(problem, &partitions);
        across.add_sums(problem);
        across.add_roles(problem);
        across
    }

    /// Sums count by coefficients, which are looked up once for each part.
    fn add_sums(&mut self, problem: &Problem<'_>) {
        let of_part = |part: usize| {
            let mut kinds = (0..problem.kinds.len()).map(Place::Kind);
            let mut rooms = (0..problem.rooms.len()).map(Place::Room);
            let is_here = |place: &Place| self.parts.part(*place) == part;
            kinds.find(is_here).or_else(|| rooms.find(is_here))
        };
        let places: Vec<Option<Place>> = (0..self.parts.count()).map(of_part).collect();
        for (at, row) in problem.side.rows.iter().enumerate() {
            self.sums.push(Sum::new(row, &places));
            let mut groups = FixedBitSet::with_capacity(problem.groups.len());
            for term in &row.pods {
                groups.union_with(&term.groups);
            }
            for group in groups.ones() {
                let coefficients = places.iter().map(|place| {
                    let terms = row.pods.iter().filter(|term| {
                        term.groups.contains(group) && place.is_some_and(|place| term.places.contains(place))
                    });
                    terms.map(|term| term.coefficient).sum()
                });
                self.roles[group].sums.push((at, coefficients.collect()));
            }
        }
    }

    fn add_roles(&mut self, problem: &Problem<'_>) {
        let (side, roles) = (&problem.side, &mut self.roles);
        for (at, spread) in side.spreads.iter().enumerate() {
            for (group, counts, is_bound) in members(&spread.groups, &spread.bound) {
                roles[group].spreads.push((at, counts, is_bound));
            }
        }
        for (at, together) in side.together.iter().enumerate() {
            for group in together.groups.ones() {
                roles[group].together.push(at);
            }
        }
        for (at, apart) in side.apart.iter().enumerate() {
            for (group, is_one, _) in members(&apart.one, &apart.other) {
                roles[group].apart.push((at, is_one));
            }
        }
        for (at, near) in side.near.iter().enumerate() {
            for (group, follows, leads) in members(&near.groups, &near.of) {
                roles[group].near.push((at, follows, leads && !follows));
            }
        }
        for (at, beside) in side.beside.iter().enumerate() {
            for (group, follows, leads) in members(&beside.groups, &beside.of) {
                roles[group].beside.push((at, follows, leads && !follows));
            }
        }
    }

    /// Whether any row knows a group.
    #[must_use]
    pub fn concerns(&self, group: usize) -> bool {
        self.roles.get(group).is_some_and(|roles| {
            let Roles {
                spreads,
                together,
                apart,
                sums,
                near,
                beside,
            } = roles;
            let no_sums = spreads.is_empty() && sums.is_empty();
            let no_domains = together.is_empty() && apart.is_empty() && near.is_empty();
            !(no_sums && no_domains && beside.is_empty())
        })
    }

    /// How many pods of a group may be added to a part, all else as it is.
    #[must_use]
    pub fn allowance(&self, group: usize, part: usize) -> u64 {
        let domain = |partition: usize| self.parts.domain(partition, part);
        let roles = &self.roles[group];
        let mut most = self.allowed_by_sums(group, part);
        for (row, counts, is_bound) in &roles.spreads {
            let spread = &self.spreads[*row];
            if let Some(domain) = domain(spread.partition) {
                most = most.min(spread.allowance(domain, *counts, *is_bound));
            }
        }
        for row in &roles.together {
            let (partition, pods) = &self.together[*row];
            let is_other = |here: usize| (0..pods.len()).any(|other| other != here && pods[other] > 0);
            if domain(*partition).is_none_or(is_other) {
                return 0;
            }
        }
        for (row, is_one) in &roles.apart {
            let apart = &self.apart[*row];
            if domain(apart.partition).is_some_and(|here| apart.pods[usize::from(*is_one)][here] > 0) {
                return 0;
            }
        }
        for (row, follows, leads) in &roles.near {
            let near = &self.near[*row];
            if !near.admits(domain(near.partition), *follows, *leads) {
                return 0;
            }
        }
        most
    }

    /// The same by the sums alone.
    #[must_use]
    pub fn allowed_by_sums(&self, group: usize, part: usize) -> u64 {
        let Some(roles) = self.roles.get(group) else {
            return u64::MAX;
        };
        let of_row = |(row, coefficients): &(usize, Vec<i64>)| self.sums[*row].most(coefficients[part]);
        roles.sums.iter().map(of_row).min().unwrap_or(u64::MAX)
    }

    /// Books pods of a group in a part.
    pub fn place(&mut self, group: usize, part: usize, count: u64) {
        self.change(group, part, room(count));
    }

    /// Takes them back.
    pub fn unplace(&mut self, group: usize, part: usize, count: u64) {
        self.change(group, part, -room(count));
    }

    fn change(&mut self, group: usize, part: usize, change: i64) {
        let Some(roles) = self.roles.get(group) else {
            return;
        };
        let parts = &self.parts;
        for (row, counts, is_bound) in &roles.spreads {
            let spread = &mut self.spreads[*row];
            if let Some(domain) = parts.domain(spread.partition, part) {
                spread.change(domain, change, *counts, *is_bound);
            }
        }
        for row in &roles.together {
            let (partition, pods) = &mut self.together[*row];
            if let Some(domain) = parts.domain(*partition, part) {
                pods[domain] += change;
            }
        }
        for (row, is_one) in &roles.apart {
            let apart = &mut self.apart[*row];
            if let Some(domain) = parts.domain(apart.partition, part) {
                apart.pods[usize::from(!*is_one)][domain] += change;
            }
        }
        for (row, coefficients) in &roles.sums {
            self.sums[*row].add(coefficients[part], change);
        }
        for (row, follows, leads) in &roles.near {
            let near = &mut self.near[*row];
            if let Some(domain) = parts.domain(near.partition, part) {
                near.change(domain, change, *follows, *leads);
            }
        }
        for (row, follows, leads) in &roles.beside {
            self.beside[*row][0] += if *leads { change } else { 0 };
            self.beside[*row][1] += if *follows { change } else { 0 };
        }
    }

    /// Whether sums admit a further node of a part.
    #[must_use]
    pub fn may_launch(&self, part: usize) -> bool {
        self.sums.iter().all(|sum| sum.most(sum.nodes[part]) > 0)
    }

    /// Whether there are sums, so that what may be launched changes.
    #[must_use]
    pub fn has_sums(&self) -> bool {
        !self.sums.is_empty()
    }

    /// Whether sums count nodes of a part.
    #[must_use]
    pub fn counts_nodes(&self, part: usize) -> bool {
        self.sums.iter().any(|sum| sum.nodes[part] != 0)
    }

    /// Books nodes that are launched in a part, or fewer.
    pub fn launch(&mut self, part: usize, nodes: i64) {
        for sum in &mut self.sums {
            sum.add(sum.nodes[part], nodes);
        }
    }

    /// Whether all spreads and sums that know a group are kept.
    #[must_use]
    pub fn is_kept(&self, group: usize) -> bool {
        let roles = &self.roles[group];
        let even = |(row, ..): &(usize, bool, bool)| self.spreads[*row].uneven().is_none();
        let sums = |(row, _): &(usize, Vec<i64>)| self.sums[*row].beyond() == 0;
        roles.spreads.iter().all(even) && roles.sums.iter().all(sums)
    }

    /// Where a group has too many pods, as long as rows that know it are broken: a part, and how many to take away there of
    /// the `placed` ones.
    #[must_use]
    pub fn surplus(&self, group: usize, placed: &[u64]) -> Option<(usize, u64)> {
        let roles = &self.roles[group];
        let here = |part: &usize| placed[*part] > 0;
        for (row, counts, _) in &roles.spreads {
            let spread = &self.spreads[*row];
            let is_there = |domain: usize| {
                let mut parts = (0..placed.len()).rev().filter(here);
                parts.find(|part| self.parts.domain(spread.partition, *part) == Some(domain))
            };
            if let Some((domain, beyond)) = spread.uneven()
                && let Some(part) = is_there(domain)
            {
                let take = if *counts { beyond } else { u64::MAX };
                return Some((part, take.min(placed[part])));
            }
        }
        for (row, coefficients) in &roles.sums {
            let beyond = self.sums[*row].beyond();
            let helps = |part: &usize| i128::from(coefficients[*part]).signum() == beyond.signum();
            if beyond != 0
                && let Some(part) = (0..placed.len()).rev().filter(here).find(helps)
            {
                let each = u128::from(coefficients[part].unsigned_abs());
                let take = u64::try_from(beyond.unsigned_abs().div_ceil(each)).unwrap_or(u64::MAX);
                return Some((part, take.min(placed[part])));
            }
        }
        None
    }

    /// Spreads that say where pods of a group go next: its own, and those that pods which they bind have made tight.
    pub(super) fn steering(&self, group: usize) -> impl Iterator<Item = &Even> {
        let rows = self.roles[group].spreads.iter();
        rows.filter_map(|(row, _, is_bound)| {
            let spread = &self.spreads[*row];
            (*is_bound || spread.excess == Excess::Forbidden && spread.has_bound()).then_some(spread)
        })
    }

    /// Whether a spread that pods of a group have says where they go.
    #[must_use]
    pub fn is_spread(&self, group: usize) -> bool {
        self.roles[group].spreads.iter().any(|(_, _, is_bound)| *is_bound)
    }

    /// Partitions of which a group has to choose one domain now, since nothing has chosen it yet.
    #[must_use]
    pub fn choices(&self, group: usize) -> Vec<usize> {
        let roles = &self.roles[group];
        let together = roles.together.iter().map(|row| &self.together[*row]);
        let unchosen = together.filter(|(_, pods)| pods.iter().all(|pods| *pods == 0));
        let near = roles.near.iter().filter(|(_, follows, _)| *follows);
        let starting = near
            .map(|(row, ..)| &self.near[*row])
            .filter(|near| near.is_starting());
        let mut partitions: Vec<usize> = unchosen
            .map(|(partition, _)| *partition)
            .chain(starting.map(|near| near.partition))
            .collect();
        partitions.sort_unstable();
        partitions.dedup();
        partitions
    }

    /// Rows that put a group on certain nodes: row, whether it follows, whether it leads.
    #[must_use]
    pub fn beside(&self, group: usize) -> &[(usize, bool, bool)] {
        self.roles.get(group).map_or(&[], |roles| &roles.beside)
    }

    /// Planned pods that lead and that follow in such a row.
    #[must_use]
    pub fn leaders_and_followers(&self, row: usize) -> [i64; 2] {
        self.beside[row]
    }
}
