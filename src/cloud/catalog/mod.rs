//! The catalogue: every instance type with its sizes, zones and prices, built in or from a Catalog document.
//!
//! Promises: offline and without a clock, so the same input gives the same catalogue; a type has an offering only where a
//! price is known; spot prices of the built-in catalogue are estimates and said to be so
//! ([`Catalogue::spot_is_estimated`]). Not here: NodePools, limits, which offering is taken. Prices are dollars per hour.
//! What the built-in data is and where it comes from: `data/ORIGIN.md`.

mod class;
mod data;
mod derived;
mod document;
mod kubelet;
mod machine;
mod reserved;
mod shape;
mod sizes;
#[cfg(test)]
mod tests;
mod volumes;

use dovetail_solver::model::instance_type::InstanceType;
use dovetail_solver::model::money::Price;
use dovetail_solver::model::name::ZoneName;
use dovetail_solver::model::offering::{CapacityType, Offering, Reservation};
use thiserror::Error;

pub use class::{ClassError, ClassSettings, Disk, Needs, Volume};
pub use data::{PriceSource, SpotAdvice};
pub use document::Flaw;
pub use kubelet::{Kubelet, Threshold};
use machine::Machine;
pub(crate) use reserved::kind as reservation_type;
pub use volumes::price_of_volumes;

/// Every instance type that can be launched in a region.
#[derive(Clone, Debug)]
pub struct Catalogue {
    region: String,
    zones: Vec<Zone>,
    /// In order of name.
    machines: Vec<Machine>,
    subnets: Vec<Subnet>,
    addresses_per_node: Option<u64>,
    spot_is_estimated: bool,
}

/// An availability zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Its name, which another account may use for another place.
    pub name: ZoneName,
    /// Its account-independent id, where known. The built-in catalogue pairs names and ids in their order, which holds
    /// in no particular account: a node class that lists its subnets' zones knows better, and its ids are taken.
    pub id: Option<String>,
}

/// A subnet of a Catalog document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subnet {
    /// Its id.
    pub id: String,
    /// Its zone.
    pub zone: ZoneName,
    /// Addresses that nobody uses.
    pub free_addresses: u64,
}

/// Why there is no catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CatalogueError {
    /// A region that isn't built in.
    #[error("no built-in catalogue of region \"{region}\" (known: {})", known.join(", "))]
    UnknownRegion {
        /// What was asked for.
        region: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A Catalog document that makes no sense.
    #[error("Catalog {name}: {}", document::list(flaws))]
    Document {
        /// The document's name.
        name: String,
        /// All that is wrong with it.
        flaws: Vec<Flaw>,
    },
}

impl Catalogue {
    /// The built-in catalogue of a region.
    ///
    /// # Errors
    /// An unknown region; the error lists the known ones.
    pub fn built_in(region: &str) -> Result<Self, CatalogueError> {
        let Some(data::Region { zones, sales }) = data::region(region) else {
            return Err(CatalogueError::UnknownRegion {
                region: region.to_owned(),
                known: data::regions(),
            });
        };
        let zones: Vec<Zone> = zones
            .into_iter()
            .map(|(name, id)| Zone {
                name: ZoneName::from(name),
                id: Some(id),
            })
            .collect();
        let sale = |name: &str| sales.binary_search_by(|sale| sale.instance_type.as_str().cmp(name));
        let machines = data::shapes(|name| sale(name).is_ok())
            .into_iter()
            .filter_map(|shape| {
                let index = sale(&shape.name).ok()?;
                Some(Machine::built_in(region, &zones, shape, &sales[index]))
            })
            .collect();
        Ok(Self {
            region: region.to_owned(),
            zones,
            machines,
            subnets: Vec::new(),
            addresses_per_node: None,
            spot_is_estimated: true,
        })
    }

    /// The catalogue that a document gives.
    ///
    /// # Errors
    /// All that is wrong with it, each with its instance type and path.
    pub fn from_document(document: &crate::api::Catalog) -> Result<Self, CatalogueError> {
        document::read(document)
    }

    /// The regions that are built in, sorted.
    #[must_use]
    pub fn known_regions() -> Vec<String> {
        data::regions()
    }

    /// Its region.
    #[must_use]
    pub fn region(&self) -> &str {
        &self.region
    }

    /// The region's zones, in order.
    pub fn zones(&self) -> impl Iterator<Item = &Zone> {
        self.zones.iter()
    }

    /// Whether spot prices are estimated from the advisor's mean savings rather than known.
    #[must_use]
    pub fn spot_is_estimated(&self) -> bool {
        self.spot_is_estimated
    }

    /// The names of its instance types, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.machines.iter().map(|machine| machine.name.as_str())
    }

    /// All instance types as a node class sees them, in order of name.
    ///
    /// Those that the class can't use are there too, with no offering available.
    #[must_use]
    pub fn instance_types(&self, class: &ClassSettings) -> Vec<InstanceType> {
        self.machines.iter().map(|machine| machine.under(class)).collect()
    }

    /// One instance type as a node class sees it.
    #[must_use]
    pub fn instance_type(&self, name: &str, class: &ClassSettings) -> Option<InstanceType> {
        self.machine(name).map(|machine| machine.under(class))
    }

    /// How many EBS volumes pods may attach to a node of this type; `None` where nothing is known of it.
    #[must_use]
    pub fn attachable_volumes(&self, instance_type: &str, class: &ClassSettings) -> Option<u64> {
        sizes::attachable_volumes(self.machine(instance_type)?, class)
    }

    /// What a node of this type costs: the cheapest price that any number can have, else the cheapest of all.
    ///
    /// An existing node costs this whether or not another one could be launched now. Where some are cheaper
    /// ([`Offering::limit`]), [`Catalogue::offers`] has all prices.
    #[must_use]
    pub fn price_of(&self, instance_type: &str, zone: &str, capacity_type: CapacityType) -> Option<Price> {
        let offers = self.offers(instance_type, zone, capacity_type);
        let unlimited = offers.iter().find(|offer| offer.limit.is_none());
        unlimited.or(offers.first()).map(|offer| offer.price)
    }

    /// All offerings of a type in a zone under a capacity type, cheapest first, unavailable ones too.
    #[must_use]
    pub fn offers(&self, instance_type: &str, zone: &str, capacity_type: CapacityType) -> Vec<&Offering> {
        let offerings = self
            .machine(instance_type)
            .map_or(&[][..], |machine| machine.offerings.as_slice());
        offerings
            .iter()
            .filter(|offering| offering.zone.as_str() == zone && offering.capacity_type == capacity_type)
            .collect()
    }

    /// Offerings that are limited in number, each with the name of its instance type.
    pub fn limited(&self) -> impl Iterator<Item = (&str, &Offering)> {
        self.machines.iter().flat_map(|machine| {
            let limited = machine
                .offerings
                .iter()
                .filter(|offering| offering.limit.is_some());
            limited.map(|offering| (machine.name.as_str(), offering))
        })
    }

    /// The capacity reservations that it knows of, each with its instance type and offering.
    pub fn reservations(&self) -> impl Iterator<Item = (&Reservation, &str, &Offering)> {
        self.machines.iter().flat_map(|machine| {
            let offerings = machine.offerings.iter();
            let of = |offering: &Offering| offering.reservation.is_some();
            let reserved = offerings.filter(move |offering| of(offering));
            reserved.filter_map(|offering| {
                Some((offering.reservation.as_ref()?, machine.name.as_str(), offering))
            })
        })
    }

    /// How the on-demand price of a built-in type is known.
    #[must_use]
    pub fn price_source(&self, instance_type: &str) -> Option<PriceSource> {
        self.machine(instance_type)?.price_source
    }

    /// What the spot estimate of a built-in type is made from.
    #[must_use]
    pub fn spot_advice(&self, instance_type: &str) -> Option<SpotAdvice> {
        self.machine(instance_type)?.spot_advice
    }

    /// Subnets, where a document lists them: then every launch takes its addresses from one of its zone.
    #[must_use]
    pub fn subnets(&self) -> &[Subnet] {
        &self.subnets
    }

    /// How many addresses a node takes when it starts; `None`: as many as it has pod slots.
    #[must_use]
    pub fn addresses_per_node(&self) -> Option<u64> {
        self.addresses_per_node
    }

    fn machine(&self, name: &str) -> Option<&Machine> {
        self.machines
            .binary_search_by(|machine| machine.name.as_str().cmp(name))
            .ok()
            .map(|index| &self.machines[index])
    }
}
