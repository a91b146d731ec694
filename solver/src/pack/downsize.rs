//! Every node becomes the cheapest kind that holds what is on it.

use fixedbitset::FixedBitSet;

use crate::lower::Problem;
use crate::lower::rules::resources;
use crate::lower::side::{Place, Places};

use super::ledger::Ledger;
use super::side::group_parts::sights;
use super::side::verdict::on_node_penalty;
use super::{Filling, Packing, load, stranding};

/// The cheapest of some kinds, which come in the order of cost, that may be launched and holds a filling.
#[must_use]
pub fn cheapest(problem: &Problem<'_>, filling: &Filling, kinds: &[usize], ledger: &Ledger) -> Option<usize> {
    let load = load(problem, filling);
    let mut holding = kinds.iter().copied().filter(|kind| {
        resources::fits(&load, problem.room(*kind))
            && filling
                .iter()
                .all(|(group, _)| problem.usable[*group].contains(*kind))
            && ledger.allowed(problem, *kind) > 0
    });
    if problem.side.penalties.is_empty() && !problem.weighs_stranding() {
        holding.next()
    } else {
        holding.min_by_key(|kind| cost(problem, *kind, filling))
    }
}

/// Micro-dollars of one node, with what is stranded and what isn't as wished on it.
#[must_use]
pub fn cost(problem: &Problem<'_>, kind: usize, filling: &Filling) -> u64 {
    let node = problem.kinds[kind].cost + stranding::on_node(problem, Place::Kind(kind), filling);
    if problem.side.is_empty() {
        node
    } else {
        node + on_node_penalty(&problem.side, Place::Kind(kind), filling)
    }
}

/// Moves every launch to the cheapest kind of its weight that holds it and that limits and supplies admit, where no row
/// across nodes tells the two apart.
pub fn downsize(problem: &Problem<'_>, packing: &mut Packing) {
    if !problem.side.rows.is_empty() {
        return; // they count nodes, whatever is on them
    }
    let sights = sights(&problem.side);
    let mut ledger = Ledger::with(problem, &packing.launched);
    for launched in &mut packing.launched {
        let kind = &problem.kinds[launched.kind];
        let concerned =
            |groups: &FixedBitSet| launched.filling.iter().any(|(group, _)| groups.contains(*group));
        let seen: Vec<&Places> = sights
            .iter()
            .filter(|(groups, _)| concerned(groups))
            .flat_map(|(_, places)| places.iter().copied())
            .collect();
        let is_alike = |other: usize| {
            let mut seen = seen.iter();
            seen.all(|places| places.kinds.contains(other) == places.kinds.contains(launched.kind))
        };
        let cheaper: Vec<usize> = (0..launched.kind)
            .filter(|other| problem.kinds[*other].tier == kind.tier && problem.kinds[*other].cost < kind.cost)
            .filter(|other| is_alike(*other))
            .collect();
        ledger.close(problem, launched.kind, launched.count);
        if let Some(other) = cheapest(problem, &launched.filling, &cheaper, &ledger)
            && ledger.allowed(problem, other) >= launched.count
            && cost(problem, other, &launched.filling) < cost(problem, launched.kind, &launched.filling)
        {
            launched.kind = other;
        }
        ledger.open(problem, launched.kind, launched.count);
    }
    packing.normalise();
}
