//! Several starts of an engine in place of one: the density greedy under shaken values, then ruin and recreate from the
//! best packing and from others.
//!
//! Promises: seeded and counted, so the same problem, seed and work limit give the same packing. Which packing wins in
//! the end is [`crate::plan`]'s to say.

use crate::lower::Problem;

use super::effort::Effort;
use super::filler::Filler;
use super::random::Random;
use super::{Packing, density, downsize, improve};

/// Starts of the density greedy.
const STARTS: u32 = 8;
/// By how much the values are shaken for each further start of the density greedy: later ones stray further.
const START_STRENGTH: f64 = 0.04;
/// By how much they are shaken for each further start of ruin and recreate.
const RESTART_STRENGTH: f64 = 0.5;
/// Kinds that downsizing looks at in the time that one unit of effort stands for.
const KINDS_A_UNIT: u64 = 2;
/// The part of all pods' worth that is spread over them by size, so that none is worth nothing.
const SIZE_SHARE: f64 = 0.01;

/// Fills nodes by what pods are worth.
#[must_use]
pub fn filler<'a>(problem: &'a Problem<'a>, values: &[f64]) -> Filler<'a> {
    let scale = scale(problem, &problem.counts());
    Filler::new(problem, blended(problem, values, &scale), &scale)
}

/// Ruin and recreate from the best packing, then from others at random: what one start never reaches another may.
#[must_use]
pub fn improved<'a>(
    problem: &'a Problem<'a>,
    filler: &mut Filler<'a>,
    best: Packing,
    floor: u64,
    seed: u64,
    restarts: u64,
    effort: &mut Effort<'_>,
) -> Packing {
    let mut best = improve::improve(problem, filler, best, floor, seed, effort);
    if !effort.is_late() {
        // Looks at all kinds for each node.
        let looks = best.launched.len() * problem.kinds.len();
        effort.spend(u64::try_from(looks).unwrap_or(u64::MAX) / KINDS_A_UNIT);
        downsize::downsize(problem, &mut best);
    }
    for restart in 1..=restarts {
        if best.cost(problem) <= floor || effort.is_used_up() {
            break;
        }
        let seed = seed.wrapping_add(restart);
        let start = shaken(problem, filler, RESTART_STRENGTH, &mut Random::new(seed), effort);
        let other = improve::improve(problem, filler, start, floor, seed, effort);
        if other.is_better_than(&best, problem) {
            best = other;
        }
    }
    best
}

/// The density greedy with each value up to half of `strength` higher or lower.
fn shaken<'a>(
    problem: &'a Problem<'a>,
    filler: &mut Filler<'a>,
    strength: f64,
    random: &mut Random,
    effort: &mut Effort<'_>,
) -> Packing {
    let values = filler.values.clone();
    for value in &mut filler.values {
        *value *= 1.0 + strength * (random.unit() - 0.5);
    }
    let packing = density::pack(problem, filler, effort);
    filler.values = values;
    packing
}

/// The best of several runs, the first with values as they are, the others shaken.
#[must_use]
pub fn starts<'a>(
    problem: &'a Problem<'a>,
    filler: &mut Filler<'a>,
    seed: u64,
    effort: &mut Effort<'_>,
) -> Packing {
    let mut random = Random::new(seed);
    let mut best = density::pack(problem, filler, effort);
    for start in 1..STARTS {
        if effort.is_used_up() {
            break;
        }
        let other = shaken(
            problem,
            filler,
            START_STRENGTH * f64::from(start),
            &mut random,
            effort,
        );
        if other.is_better_than(&best, problem) {
            best = other;
        }
    }
    best
}

/// What a unit of each resource is worth where the bound's prices don't tell: its share of all that is asked for.
#[expect(clippy::cast_precision_loss, reason = "guidance only")]
fn scale(problem: &Problem<'_>, counts: &[u64]) -> Vec<f64> {
    (0..problem.resources.len())
        .map(|column| {
            let total: f64 = counts
                .iter()
                .enumerate()
                .map(|(group, count)| problem.request(group)[column] as f64 * *count as f64)
                .sum();
            if total > 0.0 { 1.0 / total } else { 0.0 }
        })
        .collect()
}

/// Values with a little of each pod's size mixed in, so that none is worth nothing.
#[expect(clippy::cast_precision_loss, reason = "guidance only")]
fn blended(problem: &Problem<'_>, values: &[f64], scale: &[f64]) -> Vec<f64> {
    let counts = problem.counts();
    let total: f64 = values
        .iter()
        .zip(&counts)
        .map(|(value, count)| value * *count as f64)
        .sum();
    let size = |group: usize| -> f64 {
        let request = problem.request(group).iter().zip(scale);
        request.map(|(amount, scale)| *amount as f64 * scale).sum()
    };
    values
        .iter()
        .enumerate()
        .map(|(group, value)| value + SIZE_SHARE * total.max(1.0) * size(group))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use super::*;
    use crate::lower::lower;
    use crate::options::PlanOptions;
    use crate::pack::lower_bound;
    use crate::quota::{Quota, Unlimited};
    use crate::testing::build::{Cluster, machine};

    /// Time is up at a question of a certain number.
    struct AtQuestion {
        asked: Cell<u64>,
        stop: u64,
    }

    impl Quota for AtQuestion {
        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }

        fn remaining(&self) -> Option<Duration> {
            self.asked.set(self.asked.get() + 1);
            let is_over = self.asked.get() >= self.stop;
            Some(Duration::from_secs(if is_over { 0 } else { 3_600 }))
        }
    }

    /// Counted effort between two questions, and after the last one: two milliseconds or so.
    const MOST_BETWEEN: u64 = 45_000;

    #[test]
    fn little_is_done_between_two_questions_and_after_the_last() {
        let mut cluster = Cluster::new().pool("default");
        for cores in 1..=30 {
            let (name, cpu) = (format!("m{cores}"), cores.to_string());
            let price = format!("0.{:03}", 20 * cores + cores % 7);
            cluster = cluster.instance_type(machine(&name, &cpu, &format!("{}Gi", 3 * cores), &price));
        }
        for at in 0..60 {
            let (cpu, memory) = (
                format!("{}m", 300 + 41 * at),
                format!("{}Mi", 400 + 170 * (at % 17)),
            );
            cluster = cluster.pods(&format!("app-{at}"), 50, &cpu, &memory);
        }
        let snapshot = cluster.freeze();
        let problem = lower(&snapshot);
        let options = PlanOptions::default();
        let mut unlimited = Effort::new(&options, &Unlimited);
        let prices = lower_bound::prices(&problem, &problem.counts(), &mut unlimited).unwrap();
        let mut filler = filler(&problem, &prices.values());
        let start = density::pack(&problem, &filler, &mut unlimited);
        let nodes = start.launches();
        assert!(nodes > 100, "{nodes} nodes");
        let mut before = 0;
        for stop in 1..16 {
            let quota = AtQuestion {
                asked: Cell::new(0),
                stop,
            };
            let mut effort = Effort::new(&options, &quota);
            let best = improved(&problem, &mut filler, start.clone(), 0, 1, 3, &mut effort);
            assert!(effort.is_over() && best.cost(&problem) <= start.cost(&problem));
            assert!(best.left.iter().all(|left| *left == 0));
            let spent = effort.spent();
            assert!(
                spent <= before + MOST_BETWEEN,
                "{} between the questions {stop} and the one before",
                spent.saturating_sub(before)
            );
            before = spent;
        }
    }
}
