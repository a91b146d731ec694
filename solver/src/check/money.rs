//! The figures are what the catalogue gives, to the micro-dollar, and no better than proven.
//!
//! `before` counts all nodes of the snapshot, `after` those that stay (a node that is being deleted doesn't) and what is
//! launched, `objective` the same under the weights, with what isn't as preferred, what is stranded and how zones differ. Sums
//! that exceed what a cost can hold stick at its ends.
//!
//! The objective is the sum of its terms. Those of nodes have to be right; for the others, which only weigh, the figures
//! here take the place of what the plan says, and a bound above them goes down to them.

use crate::model::instance_type::{CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL};
use crate::model::money::Cost;
use crate::model::name::NodePoolName;
use crate::model::node::Node;
use crate::model::objective::Terms;
use crate::model::offering::CapacityType;
use crate::model::plan::{CostSummary, Gap, NodeAction, PlanBody, Proof, ProofKind};

use super::world::World;
use super::{Rule, Violations};

/// Terms that are only weighed, in micro-dollars per hour.
#[derive(Clone, Copy)]
pub(super) struct Soft {
    pub(super) preference: i128,
    pub(super) fragmentation: i128,
    pub(super) zone_imbalance: i128,
}

/// The figures and the proof, with what is only weighed as it is counted here.
pub(super) fn check(
    world: &World<'_>,
    plan: &PlanBody,
    soft: Soft,
    found: &mut Violations,
) -> (CostSummary, Proof) {
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
    let nodes = snapshot.nodes.iter().zip(&goes);
    let stays = |(node, goes): &(&Node, &bool)| !node.deleting && !**goes;
    let staying: Vec<&Node> = nodes.filter(stays).map(|(node, _)| node).collect();

    let before = sum(snapshot.nodes.iter().map(|node| node.price.cost()));
    let launched = sum(plan.launch.iter().map(|launch| launch.price.cost()));
    let after = sum(staying
        .iter()
        .map(|node| node.price.cost())
        .chain(std::iter::once(launched)));
    let cost = plan.cost;
    let terms = terms(world, plan, &staying, soft);
    for (name, stated, right) in [
        ("before", cost.before, before),
        ("after", cost.after, after),
        ("launched", cost.launched, launched),
        ("terms.price", cost.terms.price, terms.price),
        ("terms.nodeHour", cost.terms.node_hour, terms.node_hour),
        ("terms.interruption", cost.terms.interruption, terms.interruption),
        ("objective", cost.objective, total(&cost.terms)),
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
    recounted(cost, plan.proof, terms)
}

/// What the objective is made of.
fn terms(world: &World<'_>, plan: &PlanBody, staying: &[&Node], soft: Soft) -> Terms {
    let objective = &world.snapshot.objective;
    let label = |node: &'_ Node, key: &str| node.labels.get(key).cloned().unwrap_or_default();
    let nodes = || staying.iter().copied();
    let launches = || plan.launch.iter();
    let weights = |pool: Option<&NodePoolName>| objective.weights(pool);
    let of_node = |node: &Node| {
        let is_spot = label(node, CAPACITY_TYPE_LABEL) == CapacityType::Spot.as_str();
        let instance_type = label(node, INSTANCE_TYPE_LABEL);
        interruptions(world, node.node_pool.as_ref(), &instance_type, is_spot)
    };
    let price = nodes().map(|node| weights(node.node_pool.as_ref()).scaled(node.price));
    let price = price.chain(launches().map(|launch| weights(Some(&launch.node_pool)).scaled(launch.price)));
    let node_hour = nodes().map(|node| weights(node.node_pool.as_ref()).node_hour.cost());
    let node_hour =
        node_hour.chain(launches().map(|launch| weights(Some(&launch.node_pool)).node_hour.cost()));
    let interruption = nodes().map(of_node).chain(launches().map(|launch| {
        let is_spot = launch.capacity_type == CapacityType::Spot;
        let pool = Some(&launch.node_pool);
        interruptions(world, pool, launch.instance_type.as_str(), is_spot)
    }));
    Terms {
        price: sum(price),
        node_hour: sum(node_hour),
        interruption: sum(interruption),
        preference: clipped(soft.preference),
        fragmentation: clipped(soft.fragmentation),
        zone_imbalance: clipped(soft.zone_imbalance),
    }
}

fn total(terms: &Terms) -> Cost {
    sum(terms.named().into_iter().map(|(_, cost)| cost))
}

/// The figures with these terms. Nothing is proven of a plan whose maker counts otherwise.
fn recounted(stated: CostSummary, proof: Proof, terms: Terms) -> (CostSummary, Proof) {
    if stated.terms == terms {
        return (stated, proof);
    }
    let objective = total(&terms);
    let lower_bound = stated.lower_bound.min(objective);
    let cost = CostSummary {
        objective,
        lower_bound,
        gap: Gap::between(objective, lower_bound),
        terms,
        recounted: stated.recounted + (objective - stated.objective),
        ..stated
    };
    let proof = Proof {
        kind: ProofKind::Heuristic,
        ..proof
    };
    (cost, proof)
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
