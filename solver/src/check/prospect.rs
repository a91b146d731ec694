//! A node to come: what one offer of a NodePool would be as a node.
//!
//! Labels come from the instance type and offering, from the NodePool's template, from requirements that leave one
//! value, and from the values that the plan chose for keys left open. A key that only instance types decide
//! (`karpenter.k8s.aws/…`, the zone, anything that a type of the class carries) can't be chosen: where the type lacks
//! it, the node will. The host name is some value that nobody knows yet: it exists and equals none that is named.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::instance_type::{HOSTNAME_LABEL, INSTANCE_TYPE_LABEL, InstanceType, NODE_POOL_LABEL};
use crate::model::node_pool::{NodeClass, NodePool};
use crate::model::offering::Offering;
use crate::model::pod::PodSpec;
use crate::model::requirement::{Labels, ValueSet};

use super::Rule;
use super::overhead;
use super::world::{Amounts, Sums, World};

/// No label value may hold this, so it equals none that a selector names.
pub(super) const UNKNOWN_HOSTNAME: &str = "\u{0}";
/// Labels under this name are facts about EC2's instance types.
const INSTANCE_TYPE_DOMAIN: &str = "karpenter.k8s.aws/";

/// A node to come.
pub(super) struct Prospect<'a> {
    pub(super) pool: &'a NodePool,
    pub(super) instance_type: &'a InstanceType,
    pub(super) offering: &'a Offering,
    pub(super) labels: Labels,
    /// Open keys that it will carry with one of these values, and nobody said which.
    pub(super) undetermined: BTreeMap<String, ValueSet>,
    /// What is wrong with it before any pod is there.
    pub(super) findings: Vec<(Rule, String)>,
    /// What the DaemonSets that would run there ask for together.
    pub(super) overhead: Sums,
    /// What a policy wants to stay free there.
    pub(super) headroom: Amounts,
    pub(super) allocatable: Amounts,
}

impl<'a> Prospect<'a> {
    pub(super) fn new(
        world: &World<'_>,
        pool: &'a NodePool,
        typed_keys: &BTreeSet<&str>,
        instance_type: &'a InstanceType,
        offering: &'a Offering,
        chosen: &Labels,
    ) -> Self {
        let mut prospect = Self {
            pool,
            instance_type,
            offering,
            labels: instance_type.labels_with(offering),
            undetermined: BTreeMap::new(),
            findings: Vec::new(),
            overhead: world.zero(),
            headroom: overhead::headroom(world, pool),
            allocatable: world.amounts(&instance_type.allocatable),
        };
        prospect
            .labels
            .insert(HOSTNAME_LABEL.to_owned(), UNKNOWN_HOSTNAME.to_owned());
        prospect.add_template_labels();
        prospect.add_choices();
        prospect.apply_requirements(typed_keys);
        prospect.apply_chosen(chosen);
        overhead::count(world, &mut prospect);
        prospect
    }

    fn find(&mut self, rule: Rule, detail: String) {
        self.findings.push((rule, detail));
    }

    fn add_template_labels(&mut self) {
        for (key, value) in &self.pool.labels {
            match self.labels.get(key) {
                Some(other) if other != value => {
                    let detail =
                        format!("the node pool's label {key}={value} meets {key}={other} of the offer");
                    self.find(Rule::Requirements, detail);
                }
                _ => {
                    self.labels.insert(key.clone(), value.clone());
                }
            }
        }
    }

    /// Keys of which the instance type offers several values.
    fn add_choices(&mut self) {
        for (key, offered) in &self.instance_type.choices {
            if let Some(value) = self.labels.get(key) {
                if !offered.admits(Some(value)) {
                    let detail = format!("{key}={value}, but the instance type has it {offered}");
                    self.find(Rule::Requirements, detail);
                }
                continue;
            }
            let allowed = match self.pool.requirements.get(key) {
                Some(wanted) => offered.intersect(wanted),
                None => offered.clone(),
            };
            if allowed.is_empty() {
                let detail =
                    format!("{key}: the instance type has it {offered}, the node pool wants another");
                self.find(Rule::Requirements, detail);
            } else {
                self.settle(key, &allowed);
            }
        }
    }

    /// One value left: the node carries it. Several: it carries one that somebody must choose.
    fn settle(&mut self, key: &str, allowed: &ValueSet) {
        if let Some(value) = allowed.single() {
            self.labels.insert(key.to_owned(), value.to_owned());
        } else if !allowed.admits_absence() {
            self.undetermined.insert(key.to_owned(), allowed.clone());
        }
    }

    fn apply_requirements(&mut self, typed_keys: &BTreeSet<&str>) {
        for (key, wanted) in self.pool.requirements.iter() {
            let is_choice = self.instance_type.choices.contains_key(key);
            match self.labels.get(key) {
                Some(value) if key == HOSTNAME_LABEL || !wanted.admits(Some(value)) => {
                    let detail = format!("{key}={value}, but the node pool wants it {wanted}");
                    self.find(Rule::Requirements, detail);
                }
                Some(_) => {}
                None if is_choice => {}
                None if decided_by_type(key, typed_keys) => {
                    if !wanted.admits(None) {
                        let detail = format!("{key} is missing, but the node pool wants it {wanted}");
                        self.find(Rule::Requirements, detail);
                    }
                }
                None if wanted.is_empty() => {
                    let detail = format!("{key}: the node pool's requirement admits nothing");
                    self.find(Rule::Requirements, detail);
                }
                None => self.settle(key, wanted),
            }
        }
    }

    fn apply_chosen(&mut self, chosen: &Labels) {
        for (key, value) in chosen {
            let wanted = self.pool.requirements.get(key);
            let offered = self.instance_type.choices.get(key);
            let problem = match self.labels.get(key) {
                Some(present) if present == value => None,
                Some(present) => Some(format!("{key}={value} is chosen, the node will have {present}")),
                None if wanted.is_none() && offered.is_none() => {
                    Some(format!("{key}={value} is chosen, the node pool has no such key"))
                }
                None => wanted
                    .into_iter()
                    .chain(offered)
                    .find(|set| !set.admits(Some(value)))
                    .map(|set| format!("{key}={value} is chosen, allowed is: {set}")),
            };
            if let Some(detail) = problem {
                self.find(Rule::Labels, detail);
            } else {
                self.undetermined.remove(key);
                self.labels.insert(key.clone(), value.clone());
            }
        }
    }

    /// The first open key without a value that a pod's selector or affinity reads.
    pub(super) fn first_unchosen<'s>(&self, spec: &'s PodSpec) -> Option<&'s str> {
        if self.undetermined.is_empty() {
            return None;
        }
        let selector = spec.node_selector.keys().map(String::as_str);
        let terms = spec.node_affinity.iter().flat_map(|terms| &terms.0);
        let expressions = terms.flat_map(|term| term.expressions.iter().map(|(key, _)| key));
        selector
            .chain(expressions)
            .find(|key| self.undetermined.contains_key(*key))
    }

    /// Whether selector and affinity could admit it under some choice of the values that nobody chose.
    pub(super) fn could_admit(&self, spec: &PodSpec) -> bool {
        if self.undetermined.is_empty() {
            return spec.admits_node(&self.labels, None);
        }
        let could_be = |key: &str, wanted: &ValueSet| match self.undetermined.get(key) {
            Some(open) => !open.intersect(wanted).is_empty(),
            None => wanted.admits(self.labels.get(key).map(String::as_str)),
        };
        let selector = spec
            .node_selector
            .iter()
            .all(|(key, value)| could_be(key, &ValueSet::exactly(value.clone())));
        selector
            && spec.node_affinity.as_ref().is_none_or(|terms| {
                terms.0.iter().any(|term| {
                    !term.is_empty()
                        && term.node_name.is_none()
                        && term.expressions.iter().all(|(key, wanted)| could_be(key, wanted))
                })
            })
    }
}

/// Keys that types of the class carry, whether or not each of them does.
pub(super) fn typed_keys(class: &NodeClass) -> BTreeSet<&str> {
    let types = class.instance_types.iter();
    types
        .flat_map(|instance_type| instance_type.labels.keys().chain(instance_type.choices.keys()))
        .map(String::as_str)
        .collect()
}

fn decided_by_type(key: &str, typed_keys: &BTreeSet<&str>) -> bool {
    is_always_typed(key) || typed_keys.contains(key)
}

/// Keys that no NodePool can leave open, whatever types its class has.
pub(super) fn is_always_typed(key: &str) -> bool {
    const ALWAYS: [&str; 3] = [INSTANCE_TYPE_LABEL, HOSTNAME_LABEL, NODE_POOL_LABEL];
    ALWAYS.contains(&key) || Offering::LABELS.contains(&key) || key.starts_with(INSTANCE_TYPE_DOMAIN)
}
