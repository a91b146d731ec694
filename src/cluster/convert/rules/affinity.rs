//! Affinity and anti-affinity to other pods, and preferred node affinity.
//!
//! Source: Kubernetes API reference, `PodAffinityTerm`, `PreferredSchedulingTerm`; Kubernetes documentation, "Assigning Pods
//! to Nodes".

use dovetail_solver::model::requirement::{Labels, NodeSelectorTerm as ModelTerm};
use dovetail_solver::model::rules::{PodTerm, Weighted};
use dovetail_solver::model::selector::PodSelector;

use super::selector::{KnownNamespaces, narrowed};
use crate::cluster::convert::expression::node_term;
use crate::cluster::convert::labels::normal_key;
use crate::cluster::objects::affinity::{PodAffinityTerm, PreferredTerm, WeightedTerm};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// The pod whose terms are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    pub(super) namespaces: &'a KnownNamespaces,
    /// The pod's own.
    pub(super) namespace: &'a str,
    /// The pod's own.
    pub(super) labels: &'a Labels,
}

impl Reader<'_> {
    /// Terms that must hold; `path` is `podAffinity` or `podAntiAffinity`.
    ///
    /// # Errors
    /// The path of the value that makes no sense, and what was expected.
    pub(super) fn required(&self, path: &str, written: &[PodAffinityTerm]) -> Result<Vec<PodTerm>, String> {
        let mut found = written
            .iter()
            .enumerate()
            .map(|(at, written)| {
                self.term(written)
                    .map_err(|message| format!("affinity.{path}.{REQUIRED}[{at}].{message}"))
            })
            .collect::<Result<Vec<_>, _>>()?;
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// Terms that should hold; `path` is `podAffinity` or `podAntiAffinity`.
    ///
    /// # Errors
    /// The path of the value that makes no sense, and what was expected.
    pub(super) fn preferred(
        &self,
        path: &str,
        written: &[WeightedTerm],
    ) -> Result<Vec<Weighted<PodTerm>>, String> {
        let mut found = written
            .iter()
            .enumerate()
            .map(|(at, written)| {
                let named = |message: String| format!("affinity.{path}.{PREFERRED}[{at}].{message}");
                let weight = weight(written.weight).map_err(named)?;
                let wish = self
                    .term(&written.pod_affinity_term)
                    .map_err(|message| named(format!("podAffinityTerm.{message}")))?;
                Ok(Weighted { weight, wish })
            })
            .collect::<Result<Vec<_>, String>>()?;
        found.sort();
        Ok(found)
    }

    fn term(&self, written: &PodAffinityTerm) -> Result<PodTerm, String> {
        if written.topology_key.is_empty() {
            return Err("topologyKey: expected a label key".to_owned());
        }
        Ok(PodTerm {
            topology_key: normal_key(&written.topology_key).to_owned(),
            selector: PodSelector {
                namespaces: self.namespaces.of_term(written, self.namespace)?,
                labels: narrowed(
                    written.label_selector.as_ref(),
                    self.labels,
                    &written.match_label_keys,
                    &written.mismatch_label_keys,
                )?,
            },
        })
    }
}

/// Nodes that are preferred. A preference without any requirement is met everywhere and says nothing.
///
/// # Errors
/// The path of the value that makes no sense, and what was expected.
pub(super) fn preferred_nodes(written: &[PreferredTerm]) -> Result<Vec<Weighted<ModelTerm>>, String> {
    let mut found = Vec::new();
    for (at, written) in written.iter().enumerate() {
        let named = |message: String| format!("affinity.nodeAffinity.{PREFERRED}[{at}].{message}");
        let wish =
            node_term(&written.preference).map_err(|message| named(format!("preference.{message}")))?;
        let weight = weight(written.weight).map_err(named)?;
        if !wish.is_empty() {
            found.push(Weighted { weight, wish });
        }
    }
    found.sort();
    Ok(found)
}

fn weight(written: i64) -> Result<u32, String> {
    u32::try_from(written)
        .ok()
        .filter(|weight| (1..=100).contains(weight))
        .ok_or_else(|| format!("weight: expected a whole number from 1 to 100, found {written}"))
}
