//! What a packing launches of one weight, as a problem of its own.
//!
//! Where limits push pods from pools of one weight to those of a lighter one, which pods go where is a matter of the
//! packing and no longer of their group. Once that is settled, the launches of each weight can be packed anew by
//! themselves: with pools of one weight there are no weights. Kinds and groups keep their indices.
//!
//! Promises: a packing of the part in place of what was there leaves every pod with the weight that it had, and limits and
//! supplies hold where they hold for the part.

use crate::lower::Problem;

use super::ledger::Ledger;
use super::{Launched, Packing};

/// The launches of one weight.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// Their pods, and the kinds of their weight.
    pub problem: Problem<'a>,
    /// Where the pods are.
    pub packing: Packing,
    /// What else the packing has.
    rest: Packing,
}

impl<'a> Part<'a> {
    /// What a packing launches of a weight; `None` where that is nothing.
    #[must_use]
    pub fn of(problem: &Problem<'a>, packing: &Packing, tier: usize) -> Option<Self> {
        let is_here = |launched: &Launched| problem.kinds[launched.kind].tier == tier;
        let (here, elsewhere): (Vec<Launched>, Vec<Launched>) =
            packing.launched.iter().cloned().partition(is_here);
        if here.is_empty() {
            return None;
        }
        let mut part = problem.clone();
        part.rooms.clear();
        part.supplies = Ledger::with(problem, &elsewhere).supplies().to_vec();
        let mut pods = vec![0; problem.groups.len()];
        for launched in &here {
            for (group, each) in &launched.filling {
                pods[*group] += each * launched.count;
            }
        }
        for (group, pods) in pods.iter().enumerate() {
            // Pods of a group are all alike: which of them are meant makes no difference.
            part.groups[group]
                .pods
                .truncate(usize::try_from(*pods).unwrap_or(usize::MAX));
            for (index, kind) in problem.kinds.iter().enumerate() {
                if kind.tier != tier {
                    part.usable[group].set(index, false);
                }
            }
            part.tiers[group] = if part.usable[group].is_clear() {
                vec![]
            } else {
                vec![0]
            };
        }
        for kind in &mut part.kinds {
            kind.tier = 0;
        }
        Some(Self {
            problem: part,
            packing: Packing {
                rooms: Vec::new(),
                launched: here,
                left: vec![0; pods.len()],
            },
            rest: Packing {
                launched: elsewhere,
                ..packing.clone()
            },
        })
    }

    /// The whole packing with the part packed otherwise; `None` where that leaves pods.
    #[must_use]
    pub fn replaced(&self, part: &Packing) -> Option<Packing> {
        if part.left.iter().any(|left| *left > 0) {
            return None;
        }
        let mut packing = self.rest.clone();
        packing.launched.extend(part.launched.iter().cloned());
        packing.normalise();
        Some(packing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::lower;
    use crate::pack::karpenter_order;
    use crate::pack::side::verdict::broken;
    use crate::testing::build::{Cluster, machine};
    use crate::testing::strategies::{Ingredients, check_cases, cluster};
    use proptest::{prop_assert, prop_assert_eq};

    #[test]
    fn each_weight_has_the_pods_that_it_had() {
        let snapshot = Cluster::new()
            .instance_type(machine("small", "2", "8Gi", "0.1"))
            .pool_with("heavy", |pool| {
                pool.weight = 10;
                pool.limits.nodes = Some(2);
            })
            .pool("light")
            .pods("web", 5, "1500m", "1Gi")
            .freeze();
        let problem = lower(&snapshot);
        let packing = karpenter_order::pack(&problem, false);
        let pods = |tier: usize| Part::of(&problem, &packing, tier).map(|part| part.problem.counts());
        assert_eq!(pods(0), Some(vec![2]));
        assert_eq!(pods(1), Some(vec![3]));
        assert_eq!(pods(2), None);
    }

    #[test]
    fn a_part_is_sound_by_itself_and_goes_back_where_it_was() {
        check_cases(300, &cluster(Ingredients::SMALL), |snapshot| {
            let problem = lower(&snapshot);
            let packing = karpenter_order::pack(&problem, false);
            for tier in 0..3 {
                let Some(part) = Part::of(&problem, &packing, tier) else {
                    continue;
                };
                prop_assert_eq!(broken(&part.problem, &part.packing), []);
                prop_assert_eq!(part.replaced(&part.packing), Some(packing.clone()));
                let again = karpenter_order::pack(&part.problem, false);
                if let Some(packing) = part.replaced(&again) {
                    prop_assert_eq!(broken(&problem, &packing), []);
                    let on_tier = |launched: &&Launched| problem.kinds[launched.kind].tier == tier;
                    let pods: u64 = (packing.launched.iter().filter(on_tier))
                        .flat_map(|launched| launched.filling.iter().map(|(_, each)| each * launched.count))
                        .sum();
                    prop_assert!(pods == part.problem.counts().iter().sum::<u64>());
                }
            }
            Ok(())
        });
    }
}
