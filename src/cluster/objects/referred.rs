//! Objects that others refer to by name or by labels, as far as planning reads them.

use dovetail_solver::model::requirement::Labels;
use serde::Deserialize;

use super::Kind;
use super::meta::{Condition, Metadata, or_default};
use super::storage::{Claim, CsiNode, PersistentVolume, StorageClass};

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Referred {
    /// A namespace.
    Namespace(Namespace),
    /// A service.
    Service(Service),
    /// A volume that is asked for.
    PersistentVolumeClaim(Claim),
    /// A volume.
    PersistentVolume(PersistentVolume),
    /// Room that is asked for as a whole.
    ProvisioningRequest(ProvisioningRequest),
    /// A kind of volumes.
    StorageClass(StorageClass),
    /// Volume drivers of a node.
    CSINode(CsiNode),
}

/// A kind that others refer to.
pub trait Refer: Sized + 'static {
    /// Which.
    const KIND: Kind;
    /// The object, where it is of this kind.
    fn of(referred: &Referred) -> Option<&Self>;
}

macro_rules! refer {
    ($($kind:ident $type:ident;)*) => {
        $(impl Refer for $type {
            const KIND: Kind = Kind::$kind;
            fn of(referred: &Referred) -> Option<&Self> {
                match referred {
                    Referred::$kind(object) => Some(object),
                    _ => None,
                }
            }
        })*
    };
}

refer! {
    Namespace Namespace;
    Service Service;
    ProvisioningRequest ProvisioningRequest;
    PersistentVolumeClaim Claim;
    PersistentVolume PersistentVolume;
    StorageClass StorageClass;
    CSINode CsiNode;
}

/// A namespace.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Namespace {
    /// What all objects have.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Metadata,
}

/// A service.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Service {
    /// What it wants.
    #[serde(default, deserialize_with = "or_default")]
    pub spec: ServiceSpec,
}

/// What a service wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ServiceSpec {
    /// Labels of the pods behind it; without any there are none.
    #[serde(default, deserialize_with = "or_default")]
    pub selector: Labels,
}

/// Room that is asked for as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ProvisioningRequest {
    /// What all objects have.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// For which pods.
    #[serde(default, deserialize_with = "or_default")]
    pub spec: ProvisioningRequestSpec,
    /// How far it is.
    #[serde(default, deserialize_with = "or_default")]
    pub status: ProvisioningRequestStatus,
}

/// For which pods room is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProvisioningRequestSpec {
    /// Pods of one kind each.
    #[serde(default, deserialize_with = "or_default")]
    pub pod_sets: Vec<PodSet>,
}

/// Some equal pods.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSet {
    /// What they are.
    pub pod_template_ref: TemplateReference,
    /// How many.
    #[serde(default, deserialize_with = "or_default")]
    pub count: u32,
}

/// A PodTemplate of the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TemplateReference {
    /// Its name.
    pub name: String,
}

/// How far a request for room is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ProvisioningRequestStatus {
    /// Its conditions.
    #[serde(default, deserialize_with = "or_default")]
    pub conditions: Vec<Condition>,
}

impl ProvisioningRequest {
    /// How many pods it is for.
    #[must_use]
    pub fn pods(&self) -> u32 {
        let counts = self.spec.pod_sets.iter().map(|set| set.count);
        counts.fold(0, u32::saturating_add)
    }
}
