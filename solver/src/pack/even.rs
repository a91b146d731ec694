//! Which fillings to use where every pod has to be covered exactly and there are hardly more nodes than pods fill: a dive
//! along the most even use of the fillings, not along a corner of the relaxation.
//!
//! Where nothing may be wasted, a relaxation has ever so many optimal solutions, and the one that the simplex ends at says
//! little of which fillings go well together. The most even of them, that of the greatest entropy, uses a filling as much
//! as there are ways to use the others beside it. It is level = Π factor over the pods of the filling, with a factor for
//! each group that comes from scaling them in turn until levels cover the demand (iterative proportional fitting). The
//! filling with the highest level is used, whatever has no alternative then as well, and the factors are fitted again to
//! what is left. When a group can't be covered any more the dive is lost and another begins, with some noise.
//!
//! Promises: what it hands out covers the demand exactly, in integers; seeded, so the same again.

use super::Filling;
use super::effort::Effort;
use super::random::Random;
use super::{float, whole_part};

/// Rounds of fitting after each use. Half as many do nearly as well, and the first dives of all know more than that.
const ROUNDS: u32 = 20;
/// How much more or less often a filling may seem to be used than it is, but for the first dive.
const NOISE: f64 = 0.2;
/// Logarithms of factors stay within this on both sides: what is smaller is never used.
const STEEPEST: f64 = 20.0;
/// Terms of the fit that take the time of one unit of effort: each is an exponential.
const TERMS_A_UNIT: u64 = 2;

/// The fillings that may be used.
pub struct Even<'a> {
    fillings: &'a [Filling],
    /// By group: the fillings with pods of it, and how many.
    holders: Vec<Vec<(usize, u64)>>,
}

/// A dive at work.
struct Dive {
    demand: Vec<u64>,
    usable: Vec<bool>,
    /// By group: the logarithm of its factor.
    factors: Vec<f64>,
    /// Fillings in use, with how often.
    used: Vec<(usize, u64)>,
}

impl<'a> Even<'a> {
    /// Of some fillings of so many groups.
    #[must_use]
    pub fn new(fillings: &'a [Filling], groups: usize) -> Self {
        let mut holders = vec![Vec::new(); groups];
        for (at, filling) in fillings.iter().enumerate() {
            for (group, count) in filling {
                holders[*group].push((at, *count));
            }
        }
        Self { fillings, holders }
    }

    /// How often to use each filling so that the demand is covered exactly, from up to so many dives; `None` when none of
    /// them gets there.
    #[must_use]
    pub fn cover(&self, demand: &[u64], dives: u64, effort: &mut Effort<'_>) -> Option<Vec<(usize, u64)>> {
        for seed in 0..dives {
            let mut dive = self.start(demand);
            if !self.force(&mut dive, 0..demand.len()) {
                // Nor does any other.
                return None;
            }
            let noise = if seed == 0 { 0.0 } else { NOISE };
            if self.dive(&mut dive, noise, &mut Random::new(seed), effort) {
                return Some(dive.used);
            }
            if effort.is_used_up() {
                break;
            }
        }
        None
    }

    fn start(&self, demand: &[u64]) -> Dive {
        let fits = |filling: &Filling| filling.iter().all(|(group, count)| demand[*group] >= *count);
        Dive {
            demand: demand.to_vec(),
            usable: self.fillings.iter().map(fits).collect(),
            factors: vec![0.0; demand.len()],
            used: Vec::new(),
        }
    }

    /// Whether it leads to a cover.
    fn dive(&self, dive: &mut Dive, noise: f64, random: &mut Random, effort: &mut Effort<'_>) -> bool {
        while dive.demand.iter().any(|count| *count > 0) {
            self.fit(dive, effort);
            if effort.is_used_up() {
                return false;
            }
            let mut best: Option<(f64, usize)> = None;
            for at in (0..self.fillings.len()).filter(|at| dive.usable[*at]) {
                let seeming = self.logarithm(dive, at).exp() * (1.0 + noise * (random.unit() - 0.5));
                if best.is_none_or(|(most, _)| seeming > most) {
                    best = Some((seeming, at));
                }
            }
            let Some((_, at)) = best else { return false };
            let count = whole_part(self.logarithm(dive, at).exp());
            let touched = self.apply(dive, at, count);
            if !self.force(dive, touched) {
                return false;
            }
        }
        true
    }

    fn logarithm(&self, dive: &Dive, at: usize) -> f64 {
        let parts = self.fillings[at].iter();
        parts
            .map(|(group, count)| dive.factors[*group] * float(*count))
            .sum()
    }

    /// Scales the factors of one group after the other so that levels cover what is left of it.
    fn fit(&self, dive: &mut Dive, effort: &mut Effort<'_>) {
        let mut terms = 0;
        for _ in 0..ROUNDS {
            for (group, holders) in self.holders.iter().enumerate() {
                let demand = dive.demand[group];
                if demand == 0 {
                    continue;
                }
                let mut covered = 0.0;
                for (at, count) in holders.iter().filter(|(at, _)| dive.usable[*at]) {
                    covered += self.logarithm(dive, *at).exp() * float(*count);
                    terms += self.fillings[*at].len();
                }
                let factor = dive.factors[group] + (float(demand) / covered).ln();
                dive.factors[group] = factor.clamp(-STEEPEST, STEEPEST);
            }
        }
        effort.spend(u64::try_from(terms).unwrap_or(u64::MAX) / TERMS_A_UNIT);
    }

    /// Uses a filling so often, as far as the demand goes and once at least; all groups whose choice is smaller now.
    fn apply(&self, dive: &mut Dive, at: usize, count: u64) -> Vec<usize> {
        let parts = self.fillings[at].iter();
        let lasts = parts.map(|(group, each)| dive.demand[*group] / each).min();
        let count = count.clamp(1, lasts.unwrap_or(0).max(1));
        dive.used.push((at, count));
        let mut touched = Vec::new();
        for (group, each) in &self.fillings[at] {
            dive.demand[*group] -= each * count;
        }
        for (group, _) in &self.fillings[at] {
            for (other, each) in &self.holders[*group] {
                if dive.usable[*other] && *each > dive.demand[*group] {
                    dive.usable[*other] = false;
                    touched.extend(self.fillings[*other].iter().map(|(group, _)| *group));
                }
            }
        }
        touched
    }

    /// Uses what is without alternative for one of some groups, and so on; false when a group can't be covered.
    fn force(&self, dive: &mut Dive, groups: impl IntoIterator<Item = usize>) -> bool {
        let mut open: Vec<usize> = groups.into_iter().collect();
        while let Some(group) = open.pop() {
            if dive.demand[group] == 0 {
                continue;
            }
            let mut holders = self.holders[group].iter().filter(|(at, _)| dive.usable[*at]);
            let Some((only, each)) = holders.next() else {
                return false;
            };
            if holders.next().is_none() {
                let count = dive.demand[group] / each;
                open.push(group);
                open.extend(self.apply(dive, *only, count));
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::PlanOptions;
    use crate::quota::Unlimited;

    fn cover(fillings: &[Filling], demand: &[u64], dives: u64) -> Option<Vec<(usize, u64)>> {
        let options = PlanOptions::default();
        let mut effort = Effort::new(&options, &Unlimited);
        Even::new(fillings, demand.len()).cover(demand, dives, &mut effort)
    }

    /// That each group is covered exactly.
    fn assert_covers(fillings: &[Filling], demand: &[u64], used: &[(usize, u64)]) {
        let mut left = demand.to_vec();
        for (at, count) in used {
            for (group, each) in &fillings[*at] {
                left[*group] -= each * count;
            }
        }
        assert!(left.iter().all(|count| *count == 0), "{left:?}");
    }

    #[test]
    fn a_planted_cover_among_many_fillings_is_found() {
        let mut random = Random::new(3);
        // Forty nodes of three pods of their own kind each, and six hundred other fillings of three.
        let triple = |first: usize, second: usize, third: usize| {
            let mut groups = [first, second, third];
            groups.sort_unstable();
            groups.map(|group| (group, 1)).to_vec()
        };
        let mut fillings: Vec<Filling> = (0..40).map(|at| triple(at, 40 + at, 80 + at)).collect();
        while fillings.len() < 640 {
            let groups = [random.below(40), 40 + random.below(40), 80 + random.below(40)];
            fillings.push(triple(groups[0], groups[1], groups[2]));
        }
        let demand = vec![1; 120];
        let used = cover(&fillings, &demand, 50).unwrap();
        assert_covers(&fillings, &demand, &used);
        assert_eq!(Some(used), cover(&fillings, &demand, 50), "the same again");
    }

    #[test]
    fn many_pods_alike_are_covered_in_few_steps() {
        let fillings = [vec![(0, 2), (1, 1)], vec![(0, 1), (1, 2)], vec![(1, 3)]];
        let demand = [20_000, 10_003];
        let used = cover(&fillings, &demand, 1).unwrap();
        assert_covers(&fillings, &demand, &used);
        assert!(used.len() < 60, "{used:?}");
    }

    #[test]
    fn what_cannot_be_covered_is_not() {
        assert_eq!(cover(&[vec![(0, 2)]], &[3], 5), None);
        assert_eq!(
            cover(&[vec![(0, 1), (1, 2)], vec![(0, 2), (1, 1)]], &[2, 2], 5),
            None
        );
        assert_eq!(cover(&[vec![(0, 1)]], &[1, 1], 5), None);
        assert_eq!(cover(&[], &[1], 5), None);
    }
}
