//! Subnets: wherever each launch may come to be, its addresses are free in one subnet of that zone.
//!
//! Each zone is judged as if all launches that name it, as first choice or as alternative, went there, each with the
//! offer that takes most. Nodes on their way are counted as if they had taken nothing yet. The largest go to the first
//! subnet that has room for them; launches that find none this way are too many.

use std::collections::BTreeMap;

use crate::model::instance_type::ZONE_LABEL;
use crate::model::name::ZoneName;
use crate::model::node::NodeStage;
use crate::model::resources::{ResourceName, Resources};
use crate::model::snapshot::Snapshot;

use super::launches::{Launches, Offer};
use super::world::World;
use super::{Rule, Violations};

/// Addresses that a node takes.
fn needed(snapshot: &Snapshot, capacity: &Resources) -> u64 {
    match snapshot.addresses_per_node {
        Some(addresses) => addresses,
        None => capacity.get(&ResourceName::Pods).get(),
    }
}

pub(super) fn check(world: &World<'_>, launches: &Launches<'_>, found: &mut Violations) {
    let snapshot = world.snapshot;
    if snapshot.subnets.is_empty() {
        return;
    }
    let mut of_lists: BTreeMap<usize, BTreeMap<&ZoneName, u64>> = BTreeMap::new();
    // By zone: how many launches by what each takes.
    let mut asked: BTreeMap<&ZoneName, BTreeMap<u64, u64>> = BTreeMap::new();
    for filling in &launches.fillings {
        let list = of_lists.entry(filling.list).or_insert_with(|| {
            let mut most = BTreeMap::new();
            for offer in &launches.lists[filling.list].offers {
                note(snapshot, launches, offer, &mut most);
            }
            most
        });
        let mut most = list.clone();
        note(snapshot, launches, &filling.first, &mut most);
        for (zone, need) in most {
            let count = u64::try_from(filling.count).unwrap_or(u64::MAX);
            let sum = asked.entry(zone).or_default().entry(need).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    for node in snapshot
        .nodes
        .iter()
        .filter(|node| node.stage == NodeStage::InFlight)
    {
        let zone = node.labels.get(ZONE_LABEL);
        if let Some(needs) = zone.and_then(|zone| asked.get_mut(&ZoneName::from(zone.as_str()))) {
            *needs.entry(needed(snapshot, &node.capacity)).or_default() += 1;
        }
    }
    for (zone, needs) in asked {
        let homeless = homeless(snapshot, zone, &needs);
        if homeless > 0 {
            let all = needs
                .values()
                .fold(0_u64, |sum, count| sum.saturating_add(*count));
            let detail =
                format!("of {all} nodes that may come, {homeless} find no subnet with free addresses");
            found.add(Rule::Subnets, format!("zone {zone}"), detail);
        }
    }
}

/// Raises what a launch takes in the zone of an offer to what this offer takes.
fn note<'s>(
    snapshot: &Snapshot,
    launches: &'s Launches<'_>,
    offer: &Offer<'_>,
    most: &mut BTreeMap<&'s ZoneName, u64>,
) {
    if let Some(prospect) = launches.prospect(offer) {
        let need = needed(snapshot, &prospect.instance_type.capacity);
        let slot = most.entry(&prospect.offering.zone).or_default();
        *slot = need.max(*slot);
    }
}

/// How many of these nodes find no subnet in the zone.
fn homeless(snapshot: &Snapshot, zone: &ZoneName, needs: &BTreeMap<u64, u64>) -> u64 {
    let own = snapshot.subnets.iter().filter(|subnet| subnet.zone == *zone);
    let mut free: Vec<u64> = own.map(|subnet| subnet.free_addresses).collect();
    let mut homeless = 0_u64;
    for (need, count) in needs.iter().rev().filter(|(need, _)| **need > 0) {
        let mut left = *count;
        for free in &mut free {
            let here = left.min(*free / need);
            *free -= here * need;
            left -= here;
        }
        homeless = homeless.saturating_add(left);
    }
    homeless
}
