//! What minValues of a NodePool and the Catalog's subnets leave, read once more.

use std::collections::BTreeSet;

use serde_json::Value;

use super::input::{Input, list, text};
use super::machine::{Offer, node_labels};

/// Whether these offers have as many different values together as the NodePool's minValues ask for.
pub(crate) fn has_enough_values(input: &Input, pool: &Value, offers: &[Offer]) -> bool {
    list(pool, "/spec/template/spec/requirements")
        .iter()
        .all(|requirement| {
            let key = text(requirement, "/key");
            let labels = offers.iter().map(|offer| node_labels(input, pool, offer));
            let values: BTreeSet<String> = labels.filter_map(|mut labels| labels.remove(key)).collect();
            let least = requirement["minValues"].as_u64().unwrap_or(0);
            values.len() as u64 >= least
        })
}

/// Nodes that a zone's subnets have addresses for, where a Catalog lists subnets and says what a node takes.
pub(crate) fn nodes_with_addresses(input: &Input, zone: &str) -> Option<u64> {
    let catalog = input.kind("Catalog").next()?;
    let subnets = list(catalog, "/spec/subnets");
    let each = catalog.pointer("/spec/addressesPerNode")?.as_u64()?;
    if subnets.is_empty() || each == 0 {
        return None;
    }
    let own = subnets.iter().filter(|subnet| text(subnet, "/zone") == zone);
    Some(
        own.map(|subnet| subnet["freeAddresses"].as_u64().unwrap_or(0) / each)
            .sum(),
    )
}
