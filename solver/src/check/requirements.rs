//! Node selectors and required node affinity of every pod, and the requirements and labels of the NodePool, hold on
//! the first choice, on each alternative, and on existing nodes.

use crate::model::pod::PodSpec;
use crate::model::requirement::Labels;

use super::launches::Launches;
use super::placement::Placed;
use super::world::World;
use super::{Rule, Violations};

pub(super) fn check(world: &World<'_>, launches: &Launches<'_>, placed: &Placed, found: &mut Violations) {
    let mut memo = Memo::new(launches.prospects.len(), world.constraints.len());
    for filling in &launches.fillings {
        for offer in launches.offers(filling) {
            let Some(at) = offer.prospect else { continue };
            let prospect = &launches.prospects[at];
            for (rule, detail) in &prospect.findings {
                if *rule == Rule::Requirements {
                    found.add(Rule::Requirements, filling.name_as(offer), detail.as_str());
                }
            }
            for constraint in &filling.constraints {
                let spec = world.constraints[*constraint];
                // An open key without a value is `labels`' finding; no verdict can be given on such a pod.
                let admits =
                    || prospect.first_unchosen(spec).is_some() || spec.admits_node(&prospect.labels, None);
                if !memo.get(at, *constraint, admits) {
                    let detail = format!("a pod isn't admitted: {}", unmet(spec, &prospect.labels, None));
                    found.add(Rule::Requirements, filling.name_as(offer), detail);
                }
            }
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

/// Verdicts by node to come and constraint, where a table of them stays small.
struct Memo {
    width: usize,
    verdicts: Vec<Option<bool>>,
}

impl Memo {
    /// Bytes that a table may take.
    const MOST: usize = 32 << 20;

    fn new(prospects: usize, constraints: usize) -> Self {
        let size = prospects.saturating_mul(constraints);
        let size = if size <= Self::MOST { size } else { 0 };
        Self {
            width: constraints,
            verdicts: vec![None; size],
        }
    }

    fn get(&mut self, prospect: usize, constraint: usize, judge: impl FnOnce() -> bool) -> bool {
        match self.verdicts.get_mut(prospect * self.width + constraint) {
            Some(slot) => *slot.get_or_insert_with(judge),
            None => judge(),
        }
    }
}
