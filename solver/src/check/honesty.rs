//! A pod that is refused is told why: once for each NodePool, or, a DaemonSet's, for its node. Reasons name what
//! exists, and those that the snapshot can refute aren't refuted by it.

use std::collections::BTreeSet;

use crate::model::explain::{Constraint, Reason, Unschedulable};
use crate::model::name::NodePoolName;
use crate::model::plan::PlanBody;
use crate::model::pod::Pod;
use crate::model::taint::{Taint, first_untolerated};

use super::world::World;
use super::{Rule, Violations};

pub(super) fn check(world: &World<'_>, plan: &PlanBody, found: &mut Violations) {
    for refused in &plan.unschedulable {
        let Some(at) = world.pod(&refused.pod) else {
            continue;
        };
        let pod = &world.snapshot.pods[at];
        owed(world, pod, refused, found);
        for reason in &refused.reasons {
            if let Err(detail) = holds(world, pod, reason) {
                found.add(Rule::Honesty, &refused.pod, detail);
            }
        }
    }
}

fn owed(world: &World<'_>, pod: &Pod, refused: &Unschedulable, found: &mut Violations) {
    let pools = &world.snapshot.node_pools;
    if pod.is_daemon() {
        if refused.reasons.is_empty() {
            found.add(Rule::Honesty, &refused.pod, "is refused without a reason");
        }
        return;
    }
    let told: BTreeSet<&NodePoolName> = refused
        .reasons
        .iter()
        .filter_map(|reason| reason.node_pool.as_ref())
        .collect();
    for pool in pools {
        if !told.contains(&pool.name) {
            let detail = format!("is refused without a reason for node pool {}", pool.name);
            found.add(Rule::Honesty, &refused.pod, detail);
        }
    }
}

fn holds(world: &World<'_>, pod: &Pod, reason: &Reason) -> Result<(), String> {
    let untolerated = |taints: &[Taint]| first_untolerated(taints, &pod.spec.tolerations).is_some();
    match (&reason.node_pool, &reason.node) {
        (Some(name), None) => {
            let pool = world
                .snapshot
                .node_pool(name)
                .ok_or_else(|| format!("a reason names node pool {name}, which isn't there"))?;
            let limited = pool.limits.nodes.is_some() || !pool.limits.resources.is_empty();
            match reason.constraint {
                Constraint::Taint if !untolerated(&pool.taints) => Err(format!(
                    "a taint of node pool {name} is blamed, all are tolerated"
                )),
                Constraint::Limit if !limited => {
                    Err(format!("a limit of node pool {name} is blamed, it has none"))
                }
                Constraint::MinValues if pool.requirements.min_values().next().is_none() => {
                    Err(format!("minValues of node pool {name} are blamed, it has none"))
                }
                Constraint::Subnet if world.snapshot.subnets.is_empty() => {
                    Err("subnets are blamed, none is known".to_owned())
                }
                Constraint::NodePool
                    if pool.replicas.is_none() && pool.left_out.is_none() && !pod.is_daemon() =>
                {
                    Err(format!("node pool {name} itself is blamed, it may launch"))
                }
                Constraint::Gang if pod.spec.rules.gang.is_none() => {
                    Err("a gang is blamed, the pod is of none".to_owned())
                }
                _ => Ok(()),
            }
        }
        (None, Some(name)) => {
            let node = world
                .snapshot
                .node(name)
                .ok_or_else(|| format!("a reason names node {name}, which isn't there"))?;
            if reason.constraint == Constraint::Taint && !untolerated(&node.taints) {
                return Err(format!("a taint of node {name} is blamed, all are tolerated"));
            }
            Ok(())
        }
        _ => Err("a reason names neither a node pool nor a node, or both".to_owned()),
    }
}
