//! Volumes: which nodes reach those of a pod, how many it attaches, and why it can't get them.
//!
//! A bound volume says itself which nodes reach it. A claim that waits for its first pod may get a volume wherever its class
//! allows. A claim that doesn't exist yet, since its pod doesn't, is taken as its template says. Where the input has no
//! claims, volumes or classes at all (a dump without them), nothing is known and nothing is refused. Not looked at:
//! `ReadWriteOncePod`, sizes left in a `CSIStorageCapacity`, volumes that several pods of a node share (each counts).
//!
//! Sources: Kubernetes documentation, "Persistent Volumes", "Storage Classes", "Ephemeral Volumes", "Node-specific Volume
//! Limits".

mod remedy;

use std::collections::{BTreeMap, BTreeSet};

use dovetail_solver::model::requirement::{
    NodeSelectorTerm as ModelTerm, NodeSelectorTerms, Requirements, ValueSet,
};
use dovetail_solver::model::rules::{Impossible, Volume as ModelVolume};

use super::Subject;
use crate::cluster::convert::attachments::{EBS_DRIVER, counted_drivers};
use crate::cluster::convert::expression::node_terms;
use crate::cluster::convert::labels::normal_key;
use crate::cluster::index::Index;
use crate::cluster::objects::meta::{Metadata, ObjectName};
use crate::cluster::objects::pod::PodSpec;
use crate::cluster::objects::storage::{Claim, ClaimSpec, PersistentVolume, StorageClass};
use remedy::Refused;

/// Marks the class of claims that name none; the second from before it was settled.
const DEFAULT_CLASS: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];
/// Names a claim's class, from before there was a field.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
/// The provisioner of classes whose volumes somebody makes by hand.
const BY_HAND: &str = "kubernetes.io/no-provisioner";
/// Labels of a volume that its node must share.
const PLACE_LABELS: [&str; 4] = [
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
];

/// The storage objects, made once for a snapshot.
#[derive(Debug)]
pub(super) struct Storage<'i> {
    index: &'i Index,
    default_class: Option<&'i str>,
    /// Whether the input has any claim, volume or class.
    pub(super) is_given: bool,
    /// Drivers that can attach only so many volumes to a node.
    pub(super) counted: BTreeSet<String>,
}

/// What a pod's volumes come to.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) volumes: Vec<ModelVolume>,
    /// How many it attaches, by driver that counts them.
    pub(super) attached: BTreeMap<String, u64>,
    pub(super) impossible: Option<Impossible>,
}

/// A claim, or what it will be.
struct Wanted<'a> {
    name: String,
    spec: &'a ClaimSpec,
    /// Its class by annotation.
    annotated: Option<&'a str>,
    /// It will be made with its pod.
    is_to_come: bool,
}

/// Which nodes reach a volume (all, where nothing is said), and who attaches it.
#[derive(Default)]
struct Reach {
    terms: Option<NodeSelectorTerms>,
    driver: Option<String>,
}

impl<'i> Storage<'i> {
    /// Reads the index once.
    pub(super) fn of(index: &'i Index) -> Self {
        let says =
            |metadata: &Metadata, key| metadata.annotations.get(key).is_some_and(|value| value == "true");
        let is_default = |metadata: &Metadata| DEFAULT_CLASS.iter().any(|key| says(metadata, *key));
        let classes = index.all_referred::<StorageClass>();
        // Of several the newest counts, and of those of one age the first by name.
        let default_class = classes
            .filter(|(_, class)| is_default(&class.metadata))
            .max_by_key(|(name, class)| (class.metadata.creation_timestamp, std::cmp::Reverse(*name)))
            .map(|(name, _)| &*name.name);
        let is_given = index.all_referred::<Claim>().next().is_some()
            || index.all_referred::<PersistentVolume>().next().is_some()
            || index.all_referred::<StorageClass>().next().is_some();
        Self {
            index,
            default_class,
            is_given,
            counted: counted_drivers(index),
        }
    }

    /// What the volumes of a pod come to.
    pub(super) fn find(&self, spec: &PodSpec, subject: Subject<'_>) -> Found {
        let mut found = Found::default();
        if !self.is_given {
            return found;
        }
        let mut claims: Vec<Result<Wanted<'_>, Refused>> = Vec::new();
        let mut refused: Vec<Refused> = Vec::new();
        for volume in &spec.volumes {
            if let Some(claim) = &volume.persistent_volume_claim {
                claims.push(self.existing(subject.namespace, &claim.claim_name));
            } else if let Some(ephemeral) = &volume.ephemeral {
                let name = subject.pod.map(|pod| format!("{pod}-{}", volume.name));
                let template = &ephemeral.volume_claim_template.spec;
                claims.push(Ok(self.made(subject.namespace, name, &volume.name, template)));
            }
        }
        for template in subject.claim_templates {
            let stem = &template.metadata.name;
            let name = subject.pod.map(|pod| format!("{stem}-{pod}"));
            claims.push(Ok(self.made(subject.namespace, name, stem, &template.spec)));
        }
        let mut known = BTreeSet::new();
        for claim in claims {
            match claim.and_then(|wanted| Ok((self.reach(&wanted)?, wanted.name))) {
                Ok((_, name)) if !known.insert(name.clone()) => {}
                Ok((reach, name)) => found.add(reach, name, &self.counted),
                Err(one) => refused.push(one),
            }
        }
        found.impossible = self.impossible(refused);
        found.volumes.sort();
        found
    }

    fn claim(&self, namespace: &str, name: &str) -> Option<&'i Claim> {
        self.index.referred(&ObjectName::new(namespace, name))
    }

    fn existing(&self, namespace: &str, name: &str) -> Result<Wanted<'i>, Refused> {
        let claim = self.claim(namespace, name).ok_or_else(|| Refused {
            detail: format!("persistent volume claim {name} doesn't exist"),
            remedy: self.claim_to_make(namespace, name),
        })?;
        usable(name, claim)?;
        Ok(Wanted {
            name: name.to_owned(),
            spec: &claim.spec,
            annotated: claim
                .metadata
                .annotations
                .get(CLASS_ANNOTATION)
                .map(String::as_str),
            is_to_come: false,
        })
    }

    /// A claim that is made for its pod: as it is, or as it will be. All that are to come go by the same name, so that their
    /// pods are alike.
    fn made<'a>(
        &self,
        namespace: &str,
        name: Option<String>,
        stem: &str,
        template: &'a ClaimSpec,
    ) -> Wanted<'a>
    where
        'i: 'a,
    {
        if let Some(name) = name
            && let Ok(existing) = self.existing(namespace, &name)
        {
            return existing;
        }
        Wanted {
            name: stem.to_owned(),
            spec: template,
            annotated: None,
            is_to_come: true,
        }
    }

    fn reach(&self, wanted: &Wanted<'_>) -> Result<Reach, Refused> {
        let name = &wanted.name;
        let volume = &wanted.spec.volume_name;
        if !volume.is_empty() {
            let bound: &PersistentVolume = self
                .index
                .referred(&ObjectName::new("", volume))
                .ok_or_else(|| format!("persistent volume {volume} of claim {name} doesn't exist"))?;
            return Ok(Reach {
                terms: terms_of(volume, bound)?,
                driver: driver_of(bound),
            });
        }
        let class_name = wanted.annotated.or(wanted.spec.storage_class_name.as_deref());
        let Some(class_name) = class_name
            .or(self.default_class)
            .filter(|class| !class.is_empty())
        else {
            return Err(Refused {
                detail: format!(
                    "claim {name} isn't bound to a volume and has no storage class that could make one"
                ),
                remedy: self.class_to_choose(),
            });
        };
        let class: &StorageClass = self
            .index
            .referred(&ObjectName::new("", class_name))
            .ok_or_else(|| Refused {
                detail: format!("storage class {class_name} of claim {name} doesn't exist"),
                remedy: Some((
                    format!(
                        "create StorageClass {class_name} with provisioner: {EBS_DRIVER} and volumeBindingMode: WaitForFirstConsumer"
                    ),
                    Reach {
                        terms: None,
                        driver: Some(EBS_DRIVER.to_owned()),
                    },
                )),
            })?;
        if class.volume_binding_mode != "WaitForFirstConsumer" && !wanted.is_to_come {
            let what =
                format!("make StorageClass {class_name} anew with volumeBindingMode: WaitForFirstConsumer");
            return Err(Refused {
                detail: format!(
                    "claim {name} isn't bound to a volume, and storage class {class_name} doesn't wait for a pod to bind it"
                ),
                remedy: (class.provisioner != BY_HAND).then(|| (what, made_by(class))),
            });
        }
        if class.provisioner == BY_HAND {
            return Ok(self.free(class_name, wanted)?);
        }
        Ok(made_by(class))
    }

    /// The nodes that reach any volume of the class that nobody has and that is large enough.
    fn free(&self, class: &str, wanted: &Wanted<'_>) -> Result<Reach, String> {
        let mut terms = Vec::new();
        let volumes = self.index.all_referred::<PersistentVolume>();
        for (name, volume) in volumes.filter(|(_, volume)| serves(volume, class, wanted.spec)) {
            match terms_of(&name.name, volume)? {
                None => return Ok(Reach::default()),
                Some(more) => terms.extend(more.0),
            }
        }
        if terms.is_empty() {
            return Err(format!(
                "no volume of storage class {class} is available for claim {}",
                wanted.name
            ));
        }
        terms.sort();
        terms.dedup();
        Ok(Reach {
            terms: Some(NodeSelectorTerms(terms)),
            driver: None,
        })
    }
}

impl Found {
    fn add(&mut self, reach: Reach, claim: String, counted: &BTreeSet<String>) {
        if let Some(driver) = reach.driver.filter(|driver| counted.contains(driver)) {
            *self.attached.entry(driver).or_default() += 1;
        }
        if let Some(reach) = reach.terms {
            self.volumes.push(ModelVolume { claim, reach });
        }
    }
}

/// What the scheduler refuses of a claim as such.
fn usable(name: &str, claim: &Claim) -> Result<(), String> {
    if claim.metadata.deletion_timestamp.is_some() {
        return Err(format!("persistent volume claim {name} is being deleted"));
    }
    if claim.status.phase == "Lost" {
        return Err(format!(
            "persistent volume claim {name} has lost its volume {}",
            claim.spec.volume_name
        ));
    }
    Ok(())
}

/// Which nodes reach a volume: its node affinity, and the zone and region among its own labels.
fn terms_of(name: &str, volume: &PersistentVolume) -> Result<Option<NodeSelectorTerms>, String> {
    let mut place = Requirements::new();
    for key in PLACE_LABELS {
        if let Some(values) = volume.metadata.labels.get(key) {
            // A volume in several zones has them all in one label.
            let values = values.split("__").map(str::to_owned);
            place.add(normal_key(key).to_owned(), ValueSet::one_of(values));
        }
    }
    let required = volume.spec.node_affinity.required.as_ref();
    let Some(required) = required else {
        let of_labels = ModelTerm {
            expressions: place,
            node_name: None,
        };
        return Ok((!of_labels.is_empty()).then(|| NodeSelectorTerms(vec![of_labels])));
    };
    let mut terms = node_terms(required)
        .map_err(|message| format!("persistent volume {name}: spec.nodeAffinity.required.{message}"))?;
    for term in terms.0.iter_mut().filter(|term| !term.is_empty()) {
        term.expressions.add_all(&place);
    }
    Ok(Some(terms))
}

/// What reaches the volumes that a class makes.
fn made_by(class: &StorageClass) -> Reach {
    Reach {
        terms: allowed(class),
        driver: Some(migrated(&class.provisioner).to_owned()),
    }
}

fn driver_of(volume: &PersistentVolume) -> Option<String> {
    match (&volume.spec.csi, &volume.spec.aws_elastic_block_store) {
        (Some(csi), _) => Some(migrated(&csi.driver).to_owned()),
        (None, Some(_)) => Some(EBS_DRIVER.to_owned()),
        (None, None) => None,
    }
}

/// The driver that serves what the old in-tree one did.
fn migrated(provisioner: &str) -> &str {
    match provisioner {
        "kubernetes.io/aws-ebs" => EBS_DRIVER,
        other => other,
    }
}

/// Where a class may make volumes; `None`: anywhere.
fn allowed(class: &StorageClass) -> Option<NodeSelectorTerms> {
    let terms = class.allowed_topologies.iter().map(|term| {
        let mut expressions = Requirements::new();
        for label in &term.match_label_expressions {
            expressions.add(
                normal_key(&label.key).to_owned(),
                ValueSet::one_of(label.values.iter().cloned()),
            );
        }
        ModelTerm {
            expressions,
            node_name: None,
        }
    });
    let terms: Vec<ModelTerm> = terms.collect();
    (!terms.is_empty()).then_some(NodeSelectorTerms(terms))
}

/// Whether a volume that somebody made by hand would do for a claim.
fn serves(volume: &PersistentVolume, class: &str, wanted: &ClaimSpec) -> bool {
    let has = |mode: &String| volume.spec.access_modes.contains(mode);
    let size = volume.spec.capacity.offered();
    volume.spec.storage_class_name == class
        && volume.status.phase == "Available"
        && volume.metadata.deletion_timestamp.is_none()
        && wanted.access_modes.iter().all(has)
        && (wanted.resources.requests.requested().iter()).all(|(name, amount)| size.get(name) >= amount)
}
