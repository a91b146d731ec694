//! Zone imbalance: vCPUs of a pool by which its fullest zone exceeds its emptiest, where its policy weighs them.
//!
//! Its zones are those in which one of its nodes could be launched now, and count although none is there. Nodes that stay
//! count with the machine's vCPUs, as those do that are launched.

use std::collections::BTreeSet;

use crate::lower::Problem;
use crate::lower::prune::Kind;
use crate::lower::terms::{Imbalance, InZone};
use crate::model::instance_type::{InstanceType, ZONE_LABEL};
use crate::model::money::Price;
use crate::model::node::Node;
use crate::model::objective::Weights;
use crate::model::resources::ResourceName;
use crate::model::snapshot::Snapshot;

/// Nodes of different zones are told apart where any pool weighs them.
#[must_use]
pub fn keys(snapshot: &Snapshot) -> Option<&'static str> {
    let is_weighed = |weights: &Weights| weights.zone_imbalance > Price::default();
    let mut weights = snapshot.objective.weights.values();
    weights.any(is_weighed).then_some(ZONE_LABEL)
}

/// What a node of a type adds to its zone.
#[must_use]
pub fn in_zone(weights: &Weights, instance_type: &InstanceType) -> InZone {
    InZone {
        each: weights.zone_imbalance.micros(),
        cpu: instance_type.capacity.get(&ResourceName::Cpu).get(),
    }
}

/// The most by which zones may differ less for a node of `two` than for one of `one` in the same zone.
#[must_use]
pub fn most_gained(one: &Kind, two: &Kind) -> u64 {
    let money = |cpu: u64, each: u64| u128::from(cpu) * u128::from(each);
    let (own, other) = (one.in_zone, two.in_zone);
    let apart = if one.pool == two.pool {
        money(own.cpu.abs_diff(other.cpu), own.each)
    } else {
        money(own.cpu, own.each).saturating_add(money(other.cpu, other.each))
    };
    // One for the rounding of what is compared.
    let most = apart.div_ceil(1_000) + u128::from(apart > 0);
    u64::try_from(most).unwrap_or(u64::MAX)
}

/// One for each pool that weighs it and could launch in several zones.
#[must_use]
pub fn compile(problem: &Problem<'_>) -> Vec<Imbalance> {
    let snapshot = problem.snapshot;
    let of_pool = |at: usize| {
        let pool = &snapshot.node_pools[at].name;
        let each = snapshot.objective.weights(Some(pool)).zone_imbalance.micros();
        let shapes = problem.universe.shapes.iter();
        let bins = shapes
            .filter(|shape| shape.pool == at && each > 0)
            .flat_map(|shape| shape.bins.clone());
        let zones: BTreeSet<&str> = bins
            .map(|bin| problem.universe.offering(bin).zone.as_str())
            .collect();
        let zones: Vec<&str> = zones.into_iter().collect();
        let zone = |name: &str| zones.binary_search(&name).ok();
        let of_kind = |kind: &Kind| {
            let bin = kind.bins.first().filter(|_| kind.pool == at)?;
            zone(problem.universe.offering(*bin).zone.as_str())
        };
        let mut there = vec![0_u64; zones.len()];
        let is_own = |node: &&Node| node.node_pool.as_ref() == Some(pool) && !node.deleting;
        for node in snapshot.nodes.iter().filter(is_own) {
            if let Some(at) = node.labels.get(ZONE_LABEL).and_then(|name| zone(name)) {
                let cpu = node.capacity.get(&ResourceName::Cpu).get();
                there[at] = there[at].saturating_add(cpu);
            }
        }
        (zones.len() > 1).then(|| Imbalance {
            each,
            kinds: problem.kinds.iter().map(of_kind).collect(),
            there,
        })
    };
    (0..snapshot.node_pools.len()).filter_map(of_pool).collect()
}
