//! Tests of the generator: the best fillings with their excess, caps on classes, conflicts, and fillings that share no pod.

use super::*;
use crate::lower::lower;
use crate::options::PlanOptions;
use crate::pack::valuation::Class;
use crate::quota::Unlimited;
use crate::testing::build::{Cluster, machine};

const LOOK: Look = Look {
    share: 1.0,
    nodes: 60,
    keep: 1,
    kicks: 2,
};

fn cluster() -> Cluster {
    Cluster::new()
        .instance_type(machine("small", "2", "8Gi", "0.1"))
        .instance_type(machine("large", "4", "16Gi", "0.19"))
        .pool("default")
}

fn fillings(found: &Found) -> Vec<&Filling> {
    found.patterns.iter().map(|pattern| &pattern.filling).collect()
}

#[test]
fn a_look_finds_the_best_filling_of_each_kind_and_how_far_it_exceeds_the_cost() {
    let snapshot = cluster().pods("web", 9, "1", "1Gi").freeze();
    let problem = lower(&snapshot);
    let demand = problem.counts();
    let options = PlanOptions::default();
    let mut effort = Effort::new(&options, &Unlimited);
    let mut generator = Generator::new(&problem, &demand, Rules::default()).unwrap();
    assert!(generator.takes(0));
    // Four pods of 0.06 on 0.19, two on 0.1.
    let values = Valuation::new(&problem, vec![60_000.0]);
    let found = generator.look(&values, &demand, LOOK, &mut effort).unwrap();
    assert!((found.excess - 0.24 / 0.19).abs() < 1e-6, "{}", found.excess);
    assert_eq!(fillings(&found), [&vec![(0, 4)], &vec![(0, 2)]]);
    let values = Valuation::new(&problem, vec![40_000.0]);
    let nothing = generator.look(&values, &demand, LOOK, &mut effort).unwrap();
    assert!(nothing.patterns.is_empty());
    assert!((nothing.excess - 1.0).abs() < 1e-6, "{}", nothing.excess);
    // One pod is left: a small node for 0.1 is cheaper than a large one.
    let single = generator.single(0, 1, |_| true).unwrap();
    assert_eq!(problem.kinds[single.kind].cost, 100_000);
}

#[test]
fn values_that_are_no_numbers_are_refused() {
    let snapshot = cluster()
        .pods("web", 9, "1", "1Gi")
        .pods("job", 9, "900m", "1Gi")
        .freeze();
    let problem = lower(&snapshot);
    let demand = problem.counts();
    let options = PlanOptions::default();
    let mut effort = Effort::new(&options, &Unlimited);
    let mut generator = Generator::new(&problem, &demand, Rules::default()).unwrap();
    for value in [f64::NAN, f64::INFINITY, f64::MAX] {
        // The sum of the largest leaves the range.
        let values = Valuation::new(&problem, vec![60_000.0, value]);
        assert!(
            generator.look(&values, &demand, LOOK, &mut effort).is_none(),
            "{value}"
        );
    }
    let values = Valuation::new(&problem, vec![60_000.0, 50_000.0]);
    assert!(generator.look(&values, &demand, LOOK, &mut effort).is_some());
}

#[test]
fn classes_and_conflicts_hold_in_every_filling() {
    let snapshot = cluster()
        .pods("web", 9, "1", "1Gi")
        .pods("job", 9, "900m", "1Gi")
        .pods("db", 9, "800m", "1Gi")
        .freeze();
    let problem = lower(&snapshot);
    let demand = problem.counts();
    let options = PlanOptions::default();
    let mut effort = Effort::new(&options, &Unlimited);
    let rules = Rules {
        classes: vec![Class {
            groups: vec![0, 1],
            most: 2,
        }],
        conflicts: [(1, vec![2]), (2, vec![1])].into(),
    };
    let mut generator = Generator::new(&problem, &demand, rules).unwrap();
    let values = Valuation::new(&problem, vec![60_000.0, 59_000.0, 58_000.0]);
    let look = Look {
        share: 0.5,
        nodes: 10_000,
        keep: 9,
        kicks: 9,
    };
    let found = generator.look(&values, &demand, look, &mut effort).unwrap();
    assert!(found.patterns.len() > 4, "{found:?}");
    for Pattern { filling, .. } in &found.patterns {
        let count = |group: usize| {
            filling
                .iter()
                .find(|part| part.0 == group)
                .map_or(0, |part| part.1)
        };
        assert!(count(0) + count(1) <= 2, "{filling:?}");
        assert!(count(1) == 0 || count(2) == 0, "{filling:?}");
    }
    // On a large node five of the last, which has no cap: 0.29 for 0.19.
    let best = values.worth(&[(2, 5)]) / 190_000.0;
    assert!((found.excess - best).abs() < 1e-6, "{} {best}", found.excess);
}

#[test]
fn fillings_together_share_no_pod_and_cover_all() {
    let snapshot = Cluster::new()
        .instance_type(machine("small", "2", "8Gi", "0.1"))
        .pool("default")
        .pods("web", 7, "700m", "1Gi")
        .pods("job", 5, "600m", "1Gi")
        .pods("db", 3, "1300m", "1Gi")
        .freeze();
    let problem = lower(&snapshot);
    let demand = problem.counts();
    let options = PlanOptions::default();
    let mut effort = Effort::new(&options, &Unlimited);
    let mut generator = Generator::new(&problem, &demand, Rules::default()).unwrap();
    assert!(generator.has_few_kinds());
    let values = Valuation::new(&problem, vec![40_000.0, 30_000.0, 60_000.0]);
    let look = Look { share: 0.0, ..LOOK };
    let patterns = generator.together(&values, &demand, look, &mut effort);
    for group in 0..3 {
        let covered = patterns
            .iter()
            .any(|pattern| pattern.filling.iter().any(|part| part.0 == group));
        assert!(covered, "{patterns:?}");
    }
    let distinct: std::collections::BTreeSet<&Pattern> = patterns.iter().collect();
    assert_eq!(distinct.len(), patterns.len());
}
