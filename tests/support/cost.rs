//! The plan's figures of money, added up anew from the Catalog document.

use serde_json::Value;

use super::input::{Input, list, number, text};
use super::machine::Node;
use super::numbers::Numbers;

/// Six decimals are what a plan prints.
const EXACT: f64 = 1e-6;

/// What the nodes that are there cost; a type that the catalogue doesn't know counts nothing.
pub(crate) fn before(input: &Input) -> f64 {
    cost_of(input, |_| true)
}

fn cost_of(input: &Input, counts: impl Fn(&Node) -> bool) -> f64 {
    let nodes = Node::all(input);
    let prices = Numbers::of(input, &nodes).prices;
    let counted = nodes.iter().zip(prices).filter(|(node, _)| counts(node));
    counted.map(|(_, price)| price).sum()
}

/// What is wrong with the figures of a plan that changes no existing node.
pub(crate) fn findings(input: &Input, plan: &Value) -> Vec<String> {
    let mut findings = Vec::new();
    let launched: f64 = list(plan, "/launch")
        .iter()
        .filter_map(|launch| number(launch, "/price"))
        .sum();
    let before = before(input);
    // Nodes on their way out are gone when the plan is done.
    let after = cost_of(input, |node| !node.deleting) + launched;
    let mut expected = vec![("before", before), ("launched", launched), ("after", after)];
    if input.kind("PackingPolicy").next().is_none() && !has_wishes(input) {
        expected.push(("objective", after));
    }
    for (figure, value) in expected {
        let printed = number(plan, &format!("/cost/{figure}"));
        if printed.is_none_or(|printed| (printed - value).abs() > EXACT) {
            findings.push(format!(
                "cost.{figure} is {printed:?}, the catalogue gives {value:.6}"
            ));
        }
    }
    let objective = number(plan, "/cost/objective").unwrap_or_default();
    if input.kind("PackingPolicy").next().is_none() && objective < after - EXACT {
        findings.push(format!(
            "cost.objective is {objective}, less than the nodes' {after:.6}"
        ));
    }
    let terms = plan.pointer("/cost/terms").and_then(Value::as_object);
    let sum: f64 = terms
        .into_iter()
        .flatten()
        .filter_map(|(_, term)| term.as_f64())
        .sum();
    if (sum - objective).abs() > EXACT {
        findings.push(format!(
            "cost.objective is {objective}, its terms come to {sum:.6}"
        ));
    }
    findings.extend(proof(plan));
    findings
}

/// Whether the input has preferences, which the objective counts and nothing here does: taints and constraints that bind
/// nobody, and preferred affinities.
fn has_wishes(input: &Input) -> bool {
    let soft = [
        "PreferNoSchedule",
        "ScheduleAnyway",
        "preferredDuringSchedulingIgnoredDuringExecution",
    ];
    let mentions = |document: &Value| {
        let text = document.to_string();
        soft.iter().any(|word| text.contains(word))
    };
    input.kinds.values().flatten().any(mentions)
}

/// What is wrong with the proof, judged by its own figures.
fn proof(plan: &Value) -> Vec<String> {
    let figure = |name: &str| number(plan, &format!("/cost/{name}")).unwrap_or(f64::NAN);
    let (objective, bound, gap) = (figure("objective"), figure("lowerBound"), figure("gap"));
    let mut findings = Vec::new();
    let finite = [objective, bound, gap].iter().all(|figure| figure.is_finite());
    if !finite || bound > objective + EXACT {
        findings.push(format!("lowerBound {bound} is above objective {objective}"));
    }
    let distance = if bound > 0.0 { objective / bound - 1.0 } else { 0.0 };
    if (gap - distance).abs() > 2.0 * EXACT {
        findings.push(format!(
            "gap is {gap}, objective ÷ lowerBound − 1 is {distance:.6}"
        ));
    }
    if text(plan, "/proof/kind") == "optimal" && objective > bound + EXACT {
        findings.push(format!("called optimal at {objective} over a bound of {bound}"));
    }
    findings
}
