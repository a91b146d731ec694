//! How far a limit must be raised: to the exact figure, not a round one.

use super::Trial;
use super::change::{Change, Limited};
use super::residual::type_of;
use crate::model::explain::Constraint;
use crate::model::node_pool::NodePool;
use crate::model::plan::PlanBody;
use crate::model::resources::Amount;

/// So often a smaller figure is looked for; each try is a plan.
const MOST_STEPS: usize = 6;

/// The smallest figure of one limit that gives the group a place.
pub(super) fn raised(trial: &mut Trial<'_>) -> Option<Change> {
    let pools: Vec<NodePool> = (trial.pools(&[Constraint::Limit]).into_iter().cloned()).collect();
    for pool in &pools {
        let resources = pool
            .limits
            .resources
            .iter()
            .map(|(name, _)| Limited::Resource(name.clone()));
        let limits: Vec<Limited> = resources
            .chain(pool.limits.nodes.map(|_| Limited::Nodes))
            .collect();
        // One alone, or else all that the pool has.
        let alone = limits.iter().map(|limited| vec![limited.clone()]);
        let mut ways: Vec<Vec<Limited>> = alone.collect();
        if limits.len() > 1 {
            ways.push(limits);
        }
        for limits in ways {
            if let Some(change) = smallest(trial, pool, &limits) {
                return Some(change);
            }
        }
    }
    None
}

/// Without the limits, the cheapest plan says what is used; then below that, until no plan does with less.
fn smallest(trial: &mut Trial<'_>, pool: &NodePool, limits: &[Limited]) -> Option<Change> {
    let plan = trial.places(&Change::LiftLimits {
        pool: pool.name.clone(),
        limits: limits.to_vec(),
    })?;
    // What is used must hold as a limit itself, whatever the plan without one did.
    let used = |trial: &Trial<'_>, plan: &PlanBody| -> Vec<Amount> {
        let limits = limits.iter();
        limits.map(|limited| used(trial, plan, pool, limited)).collect()
    };
    let mut figures = used(trial, &plan);
    let mut proven = None;
    for _ in 0..MOST_STEPS {
        let figures_of = limits.iter().cloned().zip(figures.iter().copied());
        let higher: Vec<(Limited, Amount)> = figures_of
            .filter(|(limited, to)| *to > now(pool, limited))
            .collect();
        if higher.is_empty() {
            break;
        }
        let raised = Change::RaiseLimits {
            pool: pool.name.clone(),
            to: higher,
        };
        let Some(plan) = trial.places(&raised) else {
            break;
        };
        proven = Some(raised);
        // A plan that uses less than it may doesn't prove that it would be found under that limit: it's tried too.
        let less = used(trial, &plan);
        figures = if let [figure] = figures.as_slice() {
            vec![less[0].min(figure.minus(Amount::new(1)))]
        } else if less == figures {
            break;
        } else {
            less
        };
    }
    proven
}

fn now(pool: &NodePool, limited: &Limited) -> Amount {
    match limited {
        Limited::Nodes => Amount::new(pool.limits.nodes.unwrap_or(u64::MAX)),
        Limited::Resource(name) => pool.limits.resources.get(name),
    }
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
