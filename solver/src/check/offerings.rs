//! Every first choice and alternative is an available offer of the NodePool's class at its very price, and offers that
//! are limited in number suffice whichever of its offers each launch gets.
//!
//! Offers of one capacity reservation share its number, as those of one commitment do: the least that any states. What is
//! left of it is that less the existing nodes that hold one, which a node says of itself; an offer without either name is
//! held by nodes of its type, zone and capacity type that cost what it costs and name nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::model::instance_type::{CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, ZONE_LABEL};
use crate::model::money::Price;
use crate::model::name::{InstanceTypeName, ZoneName};
use crate::model::node::Node;
use crate::model::offering::{CapacityType, Offering, ReservationType, Supply};

use super::launches::{Launches, Offer};
use super::meetings::Meetings;
use super::world::World;
use super::{Rule, Violations, matching};

pub(super) fn check(
    world: &World<'_>,
    launches: &Launches<'_>,
    meetings: &Meetings<'_, '_>,
    found: &mut Violations,
) {
    for (launch, offer) in &meetings.offers {
        if let Some(detail) = fault(launches, offer) {
            found.add(
                Rule::Offerings,
                format!("launch/{launch} as {}", offer.named),
                detail,
            );
        }
    }
    for list in &launches.lists {
        let pairs = list.offers.windows(2);
        for pair in pairs.filter(|pair| pair[0].named.price > pair[1].named.price) {
            let subject = format!("launch/{} as {}", list.launch, pair[0].named);
            let detail = format!("stands before {}, which is cheaper", pair[1].named);
            found.add(Rule::Offerings, subject, detail);
        }
    }
    one_kind(launches, found);
    numbers(world, launches, found);
}

fn fault(launches: &Launches<'_>, offer: &Offer<'_>) -> Option<String> {
    let Some(prospect) = offer.prospect else {
        return Some("the node class has no such available offer at this price".to_owned());
    };
    let offering = launches.prospects[prospect].offering;
    let free = offering.price == Price::default() && offering.capacity_type != CapacityType::Reserved;
    free.then(|| "a price of zero is no offer".to_owned())
}

/// What shares one number: the offers of a capacity reservation, those of a commitment, or one offer by itself, with the
/// number that it states.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Number<'a> {
    Reservation(&'a str),
    Commitment(&'a str),
    Offer(&'a InstanceTypeName, &'a ZoneName, CapacityType, Price, u32),
}

impl<'a> Number<'a> {
    /// `None`: there are any number.
    fn of(name: &'a InstanceTypeName, offering: &'a Offering) -> Option<Self> {
        let limit = offering.limit?;
        let Offering {
            zone,
            capacity_type,
            price,
            ..
        } = offering;
        Some(match (&offering.reservation, &offering.commitment) {
            (Some(reservation), _) => Self::Reservation(&reservation.id),
            (None, Some(commitment)) => Self::Commitment(commitment),
            (None, None) => Self::Offer(name, zone, *capacity_type, *price, limit),
        })
    }

    /// The least that any of its offers states, less the nodes that hold one.
    fn left(self, world: &World<'_>) -> u64 {
        let stated = match self {
            Self::Offer(.., limit) => limit,
            Self::Reservation(_) | Self::Commitment(_) => {
                let types = world
                    .snapshot
                    .node_classes
                    .values()
                    .flat_map(|class| &class.instance_types);
                let offers = types.flat_map(|of| of.offerings.iter().map(|offering| (&of.name, offering)));
                let own = offers.filter(|(name, offering)| Number::of(name, offering) == Some(self));
                own.filter_map(|(_, offering)| offering.limit).min().unwrap_or(0)
            }
        };
        let held = world
            .snapshot
            .nodes
            .iter()
            .filter(|node| self.is_held_by(node))
            .count();
        u64::from(stated).saturating_sub(u64::try_from(held).unwrap_or(u64::MAX))
    }

    fn is_held_by(self, node: &Node) -> bool {
        let is = |key: &str, value: &str| node.labels.get(key).is_some_and(|label| label == value);
        match (self, &node.supply) {
            (Self::Reservation(id), Some(Supply::Reservation(held))) => id == held,
            (Self::Commitment(name), Some(Supply::Commitment(held))) => name == held,
            (Self::Offer(name, zone, capacity_type, price, _), None) => {
                node.price == price
                    && is(INSTANCE_TYPE_LABEL, name.as_str())
                    && is(ZONE_LABEL, zone.as_str())
                    && is(CAPACITY_TYPE_LABEL, capacity_type.as_str())
            }
            _ => false,
        }
    }
}

impl fmt::Display for Number<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reservation(id) => write!(f, "capacity reservation {id}"),
            Self::Commitment(name) => write!(f, "commitment {name}"),
            Self::Offer(name, zone, capacity_type, price, _) => {
                write!(f, "{name} in {zone}, {capacity_type}, at {price}")
            }
        }
    }
}

/// Whichever of its offers each launch gets, the limited ones suffice: launches that can only be served out of some numbers
/// are no more than those have left, for all numbers at once. A launch counts once for each different set of numbers
/// that one of its offers may mean.
fn numbers(world: &World<'_>, launches: &Launches<'_>, found: &mut Violations) {
    let mut demand: BTreeMap<BTreeSet<Number<'_>>, u64> = BTreeMap::new();
    for filling in &launches.fillings {
        let list = &launches.lists[filling.list];
        let others = list.limited.iter().map(|at| &list.offers[*at]);
        let sets: BTreeSet<_> = std::iter::once(&filling.first)
            .chain(others)
            .filter_map(|offer| limited(launches, offer))
            .collect();
        for set in sets {
            *demand.entry(set).or_default() += u64::try_from(filling.count).unwrap_or(u64::MAX);
        }
    }
    let all: BTreeSet<Number<'_>> = demand.keys().flatten().copied().collect();
    let left: BTreeMap<Number<'_>, u64> = all
        .into_iter()
        .map(|number| (number, number.left(world)))
        .collect();
    if let Some(short) = matching::shortage(&demand, &left) {
        let names: Vec<String> = short.suppliers.iter().map(ToString::to_string).collect();
        let (wanted, left) = (short.wanted, short.left);
        let detail = format!("{wanted} launches may take it, {left} are left");
        found.add(Rule::Offerings, names.join("; "), detail);
    }
}

/// The numbers that an offer may draw on; `None` where it may mean one without.
fn limited<'a>(launches: &Launches<'a>, offer: &Offer<'a>) -> Option<BTreeSet<Number<'a>>> {
    let mut set = BTreeSet::new();
    for prospect in &offer.all {
        let offering = launches.prospects[*prospect].offering;
        set.insert(Number::of(offer.named.instance_type, offering)?);
    }
    (!set.is_empty()).then_some(set)
}

/// A launch out of a capacity reservation asks for one kind of them: capacity blocks or ordinary ones, interruptible or
/// not. It names one capacity block at most.
fn one_kind(launches: &Launches<'_>, found: &mut Violations) {
    for filling in &launches.fillings {
        let list = &launches.lists[filling.list];
        let Some(first) = launches.prospect(&filling.first) else {
            continue;
        };
        let kind = |offering: &Offering| {
            let reservation = offering.reservation.as_ref();
            reservation.map(|reservation| (reservation.kind, reservation.interruptible))
        };
        let is_reserved = first.offering.capacity_type == CapacityType::Reserved;
        let is_block = kind(first.offering).is_some_and(|(kind, _)| kind == ReservationType::CapacityBlock);
        let other = list.offers.iter().find(|offer| {
            let prospect = launches.prospect(offer);
            let is_alike = prospect.is_none_or(|other| {
                other.offering.capacity_type == first.offering.capacity_type
                    && kind(other.offering) == kind(first.offering)
            });
            is_reserved && (is_block || !is_alike)
        });
        if let Some(other) = other {
            let detail = format!("{} can't stand in for {}", other.named, filling.first.named);
            found.add(Rule::Offerings, filling.name(), detail);
        }
    }
}
