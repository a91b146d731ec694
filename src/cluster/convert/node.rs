//! Nodes: a Node and the NodeClaim it came from, joined; and NodeClaims whose Node isn't there yet.
//!
//! Until a node is initialised, its claim knows better what it will have, and the taints that go by themselves don't
//! count. Source of the rules: Karpenter's documentation and `karpenter-core` behaviour (state nodes).

use std::collections::BTreeMap;
use std::sync::Arc;

use dovetail_solver::model::instance_type::{HOSTNAME_LABEL, INSTANCE_TYPE_LABEL, NODE_POOL_LABEL};
use dovetail_solver::model::money::Price;
use dovetail_solver::model::name::NodeName;
use dovetail_solver::model::node::{Node as ModelNode, NodeStage};
use dovetail_solver::model::requirement::{Labels, Requirements};
use dovetail_solver::model::resources::{Amount, Resources};
use dovetail_solver::model::taint::{Taint as ModelTaint, TaintEffect};
use dovetail_solver::model::time::Timestamp;

use super::labels::with_normal_keys;
use super::node_pool::{requirements, resources, taints};
use crate::api;
use crate::api::labels::{INITIALIZED, taint};
use crate::cluster::diagnostics::{Note, Reason};
use crate::cluster::index::Index;
use crate::cluster::objects::meta::{ObjectName, condition};
use crate::cluster::objects::node::{Node, Taint};

/// Size of a machine that isn't there yet: capacity and allocatable, by instance type and node class.
pub type SizeOf<'c> = dyn Fn(&str, &str) -> Option<(Resources, Resources)> + 'c;

/// One machine: its Node, its NodeClaim, or both.
#[derive(Clone, Copy, Debug)]
pub struct Machine<'i> {
    /// The Node.
    pub node: Option<(&'i Arc<str>, &'i Node)>,
    /// The NodeClaim.
    pub claim: Option<(&'i Arc<str>, &'i api::NodeClaim)>,
}

/// Joins Nodes and NodeClaims: by the cloud's name for the machine, else by the name that the claim gives.
#[must_use]
pub fn machines(index: &Index) -> Vec<Machine<'_>> {
    let mut by_provider: BTreeMap<&str, &Arc<str>> = BTreeMap::new();
    for (name, stored) in index.nodes() {
        let provider = stored.object.spec.provider_id.as_str();
        if !provider.is_empty() {
            by_provider.entry(provider).or_insert(&name.name);
        }
    }
    let mut claims: BTreeMap<&str, (&Arc<str>, &api::NodeClaim)> = BTreeMap::new();
    let mut in_flight = Vec::new();
    for (name, stored) in index.node_claims() {
        let status = stored.object.status.as_ref();
        let provider = status
            .and_then(|status| status.provider_id.as_deref())
            .unwrap_or("");
        let node_name = status
            .and_then(|status| status.node_name.as_deref())
            .unwrap_or("");
        let known = |node: &str| index.nodes().contains_key(&ObjectName::new("", node));
        let node = by_provider.get(provider).map(|name| &***name);
        let node = node.or_else(|| Some(node_name).filter(|node| !node.is_empty() && known(node)));
        match node {
            Some(node) if !claims.contains_key(node) => {
                claims.insert(node, (&name.name, &stored.object));
            }
            // Two claims for one node: the second has none.
            _ => in_flight.push(Machine {
                node: None,
                claim: Some((&name.name, &stored.object)),
            }),
        }
    }
    let mut found: Vec<Machine<'_>> = index
        .nodes()
        .iter()
        .map(|(name, stored)| Machine {
            node: Some((&name.name, &stored.object)),
            claim: claims.get(&*name.name).copied(),
        })
        .collect();
    found.append(&mut in_flight);
    found
}

/// What joining says of a machine.
#[derive(Debug)]
pub enum Converted {
    /// A node of the snapshot. Its price isn't known here.
    Node(Box<ModelNode>),
    /// Nothing that can be planned with.
    Unknown(Note),
}

impl Machine<'_> {
    /// Its conditions and labels in the model's words. `size_of` knows what an instance type has.
    #[must_use]
    pub fn convert(&self, size_of: &SizeOf<'_>, nodes_are_given: bool) -> Converted {
        let labels = self.labels();
        let stage = self.stage(&labels, nodes_are_given);
        let Some((capacity, allocatable)) = self.size(&labels, stage, size_of) else {
            let message = "its size is unknown (no capacity in its status, and its instance type isn't in the catalogue); it isn't counted";
            return Converted::Unknown(Note::warning(Reason::NodeUnknown, message).about(self.describe()));
        };
        let name = self.name(nodes_are_given);
        let mut labels = labels;
        labels
            .entry(HOSTNAME_LABEL.to_owned())
            .or_insert_with(|| name.to_owned());
        let taints = match self.taints(stage) {
            Ok(taints) => taints,
            Err(message) => {
                return Converted::Unknown(Note::error(Reason::Malformed, message).about(self.describe()));
            }
        };
        let ready = match self.node {
            Some((_, node)) => {
                condition(&node.status.conditions, "Ready").is_none_or(|ready| ready.status == "True")
            }
            None => stage == NodeStage::Initialized,
        };
        Converted::Node(Box::new(ModelNode {
            name: NodeName::from(name),
            node_pool: labels.get(NODE_POOL_LABEL).map(|pool| pool.as_str().into()),
            stage,
            launched: self.is_launched(),
            ready,
            unschedulable: self
                .node
                .map_or(self.has_lost_its_node(nodes_are_given), |(_, node)| {
                    node.spec.unschedulable
                }),
            deleting: self.is_deleting(),
            labels,
            taints,
            capacity,
            allocatable,
            price: Price::default(),
            supply: None,
            created: self.created(),
        }))
    }

    /// The NodePool that its labels name.
    #[must_use]
    pub fn node_pool(&self) -> Option<&str> {
        let node = self.node.map(|(_, node)| &node.metadata.labels);
        let claim = self.claim.and_then(|(_, claim)| claim.metadata.labels.as_ref());
        let mut labels = node.into_iter().chain(claim);
        labels
            .find_map(|labels| labels.get(NODE_POOL_LABEL))
            .map(String::as_str)
    }

    /// Kind and name, for people.
    #[must_use]
    pub fn describe(&self) -> String {
        match (self.node, self.claim) {
            (Some((name, _)), _) => format!("Node {name}"),
            (None, Some((name, _))) => format!("NodeClaim {name}"),
            (None, None) => "nothing".to_owned(),
        }
    }

    /// The node's name; a claim that is all there is of its node goes by the node's name if no Node was given at all
    /// (pods name it), else by its own.
    fn name(&self, nodes_are_given: bool) -> &str {
        if let Some((name, _)) = self.node {
            return name;
        }
        let Some((name, claim)) = self.claim else {
            return "";
        };
        let node = claim
            .status
            .as_ref()
            .and_then(|status| status.node_name.as_deref());
        node.filter(|node| !nodes_are_given && !node.is_empty())
            .unwrap_or(name)
    }

    /// Whether the cloud has made it: it has a Node, or its claim knows the machine.
    fn is_launched(&self) -> bool {
        let of_claim = |claim: &api::NodeClaim| {
            let status = claim.status.as_ref();
            status.is_some_and(|status| status.provider_id.as_ref().is_some_and(|id| !id.is_empty()))
        };
        self.node.is_some() || self.claim.is_some_and(|(_, claim)| of_claim(claim))
    }

    /// A claim whose Node was there once and isn't any more.
    fn has_lost_its_node(&self, nodes_are_given: bool) -> bool {
        nodes_are_given && self.node.is_none() && self.claim_says("Registered")
    }

    fn claim_says(&self, kind: &str) -> bool {
        self.claim.is_some_and(|(_, claim)| {
            let conditions = claim.status.as_ref().map_or(&[][..], |status| &status.conditions);
            conditions
                .iter()
                .any(|condition| condition.type_ == kind && condition.status == "True")
        })
    }

    fn labels(&self) -> Labels {
        let mut labels = Labels::new();
        if let Some((_, claim)) = self.claim {
            // What the claim asks for with one value its node will carry.
            if let Ok(requirements) = requirements(&claim.spec.requirements) {
                let single = |(key, set): (&str, &dovetail_solver::model::requirement::ValueSet)| {
                    Some((key.to_owned(), set.single()?.to_owned()))
                };
                labels.extend(Requirements::iter(&requirements).filter_map(single));
            }
            labels.extend(claim.metadata.labels.clone().unwrap_or_default());
        }
        if let Some((_, node)) = self.node {
            if self.claim.is_none()
                || self.claim_says("Registered")
                || is_true(&node.metadata.labels, INITIALIZED)
            {
                // The node was synced with its claim: it says all.
                labels = node.metadata.labels.clone();
            } else {
                labels.extend(node.metadata.labels.clone());
            }
        }
        with_normal_keys(labels)
    }

    fn stage(&self, labels: &Labels, nodes_are_given: bool) -> NodeStage {
        let initialized = is_true(labels, INITIALIZED) || self.claim_says("Initialized");
        match (self.node, self.claim) {
            // Not ours, or dumped without its claim: it says itself what it has.
            (Some(_), None) => NodeStage::Initialized,
            (Some(_), Some(_)) if initialized => NodeStage::Initialized,
            (Some(_), Some(_)) => NodeStage::Registered,
            (None, _) if !nodes_are_given && initialized => NodeStage::Initialized,
            (None, _) => NodeStage::InFlight,
        }
    }

    fn size(
        &self,
        labels: &Labels,
        stage: NodeStage,
        size_of: &SizeOf<'_>,
    ) -> Option<(Resources, Resources)> {
        let status = self.claim.and_then(|(_, claim)| claim.status.as_ref());
        let claimed = status.map(|status| (resources(&status.capacity), resources(&status.allocatable)));
        let mut claimed = match claimed {
            Some((Ok(capacity), Ok(allocatable))) if !capacity.is_empty() => Some((capacity, allocatable)),
            _ => None,
        };
        if let Some((capacity, allocatable)) = &mut claimed
            && allocatable.is_empty()
        {
            allocatable.clone_from(capacity);
        }
        let of_catalogue = || {
            let class = self
                .claim
                .map_or("", |(_, claim)| claim.spec.node_class_ref.name.as_str());
            labels
                .get(INSTANCE_TYPE_LABEL)
                .and_then(|instance_type| size_of(instance_type, class))
        };
        let Some((_, node)) = self.node else {
            return claimed
                .or_else(of_catalogue)
                .or_else(|| self.size_to_come(size_of));
        };
        let mut capacity = node.status.capacity.offered();
        let mut allocatable = node.status.allocatable.offered();
        if stage != NodeStage::Initialized
            && let Some((claimed_capacity, claimed_allocatable)) = claimed.or_else(of_catalogue)
        {
            // Devices and the like show up as zero, or not at all, until their drivers run.
            fill_zeros(&mut capacity, &claimed_capacity);
            fill_zeros(&mut allocatable, &claimed_allocatable);
        }
        if allocatable.is_empty() {
            allocatable.clone_from(&capacity);
        }
        if capacity.is_empty() {
            capacity.clone_from(&allocatable);
        }
        Some((capacity, allocatable))
    }

    /// What a claim that isn't launched yet will have: the most of each resource that any of its instance types has, since
    /// limits hold for whichever comes, and allocatable the least. Where it names none that is known, what it asks for.
    fn size_to_come(&self, size_of: &SizeOf<'_>) -> Option<(Resources, Resources)> {
        let (_, claim) = self.claim?;
        let class = claim.spec.node_class_ref.name.as_str();
        let required = requirements(&claim.spec.requirements).ok()?;
        let types = required
            .get(INSTANCE_TYPE_LABEL)
            .and_then(|set| set.finite().cloned());
        let types = types.unwrap_or_default();
        let sizes = types
            .iter()
            .filter_map(|instance_type| size_of(instance_type, class));
        let by_both = |(most, least): (Resources, Resources),
                       (capacity, allocatable): (Resources, Resources)| {
            let larger = capacity
                .iter()
                .map(|(name, amount)| (name.clone(), amount.max(most.get(name))));
            let rest = most.iter().filter(|(name, _)| !capacity.contains(name));
            let larger = larger
                .chain(rest.map(|(name, amount)| (name.clone(), amount)))
                .collect();
            let smaller = allocatable
                .iter()
                .map(|(name, amount)| (name.clone(), amount.min(least.get(name))));
            (larger, smaller.collect())
        };
        sizes.reduce(by_both).or_else(|| {
            let asked = resources(&claim.spec.resources.requests).ok()?;
            Some((asked.clone(), asked))
        })
    }

    fn taints(&self, stage: NodeStage) -> Result<Vec<ModelTaint>, String> {
        let mut found = match self.node {
            Some((_, node)) => node
                .spec
                .taints
                .iter()
                .map(model_taint)
                .collect::<Result<Vec<_>, _>>()?,
            None => Vec::new(),
        };
        let Some((_, claim)) = self.claim else {
            return Ok(found);
        };
        if self.node.is_none() || !self.claim_says("Registered") {
            for taint in taints(&claim.spec.taints) {
                if !found.contains(&taint) {
                    found.push(taint);
                }
            }
        }
        if stage != NodeStage::Initialized || self.claim_says("Rebooting") {
            let startup = taints(&claim.spec.startup_taints);
            let goes = |taint: &ModelTaint| {
                is_ephemeral(taint)
                    || startup
                        .iter()
                        .any(|startup| startup.key == taint.key && startup.effect == taint.effect)
            };
            found.retain(|taint| !goes(taint));
        }
        Ok(found)
    }

    fn is_deleting(&self) -> bool {
        let node_is = self.node.is_some_and(|(_, node)| {
            node.metadata.deletion_timestamp.is_some()
                || node.spec.taints.iter().any(|taint| taint.key == taint::DISRUPTED)
        });
        node_is
            || self
                .claim
                .is_some_and(|(_, claim)| claim.metadata.deletion_timestamp.is_some())
    }

    fn created(&self) -> Option<Timestamp> {
        let node = self
            .node
            .and_then(|(_, node)| node.metadata.creation_timestamp)
            .map(|instant| instant.0);
        let claim = self
            .claim
            .and_then(|(_, claim)| claim.metadata.creation_timestamp.as_ref());
        claim.map(|time| Timestamp(time.0.as_second())).or(node)
    }
}

fn is_true(labels: &Labels, key: &str) -> bool {
    labels.get(key).is_some_and(|value| value == "true")
}

fn fill_zeros(amounts: &mut Resources, claimed: &Resources) {
    for (name, amount) in claimed.iter() {
        if amounts.get(name) == Amount::ZERO {
            amounts.set(name.clone(), amount);
        }
    }
}

fn model_taint(written: &Taint) -> Result<ModelTaint, String> {
    let effect = TaintEffect::parse(&written.effect).ok_or_else(|| {
        let found: String = written.effect.chars().take(40).collect();
        format!("taint {}: expected NoSchedule, PreferNoSchedule or NoExecute, found \"{found}\"; the node isn't counted", written.key)
    })?;
    Ok(ModelTaint {
        key: written.key.clone(),
        value: written.value.clone(),
        effect,
    })
}

/// Taints that go by themselves when a node has started.
fn is_ephemeral(found: &ModelTaint) -> bool {
    match found.key.as_str() {
        taint::NOT_READY => found.effect != TaintEffect::PreferNoSchedule,
        taint::UNREACHABLE => found.effect == TaintEffect::NoSchedule,
        taint::CLOUD_UNINITIALIZED => found.effect == TaintEffect::NoSchedule && found.value == "true",
        taint::UNREGISTERED => found.effect == TaintEffect::NoExecute,
        taint::REBOOTING => true,
        key => key.starts_with(taint::READINESS_PREFIX),
    }
}

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;
