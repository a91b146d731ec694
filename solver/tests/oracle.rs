//! The planner against the exact optimum of tiny problems: lower bound ≤ optimum ≤ every engine.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dovetail_solver::model::money::Cost;
use dovetail_solver::model::plan::{Checked, Gap, Plan, ProofKind};
use dovetail_solver::model::resources::{Amount, ResourceName};
use dovetail_solver::model::snapshot::{Snapshot, SnapshotParts};
use dovetail_solver::model::subnet::Subnet;
use dovetail_solver::testing::build::{Cluster, ZONES, machine};
use dovetail_solver::testing::draft::{Draft, cost};
use dovetail_solver::testing::exact::{could_launch_for, optimum, wanting};
use dovetail_solver::testing::strategies::{Ingredients, check_cases, cluster};
use dovetail_solver::{Engine, PlanOptions, Unlimited, plan};
use proptest::prelude::*;

const ENGINES: [Engine; 3] = [Engine::Greedy, Engine::Ilp, Engine::Auto];

fn planned(snapshot: &Snapshot, engine: Engine) -> Result<Plan<Checked>, TestCaseError> {
    // With a gap to close, all engines run.
    let options = PlanOptions {
        engine,
        gap: Gap(0),
        ..PlanOptions::default()
    };
    plan(snapshot, &options, &Unlimited).map_err(|error| TestCaseError::fail(format!("{engine:?}: {error}")))
}

/// Pods that were refused although they aren't a DaemonSet's.
fn refused(snapshot: &Snapshot, plan: &Plan<Checked>) -> usize {
    let refused = plan.unschedulable.iter();
    refused
        .filter(|refused| !snapshot.pod(&refused.pod).unwrap().is_daemon())
        .count()
}

#[test]
fn the_exact_solver_finds_what_is_plain_to_see() {
    let cluster = || {
        Cluster::new()
            .instance_type(machine("small", "2", "4Gi", "0.1"))
            .instance_type(machine("large", "4", "8Gi", "0.15"))
            .pool("p")
    };
    let optimum = |cluster: Cluster| optimum(&cluster.freeze()).map(Cost::micros);
    assert_eq!(optimum(cluster()), Some(0));
    assert_eq!(optimum(cluster().pods("x", 1, "2", "1Gi")), Some(100_000));
    assert_eq!(optimum(cluster().pods("x", 2, "2", "1Gi")), Some(150_000));
    assert_eq!(optimum(cluster().pods("x", 3, "2", "1Gi")), Some(250_000));
    assert_eq!(optimum(cluster().pods("x", 1, "5", "1Gi")), None);
    let with_node = || cluster().node("n", "p", "small", "zone-a");
    assert_eq!(optimum(with_node().pods("x", 1, "2", "1Gi")), Some(100_000));
    assert_eq!(optimum(with_node().pods("x", 3, "2", "1Gi")), Some(250_000));
    assert_eq!(
        optimum(cluster().daemon_set("d", "1", "1Gi").pods("x", 1, "2", "1Gi")),
        Some(150_000)
    );
}

/// A lower bound may not exceed the optimum, and no engine may fall below it.
fn keeps_its_side(snapshot: &Snapshot) -> Result<(), TestCaseError> {
    let exact = optimum(snapshot);
    for engine in ENGINES {
        let plan = planned(snapshot, engine)?;
        prop_assert_eq!(plan.work.failures, 0, "{:?}: {:?}", engine, plan.work.phases);
        let refused = refused(snapshot, &plan);
        let Some(exact) = exact else {
            prop_assert!(refused > 0, "{engine:?} places what cannot all be placed");
            continue;
        };
        // Under limits a heuristic may paint itself into a corner.
        if refused == 0 {
            let (bound, objective) = (plan.cost.lower_bound, plan.cost.objective);
            prop_assert!(
                bound <= exact,
                "{engine:?}: bound {bound} above the optimum {exact}"
            );
            prop_assert!(
                exact <= objective,
                "{engine:?}: {objective} below the optimum {exact}"
            );
        }
    }
    Ok(())
}

/// The same cluster with few addresses, two classes that share a subnet among them.
fn with_subnets(snapshot: &Snapshot, free: &[u64], slots: &[u64], per_node: Option<u64>) -> Snapshot {
    let mut parts: SnapshotParts = (**snapshot).clone();
    parts.subnets = free
        .iter()
        .enumerate()
        .map(|(at, free)| Subnet {
            id: format!("subnet-{at}").into(),
            zone: ZONES[at % ZONES.len()].into(),
            free_addresses: *free,
        })
        .collect();
    parts.addresses_per_node = per_node;
    for class in parts.node_classes.values_mut() {
        for (instance_type, slots) in class.instance_types.iter_mut().zip(slots) {
            // What a node takes need not be what it offers: only addresses go by this figure.
            instance_type
                .capacity
                .set(ResourceName::Pods, Amount::new(*slots));
        }
    }
    let mut narrow = parts.node_classes.values().next().unwrap().clone();
    narrow.name = "narrow".into();
    narrow.subnets = ["subnet-0".into(), "subnet-1".into()].into();
    if parts.node_pools.len() > 1 {
        parts.node_pools[0].node_class = narrow.name.clone();
        parts.node_classes.insert(narrow.name.clone(), narrow);
    }
    parts.freeze().unwrap()
}

#[test]
fn bounds_and_engines_keep_their_sides_of_the_optimum_under_subnets() {
    let unweighted = Ingredients {
        weights: false,
        ..Ingredients::TINY
    };
    let free = prop::collection::vec(0..=14_u64, 1..=4);
    let slots = prop::collection::vec(1..=9_u64, 3);
    let strategy = (cluster(unweighted), free, slots, prop::option::of(3..=6_u64))
        .prop_map(|(snapshot, free, slots, per_node)| with_subnets(&snapshot, &free, &slots, per_node));
    check_cases(400, &strategy, |snapshot| keeps_its_side(&snapshot));
}

#[test]
fn bounds_and_engines_keep_their_sides_of_the_optimum_under_limits() {
    // A limit may push a pod to a lighter pool, which the exact solver doesn't model.
    let unweighted = Ingredients {
        weights: false,
        ..Ingredients::TINY
    };
    check_cases(1_500, &cluster(unweighted), |snapshot| keeps_its_side(&snapshot));
}

#[test]
fn bounds_and_engines_keep_their_sides_of_the_optimum_under_weights() {
    check_cases(1_500, &cluster(Ingredients::UNLIMITED), |snapshot| {
        keeps_its_side(&snapshot)
    });
}

#[test]
fn without_limits_what_fits_alone_is_placed() {
    check_cases(500, &cluster(Ingredients::UNLIMITED), |snapshot| {
        for engine in ENGINES {
            let plan = planned(&snapshot, engine)?;
            for refused in &plan.unschedulable {
                let pod = snapshot.pod(&refused.pod).unwrap();
                prop_assert!(
                    pod.is_daemon() || !could_launch_for(&snapshot, pod),
                    "{engine:?} refuses {}, for which a node could be launched",
                    refused.pod
                );
            }
        }
        Ok(())
    });
}

#[test]
fn no_engine_is_dearer_than_the_baseline_and_most_plans_are_optimal() {
    let counts = std::cell::RefCell::new([(0_u32, 0_u32, 0_u32); 2]);
    check_cases(500, &cluster(Ingredients::UNLIMITED), |snapshot| {
        let greedy = planned(&snapshot, Engine::Greedy)?;
        for (at, engine) in [Engine::Ilp, Engine::Auto].into_iter().enumerate() {
            let plan = planned(&snapshot, engine)?;
            prop_assert!(refused(&snapshot, &plan) <= refused(&snapshot, &greedy));
            if refused(&snapshot, &plan) == refused(&snapshot, &greedy) {
                prop_assert!(
                    plan.cost.objective <= greedy.cost.objective,
                    "{engine:?}: {} over {}",
                    plan.cost.objective,
                    greedy.cost.objective
                );
            }
            if let Some(exact) = optimum(&snapshot) {
                let (all, optimal, proven) = &mut counts.borrow_mut()[at];
                *all += 1;
                *optimal += u32::from(plan.cost.objective == exact);
                *proven += u32::from(plan.proof.kind == ProofKind::Optimal);
            }
        }
        Ok(())
    });
    for ((all, optimal, proven), engine) in counts.into_inner().into_iter().zip(["ilp", "auto"]) {
        println!("{engine} is optimal in {optimal} of {all} tiny problems, proven in {proven}");
        assert!(
            all > 150 && optimal * 100 >= all * 97,
            "{engine}: {optimal} of {all}"
        );
    }
}

/// The figures of a plan are those that the catalogue gives, computed once more.
#[test]
fn costs_agree_with_a_second_reading() {
    check_cases(150, &cluster(Ingredients::TINY), |snapshot| {
        let plan = planned(&snapshot, Engine::Auto)?;
        let again = cost(&snapshot, &plan);
        prop_assert_eq!(plan.cost.objective, again.objective);
        prop_assert_eq!(plan.cost.after, again.after);
        prop_assert_eq!(plan.work.pods >= wanting(&snapshot).len(), true);
        let empty = Draft::new(&snapshot).body();
        prop_assert!(
            plan.cost.after >= empty.cost.after,
            "launching nothing can't be dearer"
        );
        Ok(())
    });
}
