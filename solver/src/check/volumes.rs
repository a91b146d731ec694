//! Every volume of a pod is within reach of its node: of the first choice, each alternative, or the existing node.
//!
//! Source: Kubernetes documentation, "Persistent Volumes", node affinity, and "Storage Classes", allowed topologies.
//! How many volumes may be attached is a resource, which `resources` judges.

use std::collections::BTreeSet;
use std::fmt;

use crate::model::pod::PodSpec;
use crate::model::requirement::Labels;
use crate::model::rules::Volume;

use super::launches::{Launches, Offer};
use super::placement::Placed;
use super::world::World;
use super::{Rule, Violations};

pub(super) fn check(world: &World<'_>, launches: &Launches<'_>, placed: &Placed, found: &mut Violations) {
    if world.specs.iter().all(|spec| spec.rules.volumes.is_empty()) {
        return;
    }
    to_come(world, launches, placed, found);
    for (node, pods) in &placed.on_node {
        let node = &world.snapshot.nodes[*node];
        for pod in pods {
            let spec = world.specs[world.spec_of[*pod]];
            if let Some(volume) = out_of_reach(spec, &node.labels, Some(node.name.as_str())) {
                let subject = &world.snapshot.pods[*pod].name;
                found.add(
                    Rule::Volumes,
                    subject,
                    away(volume, format_args!("node {}", node.name)),
                );
            }
        }
    }
}

/// Each spec meets each offer, and each list of alternatives, once: what repeats was said already.
fn to_come(world: &World<'_>, launches: &Launches<'_>, placed: &Placed, found: &mut Violations) {
    let mut met: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut lists: BTreeSet<(usize, usize)> = BTreeSet::new();
    for (launch, pods) in placed.in_launch.iter().enumerate() {
        let Some(filling) = launches.filling_of[launch] else {
            continue;
        };
        let filling = &launches.fillings[filling];
        let others = &launches.lists[filling.list].offers;
        for pod in pods {
            let spec_at = world.spec_of[*pod];
            let spec = world.specs[spec_at];
            if spec.rules.volumes.is_empty() {
                continue;
            }
            let is_new = lists.insert((spec_at, filling.list));
            let others: &[Offer<'_>] = if is_new { others } else { &[] };
            for offer in std::iter::once(&filling.first).chain(others) {
                for prospect in &offer.all {
                    if !met.insert((spec_at, *prospect)) {
                        continue;
                    }
                    let labels = &launches.prospects[*prospect].labels;
                    if let Some(volume) = out_of_reach(spec, labels, None) {
                        let place = format_args!("launch/{launch} as {}", offer.named).to_string();
                        let subject = &world.snapshot.pods[*pod].name;
                        found.add(Rule::Volumes, subject, away(volume, place));
                    }
                }
            }
        }
    }
}

fn out_of_reach<'s>(spec: &'s PodSpec, labels: &Labels, node_name: Option<&str>) -> Option<&'s Volume> {
    let volumes = &spec.rules.volumes;
    volumes
        .iter()
        .find(|volume| !volume.reach.admits(labels, node_name))
}

fn away(volume: &Volume, place: impl fmt::Display) -> String {
    let terms = volume.reach.0.iter().map(|term| {
        let wanted = term
            .expressions
            .iter()
            .map(|(key, wanted)| format!("{key} {wanted}"));
        wanted.collect::<Vec<_>>().join(", ")
    });
    let terms: Vec<String> = terms.collect();
    format!(
        "its volume {} is within reach where {}, not of {place}",
        volume.claim,
        terms.join("; or ")
    )
}
