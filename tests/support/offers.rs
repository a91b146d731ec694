//! Which offers of a NodePool could hold which pods, by the input's documents.

use serde_json::Value;

use super::input::{Input, Labels, labels, list, text};
use super::machine::{
    Offer, allocatable, broken_requirement, daemons, instance_type, node_class, node_labels, zones,
};
use super::numbers::{Sale, sales};
use super::pods::Pod;
use super::quantity::{Amounts, add, amounts, lacking};
use super::selection::{admits, untolerated};

/// What the pods and DaemonSets ask for on this offer, or why it can't be.
pub(crate) fn wanted_on(
    input: &Input,
    pool: &Value,
    offer: &Offer,
    pods: &[&Pod],
) -> Result<Amounts, String> {
    let sold = sales(input, &offer.instance_type, &offer.zone, &offer.capacity_type);
    if instance_type(input, &offer.instance_type).is_none() {
        return Err("the catalogue has no such type".to_owned());
    }
    let mut meant = sold.iter().filter(|sale| sale.is_meant(offer));
    if let Some(refusal) = meant
        .clone()
        .next()
        .and_then(|sale| sale.refused_by(node_class(input, pool), input.now))
    {
        return Err(refusal);
    }
    if meant.next().is_none() {
        return Err(format!(
            "{} at {} isn't sold, only {sold:?}",
            offer.capacity_type, offer.price
        ));
    }
    let class = node_class(input, pool);
    let subnets = list(class, "/status/subnets");
    if !subnets.is_empty() && !subnets.iter().any(|subnet| text(subnet, "/zone") == offer.zone) {
        return Err("the node class has no subnet there".to_owned());
    }
    let node = node_labels(input, pool, offer);
    if let Some(broken) = broken_requirement(pool, &node) {
        return Err(broken);
    }
    let taints = list(pool, "/spec/template/spec/taints");
    let mut wanted = Amounts::new();
    for pod in pods {
        admits(&pod.spec, &node, None)?;
        if let Some(taint) = untolerated(&pod.spec, taints, false) {
            return Err(taint);
        }
        add(&mut wanted, &pod.requests);
    }
    for (_, daemon) in daemons(input, &node, None, taints) {
        add(&mut wanted, &daemon.requests);
    }
    match lacking(&wanted, &allocatable(input, class, &offer.instance_type)) {
        Some(lacks) => Err(format!("too small: {lacks}")),
        None => Ok(wanted),
    }
}

/// A sale, open labels as the pod selects them.
fn chosen(input: &Input, pool: &Value, pod: &Pod, sale: Sale) -> Offer {
    let mut offer = Offer {
        instance_type: sale.instance_type,
        zone: sale.zone,
        capacity_type: sale.capacity_type,
        reservation: sale.reservation,
        price: sale.price,
        labels: Labels::new(),
    };
    let fixed = node_labels(input, pool, &offer);
    let open = |key: &str| {
        !fixed.contains_key(key)
            && list(pool, "/spec/template/spec/requirements")
                .iter()
                .any(|one| text(one, "/key") == key)
    };
    let selected = labels(&pod.spec, "/nodeSelector").into_iter();
    offer.labels = selected.filter(|(key, _)| open(key)).collect();
    offer
}

/// Whether a pool launches for pods at all: not static, it and its class there, ready and not on their way out.
pub(crate) fn may_launch(input: &Input, pool: &Value) -> bool {
    let is_well = |object: &Value| {
        let mut conditions = list(object, "/status/conditions").iter();
        object.pointer("/metadata/deletionTimestamp").is_none()
            && conditions.all(|one| text(one, "/type") != "Ready" || text(one, "/status") == "True")
    };
    let class = node_class(input, pool);
    pool.pointer("/spec/replicas").is_none() && !class.is_null() && is_well(pool) && is_well(class)
}

/// Every offer of a pool that could hold one pod by itself, its open labels as the pod selects them.
pub(crate) fn offers_for(input: &Input, pool: &Value, pod: &Pod) -> Vec<Offer> {
    if !may_launch(input, pool) {
        return Vec::new();
    }
    let of_input = input
        .kind("Catalog")
        .flat_map(|one| list(one, "/spec/instanceTypes"));
    let mut offers = Vec::new();
    for found in of_input {
        for zone in zones(input) {
            for capacity_type in ["reserved", "spot", "on-demand"] {
                for sale in sales(input, text(found, "/name"), &zone, capacity_type) {
                    let offer = chosen(input, pool, pod, sale);
                    if wanted_on(input, pool, &offer, &[pod]).is_ok() {
                        offers.push(offer);
                    }
                }
            }
        }
    }
    offers
}

/// Whether a policy keeps the pod off an offer.
pub(crate) fn is_kept_from(input: &Input, pool: &Value, pod: &Pod, offer: &Offer) -> bool {
    let size = allocatable(input, node_class(input, pool), &offer.instance_type);
    let name = text(pool, "/metadata/name");
    let mut policies = input.kind("PackingPolicy");
    let keeps_off = |policy: &Value| {
        let is_gpu = |amounts: &Amounts| amounts.contains_key("nvidia.com/gpu");
        let off_accelerators = policy.pointer("/spec/placement/keepOffAccelerators");
        let room = policy.pointer("/spec/headroom").map(amounts).unwrap_or_default();
        let wanted = wanted_on(input, pool, offer, &[pod]).map(|mut wanted| {
            add(&mut wanted, &room);
            wanted
        });
        list(policy, "/spec/nodePools").iter().any(|named| named == name)
            && (off_accelerators == Some(&Value::Bool(true)) && is_gpu(&size) && !is_gpu(&pod.requests)
                || wanted.is_ok_and(|wanted| lacking(&wanted, &size).is_some()))
    };
    policies.any(keeps_off)
}
