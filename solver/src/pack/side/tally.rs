//! What a packing leaves of the wishes while single pods move: each change costs as many steps as its group has wishes.
//!
//! Beside the money a second figure is kept, the sum of squares of the numbers that should be even: it falls with each pod
//! that goes from a fuller domain to a less full one, where the money only tells when the fullest changes.

use std::collections::BTreeMap;

use crate::lower::Problem;
use crate::lower::side::Place;
use crate::lower::wishes::{Company, Evenly, Present, Spot, Wishes};
use crate::pack::{Filling, Packing, stranding};

use super::verdict::{nodes, of};

/// Looks that counting anew what is stranded on a node is worth.
const STRANDING_LOOKS: usize = 4;

/// What is unmet, and how uneven numbers are.
pub type Unmet = (i128, i128);

/// What one group is in.
#[derive(Clone, Debug, Default)]
struct Roles {
    taste: Option<usize>,
    /// Rows of which it counts.
    evenly: Vec<usize>,
    company: Vec<usize>,
}

/// Numbers of one spread.
#[derive(Clone, Debug, Default)]
struct Levels {
    /// Domains by number of pods.
    domains: BTreeMap<u64, u64>,
    /// By domain, where nodes share them: pods, launched nodes.
    shared: Vec<(u64, u64)>,
}

/// All of it.
#[derive(Clone, Debug)]
pub struct Tally<'a> {
    problem: &'a Problem<'a>,
    wishes: &'a Wishes,
    /// By group.
    roles: Vec<Roles>,
    /// By spread; `None` where no pod that wishes it is placed.
    levels: Vec<Option<Levels>>,
    /// By company and domain.
    present: Vec<Vec<Present>>,
    /// By imbalance and zone: CPU.
    zones: Vec<Vec<u64>>,
    /// Whether anything that is stranded is weighed.
    strands: bool,
    unmet: Unmet,
}

fn square(number: u64) -> i128 {
    i128::from(number) * i128::from(number)
}

impl Levels {
    fn enter(&mut self, level: u64) {
        *self.domains.entry(level).or_default() += 1;
    }

    fn leave(&mut self, level: u64) {
        if let Some(number) = self.domains.get_mut(&level) {
            *number -= 1;
            if *number == 0 {
                self.domains.remove(&level);
            }
        }
    }

    fn money(&self, evenly: &Evenly) -> i128 {
        let ends = self.domains.last_key_value().zip(self.domains.first_key_value());
        let steps = ends.map_or(0, |((most, _), (least, _))| evenly.steps(*most, *least));
        i128::from(evenly.each) * i128::from(steps)
    }
}

impl<'a> Tally<'a> {
    /// With nodes that nothing was put on yet, for pods that a packing places.
    #[must_use]
    pub fn new(problem: &'a Problem<'a>, packing: &Packing) -> Self {
        let wishes = &problem.wishes;
        let mut tally = Self {
            problem,
            wishes,
            roles: vec![Roles::default(); problem.groups.len()],
            levels: Vec::with_capacity(wishes.evenly.len()),
            present: Vec::with_capacity(wishes.company.len()),
            zones: wishes.imbalances.iter().map(|row| row.there.clone()).collect(),
            strands: problem.weighs_stranding(),
            unmet: (0, 0),
        };
        for (at, taste) in wishes.tastes.iter().enumerate() {
            for group in taste.groups.ones() {
                tally.roles[group].taste = Some(at);
            }
        }
        for (at, evenly) in wishes.evenly.iter().enumerate() {
            let is_wished = nodes(packing).any(|(_, filling, _)| of(filling, &evenly.wishers) > 0);
            tally.levels.push(is_wished.then(|| Self::levels(evenly)));
            if is_wished {
                for group in evenly.counted.ones() {
                    tally.roles[group].evenly.push(at);
                }
            }
        }
        for (at, company) in wishes.company.iter().enumerate() {
            for group in company.wishers.union(&company.matching) {
                tally.roles[group].company.push(at);
            }
            let of_domain = |matching: &u64| Present {
                matching: *matching,
                ..Present::default()
            };
            tally.present.push(company.there.iter().map(of_domain).collect());
        }
        let levels = wishes.evenly.iter().zip(&tally.levels);
        let of_levels = |(evenly, levels): (&Evenly, &Option<Levels>)| {
            let levels = levels.as_ref()?;
            let squares: i128 = levels
                .domains
                .iter()
                .map(|(level, number)| square(*level) * i128::from(*number))
                .sum();
            Some((levels.money(evenly), squares))
        };
        for (money, squares) in levels.filter_map(of_levels) {
            tally.unmet.0 += money;
            tally.unmet.1 += squares;
        }
        for (imbalance, zones) in wishes.imbalances.iter().zip(&tally.zones) {
            tally.unmet.0 += i128::from(imbalance.cost(zones));
            tally.unmet.1 += zones.iter().map(|cpu| square(*cpu)).sum::<i128>();
        }
        tally
    }

    fn levels(evenly: &Evenly) -> Levels {
        let mut levels = Levels::default();
        for level in &evenly.elsewhere {
            levels.enter(*level);
        }
        if evenly.domains.by_node {
            let rooms = evenly.there.iter().enumerate();
            for (_, level) in rooms.filter(|(room, _)| evenly.domains.rooms[*room].is_some()) {
                levels.enter(*level);
            }
        } else {
            levels.shared = evenly.there.iter().map(|pods| (*pods, 0)).collect();
            for (pods, _) in evenly
                .there
                .iter()
                .zip(&evenly.always)
                .filter(|(_, always)| **always)
            {
                levels.enter(*pods);
            }
        }
        levels
    }

    /// Money that is unmet, and how uneven numbers are.
    #[must_use]
    pub fn unmet(&self) -> Unmet {
        self.unmet
    }

    /// Whether any wish knows a group.
    #[must_use]
    pub fn concerns(&self, group: usize) -> bool {
        let Roles {
            taste,
            evenly,
            company,
        } = &self.roles[group];
        taste.is_some() || !evenly.is_empty() || !company.is_empty()
    }

    /// How many wishes know a group: what a change costs. What is stranded takes a look at all that is on the node.
    #[must_use]
    pub fn looks(&self, group: usize) -> u64 {
        let Roles {
            taste,
            evenly,
            company,
        } = &self.roles[group];
        let stranding = if self.strands { STRANDING_LOOKS } else { 0 };
        let wishes = usize::from(taste.is_some()) + evenly.len() + company.len();
        u64::try_from(1 + wishes + stranding).unwrap_or(u64::MAX)
    }

    /// A node of this place is launched (or, with `false`, isn't), nothing on it.
    pub fn launch(&mut self, place: Place, is_there: bool) {
        for (evenly, levels) in self.wishes.evenly.iter().zip(&mut self.levels) {
            let Some(levels) = levels else { continue };
            let before = levels.money(evenly);
            match evenly.domains.of(place) {
                Spot::Nowhere => continue,
                Spot::OnNode if is_there => levels.enter(0),
                Spot::OnNode => levels.leave(0),
                Spot::In(domain) => {
                    let (pods, launched) = levels.shared[domain];
                    let now = if is_there {
                        launched + 1
                    } else {
                        launched.saturating_sub(1)
                    };
                    levels.shared[domain].1 = now;
                    if !evenly.always[domain] && (launched == 0 || now == 0) {
                        self.unmet.1 += if is_there { square(pods) } else { -square(pods) };
                        if is_there {
                            levels.enter(pods);
                        } else {
                            levels.leave(pods);
                        }
                    }
                }
            }
            self.unmet.0 += levels.money(evenly) - before;
        }
        if let Place::Kind(kind) = place {
            let empty = i128::from(stranding::on_node(self.problem, place, &[]));
            self.unmet.0 += if is_there { empty } else { -empty };
            self.change_zones(kind, is_there);
        }
    }

    fn change_zones(&mut self, kind: usize, comes: bool) {
        let cpu = self.problem.kinds[kind].in_zone.cpu;
        for (imbalance, zones) in self.wishes.imbalances.iter().zip(&mut self.zones) {
            let Some(zone) = imbalance.kinds[kind] else {
                continue;
            };
            let (before, pods) = (imbalance.cost(zones), zones[zone]);
            let now = if comes {
                pods.saturating_add(cpu)
            } else {
                pods.saturating_sub(cpu)
            };
            zones[zone] = now;
            self.unmet.0 += i128::from(imbalance.cost(zones)) - i128::from(before);
            self.unmet.1 += square(now) - square(pods);
        }
    }

    /// CPU of the pool in the zone that a kind is in.
    #[must_use]
    pub fn in_zone_of(&self, kind: usize) -> u64 {
        let rows = self.wishes.imbalances.iter().zip(&self.zones);
        let own = rows.filter_map(|(imbalance, zones)| Some(zones[imbalance.kinds[kind]?]));
        own.fold(0, u64::saturating_add)
    }

    /// Money for what pods strand on a node.
    #[must_use]
    pub fn stranded(&self, place: Place, filling: &Filling) -> u64 {
        stranding::on_node(self.problem, place, filling)
    }

    /// The most that zones may differ less by where a node is, in money.
    #[must_use]
    pub fn uneven(&self) -> u64 {
        let rows = self.wishes.imbalances.iter().zip(&self.zones);
        rows.map(|(imbalance, zones)| imbalance.cost(zones))
            .fold(0, u64::saturating_add)
    }

    /// Pods of a group come to a node that has `filling`, or go from it; the filling is as it was before.
    pub fn change(&mut self, group: usize, place: Place, filling: &Filling, count: u64, comes: bool) {
        let wishes = self.wishes;
        let changed = |number: u64| {
            if comes {
                number + count
            } else {
                number.saturating_sub(count)
            }
        };
        let before = stranding::on_node(self.problem, place, filling);
        let roles = std::mem::take(&mut self.roles[group]);
        if let Some(taste) = roles.taste {
            let cost = i128::from(wishes.tastes[taste].cost(place)) * i128::from(count);
            self.unmet.0 += if comes { cost } else { -cost };
        }
        for row in &roles.evenly {
            let evenly = &wishes.evenly[*row];
            let Some(levels) = &mut self.levels[*row] else {
                continue;
            };
            let before = match evenly.domains.of(place) {
                Spot::Nowhere => continue,
                Spot::OnNode => evenly.there_on(place) + of(filling, &evenly.counted),
                Spot::In(domain) => {
                    let pods = levels.shared[domain].0;
                    levels.shared[domain].0 = changed(pods);
                    pods
                }
            };
            let now = changed(before);
            let money = levels.money(evenly);
            levels.leave(before);
            levels.enter(now);
            self.unmet.0 += levels.money(evenly) - money;
            self.unmet.1 += square(now) - square(before);
        }
        for row in &roles.company {
            let company = &wishes.company[*row];
            let before = self.here(*row, place, filling);
            let after = with(company, group, before, &changed);
            let of_domain = |present: Present| match company.domains.of(place) {
                Spot::Nowhere => company.unmet_outside(present.own + present.others),
                _ => company.unmet(present),
            };
            self.unmet.0 +=
                i128::from(company.each) * (i128::from(of_domain(after)) - i128::from(of_domain(before)));
            if let Spot::In(domain) = company.domains.of(place) {
                self.present[*row][domain] = after;
            }
        }
        self.roles[group] = roles;
        self.unmet.0 += i128::from(self.stranded_after(group, place, filling, &changed)) - i128::from(before);
    }

    /// Money for what is stranded once a group has another number of pods on a node.
    fn stranded_after(
        &self,
        group: usize,
        place: Place,
        filling: &Filling,
        changed: &dyn Fn(u64) -> u64,
    ) -> u64 {
        if !matches!(place, Place::Kind(kind) if self.problem.kinds[kind].stranding.each > 0) {
            return 0;
        }
        let there = filling.iter().find(|(other, _)| *other == group);
        let others = filling.iter().filter(|(other, _)| *other != group);
        let mut after: Filling = others.copied().collect();
        after.push((group, changed(there.map_or(0, |(_, count)| *count))));
        stranding::on_node(self.problem, place, &after)
    }

    /// Pods of a company in the domain of a node.
    fn here(&self, row: usize, place: Place, filling: &Filling) -> Present {
        let company = &self.wishes.company[row];
        if let Spot::In(domain) = company.domains.of(place) {
            return self.present[row][domain];
        }
        let mut present = Present::default();
        if company.domains.by_node {
            present.matching = company.there_on(place);
        }
        for (group, count) in filling {
            present = with(company, *group, present, &|number| number + count);
        }
        present
    }

    /// Whether a pod of a group on a node has a wish of its own that more or other nodes may meet, or strands something.
    #[must_use]
    pub fn is_discontent(&self, group: usize, place: Place, filling: &Filling) -> bool {
        let roles = &self.roles[group];
        let tastes = roles
            .taste
            .is_some_and(|taste| self.wishes.tastes[taste].cost(place) > 0);
        tastes
            || self.stranded(place, filling) > 0
            || roles.company.iter().any(|row| {
                let company = &self.wishes.company[*row];
                let present = self.here(*row, place, filling);
                let is_outside = company.domains.of(place) == Spot::Nowhere;
                company.wishers.contains(group)
                    && (company.unmet(present) > 0 || is_outside && company.unmet_outside(1) > 0)
            })
    }
}

/// The same with pods of a group more or fewer.
fn with(company: &Company, group: usize, mut present: Present, changed: &dyn Fn(u64) -> u64) -> Present {
    let (wishes, matches) = (company.wishers.contains(group), company.matching.contains(group));
    if wishes {
        let number = if matches {
            &mut present.own
        } else {
            &mut present.others
        };
        *number = changed(*number);
    }
    if matches {
        present.matching = changed(present.matching);
    }
    present
}
