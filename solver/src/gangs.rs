//! Gangs are placed whole or not at all: which of them find a place together, and packings without the pieces of others.
//!
//! Which can't be placed whole is found out by the baseline, which takes milliseconds: as long as some are there in part,
//! one of them is taken out, of the lowest priority and among those the largest, and the rest is packed anew, so that its
//! room goes to others. What was taken out then tries to come back, one by one, beside all that is placed by then.
//!
//! Promises: nothing is done where there are no gangs. All of it ends after so many packings, and costs no more than a
//! share of the time; whatever is in part then is taken out at once.

use std::cmp::Reverse;

use fixedbitset::FixedBitSet;

use crate::lift;
use crate::lower::Problem;
use crate::lower::rules::gang::{Gang, Refused};
use crate::model::explain::Reason;
use crate::pack::{Packing, karpenter_order};
use crate::quota::{Portion, Quota};

/// Packings after which gangs are no longer taken out, or let in again, one by one: a second's worth for many thousands of
/// pods.
const MOST_TRIES: usize = 64;
/// Hundredths of the time for it.
const TIME: u32 = 20;

/// Takes gangs of which a packing leaves pods out of it altogether.
pub(crate) fn make_whole(problem: &Problem<'_>, packing: &mut Packing) {
    let mut out = FixedBitSet::with_capacity(problem.groups.len());
    let in_part = problem
        .gangs
        .iter()
        .filter(|gang| is_in_part(problem, packing, gang));
    in_part.for_each(|gang| out.extend(gang.groups.iter().copied()));
    if out.is_clear() {
        return;
    }
    for filling in &mut packing.rooms {
        filling.retain(|(group, _)| !out.contains(*group));
    }
    for launched in &mut packing.launched {
        launched.filling.retain(|(group, _)| !out.contains(*group));
    }
    packing.launched.retain(|launched| !launched.filling.is_empty());
    packing.normalise();
    for group in out.ones() {
        packing.left[group] = count(problem, group);
    }
}

/// Gangs that get no place, so that all others have one whole; those that have to wait among them. `None` where nothing
/// has to be taken out.
pub(crate) fn settle<'a>(problem: &Problem<'a>, quota: &dyn Quota) -> Option<Refused<'a>> {
    if problem.gangs.iter().all(|gang| gang.refused.is_some()) {
        return None;
    }
    let mut settling = Settling::new(problem, quota);
    settling.take_out();
    if settling.out.iter().all(Option::is_none) {
        return None;
    }
    settling.let_in();
    let gangs = problem.gangs.iter().zip(settling.out);
    let refused = gangs.filter_map(|(gang, out)| Some((gang.key, gang.refused.clone().or(out)?)));
    Some(refused.collect())
}

fn count(problem: &Problem<'_>, group: usize) -> u64 {
    u64::try_from(problem.groups[group].pods.len()).unwrap_or(u64::MAX)
}

fn is_short(packing: &Packing, gang: &Gang<'_>) -> bool {
    gang.groups.iter().any(|group| packing.left[*group] > 0)
}

fn is_in_part(problem: &Problem<'_>, packing: &Packing, gang: &Gang<'_>) -> bool {
    let has_placed = |group: &usize| packing.left[*group] < count(problem, *group);
    is_short(packing, gang) && gang.groups.iter().any(has_placed)
}

struct Settling<'p, 'a> {
    problem: &'p Problem<'a>,
    quota: Portion<'p>,
    /// By gang: why it was taken out.
    out: Vec<Option<Vec<Reason>>>,
    /// Of all that isn't taken out.
    packing: Packing,
    tries: usize,
}

impl<'p, 'a> Settling<'p, 'a> {
    fn new(problem: &'p Problem<'a>, quota: &'p dyn Quota) -> Self {
        Self {
            problem,
            quota: Portion::of(quota, TIME),
            out: vec![None; problem.gangs.len()],
            packing: packed(problem, &FixedBitSet::new()),
            tries: 0,
        }
    }

    fn has_time(&mut self) -> bool {
        self.tries += 1;
        self.tries <= MOST_TRIES && !self.quota.is_exhausted()
    }

    /// Gangs that may have a place and aren't whole.
    fn short(&self, packing: &Packing) -> Vec<usize> {
        let gangs = self.problem.gangs.iter().zip(&self.out).enumerate();
        gangs
            .filter(|(_, (gang, out))| out.is_none() && gang.refused.is_none() && is_short(packing, gang))
            .map(|(at, _)| at)
            .collect()
    }

    /// The groups of gangs that are taken out.
    fn groups_out(&self) -> FixedBitSet {
        let mut groups = FixedBitSet::with_capacity(self.problem.groups.len());
        for (gang, out) in self.problem.gangs.iter().zip(&self.out) {
            if out.is_some() {
                groups.extend(gang.groups.iter().copied());
            }
        }
        groups
    }

    fn take_out(&mut self) {
        self.tries = 0;
        loop {
            let mut short = self.short(&self.packing);
            let in_part: Vec<usize> = short
                .iter()
                .copied()
                .filter(|gang| is_in_part(self.problem, &self.packing, &self.problem.gangs[*gang]))
                .collect();
            let worst = in_part.iter().copied().min_by_key(|gang| self.rank(*gang));
            if let Some(worst) = worst
                && self.has_time()
            {
                short = vec![worst];
            }
            let gangs: Vec<&Gang<'_>> = short.iter().map(|gang| &self.problem.gangs[*gang]).collect();
            let reasons = lift::gangs::reasons(self.problem, &self.packing, &gangs);
            for (gang, reasons) in short.into_iter().zip(reasons) {
                self.out[gang] = Some(reasons);
            }
            if in_part.is_empty() {
                // Those that went now had nothing in the packing.
                return;
            }
            self.packing = packed(self.problem, &self.groups_out());
        }
    }

    /// Lets gangs in again that fit beside the others, the most urgent and the smallest first.
    fn let_in(&mut self) {
        self.tries = 0;
        let gangs = 0..self.out.len();
        let mut out: Vec<usize> = gangs.filter(|gang| self.out[*gang].is_some()).collect();
        out.sort_by_key(|gang| Reverse(self.rank(*gang)));
        for gang in out {
            if !self.has_time() {
                return;
            }
            let reasons = self.out[gang].take();
            let packing = packed(self.problem, &self.groups_out());
            if self.short(&packing).is_empty() && packing.is_better_than(&self.packing, self.problem) {
                self.packing = packing;
            } else {
                self.out[gang] = reasons;
            }
        }
    }

    /// Less for what goes first: its priority, and what it asks for.
    fn rank(&self, gang: usize) -> (Option<i32>, Reverse<Vec<u64>>) {
        let groups = &self.problem.gangs[gang].groups;
        let priorities = groups.iter().map(|group| self.problem.groups[*group].priority);
        let mut need = vec![0_u64; self.problem.resources.len()];
        for group in groups {
            let pods = count(self.problem, *group);
            for (need, request) in need.iter_mut().zip(self.problem.request(*group)) {
                *need = request.saturating_mul(pods).saturating_add(*need);
            }
        }
        (priorities.max(), Reverse(need))
    }
}

/// The better of what the baseline makes of it, by size and by priority.
fn packed(problem: &Problem<'_>, without: &FixedBitSet) -> Packing {
    let by_size = karpenter_order::pack_without(problem, false, without);
    let left = by_size.left_by_priority(problem);
    if left.len() < 2 || left.iter().all(|(_, count)| *count == 0) {
        return by_size;
    }
    let by_priority = karpenter_order::pack_without(problem, true, without);
    if by_priority.is_better_than(&by_size, problem) {
        by_priority
    } else {
        by_size
    }
}

#[cfg(test)]
#[path = "gangs_tests.rs"]
mod tests;
