//! CapacityBuffers: room for pods to come, as pods that wait and never run.
//!
//! A buffer is as many pods of its template as it says, named `<buffer>-<n>`, of the lowest priority there is: they use what
//! is free, cause launches where nothing is, and go without where pods that matter more need the room. Their volumes
//! are left out: nothing would be attached. Size: the larger of `replicas` and the share of the workload's replicas, one
//! at least where both are above zero, as far as `limits` hold them; with `limits` alone, all that they hold.

use std::collections::BTreeSet;
use std::sync::Arc;

use dovetail_solver::model::name::PodName;
use dovetail_solver::model::pod::{Pod as ModelPod, PodPlace, PodSpec as ModelSpec};
use dovetail_solver::model::resources::Resources;

use crate::api;
use crate::cluster::convert::node_pool::resources_by_name;
use crate::cluster::convert::pod::PodSpecs;
use crate::cluster::convert::rules::Subject;
use crate::cluster::diagnostics::{Note, Reason};
use crate::cluster::index::Index;
use crate::cluster::objects::Kind;
use crate::cluster::objects::meta::ObjectName;
use crate::cluster::objects::pod::{PodSpec, PodTemplate};

/// The strategy that there is.
const ACTIVE: &str = "buffer.x-k8s.io/active-capacity";
/// A buffer that asks for more is a slip.
const MOST: u64 = 100_000;

/// Adds the pods of all buffers.
pub(super) fn add<'i>(
    index: &'i Index,
    specs: &mut PodSpecs<'i>,
    pods: &mut Vec<ModelPod>,
    notes: &mut Vec<Note>,
) {
    let mut names: BTreeSet<PodName> = pods.iter().map(|pod| pod.name.clone()).collect();
    for (name, stored) in index.held(Kind::CapacityBuffer).into_iter().flatten() {
        let parsed: Result<api::CapacityBuffer, _> = serde_json::from_value(stored.object.clone());
        let unit = parsed
            .map_err(|error| ("spec".to_owned(), error.to_string()))
            .and_then(|buffer| unit(index, specs, name, &buffer.spec));
        match unit {
            Ok((spec, count)) => {
                for pod in buffer_pods(name, &spec, count) {
                    if names.insert(pod.name.clone()) {
                        pods.push(pod);
                    }
                }
            }
            Err((path, message)) => {
                let note = Note::error(Reason::Malformed, format!("{message}; no room is kept for it"));
                let note = note.about(format_args!("CapacityBuffer {name}")).path(path);
                notes.push(note.at_known(stored.origin.as_ref()));
            }
        }
    }
}

fn buffer_pods(name: &ObjectName, spec: &Arc<ModelSpec>, count: u64) -> impl Iterator<Item = ModelPod> {
    (0..count).map(move |number| ModelPod {
        name: PodName::new(&*name.namespace, format!("{}-{number}", name.name)),
        spec: Arc::clone(spec),
        place: PodPlace::Pending,
        created: None,
    })
}

/// One pod of a buffer, and how many there are.
fn unit<'i>(
    index: &'i Index,
    specs: &mut PodSpecs<'i>,
    name: &ObjectName,
    buffer: &api::CapacityBufferSpec,
) -> Result<(Arc<ModelSpec>, u64), (String, String)> {
    let at = |path: &str, message: String| (path.to_owned(), message);
    if buffer.provisioning_strategy != ACTIVE {
        let message = format!("expected {ACTIVE}, got {:?}", buffer.provisioning_strategy);
        return Err(at("spec.provisioningStrategy", message));
    }
    let (template, replicas) = template(index, name, buffer)?;
    let mut bare = PodSpec::clone(&template.spec);
    bare.volumes.clear();
    let bare = Arc::new(bare);
    let subject = Subject {
        namespace: &name.namespace,
        pod: None,
        labels: &template.metadata.labels,
        owner: None,
        claim_templates: &[],
        gang: None,
    };
    let spec = specs
        .of_template(&bare, subject)
        .map_err(|message| at("spec", format!("its template: spec.{message}")))?;
    let spec = specs.share(ModelSpec {
        priority: i32::MIN,
        ..ModelSpec::clone(&spec)
    });
    let limits = resources_by_name(&buffer.limits).map_err(|message| at("spec.limits", message))?;
    let count = count(buffer, replicas, &limits, &spec.requests);
    if count > MOST {
        return Err(at("spec", format!("its {count} pods are more than {MOST}")));
    }
    Ok((spec, count))
}

/// What one pod is, and how many replicas its workload has.
fn template<'i>(
    index: &'i Index,
    name: &ObjectName,
    buffer: &api::CapacityBufferSpec,
) -> Result<(&'i PodTemplate, u64), (String, String)> {
    let object = |object: &str| ObjectName::new(&name.namespace, object);
    if let Some(reference) = &buffer.pod_template_ref {
        let found = index.pod_templates().get(&object(&reference.name));
        let missing = || {
            let message = format!("PodTemplate {} isn't in the input", reference.name);
            ("spec.podTemplateRef".to_owned(), message)
        };
        return found
            .map(|stored| (&stored.object.template, 1))
            .ok_or_else(missing);
    }
    let Some(reference) = &buffer.scalable_ref else {
        let message = "neither podTemplateRef nor scalableRef says what it is for".to_owned();
        return Err(("spec".to_owned(), message));
    };
    let known = [Kind::Deployment, Kind::StatefulSet, Kind::ReplicaSet].into_iter();
    let is_apps = matches!(reference.api_group.as_deref(), None | Some("" | "apps"));
    let kind = known
        .filter(|_| is_apps)
        .find(|kind| kind.name() == reference.kind);
    let workload = kind.and_then(|kind| index.workload(kind, &object(&reference.name)));
    let workload = workload.ok_or_else(|| {
        let message = format!("{} {} isn't in the input", reference.kind, reference.name);
        ("spec.scalableRef".to_owned(), message)
    })?;
    let replicas = u64::try_from(workload.spec.replicas.unwrap_or(1)).unwrap_or(0);
    Ok((&workload.spec.template, replicas))
}

fn count(buffer: &api::CapacityBufferSpec, replicas: u64, limits: &Resources, each: &Resources) -> u64 {
    let asked = |value: Option<i32>| value.map(|value| u64::try_from(value).unwrap_or(0));
    let share = asked(buffer.percentage).map(|share| {
        let least = u64::from(share > 0 && replicas > 0);
        share.saturating_mul(replicas).div_ceil(100).max(least)
    });
    let wanted = asked(buffer.replicas).max(share);
    let fitting = limits
        .iter()
        .filter_map(|(name, limit)| limit.get().checked_div(each.get(name).get()))
        .min();
    match (wanted, fitting) {
        (Some(wanted), Some(fitting)) => wanted.min(fitting),
        (Some(count), None) | (None, Some(count)) => count,
        (None, None) => 0,
    }
}
