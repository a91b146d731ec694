//! What stops a launch although there are nodes that would do: nobody sells one, all that there are of a limited offer are
//! in use, too few different values of a key, or a limit.

use std::collections::{BTreeMap, BTreeSet};

use crate::lower::rules::limits::Allowance;
use crate::lower::rules::offerings::Shared;
use crate::lower::rules::{min_values, subnets};
use crate::model::explain::Constraint;
use crate::model::name::ZoneName;
use crate::model::node_pool::NodePool;
use crate::model::resources::Amount;
use crate::model::snapshot::Snapshot;

use super::{Candidate, Prospect, prospect};

/// Why none of those that would do can be launched now; capacity reservations by name.
pub(super) fn not_on_sale(fitting: &[Candidate<'_>]) -> String {
    let reserved: BTreeSet<String> = fitting.iter().filter_map(|one| reserved(*one)).collect();
    if reserved.is_empty() || fitting.iter().any(|one| one.offering.reservation.is_none()) {
        return "no offering of a type that fits can be launched now".to_owned();
    }
    let reserved: Vec<String> = reserved.into_iter().collect();
    format!("nothing can be launched now into {}", reserved.join(", "))
}

/// The limited offers that would do, where there are no others and nothing is left of any.
pub(super) fn used_up(
    snapshot: &Snapshot,
    buyable: &[Candidate<'_>],
    taken: &BTreeMap<Shared, u64>,
) -> Option<String> {
    const SHOWN: usize = 3;
    let mut said: BTreeMap<Shared, String> = BTreeMap::new();
    for candidate in buyable {
        let shared = Shared::of(candidate.instance_type, candidate.offering)?;
        if said.contains_key(&shared) {
            continue;
        }
        let (number, held) = (shared.number(snapshot), shared.held(snapshot));
        let launched = taken.get(&shared).copied().unwrap_or(0);
        if held.saturating_add(launched) < number {
            return None;
        }
        let what = reserved(*candidate).unwrap_or_else(|| {
            let (name, offering) = (&candidate.instance_type.name, candidate.offering);
            format!("{name} in {} at {}", offering.zone, offering.price)
        });
        said.insert(
            shared,
            format!("{what}: needs 1, 0 left of {number} ({held} on nodes, {launched} launched)"),
        );
    }
    let shown: Vec<&str> = said.values().take(SHOWN).map(String::as_str).collect();
    let more = if said.len() > SHOWN { "; …" } else { "" };
    Some(format!("{}{more}", shown.join("; ")))
}

/// A capacity reservation in words.
fn reserved(candidate: Candidate<'_>) -> Option<String> {
    let id = candidate.offering.reservation_id()?;
    let (name, zone) = (&candidate.instance_type.name, &candidate.offering.zone);
    Some(format!("capacity reservation {id} ({name} in {zone})"))
}

/// The key of which those that would do have fewer different values than minValues ask for.
pub(super) fn too_few_values(
    snapshot: &Snapshot,
    pool: &NodePool,
    buyable: &[Candidate<'_>],
) -> Option<String> {
    const SHOWN: usize = 5;
    let wanted = min_values::wanted(snapshot.min_values_policy, pool);
    wanted.into_iter().find_map(|(key, least)| {
        let values = buyable
            .iter()
            .filter_map(|candidate| value(pool, *candidate, key));
        let there: BTreeSet<String> = values.collect();
        if there.len() >= least {
            return None;
        }
        let zones: BTreeSet<&str> = buyable.iter().map(|one| one.offering.zone.as_str()).collect();
        let zones: Vec<&str> = zones.into_iter().collect();
        let named: Vec<&str> = there.iter().take(SHOWN).map(String::as_str).collect();
        let more = if there.len() > SHOWN { ", …" } else { "" };
        let said = if named.is_empty() {
            String::new()
        } else {
            format!(" ({}{more})", named.join(", "))
        };
        let (left, zones) = (there.len(), zones.join(", "));
        Some(format!(
            "{key}: minValues needs {least} different values, {left} left in {zones}{said}"
        ))
    })
}

/// The limit that stops even the smallest node that would do.
pub(super) fn limited(
    snapshot: &Snapshot,
    pool: &NodePool,
    buyable: &[Candidate<'_>],
    spent: &[u64],
) -> Option<(Constraint, String)> {
    let allowance = Allowance::of(snapshot, pool);
    let left: Vec<u64> = allowance
        .left
        .iter()
        .enumerate()
        .map(|(counter, left)| left.saturating_sub(spent.get(counter).copied().unwrap_or(0)))
        .collect();
    let usages: Vec<Vec<u64>> = buyable
        .iter()
        .map(|candidate| allowance.usage(candidate.instance_type))
        .collect();
    let wanted = min_values::wanted(snapshot.min_values_policy, pool);
    let smallest = |counter: usize| least_of(pool, buyable, &wanted, |at| usages[at][counter]);
    let counter = (0..left.len()).find(|counter| smallest(*counter) > left[*counter])?;
    let detail = match allowance.resource(counter) {
        Some(name) => {
            let text = |amount: u64| Amount::new(amount).display(name.unit()).to_string();
            let limit = pool.limits.resources.get(name);
            format!(
                "{name}: needs {}, {} left of {}",
                text(smallest(counter)),
                text(left[counter]),
                text(limit.get())
            )
        }
        None => {
            let limit = pool.limits.nodes.unwrap_or(0);
            format!("nodes: needs 1, {} left of {limit}", left[counter])
        }
    };
    Some((Constraint::Limit, detail))
}

/// That no subnet has the addresses left that even the smallest node takes: each with what it has.
pub(super) fn no_addresses(
    snapshot: &Snapshot,
    pool: &NodePool,
    buyable: &[Candidate<'_>],
    free: &[u64],
) -> Option<(Constraint, String)> {
    const SHOWN: usize = 6;
    if snapshot.subnets.is_empty() {
        return None;
    }
    let class = snapshot.node_class(pool);
    let of_zone = |zone: &ZoneName| subnets::usable(snapshot, Some(class), zone);
    let need = |candidate: &Candidate<'_>| subnets::needed(snapshot, &candidate.instance_type.capacity);
    let most = |zone: &ZoneName| of_zone(zone).into_iter().map(|subnet| free[subnet]).max();
    let has_some = |candidate: &Candidate<'_>| {
        need(candidate) == 0 || most(&candidate.offering.zone).is_some_and(|most| most >= need(candidate))
    };
    if buyable.iter().any(has_some) {
        return None;
    }
    let least = buyable.iter().map(need).min()?;
    let zones: BTreeSet<&ZoneName> = buyable.iter().map(|candidate| &candidate.offering.zone).collect();
    let mut said: Vec<String> = Vec::new();
    for zone in zones {
        let there = of_zone(zone);
        if there.is_empty() {
            said.push(format!("{zone} has no subnet"));
        }
        let left = |subnet: usize| format!("{} in {zone} has {}", snapshot.subnets[subnet].id, free[subnet]);
        said.extend(there.into_iter().map(left));
    }
    if said.len() > SHOWN {
        said.splice(SHOWN.., [format!("{} more", said.len() - SHOWN)]);
    }
    let detail = format!(
        "a node takes {least} addresses of one subnet, and none has so many left: {}",
        said.join(", ")
    );
    Some((Constraint::Subnet, detail))
}

/// The value that a node to come is certain to have under a key.
fn value(pool: &NodePool, candidate: Candidate<'_>, key: &str) -> Option<String> {
    match prospect(pool, candidate, key) {
        Prospect::Certain(value) => value.map(str::to_owned),
        Prospect::Open(open) => open.single().map(str::to_owned),
    }
}

/// The least usage of a counter such that nodes that take no more have values enough.
fn least_of(
    pool: &NodePool,
    buyable: &[Candidate<'_>],
    wanted: &[(&str, usize)],
    usage: impl Fn(usize) -> u64,
) -> u64 {
    let mut by_usage: Vec<(u64, usize)> = (0..buyable.len()).map(|at| (usage(at), at)).collect();
    by_usage.sort_unstable();
    let mut there: Vec<BTreeSet<String>> = vec![BTreeSet::new(); wanted.len()];
    for (usage, at) in &by_usage {
        for (values, (key, _)) in there.iter_mut().zip(wanted) {
            values.extend(value(pool, buyable[*at], key));
        }
        let mut keys = there.iter().zip(wanted);
        if keys.all(|(values, (_, least))| values.len() >= *least) {
            return *usage;
        }
    }
    by_usage.last().map_or(0, |(usage, _)| *usage)
}
