//! Synthetic problems: kinds by zone with their costs, supplies and limits, groups with requests, and side rows.
//!
//! Apart from the rest of the kit this knows the problem as data, because side rows are said in its indices. It fills
//! them in by hand or at random; it never asks the planner what they mean.

use std::collections::BTreeMap;

use fixedbitset::FixedBitSet;

use crate::lower::side::{
    Apart, Beside, Cap, Conflict, Domain, Excess, Near, NodeTerm, Penalty, Places, PodTerm, Row, SideRows,
    Spread, Together,
};
use crate::lower::{Problem, lower_apart};
use crate::model::instance_type::ZONE_LABEL;
use crate::model::money::Price;
use crate::model::offering::{CapacityType, Offering, Reservation};
use crate::model::snapshot::Snapshot;
use crate::pack::random::Random;

use super::build::{CLASS, Cluster, machine, tolerates};

/// The zones of synthetic problems.
pub const ZONES: [&str; 3] = ["zone-a", "zone-b", "zone-c"];

/// A cluster of one NodePool whose kinds each lie in one zone.
#[derive(Clone, Debug)]
pub struct Synthetic {
    cluster: Cluster,
}

impl Default for Synthetic {
    fn default() -> Self {
        Self::new()
    }
}

impl Synthetic {
    /// Without kinds and pods.
    #[must_use]
    pub fn new() -> Self {
        Self {
            cluster: Cluster::new().pool("default"),
        }
    }

    /// Adds an instance type of so many cores and as many GiB four times, without offers yet.
    #[must_use]
    pub fn machine(mut self, name: &str, cores: u64) -> Self {
        let mut machine = machine(name, &cores.to_string(), &format!("{}Gi", 4 * cores), "0");
        machine.offerings.clear();
        self.cluster = self.cluster.instance_type(machine);
        self
    }

    /// Offers a machine in a zone for so many micro-dollars, so many times if a number is given. Nothing is a
    /// reservation's price.
    #[must_use]
    pub fn offer(mut self, machine: &str, zone: &str, price: u64, number: Option<u32>) -> Self {
        let class = self.cluster.parts.node_classes.get_mut(CLASS).unwrap();
        let mut types = class.instance_types.iter_mut();
        let machine = types.find(|other| other.name.as_str() == machine).unwrap();
        machine.offerings.push(Offering {
            zone: zone.into(),
            zone_id: None,
            capacity_type: if price == 0 {
                CapacityType::Reserved
            } else {
                CapacityType::OnDemand
            },
            price: Price::from_micros(price),
            available: true,
            limit: number,
            reservation: (price == 0).then(|| Reservation::plain("reservation")),
            commitment: None,
        });
        self
    }

    /// Offers a machine in every zone at one price.
    #[must_use]
    pub fn offer_everywhere(self, machine: &str, price: u64) -> Self {
        ZONES.iter().fold(self, |synthetic, zone| {
            synthetic.offer(machine, zone, price, None)
        })
    }

    /// Adds pods of one group that ask for so many milli-CPU. Groups of two names are never one.
    #[must_use]
    pub fn pods(mut self, name: &str, count: usize, millis: u64) -> Self {
        let request = format!("{millis}m");
        self.cluster = self.cluster.pods_with(name, count, &request, "64Mi", |spec| {
            spec.tolerations.push(tolerates(name));
        });
        self
    }

    /// Adds an existing node.
    #[must_use]
    pub fn node(mut self, name: &str, machine: &str, zone: &str) -> Self {
        self.cluster = self.cluster.node(name, "default", machine, zone);
        self
    }

    /// Limits the number of nodes.
    #[must_use]
    pub fn at_most(mut self, nodes: u64) -> Self {
        self.cluster.parts.node_pools[0].limits.nodes = Some(nodes);
        self
    }

    /// The snapshot that [`problem`] lowers.
    #[must_use]
    pub fn freeze(self) -> Snapshot {
        self.cluster.freeze()
    }
}

/// Lowers with kinds of two zones kept apart, without side rows.
#[must_use]
pub fn problem(snapshot: &Snapshot) -> Problem<'_> {
    lower_apart(snapshot, &[ZONE_LABEL])
}

/// The group of the pods of a name.
#[must_use]
pub fn group(problem: &Problem<'_>, name: &str) -> usize {
    let first = |group: &crate::lower::group::Group| problem.snapshot.pods[group.pods[0]].name.clone();
    let wanted = format!("default/{name}-");
    let mut groups = problem.groups.iter();
    groups
        .position(|group| first(group).to_string().starts_with(&wanted))
        .unwrap()
}

/// The groups of several names.
#[must_use]
pub fn groups(problem: &Problem<'_>, names: &[&str]) -> FixedBitSet {
    let mut groups = FixedBitSet::with_capacity(problem.groups.len());
    for name in names {
        groups.insert(group(problem, name));
    }
    groups
}

/// Everything in a zone.
#[must_use]
pub fn zone(problem: &Problem<'_>, zone: &str) -> Places {
    let mut places = Places {
        kinds: FixedBitSet::with_capacity(problem.kinds.len()),
        rooms: FixedBitSet::with_capacity(problem.rooms.len()),
    };
    for (index, kind) in problem.kinds.iter().enumerate() {
        let offering = problem.universe.offering(kind.bins[0]);
        places.kinds.set(index, offering.zone.as_str() == zone);
    }
    for (index, room) in problem.rooms.iter().enumerate() {
        let labels = &problem.snapshot.nodes[room.node].labels;
        places
            .rooms
            .set(index, labels.get(ZONE_LABEL).is_some_and(|label| label == zone));
    }
    places
}

/// Everything in each zone.
#[must_use]
pub fn zones(problem: &Problem<'_>) -> Vec<Places> {
    ZONES.iter().map(|name| zone(problem, name)).collect()
}

/// A hard spread over all zones with nothing there yet.
#[must_use]
pub fn zone_spread(problem: &Problem<'_>, names: &[&str], skew: u64) -> Spread {
    let domain = |places: Places| Domain { places, there: 0 };
    Spread {
        groups: groups(problem, names),
        bound: groups(problem, names),
        domains: zones(problem).into_iter().map(domain).collect(),
        skew,
        fewest_domains: 0,
        eligible_bins: None,
        excess: Excess::Forbidden,
    }
}

/// A hard cap on nodes to launch.
#[must_use]
pub fn cap(problem: &Problem<'_>, names: &[&str], most: u64) -> Cap {
    Cap {
        groups: groups(problem, names),
        most,
        there: BTreeMap::new(),
        excess: Excess::Forbidden,
    }
}

/// What random problems may contain.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ingredients {
    /// Caps within a node.
    pub caps: bool,
    /// Conflicts within a node.
    pub conflicts: bool,
    /// Penalties for pods.
    pub penalties: bool,
    /// Spreads over zones.
    pub spreads: bool,
    /// Spreads may bind others than those that count.
    pub bound: bool,
    /// Groups that follow others or themselves into a zone.
    pub near: bool,
    /// Groups that follow others or themselves onto a node.
    pub beside: bool,
    /// Groups of one zone.
    pub together: bool,
    /// Groups that no zone has both of.
    pub apart: bool,
    /// Other rows.
    pub rows: bool,
    /// Limits and excesses that cost instead of being forbidden.
    pub soft: bool,
    /// Offers of limited number and price tiers.
    pub supplies: bool,
    /// A limit on nodes.
    pub limits: bool,
    /// Existing nodes, and pods there.
    pub rooms: bool,
}

impl Ingredients {
    /// All of them.
    pub const ALL: Self = Self {
        caps: true,
        conflicts: true,
        penalties: true,
        spreads: true,
        bound: true,
        near: true,
        beside: true,
        together: true,
        apart: true,
        rows: true,
        soft: true,
        supplies: true,
        limits: true,
        rooms: true,
    };

    /// About half of these, at random.
    #[must_use]
    pub fn some(self, random: &mut Random) -> Self {
        let mut keep = |has: bool| has && random.below(2) == 0;
        Self {
            caps: keep(self.caps),
            conflicts: keep(self.conflicts),
            penalties: keep(self.penalties),
            spreads: keep(self.spreads),
            together: keep(self.together),
            apart: keep(self.apart),
            rows: keep(self.rows),
            soft: keep(self.soft),
            supplies: keep(self.supplies),
            limits: keep(self.limits),
            rooms: keep(self.rooms),
            bound: keep(self.bound),
            near: keep(self.near),
            beside: keep(self.beside),
        }
    }
}

fn number(random: &mut Random, least: u64, most: u64) -> u64 {
    let width = usize::try_from(most - least + 1).unwrap();
    least + u64::try_from(random.below(width)).unwrap()
}

/// A tiny cluster: up to three machines in up to three zones, up to six pods of up to three groups.
#[must_use]
pub fn cluster(random: &mut Random, with: Ingredients) -> Snapshot {
    let mut synthetic = Synthetic::new();
    let machines = ["small", "middle", "large"];
    let mut offered = Vec::new();
    for name in &machines[..1 + random.below(3)] {
        let cores = number(random, 1, 4);
        synthetic = synthetic.machine(name, cores);
        for zone in ZONES {
            if offered.len() < 4 && random.below(3) > 0 {
                let price = 1_000 * number(random, 20 * cores, 30 * cores);
                synthetic = synthetic.offer(name, zone, price, None);
                offered.push((*name, zone));
                if with.supplies && random.below(3) == 0 {
                    let cheaper = [0, price / 2][random.below(2)];
                    let limit = u32::try_from(number(random, 1, 2)).unwrap();
                    synthetic = synthetic.offer(name, zone, cheaper, Some(limit));
                }
            }
        }
    }
    let mut left = number(random, 2, 6);
    for name in ["web", "db", "job"] {
        let count = number(random, 1, 4).min(left);
        left -= count;
        if count > 0 {
            synthetic = synthetic.pods(name, usize::try_from(count).unwrap(), number(random, 1, 8) * 250);
        }
    }
    if with.limits && random.below(2) == 0 {
        synthetic = synthetic.at_most(number(random, 1, 4));
    }
    if with.rooms && !offered.is_empty() {
        for name in &["one", "two"][..1 + random.below(2)] {
            let (machine, zone) = offered[random.below(offered.len())];
            synthetic = synthetic.node(name, machine, zone);
        }
    }
    synthetic.freeze()
}

/// Side rows at random for a problem of a tiny cluster.
#[must_use]
pub fn side(random: &mut Random, problem: &Problem<'_>, with: Ingredients) -> SideRows {
    Draw {
        random,
        problem,
        with,
    }
    .all()
}

struct Draw<'a> {
    random: &'a mut Random,
    problem: &'a Problem<'a>,
    with: Ingredients,
}

impl Draw<'_> {
    fn all(&mut self) -> SideRows {
        let mut side = SideRows::default();
        let with = self.with;
        for _ in 0..=self.random.below(2) {
            if with.caps {
                side.caps.push(self.cap());
            }
            if with.conflicts {
                side.conflicts.push(self.conflict());
            }
            if with.penalties {
                side.penalties.push(Penalty {
                    groups: self.some_groups(),
                    places: self.some_places(),
                    each: 1_000 * number(self.random, 1, 30),
                });
            }
            if with.spreads {
                side.spreads.push(self.spread());
            }
            if with.rows {
                side.rows.push(self.row());
            }
        }
        if with.together {
            side.together.push(self.together());
        }
        if with.apart {
            let (one, other) = self.two_sets();
            side.apart.push(Apart {
                one,
                other,
                domains: zones(self.problem),
            });
        }
        if with.near {
            side.near.push(self.near());
        }
        if with.beside {
            side.beside.push(self.beside());
        }
        side
    }

    fn subset(&mut self, count: usize) -> FixedBitSet {
        let mut set = FixedBitSet::with_capacity(count);
        for at in 0..count {
            set.set(at, self.random.below(2) == 0);
        }
        if count > 0 {
            set.insert(self.random.below(count));
        }
        set
    }

    fn some_groups(&mut self) -> FixedBitSet {
        self.subset(self.problem.groups.len())
    }

    fn some_places(&mut self) -> Places {
        Places {
            kinds: self.subset(self.problem.kinds.len()),
            rooms: self.subset(self.problem.rooms.len()),
        }
    }

    fn two_sets(&mut self) -> (FixedBitSet, FixedBitSet) {
        let one = self.some_groups();
        let mut other = self.some_groups();
        other.difference_with(&one);
        (one, other)
    }

    fn excess(&mut self) -> Excess {
        if self.with.soft && self.random.below(2) == 0 {
            Excess::Costs(1_000 * number(self.random, 1, 40))
        } else {
            Excess::Forbidden
        }
    }

    fn cap(&mut self) -> Cap {
        let mut there = BTreeMap::new();
        for room in 0..self.problem.rooms.len() {
            there.insert(room, number(self.random, 0, 2));
        }
        Cap {
            groups: self.some_groups(),
            most: number(self.random, 1, 2),
            there,
            excess: self.excess(),
        }
    }

    fn conflict(&mut self) -> Conflict {
        let (one, other) = self.two_sets();
        let mut there = || {
            let mut rooms = self.subset(self.problem.rooms.len());
            if self.random.below(2) == 0 {
                rooms.clear();
            }
            rooms
        };
        Conflict {
            one,
            other,
            rooms_with_one: there(),
            rooms_with_other: there(),
        }
    }

    fn spread(&mut self) -> Spread {
        let some = 1 + self.random.below(ZONES.len());
        let domains = zones(self.problem).into_iter().take(some).map(|places| Domain {
            places,
            there: if self.with.rooms {
                number(self.random, 0, 3)
            } else {
                0
            },
        });
        let domains = domains.collect();
        let groups = self.some_groups();
        Spread {
            bound: if self.with.bound {
                self.some_groups()
            } else {
                groups.clone()
            },
            groups,
            domains,
            skew: number(self.random, 1, 2),
            fewest_domains: self.random.below(4),
            eligible_bins: None,
            excess: self.excess(),
        }
    }

    fn together(&mut self) -> Together {
        let some = 1 + self.random.below(ZONES.len());
        Together {
            groups: self.some_groups(),
            domains: zones(self.problem).into_iter().take(some).collect(),
        }
    }

    /// Followers and leaders; whether the followers match themselves, and whether anybody is there to follow.
    fn followers(&mut self) -> (FixedBitSet, FixedBitSet, bool, bool) {
        let groups = self.some_groups();
        let mut of = self.some_groups();
        let match_themselves = self.random.below(2) == 0;
        if match_themselves {
            of.union_with(&groups);
        } else {
            of.difference_with(&groups);
        }
        let are_there = self.with.rooms && self.random.below(2) == 0;
        (groups, of, match_themselves, are_there)
    }

    fn near(&mut self) -> Near {
        let (groups, of, match_themselves, are_there) = self.followers();
        let domains = zones(self.problem).into_iter().map(|places| Domain {
            places,
            there: if are_there { number(self.random, 0, 1) } else { 0 },
        });
        let domains: Vec<Domain> = domains.collect();
        Near {
            groups,
            of,
            may_start: match_themselves && domains.iter().all(|domain| domain.there == 0),
            domains,
        }
    }

    fn beside(&mut self) -> Beside {
        let (groups, of, match_themselves, are_there) = self.followers();
        let rooms_with = if are_there {
            self.subset(self.problem.rooms.len())
        } else {
            FixedBitSet::with_capacity(self.problem.rooms.len())
        };
        Beside {
            groups,
            of,
            may_start: match_themselves && rooms_with.is_clear(),
            rooms_with,
        }
    }

    fn row(&mut self) -> Row {
        let mut row = Row::default();
        let mut coefficient = || i64::try_from(number(self.random, 0, 4)).unwrap() - 1;
        let (of_one, of_other, of_nodes) = (coefficient(), coefficient(), coefficient());
        for coefficient in [of_one, of_other] {
            row.pods.push(PodTerm {
                groups: self.some_groups(),
                places: self.some_places(),
                coefficient,
            });
        }
        row.nodes.push(NodeTerm {
            kinds: self.some_places().kinds,
            coefficient: of_nodes,
        });
        let bound = i64::try_from(number(self.random, 0, 4)).unwrap();
        if self.random.below(3) == 0 {
            row.lower = Some(bound / 2);
        } else {
            row.upper = Some(bound);
        }
        row
    }
}
