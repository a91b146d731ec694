//! Which pods go where, by name: what `plan --verbose` adds to the table.

use std::fmt::Write as _;

use dovetail_solver::model::name::PodName;
use dovetail_solver::model::plan::{NodePlan, PlanBody};

use super::style::{FAINT, Paint, plain};

/// The pods of each node that is launched, in the plan's order: its number is that of `launch/N` elsewhere.
pub(super) fn of_launches(plan: &PlanBody, text: &mut String) {
    for (index, launch) in plan.launch.iter().enumerate() {
        let node = format!("launch/{index} {} {}", launch.instance_type, launch.zone);
        line(&node, &launch.pods, text);
    }
}

/// The pods that existing nodes take.
pub(super) fn of_nodes(nodes: &[&NodePlan], text: &mut String) {
    for node in nodes {
        line(node.name.as_str(), &node.added, text);
    }
}

fn line(node: &str, pods: &[PodName], text: &mut String) {
    let names: Vec<String> = pods.iter().map(|pod| plain(&pod.to_string())).collect();
    let node = Paint(FAINT, &format!("{node}:")).to_string();
    // `String` as a formatting target never fails.
    let _infallible = writeln!(text, "  {node} {}", names.join(", "));
}
