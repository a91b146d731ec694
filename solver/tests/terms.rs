//! Terms of the objective about nodes: what pods strand, and how zones differ. Planner and check count them apart from each
//! other, and plans are made with them in view.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dovetail_solver::check::{Rule, check};
use dovetail_solver::lower::lower;
use dovetail_solver::model::money::{Cost, Price};
use dovetail_solver::model::objective::Weights;
use dovetail_solver::model::plan::{Plan, PlanBody, ProofKind};
use dovetail_solver::model::quantity::Rounding;
use dovetail_solver::model::resources::Resources;
use dovetail_solver::model::snapshot::Snapshot;
use dovetail_solver::pack::effort::{Effort, Share};
use dovetail_solver::pack::random::Random;
use dovetail_solver::pack::side::balance::{balanced, unmet_of};
use dovetail_solver::pack::side::unmet::unmet;
use dovetail_solver::pack::side::verdict::broken;
use dovetail_solver::pack::stranding;
use dovetail_solver::testing::build::{Cluster, machine};
use dovetail_solver::testing::strategies::{Ingredients, check_cases, cluster};
use dovetail_solver::testing::thrown::packed;
use dovetail_solver::{Engine, PlanOptions, Unlimited, plan};
use proptest::prelude::*;

fn body(snapshot: &Snapshot) -> PlanBody {
    plan(snapshot, &PlanOptions::default(), &Unlimited)
        .unwrap()
        .into_body()
}

/// Micro-dollars for a stranded vCPU, and for one by which zones differ.
fn weighed(mut cluster: Cluster, pool: &str, fragmentation: u64, zone_imbalance: u64) -> Snapshot {
    let weights = Weights {
        fragmentation: Price::from_micros(fragmentation),
        zone_imbalance: Price::from_micros(zone_imbalance),
        ..Weights::default()
    };
    cluster.parts.objective.weights.insert(pool.into(), weights);
    cluster.freeze()
}

/// The same cluster, some of whose pools weigh such terms.
fn with_terms(snapshot: Snapshot, seed: u64) -> Snapshot {
    let mut random = Random::new(seed);
    let mut parts = snapshot.into_parts();
    for pool in &parts.node_pools {
        let mut weights = parts.objective.weights(Some(&pool.name));
        weights.fragmentation = Price::from_micros([0, 1, 3_333, 50_000][random.below(4)]);
        weights.zone_imbalance = Price::from_micros([0, 1, 777, 20_000][random.below(4)]);
        parts.objective.weights.insert(pool.name.clone(), weights);
    }
    parts.freeze().unwrap()
}

fn clusters() -> impl Strategy<Value = Snapshot> {
    let clusters = (cluster(Ingredients::SMALL), any::<u64>());
    clusters.prop_map(|(snapshot, seed)| with_terms(snapshot, seed))
}

fn types(plan: &PlanBody) -> Vec<&str> {
    plan.launch
        .iter()
        .map(|launch| launch.instance_type.as_str())
        .collect()
}

fn zones(plan: &PlanBody) -> Vec<&str> {
    let mut zones: Vec<&str> = plan.launch.iter().map(|launch| launch.zone.as_str()).collect();
    zones.sort_unstable();
    zones
}

/// Fragmentation and zone imbalance of a plan, and its objective.
fn figures(plan: &PlanBody) -> (i64, i64, i64) {
    let terms = plan.cost.terms;
    (
        terms.fragmentation.micros(),
        terms.zone_imbalance.micros(),
        plan.cost.objective.micros(),
    )
}

#[test]
fn both_sides_count_the_same_and_bounds_hold() {
    check_cases(60, &clusters(), |snapshot| {
        let of = |engine| {
            let options = PlanOptions {
                engine,
                ..PlanOptions::default()
            };
            plan(&snapshot, &options, &Unlimited).map_err(|error| TestCaseError::fail(error.to_string()))
        };
        let (plan, again, greedy) = (of(Engine::Auto)?, of(Engine::Auto)?, of(Engine::Greedy)?);
        for phase in &plan.work.phases {
            prop_assert!(phase.failed.is_none(), "{}: {:?}", phase.name, phase.failed);
        }
        prop_assert_eq!((plan.work.recounted, plan.cost.recounted), (0, Cost::ZERO));
        prop_assert_eq!(&plan.launch, &again.launch);
        prop_assert_eq!(plan.cost, again.cost);
        prop_assert_eq!(plan.cost.objective, plan.cost.terms.sum());
        prop_assert!(plan.cost.lower_bound <= plan.cost.objective);
        if plan.unschedulable.len() == greedy.unschedulable.len() {
            prop_assert!(plan.cost.lower_bound <= greedy.cost.objective);
        }
        Ok(())
    });
}

#[test]
fn a_tally_counts_what_is_counted_literally_and_balance_only_helps() {
    check_cases(150, &clusters(), |snapshot| {
        let problem = lower(&snapshot);
        let Some(packing) = packed(&problem, &mut Random::new(7)) else {
            return Ok(());
        };
        let literal = |packing: &_| unmet(&problem, packing) + stranding::of(&problem, packing);
        prop_assert_eq!(unmet_of(&problem, &packing).0, i128::from(literal(&packing)));
        let options = PlanOptions::default();
        let mut effort = Effort::new(&options, &Unlimited);
        effort.grant(Share {
            units: 100_000,
            hundredths: 100,
        });
        let better = balanced(&problem, &packing, &mut effort);
        prop_assert_eq!(broken(&problem, &better), []);
        prop_assert_eq!(&better.left, &packing.left);
        prop_assert!(better.objective(&problem) <= packing.objective(&problem));
        prop_assert_eq!(unmet_of(&problem, &better).0, i128::from(literal(&better)));
        Ok(())
    });
}

/// Two pods of a core and two gibibytes fill half of the memory of `even`, an eighth of `wide`'s.
#[test]
fn a_type_that_strands_less_is_paid_for_as_far_as_that_is_worth() {
    let with = |fragmentation: u64| {
        let cluster = Cluster::new()
            .instance_type(machine("even", "2", "4Gi", "0.1"))
            .instance_type(machine("wide", "2", "16Gi", "0.09"))
            .pool("default")
            .pods("web", 2, "1", "2Gi");
        body(&weighed(cluster, "default", fragmentation, 0))
    };
    let cheap = with(0);
    assert_eq!((types(&cheap), figures(&cheap)), (vec!["wide"], (0, 0, 90_000)));
    // Of two vCPUs one and a half have lost their memory's use: 12 of 16 GiB lie idle beside no CPU.
    let cheap = with(6_000);
    assert_eq!(
        (types(&cheap), figures(&cheap)),
        (vec!["wide"], (9_000, 0, 99_000))
    );
    let even = with(7_000);
    assert_eq!((types(&even), figures(&even)), (vec!["even"], (0, 0, 100_000)));
    assert_eq!(
        even.cost.lower_bound.micros(),
        90_000,
        "the bound leaves the term out"
    );
}

#[test]
fn pods_go_where_they_leave_cpu_and_memory_together() {
    let cluster = || {
        Cluster::new()
            .instance_type(machine("m", "8", "32Gi", "0.4"))
            .pool("default")
            .pods("cpu", 2, "4", "2Gi")
            .pods("memory", 2, "1", "14Gi")
    };
    let plan = body(&weighed(cluster(), "default", 10_000, 0));
    assert_eq!(plan.launch.len(), 2);
    for launch in &plan.launch {
        let of = |name: &str| {
            launch
                .pods
                .iter()
                .filter(|pod| pod.name.starts_with(name))
                .count()
        };
        assert_eq!((of("cpu"), of("memory")), (1, 1));
    }
    // Three of eight vCPUs are free, and half the memory, which four go with.
    assert_eq!(figures(&plan), (20_000, 0, 820_000));
}

#[test]
fn daemons_and_headroom_are_in_use_and_only_launches_are_charged() {
    let mut cluster = Cluster::new()
        .instance_type(machine("m", "4", "16Gi", "0.1"))
        .pool("default")
        .node("old", "default", "m", "zone-a")
        .bound("there", "old", "3", "1Gi")
        .daemon_set("agent", "500m", "1Gi")
        .pods("web", 1, "2", "2Gi");
    let headroom = Resources::parse([("cpu", "500m"), ("memory", "5Gi")], Rounding::Up).unwrap();
    cluster
        .parts
        .placement
        .headroom
        .insert("default".into(), headroom);
    let plan = body(&weighed(cluster, "default", 1_000_000, 0));
    // Of four vCPUs one is free, of sixteen gibibytes eight: two vCPUs' worth.
    assert_eq!(plan.launch.len(), 1);
    assert_eq!(figures(&plan), (1_000_000, 0, 1_200_000));
}

#[test]
fn alternatives_that_would_be_bought_first_strand_no_more() {
    let cluster = Cluster::new()
        .instance_type(machine("even", "2", "4Gi", "0.1"))
        .instance_type(machine("wide", "2", "16Gi", "0.09"))
        .instance_type(machine("dear", "4", "16Gi", "0.2"))
        .pool("default")
        .pods("web", 2, "1", "2Gi");
    let plan = body(&weighed(cluster, "default", 10_000, 0));
    let others: Vec<&str> = (plan.launch[0].alternatives.iter())
        .map(|other| other.instance_type.as_str())
        .collect();
    assert_eq!(types(&plan), ["even"]);
    assert!(
        others.contains(&"dear") && !others.contains(&"wide"),
        "{others:?}"
    );
}

#[test]
fn launches_go_to_the_emptier_zone_and_may_be_dearer_there() {
    let with = |zone_imbalance: u64, dearer: u64| {
        let mut instance_type = machine("m", "4", "16Gi", "0.1");
        for offering in &mut instance_type.offerings {
            if offering.zone.as_str() == "zone-b" {
                offering.price = Price::from_micros(100_000 + dearer);
            }
        }
        let cluster = Cluster::new()
            .instance_type(instance_type)
            .pool("default")
            .node("old", "default", "m", "zone-a")
            .bound("there", "old", "4", "1Gi")
            .pods("web", 4, "1", "1Gi");
        body(&weighed(cluster, "default", 0, zone_imbalance))
    };
    let to_b = with(1_000, 0);
    assert_eq!((zones(&to_b), figures(&to_b)), (vec!["zone-b"], (0, 0, 200_000)));
    // Eight vCPUs in one zone, none in the other.
    let to_a = with(1_000, 10_000);
    assert_eq!(
        (zones(&to_a), figures(&to_a)),
        (vec!["zone-a"], (0, 8_000, 208_000))
    );
    let to_b = with(1_500, 10_000);
    assert_eq!((zones(&to_b), figures(&to_b)), (vec!["zone-b"], (0, 0, 210_000)));
    for other in to_b.launch[0].alternatives.iter() {
        assert_eq!(
            other.zone.as_str(),
            "zone-b",
            "what stands in keeps the zones as even"
        );
    }
}

#[test]
fn one_large_node_becomes_smaller_ones_in_several_zones() {
    let with = |zone_imbalance: u64, small: &str| {
        let cluster = Cluster::new()
            .instance_type(machine("small", "4", "16Gi", small))
            .instance_type(machine("large", "8", "32Gi", "0.2"))
            .pool("default")
            .pods("web", 8, "1", "1Gi");
        body(&weighed(cluster, "default", 0, zone_imbalance))
    };
    let even = with(1_000, "0.1");
    assert_eq!(
        (zones(&even), figures(&even)),
        (vec!["zone-a", "zone-b"], (0, 0, 200_000))
    );
    let dearer = with(1_000, "0.103");
    assert_eq!(
        (types(&dearer), figures(&dearer)),
        (vec!["small"; 2], (0, 0, 206_000))
    );
    let dear = with(1_000, "0.105");
    assert_eq!(
        (types(&dear), figures(&dear)),
        (vec!["large"], (0, 8_000, 208_000))
    );
}

#[test]
fn what_is_only_weighed_is_set_right_and_refuses_nothing() {
    let cluster = Cluster::new()
        .instance_type(machine("m", "4", "16Gi", "0.1"))
        .pool("default")
        .pods("web", 1, "2", "2Gi");
    let snapshot = weighed(cluster, "default", 10_000, 1_000);
    let plan = body(&snapshot);
    assert_eq!(figures(&plan), (15_000, 4_000, 119_000));
    for more in [-119_000, -5_000, 1, 70_000] {
        let mut wrong = plan.clone();
        let more = Cost::from_micros(more);
        wrong.cost.terms.preference += more;
        wrong.cost.objective += more;
        wrong.cost.lower_bound = wrong.cost.objective;
        wrong.cost.gap = dovetail_solver::model::plan::Gap(0);
        wrong.proof.kind = ProofKind::Optimal;
        let right = check(&snapshot, Plan::propose(wrong)).unwrap();
        assert_eq!(
            (right.cost.terms, right.cost.objective),
            (plan.cost.terms, plan.cost.objective)
        );
        assert_eq!(right.cost.recounted, Cost::ZERO - more);
        assert!(right.cost.lower_bound <= right.cost.objective);
        assert_eq!(right.proof.kind, ProofKind::Heuristic);
    }
    // What nodes cost is no matter of opinion, and neither is the sum.
    for edit in [
        (|body| body.cost.terms.preference += Cost::from_micros(1)) as fn(&mut PlanBody),
        |body| body.cost.objective += Cost::from_micros(1),
        |body| {
            body.cost.terms.price += Cost::from_micros(1);
            body.cost.objective += Cost::from_micros(1);
        },
        |body| {
            body.cost.terms.price += Cost::from_micros(-1);
            body.cost.terms.node_hour += Cost::from_micros(1);
        },
    ] {
        let mut wrong = plan.clone();
        edit(&mut wrong);
        let failure = check(&snapshot, Plan::propose(wrong)).unwrap_err();
        assert!(failure.violations.iter().any(|it| it.rule == Rule::Money));
    }
}
