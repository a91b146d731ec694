//! A pod that no place will do for as it is gets none.

use super::placement::Placed;
use super::world::World;
use super::{Rule, Violations};

pub(super) fn check(world: &World<'_>, placed: &Placed, found: &mut Violations) {
    if world.specs.iter().all(|spec| spec.rules.impossible.is_none()) {
        return;
    }
    for pod in placed.all() {
        if let Some(impossible) = &world.specs[world.spec_of[pod]].rules.impossible {
            let detail = format!(
                "is placed, and no place will do ({}: {})",
                impossible.constraint, impossible.detail
            );
            found.add(Rule::Impossible, &world.snapshot.pods[pod].name, detail);
        }
    }
}
