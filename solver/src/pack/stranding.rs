//! What the pods of launched nodes strand there, in micro-dollars per hour: a part of what a packing costs.

use crate::lower::Problem;
use crate::lower::rules::resources::{CPU, MEMORY};
use crate::lower::side::Place;

use super::Packing;

/// Of one node; nothing on one that exists.
#[must_use]
pub fn on_node(problem: &Problem<'_>, place: Place, filling: &[(usize, u64)]) -> u64 {
    let Place::Kind(kind) = place else { return 0 };
    let stranding = &problem.kinds[kind].stranding;
    if stranding.each == 0 {
        return 0;
    }
    let asked = |column: usize| {
        let of_group = |(group, count): &(usize, u64)| problem.request(*group)[column].saturating_mul(*count);
        filling.iter().map(of_group).fold(0, u64::saturating_add)
    };
    stranding.cost(asked(CPU), asked(MEMORY))
}

/// Of all nodes.
#[must_use]
pub fn of(problem: &Problem<'_>, packing: &Packing) -> u64 {
    let launched = packing.launched.iter();
    launched
        .map(|launched| {
            let node = on_node(problem, Place::Kind(launched.kind), &launched.filling);
            node.saturating_mul(launched.count)
        })
        .fold(0, u64::saturating_add)
}
