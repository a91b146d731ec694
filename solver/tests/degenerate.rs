//! Problems without structure, of one item, or of far too many: every engine has a plan, and the plain ones are optimal.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use dovetail_solver::model::name::PodName;
use dovetail_solver::model::plan::{Checked, Gap, Plan};
use dovetail_solver::model::pod::{Pod, PodPlace};
use dovetail_solver::testing::build::{Cluster, machine};
use dovetail_solver::{Engine, PlanOptions, Unlimited, WorkLimit, plan};

/// Plans by every engine, the baseline first; none may fail or be dearer than it.
fn by_every_engine(cluster: Cluster) -> Vec<Plan<Checked>> {
    let snapshot = cluster.freeze();
    let plans: Vec<Plan<Checked>> = [Engine::Greedy, Engine::Ilp, Engine::Auto]
        .into_iter()
        .map(|engine| {
            let options = PlanOptions {
                engine,
                gap: Gap(0),
                work_limit: WorkLimit(Some(10_000_000)),
                ..PlanOptions::default()
            };
            plan(&snapshot, &options, &Unlimited).unwrap()
        })
        .collect();
    for plan in &plans {
        assert_eq!(plan.work.failures, 0, "{:?}", plan.work.phases);
        assert!(plan.cost.lower_bound <= plan.cost.objective);
        assert!(plan.cost.objective <= plans[0].cost.objective);
        assert_eq!(plan.unschedulable.len(), plans[0].unschedulable.len());
    }
    plans
}

/// What all but the baseline launch for, in micro-dollars, and how many pods they refuse.
fn launched(cluster: Cluster) -> (i64, usize) {
    let plans = by_every_engine(cluster);
    let [ilp, auto] = &plans[1..] else { unreachable!() };
    assert_eq!(ilp.cost.launched, auto.cost.launched);
    (auto.cost.launched.micros(), auto.unschedulable.len())
}

fn usual() -> Cluster {
    Cluster::new()
        .instance_type(machine("small", "2", "4Gi", "0.1"))
        .instance_type(machine("large", "4", "8Gi", "0.15"))
        .pool("p")
}

#[test]
fn nothing_pends() {
    assert_eq!(launched(usual()), (0, 0));
    let running = usual()
        .node("n", "p", "small", "zone-a")
        .bound("b", "n", "1", "1Gi");
    assert_eq!(launched(running), (0, 0));
}

#[test]
fn pods_that_ask_for_nothing() {
    // Ten slots a node.
    assert_eq!(launched(usual().pods("x", 31, "0", "0")), (400_000, 0));
}

#[test]
fn a_giant_that_fits_nowhere_keeps_nobody_from_a_place() {
    assert_eq!(launched(usual().pods("giant", 1, "5", "1Gi")), (0, 1));
    let beside = usual().pods("giant", 1, "5", "1Gi").pods("x", 4, "1", "1Gi");
    assert_eq!(launched(beside), (150_000, 1));
}

#[test]
fn one_item_that_fills_a_node() {
    assert_eq!(launched(usual().pods("x", 1, "4", "8Gi")), (150_000, 0));
    assert_eq!(launched(usual().pods("x", 7, "4", "8Gi")), (7 * 150_000, 0));
}

#[test]
fn no_kind_will_do() {
    let elsewhere = usual().pods_with("x", 9, "1", "1Gi", |spec| {
        spec.node_selector.insert("team".to_owned(), "none".to_owned());
    });
    assert_eq!(launched(elsewhere), (0, 9));
}

#[test]
fn all_prices_equal() {
    let mut cluster = Cluster::new().pool("p");
    for (name, cpu) in [("a", "2"), ("b", "4"), ("c", "8")] {
        cluster = cluster.instance_type(machine(name, cpu, "64Gi", "0.1"));
    }
    // Two groups that fill three of the largest to the brim.
    let cluster = cluster.pods("x", 6, "3", "1Gi").pods("y", 6, "1", "1Gi");
    assert_eq!(launched(cluster), (300_000, 0));
}

#[test]
fn the_least_price_there_is() {
    let cluster = Cluster::new()
        .instance_type(machine("small", "2", "4Gi", "0.000001"))
        .instance_type(machine("large", "4", "8Gi", "0.000001"))
        .pool("p");
    assert_eq!(launched(cluster.pods("x", 9, "2", "1Gi")), (5, 0));
}

#[test]
fn ties_everywhere() {
    let mut cluster = Cluster::new().pool("p").pool("q");
    for number in 0..30 {
        cluster = cluster.instance_type(machine(&format!("type-{number}"), "4", "16Gi", "0.2"));
    }
    for number in 0..8 {
        cluster = cluster.pods_with(&format!("x{number}"), 5, "1", "4Gi", |spec| {
            spec.priority = number;
        });
    }
    // Forty pods, four a node.
    assert_eq!(launched(cluster), (2_000_000, 0));
}

#[test]
fn groups_that_fit_one_kind_each() {
    let mut cluster = Cluster::new().pool("p");
    for number in 0..12 {
        let mut instance_type = machine(&format!("type-{number}"), "4", "16Gi", "0.2");
        instance_type
            .labels
            .insert("rack".to_owned(), format!("r{number}"));
        cluster =
            cluster
                .instance_type(instance_type)
                .pods_with(&format!("x{number}"), 6, "2", "1Gi", |spec| {
                    spec.node_selector.insert("rack".to_owned(), format!("r{number}"));
                });
    }
    assert_eq!(launched(cluster), (12 * 3 * 200_000, 0));
}

#[test]
fn a_million_pods_alike() {
    let mut cluster = usual().pods("x", 1, "400m", "800Mi");
    let spec = Arc::clone(&cluster.parts.pods[0].spec);
    cluster.parts.pods = (0..1_000_000)
        .map(|number| Pod {
            name: PodName::new("default", format!("x-{number:06}")),
            spec: Arc::clone(&spec),
            place: PodPlace::Pending,
            created: None,
        })
        .collect();
    let snapshot = cluster.freeze();
    let plan = plan(&snapshot, &PlanOptions::default(), &Unlimited).unwrap();
    // Ten on a large node, by cores and by memory, or five on a small one for more than half its price.
    assert_eq!(plan.launch.len(), 100_000);
    assert_eq!(plan.cost.launched.micros(), 100_000 * 150_000);
    assert!(plan.unschedulable.is_empty());
}

#[test]
fn five_thousand_groups() {
    let mut cluster = Cluster::new().pool("p");
    for (name, cpu, memory, price) in [
        ("a", "2", "4Gi", "0.085"),
        ("b", "4", "32Gi", "0.252"),
        ("c", "16", "32Gi", "0.68"),
        ("d", "32", "128Gi", "1.536"),
    ] {
        cluster = cluster.instance_type(machine(name, cpu, memory, price));
    }
    for number in 0..5_000_u64 {
        let cpu = format!("{}m", 100 + number * 7 % 1_900);
        let memory = format!("{}Mi", 64 + number);
        cluster = cluster.pods(&format!("x{number}"), 1, &cpu, &memory);
    }
    let plans = by_every_engine(cluster);
    assert_eq!(plans[0].work.groups, 5_000);
    assert!(plans[2].cost.objective < plans[0].cost.objective);
    assert!(plans[2].unschedulable.is_empty());
}
