//! Capacity reservations that a Catalog document lists beside its instance types, or beside the built-in ones.

use std::collections::BTreeSet;

use dovetail_solver::model::money::Price;
use dovetail_solver::model::name::ZoneName;
use dovetail_solver::model::offering::{CapacityType, Offering, Reservation, ReservationType};
use dovetail_solver::model::time::Timestamp;

use super::Zone;
use super::machine::{Machine, sort_offerings};
use crate::api::{self, CatalogReservation};

/// Makes each reservation an offering of its instance type; what makes no sense, with its path.
pub(super) fn add(
    machines: &mut [Machine],
    zones: &[Zone],
    listed: &[CatalogReservation],
) -> Vec<(String, String)> {
    let mut flaws = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, reservation) in listed.iter().enumerate() {
        let path = format!("spec.reservations[{index}]");
        if reservation.id.is_empty() {
            flaws.push((
                format!("{path}.id"),
                "a capacity reservation has an id".to_owned(),
            ));
        } else if !seen.insert(reservation.id.as_str()) {
            flaws.push((path.clone(), format!("{} is listed twice", reservation.id)));
        }
        let machine = machines
            .iter_mut()
            .find(|machine| machine.name.as_str() == reservation.instance_type);
        let zone = zones.iter().find(|zone| zone.name.as_str() == reservation.zone);
        let (limit, price) = (u32::try_from(reservation.limit), price(reservation));
        if zone.is_none() {
            let zones: Vec<&str> = zones.iter().map(|zone| zone.name.as_str()).collect();
            let what = format!("expected one of the zones {}", zones.join(", "));
            flaws.push((format!("{path}.zone"), what));
        }
        if machine.is_none() {
            let what = "the catalogue has no instance type of that name".to_owned();
            flaws.push((format!("{path}.instanceType"), what));
        }
        if limit.is_err() {
            flaws.push((format!("{path}.limit"), format!("expected 0 to {}", u32::MAX)));
        }
        if let Err(what) = &price {
            flaws.push((format!("{path}.price"), what.clone()));
        }
        if let (Some(machine), Some(zone), Ok(limit), Ok(price)) = (machine, zone, limit, price) {
            machine.offerings.push(Offering {
                zone: ZoneName::from(reservation.zone.as_str()),
                zone_id: zone.id.clone(),
                capacity_type: CapacityType::Reserved,
                price,
                available: true,
                limit: Some(limit),
                reservation: Some(Reservation {
                    id: reservation.id.clone(),
                    kind: kind(reservation.reservation_type),
                    interruptible: reservation.interruptible,
                    ends: reservation
                        .end_time
                        .as_ref()
                        .map(|time| Timestamp(time.0.as_second())),
                }),
                commitment: None,
            });
            sort_offerings(&mut machine.offerings);
        }
    }
    flaws
}

/// The kind in the model's words.
pub(crate) fn kind(written: api::ReservationType) -> ReservationType {
    match written {
        api::ReservationType::Default => ReservationType::Default,
        api::ReservationType::CapacityBlock => ReservationType::CapacityBlock,
    }
}

fn price(reservation: &CatalogReservation) -> Result<Price, String> {
    let dollars = reservation.price.unwrap_or(0.0);
    Price::parse(&dollars.to_string()).map_err(|error| error.to_string())
}
