//! Host ports: at most one pod a node has a port, pods that are there and those of its DaemonSets counted.
//!
//! Two ports clash if number and protocol are equal, and the address is, or either has all. So the pods with a port on
//! all addresses and those with it on one address are a class, one a node, for each address.

use std::collections::{BTreeMap, BTreeSet};

use fixedbitset::FixedBitSet;

use crate::lower::compile::Context;
use crate::lower::side::{Cap, Excess, SideRows};
use crate::model::pod::{DaemonSet, PodSpec};
use crate::model::rules::{HostPort, Protocol};

/// Who has a port: groups by the address, `None` being all of them.
type Users = BTreeMap<Option<String>, FixedBitSet>;

/// A port for which pods can't be on one node with a DaemonSet's.
#[must_use]
pub fn clash<'s>(spec: &'s PodSpec, daemon_set: &DaemonSet) -> Option<&'s HostPort> {
    let others = &daemon_set.spec.rules.host_ports;
    let mut ports = spec.rules.host_ports.iter();
    ports.find(|port| others.iter().any(|other| port.clashes_with(other)))
}

/// Adds the rows.
pub fn compile(context: &Context<'_, '_>, side: &mut SideRows) {
    let mut users: BTreeMap<(u16, Protocol), Users> = BTreeMap::new();
    for group in 0..context.groups() {
        for port in &context.spec(group).rules.host_ports {
            let by_address = users.entry((port.number, port.protocol)).or_default();
            let groups = by_address.entry(port.address.clone());
            groups.or_insert_with(|| context.no_groups()).insert(group);
        }
    }
    if users.is_empty() {
        return;
    }
    let mut taken: BTreeMap<(u16, Protocol), Vec<(usize, &HostPort)>> = BTreeMap::new();
    for (node, port) in context.running.ports() {
        if let Some(room) = context.room_of(node) {
            taken
                .entry((port.number, port.protocol))
                .or_default()
                .push((room, port));
        }
    }
    for (port, by_address) in users {
        let taken = taken.remove(&port).unwrap_or_default();
        add_classes(context, &by_address, &taken, side);
    }
}

fn add_classes(context: &Context<'_, '_>, users: &Users, taken: &[(usize, &HostPort)], side: &mut SideRows) {
    let everywhere = users.get(&None);
    let of_taken = taken.iter().filter_map(|(_, port)| port.address.as_ref());
    let of_taken = of_taken.filter(|_| everywhere.is_some());
    let addresses: BTreeSet<&String> = users.keys().flatten().chain(of_taken).collect();
    let mut classes: Vec<Option<&String>> = addresses.into_iter().map(Some).collect();
    if classes.is_empty() {
        classes.push(None);
    }
    for address in classes {
        let mut groups = everywhere.cloned().unwrap_or_else(|| context.no_groups());
        if let Some(own) = address.and_then(|address| users.get(&Some(address.clone()))) {
            groups.union_with(own);
        }
        let clashes =
            |port: &HostPort| address.is_none() || port.address.is_none() || port.address.as_ref() == address;
        let there = taken.iter().filter(|(_, port)| clashes(port));
        side.caps.push(Cap {
            groups,
            most: 1,
            there: there.map(|(room, _)| (*room, 1)).collect(),
            excess: Excess::Forbidden,
        });
    }
}
