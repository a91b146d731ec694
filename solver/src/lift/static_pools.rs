//! What static pools launch, from the nodes in flight that stood for it: launches again, after all others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::lower::rules::static_pools::{Choice, Standing};
use crate::lower::rules::volumes;
use crate::model::money::Cost;
use crate::model::name::NodeName;
use crate::model::plan::{Alternative, Launch, PlanBody};
use crate::model::requirement::Labels;
use crate::model::snapshot::Snapshot;

/// The plan for the snapshot itself, made from that for the snapshot with these nodes in flight. A launch with pods has no
/// alternatives: its pods were given the room of the very node.
pub(crate) fn launched(snapshot: &Snapshot, standing: &[Standing<'_>], mut body: PlanBody) -> PlanBody {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut cost = Cost::ZERO;
    // Launches of one first choice share their list, as others do.
    let none: Arc<[Alternative]> = Arc::from([]);
    let mut lists: BTreeMap<(*const Choice<'_>, &Labels), Arc<[Alternative]>> = BTreeMap::new();
    let mut at_node: BTreeMap<NodeName, usize> = BTreeMap::new();
    for (at, node) in body.nodes.iter().enumerate() {
        at_node.insert(node.name.clone(), at);
    }
    let mut gone = BTreeSet::new();
    for one in standing {
        let at = at_node.get(&one.node.name).copied();
        gone.extend(at);
        let pods = at.map_or_else(Vec::new, |at| std::mem::take(&mut body.nodes[at].added));
        let mut requests = one.daemons(snapshot);
        for pod in pods.iter().filter_map(|name| snapshot.pod(name)) {
            let asked = pod.spec.requests.iter();
            for (name, amount) in asked.filter(|(name, _)| !volumes::is_attachment(name)) {
                requests.add(name.clone(), amount);
            }
        }
        let Choice {
            instance_type,
            offering,
            chosen,
            ..
        } = &one.first;
        let alternatives = if pods.is_empty() {
            let list = lists.entry((one.others.as_ptr(), chosen)).or_insert_with(|| {
                let others = one.others.iter().map(|other| alternative(other, chosen));
                others.collect()
            });
            Arc::clone(list)
        } else {
            Arc::clone(&none)
        };
        names.insert(one.node.name.to_string(), format!("launch/{}", body.launch.len()));
        cost += offering.price.cost();
        body.launch.push(Launch {
            node_pool: one.pool.name.clone(),
            instance_type: instance_type.name.clone(),
            zone: offering.zone.clone(),
            subnet: one.subnet.map(|at| snapshot.subnets[at].id.clone()),
            capacity_type: offering.capacity_type,
            reservation_id: offering.reservation_id().map(str::to_owned),
            price: offering.price,
            pods,
            requests,
            labels: chosen.clone(),
            alternatives,
        });
    }
    let mut at = 0;
    body.nodes.retain(|_| {
        at += 1;
        !gone.contains(&(at - 1))
    });
    for step in &mut body.moves {
        if let Some(launch) = names.get(&step.to) {
            step.to.clone_from(launch);
        }
    }
    body.moves.sort();
    body.cost.before = body.cost.before - cost;
    body.cost.launched += cost;
    body
}

fn alternative(choice: &Choice<'_>, of_launch: &Labels) -> Alternative {
    let offering = choice.offering;
    Alternative {
        instance_type: choice.instance_type.name.clone(),
        zone: offering.zone.clone(),
        subnet: None,
        capacity_type: offering.capacity_type,
        reservation_id: offering.reservation_id().map(str::to_owned),
        price: offering.price,
        labels: if choice.chosen == *of_launch {
            Labels::new()
        } else {
            choice.chosen.clone()
        },
    }
}
