//! Keys that a NodePool leaves open: every one that a pod or DaemonSet there reads has a value, and the NodePool, the
//! instance type and the alternative allow it.
//!
//! Where the requirement admits a missing label (`NotIn`), no value means that the node won't have the label.

use super::launches::Launches;
use super::meetings::Meetings;
use super::world::World;
use super::{Rule, Violations};

pub(super) fn check(
    world: &World<'_>,
    launches: &Launches<'_>,
    meetings: &Meetings<'_, '_>,
    found: &mut Violations,
) {
    for (launch, offer) in &meetings.offers {
        let findings = launches.prospect(offer).into_iter().flat_map(|it| &it.findings);
        for (rule, detail) in findings {
            if *rule == Rule::Labels {
                found.add(
                    Rule::Labels,
                    format!("launch/{launch} as {}", offer.named),
                    detail.as_str(),
                );
            }
        }
    }
    for meeting in &meetings.pods {
        let spec = world.constraints[meeting.constraint];
        let unchosen = launches
            .prospect(meeting.offer)
            .and_then(|prospect| prospect.first_unchosen(spec));
        if let Some(key) = unchosen {
            found.add(
                Rule::Labels,
                meeting,
                format!("a pod reads {key}, which has no value"),
            );
        }
    }
}
