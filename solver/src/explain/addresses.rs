//! How many addresses would have to be free: in the subnet where fewest are missing.

use super::Trial;
use super::change::Change;
use super::residual::{needed, type_of};
use crate::model::explain::{Constraint, Reason};
use crate::model::plan::{Launch, PlanBody};
use crate::model::subnet::Subnet;

/// So many subnets are tried.
const MOST_SUBNETS: usize = 6;

/// The subnet and the fewest more addresses there that give the group a place.
pub(super) fn freed(trial: &mut Trial<'_>) -> Option<Change> {
    let blamed = |reason: &Reason| reason.constraint == Constraint::Subnet;
    if !trial.group.reasons.iter().any(blamed) {
        return None;
    }
    let residual = trial.residual;
    let mut best: Option<(u64, &Subnet)> = None;
    // Where most is free, fewest are missing.
    let mut subnets: Vec<&Subnet> = residual.subnets.iter().collect();
    subnets.sort_by_key(|subnet| std::cmp::Reverse(subnet.free_addresses));
    for subnet in subnets.into_iter().take(MOST_SUBNETS) {
        let change = |more: u64| Change::FreeAddresses {
            subnet: subnet.id.clone(),
            more,
        };
        let Some(plan) = trial.places(&change(u64::MAX)) else {
            continue;
        };
        let more = used(trial, &plan, subnet).saturating_sub(subnet.free_addresses);
        let is_better = best.is_none_or(|(fewest, _)| more < fewest);
        if is_better && trial.places(&change(more)).is_some() {
            best = Some((more, subnet));
        }
    }
    best.map(|(more, subnet)| Change::FreeAddresses {
        subnet: subnet.id.clone(),
        more,
    })
}

/// What the launches of a plan take in a subnet at most: all of those in its zone that name no other.
fn used(trial: &Trial<'_>, plan: &PlanBody, subnet: &Subnet) -> u64 {
    let parts = trial.residual;
    let here = |launch: &&Launch| {
        launch.zone == subnet.zone && launch.subnet.as_ref().is_none_or(|named| *named == subnet.id)
    };
    let need = |launch: &Launch| {
        let pool = parts.node_pools.iter().find(|pool| pool.name == launch.node_pool);
        let class = pool.and_then(|pool| parts.node_classes.get(&pool.node_class));
        let instance_type = class.and_then(|class| type_of(&class.instance_types, launch));
        instance_type.map_or(0, |instance_type| needed(parts, instance_type))
    };
    let needs = plan.launch.iter().filter(here).map(need);
    needs.fold(0, u64::saturating_add)
}
