//! Groups in the order of what a pod is worth, for topping nodes up: the most valuable pods that still fit.
//!
//! Groups stand in blocks that know the least that any of them asks for, so that those which are all too large for a rest
//! are passed over at once. Promises: takes the same pods as looking at all groups again after each pod would.

use crate::lower::Problem;
use crate::lower::rules::resources;

use super::effort::Effort;

/// Groups in a block: with as many blocks as groups in each, five thousand groups take the fewest looks.
const BLOCK: usize = 64;

/// The order, made once.
#[derive(Clone, Debug)]
pub struct ByWorth {
    /// The most valuable first; of equals the first.
    order: Vec<usize>,
    /// By block: the least request in each resource.
    least: Vec<Vec<u64>>,
}

impl ByWorth {
    /// All groups by these values.
    #[must_use]
    pub fn new(problem: &Problem<'_>, values: &[f64]) -> Self {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|one, two| values[*two].total_cmp(&values[*one]).then(one.cmp(two)));
        let least = |block: &[usize]| -> Vec<u64> {
            let of = |column: usize| block.iter().map(|group| problem.request(*group)[column]).min();
            (0..problem.resources.len())
                .map(|column| of(column).unwrap_or(0))
                .collect()
        };
        let least = order.chunks(BLOCK).map(least).collect();
        Self { order, least }
    }

    /// Takes pods into a rest of room until none fits; a group for each pod taken goes to `chosen`.
    pub fn top_up(
        &self,
        problem: &Problem<'_>,
        rest: &mut [u64],
        left: &mut [u64],
        usable: impl Fn(usize) -> bool,
        chosen: &mut Vec<usize>,
        effort: &mut Effort<'_>,
    ) {
        let mut looks = 0;
        for (block, least) in self.order.chunks(BLOCK).zip(&self.least) {
            looks += 1;
            if !resources::fits(least, rest) {
                continue;
            }
            for group in block {
                looks += 1;
                let request = problem.request(*group);
                if left[*group] == 0 || !resources::fits(request, rest) || !usable(*group) {
                    continue;
                }
                // What doesn't fit now won't fit later, so one pass does.
                let count = resources::copies(request, rest).min(left[*group]);
                resources::take(rest, request, count);
                left[*group] -= count;
                chosen.extend((0..count).map(|_| *group));
            }
        }
        effort.spend(looks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::lower;
    use crate::options::PlanOptions;
    use crate::pack::random::Random;
    use crate::quota::Unlimited;
    use crate::testing::build::{Cluster, machine};

    /// One pod after another, each time the most valuable that fits, the first of equals.
    fn one_by_one(
        problem: &Problem<'_>,
        values: &[f64],
        rest: &mut [u64],
        left: &mut [u64],
        usable: impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        let mut chosen = Vec::new();
        loop {
            let mut best: Option<usize> = None;
            for group in 0..values.len() {
                let fits = left[group] > 0 && resources::fits(problem.request(group), rest) && usable(group);
                if fits && best.is_none_or(|best| values[group] > values[best]) {
                    best = Some(group);
                }
            }
            let Some(group) = best else { return chosen };
            resources::take(rest, problem.request(group), 1);
            left[group] -= 1;
            chosen.push(group);
        }
    }

    #[test]
    fn it_takes_what_looking_at_all_groups_for_each_pod_takes() {
        let mut random = Random::new(5);
        let mut cluster = Cluster::new()
            .instance_type(machine("huge", "64", "256Gi", "2"))
            .pool("default");
        for number in 0..300 {
            let (cpu, memory) = (100 + random.below(8_000), 64 + random.below(16_000));
            let name = format!("web-{number}");
            cluster = cluster.pods(&name, 1 + number % 3, &format!("{cpu}m"), &format!("{memory}Mi"));
        }
        let snapshot = cluster.freeze();
        let problem = lower(&snapshot);
        let options = PlanOptions::default();
        let mut effort = Effort::new(&options, &Unlimited);
        // Few different values, so that ties occur.
        let values: Vec<f64> = (0..problem.groups.len())
            .map(|group| f64::from(u32::try_from(problem.request(group)[0] / 1_000).unwrap_or(0)))
            .collect();
        let by_worth = ByWorth::new(&problem, &values);
        let (mut left, mut other_left) = (problem.counts(), problem.counts());
        let mut taken = 0;
        for node in 0..60 {
            let usable = |group: usize| group % 7 != node % 7;
            let mut rest: Vec<u64> = problem.room(0).iter().map(|room| room / 5).collect();
            // As many pods as fit otherwise, so that blocks of larger ones are passed over.
            rest[2] = 100;
            let mut other_rest = rest.clone();
            let mut chosen = Vec::new();
            by_worth.top_up(&problem, &mut rest, &mut left, usable, &mut chosen, &mut effort);
            let other = one_by_one(&problem, &values, &mut other_rest, &mut other_left, usable);
            assert_eq!((&chosen, &rest, &left), (&other, &other_rest, &other_left));
            taken += chosen.len();
        }
        assert!(taken > 100, "{taken} pods");
    }
}
