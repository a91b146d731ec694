//! The smallest fix, from the outside: each is applied as it says, and the pod then has a place.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use dovetail_solver::explain::with_fixes;
use dovetail_solver::model::explain::Constraint;
use dovetail_solver::model::name::PodName;
use dovetail_solver::model::offering::{CapacityType, Offering, Reservation};
use dovetail_solver::model::plan::PlanBody;
use dovetail_solver::model::requirement::Operator;
use dovetail_solver::model::resources::{Amount, ResourceName};
use dovetail_solver::model::snapshot::Snapshot;
use dovetail_solver::testing::build::{Cluster, machine, requirements, taint};
use dovetail_solver::{PlanOptions, Unlimited, plan};

fn planned(snapshot: &Snapshot) -> PlanBody {
    let options = PlanOptions::default();
    let first = plan(snapshot, &options, &Unlimited).unwrap();
    with_fixes(snapshot, first, &options, &Unlimited, None)
        .unwrap()
        .into_body()
}

fn fix_of(body: &PlanBody, pod: &str) -> Option<String> {
    let name = PodName::new("default", pod);
    let refusal = body.unschedulable.iter().find(|refusal| refusal.pod == name);
    refusal.unwrap().fix.clone()
}

fn machines() -> Cluster {
    Cluster::new()
        .instance_type(machine("small", "2", "8Gi", "0.1"))
        .instance_type(machine("middle", "4", "16Gi", "0.2"))
        .instance_type(machine("large", "8", "32Gi", "0.39"))
}

fn limited(cpu: u64) -> impl FnOnce(&mut dovetail_solver::model::node_pool::NodePool) {
    move |pool| {
        pool.limits
            .resources
            .set(ResourceName::Cpu, Amount::new(cpu * 1_000));
    }
}

#[test]
fn a_limit_is_raised_to_the_exact_figure() {
    let cluster = |cpu| {
        machines()
            .pool_with("default", limited(cpu))
            .node("n1", "default", "middle", "zone-a")
            .bound("full", "n1", "4", "1Gi")
            .pods("p", 1, "3", "1Gi")
    };
    let body = planned(&cluster(6).freeze());
    assert_eq!(
        fix_of(&body, "p-0").unwrap(),
        "raise limits.cpu of NodePool default to 8"
    );
    assert!(planned(&cluster(8).freeze()).unschedulable.is_empty());
    assert!(
        !planned(&cluster(7).freeze()).unschedulable.is_empty(),
        "a smaller figure does not suffice"
    );
}

#[test]
fn what_the_plan_launches_counts_towards_the_limit() {
    let cluster = |cpu| {
        machines()
            .pool_with("default", limited(cpu))
            .pods("p", 3, "3", "1Gi")
    };
    let body = planned(&cluster(10).freeze());
    assert_eq!(body.unschedulable.len(), 1, "two of three fit under the limit");
    let fix = body.unschedulable[0].fix.clone().unwrap();
    assert_eq!(fix, "raise limits.cpu of NodePool default to 12");
    assert!(planned(&cluster(12).freeze()).unschedulable.is_empty());
}

#[test]
fn a_limit_on_nodes_is_raised_by_as_many_as_are_needed() {
    let cluster = |nodes| {
        machines()
            .pool_with("default", |pool| pool.limits.nodes = Some(nodes))
            .pods("p", 3, "7", "1Gi")
    };
    let body = planned(&cluster(1).freeze());
    assert_eq!(body.unschedulable.len(), 2);
    let fix = body.unschedulable[0].fix.clone().unwrap();
    assert_eq!(fix, "raise limits.nodes of NodePool default to 3");
    assert!(planned(&cluster(3).freeze()).unschedulable.is_empty());
}

#[test]
fn the_one_missing_toleration_is_named() {
    let cluster = machines().pool_with("gpu", |pool| pool.taints = vec![taint("gpu", "yes")]);
    let body = planned(&cluster.pods("p", 2, "1", "1Gi").freeze());
    assert_eq!(
        fix_of(&body, "p-0").unwrap(),
        "add toleration gpu=yes:NoSchedule to the pod"
    );
    assert_eq!(fix_of(&body, "p-1"), fix_of(&body, "p-0"));
    let two = machines().pool_with("gpu", |pool| {
        pool.taints = vec![taint("gpu", "yes"), taint("team", "a")];
    });
    let body = planned(&two.pods("p", 1, "1", "1Gi").freeze());
    assert_eq!(fix_of(&body, "p-0"), None, "two tolerations are two changes");
}

#[test]
fn one_more_value_of_a_requirement_is_named_and_the_cheapest_one() {
    let only_small = requirements(&[("node.kubernetes.io/instance-type", Operator::In, &["small"])]);
    let cluster = machines().pool_with("default", |pool| pool.requirements = only_small);
    let body = planned(&cluster.pods("p", 1, "3", "1Gi").freeze());
    assert_eq!(
        fix_of(&body, "p-0").unwrap(),
        "admit node.kubernetes.io/instance-type=middle in the requirements of NodePool default"
    );
}

#[test]
fn a_zone_that_the_pool_leaves_out_is_admitted() {
    let zone = "topology.kubernetes.io/zone";
    let only_a = requirements(&[(zone, Operator::In, &["zone-a"])]);
    let select = |value: &'static str| {
        let only_a = only_a.clone();
        machines()
            .pool_with("default", |pool| pool.requirements = only_a)
            .pods_with("p", 1, "1", "1Gi", |spec| {
                spec.node_selector.insert(zone.to_owned(), value.to_owned());
            })
    };
    let body = planned(&select("zone-b").freeze());
    assert_eq!(
        fix_of(&body, "p-0").unwrap(),
        "admit topology.kubernetes.io/zone=zone-b in the requirements of NodePool default"
    );
    let body = planned(&select("zone-x").freeze());
    assert_eq!(fix_of(&body, "p-0"), None, "nothing is sold in zone-x");
}

#[test]
fn a_label_that_no_pool_has_is_added() {
    let cluster = machines().pool("default").pods_with("p", 1, "1", "1Gi", |spec| {
        spec.node_selector
            .insert("example.com/team".to_owned(), "a".to_owned());
    });
    let body = planned(&cluster.freeze());
    assert_eq!(
        fix_of(&body, "p-0").unwrap(),
        "add label example.com/team=a to the template of NodePool default"
    );
}

#[test]
fn a_request_that_is_just_too_large_is_lowered_and_no_further() {
    let cluster = |cpu: &str| machines().pool("default").pods("p", 1, cpu, "1Gi").freeze();
    let body = planned(&cluster("8500m"));
    assert_eq!(fix_of(&body, "p-0").unwrap(), "lower the pod's cpu request to 8");
    assert_eq!(
        fix_of(&planned(&cluster("20")), "p-0"),
        None,
        "that would be another pod"
    );
}

#[test]
fn pods_that_have_a_place_keep_it_while_a_fix_is_looked_for() {
    let cluster = machines()
        .pool_with("default", limited(4))
        .pods("a", 1, "3", "1Gi")
        .pods("b", 1, "8", "1Gi");
    let body = planned(&cluster.freeze());
    assert_eq!(
        fix_of(&body, "b-0").unwrap(),
        "raise limits.cpu of NodePool default to 12"
    );
}

#[test]
fn a_full_reservation_is_enlarged_to_the_exact_figure() {
    let cluster = |number: u32| {
        let mut machine = machine("m", "2", "8Gi", "0");
        machine.offerings.truncate(1);
        machine.offerings[0] = Offering {
            capacity_type: CapacityType::Reserved,
            limit: Some(number),
            reservation: Some(Reservation::plain("cr-1")),
            ..machine.offerings[0].clone()
        };
        let cluster = Cluster::new().instance_type(machine).pool("default");
        let cluster = cluster
            .node("n1", "default", "m", "zone-a")
            .bound("full", "n1", "2", "1Gi");
        cluster.pods("p", 4, "1", "1Gi")
    };
    let body = planned(&cluster(1).freeze());
    let reason = &body.unschedulable[0].reasons[0];
    assert_eq!(reason.constraint, Constraint::Capacity);
    assert_eq!(
        reason.detail,
        "capacity reservation cr-1 (m in zone-a): needs 1, 0 left of 1 (1 on nodes, 0 launched)"
    );
    assert_eq!(
        fix_of(&body, "p-0").unwrap(),
        "enlarge capacity reservation cr-1 to 3"
    );
    assert!(planned(&cluster(3).freeze()).unschedulable.is_empty());
    assert!(!planned(&cluster(2).freeze()).unschedulable.is_empty());
}
