//! Every node becomes the cheapest kind that holds what is on it.

use crate::lower::Problem;
use crate::lower::rules::resources;

use super::ledger::Ledger;
use super::{Filling, Packing, load};

/// The cheapest of some kinds, which come in the order of cost, that may be launched and holds a filling.
#[must_use]
pub fn cheapest(problem: &Problem<'_>, filling: &Filling, kinds: &[usize], ledger: &Ledger) -> Option<usize> {
    let load = load(problem, filling);
    kinds.iter().copied().find(|kind| {
        resources::fits(&load, problem.room(*kind))
            && filling
                .iter()
                .all(|(group, _)| problem.usable[*group].contains(*kind))
            && ledger.allowed(problem, *kind) > 0
    })
}

/// Moves every launch to the cheapest kind of its weight that holds it and that limits and supplies admit.
pub fn downsize(problem: &Problem<'_>, packing: &mut Packing) {
    let mut ledger = Ledger::new(problem);
    for launched in &packing.launched {
        ledger.open(problem, launched.kind, launched.count);
    }
    for launched in &mut packing.launched {
        let kind = &problem.kinds[launched.kind];
        let cheaper: Vec<usize> = (0..launched.kind)
            .filter(|other| problem.kinds[*other].tier == kind.tier && problem.kinds[*other].cost < kind.cost)
            .collect();
        ledger.close(problem, launched.kind, launched.count);
        if let Some(other) = cheapest(problem, &launched.filling, &cheaper, &ledger)
            && ledger.allowed(problem, other) >= launched.count
        {
            launched.kind = other;
        }
        ledger.open(problem, launched.kind, launched.count);
    }
    packing.normalise();
}
