//! minValues: a launch and all that may stand in for it have so many different values of a key together.
//!
//! Each of these offers admits the pods (that is judged elsewhere), so their values are those that the launch as
//! narrowed by its pods still admits. As best effort, fewer are no fault.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::node_pool::MinValuesPolicy;

use super::launches::{Launches, List, Offer};
use super::world::World;
use super::{Rule, Violations};

pub(super) fn check(world: &World<'_>, launches: &Launches<'_>, found: &mut Violations) {
    if world.snapshot.min_values_policy == MinValuesPolicy::BestEffort {
        return;
    }
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
            if u32::try_from(there).is_ok_and(|there| there < least) {
                let detail = format!("{key}: {there} different values, minValues asks for {least}");
                found.add(Rule::MinValues, filling.name(), detail);
            }
        }
    }
}

fn values<'s>(launches: &'s Launches<'_>, list: &List<'_>, key: &str) -> BTreeSet<&'s str> {
    let offers = list.offers.iter();
    offers.filter_map(|offer| value(launches, offer, key)).collect()
}

fn value<'s>(launches: &'s Launches<'_>, offer: &Offer<'_>, key: &str) -> Option<&'s str> {
    let prospect = launches.prospect(offer)?;
    prospect.labels.get(key).map(String::as_str)
}
