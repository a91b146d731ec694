//! The plan: an immutable document, the JSON of `dovetail plan -o json`.
//!
//! A [`Plan<Proposed>`] is what the planner says; only [`crate::check`] turns it into a [`Plan<Checked>`], and only
//! that is ever printed or executed.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::explain::Unschedulable;
use super::money::{Cost, Price};
use super::name::{InstanceTypeName, NodeName, NodePoolName, PodName, SubnetId, ZoneName};
use super::objective::Terms;
use super::offering::CapacityType;
use super::requirement::Labels;
use super::resources::{Amount, ResourceName, Resources};

/// The planner's word, not yet verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proposed;
/// Verified by the independent check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked;

/// A plan and how far it can be trusted.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<State> {
    body: PlanBody,
    state: PhantomData<State>,
}

impl Plan<Proposed> {
    /// A plan to be checked.
    #[must_use]
    pub fn propose(body: PlanBody) -> Self {
        Self {
            body,
            state: PhantomData,
        }
    }

    /// Only the check calls this, with the figures as it counts them.
    pub(crate) fn into_checked(self, cost: CostSummary, proof: Proof) -> Plan<Checked> {
        Plan {
            body: PlanBody {
                cost,
                proof,
                ..self.body
            },
            state: PhantomData,
        }
    }
}

impl<State> Deref for Plan<State> {
    type Target = PlanBody;
    fn deref(&self) -> &PlanBody {
        &self.body
    }
}

impl<State> Plan<State> {
    /// The document itself.
    #[must_use]
    pub fn into_body(self) -> PlanBody {
        self.body
    }
}

/// The document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanBody {
    /// One entry a node to launch.
    pub launch: Vec<Launch>,
    /// Existing nodes that change or take pods; a node that isn't listed is kept as it is.
    pub nodes: Vec<NodePlan>,
    /// Running pods that get another place.
    pub moves: Vec<Move>,
    /// Pods without a place, with the reasons.
    pub unschedulable: Vec<Unschedulable>,
    /// Money per hour.
    pub cost: CostSummary,
    /// How good it is known to be.
    pub proof: Proof,
    /// What it took. Not part of "the same input gives the same bytes".
    pub work: Work,
}

/// One node to launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Launch {
    /// Of which NodePool.
    pub node_pool: NodePoolName,
    /// First choice of the type.
    pub instance_type: InstanceTypeName,
    /// First choice of the zone.
    pub zone: ZoneName,
    /// The subnet that its addresses are booked in, where those of the zone could run out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subnet: Option<SubnetId>,
    /// First choice of how it is bought.
    pub capacity_type: CapacityType,
    /// The capacity reservation that the first choice is of.
    #[serde(default, rename = "reservationID", skip_serializing_if = "Option::is_none")]
    pub reservation_id: Option<String>,
    /// Dollars per hour of the first choice.
    pub price: Price,
    /// Pods that it is for, DaemonSets' not among them.
    pub pods: Vec<PodName>,
    /// What they and its DaemonSets ask for together.
    #[serde(with = "written_resources")]
    pub requests: Resources,
    /// Values chosen for keys that the NodePool leaves open and a pod here selects.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// Offers that may stand in for the first choice, any one of them, without breaking a rule. Ordered by price.
    /// Shared between launches of the same filling: a large plan repeats few fillings often.
    pub alternatives: Arc<[Alternative]>,
}

/// An interchangeable offer of a launch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Alternative {
    /// Type.
    pub instance_type: InstanceTypeName,
    /// Zone.
    pub zone: ZoneName,
    /// The subnet that its addresses are booked in, where those of the zone could run out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subnet: Option<SubnetId>,
    /// How it is bought.
    pub capacity_type: CapacityType,
    /// The capacity reservation that it is of.
    #[serde(default, rename = "reservationID", skip_serializing_if = "Option::is_none")]
    pub reservation_id: Option<String>,
    /// Dollars per hour.
    pub price: Price,
    /// Where it needs other values than the launch's.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
}

/// What becomes of an existing node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NodeAction {
    /// It stays.
    Keep,
    /// It goes, and nothing replaces it one for one.
    Delete,
    /// It goes when its replacement is ready.
    Replace,
}

/// An existing node in the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodePlan {
    /// The node (the NodeClaim while it has none).
    pub name: NodeName,
    /// What becomes of it.
    pub action: NodeAction,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Pods that are there and stay.
    pub pods: Vec<PodName>,
    /// Pods that come.
    pub added: Vec<PodName>,
    /// Dollars per hour.
    pub price: Price,
    /// What keeps it although it could go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
}

/// A running pod that gets another place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Move {
    /// The pod.
    pub pod: PodName,
    /// The node it is on.
    pub from: NodeName,
    /// `launch/N` or a node's name.
    pub to: String,
}

/// Money per hour of all nodes; unknown types count zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CostSummary {
    /// Now.
    pub before: Cost,
    /// After the plan.
    pub after: Cost,
    /// Of what is launched.
    pub launched: Cost,
    /// Weighted objective that no plan can undercut.
    pub lower_bound: Cost,
    /// `objective ÷ lowerBound − 1`.
    pub gap: Gap,
    /// Weighted objective of this plan.
    pub objective: Cost,
    /// What it is made of.
    #[serde(default)]
    pub terms: Terms,
    /// By how much the check counts `preference`, `fragmentation` and `zoneImbalance` higher than the planner did. The
    /// check's figures are those above; where this isn't zero, a defect of the planner may have made the plan dearer, and
    /// the bound is capped at the objective. No pod is placed otherwise than the rules admit because of it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub recounted: Cost,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(number: &usize) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(cost: &Cost) -> bool {
    *cost == Cost::ZERO
}

/// A relative distance in millionths; a JSON number with six decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap(pub u64);

impl Gap {
    /// Distance of an objective above its lower bound, rounded up; zero where the bound isn't positive.
    #[must_use]
    pub fn between(objective: Cost, lower_bound: Cost) -> Self {
        let (above, bound) = (objective.micros(), lower_bound.micros());
        if bound <= 0 || above <= bound {
            return Self(0);
        }
        let millionths = (i128::from(above - bound) * 1_000_000 + i128::from(bound) - 1) / i128::from(bound);
        Self(u64::try_from(millionths).unwrap_or(u64::MAX))
    }
}

impl Serialize for Gap {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Price::from_micros(self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Gap {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Price::deserialize(deserializer).map(|number| Self(number.micros()))
    }
}

/// What is proven.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProofKind {
    /// Objective equals the lower bound.
    Optimal,
    /// Within the gap that was asked for.
    WithinGap,
    /// Neither; the gap says how far it may be.
    #[default]
    Heuristic,
}

/// Why the solver stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// All engines ended by themselves, or the plan is as near to its bound as was asked for: more time would not have
    /// been used.
    #[default]
    Finished,
    /// The counted effort was used up before that.
    WorkLimit,
    /// The quota from outside, or a share of the time it leaves, cut an engine short before that.
    Deadline,
}

/// How good the plan is known to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// What is proven.
    pub kind: ProofKind,
    /// Why it stopped.
    pub stopped: Stopped,
}

/// What planning took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Pods that were to be placed.
    pub pods: usize,
    /// Groups that they fell into.
    pub groups: usize,
    /// Offerings that were considered.
    pub offerings: usize,
    /// Fillings that were generated.
    pub columns: usize,
    /// Engines that failed, or whose plan the check refused: it costs nothing but their time.
    #[serde(default)]
    pub failures: usize,
    /// Plans of engines of which the check counted `preference`, `fragmentation` or `zoneImbalance` otherwise than the planner
    /// did: a defect of the planner that may have made the plan dearer, and no more.
    #[serde(default, skip_serializing_if = "is_none")]
    pub recounted: usize,
    /// The engines in order, `greedy` (the baseline) first.
    pub phases: Vec<Phase>,
}

/// One engine's run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// Wall time, by the quota's clock.
    #[serde(with = "seconds")]
    pub seconds: std::time::Duration,
    /// Pods that the best plan known after this run places; zero where there is none.
    #[serde(default)]
    pub placed: u64,
    /// Weighted objective of what that plan launches, dollars per hour unless weights say
    /// otherwise; zero where there is none.
    pub cost: Cost,
    /// Weighted objective that launches for the same pods as that plan places come to at least, as known after this run;
    /// zero where nothing is known. As long as the same pods are placed it never falls from one run to the next; a plan
    /// that places others has another bound, which may be lower.
    #[serde(default)]
    pub bound: Cost,
    /// Why its plan didn't count, where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// A duration as a JSON number of seconds, to the microsecond.
mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::model::money::Price;

    pub(super) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        Price::from_micros(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        Price::deserialize(deserializer).map(|number| Duration::from_micros(number.micros()))
    }
}

/// Resources as Kubernetes writes them: `{"cpu": "3000m", "memory": "3Gi"}`.
mod written_resources {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Amount, ResourceName, Resources};
    use crate::model::quantity::Rounding;

    pub(super) fn serialize<S: Serializer>(resources: &Resources, serializer: S) -> Result<S::Ok, S::Error> {
        let text = |(name, amount): (&ResourceName, Amount)| {
            (name.to_string(), amount.display(name.unit()).to_string())
        };
        resources
            .iter()
            .map(text)
            .collect::<BTreeMap<_, _>>()
            .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Resources, D::Error> {
        let written = BTreeMap::<String, String>::deserialize(deserializer)?;
        let pairs = written.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        Resources::parse(pairs, Rounding::Up).map_err(serde::de::Error::custom)
    }
}
