//! Tests of the dynamic programme: against trying everything, against branch and bound run to the end, and cut short.

use super::*;
use crate::lower::rules::resources;
use crate::options::PlanOptions;
use crate::pack::knapsack::{Ask, Conflicts, Knapsack};
use crate::pack::random::Random;
use crate::quota::{Unlimited, WorkLimit};

/// Room for everything that the tests ask.
const PLENTY: u64 = 1 << 24;

/// The best value by trying everything.
fn by_force(items: &[Item<'_>], room: &[u64]) -> f64 {
    let Some((item, others)) = items.split_first() else {
        return 0.0;
    };
    let mut best = 0.0_f64;
    for count in 0..=resources::copies(item.request, room).min(item.most) {
        let mut rest = room.to_vec();
        resources::take(&mut rest, item.request, count);
        best = best.max(item.value * float(count) + by_force(others, &rest));
    }
    best
}

/// What a filling is worth; the room has to hold it.
fn held(filling: &Filling, items: &[Item<'_>], room: &[u64]) -> f64 {
    let mut rest = room.to_vec();
    let mut value = 0.0;
    for (group, count) in filling {
        let item = items.iter().find(|item| item.group == *group).unwrap();
        assert!(*count > 0 && *count <= item.most && resources::copies(item.request, &rest) >= *count);
        resources::take(&mut rest, item.request, *count);
        value += item.value * float(*count);
    }
    value
}

/// A knapsack at random: room and requests of `columns` resources, in multiples of a unit.
struct Sample {
    room: Vec<u64>,
    requests: Vec<Vec<u64>>,
    values: Vec<f64>,
    most: Vec<u64>,
}

impl Sample {
    fn new(random: &mut Random, columns: usize, groups: usize, room: u64, request: usize) -> Self {
        let mut below = |most: usize| u64::try_from(random.below(most)).unwrap();
        let unit = 1 + below(5);
        let room: Vec<u64> = (0..columns).map(|_| room / 2 + below(9) + unit * room).collect();
        let requests: Vec<Vec<u64>> = (0..groups)
            .map(|_| (0..columns).map(|_| unit * below(request)).collect())
            .collect();
        let most = (0..groups).map(|_| 1 + below(5)).collect();
        // Values near a sum of the request: bounds tell fillings apart as little as they do in the end of generating.
        let value = |request: &Vec<u64>| {
            let sum: u64 = request.iter().sum();
            float(sum) / float(unit) + 0.05 + random.unit()
        };
        Self {
            values: requests.iter().map(value).collect(),
            room,
            requests,
            most,
        }
    }

    fn items(&self) -> Vec<Item<'_>> {
        let each = self.requests.iter().enumerate();
        each.filter(|(_, request)| resources::fits(request, &self.room))
            .map(|(group, request)| Item {
                group,
                value: self.values[group],
                request,
                most: self.most[group].min(resources::copies(request, &self.room)),
            })
            .collect()
    }
}

#[test]
fn it_is_the_best_of_all_and_no_bound_is_below() {
    let mut random = Random::new(23);
    let mut knapsack = Knapsack::default();
    let options = PlanOptions::default();
    let mut effort = Effort::new(&options, &Unlimited);
    let mut none_above = 0;
    for case in 0..2_000 {
        let columns = 1 + random.below(5);
        let groups = 1 + random.below(6);
        let sample = Sample::new(&mut random, columns, groups, 20, 9);
        let (items, room) = (sample.items(), &sample.room);
        let forced = by_force(&items, room);
        let mut multipliers = knapsack.multipliers(room, &items);
        if case % 3 == 0 {
            // Any that aren't negative have to do.
            multipliers = (0..columns).map(|_| random.unit()).collect();
        }
        let answer = best(&multipliers, room, &items, 0.0, PLENTY, &mut effort).unwrap();
        assert!(answer.upper >= forced && answer.upper <= forced * CLOSE * CLOSE);
        let value = answer.fillings.first().map_or(0.0, |(value, _)| *value);
        assert!(
            value >= forced / CLOSE && value <= forced * CLOSE,
            "case {case}: {value} instead of {forced}"
        );
        for (value, filling) in &answer.fillings {
            assert!(
                (held(filling, &items, room) - value).abs() <= 1e-9 * value,
                "case {case}"
            );
        }
        // Above a floor there is one or none, and the bound says so.
        let floor = forced * (0.8 + 0.4 * random.unit());
        let floored = best(&multipliers, room, &items, floor, PLENTY, &mut effort).unwrap();
        assert!(floored.upper >= forced.max(floor) && floored.upper <= forced.max(floor) * CLOSE * CLOSE);
        assert_eq!(
            floored.fillings.is_empty(),
            forced <= floor * CLOSE,
            "case {case}"
        );
        none_above += usize::from(floored.fillings.is_empty());
    }
    assert!((300..1_700).contains(&none_above), "{none_above}");
}

#[test]
fn it_ends_where_branch_and_bound_does() {
    let mut random = Random::new(29);
    let mut knapsack = Knapsack::default();
    let options = PlanOptions::default();
    let mut effort = Effort::new(&options, &Unlimited);
    for case in 0..60 {
        let columns = 1 + case % 4;
        let sample = Sample::new(&mut random, columns, 12, 30, 12);
        let (items, room) = (sample.items(), &sample.room);
        let multipliers = knapsack.multipliers(room, &items);
        let ask = Ask {
            floor: 0.0,
            nodes: u64::MAX,
            keep: 1,
            kicks: (4, 1),
        };
        let tree = Knapsack::search(&multipliers, room, &items, &Conflicts::new(), ask, &mut effort);
        assert!(!tree.is_open(0.0));
        let answer = best(&multipliers, room, &items, 0.0, PLENTY, &mut effort).unwrap();
        let (one, two) = (answer.fillings[0].0, tree.fillings[0].0);
        assert!(
            one <= two * CLOSE && two <= one * CLOSE,
            "case {case}: {one} and {two}"
        );
        let again = best(&multipliers, room, &items, 0.0, PLENTY, &mut effort).unwrap();
        assert_eq!(answer, again);
    }
}

#[test]
fn too_many_states_and_effort_used_up_give_no_answer() {
    let mut random = Random::new(31);
    let sample = Sample::new(&mut random, 3, 30, 200, 40);
    let (items, room) = (sample.items(), &sample.room);
    let multipliers = Knapsack::default().multipliers(room, &items);
    let options = PlanOptions::default();
    let mut effort = Effort::new(&options, &Unlimited);
    assert_eq!(best(&multipliers, room, &items, 0.0, 500, &mut effort), None);
    let options = PlanOptions {
        work_limit: WorkLimit(Some(3_000)),
        ..PlanOptions::default()
    };
    let mut effort = Effort::new(&options, &Unlimited);
    let answer = best(&multipliers, room, &items, 0.0, u64::MAX, &mut effort);
    assert!(answer.is_none() && effort.is_over());
    let fine = [u64::MAX; 3];
    let requests = [[1 << 60, 1, 1], [1, 1 << 60, 1], [1, 1, 1 << 60]];
    let items: Vec<Item<'_>> = requests
        .iter()
        .enumerate()
        .map(|(group, request)| Item {
            group,
            value: 1.0,
            request,
            most: u64::MAX,
        })
        .collect();
    let answer = best(
        &[1.0; 3],
        &fine,
        &items,
        0.0,
        PLENTY,
        &mut Effort::new(&PlanOptions::default(), &Unlimited),
    );
    assert_eq!(answer, None, "amounts are too fine for one number");
}
