//! Which capacity reservations a node class may launch into.
//!
//! An EC2NodeClass launches into those that its status lists, that are of the same instance type and zone as in the
//! catalogue, and that haven't ended; how many machines they hold only the catalogue says. Before a controller has filled in
//! the status, the ids that its terms name count. A class that has neither is offered all reservations of the catalogue,
//! and that is said. EC2 takes the machines of a capacity block back before it ends, so nothing is launched into
//! one from forty minutes before its end, as Karpenter does. Source: Karpenter's documentation of its NodeClasses.

use std::collections::{BTreeMap, BTreeSet};

use dovetail_solver::model::instance_type::InstanceType;
use dovetail_solver::model::offering::{Reservation, ReservationType};
use dovetail_solver::model::time::Timestamp;

use crate::api;
use crate::api::condition::CAPACITY_RESERVATIONS_READY;
use crate::cloud::catalog::{Catalogue, reservation_type};
use crate::cluster::diagnostics::{Note, Reason};
use crate::cluster::index::Index;

/// Karpenter takes its nodes out of a capacity block so long before the end, ten minutes before EC2 takes them.
const BLOCK_CLOSES_BEFORE_ITS_END: i64 = 40 * 60;

/// What a class says of reservations.
enum Selected<'c> {
    /// Nothing that could be held against the catalogue.
    Unsaid,
    /// These, with what is known of them.
    Only(BTreeMap<&'c str, Option<&'c api::CapacityReservation>>),
}

impl<'c> Selected<'c> {
    fn of(class: &'c api::EC2NodeClass) -> Self {
        let status = class.status.as_ref();
        let listed = status.map_or(&[][..], |status| &status.capacity_reservations);
        if !listed.is_empty() {
            return Self::Only(listed.iter().map(|one| (one.id.as_str(), Some(one))).collect());
        }
        let terms = &class.spec.capacity_reservation_selector_terms;
        if terms.is_empty() {
            return Self::Unsaid;
        }
        let conditions = status.map_or(&[][..], |status| &status.conditions);
        let is_resolved = |condition: &api::Condition| {
            condition.type_ == CAPACITY_RESERVATIONS_READY && condition.status == "True"
        };
        if conditions.iter().any(is_resolved) {
            return Self::Only(BTreeMap::new());
        }
        let ids: Option<BTreeMap<_, _>> = terms
            .iter()
            .map(|term| Some((term.id.as_deref()?, None)))
            .collect();
        ids.map_or(Self::Unsaid, Self::Only)
    }
}

/// Makes what the class can't launch into unavailable, and takes over what its status says of the others.
pub(super) fn narrow(class: &api::EC2NodeClass, instance_types: &mut [InstanceType], now: Timestamp) {
    let selected = Selected::of(class);
    for instance_type in instance_types {
        for offering in &mut instance_type.offerings {
            let Some(reservation) = &mut offering.reservation else {
                continue;
            };
            if let Selected::Only(selected) = &selected {
                match selected.get(reservation.id.as_str()) {
                    None => offering.available = false,
                    Some(None) => {}
                    Some(Some(listed)) => {
                        offering.available &= listed.instance_type == instance_type.name.as_str()
                            && listed.availability_zone == offering.zone.as_str()
                            && listed.state == api::ReservationState::Active;
                        reservation.kind = reservation_type(listed.reservation_type);
                        reservation.interruptible = listed.interruptible.unwrap_or(false);
                        let ends = listed.end_time.as_ref().map(|time| Timestamp(time.0.as_second()));
                        reservation.ends = ends.or(reservation.ends);
                    }
                }
            }
            offering.available &= is_open(reservation, now);
        }
    }
}

fn is_open(reservation: &Reservation, now: Timestamp) -> bool {
    let early = match reservation.kind {
        ReservationType::Default => 0,
        ReservationType::CapacityBlock => BLOCK_CLOSES_BEFORE_ITS_END,
    };
    reservation
        .ends
        .is_none_or(|ends| now.0 < ends.0.saturating_sub(early))
}

/// What there is to say about the reservations of all classes.
pub(super) fn notes(index: &Index, catalogue: &Catalogue, now: Timestamp) -> Vec<Note> {
    let mut notes = Vec::new();
    let known: BTreeMap<&str, (&str, &str)> = catalogue
        .reservations()
        .map(|(reservation, instance_type, offering)| {
            (reservation.id.as_str(), (instance_type, offering.zone.as_str()))
        })
        .collect();
    for (name, stored) in index.node_classes() {
        let class = &stored.object;
        let mut say = |reason: Reason, path: String, message: String| {
            let note = Note::warning(reason, message).about(format_args!("EC2NodeClass {name}"));
            notes.push(note.path(path).at_known(stored.origin.as_ref()));
        };
        match Selected::of(class) {
            Selected::Unsaid if known.is_empty() => {
                if !class.spec.capacity_reservation_selector_terms.is_empty() {
                    let path = "spec.capacityReservationSelectorTerms".to_owned();
                    let message = "which capacity reservations these are isn't in the status, and the catalogue has none, so nothing is launched into any (list them in a Catalog's spec.reservations)";
                    say(Reason::NotWeighed, path, message.to_owned());
                }
            }
            Selected::Unsaid => {
                let path = "spec.capacityReservationSelectorTerms".to_owned();
                let message = format!(
                    "which capacity reservations it selects isn't said, so all of the catalogue's may be used ({}); Karpenter uses only those that the terms select",
                    shown(known.keys().copied())
                );
                say(Reason::Odd, path, message);
            }
            Selected::Only(selected) => {
                for (id, listed) in &selected {
                    let path = format!("status.capacityReservations[{id}]");
                    if let Some((reason, message)) = remark(id, *listed, known.get(id).copied(), now) {
                        say(reason, path, message);
                    }
                }
                let others: BTreeSet<&str> = known
                    .keys()
                    .copied()
                    .filter(|id| !selected.contains_key(id))
                    .collect();
                if !others.is_empty() {
                    let path = "spec.capacityReservationSelectorTerms".to_owned();
                    let message = format!(
                        "it doesn't select {} of the catalogue, so its NodePools don't launch into them",
                        shown(others.into_iter())
                    );
                    say(Reason::Odd, path, message);
                }
            }
        }
    }
    for (reservation, ..) in catalogue
        .reservations()
        .filter(|(reservation, ..)| !is_open(reservation, now))
    {
        let message = format!(
            "capacity reservation {}{}; nothing is launched into it",
            reservation.id,
            over(reservation)
        );
        notes.push(Note::warning(Reason::Catalogue, message));
    }
    notes
}

/// What is odd about a reservation that a class lists.
fn remark(
    id: &str,
    listed: Option<&api::CapacityReservation>,
    known: Option<(&str, &str)>,
    now: Timestamp,
) -> Option<(Reason, String)> {
    let Some((instance_type, zone)) = known else {
        let (of, entry) = match listed {
            Some(listed) => (
                format!(" of {} in {}", listed.instance_type, listed.availability_zone),
                format!(
                    "instanceType: {}, zone: {}",
                    listed.instance_type, listed.availability_zone
                ),
            ),
            None => (String::new(), "instanceType: …, zone: …".to_owned()),
        };
        let message = format!(
            "how many machines capacity reservation {id}{of} holds isn't in the status, and the catalogue doesn't know it, so nothing is launched into it (say so in a Catalog: spec.reservations: [{{id: {id}, {entry}, limit: …}}])"
        );
        return Some((Reason::NotWeighed, message));
    };
    let listed = listed?;
    if (listed.instance_type.as_str(), listed.availability_zone.as_str()) != (instance_type, zone) {
        let message = format!(
            "it is of {} in {}, the catalogue has it of {instance_type} in {zone}; nothing is launched into it",
            listed.instance_type, listed.availability_zone
        );
        return Some((Reason::Odd, message));
    }
    let reservation = Reservation {
        id: id.to_owned(),
        kind: reservation_type(listed.reservation_type),
        interruptible: false,
        ends: listed.end_time.as_ref().map(|time| Timestamp(time.0.as_second())),
    };
    let is_expiring = listed.state != api::ReservationState::Active;
    (is_expiring || !is_open(&reservation, now)).then(|| {
        let why = if is_expiring && reservation.ends.is_none() {
            " is near its end".to_owned()
        } else {
            over(&reservation)
        };
        (
            Reason::Odd,
            format!("capacity reservation {id}{why}; nothing is launched into it"),
        )
    })
}

fn over(reservation: &Reservation) -> String {
    let ends = reservation.ends.map(|ends| jiff::Timestamp::from_second(ends.0));
    let Some(Ok(ends)) = ends else {
        return String::new();
    };
    match reservation.kind {
        ReservationType::Default => format!(" ended at {ends}"),
        ReservationType::CapacityBlock => {
            format!(
                " is a capacity block that ends at {ends}, and Karpenter empties it from 40 minutes before"
            )
        }
    }
}

fn shown<'i>(ids: impl Iterator<Item = &'i str>) -> String {
    const SHOWN: usize = 5;
    let ids: Vec<&str> = ids.collect();
    let more = if ids.len() > SHOWN { ", …" } else { "" };
    format!("{}{more}", ids[..ids.len().min(SHOWN)].join(", "))
}
