//! minValues hold for a launch and its alternatives together.

use super::*;

use dovetail_solver::model::instance_type::{INSTANCE_TYPE_LABEL, ZONE_LABEL};
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
fn as_best_effort_fewer_are_no_fault() {
    let mut parts = snapshot(FAMILY, 3);
    parts.min_values_policy = MinValuesPolicy::BestEffort;
    assert_eq!(launched(parts, &[("m.large", "zone-a", OnDemand)]), []);
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
