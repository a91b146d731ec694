//! Whenever the quota says stop there is a checked plan, no dearer than the baseline, and little is done after that.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cell::Cell;
use std::time::Duration;

use dovetail_solver::check::check;
use dovetail_solver::model::plan::{Checked, Plan, ProofKind, Stopped};
use dovetail_solver::model::snapshot::Snapshot;
use dovetail_solver::testing::build::{Cluster, machine};
use dovetail_solver::testing::strategies::{Ingredients, check_cases, cluster};
use dovetail_solver::{Engine, PlanOptions, Quota, Unlimited, plan};
use proptest::prelude::*;

/// How often it may be told: each engine may ask once before it looks at what was said.
const MOST_AFTER: u64 = 12;

/// Time is up at a question of a certain number; the clock itself stands still.
struct AtQuestion {
    asked: Cell<u64>,
    stop: u64,
}

impl AtQuestion {
    fn new(stop: u64) -> Self {
        Self {
            asked: Cell::new(0),
            stop,
        }
    }

    /// How often it said stop.
    fn said_stop(&self) -> u64 {
        (self.asked.get() + 1).saturating_sub(self.stop)
    }
}

impl Quota for AtQuestion {
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn remaining(&self) -> Option<Duration> {
        self.asked.set(self.asked.get() + 1);
        let is_over = self.asked.get() >= self.stop;
        Some(if is_over {
            Duration::ZERO
        } else {
            Duration::from_secs(3_600)
        })
    }
}

/// Enough groups and types for the engines to be at it for a while, in few pods for tests to be quick.
fn shop(pods: usize) -> Snapshot {
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
    for (name, cpu, memory) in [
        ("api", "700m", "900Mi"),
        ("cache", "300m", "5Gi"),
        ("db", "1700m", "9Gi"),
        ("queue", "1100m", "2Gi"),
        ("web", "450m", "700Mi"),
        ("batch", "3300m", "3Gi"),
    ] {
        cluster = cluster.pods(name, pods, cpu, memory);
    }
    cluster.freeze()
}

fn options(engine: Engine) -> PlanOptions {
    PlanOptions {
        engine,
        gap: dovetail_solver::model::plan::Gap(0),
        ..PlanOptions::default()
    }
}

fn stopped_at(snapshot: &Snapshot, engine: Engine, stop: u64) -> (Plan<Checked>, u64) {
    let quota = AtQuestion::new(stop);
    let planned = plan(snapshot, &options(engine), &quota).unwrap();
    let after = quota.said_stop();
    assert!(
        after <= MOST_AFTER,
        "{engine:?} was told {after} times to stop at {stop}"
    );
    if planned.proof.kind == ProofKind::Optimal {
        assert_eq!(planned.proof.stopped, Stopped::Finished, "{engine:?} at {stop}");
    } else if after > 0 && engine != Engine::Greedy {
        assert_eq!(planned.proof.stopped, Stopped::Deadline, "{engine:?} at {stop}");
    }
    (planned, after)
}

#[test]
fn a_stop_at_any_question_leaves_a_checked_plan() {
    let snapshot = shop(25);
    let greedy = plan(&snapshot, &options(Engine::Greedy), &Unlimited).unwrap();
    for engine in [Engine::Auto, Engine::Ilp] {
        let mut costs = Vec::new();
        // Every one of the first questions, then fewer.
        let stops = (1..40).chain((0..).map(|step| 40 + 17 * step * step));
        for stop in stops.take_while(|stop| *stop < 4_000) {
            let (planned, after) = stopped_at(&snapshot, engine, stop);
            assert!(planned.cost.objective <= greedy.cost.objective);
            assert!(planned.unschedulable.is_empty());
            assert!(check(&snapshot, Plan::propose((*planned).clone())).is_ok());
            costs.push(planned.cost.objective);
            if after == 0 {
                break;
            }
        }
        assert!(costs.len() > 5, "{engine:?} asks so rarely: {}", costs.len());
        assert_eq!(costs.first(), Some(&greedy.cost.objective));
        assert!(costs.last() < costs.first(), "{engine:?} finds nothing better");
    }
}

#[test]
fn any_cluster_stopped_at_any_question_is_planned() {
    check_cases(60, &cluster(Ingredients::SMALL), |snapshot| {
        let greedy = plan(&snapshot, &options(Engine::Greedy), &Unlimited).unwrap();
        for (stop, engine) in [1, 2, 3, 5, 8, 13, 21, 34]
            .into_iter()
            .zip([Engine::Auto, Engine::Ilp].into_iter().cycle())
        {
            let (planned, _) = stopped_at(&snapshot, engine, stop);
            prop_assert!(planned.unschedulable.len() <= greedy.unschedulable.len());
            if planned.unschedulable.len() == greedy.unschedulable.len() {
                prop_assert!(planned.cost.objective <= greedy.cost.objective);
            }
        }
        Ok(())
    });
}

/// So little time that one plan of many pods is all that can be checked; the clock stands still.
struct Hurry(Duration);

impl Quota for Hurry {
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn remaining(&self) -> Option<Duration> {
        Some(self.0)
    }
}

#[test]
fn where_one_plan_of_many_pods_can_be_checked_it_is_the_better_one() {
    let snapshot = shop(4_000);
    let greedy = plan(&snapshot, &options(Engine::Greedy), &Unlimited).unwrap();
    for left in [Duration::ZERO, Duration::from_millis(20)] {
        let hurried = plan(&snapshot, &options(Engine::Auto), &Hurry(left)).unwrap();
        assert!(hurried.cost.objective < greedy.cost.objective, "{left:?}");
        assert!(hurried.cost.lower_bound > dovetail_solver::model::money::Cost::from_micros(0));
        assert!(hurried.unschedulable.is_empty());
        let first = hurried.work.phases.first().map(|phase| phase.name.as_str());
        assert_eq!(first, Some("density"), "{left:?}");
        assert!(check(&snapshot, Plan::propose((*hurried).clone())).is_ok());
    }
}
