//! The NodePools that may launch, and the instance types of their node classes.

use std::collections::{BTreeMap, BTreeSet};

use dovetail_solver::model::name::{NodeClassName, NodePoolName, SubnetId};
use dovetail_solver::model::node_pool::{NodeClass, NodePool};

use dovetail_solver::model::time::Timestamp;

use super::reservations;
use crate::api;
use crate::cloud::catalog::Catalogue;
use crate::cluster::convert::attachments::Attachments;
use crate::cluster::convert::node::Machine;
use crate::cluster::convert::node_class::{Classes, observed_memory, snapshot_name};
use crate::cluster::convert::node_pool::{NODE_CLASS_GROUP, NODE_CLASS_KIND, node_pool, not_ready, oddities};
use crate::cluster::convert::policy::Policies;
use crate::cluster::diagnostics::{Note, Reason};
use crate::cluster::index::Index;
use crate::cluster::objects::meta::ObjectName;

/// What may be launched.
pub(super) struct Launching {
    pub(super) node_pools: Vec<NodePool>,
    pub(super) node_classes: BTreeMap<NodeClassName, NodeClass>,
}

/// Converts the pools that may launch, and the classes they launch from.
pub(super) fn convert(
    index: &Index,
    machines: &[Machine<'_>],
    attachments: Attachments<'_>,
    mut classes: Classes,
    policies: &Policies,
    now: Timestamp,
    notes: &mut Vec<Note>,
) -> Launching {
    let mut launching = Launching {
        node_pools: Vec::new(),
        node_classes: BTreeMap::new(),
    };
    notes.extend(reservations::notes(index, attachments.catalogue, now));
    for (name, settings) in &mut classes.settings {
        if let Some(stored) = index.node_classes().get(&ObjectName::new("", name)) {
            settings.observed_memory = observed_memory(name, &stored.object, machines);
        }
    }
    for (name, stored) in index.node_pools() {
        let pool = &stored.object;
        let about = |note: Note| {
            let note = note.about(format_args!("NodePool {name}"));
            note.at_known(stored.origin.as_ref())
        };
        for (path, message) in oddities(pool) {
            notes.push(about(Note::warning(Reason::Odd, message).path(path)));
        }
        if let Err(note) = class_of(pool, &classes) {
            notes.push(about(note));
            continue;
        }
        let class = pool.spec.template.spec.node_class_ref.name.as_str();
        let overhead = policies
            .overhead
            .get(&NodePoolName::from(&*name.name))
            .copied()
            .unwrap_or_default();
        let class_name = snapshot_name(class, overhead);
        match node_pool(&name.name, pool, class_name.clone()) {
            Ok(converted) => launching.node_pools.push(converted),
            Err((path, message)) => {
                let note = Note::error(Reason::NodePoolLeftOut, format!("{message}; it launches nothing"));
                notes.push(about(note.path(path)));
                continue;
            }
        }
        launching
            .node_classes
            .entry(class_name.clone())
            .or_insert_with(|| {
                let mut settings = classes.settings[class].clone();
                settings.memory_overhead = overhead;
                let mut instance_types = attachments.catalogue.instance_types(&settings);
                if let Some(stored) = index.node_classes().get(&ObjectName::new("", class)) {
                    reservations::narrow(&stored.object, &mut instance_types, now);
                }
                attachments.of_types(&mut instance_types, &settings);
                NodeClass {
                    name: class_name,
                    instance_types,
                    subnets: subnets(&settings.subnets, attachments.catalogue),
                }
            });
    }
    if index.node_pools().is_empty() {
        let message = "there is no NodePool, so nothing can be launched";
        notes.push(Note::warning(Reason::NodePoolLeftOut, message).counting(0));
    }
    launching
}

/// The subnets of a class as far as the catalogue knows them; empty, for any of them, where it knows none.
fn subnets(of_class: &BTreeSet<String>, catalogue: &Catalogue) -> BTreeSet<SubnetId> {
    let known = catalogue.subnets().iter();
    known
        .filter(|subnet| of_class.contains(&subnet.id))
        .map(|subnet| SubnetId::from(subnet.id.as_str()))
        .collect()
}

/// Whether a pool may launch; why not, otherwise.
fn class_of(pool: &api::NodePool, classes: &Classes) -> Result<(), Note> {
    let left_out = |message: String| {
        Err(Note::warning(
            Reason::NodePoolLeftOut,
            format!("{message}; it launches nothing"),
        ))
    };
    if let Some(reason) = not_ready(pool) {
        return left_out(reason);
    }
    let reference = &pool.spec.template.spec.node_class_ref;
    let path = "spec.template.spec.nodeClassRef";
    if (reference.group.as_str(), reference.kind.as_str()) != (NODE_CLASS_GROUP, NODE_CLASS_KIND) {
        let message = format!(
            "node class {} is a {}.{}, expected an {NODE_CLASS_KIND}.{NODE_CLASS_GROUP}; it launches nothing",
            reference.name, reference.kind, reference.group
        );
        return Err(Note::warning(Reason::NodePoolLeftOut, message).path(path));
    }
    if classes.settings.contains_key(&reference.name) {
        return Ok(());
    }
    if let Some(reason) = classes.unusable.get(&reference.name) {
        return left_out(format!("{NODE_CLASS_KIND} {}: {reason}", reference.name));
    }
    let message = format!(
        "{NODE_CLASS_KIND} {} isn't in the input, so what the pool's nodes would be isn't known; it launches nothing (add it, e.g. from kubectl get ec2nodeclasses -o yaml)",
        reference.name
    );
    Err(Note::error(Reason::NodeClassMissing, message).path(path))
}
