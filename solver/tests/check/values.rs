//! minValues hold for a launch and its alternatives together.

use super::*;

use dovetail_solver::model::instance_type::{INSTANCE_TYPE_LABEL, InstanceType, ZONE_LABEL};
use dovetail_solver::model::node_pool::MinValuesPolicy;
use dovetail_solver::model::requirement::{Requirement, Requirements};

const FAMILY: &str = "karpenter.k8s.aws/instance-family";

fn snapshot(key: &str, least: u32) -> SnapshotParts {
    let of = |name: &str, family: &str| {
        let mut machine = machine(name, "2", "4Gi", "0.1");
        machine.labels.insert(FAMILY.to_owned(), family.to_owned());
        machine
    };
    let requirement = Requirement {
        key: key.to_owned(),
        operator: Operator::Exists,
        values: Vec::new(),
        min_values: Some(least),
    };
    Cluster::new()
        .instance_type(of("c.large", "c"))
        .instance_type(of("m.large", "m"))
        .instance_type(of("m.other", "m"))
        .pool_with("p", |pool| {
            pool.requirements = Requirements::of([&requirement]).unwrap();
        })
        .pods("x", 1, "1", "1Gi")
        .parts
}

fn launched(parts: SnapshotParts, offers: &[(&str, &str, CapacityType)]) -> Vec<Rule> {
    let snapshot = parts.freeze().unwrap();
    let draft = Draft::new(&snapshot).launch("p", offers, &["default/x-0"]);
    broken(&snapshot, draft.body())
}

#[test]
fn a_launch_and_its_alternatives_have_so_many_values_together() {
    let (c, m) = (("c.large", "zone-a", OnDemand), ("m.large", "zone-a", OnDemand));
    let (other, elsewhere) = (("m.other", "zone-a", OnDemand), ("m.large", "zone-b", OnDemand));
    for (key, least, offers, expected) in [
        (FAMILY, 2, &[c, m][..], &[][..]),
        (FAMILY, 2, &[m, c], &[]),
        (FAMILY, 2, &[m, other, elsewhere], &[Rule::MinValues]),
        (FAMILY, 1, &[m], &[]),
        (FAMILY, 3, &[c, m, other], &[Rule::MinValues]),
        (INSTANCE_TYPE_LABEL, 3, &[c, m, other], &[]),
        (INSTANCE_TYPE_LABEL, 3, &[c, m, elsewhere], &[Rule::MinValues]),
        (ZONE_LABEL, 2, &[m, elsewhere], &[]),
        (ZONE_LABEL, 2, &[m, c], &[Rule::MinValues]),
    ] {
        let found = launched(snapshot(key, least), offers);
        assert_eq!(found, expected, "{key}: {least} of {offers:?}");
    }
}

#[test]
fn as_best_effort_fewer_are_a_fault_only_where_more_could_be_had() {
    let best_effort = |key: &str, least: u32, edit: fn(&mut SnapshotParts)| {
        let mut parts = snapshot(key, least);
        parts.min_values_policy = MinValuesPolicy::BestEffort;
        edit(&mut parts);
        parts
    };
    let types = |parts: &mut SnapshotParts, edit: &dyn Fn(&mut InstanceType)| {
        let class = parts.node_classes.values_mut().next().unwrap();
        edit(&mut class.instance_types[0]);
    };
    let (c, m) = (("c.large", "zone-a", OnDemand), ("m.large", "zone-a", OnDemand));
    assert_eq!(
        launched(best_effort(FAMILY, 3, |_| {}), &[m, c]),
        [],
        "there are no three"
    );
    assert_eq!(
        launched(best_effort(FAMILY, 3, |_| {}), &[m]),
        [Rule::MinValues],
        "c could be the second"
    );
    assert_eq!(launched(best_effort(FAMILY, 1, |_| {}), &[m]), []);
    assert_eq!(
        launched(best_effort(ZONE_LABEL, 2, |_| {}), &[m]),
        [Rule::MinValues]
    );
    let too_small =
        |parts: &mut SnapshotParts| types(parts, &|c| c.allocatable.set(ResourceName::Cpu, Amount::new(900)));
    let mut parts = best_effort(FAMILY, 2, |_| {});
    too_small(&mut parts);
    assert_eq!(launched(parts, &[m]), [], "c doesn't hold the pod");
    let mut parts = best_effort(FAMILY, 2, |_| {});
    types(&mut parts, &|c| {
        c.offerings
            .iter_mut()
            .for_each(|offering| offering.limit = Some(3));
    });
    assert_eq!(
        launched(parts, &[m]),
        [],
        "what is limited in number needn't stand in"
    );
    let mut parts = best_effort(FAMILY, 2, |_| {});
    types(&mut parts, &|c| {
        c.capacity.set(ResourceName::Cpu, Amount::new(4_000));
    });
    parts.node_pools[0]
        .limits
        .resources
        .set(ResourceName::Cpu, Amount::new(3_000));
    assert_eq!(launched(parts, &[m]), [], "c would exceed the limit");
    let pinned = best_effort(ZONE_LABEL, 2, |parts| {
        let spec = std::sync::Arc::make_mut(&mut parts.pods[0].spec);
        spec.node_selector
            .insert(ZONE_LABEL.to_owned(), "zone-a".to_owned());
    });
    assert_eq!(launched(pinned, &[m]), [], "the pod is pinned to its zone");
}

#[test]
fn min_values_are_blamed_where_there_are_some() {
    let blamed = |parts: SnapshotParts| {
        let snapshot = parts.freeze().unwrap();
        let mut draft = Draft::new(&snapshot).refuse("default/x-0");
        draft.body.unschedulable[0].reasons[0].constraint = Constraint::MinValues;
        broken(&snapshot, draft.body())
    };
    assert_eq!(blamed(snapshot(FAMILY, 2)), []);
    let mut without = snapshot(FAMILY, 2);
    without.node_pools[0].requirements = Requirements::new();
    assert_eq!(blamed(without), [Rule::Honesty]);
}
