//! The command line: names, grammar and help texts. Nothing is done here.
//!
//! Promises: every value that leaves this file is well-formed (durations, gaps, instants); a wrong one names what was
//! expected. Options that later versions will know are understood and refused by name, never ignored.

pub mod catalog;

use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use dovetail_solver::model::plan::Gap;

use crate::api::effort;
use catalog::CatalogArgs;

/// Help of the whole program.
#[derive(Debug, Parser)]
#[command(
    name = "dovetail",
    version,
    about = "Plans nodes for Kubernetes on EC2: the least cost, and the proof of it",
    long_about = "Dovetail plans nodes for Kubernetes on EC2 from the resources that Karpenter reads, and decides \
                  better: it says which nodes to launch for the pods that wait, what they cost per hour, how far from \
                  the least possible cost that can be, and why a pod finds no home.\n\nNeither a cluster nor an AWS \
                  account is needed: the EC2 catalogue is built in.",
    after_help = EXAMPLES,
    max_term_width = 100
)]
pub struct Cli {
    /// When to colour: auto is only on a terminal, and not where NO_COLOR is set.
    #[arg(long, value_enum, global = true, default_value_t, value_name = "WHEN")]
    pub color: ColorWhen,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  kubectl get nodes,pods,deploy,rs,sts,ds,jobs,nodepools,nodeclaims,ec2nodeclasses -A -o yaml | dovetail plan -f -
  dovetail plan -f manifests/                           what would these workloads cost?
  dovetail explain pod web-0 -n shop -f dump.yaml       why is it pending, what would help?
  dovetail catalog show m7i.xlarge                      what is known about an instance type";

const PLAN_EXAMPLES: &str = "\
Examples:
  dovetail plan -f dump.yaml                            one screen for people
  dovetail plan -f dump.yaml --verbose                  which pod goes to which node, too
  kubectl get ... -A -o yaml | dovetail plan -f -       from standard input
  dovetail plan -f dump.yaml -o html > plan.html        the packing as a page
  dovetail plan -f dump.yaml -o yaml | kubectl create -f -
  dovetail plan -f dump.yaml --time-budget 30s --gap 0.1%   search longer and nearer to the least possible cost
  dovetail plan -f dump.yaml --set nodepool/default.spec.limits.cpu=200
  dovetail plan -f dump.yaml -o json > before.json
  dovetail plan -f dump.yaml -f new-nodepool.yaml --diff before.json
  dovetail plan --context prod                          the live cluster of a kubeconfig context

Exit status: 0 when a plan was made, 1 on an error; with --exit-code, 2 when a pod could not be placed.";

const CATALOG_EXAMPLES: &str = "\
Examples:
  dovetail catalog list --family m7i,m7g --sort price   what these families cost
  dovetail catalog list --region eu-central-1 -o wide   another region, with more columns
  dovetail catalog show m7i.xlarge                      what pods may use of it, and its prices";

const CRDS_EXAMPLES: &str = "\
Examples:
  dovetail crds | kubectl apply --server-side -f -
  dovetail crds --dir deploy/crds";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  dovetail explain pod default/web-0 -f dump.yaml
  dovetail explain pod web-0 -n default -f dump.yaml -o json";

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say which nodes to launch for the pending pods, what they cost, and what finds no home
    #[command(after_help = PLAN_EXAMPLES)]
    Plan(PlanArgs),
    /// Say why a pod goes where it goes, or what refuses it
    #[command(subcommand, after_help = EXPLAIN_EXAMPLES)]
    Explain(Explain),
    /// Look into the EC2 catalogue
    #[command(after_help = CATALOG_EXAMPLES)]
    Catalog(CatalogArgs),
    /// Print the custom resource definitions
    #[command(after_help = CRDS_EXAMPLES)]
    Crds {
        /// Write each to a file of its own in this folder, and print nothing
        #[arg(long, value_name = "DIR")]
        dir: Option<std::path::PathBuf>,
    },
    /// Print the completion script for a shell
    #[command(after_help = "Example: dovetail completions bash > /etc/bash_completion.d/dovetail")]
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// What can be explained.
#[derive(Debug, Subcommand)]
pub enum Explain {
    /// A pod: its place and what else was there, or every refusal and the smallest fix
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Pod(ExplainPodArgs),
}

/// When output is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Where the cluster's objects come from, and what is changed in them first.
#[derive(Args, Debug)]
#[group(id = "input")]
pub struct InputArgs {
    /// Manifests to read: a file, a folder, or - for standard input; repeatable
    #[arg(
        short = 'f',
        long = "filename",
        value_name = "FILE|DIR|-",
        required_unless_present = "context",
        help_heading = "Input"
    )]
    pub filenames: Vec<String>,
    /// Read the live cluster of this kubeconfig context (changes nothing there), and -f on top of it
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    pub context: Option<String>,
    /// Change a field before planning: KIND/[NAMESPACE/]NAME.path=value; repeatable
    #[arg(long, value_name = "EDIT", help_heading = "Input")]
    pub set: Vec<String>,
    /// Region of the built-in catalogue [default: the nodes' region, else us-east-1]
    #[arg(long, value_name = "REGION", help_heading = "Input")]
    pub region: Option<String>,
    /// Scheduler configuration, as text or @FILE: its podTopologySpread.defaultConstraints hold for pods that have none
    #[arg(long, value_name = "TEXT|@FILE", help_heading = "Input")]
    pub scheduler_config: Option<String>,
    /// The instant that schedules and ages count from [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = parse_instant, help_heading = "Input")]
    pub now: Option<jiff::Timestamp>,
}

/// How hard to think.
#[derive(Args, Debug)]
pub struct SolveArgs {
    /// Which engines may run
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "ENGINE",
        help_heading = "Solver"
    )]
    pub engine: EngineName,
    /// When to answer with the best plan found: after 300ms, 1s, 2m [default: the PackingPolicies' least, else 1s]
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = effort::time_budget,
        allow_hyphen_values = true,
        help_heading = "Solver"
    )]
    pub time_budget: Option<Duration>,
    /// Answer after so much counted effort and not after a time: the same plan on every machine, however long it takes
    #[arg(
        long,
        value_name = "UNITS",
        value_parser = parse_effort,
        allow_hyphen_values = true,
        conflicts_with = "time_budget",
        help_heading = "Solver"
    )]
    pub work_limit: Option<u64>,
    /// Stop improving this near to the lower bound: 0.005 or 0.5% [default: the PackingPolicies' least, else 0.5%]
    #[arg(
        long,
        value_name = "SHARE",
        value_parser = effort::gap,
        allow_hyphen_values = true,
        help_heading = "Solver"
    )]
    pub gap: Option<Gap>,
    /// Seed of all ties broken at random
    #[arg(long, value_name = "NUMBER", default_value_t = 0, help_heading = "Solver")]
    pub seed: u64,
    /// Refused for now: existing nodes aren't changed yet.
    #[arg(long, hide = true)]
    pub consolidate: bool,
    /// Refused for now: it belongs to consolidation.
    #[arg(long, hide = true)]
    pub spot_to_spot: bool,
    /// Where too few values of a key are left for a NodePool's minValues: launch nothing, or with as many as there are
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "POLICY",
        help_heading = "Solver"
    )]
    pub min_values_policy: MinValuesName,
}

/// What becomes of minValues that can't be met, by the names that Karpenter gives it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MinValuesName {
    /// No launch
    #[default]
    #[value(name = "Strict")]
    Strict,
    /// As many values as there are
    #[value(name = "BestEffort")]
    BestEffort,
}

/// Engines by their names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// The cheapest checked plan of all engines
    #[default]
    Auto,
    /// First-fit decreasing in Karpenter's order: the baseline
    Greedy,
    /// After the greedy ones only those that rest on linear and integer programs
    Ilp,
}

/// Of `dovetail plan`.
#[derive(Args, Debug)]
pub struct PlanArgs {
    /// What to read.
    #[command(flatten)]
    pub input: InputArgs,
    /// How hard to think.
    #[command(flatten)]
    pub solve: SolveArgs,
    /// How to print the plan
    #[arg(
        short,
        long,
        value_enum,
        default_value_t,
        value_name = "FORMAT",
        help_heading = "Output"
    )]
    pub output: PlanFormat,
    /// Compare with a plan that -o json wrote earlier: what changed since then
    #[arg(long, value_name = "PLAN.json", help_heading = "Output")]
    pub diff: Option<std::path::PathBuf>,
    /// End with status 2 when a pod could not be placed, or an object not be read
    #[arg(long, help_heading = "Output")]
    pub exit_code: bool,
    /// List everything: all nodes with their pods, reasons and warnings
    #[arg(short, long, help_heading = "Output")]
    pub verbose: bool,
}

/// How a plan is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PlanFormat {
    /// One screen for people
    #[default]
    Table,
    /// The plan document
    Json,
    /// NodeClaims ready to apply
    Yaml,
    /// One self-contained page
    Html,
}

/// Of `dovetail explain pod`.
#[derive(Args, Debug)]
pub struct ExplainPodArgs {
    /// The pod: NAMESPACE/NAME, or NAME with -n
    #[arg(value_name = "POD")]
    pub name: String,
    /// The pod's namespace
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// What to read.
    #[command(flatten)]
    pub input: InputArgs,
    /// How hard to think.
    #[command(flatten)]
    pub solve: SolveArgs,
    /// How to print it
    #[arg(
        short,
        long,
        value_enum,
        default_value_t,
        value_name = "FORMAT",
        help_heading = "Output"
    )]
    pub output: ExplainFormat,
}

/// How an explanation is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ExplainFormat {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

fn parse_instant(text: &str) -> Result<jiff::Timestamp, String> {
    text.parse()
        .map_err(|_| "expected an instant such as 2026-01-07T09:00:00Z".to_owned())
}

/// Counted effort: any whole number that 64 bits hold.
fn parse_effort(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn effort_is_a_whole_number() {
        assert_eq!(parse_effort("0"), Ok(0));
        assert_eq!(parse_effort("18446744073709551615"), Ok(u64::MAX));
        for text in ["", "-1", "1.5", "1e9", "18446744073709551616"] {
            assert!(parse_effort(text).is_err(), "{text}");
        }
    }
}
