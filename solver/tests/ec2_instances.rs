//! The 24 EC2-shaped instances: never dearer than the baseline or than Karpenter, close to the bound, honest about it.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that reads its instances from files"
)]

#[path = "support/ec2.rs"]
mod ec2;

use dovetail_solver::{Engine, PlanOptions, Unlimited, WorkLimit, plan};

/// Karpenter's figures are rounded to thousandths of a dollar.
const ROUNDING: i64 = 500;
/// Mean distance from the files' bounds that the engines must keep, in thousandths, for 1 000 pods and more.
const MOST_OVER: i64 = 60;

/// A fraction of the usual effort: the tests ask what is found, not how much more could be.
fn options() -> PlanOptions {
    PlanOptions {
        work_limit: WorkLimit(Some(2_000_000)),
        ..PlanOptions::default()
    }
}

#[test]
fn no_instance_costs_more_than_the_baseline_or_karpenter() {
    let mut over = Vec::new();
    for instance in ec2::instances() {
        let result = plan(&instance.snapshot, &options(), &Unlimited).unwrap();
        let name = &instance.name;
        let objective = result.cost.objective.micros();
        assert!(result.unschedulable.is_empty(), "{name}");
        assert_eq!(result.work.phases[0].name, "greedy", "{name}");
        assert!(objective <= result.work.phases[0].cost.micros(), "{name}");
        assert!(
            objective <= instance.karpenter + ROUNDING,
            "{name}: {objective} > {}",
            instance.karpenter
        );
        // A bound above what somebody reached would be no bound.
        assert!(result.cost.lower_bound.micros() <= instance.best_known, "{name}");
        assert!(
            objective >= instance.lower_bound,
            "{name}: below a certified bound"
        );
        if instance.pods >= 1_000 {
            over.push((objective - instance.lower_bound) * 1_000 / instance.lower_bound);
        }
    }
    assert_eq!(over.len(), 16);
    let mean = over.iter().sum::<i64>() / 16;
    assert!(mean <= MOST_OVER, "{mean} thousandths over the bounds: {over:?}");
}

#[test]
fn the_baseline_alone_comes_with_its_bound() {
    let instances = ec2::instances();
    let instance = instances
        .iter()
        .find(|instance| instance.name == "ec2_mixed_1000_50_max64")
        .unwrap();
    let options = PlanOptions {
        engine: Engine::Greedy,
        ..options()
    };
    let result = plan(&instance.snapshot, &options, &Unlimited).unwrap();
    let names: Vec<&str> = result
        .work
        .phases
        .iter()
        .map(|phase| phase.name.as_str())
        .collect();
    assert_eq!(names, ["greedy", "lower bound"]);
    // Karpenter 1.15.0 itself: 53.421.
    assert_eq!(result.cost.objective.micros() / 1_000, 53_421);
    // The volume bound of the file is 49.0113 at most; ours is of that kind.
    assert!(result.cost.lower_bound.micros() > 49_000_000);
}

#[test]
fn planning_twice_gives_the_same_bytes() {
    let instances = ec2::instances();
    for instance in instances.iter().filter(|instance| instance.pods == 100) {
        let once = || {
            let result = plan(&instance.snapshot, &options(), &Unlimited).unwrap();
            let mut body = result.into_body();
            body.work = dovetail_solver::model::plan::Work::default();
            serde_json::to_vec(&body).unwrap()
        };
        assert_eq!(once(), once(), "{}", instance.name);
    }
}
