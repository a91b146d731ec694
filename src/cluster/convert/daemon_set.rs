//! DaemonSets: the pod that each puts on a node.
//!
//! The newest pod of a DaemonSet says best what the next one needs (admission and autoscalers had their say), but it is
//! pinned to its node: the template's affinity stands in. Without a pod the template alone is taken.

use std::collections::BTreeMap;
use std::sync::Arc;

use dovetail_solver::model::name::PodName;
use dovetail_solver::model::pod::DaemonSet as ModelDaemonSet;
use dovetail_solver::model::requirement::Labels;
use dovetail_solver::model::taint::{TaintEffect, Toleration, TolerationOperator};

use super::admission::Admission;
use super::pod::{PodSpecs, model_spec};
use super::rules::{Subject, Surroundings};
use crate::cluster::diagnostics::{Note, Reason};
use crate::cluster::index::Index;
use crate::cluster::objects::meta::OwnerReference;
use crate::cluster::objects::pod::{Pod, PodSpec};

/// All DaemonSets, with notes on those that make no sense.
#[must_use]
pub fn daemon_sets<'i>(
    index: &'i Index,
    admission: &Admission<'i>,
    surroundings: &Surroundings<'_>,
    specs: &mut PodSpecs<'_>,
) -> (Vec<ModelDaemonSet>, Vec<Note>) {
    let newest = newest_pods(index);
    let mut found = Vec::new();
    let mut notes = Vec::new();
    for (name, stored) in index.daemon_sets() {
        if stored.object.metadata.deletion_timestamp.is_some() {
            continue;
        }
        let template = &stored.object.spec.template;
        let pod = newest.get(&(&*name.namespace, &*name.name)).copied();
        let spec = match pod {
            Some(pod) => {
                let mut spec = PodSpec::clone(&pod.spec);
                spec.affinity
                    .node_affinity
                    .required
                    .clone_from(&template.spec.affinity.node_affinity.required);
                admission.admit(&Arc::new(spec), &name.namespace, pod.metadata.uid.is_some())
            }
            None => admission.admit(&template.spec, &name.namespace, false),
        };
        let owner = OwnerReference {
            kind: "DaemonSet".to_owned(),
            name: name.name.to_string(),
            controller: true,
        };
        let labels: &Labels = pod.map_or(&template.metadata.labels, |pod| &pod.labels);
        let subject = Subject {
            namespace: &name.namespace,
            pod: None,
            labels,
            owner: Some(&owner),
            claim_templates: &[],
            gang: None,
        };
        let allocated = BTreeMap::new();
        match model_spec(
            &spec,
            subject,
            surroundings,
            pod.map_or(&allocated, |pod| &pod.allocated),
        ) {
            Ok(mut spec) => {
                for toleration in own_tolerations(template.spec.host_network) {
                    if !spec.tolerations.contains(&toleration) {
                        spec.tolerations.push(toleration);
                    }
                }
                found.push(ModelDaemonSet {
                    name: PodName::new(&*name.namespace, &*name.name),
                    spec: specs.share(spec),
                });
            }
            Err(message) => {
                let note = Note::error(
                    Reason::Malformed,
                    format!("{message}; its pods aren't counted on any node"),
                );
                let note = note.about(format_args!("DaemonSet {name}"));
                notes.push(note.at_known(stored.origin.as_ref()));
            }
        }
    }
    (found, notes)
}

/// By namespace and name of the DaemonSet.
fn newest_pods(index: &Index) -> BTreeMap<(&str, &str), &Pod> {
    let mut newest: BTreeMap<(&str, &str), &Pod> = BTreeMap::new();
    for (name, stored) in index.pods() {
        let pod = &stored.object;
        let Some(owner) = pod.controller.as_ref().filter(|owner| owner.kind == "DaemonSet") else {
            continue;
        };
        let slot = newest
            .entry((&*name.namespace, owner.name.as_str()))
            .or_insert(pod);
        if pod.metadata.creation_timestamp > slot.metadata.creation_timestamp {
            *slot = pod;
        }
    }
    newest
}

/// What the DaemonSet controller makes each of its pods tolerate (Kubernetes documentation, "DaemonSet").
fn own_tolerations(host_network: bool) -> impl Iterator<Item = Toleration> {
    let always = [
        ("node.kubernetes.io/not-ready", TaintEffect::NoExecute),
        ("node.kubernetes.io/unreachable", TaintEffect::NoExecute),
        ("node.kubernetes.io/disk-pressure", TaintEffect::NoSchedule),
        ("node.kubernetes.io/memory-pressure", TaintEffect::NoSchedule),
        ("node.kubernetes.io/pid-pressure", TaintEffect::NoSchedule),
        ("node.kubernetes.io/unschedulable", TaintEffect::NoSchedule),
    ];
    let network = host_network.then_some(("node.kubernetes.io/network-unavailable", TaintEffect::NoSchedule));
    always.into_iter().chain(network).map(|(key, effect)| Toleration {
        key: Some(key.to_owned()),
        operator: TolerationOperator::Exists,
        effect: Some(effect),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::convert::rules::defaults::SchedulerConfig;
    use crate::cluster::manifests::read_bytes;

    const AGENT: &str = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: agent, namespace: kube-system}\nspec: {template: {metadata: {labels: {app: agent}}, spec: {nodeSelector: {a: b}, containers: [{name: c, resources: {requests: {cpu: 100m}}}]}}}\n---\n";

    fn pod(name: &str, created: u8, cpu: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: kube-system, creationTimestamp: '2026-01-0{created}T00:00:00Z', ownerReferences: [{{kind: DaemonSet, name: agent, controller: true}}]}}\nspec: {{nodeName: n1, containers: [{{name: c, resources: {{requests: {{cpu: {cpu}}}}}}}], affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{{matchFields: [{{key: metadata.name, operator: In, values: [n1]}}]}}]}}}}}}}}\n---\n"
        )
    }

    fn only(yaml: &str) -> ModelDaemonSet {
        let read = read_bytes("input", yaml.as_bytes(), &[]).unwrap();
        let admission = Admission::new(&read.index);
        let config = SchedulerConfig::default();
        let surroundings = Surroundings::of(&read.index, &config);
        let mut specs = PodSpecs::new(&read.index, &admission, &surroundings);
        let (mut found, notes) = daemon_sets(&read.index, &admission, &surroundings, &mut specs);
        assert!(notes.is_empty() && found.len() == 1, "{notes:?}");
        found.remove(0)
    }

    #[test]
    fn the_template_counts_where_there_is_no_pod() {
        let agent = only(AGENT);
        assert_eq!(agent.spec.requests.to_string(), "cpu 100m, pods 1");
        assert_eq!(agent.spec.tolerations.len(), 6);
    }

    #[test]
    fn the_newest_pod_says_what_it_needs_and_the_template_where_it_runs() {
        let agent = only(&[AGENT, &pod("new", 3, "300m"), &pod("old", 2, "200m")].concat());
        assert_eq!(agent.spec.requests.to_string(), "cpu 300m, pods 1");
        assert_eq!(agent.spec.node_affinity, None);
    }
}
