//! What a pod asks of its place beside room, labels and taints, resolved: nothing is left to look up.
//!
//! Promises: rules that mean the same are equal, in whatever order they were written.

mod affinity;
pub mod defaults;
mod ports;
mod selector;
mod spread;
#[cfg(test)]
mod tests;
mod volumes;
#[cfg(test)]
mod volumes_tests;

use std::collections::{BTreeMap, BTreeSet};

use dovetail_solver::model::requirement::Labels;
use dovetail_solver::model::rules::{Gang, PodRules};

use self::defaults::{Defaults, SchedulerConfig};
use self::selector::KnownNamespaces;
use self::volumes::Storage;
use crate::cluster::index::Index;
use crate::cluster::objects::meta::OwnerReference;
use crate::cluster::objects::pod::PodSpec;
use crate::cluster::objects::storage::ClaimTemplate;

/// What rules are resolved with, made once for a snapshot.
#[derive(Debug)]
pub struct Surroundings<'i> {
    namespaces: KnownNamespaces,
    defaults: Defaults<'i>,
    storage: Storage<'i>,
    none: BTreeSet<String>,
}

/// A pod whose rules are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name, where claims may be named after it and it has one.
    pub pod: Option<&'a str>,
    /// Its labels.
    pub labels: &'a Labels,
    /// Its controller.
    pub owner: Option<&'a OwnerReference>,
    /// Claims that its StatefulSet will make for it.
    pub claim_templates: &'a [ClaimTemplate],
    /// The pods with which it is placed all or none.
    pub gang: Option<&'a Gang>,
}

/// What a pod asks beside room, labels and taints.
#[derive(Debug)]
pub struct Asked {
    /// Its rules.
    pub rules: PodRules,
    /// How many volumes it attaches, by driver that counts them.
    pub attached: BTreeMap<String, u64>,
}

impl<'i> Surroundings<'i> {
    /// Reads the index once.
    #[must_use]
    pub fn of(index: &'i Index, config: &'i SchedulerConfig) -> Self {
        Self {
            namespaces: KnownNamespaces::of(index),
            defaults: Defaults::of(index, config),
            storage: Storage::of(index),
            none: BTreeSet::new(),
        }
    }

    /// Whether anything is known of claims, volumes and their classes.
    #[must_use]
    pub fn knows_storage(&self) -> bool {
        self.storage.is_given
    }

    /// Drivers that count what is attached to a node, where pods' volumes are known.
    #[must_use]
    pub fn counted_drivers(&self) -> &BTreeSet<String> {
        if self.storage.is_given {
            &self.storage.counted
        } else {
            &self.none
        }
    }

    /// What a pod asks.
    ///
    /// # Errors
    /// The path of the value that makes no sense, and what was expected.
    pub fn asked(&self, spec: &PodSpec, subject: Subject<'_>) -> Result<Asked, String> {
        let Subject {
            namespace, labels, ..
        } = subject;
        let reader = affinity::Reader {
            namespaces: &self.namespaces,
            namespace,
            labels,
        };
        let (near, apart) = (&spec.affinity.pod_affinity, &spec.affinity.pod_anti_affinity);
        let written = &spec.topology_spread_constraints;
        let spread = if written.is_empty() {
            self.defaults.of_pod(subject)?
        } else {
            spread::constraints(written, namespace, labels)?
        };
        let volumes::Found {
            volumes,
            attached,
            impossible,
        } = self.storage.find(spec, subject);
        let rules = PodRules {
            spread,
            affinity: reader.required("podAffinity", &near.required)?,
            anti_affinity: reader.required("podAntiAffinity", &apart.required)?,
            preferred_affinity: reader.preferred("podAffinity", &near.preferred)?,
            preferred_anti_affinity: reader.preferred("podAntiAffinity", &apart.preferred)?,
            preferred_nodes: affinity::preferred_nodes(&spec.affinity.node_affinity.preferred)?,
            host_ports: ports::host_ports(spec)?,
            volumes,
            gang: subject.gang.cloned(),
            impossible,
        };
        Ok(Asked { rules, attached })
    }
}
