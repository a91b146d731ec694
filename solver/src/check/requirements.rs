//! Node selectors and required node affinity of every pod, and the requirements and labels of the NodePool, hold on
//! the first choice, on each alternative, and on existing nodes.

use crate::model::pod::PodSpec;
use crate::model::requirement::Labels;

use super::launches::Launches;
use super::meetings::Meetings;
use super::placement::Placed;
use super::world::World;
use super::{Rule, Violations};

pub(super) fn check(
    world: &World<'_>,
    launches: &Launches<'_>,
    meetings: &Meetings<'_, '_>,
    placed: &Placed,
    found: &mut Violations,
) {
    for (launch, offer) in &meetings.offers {
        let findings = launches.prospect(offer).into_iter().flat_map(|it| &it.findings);
        for (rule, detail) in findings {
            if *rule == Rule::Requirements {
                found.add(
                    Rule::Requirements,
                    format!("launch/{launch} as {}", offer.named),
                    detail.as_str(),
                );
            }
        }
    }
    for meeting in &meetings.pods {
        let spec = world.constraints[meeting.constraint];
        let Some(prospect) = launches.prospect(meeting.offer) else {
            continue;
        };
        // An open key without a value is `labels`' finding; no verdict can be given on such a pod.
        if !spec.admits_node(&prospect.labels, None) && prospect.first_unchosen(spec).is_none() {
            let detail = format!("a pod isn't admitted: {}", unmet(spec, &prospect.labels, None));
            found.add(Rule::Requirements, meeting, detail);
        }
    }
    for (node, pods) in &placed.on_node {
        let node = &world.snapshot.nodes[*node];
        for pod in pods {
            let pod = &world.snapshot.pods[*pod];
            let name = Some(node.name.as_str());
            if !pod.spec.admits_node(&node.labels, name) {
                let detail = format!("on node {}: {}", node.name, unmet(&pod.spec, &node.labels, name));
                found.add(Rule::Requirements, &pod.name, detail);
            }
        }
    }
}

/// What a pod wants and doesn't get, for people.
fn unmet(spec: &PodSpec, labels: &Labels, node_name: Option<&str>) -> String {
    let selector = spec
        .node_selector
        .iter()
        .find(|(key, value)| labels.get(*key) != Some(*value));
    if let Some((key, value)) = selector {
        let has = labels.get(key).map_or("missing", String::as_str);
        return format!("it selects {key}={value}, the node has {has}");
    }
    let terms = spec.node_affinity.iter().flat_map(|terms| &terms.0);
    let reasons: Vec<String> = terms
        .map(|term| match term.expressions.first_unmet(labels) {
            _ if term.is_empty() => "a term without any requirement".to_owned(),
            Some((key, wanted)) => format!("{key} {wanted}"),
            None => format!(
                "a node of another name than {}",
                node_name.unwrap_or("one to come")
            ),
        })
        .collect();
    format!("no term of its affinity is met ({})", reasons.join("; "))
}
