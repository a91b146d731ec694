//! Fragmentation in money: vCPUs of launched nodes that are stranded, in micro-dollars per hour. A part of `cost.objective`,
//! never a violation.
//!
//! Of a node that is launched, as its first choice: the share of its allocatable CPU that is free, less the share of its
//! allocatable memory that is free, times its allocatable CPU, without the sign. Free is what neither pods nor DaemonSets
//! ask for, headroom of the policy taken off. Each node rounds to the nearest micro-dollar, halves up. Nodes that exist don't
//! count.

use crate::model::resources::ResourceName;

use super::launches::{Filling, Launches};
use super::prospect::Prospect;
use super::world::World;

/// Of all launches.
pub(super) fn stranded(world: &World<'_>, launches: &Launches<'_>) -> i128 {
    let fillings = launches.fillings.iter();
    fillings
        .map(|filling| {
            let nodes = i128::try_from(filling.count).unwrap_or(i128::MAX);
            of_node(world, launches, filling).saturating_mul(nodes)
        })
        .fold(0, i128::saturating_add)
}

fn of_node(world: &World<'_>, launches: &Launches<'_>, filling: &Filling<'_>) -> i128 {
    let weights = world.snapshot.objective.weights(Some(&filling.pool.name));
    let dollars = u128::from(weights.fragmentation.micros());
    let Some(prospect) = launches.prospect(&filling.first).filter(|_| dollars > 0) else {
        return 0;
    };
    let (cpu, free_cpu) = of(world, filling, prospect, &ResourceName::Cpu);
    let (memory, free_memory) = of(world, filling, prospect, &ResourceName::Memory);
    // |free_cpu ÷ cpu − free_memory ÷ memory| × cpu, over one denominator; a share of nothing is none.
    let (stranded, denominator) = match memory {
        0 => (free_cpu, 1),
        _ => ((free_cpu * memory).abs_diff(free_memory * cpu), memory),
    };
    // Milli-CPU.
    let denominator = denominator.saturating_mul(1_000);
    let twice = dollars.saturating_mul(stranded).saturating_mul(2);
    let micros = twice.saturating_add(denominator) / denominator.saturating_mul(2);
    i128::try_from(micros).unwrap_or(i128::MAX)
}

/// Allocatable of a resource and what is free of it, 64 bits each.
fn of(
    world: &World<'_>,
    filling: &Filling<'_>,
    prospect: &Prospect<'_>,
    name: &ResourceName,
) -> (u128, u128) {
    let allocatable = u128::from(prospect.instance_type.allocatable.get(name).get());
    let Some(at) = world.resources.iter().position(|other| *other == name) else {
        return (allocatable, allocatable);
    };
    let headroom = u128::from(prospect.headroom[at]);
    let taken = filling.requests[at] + prospect.overhead[at] + headroom;
    (allocatable, allocatable.saturating_sub(taken))
}
