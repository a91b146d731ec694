//! The cluster's default spread constraints: for pods that have none, over the pods that belong together with them.
//!
//! They come in the scheduler's configuration, which no object of the cluster holds: the text has `podTopologySpread` with
//! `defaultConstraints`. Which pods belong together is deduced as the scheduler does it: the labels that Services select the
//! pod by, and the selector of its owner. Source: Kubernetes documentation, "Pod Topology Spread Constraints",
//! cluster-level default constraints.

use std::collections::{BTreeMap, BTreeSet};

use dovetail_solver::model::requirement::{Labels, Requirements};
use dovetail_solver::model::rules::TopologySpread as ModelSpread;
use dovetail_solver::model::selector::{Namespaces, PodSelector};
use serde::Deserialize;

use super::Subject;
use super::selector::requirements;
use super::spread::apart_from_pods;
use crate::cluster::index::Index;
use crate::cluster::manifests::read_value;
use crate::cluster::objects::Kind;
use crate::cluster::objects::affinity::TopologySpread;
use crate::cluster::objects::meta::{ObjectName, or_default};
use crate::cluster::objects::referred::Service;

/// What is read of a scheduler's configuration; the pods of its constraints are still to be deduced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchedulerConfig {
    default_spread: Vec<ModelSpread>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    #[serde(default, deserialize_with = "or_default")]
    pod_topology_spread: WrittenSpread,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenSpread {
    #[serde(default, deserialize_with = "or_default")]
    default_constraints: Vec<TopologySpread>,
}

impl std::str::FromStr for SchedulerConfig {
    type Err = String;

    /// Reads YAML or JSON.
    fn from_str(text: &str) -> Result<Self, String> {
        let tree = read_value(text)?;
        let mut unknown = None;
        let mut note = |path: serde_ignored::Path<'_>| unknown = Some(path.to_string());
        if serde_ignored::deserialize::<_, _, Written>(&tree, &mut note).is_ok()
            && let Some(path) = unknown
        {
            return Err(format!("{path}: unknown field"));
        }
        let Written { pod_topology_spread } =
            serde_path_to_error::deserialize(&tree).map_err(|error| error.to_string())?;
        let mut default_spread = Vec::new();
        let mut known = BTreeSet::new();
        for (at, written) in pod_topology_spread.default_constraints.iter().enumerate() {
            let named = |message: String| format!("podTopologySpread.defaultConstraints[{at}].{message}");
            if written.label_selector.is_some() {
                return Err(named(
                    "labelSelector: not allowed, it is deduced from the pod".to_owned(),
                ));
            }
            if !written.match_label_keys.is_empty() {
                return Err(named("matchLabelKeys: not allowed".to_owned()));
            }
            let constraint = apart_from_pods(written).map_err(named)?;
            if !known.insert((constraint.topology_key.clone(), constraint.is_hard)) {
                return Err(named(format!(
                    "topologyKey: {} is there twice with the same whenUnsatisfiable",
                    constraint.topology_key
                )));
            }
            default_spread.push(constraint);
        }
        Ok(Self { default_spread })
    }
}

/// Default constraints, and what their pods are deduced from; made once for a snapshot.
#[derive(Debug)]
pub(super) struct Defaults<'i> {
    index: &'i Index,
    constraints: &'i [ModelSpread],
    /// Selectors of Services that have one, by namespace.
    services: BTreeMap<&'i str, Vec<&'i Labels>>,
}

impl<'i> Defaults<'i> {
    /// Reads the index once.
    pub(super) fn of(index: &'i Index, config: &'i SchedulerConfig) -> Self {
        let mut services: BTreeMap<&str, Vec<&Labels>> = BTreeMap::new();
        if !config.default_spread.is_empty() {
            for (name, service) in index.all_referred::<Service>() {
                if !service.spec.selector.is_empty() {
                    services
                        .entry(&name.namespace)
                        .or_default()
                        .push(&service.spec.selector);
                }
            }
        }
        Self {
            index,
            constraints: &config.default_spread,
            services,
        }
    }

    /// The constraints of a pod that has none of its own.
    ///
    /// # Errors
    /// The owner's selector where it makes no sense.
    pub(super) fn of_pod(&self, subject: Subject<'_>) -> Result<Vec<ModelSpread>, String> {
        if self.constraints.is_empty() {
            return Ok(Vec::new());
        }
        let labels = self.selector(subject)?;
        if labels.is_empty() {
            return Ok(Vec::new());
        }
        let selector = PodSelector {
            namespaces: Namespaces::These([subject.namespace.to_owned()].into()),
            labels: Some(labels),
        };
        let mut found: Vec<ModelSpread> = self.constraints.to_vec();
        for constraint in &mut found {
            constraint.selector = selector.clone();
        }
        found.sort();
        Ok(found)
    }

    fn selector(&self, subject: Subject<'_>) -> Result<Requirements, String> {
        let mut deduced = Requirements::new();
        for selector in self.services.get(subject.namespace).into_iter().flatten() {
            if selector
                .iter()
                .all(|(key, value)| subject.labels.get(key) == Some(value))
            {
                deduced.add_all(&Requirements::of_labels(selector));
            }
        }
        let Some(owner) = subject.owner else {
            return Ok(deduced);
        };
        let name = ObjectName::new(subject.namespace, &owner.name);
        let kinds = [
            Kind::ReplicaSet,
            Kind::StatefulSet,
            Kind::ReplicationController,
            // Of a Deployment without pods its ReplicaSet isn't there yet, and will select by more than this.
            Kind::Deployment,
        ];
        let kind = kinds.into_iter().find(|kind| kind.name() == owner.kind);
        let Some((kind, workload)) = kind.and_then(|kind| Some((kind, self.index.workload(kind, &name)?)))
        else {
            return Ok(deduced);
        };
        if kind == Kind::ReplicationController {
            // It selects by its template's labels, where it doesn't say otherwise.
            deduced.add_all(&Requirements::of_labels(&workload.spec.template.metadata.labels));
        } else {
            let selector = requirements(&workload.spec.selector)
                .map_err(|message| format!("selector of {} {}: {message}", owner.kind, owner.name))?;
            deduced.add_all(&selector);
        }
        Ok(deduced)
    }
}
