//! The figures are what the catalogue gives, to the micro-dollar, and no better than proven.
//!
//! `before` counts all nodes of the snapshot, `after` those that stay (a node that is being deleted doesn't) and what is
//! launched, `objective` the same under the weights, with what isn't as preferred. Sums that exceed what a cost can hold stick at its ends.

use crate::model::instance_type::{CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL};
use crate::model::money::Cost;
use crate::model::name::NodePoolName;
use crate::model::node::Node;
use crate::model::offering::CapacityType;
use crate::model::plan::{Gap, Launch, NodeAction, PlanBody, ProofKind};

use super::world::World;
use super::{Rule, Violations};

/// `unmet` is what isn't as preferred, in micro-dollars per hour.
pub(super) fn check(world: &World<'_>, plan: &PlanBody, unmet: i128, found: &mut Violations) {
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
    let of_node = |node: &Node| {
        let label = |key: &str| node.labels.get(key).map_or("", String::as_str);
        let is_spot = label(CAPACITY_TYPE_LABEL) == CapacityType::Spot.as_str();
        let weighed = objective.weights(node.node_pool.as_ref()).node(node.price);
        let pool = node.node_pool.as_ref();
        [
            weighed,
            interruptions(world, pool, label(INSTANCE_TYPE_LABEL), is_spot),
        ]
    };
    let of_launch = |launch: &Launch| {
        let is_spot = launch.capacity_type == CapacityType::Spot;
        let pool = Some(&launch.node_pool);
        let weighed = objective.weights(pool).node(launch.price);
        [
            weighed,
            interruptions(world, pool, launch.instance_type.as_str(), is_spot),
        ]
    };
    let weighted = sum(staying()
        .flat_map(of_node)
        .chain(plan.launch.iter().flat_map(of_launch))
        .chain([clipped(unmet)]));

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

/// Dollars per interruption times interruptions to expect in an hour; on demand and reserved nothing is.
fn interruptions(
    world: &World<'_>,
    node_pool: Option<&NodePoolName>,
    instance_type: &str,
    is_spot: bool,
) -> Cost {
    let dollars = world.snapshot.objective.weights(node_pool).interruption.micros();
    let pool = node_pool.and_then(|name| world.snapshot.node_pool(name));
    let (Some(pool), true, true) = (pool, is_spot, dollars > 0) else {
        return Cost::ZERO;
    };
    let types = &world.snapshot.node_class(pool).instance_types;
    let known = types.binary_search_by(|other| other.name.as_str().cmp(instance_type));
    let rate = known.map_or(0, |at| types[at].interruptions_per_million_hours);
    let millionths = u128::from(dollars) * u128::from(rate);
    let micros = (millionths + 500_000) / 1_000_000;
    Cost::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
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
    clipped(costs.map(|cost| i128::from(cost.micros())).sum())
}

fn clipped(micros: i128) -> Cost {
    Cost::from_micros(i64::try_from(micros).unwrap_or(if micros < 0 { i64::MIN } else { i64::MAX }))
}
