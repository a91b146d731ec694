//! Changes whose effect is known: what they may do to a bound, an optimum or a plan.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dovetail_solver::check::check;
use dovetail_solver::model::money::Cost;
use dovetail_solver::model::plan::{Checked, Gap, Plan, PlanBody, Work};
use dovetail_solver::model::snapshot::Snapshot;
use dovetail_solver::testing::build::in_zone;
use dovetail_solver::testing::build::machine;
use dovetail_solver::testing::exact::optimum;
use dovetail_solver::testing::moves::{
    permuted, renamed, with_a_taint_on_every_pool, with_instance_type, with_pods, with_prices_times,
    without_pod,
};
use dovetail_solver::testing::strategies::{Ingredients, check_cases, cluster};
use dovetail_solver::{Engine, PlanOptions, Unlimited, WorkLimit, plan};
use proptest::prelude::*;

fn planned(snapshot: &Snapshot) -> Result<Plan<Checked>, TestCaseError> {
    engine(snapshot, Engine::Auto)
}

fn engine(snapshot: &Snapshot, engine: Engine) -> Result<Plan<Checked>, TestCaseError> {
    let options = PlanOptions {
        engine,
        ..PlanOptions::default()
    };
    plan(snapshot, &options, &Unlimited).map_err(|error| TestCaseError::fail(error.to_string()))
}

/// What must be the same bytes every time.
fn bytes(plan: &Plan<Checked>) -> String {
    let body = PlanBody {
        work: Work::default(),
        ..(**plan).clone()
    };
    serde_json::to_string(&body).unwrap()
}

#[test]
fn every_plan_checks_and_is_the_same_bytes_again() {
    check_cases(150, &cluster(Ingredients::SMALL), |snapshot| {
        for which in [Engine::Greedy, Engine::Ilp, Engine::Auto] {
            let one = engine(&snapshot, which)?;
            let two = engine(&snapshot.clone(), which)?;
            prop_assert_eq!(bytes(&one), bytes(&two));
            let proposed = Plan::propose((*one).clone());
            let failure = check(&snapshot, proposed).err();
            prop_assert!(
                failure.is_none(),
                "{:?}",
                failure.map(|failure| failure.violations)
            );
        }
        Ok(())
    });
}

/// Whatever the engine and wherever the counted effort ends: no clock, no address and no order of the input has a say.
#[test]
fn every_engine_gives_the_same_bytes_under_any_work_limit() {
    check_cases(40, &cluster(Ingredients::SMALL), |snapshot| {
        let other = permuted(&snapshot);
        for engine in [Engine::Greedy, Engine::Ilp, Engine::Auto] {
            for limit in [0, 20_000, 300_000, 4_000_000] {
                let options = PlanOptions {
                    engine,
                    gap: Gap(0),
                    work_limit: WorkLimit(Some(limit)),
                    ..PlanOptions::default()
                };
                let planned = |snapshot: &Snapshot| {
                    plan(snapshot, &options, &Unlimited)
                        .map_err(|error| TestCaseError::fail(error.to_string()))
                };
                let one = planned(&snapshot)?;
                prop_assert_eq!(bytes(&one), bytes(&planned(&snapshot.clone())?));
                prop_assert_eq!(bytes(&one), bytes(&planned(&other)?));
            }
        }
        Ok(())
    });
}

#[test]
fn a_snapshot_written_and_read_plans_the_same() {
    check_cases(80, &cluster(Ingredients::SMALL), |snapshot| {
        let written = serde_json::to_string(&snapshot).unwrap();
        let read: Snapshot = serde_json::from_str(&written).unwrap();
        prop_assert_eq!(&read, &snapshot);
        prop_assert_eq!(read.fingerprint(), snapshot.fingerprint());
        prop_assert_eq!(bytes(&planned(&read)?), bytes(&planned(&snapshot)?));
        Ok(())
    });
}

#[test]
fn a_plan_written_and_read_is_the_same() {
    check_cases(80, &cluster(Ingredients::SMALL), |snapshot| {
        let plan = planned(&snapshot)?;
        let read: PlanBody = serde_json::from_str(&serde_json::to_string(&*plan).unwrap()).unwrap();
        prop_assert!(check(&snapshot, Plan::propose(read)).is_ok());
        Ok(())
    });
}

#[test]
fn the_order_of_the_input_changes_nothing() {
    check_cases(80, &cluster(Ingredients::SMALL), |snapshot| {
        let other = permuted(&snapshot);
        prop_assert_eq!(&other, &snapshot);
        prop_assert_eq!(bytes(&planned(&other)?), bytes(&planned(&snapshot)?));
        Ok(())
    });
}

#[test]
fn names_in_the_same_order_change_no_cost() {
    check_cases(120, &cluster(Ingredients::SMALL), |snapshot| {
        let (one, two) = (planned(&snapshot)?, planned(&renamed(&snapshot))?);
        prop_assert_eq!(one.cost, two.cost);
        prop_assert_eq!(one.launch.len(), two.launch.len());
        prop_assert_eq!(one.unschedulable.len(), two.unschedulable.len());
        Ok(())
    });
}

#[test]
fn removing_a_pod_never_raises_the_bound_or_the_optimum() {
    check_cases(200, &cluster(Ingredients::UNLIMITED), |snapshot| {
        let whole = planned(&snapshot)?;
        if !whole.unschedulable.is_empty() {
            return Ok(()); // who is refused may change, and with it what the bound is about
        }
        let exact = optimum(&snapshot);
        for (at, pod) in snapshot.pods.iter().enumerate() {
            if !snapshot.needs_place(pod) || pod.is_daemon() {
                continue;
            }
            let less = without_pod(&snapshot, at);
            let bound = planned(&less)?.cost.lower_bound;
            prop_assert!(
                bound <= whole.cost.lower_bound,
                "without {}: {bound} over {}",
                pod.name,
                whole.cost.lower_bound
            );
            let optimum = optimum(&less);
            prop_assert!(
                optimum <= exact && optimum.is_some(),
                "without {}: {optimum:?} over {exact:?}",
                pod.name
            );
        }
        Ok(())
    });
}

#[test]
fn one_more_instance_type_never_raises_the_optimum() {
    let unweighted = Ingredients {
        weights: false,
        ..Ingredients::UNLIMITED
    };
    check_cases(200, &cluster(unweighted), |snapshot| {
        let more = with_instance_type(&snapshot, machine("another", "3", "12Gi", "0.12"));
        let (before, after) = (optimum(&snapshot), optimum(&more));
        prop_assert!(
            before.is_none_or(|before| after.is_some_and(|after| after <= before)),
            "{after:?} over {before:?}"
        );
        let plan = planned(&more)?;
        if let Some(before) = before {
            prop_assert!(plan.cost.lower_bound <= before);
        }
        Ok(())
    });
}

#[test]
fn tightening_a_rule_places_no_more_pods() {
    // A taint keeps DaemonSets away too, and room on existing nodes may go to another pod instead: neither belongs here.
    let launches_only = Ingredients {
        nodes: false,
        daemon_sets: false,
        ..Ingredients::UNLIMITED
    };
    check_cases(120, &cluster(launches_only), |snapshot| {
        let refused = planned(&snapshot)?.unschedulable.len();
        let in_one_zone = with_pods(&snapshot, |spec| {
            for (key, value) in in_zone("zone-a") {
                spec.node_selector.entry(key).or_insert(value);
            }
        });
        for tighter in [in_one_zone, with_a_taint_on_every_pool(&snapshot)] {
            let now = planned(&tighter)?.unschedulable.len();
            prop_assert!(now >= refused, "{now} refused, {refused} before");
        }
        Ok(())
    });
}

#[test]
fn prices_times_a_hundred_make_costs_a_hundred_times() {
    check_cases(
        120,
        &cluster(Ingredients {
            objectives: false,
            ..Ingredients::SMALL
        }),
        |snapshot| {
            let (one, two) = (planned(&snapshot)?, planned(&with_prices_times(&snapshot, 100))?);
            prop_assert_eq!(
                two.cost.objective,
                Cost::from_micros(one.cost.objective.micros() * 100)
            );
            Ok(())
        },
    );
}
