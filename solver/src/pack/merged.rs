//! Packs thousands of groups by way of a hundred or two: near-equal groups as one, then real pods in their places.
//!
//! A cluster stands in the small problem as pods of its mean request, which go where all its members may go. Engines
//! pack that; [`Merged::fit`] puts real pods in the places, the largest that fit, since what is large here is small
//! elsewhere, and then whatever else fits beside them. The largest request of a cluster would hold each of its members,
//! and ask for room that most of them don't need; by its mean a pod may find no place. Such pods, and those of nodes
//! that came out poorly filled, the density greedy packs.
//!
//! Promises: what it puts on a node fits in integers and is open to the node's kind, and limits hold, whatever the small
//! problem's packing says.

use fixedbitset::FixedBitSet;
use ndarray::Array2;

use crate::lower::Problem;
use crate::lower::group::Group;
use crate::lower::prune;
use crate::lower::rules::resources;

use super::by_worth::ByWorth;
use super::density;
use super::downsize::downsize;
use super::effort::Effort;
use super::filler::Filler;
use super::ledger::Ledger;
use super::merge::{Cluster, clusters};
use super::{Filling, Launched, Packing, float};

/// Groups up to which a problem is packed as it is: bin packing with a few hundred truly different requests must not be
/// merged to death.
pub const MOST_GROUPS: usize = 600;
/// Clusters in place of more groups. With fewer, columns converge sooner and real pods fit worse.
pub const CLUSTERS: usize = 150;
/// Nodes whose pods are worth less than this share of what those of a node are worth on the whole are packed anew.
const POOR: f64 = 0.9;

/// A problem of clusters.
#[derive(Clone, Debug)]
pub struct Merged<'a> {
    /// It, with a group for each cluster.
    pub problem: Problem<'a>,
    /// By group of it: the groups it stands for.
    members: Vec<Cluster>,
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

impl<'a> Merged<'a> {
    /// At most so many groups in place of a problem's, unless more have to stay apart.
    #[must_use]
    pub fn of(problem: &Problem<'a>, most: usize) -> Self {
        let counts = problem.counts();
        let all: Vec<usize> = (0..counts.len()).collect();
        let members = clusters(problem, &all, &counts, most);
        let columns = problem.resources.len();
        let mut demand = Array2::zeros((members.len(), columns));
        let mut merged = problem.clone();
        merged.groups.clear();
        merged.usable.clear();
        merged.tiers.clear();
        for (at, cluster) in members.iter().enumerate() {
            let pods: u64 = cluster.iter().map(|group| counts[*group]).sum();
            for column in 0..columns {
                let amount =
                    |group: &usize| u128::from(problem.request(*group)[column]) * u128::from(counts[*group]);
                let sum: u128 = cluster.iter().map(amount).sum();
                let mean = sum.div_ceil(u128::from(pods.max(1)));
                demand[(at, column)] = u64::try_from(mean).unwrap_or(u64::MAX);
            }
            let first = cluster[0];
            let mut usable: FixedBitSet = problem.usable[first].clone();
            for group in cluster {
                usable.intersect_with(&problem.usable[*group]);
            }
            merged.tiers.push(prune::tiers(&problem.kinds, &usable));
            merged.usable.push(usable);
            let Group {
                profile,
                priority,
                launches,
                ..
            } = problem.groups[first];
            merged.groups.push(Group {
                pods: cluster
                    .iter()
                    .flat_map(|group| problem.groups[*group].pods.iter().copied())
                    .collect(),
                profile,
                priority,
                launches,
            });
        }
        merged.demand = demand;
        Self {
            problem: merged,
            members,
        }
    }

    /// What a pod of each cluster is worth: the mean of its members.
    #[must_use]
    pub fn values(&self, problem: &Problem<'_>, values: &[f64]) -> Vec<f64> {
        let counts = problem.counts();
        let mean = |cluster: &Cluster| {
            let worth: f64 = cluster
                .iter()
                .map(|group| values[*group] * float(counts[*group]))
                .sum();
            let pods: u64 = cluster.iter().map(|group| counts[*group]).sum();
            worth / float(pods.max(1))
        };
        self.members.iter().map(mean).collect()
    }

    /// Real pods in the places of a packing of clusters, and all others where the density greedy finds places.
    #[must_use]
    pub fn fit(
        &self,
        problem: &Problem<'_>,
        filler: &Filler<'_>,
        packing: &Packing,
        effort: &mut Effort<'_>,
    ) -> Packing {
        let mut fit = Fit {
            problem,
            members: &self.members,
            values: &filler.values,
            by_worth: ByWorth::new(problem, &filler.values),
            left: problem.counts(),
        };
        let mut rooms = Vec::with_capacity(problem.rooms.len());
        for (room, filling) in problem.rooms.iter().zip(&packing.rooms) {
            if effort.is_late() {
                rooms.push(Filling::new());
                continue;
            }
            let usable = |group: usize| room.profiles.contains(problem.groups[group].profile);
            rooms.push(fit.node(&room.free, usable, filling, effort));
        }
        let mut launched = fit.launch(&packing.launched, effort);
        let mut left = fit.left;
        let mut ledger = Ledger::new(problem);
        dissolve_poor(problem, &filler.values, &mut launched, &mut left);
        for node in &launched {
            ledger.open(problem, node.kind, node.count);
        }
        launched.extend(density::launch(problem, filler, &mut left, &mut ledger, effort));
        let mut fitted = Packing {
            rooms,
            launched,
            left,
        };
        fitted.normalise();
        downsize(problem, &mut fitted);
        fitted
    }
}

/// Takes back the pods of nodes that are worth little for their price.
fn dissolve_poor(problem: &Problem<'_>, values: &[f64], launched: &mut Vec<Launched>, left: &mut [u64]) {
    let worth = |node: &Launched| -> f64 {
        let parts = node.filling.iter();
        parts.map(|(group, count)| values[*group] * float(*count)).sum()
    };
    let cost = |node: &Launched| float(problem.kinds[node.kind].cost);
    let all: f64 = launched.iter().map(worth).sum();
    let usual = all / launched.iter().map(cost).sum::<f64>().max(1.0);
    launched.retain(|node| {
        let is_poor = worth(node) < POOR * usual * cost(node);
        if is_poor {
            for (group, count) in &node.filling {
                left[*group] += count;
            }
        }
        !is_poor
    });
}

/// Real pods that still have no place.
struct Fit<'a> {
    problem: &'a Problem<'a>,
    members: &'a [Cluster],
    values: &'a [f64],
    by_worth: ByWorth,
    left: Vec<u64>,
}

impl Fit<'_> {
    /// Nodes one by one; those that get no pods are not launched.
    fn launch(&mut self, planned: &[Launched], effort: &mut Effort<'_>) -> Vec<Launched> {
        let problem = self.problem;
        let mut launched = Vec::new();
        for Launched { kind, filling, count } in planned {
            let usable = |group: usize| problem.usable[group].contains(*kind);
            for _ in 0..*count {
                if effort.is_late() {
                    // The rest is packed in a quicker way.
                    return launched;
                }
                let filling = self.node(problem.room(*kind), usable, filling, effort);
                if !filling.is_empty() {
                    launched.push(Launched {
                        kind: *kind,
                        filling,
                        count: 1,
                    });
                }
            }
        }
        launched
    }

    /// Pods for the places on one node, the largest that leave room for the others, then whatever else fits.
    fn node(
        &mut self,
        room: &[u64],
        usable: impl Fn(usize) -> bool,
        planned: &Filling,
        effort: &mut Effort<'_>,
    ) -> Filling {
        let mut rest = room.to_vec();
        let mut chosen: Vec<usize> = Vec::new();
        let least: Vec<Vec<u64>> = planned.iter().map(|(cluster, _)| self.least(*cluster)).collect();
        let mut reserved = vec![0_u64; room.len()];
        for ((_, count), least) in planned.iter().zip(&least) {
            for (reserved, least) in reserved.iter_mut().zip(least) {
                *reserved = reserved.saturating_add(least.saturating_mul(*count));
            }
        }
        for ((cluster, count), least) in planned.iter().zip(&least) {
            for _ in 0..*count {
                for (reserved, least) in reserved.iter_mut().zip(least) {
                    *reserved = reserved.saturating_sub(*least);
                }
                let free: Vec<u64> = rest
                    .iter()
                    .zip(&reserved)
                    .map(|(rest, reserved)| rest.saturating_sub(*reserved))
                    .collect();
                let members = self.members[*cluster].iter().copied();
                let found = self.largest(members, &free, &usable);
                effort.spend(number(self.members[*cluster].len()));
                let Some(group) = found else { break };
                resources::take(&mut rest, self.problem.request(group), 1);
                self.left[group] -= 1;
                chosen.push(group);
            }
        }
        if !planned.is_empty() {
            let (problem, left) = (self.problem, &mut self.left);
            self.by_worth
                .top_up(problem, &mut rest, left, &usable, &mut chosen, effort);
        }
        chosen.sort_unstable();
        let mut filling = Filling::new();
        for group in chosen {
            match filling.last_mut() {
                Some((last, count)) if *last == group => *count += 1,
                _ => filling.push((group, 1)),
            }
        }
        filling
    }

    /// The smallest request in each resource among a cluster's pods that are left.
    fn least(&self, cluster: usize) -> Vec<u64> {
        let mut least = vec![u64::MAX; self.problem.resources.len()];
        for group in self.members[cluster]
            .iter()
            .filter(|group| self.left[**group] > 0)
        {
            for (least, amount) in least.iter_mut().zip(self.problem.request(*group)) {
                *least = (*least).min(*amount);
            }
        }
        for least in &mut least {
            if *least == u64::MAX {
                *least = 0;
            }
        }
        least
    }

    /// The group whose pods are worth most of those that fit; of equals the first.
    fn largest(
        &self,
        groups: impl Iterator<Item = usize>,
        free: &[u64],
        usable: &impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let mut best: Option<(f64, usize)> = None;
        for group in groups {
            let value = self.values[group];
            if self.left[group] > 0
                && best.is_none_or(|(most, _)| value > most)
                && resources::fits(self.problem.request(group), free)
                && usable(group)
            {
                best = Some((value, group));
            }
        }
        best.map(|(_, group)| group)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::TestCaseError;
    use proptest::{prop_assert, prop_assert_eq};

    use super::*;
    use crate::lower::lower;
    use crate::options::PlanOptions;
    use crate::pack::{load, search};
    use crate::quota::Unlimited;
    use crate::testing::strategies::{Ingredients, check_cases, cluster};

    /// A packing of the small problem by the density greedy, and what real pods make of it.
    fn packed(problem: &Problem<'_>, most: usize) -> (Packing, Packing) {
        let merged = Merged::of(problem, most);
        let sizes: Vec<f64> = (0..problem.groups.len())
            .map(|group| problem.request(group).iter().map(|amount| float(*amount)).sum())
            .collect();
        let filler = search::filler(problem, &sizes);
        let small = search::filler(&merged.problem, &merged.values(problem, &sizes));
        let options = PlanOptions::default();
        let mut effort = Effort::new(&options, &Unlimited);
        let packing = density::pack(&merged.problem, &small, &mut effort);
        let fitted = merged.fit(problem, &filler, &packing, &mut effort);
        (packing, fitted)
    }

    fn is_valid(problem: &Problem<'_>, packing: &Packing) -> Result<(), TestCaseError> {
        let mut ledger = Ledger::new(problem);
        let mut placed: BTreeMap<usize, u64> = BTreeMap::new();
        for (room, filling) in problem.rooms.iter().zip(&packing.rooms) {
            prop_assert!(resources::fits(&load(problem, filling), &room.free));
            for (group, count) in filling {
                prop_assert!(room.profiles.contains(problem.groups[*group].profile));
                *placed.entry(*group).or_default() += count;
            }
        }
        for node in &packing.launched {
            prop_assert!(resources::fits(
                &load(problem, &node.filling),
                problem.room(node.kind)
            ));
            prop_assert!(ledger.allowed(problem, node.kind) >= node.count);
            ledger.open(problem, node.kind, node.count);
            for (group, count) in &node.filling {
                prop_assert!(problem.usable[*group].contains(node.kind));
                *placed.entry(*group).or_default() += count * node.count;
            }
        }
        for (group, count) in problem.counts().into_iter().enumerate() {
            prop_assert_eq!(
                placed.get(&group).copied().unwrap_or(0) + packing.left[group],
                count
            );
        }
        Ok(())
    }

    #[test]
    fn real_pods_fit_their_places_and_none_is_lost() {
        let merged_any = std::cell::Cell::new(0);
        check_cases(400, &cluster(Ingredients::SMALL), |snapshot| {
            let problem = lower(&snapshot);
            for most in [1, 3] {
                let (packing, fitted) = packed(&problem, most);
                merged_any.set(merged_any.get() + u32::from(packing.left.len() < problem.groups.len()));
                is_valid(&problem, &fitted)?;
            }
            Ok(())
        });
        assert!(
            merged_any.get() > 100,
            "{} problems had groups to merge",
            merged_any.get()
        );
    }

    #[test]
    fn without_limits_what_fits_alone_finds_a_place() {
        check_cases(300, &cluster(Ingredients::UNLIMITED), |snapshot| {
            let problem = lower(&snapshot);
            let (_, fitted) = packed(&problem, 2);
            for (group, left) in fitted.left.iter().enumerate() {
                prop_assert!(*left == 0 || problem.usable[group].is_clear());
            }
            Ok(())
        });
    }
}
