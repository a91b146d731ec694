//! Workloads: what brings pods, and how many.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::affinity::LabelSelector;
use super::meta::{Condition, Metadata, or_default};
use super::pod::PodTemplate;
use super::storage::ClaimTemplate;

/// Deployment, ReplicaSet, ReplicationController or StatefulSet.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Replicated {
    /// What all objects have.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// What it wants.
    pub spec: ReplicatedSpec,
}

/// What a workload with a number of replicas wants.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicatedSpec {
    /// How many pods; one where nothing is said.
    #[serde(default)]
    pub replicas: Option<i32>,
    /// Which pods are its own; empty of a ReplicationController, which writes the labels without `matchLabels`.
    #[serde(default, deserialize_with = "or_default")]
    pub selector: LabelSelector,
    /// What its pods are.
    pub template: PodTemplate,
    /// Claims that each pod gets, its name behind theirs (StatefulSet).
    #[serde(default, deserialize_with = "or_default")]
    pub volume_claim_templates: Vec<ClaimTemplate>,
    /// Number of the first pod (StatefulSet).
    #[serde(default, deserialize_with = "or_default")]
    pub ordinals: Ordinals,
}

/// How a StatefulSet numbers its pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Ordinals {
    /// The first number.
    #[serde(default, deserialize_with = "or_default")]
    pub start: i32,
}

/// A DaemonSet.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct DaemonSet {
    /// What all objects have.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// What it wants.
    pub spec: DaemonSetSpec,
}

/// What a DaemonSet wants.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct DaemonSetSpec {
    /// What its pods are.
    pub template: PodTemplate,
}

/// A Job.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Job {
    /// What all objects have.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// What it wants.
    pub spec: JobSpec,
    /// How far it is.
    #[serde(default, deserialize_with = "or_default")]
    pub status: JobStatus,
}

/// What a Job wants.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct JobSpec {
    /// How many pods at once; one where nothing is said.
    #[serde(default)]
    pub parallelism: Option<i32>,
    /// How many pods have to end well.
    #[serde(default)]
    pub completions: Option<i32>,
    /// Whether it is to have no pods at the moment.
    #[serde(default, deserialize_with = "or_default")]
    pub suspend: bool,
    /// What its pods are.
    pub template: PodTemplate,
}

/// How far a Job is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobStatus {
    /// How many pods ended well.
    #[serde(default, deserialize_with = "or_default")]
    pub succeeded: i32,
    /// Whether it ended.
    #[serde(default, deserialize_with = "or_default")]
    pub conditions: Vec<Condition>,
    /// When it ended well.
    #[serde(default)]
    pub completion_time: Option<IgnoredTime>,
}

/// Whether a time is there; which doesn't matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IgnoredTime;

impl<'de> Deserialize<'de> for IgnoredTime {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl Job {
    /// How many pods it runs at once by now: none when it is finished or suspended.
    #[must_use]
    pub fn pods_at_once(&self) -> u32 {
        let Self {
            spec,
            status,
            metadata: _,
        } = self;
        let ended = status.completion_time.is_some()
            || status.conditions.iter().any(|condition| {
                matches!(condition.kind.as_str(), "Complete" | "Failed") && condition.status == "True"
            });
        if ended || spec.suspend {
            return 0;
        }
        let at_once = spec.parallelism.unwrap_or(1);
        let left = spec
            .completions
            .map(|completions| completions.saturating_sub(status.succeeded));
        u32::try_from(left.map_or(at_once, |left| left.min(at_once))).unwrap_or(0)
    }
}

/// A PodTemplate.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PodTemplateObject {
    /// What all objects have.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// The template.
    pub template: PodTemplate,
}
