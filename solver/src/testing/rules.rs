//! Rules about other pods, ports and volumes, as edits of a pod's spec.
//!
//! ```
//! use dovetail_solver::testing::build::{Cluster, machine};
//! use dovetail_solver::testing::rules::{app, spread};
//!
//! let snapshot = Cluster::new()
//!     .instance_type(machine("c.large", "2", "4Gi", "0.1"))
//!     .pool("default")
//!     .pods_with("web", 3, "500m", "256Mi", |spec| {
//!         app(spec, "web");
//!         spread(spec, "topology.kubernetes.io/zone", 1, "web");
//!     })
//!     .freeze();
//! assert_eq!(snapshot.pods[0].spec.rules.spread.len(), 1);
//! ```

use crate::model::instance_type::ZONE_LABEL;
use crate::model::pod::PodSpec;
use crate::model::requirement::{Labels, Operator, Requirements};
use crate::model::rules::{HostPort, PodTerm, Protocol, TopologySpread, Volume};
use crate::model::selector::PodSelector;

use super::build::affinity as terms;

/// The label `app=NAME`.
pub fn app(spec: &mut PodSpec, name: &str) {
    spec.labels.insert("app".to_owned(), name.to_owned());
}

/// Pods `app=NAME` of the namespace `default`.
#[must_use]
pub fn of_app(name: &str) -> PodSelector {
    let labels = Labels::from([("app".to_owned(), name.to_owned())]);
    PodSelector::within("default", Requirements::of_labels(&labels))
}

/// A hard spread of the pods of an app, with Kubernetes' default policies; returned for further edits.
///
/// # Panics
/// Never: it was put there just now.
pub fn spread<'s>(spec: &'s mut PodSpec, key: &str, max_skew: u32, name: &str) -> &'s mut TopologySpread {
    spec.rules.spread.push(TopologySpread {
        topology_key: key.to_owned(),
        max_skew,
        min_domains: None,
        is_hard: true,
        selector: of_app(name),
        honours_affinity: true,
        honours_taints: false,
    });
    spec.rules.spread.last_mut().unwrap()
}

/// Pods of an app, near by a key.
#[must_use]
pub fn near(key: &str, name: &str) -> PodTerm {
    PodTerm {
        topology_key: key.to_owned(),
        selector: of_app(name),
    }
}

/// Required affinity to the pods of an app.
pub fn affinity(spec: &mut PodSpec, key: &str, name: &str) {
    spec.rules.affinity.push(near(key, name));
}

/// Required anti-affinity to the pods of an app.
pub fn anti_affinity(spec: &mut PodSpec, key: &str, name: &str) {
    spec.rules.anti_affinity.push(near(key, name));
}

/// A TCP port on every address of the node; returned for further edits.
///
/// # Panics
/// Never: it was put there just now.
pub fn host_port(spec: &mut PodSpec, number: u16) -> &mut HostPort {
    spec.rules.host_ports.push(HostPort {
        number,
        protocol: Protocol::Tcp,
        address: None,
    });
    spec.rules.host_ports.last_mut().unwrap()
}

/// A volume in one zone.
pub fn volume(spec: &mut PodSpec, claim: &str, zone: &str) {
    spec.rules.volumes.push(Volume {
        claim: claim.to_owned(),
        reach: terms(&[&[(ZONE_LABEL, Operator::In, &[zone])]]),
    });
}
