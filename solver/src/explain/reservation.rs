//! How far a capacity reservation must be enlarged: to the exact figure.

use std::collections::BTreeMap;

use super::Trial;
use super::change::Change;
use crate::model::explain::Constraint;
use crate::model::name::NodePoolName;
use crate::model::offering::Supply;
use crate::model::plan::PlanBody;

/// So many reservations are tried.
const MOST_RESERVATIONS: usize = 3;
/// So often a smaller figure is looked for; each try is a plan.
const MOST_STEPS: usize = 4;

/// The smallest number of machines of one capacity reservation that gives the group a place.
pub(super) fn enlarged(trial: &mut Trial<'_>) -> Option<Change> {
    let reservations = full(trial);
    reservations
        .into_iter()
        .take(MOST_RESERVATIONS)
        .find_map(|(reservation, number)| {
            let to = smallest(trial, &reservation, number)?;
            Some(Change::Enlarge { reservation, to })
        })
}

/// Those that launch for the NodePools that lack capacity, each with its number of machines, or of nodes, where those are more.
fn full(trial: &Trial<'_>) -> BTreeMap<String, u32> {
    let parts = trial.residual;
    let reasons = trial.group.reasons.iter();
    let lacking: Vec<&NodePoolName> = reasons
        .filter(|reason| reason.constraint == Constraint::Capacity)
        .filter_map(|reason| reason.node_pool.as_ref())
        .collect();
    let pools = parts
        .node_pools
        .iter()
        .filter(|pool| lacking.contains(&&pool.name));
    let classes = pools.filter_map(|pool| parts.node_classes.get(&pool.node_class));
    let types = classes.flat_map(|class| &class.instance_types);
    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    for offering in types.flat_map(|instance_type| &instance_type.offerings) {
        if let (Some(id), Some(limit), true) = (offering.reservation_id(), offering.limit, offering.available)
        {
            let least = numbers.entry(id.to_owned()).or_insert(limit);
            *least = limit.min(*least);
        }
    }
    for (id, number) in &mut numbers {
        *number = held(trial, id).max(*number);
    }
    numbers
}

/// Nodes that hold one, those of the plan among them.
fn held(trial: &Trial<'_>, reservation: &str) -> u32 {
    let holds = |held: &Option<Supply>| matches!(held, Some(Supply::Reservation(id)) if id == reservation);
    let nodes = trial.residual.nodes.iter().filter(|node| holds(&node.supply));
    u32::try_from(nodes.count()).unwrap_or(u32::MAX)
}

/// With one more for each pod, the cheapest plan says how many are used; then below that, until no plan does with less.
fn smallest(trial: &mut Trial<'_>, reservation: &str, number: u32) -> Option<u32> {
    let pods = u32::try_from(trial.group.pods.len()).ok()?;
    let mut to = number.checked_add(pods)?;
    let mut proven = None;
    for _ in 0..MOST_STEPS {
        let enlarged = Change::Enlarge {
            reservation: reservation.to_owned(),
            to,
        };
        let Some(plan) = trial.places(&enlarged) else {
            break;
        };
        proven = Some(to);
        // A plan that uses fewer than there are doesn't prove that it would be found with those: they're tried too.
        let used = held(trial, reservation).saturating_add(launched(&plan, reservation));
        to = used.min(to.saturating_sub(1));
        if to <= number {
            break;
        }
    }
    proven
}

fn launched(plan: &PlanBody, reservation: &str) -> u32 {
    let launched = plan.launch.iter();
    let own = launched.filter(|launch| launch.reservation_id.as_deref() == Some(reservation));
    u32::try_from(own.count()).unwrap_or(u32::MAX)
}
