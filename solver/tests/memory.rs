//! A memory of earlier plans makes the next one quicker to find, never wrong, and always the same.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dovetail_solver::model::plan::{Gap, Plan, PlanBody, Work};
use dovetail_solver::model::snapshot::Snapshot;
use dovetail_solver::testing::build::{Cluster, machine};
use dovetail_solver::testing::strategies::{Ingredients, check_cases, cluster};
use dovetail_solver::{Memory, PlanOptions, Unlimited, WorkLimit, check::check, plan, plan_with_memory};
use proptest::prelude::*;

/// Six machines and twelve workloads, `more` pods of each beyond the usual.
fn shop(more: usize) -> Snapshot {
    let mut cluster = Cluster::new().pool("default");
    for (name, cpu, memory, price) in [
        ("a", "2", "4Gi", "0.085"),
        ("b", "2", "8Gi", "0.096"),
        ("c", "4", "16Gi", "0.19"),
        ("d", "8", "16Gi", "0.34"),
        ("e", "16", "128Gi", "1.01"),
        ("f", "32", "64Gi", "1.37"),
    ] {
        cluster = cluster.instance_type(machine(name, cpu, memory, price));
    }
    for workload in 0..12_usize {
        let cpu = format!("{}m", 230 + 370 * ((workload * 5) % 12));
        let memory = format!("{}Mi", 300 + 810 * ((workload * 7) % 12));
        cluster = cluster.pods(&format!("w{workload:02}"), 20 + workload + more, &cpu, &memory);
    }
    cluster.freeze()
}

fn options(limit: u64) -> PlanOptions {
    PlanOptions {
        gap: Gap(0),
        work_limit: WorkLimit(Some(limit)),
        ..PlanOptions::default()
    }
}

fn bytes(body: &PlanBody) -> String {
    let body = PlanBody {
        work: Work::default(),
        ..body.clone()
    };
    serde_json::to_string(&body).unwrap()
}

#[cfg(feature = "highs")]
#[test]
fn a_changed_cluster_needs_fewer_new_fillings_and_costs_no_more() {
    let ilp = |limit| PlanOptions {
        engine: dovetail_solver::Engine::Ilp,
        ..options(limit)
    };
    let mut memory = Memory::default();
    plan_with_memory(&shop(0), &ilp(60_000_000), &Unlimited, &mut memory).unwrap();
    assert!(!memory.is_empty());
    // With more effort both find all that is worth finding.
    for limit in [300_000, 1_000_000] {
        let (mut with, mut without) = (0, 0);
        for more in 1..=3 {
            let snapshot = shop(more);
            let cold = plan(&snapshot, &ilp(limit), &Unlimited).unwrap();
            let warm = plan_with_memory(&snapshot, &ilp(limit), &Unlimited, &mut memory.clone()).unwrap();
            assert!(
                warm.cost.objective <= cold.cost.objective,
                "{more} more pods each, {limit}"
            );
            with += warm.work.columns;
            without += cold.work.columns;
        }
        println!("within {limit}: {with} fillings with a memory, {without} without");
        assert!(
            with < without,
            "within {limit}: {with} with a memory, {without} without"
        );
    }
}

#[test]
fn the_same_memory_gives_the_same_plan_and_learns_the_same() {
    check_cases(60, &cluster(Ingredients::SMALL), |snapshot| {
        let planned = |memory: &mut Memory| {
            plan_with_memory(&snapshot, &options(2_000_000), &Unlimited, memory)
                .map_err(|error| TestCaseError::fail(error.to_string()))
        };
        let mut one = Memory::default();
        planned(&mut one)?;
        let mut two = one.clone();
        for _ in 0..2 {
            let (first, second) = (planned(&mut one)?, planned(&mut two)?);
            prop_assert_eq!(bytes(&first), bytes(&second));
            prop_assert_eq!(one.len(), two.len());
        }
        Ok(())
    });
}

#[test]
fn a_foreign_memory_does_no_harm() {
    let mut memory = Memory::default();
    plan_with_memory(&shop(0), &options(4_000_000), &Unlimited, &mut memory).unwrap();
    let memory = std::cell::RefCell::new(memory);
    check_cases(100, &cluster(Ingredients::SMALL), |snapshot| {
        // It goes from cluster to cluster and learns of each.
        let planned = plan_with_memory(
            &snapshot,
            &options(2_000_000),
            &Unlimited,
            &mut memory.borrow_mut(),
        )
        .map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(check(&snapshot, Plan::propose((*planned).clone())).is_ok());
        let alone = plan(&snapshot, &options(2_000_000), &Unlimited).unwrap();
        prop_assert_eq!(planned.unschedulable.len(), alone.unschedulable.len());
        Ok(())
    });
}
