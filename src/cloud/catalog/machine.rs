//! An instance type before a node class is applied: labels, raw size, offers.
//!
//! Built-in types and those of a Catalog document are the same thing from here on.

use std::collections::BTreeMap;

use dovetail_solver::model::instance_type::InstanceType;
use dovetail_solver::model::money::Price;
use dovetail_solver::model::name::InstanceTypeName;
use dovetail_solver::model::offering::{CapacityType, Offering};
use dovetail_solver::model::requirement::{Labels, ValueSet};
use dovetail_solver::model::resources::{Amount, Resources};

use super::Zone;
use super::class::{ClassSettings, windows_build};
use super::data::{PriceSource, Sale, SpotAdvice};
use super::shape::{Facts, HYPERVISOR, Shape};
use super::sizes::{Sizes, sizes};
use crate::api::{AmiFamily, labels};

/// Whether a machine stands on hardware of its own; a launch takes one of the two.
const TENANCY: &str = "karpenter.k8s.aws/instance-tenancy";

/// An instance type as the catalogue has it.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    /// Its name.
    pub(super) name: InstanceTypeName,
    /// Labels, without the operating system, which is the class's, unless a document states it.
    pub(super) labels: Labels,
    /// As reported by EC2 or stated.
    pub(super) capacity: Resources,
    /// Stated in a Catalog document.
    pub(super) stated_allocatable: Option<Resources>,
    /// Where its pod slots come from.
    pub(super) density: Density,
    /// All local disks together.
    pub(super) local_storage: Option<Amount>,
    /// What EC2 says of it, where it is one of EC2's.
    pub(super) facts: Option<Facts>,
    /// From the built-in table rather than a document.
    pub(super) is_built_in: bool,
    /// How it is sold, ordered by zone, capacity type and price.
    pub(super) offerings: Vec<Offering>,
    /// How its on-demand price is known, where that is built in.
    pub(super) price_source: Option<PriceSource>,
    /// How often a spot node of it is taken back.
    pub(super) interruptions_per_million_hours: u32,
    /// What the spot estimate is made from.
    pub(super) spot_advice: Option<SpotAdvice>,
}

/// Where the number of pod slots comes from, unless the class sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Density {
    /// From a Catalog document's capacity.
    Stated(u64),
    /// From the network interfaces; the kubelet's default where nothing is known of those.
    Interfaces,
}

impl Machine {
    /// A built-in type in its region.
    pub(super) fn built_in(region: &str, zones: &[Zone], shape: Shape, sale: &Sale) -> Self {
        let mut labels = shape.labels;
        labels.insert(labels::REGION.to_owned(), region.to_owned());
        let prices = [
            (
                CapacityType::Spot,
                sale.spot.map(|advice| spot_estimate(sale.on_demand, advice)),
            ),
            (CapacityType::OnDemand, Some(sale.on_demand)),
        ];
        let sold_in = |zone: &&Zone| {
            let letter = zone.name.as_str().strip_prefix(region);
            letter.is_some_and(|letter| sale.zone_letters.contains(letter))
        };
        let mut offerings = Vec::with_capacity(2 * zones.len());
        for zone in zones.iter().filter(sold_in) {
            for (capacity_type, price) in prices {
                let Some(price) = price.filter(|price| price.micros() > 0) else {
                    continue;
                };
                offerings.push(Offering {
                    zone: zone.name.clone(),
                    zone_id: zone.id.clone(),
                    capacity_type,
                    price,
                    available: true,
                    limit: None,
                    reservation: None,
                    commitment: None,
                });
            }
        }
        sort_offerings(&mut offerings);
        Self {
            name: InstanceTypeName::from(shape.name),
            labels,
            capacity: shape.capacity,
            stated_allocatable: None,
            density: Density::Interfaces,
            local_storage: shape.facts.local_storage,
            facts: Some(shape.facts),
            is_built_in: true,
            offerings,
            price_source: Some(sale.source),
            interruptions_per_million_hours: sale.spot.map_or(0, SpotAdvice::interruptions_per_million_hours),
            spot_advice: sale.spot,
        }
    }

    /// Whether its processors are arm64.
    pub(super) fn is_arm(&self) -> bool {
        self.labels.get(labels::ARCH).is_some_and(|arch| arch == "arm64")
    }

    /// As a node class sees it.
    pub(super) fn under(&self, class: &ClassSettings) -> InstanceType {
        let Sizes {
            capacity,
            allocatable,
        } = sizes(self, class);
        let labels = self.labels_under(class);
        let usable = self.suits(class) && runs_an_image(class, &labels);
        let offerings = self
            .offerings
            .iter()
            .map(|offering| offering_under(class, offering, usable))
            .collect();
        let mut choices = BTreeMap::new();
        if !labels.contains_key(TENANCY) {
            let tenancies = ["default", "dedicated"].map(str::to_owned);
            choices.insert(TENANCY.to_owned(), ValueSet::one_of(tenancies));
        }
        InstanceType {
            interruptions_per_million_hours: self.interruptions_per_million_hours,
            name: self.name.clone(),
            labels,
            choices,
            capacity,
            allocatable,
            offerings,
        }
    }

    fn labels_under(&self, class: &ClassSettings) -> Labels {
        let mut labels = self.labels.clone();
        if labels.contains_key(labels::OS) {
            return labels;
        }
        match windows_build(class.ami_family) {
            None => {
                labels.insert(labels::OS.to_owned(), "linux".to_owned());
            }
            // There is no Windows for arm64: such a machine gets no operating system, so no pod selects it.
            Some(_) if self.is_arm() => {}
            Some(build) => {
                labels.insert(labels::OS.to_owned(), "windows".to_owned());
                labels.insert(labels::WINDOWS_BUILD.to_owned(), build.to_owned());
            }
        }
        labels
    }

    /// Whether it has all that the class asks of it. Of a type that EC2 doesn't know nothing is refused.
    fn suits(&self, class: &ClassSettings) -> bool {
        let first_graviton = self.name.as_str().starts_with("a1.");
        if first_graviton && class.ami_family == AmiFamily::AL2023 {
            // AL2023 needs a later arm64 than the first one EC2 had.
            return false;
        }
        let Some(facts) = &self.facts else {
            return true;
        };
        let needs = class.needs;
        let nitro = self
            .labels
            .get(HYPERVISOR)
            .is_none_or(|hypervisor| hypervisor == "nitro");
        (!needs.enclaves || facts.enclaves)
            && (!needs.nested_virtualization || facts.nested_virtualization)
            && (!needs.connection_tracking || nitro)
            && takes_interfaces(facts, class)
    }
}

/// Whether a machine has the cards and places for the class's interfaces.
fn takes_interfaces(facts: &Facts, class: &ClassSettings) -> bool {
    if class.network_interfaces.is_empty() {
        return true;
    }
    let placed = class.network_interfaces.iter().all(|interface| {
        let card = usize::try_from(interface.network_card_index)
            .ok()
            .and_then(|card| facts.card_interfaces.get(card));
        card.is_some_and(|most| u32::try_from(interface.device_index).is_ok_and(|index| index < *most))
    });
    facts.ena && placed && class.efa_only_interfaces(None) <= facts.efa
}

/// Whether one of the class's images runs on a machine with these labels.
fn runs_an_image(class: &ClassSettings, labels: &Labels) -> bool {
    class.images.is_empty() || class.images.iter().any(|image| image.admits(labels))
}

fn offering_under(class: &ClassSettings, offering: &Offering, usable: bool) -> Offering {
    let mut offering = offering.clone();
    offering.available &= usable;
    if let Some(zones) = &class.zones {
        match zones.get(&offering.zone) {
            None => offering.available = false,
            // The account's own mapping of names to ids beats any other.
            Some(Some(id)) => offering.zone_id = Some(id.clone()),
            Some(None) => {}
        }
    }
    offering
}

/// By zone, capacity type and price, as the model promises.
pub(super) fn sort_offerings(offerings: &mut [Offering]) {
    let key = |offering: &Offering| (offering.capacity_type, offering.price);
    offerings.sort_by(|one, two| {
        let by_zone = one.zone.cmp(&two.zone);
        by_zone
            .then_with(|| key(one).cmp(&key(two)))
            .then_with(|| one.cmp(two))
    });
}

/// The on-demand price less the advisor's savings, to the nearest micro-dollar.
fn spot_estimate(on_demand: Price, advice: SpotAdvice) -> Price {
    let left = 100 - u64::from(advice.savings_percent.min(100));
    Price::from_micros((on_demand.micros() * left + 50) / 100)
}
