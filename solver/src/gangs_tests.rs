//! Plans of clusters with gangs: what is placed, what isn't, and what is said of it.

use crate::model::explain::Constraint;
use crate::model::name::PodName;
use crate::model::plan::PlanBody;
use crate::model::pod::PodSpec;
use crate::model::rules::Gang;
use crate::random::Random;
use crate::testing::build::{Cluster, machine};
use crate::{Engine, PlanOptions, Unlimited, plan};

fn in_gang(name: &str) -> impl Fn(&mut PodSpec) + use<> {
    let name = name.to_owned();
    move |spec| {
        spec.rules.gang = Some(Gang {
            name: name.clone(),
            size: None,
        });
    }
}

/// Nodes of one CPU, so many at most.
fn cluster(nodes: u64) -> Cluster {
    Cluster::new()
        .instance_type(machine("m", "1", "4Gi", "0.1"))
        .pool_with("default", |pool| pool.limits.nodes = Some(nodes))
}

fn planned_by(cluster: &Cluster, engine: Engine) -> PlanBody {
    let options = PlanOptions {
        engine,
        ..PlanOptions::default()
    };
    plan(&cluster.clone().freeze(), &options, &Unlimited)
        .unwrap()
        .into_body()
}

/// Apps with pods without a place, as every engine leaves them.
fn refused(cluster: &Cluster) -> Vec<String> {
    let left = |engine| -> Vec<String> {
        let plan = planned_by(cluster, engine);
        let name = |pod: &PodName| pod.name.split('-').next().unwrap().to_owned();
        let mut names: Vec<String> = plan
            .unschedulable
            .iter()
            .map(|refused| name(&refused.pod))
            .collect();
        names.dedup();
        names
    };
    let all = [Engine::Greedy, Engine::Ilp, Engine::Auto].map(left);
    assert_eq!(all[0], all[1]);
    assert_eq!(all[0], all[2]);
    let [names, ..] = all;
    names
}

#[test]
fn a_gang_that_does_not_fit_leaves_its_room_to_others() {
    let cluster = cluster(4)
        .pods_with("big", 5, "900m", "1Gi", in_gang("train"))
        .pods("web", 3, "600m", "1Gi");
    assert_eq!(refused(&cluster), ["big"]);
    let plan = planned_by(&cluster, Engine::Auto);
    assert_eq!((plan.launch.len(), plan.unschedulable.len()), (3, 5));
    for refused in &plan.unschedulable {
        let [reason] = refused.reasons.as_slice() else {
            panic!("{refused:?}")
        };
        assert_eq!(reason.constraint, Constraint::Limit);
        assert_eq!(
            reason.detail,
            "gang train: 4 of 5 pods find a place; nodes: needs 1, 0 left of 4"
        );
    }
}

#[test]
fn one_of_two_gangs_is_placed_where_both_do_not_fit() {
    let two = |nodes| {
        cluster(nodes)
            .pods_with("a", 5, "600m", "1Gi", in_gang("a"))
            .pods_with("b", 4, "700m", "1Gi", in_gang("b"))
    };
    assert!(refused(&two(9)).is_empty());
    // One alone: the smaller one comes back where the larger one can't.
    assert_eq!(refused(&two(8)).len(), 1);
    assert_eq!(refused(&two(4)), ["a"]);
    assert_eq!(refused(&two(3)), ["a", "b"]);
}

#[test]
fn the_more_urgent_gang_gets_the_room() {
    let with = |high: &str, low: &str| {
        let urgent = |name: &str, priority| {
            let join = in_gang(name);
            move |spec: &mut PodSpec| {
                join(spec);
                spec.priority = priority;
            }
        };
        cluster(4)
            .pods_with("high", 3, high, "1Gi", urgent("high", 10))
            .pods_with("low", 3, low, "1Gi", urgent("low", 0))
    };
    assert_eq!(refused(&with("600m", "900m")), ["low"]);
    assert_eq!(refused(&with("900m", "600m")), ["low"]);
}

#[test]
fn pods_that_differ_are_one_gang_and_say_for_whom_there_is_no_place() {
    let cluster = cluster(9)
        .pods_with("driver", 1, "2", "1Gi", in_gang("job"))
        .pods_with("worker", 3, "500m", "1Gi", in_gang("job"));
    let plan = planned_by(&cluster, Engine::Auto);
    assert!(plan.launch.is_empty());
    assert_eq!(plan.unschedulable.len(), 4);
    for refused in &plan.unschedulable {
        assert_eq!(refused.reasons[0].constraint, Constraint::Gang);
        assert_eq!(
            refused.reasons[0].detail,
            "gang job: 3 of 4 pods find a place; none for default/driver-0: Resources: cpu: needs 2, the largest \
             allowed type m has 1"
        );
    }
}

#[test]
fn a_gang_waits_for_its_size_with_what_runs_counted() {
    let sized = |spec: &mut PodSpec| {
        in_gang("train")(spec);
        spec.rules.gang.as_mut().unwrap().size = Some(5);
    };
    let waits = cluster(9).pods_with("big", 4, "600m", "1Gi", sized);
    let plan = planned_by(&waits, Engine::Auto);
    assert!(plan.launch.is_empty());
    let reason = &plan.unschedulable[0].reasons[0];
    assert_eq!(reason.constraint, Constraint::Gang);
    assert_eq!(reason.detail, "gang train: waits for 5 pods, 4 are there");
    let goes = waits.node("n", "default", "m", "zone-a");
    assert!(refused(&goes.bound_with("old", "n", "600m", "1Gi", sized)).is_empty());
}

#[test]
fn random_gangs_are_whole_and_others_lose_nothing_by_them() {
    let mut rng = Random::new(5);
    for _ in 0..150 {
        let mut among = |count: usize| rng.below(count);
        let mut cluster = Cluster::new()
            .instance_type(machine("small", "1", "4Gi", "0.1"))
            .instance_type(machine("large", "4", "16Gi", "0.35"));
        let nodes = 1 + u64::try_from(among(5)).unwrap();
        cluster = cluster.pool_with("default", |pool| pool.limits.nodes = Some(nodes));
        for app in 0..2 + among(4) {
            let cpu = ["300m", "700m", "1500m", "3"][among(4)];
            let (gang, priority) = (among(4), i32::try_from(among(2)).unwrap());
            cluster = cluster.pods_with(&format!("app{app}"), 1 + among(6), cpu, "1Gi", |spec| {
                spec.priority = priority;
                if gang < 3 {
                    in_gang(&format!("g{gang}"))(spec);
                }
            });
        }
        // The check refuses what isn't whole.
        let plan = planned_by(&cluster, Engine::Auto);
        let mut alone = cluster.clone();
        alone.parts.pods.retain(|pod| pod.spec.rules.gang.is_none());
        let most = alone.parts.pods.iter().map(|pod| pod.spec.priority).max();
        let urgent = |plan: &PlanBody| {
            let all = plan
                .unschedulable
                .iter()
                .filter_map(|refused| cluster.parts.pods.iter().find(|pod| pod.name == refused.pod));
            all.filter(|pod| Some(pod.spec.priority) == most && pod.spec.rules.gang.is_none())
                .count()
        };
        let without = urgent(&planned_by(&alone, Engine::Auto));
        let has_gangs_above = cluster
            .parts
            .pods
            .iter()
            .any(|pod| pod.spec.rules.gang.is_some() && Some(pod.spec.priority) >= most);
        assert!(has_gangs_above || urgent(&plan) <= without);
    }
}
