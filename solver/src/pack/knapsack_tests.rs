//! Tests of the knapsack: against trying everything, with and without conflicts, cut short or not.

use super::*;
use crate::options::PlanOptions;
use crate::pack::random::Random;
use crate::quota::Unlimited;

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

/// What a filling is worth, if the room holds it.
fn held(filling: &Filling, items: &[Item<'_>], room: &[u64]) -> f64 {
    let mut rest = room.to_vec();
    let mut value = 0.0;
    for (group, count) in filling {
        let item = items.iter().find(|item| item.group == *group).unwrap();
        assert!(resources::copies(item.request, &rest) >= *count && *count <= item.most);
        resources::take(&mut rest, item.request, *count);
        value += item.value * float(*count);
    }
    value
}

fn amount(random: &mut Random, below: usize) -> u64 {
    u64::try_from(random.below(below)).unwrap()
}

#[test]
fn it_finds_the_best_and_its_bounds_hold() {
    let mut random = Random::new(11);
    let mut knapsack = Knapsack::default();
    let options = PlanOptions::default();
    let mut effort = Effort::new(&options, &Unlimited);
    let mut short = 0;
    for case in 0..1_500 {
        let columns = 1 + random.below(3);
        let room: Vec<u64> = (0..columns).map(|_| 5 + amount(&mut random, 25)).collect();
        let requests: Vec<Vec<u64>> = (0..1 + random.below(6))
            .map(|_| (0..columns).map(|_| amount(&mut random, 9)).collect())
            .collect();
        let items: Vec<Item<'_>> = requests
            .iter()
            .enumerate()
            .filter(|(_, request)| resources::fits(request, &room))
            .map(|(group, request)| Item {
                group,
                value: 0.05 + random.unit(),
                request,
                most: (1 + amount(&mut random, 4)).min(resources::copies(request, &room)),
            })
            .collect();
        let best = by_force(&items, &room);
        let mut multipliers = knapsack.multipliers(&room, &items);
        if case % 3 == 0 {
            // Any that aren't negative have to do.
            multipliers = (0..columns).map(|_| random.unit()).collect();
        }
        assert!(
            quick_bound(&multipliers, &room, &items) >= best,
            "case {case}: the quick bound is below {best}"
        );
        let none = Conflicts::new();
        let mut search = |floor, nodes| {
            let ask = Ask {
                floor,
                nodes,
                keep: 3,
                kicks: (case % 4, 5),
            };
            Knapsack::search(&multipliers, &room, &items, &none, ask, &mut effort)
        };
        let whole = search(0.0, u64::MAX);
        let value = whole.fillings.first().map_or(0.0, |(value, _)| *value);
        assert!(
            value >= best / CLOSE - 1e-12 && value <= best * CLOSE + 1e-12,
            "case {case}: {value} instead of {best}"
        );
        let cut = search(0.0, amount(&mut random, 4));
        let floored = search(0.9 * best, 2);
        for answer in [&whole, &cut, &floored] {
            assert!(answer.upper >= best, "case {case}: {} below {best}", answer.upper);
            for (value, filling) in &answer.fillings {
                assert!((held(filling, &items, &room) - value).abs() < 1e-9, "case {case}");
            }
            assert!(
                answer
                    .fillings
                    .is_sorted_by(|one, two| one.0 >= two.0 && one.1 != two.1)
            );
        }
        let cut = cut.fillings.first().map_or(0.0, |(value, _)| *value);
        short += usize::from(cut < best / CLOSE - 1e-12);
    }
    assert!(short > 0, "no search was ever cut short of the best");
}

#[test]
fn conflicts_hold_and_the_best_that_keeps_to_them_is_found() {
    let mut random = Random::new(5);
    let mut knapsack = Knapsack::default();
    let options = PlanOptions::default();
    let mut effort = Effort::new(&options, &Unlimited);
    let mut felt = 0;
    for case in 0..500 {
        let room: Vec<u64> = (0..2).map(|_| 8 + amount(&mut random, 12)).collect();
        let requests: Vec<Vec<u64>> = (0..5)
            .map(|_| (0..2).map(|_| 1 + amount(&mut random, 7)).collect())
            .collect();
        let items: Vec<Item<'_>> = requests
            .iter()
            .enumerate()
            .map(|(group, request)| Item {
                group,
                value: 0.05 + random.unit(),
                request,
                most: 1 + amount(&mut random, 3),
            })
            .collect();
        let mut conflicts = Conflicts::new();
        let mut pairs = Vec::new();
        for one in 0..5 {
            for two in one + 1..5 {
                if random.below(4) == 0 {
                    conflicts.entry(one).or_default().push(two);
                    conflicts.entry(two).or_default().push(one);
                    pairs.push((one, two));
                }
            }
        }
        // All sets of groups without a pair, each on its own.
        let mut best = 0.0_f64;
        for set in 0..32_u32 {
            let has = |group: usize| set >> group & 1 == 1;
            if pairs.iter().all(|(one, two)| !(has(*one) && has(*two))) {
                let some: Vec<Item<'_>> = items.iter().filter(|item| has(item.group)).cloned().collect();
                best = best.max(by_force(&some, &room));
            }
        }
        felt += usize::from(best < by_force(&items, &room) - 1e-9);
        let multipliers = knapsack.multipliers(&room, &items);
        let ask = Ask {
            floor: 0.0,
            nodes: u64::MAX,
            keep: 4,
            kicks: (2, 0),
        };
        let answer = Knapsack::search(&multipliers, &room, &items, &conflicts, ask, &mut effort);
        let value = answer.fillings.first().map_or(0.0, |(value, _)| *value);
        assert!(
            (value - best).abs() <= best * 1e-6,
            "case {case}: {value} instead of {best}"
        );
        assert!(answer.upper >= best, "case {case}");
        for (_, filling) in &answer.fillings {
            let has = |group: usize| filling.iter().any(|part| part.0 == group);
            assert!(
                pairs.iter().all(|(one, two)| !(has(*one) && has(*two))),
                "case {case}"
            );
        }
    }
    assert!(felt > 50, "{felt} of 500");
}
