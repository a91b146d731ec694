//! VolumeBinding, VolumeZone and NodeVolumeLimits.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Place, bare, namespaced};
use crate::support::input::{Input, labels, list, text};
use crate::support::pods::Pod;
use crate::support::quantity::Amounts;
use crate::support::selection::admits;

/// A claim of a pod: one that is there, or the template of one that comes with the pod.
struct Claim<'a> {
    name: String,
    document: Option<&'a Value>,
}

/// Distinct volumes by CSI driver.
pub(super) type Attached = BTreeMap<String, BTreeSet<String>>;

/// Volumes of a node, and how many there may be.
#[derive(Clone)]
pub(super) struct Volumes {
    attached: Attached,
    limits: BTreeMap<String, i128>,
}

impl Volumes {
    /// The limits that a node's CSINode gives, or its allocatable where a catalogue says them.
    pub(super) fn of_node(input: &Input, name: &str, allocatable: &Amounts) -> Self {
        let stated = allocatable.iter().filter_map(|(resource, amount)| {
            let driver = resource.strip_prefix("attachable-volumes-csi-")?;
            Some((driver.to_owned(), amount / 1000))
        });
        let mut limits: BTreeMap<String, i128> = stated.collect();
        let drivers = input
            .named("CSINode", name)
            .map_or(&[][..], |one| list(one, "/spec/drivers"));
        for driver in drivers {
            if let Some(count) = driver.pointer("/allocatable/count").and_then(Value::as_i64) {
                limits.insert(text(driver, "/name").to_owned(), i128::from(count));
            }
        }
        Self {
            attached: Attached::new(),
            limits,
        }
    }

    pub(super) fn attach(&mut self, more: &Attached) {
        for (driver, volumes) in more {
            let there = self.attached.entry(driver.clone()).or_default();
            there.extend(volumes.iter().cloned());
        }
    }
}

/// The claims of a pod by name; a claim that isn't there yet stands as its template.
fn claims<'a>(input: &'a Input, name: &str, pod: &'a Pod) -> Vec<Claim<'a>> {
    let volumes = list(&pod.spec, "/volumes").iter().filter_map(|volume| {
        let named = text(volume, "/persistentVolumeClaim/claimName");
        if !named.is_empty() {
            return Some((named.to_owned(), None));
        }
        let template = volume.pointer("/ephemeral/volumeClaimTemplate")?;
        Some((
            format!("{}-{}", bare(name), text(volume, "/name")),
            Some(template),
        ))
    });
    let of_set = pod.claim_templates.iter().map(|template| {
        (
            format!("{}-{}", text(template, "/metadata/name"), bare(name)),
            Some(template),
        )
    });
    volumes
        .chain(of_set)
        .map(|(name, template)| Claim {
            document: namespaced(input, "PersistentVolumeClaim", &pod.namespace, &name).or(template),
            name,
        })
        .collect()
}

/// The class of a claim: named, or the cluster's default.
fn class<'a>(input: &'a Input, claim: &Value) -> Option<&'a Value> {
    let annotation = "/metadata/annotations/storageclass.kubernetes.io~1is-default-class";
    match claim.pointer("/spec/storageClassName").and_then(Value::as_str) {
        Some(name) => input.named("StorageClass", name),
        None => input
            .kind("StorageClass")
            .find(|class| text(class, annotation) == "true"),
    }
}

/// What a pod would attach, by driver.
pub(super) fn of_pod(input: &Input, name: &str, pod: &Pod) -> Attached {
    let mut attached = Attached::new();
    for claim in claims(input, name, pod) {
        let Some(document) = claim.document else { continue };
        let volume = input.named("PersistentVolume", text(document, "/spec/volumeName"));
        let (driver, handle) = match volume {
            Some(volume) => (
                text(volume, "/spec/csi/driver"),
                text(volume, "/spec/csi/volumeHandle").to_owned(),
            ),
            None => {
                let driver = class(input, document).map_or("", |class| text(class, "/provisioner"));
                (driver, format!("{}/{}", pod.namespace, claim.name))
            }
        };
        if !driver.is_empty() {
            attached.entry(driver.to_owned()).or_default().insert(handle);
        }
    }
    attached
}

/// Why a pod's volumes keep it from a node.
pub(super) fn refusal(input: &Input, name: &str, pod: &Pod, there: &Place) -> Option<String> {
    for claim in claims(input, name, pod) {
        if let Some(refusal) = unbindable(input, &claim, there) {
            return Some(format!("VolumeBinding: claim {}: {refusal}", claim.name));
        }
    }
    of_pod(input, name, pod)
        .into_iter()
        .find_map(|(driver, volumes)| {
            let limit = there.volumes.limits.get(&driver)?;
            let mut all = there.volumes.attached.get(&driver).cloned().unwrap_or_default();
            let before = all.len();
            all.extend(volumes);
            // Where the pod brings no new volume there is nothing to refuse.
            let too_many = all.len() > before && all.len() as i128 > *limit;
            too_many.then(|| format!("NodeVolumeLimits: {} of {driver}, limit {limit}", all.len()))
        })
}

fn unbindable(input: &Input, claim: &Claim<'_>, there: &Place) -> Option<String> {
    let Some(document) = claim.document else {
        return Some("isn't there".to_owned());
    };
    let volume = text(document, "/spec/volumeName");
    if !volume.is_empty() {
        let Some(volume) = input.named("PersistentVolume", volume) else {
            return Some("its volume isn't there".to_owned());
        };
        return unreachable(volume, there);
    }
    let Some(class) = class(input, document) else {
        return Some("its class isn't there".to_owned());
    };
    if text(class, "/volumeBindingMode") != "WaitForFirstConsumer" {
        return Some("is not bound, and its class doesn't wait for a pod".to_owned());
    }
    let terms = list(class, "/allowedTopologies");
    let admitted = |term: &Value| {
        list(term, "/matchLabelExpressions").iter().all(|one| {
            let value = there.labels.get(text(one, "/key"));
            value.is_some_and(|value| {
                list(one, "/values")
                    .iter()
                    .any(|given| given.as_str() == Some(value))
            })
        })
    };
    (!terms.is_empty() && !terms.iter().any(admitted)).then(|| "the class allows no volume there".to_owned())
}

/// A bound volume's node affinity and, where the node is in a zone or region, the volume's labels.
fn unreachable(volume: &Value, there: &Place) -> Option<String> {
    if let Some(required) = volume.pointer("/spec/nodeAffinity/required") {
        let as_affinity = serde_json::json!({"affinity": {"nodeAffinity":
            {"requiredDuringSchedulingIgnoredDuringExecution": required}}});
        if admits(&as_affinity, &there.labels, Some(&there.name)).is_err() {
            return Some("its volume isn't reached from the node".to_owned());
        }
    }
    let topology = [
        ("topology.kubernetes.io/zone", "topology.kubernetes.io/zone"),
        ("topology.kubernetes.io/region", "topology.kubernetes.io/region"),
        (
            "failure-domain.beta.kubernetes.io/zone",
            "topology.kubernetes.io/zone",
        ),
        (
            "failure-domain.beta.kubernetes.io/region",
            "topology.kubernetes.io/region",
        ),
    ];
    if !topology.iter().any(|(key, _)| there.labels.contains_key(*key)) {
        return None;
    }
    let carried = labels(volume, "/metadata/labels");
    topology.iter().find_map(|(key, stable)| {
        let allowed = carried.get(*key)?;
        let here = there.labels.get(*key).or_else(|| there.labels.get(*stable));
        let meets = here.is_some_and(|here| allowed.split("__").any(|one| one == here));
        (!meets).then(|| format!("its volume is of {allowed}"))
    })
}
