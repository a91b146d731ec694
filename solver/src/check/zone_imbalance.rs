//! Zone imbalance in money: vCPUs by which the fullest zone of a NodePool exceeds its emptiest, in micro-dollars per hour. A
//! part of `cost.objective`, never a violation.
//!
//! A pool's zones are those in which it could launch a node now, one of any type, whatever its limits. What counts is the
//! CPU of the machines, not what is allocatable: of nodes of the pool that stay, and of launches as their first choice.
//! Each pool rounds to the nearest micro-dollar, halves up.

use std::collections::BTreeMap;

use crate::model::instance_type::ZONE_LABEL;
use crate::model::node_pool::NodePool;
use crate::model::plan::{NodeAction, PlanBody};
use crate::model::resources::ResourceName;

use super::launchable::Launchable;
use super::launches::Launches;
use super::world::World;

/// Of all pools.
pub(super) fn uneven(world: &World<'_>, plan: &PlanBody, launches: &Launches<'_>) -> i128 {
    let snapshot = world.snapshot;
    let dollars = |pool: &NodePool| snapshot.objective.weights(Some(&pool.name)).zone_imbalance;
    let pools = snapshot.node_pools.iter().enumerate();
    let weighed: Vec<(usize, &NodePool)> = pools.filter(|(_, pool)| dollars(pool).micros() > 0).collect();
    if weighed.is_empty() {
        return 0;
    }
    let launchable = Launchable::under_any_labels(snapshot, [ZONE_LABEL], []);
    let of_pool = |(at, pool): (usize, &NodePool)| {
        let zones = launchable.values_of_pool(at, ZONE_LABEL);
        let mut cpus: BTreeMap<&str, u128> = zones.into_iter().map(|zone| (zone, 0)).collect();
        add_nodes(world, plan, pool, &mut cpus);
        add_launches(launches, pool, &mut cpus);
        let ends = cpus.values().max().zip(cpus.values().min());
        let milli = ends.map_or(0, |(most, least)| most - least);
        let twice = milli
            .saturating_mul(u128::from(dollars(pool).micros()))
            .saturating_mul(2);
        i128::try_from(twice.saturating_add(1_000) / 2_000).unwrap_or(i128::MAX)
    };
    weighed.into_iter().map(of_pool).fold(0, i128::saturating_add)
}

fn add_nodes(world: &World<'_>, plan: &PlanBody, pool: &NodePool, cpus: &mut BTreeMap<&str, u128>) {
    let leaves = plan.nodes.iter().filter(|entry| entry.action != NodeAction::Keep);
    let leaves: Vec<usize> = leaves.filter_map(|entry| world.node(&entry.name)).collect();
    for (at, node) in world.snapshot.nodes.iter().enumerate() {
        let is_own = node.node_pool.as_ref() == Some(&pool.name);
        let zone = node.labels.get(ZONE_LABEL).map_or("", String::as_str);
        if is_own
            && !node.deleting
            && !leaves.contains(&at)
            && let Some(cpu) = cpus.get_mut(zone)
        {
            let milli = node.capacity.get(&ResourceName::Cpu).get();
            *cpu += u128::from(milli);
        }
    }
}

fn add_launches(launches: &Launches<'_>, pool: &NodePool, cpus: &mut BTreeMap<&str, u128>) {
    for filling in launches
        .fillings
        .iter()
        .filter(|filling| filling.pool.name == pool.name)
    {
        let Some(prospect) = launches.prospect(&filling.first) else {
            continue;
        };
        if let Some(cpu) = cpus.get_mut(prospect.offering.zone.as_str()) {
            let milli = prospect.instance_type.capacity.get(&ResourceName::Cpu).get();
            *cpu += u128::from(milli) * u128::try_from(filling.count).unwrap_or(u128::MAX);
        }
    }
}
