//! Subnets: whichever offer each launch gets, its addresses are free in one subnet that its node class may use.
//!
//! An offer that names a subnet takes its addresses there; a launch counts in every subnet that its offers name, each time
//! with the most that one of them takes. Offers that name none may take theirs anywhere in their zone: there must be room
//! for all launches that might go there, each with the most that any takes, in every way to spread them. Nodes that the
//! cloud hasn't made yet come first.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::instance_type::ZONE_LABEL;
use crate::model::name::{NodeClassName, SubnetId, ZoneName};
use crate::model::node::NodeStage;
use crate::model::node_pool::NodeClass;
use crate::model::resources::{ResourceName, Resources};
use crate::model::snapshot::Snapshot;
use crate::model::subnet::Subnet;

use super::launches::{Filling, Launches, Offer};
use super::world::World;
use super::{Rule, Violations};

pub(super) fn check(world: &World<'_>, launches: &Launches<'_>, found: &mut Violations) {
    let snapshot = world.snapshot;
    let mut taken = Taken::default();
    for filling in &launches.fillings {
        let count = u64::try_from(filling.count).unwrap_or(u64::MAX);
        let (named, unnamed) = most(snapshot, launches, filling, found);
        for (subnet, need) in named {
            let sum = taken.by_subnet.entry(subnet).or_default();
            *sum = sum.saturating_add(need.saturating_mul(count));
        }
        for (zone, need) in unnamed {
            let (launches, most, classes) = taken.anywhere.entry(zone).or_default();
            *launches = launches.saturating_add(count);
            *most = need.max(*most);
            classes.insert(&filling.pool.node_class);
        }
    }
    if snapshot.subnets.is_empty() {
        return;
    }
    let free = free(snapshot);
    for (subnet, sum) in &taken.by_subnet {
        let there = free.get(subnet).copied().unwrap_or(0);
        if *sum > there {
            let detail = format!("launches may take {sum} addresses, {there} are free");
            found.add(Rule::Subnets, format!("subnet {subnet}"), detail);
        }
    }
    for (zone, (launches, most, classes)) in taken.anywhere.iter().filter(|(_, (_, most, _))| *most > 0) {
        for class in classes.iter().filter_map(|name| snapshot.node_classes.get(*name)) {
            let left = |subnet: &Subnet| {
                let free = free.get(&subnet.id).copied().unwrap_or(0);
                free.saturating_sub(taken.by_subnet.get(&subnet.id).copied().unwrap_or(0))
            };
            let there = snapshot
                .subnets
                .iter()
                .filter(|subnet| subnet.zone == **zone && admits(class, subnet));
            let nodes = there.map(|subnet| left(subnet).checked_div(*most).unwrap_or(0));
            let nodes = nodes.fold(0, u64::saturating_add);
            if nodes < *launches {
                let detail = format!(
                    "{launches} launches may come, and the subnets of node class {} have {most} addresses for {nodes}",
                    class.name
                );
                found.add(Rule::Subnets, format!("zone {zone}"), detail);
            }
        }
    }
}

/// What all launches may take.
#[derive(Default)]
struct Taken<'a> {
    by_subnet: BTreeMap<&'a SubnetId, u64>,
    /// By zone, of launches that name no subnet: how many, the most that one takes, and their classes.
    anywhere: BTreeMap<&'a ZoneName, (u64, u64, BTreeSet<&'a NodeClassName>)>,
}

/// The most that one launch takes in each subnet that it names, and in each zone where it names none.
fn most<'a>(
    snapshot: &Snapshot,
    launches: &Launches<'a>,
    filling: &Filling<'a>,
    found: &mut Violations,
) -> (BTreeMap<&'a SubnetId, u64>, BTreeMap<&'a ZoneName, u64>) {
    let (mut named, mut unnamed) = (BTreeMap::new(), BTreeMap::new());
    let class = snapshot.node_class(filling.pool);
    let mut note = |offer: &Offer<'a>| {
        let Some(prospect) = launches.prospect(offer) else {
            return;
        };
        let need = needed(snapshot, &prospect.instance_type.capacity);
        let Some(id) = offer.named.subnet else {
            let slot = unnamed.entry(offer.named.zone).or_default();
            *slot = need.max(*slot);
            return;
        };
        let known = snapshot.subnets.iter().find(|subnet| subnet.id == *id);
        if !known.is_some_and(|subnet| subnet.zone == *offer.named.zone && admits(class, subnet)) {
            let detail = format!("subnet {id} isn't one of its zone that its node class may use");
            found.add(Rule::Subnets, filling.name_as(offer), detail);
        }
        let slot = named.entry(id).or_default();
        *slot = need.max(*slot);
    };
    note(&filling.first);
    launches.lists[filling.list].offers.iter().for_each(&mut note);
    (named, unnamed)
}

/// By subnet: free addresses beside nodes to come, each of which takes its own where most are free, the first of several.
fn free(snapshot: &Snapshot) -> BTreeMap<&SubnetId, u64> {
    let of_subnet = |subnet: &'_ Subnet| subnet.free_addresses;
    let mut free: BTreeMap<&SubnetId, u64> = snapshot
        .subnets
        .iter()
        .map(|subnet| (&subnet.id, of_subnet(subnet)))
        .collect();
    for node in &snapshot.nodes {
        if node.stage != NodeStage::InFlight || node.launched {
            continue;
        }
        let pool = node.node_pool.as_ref().and_then(|name| snapshot.node_pool(name));
        let class = pool.map(|pool| snapshot.node_class(pool));
        let zone = node.labels.get(ZONE_LABEL).map(String::as_str);
        let mut chosen: Option<(&SubnetId, u64)> = None;
        for subnet in &snapshot.subnets {
            let here = free[&subnet.id];
            let may_be =
                zone == Some(subnet.zone.as_str()) && class.is_none_or(|class| admits(class, subnet));
            if may_be && chosen.is_none_or(|(_, most)| here > most) {
                chosen = Some((&subnet.id, here));
            }
        }
        if let Some((id, here)) = chosen {
            free.insert(id, here.saturating_sub(needed(snapshot, &node.capacity)));
        }
    }
    free
}

fn admits(class: &NodeClass, subnet: &Subnet) -> bool {
    class.subnets.is_empty() || class.subnets.contains(&subnet.id)
}

/// Addresses that a node takes: as said, or one for each of its pod slots.
fn needed(snapshot: &Snapshot, capacity: &Resources) -> u64 {
    match snapshot.addresses_per_node {
        Some(addresses) => addresses,
        None => capacity.get(&ResourceName::Pods).get(),
    }
}
