//! The figures are what the catalogue gives, to the micro-dollar, and no better than proven.
//!
//! `before` counts all nodes of the snapshot, `after` those that stay (a node that is being deleted doesn't) and what is
//! launched, `objective` the same under the weights. Sums that exceed what a cost can hold stick at its ends.

use crate::model::money::Cost;
use crate::model::node::Node;
use crate::model::plan::{Gap, NodeAction, PlanBody, ProofKind};

use super::world::World;
use super::{Rule, Violations};

pub(super) fn check(world: &World<'_>, plan: &PlanBody, found: &mut Violations) {
    let snapshot = world.snapshot;
    let mut goes = vec![false; snapshot.nodes.len()];
    for entry in &plan.nodes {
        let Some(at) = world.node(&entry.name) else {
            continue;
        };
        goes[at] |= entry.action != NodeAction::Keep;
        let price = snapshot.nodes[at].price;
        if entry.price != price {
            let detail = format!("price is {}, the catalogue says {price}", entry.price);
            found.add(Rule::Money, format!("node {}", entry.name), detail);
        }
    }
    let nodes = || snapshot.nodes.iter().zip(&goes);
    let stays = |(node, goes): (&'_ Node, &bool)| !node.deleting && !goes;
    let staying = || nodes().filter(|pair| stays(*pair)).map(|(node, _)| node);
    let objective = &snapshot.objective;

    let before = sum(snapshot.nodes.iter().map(|node| node.price.cost()));
    let launched = sum(plan.launch.iter().map(|launch| launch.price.cost()));
    let after = sum(staying()
        .map(|node| node.price.cost())
        .chain(std::iter::once(launched)));
    let weighted = sum(staying()
        .map(|node| objective.weights(node.node_pool.as_ref()).node(node.price))
        .chain(
            plan.launch
                .iter()
                .map(|launch| objective.weights(Some(&launch.node_pool)).node(launch.price)),
        ));

    let cost = plan.cost;
    for (name, stated, right) in [
        ("before", cost.before, before),
        ("after", cost.after, after),
        ("launched", cost.launched, launched),
        ("objective", cost.objective, weighted),
    ] {
        if stated != right {
            found.add(
                Rule::Money,
                format!("cost.{name}"),
                format!("is {stated}, should be {right}"),
            );
        }
    }
    proof(plan, found);
}

fn proof(plan: &PlanBody, found: &mut Violations) {
    let cost = plan.cost;
    if cost.lower_bound > cost.objective {
        let detail = format!("is {}, above the objective {}", cost.lower_bound, cost.objective);
        found.add(Rule::Money, "cost.lowerBound", detail);
    }
    let gap = Gap::between(cost.objective, cost.lower_bound);
    if cost.gap != gap {
        let detail = format!("is {} millionths, should be {}", cost.gap.0, gap.0);
        found.add(Rule::Money, "cost.gap", detail);
    }
    if plan.proof.kind == ProofKind::Optimal && cost.objective != cost.lower_bound {
        let detail = format!("says optimal at {} over {}", cost.objective, cost.lower_bound);
        found.add(Rule::Money, "proof.kind", detail);
    }
}

fn sum(costs: impl Iterator<Item = Cost>) -> Cost {
    let micros: i128 = costs.map(|cost| i128::from(cost.micros())).sum();
    Cost::from_micros(i64::try_from(micros).unwrap_or(if micros < 0 { i64::MIN } else { i64::MAX }))
}
