//! How far a limit must be raised: to the exact figure, not a round one.

use super::Trial;
use super::change::{Change, Limited};
use super::residual::type_of;
use crate::model::explain::Constraint;
use crate::model::name::NodePoolName;
use crate::model::node_pool::NodePool;
use crate::model::plan::PlanBody;
use crate::model::resources::Amount;

/// So often a smaller figure is looked for; each try is a plan.
const MOST_STEPS: usize = 6;

/// The smallest figure of one limit that gives the group a place.
pub(super) fn raised(trial: &mut Trial<'_>) -> Option<Change> {
    let mut pools: Vec<&NodePoolName> = trial
        .group
        .reasons
        .iter()
        .filter(|reason| reason.constraint == Constraint::Limit)
        .filter_map(|reason| reason.node_pool.as_ref())
        .collect();
    pools.dedup();
    for name in pools {
        let Some(pool) = trial.residual.node_pools.iter().find(|pool| pool.name == *name) else {
            continue;
        };
        let resources = pool
            .limits
            .resources
            .iter()
            .map(|(name, _)| Limited::Resource(name.clone()));
        let limits: Vec<Limited> = resources
            .chain(pool.limits.nodes.map(|_| Limited::Nodes))
            .collect();
        for limited in limits {
            if let Some(to) = smallest(trial, pool, &limited) {
                return Some(Change::RaiseLimit {
                    pool: pool.name.clone(),
                    limited,
                    to,
                });
            }
        }
    }
    None
}

/// Without the limit, the cheapest plan says what is used; then below that, until no plan does with less.
fn smallest(trial: &mut Trial<'_>, pool: &NodePool, limited: &Limited) -> Option<Amount> {
    let lifted = Change::LiftLimit {
        pool: pool.name.clone(),
        limited: limited.clone(),
    };
    let plan = trial.places(&lifted)?;
    // What is used must hold as a limit itself, whatever the plan without one did.
    let mut to = used(trial, &plan, pool, limited);
    let mut proven = None;
    for _ in 0..MOST_STEPS {
        let raised = Change::RaiseLimit {
            pool: pool.name.clone(),
            limited: limited.clone(),
            to,
        };
        let Some(plan) = trial.places(&raised) else {
            break;
        };
        proven = Some(to);
        // A plan that uses less than it may doesn't prove that it would be found under that limit: it's tried too.
        let figure = used(trial, &plan, pool, limited);
        to = figure.min(to.minus(Amount::new(1)));
    }
    proven
}

/// What the pool's nodes have together after a plan.
fn used(trial: &Trial<'_>, plan: &PlanBody, pool: &NodePool, limited: &Limited) -> Amount {
    let nodes = trial
        .residual
        .nodes
        .iter()
        .filter(|node| node.node_pool.as_ref() == Some(&pool.name));
    let launched = plan.launch.iter().filter(|launch| launch.node_pool == pool.name);
    match limited {
        Limited::Nodes => Amount::new((nodes.count() + launched.count()) as u64),
        Limited::Resource(name) => {
            let types = trial
                .residual
                .node_classes
                .get(&pool.node_class)
                .map_or(&[][..], |class| class.instance_types.as_slice());
            let there = nodes.map(|node| node.capacity.get(name));
            let new = launched
                .filter_map(|launch| type_of(types, launch))
                .map(|instance_type| instance_type.capacity.get(name));
            there.chain(new).fold(Amount::ZERO, Amount::plus)
        }
    }
}
