//! The second pair of eyes: judges a plan from the rules of Kubernetes and NodePools alone.
//!
//! Promises: reads [`crate::model`] and nothing of the planner's; finds every violation, not just the first; judges
//! each launch under its first choice *and* every alternative; counts in integers wide enough that nothing wraps; never
//! panics, whatever the plan says. One file a rule. Only this makes a [`Plan<Checked>`].
//!
//! What is only weighed (preferences, fragmentation, zone imbalance) breaks no rule, so a plan isn't refused over what it says
//! of it: the figures here take their place, and `cost.recounted` says by how much they differ.
//!
//! Not judged: whether a cheaper plan exists, NodePool weights, and anything that the model has no
//! words for yet; where an unknown rule would be needed (the disruption of a node), the plan is refused.
//!
//! What launches repeat is judged once and reported once, with the first launch where it happens.

mod accelerators;
mod admission;
mod daemons;
mod fragmentation;
mod gang;
mod honesty;
mod host_ports;
mod impossible;
mod labels;
mod launchable;
mod launches;
mod limits;
mod matching;
mod meetings;
mod min_values;
mod money;
mod offerings;
mod overhead;
mod placement;
mod pod_affinity;
mod preferences;
mod prospect;
mod requirements;
mod resources;
mod sites;
mod static_pools;
mod subnets;
mod taints;
mod topology;
mod topology_spread;
mod volumes;
mod world;
mod zone_imbalance;

use std::fmt;

use thiserror::Error;

use crate::model::plan::{Checked, Plan, Proposed};
use crate::model::snapshot::Snapshot;

use launches::Launches;
use meetings::Meetings;
use sites::Sites;
use world::World;

/// The closed list of rules that a plan can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// Pods ask for more than the node's allocatable, or `requests` isn't their sum.
    Resources,
    /// A node selector, an affinity or a requirement of the NodePool isn't met.
    Requirements,
    /// A key that the NodePool leaves open has no value where one is needed, or one that isn't allowed.
    Labels,
    /// A launch and its alternatives have fewer different values of a key than the NodePool's minValues.
    MinValues,
    /// A taint isn't tolerated.
    Taints,
    /// A pod that asks for no accelerator is where a policy keeps such pods off.
    Accelerators,
    /// The room of DaemonSets is given away.
    Overhead,
    /// A hard topology spread is skewed.
    TopologySpread,
    /// A pod isn't near those that it must be near to, whatever comes first.
    Affinity,
    /// Two pods are near each other that must not be.
    AntiAffinity,
    /// A host port is taken twice.
    HostPorts,
    /// A volume of a pod can't reach its node.
    Volumes,
    /// A pod is placed that no place will do for.
    Impossible,
    /// A gang is placed in part, or before enough of it is there.
    Gang,
    /// A limit of a NodePool is exceeded.
    Limits,
    /// A static NodePool launches another number of nodes than it lacks.
    StaticPools,
    /// More addresses may be taken from a subnet than are free, or from one that isn't the node's.
    Subnets,
    /// An offer doesn't exist, isn't available, costs something else, or is used more often than it is there.
    Offerings,
    /// A pod is nowhere, twice, invented, or where none may be; moves or nodes don't agree with the rest.
    Placement,
    /// A figure of `cost`, `price` or `proof` isn't what the catalogue gives.
    Money,
    /// A pod is refused without the reasons it is owed, or with one that isn't so.
    Honesty,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Violation {
    /// Which rule.
    pub rule: Rule,
    /// What breaks it: `launch/3 as c7i.large in us-east-1a, on-demand`, a pod, a node, a NodePool.
    pub subject: String,
    /// How, with the figures.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.rule, self.subject, self.detail)
    }
}

/// A plan that breaks rules, and which.
#[derive(Debug, Error)]
#[error("the plan breaks {} rules, the first: {}", violations.len(), First(violations))]
pub struct CheckFailure {
    /// All of them, at least one.
    pub violations: Vec<Violation>,
    /// The plan, unchanged.
    pub plan: Plan<Proposed>,
}

struct First<'a>(&'a [Violation]);

impl fmt::Display for First<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.first().map_or(Ok(()), |violation| violation.fmt(f))
    }
}

/// Collects what is found.
#[derive(Default)]
struct Violations(Vec<Violation>);

impl Violations {
    fn add(&mut self, rule: Rule, subject: impl fmt::Display, detail: impl Into<String>) {
        self.0.push(Violation {
            rule,
            subject: subject.to_string(),
            detail: detail.into(),
        });
    }
}

/// Verifies a plan against the snapshot that it was made from.
///
/// # Errors
/// Every violation that was found, with the plan.
#[expect(
    clippy::result_large_err,
    reason = "a failed check is rare and its caller wants the plan back"
)]
pub fn check(snapshot: &Snapshot, plan: Plan<Proposed>) -> Result<Plan<Checked>, CheckFailure> {
    let mut found = Violations::default();
    let world = World::new(snapshot);
    let placed = placement::check(&world, &plan, &mut found);
    let launches = Launches::resolve(&world, &plan, &placed, &mut found);
    let meetings = Meetings::new(&world, &launches);
    offerings::check(&world, &launches, &meetings, &mut found);
    requirements::check(&world, &launches, &meetings, &placed, &mut found);
    labels::check(&world, &launches, &meetings, &mut found);
    min_values::check(&world, &plan, &launches, &mut found);
    taints::check(&world, &launches, &placed, &mut found);
    accelerators::check(&world, &launches, &placed, &mut found);
    resources::check(&world, &plan, &launches, &placed, &mut found);
    overhead::check(&world, &launches, &placed, &mut found);
    let sites = (Sites::matter(&world) || preferences::are_about_pods(&world))
        .then(|| Sites::new(&world, &launches, &placed));
    if let Some(sites) = sites.as_ref().filter(|_| Sites::matter(&world)) {
        topology_spread::check(sites, &mut found);
        pod_affinity::check(sites, &mut found);
    }
    let soft = money::Soft {
        preference: preferences::unmet(&world, &launches, &placed, sites.as_ref()),
        fragmentation: fragmentation::stranded(&world, &launches),
        zone_imbalance: zone_imbalance::uneven(&world, &plan, &launches),
    };
    host_ports::check(&world, &launches, &placed, &mut found);
    volumes::check(&world, &launches, &placed, &mut found);
    impossible::check(&world, &placed, &mut found);
    gang::check(&world, &placed, &mut found);
    limits::check(&world, &launches, &mut found);
    static_pools::check(&world, &launches, &mut found);
    subnets::check(&world, &launches, &mut found);
    let (cost, proof) = money::check(&world, &plan, soft, &mut found);
    honesty::check(&world, &plan, &mut found);
    let Violations(violations) = found;
    if violations.is_empty() {
        Ok(plan.into_checked(cost, proof))
    } else {
        Err(CheckFailure { violations, plan })
    }
}
