//! NodeOverlays: what planning should believe of the price and the extra capacity of some offerings.
//!
//! The heaviest overlay with a price decides the price of an offering; of equal weight the last by name. Capacity is merged
//! resource by resource, the heaviest first, and concerns the whole instance type as soon as one of its offerings matches.
//! Two overlays of equal weight that change the same thing contradict each other: the later one isn't applied anywhere.
//! An overlay matches by labels: the instance type's, the offering's and those of the NodePool's template. A price that
//! comes out at zero is taken as the smallest there is, a micro-dollar, since none at all is no offer.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use dovetail_solver::model::instance_type::InstanceType;
use dovetail_solver::model::money::Price;
use dovetail_solver::model::name::NodeClassName;
use dovetail_solver::model::node::{Node, NodeStage};
use dovetail_solver::model::node_pool::{NodeClass, NodePool};
use dovetail_solver::model::requirement::{Labels, Requirements};
use dovetail_solver::model::resources::{ResourceName, Resources};

use super::node_pool::{requirements, resources_by_name};
use crate::api;
use crate::cluster::diagnostics::{Note, Reason};
use crate::cluster::index::Index;
use crate::cluster::objects::Kind;

/// A hundred per cent, in millionths of a per cent.
const WHOLE: i128 = 100_000_000;

/// One overlay that makes sense.
#[derive(Clone, Debug)]
struct Overlay {
    name: String,
    weight: i32,
    requirements: Requirements,
    price: Option<Change>,
    capacity: Resources,
}

/// What becomes of a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// It is this.
    To(Price),
    /// So many micro-dollars more.
    By(i128),
    /// So many millionths of a per cent more.
    Share(i128),
}

impl Change {
    fn of(self, price: Price) -> Price {
        let before = i128::from(price.micros());
        let after = match self {
            Self::To(price) => i128::from(price.micros()),
            Self::By(micros) => before + micros,
            Self::Share(share) => (before * (WHOLE + share) + WHOLE / 2) / WHOLE,
        };
        Price::from_micros(u64::try_from(after.max(1)).unwrap_or(u64::MAX))
    }
}

/// Applies all overlays to what is launched and to the nodes that exist; what there is to say of them.
#[must_use]
pub fn apply(
    index: &Index,
    pools: &mut [NodePool],
    classes: &mut BTreeMap<NodeClassName, NodeClass>,
    nodes: &mut [Node],
) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut overlays = read(index, &mut notes);
    overlays.sort_by(|one, two| {
        let key = |overlay: &Overlay| (Reverse(overlay.weight), Reverse(overlay.name.clone()));
        key(one).cmp(&key(two))
    });
    if overlays.is_empty() {
        return notes;
    }
    drop_contradictions(&mut overlays, pools, classes, &mut notes);
    for pool in pools {
        let Some(class) = classes.get(&pool.node_class) else {
            continue;
        };
        let mut own = class.clone();
        for instance_type in &mut own.instance_types {
            change(&overlays, &pool.labels, instance_type);
        }
        if own != *class {
            own.name = NodeClassName::from(format!("{} (overlaid for {})", class.name, pool.name));
            pool.node_class = own.name.clone();
            classes.insert(own.name.clone(), own);
        }
    }
    for node in nodes.iter_mut().filter(|node| node.node_pool.is_some()) {
        change_node(&overlays, node);
    }
    notes
}

fn change(overlays: &[Overlay], pool: &Labels, instance_type: &mut InstanceType) {
    let labels = labels(pool, instance_type);
    for overlay in overlays {
        if labels.iter().any(|labels| overlay.requirements.admits(labels)) {
            for (name, amount) in overlay.capacity.iter() {
                if overlays_first(overlays, overlay, name, &labels) {
                    instance_type.capacity.set(name.clone(), amount);
                    instance_type.allocatable.set(name.clone(), amount);
                }
            }
        }
    }
    for (offering, labels) in instance_type.offerings.iter_mut().zip(&labels) {
        if let Some(change) = price_change(overlays, labels) {
            offering.price = change.of(offering.price);
        }
    }
    instance_type.offerings.sort_by(|one, two| {
        (&one.zone, one.capacity_type, one.price).cmp(&(&two.zone, two.capacity_type, two.price))
    });
}

/// Whether an overlay is the heaviest that gives a type of these labels a resource.
fn overlays_first(overlays: &[Overlay], overlay: &Overlay, name: &ResourceName, labels: &[Labels]) -> bool {
    let gives = |other: &&Overlay| {
        other.capacity.contains(name) && labels.iter().any(|labels| other.requirements.admits(labels))
    };
    overlays
        .iter()
        .find(gives)
        .is_some_and(|first| first.name == overlay.name)
}

fn price_change(overlays: &[Overlay], labels: &Labels) -> Option<Change> {
    let mut priced = overlays.iter().filter(|overlay| overlay.price.is_some());
    priced.find(|overlay| overlay.requirements.admits(labels))?.price
}

/// Labels of each offering's nodes.
fn labels(pool: &Labels, instance_type: &InstanceType) -> Vec<Labels> {
    let offerings = instance_type.offerings.iter();
    offerings
        .map(|offering| {
            let mut labels = pool.clone();
            labels.extend(instance_type.labels_with(offering));
            labels
        })
        .collect()
}

fn change_node(overlays: &[Overlay], node: &mut Node) {
    if node.price.micros() > 0
        && let Some(change) = price_change(overlays, &node.labels)
    {
        node.price = change.of(node.price);
    }
    if node.stage == NodeStage::Initialized {
        // It says itself what it has.
        return;
    }
    for overlay in overlays
        .iter()
        .filter(|overlay| overlay.requirements.admits(&node.labels))
    {
        for (name, amount) in overlay.capacity.iter() {
            if !node.capacity.contains(name) {
                node.capacity.set(name.clone(), amount);
                node.allocatable.set(name.clone(), amount);
            }
        }
    }
}

/// Drops the later of two overlays of equal weight that change the same.
fn drop_contradictions(
    overlays: &mut Vec<Overlay>,
    pools: &[NodePool],
    classes: &BTreeMap<NodeClassName, NodeClass>,
    notes: &mut Vec<Note>,
) {
    // They are in the order of weights.
    if overlays.windows(2).all(|pair| pair[0].weight != pair[1].weight) {
        return;
    }
    let places: Vec<Vec<Labels>> = pools
        .iter()
        .flat_map(|pool| {
            let class = classes.get(&pool.node_class);
            let types = class.into_iter().flat_map(|class| &class.instance_types);
            types.map(|instance_type| labels(&pool.labels, instance_type))
        })
        .collect();
    let mut kept: Vec<Overlay> = Vec::new();
    for overlay in overlays.drain(..) {
        let meets = |other: &&Overlay| {
            other.weight == overlay.weight
                && places.iter().any(|labels| {
                    let both = |labels: &Labels| {
                        overlay.requirements.admits(labels) && other.requirements.admits(labels)
                    };
                    let price = overlay.price.is_some() && other.price.is_some();
                    let matched = |one: &Overlay| labels.iter().any(|labels| one.requirements.admits(labels));
                    let shared = overlay
                        .capacity
                        .iter()
                        .any(|(name, _)| other.capacity.contains(name));
                    price && labels.iter().any(both) || shared && matched(&overlay) && matched(other)
                })
        };
        match kept.iter().find(meets) {
            Some(other) => {
                let message = format!(
                    "contradicts NodeOverlay {} of the same weight; it isn't applied",
                    other.name
                );
                let note = Note::warning(Reason::Malformed, message);
                notes.push(note.about(format_args!("NodeOverlay {}", overlay.name)));
            }
            None => kept.push(overlay),
        }
    }
    *overlays = kept;
}

fn read(index: &Index, notes: &mut Vec<Note>) -> Vec<Overlay> {
    let mut overlays = Vec::new();
    for (name, stored) in index.held(Kind::NodeOverlay).into_iter().flatten() {
        let parsed: Result<api::NodeOverlay, _> = serde_json::from_value(stored.object.clone());
        let overlay = parsed
            .map_err(|error| ("spec".to_owned(), error.to_string()))
            .and_then(|object| overlay(&name.name, &object.spec));
        match overlay {
            Ok(overlay) => overlays.push(overlay),
            Err((path, message)) => {
                let note = Note::error(Reason::Malformed, format!("{message}; it isn't applied"));
                let note = note.about(format_args!("NodeOverlay {name}")).path(path);
                notes.push(note.at_known(stored.origin.as_ref()));
            }
        }
    }
    overlays
}

fn overlay(name: &str, spec: &api::NodeOverlaySpec) -> Result<Overlay, (String, String)> {
    let written: Vec<api::Requirement> = spec
        .requirements
        .iter()
        .map(|requirement| api::Requirement {
            key: requirement.key.clone(),
            operator: requirement.operator,
            values: requirement.values.clone(),
            min_values: None,
        })
        .collect();
    let requirements = requirements(&written).map_err(|message| ("spec.requirements".to_owned(), message))?;
    let capacity =
        resources_by_name(&spec.capacity).map_err(|message| ("spec.capacity".to_owned(), message))?;
    let own = ["cpu", "memory", "ephemeral-storage", "pods"];
    if let Some((name, _)) = capacity.iter().find(|(name, _)| own.contains(&name.as_str())) {
        let message = format!("{name} is the machine's own, only extended resources can be added");
        return Err(("spec.capacity".to_owned(), message));
    }
    let price = match (&spec.price, &spec.price_adjustment) {
        (Some(_), Some(_)) => {
            let message = "price and priceAdjustment exclude each other".to_owned();
            return Err(("spec.price".to_owned(), message));
        }
        (Some(price), None) => {
            let price = Price::parse(price).map_err(|error| ("spec.price".to_owned(), error.to_string()))?;
            Some(Change::To(price))
        }
        (None, Some(adjustment)) => Some(adjusted(adjustment).ok_or_else(|| {
            let message = format!("expected +0.1, -0.1, +5% or -5%, got {adjustment:?}");
            ("spec.priceAdjustment".to_owned(), message)
        })?),
        (None, None) => None,
    };
    Ok(Overlay {
        name: name.to_owned(),
        weight: spec.weight.unwrap_or(0),
        requirements,
        price,
        capacity,
    })
}

/// `+0.1`, `-0.1`, `+5%`, `-100%`.
fn adjusted(text: &str) -> Option<Change> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let amount = |text: &str| Some(i128::from(Price::parse(text).ok()?.micros()) * sign);
    match rest.strip_suffix('%') {
        Some(share) => amount(share).filter(|share| *share >= -WHOLE).map(Change::Share),
        None => amount(rest).map(Change::By),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_set_moved_and_scaled() {
        let price = Price::parse("0.2").unwrap();
        for (text, expected) in [
            ("+0.1", "0.3"),
            ("-0.15", "0.05"),
            ("-0.5", "0.000001"),
            ("+50%", "0.3"),
            ("-12.5%", "0.175"),
            ("-100%", "0.000001"),
        ] {
            let change = adjusted(text).unwrap();
            assert_eq!(change.of(price), Price::parse(expected).unwrap(), "{text}");
        }
        for text in ["", "0.1", "5%", "+", "-101%", "+x", "--1"] {
            assert_eq!(adjusted(text), None, "{text}");
        }
        assert_eq!(Change::To(price).of(Price::from_micros(7)), price);
    }
}
