//! Storage objects, as far as they say which nodes a pod may use: claims, volumes, their classes, drivers on nodes.

use serde::Deserialize;

use super::affinity::NodeSelector;
use super::meta::{Amounts, Metadata, or_default};
use super::pod::ContainerResources;

/// A volume that is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Claim {
    /// What all objects have.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// What is asked for.
    #[serde(default, deserialize_with = "or_default")]
    pub spec: ClaimSpec,
    /// How far it is.
    #[serde(default, deserialize_with = "or_default")]
    pub status: StoragePhase,
}

/// A claim that is made for each pod: of a StatefulSet, or of an ephemeral volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub struct ClaimTemplate {
    /// Its name, which a StatefulSet's claims start with.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: TemplateName,
    /// What is asked for.
    #[serde(default, deserialize_with = "or_default")]
    pub spec: ClaimSpec,
}

/// Metadata of a claim's template.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub struct TemplateName {
    /// Its name.
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
}

/// What a claim asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimSpec {
    /// Class of the volume; `None`: the cluster's default, empty: a volume without class.
    #[serde(default)]
    pub storage_class_name: Option<String>,
    /// The volume it is bound to; empty while it isn't.
    #[serde(default, deserialize_with = "or_default")]
    pub volume_name: String,
    /// How it is to be mounted.
    #[serde(default, deserialize_with = "or_default")]
    pub access_modes: Vec<String>,
    /// How large it is to be.
    #[serde(default, deserialize_with = "or_default")]
    pub resources: ContainerResources,
}

/// How far a claim or a volume is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct StoragePhase {
    /// `Pending`, `Bound`, `Lost`; of volumes `Available`, `Bound`, `Released`, `Failed`.
    #[serde(default, deserialize_with = "or_default")]
    pub phase: String,
}

/// A volume.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PersistentVolume {
    /// What all objects have.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// What it is.
    #[serde(default, deserialize_with = "or_default")]
    pub spec: PersistentVolumeSpec,
    /// How far it is.
    #[serde(default, deserialize_with = "or_default")]
    pub status: StoragePhase,
}

/// What a volume is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PersistentVolumeSpec {
    /// How large it is.
    #[serde(default)]
    pub capacity: Amounts,
    /// How it may be mounted.
    #[serde(default, deserialize_with = "or_default")]
    pub access_modes: Vec<String>,
    /// Its class; empty: none.
    #[serde(default, deserialize_with = "or_default")]
    pub storage_class_name: String,
    /// Which nodes reach it.
    #[serde(default, deserialize_with = "or_default")]
    pub node_affinity: VolumeNodeAffinity,
    /// The driver's part, where a driver serves it.
    #[serde(default)]
    pub csi: Option<CsiSource>,
    /// An EBS volume from before there was a driver.
    #[serde(default)]
    pub aws_elastic_block_store: Option<EbsSource>,
}

/// Which nodes reach a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct VolumeNodeAffinity {
    /// One of these terms must match; all nodes, where nothing is said.
    #[serde(default)]
    pub required: Option<NodeSelector>,
}

/// A volume that a driver serves.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CsiSource {
    /// Its driver.
    pub driver: String,
}

/// An EBS volume; that it is one is all there is to know.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct EbsSource {}

/// A kind of volumes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StorageClass {
    /// What all objects have.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// Who makes its volumes.
    #[serde(default, deserialize_with = "or_default")]
    pub provisioner: String,
    /// `Immediate` (also where nothing is said), or `WaitForFirstConsumer`: when a claim gets its volume.
    #[serde(default, deserialize_with = "or_default")]
    pub volume_binding_mode: String,
    /// Where its volumes may be; anywhere, where nothing is said.
    #[serde(default, deserialize_with = "or_default")]
    pub allowed_topologies: Vec<TopologyTerm>,
}

/// Labels that are AND-ed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TopologyTerm {
    /// One of the values each.
    #[serde(default, deserialize_with = "or_default")]
    pub match_label_expressions: Vec<TopologyLabel>,
}

/// A label and its values.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TopologyLabel {
    /// The label.
    pub key: String,
    /// Its values.
    #[serde(default, deserialize_with = "or_default")]
    pub values: Vec<String>,
}

/// Volume drivers of a node; it goes by the node's name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CsiNode {
    /// What there is.
    #[serde(default, deserialize_with = "or_default")]
    pub spec: CsiNodeSpec,
}

/// What drivers a node has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct CsiNodeSpec {
    /// The drivers.
    #[serde(default, deserialize_with = "or_default")]
    pub drivers: Vec<CsiNodeDriver>,
}

/// A driver of a node.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CsiNodeDriver {
    /// Its name.
    pub name: String,
    /// What it can do there.
    #[serde(default, deserialize_with = "or_default")]
    pub allocatable: CsiNodeAllocatable,
}

/// What a driver can do on a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct CsiNodeAllocatable {
    /// How many volumes it can attach; `None`: any number.
    #[serde(default)]
    pub count: Option<u32>,
}
