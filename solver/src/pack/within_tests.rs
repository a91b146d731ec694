//! Tests of the fillings within a slack: all of them and no others, against enumeration; and when there are too many.

use std::collections::BTreeSet;

use super::*;
use crate::lower::{Problem, lower};
use crate::options::PlanOptions;
use crate::pack::random::Random;
use crate::pack::valuation::Rules;
use crate::quota::Unlimited;
use crate::testing::build::{Cluster, machine};

/// Fillings of a kind within a slack, one by one.
fn enumerated(problem: &Problem<'_>, values: &Valuation, kind: usize, slack: f64) -> BTreeSet<Filling> {
    let counts = problem.counts();
    let mut all = vec![Filling::new()];
    for (group, count) in counts.iter().enumerate() {
        let longer = all.iter().flat_map(|filling| {
            (0..=*count).map(move |count| {
                let more = (count > 0).then_some((group, count));
                filling.iter().copied().chain(more).collect::<Filling>()
            })
        });
        all = longer.collect();
    }
    let fits = |filling: &Filling| {
        let room = problem.room(kind);
        resources::fits(&crate::pack::load(problem, filling), room)
    };
    all.retain(|filling| !filling.is_empty() && fits(filling));
    all.retain(|filling| values.worth(filling) >= values.costs[kind] - slack - 1.0);
    all.into_iter().collect()
}

#[test]
fn all_fillings_within_the_slack_are_found_and_no_others() {
    let snapshot = Cluster::new()
        .instance_type(machine("only", "4", "16Gi", "0.19"))
        .pool("default")
        .pods("web", 3, "1", "1Gi")
        .pods("db", 2, "800m", "6Gi")
        .pods("job", 4, "600m", "3Gi")
        .pods("cron", 2, "1300m", "2Gi")
        .freeze();
    let problem = lower(&snapshot);
    let demand = problem.counts();
    let options = PlanOptions::default();
    let mut effort = Effort::new(&options, &Unlimited);
    let mut generator = Generator::new(&problem, &demand, Rules::default()).unwrap();
    let mut random = Random::new(5);
    let mut most = 0;
    for _ in 0..50 {
        let values = demand.iter().map(|_| (80_000.0 * random.unit()).round());
        let mut values = Valuation::new(&problem, values.collect());
        // A pod of no value may be on any node.
        values.values[0] *= f64::from(u8::try_from(random.below(2)).unwrap());
        let slack = (100_000.0 * random.unit()).round();
        let found = generator
            .within(&values, &demand, slack, 100_000, &mut effort)
            .unwrap();
        let number = found.len();
        let found: BTreeSet<Filling> = found.into_iter().map(|pattern| pattern.filling).collect();
        assert_eq!(found.len(), number, "each once");
        assert_eq!(
            found,
            enumerated(&problem, &values, 0, slack),
            "{values:?} {slack}"
        );
        most = most.max(number);
    }
    assert!(most > 20, "{most}");
}

#[test]
fn too_many_are_none_and_so_are_those_of_values_that_are_no_numbers() {
    let snapshot = Cluster::new()
        .instance_type(machine("only", "4", "16Gi", "0.19"))
        .pool("default")
        .pods("web", 9, "1", "1Gi")
        .pods("db", 9, "800m", "1Gi")
        .freeze();
    let problem = lower(&snapshot);
    let demand = problem.counts();
    let options = PlanOptions::default();
    let mut effort = Effort::new(&options, &Unlimited);
    let mut generator = Generator::new(&problem, &demand, Rules::default()).unwrap();
    let values = Valuation::new(&problem, vec![40_000.0, 40_000.0]);
    let mut number = |values: &Valuation, most| {
        let found = generator.within(values, &demand, 40_000.0, most, &mut effort);
        found.map(|found| found.len())
    };
    let all = number(&values, 100).unwrap();
    assert!(all > 3);
    assert_eq!(number(&values, all), Some(all));
    assert_eq!(number(&values, all - 1), None);
    let values = Valuation::new(&problem, vec![40_000.0, f64::NAN]);
    assert_eq!(number(&values, 100), None);
}
