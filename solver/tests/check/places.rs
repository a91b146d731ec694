//! Host ports, volumes, and pods that no place will do for.

use super::*;

use dovetail_solver::model::rules::{Impossible, Protocol};
use dovetail_solver::testing::rules::{host_port, volume};

const A: (&str, &str, CapacityType) = ("m", "zone-a", OnDemand);
const B: (&str, &str, CapacityType) = ("m", "zone-b", OnDemand);

fn cluster() -> Cluster {
    Cluster::new()
        .instance_type(machine("m", "8", "16Gi", "0.1"))
        .pool("p")
}

#[test]
fn a_port_is_taken_once_on_a_node_to_come() {
    let both = |edit: fn(&mut dovetail_solver::model::pod::PodSpec)| {
        let snapshot = cluster()
            .pods_with("x", 1, "1", "1Gi", |spec| {
                host_port(spec, 80);
            })
            .pods_with("y", 1, "1", "1Gi", edit)
            .freeze();
        let draft = Draft::new(&snapshot).launch("p", &[A, B], &["default/x-0", "default/y-0"]);
        broken(&snapshot, draft.body())
    };
    assert_eq!(
        both(|spec| {
            host_port(spec, 80);
        }),
        [Rule::HostPorts]
    );
    assert_eq!(
        both(|spec| host_port(spec, 80).address = Some("10.0.0.1".to_owned())),
        [Rule::HostPorts]
    );
    assert_eq!(both(|spec| host_port(spec, 80).protocol = Protocol::Udp), []);
    assert_eq!(
        both(|spec| {
            host_port(spec, 81);
        }),
        []
    );
    assert_eq!(both(|_| {}), []);
}

#[test]
fn a_port_of_a_pod_there_is_taken_until_it_is_gone() {
    let on = |place: PodPlace, port: u16| {
        let mut parts = cluster()
            .node("n1", "p", "m", "zone-a")
            .bound_with("old", "n1", "1", "1Gi", |spec| {
                host_port(spec, 80);
            })
            .pods_with("x", 1, "1", "1Gi", |spec| {
                host_port(spec, port);
            })
            .parts;
        parts.pods[0].place = place;
        let snapshot = parts.freeze().unwrap();
        broken(
            &snapshot,
            Draft::new(&snapshot).on_node("n1", &["default/x-0"]).body(),
        )
    };
    assert_eq!(on(PodPlace::Bound("n1".into()), 80), [Rule::HostPorts]);
    assert_eq!(on(PodPlace::Terminating("n1".into()), 80), [Rule::HostPorts]);
    assert_eq!(on(PodPlace::Bound("n1".into()), 81), []);
}

#[test]
fn ports_of_daemon_sets_are_taken_on_every_node_that_gets_one() {
    let snapshot = cluster()
        .daemon_set_with("agent", "100m", "64Mi", |spec| {
            spec.node_selector = in_zone("zone-b");
            host_port(spec, 9100);
        })
        .node("n1", "p", "m", "zone-a")
        .node("n2", "p", "m", "zone-b")
        .node("n3", "p", "m", "zone-b")
        .daemon_pod("agent", "n3", true)
        .pods_with("x", 1, "1", "1Gi", |spec| {
            host_port(spec, 9100);
        })
        .freeze();
    let pod = &["default/x-0"];
    accepted(&snapshot, Draft::new(&snapshot).launch("p", &[A], pod));
    accepted(&snapshot, Draft::new(&snapshot).on_node("n1", pod));
    refused(
        &snapshot,
        Draft::new(&snapshot).launch("p", &[A, B], pod),
        Rule::HostPorts,
    );
    refused(
        &snapshot,
        Draft::new(&snapshot).on_node("n2", pod),
        Rule::HostPorts,
    );
    refused(
        &snapshot,
        Draft::new(&snapshot).on_node("n3", pod),
        Rule::HostPorts,
    );
}

#[test]
fn a_volume_is_within_reach_of_each_choice() {
    let snapshot = cluster()
        .node("n1", "p", "m", "zone-a")
        .node("n2", "p", "m", "zone-b")
        .pods_with("x", 1, "1", "1Gi", |spec| {
            volume(spec, "data", "zone-a");
            volume(spec, "log", "zone-a");
        })
        .freeze();
    let pod = &["default/x-0"];
    accepted(&snapshot, Draft::new(&snapshot).launch("p", &[A], pod));
    accepted(&snapshot, Draft::new(&snapshot).on_node("n1", pod));
    refused(
        &snapshot,
        Draft::new(&snapshot).launch("p", &[B], pod),
        Rule::Volumes,
    );
    refused(&snapshot, Draft::new(&snapshot).on_node("n2", pod), Rule::Volumes);
    let draft = Draft::new(&snapshot).launch("p", &[A, B], pod);
    let failure = check(&snapshot, draft.plan()).unwrap_err();
    assert_eq!(failure.violations.len(), 1);
    let said = failure.violations[0].to_string();
    assert!(
        said.contains("default/x-0") && said.contains("data") && said.contains("m in zone-b"),
        "{said}"
    );
}

#[test]
fn two_volumes_in_two_zones_have_no_place() {
    let snapshot = cluster()
        .pods_with("x", 1, "1", "1Gi", |spec| {
            volume(spec, "data", "zone-a");
            volume(spec, "log", "zone-b");
        })
        .freeze();
    for offer in [A, B] {
        let draft = Draft::new(&snapshot).launch("p", &[offer], &["default/x-0"]);
        refused(&snapshot, draft, Rule::Volumes);
    }
}

#[test]
fn what_no_place_will_do_for_gets_none() {
    let snapshot = cluster()
        .node("n1", "p", "m", "zone-a")
        .pods_with("x", 1, "1", "1Gi", |spec| {
            spec.rules.impossible = Some(Impossible {
                constraint: Constraint::Volume,
                detail: "claim data isn't there".to_owned(),
                remedy: None,
            });
        })
        .freeze();
    let pod = &["default/x-0"];
    accepted(&snapshot, Draft::new(&snapshot).refuse(pod[0]));
    refused(
        &snapshot,
        Draft::new(&snapshot).launch("p", &[A], pod),
        Rule::Impossible,
    );
    refused(
        &snapshot,
        Draft::new(&snapshot).on_node("n1", pod),
        Rule::Impossible,
    );
}
