//! minValues as companions of kinds.

use super::*;

use crate::model::explain::Constraint;
use crate::model::instance_type::{INSTANCE_TYPE_LABEL, InstanceType};
use crate::model::node_pool::MinValuesPolicy;
use crate::model::offering::{CapacityType, Offering, Reservation, ReservationType};
use crate::model::requirement::{Requirement, Requirements};
use crate::options::PlanOptions;
use crate::quota::Unlimited;

const FAMILY: &str = "karpenter.k8s.aws/instance-family";

/// `c.large`: of the family before the point.
fn of_family(name: &str, cpu: &str, memory: &str, price: &str) -> InstanceType {
    let mut machine = machine(name, cpu, memory, price);
    let family = name.split('.').next().unwrap();
    machine.labels.insert(FAMILY.to_owned(), family.to_owned());
    machine
}

fn asking(types: &[InstanceType], key: &str, least: u32) -> Cluster {
    let requirement = Requirement {
        key: key.to_owned(),
        operator: Operator::Exists,
        values: Vec::new(),
        min_values: Some(least),
    };
    let mut cluster = Cluster::new().pool_with("p", |pool| {
        pool.requirements = Requirements::of([&requirement]).unwrap();
    });
    for instance_type in types {
        cluster = cluster.instance_type(instance_type.clone());
    }
    cluster
}

fn names(problem: &Problem<'_>, bins: &[usize]) -> Vec<String> {
    let name = |bin: &usize| {
        let shape = problem.universe.shape(*bin);
        problem.universe.instance_type(shape).name.to_string()
    };
    bins.iter().map(name).collect()
}

#[test]
fn companions_that_take_nothing_are_preferred() {
    let types = [
        of_family("c.large", "2", "4Gi", "0.1"),
        of_family("m.small", "1", "4Gi", "0.05"),
        of_family("m.large", "2", "8Gi", "0.2"),
    ];
    let snapshot = asking(&types, FAMILY, 2).pods("x", 3, "2", "4Gi").freeze();
    let problem = lower(&snapshot);
    let kind = problem.usable[0].ones().next().unwrap();
    let kind = &problem.kinds[kind];
    assert_eq!(names(&problem, &kind.bins), ["c.large"]);
    assert_eq!(names(&problem, &kind.companions), ["m.large"]);
    assert_eq!(kind.room[..2], [2_000, 4 << 30]);
}

#[test]
fn where_none_takes_nothing_the_room_is_what_both_have() {
    let types = [
        of_family("c.large", "4", "4Gi", "0.1"),
        of_family("r.large", "2", "16Gi", "0.2"),
    ];
    let snapshot = asking(&types, FAMILY, 2).pods("x", 3, "1", "1Gi").freeze();
    let problem = lower(&snapshot);
    assert_eq!(problem.kinds.len(), 1, "the dearer one is beaten");
    assert_eq!(problem.kinds[0].room[..2], [2_000, 4 << 30]);
    assert!(problem.universe.has_every_choice, "there is no other choice");
}

#[test]
fn a_pod_that_only_a_far_companion_holds_beside_gets_a_kind_of_its_own() {
    // Of the two other families the nearer one is too small for the large pod.
    let types = [
        of_family("a.large", "4", "16Gi", "0.1"),
        of_family("b.large", "3900m", "8Gi", "0.2"),
        of_family("c.large", "1", "16Gi", "0.3"),
    ];
    let cluster = asking(&types, FAMILY, 2).pods("small", 2, "3", "1Gi");
    let snapshot = cluster.pods("large", 1, "1", "12Gi").freeze();
    let problem = lower(&snapshot);
    assert!(!problem.universe.has_every_choice, "each choice loses other room");
    for name in ["small", "large"] {
        assert!(!problem.usable[group(&problem, name)].is_clear(), "{name}");
    }
    let plan = crate::plan(&snapshot, &PlanOptions::default(), &Unlimited).unwrap();
    assert!(plan.unschedulable.is_empty());
}

#[test]
fn too_few_values_refuse_a_pod_with_both_figures() {
    let mut only_here = of_family("r.large", "2", "16Gi", "0.3");
    only_here
        .offerings
        .retain(|offering| offering.zone.as_str() == "zone-a");
    let types = [
        of_family("c.large", "2", "4Gi", "0.1"),
        of_family("m.large", "2", "8Gi", "0.2"),
        only_here,
    ];
    let mut parts = asking(&types, FAMILY, 3)
        .pods("free", 1, "1", "1Gi")
        .pods_with("pinned", 1, "1", "1Gi", |spec| {
            spec.node_selector = in_zone("zone-b");
        })
        .parts;
    let strict = parts.clone().freeze().unwrap();
    assert!(lower(&strict).universe.has_every_choice, "no choice was lost");
    let plan = crate::plan(&strict, &PlanOptions::default(), &Unlimited).unwrap();
    assert_eq!(plan.launch.len(), 1);
    assert_eq!(plan.cost.objective, plan.cost.lower_bound);
    let [refused] = plan.unschedulable.as_slice() else {
        panic!("{:?}", plan.unschedulable);
    };
    assert_eq!(refused.reasons[0].constraint, Constraint::MinValues);
    let detail =
        "karpenter.k8s.aws/instance-family: minValues needs 3 different values, 2 left in zone-b (c, m)";
    assert_eq!(refused.reasons[0].detail, detail);

    parts.min_values_policy = MinValuesPolicy::BestEffort;
    let relaxed = parts.freeze().unwrap();
    let plan = crate::plan(&relaxed, &PlanOptions::default(), &Unlimited).unwrap();
    assert!(plan.unschedulable.is_empty());
}

#[test]
fn limits_are_kept_for_the_largest_companion() {
    let types = [
        of_family("c.large", "2", "4Gi", "0.1"),
        of_family("m.large", "4", "8Gi", "0.2"),
    ];
    let mut parts = asking(&types, FAMILY, 2).pods("x", 2, "2", "4Gi").parts;
    let cpu = crate::model::resources::ResourceName::Cpu;
    let limits = &mut parts.node_pools[0].limits.resources;
    limits.set(cpu, crate::model::resources::Amount::new(7_000));
    let snapshot = parts.freeze().unwrap();
    let plan = crate::plan(&snapshot, &PlanOptions::default(), &Unlimited).unwrap();
    assert_eq!((plan.launch.len(), plan.unschedulable.len()), (1, 1));
    assert_eq!(plan.unschedulable[0].reasons[0].constraint, Constraint::Limit);
}

/// Three zones are wanted, and pods of one app are spread over zones: those of the other may launch all the same, from any zone
/// with the others standing in, and those that are spread can't.
#[test]
fn pods_that_no_rule_concerns_have_companions_in_other_zones() {
    let snapshot = asking(&[machine("m", "4", "16Gi", "0.1")], ZONE_LABEL, 2)
        .pods("plain", 2, "3", "1Gi")
        .pods_with("web", 1, "3", "1Gi", |spec| {
            app(spec, "web");
            spread(spec, ZONE_LABEL, 1, "web");
        })
        .freeze();
    let plan = crate::plan(&snapshot, &PlanOptions::default(), &Unlimited).unwrap();
    assert_eq!(plan.launch.len(), 2);
    for launch in &plan.launch {
        let zones: std::collections::BTreeSet<_> = launch
            .alternatives
            .iter()
            .map(|other| &other.zone)
            .chain([&launch.zone])
            .collect();
        assert!(
            zones.len() >= 2 && launch.pods[0].name.starts_with("plain"),
            "{launch:?}"
        );
    }
    let [refused] = plan.unschedulable.as_slice() else {
        panic!("{:?}", plan.unschedulable);
    };
    assert!(refused.pod.name.starts_with("web"));
}

/// An on-demand node can't stand in for a reserved one, nor one reservation for another kind of them.
#[test]
fn what_is_reserved_has_companions_of_its_kind() {
    let reserved = |kinds: [ReservationType; 2]| {
        let types = ["a", "b"].into_iter().zip(kinds).map(|(name, kind)| {
            let mut machine = machine(name, "4", "16Gi", "0.1");
            machine.offerings.truncate(1);
            let offering = Offering {
                capacity_type: CapacityType::Reserved,
                price: crate::model::money::Price::from_micros(1),
                reservation: Some(Reservation {
                    kind,
                    ..Reservation::plain(format!("cr-{name}"))
                }),
                ..machine.offerings[0].clone()
            };
            machine.offerings.push(offering);
            machine
        });
        let types: Vec<InstanceType> = types.collect();
        let snapshot = asking(&types, INSTANCE_TYPE_LABEL, 2)
            .pods("x", 1, "3", "1Gi")
            .freeze();
        let plan = crate::plan(&snapshot, &PlanOptions::default(), &Unlimited).unwrap();
        plan.launch[0].capacity_type
    };
    let (plain, block) = (ReservationType::Default, ReservationType::CapacityBlock);
    assert_eq!(reserved([plain; 2]), CapacityType::Reserved);
    assert_eq!(reserved([plain, block]), CapacityType::OnDemand);
    assert_eq!(reserved([block; 2]), CapacityType::OnDemand);
}
