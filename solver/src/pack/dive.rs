//! From a fractional master program to a packing: dives, as many as the effort allows, each a little different.
//!
//! Columns are generated first, then each dive of [`super::descent`] leads to a packing, and the cheapest is taken. What
//! a dive leaves in the end the density greedy packs, under several values of pods. Existing nodes and limited offers
//! are used as in the packing that it starts from.
//!
//! Paper: papers.md, 11.

use crate::lower::Problem;
use crate::lp::run::{Refused, Simplex};
use crate::options::PlanOptions;
use crate::quota::Unlimited;

use super::columns::{Converged, converge};
use super::descent::{Descent, State, Whim, clipped, take};
use super::effort::{Effort, Share};
use super::farley::Farley;
use super::filler::Filler;
use super::generator::Generator;
use super::ledger::Ledger;
use super::lower_bound::attainable;
use super::master::{Master, Pattern, Relaxed};
use super::merged::MOST_GROUPS;
use super::random::Random;
use super::reserve::Reserve;
use super::side::node::rules;
use super::{Filling, Launched, Packing, credits, density, downsize, float};

/// Dives in vain after which there are no more: the effort mostly ends before, and where dives are that quick the sixtieth
/// whim is much like those before it.
const PATIENCE: u64 = 60;
/// Effort for what is left in the end, granted even when all other is used up: hundredths of a second.
const LAST_EFFORT: Share = Share {
    units: 400_000,
    hundredths: 100,
};
/// Ways to pack what is left in the end, and how far values are shaken for all but the first two: enough to change the order
/// of pods that are worth about the same for their size. What is left are few pods, so that a way takes next to nothing.
const ENDINGS: u64 = 6;
const END_STRENGTH: f64 = 0.3;

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// All that could be placed.
    pub packing: Packing,
    /// Values that bound every packing, less what existing nodes and limited offers take off.
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
    let Some(generated) = generated(problem, starts, values, shares.generate, effort)? else {
        return Ok(None);
    };
    let Generated {
        ground,
        mut generator,
        master,
        demand,
        converged,
    } = generated;
    effort.grant(shares.dive);
    let farley = converged.farley;
    let farley = farley.and_then(|farley| credits::settled(problem, &mut generator, farley, effort));
    // What is launched beside the demand of the master only adds to its cost.
    let all = problem.counts();
    let bound = farley.as_ref().map_or(0, |farley| farley.bound(&all));
    let mut dives = Dives {
        problem,
        filler,
        generator,
        master,
        reserve: converged.reserve,
        floor: attainable(problem, &all, bound),
        step: float(attainable(problem, &demand, 1)),
        ceiling: ground.ceiling,
        ground,
        best: None,
    };
    let mut values = values.to_vec();
    if let Some(relaxed) = converged.relaxed {
        values.clone_from(&relaxed.values);
        dives.run(relaxed, effort)?;
    }
    let packing = match dives.best.take() {
        Some(packing) => packing,
        None => dives.ended(&dives.ground.state, &values, 1),
    };
    Ok(Some(Outcome {
        packing,
        farley,
        patterns: dives.master.patterns().to_vec(),
        values,
    }))
}

/// Only the values that bound every packing, generated from one; `None` where there are none.
///
/// # Errors
/// When the solver refuses what it is given.
pub fn bound<'a>(
    problem: &'a Problem<'a>,
    start: &Packing,
    values: &[f64],
    share: Share,
    effort: &mut Effort<'_>,
) -> Result<Option<Farley>, Refused> {
    let Some(mut generated) = generated(problem, &[start], values, share, effort)? else {
        return Ok(None);
    };
    effort.grant(share);
    let farley = generated.converged.farley;
    Ok(farley.and_then(|farley| credits::settled(problem, &mut generated.generator, farley, effort)))
}

/// Column generation that has come to its end.
struct Generated<'a> {
    ground: Ground,
    generator: Generator<'a>,
    master: Master<'a>,
    demand: Vec<u64>,
    converged: Converged,
}

fn generated<'a>(
    problem: &'a Problem<'a>,
    starts: &[&Packing],
    values: &[f64],
    share: Share,
    effort: &mut Effort<'_>,
) -> Result<Option<Generated<'a>>, Refused> {
    let Some((ground, mut generator)) = Ground::new(problem, starts) else {
        return Ok(None);
    };
    let demand = ground.state.demand.clone();
    let mut master = Master::new(problem, &demand)?;
    master.add(ground.known(problem, &generator, starts))?;
    effort.grant(share);
    let converged = converge(problem, &mut master, &mut generator, &demand, values, effort)?;
    Ok(Some(Generated {
        ground,
        generator,
        master,
        demand,
        converged,
    }))
}

/// What all dives start from.
struct Ground {
    state: State,
    /// Pods that no kind of the generator takes.
    others: Vec<u64>,
    rooms: Vec<Filling>,
    /// Cost that a packing has to stay below; none where the one it starts from leaves pods that could be placed.
    ceiling: u64,
}

impl Ground {
    fn new<'a>(problem: &'a Problem<'a>, starts: &[&Packing]) -> Option<(Self, Generator<'a>)> {
        // What can't be kept here, [`super::side`] keeps.
        let rules = rules(&problem.side)?;
        if !problem.weights_are_settled() {
            // Some pods may be pushed to lighter pools, which the generator doesn't look at.
            return None;
        }
        let base = starts.first()?;
        let mut demand = problem.counts();
        for filling in &base.rooms {
            take(&mut demand, filling, 1);
        }
        let mut state = State {
            ledger: Ledger::new(problem),
            launched: Vec::new(),
            cost: 0,
            demand,
        };
        for launched in base
            .launched
            .iter()
            .filter(|launched| is_limited(problem, launched))
        {
            let pattern = Pattern {
                kind: launched.kind,
                filling: launched.filling.clone(),
            };
            state.launch(problem, pattern, launched.count);
        }
        let generator = Generator::new(problem, &state.demand, rules)?;
        let mut others = state.demand.clone();
        for (group, count) in state.demand.iter_mut().enumerate() {
            if generator.takes(group) {
                others[group] = 0;
            } else {
                *count = 0;
            }
        }
        let groups = state.demand.iter().filter(|count| **count > 0).count();
        if groups == 0 || groups > MOST_GROUPS {
            return None;
        }
        let leaves_any = (base.left.iter().zip(&state.demand)).any(|(left, demand)| *left > 0 && *demand > 0);
        let ceiling = if leaves_any { u64::MAX } else { base.cost(problem) };
        let ground = Self {
            state,
            others,
            rooms: base.rooms.clone(),
            ceiling,
        };
        Some((ground, generator))
    }

    /// A filling of each group alone, and those of the packings.
    fn known(&self, problem: &Problem<'_>, generator: &Generator<'_>, starts: &[&Packing]) -> Vec<Pattern> {
        let State { demand, ledger, .. } = &self.state;
        let mut patterns: Vec<Pattern> = (0..demand.len())
            .filter_map(|group| generator.single(group, demand[group], |_| true))
            .collect();
        let known = starts.iter().flat_map(|start| &start.launched);
        for launched in known.filter(|launched| !is_limited(problem, launched)) {
            if let Some(filling) = clipped(&launched.filling, demand) {
                patterns.push(generator.settled(launched.kind, filling, ledger));
            }
        }
        patterns
    }
}

fn is_limited(problem: &Problem<'_>, launched: &Launched) -> bool {
    problem.kinds[launched.kind].supply.is_some()
}

/// Dives from one ground.
struct Dives<'f, 'a> {
    problem: &'a Problem<'a>,
    filler: &'f Filler<'a>,
    generator: Generator<'a>,
    master: Master<'a>,
    reserve: Reserve,
    ground: Ground,
    best: Option<Packing>,
    /// Micro-dollars in which costs differ.
    step: f64,
    /// No packing is cheaper.
    floor: u64,
    /// Cost of the cheapest so far.
    ceiling: u64,
}

impl Dives<'_, '_> {
    fn run(&mut self, root: Relaxed, effort: &mut Effort<'_>) -> Result<(), Refused> {
        let mut vain = 0;
        let mut next = Some(root);
        for attempt in 0.. {
            let Some(relaxed) = next.take() else { break };
            let before = self.ceiling;
            self.dive(relaxed, attempt, effort)?;
            vain = if self.ceiling < before { 0 } else { vain + 1 };
            if self.ceiling <= self.floor || vain > PATIENCE || effort.is_used_up() {
                break;
            }
            let State { demand, ledger, .. } = &self.ground.state;
            let problem = self.problem;
            self.master
                .cover(demand, |kind| ledger.allowed(problem, kind) > 0)?;
            next = self.master.solve(Simplex::Dual, effort);
        }
        Ok(())
    }

    fn dive(&mut self, relaxed: Relaxed, attempt: u64, effort: &mut Effort<'_>) -> Result<(), Refused> {
        // The first one is to lead to a packing in any case.
        let ceiling = if attempt == 0 {
            f64::INFINITY
        } else {
            float(self.ceiling) - self.step * 0.999
        };
        let mut descent = Descent {
            problem: self.problem,
            generator: &mut self.generator,
            master: &mut self.master,
            reserve: &mut self.reserve,
            state: self.ground.state.clone(),
            whim: Whim::of(attempt),
            ceiling,
        };
        let values = descent.run(relaxed, effort)?;
        let state = descent.state;
        if attempt > 0 && float(state.cost) >= ceiling {
            return Ok(());
        }
        let endings = if state.is_complete() || effort.is_used_up() {
            1
        } else {
            ENDINGS
        };
        let packing = self.ended(&state, &values, endings);
        let is_better = |best: &Packing| packing.is_better_than(best, self.problem);
        if self.best.as_ref().is_none_or(is_better) {
            if packing
                .left
                .iter()
                .zip(&self.ground.state.demand)
                .all(|(left, demand)| *left == 0 || *demand == 0)
            {
                self.ceiling = self.ceiling.min(packing.cost(self.problem));
            }
            self.best = Some(packing);
        }
        Ok(())
    }

    /// With what is left packed by the density greedy, whatever effort is left: under the last values of pods, under those
    /// of the filler, and under some between and around them. The best of so many.
    fn ended(&self, state: &State, values: &[f64], endings: u64) -> Packing {
        let mut best: Option<Packing> = None;
        for ending in 0..endings {
            let mut filler = self.filler.clone();
            if ending != 1 {
                let mut random = Random::new(ending);
                for (value, last) in filler.values.iter_mut().zip(values) {
                    let shake = if ending == 0 {
                        1.0
                    } else {
                        1.0 + END_STRENGTH * (random.unit() - 0.5)
                    };
                    // A little of what the filler says, so that no pod is worth nothing.
                    *value = (0.99 * last + 0.01 * *value) * shake;
                }
            }
            let packing = self.packed(state, &filler);
            let is_better = |best: &Packing| packing.is_better_than(best, self.problem);
            if best.as_ref().is_none_or(is_better) {
                best = Some(packing);
            }
        }
        best.unwrap_or_default()
    }

    fn packed(&self, state: &State, filler: &Filler<'_>) -> Packing {
        let mut left = self.ground.others.clone();
        for (left, demand) in left.iter_mut().zip(&state.demand) {
            *left += demand;
        }
        let options = PlanOptions::default();
        let mut last = Effort::new(&options, &Unlimited);
        last.grant(LAST_EFFORT);
        let mut ledger = state.ledger.clone();
        let mut launched = state.launched.clone();
        launched.extend(density::launch(
            self.problem,
            filler,
            &mut left,
            &mut ledger,
            &mut last,
        ));
        let mut packing = Packing {
            rooms: self.ground.rooms.clone(),
            launched,
            left,
        };
        packing.normalise();
        downsize::downsize(self.problem, &mut packing);
        packing
    }
}

#[cfg(test)]
#[path = "dive_tests.rs"]
mod tests;
