//! The engines in order, each on what those before it found: an answer at once, better ones as long as there is time.
//!
//! Promises: the baseline comes first, or in a hurry second (`hurry`); another packing takes the incumbent's place only if
//! it is better and sound, and a rung that fails or is refused is counted and costs nothing but its own time. Which
//! packing is sound the caller says.
//! Rungs end by counted effort, and by a share of the time left where a quota knows it.

mod bounds;
mod engines;
mod greedy;
mod hurry;
mod merged;
#[cfg(feature = "highs")]
mod programs;
#[cfg(feature = "highs")]
mod side_rows;
mod split;
#[cfg(feature = "highs")]
mod weights;
mod wishes;

use std::time::Duration;

use crate::check::Violation;
use crate::gangs;
use crate::lower::Problem;
use crate::model::money::Cost;
use crate::model::plan::{Phase, PlanBody, Stopped, Work};
use crate::options::{Engine, PlanOptions};
use crate::pack::downsize::downsize;
use crate::pack::effort::Effort;
use crate::pack::lower_bound::Prices;
use crate::pack::memory::Memory;
use crate::pack::{Filling, Packing, karpenter_order, search};
use crate::quota::Quota;

use bounds::Bounds;
#[cfg(feature = "highs")]
use programs::Choice;
use wishes::Rating;

/// How many times as long as lifting and checking took longest stays for the end: once for the last engine's find, half of
/// it for the plan, which isn't lifted again, and some since a better packing has more fillings.
const CHECKS: u32 = 2;

/// The baseline's name among the phases.
const GREEDY: &str = "greedy";

/// The plan that a packing gives, checked, or what it breaks.
type Judge<'a> = &'a dyn Fn(&Packing) -> Result<PlanBody, Vec<Violation>>;

/// What is left after the climb.
#[derive(Debug)]
pub(crate) struct Rungs {
    /// The best packing that is sound, with its plan.
    pub(crate) incumbent: Option<(Packing, PlanBody)>,
    /// Micro-dollars that launching for the same pods costs at least.
    pub(crate) bound: u64,
    /// Why the engines stopped.
    pub(crate) stopped: Stopped,
    /// What it took.
    pub(crate) work: Work,
    /// What the first packing breaks, where it isn't sound.
    pub(crate) violations: Vec<Violation>,
    /// Fillings that the best packing and the relaxation used, to be remembered.
    pub(crate) useful: Vec<Filling>,
}

/// The climb.
pub(crate) struct Ladder<'a> {
    problem: &'a Problem<'a>,
    options: &'a PlanOptions,
    quota: &'a dyn Quota,
    effort: Effort<'a>,
    judge: Judge<'a>,
    /// How long judging took at most.
    judging: Duration,
    prices: Option<Prices>,
    bounds: Bounds,
    work: Work,
    /// All that is sound and was the best when it came, the best last.
    incumbents: Vec<Packing>,
    /// What the last of them is worth, once it was asked for.
    best_rating: Option<Rating>,
    /// The plan of the last of them.
    body: Option<PlanBody>,
    violations: Vec<Violation>,
    useful: Vec<Filling>,
    #[cfg(feature = "highs")]
    choice: Choice,
}

/// A number of micro-dollars as a cost.
pub(crate) fn cost(micros: u64) -> Cost {
    Cost::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}

impl<'a> Ladder<'a> {
    /// At its foot.
    pub(crate) fn new(
        problem: &'a Problem<'a>,
        options: &'a PlanOptions,
        quota: &'a dyn Quota,
        judge: Judge<'a>,
    ) -> Self {
        let work = Work {
            pods: problem.groups.iter().map(|group| group.pods.len()).sum(),
            groups: problem.groups.len(),
            offerings: problem.universe.bins.len(),
            ..Work::default()
        };
        Self {
            problem,
            options,
            quota,
            effort: Effort::new(options, quota),
            judge,
            judging: Duration::ZERO,
            prices: None,
            bounds: Bounds::default(),
            work,
            incumbents: Vec::new(),
            best_rating: None,
            body: None,
            violations: Vec::new(),
            useful: Vec::new(),
            #[cfg(feature = "highs")]
            choice: Choice::default(),
        }
    }

    /// Runs what the options ask for, as long as something may come of it.
    pub(crate) fn climb(&mut self, memory: &Memory) {
        if self.is_hurried() {
            self.hurry();
        } else {
            self.baseline();
            self.price();
        }
        let Some(prices) = &self.prices else { return };
        if self.options.engine == Engine::Greedy || self.incumbents.is_empty() {
            return;
        }
        if self.problem.side.span_nodes() {
            self.spanning();
        } else {
            let mut filler = search::filler(self.problem, &prices.values());
            self.engines(&mut filler, memory);
        }
        #[cfg(feature = "highs")]
        self.wishes();
    }

    /// What was found.
    pub(crate) fn end(mut self) -> Rungs {
        let launched = self.incumbents.last().into_iter().flat_map(|best| &best.launched);
        self.useful
            .extend(launched.map(|launched| launched.filling.clone()));
        Rungs {
            bound: self.incumbent().map_or(0, |packing| self.proven(packing)),
            incumbent: self.incumbents.pop().zip(self.body),
            stopped: self.effort.stopped(),
            work: self.work,
            violations: self.violations,
            useful: self.useful,
        }
    }

    /// Counted effort of one look at each group for each kind: no engine gets anywhere with less.
    fn looks(&self) -> u64 {
        u64::try_from(self.problem.groups.len() * self.problem.kinds.len()).unwrap_or(u64::MAX)
    }

    /// Nodes that the best packing launches.
    fn launches(&self) -> u64 {
        self.incumbent().map_or(0, Packing::launches)
    }

    fn incumbent(&self) -> Option<&Packing> {
        self.incumbents.last()
    }

    /// Whether there is nothing more to do: near enough to the bound, or stopped from outside.
    fn is_done(&self) -> bool {
        let near = |packing: &Packing| self.is_near(packing);
        self.effort.is_over() || self.incumbent().is_none_or(near)
    }

    /// Enters what an engine found; it becomes the incumbent if it is better and sound.
    fn enter(&mut self, name: &str, start: Duration, found: Result<Packing, String>) {
        let failed = match found {
            Ok(mut packing) => {
                if self.problem.side.is_empty() {
                    karpenter_order::complete(self.problem, &mut packing);
                }
                self.propose(packing).err()
            }
            Err(reason) => Some(reason),
        };
        self.record(name, start, failed);
    }

    /// Makes nodes smaller or cheaper where neither rows nor wishes object.
    fn shrink(&self, packing: &mut Packing) {
        let mut cheaper = packing.clone();
        downsize(self.problem, &mut cheaper);
        if self.rating(&cheaper) < self.rating(packing) {
            *packing = cheaper;
        }
    }

    /// Takes down an engine's run, and what is known after it.
    fn record(&mut self, name: &str, start: Duration, failed: Option<String>) {
        self.work.failures += usize::from(failed.is_some());
        let best = self.incumbent();
        self.work.phases.push(Phase {
            name: name.to_owned(),
            seconds: self.quota.elapsed().saturating_sub(start),
            placed: best.map_or(0, |best| best.placed(self.problem).iter().sum()),
            cost: cost(best.map_or(0, |best| best.objective(self.problem))),
            bound: cost(best.map_or(0, |best| self.proven(best))),
            failed,
        });
    }

    /// Makes a packing the incumbent if it is better, without gangs of which it leaves pods.
    ///
    /// # Errors
    /// Where the check refuses it.
    fn propose(&mut self, mut packing: Packing) -> Result<(), String> {
        gangs::make_whole(self.problem, &mut packing);
        if !self.problem.side.is_empty() {
            self.shrink(&mut packing);
        }
        let Some((packing, rating)) = self.better(packing) else {
            return Ok(());
        };
        let from = self.quota.elapsed();
        let judged = (self.judge)(&packing);
        self.judging = self.judging.max(self.quota.elapsed().saturating_sub(from));
        self.effort.reserve(self.judging * CHECKS);
        match judged {
            Ok(body) => {
                self.work.recounted += usize::from(body.cost.recounted != Cost::ZERO);
                self.incumbents.push(packing);
                self.best_rating = Some(rating);
                self.body = Some(body);
                Ok(())
            }
            Err(violations) => {
                let refused = format!("refused by the check: {}", first(&violations));
                if !self.work.phases.iter().any(|phase| phase.name == GREEDY) {
                    // The baseline's say most: it is the simplest engine. They take the place of what came before it.
                    self.violations = violations;
                }
                Err(refused)
            }
        }
    }
}

fn first(violations: &[Violation]) -> String {
    violations.first().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
#[path = "ladder_tests.rs"]
mod tests;
