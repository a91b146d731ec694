//! One change to the world, in words and in deed.

use std::fmt;
use std::sync::Arc;

use crate::model::name::{NodePoolName, SubnetId};
use crate::model::node_pool::NodePool;
use crate::model::requirement::{Operator, Requirement, Requirements, ValueSet};
use crate::model::resources::{Amount, ResourceName};
use crate::model::snapshot::SnapshotParts;
use crate::model::taint::{Taint, Toleration, TolerationOperator};

/// What a NodePool limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Limited {
    Resource(ResourceName),
    Nodes,
}

/// A single change that may give pods a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// No limit of this kind at all; only to see what would be used.
    LiftLimit {
        pool: NodePoolName,
        limited: Limited,
    },
    RaiseLimit {
        pool: NodePoolName,
        limited: Limited,
        to: Amount,
    },
    FreeAddresses {
        subnet: SubnetId,
        /// How many beside those that are free.
        more: u64,
    },
    AddToleration(Taint),
    Admit {
        pool: NodePoolName,
        key: String,
        value: String,
    },
    AddLabel {
        pool: NodePoolName,
        key: String,
        value: String,
    },
    LowerRequest {
        resource: ResourceName,
        to: Amount,
    },
    /// More machines in a capacity reservation.
    Enlarge {
        reservation: String,
        to: u32,
    },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LiftLimit { pool, limited } => write!(f, "lift limits.{limited} of NodePool {pool}"),
            Self::RaiseLimit { pool, limited, to } => {
                write!(
                    f,
                    "raise limits.{limited} of NodePool {pool} to {}",
                    limited.written(*to)
                )
            }
            Self::FreeAddresses { subnet, more } => {
                write!(f, "free {more} more addresses in subnet {subnet}")
            }
            Self::AddToleration(taint) => write!(f, "add toleration {taint} to the pod"),
            Self::Admit { pool, key, value } => {
                write!(f, "admit {key}={value} in the requirements of NodePool {pool}")
            }
            Self::AddLabel { pool, key, value } => {
                write!(f, "add label {key}={value} to the template of NodePool {pool}")
            }
            Self::Enlarge { reservation, to } => {
                write!(f, "enlarge capacity reservation {reservation} to {to}")
            }
            Self::LowerRequest { resource, to } => {
                write!(
                    f,
                    "lower the pod's {resource} request to {}",
                    to.display(resource.unit())
                )
            }
        }
    }
}

impl fmt::Display for Limited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resource(name) => name.fmt(f),
            Self::Nodes => f.write_str("nodes"),
        }
    }
}

impl Limited {
    fn written(&self, amount: Amount) -> String {
        match self {
            Self::Resource(name) => amount.display(name.unit()).to_string(),
            Self::Nodes => amount.get().to_string(),
        }
    }
}

impl Change {
    /// Applies it; the pods in question are those from `first_pod` on.
    pub(super) fn apply(&self, parts: &mut SnapshotParts, first_pod: usize) {
        match self {
            Self::LiftLimit { pool, limited } => {
                with_pool(parts, pool, |pool| set_limit(pool, limited, None));
            }
            Self::RaiseLimit { pool, limited, to } => {
                with_pool(parts, pool, |pool| set_limit(pool, limited, Some(*to)));
            }
            Self::FreeAddresses { subnet, more } => {
                if let Some(subnet) = parts.subnets.iter_mut().find(|other| other.id == *subnet) {
                    subnet.free_addresses = subnet.free_addresses.saturating_add(*more);
                }
            }
            Self::AddToleration(taint) => {
                let toleration = toleration_of(taint);
                for pod in &mut parts.pods[first_pod..] {
                    Arc::make_mut(&mut pod.spec).tolerations.push(toleration.clone());
                }
            }
            Self::Admit { pool, key, value } => {
                with_pool(parts, pool, |pool| {
                    pool.requirements = admitting(&pool.requirements, key, value);
                });
            }
            Self::AddLabel { pool, key, value } => with_pool(parts, pool, |pool| {
                pool.labels.insert(key.clone(), value.clone());
            }),
            Self::Enlarge { reservation, to } => {
                let types = parts
                    .node_classes
                    .values_mut()
                    .flat_map(|class| &mut class.instance_types);
                let offerings = types.flat_map(|instance_type| &mut instance_type.offerings);
                let own = offerings.filter(|offering| offering.reservation_id() == Some(reservation));
                own.for_each(|offering| offering.limit = Some(*to));
            }
            Self::LowerRequest { resource, to } => {
                for pod in &mut parts.pods[first_pod..] {
                    Arc::make_mut(&mut pod.spec).requests.set(resource.clone(), *to);
                }
            }
        }
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
    let line = |key: &str, operator, values: Vec<String>, min_values| Requirement {
        key: key.to_owned(),
        operator,
        values,
        min_values,
    };
    let with_min_values: Vec<Requirement> = requirements
        .min_values()
        .map(|(key, least)| line(key, Operator::Exists, Vec::new(), Some(least)))
        .collect();
    let mut result = Requirements::of(&with_min_values).unwrap_or_default();
    for (at, set) in requirements.iter() {
        let set = if at == key {
            widened(set, value)
        } else {
            set.clone()
        };
        result.add(at.to_owned(), set);
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
    fn says_what_to_do() {
        let pool = NodePoolName::from("default");
        let limited = Limited::Resource(ResourceName::Cpu);
        let to = Amount::new(104_000);
        assert_eq!(
            Change::RaiseLimit { pool, limited, to }.to_string(),
            "raise limits.cpu of NodePool default to 104"
        );
        let taint = Taint {
            key: "dedicated".to_owned(),
            value: "gpu".to_owned(),
            effect: crate::model::taint::TaintEffect::NoSchedule,
        };
        assert_eq!(
            Change::AddToleration(taint).to_string(),
            "add toleration dedicated=gpu:NoSchedule to the pod"
        );
    }
}
