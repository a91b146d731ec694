//! Why a node pool can't take a pod: the step that excludes the last of its nodes to come, with the figures.
//!
//! The steps, in order: the pool itself, taints, requirements (the zone apart), rules about other pods and volumes,
//! resources, DaemonSets, offerings, minValues, limits, subnets. Works from the snapshot, since the problem no longer holds what was excluded.

mod about_pods;
mod scarce;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::model::explain::{Constraint, Reason};
use crate::model::instance_type::{HOSTNAME_LABEL, INSTANCE_TYPE_LABEL, InstanceType, ZONE_LABEL};
use crate::model::node_pool::NodePool;
use crate::model::offering::Offering;
use crate::model::pod::{Pod, PodSpec};
use crate::model::requirement::{Requirements, ValueSet};
use crate::model::resources::{Amount, ResourceName, Resources};
use crate::model::rules::PodTerm;
use crate::model::snapshot::Snapshot;

use super::group::Profile;
use super::rules::offerings::Shared;
use super::rules::{accelerators, offerings, overhead, requirements, taints, volumes};
use super::universe::open_keys;
use scarce::{limited, no_addresses, not_on_sale, too_few_values, used_up};

/// A node that the pool would launch if it could be bought.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    instance_type: &'a InstanceType,
    offering: &'a Offering,
    /// Where it stands among the pool's candidates.
    at: usize,
}

/// One node pool, ready to say why it can't take pods.
///
/// A dump may hold thousands of kinds of refused pods: what only depends on the pool is worked out once. It takes some
/// room, so keep one pool's at a time.
pub struct PoolRefusals<'a> {
    snapshot: &'a Snapshot,
    pool: &'a NodePool,
    /// What the plan's own launches take from the pool's allowance, counter by counter.
    spent: &'a [u64],
    /// How many of each limited offer they take.
    taken: &'a BTreeMap<Shared, u64>,
    /// By subnet: addresses that the plan's own launches leave.
    free: &'a [u64],
    candidates: OnceCell<Vec<Candidate<'a>>>,
    /// What DaemonSets take of each candidate.
    overheads: OnceCell<Vec<Resources>>,
    /// What pods that need a place keep off by, other than from their own node.
    terms: OnceCell<BTreeSet<&'a PodTerm>>,
}

impl<'a> PoolRefusals<'a> {
    /// Of this pool, with what is launched already counted.
    #[must_use]
    pub fn new(
        snapshot: &'a Snapshot,
        pool: &'a NodePool,
        spent: &'a [u64],
        taken: &'a BTreeMap<Shared, u64>,
        free: &'a [u64],
    ) -> Self {
        Self {
            snapshot,
            pool,
            spent,
            taken,
            free,
            candidates: OnceCell::new(),
            overheads: OnceCell::new(),
            terms: OnceCell::new(),
        }
    }

    /// The constraint by which the pool can't take one more pod of these, whose places `profile` narrows.
    #[must_use]
    pub fn reason(&self, pod: &Pod, profile: &Profile) -> Reason {
        let (constraint, detail) = self.decisive(pod, profile);
        Reason {
            node_pool: Some(self.pool.name.clone()),
            node: None,
            constraint,
            detail,
        }
    }

    fn decisive(&self, pod: &Pod, profile: &Profile) -> (Constraint, String) {
        let (pool, spec) = (self.pool, &*pod.spec);
        if let Some(impossible) = &spec.rules.impossible {
            return (impossible.constraint, impossible.detail.clone());
        }
        if let Some(why) = &pool.left_out {
            return (Constraint::NodePool, why.clone());
        }
        if let Some(replicas) = pool.replicas {
            let detail = format!(
                "the pool is static (replicas {replicas}): it launches up to that number and never for pods"
            );
            return (Constraint::NodePool, detail);
        }
        if let Some(taint) = taints::refused_by(pool, spec) {
            return (Constraint::Taint, format!("{taint} isn't tolerated"));
        }
        let all = self.candidates.get_or_init(|| candidates(self.snapshot, pool));
        if all.is_empty() {
            let detail = "no instance type meets the pool's own requirements".to_owned();
            return (Constraint::Requirement, detail);
        }
        let ways = ways(spec);
        let admitted: Vec<Candidate<'_>> = all
            .iter()
            .copied()
            .filter(|candidate| admits(pool, *candidate, &ways, false))
            .collect();
        if admitted.is_empty() {
            return unmet(pool, all, spec);
        }
        let admitted = match about_pods::narrow(self.snapshot, pool, admitted, spec, profile) {
            Ok(left) => left,
            Err(said) => return said,
        };
        let admitted = self.off_accelerators(admitted, profile);
        if admitted.is_empty() {
            let detail = "a PackingPolicy keeps pods that ask for no accelerator off nodes that have one, and every type that is left has one";
            return (Constraint::Policy, detail.to_owned());
        }
        let fitting: Vec<Candidate<'_>> = admitted
            .iter()
            .copied()
            .filter(|candidate| self.lacking(*candidate, spec).next().is_none())
            .collect();
        if fitting.is_empty() {
            return self.too_large(&admitted, spec);
        }
        let buyable: Vec<Candidate<'_>> = fitting
            .iter()
            .copied()
            .filter(|candidate| offerings::is_buyable(candidate.offering))
            .collect();
        let Some(smallest) = buyable.first() else {
            return (Constraint::Capacity, not_on_sale(&fitting));
        };
        if let Some(detail) = used_up(self.snapshot, &buyable, self.taken) {
            return (Constraint::Capacity, detail);
        }
        if let Some(detail) = too_few_values(self.snapshot, pool, &buyable) {
            return (Constraint::MinValues, detail);
        }
        let limited = limited(self.snapshot, pool, &buyable, self.spent);
        limited
            .or_else(|| no_addresses(self.snapshot, pool, &buyable, self.free))
            .or_else(|| about_pods::left_over(spec))
            .or_else(|| about_pods::kept_off(self.terms(), pod))
            .unwrap_or_else(|| {
                let detail = format!("no {} is left to launch", smallest.instance_type.name);
                (Constraint::Capacity, detail)
            })
    }

    fn terms(&self) -> &BTreeSet<&'a PodTerm> {
        self.terms.get_or_init(|| about_pods::terms(self.snapshot))
    }

    /// The candidates without an accelerator, where that matters.
    fn off_accelerators<'c>(&self, mut from: Vec<Candidate<'c>>, profile: &Profile) -> Vec<Candidate<'c>> {
        if profile.asks_for_no_accelerator && accelerators::keeps_off(self.snapshot, &self.pool.name) {
            from.retain(|candidate| !candidate.instance_type.has_accelerator());
        }
        from
    }

    /// DaemonSets that come with a node, given the labels that are certain there, and headroom.
    fn overhead(&self, candidate: Candidate<'_>) -> &Resources {
        let overheads = self.overheads.get_or_init(|| {
            let tolerating = self
                .snapshot
                .daemon_sets
                .iter()
                .filter(|daemon_set| taints::refused_by(self.pool, &daemon_set.spec).is_none());
            let daemon_sets: Vec<(&Resources, Vec<Requirements>)> = tolerating
                .map(|daemon_set| (&daemon_set.spec.requests, ways(&daemon_set.spec)))
                .collect();
            let all = self.candidates.get().map_or(&[][..], Vec::as_slice);
            let overhead = |candidate: &Candidate<'_>| {
                let headroom = overhead::headroom(self.snapshot, &self.pool.name);
                let mut sum = headroom.cloned().unwrap_or_default();
                for (requests, ways) in &daemon_sets {
                    if admits(self.pool, *candidate, ways, false) {
                        sum.add_all(requests);
                    }
                }
                sum
            };
            all.iter().map(overhead).collect()
        });
        &overheads[candidate.at]
    }

    /// Resources of which the pod and the node's DaemonSets need more than there is.
    fn lacking<'s>(
        &'s self,
        candidate: Candidate<'s>,
        spec: &'s PodSpec,
    ) -> impl Iterator<Item = &'s ResourceName> {
        let overhead = self.overhead(candidate);
        let allocatable = &candidate.instance_type.allocatable;
        let of_pods = spec
            .requests
            .iter()
            .filter(|(name, amount)| amount.plus(overhead.get(name)) > allocatable.get(name));
        let of_daemon_sets = overhead
            .iter()
            .filter(|(name, amount)| !spec.requests.contains(name) && *amount > allocatable.get(name));
        of_pods.chain(of_daemon_sets).map(|(name, _)| name)
    }

    /// The type that comes nearest lacks some resource: names it with the figures.
    fn too_large(&self, admitted: &[Candidate<'_>], spec: &PodSpec) -> (Constraint, String) {
        let nearest = admitted
            .iter()
            .min_by_key(|candidate| {
                let first = self.lacking(**candidate, spec).min();
                let most = first.map_or(Amount::ZERO, |name| candidate.instance_type.allocatable.get(name));
                (self.lacking(**candidate, spec).count(), std::cmp::Reverse(most))
            })
            .copied();
        let Some(nearest) = nearest else {
            return (Constraint::Resources, "no instance type is admitted".to_owned());
        };
        let Some(name) = self.lacking(nearest, spec).min() else {
            return (Constraint::Resources, "no instance type has the room".to_owned());
        };
        let text = |amount: Amount| written(name, amount);
        let asked = spec.requests.get(name);
        let taken = self.overhead(nearest).get(name);
        let largest = nearest.instance_type.allocatable.get(name);
        let which = &nearest.instance_type.name;
        let resources = if volumes::is_attachment(name) {
            Constraint::Volume
        } else {
            Constraint::Resources
        };
        let (needed, constraint) = if taken > Amount::ZERO {
            let sum = text(asked.plus(taken));
            let constraint = if asked > largest {
                resources
            } else {
                Constraint::Overhead
            };
            let others = match overhead::headroom(self.snapshot, &self.pool.name) {
                Some(_) => "DaemonSets and headroom",
                None => "DaemonSets",
            };
            let needed = format!("{sum} ({} and {} for {others})", text(asked), text(taken));
            (needed, constraint)
        } else {
            (text(asked), resources)
        };
        let detail = if largest == Amount::ZERO && taken == Amount::ZERO {
            format!("{name}: needs {needed}, no allowed type has any")
        } else {
            format!(
                "{name}: needs {needed}, the largest allowed type {which} has {}",
                text(largest)
            )
        };
        (constraint, detail)
    }
}

/// All types and offerings that the pool's own requirements admit, bought or not.
fn candidates<'a>(snapshot: &'a Snapshot, pool: &'a NodePool) -> Vec<Candidate<'a>> {
    let class = snapshot.node_class(pool);
    let typed_keys = requirements::typed_keys(class);
    class
        .instance_types
        .iter()
        .filter(|instance_type| open_keys(pool, instance_type, &typed_keys).is_some())
        .flat_map(|instance_type| {
            let offerings = instance_type.offerings.iter();
            offerings.map(move |offering| (instance_type, offering))
        })
        .filter(|(_, offering)| requirements::pool_admits_offering(pool, offering))
        .enumerate()
        .map(|(at, (instance_type, offering))| Candidate {
            instance_type,
            offering,
            at,
        })
        .collect()
}

/// What a node to come may have under a key.
enum Prospect<'a> {
    /// This label, or none.
    Certain(Option<&'a str>),
    /// A value that the type or the pool leaves open.
    Open(Cow<'a, ValueSet>),
}

impl Prospect<'_> {
    fn meets(&self, wanted: &ValueSet) -> bool {
        match self {
            Self::Certain(value) => wanted.admits(*value),
            Self::Open(open) => !open.intersect(wanted).is_empty(),
        }
    }

    /// The values in words; `None` where there can be none.
    fn said(&self) -> Option<String> {
        match self {
            Self::Certain(value) => value.map(str::to_owned),
            Self::Open(open) => open.admits_some_value().then(|| values(open)),
        }
    }
}

/// What a pool and a type admit of each key of a node to come.
fn prospect<'a>(pool: &'a NodePool, candidate: Candidate<'a>, key: &str) -> Prospect<'a> {
    let instance_type = candidate.instance_type;
    let own = |key: &str| instance_type.labels.get(key).map(String::as_str);
    let certain = match key {
        HOSTNAME_LABEL => Some(requirements::NEW_HOSTNAME),
        INSTANCE_TYPE_LABEL => Some(instance_type.name.as_str()),
        _ => candidate.offering.label(key).or_else(|| own(key)),
    };
    if let Some(value) = certain.or_else(|| pool.labels.get(key).map(String::as_str)) {
        return Prospect::Certain(Some(value));
    }
    match (instance_type.choices.get(key), pool.requirements.get(key)) {
        (Some(choice), Some(required)) => Prospect::Open(Cow::Owned(choice.intersect(required))),
        (Some(open), None) | (None, Some(open)) => Prospect::Open(Cow::Borrowed(open)),
        (None, None) => Prospect::Certain(None),
    }
}

/// The requirements of a pod: one set for each of its OR-ed affinity terms that could hold for a node to come.
fn ways(spec: &PodSpec) -> Vec<Requirements> {
    let selector = spec.selector_requirements();
    let Some(terms) = &spec.node_affinity else {
        return vec![selector];
    };
    let possible = terms
        .0
        .iter()
        .filter(|term| term.node_name.is_none() && !term.is_empty());
    possible
        .map(|term| {
            let mut both = selector.clone();
            both.add_all(&term.expressions);
            both
        })
        .collect()
}

/// Whether some choice of open labels makes the node admissible; `any_zone` leaves the zone out of account.
fn admits(pool: &NodePool, candidate: Candidate<'_>, ways: &[Requirements], any_zone: bool) -> bool {
    ways.iter().any(|requirements| {
        requirements
            .iter()
            .all(|(key, set)| any_zone && key == ZONE_LABEL || prospect(pool, candidate, key).meets(set))
    })
}

fn unmet(pool: &NodePool, all: &[Candidate<'_>], spec: &PodSpec) -> (Constraint, String) {
    let ways = ways(spec);
    if all.iter().any(|candidate| admits(pool, *candidate, &ways, true)) {
        let zones: BTreeSet<&str> = all
            .iter()
            .map(|candidate| candidate.offering.zone.as_str())
            .collect();
        let zones: Vec<&str> = zones.into_iter().collect();
        let wanted = wanted(spec, ZONE_LABEL);
        let detail = format!(
            "the pod needs zone {wanted}, the pool launches in {}",
            zones.join(", ")
        );
        return (Constraint::Zone, detail);
    }
    let keys = spec.selector_requirements();
    let terms = spec.node_affinity.iter().flat_map(|terms| &terms.0);
    let mut required: Vec<(&str, &ValueSet)> = keys.iter().collect();
    required.extend(terms.flat_map(|term| term.expressions.iter()));
    let alone = required.iter().find(|(key, set)| {
        all.iter()
            .all(|candidate| !prospect(pool, *candidate, key).meets(set))
    });
    let detail = match alone {
        Some((key, set)) => {
            let needs = values(set);
            match prospect(pool, all[0], key).said() {
                Some(offered) => format!("{key}: the pod needs {needs}, the pool's nodes have {offered}"),
                None => format!("{key}: the pod needs {needs}, the pool's nodes don't have that label"),
            }
        }
        None => "no instance type meets all that the pod requires together".to_owned(),
    };
    (Constraint::Requirement, detail)
}

fn wanted(spec: &PodSpec, key: &str) -> String {
    let selector = spec.selector_requirements();
    let terms = spec.node_affinity.iter().flat_map(|terms| &terms.0);
    let sets = terms.filter_map(|term| term.expressions.get(key));
    let all: Vec<String> = selector.get(key).into_iter().chain(sets).map(values).collect();
    all.join(" or ")
}

/// A set as part of a sentence: a short list of values without the operator that gave them.
fn values(set: &ValueSet) -> String {
    const SHOWN: usize = 5;
    match set.finite() {
        Some(values) if (1..=SHOWN).contains(&values.len()) => {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            values.join(" or ")
        }
        _ => set.to_string(),
    }
}

/// CPU in cores from one on, so that large figures stay readable; quantities write them in thousandths.
fn written(name: &ResourceName, amount: Amount) -> String {
    match name {
        ResourceName::Cpu if amount.get() > 1_000 => {
            let (cores, thousandths) = (amount.get() / 1_000, amount.get() % 1_000);
            let fraction = format!("{thousandths:03}");
            match fraction.trim_end_matches('0') {
                "" => cores.to_string(),
                digits => format!("{cores}.{digits}"),
            }
        }
        _ => amount.display(name.unit()).to_string(),
    }
}
