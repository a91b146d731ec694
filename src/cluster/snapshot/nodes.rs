//! The snapshot's nodes, each at the price that the catalogue gives it.

use std::collections::BTreeMap;

use dovetail_solver::model::instance_type::{
    CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, RESERVATION_LABEL, ZONE_LABEL,
};
use dovetail_solver::model::money::Price;
use dovetail_solver::model::node::Node;
use dovetail_solver::model::offering::{CapacityType, Offering, Supply};
use dovetail_solver::model::requirement::Labels;

use crate::cloud::catalog::{Catalogue, ClassSettings};
use crate::cluster::convert::node::{Converted, Machine};
use crate::cluster::convert::node_class::Classes;
use crate::cluster::diagnostics::{Note, Reason};
use crate::cluster::index::Index;

/// Converts and prices all machines; in order of name, every name once.
pub(super) fn convert(
    index: &Index,
    machines: &[Machine<'_>],
    catalogue: &Catalogue,
    classes: &Classes,
    notes: &mut Vec<Note>,
) -> Vec<Node> {
    let usual = ClassSettings::default();
    let size_of = |instance_type: &str, class: &str| {
        let settings = classes.settings.get(class).unwrap_or(&usual);
        let found = catalogue.instance_type(instance_type, settings)?;
        Some((found.capacity, found.allocatable))
    };
    let nodes_are_given = !index.nodes().is_empty();
    let mut nodes: BTreeMap<String, Node> = BTreeMap::new();
    for machine in machines {
        match machine.convert(&size_of, nodes_are_given) {
            Converted::Node(node) => {
                if nodes.contains_key(node.name.as_str()) {
                    let message = "another node goes by the same name; it isn't counted";
                    notes.push(Note::error(Reason::Duplicate, message).about(machine.describe()));
                } else {
                    nodes.insert(node.name.to_string(), *node);
                }
            }
            Converted::Unknown(note) => notes.push(note),
        }
    }
    let mut nodes: Vec<Node> = nodes.into_values().collect();
    price(&mut nodes, catalogue, notes);
    nodes
}

/// What shares one number.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Shared {
    /// Offers of one name.
    Named(Supply),
    /// One offer of an instance type.
    Alone(String, Offering),
}

/// How many are left of what is limited in number.
struct Numbers(BTreeMap<Shared, u32>);

impl Numbers {
    /// As the catalogue has them: of offers that share a number the least.
    fn of(catalogue: &Catalogue) -> Self {
        let mut numbers = BTreeMap::new();
        for (instance_type, offering) in catalogue.limited() {
            let number = offering.limit.unwrap_or(u32::MAX);
            let least = numbers
                .entry(Self::shared(instance_type, offering))
                .or_insert(number);
            *least = number.min(*least);
        }
        Self(numbers)
    }

    fn shared(instance_type: &str, offering: &Offering) -> Shared {
        let alone = || Shared::Alone(instance_type.to_owned(), offering.clone());
        offering.supply().map_or_else(alone, Shared::Named)
    }

    /// Takes one; whether there was one.
    fn take(&mut self, instance_type: &str, offering: &Offering) -> bool {
        if offering.limit.is_none() {
            return true;
        }
        let number = self.0.get_mut(&Self::shared(instance_type, offering));
        number.is_some_and(|number| {
            let is_left = *number > 0;
            *number = number.saturating_sub(1);
            is_left
        })
    }
}

/// Gives each node its price, and the number that it uses up. A node that names its capacity reservation is of that one;
/// for the others offers that are limited in number go the cheapest first, in order of prices and then of node names.
fn price(nodes: &mut [Node], catalogue: &Catalogue, notes: &mut Vec<Note>) {
    let mut numbers = Numbers::of(catalogue);
    let mut ways: Vec<(Price, usize, &Offering)> = Vec::new();
    let mut unknown: BTreeMap<String, u64> = BTreeMap::new();
    for (at, node) in nodes.iter_mut().enumerate() {
        let label = |key: &str| node.labels.get(key).map_or("", String::as_str);
        let (instance_type, zone) = (label(INSTANCE_TYPE_LABEL), label(ZONE_LABEL));
        let capacity_type = capacity_type(&node.labels);
        let mut offers = catalogue.offers(instance_type, zone, capacity_type);
        let reservation = node.labels.get(RESERVATION_LABEL);
        if let Some(id) = reservation.filter(|_| capacity_type == CapacityType::Reserved) {
            let named = offers
                .iter()
                .find(|offer| offer.reservation_id() == Some(id))
                .copied();
            if let Some(named) = named {
                numbers.take(instance_type, named);
                offers = vec![named];
            } else {
                offers.retain(|offer| offer.reservation.is_none());
            }
            node.supply = Some(Supply::Reservation(id.clone()));
        }
        let Some(dearest) = offers.last() else {
            let what = if instance_type.is_empty() {
                "no instance type".to_owned()
            } else {
                let zone = if zone.is_empty() { "no zone" } else { zone };
                format!("{instance_type} {capacity_type} in {zone}")
            };
            *unknown.entry(what).or_default() += 1;
            node.price = Price::default();
            continue;
        };
        // As it stays where there is nothing else and all that are limited are used up.
        node.price = dearest.price;
        if node.supply.is_none() {
            ways.extend(offers.iter().map(|offer| (offer.price, at, *offer)));
        }
    }
    ways.sort();
    let mut is_settled = vec![false; nodes.len()];
    for (price, at, offer) in ways {
        let node = &mut nodes[at];
        let instance_type = node.labels.get(INSTANCE_TYPE_LABEL).map_or("", String::as_str);
        if !is_settled[at] && numbers.take(instance_type, offer) {
            is_settled[at] = true;
            node.price = price;
            node.supply = offer.supply().filter(|_| offer.limit.is_some());
        }
    }
    say_unknown(&unknown, notes);
}

fn say_unknown(unknown: &BTreeMap<String, u64>, notes: &mut Vec<Note>) {
    let count: u64 = unknown.values().sum();
    if count > 0 {
        let mut what: Vec<String> = unknown.keys().take(5).cloned().collect();
        if unknown.len() > what.len() {
            what.push(format!("{} more", unknown.len() - what.len()));
        }
        let message = format!(
            "{count} nodes have a price that the catalogue doesn't know and count as 0 ({})",
            what.join(", ")
        );
        notes.push(Note::warning(Reason::NodeUnknown, message).counting(count));
    }
}

/// How a node was bought, by Karpenter's label or that of EKS's own node groups; at list price where neither says.
fn capacity_type(labels: &Labels) -> CapacityType {
    if let Some(known) = labels
        .get(CAPACITY_TYPE_LABEL)
        .and_then(|text| CapacityType::parse(text))
    {
        return known;
    }
    match labels.get("eks.amazonaws.com/capacityType").map(String::as_str) {
        Some("SPOT") => CapacityType::Spot,
        _ => CapacityType::OnDemand,
    }
}
