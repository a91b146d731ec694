//! What `plan` and `explain` have in common: read the objects, freeze them, plan.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, bail};
use dovetail_solver::explain::with_fixes;
use dovetail_solver::model::name::PodName;
use dovetail_solver::model::node_pool::MinValuesPolicy;
use dovetail_solver::model::plan::{Checked, Gap, Plan};
use dovetail_solver::model::snapshot::Snapshot;
use dovetail_solver::model::time::Timestamp;
use dovetail_solver::{Engine, PlanOptions, Quota, Unlimited, WorkLimit, plan};

use crate::args::{EngineName, InputArgs, MinValuesName, SolveArgs};
use crate::clock::Deadline;
use crate::cluster::convert::rules::defaults::SchedulerConfig;
use crate::cluster::diagnostics::{Diagnostics, Note, Reason, Severity};
use crate::cluster::index::Index;
use crate::cluster::live::read_live;
use crate::cluster::manifests::{self, Edit, Source};
use crate::cluster::snapshot::{FreezeOptions, freeze};
use crate::render::{Loudness, Origin, Warning};

/// Improving stops here where neither an option nor a policy says so.
const DEFAULT_BUDGET: Duration = Duration::from_secs(1);
/// The search for fixes may take as long as the plan did, and two seconds in any case; where no clock is asked for it is
/// bounded by counts, and this only ends it where something unforeseen makes each try slow.
const LEAST_FIX_BUDGET: Duration = Duration::from_secs(2);
const MOST_FIX_BUDGET: Duration = Duration::from_secs(20);

/// What was read, and what there is to say about it.
pub(super) struct World {
    pub(super) index: Index,
    pub(super) snapshot: Snapshot,
    pub(super) origin: Origin,
    time_budget: Option<Duration>,
    gap: Option<Gap>,
}

/// Reads and freezes.
pub(super) fn read(args: &InputArgs, solve: &SolveArgs) -> anyhow::Result<World> {
    let edits = args
        .set
        .iter()
        .map(|text| {
            text.parse::<Edit>()
                .with_context(|| format!("reading --set {text}"))
        })
        .collect::<anyhow::Result<Vec<Edit>>>()?;
    let manifests::Read {
        index,
        mut diagnostics,
    } = objects(args, &edits)?;
    if index.is_empty() && diagnostics.has_errors() {
        bail!("nothing could be read: {}", first_errors(&diagnostics));
    }
    let scheduler_config = args
        .scheduler_config
        .as_deref()
        .map(scheduler_config)
        .transpose()
        .context("reading --scheduler-config")?;
    let options = FreezeOptions {
        scheduler_config: scheduler_config.unwrap_or_default(),
        region: args.region.clone(),
        now: Timestamp(args.now.unwrap_or_else(jiff::Timestamp::now).as_second()),
        min_values_policy: match solve.min_values_policy {
            MinValuesName::Strict => MinValuesPolicy::Strict,
            MinValuesName::BestEffort => MinValuesPolicy::BestEffort,
        },
    };
    let frozen = freeze(&index, &options)?;
    diagnostics.extend(frozen.notes);
    Ok(World {
        index,
        origin: Origin {
            region_reason: region_reason(&frozen.region_reason),
            spot_is_estimated: frozen.spot_is_estimated,
            warnings: warnings(&diagnostics),
        },
        snapshot: frozen.snapshot,
        time_budget: frozen.time_budget,
        gap: frozen.gap,
    })
}

/// A text, or `@` and a file that holds it.
fn scheduler_config(argument: &str) -> anyhow::Result<SchedulerConfig> {
    let text = match argument.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file).with_context(|| file.to_owned())?,
        None => argument.to_owned(),
    };
    text.parse().map_err(|message: String| anyhow::anyhow!(message))
}

/// The objects to plan for: of files, or of a live cluster.
fn objects(args: &InputArgs, edits: &[Edit]) -> anyhow::Result<manifests::Read> {
    let sources: Vec<Source> = args
        .filenames
        .iter()
        .map(|name| Source::from(name.as_str()))
        .collect();
    let Some(context) = &args.context else {
        return Ok(manifests::read(&sources, edits)?);
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("starting to talk to the cluster")?;
    runtime
        .block_on(read_live(Some(context), &sources, edits))
        .with_context(|| format!("reading the cluster of context {context}"))
}

fn first_errors(diagnostics: &Diagnostics) -> String {
    const SHOWN: usize = 3;
    let errors = diagnostics
        .notes()
        .iter()
        .filter(|note| note.severity == Severity::Error);
    let errors: Vec<String> = errors.map(ToString::to_string).collect();
    let more = errors.len().saturating_sub(SHOWN);
    let shown = errors.into_iter().take(SHOWN).collect::<Vec<_>>().join("; ");
    if more > 0 {
        format!("{shown}; and {more} more")
    } else {
        shown
    }
}

fn region_reason(reason: &str) -> String {
    match reason {
        "flag" => "--region",
        "node labels" => "the nodes' region label",
        "default" => "the default, since no node names a region",
        other => other,
    }
    .to_owned()
}

/// The loudest first, otherwise in order of appearance; with what was counted and not kept.
fn warnings(diagnostics: &Diagnostics) -> Vec<Warning> {
    let mut kept: BTreeMap<Reason, u64> = BTreeMap::new();
    let mut warnings = Vec::new();
    for note in diagnostics.notes() {
        *kept.entry(note.reason).or_default() += note.count;
        warnings.push(warning(note));
    }
    for (reason, things) in diagnostics.counts() {
        let left = things.saturating_sub(kept.get(&reason).copied().unwrap_or(0));
        if left > 0 {
            warnings.push(Warning {
                loudness: Loudness::Warning,
                reason: spelt_out(reason),
                count: left,
                text: format!("{left} more: {}", spelt_out(reason)),
            });
        }
    }
    warnings.sort_by_key(|warning| warning.loudness);
    warnings
}

fn warning(note: &Note) -> Warning {
    Warning {
        loudness: match note.severity {
            Severity::Error => Loudness::Error,
            Severity::Warning => Loudness::Warning,
            Severity::Info => Loudness::Note,
        },
        reason: spelt_out(note.reason),
        count: note.count,
        text: with_count(note),
    }
}

/// A note with how often it holds, unless its own words say so.
fn with_count(note: &Note) -> String {
    let text = note.to_string();
    let number = note.count.to_string();
    if note.count > 1 && !text.split(' ').any(|word| word == number) {
        format!("{text} ({number} of them)")
    } else {
        text
    }
}

/// `unknownField` → `unknown field`.
fn spelt_out(reason: Reason) -> String {
    let mut text = String::new();
    for c in reason.as_str().chars() {
        if c.is_ascii_uppercase() {
            text.push(' ');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

/// Refuses what later versions will do, so that nobody believes it was done.
pub(super) fn refuse_what_is_not_there_yet(args: &SolveArgs) -> anyhow::Result<()> {
    if args.consolidate {
        bail!("--consolidate isn't there yet: only pending pods are placed, existing nodes stay as they are");
    }
    if args.spot_to_spot {
        bail!("--spot-to-spot isn't there yet: it belongs to consolidation");
    }
    Ok(())
}

/// Plans, and looks for the smallest fixes: of all refused pods, or of one.
pub(super) fn solve(
    world: &World,
    args: &SolveArgs,
    only: Option<&PodName>,
) -> anyhow::Result<Plan<Checked>> {
    let usual = PlanOptions::default();
    let budget = match args.work_limit {
        Some(_) => DEFAULT_BUDGET,
        None => args.time_budget.or(world.time_budget).unwrap_or(DEFAULT_BUDGET),
    };
    let options = PlanOptions {
        engine: match args.engine {
            EngineName::Greedy => Engine::Greedy,
            EngineName::Ilp => Engine::Ilp,
            EngineName::Auto => Engine::Auto,
        },
        gap: args.gap.or(world.gap).unwrap_or(usual.gap),
        seed: args.seed,
        work_limit: WorkLimit(args.work_limit),
        ..usual
    }
    .for_budget(budget);
    let deadline = Deadline::after(budget);
    let quota: &dyn Quota = if args.work_limit.is_some() {
        &Unlimited
    } else {
        &deadline
    };
    let planned = plan(&world.snapshot, &options, quota).context("planning")?;
    let for_fixes = match args.work_limit {
        Some(_) => MOST_FIX_BUDGET,
        None => budget.clamp(LEAST_FIX_BUDGET, MOST_FIX_BUDGET),
    };
    with_fixes(
        &world.snapshot,
        planned,
        &options,
        &Deadline::after(for_fixes),
        only,
    )
    .context("looking for fixes")
}
