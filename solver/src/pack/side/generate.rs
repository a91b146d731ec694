//! Column generation with side rows.
//!
//! Unlike the generator for problems without them, this one has existing nodes and offers of limited number among its
//! places, values by place, and nodes that may cost nothing. So a filling is worth its column by what it brings beyond its
//! cost, not by a ratio, and the bound is [`Bound`]. Values are taken between the duals and the best so far first.
//!
//! Papers: papers.md, 1, 2 and 12.

use crate::lower::Problem;
use crate::lower::side::Place;
use crate::lp::run::{Refused, Simplex};
use crate::pack::Filling;
use crate::pack::effort::Effort;
use crate::pack::float;

use super::bound::{Bound, Values};
use super::fill::Filler;
use super::linear::Linear;
use super::program::{Pattern, Program, Relaxed};
use super::verdict;

/// Weight of the best values so far against the duals, tried where the one before finds nothing.
const SMOOTHING: [f64; 2] = [0.5, 0.0];
/// Nodes of the tree for each place, at first and before the search is given up.
const FIRST_NODES: u64 = 200;
const MOST_NODES: u64 = 20_000;
/// A filling has to be worth so much more than it costs, in micro-dollars.
const WORTHWHILE: f64 = 0.5;
/// Distance of the relaxation from its bound at which generating ends.
const CLOSE_ENOUGH: f64 = 1e-5;

/// Looks for fillings of all places.
#[derive(Debug)]
pub struct Generator<'a> {
    problem: &'a Problem<'a>,
    linear: &'a Linear,
    filler: Filler<'a>,
    places: Vec<Place>,
}

/// What one look at all places found.
#[derive(Debug)]
pub struct Found {
    /// Of each place the best filling, where it is worth more than it costs.
    pub patterns: Vec<Pattern>,
    /// Of each place what the pods of no filling are worth more than.
    pub most: Vec<(Place, f64)>,
}

/// What generating led to.
#[derive(Debug, Default)]
pub struct Converged {
    /// The last solution of the relaxation; `None` when not even the first was reached.
    pub relaxed: Option<Relaxed>,
    /// The best bound.
    pub bound: Option<Bound>,
}

impl<'a> Generator<'a> {
    /// For a problem and its rows.
    #[must_use]
    pub fn new(problem: &'a Problem<'a>, linear: &'a Linear) -> Self {
        let filler = Filler::new(problem, linear);
        let rooms = (0..problem.rooms.len()).map(Place::Room);
        let kinds = (0..problem.kinds.len()).map(Place::Kind);
        let holds_any =
            |place: &Place| (0..problem.groups.len()).any(|group| filler.is_usable(group, *place));
        let places = rooms.chain(kinds).filter(holds_any).collect();
        Self {
            problem,
            linear,
            filler,
            places,
        }
    }

    /// In each place: as many of each group alone as fit.
    #[must_use]
    pub fn singles(&self, left: &[u64], used: &[i64]) -> Vec<Pattern> {
        let mut patterns = Vec::new();
        for place in &self.places {
            for group in 0..left.len() {
                let most = self.linear.most(group, *place, left, used);
                let count = self.filler.copies(group, *place).min(most);
                if count > 0 {
                    patterns.push(Pattern {
                        place: *place,
                        filling: vec![(group, count)],
                    });
                }
            }
        }
        patterns
    }

    /// All fillings of all places, if they are no more than so many.
    #[must_use]
    pub fn all(&self, most: usize) -> Option<Vec<Pattern>> {
        let counts = self.problem.counts();
        let mut patterns = Vec::new();
        for place in &self.places {
            let mut fillings = vec![Filling::new()];
            for (group, count) in counts.iter().enumerate() {
                if !self.filler.is_usable(group, *place) {
                    continue;
                }
                for at in 0..fillings.len() {
                    for number in 1..=*count {
                        let mut filling = fillings[at].clone();
                        filling.push((group, number));
                        if !verdict::on_node(self.problem, *place, &filling).is_empty() {
                            break;
                        }
                        fillings.push(filling);
                        if patterns.len() + fillings.len() > most {
                            return None;
                        }
                    }
                }
            }
            let fillings = fillings.into_iter().filter(|filling| !filling.is_empty());
            patterns.extend(fillings.map(|filling| Pattern {
                place: *place,
                filling,
            }));
        }
        Some(patterns)
    }

    /// The best filling of each place that is worth more than it costs under these values, and what none exceeds;
    /// `None` when the effort is used up.
    pub fn look(
        &mut self,
        values: &Values,
        (left, used): (&[u64], &[i64]),
        nodes: u64,
        effort: &mut Effort<'_>,
    ) -> Option<Found> {
        let mut patterns = Vec::new();
        let mut most = Vec::with_capacity(self.places.len());
        for place in &self.places {
            if effort.is_used_up() {
                return None;
            }
            let floor = values.node_cost(self.problem, self.linear, *place) + WORTHWHILE;
            let filled = self
                .filler
                .fill(*place, values, (left, used), (floor, nodes), effort);
            most.push((*place, filled.upper));
            if filled.value > floor && !filled.filling.is_empty() {
                patterns.push(Pattern {
                    place: *place,
                    filling: filled.filling,
                });
            }
        }
        Some(Found { patterns, most })
    }

    /// Generates until the relaxation is near its bound, nothing is found, or the effort is used up.
    ///
    /// # Errors
    /// When the solver refuses what it is given.
    pub fn converge(
        &mut self,
        program: &mut Program<'_>,
        effort: &mut Effort<'_>,
    ) -> Result<Converged, Refused> {
        let demand = self.problem.counts();
        let nothing = vec![0; self.linear.rows.len()];
        let mut converged = Converged::default();
        let mut centre: Option<(u64, Vec<f64>, Vec<f64>)> = None;
        let (mut weight, mut nodes) = (0, FIRST_NODES);
        while let Some(solved) = program.solve(Simplex::Primal, effort) {
            let share = SMOOTHING[weight];
            let (values, duals) = match &centre {
                Some((_, values, duals)) => (
                    between(values, &solved.values, share),
                    between(duals, &solved.duals, share),
                ),
                None => (solved.values.clone(), solved.duals.clone()),
            };
            let cost = solved.cost;
            converged.relaxed = Some(solved);
            let whole = Values::new(self.linear, &values, &duals);
            let Some(Found { patterns, most }) = self.look(&whole, (&demand, &nothing), nodes, effort) else {
                break;
            };
            let bound = Bound::new(self.problem, self.linear, whole, &most);
            let reached = bound.as_ref().map_or(0, |bound| bound.bound(&demand));
            if centre.as_ref().is_none_or(|(best, ..)| reached > *best) {
                centre = Some((reached, values, duals));
                converged.bound = bound;
            }
            if float(reached) >= cost * (1.0 - CLOSE_ENOUGH) {
                break;
            }
            if program.add(patterns)? > 0 {
                weight = 0;
            } else if weight + 1 < SMOOTHING.len() {
                weight += 1;
            } else if nodes < MOST_NODES {
                nodes = (nodes * 10).min(MOST_NODES);
            } else {
                break;
            }
        }
        Ok(converged)
    }

    /// A few rounds for what is left: no filling holds more.
    ///
    /// # Errors
    /// When the solver refuses what it is given.
    pub fn again(
        &mut self,
        program: &mut Program<'_>,
        left: (&[u64], &[i64]),
        rounds: u32,
        effort: &mut Effort<'_>,
    ) -> Result<Option<Relaxed>, Refused> {
        let Some(mut relaxed) = program.solve(Simplex::Dual, effort) else {
            return Ok(None);
        };
        for _ in 0..rounds {
            let values = Values::new(self.linear, &relaxed.values, &relaxed.duals);
            let Some(Found { patterns, .. }) = self.look(&values, left, FIRST_NODES, effort) else {
                break;
            };
            if program.add(patterns)? == 0 {
                break;
            }
            let Some(next) = program.solve(Simplex::Primal, effort) else {
                break;
            };
            relaxed = next;
        }
        Ok(Some(relaxed))
    }
}

fn between(one: &[f64], two: &[f64], share: f64) -> Vec<f64> {
    let both = one.iter().zip(two);
    both.map(|(one, two)| share * one + (1.0 - share) * two).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::side::SideRows;
    use crate::options::PlanOptions;
    use crate::pack::random::Random;
    use crate::quota::Unlimited;
    use crate::testing::synthetic::{self, Ingredients};

    /// What a filling is worth under values, with all its penalties.
    fn worth(problem: &Problem<'_>, linear: &Linear, values: &Values, pattern: &Pattern) -> f64 {
        let caps = SideRows {
            caps: problem.side.caps.clone(),
            ..SideRows::default()
        };
        let excess = verdict::on_node_penalty(&caps, pattern.place, &pattern.filling);
        let pods = pattern
            .filling
            .iter()
            .map(|(group, count)| values.pod(problem, linear, *group, pattern.place) * float(*count));
        pods.sum::<f64>() - float(excess)
    }

    #[test]
    fn the_best_filling_of_each_place_is_found_and_none_exceeds_its_bound() {
        let (mut found_some, mut capped) = (0, 0);
        for seed in 0..400 {
            let mut random = Random::new(seed);
            let snapshot = synthetic::cluster(&mut random, Ingredients::ALL);
            let mut problem = synthetic::problem(&snapshot);
            problem.side = synthetic::side(&mut random, &problem, Ingredients::ALL);
            let linear = Linear::of(&problem);
            let mut generator = Generator::new(&problem, &linear);
            let of_groups: Vec<f64> = problem.groups.iter().map(|_| 90_000.0 * random.unit()).collect();
            let of_rows: Vec<f64> = linear
                .rows
                .iter()
                .map(|_| 20_000.0 * (random.unit() - 0.5))
                .collect();
            let values = Values::new(&linear, &of_groups, &of_rows);
            let options = PlanOptions::default();
            let mut effort = Effort::new(&options, &Unlimited);
            let counts = problem.counts();
            let used = vec![0; linear.rows.len()];
            let found = generator
                .look(&values, (&counts, &used), u64::MAX, &mut effort)
                .unwrap();
            let all = generator.all(usize::MAX).unwrap();
            for (place, upper) in &found.most {
                let admitted = |pattern: &&Pattern| {
                    let mut parts = pattern.filling.iter();
                    parts.all(|(group, count)| *count <= linear.most(*group, *place, &counts, &used))
                };
                let here = all
                    .iter()
                    .filter(|pattern| pattern.place == *place)
                    .filter(admitted);
                let best = here
                    .map(|pattern| worth(&problem, &linear, &values, pattern))
                    .fold(0.0, f64::max);
                assert!(best <= *upper, "seed {seed}: {best} above {upper}");
                let floor = values.node_cost(&problem, &linear, *place) + WORTHWHILE;
                let mut patterns = found.patterns.iter();
                match patterns.find(|pattern| pattern.place == *place) {
                    Some(pattern) => {
                        found_some += 1;
                        capped += usize::from(pattern.cost(&problem) > 0);
                        assert_eq!(
                            verdict::on_node(&problem, *place, &pattern.filling),
                            [],
                            "seed {seed}"
                        );
                        let value = worth(&problem, &linear, &values, pattern);
                        assert!(
                            (value - best).abs() < 1.0,
                            "seed {seed}: {value} instead of {best}"
                        );
                    }
                    None => assert!(best <= floor.max(0.0) + 1.0, "seed {seed}: {best} over {floor}"),
                }
            }
        }
        assert!(found_some > 300 && capped > 100, "{found_some} {capped}");
    }
}
