//! Pods fit the allocatable of the first choice, of each alternative and of existing nodes; `requests` of a launch are
//! its pods and the DaemonSets of its first choice. (Room for DaemonSets: `overhead`.) Attachments of volumes are room like
//! any other, and no part of what a launch says: a node that is launched can't be asked for them.

use crate::model::plan::PlanBody;
use crate::model::resources::{ResourceName, Resources};

use super::launches::Launches;
use super::placement::Placed;
use super::world::{Amounts, Sums, World, add};
use super::{Rule, Violations};

pub(super) fn check(
    world: &World<'_>,
    plan: &PlanBody,
    launches: &Launches<'_>,
    placed: &Placed,
    found: &mut Violations,
) {
    for filling in &launches.fillings {
        for offer in launches.rooms(filling) {
            let Some(prospect) = launches.prospect(offer) else {
                continue;
            };
            if let Some(detail) = world.shortage(&filling.requests, &prospect.allocatable) {
                found.add(Rule::Resources, filling.name_as(offer), detail);
            }
        }
    }
    for (at, (launch, filling)) in plan.launch.iter().zip(&launches.filling_of).enumerate() {
        let Some(filling) = filling.map(|filling| &launches.fillings[filling]) else {
            continue;
        };
        let Some(first) = filling.first.prospect else {
            continue;
        };
        let overhead = &launches.prospects[first].overhead;
        let sum: Sums = filling
            .requests
            .iter()
            .zip(overhead)
            .map(|(pods, daemons)| pods + daemons)
            .collect();
        if let Some(name) = first_difference(world, &launch.requests, &sum) {
            // Exactly the pods' sum: the DaemonSets were forgotten.
            let forgotten = first_difference(world, &launch.requests, &filling.requests).is_none();
            let rule = if forgotten {
                Rule::Overhead
            } else {
                Rule::Resources
            };
            let detail = format!(
                "`requests` say {} of {name}, which isn't what its pods and DaemonSets ask for",
                launch.requests.get(name).display(name.unit())
            );
            found.add(rule, format!("launch/{at}"), detail);
        }
    }
    for (node, added) in placed.on_node.iter().filter(|(_, added)| !added.is_empty()) {
        let sum = on_node(world, *node, added);
        let there = judged(world, *node, added);
        let node = &world.snapshot.nodes[*node];
        if let Some(detail) = world.shortage(&sum, &there) {
            found.add(Rule::Resources, format!("node {}", node.name), detail);
        }
    }
}

/// What the pods there and those that come ask for; terminating ones use their room until they are gone.
pub(super) fn on_node(world: &World<'_>, node: usize, added: &[usize]) -> Sums {
    let mut sum = world.zero();
    for pod in world.pods_on[node].iter().chain(added) {
        add(&mut sum, world.requests(*pod));
    }
    sum
}

/// What a node has of each resource that the pods ask for which come; of the others they take nothing, so nothing
/// there is their fault.
pub(super) fn judged(world: &World<'_>, node: usize, added: &[usize]) -> Amounts {
    let mut there = world.amounts(&world.snapshot.nodes[node].allocatable);
    for (at, there) in there.iter_mut().enumerate() {
        if added.iter().all(|pod| world.requests(*pod)[at] == 0) {
            *there = u64::MAX;
        }
    }
    there
}

/// The first resource of which `stated` doesn't say what the sum is; missing and zero are the same.
fn first_difference<'a>(world: &World<'a>, stated: &'a Resources, sum: &Sums) -> Option<&'a ResourceName> {
    let summed = world.resources.iter().copied().zip(sum);
    let differs = summed
        .filter(|(name, sum)| stated.get(name) != World::clipped(**sum))
        .find(|(name, _)| !name.to_string().starts_with("attachable-volumes-"))
        .map(|(name, _)| name);
    differs.or_else(|| {
        let extra = stated
            .iter()
            .find(|(name, amount)| amount.get() > 0 && world.resources.binary_search(name).is_err());
        extra.map(|(name, _)| name)
    })
}
