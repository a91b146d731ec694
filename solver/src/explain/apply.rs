//! What a change does to a world: to a NodePool, a policy, or the pods in question.

use std::sync::Arc;

use crate::model::name::NodePoolName;
use crate::model::node_pool::NodePool;
use crate::model::pod::PodSpec;
use crate::model::requirement::{Operator, Requirement, Requirements, ValueSet};
use crate::model::resources::Amount;
use crate::model::rules::{PodTerm, TopologySpread, Weighted};
use crate::model::snapshot::SnapshotParts;
use crate::model::taint::{Taint, Toleration, TolerationOperator};

use super::change::{Change, Limited};

/// Weight of what was required and is preferred now: the greatest there is.
const MOST_PREFERRED: u32 = 100;

impl Change {
    /// Applies it to the world, and to what the pods in question ask for.
    pub(super) fn apply(&self, parts: &mut SnapshotParts, specs: &mut [PodSpec]) {
        match self {
            Self::LiftLimits { pool, limits } => with_pool(parts, pool, |pool| {
                limits.iter().for_each(|limited| set_limit(pool, limited, None));
            }),
            Self::RaiseLimits { pool, to } => with_pool(parts, pool, |pool| {
                to.iter()
                    .for_each(|(limited, to)| set_limit(pool, limited, Some(*to)));
            }),
            Self::Admit { pool, key, value } => {
                with_pool(parts, pool, |pool| {
                    pool.requirements = admitting(&pool.requirements, key, value);
                });
            }
            Self::AddLabel { pool, key, value } => with_pool(parts, pool, |pool| {
                pool.labels.insert(key.clone(), value.clone());
            }),
            Self::FreeAddresses { subnet, more } => {
                if let Some(subnet) = parts.subnets.iter_mut().find(|other| other.id == *subnet) {
                    subnet.free_addresses = subnet.free_addresses.saturating_add(*more);
                }
            }
            Self::Enlarge { reservation, to } => {
                let types = parts
                    .node_classes
                    .values_mut()
                    .flat_map(|class| &mut class.instance_types);
                let offerings = types.flat_map(|instance_type| &mut instance_type.offerings);
                let own = offerings.filter(|offering| offering.reservation_id() == Some(reservation));
                own.for_each(|offering| offering.limit = Some(*to));
            }
            Self::LowerMinValues { pool, key, to } => with_pool(parts, pool, |pool| {
                pool.requirements = with_min_values(&pool.requirements, key, *to);
            }),
            Self::LowerHeadroom { pool, resource, to } => {
                if let Some(headroom) = parts.placement.headroom.get_mut(pool) {
                    headroom.set(resource.clone(), *to);
                }
            }
            Self::AllowAccelerators(pool) => {
                parts.placement.keep_off_accelerators.remove(pool);
            }
            Self::LowerDaemonRequest {
                daemon_set,
                resource,
                to,
            } => {
                let mut all = parts.daemon_sets.iter_mut();
                if let Some(changed) = all.find(|other| other.name == *daemon_set) {
                    Arc::make_mut(&mut changed.spec)
                        .requests
                        .set(resource.clone(), *to);
                }
            }
            Self::SoftenOthers { term, of: _ } => {
                let there = parts.pods.iter_mut().map(|pod| &mut pod.spec);
                let to_come = parts
                    .daemon_sets
                    .iter_mut()
                    .map(|daemon_set| &mut daemon_set.spec);
                soften_all(there.chain(to_come), term);
                for spec in specs {
                    soften_anti_affinity(spec, term);
                }
            }
            _ => specs.iter_mut().for_each(|spec| self.change_pod(spec)),
        }
    }

    fn change_pod(&self, spec: &mut PodSpec) {
        let rules = &mut spec.rules;
        match self {
            Self::AddToleration(taint) => spec.tolerations.push(toleration_of(taint)),
            Self::LowerRequest { resource, to } => spec.requests.set(resource.clone(), *to),
            Self::RaiseSkew { spread, to } => {
                with_spread(&mut rules.spread, spread, |spread| spread.max_skew = *to);
            }
            Self::LowerMinDomains { spread, to } => {
                with_spread(&mut rules.spread, spread, |spread| {
                    spread.min_domains = Some(*to);
                });
            }
            Self::SoftenSpread(spread) => with_spread(&mut rules.spread, spread, |spread| {
                spread.is_hard = false;
                // Only a hard constraint has it.
                spread.min_domains = None;
            }),
            Self::SoftenAffinity(term) => {
                soften(&mut rules.affinity, &mut rules.preferred_affinity, term);
            }
            Self::SoftenAntiAffinity(term) => {
                soften(&mut rules.anti_affinity, &mut rules.preferred_anti_affinity, term);
            }
            Self::MovePort { port, to } => {
                let same = rules.host_ports.iter_mut().filter(|other| *other == port);
                same.for_each(|same| same.number = *to);
            }
            Self::Remedy(_) => {
                let remedy = rules.impossible.take().and_then(|impossible| impossible.remedy);
                if let Some(remedy) = remedy {
                    spec.requests.add_all(&remedy.requests);
                    rules.volumes.extend(remedy.volume);
                    rules.volumes.sort();
                }
            }
            Self::LowerGangSize { gang: _, to } => {
                if let Some(gang) = &mut rules.gang {
                    gang.size = gang.size.map(|size| size.min(*to));
                }
            }
            Self::LiftLimits { .. }
            | Self::RaiseLimits { .. }
            | Self::Admit { .. }
            | Self::AddLabel { .. }
            | Self::FreeAddresses { .. }
            | Self::Enlarge { .. }
            | Self::LowerDaemonRequest { .. }
            | Self::SoftenOthers { .. }
            | Self::LowerMinValues { .. }
            | Self::LowerHeadroom { .. }
            | Self::AllowAccelerators(_) => {}
        }
    }
}

fn with_spread(all: &mut [TopologySpread], same: &TopologySpread, change: impl Fn(&mut TopologySpread)) {
    all.iter_mut().filter(|spread| *spread == same).for_each(change);
}

/// From what is required to what is preferred.
fn soften(required: &mut Vec<PodTerm>, preferred: &mut Vec<Weighted<PodTerm>>, term: &PodTerm) {
    let before = required.len();
    required.retain(|other| other != term);
    if required.len() < before {
        preferred.push(Weighted {
            weight: MOST_PREFERRED,
            wish: term.clone(),
        });
    }
}

fn soften_anti_affinity(spec: &mut PodSpec, term: &PodTerm) {
    let rules = &mut spec.rules;
    soften(&mut rules.anti_affinity, &mut rules.preferred_anti_affinity, term);
}

/// Pods of one workload go on sharing one value: lowering thousands of them depends on it.
fn soften_all<'s>(specs: impl Iterator<Item = &'s mut Arc<PodSpec>>, term: &PodTerm) {
    let mut last: Option<(Arc<PodSpec>, Arc<PodSpec>)> = None;
    for spec in specs.filter(|spec| spec.rules.anti_affinity.contains(term)) {
        let known = last.as_ref().filter(|(before, _)| Arc::ptr_eq(before, spec));
        let after = known.map(|(_, after)| Arc::clone(after)).unwrap_or_else(|| {
            let mut after = PodSpec::clone(spec);
            soften_anti_affinity(&mut after, term);
            Arc::new(after)
        });
        last = Some((std::mem::replace(spec, Arc::clone(&after)), after));
    }
}

fn with_pool(parts: &mut SnapshotParts, name: &NodePoolName, change: impl FnOnce(&mut NodePool)) {
    if let Some(pool) = parts.node_pools.iter_mut().find(|pool| pool.name == *name) {
        change(pool);
    }
}

fn set_limit(pool: &mut NodePool, limited: &Limited, to: Option<Amount>) {
    match limited {
        Limited::Nodes => pool.limits.nodes = to.map(Amount::get),
        Limited::Resource(changed) => {
            let others = pool.limits.resources.iter().filter(|(name, _)| *name != changed);
            let others = others.map(|(name, amount)| (name.clone(), amount));
            pool.limits.resources = others.chain(to.map(|to| (changed.clone(), to))).collect();
        }
    }
}

/// The narrowest toleration of a taint.
fn toleration_of(taint: &Taint) -> Toleration {
    Toleration {
        key: Some(taint.key.clone()),
        operator: if taint.value.is_empty() {
            TolerationOperator::Exists
        } else {
            TolerationOperator::Equal(taint.value.clone())
        },
        effect: Some(taint.effect),
    }
}

/// The same requirements, with one key admitting one more value. minValues stay.
fn admitting(requirements: &Requirements, key: &str, value: &str) -> Requirements {
    let widened = |at: &str, set: &ValueSet| {
        if at == key {
            widened(set, value)
        } else {
            set.clone()
        }
    };
    rewritten(requirements, widened, |_, least| least)
}

/// The same requirements, with another minValues of one key.
fn with_min_values(requirements: &Requirements, key: &str, to: u32) -> Requirements {
    let same = |_: &str, set: &ValueSet| set.clone();
    rewritten(requirements, same, |at, least| if at == key { to } else { least })
}

fn rewritten(
    requirements: &Requirements,
    set: impl Fn(&str, &ValueSet) -> ValueSet,
    min_values: impl Fn(&str, u32) -> u32,
) -> Requirements {
    let lines = requirements.min_values().map(|(key, least)| Requirement {
        key: key.to_owned(),
        operator: Operator::Exists,
        values: Vec::new(),
        min_values: Some(min_values(key, least)),
    });
    let lines: Vec<Requirement> = lines.collect();
    let mut result = Requirements::of(&lines).unwrap_or_default();
    for (key, of_key) in requirements.iter() {
        result.add(key.to_owned(), set(key, of_key));
    }
    result
}

/// The set and one more value.
fn widened(set: &ValueSet, value: &str) -> ValueSet {
    let named = set.named_values().iter();
    if !set.is_complement() {
        return ValueSet::one_of(named.cloned().chain([value.to_owned()]));
    }
    let part = |operator, values: Vec<String>| {
        ValueSet::of(&Requirement {
            key: String::new(),
            operator,
            values,
            min_values: None,
        })
        .unwrap_or_else(|_| ValueSet::anything())
    };
    let excluded = named.filter(|excluded| *excluded != value).cloned().collect();
    let mut result = part(Operator::NotIn, excluded);
    let (lower, upper) = set.bounds();
    let number = value.parse::<i64>().ok();
    if let Some(lower) = lower {
        let least = number.map_or(lower, |number| number.min(lower));
        result = result.intersect(&part(Operator::Gte, vec![least.to_string()]));
    }
    if let Some(upper) = upper {
        let most = number.map_or(upper, |number| number.max(upper));
        result = result.intersect(&part(Operator::Lte, vec![most.to_string()]));
    }
    if set.admits_absence() {
        result
    } else {
        result.intersect(&part(Operator::Exists, Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirement(operator: Operator, values: &[&str]) -> Requirement {
        Requirement {
            key: "k".to_owned(),
            operator,
            values: values.iter().map(|value| (*value).to_owned()).collect(),
            min_values: Some(2),
        }
    }

    #[test]
    fn admits_one_more_value_and_nothing_else() {
        for (operator, values, value, still_refused) in [
            (Operator::In, &["a", "b"][..], "c", "d"),
            (Operator::NotIn, &["c", "d"][..], "c", "d"),
            (Operator::Lt, &["17"][..], "32", "33"),
            (Operator::Gt, &["4"][..], "2", "1"),
        ] {
            let before = Requirements::of(&[requirement(operator, values)]).unwrap();
            let after = admitting(&before, "k", value);
            let set = after.get("k").unwrap();
            assert!(!before.get("k").unwrap().admits(Some(value)));
            assert!(set.admits(Some(value)), "{operator} {value}");
            assert!(!set.admits(Some(still_refused)), "{operator} {still_refused}");
            assert_eq!(after.min_values().collect::<Vec<_>>(), [("k", 2)]);
        }
    }

    #[test]
    fn lowers_min_values_of_one_key_alone() {
        let mut other = requirement(Operator::In, &["x", "y"]);
        other.key = "other".to_owned();
        let before = Requirements::of(&[requirement(Operator::In, &["a", "b"]), other]).unwrap();
        let after = with_min_values(&before, "k", 1);
        assert_eq!(after.min_values().collect::<Vec<_>>(), [("k", 1), ("other", 2)]);
        assert_eq!(after.get("k"), before.get("k"));
    }
}
