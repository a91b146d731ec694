//! Static NodePools: a pool with `replicas` launches what it lacks, no more, and no less than its limits admit.
//!
//! Nodes being deleted are none of its nodes any more, but count towards its limits. Fewer are launched only where nothing that
//! can be had in any number is an offer of the pool, or limits on resources, addresses or minValues stand in the way.

use crate::model::node_pool::NodePool;
use crate::model::offering::{CapacityType, Offering};
use crate::model::requirement::Labels;

use super::launches::Launches;
use super::prospect::{Prospect, typed_keys};
use super::world::{World, add};
use super::{Rule, Violations};

pub(super) fn check(world: &World<'_>, launches: &Launches<'_>, found: &mut Violations) {
    for pool in &world.snapshot.node_pools {
        let Some(replicas) = pool.replicas else { continue };
        let own = || {
            let nodes = world.snapshot.nodes.iter();
            nodes.filter(|node| node.node_pool.as_ref() == Some(&pool.name))
        };
        let staying = own().filter(|node| !node.deleting).count();
        let of_pool = launches
            .fillings
            .iter()
            .filter(|filling| filling.pool.name == pool.name);
        let launched = count(of_pool.map(|filling| filling.count).sum());
        let lacks = replicas.saturating_sub(count(staying));
        let admitted = match pool.limits.nodes {
            Some(limit) => lacks.min(limit.saturating_sub(count(own().count()))),
            None => lacks,
        };
        let subject = format!("node pool {}", pool.name);
        if launched > lacks {
            let detail = format!("is static with {staying} of {replicas} nodes and launches {launched}");
            found.add(Rule::StaticPools, subject, detail);
        } else if launched < admitted && could_launch_any_number(world, pool) {
            let detail = format!("is static with {staying} of {replicas} nodes and launches only {launched}");
            found.add(Rule::StaticPools, subject, detail);
        }
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Whether some offer of the pool can be had in any number, and nothing but the number of nodes is limited.
fn could_launch_any_number(world: &World<'_>, pool: &NodePool) -> bool {
    if !world.snapshot.subnets.is_empty()
        || !pool.limits.resources.is_empty()
        || pool.requirements.min_values().next().is_some()
    {
        return false;
    }
    let class = world.snapshot.node_class(pool);
    let typed = typed_keys(class);
    let nothing = Labels::new();
    let in_any_number = |offering: &&Offering| {
        let has_price = offering.price.micros() > 0 || offering.capacity_type == CapacityType::Reserved;
        offering.available && has_price && offering.limit.is_none()
    };
    class.instance_types.iter().any(|instance_type| {
        instance_type
            .offerings
            .iter()
            .filter(in_any_number)
            .any(|offering| {
                let prospect = Prospect::new(world, pool, &typed, instance_type, offering, &nothing);
                let mut taken = prospect.overhead.clone();
                add(&mut taken, &prospect.headroom);
                prospect.findings.is_empty() && world.shortage(&taken, &prospect.allocatable).is_none()
            })
    })
}
