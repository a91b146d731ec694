//! Every first choice and alternative is an available offer of the NodePool's class at its very price, and offers that
//! are limited in number suffice whichever of its offers each launch gets.
//!
//! What a limited offer has left is its number less the existing nodes that hold it: those of its type, zone and
//! capacity type (and reservation, where they name one) that cost what it costs.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::instance_type::{CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, RESERVATION_LABEL, ZONE_LABEL};
use crate::model::money::Price;
use crate::model::name::{InstanceTypeName, ZoneName};
use crate::model::node::Node;
use crate::model::offering::{CapacityType, Offering};

use super::launches::{Launches, Offer};
use super::meetings::Meetings;
use super::world::World;
use super::{Rule, Violations};

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

/// All that tells limited offers apart, whichever node class names them.
type Identity<'a> = (Option<&'a str>, Option<&'a str>, u32);
/// What a plan says of an offer.
type Name<'a> = (&'a InstanceTypeName, &'a ZoneName, CapacityType, Price);

/// By name: how many launches may take one of a set of limited offers, by that set.
type Demand<'a> = BTreeMap<Name<'a>, BTreeMap<BTreeSet<Identity<'a>>, usize>>;

/// Hall's condition for the sets that occur and for all of them together: launches that can only be served out of a
/// set are no more than the set has left.
fn numbers(world: &World<'_>, launches: &Launches<'_>, found: &mut Violations) {
    let mut demand: Demand<'_> = BTreeMap::new();
    for filling in &launches.fillings {
        let list = &launches.lists[filling.list];
        let others = list.limited.iter().map(|at| &list.offers[*at]);
        let sets: BTreeSet<_> = std::iter::once(&filling.first)
            .chain(others)
            .filter_map(|offer| limited(launches, offer))
            .collect();
        for (name, set) in sets {
            *demand.entry(name).or_default().entry(set).or_default() += filling.count;
        }
    }
    for (name, by_set) in &demand {
        let all: BTreeSet<Identity<'_>> = by_set.keys().flatten().copied().collect();
        for set in by_set.keys().chain(std::iter::once(&all)) {
            let wanted: usize = by_set
                .iter()
                .filter(|(other, _)| other.is_subset(set))
                .map(|(_, count)| count)
                .sum();
            let left: u64 = set
                .iter()
                .map(|identity| {
                    let (_, _, limit) = identity;
                    u64::from(*limit).saturating_sub(held(world, name, identity))
                })
                .sum();
            if u64::try_from(wanted).map_or(true, |wanted| wanted > left) {
                let (instance_type, zone, capacity_type, price) = name;
                found.add(
                    Rule::Offerings,
                    format!("{instance_type} in {zone}, {capacity_type}, at {price}"),
                    format!("{wanted} launches may take it, {left} are left"),
                );
                break;
            }
        }
    }
}

/// The limited offers that an offer may mean; `None` where one of them isn't limited.
fn limited<'a>(launches: &Launches<'a>, offer: &Offer<'a>) -> Option<(Name<'a>, BTreeSet<Identity<'a>>)> {
    let named = offer.named;
    let name = (named.instance_type, named.zone, named.capacity_type, named.price);
    let mut set = BTreeSet::new();
    for prospect in &offer.all {
        let Offering {
            limit,
            reservation_id,
            commitment,
            ..
        } = launches.prospects[*prospect].offering;
        set.insert((reservation_id.as_deref(), commitment.as_deref(), (*limit)?));
    }
    (!set.is_empty()).then_some((name, set))
}

fn held(world: &World<'_>, name: &Name<'_>, identity: &Identity<'_>) -> u64 {
    let (instance_type, zone, capacity_type, price) = name;
    let (reservation, _, _) = identity;
    let is = |node: &Node, key: &str, value: &str| node.labels.get(key).is_some_and(|label| label == value);
    let holds = |node: &&Node| {
        node.price == *price
            && is(node, INSTANCE_TYPE_LABEL, instance_type.as_str())
            && is(node, ZONE_LABEL, zone.as_str())
            && is(node, CAPACITY_TYPE_LABEL, capacity_type.as_str())
            && match (node.labels.get(RESERVATION_LABEL), reservation) {
                (Some(label), Some(id)) => label == id,
                _ => true,
            }
    };
    u64::try_from(world.snapshot.nodes.iter().filter(holds).count()).unwrap_or(u64::MAX)
}
