//! Tests of the ladder: engines that fail, packings that are cut short, what the phases tell.

use std::cell::Cell;

use super::*;
use crate::check::Rule;
use crate::lower::lower;
use crate::model::quantity::Rounding;
use crate::model::resources::Resources;
use crate::model::snapshot::Snapshot;
use crate::pack::Launched;
use crate::pack::farley::Farley;
use crate::plan::judged;
use crate::quota::Unlimited;
use crate::testing::build::{Cluster, machine};

/// Karpenter's order costs more than need be here.
fn snapshot() -> Snapshot {
    Cluster::new()
        .instance_type(machine("small", "2", "8Gi", "0.1"))
        .instance_type(machine("large", "16", "64Gi", "0.9"))
        .pool("default")
        .pods("web", 9, "1500m", "1Gi")
        .pods("db", 4, "500m", "6Gi")
        .freeze()
}

fn refusal() -> Vec<Violation> {
    vec![Violation {
        rule: Rule::Resources,
        subject: "launch/0".to_owned(),
        detail: "is said to break it".to_owned(),
    }]
}

#[test]
fn a_failing_engine_is_counted_and_costs_nothing_but_itself() {
    let snapshot = snapshot();
    let problem = lower(&snapshot);
    let options = PlanOptions::default();
    let judge = |packing: &Packing| judged(&problem, packing, &options);
    let mut ladder = Ladder::new(&problem, &options, &Unlimited, &judge);
    ladder.baseline();
    let baseline = ladder.incumbent().cloned().unwrap();

    // All pods on one small node: cheap, and it doesn't fit.
    let counts = problem.counts().into_iter().enumerate().collect();
    let unsound = Packing {
        rooms: Vec::new(),
        launched: vec![Launched {
            kind: 0,
            filling: counts,
            count: 1,
        }],
        left: vec![0; problem.groups.len()],
    };
    ladder.enter("unsound", Duration::ZERO, Ok(unsound));
    ladder.enter("broken", Duration::ZERO, Err("it broke down".to_owned()));
    assert_eq!(ladder.incumbent(), Some(&baseline));
    ladder.price();
    let mut filler = search::filler(&problem, &ladder.prices.as_ref().unwrap().values());
    ladder.density(&mut filler);

    let rungs = ladder.end();
    let (packing, body) = rungs.incumbent.unwrap();
    assert!(
        packing.is_better_than(&baseline, &problem),
        "what comes after a failure counts"
    );
    assert_eq!(
        body.launch.len(),
        packing
            .launched
            .iter()
            .map(|one| usize::try_from(one.count).unwrap())
            .sum::<usize>()
    );
    assert_eq!(rungs.work.failures, 2);
    let failed: Vec<(&str, &str)> = rungs
        .work
        .phases
        .iter()
        .filter_map(|phase| Some((phase.name.as_str(), phase.failed.as_deref()?)))
        .collect();
    let [("unsound", refused), ("broken", "it broke down")] = failed[..] else {
        panic!("{failed:?}");
    };
    assert!(
        refused.starts_with("refused by the check: Resources: "),
        "{refused}"
    );
}

#[test]
fn where_all_engines_fail_the_baseline_stands() {
    let snapshot = snapshot();
    let problem = lower(&snapshot);
    let options = PlanOptions {
        gap: crate::model::plan::Gap(0),
        ..PlanOptions::default()
    };
    let asked = Cell::new(0);
    let judge = |packing: &Packing| {
        asked.set(asked.get() + 1);
        if asked.get() == 1 {
            judged(&problem, packing, &options)
        } else {
            Err(refusal())
        }
    };
    let mut ladder = Ladder::new(&problem, &options, &Unlimited, &judge);
    ladder.climb(&Memory::default());
    let rungs = ladder.end();
    let (packing, _) = rungs.incumbent.unwrap();
    assert_eq!(packing, karpenter_order::pack(&problem, false));
    assert!(rungs.work.failures > 1);
    assert_eq!(rungs.work.failures, asked.get() - 1);
    assert!(rungs.violations.is_empty(), "they are the baseline's");
}

#[test]
fn where_nothing_is_sound_the_violations_of_the_baseline_are_told() {
    let snapshot = snapshot();
    let problem = lower(&snapshot);
    let options = PlanOptions::default();
    let judge = |_: &Packing| Err(refusal());
    let mut ladder = Ladder::new(&problem, &options, &Unlimited, &judge);
    ladder.climb(&Memory::default());
    let rungs = ladder.end();
    assert!(rungs.incumbent.is_none());
    assert_eq!(rungs.violations, refusal());
}

#[test]
fn a_packing_that_was_cut_short_is_completed() {
    let snapshot = snapshot();
    let problem = lower(&snapshot);
    let options = PlanOptions::default();
    let judge = |packing: &Packing| judged(&problem, packing, &options);
    let mut ladder = Ladder::new(&problem, &options, &Unlimited, &judge);
    ladder.enter(
        "nothing",
        Duration::ZERO,
        Ok(Packing {
            rooms: Vec::new(),
            launched: Vec::new(),
            left: problem.counts(),
        }),
    );
    let completed = ladder.incumbent().cloned();
    assert_eq!(completed, Some(karpenter_order::pack(&problem, false)));
}

#[test]
fn costs_and_bounds_of_the_phases_end_where_the_plan_does() {
    let snapshot = snapshot();
    let plan = crate::plan(&snapshot, &PlanOptions::default(), &Unlimited).unwrap();
    let phases = &plan.work.phases;
    let names: Vec<&str> = phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names[..3], ["greedy", "lower bound", "density"]);
    assert!(phases.iter().map(|phase| phase.bound).is_sorted());
    assert_eq!(phases.last().unwrap().bound, plan.cost.lower_bound);
    assert!(phases.iter().rev().map(|phase| phase.cost).is_sorted());
    assert_eq!(phases.last().unwrap().cost, plan.cost.launched);
}

#[test]
fn in_a_hurry_the_baseline_stands_where_the_better_packing_is_refused() {
    let snapshot = snapshot();
    let problem = lower(&snapshot);
    let options = PlanOptions::default();
    let asked = Cell::new(0);
    let judge = |packing: &Packing| {
        asked.set(asked.get() + 1);
        if asked.get() == 1 {
            Err(refusal())
        } else {
            judged(&problem, packing, &options)
        }
    };
    let mut ladder = Ladder::new(&problem, &options, &Unlimited, &judge);
    ladder.hurry();
    assert_eq!(ladder.incumbent(), Some(&karpenter_order::pack(&problem, false)));
    assert_eq!(ladder.work.failures, 1);

    // And where both are, what the baseline breaks is told.
    let judge = |packing: &Packing| {
        let is_baseline = *packing == karpenter_order::pack(&problem, false);
        let mut refusal = refusal();
        if is_baseline {
            "launch/1".clone_into(&mut refusal[0].subject);
        }
        Err(refusal)
    };
    let mut ladder = Ladder::new(&problem, &options, &Unlimited, &judge);
    ladder.hurry();
    assert_eq!(ladder.work.failures, 2);
    assert_eq!(ladder.end().violations[0].subject, "launch/1");
}

#[test]
fn the_bound_of_the_same_pods_never_falls() {
    let snapshot = snapshot();
    let problem = lower(&snapshot);
    let options = PlanOptions {
        gap: crate::model::plan::Gap(0),
        ..PlanOptions::default()
    };
    let judge = |packing: &Packing| judged(&problem, packing, &options);
    let mut ladder = Ladder::new(&problem, &options, &Unlimited, &judge);
    ladder.baseline();
    ladder.price();
    let best = ladder.incumbent().cloned().unwrap();
    let before = ladder.bound(&best);
    assert!(before > 0);
    // One engine after the other says something lower, or nothing.
    ladder.bounds.farley.push(Farley::new(&[1.0, 1.0], 1.0));
    assert_eq!(ladder.bound(&best), before);
    let higher = Farley::new(&[200_000.0, 200_000.0], 1.0);
    ladder.bounds.farley.insert(0, higher);
    assert!(ladder.bound(&best) > before);
}

#[test]
fn few_pods_are_proven_to_cost_the_least() {
    let snapshot = Cluster::new()
        .instance_type(machine("small", "4", "16Gi", "0.2"))
        .instance_type(machine("large", "8", "32Gi", "0.35"))
        .pool("default")
        .pods("web", 13, "1", "1Gi")
        .freeze();
    let options = PlanOptions {
        gap: crate::model::plan::Gap(0),
        ..PlanOptions::default()
    };
    let plan = crate::plan(&snapshot, &options, &Unlimited).unwrap();
    assert_eq!(plan.proof.kind, crate::model::plan::ProofKind::Optimal);
    assert_eq!(plan.cost.objective, plan.cost.lower_bound);
}

/// Where limits push some pods to a lighter pool, linear and integer programs still pack each weight.
#[cfg(feature = "highs")]
#[test]
fn limits_and_weights_together_leave_programs_their_part() {
    let snapshot = Cluster::new()
        .instance_type(machine("small", "2", "8Gi", "0.1"))
        .instance_type(machine("large", "16", "64Gi", "0.9"))
        .pool_with("heavy", |pool| {
            pool.weight = 10;
            pool.limits.nodes = Some(2);
        })
        .pool("light")
        .pods("web", 29, "1500m", "1Gi")
        .pods("db", 4, "500m", "6Gi")
        .freeze();
    let problem = lower(&snapshot);
    let options = PlanOptions {
        engine: Engine::Ilp,
        gap: crate::model::plan::Gap(0),
        ..PlanOptions::default()
    };
    let judge = |packing: &Packing| judged(&problem, packing, &options);
    let mut ladder = Ladder::new(&problem, &options, &Unlimited, &judge);
    ladder.baseline();
    ladder.price();
    let on_heavy = |packing: &Packing| -> u64 {
        let heavy = packing
            .launched
            .iter()
            .filter(|one| problem.kinds[one.kind].tier == 0);
        heavy
            .flat_map(|one| one.filling.iter().map(|(_, each)| each * one.count))
            .sum()
    };
    let baseline = ladder.incumbent().cloned().unwrap();
    ladder.weight_by_weight();
    let best = ladder.incumbent().unwrap();
    assert!(best.cost(&problem) < baseline.cost(&problem), "{best:?}");
    assert_eq!(on_heavy(best), on_heavy(&baseline));
    assert_eq!(ladder.work.failures, 0);
    let ran = ladder.work.phases.iter().filter(|phase| phase.name == "columns");
    assert_eq!(ran.count(), 2, "once for each weight");
}

/// A clock that only judging moves.
struct OfJudging {
    now: Cell<Duration>,
    budget: Duration,
}

impl Quota for OfJudging {
    fn elapsed(&self) -> Duration {
        self.now.get()
    }

    fn remaining(&self) -> Option<Duration> {
        Some(self.budget.saturating_sub(self.now.get()))
    }
}

/// A busy machine, and many more pods than a limit admits, each refused with its reasons.
#[test]
fn where_one_plan_can_be_judged_it_is_not_the_dear_one() {
    let mut cluster = Cluster::new()
        .instance_type(machine("small", "2", "8Gi", "0.1"))
        .instance_type(machine("medium", "4", "16Gi", "0.2"))
        .instance_type(machine("large", "64", "256Gi", "4.9"))
        .pool_with("default", |pool| {
            pool.limits.resources = Resources::parse([("cpu", "200")], Rounding::Down).unwrap();
        });
    for at in 0..150 {
        let cpu = format!("{}m", 400 + 37 * (at % 40));
        cluster = cluster.pods(&format!("app-{at}"), 100, &cpu, &format!("{}Mi", 700 + 90 * at));
    }
    let snapshot = cluster.freeze();
    let problem = lower(&snapshot);
    let options = PlanOptions::default();
    let clock = OfJudging {
        now: Cell::new(Duration::ZERO),
        budget: Duration::from_secs(1),
    };
    let judging = Duration::from_millis(450);
    let judge = |packing: &Packing| {
        clock.now.set(clock.now.get() + judging);
        judged(&problem, packing, &options)
    };
    let mut ladder = Ladder::new(&problem, &options, &clock, &judge);
    ladder.climb(&Memory::default());
    let rungs = ladder.end();
    let baseline = karpenter_order::pack(&problem, false);
    assert!(baseline.left.iter().sum::<u64>() > 10_000, "many are refused");
    let (best, _) = rungs.incumbent.unwrap();
    assert!(best.is_better_than(&baseline, &problem));
    assert_eq!(rungs.work.phases[0].name, "density");
    assert_eq!(
        clock.now.get(),
        judging,
        "no other plan could have been judged in time"
    );
}
