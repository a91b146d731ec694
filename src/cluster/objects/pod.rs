//! Pods and pod templates, as far as planning reads them.
//!
//! A [`PodSpec`] holds what pods of one workload have in common, so that they can share one value: the node is taken out,
//! volumes that no rule reads are dropped when it is read. What it asks of its place beside that is in [`super::affinity`].

use std::collections::BTreeMap;
use std::sync::Arc;

use dovetail_solver::model::requirement::Labels;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::api::labels::{CONSUMES_REQUEST, dovetail};

use super::affinity::{Affinity, TopologySpread};
use super::meta::{Amounts, Metadata, OwnerReference, or_default};
use super::storage::ClaimTemplate;

/// A pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// What all objects have, labels, annotations and owners apart.
    pub metadata: Metadata,
    /// Its labels, shared with the pods of its workload.
    pub labels: Arc<Labels>,
    /// Its controller, shared likewise.
    pub controller: Option<Arc<OwnerReference>>,
    /// With which pods it belongs together, shared likewise.
    pub gang: Option<Arc<WrittenGang>>,
    /// A static pod: the kubelet runs it from a file, its object is a mirror.
    pub is_mirror: bool,
    /// What it asks for, shared likewise.
    pub spec: Arc<PodSpec>,
    /// The node it is bound to.
    pub node: Option<Arc<str>>,
    /// `Pending`, `Running`, `Succeeded`, `Failed`, `Unknown`; empty where nothing is known.
    pub phase: Phase,
    /// The node that preemption makes room on for it.
    pub nominated_node: Option<String>,
    /// What the kubelet has allocated to containers by name, where that differs from what they ask for.
    pub allocated: BTreeMap<String, Amounts>,
}

/// How far a pod is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub enum Phase {
    /// Not started yet.
    Pending,
    /// Running.
    Running,
    /// All its containers ended well.
    Succeeded,
    /// Its containers ended, not all well.
    Failed,
    /// Nothing is said, or nothing that is known.
    #[default]
    #[serde(other)]
    Unknown,
}

impl Pod {
    /// Whether it has ended and uses nothing any more.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        matches!(self.phase, Phase::Succeeded | Phase::Failed)
    }
}

/// A pod as it is written.
#[derive(Debug, Deserialize)]
pub(super) struct WrittenPod {
    #[serde(default, deserialize_with = "or_default")]
    metadata: Metadata,
    spec: PodSpec,
    #[serde(default, deserialize_with = "or_default")]
    status: WrittenStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenStatus {
    #[serde(default, deserialize_with = "or_default")]
    phase: Phase,
    #[serde(default)]
    nominated_node_name: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    container_statuses: Vec<ContainerStatus>,
    #[serde(default, deserialize_with = "or_default")]
    init_container_statuses: Vec<ContainerStatus>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContainerStatus {
    #[serde(default, deserialize_with = "or_default")]
    name: String,
    #[serde(default)]
    allocated_resources: Amounts,
    #[serde(default, deserialize_with = "or_default")]
    resources: ContainerResources,
}

/// Annotation by which the kubelet marks the mirror of a static pod.
const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

impl From<WrittenPod> for Pod {
    fn from(written: WrittenPod) -> Self {
        let WrittenPod {
            mut metadata,
            mut spec,
            status,
        } = written;
        let labels = Arc::new(std::mem::take(&mut metadata.labels));
        let controller = metadata.controller().cloned();
        let is_mirror = metadata.annotations.contains_key(MIRROR_ANNOTATION)
            || controller.as_ref().is_some_and(|owner| owner.kind == "Node");
        let gang = WrittenGang::of(&metadata.annotations).map(Arc::new);
        metadata.owner_references = Vec::new();
        metadata.annotations.clear();
        let node = spec
            .node_name
            .take()
            .filter(|name| !name.is_empty())
            .map(Arc::from);
        let allocated = status
            .container_statuses
            .into_iter()
            .chain(status.init_container_statuses)
            .filter_map(|container| allocation(container, &spec))
            .collect();
        Self {
            metadata,
            labels,
            controller: controller.map(Arc::new),
            gang,
            is_mirror,
            spec: Arc::new(spec),
            node,
            phase: status.phase,
            nominated_node: status.nominated_node_name.filter(|name| !name.is_empty()),
            allocated,
        }
    }
}

/// Annotations by which pods belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct WrittenGang {
    /// The gang's name.
    pub name: Option<String>,
    /// How many there are to be.
    pub size: Option<String>,
    /// The ProvisioningRequest whose room it uses.
    pub request: Option<String>,
}

impl WrittenGang {
    /// What annotations say, if anything.
    #[must_use]
    pub fn of(annotations: &Labels) -> Option<Self> {
        let said = |key: &str| annotations.get(key).filter(|value| !value.is_empty()).cloned();
        let found = Self {
            name: said(dovetail::GANG),
            size: said(dovetail::GANG_SIZE),
            request: CONSUMES_REQUEST.iter().find_map(|key| said(key)),
        };
        (found != Self::default()).then_some(found)
    }
}

/// What the kubelet gave a container, if that isn't what the container asks for.
fn allocation(container: ContainerStatus, spec: &PodSpec) -> Option<(String, Amounts)> {
    let mut allocated = container.allocated_resources;
    allocated.fill_from(&container.resources.requests);
    let asked = spec
        .containers
        .iter()
        .chain(&spec.init_containers)
        .find(|asked| asked.name == container.name)?;
    let same = allocated.is_empty() || allocated == asked.resources.requests;
    (!same).then_some((container.name, allocated))
}

/// A pod template: of a workload, or a PodTemplate's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
pub struct PodTemplate {
    /// Labels and annotations of its pods.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// What its pods ask for.
    pub spec: Arc<PodSpec>,
}

/// All of a pod's spec that planning reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSpec {
    /// Containers.
    #[serde(default, deserialize_with = "or_default")]
    pub containers: Vec<Container>,
    /// Init containers, sidecars among them, in their order.
    #[serde(default, deserialize_with = "or_default")]
    pub init_containers: Vec<Container>,
    /// Requests and limits of the pod as a whole.
    #[serde(default, deserialize_with = "or_default")]
    pub resources: ContainerResources,
    /// What running the pod costs besides its containers.
    #[serde(default)]
    pub overhead: Amounts,
    /// The node it is bound to; `None` in a [`Pod`], which says so itself.
    #[serde(default)]
    node_name: Option<String>,
    /// Labels that its node must have.
    #[serde(default, deserialize_with = "or_default")]
    pub node_selector: Labels,
    /// Rules about nodes and other pods.
    #[serde(default, deserialize_with = "or_default")]
    pub affinity: Affinity,
    /// Taints it may run against.
    #[serde(default, deserialize_with = "or_default")]
    pub tolerations: Vec<Toleration>,
    /// Its priority, resolved by admission.
    #[serde(default)]
    pub priority: Option<i32>,
    /// The class that gives its priority.
    #[serde(default)]
    pub priority_class_name: Option<String>,
    /// The class that gives its overhead.
    #[serde(default)]
    pub runtime_class_name: Option<String>,
    /// Who schedules it.
    #[serde(default)]
    pub scheduler_name: Option<String>,
    /// What it waits for before it may be scheduled.
    #[serde(default, deserialize_with = "or_default")]
    pub scheduling_gates: Vec<SchedulingGate>,
    /// How it spreads over domains.
    #[serde(default, deserialize_with = "or_default")]
    pub topology_spread_constraints: Vec<TopologySpread>,
    /// Volumes that bind it to places; the others are dropped.
    #[serde(default, deserialize_with = "placed_volumes")]
    pub volumes: Vec<Volume>,
    /// Devices that it claims.
    #[serde(default, deserialize_with = "count")]
    pub resource_claims: usize,
    /// Whether it uses its node's network.
    #[serde(default, deserialize_with = "or_default")]
    pub host_network: bool,
}

fn count<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    Ok(Option::<Vec<IgnoredAny>>::deserialize(deserializer)?.map_or(0, |items| items.len()))
}

fn placed_volumes<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Volume>, D::Error> {
    let mut volumes = Option::<Vec<Volume>>::deserialize(deserializer)?.unwrap_or_default();
    volumes.retain(|volume| volume.persistent_volume_claim.is_some() || volume.ephemeral.is_some());
    volumes.shrink_to_fit();
    Ok(volumes)
}

/// A container, as far as it needs something of its node.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Container {
    /// Its name, unique in the pod.
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    /// What it asks for.
    #[serde(default, deserialize_with = "or_default")]
    pub resources: ContainerResources,
    /// `Always` makes an init container a sidecar.
    #[serde(default)]
    pub restart_policy: Option<String>,
    /// Its ports.
    #[serde(default, deserialize_with = "or_default")]
    pub ports: Vec<Port>,
}

impl PodSpec {
    /// Whether the claims of some of its volumes are named after the pod.
    #[must_use]
    pub fn has_claims_of_its_own(&self) -> bool {
        self.volumes.iter().any(|volume| volume.ephemeral.is_some())
    }
}

impl Container {
    /// An init container that keeps running beside the others.
    #[must_use]
    pub fn is_sidecar(&self) -> bool {
        self.restart_policy.as_deref() == Some("Always")
    }
}

/// Requests and limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub struct ContainerResources {
    /// What is set aside for it.
    #[serde(default)]
    pub requests: Amounts,
    /// What it can't exceed.
    #[serde(default)]
    pub limits: Amounts,
}

/// A port of a container.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Port {
    /// In the container.
    #[serde(default)]
    pub container_port: Option<u16>,
    /// On the node; none, or 0: it takes none there.
    #[serde(default)]
    pub host_port: Option<u16>,
    /// On which address of the node; all, where nothing is said.
    #[serde(default, rename = "hostIP")]
    pub host_ip: Option<String>,
    /// `TCP`, `UDP` or `SCTP`.
    #[serde(default)]
    pub protocol: Option<String>,
}

/// A toleration as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub struct Toleration {
    /// The taint's key; empty for all.
    #[serde(default, deserialize_with = "or_default")]
    pub key: String,
    /// `Equal` (also where nothing is said) or `Exists`.
    #[serde(default, deserialize_with = "or_default")]
    pub operator: String,
    /// The taint's value.
    #[serde(default, deserialize_with = "or_default")]
    pub value: String,
    /// The taint's effect; empty for all.
    #[serde(default, deserialize_with = "or_default")]
    pub effect: String,
}

/// Something a pod waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub struct SchedulingGate {
    /// What.
    pub name: String,
}

/// A volume that may bind a pod to a place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Volume {
    /// Its name in the pod.
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    /// Of a claim.
    #[serde(default)]
    pub persistent_volume_claim: Option<ClaimVolume>,
    /// Of a claim that lives as long as the pod.
    #[serde(default)]
    pub ephemeral: Option<EphemeralVolume>,
}

/// A volume whose claim is made with the pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EphemeralVolume {
    /// The claim.
    #[serde(default, deserialize_with = "or_default")]
    pub volume_claim_template: ClaimTemplate,
}

/// The claim behind a volume.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimVolume {
    /// Its name.
    pub claim_name: String,
}
