//! `dovetail explain pod NAME`: why a pod goes where it goes, or what refuses it.

use anyhow::{Context, bail};
use dovetail_solver::model::name::PodName;
use dovetail_solver::model::pod::Pod;
use dovetail_solver::model::snapshot::Snapshot;

use super::{Streams, input};
use crate::args::{ExplainFormat, ExplainPodArgs};
use crate::render::{Report, explain, json, table};

/// Plans, and says what the plan does with one pod.
///
/// # Errors
/// As of `plan`; no such pod, or several of that name.
pub fn pod(args: &ExplainPodArgs, streams: &mut Streams<'_>) -> anyhow::Result<()> {
    input::refuse_what_is_not_there_yet(&args.solve)?;
    let world = input::read(&args.input, &args.solve)?;
    let pod = find(&world.snapshot, &args.name, args.namespace.as_deref())?;
    let plan = input::solve(&world, &args.solve, Some(&pod.name))?;
    let report = Report {
        snapshot: &world.snapshot,
        plan: &plan,
        origin: &world.origin,
    };
    let Some(explanation) = explain::explain(&report, pod) else {
        bail!("the plan says nothing about pod {}", pod.name);
    };
    // A rule that isn't weighed, or a NodePool that was dropped, bears on the answer.
    streams
        .remark(&table::remarks(report.origin, table::TableOptions::default()))
        .context("writing remarks")?;
    match args.output {
        ExplainFormat::Text => streams.text(&explain::render(&explanation)),
        ExplainFormat::Json => json::write_any(&explanation, streams.out),
    }
    .context("writing the explanation")
}

/// The pod of that name; without a namespace, the only one of that name.
fn find<'a>(snapshot: &'a Snapshot, name: &str, namespace: Option<&str>) -> anyhow::Result<&'a Pod> {
    let wanted = match (namespace, name.contains('/')) {
        (_, true) => {
            let full: PodName = name.parse()?;
            if namespace.is_some_and(|namespace| namespace != full.namespace) {
                bail!(
                    "{name} and -n {} name two namespaces",
                    namespace.unwrap_or_default()
                );
            }
            Some(full)
        }
        (Some(namespace), false) => Some(PodName::new(namespace, name)),
        (None, false) => None,
    };
    if let Some(wanted) = wanted {
        return snapshot
            .pod(&wanted)
            .ok_or_else(|| no_such_pod(snapshot, &wanted.to_string()));
    }
    let named: Vec<&Pod> = snapshot.pods.iter().filter(|pod| pod.name.name == name).collect();
    match named.as_slice() {
        [] => Err(no_such_pod(snapshot, name)),
        [pod] => Ok(pod),
        [one, two, ..] => bail!(
            "there are {} pods named {name} ({}, {}, …): choose one with -n",
            named.len(),
            one.name,
            two.name
        ),
    }
}

fn no_such_pod(snapshot: &Snapshot, wanted: &str) -> anyhow::Error {
    const SHOWN: usize = 3;
    // A workload's name is the likeliest slip: `web` for `shop/web-0`.
    let near = snapshot
        .pods
        .iter()
        .map(|pod| pod.name.to_string())
        .filter(|name| name.contains(wanted));
    let near: Vec<String> = near.take(SHOWN).collect();
    if near.is_empty() {
        let pods = crate::render::counted(snapshot.pods.len(), "pod", "pods");
        anyhow::anyhow!(
            "no pod {wanted} among the {pods} of the input (those that have finished, and those on nodes that \
             aren't in the input, are left out)"
        )
    } else {
        anyhow::anyhow!("no pod {wanted}; there is {}", near.join(", "))
    }
}
