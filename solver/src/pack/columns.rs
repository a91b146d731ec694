//! Column generation: fillings that are worth more than they cost, until there are none.
//!
//! Each round solves the master program, takes values between its duals and the best values so far (the duals jump,
//! what lies between settles), and looks for the most valuable filling of every kind. The same look gives an upper bound
//! for each kind, and with it [`Farley`]'s bound. Where values between find nothing, the duals themselves are
//! tried; where those find nothing either, the search goes deeper before it ends.
//!
//! Papers: papers.md, 1, 2, 9 and 12.

use fixedbitset::FixedBitSet;

use crate::lower::Problem;
use crate::lower::rules::resources;
use crate::lp::highs::{Refused, Simplex};

use super::Filling;
use super::downsize::cheapest;
use super::effort::Effort;
use super::farley::Farley;
use super::knapsack::{Item, Knapsack, quick_bound};
use super::ledger::Ledger;
use super::master::{Master, Pattern, Relaxed};
use super::random::Random;

/// Weights of the best values so far against the duals, each tried where the one before finds nothing.
const SMOOTHING: [f64; 3] = [0.4, 0.2, 0.0];
/// Under values between, a filling worth nearly its cost may well be worth more under the duals.
const NEARLY_WORTHWHILE: f64 = 0.97;
/// How often a round looks around the duals as well, and how far: without it the master gets too few columns that go
/// well together, and ten thousand pods stay one per cent dearer.
const AROUND: u32 = 4;
const STRENGTH: f64 = 0.15;
/// Nodes of the tree for each kind: at first, and before the search is given up.
const FIRST_NODES: u64 = 60;
const MOST_NODES: u64 = 4_000;
/// A filling has to be worth so much more than it costs.
pub const WORTHWHILE: f64 = 1.0 + 1e-6;
/// Distance of the relaxation from its bound at which generating ends.
const CLOSE_ENOUGH: f64 = 5e-4;

/// What one look at all kinds found.
#[derive(Debug)]
pub struct Found {
    /// Fillings worth more than the share asked for of what their kind costs, the most by ratio first.
    pub patterns: Vec<Pattern>,
    /// The most that a filling may be worth for its cost, over all kinds; one at least.
    pub excess: f64,
}

/// A kind with the groups that may go there, each with how many fit.
struct Candidate {
    kind: usize,
    groups: Vec<(usize, u64)>,
    /// The multipliers that bounded it best when last looked at.
    multipliers: Vec<f64>,
}

/// Looks for fillings of all kinds that can be launched in any number.
pub struct Generator<'a> {
    problem: &'a Problem<'a>,
    candidates: Vec<Candidate>,
    /// By tier: its kinds, cheapest first.
    tiers: Vec<Vec<usize>>,
    knapsack: Knapsack,
    nothing_launched: Ledger,
}

#[expect(
    clippy::cast_precision_loss,
    reason = "bounds are raised by more than this loses"
)]
fn float(amount: u64) -> f64 {
    amount as f64
}

/// Kinds that a group may go to: of its heaviest pools.
fn usable(problem: &Problem<'_>, group: usize) -> FixedBitSet {
    let mut usable = problem.usable[group].clone();
    for (index, kind) in problem.kinds.iter().enumerate() {
        if kind.supply.is_some() || problem.tiers[group].first() != Some(&kind.tier) {
            usable.set(index, false);
        }
    }
    usable
}

impl<'a> Generator<'a> {
    /// For the groups with a demand; `None` where a kind costs nothing, which no ratio can express.
    #[must_use]
    pub fn new(problem: &'a Problem<'a>, demand: &[u64]) -> Option<Self> {
        let usable: Vec<FixedBitSet> = (0..demand.len()).map(|group| usable(problem, group)).collect();
        let mut candidates = Vec::new();
        let mut tiers = vec![Vec::new(); problem.kinds.iter().map(|kind| kind.tier + 1).max()?];
        for (kind, details) in problem.kinds.iter().enumerate() {
            if details.supply.is_some() {
                continue;
            }
            tiers[details.tier].push(kind);
            let groups: Vec<(usize, u64)> = (0..demand.len())
                .filter(|group| demand[*group] > 0 && usable[*group].contains(kind))
                .map(|group| {
                    (
                        group,
                        resources::copies(problem.request(group), problem.room(kind)),
                    )
                })
                .collect();
            if groups.is_empty() {
                continue;
            }
            if details.cost == 0 {
                return None;
            }
            candidates.push(Candidate {
                kind,
                groups,
                multipliers: Vec::new(),
            });
        }
        Some(Self {
            problem,
            candidates,
            tiers,
            knapsack: Knapsack::default(),
            nothing_launched: Ledger::new(problem),
        })
    }

    /// Whether some kind may take a group.
    #[must_use]
    pub fn takes(&self, group: usize) -> bool {
        let candidates = self.candidates.iter();
        candidates
            .map(|candidate| &candidate.groups)
            .any(|groups| groups.binary_search_by_key(&group, |(group, _)| *group).is_ok())
    }

    /// The filling with pods of one group alone that costs least a pod.
    #[must_use]
    pub fn single(&self, group: usize, left: u64, allowed: impl Fn(usize) -> bool) -> Option<Pattern> {
        let mut best: Option<(f64, Pattern)> = None;
        for candidate in self.candidates.iter().filter(|candidate| allowed(candidate.kind)) {
            let groups = &candidate.groups;
            let Ok(here) = groups.binary_search_by_key(&group, |(group, _)| *group) else {
                continue;
            };
            let count = left.min(groups[here].1);
            let each = float(self.problem.kinds[candidate.kind].cost) / float(count.max(1));
            if count > 0 && best.as_ref().is_none_or(|(least, _)| each < *least) {
                let pattern = Pattern {
                    kind: candidate.kind,
                    filling: vec![(group, count)],
                };
                best = Some((each, pattern));
            }
        }
        best.map(|(_, pattern)| pattern)
    }

    /// A filling on the cheapest kind of its tier that holds it.
    #[must_use]
    pub fn settled(&self, kind: usize, filling: Filling, ledger: &Ledger) -> Pattern {
        let kinds = &self.tiers[self.problem.kinds[kind].tier];
        let kind = cheapest(self.problem, &filling, kinds, ledger).unwrap_or(kind);
        Pattern { kind, filling }
    }

    /// Fillings for values near these: one kind alone has many, and the master needs those that go well together.
    pub fn look_around(
        &mut self,
        values: &[f64],
        left: &[u64],
        random: &mut Random,
        effort: &mut Effort<'_>,
    ) -> Vec<Pattern> {
        let mut patterns = Vec::new();
        for _ in 0..AROUND {
            let values = shaken(values, STRENGTH, random);
            let found = self.look(&values, left, (NEARLY_WORTHWHILE, FIRST_NODES), effort);
            patterns.extend(found.map(|found| found.patterns).unwrap_or_default());
        }
        patterns
    }

    /// Those that are worth more than they cost.
    pub fn worthwhile(&self, mut patterns: Vec<Pattern>, values: &[f64]) -> Vec<Pattern> {
        patterns.retain(|pattern| {
            let parts = pattern.filling.iter();
            let worth: f64 = parts.map(|(group, count)| values[*group] * float(*count)).sum();
            worth > float(self.problem.kinds[pattern.kind].cost) * WORTHWHILE
        });
        patterns
    }

    /// The best filling of each kind under these values that is worth more than a share of its cost, with so many
    /// nodes of the tree for each; `None` when the effort is used up.
    pub fn look(
        &mut self,
        values: &[f64],
        left: &[u64],
        (share, nodes): (f64, u64),
        effort: &mut Effort<'_>,
    ) -> Option<Found> {
        let mut found: Vec<(f64, Pattern)> = Vec::new();
        let mut excess = 1.0_f64;
        for at in 0..self.candidates.len() {
            if effort.is_used_up() {
                return None;
            }
            let problem = self.problem;
            let candidate = &mut self.candidates[at];
            let room = problem.room(candidate.kind);
            let cost = float(problem.kinds[candidate.kind].cost);
            let floor = cost * share;
            let groups = candidate.groups.iter();
            let items: Vec<Item<'_>> = groups
                .filter(|(group, _)| left[*group] > 0 && values[*group] > 0.0)
                .map(|(group, copies)| Item {
                    group: *group,
                    value: values[*group],
                    request: problem.request(*group),
                    most: left[*group].min(*copies),
                })
                .collect();
            let looks = u64::try_from(items.len()).unwrap_or(u64::MAX);
            effort.spend(looks);
            let known = !candidate.multipliers.is_empty();
            if known && quick_bound(&candidate.multipliers, room, &items) <= floor {
                continue;
            }
            candidate.multipliers = self.knapsack.multipliers(room, &items);
            effort.spend(4 * looks);
            let bound = quick_bound(&candidate.multipliers, room, &items);
            if bound <= floor {
                continue;
            }
            let answer = Knapsack::search(&candidate.multipliers, room, &items, floor, nodes);
            effort.spend(looks + answer.looks);
            excess = excess.max(answer.upper.min(bound) / cost);
            if answer.value > floor {
                let kind = candidate.kind;
                let pattern = self.settled(kind, answer.filling, &self.nothing_launched);
                found.push((answer.value / cost, pattern));
            }
        }
        found.sort_by(|one, two| two.0.total_cmp(&one.0).then_with(|| one.1.cmp(&two.1)));
        Some(Found {
            patterns: found.into_iter().map(|(_, pattern)| pattern).collect(),
            excess,
        })
    }
}

/// What generating led to.
#[derive(Debug)]
pub struct Converged {
    /// The last solution of the relaxation; `None` when not even the first was reached.
    pub relaxed: Option<Relaxed>,
    /// Values with the best bound.
    pub farley: Option<Farley>,
}

/// Generates columns until the relaxation is near its bound, nothing is found, or the effort is used up.
///
/// # Errors
/// When the solver refuses what it is given.
pub fn converge(
    master: &mut Master<'_>,
    generator: &mut Generator<'_>,
    demand: &[u64],
    start: &[f64],
    effort: &mut Effort<'_>,
) -> Result<Converged, Refused> {
    let mut random = Random::new(0);
    // What the look at all kinds doesn't see must not count for the bound.
    let seen = |(value, count): (&f64, &u64)| if *count > 0 { *value } else { 0.0 };
    let mut centre: Vec<f64> = start.iter().zip(demand).map(seen).collect();
    let mut best = (0.0, None);
    let mut relaxed = None;
    let (mut weight, mut nodes) = (0, FIRST_NODES);
    if let Some(found) = generator.look(&centre, demand, (NEARLY_WORTHWHILE, nodes), effort) {
        best = (
            total(&centre, demand) / found.excess,
            Some(Farley::new(&centre, found.excess)),
        );
        master.add(found.patterns)?;
    }
    while let Some(solved) = master.solve(Simplex::Primal, effort) {
        let smoothing = SMOOTHING[weight];
        let share = if smoothing > 0.0 {
            NEARLY_WORTHWHILE
        } else {
            WORTHWHILE
        };
        let between = blend(&centre, &solved.values, smoothing);
        let found = generator.look(&between, demand, (share, nodes), effort);
        let cost = solved.cost;
        let duals = solved.values.clone();
        relaxed = Some(solved);
        let Some(Found { patterns, excess }) = found else {
            break;
        };
        let bound = total(&between, demand) / excess;
        if bound > best.0 {
            best = (bound, Some(Farley::new(&between, excess)));
            centre.clone_from(&between);
        }
        if best.0 >= cost * (1.0 - CLOSE_ENOUGH) {
            break;
        }
        let mut more = patterns;
        more.extend(generator.look_around(&duals, demand, &mut random, effort));
        if master.add(generator.worthwhile(more, &duals))? > 0 {
            weight = 0;
        } else if weight + 1 < SMOOTHING.len() {
            weight += 1;
        } else if nodes < MOST_NODES {
            nodes = (nodes * 8).min(MOST_NODES);
        } else {
            break;
        }
    }
    Ok(Converged {
        relaxed,
        farley: best.1,
    })
}

fn shaken(values: &[f64], strength: f64, random: &mut Random) -> Vec<f64> {
    let shake = |value: &f64| value * (1.0 + strength * (random.unit() - 0.5));
    values.iter().map(shake).collect()
}

fn blend(centre: &[f64], duals: &[f64], weight: f64) -> Vec<f64> {
    let both = centre.iter().zip(duals);
    both.map(|(centre, dual)| weight * centre + (1.0 - weight) * dual)
        .collect()
}

fn total(values: &[f64], demand: &[u64]) -> f64 {
    values
        .iter()
        .zip(demand)
        .map(|(value, count)| value * float(*count))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::lower;
    use crate::options::PlanOptions;
    use crate::quota::Unlimited;
    use crate::testing::build::{Cluster, machine};

    #[test]
    fn a_look_finds_the_best_filling_of_each_kind_and_how_far_it_exceeds_the_cost() {
        let snapshot = Cluster::new()
            .instance_type(machine("small", "2", "8Gi", "0.1"))
            .instance_type(machine("large", "4", "16Gi", "0.19"))
            .pool("default")
            .pods("web", 9, "1", "1Gi")
            .freeze();
        let problem = lower(&snapshot);
        let demand = problem.counts();
        let options = PlanOptions::default();
        let mut effort = Effort::new(&options, &Unlimited);
        let mut generator = Generator::new(&problem, &demand).unwrap();
        assert!(generator.takes(0));
        // Two pods of 0.06 on 0.1, four on 0.19.
        let found = generator
            .look(&[60_000.0], &demand, (1.0, 60), &mut effort)
            .unwrap();
        assert!((found.excess - 0.24 / 0.19).abs() < 1e-6, "{}", found.excess);
        let fillings: Vec<&Filling> = found.patterns.iter().map(|pattern| &pattern.filling).collect();
        assert_eq!(fillings, [&vec![(0, 4)], &vec![(0, 2)]]);
        let nothing = generator
            .look(&[40_000.0], &demand, (1.0, 60), &mut effort)
            .unwrap();
        assert!(nothing.patterns.is_empty());
        assert!((nothing.excess - 1.0).abs() < 1e-6, "{}", nothing.excess);
        // Three pods are left: the large node for 0.19 or a small one each.
        let single = generator.single(0, 1, |_| true).unwrap();
        assert_eq!(problem.kinds[single.kind].cost, 100_000);
    }
}
