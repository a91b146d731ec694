//! Fragmentation: CPU and memory of a launched node that can't be used together, where the pool's policy weighs it.
//!
//! Headroom counts as in use: it is free on purpose. Nodes that exist aren't charged: nothing is bought there.

use crate::lower::prune::Kind;
use crate::lower::terms::Stranding;
use crate::model::instance_type::InstanceType;
use crate::model::objective::Weights;
use crate::model::resources::ResourceName;

use super::resources::{CPU, MEMORY};

/// Of nodes of a type, on which so much room is left to pods.
#[must_use]
pub fn stranding(weights: &Weights, instance_type: &InstanceType, room: &[u64]) -> Stranding {
    let allocatable = &instance_type.allocatable;
    Stranding {
        each: weights.fragmentation.micros(),
        cpu: allocatable.get(&ResourceName::Cpu).get(),
        memory: allocatable.get(&ResourceName::Memory).get(),
        free_cpu: room[CPU],
        free_memory: room[MEMORY],
    }
}

/// The most that any pods on a node of `two` strand less there than on one of `one`, which has no less room.
#[must_use]
pub fn most_gained(one: &Kind, two: &Kind) -> u64 {
    let (other, own) = (&two.stranding, &one.stranding);
    if own.each == 0 || one.pool == two.pool && own == other {
        return 0;
    }
    if one.pool != two.pool {
        return in_money(u128::from(own.cpu), own.each);
    }
    // What pods strand is how far their CPU is from what their memory stands for, DaemonSets and headroom counted in.
    let taken = |stranding: &Stranding| {
        (
            stranding.cpu.saturating_sub(stranding.free_cpu),
            stranding.memory.saturating_sub(stranding.free_memory),
        )
    };
    let ((own_cpu, own_memory), (other_cpu, other_memory)) = (taken(own), taken(other));
    // Memory of pods that fit on both: the difference is largest at one of its ends.
    let apart = [0, other.free_memory].map(|memory| {
        let here = own.proportion(own_memory.saturating_add(memory));
        here.abs_diff(other.proportion(other_memory.saturating_add(memory)))
    });
    // A milli-CPU for what the divisions lose.
    let apart = apart[0].max(apart[1]) + u128::from(own_cpu.abs_diff(other_cpu)) + 1;
    in_money(apart, own.each)
}

/// Milli-CPU in micro-dollars, rounded up, with one for the rounding of what is compared.
fn in_money(milli: u128, each: u64) -> u64 {
    let money = milli.saturating_mul(u128::from(each)).div_ceil(1_000) + 1;
    u64::try_from(money).unwrap_or(u64::MAX)
}
