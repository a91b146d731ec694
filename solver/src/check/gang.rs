//! Pods with one gang's name in a namespace: all that need a place have one, or none has; and none before there are as many
//! as the largest size that one of them gives, pods that run and stay among them.

use std::collections::BTreeMap;

use crate::model::pod::PodPlace;

use super::placement::Placed;
use super::world::World;
use super::{Rule, Violations};

#[derive(Default)]
struct Muster {
    /// The largest size.
    size: u32,
    /// Pods that run and stay.
    stay: usize,
    need_place: usize,
    placed: usize,
}

pub(super) fn check(world: &World<'_>, placed: &Placed, found: &mut Violations) {
    if world.specs.iter().all(|spec| spec.rules.gang.is_none()) {
        return;
    }
    let mut is_placed = vec![false; world.snapshot.pods.len()];
    placed.all().for_each(|pod| is_placed[pod] = true);
    let mut musters: BTreeMap<(&str, &str), Muster> = BTreeMap::new();
    for (at, pod) in world.snapshot.pods.iter().enumerate() {
        let Some(gang) = &pod.spec.rules.gang else {
            continue;
        };
        if pod.is_daemon() {
            continue;
        }
        let muster = musters.entry((&pod.name.namespace, &gang.name)).or_default();
        if world.needs_place(at) {
            muster.need_place += 1;
            muster.placed += usize::from(is_placed[at]);
        } else if matches!(pod.place, PodPlace::Bound(_)) {
            muster.stay += 1;
        } else {
            // It goes, and what it says of a size goes with it.
            continue;
        }
        muster.size = muster.size.max(gang.size.unwrap_or(0));
    }
    for ((namespace, name), muster) in musters.iter().filter(|(_, muster)| muster.placed > 0) {
        let subject = format!("gang {namespace}/{name}");
        let Muster {
            size,
            stay,
            need_place,
            placed,
        } = *muster;
        if placed < need_place {
            found.add(
                Rule::Gang,
                &subject,
                format!("{placed} of {need_place} pods are placed"),
            );
        }
        let there = stay + need_place;
        if usize::try_from(size).is_ok_and(|size| there < size) {
            let detail = format!("{placed} pods are placed, {there} of {size} are there");
            found.add(Rule::Gang, &subject, detail);
        }
    }
}
