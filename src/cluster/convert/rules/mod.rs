//! What a pod asks of its place beside room, labels and taints, resolved: nothing is left to look up.
//!
//! Promises: rules that mean the same are equal, in whatever order they were written.

mod affinity;
mod ports;
pub(super) mod selector;
pub(super) mod spread;
#[cfg(test)]
mod tests;

use dovetail_solver::model::requirement::Labels;
use dovetail_solver::model::rules::PodRules;

use self::selector::KnownNamespaces;
use crate::cluster::index::Index;
use crate::cluster::objects::meta::OwnerReference;
use crate::cluster::objects::pod::PodSpec;

/// What rules are resolved with, made once for a snapshot.
#[derive(Debug)]
pub struct Surroundings {
    namespaces: KnownNamespaces,
}

/// A pod whose rules are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its labels.
    pub labels: &'a Labels,
    /// Its controller.
    pub owner: Option<&'a OwnerReference>,
}

impl Surroundings {
    /// Reads the index once.
    #[must_use]
    pub fn of(index: &Index) -> Self {
        Self {
            namespaces: KnownNamespaces::of(index),
        }
    }

    /// The rules of a pod.
    ///
    /// # Errors
    /// The path of the value that makes no sense, and what was expected.
    pub fn rules(&self, spec: &PodSpec, subject: Subject<'_>) -> Result<PodRules, String> {
        let Subject {
            namespace, labels, ..
        } = subject;
        let reader = affinity::Reader {
            namespaces: &self.namespaces,
            namespace,
            labels,
        };
        let (near, apart) = (&spec.affinity.pod_affinity, &spec.affinity.pod_anti_affinity);
        Ok(PodRules {
            spread: spread::constraints(&spec.topology_spread_constraints, namespace, labels)?,
            affinity: reader.required("podAffinity", &near.required)?,
            anti_affinity: reader.required("podAntiAffinity", &apart.required)?,
            preferred_affinity: reader.preferred("podAffinity", &near.preferred)?,
            preferred_anti_affinity: reader.preferred("podAntiAffinity", &apart.preferred)?,
            preferred_nodes: affinity::preferred_nodes(&spec.affinity.node_affinity.preferred)?,
            host_ports: ports::host_ports(spec)?,
            volumes: Vec::new(),
            gang: None,
            impossible: None,
        })
    }
}
