//! One change to the world, in words. What it does is in [`super::apply`].
//!
//! The words name the object, the field and the value, as `kubectl edit` would need them.

use std::fmt;

use crate::model::name::{NodePoolName, PodName, SubnetId};
use crate::model::resources::{Amount, ResourceName};
use crate::model::rules::{HostPort, PodTerm, TopologySpread};
use crate::model::taint::Taint;

use super::words;

/// What a NodePool limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Limited {
    Resource(ResourceName),
    Nodes,
}

/// A single change that may give pods a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// No limits of these kinds at all; only to see what would be used.
    LiftLimits {
        pool: NodePoolName,
        limits: Vec<Limited>,
    },
    RaiseLimits {
        pool: NodePoolName,
        to: Vec<(Limited, Amount)>,
    },
    FreeAddresses {
        subnet: SubnetId,
        /// How many beside those that are free.
        more: u64,
    },
    /// More machines in a capacity reservation.
    Enlarge {
        reservation: String,
        to: u32,
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
    /// Of a DaemonSet that comes with every node.
    LowerDaemonRequest {
        daemon_set: PodName,
        resource: ResourceName,
        to: Amount,
    },
    RaiseSkew {
        spread: TopologySpread,
        to: u32,
    },
    LowerMinDomains {
        spread: TopologySpread,
        to: u32,
    },
    SoftenSpread(TopologySpread),
    SoftenAffinity(PodTerm),
    SoftenAntiAffinity(PodTerm),
    /// Anti-affinity of others that keeps the pod off; the first of them is named.
    SoftenOthers {
        term: PodTerm,
        of: String,
    },
    MovePort {
        port: HostPort,
        to: u16,
    },
    /// What the snapshot says would make an impossible pod possible.
    Remedy(String),
    LowerMinValues {
        pool: NodePoolName,
        key: String,
        to: u32,
    },
    LowerGangSize {
        gang: String,
        to: u32,
    },
    LowerHeadroom {
        pool: NodePoolName,
        resource: ResourceName,
        to: Amount,
    },
    AllowAccelerators(NodePoolName),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LiftLimits { pool, limits } => {
                let limits: Vec<String> = limits.iter().map(ToString::to_string).collect();
                write!(
                    f,
                    "lift limits.{} of NodePool {pool}",
                    limits.join(" and limits.")
                )
            }
            Self::RaiseLimits { pool, to } => {
                let mut joint = "raise";
                for (limited, to) in to {
                    let to = limited.written(*to);
                    write!(f, "{joint} limits.{limited} of NodePool {pool} to {to}")?;
                    joint = " and";
                }
                Ok(())
            }
            Self::FreeAddresses { subnet, more } => {
                write!(f, "free {more} more addresses in subnet {subnet}")
            }
            Self::Enlarge { reservation, to } => {
                write!(f, "enlarge capacity reservation {reservation} to {to}")
            }
            Self::AddToleration(taint) => write!(f, "add toleration {taint} to the pod"),
            Self::Admit { pool, key, value } => {
                write!(f, "admit {key}={value} in the requirements of NodePool {pool}")
            }
            Self::AddLabel { pool, key, value } => {
                write!(f, "add label {key}={value} to the template of NodePool {pool}")
            }
            Self::LowerRequest { resource, to } => {
                let to = to.display(resource.unit());
                write!(f, "lower the pod's {resource} request to {to}")
            }
            Self::LowerDaemonRequest {
                daemon_set,
                resource,
                to,
            } => {
                let to = to.display(resource.unit());
                write!(
                    f,
                    "lower the {resource} request of DaemonSet {daemon_set} to {to}"
                )
            }
            Self::RaiseSkew { spread, to } => {
                write!(f, "raise maxSkew of {} to {to}", words::spread(spread))
            }
            Self::LowerMinDomains { spread, to } => {
                write!(f, "lower minDomains of {} to {to}", words::spread(spread))
            }
            Self::SoftenSpread(spread) => {
                let spread = words::spread(spread);
                write!(f, "set whenUnsatisfiable of {spread} to ScheduleAnyway")
            }
            Self::SoftenAffinity(term) => {
                write!(
                    f,
                    "make the pod's required affinity {} preferred",
                    words::term(term)
                )
            }
            Self::SoftenAntiAffinity(term) => {
                let term = words::term(term);
                write!(f, "make the pod's required anti-affinity {term} preferred")
            }
            Self::SoftenOthers { term, of } => {
                let term = words::term(term);
                write!(f, "make the required anti-affinity {term} of {of} preferred")
            }
            Self::MovePort { port, to } => {
                write!(f, "move the pod's hostPort {} to {to}", words::port(port))
            }
            Self::Remedy(what) => f.write_str(what),
            Self::LowerMinValues { pool, key, to } => {
                write!(
                    f,
                    "lower minValues of {key} in the requirements of NodePool {pool} to {to}"
                )
            }
            Self::LowerGangSize { gang, to } => write!(
                f,
                "lower dovetail.sh/gang-size of the pods of gang {gang} to {to}"
            ),
            Self::LowerHeadroom { pool, resource, to } => {
                let to = to.display(resource.unit());
                write!(
                    f,
                    "lower headroom.{resource} of the PackingPolicy for NodePool {pool} to {to}"
                )
            }
            Self::AllowAccelerators(pool) => write!(
                f,
                "set keepOffAccelerators of the PackingPolicy for NodePool {pool} to false"
            ),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_to_do() {
        let pool = NodePoolName::from("default");
        let to = vec![(Limited::Resource(ResourceName::Cpu), Amount::new(104_000))];
        assert_eq!(
            Change::RaiseLimits { pool, to }.to_string(),
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
