//! One dive: fix what the relaxation uses often, generate again for what is left, repeat.
//!
//! A filling that the relaxation uses at least once is used as often as it says, rounded down; where there is none,
//! the one it uses most is used once. The rest is a smaller problem, whose fillings may not hold more than is left.
//! Limits of pools hold because each use is booked before it counts. A [`Whim`] makes dives differ: what is used
//! about as often may change places.
//!
//! Paper: papers.md, 11.

use crate::lower::Problem;
use crate::lp::run::{Refused, Simplex};

use super::effort::Effort;
use super::generator::{Generator, Look, WORTHWHILE};
use super::ledger::Ledger;
use super::master::{Master, Pattern, Relaxed};
use super::random::Random;
use super::reserve::Reserve;
use super::valuation::Valuation;
use super::{Filling, Launched, float, whole_part};

/// Levels this near to a whole number are one; what is used less than this isn't used.
const NEAR: f64 = 1e-6;
/// Rounds of generating between two rounds of fixing. Most end sooner, for want of worthwhile fillings; this bounds the few
/// that don't, since one more dive gains more than a relaxation that is closer.
const ROUNDS: u32 = 8;
/// Quick, since it is done for all kinds after each round of fixing: a hundred nodes of the tree are the first look of
/// [`super::columns`], and few fillings of each kind do, since the next round of fixing changes what is left.
const LOOK: Look = Look {
    share: WORTHWHILE,
    nodes: 100,
    keep: 3,
    kicks: 4,
};
/// Where kinds are few, fillings that go well together may be worth so little of their cost.
const HALF: f64 = 0.5;
/// Columns added in a round, and the number that makes a round worth it without a look: fewer than where columns are
/// generated at first, since what is left has fewer groups and the master's time grows with its columns.
const MOST_A_ROUND: usize = 60;
const ENOUGH: usize = 5;

/// How far a dive strays from what the relaxation says.
#[derive(Clone, Debug)]
pub struct Whim {
    /// A filling used nearly once is as good as used once, when there is none that is.
    nearly: f64,
    /// How much more or less often a filling may seem to be used.
    noise: f64,
    random: Random,
}

impl Whim {
    /// None at all for the first dive, another for each that comes after.
    #[must_use]
    pub fn of(attempt: u64) -> Self {
        let mut random = Random::new(attempt);
        if attempt == 0 {
            return Self {
                nearly: 0.8,
                noise: 0.0,
                random,
            };
        }
        Self {
            nearly: 0.6 + 0.35 * random.unit(),
            noise: 0.1 + 0.5 * random.unit(),
            random,
        }
    }
}

/// What is placed and what is not.
#[derive(Clone, Debug)]
pub struct State {
    /// Pods that the master has to cover.
    pub demand: Vec<u64>,
    /// What limits still allow.
    pub ledger: Ledger,
    /// What is used so far.
    pub launched: Vec<Launched>,
    /// Micro-dollars of it.
    pub cost: u64,
}

impl State {
    /// Launches so many of a pattern, which the ledger allows.
    pub fn launch(&mut self, problem: &Problem<'_>, pattern: Pattern, count: u64) {
        self.ledger.open(problem, pattern.kind, count);
        take(&mut self.demand, &pattern.filling, count);
        self.cost += problem.kinds[pattern.kind].cost * count;
        self.launched.push(Launched {
            kind: pattern.kind,
            filling: pattern.filling,
            count,
        });
    }

    /// Whether nothing is left for the master.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.demand.iter().all(|count| *count == 0)
    }
}

/// A dive at work.
pub struct Descent<'d, 'a> {
    /// What is packed.
    pub problem: &'a Problem<'a>,
    /// Where fillings come from.
    pub generator: &'d mut Generator<'a>,
    /// Where they are.
    pub master: &'d mut Master<'a>,
    /// Where others are.
    pub reserve: &'d mut Reserve,
    /// How far it is.
    pub state: State,
    /// How it strays.
    pub whim: Whim,
    /// Micro-dollars that it has to stay below; it ends where it hardly can.
    pub ceiling: f64,
}

impl Descent<'_, '_> {
    /// Dives until all is covered, it gets too dear, or the effort is used up. The last values of pods.
    ///
    /// # Errors
    /// When the solver refuses what it is given.
    pub fn run(&mut self, mut relaxed: Relaxed, effort: &mut Effort<'_>) -> Result<Vec<f64>, Refused> {
        while float(self.state.cost) + relaxed.cost < self.ceiling
            && self.fix(&relaxed)
            && !self.state.is_complete()
            && !effort.is_used_up()
        {
            self.shrink(&relaxed)?;
            let Some(next) = self.solve_again(effort)? else {
                break;
            };
            relaxed = next;
        }
        Ok(relaxed.values)
    }

    /// Uses what the relaxation uses at least once, else what it uses nearly once or most; false if nothing could be.
    fn fix(&mut self, relaxed: &Relaxed) -> bool {
        let Whim {
            nearly,
            noise,
            random,
        } = &mut self.whim;
        let levels = relaxed.levels.iter().enumerate();
        let mut order: Vec<(f64, usize)> = levels
            .filter(|(_, level)| **level > NEAR)
            .map(|(at, level)| (level + *noise * (random.unit() - 0.5), at))
            .collect();
        let nearly = *nearly;
        order.sort_by(|one, two| two.0.total_cmp(&one.0).then(one.1.cmp(&two.1)));
        let mut fixed = false;
        for (seeming, at) in order {
            let level = relaxed.levels[at] + NEAR;
            if level < 1.0 && fixed && seeming < nearly {
                break;
            }
            fixed |= self.apply(at, whole_part(level).max(1));
        }
        fixed
    }

    /// Uses a pattern so often, as far as demand and limits admit; whether at all.
    fn apply(&mut self, at: usize, count: u64) -> bool {
        let Pattern { kind, filling } = self.master.patterns()[at].clone();
        let lasts = filling
            .iter()
            .map(|(group, each)| self.state.demand[*group] / each)
            .min();
        let (pattern, count) = match lasts.unwrap_or(0) {
            0 => match clipped(&filling, &self.state.demand) {
                Some(filling) if filling_is_most_of(&filling, &self.master.patterns()[at].filling) => {
                    (self.generator.settled(kind, filling, &self.state.ledger), 1)
                }
                _ => return false,
            },
            lasts => (Pattern { kind, filling }, count.min(lasts)),
        };
        let count = count.min(self.state.ledger.allowed(self.problem, pattern.kind));
        if count == 0 {
            return false;
        }
        self.state.launch(self.problem, pattern, count);
        true
    }

    /// Makes the master that of the pods left over: no filling holds more than there is.
    fn shrink(&mut self, relaxed: &Relaxed) -> Result<(), Refused> {
        let State { demand, ledger, .. } = &self.state;
        let problem = self.problem;
        let allowed = |kind: usize| ledger.allowed(problem, kind) > 0;
        let retired = self.master.cover(demand, allowed)?;
        let mut smaller = Vec::new();
        for at in retired {
            let used = relaxed.levels.get(at).is_some_and(|level| *level > NEAR);
            let Pattern { kind, filling } = &self.master.patterns()[at];
            if used && let Some(filling) = clipped(filling, demand) {
                smaller.push(self.generator.settled(*kind, filling, ledger));
            }
        }
        for (group, count) in demand.iter().enumerate().filter(|(_, count)| **count > 0) {
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
            let values = Valuation::new(self.problem, solved.values.clone());
            let mut patterns = self.draw(&values, effort);
            if patterns.len() < ENOUGH {
                self.look(&values, effort);
                patterns.extend(self.draw(&values, effort));
            }
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

    /// Fillings from the reserve that are worthwhile, hold no more than is left and are of a kind that may be launched.
    fn draw(&mut self, values: &Valuation, effort: &mut Effort<'_>) -> Vec<Pattern> {
        let State { demand, ledger, .. } = &self.state;
        let is_admitted = |pattern: &Pattern| {
            let mut parts = pattern.filling.iter();
            parts.all(|(group, count)| demand[*group] >= *count)
                && ledger.allowed(self.problem, pattern.kind) > 0
        };
        self.reserve
            .draw_where(self.generator, values, MOST_A_ROUND, is_admitted, effort)
    }

    fn look(&mut self, values: &Valuation, effort: &mut Effort<'_>) {
        let demand = &self.state.demand;
        if self.generator.has_few_kinds() {
            let look = Look { share: HALF, ..LOOK };
            let patterns = self.generator.together(values, demand, look, effort);
            self.reserve.keep(patterns);
        }
        if let Some(found) = self.generator.look(values, demand, LOOK, effort) {
            self.reserve.keep(found.patterns);
        }
    }
}

/// Takes the pods of so many fillings away.
pub fn take(left: &mut [u64], filling: &Filling, count: u64) {
    for (group, each) in filling {
        left[*group] -= each * count;
    }
}

/// As much of a filling as is left; `None` where that is nothing.
#[must_use]
pub fn clipped(filling: &Filling, left: &[u64]) -> Option<Filling> {
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
