//! `dovetail plan`: which nodes to launch for the pending pods, what they cost, and what finds no home.

use std::path::Path;

use anyhow::{Context, bail};
use dovetail_solver::model::plan::PlanBody;

use super::input::{self, World};
use super::{Ending, Streams, terminal_width};
use crate::args::{PlanArgs, PlanFormat};
use crate::cluster::objects::meta::ObjectName;
use crate::render::{Loudness, Report, Warning, diff, html, json, table, yaml};

/// Plans and prints; what there is to say about the input goes to the remarks where the format has no place for it.
///
/// # Errors
/// Input that can't be read, no catalogue, an option that isn't there yet, an output that can't be written.
pub fn run(args: &PlanArgs, streams: &mut Streams<'_>) -> anyhow::Result<Ending> {
    input::refuse_what_is_not_there_yet(&args.solve)?;
    let earlier = args.diff.as_deref().map(read_plan).transpose()?;
    if earlier.is_some() && !matches!(args.output, PlanFormat::Table | PlanFormat::Json) {
        bail!("--diff is printed as a table or as JSON (-o json), not in another format");
    }
    let world = input::read(&args.input, &args.solve)?;
    let plan = input::solve(&world, &args.solve, None)?;
    match earlier {
        Some(earlier) => print_difference(&earlier, &plan, args, streams),
        None => print(&world, &plan, args, streams),
    }
    .context("writing the plan")?;
    // What could not be read could not be placed either.
    let lost = |warning: &Warning| warning.loudness == Loudness::Error;
    let is_whole = plan.unschedulable.is_empty() && !world.origin.warnings.iter().any(lost);
    Ok(if args.exit_code && !is_whole {
        Ending::SomethingUnplaced
    } else {
        Ending::Done
    })
}

fn print(world: &World, plan: &PlanBody, args: &PlanArgs, streams: &mut Streams<'_>) -> std::io::Result<()> {
    let report = Report {
        snapshot: &world.snapshot,
        plan,
        origin: &world.origin,
    };
    let options = table::TableOptions {
        width: terminal_width(),
        verbose: args.verbose,
    };
    match args.output {
        PlanFormat::Table => streams.text(&table::render(&report, options)),
        PlanFormat::Html => html::write(&report, streams.out),
        PlanFormat::Json => {
            streams.remark(&table::remarks(report.origin, options))?;
            json::write(plan, streams.out)
        }
        PlanFormat::Yaml => {
            streams.remark(&table::remarks(report.origin, options))?;
            let pools = world.index.node_pools();
            let node_pool = |name: &str| pools.get(&ObjectName::new("", name)).map(|stored| &stored.object);
            yaml::write(&report, |name| node_pool(name.as_str()), streams.out)
        }
    }
}

fn print_difference(
    earlier: &PlanBody,
    plan: &PlanBody,
    args: &PlanArgs,
    streams: &mut Streams<'_>,
) -> std::io::Result<()> {
    let difference = diff::compare(earlier, plan);
    if args.output == PlanFormat::Json {
        json::write_any(&difference, streams.out)
    } else {
        streams.text(&diff::render(&difference, args.verbose))
    }
}

/// A plan that `-o json` wrote.
fn read_plan(path: &Path) -> anyhow::Result<PlanBody> {
    let text = std::fs::read(path).with_context(|| format!("reading the plan {}", path.display()))?;
    serde_json::from_slice(&text)
        .with_context(|| format!("{} is no plan that `dovetail plan -o json` wrote", path.display()))
}
