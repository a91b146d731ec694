//! Limits of NodePools hold for raw capacity and node counts, existing and in-flight nodes counted, whichever of its
//! offers each launch gets.
//!
//! A limit that is exceeded already is no fault of a plan that adds nothing to it.

use crate::model::resources::ResourceName;

use super::launches::{Filling, Launches};
use super::world::World;
use super::{Rule, Violations};

pub(super) fn check(world: &World<'_>, launches: &Launches<'_>, found: &mut Violations) {
    for pool in &world.snapshot.node_pools {
        let of_pool = || {
            launches
                .fillings
                .iter()
                .filter(|filling| filling.pool.name == pool.name)
        };
        let existing = || {
            let nodes = world.snapshot.nodes.iter();
            nodes.filter(|node| node.node_pool.as_ref() == Some(&pool.name))
        };
        let launched: usize = of_pool().map(|filling| filling.count).sum();
        if launched == 0 {
            continue;
        }
        let subject = format!("node pool {}", pool.name);
        if let Some(limit) = pool.limits.nodes {
            let there = existing().count();
            if u64::try_from(there + launched).map_or(true, |nodes| nodes > limit) {
                let detail = format!("nodes: {there} there, {launched} launched, the limit is {limit}");
                found.add(Rule::Limits, &subject, detail);
            }
        }
        for (name, limit) in pool.limits.resources.iter() {
            let there: u128 = existing()
                .map(|node| u128::from(node.capacity.get(name).get()))
                .sum();
            let added: u128 = of_pool()
                .map(|filling| {
                    let count = u128::try_from(filling.count).unwrap_or(u128::MAX);
                    u128::from(largest(world, launches, filling, name)).saturating_mul(count)
                })
                .fold(0, u128::saturating_add);
            if added > 0 && there.saturating_add(added) > u128::from(limit.get()) {
                let text = |sum: u128| World::clipped(sum).display(name.unit());
                let (limit, there, added) = (limit.display(name.unit()), text(there), text(added));
                let detail =
                    format!("{name}: {there} there, {added} launched at worst, the limit is {limit}");
                found.add(Rule::Limits, &subject, detail);
            }
        }
    }
}

/// The most of a resource that any of its offers has.
fn largest(world: &World<'_>, launches: &Launches<'_>, filling: &Filling<'_>, name: &ResourceName) -> u64 {
    let first = launches
        .prospect(&filling.first)
        .map_or(0, |prospect| prospect.instance_type.capacity.get(name).get());
    let at = world.resources.binary_search(&name);
    let others = at.map_or(0, |at| launches.lists[filling.list].largest[at]);
    first.max(others)
}
