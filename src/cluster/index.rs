//! The index: all objects by kind and name. Files, a live listing and a watch feed the same one.
//!
//! A plain struct: no async, no clock. Promises: pods of one workload share what they have in common, so that a
//! hundred thousand of them stay small. Interprets nothing; [`super::convert`] does.

use std::collections::{BTreeMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use dovetail_solver::model::requirement::Labels;
use serde_json::Value;

use super::diagnostics::Origin;
use super::objects::admission::{LimitRange, PriorityClass, RuntimeClass};
use super::objects::meta::{ObjectName, OwnerReference};
use super::objects::node::Node;
use super::objects::pod::{Pod, PodSpec, WrittenGang};
use super::objects::referred::{Refer, Referred};
use super::objects::workload::{DaemonSet, Job, PodTemplateObject, Replicated};
use super::objects::{Kind, Object};
use crate::api;

/// An object and where it came from.
#[derive(Clone, Debug)]
pub struct Stored<T> {
    /// The object.
    pub object: T,
    /// Where it was found; `None` for a watched cluster.
    pub origin: Option<Origin>,
}

/// Objects of one kind by name.
pub type Table<T> = BTreeMap<ObjectName, Stored<T>>;

/// All objects.
#[derive(Clone, Debug, Default)]
pub struct Index {
    pods: Table<Pod>,
    nodes: Table<Node>,
    replicated: BTreeMap<Kind, Table<Replicated>>,
    daemon_sets: Table<DaemonSet>,
    jobs: Table<Job>,
    limit_ranges: Table<LimitRange>,
    priority_classes: Table<PriorityClass>,
    runtime_classes: Table<RuntimeClass>,
    pod_templates: Table<PodTemplateObject>,
    node_pools: Table<api::NodePool>,
    node_claims: Table<api::NodeClaim>,
    node_classes: Table<api::EC2NodeClass>,
    packing_policies: Table<api::PackingPolicy>,
    catalogues: Table<api::Catalog>,
    referred: BTreeMap<Kind, Table<Referred>>,
    held: BTreeMap<Kind, Table<Value>>,
    shared: Shared,
}

/// Values that many pods have in common.
#[derive(Clone, Debug, Default)]
struct Shared {
    specs: HashSet<Arc<PodSpec>>,
    labels: HashSet<Arc<Labels>>,
    owners: HashSet<Arc<OwnerReference>>,
    gangs: HashSet<Arc<WrittenGang>>,
    names: HashSet<Arc<str>>,
}

fn share<T: Hash + Eq + ?Sized>(known: &mut HashSet<Arc<T>>, value: &mut Arc<T>) {
    if let Some(present) = known.get(value) {
        *value = Arc::clone(present);
    } else {
        known.insert(Arc::clone(value));
    }
}

impl Shared {
    fn share_pod(&mut self, pod: &mut Pod) {
        share(&mut self.specs, &mut pod.spec);
        share(&mut self.labels, &mut pod.labels);
        if let Some(owner) = &mut pod.controller {
            share(&mut self.owners, owner);
        }
        if let Some(gang) = &mut pod.gang {
            share(&mut self.gangs, gang);
        }
        if let Some(node) = &mut pod.node {
            share(&mut self.names, node);
        }
        // Name and namespace are the key's.
        pod.metadata.name = String::new();
        pod.metadata.namespace = String::new();
    }
}

/// Runs `$body` with `$table` bound to the table of the object's kind and `$value` to the object itself.
macro_rules! with_table {
    ($index:expr, $object:expr, |$table:ident, $value:ident| $body:expr) => {
        match $object {
            Object::Pod($value) => {
                let $table = &mut $index.pods;
                $body
            }
            Object::Node($value) => {
                let $table = &mut $index.nodes;
                $body
            }
            Object::Replicated(kind, $value) => {
                let $table = $index.replicated.entry(kind).or_default();
                $body
            }
            Object::DaemonSet($value) => {
                let $table = &mut $index.daemon_sets;
                $body
            }
            Object::Job($value) => {
                let $table = &mut $index.jobs;
                $body
            }
            Object::LimitRange($value) => {
                let $table = &mut $index.limit_ranges;
                $body
            }
            Object::PriorityClass($value) => {
                let $table = &mut $index.priority_classes;
                $body
            }
            Object::RuntimeClass($value) => {
                let $table = &mut $index.runtime_classes;
                $body
            }
            Object::PodTemplate($value) => {
                let $table = &mut $index.pod_templates;
                $body
            }
            Object::NodePool($value) => {
                let $table = &mut $index.node_pools;
                $body
            }
            Object::NodeClaim($value) => {
                let $table = &mut $index.node_claims;
                $body
            }
            Object::NodeClass($value) => {
                let $table = &mut $index.node_classes;
                $body
            }
            Object::PackingPolicy($value) => {
                let $table = &mut $index.packing_policies;
                $body
            }
            Object::Catalog($value) => {
                let $table = &mut $index.catalogues;
                $body
            }
            Object::Referred(kind, $value) => {
                let $table = $index.referred.entry(kind).or_default();
                $body
            }
            Object::Held(kind, $value) => {
                let $table = $index.held.entry(kind).or_default();
                $body
            }
        }
    };
}

impl Index {
    /// Nothing known.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes an object in, in place of one of the same kind and name.
    pub fn apply(&mut self, mut name: ObjectName, mut object: Object, origin: Option<Origin>) {
        share(&mut self.shared.names, &mut name.namespace);
        if let Object::Pod(pod) = &mut object {
            self.shared.share_pod(pod);
        }
        with_table!(self, object, |table, value| {
            table.insert(
                name,
                Stored {
                    object: *value,
                    origin,
                },
            );
        });
    }

    /// Forgets an object; whether it was known.
    pub fn delete(&mut self, kind: Kind, name: &ObjectName) -> bool {
        match kind {
            Kind::Pod => self.pods.remove(name).is_some(),
            Kind::Node => self.nodes.remove(name).is_some(),
            Kind::Deployment | Kind::ReplicaSet | Kind::ReplicationController | Kind::StatefulSet => self
                .replicated
                .get_mut(&kind)
                .is_some_and(|table| table.remove(name).is_some()),
            Kind::DaemonSet => self.daemon_sets.remove(name).is_some(),
            Kind::Job => self.jobs.remove(name).is_some(),
            Kind::LimitRange => self.limit_ranges.remove(name).is_some(),
            Kind::PriorityClass => self.priority_classes.remove(name).is_some(),
            Kind::RuntimeClass => self.runtime_classes.remove(name).is_some(),
            Kind::PodTemplate => self.pod_templates.remove(name).is_some(),
            Kind::NodePool => self.node_pools.remove(name).is_some(),
            Kind::NodeClaim => self.node_claims.remove(name).is_some(),
            Kind::EC2NodeClass => self.node_classes.remove(name).is_some(),
            Kind::PackingPolicy => self.packing_policies.remove(name).is_some(),
            Kind::Catalog => self.catalogues.remove(name).is_some(),
            _ => {
                let referred = self.referred.get_mut(&kind).and_then(|table| table.remove(name));
                referred.is_some()
                    || self
                        .held
                        .get_mut(&kind)
                        .is_some_and(|table| table.remove(name).is_some())
            }
        }
    }

    /// Pods, in order of namespace and name.
    #[must_use]
    pub fn pods(&self) -> &Table<Pod> {
        &self.pods
    }

    /// Nodes.
    #[must_use]
    pub fn nodes(&self) -> &Table<Node> {
        &self.nodes
    }

    /// Workloads with a number of replicas, by kind.
    pub fn replicated(&self) -> impl Iterator<Item = (Kind, &ObjectName, &Stored<Replicated>)> {
        self.replicated
            .iter()
            .flat_map(|(kind, table)| table.iter().map(|(name, stored)| (*kind, name, stored)))
    }

    /// One workload with a number of replicas.
    #[must_use]
    pub fn workload(&self, kind: Kind, name: &ObjectName) -> Option<&Replicated> {
        self.replicated.get(&kind)?.get(name).map(|stored| &stored.object)
    }

    /// DaemonSets.
    #[must_use]
    pub fn daemon_sets(&self) -> &Table<DaemonSet> {
        &self.daemon_sets
    }

    /// Jobs.
    #[must_use]
    pub fn jobs(&self) -> &Table<Job> {
        &self.jobs
    }

    /// LimitRanges.
    #[must_use]
    pub fn limit_ranges(&self) -> &Table<LimitRange> {
        &self.limit_ranges
    }

    /// PriorityClasses.
    #[must_use]
    pub fn priority_classes(&self) -> &Table<PriorityClass> {
        &self.priority_classes
    }

    /// RuntimeClasses.
    #[must_use]
    pub fn runtime_classes(&self) -> &Table<RuntimeClass> {
        &self.runtime_classes
    }

    /// PodTemplates.
    #[must_use]
    pub fn pod_templates(&self) -> &Table<PodTemplateObject> {
        &self.pod_templates
    }

    /// NodePools.
    #[must_use]
    pub fn node_pools(&self) -> &Table<api::NodePool> {
        &self.node_pools
    }

    /// NodeClaims.
    #[must_use]
    pub fn node_claims(&self) -> &Table<api::NodeClaim> {
        &self.node_claims
    }

    /// EC2NodeClasses.
    #[must_use]
    pub fn node_classes(&self) -> &Table<api::EC2NodeClass> {
        &self.node_classes
    }

    /// PackingPolicies.
    #[must_use]
    pub fn packing_policies(&self) -> &Table<api::PackingPolicy> {
        &self.packing_policies
    }

    /// Catalogs.
    #[must_use]
    pub fn catalogues(&self) -> &Table<api::Catalog> {
        &self.catalogues
    }

    /// An object that others refer to.
    #[must_use]
    pub fn referred<T: Refer>(&self, name: &ObjectName) -> Option<&T> {
        T::of(&self.referred.get(&T::KIND)?.get(name)?.object)
    }

    /// All objects of a kind that others refer to.
    pub fn all_referred<T: Refer>(&self) -> impl Iterator<Item = (&ObjectName, &T)> {
        let table = self.referred.get(&T::KIND).into_iter().flatten();
        table.filter_map(|(name, stored)| Some((name, T::of(&stored.object)?)))
    }

    /// Namespaces that pods or workloads are in; some of them repeatedly.
    pub fn namespaces_in_use(&self) -> impl Iterator<Item = &str> {
        let of_workloads = self.replicated.values().flat_map(BTreeMap::keys);
        let names = of_workloads
            .chain(self.jobs.keys())
            .chain(self.daemon_sets.keys());
        // Pods come in order of namespace.
        let mut last: Option<&Arc<str>> = None;
        let of_pods = self.pods.keys().filter(move |name| {
            let is_new = last != Some(&name.namespace);
            last = Some(&name.namespace);
            is_new
        });
        of_pods.chain(names).map(|name| &*name.namespace)
    }

    /// Objects of a kind that no rule reads yet, as they were written.
    #[must_use]
    pub fn held(&self, kind: Kind) -> Option<&Table<Value>> {
        self.held.get(&kind)
    }

    /// Some names of a kind, to help somebody who mistyped one.
    #[must_use]
    pub fn names(&self, kind: Kind, most: usize) -> Vec<String> {
        fn some<T>(table: &Table<T>, most: usize) -> Vec<String> {
            table.keys().take(most).map(ToString::to_string).collect()
        }
        match kind {
            Kind::Pod => some(&self.pods, most),
            Kind::Node => some(&self.nodes, most),
            Kind::DaemonSet => some(&self.daemon_sets, most),
            Kind::Job => some(&self.jobs, most),
            Kind::LimitRange => some(&self.limit_ranges, most),
            Kind::PriorityClass => some(&self.priority_classes, most),
            Kind::RuntimeClass => some(&self.runtime_classes, most),
            Kind::PodTemplate => some(&self.pod_templates, most),
            Kind::NodePool => some(&self.node_pools, most),
            Kind::NodeClaim => some(&self.node_claims, most),
            Kind::EC2NodeClass => some(&self.node_classes, most),
            Kind::PackingPolicy => some(&self.packing_policies, most),
            Kind::Catalog => some(&self.catalogues, most),
            _ => self
                .replicated
                .get(&kind)
                .map(|table| some(table, most))
                .or_else(|| self.referred.get(&kind).map(|table| some(table, most)))
                .or_else(|| self.held.get(&kind).map(|table| some(table, most)))
                .unwrap_or_default(),
        }
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pods.len()
            + self.nodes.len()
            + self.replicated.values().map(BTreeMap::len).sum::<usize>()
            + self.daemon_sets.len()
            + self.jobs.len()
            + self.limit_ranges.len()
            + self.priority_classes.len()
            + self.runtime_classes.len()
            + self.pod_templates.len()
            + self.node_pools.len()
            + self.node_claims.len()
            + self.node_classes.len()
            + self.packing_policies.len()
            + self.catalogues.len()
            + self.referred.values().map(BTreeMap::len).sum::<usize>()
            + self.held.values().map(BTreeMap::len).sum::<usize>()
    }

    /// Nothing known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What taking in an object that must be new came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// It is new.
    New,
    /// The same object is there already; it stays as it was.
    Identical(Option<Origin>),
    /// Another object of this name is there; it stays, the new one is dropped.
    Conflict(Option<Origin>),
}

impl Index {
    /// Takes in an object of a file, where two of one name are a mistake.
    pub fn insert(&mut self, name: ObjectName, mut object: Object, origin: Option<Origin>) -> Insertion {
        if let Object::Pod(pod) = &mut object {
            self.shared.share_pod(pod);
        }
        let present = self.get(&object, &name);
        match present {
            None => {
                self.apply(name, object, origin);
                Insertion::New
            }
            Some((same, known)) if same => Insertion::Identical(known),
            Some((_, known)) => Insertion::Conflict(known),
        }
    }

    /// The object of the same kind and name: whether it says the same, and where it is from.
    fn get(&mut self, object: &Object, name: &ObjectName) -> Option<(bool, Option<Origin>)> {
        macro_rules! compare {
            ($table:expr, $wrap:expr) => {
                $table.get(name).map(|stored| {
                    let present = $wrap(Box::new(stored.object.clone()));
                    (object.says_the_same(&present), stored.origin.clone())
                })
            };
        }
        match object {
            Object::Pod(_) => compare!(self.pods, Object::Pod),
            Object::Node(_) => compare!(self.nodes, Object::Node),
            Object::Replicated(kind, _) => {
                compare!(self.replicated.entry(*kind).or_default(), |value| {
                    Object::Replicated(*kind, value)
                })
            }
            Object::DaemonSet(_) => compare!(self.daemon_sets, Object::DaemonSet),
            Object::Job(_) => compare!(self.jobs, Object::Job),
            Object::LimitRange(_) => compare!(self.limit_ranges, Object::LimitRange),
            Object::PriorityClass(_) => compare!(self.priority_classes, Object::PriorityClass),
            Object::RuntimeClass(_) => compare!(self.runtime_classes, Object::RuntimeClass),
            Object::PodTemplate(_) => compare!(self.pod_templates, Object::PodTemplate),
            Object::NodePool(_) => compare!(self.node_pools, Object::NodePool),
            Object::NodeClaim(_) => compare!(self.node_claims, Object::NodeClaim),
            Object::NodeClass(_) => compare!(self.node_classes, Object::NodeClass),
            Object::PackingPolicy(_) => compare!(self.packing_policies, Object::PackingPolicy),
            Object::Catalog(_) => compare!(self.catalogues, Object::Catalog),
            Object::Referred(kind, _) => {
                compare!(self.referred.entry(*kind).or_default(), |value| {
                    Object::Referred(*kind, value)
                })
            }
            Object::Held(kind, _) => compare!(self.held.entry(*kind).or_default(), |value| Object::Held(
                *kind, value
            )),
        }
    }
}
