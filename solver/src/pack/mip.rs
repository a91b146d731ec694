//! Programs in whole numbers by HiGHS, from a start, under counted effort and the stop signal.
//!
//! Promises: what comes back keeps every row in integers and is no worse than the start; the same effort gives the same
//! answer; a stop is honoured within a few hundredths of a second, with the best answer found until then. good_lp could
//! not be stopped, so the engines' programs go to HiGHS' own thread.

use crate::lower::Problem;
use crate::lp::run::{Refused, Run, Status};
use crate::lp::whole::{Answer, Program, Row, Untrue, floats};

use super::Packing;
use super::downsize::downsize;
use super::effort::Effort;
use super::side::verdict;

/// Effort of one iteration and of one node of the tree for each variable and row, cuts and propagation included, and of
/// all that comes before the tree: measured on restricted masters and compact programs alike.
const ITERATION_A_LINE: u64 = 4;
const NODE_A_LINE: u64 = 20;
const ROOT_A_LINE: u64 = 5_000;
/// Iterations at most where no limit says so: minutes.
const MOST_ITERATIONS: u64 = 10_000_000;

/// Why an engine that asks HiGHS for whole numbers failed. It costs nothing but its own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// HiGHS wouldn't take the program.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// HiGHS broke off for a reason of its own.
    #[error("HiGHS is in trouble")]
    Trouble,
    /// HiGHS' answer breaks the program.
    #[error(transparent)]
    Untrue(#[from] Untrue),
    /// The answer keeps the program, and the packing made of it breaks the problem.
    #[error("an answer made a packing that breaks its problem")]
    Unsound,
}

/// What HiGHS found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    /// Values that are no worse than the start.
    pub(super) answer: Answer,
    /// Dollars that no values cost less than, says HiGHS: a hint.
    pub(super) bound: Option<f64>,
}

/// Minimises from a start that keeps all rows, over so many nodes of the tree at most; `None` where there is no effort
/// for it.
///
/// # Errors
/// When HiGHS fails.
pub(super) fn solve(
    program: &Program,
    start: &[u64],
    nodes: u32,
    effort: &mut Effort<'_>,
) -> Result<Option<Found>, Failure> {
    let size = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let lines = size(program.rows.len() + program.variables.len()).max(1);
    let root = lines * ROOT_A_LINE;
    if effort.left() <= root || effort.is_used_up() || effort.ask_quota() {
        return Ok(None);
    }
    let iterations = ((effort.left() - root) / (lines * ITERATION_A_LINE)).clamp(1, MOST_ITERATIONS);
    let run = Run {
        nodes: Some(nodes),
        iterations: u32::try_from(iterations).ok(),
        // Neither counted nor interruptible; starts come from engines that know more of packing.
        sub_programs: false,
        ..Run::default()
    };
    let mut solver = program.on_a_thread()?;
    solver.set_start(floats(start))?;
    let outcome = solver.run(&run, || effort.ask_quota())?;
    effort.spend(root + (outcome.iterations * ITERATION_A_LINE + outcome.nodes * NODE_A_LINE) * lines);
    if outcome.status == Status::Trouble {
        return Err(Failure::Trouble);
    }
    let start = Answer {
        cost: program.cost(start),
        values: start.to_vec(),
    };
    let answer = match outcome.solution {
        Some(solution) => program.verified(&solution.columns)?,
        None => start.clone(),
    };
    Ok(Some(Found {
        answer: if answer.cost < start.cost { answer } else { start },
        bound: outcome.dual_bound,
    }))
}

/// Rows that keep launches within the limits of pools, the addresses of subnets and the supplies of offers: `kinds` has each variable's kind.
pub(super) fn limits(problem: &Problem<'_>, kinds: &[(usize, usize)]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (account, counters) in problem.accounts.left.iter().enumerate() {
        for (counter, left) in counters.iter().enumerate() {
            let drawing = kinds
                .iter()
                .filter(|(_, kind)| problem.kinds[*kind].account == account);
            let uses =
                drawing.map(|(variable, kind)| (*variable, whole(problem.kinds[*kind].usage[counter])));
            let terms: Vec<(usize, i64)> = uses.filter(|(_, usage)| *usage > 0).collect();
            rows.push(Row::at_most(terms, whole(*left)));
        }
    }
    for (supply, left) in problem.supplies.iter().enumerate() {
        let drawing = kinds
            .iter()
            .filter(|(_, kind)| problem.kinds[*kind].supply == Some(supply));
        let terms: Vec<(usize, i64)> = drawing.map(|(variable, _)| (*variable, 1)).collect();
        rows.push(Row::at_most(terms, whole(*left)));
    }
    rows.retain(|row| !row.terms.is_empty());
    rows
}

/// Whether a group goes to pools of a kind's weight, by itself.
pub(super) fn goes_to(problem: &Problem<'_>, group: usize, kind: usize) -> bool {
    problem.usable[group].contains(kind) && problem.tiers[group].first() == Some(&problem.kinds[kind].tier)
}

/// A packing with every node on the cheapest kind that holds it, where that is better and nothing is broken by it.
pub(super) fn settled(problem: &Problem<'_>, mut packing: Packing) -> Packing {
    packing.normalise();
    let mut smaller = packing.clone();
    downsize(problem, &mut smaller);
    // Where pods wish for one kind and not for another, cheaper may be dearer.
    if smaller.is_better_than(&packing, problem) && verdict::broken(problem, &smaller).is_empty() {
        smaller
    } else {
        packing
    }
}

/// A count or an amount in a row; saturates, and the verified answer is held against the problem's own numbers.
pub(super) fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Starts for tests of the engines.
#[cfg(test)]
pub(super) mod starts {
    use crate::lower::Problem;
    use crate::pack::ledger::Ledger;
    use crate::pack::random::Random;
    use crate::pack::{Launched, Packing, karpenter_order};

    /// What the greedy launches with every pod on a node of its own, of any kind; the greedy's own packing where there
    /// are not enough nodes for that.
    pub(crate) fn scattered(problem: &Problem<'_>, random: &mut Random) -> Packing {
        let packed = karpenter_order::pack(problem, false);
        let mut scattered = packed.clone();
        scattered.launched.clear();
        let mut ledger = Ledger::new(problem);
        for launched in &packed.launched {
            for (group, count) in &launched.filling {
                for _ in 0..count * launched.count {
                    let mut kinds: Vec<usize> = problem.usable[*group].ones().collect();
                    kinds.retain(|kind| ledger.allowed(problem, *kind) > 0);
                    if kinds.is_empty() {
                        return packed;
                    }
                    let kind = kinds[random.below(kinds.len())];
                    ledger.open(problem, kind, 1);
                    scattered.launched.push(Launched {
                        kind,
                        filling: vec![(*group, 1)],
                        count: 1,
                    });
                }
            }
        }
        scattered.normalise();
        scattered
    }
}
