//! The snapshot's nodes, each at the price that the catalogue gives it.

use std::collections::BTreeMap;

use dovetail_solver::model::instance_type::{
    CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, RESERVATION_LABEL, ZONE_LABEL,
};
use dovetail_solver::model::money::Price;
use dovetail_solver::model::node::Node;
use dovetail_solver::model::offering::{CapacityType, Offering};
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

/// Gives each node its price. Where offers are limited in number, the cheapest go first, in order of node names.
fn price(nodes: &mut [Node], catalogue: &Catalogue, notes: &mut Vec<Note>) {
    let mut taken: BTreeMap<Offering, u32> = BTreeMap::new();
    let mut unknown: BTreeMap<String, u64> = BTreeMap::new();
    for node in nodes {
        let label = |key: &str| node.labels.get(key).map_or("", String::as_str);
        let (instance_type, zone) = (label(INSTANCE_TYPE_LABEL), label(ZONE_LABEL));
        let capacity_type = capacity_type(&node.labels);
        let reservation = label(RESERVATION_LABEL);
        let offers = catalogue.offers(instance_type, zone, capacity_type);
        let is_left = |offer: &&&Offering| {
            let used = taken.get(**offer).copied().unwrap_or(0);
            offer.limit.is_none_or(|limit| used < limit)
        };
        let of_reservation = |offer: &&&Offering| offer.reservation_id.as_deref() == Some(reservation);
        let offer = offers
            .iter()
            .find(of_reservation)
            .or_else(|| offers.iter().find(is_left))
            .or_else(|| offers.last())
            .copied();
        match offer {
            Some(offer) => {
                node.price = offer.price;
                *taken.entry(offer.clone()).or_default() += 1;
            }
            None => {
                node.price = Price::default();
                let what = if instance_type.is_empty() {
                    "no instance type".to_owned()
                } else {
                    format!(
                        "{instance_type} {capacity_type} in {}",
                        if zone.is_empty() { "no zone" } else { zone }
                    )
                };
                *unknown.entry(what).or_default() += 1;
            }
        }
    }
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
