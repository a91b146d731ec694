//! From a fractional master program to a packing: fix what it uses often, generate again for what is left, repeat.
//!
//! A filling that the relaxation uses at least once is used as often as it says, rounded down; where there is none,
//! the one it uses most is used once. The rest is a smaller problem, whose fillings may not hold more than is left. What
//! no filling is found for in the end the density greedy packs. Existing nodes and limited offers are used as in the
//! packing that it starts from. Limits of pools hold because each use is booked before it counts.
//!
//! Paper: papers.md, 11.

use crate::lower::Problem;
use crate::lp::highs::{Refused, Simplex};
use crate::options::PlanOptions;
use crate::quota::Unlimited;

use super::columns::converge;
use super::effort::{Effort, Share};
use super::farley::Farley;
use super::filler::Filler;
use super::generator::{Generator, Look, WORTHWHILE};
use super::ledger::Ledger;
use super::master::{Master, Pattern, Relaxed};
use super::merged::MOST_GROUPS;
use super::side::node::rules;
use super::valuation::Valuation;
use super::{Filling, Launched, Packing, density, downsize};

/// Rounds of generating between two rounds of fixing, and the nodes of the tree for each kind.
const ROUNDS: u32 = 8;
const NODES: u64 = 200;
/// A filling used nearly once is as good as used once, when there is none that is.
const NEARLY: f64 = 0.8;
/// Effort for what is left in the end, granted even when all other is used up: hundredths of a second.
const LAST_EFFORT: Share = Share {
    units: 400_000,
    hundredths: 100,
};

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// All that could be placed.
    pub packing: Packing,
    /// Values that bound every packing, where existing nodes and limited offers don't spoil that.
    pub farley: Option<Farley>,
    /// Fillings that the master program knew in the end.
    pub patterns: Vec<Pattern>,
    /// What a pod of each group is worth under the relaxation of the whole problem, in micro-dollars.
    pub values: Vec<f64>,
}

/// Effort for generating and for diving.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// For generating.
    pub generate: Share,
    /// For diving.
    pub dive: Share,
}

/// Packs by column generation; `None` where it has nothing to offer.
///
/// # Errors
/// When the solver refuses what it is given.
pub fn pack<'a>(
    problem: &'a Problem<'a>,
    filler: &Filler<'a>,
    starts: &[&Packing],
    values: &[f64],
    shares: Shares,
    effort: &mut Effort<'_>,
) -> Result<Option<Outcome>, Refused> {
    let Some(mut dive) = Dive::new(problem, starts)? else {
        return Ok(None);
    };
    effort.grant(shares.generate);
    let Dive {
        master,
        generator,
        demand,
        ..
    } = &mut dive;
    let converged = converge(problem, master, generator, demand, values, effort)?;
    effort.grant(shares.dive);
    let mut values = values.to_vec();
    if let Some(relaxed) = converged.relaxed {
        values.clone_from(&relaxed.values);
        dive.run(relaxed, effort)?;
    }
    let patterns = dive.master.patterns().to_vec();
    let alone = problem.rooms.is_empty() && problem.supplies.is_empty();
    Ok(Some(Outcome {
        packing: dive.finish(filler),
        farley: converged.farley.filter(|_| alone),
        patterns,
        values,
    }))
}

struct Dive<'a> {
    problem: &'a Problem<'a>,
    generator: Generator<'a>,
    master: Master<'a>,
    /// Pods that the master has to cover.
    demand: Vec<u64>,
    /// Pods that no kind of the generator takes.
    others: Vec<u64>,
    ledger: Ledger,
    rooms: Vec<Filling>,
    launched: Vec<Launched>,
}

impl<'a> Dive<'a> {
    fn new(problem: &'a Problem<'a>, starts: &[&Packing]) -> Result<Option<Self>, Refused> {
        let Some(rules) = rules(&problem.side) else {
            // What can't be kept here, [`super::side`] keeps.
            return Ok(None);
        };
        let tiers = problem.kinds.iter().map(|kind| kind.tier);
        if problem.is_restricted() && tiers.max() > Some(0) {
            // A limit may push pods to lighter pools, which the generator doesn't look at.
            return Ok(None);
        }
        let Some(base) = starts.first() else {
            return Ok(None);
        };
        let limited = |launched: &&Launched| problem.kinds[launched.kind].supply.is_some();
        let launched: Vec<Launched> = base.launched.iter().filter(limited).cloned().collect();
        let mut left = problem.counts();
        let mut ledger = Ledger::new(problem);
        for filling in &base.rooms {
            take(&mut left, filling, 1);
        }
        for launched in &launched {
            ledger.open(problem, launched.kind, launched.count);
            take(&mut left, &launched.filling, launched.count);
        }
        let Some(generator) = Generator::new(problem, &left, rules) else {
            return Ok(None);
        };
        let mut others = left.clone();
        for (group, count) in left.iter_mut().enumerate() {
            if generator.takes(group) {
                others[group] = 0;
            } else {
                *count = 0;
            }
        }
        let groups = left.iter().filter(|count| **count > 0).count();
        if groups == 0 || groups > MOST_GROUPS {
            return Ok(None);
        }
        let mut master = Master::new(problem, &left)?;
        let any = |_| true;
        let mut patterns: Vec<Pattern> = (0..left.len())
            .filter_map(|group| generator.single(group, left[group], any))
            .collect();
        let known = starts.iter().flat_map(|start| &start.launched);
        for launched in known.filter(|launched| !limited(launched)) {
            if let Some(filling) = clipped(&launched.filling, &left) {
                patterns.push(generator.settled(launched.kind, filling, &ledger));
            }
        }
        master.add(patterns)?;
        Ok(Some(Self {
            problem,
            generator,
            master,
            demand: left,
            others,
            ledger,
            rooms: base.rooms.clone(),
            launched,
        }))
    }

    fn run(&mut self, mut relaxed: Relaxed, effort: &mut Effort<'_>) -> Result<(), Refused> {
        while self.fix(&relaxed) && self.demand.iter().any(|count| *count > 0) && !effort.is_used_up() {
            self.shrink(&relaxed)?;
            let Some(next) = self.solve_again(effort)? else {
                break;
            };
            relaxed = next;
        }
        Ok(())
    }

    /// Uses what the relaxation uses at least once, else what it uses nearly once or most; false if nothing could be.
    fn fix(&mut self, relaxed: &Relaxed) -> bool {
        let mut order: Vec<usize> = (0..relaxed.levels.len())
            .filter(|at| relaxed.levels[*at] > 1e-6)
            .collect();
        order.sort_by(|one, two| (relaxed.levels[*two].total_cmp(&relaxed.levels[*one])).then(one.cmp(two)));
        let mut fixed = false;
        for at in order {
            let level = relaxed.levels[at] + 1e-6;
            if level < 1.0 && fixed && level < NEARLY {
                break;
            }
            let whole = whole(level).max(1);
            fixed |= self.apply(at, whole);
        }
        fixed
    }

    /// Uses a pattern so often, as far as demand and limits admit; whether at all.
    fn apply(&mut self, at: usize, count: u64) -> bool {
        let Pattern { kind, filling } = self.master.patterns()[at].clone();
        let lasts = filling
            .iter()
            .map(|(group, each)| self.demand[*group] / each)
            .min();
        let (pattern, count) = match lasts.unwrap_or(0) {
            0 => match clipped(&filling, &self.demand) {
                Some(filling) if filling_is_most_of(&filling, &self.master.patterns()[at].filling) => {
                    (self.generator.settled(kind, filling, &self.ledger), 1)
                }
                _ => return false,
            },
            lasts => (Pattern { kind, filling }, count.min(lasts)),
        };
        let count = count.min(self.ledger.allowed(self.problem, pattern.kind));
        if count == 0 {
            return false;
        }
        self.ledger.open(self.problem, pattern.kind, count);
        take(&mut self.demand, &pattern.filling, count);
        self.launched.push(Launched {
            kind: pattern.kind,
            filling: pattern.filling,
            count,
        });
        true
    }

    /// Makes the master that of the pods left over: no filling holds more than there is.
    fn shrink(&mut self, relaxed: &Relaxed) -> Result<(), Refused> {
        for (group, count) in self.demand.iter().enumerate() {
            self.master.demand(group, *count)?;
        }
        let (problem, ledger) = (self.problem, &self.ledger);
        let allowed = |kind: usize| ledger.allowed(problem, kind) > 0;
        let retired = self.master.retire(&self.demand, allowed)?;
        let mut smaller = Vec::new();
        for at in retired {
            let used = relaxed.levels.get(at).is_some_and(|level| *level > 1e-6);
            let Pattern { kind, filling } = &self.master.patterns()[at];
            if used && let Some(filling) = clipped(filling, &self.demand) {
                smaller.push(self.generator.settled(*kind, filling, ledger));
            }
        }
        for (group, count) in self.demand.iter().enumerate().filter(|(_, count)| **count > 0) {
            smaller.extend(self.generator.single(group, *count, allowed));
        }
        smaller.retain(|pattern| allowed(pattern.kind));
        self.master.add(smaller)?;
        Ok(())
    }

    fn solve_again(&mut self, effort: &mut Effort<'_>) -> Result<Option<Relaxed>, Refused> {
        let mut relaxed = self.master.solve(Simplex::Dual, effort);
        for _ in 0..ROUNDS {
            let Some(solved) = &relaxed else { break };
            let look = Look {
                share: WORTHWHILE,
                nodes: NODES,
                keep: 1,
                kicks: 4,
            };
            let values = Valuation::plain(self.problem, solved.values.clone());
            let found = self.generator.look(&values, &self.demand, look, effort);
            let mut patterns = found.map(|found| found.patterns).unwrap_or_default();
            patterns.retain(|pattern| self.ledger.allowed(self.problem, pattern.kind) > 0);
            if self.master.add(patterns)? == 0 {
                break;
            }
            let Some(next) = self.master.solve(Simplex::Primal, effort) else {
                break;
            };
            relaxed = Some(next);
        }
        Ok(relaxed)
    }

    /// Packs what is left by the density greedy, whatever effort is left.
    fn finish(mut self, filler: &Filler<'_>) -> Packing {
        let mut left = self.others;
        for (left, demand) in left.iter_mut().zip(&self.demand) {
            *left += demand;
        }
        let options = PlanOptions::default();
        let mut last = Effort::new(&options, &Unlimited);
        last.grant(LAST_EFFORT);
        let rest = density::launch(self.problem, filler, &mut left, &mut self.ledger, &mut last);
        self.launched.extend(rest);
        let mut packing = Packing {
            rooms: self.rooms,
            launched: self.launched,
            left,
        };
        packing.normalise();
        downsize::downsize(self.problem, &mut packing);
        packing
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded down on purpose; no level is negative"
)]
fn whole(level: f64) -> u64 {
    level as u64
}

fn take(left: &mut [u64], filling: &Filling, count: u64) {
    for (group, each) in filling {
        left[*group] -= each * count;
    }
}

/// As much of a filling as is left; `None` where that is nothing.
fn clipped(filling: &Filling, left: &[u64]) -> Option<Filling> {
    let parts = filling
        .iter()
        .map(|(group, count)| (*group, left[*group].min(*count)));
    let clipped: Filling = parts.filter(|(_, count)| *count > 0).collect();
    (!clipped.is_empty()).then_some(clipped)
}

/// Whether clipping took at most a fifth of the pods: less isn't worth its node.
fn filling_is_most_of(clipped: &Filling, whole: &Filling) -> bool {
    let pods = |filling: &Filling| filling.iter().map(|(_, count)| count).sum::<u64>();
    pods(clipped) * 5 >= pods(whole) * 4
}

#[cfg(test)]
#[path = "dive_tests.rs"]
mod tests;
