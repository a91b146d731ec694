//! The plan on one screen: what is launched at what cost, what that is worth, what finds no home and why.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use dovetail_solver::model::explain::Reason;
use dovetail_solver::model::plan::{NodeAction, NodePlan, PlanBody};

use super::style::{BAD, FAINT, GOOD, HEADING, Paint, STRONG, WARN, plain};
use super::summary::{
    LaunchGroup, Refused, descent, launch_groups, no_fix, node_counts, objective, pending, proof, recounted,
    refused, uses_spot,
};
use super::{Loudness, Origin, Report, counted, dollars, placements, thousands};

/// How much to show.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableOptions {
    /// Columns of the terminal; `None`: as wide as it takes.
    pub width: Option<u16>,
    /// All of it, however long.
    pub verbose: bool,
}

/// So many lines of each list fit one screen together with the others.
const LAUNCHES_SHOWN: usize = 15;
const NODES_SHOWN: usize = 5;
const REFUSED_SHOWN: usize = 6;
const WARNINGS_SHOWN: usize = 4;

/// `String` as a formatting target never fails.
macro_rules! line {
    ($text:expr) => { $text.push('\n') };
    ($text:expr, $($argument:tt)*) => {{
        let _infallible = writeln!($text, $($argument)*);
    }};
}

/// The text, with colours (the stream drops them where there is no terminal).
#[must_use]
pub fn render(report: &Report<'_>, options: TableOptions) -> String {
    let mut text = String::new();
    header(report, options, &mut text);
    launches(report, options, &mut text);
    existing(report, options, &mut text);
    unplaced(report, options, &mut text);
    let remarks = remarks(report.origin, options);
    if !remarks.is_empty() {
        line!(text);
        text.push_str(&remarks);
    }
    text
}

fn header(report: &Report<'_>, options: TableOptions, text: &mut String) {
    let (plan, cost) = (report.plan, report.plan.cost);
    let (before, after) = node_counts(report.snapshot, plan);
    let change = cost.after - cost.before;
    let sign = if change.micros() > 0 { "+" } else { "" };
    line!(
        text,
        "{} · {} → {} {} · {}/h → {} ({sign}{})",
        Paint(STRONG, &pending(plan)),
        thousands(before as u64),
        thousands(after as u64),
        if after == 1 { "node" } else { "nodes" },
        dollars(cost.before.micros()),
        Paint(STRONG, &format!("{}/h", dollars(cost.after.micros()))),
        dollars(change.micros()),
    );
    line!(text, "Cost: {}", proof(plan));
    if let Some(objective) = objective(plan) {
        line!(text, "Objective: {objective}");
    }
    if let Some(recounted) = recounted(plan) {
        line!(text, "{}", Paint(WARN, &recounted));
    }
    search(plan, options, text);
    let spot = if report.origin.spot_is_estimated && uses_spot(plan) {
        "; spot prices are estimates"
    } else {
        ""
    };
    let region = format!(
        "Prices: {} ({}){spot}",
        report.snapshot.region, report.origin.region_reason
    );
    line!(text, "{}", Paint(FAINT, &region));
}

/// Which engines brought the cost down, where everything is wanted; those that failed are told in any case.
fn search(plan: &PlanBody, options: TableOptions, text: &mut String) {
    if options.verbose
        && let Some(descent) = descent(plan)
    {
        line!(text, "{}", Paint(FAINT, &format!("Search: {descent}")));
    }
    for phase in &plan.work.phases {
        if let Some(failed) = &phase.failed {
            let failed = format!(
                "Engine {} failed, which costs its time alone: {}",
                phase.name,
                plain(failed)
            );
            line!(text, "{}", Paint(WARN, &failed));
        }
    }
}

/// A table without lines, in kubectl's manner.
fn bare_table(header: &[&str], right: &[usize], width: Option<u16>) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(header.iter().copied());
    match width {
        Some(width) => {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(width);
        }
        None => {
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if index == 0 { 2 } else { 1 }, 1));
        if right.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn push_table(table: &Table, text: &mut String) {
    for (index, row) in table.lines().enumerate() {
        let row = row.trim_end();
        if index == 0 {
            line!(text, "{}", Paint(FAINT, row));
        } else {
            line!(text, "{row}");
        }
    }
}

fn launches(report: &Report<'_>, options: TableOptions, text: &mut String) {
    let plan = report.plan;
    if plan.launch.is_empty() {
        let title = if plan.work.pods > 0 {
            "Nothing to launch."
        } else {
            "Nothing to launch: no pod in the input is pending."
        };
        line!(text);
        line!(text, "{}", Paint(STRONG, title));
        return;
    }
    let groups = launch_groups(report.snapshot, plan);
    let title = format!(
        "Launch {} for {}/h",
        counted(plan.launch.len(), "node", "nodes"),
        dollars(plan.cost.launched.micros())
    );
    line!(text);
    line!(text, "{}", Paint(HEADING, &title));
    let shown = shown(groups.len(), LAUNCHES_SHOWN, options);
    let columns = [
        "NODES",
        "TYPE",
        "BUY",
        "ZONE",
        "NODE POOL",
        "$/H EACH",
        "$/H",
        "PODS",
        "CPU",
        "MEMORY",
    ];
    let mut table = bare_table(&columns, &[0, 5, 6, 7, 8, 9], options.width);
    for group in &groups[..shown] {
        table.add_row(launch_row(group));
    }
    push_table(&table, text);
    rest(groups.len() - shown, "more kind", "more kinds", text);
    if options.verbose {
        line!(text);
        placements::of_launches(plan, text);
    }
}

fn launch_row(group: &LaunchGroup<'_>) -> Vec<String> {
    let fill = |millionths: Option<u64>| {
        millionths.map_or_else(
            || "?".to_owned(),
            |share| format!("{} %", (share + 5_000) / 10_000),
        )
    };
    let launch = group.launch;
    vec![
        thousands(group.count as u64),
        plain(launch.instance_type.as_str()),
        launch.capacity_type.to_string(),
        plain(launch.zone.as_str()),
        plain(launch.node_pool.as_str()),
        figure(launch.price.cost().micros()),
        figure(group.micros),
        thousands(group.pods as u64),
        fill(group.cpu_fill),
        fill(group.memory_fill),
    ]
}

/// Dollars in a column: always four decimals, so that they stand one below the other.
fn figure(micros: i64) -> String {
    let ten_thousandths = (micros.unsigned_abs() + 50) / 100;
    let (whole, fraction) = (ten_thousandths / 10_000, ten_thousandths % 10_000);
    format!("{}.{fraction:04}", thousands(whole))
}

fn existing(report: &Report<'_>, options: TableOptions, text: &mut String) {
    let mut takers: Vec<&NodePlan> = report
        .plan
        .nodes
        .iter()
        .filter(|node| !node.added.is_empty() || node.action != NodeAction::Keep)
        .collect();
    if takers.is_empty() {
        return;
    }
    takers.sort_by(|one, two| (two.added.len(), &one.name).cmp(&(one.added.len(), &two.name)));
    let placed: usize = takers.iter().map(|node| node.added.len()).sum();
    let title = format!(
        "Place {} on {}",
        counted(placed, "pod", "pods"),
        counted(takers.len(), "existing node", "existing nodes")
    );
    line!(text);
    line!(text, "{}", Paint(HEADING, &title));
    let shown = shown(takers.len(), NODES_SHOWN, options);
    let mut table = bare_table(
        &["PODS", "NODE", "TYPE", "ZONE", "NODE POOL"],
        &[0],
        options.width,
    );
    for node in &takers[..shown] {
        use dovetail_solver::model::instance_type::{INSTANCE_TYPE_LABEL, ZONE_LABEL};
        let known = report.snapshot.node(&node.name);
        let label = |key: &str| {
            known
                .and_then(|node| node.labels.get(key))
                .map_or("-", String::as_str)
        };
        let pool = known
            .and_then(|node| node.node_pool.as_ref())
            .map_or("-", |pool| pool.as_str());
        table.add_row([
            format!("+{}", node.added.len()),
            plain(node.name.as_str()),
            plain(label(INSTANCE_TYPE_LABEL)),
            plain(label(ZONE_LABEL)),
            plain(pool),
        ]);
    }
    push_table(&table, text);
    rest(takers.len() - shown, "more node", "more nodes", text);
    if options.verbose {
        line!(text);
        placements::of_nodes(&takers, text);
    }
}

fn unplaced(report: &Report<'_>, options: TableOptions, text: &mut String) {
    let plan = report.plan;
    if plan.unschedulable.is_empty() {
        if plan.work.pods > 0 {
            line!(text);
            line!(text, "{}", Paint(GOOD, "Every pending pod has a place."));
        }
        return;
    }
    let groups = refused(report.snapshot, plan);
    let title = format!(
        "No place for {}",
        counted(plan.unschedulable.len(), "pod", "pods")
    );
    line!(text);
    line!(text, "{}", Paint(BAD.bold(), &title));
    let shown = shown(groups.len(), REFUSED_SHOWN, options);
    for group in &groups[..shown] {
        refused_group(group, options, text);
    }
    rest(groups.len() - shown, "more group", "more groups", text);
}

fn refused_group(group: &Refused<'_>, options: TableOptions, text: &mut String) {
    let count = if group.pods.len() == 1 {
        String::new()
    } else {
        format!(" ({})", counted(group.pods.len(), "pod", "pods"))
    };
    line!(text, "  {}{count}", Paint(STRONG, &group.workload));
    if options.verbose && group.pods.len() > 1 {
        let names: Vec<String> = group.pods.iter().map(|pod| plain(&pod.to_string())).collect();
        line!(text, "    {}", names.join(" "));
    }
    reasons(group.reasons, text);
    match group.fix {
        Some(fix) => line!(text, "    {} {}", Paint(GOOD.bold(), "fix:"), Paint(GOOD, fix)),
        None if group.reasons.is_empty() => {}
        None => line!(text, "    {}", Paint(FAINT, no_fix(group.fix_search_cut_short))),
    }
}

/// One line a reason: where, what decided, the figures.
pub(super) fn reasons(reasons: &[Reason], text: &mut String) {
    let place = |reason: &Reason| match (&reason.node_pool, &reason.node) {
        (Some(pool), _) => plain(pool.as_str()),
        (None, Some(node)) => format!("node {}", plain(node.as_str())),
        (None, None) => "-".to_owned(),
    };
    let widest = |of: &dyn Fn(&Reason) -> String| {
        let widths = reasons.iter().map(|reason| of(reason).chars().count());
        widths.max().unwrap_or(0)
    };
    let (places, constraints) = (widest(&place), widest(&|reason| reason.constraint.to_string()));
    for reason in reasons {
        let constraint = format!("{:constraints$}", reason.constraint.to_string());
        line!(
            text,
            "    {:places$}  {}  {}",
            place(reason),
            Paint(WARN, &constraint),
            plain(&reason.detail),
        );
    }
    if reasons.is_empty() {
        line!(
            text,
            "    {}",
            Paint(
                FAINT,
                "there is no NodePool that could launch for it (kubectl get nodepools,ec2nodeclasses -o yaml)"
            )
        );
    }
}

/// What there is to say about the input: the first few in full, the rest counted by reason.
#[must_use]
pub fn remarks(origin: &Origin, options: TableOptions) -> String {
    let mut text = String::new();
    let label = |loudness: Loudness| {
        let style = match loudness {
            Loudness::Error => BAD,
            Loudness::Warning => WARN,
            Loudness::Note => FAINT,
        };
        Paint(style, loudness.as_str()).to_string()
    };
    let all = &origin.warnings;
    // What is only good to know is counted, unless everything is wanted.
    let serious = all
        .iter()
        .take_while(|warning| warning.loudness != Loudness::Note)
        .count();
    let listed = if options.verbose {
        all.len()
    } else {
        shown(serious, WARNINGS_SHOWN, options)
    };
    for warning in &all[..listed] {
        line!(text, "{}: {}", label(warning.loudness), plain(&warning.text));
    }
    let mut counts: BTreeMap<(Loudness, &str), u64> = BTreeMap::new();
    for warning in &all[listed..] {
        *counts.entry((warning.loudness, &warning.reason)).or_default() += warning.count;
    }
    for loudness in [Loudness::Error, Loudness::Warning, Loudness::Note] {
        let counts: Vec<String> = counts
            .iter()
            .filter(|((at, _), _)| *at == loudness)
            .map(|((_, reason), count)| format!("{} × {}", thousands(*count), plain(reason)))
            .collect();
        if !counts.is_empty() {
            let summary = format!("{} (plan --verbose lists them)", counts.join(", "));
            line!(text, "{}: {}", label(loudness), Paint(FAINT, &summary));
        }
    }
    text
}

/// How many of a list are printed: one more than the rest isn't worth a line that says "1 more".
fn shown(all: usize, most: usize, options: TableOptions) -> usize {
    if options.verbose || all <= most + 1 {
        all
    } else {
        most
    }
}

fn rest(left: usize, one: &str, many: &str, text: &mut String) {
    if left > 0 {
        let summary = format!("  … {} (--verbose lists them)", counted(left, one, many));
        line!(text, "{}", Paint(FAINT, &summary));
    }
}
