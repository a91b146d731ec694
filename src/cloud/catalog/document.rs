//! The `Catalog` document: instance types as data, in place of the built-in ones.
//!
//! Labels that a document leaves out follow from the type's name and capacity, and from EC2's own table where it knows a
//! type of that name and size. All flaws of a document are found in one go, each with its path and instance type.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use dovetail_solver::model::money::Price;
use dovetail_solver::model::name::{InstanceTypeName, ZoneName};
use dovetail_solver::model::offering::{CapacityType, Offering, Reservation};
use dovetail_solver::model::quantity::{Quantity, Rounding};
use dovetail_solver::model::requirement::Labels;
use dovetail_solver::model::resources::{Amount, ResourceName, Resources};
use dovetail_solver::model::time::Timestamp;

use super::machine::{Density, Machine, sort_offerings};
use super::shape::{DECIMAL_GB, Shape, label, name_labels};
use super::{Catalogue, CatalogueError, Subnet, Zone, data, derived, reserved};
use crate::api::{self, CatalogInstanceType, CatalogOffering, ZonePrices, labels};

/// Region of a document that names none.
const DEFAULT_REGION: &str = "us-east-1";
/// Flaws that one message lists.
const FLAWS_SHOWN: usize = 8;
/// Zones that one message lists; no region has more.
const ZONES_SHOWN: usize = 6;
/// A name becomes the value of a label, and those hold no more characters.
const MOST_IN_NAME: usize = 63;

/// Something wrong in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Where, such as `spec.instanceTypes[3].spot`.
    pub path: String,
    /// The instance type concerned.
    pub instance_type: Option<String>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.instance_type {
            Some(name) => write!(f, "{} ({name}): {}", self.path, self.what),
            None => write!(f, "{}: {}", self.path, self.what),
        }
    }
}

/// Flaws in one line.
pub(super) fn list(flaws: &[Flaw]) -> String {
    let mut shown: Vec<String> = flaws.iter().take(FLAWS_SHOWN).map(Flaw::to_string).collect();
    if flaws.len() > FLAWS_SHOWN {
        shown.push(format!("{} more", flaws.len() - FLAWS_SHOWN));
    }
    shown.join("; ")
}

/// Reads a document whole.
pub(super) fn read(document: &api::Catalog) -> Result<Catalogue, CatalogueError> {
    let spec = &document.spec;
    let region = spec.region.clone().unwrap_or_else(|| DEFAULT_REGION.to_owned());
    let mut reader = Reader {
        zones: BTreeSet::new(),
        region,
        flaws: Vec::new(),
        at: Place::default(),
    };
    let zones = reader.zones(&spec.zones);
    let is_built_in = spec.instance_types.is_empty() && !spec.reservations.is_empty();
    let mut machines = if is_built_in {
        Catalogue::built_in(&reader.region)?.machines
    } else {
        reader.instance_types(&spec.instance_types)
    };
    reader.at = Place::default();
    for (path, what) in reserved::add(&mut machines, &zones, &spec.reservations) {
        reader.flaw(&path, what);
    }
    let subnets = reader.subnets(&spec.subnets);
    let addresses_per_node = spec.addresses_per_node.and_then(|addresses| {
        let count = u64::try_from(addresses);
        if count.is_err() {
            reader.flaw("spec.addressesPerNode", "expected 0 or more");
        }
        count.ok()
    });
    let Reader { region, flaws, .. } = reader;
    if !flaws.is_empty() {
        let name = document.metadata.name.clone().unwrap_or_default();
        return Err(CatalogueError::Document { name, flaws });
    }
    Ok(Catalogue {
        region,
        zones,
        machines,
        subnets,
        addresses_per_node,
        spot_is_estimated: is_built_in,
    })
}

/// What is being read.
#[derive(Clone, Default)]
struct Place {
    path: String,
    instance_type: Option<String>,
}

struct Reader {
    region: String,
    zones: BTreeSet<String>,
    flaws: Vec<Flaw>,
    at: Place,
}

impl Reader {
    /// Notes a flaw below the place being read.
    fn flaw(&mut self, below: &str, what: impl Into<String>) {
        self.flaws.push(Flaw {
            path: format!("{}{below}", self.at.path),
            instance_type: self.at.instance_type.clone(),
            what: what.into(),
        });
    }

    /// The listed zones, else those of the built-in region.
    fn zones(&mut self, listed: &[String]) -> Vec<Zone> {
        if listed.is_empty() {
            let known = data::region(&self.region).map(|region| region.zones);
            let Some(known) = known else {
                let what = format!("needed, since region {} isn't built in", self.region);
                self.flaw("spec.zones", what);
                return Vec::new();
            };
            self.zones = known.iter().map(|(name, _)| name.clone()).collect();
            let zone = |(name, id): (String, String)| Zone {
                name: ZoneName::from(name),
                id: Some(id),
            };
            return known.into_iter().map(zone).collect();
        }
        for (index, zone) in listed.iter().enumerate() {
            let path = format!("spec.zones[{index}]");
            if zone.is_empty() || zone.chars().count() > MOST_IN_NAME {
                self.flaw(
                    &path,
                    format!("expected a name of 1 to {MOST_IN_NAME} characters"),
                );
            } else if !self.zones.insert(zone.clone()) {
                self.flaw(&path, format!("{zone} is listed twice"));
            }
        }
        let zone = |name: &String| Zone {
            name: ZoneName::from(name.as_str()),
            id: None,
        };
        self.zones.iter().map(zone).collect()
    }

    fn known_zone(&mut self, below: &str, zone: &str) -> bool {
        let known = self.zones.contains(zone);
        if !known {
            let what = if zone.is_empty() {
                "an offering needs a zone".to_owned()
            } else {
                let zone: String = zone.chars().take(MOST_IN_NAME).collect();
                let zones: Vec<&str> = self.zones.iter().take(ZONES_SHOWN).map(String::as_str).collect();
                let more = if self.zones.len() > ZONES_SHOWN {
                    ", …"
                } else {
                    ""
                };
                format!("\"{zone}\" is none of the zones {}{more}", zones.join(", "))
            };
            self.flaw(below, what);
        }
        known
    }

    fn subnets(&mut self, listed: &[api::CatalogSubnet]) -> Vec<Subnet> {
        self.at = Place::default();
        let mut seen = BTreeSet::new();
        let mut subnets = Vec::with_capacity(listed.len());
        for (index, subnet) in listed.iter().enumerate() {
            let path = format!("spec.subnets[{index}]");
            if !seen.insert(subnet.id.as_str()) {
                self.flaw(&path, format!("{} is listed twice", subnet.id));
            }
            let known = self.known_zone(&format!("{path}.zone"), &subnet.zone);
            match u64::try_from(subnet.free_addresses) {
                Ok(free_addresses) if known => subnets.push(Subnet {
                    id: subnet.id.clone(),
                    zone: ZoneName::from(subnet.zone.as_str()),
                    free_addresses,
                }),
                Ok(_) => {}
                Err(_) => self.flaw(&format!("{path}.freeAddresses"), "expected 0 or more"),
            }
        }
        subnets
    }

    fn instance_types(&mut self, listed: &[CatalogInstanceType]) -> Vec<Machine> {
        if listed.is_empty() {
            self.flaw("spec.instanceTypes", "expected at least one");
        }
        let names: BTreeSet<&str> = listed.iter().map(|entry| entry.name.as_str()).collect();
        let shapes: BTreeMap<String, Shape> = data::shapes(|name| names.contains(name))
            .into_iter()
            .map(|shape| (shape.name.clone(), shape))
            .collect();
        let mut first_at = BTreeMap::new();
        let mut machines = Vec::with_capacity(listed.len());
        for (index, entry) in listed.iter().enumerate() {
            self.at = Place {
                path: format!("spec.instanceTypes[{index}]"),
                instance_type: Some(entry.name.chars().take(MOST_IN_NAME).collect()),
            };
            if entry.name.is_empty() {
                self.flaw(".name", "an instance type has a name");
            } else if entry.name.chars().count() > MOST_IN_NAME {
                self.flaw(".name", format!("expected at most {MOST_IN_NAME} characters"));
            } else if let Some(first) = first_at.insert(entry.name.clone(), index) {
                let what = format!("is spec.instanceTypes[{first}] already");
                self.flaw(".name", what);
                continue;
            }
            machines.push(self.machine(entry, shapes.get(&entry.name)));
        }
        machines.sort_by(|one, two| one.name.cmp(&two.name));
        machines
    }

    fn machine(&mut self, entry: &CatalogInstanceType, shape: Option<&Shape>) -> Machine {
        let capacity = self.resources(".capacity", &entry.capacity);
        for name in [ResourceName::Cpu, ResourceName::Memory] {
            if capacity.get(&name) == Amount::ZERO && !entry.capacity.contains_key(name.as_str()) {
                self.flaw(&format!(".capacity.{name}"), "needed");
            }
        }
        let stated = self.resources(".allocatable", &entry.allocatable);
        for (name, amount) in stated.iter() {
            let unit = name.unit();
            if capacity.contains(name) && amount > capacity.get(name) {
                let what = format!(
                    "{} is more than the capacity of {}",
                    amount.display(unit),
                    capacity.get(name).display(unit)
                );
                self.flaw(&format!(".allocatable.{name}"), what);
            }
        }
        // A type of the same name that has another size is another machine.
        let shape = shape.filter(|shape| {
            shape.capacity.get(&ResourceName::Cpu) == capacity.get(&ResourceName::Cpu)
                && shape.capacity.get(&ResourceName::Memory) == capacity.get(&ResourceName::Memory)
        });
        let labels = self.labels(entry, &capacity, shape);
        let facts = shape.map(|shape| shape.facts.clone());
        let known_disks = facts.as_ref().and_then(|facts| facts.local_storage);
        let mut offerings = self.offerings(entry);
        sort_offerings(&mut offerings);
        let pods = capacity.get(&ResourceName::Pods).get();
        Machine {
            name: InstanceTypeName::from(entry.name.as_str()),
            labels,
            density: if capacity.contains(&ResourceName::Pods) {
                Density::Stated(pods)
            } else {
                Density::Interfaces
            },
            capacity,
            stated_allocatable: (!stated.is_empty()).then_some(stated),
            local_storage: stated_local_storage(entry).or(known_disks),
            facts,
            is_built_in: false,
            offerings,
            price_source: None,
            interruptions_per_million_hours: self.interruptions(entry.interruption_rate),
            spot_advice: None,
        }
    }

    fn resources(&mut self, below: &str, quantities: &api::Resources) -> Resources {
        let mut resources = Resources::new();
        for (name, quantity) in quantities {
            let resource = ResourceName::from(name.as_str());
            let amount = quantity
                .0
                .parse::<Quantity>()
                .and_then(|quantity| Amount::from_quantity(&resource, quantity, Rounding::Down));
            match amount {
                Ok(amount) => resources.set(resource, amount),
                Err(error) => self.flaw(&format!("{below}.{name}"), error.to_string()),
            }
        }
        resources
    }

    /// Stated labels first, then what follows from the capacity, then what EC2 says, then what the name says.
    fn labels(&mut self, entry: &CatalogInstanceType, capacity: &Resources, shape: Option<&Shape>) -> Labels {
        let mut result = name_labels(&entry.name);
        if let Some(shape) = shape {
            result.extend(shape.labels.clone());
        } else {
            let arm = derived::name_is_arm(&entry.name);
            let arch = if arm { "arm64" } else { "amd64" };
            result.insert(labels::ARCH.to_owned(), arch.to_owned());
        }
        result.insert(labels::REGION.to_owned(), self.region.clone());
        result.extend(derived::capacity_labels(capacity));
        for (key, value) in &entry.labels {
            let below = format!(".labels[{key}]");
            match key.as_str() {
                labels::INSTANCE_TYPE if *value != entry.name => {
                    self.flaw(&below, "differs from the type's name");
                }
                labels::ZONE | labels::ZONE_ID | labels::CAPACITY_TYPE => {
                    self.flaw(&below, "belongs to each offering, not to the type");
                }
                _ => {
                    result.insert(key.clone(), value.clone());
                }
            }
        }
        result
    }

    fn offerings(&mut self, entry: &CatalogInstanceType) -> Vec<Offering> {
        let mut offerings = Vec::new();
        let short = [
            (".onDemand", &entry.on_demand, CapacityType::OnDemand),
            (".spot", &entry.spot, CapacityType::Spot),
        ];
        for (below, prices, capacity_type) in short {
            let Some(prices) = prices else { continue };
            for (zone, price) in self.zone_prices(below, prices) {
                offerings.extend(plain_offering(zone, capacity_type, price));
            }
        }
        for (index, offering) in entry.offerings.iter().enumerate() {
            offerings.extend(self.offering(&format!(".offerings[{index}]"), offering));
        }
        offerings
    }

    fn interruptions(&mut self, rate: Option<f64>) -> u32 {
        let Some(rate) = rate else { return 0 };
        // Read as a price is: the shortest decimal, in millionths.
        let millionths = Price::parse(&rate.to_string()).map(|rate| u32::try_from(rate.micros()));
        if let Ok(Ok(millionths)) = millionths {
            return millionths;
        }
        self.flaw(".interruptionRate", "expected interruptions in an hour, from 0");
        0
    }

    fn zone_prices(&mut self, below: &str, prices: &ZonePrices) -> Vec<(String, Price)> {
        match prices {
            ZonePrices::Everywhere(price) => {
                let price = self.price(below, *price);
                let zones = self.zones.iter().cloned();
                price.map_or_else(Vec::new, |price| zones.map(|zone| (zone, price)).collect())
            }
            ZonePrices::ByZone(by_zone) => {
                let mut result = Vec::with_capacity(by_zone.len());
                for (zone, price) in by_zone {
                    let below = format!("{below}.{zone}");
                    let known = self.known_zone(&below, zone);
                    if let Some(price) = self.price(&below, *price).filter(|_| known) {
                        result.push((zone.clone(), price));
                    }
                }
                result
            }
        }
    }

    fn price(&mut self, below: &str, dollars: f64) -> Option<Price> {
        // Rust writes a float as the shortest decimal that reads back the same, which is what the document says.
        match Price::parse(&dollars.to_string()) {
            Ok(price) => Some(price),
            Err(error) => {
                self.flaw(below, error.to_string());
                None
            }
        }
    }

    fn offering(&mut self, below: &str, entry: &CatalogOffering) -> Option<Offering> {
        let known = self.known_zone(&format!("{below}.zone"), &entry.zone);
        let price = match entry.price {
            None => Some(Price::default()),
            Some(price) => self.price(&format!("{below}.price"), price),
        };
        let limit = match entry.limit.map(u32::try_from) {
            None => None,
            Some(Ok(limit)) => Some(limit),
            Some(Err(_)) => {
                self.flaw(&format!("{below}.limit"), format!("expected 0 to {}", u32::MAX));
                return None;
            }
        };
        let capacity_type = match entry.capacity_type {
            api::CapacityType::OnDemand => CapacityType::OnDemand,
            api::CapacityType::Spot => CapacityType::Spot,
            api::CapacityType::Reserved => CapacityType::Reserved,
        };
        if entry.reservation_id.is_none() {
            let of_reservation = [
                ("endTime", entry.end_time.is_some()),
                ("interruptible", entry.interruptible),
                (
                    "reservationType",
                    entry.reservation_type != api::ReservationType::Default,
                ),
            ];
            for (field, _) in of_reservation.iter().filter(|(_, said)| *said) {
                let what = "belongs to a capacity reservation: reservationID is needed";
                self.flaw(&format!("{below}.{field}"), what);
            }
        } else if capacity_type != CapacityType::Reserved {
            let what = "is of a capacity reservation, so capacityType must be reserved";
            self.flaw(&format!("{below}.reservationID"), what);
        }
        if !known {
            return None;
        }
        let plain = plain_offering(entry.zone.clone(), capacity_type, price?)?;
        Some(Offering {
            available: entry.available,
            limit,
            reservation: entry.reservation_id.as_ref().map(|id| Reservation {
                id: id.clone(),
                kind: reserved::kind(entry.reservation_type),
                interruptible: entry.interruptible,
                ends: entry.end_time.as_ref().map(|time| Timestamp(time.0.as_second())),
            }),
            commitment: entry.commitment.clone(),
            ..plain
        })
    }
}

/// An offering of any number; a price of zero is none, unless a reservation has paid already.
fn plain_offering(zone: String, capacity_type: CapacityType, price: Price) -> Option<Offering> {
    let offered = price.micros() > 0 || capacity_type == CapacityType::Reserved;
    offered.then(|| Offering {
        zone: ZoneName::from(zone),
        zone_id: None,
        capacity_type,
        price,
        available: true,
        limit: None,
        reservation: None,
        commitment: None,
    })
}

/// Local disks, where a document states their label.
fn stated_local_storage(entry: &CatalogInstanceType) -> Option<Amount> {
    let gigabytes = entry.labels.get(&label("instance-local-nvme"))?;
    let gigabytes = gigabytes.parse::<u64>().ok().filter(|gigabytes| *gigabytes > 0)?;
    Some(Amount::new(gigabytes).times(DECIMAL_GB))
}
