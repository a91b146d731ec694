//! Addresses of the Catalog's subnets, counted from the documents alone.

use std::collections::BTreeMap;

use serde_json::Value;

use super::input::{Input, list, text};
use super::machine::{Offer, instance_type, node_class};

/// The Catalog's subnets; none where it lists none.
fn subnets(input: &Input) -> &[Value] {
    input
        .kind("Catalog")
        .next()
        .map_or(&[], |catalog| list(catalog, "/spec/subnets"))
}

/// What a node of a type takes: what the Catalog says, or one for each pod slot.
fn needed(input: &Input, name: &str) -> u64 {
    let said = input.kind("Catalog").next();
    let said = said.and_then(|catalog| catalog.pointer("/spec/addressesPerNode")?.as_u64());
    said.unwrap_or_else(|| {
        let slots = instance_type(input, name).and_then(|found| found.pointer("/capacity/pods").cloned());
        slots
            .and_then(|slots| slots.as_u64().or_else(|| slots.as_str()?.parse().ok()))
            .unwrap_or(0)
    })
}

/// Whether a pool's class may use a subnet: one of its own, or any where the Catalog knows none of those.
fn is_own(input: &Input, pool: &Value, id: &str) -> bool {
    let known = |id: &str| subnets(input).iter().any(|subnet| text(subnet, "/id") == id);
    let own: Vec<&str> = list(node_class(input, pool), "/status/subnets")
        .iter()
        .map(|subnet| text(subnet, "/id"))
        .filter(|id| known(id))
        .collect();
    own.is_empty() || own.contains(&id)
}

fn free(subnet: &Value) -> u64 {
    subnet["freeAddresses"].as_u64().unwrap_or(0)
}

/// A launch as first choice and alternatives.
fn offers(launch: &Value) -> impl Iterator<Item = &Value> {
    std::iter::once(launch).chain(list(launch, "/alternatives"))
}

/// What is wrong with where the launches of a plan, and all that may stand in for them, take their addresses.
pub(crate) fn findings(input: &Input, plan: &Value, found: &mut Vec<String>) {
    let launches = list(plan, "/launch");
    // By subnet what all launches may take there; by zone how many may go where no subnet is named.
    let mut taken: BTreeMap<&str, u64> = BTreeMap::new();
    let mut unnamed: BTreeMap<&str, u64> = BTreeMap::new();
    for launch in launches {
        let pool = input
            .kind("NodePool")
            .find(|pool| pool.pointer("/metadata/name") == launch.pointer("/nodePool"));
        let (mut named, mut zones): (BTreeMap<&str, u64>, BTreeMap<&str, bool>) = Default::default();
        for offer in offers(launch) {
            let (zone, id) = (text(offer, "/zone"), text(offer, "/subnet"));
            let need = needed(input, text(offer, "/instanceType"));
            let here = |subnet: &&Value| {
                text(subnet, "/zone") == zone
                    && pool.is_some_and(|pool| is_own(input, pool, text(subnet, "/id")))
            };
            let mut own = subnets(input).iter().filter(here);
            if id.is_empty() {
                if !subnets(input).is_empty() && !own.any(|subnet| free(subnet) >= need) {
                    found.push(format!("no subnet of {zone} has addresses for {launch}"));
                }
                zones.insert(zone, true);
            } else {
                if !own.any(|subnet| text(subnet, "/id") == id) {
                    found.push(format!("{id} in {zone} isn't for {launch}"));
                }
                let slot = named.entry(id).or_default();
                *slot = need.max(*slot);
            }
        }
        named
            .into_iter()
            .for_each(|(id, need)| *taken.entry(id).or_default() += need);
        zones
            .into_keys()
            .for_each(|zone| *unnamed.entry(zone).or_default() += 1);
    }
    for subnet in subnets(input) {
        let taken = taken.get(text(subnet, "/id")).copied().unwrap_or(0);
        if taken > free(subnet) {
            found.push(format!("{taken} addresses may be taken of {subnet}"));
        }
    }
    let most = launches.iter().flat_map(offers);
    let most = most
        .map(|offer| needed(input, text(offer, "/instanceType")))
        .max();
    for (zone, launches) in unnamed {
        let here = subnets(input)
            .iter()
            .filter(|subnet| text(subnet, "/zone") == zone);
        let nodes: u64 = here.map(|subnet| free(subnet) / most.unwrap_or(1).max(1)).sum();
        if !subnets(input).is_empty() && nodes < launches {
            found.push(format!(
                "{launches} nodes may come to {zone}, it has addresses for {nodes}"
            ));
        }
    }
}

/// Whether the launches of a plan leave addresses for one more node.
pub(crate) fn are_left(input: &Input, plan: &Value, pool: &Value, offer: &Offer) -> bool {
    if subnets(input).is_empty() {
        return true;
    }
    let need = needed(input, &offer.instance_type);
    subnets(input).iter().any(|subnet| {
        let id = text(subnet, "/id");
        let there = list(plan, "/launch").iter();
        let there = there.filter(|launch| text(launch, "/subnet") == id);
        let taken: u64 = there
            .map(|launch| needed(input, text(launch, "/instanceType")))
            .sum();
        text(subnet, "/zone") == offer.zone
            && is_own(input, pool, id)
            && free(subnet).saturating_sub(taken) >= need
    })
}
