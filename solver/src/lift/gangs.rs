//! Why gangs have no place: one reason for all pods of a gang, with how many of them would have had one.

use std::collections::BTreeMap;

use crate::lower::Problem;
use crate::lower::rules::gang::Gang;
use crate::model::explain::{Constraint, Reason};
use crate::pack::Packing;

/// By group of a gang without a place: the reasons of its pods.
pub(super) fn told(problem: &Problem<'_>, packing: &Packing) -> BTreeMap<usize, Vec<Reason>> {
    let is_left = |gang: &&Gang<'_>| gang.groups.iter().any(|group| packing.left[*group] > 0);
    let left: Vec<&Gang<'_>> = problem.gangs.iter().filter(is_left).collect();
    let (refused, others): (Vec<&Gang<'_>>, _) = left.into_iter().partition(|gang| gang.refused.is_some());
    let reasons = reasons(problem, packing, &others);
    let refused = refused
        .iter()
        .filter_map(|gang| Some((*gang, gang.refused.clone()?)));
    let by_gang = others.iter().copied().zip(reasons).chain(refused);
    by_gang
        .flat_map(|(gang, reasons)| gang.groups.iter().map(move |group| (*group, reasons.clone())))
        .collect()
}

/// For each of these gangs, of which a packing leaves pods: the reason of the first that it leaves, from every node pool,
/// said of the whole gang. Where its pods aren't all alike, another's reason needn't be so for each of them.
pub(crate) fn reasons(problem: &Problem<'_>, packing: &Packing, gangs: &[&Gang<'_>]) -> Vec<Vec<Reason>> {
    let first_left = |gang: &&Gang<'_>| {
        let mut groups = gang.groups.iter().copied();
        groups
            .find(|group| packing.left[*group] > 0)
            .unwrap_or(gang.groups[0])
    };
    let first_left: Vec<usize> = gangs.iter().map(first_left).collect();
    let mut reasons = super::reasons(problem, packing, &first_left);
    for ((gang, left), reasons) in gangs.iter().zip(first_left).zip(&mut reasons) {
        let count = |group: &usize| u64::try_from(problem.groups[*group].pods.len()).unwrap_or(u64::MAX);
        let total: u64 = gang.groups.iter().map(count).sum();
        let placed = total - gang.groups.iter().map(|group| packing.left[*group]).sum::<u64>();
        let found = match placed {
            0 => format!("no place for all {total} pods"),
            _ => format!("{placed} of {total} pods find a place"),
        };
        for reason in reasons {
            let Reason {
                constraint, detail, ..
            } = reason;
            if gang.groups.len() == 1 {
                *detail = format!("gang {}: {found}; {detail}", gang.key.1);
            } else {
                let pod = &problem.snapshot.pods[problem.groups[left].pods[0]].name;
                *detail = format!(
                    "gang {}: {found}; none for {pod}: {constraint}: {detail}",
                    gang.key.1
                );
                *constraint = Constraint::Gang;
            }
        }
    }
    reasons
}
