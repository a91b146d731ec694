//! Topology spread constraints: a pod's own, or the cluster's where it has none.
//!
//! Source: Kubernetes API reference, `TopologySpreadConstraint`; Kubernetes documentation, "Pod Topology Spread
//! Constraints", cluster-level default constraints.

use dovetail_solver::model::requirement::Labels;
use dovetail_solver::model::rules::TopologySpread as ModelSpread;
use dovetail_solver::model::selector::{Namespaces, PodSelector};

use super::selector::narrowed;
use crate::cluster::convert::labels::normal_key;
use crate::cluster::objects::affinity::TopologySpread;

/// The constraints of a pod of this namespace and these labels.
///
/// # Errors
/// The path of the value that makes no sense, and what was expected.
pub(super) fn constraints(
    written: &[TopologySpread],
    namespace: &str,
    labels: &Labels,
) -> Result<Vec<ModelSpread>, String> {
    let mut found = written
        .iter()
        .enumerate()
        .map(|(at, written)| {
            constraint(written, namespace, labels)
                .map_err(|message| format!("topologySpreadConstraints[{at}].{message}"))
        })
        .collect::<Result<Vec<_>, _>>()?;
    found.sort();
    found.dedup();
    Ok(found)
}

fn constraint(written: &TopologySpread, namespace: &str, labels: &Labels) -> Result<ModelSpread, String> {
    let labels = narrowed(
        written.label_selector.as_ref(),
        labels,
        &written.match_label_keys,
        &[],
    )?;
    // kube-scheduler counts no pods for an empty selector (podtopologyspread, `countPodsMatchSelector`), as for none.
    let labels = labels.filter(|labels| !labels.is_empty());
    Ok(ModelSpread {
        selector: PodSelector {
            namespaces: Namespaces::These([namespace.to_owned()].into()),
            labels,
        },
        ..apart_from_pods(written)?
    })
}

/// All of a constraint but the pods that count, of which there are none.
///
/// # Errors
/// The path of the value that makes no sense, and what was expected.
pub(in crate::cluster) fn apart_from_pods(written: &TopologySpread) -> Result<ModelSpread, String> {
    if written.topology_key.is_empty() {
        return Err("topologyKey: expected a label key".to_owned());
    }
    let is_hard = match written.when_unsatisfiable.as_str() {
        "DoNotSchedule" => true,
        "ScheduleAnyway" => false,
        other => {
            return Err(expected(
                "whenUnsatisfiable",
                "DoNotSchedule or ScheduleAnyway",
                other,
            ));
        }
    };
    let max_skew = positive("maxSkew", written.max_skew)?;
    let min_domains = written
        .min_domains
        .map(|number| positive("minDomains", number))
        .transpose()?;
    if min_domains.is_some() && !is_hard {
        return Err("minDomains: only with whenUnsatisfiable DoNotSchedule".to_owned());
    }
    Ok(ModelSpread {
        topology_key: normal_key(&written.topology_key).to_owned(),
        max_skew,
        min_domains,
        is_hard,
        selector: PodSelector {
            namespaces: Namespaces::These([].into()),
            labels: None,
        },
        honours_affinity: honours(
            "nodeAffinityPolicy",
            written.node_affinity_policy.as_deref(),
            true,
        )?,
        honours_taints: honours("nodeTaintsPolicy", written.node_taints_policy.as_deref(), false)?,
    })
}

fn honours(field: &str, written: Option<&str>, usually: bool) -> Result<bool, String> {
    match written {
        None => Ok(usually),
        Some("Honor") => Ok(true),
        Some("Ignore") => Ok(false),
        Some(other) => Err(expected(field, "Honor or Ignore", other)),
    }
}

fn positive(field: &str, number: i64) -> Result<u32, String> {
    u32::try_from(number)
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| {
            format!(
                "{field}: expected a whole number from 1 to {}, found {number}",
                u32::MAX
            )
        })
}

fn expected(field: &str, what: &str, found: &str) -> String {
    let found: String = found.chars().take(40).collect();
    format!("{field}: expected {what}, found \"{found}\"")
}
