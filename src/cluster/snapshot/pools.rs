//! The NodePools, those that launch nothing with the reason, and the instance types of their node classes.

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
use crate::cluster::convert::node_pool::{
    NODE_CLASS_GROUP, NODE_CLASS_KIND, left_out, node_pool, not_ready, oddities,
};
use crate::cluster::convert::policy::Policies;
use crate::cluster::diagnostics::{Note, Reason};
use crate::cluster::index::Index;
use crate::cluster::objects::meta::ObjectName;

/// What may be launched, and what not.
pub(super) struct Launching {
    pub(super) node_pools: Vec<NodePool>,
    pub(super) node_classes: BTreeMap<NodeClassName, NodeClass>,
}

/// Converts the pools, and the classes they launch from.
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
        if let Some(message) = uncounted(&name.name, pool, machines) {
            notes.push(about(Note::warning(Reason::NodeMissing, message).path("status")));
        }
        let class = pool.spec.template.spec.node_class_ref.name.as_str();
        let overhead = policies
            .overhead
            .get(&NodePoolName::from(&*name.name))
            .copied()
            .unwrap_or_default();
        let class_name = snapshot_name(class, overhead);
        let converted = class_of(pool, &classes).and_then(|()| {
            let converted = node_pool(&name.name, pool, class_name.clone());
            converted.map_err(|(path, why)| LeftOut {
                is_error: true,
                reason: Reason::NodePoolLeftOut,
                path: Some(path),
                why,
                hint: "",
            })
        });
        match converted {
            Ok(converted) => launching.node_pools.push(converted),
            Err(refusal) => {
                notes.push(about(refusal.note()));
                let pool = left_out(&name.name, class_name, refusal.text());
                launching.node_pools.push(pool);
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
    for pool in launching.node_pools.iter().filter(|pool| pool.left_out.is_some()) {
        let class = || NodeClass {
            name: pool.node_class.clone(),
            instance_types: Vec::new(),
            subnets: BTreeSet::new(),
        };
        let classes = &mut launching.node_classes;
        classes.entry(pool.node_class.clone()).or_insert_with(class);
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

/// What limits and a static pool's number can't count: nodes of the status that the input doesn't have.
fn uncounted(name: &str, pool: &api::NodePool, machines: &[Machine<'_>]) -> Option<String> {
    if pool.spec.limits.is_empty() && pool.spec.replicas.is_none() {
        return None;
    }
    let said = usize::try_from(pool.status.as_ref()?.nodes).ok()?;
    let own = machines
        .iter()
        .filter(|machine| machine.node_pool() == Some(name))
        .count();
    (said > own).then(|| {
        format!("it counts {said} nodes, {own} of them are in the input; limits and replicas count those alone (add its nodes and nodeclaims)")
    })
}

/// Why a pool launches nothing.
struct LeftOut {
    is_error: bool,
    reason: Reason,
    path: Option<String>,
    why: String,
    /// What may help.
    hint: &'static str,
}

impl LeftOut {
    /// What is wrong; where, if it is something in the pool that makes no sense.
    fn text(&self) -> String {
        match &self.path {
            Some(path) if self.is_error && self.reason == Reason::NodePoolLeftOut => {
                format!("{path}: {}", self.why)
            }
            _ => self.why.clone(),
        }
    }

    fn note(&self) -> Note {
        let message = format!("{}; it launches nothing{}", self.why, self.hint);
        let note = if self.is_error {
            Note::error(self.reason, message)
        } else {
            Note::warning(self.reason, message)
        };
        match &self.path {
            Some(path) => note.path(path.clone()),
            None => note,
        }
    }
}

/// Whether a pool may launch; why not, otherwise.
fn class_of(pool: &api::NodePool, classes: &Classes) -> Result<(), LeftOut> {
    let refusal = |why: String| LeftOut {
        is_error: false,
        reason: Reason::NodePoolLeftOut,
        path: None,
        why,
        hint: "",
    };
    if let Some(why) = not_ready(pool) {
        return Err(refusal(why));
    }
    let reference = &pool.spec.template.spec.node_class_ref;
    let path = Some("spec.template.spec.nodeClassRef".to_owned());
    if (reference.group.as_str(), reference.kind.as_str()) != (NODE_CLASS_GROUP, NODE_CLASS_KIND) {
        let why = format!(
            "node class {} is a {}.{}, expected an {NODE_CLASS_KIND}.{NODE_CLASS_GROUP}",
            reference.name, reference.kind, reference.group
        );
        return Err(LeftOut { path, ..refusal(why) });
    }
    if classes.settings.contains_key(&reference.name) {
        return Ok(());
    }
    if let Some(reason) = classes.unusable.get(&reference.name) {
        return Err(refusal(format!("{NODE_CLASS_KIND} {}: {reason}", reference.name)));
    }
    let why = format!(
        "{NODE_CLASS_KIND} {} isn't in the input, so what the pool's nodes would be isn't known",
        reference.name
    );
    Err(LeftOut {
        is_error: true,
        reason: Reason::NodeClassMissing,
        path,
        why,
        hint: " (add it, e.g. from kubectl get ec2nodeclasses -o yaml)",
    })
}
