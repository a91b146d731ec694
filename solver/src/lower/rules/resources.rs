//! Resources: what pods ask for must fit what a node has, pod slots and extended resources included.
//!
//! Amounts become rows of integers, one column for each resource that some pod or DaemonSet asks for. What nobody
//! asks for can't run out.

use std::collections::BTreeSet;

use crate::model::resources::{ResourceName, Resources};

/// The column of CPU.
pub const CPU: usize = 0;
/// The column of memory.
pub const MEMORY: usize = 1;

/// The resources that any of these requests names with more than zero, in the order of display. CPU and memory are
/// always there: orders of pods begin with them.
#[must_use]
pub fn columns<'a>(requests: impl Iterator<Item = &'a Resources>) -> Vec<ResourceName> {
    let mut names = BTreeSet::from([ResourceName::Cpu, ResourceName::Memory]);
    for request in requests {
        for (name, amount) in request.iter() {
            if amount.get() > 0 && !names.contains(name) {
                names.insert(name.clone());
            }
        }
    }
    names.into_iter().collect()
}

/// Amounts as a row over the columns.
#[must_use]
pub fn row(columns: &[ResourceName], amounts: &Resources) -> Vec<u64> {
    columns.iter().map(|name| amounts.get(name).get()).collect()
}

/// Whether a request fits into a room.
#[must_use]
pub fn fits(request: &[u64], room: &[u64]) -> bool {
    request.iter().zip(room).all(|(request, room)| request <= room)
}

/// How many times a request fits into a room; the largest count for a request of nothing.
#[must_use]
pub fn copies(request: &[u64], room: &[u64]) -> u64 {
    // Most questions are answered by comparing; divisions are dear.
    if !fits(request, room) {
        return 0;
    }
    request
        .iter()
        .zip(room)
        .filter(|(request, _)| **request > 0)
        .map(|(request, room)| room / request)
        .min()
        .unwrap_or(u64::MAX)
}

/// Takes a request out of a room that has it.
pub fn take(room: &mut [u64], request: &[u64], count: u64) {
    for (room, request) in room.iter_mut().zip(request) {
        *room -= request * count;
    }
}

/// Gives a request back to a room.
pub fn give(room: &mut [u64], request: &[u64], count: u64) {
    for (room, request) in room.iter_mut().zip(request) {
        *room += request * count;
    }
}
