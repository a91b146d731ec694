//! Tests of the table: by hand, and against the optimum by enumeration.

use std::cell::Cell;

use proptest::prop_assert;

use super::*;
use crate::lower::lower;
use crate::options::PlanOptions;
use crate::pack::karpenter_order;
use crate::quota::Unlimited;
use crate::testing::build::{Cluster, machine};
use crate::testing::exact::optimum;
use crate::testing::strategies::{Ingredients, check_cases, cluster};

fn table(problem: &Problem<'_>) -> Option<Table> {
    let options = PlanOptions::default();
    Table::of(problem, &problem.counts(), &mut Effort::new(&options, &Unlimited))
}

fn shop() -> Cluster {
    Cluster::new()
        .instance_type(machine("small", "4", "16Gi", "0.2"))
        .instance_type(machine("large", "8", "32Gi", "0.35"))
        .pool("default")
}

#[test]
fn one_group_costs_what_whole_nodes_cost() {
    // Two large and a small: the volume alone says 0.57.
    let snapshot = shop().pods("web", 13, "1", "1Gi").freeze();
    let problem = lower(&snapshot);
    let table = table(&problem).unwrap();
    let costs: Vec<u64> = [0, 1, 4, 5, 8, 9, 12, 13]
        .map(|pods| table.bound(&[pods]))
        .to_vec();
    let expected = [0, 200, 200, 350, 350, 550, 550, 700].map(|cost| cost * 1_000);
    assert_eq!(costs, expected);
}

#[test]
fn existing_nodes_and_limited_offers_are_used_as_often_as_there_are_any() {
    let mut few = machine("few", "8", "32Gi", "0.01");
    few.offerings.truncate(1);
    few.offerings[0].limit = Some(1);
    let cluster = shop().instance_type(few).node("n", "default", "small", "zone-a");
    let snapshot = cluster.pods("web", 20, "1", "1Gi").freeze();
    let problem = lower(&snapshot);
    let table = table(&problem).unwrap();
    let free = problem.rooms[0].free[0] / 1_000;
    assert_eq!(table.bound(&[free]), 0);
    assert_eq!(table.bound(&[free + 1]), 10_000);
    assert_eq!(table.bound(&[free + 9]), 210_000);
}

#[test]
fn too_many_pods_are_declined() {
    let many = |pods: usize| {
        let mut cluster = shop();
        for (name, cpu) in [("a", "300m"), ("b", "400m"), ("c", "700m"), ("d", "900m")] {
            cluster = cluster.pods(name, pods, cpu, "1Gi");
        }
        cluster.freeze()
    };
    assert!(table(&lower(&many(2))).is_some());
    assert!(table(&lower(&many(60))).is_none());
}

#[test]
fn it_is_the_optimum_unless_rules_across_nodes_matter() {
    let (told, exact) = (Cell::new(0_u32), Cell::new(0_u32));
    check_cases(600, &cluster(Ingredients::TINY), |snapshot| {
        let problem = lower(&snapshot);
        let Some(table) = table(&problem).filter(|_| problem.universe.has_every_choice) else {
            return Ok(());
        };
        let packing = karpenter_order::pack(&problem, false);
        let (bound, cost) = (table.bound(&packing.placed(&problem)), packing.cost(&problem));
        prop_assert!(bound <= cost, "{bound} over {cost}");
        let Some(optimum) = optimum(&snapshot) else {
            return Ok(());
        };
        let standing: i64 = (snapshot.nodes.iter().filter(|node| !node.deleting))
            .map(|node| {
                let weights = snapshot.objective.weights(node.node_pool.as_ref());
                weights.node(node.price).micros()
            })
            .sum();
        let launched = u64::try_from(optimum.micros() - standing).unwrap();
        let bound = table.bound(&problem.counts());
        prop_assert!(bound <= launched, "{bound} over {launched}");
        told.set(told.get() + 1);
        exact.set(exact.get() + u32::from(bound == launched));
        Ok(())
    });
    let (told, exact) = (told.get(), exact.get());
    println!("the optimum of {exact} in {told} tiny problems");
    assert!(told > 100 && exact * 10 > told * 9, "{exact} of {told}");
}
