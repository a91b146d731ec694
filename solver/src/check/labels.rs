//! Keys that a NodePool leaves open: every one that a pod or DaemonSet there reads has a value, and the NodePool, the
//! instance type and the alternative allow it.
//!
//! Where the requirement admits a missing label (`NotIn`), no value means that the node won't have the label.

use super::launches::Launches;
use super::{Rule, Violations};

pub(super) fn check(launches: &Launches<'_>, found: &mut Violations) {
    for filling in &launches.fillings {
        for offer in launches.offers(filling) {
            let Some(at) = offer.prospect else { continue };
            for (rule, detail) in &launches.prospects[at].findings {
                if *rule == Rule::Labels {
                    found.add(Rule::Labels, filling.name_as(offer), detail.as_str());
                }
            }
        }
    }
}
