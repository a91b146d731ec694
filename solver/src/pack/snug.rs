//! A packing that costs what the bound says and no more, where one can only be made of nodes that lose nothing.
//!
//! Costs of packings come in steps where those of kinds do. The first step at or above the bound leaves a slack that no
//! node of such a packing may lose more of, see [`super::within`]. Where the slack is small the fillings to choose from
//! are a few thousand, and [`super::even`] looks for a choice of them that covers every pod. Columns and dives hardly ever
//! end at such a packing: they take their fillings one by one as they come, and the last nodes don't come out even.
//!
//! Values that give the same bound give the same slack, and under their mean only those fillings are within it that are
//! so under each of them: prices of the volume bound lie in a corner, and the mean with those of each resource alone,
//! where it binds as well, leaves a hundredth of the fillings.
//!
//! Has nothing to offer under limits of pools, or where conflicts keep pods apart.

use crate::lower::Problem;

use super::effort::{Effort, Share};
use super::even::Even;
use super::generator::Generator;
use super::lower_bound::attainable;
use super::side::node::rules;
use super::side::verdict;
use super::valuation::Valuation;
use super::{Filling, Launched, Packing, float};

/// Fillings to choose from beyond which there is no use: nodes needn't be all that full then, and other engines do well.
const MOST_FILLINGS: usize = 5_000;
/// Dives at most: those that get there mostly do among the first five.
const DIVES: u64 = 40;
/// Steps of prices that the cheapest node may cost: with smaller steps there is no slack, no packing costs just the bound,
/// and the search for its fillings only takes time. EC2's catalogue has thousands, a price list in whole cents few.
const STEPS_A_NODE: u64 = 100;
/// Bounds that differ by a smaller share are the same: they are sums of floats.
const SAME: f64 = 1e-6;

/// Effort for finding all fillings and for choosing among them.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// For finding.
    pub find: Share,
    /// For choosing.
    pub choose: Share,
}

/// The pods that a packing launches nodes for on nodes that cost the least that its bound admits, from the values of the
/// bound in micro-dollars; `None` where no such packing is found.
#[must_use]
pub fn pack(
    problem: &Problem<'_>,
    start: &Packing,
    values: &[f64],
    shares: Shares,
    effort: &mut Effort<'_>,
) -> Option<Packing> {
    if problem.is_restricted() {
        return None;
    }
    let mut demand = vec![0; problem.groups.len()];
    for launched in &start.launched {
        for (group, count) in &launched.filling {
            demand[*group] += count * launched.count;
        }
    }
    let mut generator = Generator::new(problem, &demand, rules(&problem.side)?)?;
    let step = attainable(problem, &demand, 1);
    let costs = problem.kinds.iter().map(|kind| kind.cost);
    if step.saturating_mul(STEPS_A_NODE) < costs.min().unwrap_or(0) {
        return None;
    }
    let (valuation, bound) = central(problem, &demand, values);
    let target = (bound / float(step) * (1.0 - SAME)).ceil() * float(step);
    if float(start.cost(problem)) < target + float(step) / 2.0 {
        return None;
    }
    effort.grant(shares.find);
    let slack = (target - bound).max(0.0);
    let patterns = generator.within(&valuation, &demand, slack, MOST_FILLINGS, effort)?;
    let fillings: Vec<Filling> = patterns.iter().map(|pattern| pattern.filling.clone()).collect();
    effort.grant(shares.choose);
    let used = Even::new(&fillings, demand.len()).cover(&demand, DIVES, effort)?;
    let launched = used.into_iter().map(|(at, count)| Launched {
        kind: patterns[at].kind,
        filling: fillings[at].clone(),
        count,
    });
    let mut packing = Packing {
        rooms: start.rooms.clone(),
        launched: launched.collect(),
        left: start.left.clone(),
    };
    packing.normalise();
    (packing.is_better_than(start, problem) && verdict::broken(problem, &packing).is_empty())
        .then_some(packing)
}

/// The mean of all values that bound the cost by as much as the best do, with that bound: the values given, and those at
/// which one resource alone has a price.
fn central(problem: &Problem<'_>, demand: &[u64], values: &[f64]) -> (Valuation, f64) {
    let resources = 0..problem.resources.len();
    let mut all: Vec<Vec<f64>> = resources
        .filter_map(|resource| by_resource(problem, resource))
        .collect();
    all.push(values.to_vec());
    let worth = |values: &Vec<f64>| -> f64 {
        let both = values.iter().zip(demand);
        both.map(|(value, count)| value * float(*count)).sum()
    };
    let best = all.iter().map(worth).fold(0.0, f64::max);
    all.retain(|values| worth(values) >= best * (1.0 - SAME));
    let number = float(u64::try_from(all.len()).unwrap_or(u64::MAX));
    let mean = |group: usize| all.iter().map(|values| values[group] / number).sum();
    let mean = Valuation::new(problem, (0..demand.len()).map(mean).collect());
    let bound = mean.worth_of_all(demand);
    (mean, bound)
}

/// What pods are worth by one resource alone, at the least price that any kind asks for it; `None` where no kind has it.
fn by_resource(problem: &Problem<'_>, resource: usize) -> Option<Vec<f64>> {
    let kinds = problem.kinds.iter().enumerate();
    let unlimited = kinds.filter(|(_, details)| details.supply.is_none());
    let prices = unlimited.filter_map(|(kind, details)| {
        let room = problem.room(kind)[resource];
        (room > 0).then(|| float(details.cost) / float(room))
    });
    let price = prices.min_by(f64::total_cmp)?;
    let groups = 0..problem.groups.len();
    Some(
        groups
            .map(|group| float(problem.request(group)[resource]) * price)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::lower;
    use crate::options::PlanOptions;
    use crate::pack::karpenter_order;
    use crate::pack::random::Random;
    use crate::quota::Unlimited;
    use crate::testing::build::{Cluster, machine};

    const SHARES: Shares = Shares {
        find: Share {
            units: 10_000_000,
            hundredths: 100,
        },
        choose: Share {
            units: 10_000_000,
            hundredths: 100,
        },
    };

    /// So many nodes' worth of pods in threes that fill a node's processors and memory to the brim.
    fn triples(number: u64) -> Cluster {
        let mut random = Random::new(8);
        let mut part = |least: usize, most: usize| least + random.below(most - least);
        let mut cluster = Cluster::new()
            .instance_type(machine("only", "100", "100Gi", "1"))
            .pool("default");
        for node in 0..number {
            let (cpu, memory) = ((part(38, 50), part(25, 33)), (part(38, 50), part(25, 33)));
            let parts = [
                (cpu.0, memory.0),
                (cpu.1, memory.1),
                (100 - cpu.0 - cpu.1, 100 - memory.0 - memory.1),
            ];
            for (at, (cpu, memory)) in parts.iter().enumerate() {
                let name = format!("app{node:03}-{at}");
                cluster = cluster.pods(&name, 1, &cpu.to_string(), &format!("{memory}Gi"));
            }
        }
        cluster
    }

    #[test]
    fn pods_that_just_fill_their_nodes_are_put_together_again() {
        let snapshot = triples(50).freeze();
        let problem = lower(&snapshot);
        let start = karpenter_order::pack(&problem, false);
        assert!(start.cost(&problem) > 50_000_000);
        let options = PlanOptions::default();
        let mut effort = Effort::new(&options, &Unlimited);
        let nothing = vec![0.0; problem.groups.len()];
        let packing = pack(&problem, &start, &nothing, SHARES, &mut effort).unwrap();
        assert_eq!(packing.cost(&problem), 50_000_000);
        assert_eq!(packing.placed(&problem), problem.counts());
        assert_eq!(verdict::broken(&problem, &packing), []);
        let again = pack(&problem, &packing, &nothing, SHARES, &mut effort);
        assert_eq!(again, None, "there is nothing better");
    }

    #[test]
    fn where_nodes_need_not_be_full_there_is_nothing_to_choose_from() {
        let snapshot = triples(20).pods("tiny", 9, "1", "1Gi").freeze();
        let problem = lower(&snapshot);
        let start = karpenter_order::pack(&problem, false);
        let options = PlanOptions::default();
        let mut effort = Effort::new(&options, &Unlimited);
        let values = vec![f64::NAN; problem.groups.len()];
        assert_eq!(pack(&problem, &start, &values, SHARES, &mut effort), None);
    }
}
