//! ProvisioningRequests whose pods aren't there yet: their pods as pending ones, all or none of them.
//!
//! One that is done or was given up brings none; nor does one whose pods are in the input. Source: the API's description in
//! the cluster autoscaler's proposal "Provisioning Request CRD".

use std::collections::BTreeSet;

use super::workload::Expansion;
use crate::cluster::diagnostics::{Note, Reason};
use crate::cluster::index::Index;
use crate::cluster::objects::Kind;
use crate::cluster::objects::meta::{ObjectName, condition};
use crate::cluster::objects::referred::ProvisioningRequest;

/// Conditions that end a request.
const ENDED: [&str; 4] = ["Provisioned", "Failed", "BookingExpired", "CapacityRevoked"];

/// The pods that requests bring, and what is wrong with those that can't.
#[must_use]
pub fn requested(index: &Index) -> (Vec<Expansion<'_>>, Vec<Note>) {
    let mut found = Vec::new();
    let mut notes = Vec::new();
    let mut requests = index.all_referred::<ProvisioningRequest>().peekable();
    if requests.peek().is_none() {
        return (found, notes);
    }
    let in_use: BTreeSet<(&str, &str)> = index
        .pods()
        .iter()
        .filter_map(|(name, stored)| {
            let request = stored.object.gang.as_ref()?.request.as_deref()?;
            Some((&*name.namespace, request))
        })
        .collect();
    for (name, request) in requests {
        let has_ended = ENDED.iter().any(|kind| {
            condition(&request.status.conditions, kind).is_some_and(|condition| condition.status == "True")
        });
        if has_ended
            || request.metadata.deletion_timestamp.is_some()
            || in_use.contains(&(&*name.namespace, &*name.name))
        {
            continue;
        }
        for (at, set) in request.spec.pod_sets.iter().enumerate() {
            let template_name = &set.pod_template_ref.name;
            let Some(stored) = index
                .pod_templates()
                .get(&ObjectName::new(&name.namespace, template_name))
            else {
                let message = format!("there is no PodTemplate {template_name}; its pods are left out");
                let note = Note::error(Reason::Malformed, message)
                    .about(format_args!("{} {name}", Kind::ProvisioningRequest))
                    .path(format!("spec.podSets[{at}].podTemplateRef.name"));
                notes.push(note);
                continue;
            };
            found.push(Expansion {
                kind: Kind::ProvisioningRequest,
                name,
                stem: format!("{}-{template_name}", name.name),
                template: &stored.object.template,
                claim_templates: &[],
                first: 0,
                count: u64::from(set.count),
                origin: None,
            });
        }
    }
    (found, notes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::manifests::read_bytes;

    const TEMPLATE: &str = "apiVersion: v1\nkind: PodTemplate\nmetadata: {name: worker, namespace: ml}\ntemplate: {spec: {}}\n---\n";

    fn brought(more: &str) -> (Vec<String>, usize) {
        let request = "apiVersion: autoscaling.x-k8s.io/v1\nkind: ProvisioningRequest\nmetadata: {name: train, namespace: ml}\nspec: {provisioningClassName: c, podSets: [{podTemplateRef: {name: worker}, count: 3}, {podTemplateRef: {name: gone}, count: 1}]}\n";
        let read = read_bytes("input", [TEMPLATE, request, more].concat().as_bytes(), &[]).unwrap();
        let (found, notes) = requested(&read.index);
        let found = found
            .iter()
            .map(|found| format!("{}+{}", found.stem, found.count));
        (found.collect(), notes.len())
    }

    #[test]
    fn a_request_brings_its_pods_until_they_are_there_or_it_has_ended() {
        assert_eq!(brought(""), (vec!["train-worker+3".to_owned()], 1));
        assert_eq!(
            brought("status: {conditions: [{type: Provisioned, status: 'True'}]}\n")
                .0
                .len(),
            0
        );
        let pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ml, annotations: {autoscaling.x-k8s.io/consume-provisioning-request: train}}\nspec: {}\n";
        assert_eq!(brought(pod).0.len(), 0);
    }
}
