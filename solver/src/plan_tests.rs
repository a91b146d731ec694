//! Scarce room goes to higher priority first, whatever the pods' sizes and rules, by every engine; and a planner that counts
//! wrongly what is only weighed still has a plan.

use crate::lower::lower;
use crate::model::instance_type::{HOSTNAME_LABEL, ZONE_LABEL};
use crate::model::plan::ProofKind;
use crate::model::pod::PodSpec;
use crate::model::resources::{Amount, ResourceName};
use crate::model::taint::{Taint, TaintEffect};
use crate::pack::memory::Memory;
use crate::testing::build::{Cluster, machine, taint};
use crate::testing::rules::{affinity, anti_affinity, app, spread};
use crate::{Engine, PlanOptions, Unlimited, plan};

/// Nodes of two sizes, so many CPUs at most.
fn cluster(cpus: u64) -> Cluster {
    Cluster::new()
        .instance_type(machine("small", "2", "8Gi", "0.1"))
        .instance_type(machine("large", "8", "32Gi", "0.38"))
        .pool_with("default", |pool| {
            let limits = &mut pool.limits.resources;
            limits.set(ResourceName::Cpu, Amount::new(cpus * 1_000));
        })
}

/// Pods of each priority that every engine leaves, highest first.
#[track_caller]
fn left(cluster: &Cluster, priorities: &[i32]) -> Vec<usize> {
    let snapshot = cluster.clone().freeze();
    let of = |engine| -> Vec<usize> {
        let options = PlanOptions {
            engine,
            ..PlanOptions::default()
        };
        let plan = plan(&snapshot, &options, &Unlimited).unwrap();
        let refused = plan.unschedulable.iter();
        let left: Vec<i32> = refused
            .map(|refused| snapshot.pod(&refused.pod).unwrap().spec.priority)
            .collect();
        let of_one = |priority| left.iter().filter(|other| **other == priority).count();
        priorities.iter().copied().map(of_one).collect()
    };
    let all = [Engine::Greedy, Engine::Ilp, Engine::Auto].map(of);
    for (left, worse) in all[1..].iter().zip(&all) {
        assert!(left <= worse, "{all:?}");
    }
    let [greedy, ..] = all;
    greedy
}

/// `high` takes all of eight CPUs; `low` would too.
#[track_caller]
fn high_first(edit: impl Fn(&mut PodSpec, &str)) {
    let sizes = [("1800m", 4), ("800m", 10), ("7", 1)];
    for (high, most) in sizes {
        for (low, many) in sizes {
            let spec = |name: &'static str, priority| {
                let edit = &edit;
                move |spec: &mut PodSpec| {
                    app(spec, name);
                    spec.priority = priority;
                    edit(spec, name);
                }
            };
            let cluster = cluster(8)
                .pods_with("high", most, high, "512Mi", spec("high", 10))
                .pods_with("low", many, low, "512Mi", spec("low", -10));
            let left = left(&cluster, &[10, -10]);
            assert_eq!(left[0], 0, "{high} before {low}");
            assert!(left[1] > 0, "{high} before {low}");
        }
    }
}

#[test]
fn under_a_limit_the_more_urgent_pods_are_placed_whatever_their_size() {
    high_first(|_, _| {});
}

#[test]
fn the_same_with_rules_across_nodes() {
    high_first(|spec, name| {
        spread(spec, ZONE_LABEL, 16, name);
    });
    high_first(|spec, name| affinity(spec, ZONE_LABEL, name));
    high_first(|spec, name| {
        let other = if name == "high" { "low" } else { "high" };
        anti_affinity(spec, ZONE_LABEL, other);
    });
}

#[test]
fn of_less_urgent_pods_that_others_are_to_be_near_only_what_is_needed_comes_first() {
    for key in [ZONE_LABEL, HOSTNAME_LABEL] {
        let with = |cpus| {
            cluster(cpus)
                .pods_with("low", 8, "900m", "512Mi", |spec| app(spec, "cache"))
                .pods_with("mid", 4, "900m", "512Mi", |spec| spec.priority = 5)
                .pods_with("high", 1, "900m", "512Mi", |spec| {
                    spec.priority = 10;
                    affinity(spec, key, "cache");
                })
        };
        assert_eq!(left(&with(6), &[10, 5, 0]), [0, 0, 7], "{key}");
        assert_eq!(left(&with(4), &[10, 5, 0]), [0, 2, 7], "{key}");
        assert_eq!(left(&with(2), &[10, 5, 0]), [0, 4, 7], "{key}");
    }
}

/// Three pods on a node of a tenth of a dollar with a soft taint, a tenth of a cent for each.
#[test]
fn a_wrong_count_of_what_is_only_weighed_costs_no_plan() {
    let snapshot = Cluster::new()
        .instance_type(machine("m", "4", "16Gi", "0.1"))
        .pool_with("default", |pool| {
            pool.taints.push(Taint {
                effect: TaintEffect::PreferNoSchedule,
                ..taint("workload", "batch")
            });
        })
        .pods("web", 3, "1", "1Gi")
        .freeze();
    for (counted, has_differed) in [(0, true), (999, true), (1_000, false), (50_000, true)] {
        let mut problem = lower(&snapshot);
        problem.wishes.tastes[0].kinds.fill(counted);
        let found = super::climb(
            &problem,
            &PlanOptions::default(),
            &Unlimited,
            &mut Memory::default(),
        );
        let plan = found.unwrap().plan(&snapshot).unwrap();
        assert_eq!(plan.launch.len(), 1);
        assert_eq!(plan.launch[0].pods.len(), 3);
        let counted = i64::try_from(counted).unwrap();
        assert_eq!(plan.cost.objective.micros(), 103_000, "as the check counts");
        assert_eq!(plan.cost.recounted.micros(), 3 * (1_000 - counted));
        assert_eq!(plan.work.recounted > 0, has_differed);
        assert!(plan.cost.lower_bound <= plan.cost.objective);
        assert_eq!(plan.proof.kind == ProofKind::Optimal, !has_differed);
    }
}
