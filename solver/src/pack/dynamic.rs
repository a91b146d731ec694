//! The most valuable filling of a small bin by a dynamic programme, exactly.
//!
//! Item by item in the order of value for what they take of the room: from all that may be left of the room so far, to
//! all that is left with so many of the next. What is left is met again and again on different ways, and only the most
//! valuable way there goes on; so does nothing that has less of each resource left and isn't worth more, and nothing
//! whose bound under the [`super::multipliers`] isn't above the best so far. Where bounds hardly tell fillings apart, a
//! tree tries the same rest once for each way to it.
//!
//! Promises: an answer is exact as far as [`super::knapsack`]'s is, with the best filling and a bound raised outward.
//! Doesn't do: conflicts between groups; bins on which there are more states than asked for. Both get no answer.
//!
//! Papers: papers.md, 1 and 9.

use super::Filling;
use super::effort::Effort;
use super::float;
use super::knapsack::{Answer, CLOSE, Item, OUTWARD, ranked, worth};
use super::packed::Packed;

/// States between two looks at the effort: well below a millisecond.
const ASK_EVERY: u64 = 4_096;
/// States with three resources or more are compared with so many before them: most that are dominated are so by a
/// neighbour, and comparing all with all would take longer than it saves.
const NEIGHBOURS: usize = 24;

/// Copies of an item up to which a bound tells how many fit: of many, a part more or less hardly matters.
const COUNTED: u32 = 4;

/// One item in the order of the programme.
struct Step {
    item: usize,
    /// Its share of the room's worth.
    size: f64,
    value: f64,
    most: u64,
    request: u128,
    /// The least of each resource that this or a later item asks for.
    least: u128,
}

/// What is left of the room after some items, on the best way there.
#[derive(Clone, Copy, Debug)]
struct State {
    rest: u128,
    value: f64,
    /// What the rest is worth under the multipliers.
    left: f64,
    /// Place among the choices made; the last one on the way here.
    choice: u32,
}

/// So many of an item, and the choice before it.
#[derive(Clone, Copy)]
struct Choice {
    step: u32,
    count: u64,
    before: u32,
}

/// No choice before.
const START: u32 = u32::MAX;

struct Programme<'a> {
    packed: &'a Packed,
    steps: Vec<Step>,
    states: Vec<State>,
    /// Those that the step at hand leads to.
    next: Vec<State>,
    choices: Vec<Choice>,
    /// A bound has to be above it.
    enough: f64,
    /// The most valuable one that is worth more than asked for.
    best: Option<(f64, u32)>,
    /// States made so far, and how many there may be.
    made: u64,
    most: u64,
    looks: u64,
    /// Pairs of what is left of the last resource and value, none below another: less left, more value.
    front: Vec<(u128, f64)>,
}

/// The best filling if any is worth more than `floor`, and what none exceeds; `None` after `most` states, when the
/// effort is used up, or where amounts are too fine.
#[must_use]
pub fn best(
    multipliers: &[f64],
    room: &[u64],
    items: &[Item<'_>],
    floor: f64,
    most: u64,
    effort: &mut Effort<'_>,
) -> Option<Answer> {
    let packed = Packed::new(room, items)?;
    let mut programme = Programme::new(multipliers, room, items, &packed, floor, most);
    for step in 0..programme.steps.len() {
        let is_done = programme.extend(step, effort);
        effort.spend(std::mem::take(&mut programme.looks));
        if !is_done {
            return None;
        }
    }
    Some(programme.answer(items))
}

impl<'a> Programme<'a> {
    fn new(
        multipliers: &[f64],
        room: &[u64],
        items: &[Item<'_>],
        packed: &'a Packed,
        floor: f64,
        most: u64,
    ) -> Self {
        let order = ranked(multipliers, items).into_iter();
        let mut steps: Vec<Step> = order
            .map(|ranked| Step {
                item: ranked.item,
                size: ranked.size,
                value: items[ranked.item].value,
                most: items[ranked.item].most,
                request: packed.requests[ranked.item],
                least: packed.requests[ranked.item],
            })
            .collect();
        for at in (1..steps.len()).rev() {
            steps[at - 1].least = packed.least(steps[at - 1].least, steps[at].least);
        }
        let start = State {
            rest: packed.room,
            value: 0.0,
            left: worth(multipliers, room),
            choice: START,
        };
        Self {
            packed,
            steps,
            states: vec![start],
            next: Vec::new(),
            choices: Vec::new(),
            enough: floor.max(0.0) * CLOSE,
            best: None,
            made: 0,
            most: most.min(u64::from(START)),
            looks: 0,
            front: Vec::new(),
        }
    }

    /// All states with so many of a step's item more, none too; false when there are too many.
    fn extend(&mut self, at: usize, effort: &mut Effort<'_>) -> bool {
        let states = std::mem::take(&mut self.states);
        let mut ask_at = self.made + ASK_EVERY;
        for state in &states {
            self.branch(at, *state);
            if self.made > self.most {
                return false;
            }
            if self.made >= ask_at {
                ask_at = self.made + ASK_EVERY;
                effort.spend(std::mem::take(&mut self.looks));
                if effort.is_used_up() {
                    return false;
                }
            }
        }
        self.states = states;
        self.states.clear();
        self.settle(at + 1);
        true
    }

    /// The states that one leads to: the more of the item, the higher the bound.
    fn branch(&mut self, at: usize, state: State) {
        let step = &self.steps[at];
        let (mut rest, mut count) = (state.rest, 0);
        while count < step.most
            && let Some(less) = self.packed.less(rest, step.request)
        {
            (rest, count) = (less, count + 1);
        }
        self.looks += 1 + count / 4;
        loop {
            let step = &self.steps[at];
            let value = state.value + step.value * float(count);
            let left = (state.left - step.size * float(count)).max(0.0);
            let more = self.fractional(at + 1, left, None);
            if (value + more) * OUTWARD <= self.enough {
                break;
            }
            self.made += 1;
            let mut choice = state.choice;
            if count > 0 {
                choice = u32::try_from(self.choices.len()).unwrap_or(START);
                self.choices.push(Choice {
                    step: u32::try_from(at).unwrap_or(START),
                    count,
                    before: state.choice,
                });
                let enough = value * CLOSE;
                if enough > self.enough {
                    self.enough = enough;
                    self.best = Some((value, choice));
                }
            }
            let goes_on = (self.steps.get(at + 1)).is_some_and(|next| self.packed.covers(rest, next.least));
            if goes_on {
                self.next.push(State {
                    rest,
                    value,
                    left,
                    choice,
                });
            }
            if count == 0 {
                break;
            }
            count -= 1;
            rest += self.steps[at].request;
        }
    }

    /// Takes over the next states, less those that others dominate and those that can't be better than the best.
    fn settle(&mut self, from: usize) {
        let mut next = std::mem::take(&mut self.next);
        // About as long as making them.
        self.looks += u64::try_from(next.len()).unwrap_or(u64::MAX);
        next.sort_unstable_by(|one, two| {
            let rests = two.rest.cmp(&one.rest);
            let values = || two.value.total_cmp(&one.value);
            rests.then_with(values).then(one.choice.cmp(&two.choice))
        });
        self.front.clear();
        for state in &next {
            if self.is_dominated(state) {
                continue;
            }
            let more = self.fractional(from, state.left, Some(state.rest));
            if (state.value + more) * OUTWARD > self.enough {
                self.states.push(*state);
            }
        }
        next.clear();
        self.next = next;
    }

    /// Whether one before it, in the order of what is left, has as much left of each resource and is worth as much.
    fn is_dominated(&mut self, state: &State) -> bool {
        if self.packed.fields > 2 {
            let mut before = self.states.iter().rev().take(NEIGHBOURS);
            return before
                .any(|other| other.value >= state.value && self.packed.covers(other.rest, state.rest));
        }
        // All before have as much of the first resource: those with as much of the last one count.
        let last = self.packed.last(state.rest);
        let last = if self.packed.fields == 2 { last } else { 0 };
        let place = self.front.partition_point(|(other, _)| *other >= last);
        if place > 0 && self.front[place - 1].1 >= state.value {
            return true;
        }
        let below = self.front[place..].partition_point(|(_, value)| *value <= state.value);
        let same = usize::from(place > 0 && self.front[place - 1].0 == last);
        self.front
            .splice(place - same..place + below, [(last, state.value)]);
        false
    }

    /// How many times a request goes into a rest; beyond a few, no number.
    fn copies(&self, request: u128, mut rest: u128) -> f64 {
        for count in 0..COUNTED {
            match self.packed.less(rest, request) {
                Some(less) => rest = less,
                None => return f64::from(count),
            }
        }
        f64::INFINITY
    }

    /// The fractional knapsack of the items from a step on; with a rest, of those that fit it, as often as each does.
    fn fractional(&mut self, from: usize, mut left: f64, rest: Option<u128>) -> f64 {
        let mut sum = 0.0;
        for (looks, step) in (0_u64..).zip(&self.steps[from..]) {
            if rest.is_some_and(|rest| !self.packed.covers(rest, step.request)) {
                continue;
            }
            let most = float(step.most);
            if step.size <= 0.0 {
                sum += step.value * most;
                continue;
            }
            let mut count = (left / step.size).min(most);
            if let Some(rest) = rest {
                count = count.min(self.copies(step.request, rest));
            }
            sum += step.value * count;
            left -= step.size * count;
            if left <= 0.0 {
                self.looks += looks / 8;
                return sum;
            }
        }
        self.looks += u64::try_from((self.steps.len() - from) / 8).unwrap_or(u64::MAX);
        sum
    }

    fn answer(self, items: &[Item<'_>]) -> Answer {
        let mut fillings = Vec::new();
        if let Some((value, mut choice)) = self.best {
            let mut filling = Filling::new();
            while let Some(Choice { step, count, before }) = usize::try_from(choice)
                .ok()
                .and_then(|choice| self.choices.get(choice))
            {
                let step = usize::try_from(*step).ok().and_then(|step| self.steps.get(step));
                filling.extend(step.map(|step| (items[step.item].group, *count)));
                choice = *before;
            }
            filling.sort_unstable();
            fillings.push((value, filling));
        }
        Answer {
            fillings,
            upper: self.enough * OUTWARD,
        }
    }
}

#[cfg(test)]
#[path = "dynamic_tests.rs"]
mod tests;
