//! Each hard rule about neighbours, as the reason of a node.

use super::super::refusal::{NodeRefusal, node_refusals};
use crate::model::explain::Constraint;
use crate::model::instance_type::{HOSTNAME_LABEL, ZONE_LABEL};
use crate::model::pod::PodSpec;
use crate::model::resources::{Amount, ResourceName};
use crate::testing::build::{Cluster, daemon_owner, machine};
use crate::testing::rules::{affinity, anti_affinity, app, host_port, spread, volume};
use crate::{PlanOptions, Unlimited, plan};

/// Two nodes: a pod of `web` with port 80 in zone-a, nothing in zone-b; a DaemonSet with port 90 is still to come to both.
fn refusals(edit: impl Fn(&mut PodSpec)) -> Vec<NodeRefusal> {
    let snapshot = Cluster::new()
        .instance_type(machine("m", "4", "16Gi", "1"))
        .pool_with("default", |pool| pool.limits.nodes = Some(2))
        .node("n1", "default", "m", "zone-a")
        .node("n2", "default", "m", "zone-b")
        .daemon_set_with("proxy", "500m", "1Gi", |spec| {
            spec.owner = Some(daemon_owner("proxy"));
            host_port(spec, 90);
        })
        .bound_with("old", "n1", "1", "1Gi", |spec| {
            app(spec, "web");
            host_port(spec, 80);
            anti_affinity(spec, ZONE_LABEL, "shy");
        })
        .pods_with("p", 1, "1", "1Gi", edit)
        .freeze();
    let plan = plan(&snapshot, &PlanOptions::default(), &Unlimited).unwrap();
    let pod = snapshot.pods.iter().find(|pod| pod.name.name == "p-0").unwrap();
    node_refusals(&snapshot, &plan, pod)
}

/// That nodes are refused by a constraint, with these words.
#[track_caller]
fn refused(edit: impl Fn(&mut PodSpec), nodes: &[&str], constraint: Constraint, words: &[&str]) {
    let refusals = refusals(edit);
    let found = refusals.iter().find(|one| one.constraint == Some(constraint));
    let found = found.unwrap_or_else(|| panic!("nothing is refused by {constraint}: {refusals:?}"));
    let named: Vec<&str> = found
        .nodes
        .iter()
        .map(crate::model::name::NodeName::as_str)
        .collect();
    assert_eq!(named, nodes, "{}", found.detail);
    for word in words {
        assert!(found.detail.contains(word), "{}", found.detail);
    }
}

#[test]
fn a_pod_without_rules_is_refused_by_nothing() {
    assert_eq!(refusals(|_| ()), []);
}

#[test]
fn a_port_is_taken_by_a_pod_or_by_a_daemon_set_to_come() {
    let port = |number: u16| {
        move |spec: &mut PodSpec| {
            host_port(spec, number);
        }
    };
    refused(
        port(80),
        &["n1"],
        Constraint::HostPort,
        &["80/TCP", "default/old"],
    );
    let both = &["n1", "n2"];
    refused(
        port(90),
        both,
        Constraint::HostPort,
        &["90/TCP", "kube-system/proxy"],
    );
    assert_eq!(refusals(port(81)), []);
}

#[test]
fn affinity_both_ways_names_who_is_where() {
    let near = |spec: &mut PodSpec| affinity(spec, ZONE_LABEL, "web");
    refused(near, &["n2"], Constraint::Affinity, &["app=web", "zone-a"]);
    let lonely = |spec: &mut PodSpec| affinity(spec, ZONE_LABEL, "db");
    refused(
        lonely,
        &["n1", "n2"],
        Constraint::Affinity,
        &["app=db", "nowhere"],
    );
    let first = |spec: &mut PodSpec| {
        app(spec, "db");
        affinity(spec, ZONE_LABEL, "db");
    };
    assert_eq!(refusals(first), []);
    let apart = |spec: &mut PodSpec| anti_affinity(spec, HOSTNAME_LABEL, "web");
    refused(apart, &["n1"], Constraint::AntiAffinity, &["default/old"]);
    let kept_off = |spec: &mut PodSpec| app(spec, "shy");
    refused(
        kept_off,
        &["n1"],
        Constraint::AntiAffinity,
        &["default/old", "app=shy"],
    );
}

#[test]
fn a_spread_gives_its_counts() {
    let even = |spec: &mut PodSpec| {
        app(spec, "web");
        spread(spec, ZONE_LABEL, 1, "web");
    };
    refused(
        even,
        &["n1"],
        Constraint::TopologySpread,
        &["zone-a has 1", "least has 0"],
    );
    let rack = |spec: &mut PodSpec| {
        spread(spec, "example.com/rack", 1, "web");
    };
    refused(
        rack,
        &["n1", "n2"],
        Constraint::Requirement,
        &["example.com/rack"],
    );
}

#[test]
fn room_is_told_less_what_daemon_sets_still_need() {
    let large = |spec: &mut PodSpec| spec.requests.set(ResourceName::Cpu, Amount::new(3_800));
    refused(
        large,
        &["n1", "n2"],
        Constraint::Resources,
        &["at most 3500m left"],
    );
}

#[test]
fn volumes_are_out_of_reach_or_too_many() {
    let away = |spec: &mut PodSpec| volume(spec, "data", "zone-b");
    refused(away, &["n1"], Constraint::Volume, &["data"]);
    let attached = |spec: &mut PodSpec| {
        let name = ResourceName::from("attachable-volumes-csi-ebs.csi.aws.com");
        spec.requests.set(name, Amount::new(1));
    };
    refused(
        attached,
        &["n1", "n2"],
        Constraint::Volume,
        &["attachable-volumes"],
    );
}
