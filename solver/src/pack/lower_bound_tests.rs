//! The lower bound on clusters whose cost is plain to see.

use super::*;
use crate::lower::lower;
use crate::model::instance_type::INSTANCE_TYPE_LABEL;
use crate::model::money::Price;
use crate::model::requirement::Labels;
use crate::options::PlanOptions;
use crate::pack::random::Random;
use crate::quota::Unlimited;
use crate::testing::build::{Cluster, ZONES, in_zone, machine};
use crate::testing::rules::{anti_affinity, app};

fn bound(cluster: Cluster) -> u64 {
    let snapshot = cluster.freeze();
    let problem = lower(&snapshot);
    let counts = problem.counts();
    let options = PlanOptions::default();
    let mut effort = Effort::new(&options, &Unlimited);
    prices(&problem, &counts, &mut effort).map_or(0, |prices| prices.bound(&problem, &counts))
}

fn cluster() -> Cluster {
    Cluster::new()
        .instance_type(machine("small", "2", "8Gi", "0.1"))
        .pool("default")
}

#[test]
fn pods_that_fill_nodes_to_the_brim_cost_what_the_nodes_do() {
    assert_eq!(bound(cluster().pods("web", 10, "1", "1Gi")), 500_000);
}

#[test]
fn a_cost_is_a_sum_of_the_costs_of_kinds_that_could_be_launched() {
    let snapshot = Cluster::new()
        .instance_type(machine("small", "2", "8Gi", "0.06"))
        .instance_type(machine("large", "4", "16Gi", "0.1"))
        .instance_type(machine("huge", "64", "256Gi", "1.511"))
        .pool("default")
        .pods("wide", 3, "50", "1Gi")
        .pods("web", 3, "3", "1Gi")
        .pods("job", 3, "1", "1Gi")
        .freeze();
    let problem = lower(&snapshot);
    let rounded = |placed: [u64; 3], bound| attainable(&problem, &placed, bound);
    assert_eq!(rounded([1, 0, 0], 1), 1_511_000);
    assert_eq!(rounded([0, 1, 0], 100_001), 101_000);
    assert_eq!(rounded([0, 0, 3], 0), 0);
    assert_eq!(attainable(&problem, &[0, 0, 0], 7), 7, "nothing can be launched");
    assert_eq!(rounded([1, 0, 0], u64::MAX), u64::MAX);
}

#[test]
fn of_nodes_that_cost_the_same_it_takes_whole_ones() {
    // 3.85 nodes by volume; three for one group alone and two for the other.
    let cluster = cluster()
        .pods("web", 7, "600m", "1Gi")
        .pods("job", 7, "500m", "1Gi");
    let snapshot = cluster.freeze();
    let problem = lower(&snapshot);
    let options = PlanOptions::default();
    let mut effort = Effort::new(&options, &Unlimited);
    let bound = prices(&problem, &[7, 7], &mut effort)
        .unwrap()
        .bound(&problem, &[7, 7]);
    assert_eq!((bound, attainable(&problem, &[7, 7], bound)), (385_000, 400_000));
}

#[test]
fn one_node_at_least_is_launched_for_the_smallest_pod() {
    assert_eq!(bound(cluster().pods("web", 1, "10m", "1Mi")), 100_000);
}

#[test]
fn room_on_nodes_that_exist_is_credited() {
    let with_room = cluster().node("n1", "default", "small", "zone-a");
    assert_eq!(bound(with_room.pods("web", 2, "1", "1Gi")), 0);
}

#[test]
fn an_offer_of_limited_number_saves_no_more_than_its_nodes() {
    // Ten pods of half a node: one node for a cent, four for ten cents each.
    let mut cluster = cluster().pods("web", 10, "1", "1Gi");
    let class = cluster.parts.node_classes.values_mut().next().unwrap();
    let offer = &mut class.instance_types[0].offerings[0];
    offer.price = Price::parse("0.01").unwrap();
    offer.limit = Some(1);
    assert_eq!(bound(cluster), 410_000);
}

#[test]
fn parts_of_nodes_can_not_be_bought_for_each_rule() {
    // One small pod for each of three types: a whole node each, and the pods without a rule fit beside them.
    let mut cluster = Cluster::new().pool("default");
    for (name, price) in [("a", "0.1"), ("b", "0.2"), ("c", "0.4")] {
        cluster = cluster
            .instance_type(machine(name, "4", "16Gi", price))
            .pods_with(name, 1, "100m", "1Gi", |spec| {
                spec.node_selector = Labels::from([(INSTANCE_TYPE_LABEL.to_owned(), name.to_owned())]);
            });
    }
    assert_eq!(bound(cluster.clone()), 700_000);
    assert_eq!(bound(cluster.clone().pods("web", 3, "2", "1Gi")), 700_000);
    // Where an existing node can take such a pod none is needed for it.
    assert_eq!(bound(cluster.node("n", "default", "c", "zone-a")), 300_000);
}

/// Pods of ever different sizes, some of them bound to a zone, where nodes differ in price by zone.
fn zonal(zones: &[&str]) -> Cluster {
    let mut cluster = Cluster::new().pool("default");
    for (name, cpu, memory, price) in [
        ("c", "16", "32Gi", "0.6"),
        ("m", "16", "64Gi", "0.8"),
        ("r", "16", "128Gi", "1"),
    ] {
        let mut machine = machine(name, cpu, memory, price);
        machine.offerings[1].price = Price::from_micros(machine.offerings[1].price.micros() * 2);
        cluster = cluster.instance_type(machine);
    }
    let mut random = Random::new(7);
    for number in 0..3_000 {
        let (cpu, memory) = (100 + random.below(4_000), 100 + random.below(16_000));
        let zone = ZONES[number % 2];
        if zones.contains(&zone) {
            let (cpu, memory) = (format!("{cpu}m"), format!("{memory}Mi"));
            cluster = cluster.pods_with(&format!("web-{number}"), 1, &cpu, &memory, |spec| {
                spec.node_selector = in_zone(zone);
            });
        }
    }
    cluster
}

#[test]
fn thousands_of_groups_with_rules_of_their_own_cost_no_less_together_than_apart() {
    let apart = bound(zonal(&ZONES[..1])) + bound(zonal(&ZONES[1..]));
    let together = bound(zonal(&ZONES));
    assert!(together * 1_000 >= apart * 998, "{together} against {apart}");
    assert!(together <= apart, "{together} against {apart}");
}

/// Time is up at a question of a certain number.
struct AtQuestion {
    asked: std::cell::Cell<u64>,
    stop: u64,
}

impl crate::quota::Quota for AtQuestion {
    fn elapsed(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }

    fn remaining(&self) -> Option<std::time::Duration> {
        self.asked.set(self.asked.get() + 1);
        let is_over = self.asked.get() >= self.stop;
        Some(std::time::Duration::from_secs(if is_over { 0 } else { 3_600 }))
    }
}

#[test]
fn a_stop_at_any_question_leaves_a_lower_bound_that_is_valid() {
    let mut cluster = Cluster::new().pool("default");
    for (name, cpu, memory, price) in [
        ("a", "2", "4Gi", "0.085"),
        ("b", "4", "32Gi", "0.25"),
        ("c", "8", "16Gi", "0.34"),
        ("d", "16", "128Gi", "1.01"),
    ] {
        cluster = cluster.instance_type(machine(name, cpu, memory, price));
    }
    let mut random = Random::new(9);
    for number in 0..60 {
        let (cpu, memory) = (100 + random.below(1_500), 64 + random.below(9_000));
        let (cpu, memory) = (format!("{cpu}m"), format!("{memory}Mi"));
        cluster = cluster.pods(&format!("web-{number}"), 5, &cpu, &memory);
    }
    let snapshot = cluster.freeze();
    let problem = lower(&snapshot);
    let counts = problem.counts();
    let options = PlanOptions::default();
    let mut bounds = Vec::new();
    for stop in 1..40 {
        let quota = AtQuestion {
            asked: std::cell::Cell::new(0),
            stop,
        };
        let mut effort = Effort::new(&options, &quota);
        let bound = prices(&problem, &counts, &mut effort)
            .unwrap()
            .bound(&problem, &counts);
        assert!(quota.asked.get() <= stop, "asked again after {stop}");
        bounds.push(bound);
        if quota.asked.get() < stop {
            break;
        }
    }
    assert!(bounds[0] > 0 && bounds.len() > 2, "{bounds:?}");
    assert!(bounds.is_sorted() && bounds.first() < bounds.last(), "{bounds:?}");
    let full = prices(&problem, &counts, &mut Effort::new(&options, &Unlimited)).unwrap();
    assert_eq!(bounds.last(), Some(&full.bound(&problem, &counts)));
}

#[test]
fn a_rule_across_nodes_may_push_pods_to_a_lighter_pool() {
    let only = |name: &str| {
        let labels = Labels::from([(INSTANCE_TYPE_LABEL.to_owned(), name.to_owned())]);
        crate::model::requirement::Requirements::of_labels(&labels)
    };
    let cluster = Cluster::new()
        .instance_type(machine("dear", "2", "8Gi", "1"))
        .instance_type(machine("cheap", "2", "8Gi", "0.1"))
        .pool_with("heavy", |pool| {
            pool.weight = 3;
            pool.labels.insert("rack".to_owned(), "r2".to_owned());
            pool.requirements.add_all(&only("dear"));
        })
        .pool_with("light", |pool| pool.requirements.add_all(&only("cheap")))
        .pods_with("web", 2, "1500m", "1Gi", |spec| {
            app(spec, "web");
            anti_affinity(spec, "rack", "web");
        });
    let snapshot = cluster.clone().freeze();
    let plan = crate::plan(&snapshot, &PlanOptions::default(), &Unlimited).unwrap();
    assert_eq!(plan.launch.len(), 2, "one node with the label, and one without");
    assert_eq!(plan.cost.launched.micros(), 1_100_000);
    assert!(bound(cluster) <= 1_100_000);
}
