//! Looks for fillings that are worth more than they cost, kind by kind, and says how far any could go.
//!
//! Each kind is a knapsack. Its multipliers are kept between looks: values change little from one to the next, and most
//! kinds are put aside by the bound of the multipliers they had. A kind's best filling goes to the cheapest kind that
//! holds it. Caps on classes of pods are further columns of room and requests.
//!
//! A deep look first tries what a quick one does. What that leaves open a dynamic programme settles where bins are small
//! enough for it, and branch and bound goes on where they aren't.
//!
//! Papers: papers.md, 1 and 9.

use super::float;
use fixedbitset::FixedBitSet;

use crate::lower::Problem;
use crate::lower::rules::resources;

use super::Filling;
use super::downsize::cheapest;
use super::dynamic;
use super::effort::Effort;
use super::knapsack::{Answer, Ask, Conflicts, Item, Knapsack, quick_bound};
use super::ledger::Ledger;
use super::master::Pattern;
use super::valuation::{Rules, Valuation};

/// Kinds up to which fillings are looked for that go well together: each costs a search for every node of a packing.
const FEW_KINDS: usize = 3;
/// Nodes of a packing after which such a search ends.
const MOST_TOGETHER: usize = 300;

/// Nodes of the tree up to which a look is a quick one.
const QUICK: u64 = 60;
/// States of the dynamic programme for a node of the tree: at the most nodes, some thirty milliseconds, and four times as
/// many settle hardly any bin more.
const STATES_A_NODE: u64 = 8;
/// The part of what was open when it failed at which it is tried again with as many states.
const CLOSER: f64 = 0.7;

/// What one look at all kinds found.
#[derive(Debug)]
pub struct Found {
    /// Fillings worth more than the share asked for of what their kind costs, the most by ratio first.
    pub patterns: Vec<Pattern>,
    /// The most that a filling may be worth for its cost, over all kinds; one at least.
    pub excess: f64,
}

/// How hard to look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// The share of its kind's cost that a filling has to be worth.
    pub share: f64,
    /// Nodes of the tree for each kind.
    pub nodes: u64,
    /// Fillings of each kind at most.
    pub keep: usize,
    /// Starts from which the first filling of each kind is bettered by swaps.
    pub kicks: u32,
}

/// A kind with the groups that may go there, each with how many fit.
pub(super) struct Candidate {
    pub(super) kind: usize,
    pub(super) room: Vec<u64>,
    pub(super) groups: Vec<(usize, u64)>,
    /// The multipliers that bounded it best when last looked at.
    multipliers: Vec<f64>,
    /// States that weren't enough for a dynamic programme, and the share of the floor that was open then.
    failed: (u64, f64),
}

impl Candidate {
    /// The best fillings with these items, as far as asked for.
    fn search(
        &mut self,
        items: &[Item<'_>],
        conflicts: &Conflicts,
        ask: Ask,
        effort: &mut Effort<'_>,
    ) -> Answer {
        let (multipliers, room) = (&self.multipliers, &self.room);
        if ask.nodes <= QUICK || !conflicts.is_empty() {
            return Knapsack::search(multipliers, room, items, conflicts, ask, effort);
        }
        let quick = Ask { nodes: QUICK, ..ask };
        let mut answer = Knapsack::search(multipliers, room, items, conflicts, quick, effort);
        if !answer.is_open(ask.floor) || effort.is_used_up() {
            return answer;
        }
        let known = answer.fillings.first().map_or(0.0, |(value, _)| *value);
        let floor = known.max(ask.floor);
        let states = ask.nodes.saturating_mul(STATES_A_NODE);
        let open = answer.upper / floor - 1.0;
        let mut better = None;
        if states > self.failed.0 || open < CLOSER * self.failed.1 {
            better = dynamic::best(multipliers, room, items, floor, states, effort);
            if better.is_none() {
                self.failed = (states, open);
            }
        }
        let better = better.unwrap_or_else(|| {
            let kicks = (0, 0);
            let ask = Ask { floor, kicks, ..ask };
            Knapsack::search(multipliers, room, items, conflicts, ask, effort)
        });
        answer.upper = answer.upper.min(better.upper);
        answer.fillings.splice(0..0, better.fillings);
        answer.fillings.truncate(ask.keep);
        answer
    }
}

/// Looks for fillings of all kinds that can be launched in any number.
pub struct Generator<'a> {
    problem: &'a Problem<'a>,
    pub(super) rules: Rules,
    pub(super) candidates: Vec<Candidate>,
    /// By tier: its kinds, cheapest first.
    tiers: Vec<Vec<usize>>,
    /// By group: what one pod asks for, with a column for each class of several groups.
    pub(super) requests: Vec<Vec<u64>>,
    pub(super) knapsack: Knapsack,
    pub(super) nothing_launched: Ledger,
    /// Of the next search: each goes another way.
    seed: u64,
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
    pub fn new(problem: &'a Problem<'a>, demand: &[u64], rules: Rules) -> Option<Self> {
        let usable: Vec<FixedBitSet> = (0..demand.len()).map(|group| usable(problem, group)).collect();
        // A class of one group needs no column: it bounds how many of it there are.
        let shared = || rules.classes.iter().filter(|class| class.groups.len() > 1);
        let most = |group: usize| {
            let own = rules.classes.iter().filter(|class| class.groups == [group]);
            own.map(|class| class.most).min().unwrap_or(u64::MAX)
        };
        let most: Vec<u64> = (0..demand.len()).map(most).collect();
        let request = |group: usize| -> Vec<u64> {
            let classes = shared();
            let member = classes.map(|class| u64::from(class.groups.binary_search(&group).is_ok()));
            problem.request(group).iter().copied().chain(member).collect()
        };
        let requests: Vec<Vec<u64>> = (0..demand.len()).map(request).collect();
        let mut candidates = Vec::new();
        let mut tiers = vec![Vec::new(); problem.kinds.iter().map(|kind| kind.tier + 1).max()?];
        for (kind, details) in problem.kinds.iter().enumerate() {
            if details.supply.is_some() {
                continue;
            }
            tiers[details.tier].push(kind);
            let caps = shared().map(|class| class.most);
            let room: Vec<u64> = problem.room(kind).iter().copied().chain(caps).collect();
            let groups: Vec<(usize, u64)> = (0..demand.len())
                .filter(|group| demand[*group] > 0 && usable[*group].contains(kind))
                .map(|group| (group, resources::copies(&requests[group], &room).min(most[group])))
                .filter(|(_, copies)| *copies > 0)
                .collect();
            if groups.is_empty() {
                continue;
            }
            if details.cost == 0 {
                return None;
            }
            candidates.push(Candidate {
                kind,
                room,
                groups,
                multipliers: Vec::new(),
                failed: (0, 0.0),
            });
        }
        Some(Self {
            problem,
            rules,
            candidates,
            tiers,
            requests,
            knapsack: Knapsack::default(),
            nothing_launched: Ledger::new(problem),
            seed: 0,
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

    /// Whether kinds are so few that [`Generator::together`] pays.
    #[must_use]
    pub fn has_few_kinds(&self) -> bool {
        self.candidates.len() <= FEW_KINDS
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

    /// What a filling is worth for its cost.
    fn ratio(&self, pattern: &Pattern, valuation: &Valuation) -> f64 {
        valuation.worth(&pattern.filling) / valuation.costs[pattern.kind]
    }

    /// Whether a filling is worth more than it costs.
    #[must_use]
    pub fn is_worthwhile(&self, pattern: &Pattern, valuation: &Valuation) -> bool {
        self.ratio(pattern, valuation) > WORTHWHILE
    }

    /// Those that are worth more than they cost, the most by ratio first.
    #[must_use]
    pub fn worthwhile(&self, patterns: Vec<Pattern>, valuation: &Valuation) -> Vec<Pattern> {
        let rated = patterns
            .into_iter()
            .map(|pattern| (self.ratio(&pattern, valuation), pattern));
        let mut rated: Vec<(f64, Pattern)> = rated.filter(|(ratio, _)| *ratio > WORTHWHILE).collect();
        rated.sort_by(|one, two| two.0.total_cmp(&one.0).then_with(|| one.1.cmp(&two.1)));
        rated.into_iter().map(|(_, pattern)| pattern).collect()
    }

    /// The best fillings of each kind under these values that are worth more than a share of its cost; `None` when
    /// the effort is used up, or a value or a bound is no number: what is known of all other kinds bounds nothing then.
    pub fn look(
        &mut self,
        valuation: &Valuation,
        left: &[u64],
        look: Look,
        effort: &mut Effort<'_>,
    ) -> Option<Found> {
        if !valuation.values.iter().all(|value| value.is_finite()) {
            return None;
        }
        let mut found: Vec<(f64, Pattern)> = Vec::new();
        let mut excess = 1.0_f64;
        for at in 0..self.candidates.len() {
            if effort.is_used_up() {
                return None;
            }
            let cost = valuation.costs[self.candidates[at].kind];
            let (fillings, upper) = self.fill(at, valuation, left, look, effort);
            let ratio = upper / cost;
            if !ratio.is_finite() {
                return None;
            }
            excess = excess.max(ratio);
            let kind = self.candidates[at].kind;
            for (value, filling) in fillings {
                let pattern = self.settled(kind, filling, &self.nothing_launched);
                found.push((value / cost, pattern));
            }
        }
        found.sort_by(|one, two| two.0.total_cmp(&one.0).then_with(|| one.1.cmp(&two.1)));
        Some(Found {
            patterns: found.into_iter().map(|(_, pattern)| pattern).collect(),
            excess,
        })
    }

    /// The best fillings of one kind, and what none of it exceeds.
    fn fill(
        &mut self,
        at: usize,
        valuation: &Valuation,
        left: &[u64],
        look: Look,
        effort: &mut Effort<'_>,
    ) -> (Vec<(f64, Filling)>, f64) {
        let candidate = &mut self.candidates[at];
        let room = &candidate.room;
        let floor = valuation.costs[candidate.kind] * look.share;
        let values = &valuation.values;
        let groups = candidate.groups.iter();
        let items: Vec<Item<'_>> = groups
            .filter(|(group, _)| left[*group] > 0 && values[*group] > 0.0)
            .map(|(group, copies)| Item {
                group: *group,
                value: values[*group],
                request: &self.requests[*group],
                most: left[*group].min(*copies),
            })
            .collect();
        let looks = u64::try_from(items.len()).unwrap_or(u64::MAX);
        effort.spend(looks / 4 + 1);
        let known = !candidate.multipliers.is_empty();
        if known && quick_bound(&candidate.multipliers, room, &items) <= floor {
            return (Vec::new(), floor);
        }
        candidate.multipliers = self.knapsack.multipliers(room, &items);
        effort.spend(2 * looks);
        let bound = quick_bound(&candidate.multipliers, room, &items);
        if bound <= floor {
            return (Vec::new(), floor);
        }
        let ask = Ask {
            floor,
            nodes: look.nodes,
            keep: look.keep,
            kicks: (look.kicks, self.seed),
        };
        self.seed = self.seed.wrapping_add(1);
        let answer = candidate.search(&items, &self.rules.conflicts, ask, effort);
        (answer.fillings, answer.upper.min(bound))
    }

    /// Fillings that cover the pods left without sharing any, one after the other, the best for its cost first: what is best
    /// for the pods that others leave is never best of all, and yet the master needs it.
    pub fn together(
        &mut self,
        valuation: &Valuation,
        left: &[u64],
        look: Look,
        effort: &mut Effort<'_>,
    ) -> Vec<Pattern> {
        let mut left = left.to_vec();
        let mut patterns = Vec::new();
        while patterns.len() < MOST_TOGETHER && !effort.is_used_up() {
            let mut best: Option<(f64, usize, Filling)> = None;
            for at in 0..self.candidates.len() {
                let one = Look { keep: 1, ..look };
                let (fillings, _) = self.fill(at, valuation, &left, one, effort);
                let kind = self.candidates[at].kind;
                for (value, filling) in fillings {
                    let ratio = value / valuation.costs[kind];
                    if best.as_ref().is_none_or(|(most, ..)| ratio > *most) {
                        best = Some((ratio, kind, filling));
                    }
                }
            }
            let Some((_, kind, filling)) = best else { break };
            let times = filling.iter().map(|(group, count)| left[*group] / count).min();
            for (group, count) in &filling {
                left[*group] -= count * times.unwrap_or(0);
            }
            patterns.push(self.settled(kind, filling, &self.nothing_launched));
        }
        patterns
    }
}

/// A filling has to be worth so much more than it costs.
pub const WORTHWHILE: f64 = 1.0 + 1e-6;

#[cfg(test)]
#[path = "generator_tests.rs"]
mod tests;
