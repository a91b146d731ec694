//! Preferences: weighed in money, in one figure that planner and check count apart from each other.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use dovetail_solver::check::{Rule, check};
use dovetail_solver::lower::lower;
use dovetail_solver::model::instance_type::{CAPACITY_TYPE_LABEL, HOSTNAME_LABEL, ZONE_LABEL};
use dovetail_solver::model::money::{Cost, Price};
use dovetail_solver::model::objective::Weights;
use dovetail_solver::model::plan::{Checked, Plan, PlanBody};
use dovetail_solver::model::pod::PodSpec;
use dovetail_solver::model::requirement::{NodeSelectorTerm, Operator};
use dovetail_solver::model::rules::Weighted;
use dovetail_solver::model::snapshot::Snapshot;
use dovetail_solver::model::taint::{Taint, TaintEffect};
use dovetail_solver::pack::effort::{Effort, Share};
use dovetail_solver::pack::random::Random;
use dovetail_solver::pack::side::balance::{balanced, unmet_of};
use dovetail_solver::pack::side::unmet::unmet;
use dovetail_solver::pack::side::verdict::broken;
use dovetail_solver::testing::build::{Cluster, affinity as terms, machine, taint};
use dovetail_solver::testing::rules::{anti_affinity, app, near, spread};
use dovetail_solver::testing::strategies::{Ingredients, TEAM, check_cases, cluster};
use dovetail_solver::testing::thrown::packed;
use dovetail_solver::{Engine, PlanOptions, Unlimited, plan};
use proptest::prelude::*;

const APPS: [&str; 2] = ["web", "db"];
const KEYS: [&str; 4] = [ZONE_LABEL, HOSTNAME_LABEL, CAPACITY_TYPE_LABEL, TEAM];

fn soft(spec: &mut PodSpec, key: &str, max_skew: u32, name: &str) {
    spread(spec, key, max_skew, name).is_hard = false;
}

fn prefers(spec: &mut PodSpec, weight: u32, key: &str, value: &str) {
    let wish: NodeSelectorTerm = terms(&[&[(key, Operator::In, &[value])]]).0.remove(0);
    spec.rules.preferred_nodes.push(Weighted { weight, wish });
}

fn prefers_near(spec: &mut PodSpec, weight: u32, key: &str, name: &str) {
    let wish = near(key, name);
    spec.rules.preferred_affinity.push(Weighted { weight, wish });
}

fn prefers_away(spec: &mut PodSpec, weight: u32, key: &str, name: &str) {
    let wish = near(key, name);
    spec.rules.preferred_anti_affinity.push(Weighted { weight, wish });
}

/// The same cluster whose pods have apps and wishes, and some of them a hard rule.
fn with_wishes(snapshot: Snapshot, seed: u64) -> Snapshot {
    let mut random = Random::new(seed);
    let mut parts = snapshot.into_parts();
    let mut known: Vec<(Arc<PodSpec>, Arc<PodSpec>)> = Vec::new();
    for pod in &mut parts.pods {
        let like = known.iter().find(|(old, _)| Arc::ptr_eq(old, &pod.spec));
        let spec = like.map(|(_, new)| Arc::clone(new)).unwrap_or_else(|| {
            let mut spec = (*pod.spec).clone();
            wish(&mut spec, &mut random);
            let spec = Arc::new(spec);
            known.push((Arc::clone(&pod.spec), Arc::clone(&spec)));
            spec
        });
        pod.spec = spec;
    }
    for pool in &mut parts.node_pools {
        if random.below(3) == 0 {
            pool.taints.push(Taint {
                effect: TaintEffect::PreferNoSchedule,
                ..taint("rather-not", "")
            });
        }
    }
    for node in &mut parts.nodes {
        if random.below(3) == 0 {
            node.labels.insert(TEAM.to_owned(), "red".to_owned());
        }
    }
    let weights = Weights {
        preference: Price::from_micros([1, 1_000, 30_000][random.below(3)]),
        ..Weights::default()
    };
    // The strategy's own count nodes alone.
    parts.objective.weights.clear();
    parts.objective.weights.insert("pool-1".into(), weights);
    parts.freeze().unwrap()
}

fn wish(spec: &mut PodSpec, random: &mut Random) {
    app(spec, APPS[random.below(2)]);
    for _ in 0..random.below(4) {
        let (key, name) = (KEYS[random.below(4)], APPS[random.below(2)]);
        let weight = [1, 3, 100][random.below(3)];
        match random.below(8) {
            0..3 => soft(spec, key, 1 + u32::from(random.below(2) == 0), name),
            3 => prefers(spec, weight, ZONE_LABEL, "zone-b"),
            4 => prefers(spec, weight, TEAM, ["red", "blue"][random.below(2)]),
            5 => prefers_near(spec, weight, key, name),
            6 => prefers_away(spec, weight, key, name),
            _ if random.below(4) == 0 => anti_affinity(spec, HOSTNAME_LABEL, name),
            _ if random.below(4) == 0 => {
                spread(spec, ZONE_LABEL, 1, name);
            }
            _ => {}
        }
    }
}

fn planned(snapshot: &Snapshot, engine: Engine) -> Result<Plan<Checked>, String> {
    let options = PlanOptions {
        engine,
        ..PlanOptions::default()
    };
    plan(snapshot, &options, &Unlimited).map_err(|error| error.to_string())
}

fn body(snapshot: &Snapshot) -> PlanBody {
    planned(snapshot, Engine::Auto).unwrap().into_body()
}

fn micros(cost: Cost) -> i64 {
    cost.micros()
}

/// Planner and check agree on what is unmet of whatever any engine finds, or it would be recounted; and no packing of the
/// same pods costs less than the bound says.
#[test]
fn both_sides_count_the_same_and_bounds_hold() {
    let clusters = (cluster(Ingredients::SMALL), any::<u64>());
    let clusters = clusters.prop_map(|(snapshot, seed)| with_wishes(snapshot, seed));
    check_cases(60, &clusters, |snapshot| {
        let plan = planned(&snapshot, Engine::Auto).map_err(TestCaseError::fail)?;
        for phase in &plan.work.phases {
            let refused = phase.failed.as_ref().filter(|failed| failed.contains("refused"));
            prop_assert!(refused.is_none(), "{}: {:?}", phase.name, refused);
        }
        prop_assert_eq!((plan.work.recounted, plan.cost.recounted), (0, Cost::ZERO));
        let again = planned(&snapshot, Engine::Auto).map_err(TestCaseError::fail)?;
        prop_assert_eq!(&plan.launch, &again.launch);
        prop_assert_eq!(plan.cost, again.cost);
        prop_assert!(plan.cost.lower_bound <= plan.cost.objective);
        Ok(())
    });
}

#[test]
fn a_tally_counts_what_is_counted_literally_and_balance_only_helps() {
    let clusters = (cluster(Ingredients::SMALL), any::<u64>());
    let clusters = clusters.prop_map(|(snapshot, seed)| with_wishes(snapshot, seed));
    check_cases(150, &clusters, |snapshot| {
        let problem = lower(&snapshot);
        let Some(packing) = packed(&problem, &mut Random::new(7)) else {
            return Ok(());
        };
        prop_assert_eq!(
            unmet_of(&problem, &packing).0,
            i128::from(unmet(&problem, &packing))
        );
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
        prop_assert_eq!(
            unmet_of(&problem, &better).0,
            i128::from(unmet(&problem, &better))
        );
        Ok(())
    });
}

#[test]
fn a_soft_spread_breaks_ties_but_buys_no_nodes() {
    let snapshot = Cluster::new()
        .instance_type(machine("large", "2", "8Gi", "0.1"))
        .instance_type(machine("xlarge", "4", "16Gi", "0.2"))
        .pool("default")
        .pods_with("web", 10, "300m", "256Mi", |spec| {
            app(spec, "web");
            soft(spec, HOSTNAME_LABEL, 1, "web");
        })
        .freeze();
    let plan = body(&snapshot);
    let mut pods: Vec<usize> = plan.launch.iter().map(|launch| launch.pods.len()).collect();
    pods.sort_unstable();
    assert_eq!(pods, [5, 5]);
    assert_eq!(micros(plan.cost.objective), 200_000);
    assert_eq!(plan.cost.lower_bound, plan.cost.objective);
}

#[test]
fn nodes_of_one_price_go_to_all_zones_where_that_is_wished() {
    let snapshot = Cluster::new()
        .instance_type(machine("m", "4", "16Gi", "0.1"))
        .pool("default")
        .pods_with("web", 8, "1", "1Gi", |spec| {
            app(spec, "web");
            soft(spec, ZONE_LABEL, 1, "web");
        })
        .freeze();
    let plan = body(&snapshot);
    let zones: Vec<&str> = plan.launch.iter().map(|launch| launch.zone.as_str()).collect();
    assert_eq!(zones.len(), 2);
    assert_ne!(zones[0], zones[1]);
    assert_eq!(micros(plan.cost.objective), 200_000);
}

/// Four cores cost a tenth of a dollar an hour in any zone, a cent more in the zone that is liked.
#[test]
fn a_liked_zone_is_paid_for_as_far_as_it_is_worth() {
    let with = |weight: u32, preference: u64| {
        let mut instance_type = machine("m", "4", "16Gi", "0.1");
        for offering in &mut instance_type.offerings {
            if offering.zone.as_str() == "zone-b" {
                offering.price = Price::from_micros(110_000);
            }
        }
        let mut cluster = Cluster::new()
            .instance_type(instance_type)
            .pool("default")
            .pods_with("web", 4, "1", "1Gi", |spec| {
                prefers(spec, weight, ZONE_LABEL, "zone-b");
            });
        let weights = Weights {
            preference: Price::from_micros(preference),
            ..Weights::default()
        };
        cluster.parts.objective.weights.insert("default".into(), weights);
        let plan = body(&cluster.freeze());
        let launch = &plan.launch[0];
        (
            launch.zone.as_str().to_owned(),
            micros(plan.cost.after),
            micros(plan.cost.objective),
        )
    };
    assert_eq!(with(1, 1_000), ("zone-a".to_owned(), 100_000, 104_000));
    assert_eq!(with(3, 1_000), ("zone-b".to_owned(), 110_000, 110_000));
    assert_eq!(with(3, 0), ("zone-a".to_owned(), 100_000, 100_000));
    assert_eq!(with(1, 3_000), ("zone-b".to_owned(), 110_000, 110_000));
}

#[test]
fn soft_taints_cost_and_stop_nothing() {
    let soft_taint = || Taint {
        effect: TaintEffect::PreferNoSchedule,
        ..taint("workload", "batch")
    };
    let cluster = |second: bool| {
        let cluster = Cluster::new()
            .instance_type(machine("m", "4", "16Gi", "0.1"))
            .pool_with("a", |pool| pool.taints.push(soft_taint()));
        let cluster = if second { cluster.pool("b") } else { cluster };
        body(&cluster.pods("web", 3, "1", "1Gi").freeze())
    };
    let only = cluster(false);
    assert_eq!((only.launch.len(), micros(only.cost.objective)), (1, 103_000));
    assert_eq!(only.cost.lower_bound, only.cost.objective);
    let both = cluster(true);
    assert_eq!(both.launch[0].node_pool.as_str(), "b");
    assert_eq!(micros(both.cost.objective), 100_000);
}

#[test]
fn preferred_company_is_sought_where_it_is_free() {
    let snapshot = |edit: fn(&mut PodSpec)| {
        Cluster::new()
            .instance_type(machine("m", "4", "16Gi", "0.1"))
            .pool("default")
            .pods_with("web", 2, "1", "1Gi", move |spec| {
                app(spec, "web");
                edit(spec);
            })
            .pods("other", 6, "1", "1Gi")
            .freeze()
    };
    let on_nodes = |plan: &PlanBody| {
        let web = |launch: &dovetail_solver::model::plan::Launch| {
            let pods = launch.pods.iter();
            pods.filter(|pod| pod.name.starts_with("web")).count()
        };
        let mut on: Vec<usize> = plan.launch.iter().map(web).collect();
        on.sort_unstable();
        on
    };
    let away = body(&snapshot(|spec| prefers_away(spec, 100, HOSTNAME_LABEL, "web")));
    assert_eq!(on_nodes(&away), [1, 1]);
    let near = body(&snapshot(|spec| prefers_near(spec, 100, HOSTNAME_LABEL, "web")));
    assert_eq!(on_nodes(&near), [0, 2]);
    for plan in [away, near] {
        assert_eq!(plan.cost.objective, plan.cost.after);
        assert_eq!(plan.cost.lower_bound, plan.cost.objective);
    }
}

#[test]
fn what_is_unmet_stands_in_the_objective_and_nowhere_else() {
    let snapshot = Cluster::new()
        .instance_type(machine("m", "4", "16Gi", "0.1"))
        .pool("default")
        .pods_with("web", 3, "1", "1Gi", |spec| {
            app(spec, "web");
            prefers(spec, 7, ZONE_LABEL, "zone-z");
            prefers_away(spec, 2, ZONE_LABEL, "web");
        })
        .freeze();
    let plan = body(&snapshot);
    // One node: three pods in no zone-z, and two more than one in a zone.
    assert_eq!(micros(plan.cost.after), 100_000);
    assert_eq!(micros(plan.cost.objective), 100_000 + 3 * 7_000 + 2 * 2_000);
    for wrong in [100_000, 124_999, 125_001] {
        let mut spoiled = plan.clone();
        spoiled.cost.objective = Cost::from_micros(wrong);
        let failure = check(&snapshot, Plan::propose(spoiled)).unwrap_err();
        assert!(
            failure.violations.iter().any(|it| it.rule == Rule::Money),
            "{wrong}"
        );
    }
}
