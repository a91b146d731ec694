//! minValues: a launch and all that may stand in for it have so many different values of a key together.
//!
//! Each of these offers admits the pods (that is judged elsewhere), so their values are those that the launch as
//! narrowed by its pods still admits. As best effort fewer are a fault only where one more could be had for the asking: an
//! offer of the NodePool, bought alike, in any number and no cheaper, that holds the pods under the labels that were chosen,
//! takes no more of the limits, and is the same to every rule about where pods are. Pods with volumes, host ports or
//! rules about others aren't judged by that, since more than the offer decides for them.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::instance_type::{HOSTNAME_LABEL, InstanceType};
use crate::model::money::Price;
use crate::model::node_pool::MinValuesPolicy;
use crate::model::offering::{CapacityType, Offering};
use crate::model::plan::PlanBody;
use crate::model::pod::PodSpec;

use super::launches::{Filling, Launches, List, Offer};
use super::prospect::{Prospect, typed_keys};
use super::world::{World, add};
use super::{Rule, Violations};

pub(super) fn check(world: &World<'_>, plan: &PlanBody, launches: &Launches<'_>, found: &mut Violations) {
    let is_strict = world.snapshot.min_values_policy == MinValuesPolicy::Strict;
    let mut of_lists: BTreeMap<(usize, &str), BTreeSet<&str>> = BTreeMap::new();
    for filling in &launches.fillings {
        for (key, least) in filling.pool.requirements.min_values() {
            let list = &launches.lists[filling.list];
            let others = of_lists
                .entry((filling.list, key))
                .or_insert_with(|| values(launches, list, key));
            let first = value(launches, &filling.first, key);
            let more = usize::from(first.is_some_and(|first| !others.contains(first)));
            let there = others.len() + more;
            if u32::try_from(there).is_err() || u32::try_from(there).is_ok_and(|there| there >= least) {
                continue;
            }
            if is_strict {
                let detail = format!("{key}: {there} different values, minValues asks for {least}");
                found.add(Rule::MinValues, filling.name(), detail);
            } else {
                let known = |value: &str| others.contains(value) || first == Some(value);
                if let Some(missed) = missed(world, plan, launches, filling, key, &known) {
                    let detail =
                        format!("{key}: {there} different values of {least}, {missed} could be one more");
                    found.add(Rule::MinValues, filling.name(), detail);
                }
            }
        }
    }
}

/// A value of the key that another offer would have added.
fn missed(
    world: &World<'_>,
    plan: &PlanBody,
    launches: &Launches<'_>,
    filling: &Filling<'_>,
    key: &str,
    known: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let snapshot = world.snapshot;
    let first = launches.prospect(&filling.first)?;
    let specs: Vec<&PodSpec> = filling
        .constraints
        .iter()
        .map(|at| world.constraints[*at])
        .collect();
    let weighed = snapshot.objective.weights(Some(&filling.pool.name)).interruption;
    let is_kept_off = snapshot
        .placement
        .keep_off_accelerators
        .contains(&filling.pool.name);
    if weighed > Price::default() || is_kept_off || specs.iter().any(|spec| !spec.rules.is_empty()) {
        return None;
    }
    let keys = topology_keys(world);
    let class = snapshot.node_class(filling.pool);
    let typed = typed_keys(class);
    let chosen = &plan.launch[filling.launch].labels;
    class
        .instance_types
        .iter()
        .filter(|other| takes_no_more(filling, first, other))
        .find_map(|instance_type| {
            let offerings = instance_type
                .offerings
                .iter()
                .filter(|offering| is_alike(first.offering, offering));
            offerings.into_iter().find_map(|offering| {
                let other = Prospect::new(world, filling.pool, &typed, instance_type, offering, chosen);
                let value = other.labels.get(key).filter(|value| !known(value))?;
                let mut taken = filling.requests.clone();
                for (sum, daemons) in taken.iter_mut().zip(&other.overhead) {
                    *sum += daemons;
                }
                add(&mut taken, &other.headroom);
                let would_do = other.findings.is_empty()
                    && keys
                        .iter()
                        .all(|key| other.labels.get(*key) == first.labels.get(*key))
                    && specs.iter().all(|spec| {
                        spec.admits_node(&other.labels, None) && other.first_unchosen(spec).is_none()
                    })
                    && world.shortage(&taken, &other.allocatable).is_none();
                would_do.then(|| value.clone())
            })
        })
}

/// Keys by which rules tell nodes apart.
fn topology_keys<'a>(world: &World<'a>) -> BTreeSet<&'a str> {
    let snapshot = world.snapshot;
    let pods = snapshot.pods.iter().map(|pod| &pod.spec);
    let specs = pods.chain(snapshot.daemon_sets.iter().map(|daemon_set| &daemon_set.spec));
    let mut keys: BTreeSet<&str> = specs.flat_map(|spec| spec.rules.topology_keys()).collect();
    keys.remove(HOSTNAME_LABEL);
    keys
}

/// Whether one request can ask for both, as often as anybody likes.
fn is_alike(first: &Offering, other: &Offering) -> bool {
    let has_price = other.price.micros() > 0 || other.capacity_type == CapacityType::Reserved;
    other.available
        && has_price
        && other.limit.is_none()
        && other.price >= first.price
        && other.capacity_type == first.capacity_type
        && other.reservation.is_none()
        && first.reservation.is_none()
}

/// Whether a type takes no more of what the NodePool limits than the first choice.
fn takes_no_more(filling: &Filling<'_>, first: &Prospect<'_>, other: &InstanceType) -> bool {
    let mut limited = filling.pool.limits.resources.iter();
    limited.all(|(name, _)| other.capacity.get(name) <= first.instance_type.capacity.get(name))
}

fn values<'s>(launches: &'s Launches<'_>, list: &List<'_>, key: &str) -> BTreeSet<&'s str> {
    let offers = list.offers.iter();
    offers.filter_map(|offer| value(launches, offer, key)).collect()
}

fn value<'s>(launches: &'s Launches<'_>, offer: &Offer<'_>, key: &str) -> Option<&'s str> {
    let prospect = launches.prospect(offer)?;
    prospect.labels.get(key).map(String::as_str)
}
