//! Required affinity and anti-affinity between pods.

use super::*;

use dovetail_solver::model::instance_type::{HOSTNAME_LABEL, ZONE_LABEL};
use dovetail_solver::model::pod::PodSpec;
use dovetail_solver::model::selector::{Namespaces, PodSelector};
use dovetail_solver::testing::draft::Offer;
use dovetail_solver::testing::rules::{affinity, anti_affinity, app};

const A: (&str, &str, CapacityType) = ("m", "zone-a", OnDemand);
const B: (&str, &str, CapacityType) = ("m", "zone-b", OnDemand);

fn cluster() -> Cluster {
    Cluster::new()
        .instance_type(machine("m", "8", "16Gi", "0.1"))
        .pool("p")
}

/// Pods of an app with required affinities to apps.
fn near(name: &'static str, others: &'static [(&'static str, &'static str)]) -> impl Fn(&mut PodSpec) {
    move |spec| {
        app(spec, name);
        for (key, other) in others {
            affinity(spec, key, other);
        }
    }
}

/// Pods of an app that keep apart from apps.
fn away(name: &'static str, others: &'static [(&'static str, &'static str)]) -> impl Fn(&mut PodSpec) {
    move |spec| {
        app(spec, name);
        for (key, other) in others {
            anti_affinity(spec, key, other);
        }
    }
}

/// Rules broken by one launch for each list of pods, in its zone.
fn launched(snapshot: &Snapshot, launches: &[(Offer<'_>, &[&str])]) -> Vec<Rule> {
    let mut draft = Draft::new(snapshot);
    for (offer, pods) in launches {
        let pods: Vec<String> = pods.iter().map(|pod| format!("default/{pod}")).collect();
        let pods: Vec<&str> = pods.iter().map(String::as_str).collect();
        draft = draft.launch("p", &[*offer], &pods);
    }
    broken(snapshot, draft.body())
}

#[test]
fn two_that_keep_apart_by_host_are_on_two_nodes() {
    let snapshot = cluster()
        .pods_with("x", 2, "1", "1Gi", away("x", &[(HOSTNAME_LABEL, "x")]))
        .freeze();
    assert_eq!(launched(&snapshot, &[(A, &["x-0", "x-1"])]), [Rule::AntiAffinity]);
    let draft = Draft::new(&snapshot).launch("p", &[A, B], &["default/x-0"]);
    accepted(&snapshot, draft.launch("p", &[A, B], &["default/x-1"]));
}

#[test]
fn two_that_keep_apart_by_zone_are_in_two_zones_under_every_offer() {
    let snapshot = cluster()
        .pods_with("x", 2, "1", "1Gi", away("x", &[(ZONE_LABEL, "x")]))
        .freeze();
    assert_eq!(launched(&snapshot, &[(A, &["x-0"]), (B, &["x-1"])]), []);
    assert_eq!(
        launched(&snapshot, &[(A, &["x-0"]), (A, &["x-1"])]),
        [Rule::AntiAffinity]
    );
    let draft = Draft::new(&snapshot).launch("p", &[A, B], &["default/x-0"]);
    refused(
        &snapshot,
        draft.launch("p", &[B], &["default/x-1"]),
        Rule::AntiAffinity,
    );
}

#[test]
fn a_launch_whose_offers_differ_in_the_zone_is_in_all_of_them() {
    let snapshot = cluster()
        .pods_with(
            "x",
            1,
            "1",
            "1Gi",
            away("x", &[(ZONE_LABEL, "x"), (ZONE_LABEL, "y")]),
        )
        .pods_with("y", 1, "1", "1Gi", |spec| app(spec, "y"))
        .freeze();
    // Nobody else is in any of them.
    let alone = Draft::new(&snapshot).launch("p", &[A, B], &["default/x-0"]);
    assert_eq!(broken(&snapshot, alone.body()), [Rule::Placement]);
    let with = |own: &[Offer<'_>], others: &[Offer<'_>]| {
        let draft = Draft::new(&snapshot).launch("p", own, &["default/x-0"]);
        broken(&snapshot, draft.launch("p", others, &["default/y-0"]).body())
    };
    assert_eq!(with(&[A], &[B]), []);
    assert_eq!(with(&[A, B], &[B]), [Rule::AntiAffinity]);
    assert_eq!(with(&[A], &[B, A]), [Rule::AntiAffinity]);
    // Near itself on the one node, wherever that is; near others only where they surely are.
    let own = cluster()
        .pods_with("x", 2, "1", "1Gi", near("x", &[(ZONE_LABEL, "x")]))
        .freeze();
    let draft = Draft::new(&own).launch("p", &[A, B], &["default/x-0", "default/x-1"]);
    accepted(&own, draft);
    let draft = Draft::new(&own).launch("p", &[A, B], &["default/x-0"]);
    refused(&own, draft.launch("p", &[A], &["default/x-1"]), Rule::Affinity);
    let draft = Draft::new(&own).launch("p", &[A], &["default/x-0"]);
    refused(&own, draft.launch("p", &[A, B], &["default/x-1"]), Rule::Affinity);
}

#[test]
fn it_is_enough_that_one_side_keeps_apart() {
    let snapshot = cluster()
        .pods_with("x", 2, "1", "1Gi", away("x", &[(HOSTNAME_LABEL, "y")]))
        .pods_with("y", 2, "1", "1Gi", |spec| app(spec, "y"))
        .freeze();
    assert_eq!(
        launched(&snapshot, &[(A, &["x-0", "x-1"]), (A, &["y-0", "y-1"])]),
        []
    );
    assert_eq!(
        launched(&snapshot, &[(A, &["x-0", "y-1"]), (A, &["y-0", "x-1"])]),
        [Rule::AntiAffinity]
    );
}

#[test]
fn running_pods_bar_others_and_are_barred() {
    let with = |old: &dyn Fn(&mut PodSpec), new: &dyn Fn(&mut PodSpec), node: &str| {
        let snapshot = cluster()
            .node("n1", "p", "m", "zone-a")
            .node("n2", "p", "m", "zone-b")
            .bound_with("old", "n1", "1", "1Gi", old)
            .pods_with("x", 1, "1", "1Gi", new)
            .freeze();
        broken(
            &snapshot,
            Draft::new(&snapshot).on_node(node, &["default/x-0"]).body(),
        )
    };
    let keeper = away("keeper", &[(ZONE_LABEL, "x")]);
    let plain = |name: &'static str| move |spec: &mut PodSpec| app(spec, name);
    assert_eq!(with(&keeper, &plain("x"), "n1"), [Rule::AntiAffinity]);
    assert_eq!(with(&keeper, &plain("x"), "n2"), []);
    assert_eq!(with(&keeper, &plain("y"), "n1"), []);
    let late = away("y", &[(ZONE_LABEL, "x")]);
    assert_eq!(with(&plain("x"), &late, "n1"), [Rule::AntiAffinity]);
}

#[test]
fn a_terminating_pod_bars_others_until_it_is_gone() {
    let mut parts = cluster()
        .node("n1", "p", "m", "zone-a")
        .bound_with("old", "n1", "1", "1Gi", away("x", &[(HOSTNAME_LABEL, "x")]))
        .pods_with("x", 1, "1", "1Gi", away("x", &[(HOSTNAME_LABEL, "x")]))
        .parts;
    parts.pods[0].place = PodPlace::Terminating("n1".into());
    let snapshot = parts.freeze().unwrap();
    refused(
        &snapshot,
        Draft::new(&snapshot).on_node("n1", &["default/x-0"]),
        Rule::AntiAffinity,
    );
    assert_eq!(launched(&snapshot, &[(A, &["x-0"])]), []);
}

#[test]
fn running_pods_that_broke_the_rule_before_are_no_fault_of_the_plan() {
    let keeper = || away("x", &[(HOSTNAME_LABEL, "x")]);
    let snapshot = cluster()
        .node("n1", "p", "m", "zone-a")
        .bound_with("one", "n1", "1", "1Gi", keeper())
        .bound_with("two", "n1", "1", "1Gi", keeper())
        .pods("y", 1, "1", "1Gi")
        .freeze();
    accepted(&snapshot, Draft::new(&snapshot).on_node("n1", &["default/y-0"]));
}

#[test]
fn namespaces_tell_pods_apart() {
    let with = |namespaces: Namespaces| {
        let mut parts = cluster()
            .node("n1", "p", "m", "zone-a")
            .bound_with("old", "n1", "1", "1Gi", |spec| app(spec, "x"))
            .pods_with("x", 1, "1", "1Gi", |spec| {
                anti_affinity(spec, HOSTNAME_LABEL, "x");
                let PodSelector { labels, .. } = spec.rules.anti_affinity[0].selector.clone();
                spec.rules.anti_affinity[0].selector = PodSelector {
                    namespaces: namespaces.clone(),
                    labels,
                };
            })
            .parts;
        parts.pods[0].name.namespace = "other".to_owned();
        let snapshot = parts.freeze().unwrap();
        broken(
            &snapshot,
            Draft::new(&snapshot).on_node("n1", &["default/x-0"]).body(),
        )
    };
    let these = |name: &str| Namespaces::These(std::collections::BTreeSet::from([name.to_owned()]));
    assert_eq!(with(these("default")), []);
    assert_eq!(with(these("other")), [Rule::AntiAffinity]);
    assert_eq!(with(Namespaces::All), [Rule::AntiAffinity]);
}

#[test]
fn without_the_key_nobody_is_near_and_nobody_can_be() {
    let apart = cluster()
        .pods_with("x", 2, "1", "1Gi", away("x", &[("example.com/rack", "x")]))
        .freeze();
    assert_eq!(launched(&apart, &[(A, &["x-0", "x-1"])]), []);
    let close = cluster()
        .pods_with("x", 2, "1", "1Gi", near("x", &[("example.com/rack", "x")]))
        .freeze();
    assert_eq!(launched(&close, &[(A, &["x-0", "x-1"])]), [Rule::Affinity]);
}

#[test]
fn pods_near_themselves_start_in_one_domain() {
    let snapshot = cluster()
        .pods_with("x", 3, "1", "1Gi", near("x", &[(ZONE_LABEL, "x")]))
        .freeze();
    assert_eq!(launched(&snapshot, &[(A, &["x-0", "x-1"]), (A, &["x-2"])]), []);
    assert_eq!(
        launched(&snapshot, &[(A, &["x-0", "x-1"]), (B, &["x-2"])]),
        [Rule::Affinity]
    );
    let draft = Draft::new(&snapshot).launch("p", &[A, B], &["default/x-0", "default/x-1"]);
    refused(
        &snapshot,
        draft.launch("p", &[A], &["default/x-2"]),
        Rule::Affinity,
    );
    let by_host = cluster()
        .pods_with("x", 2, "1", "1Gi", near("x", &[(HOSTNAME_LABEL, "x")]))
        .freeze();
    let draft = Draft::new(&by_host).launch("p", &[A, B], &["default/x-0", "default/x-1"]);
    accepted(&by_host, draft);
    assert_eq!(
        launched(&by_host, &[(A, &["x-0"]), (A, &["x-1"])]),
        [Rule::Affinity]
    );
}

#[test]
fn a_match_that_runs_says_where() {
    let with = |leaves: bool, launch: (&str, &str, CapacityType), name: &'static str| {
        let mut parts = cluster()
            .node("n1", "p", "m", "zone-a")
            .bound_with("old", "n1", "1", "1Gi", |spec| app(spec, "x"))
            .pods_with("y", 1, "1", "1Gi", near(name, &[(ZONE_LABEL, "x")]))
            .parts;
        if leaves {
            parts.pods[0].place = PodPlace::Terminating("n1".into());
        }
        launched(&parts.freeze().unwrap(), &[(launch, &["y-0"])])
    };
    for name in ["x", "y"] {
        assert_eq!(with(false, A, name), []);
        assert_eq!(with(false, B, name), [Rule::Affinity]);
    }
    // One that goes says nothing: who matches itself may start anywhere, others wait.
    assert_eq!(with(true, B, "x"), []);
    assert_eq!(with(true, A, "y"), [Rule::Affinity]);
}

#[test]
fn pods_of_the_plan_are_followed_in_some_order() {
    let chain = cluster()
        .pods_with("x", 1, "1", "1Gi", near("x", &[(ZONE_LABEL, "y")]))
        .pods_with("y", 1, "1", "1Gi", near("y", &[(ZONE_LABEL, "z")]))
        .pods_with("z", 1, "1", "1Gi", |spec| app(spec, "z"))
        .freeze();
    assert_eq!(launched(&chain, &[(A, &["x-0", "y-0"]), (A, &["z-0"])]), []);
    assert_eq!(
        launched(&chain, &[(A, &["x-0", "y-0"]), (B, &["z-0"])]),
        [Rule::Affinity]
    );
    let circle = cluster()
        .pods_with("x", 1, "1", "1Gi", near("x", &[(ZONE_LABEL, "y")]))
        .pods_with("y", 1, "1", "1Gi", near("y", &[(ZONE_LABEL, "x")]))
        .freeze();
    assert_eq!(launched(&circle, &[(A, &["x-0", "y-0"])]), [Rule::Affinity]);
}

#[test]
fn a_start_goes_before_matches_elsewhere_and_only_one_is_first() {
    let snapshot = cluster()
        .pods_with("x", 2, "1", "1Gi", near("x", &[(ZONE_LABEL, "x")]))
        .pods_with("other", 1, "1", "1Gi", |spec| app(spec, "x"))
        .freeze();
    // x-0 starts in zone a, the other follows in zone b, and x-1 it.
    assert_eq!(
        launched(&snapshot, &[(A, &["x-0"]), (B, &["x-1", "other-0"])]),
        []
    );
    // Two rules about the same pods: the first of one is there for the other.
    let all = |spec: &mut PodSpec| {
        app(spec, "x");
        affinity(spec, ZONE_LABEL, "x");
        spec.rules.affinity[0].selector.namespaces = Namespaces::All;
    };
    let snapshot = cluster()
        .pods_with("x", 1, "1", "1Gi", near("x", &[(ZONE_LABEL, "x")]))
        .pods_with("y", 1, "1", "1Gi", all)
        .freeze();
    assert_eq!(launched(&snapshot, &[(A, &["x-0", "y-0"])]), []);
    assert_eq!(
        launched(&snapshot, &[(A, &["x-0"]), (B, &["y-0"])]),
        [Rule::Affinity]
    );
}

#[test]
fn all_terms_are_about_one_pod() {
    let both = near("x", &[(ZONE_LABEL, "one"), (ZONE_LABEL, "two")]);
    let snapshot = cluster()
        .node("n1", "p", "m", "zone-a")
        .bound_with("one", "n1", "1", "1Gi", |spec| app(spec, "one"))
        .bound_with("two", "n1", "1", "1Gi", |spec| app(spec, "two"))
        .pods_with("x", 1, "1", "1Gi", both)
        .freeze();
    assert_eq!(launched(&snapshot, &[(A, &["x-0"])]), [Rule::Affinity]);
}

#[test]
fn every_key_needs_its_match() {
    let keys = near("x", &[(ZONE_LABEL, "x"), (HOSTNAME_LABEL, "x")]);
    let snapshot = cluster().pods_with("x", 2, "1", "1Gi", keys).freeze();
    assert_eq!(launched(&snapshot, &[(A, &["x-0", "x-1"])]), []);
    assert_eq!(
        launched(&snapshot, &[(A, &["x-0"]), (A, &["x-1"])]),
        [Rule::Affinity]
    );
}

#[test]
fn daemon_sets_are_on_the_node_to_come() {
    let snapshot = |edit: &dyn Fn(&mut PodSpec)| {
        let mut parts = cluster()
            .daemon_set_with("agent", "100m", "64Mi", |spec| {
                app(spec, "agent");
                spec.node_selector = in_zone("zone-a");
            })
            .pods_with("x", 1, "1", "1Gi", edit)
            .parts;
        // Selectors of the kit are about pods of `default`.
        parts.daemon_sets[0].name.namespace = "default".to_owned();
        parts.freeze().unwrap()
    };
    let close = snapshot(&near("x", &[(HOSTNAME_LABEL, "agent")]));
    assert_eq!(launched(&close, &[(A, &["x-0"])]), []);
    assert_eq!(launched(&close, &[(B, &["x-0"])]), [Rule::Affinity]);
    let either = Draft::new(&close).launch("p", &[A, B], &["default/x-0"]);
    refused(&close, either, Rule::Affinity);
    // In whichever zone there is one.
    let anywhere = cluster().daemon_set_with("agent", "100m", "64Mi", |spec| app(spec, "agent"));
    let mut parts = anywhere
        .pods_with("x", 1, "1", "1Gi", near("x", &[(ZONE_LABEL, "agent")]))
        .pods_with("y", 1, "1", "1Gi", |spec| app(spec, "y"))
        .parts;
    parts.daemon_sets[0].name.namespace = "default".to_owned();
    let brought = parts.clone().freeze().unwrap();
    let draft = |snapshot| {
        let draft = Draft::new(snapshot).launch("p", &[A, B], &["default/x-0"]);
        draft.launch("p", &[B], &["default/y-0"])
    };
    accepted(&brought, draft(&brought));
    // Where somebody keeps it off, it may not come.
    for pod in parts.pods.iter_mut().filter(|pod| pod.name.name == "y-0") {
        let mut spec = (*pod.spec).clone();
        anti_affinity(&mut spec, HOSTNAME_LABEL, "agent");
        pod.spec = std::sync::Arc::new(spec);
    }
    let kept_off = parts.freeze().unwrap();
    let found = broken(&kept_off, draft(&kept_off).body());
    assert_eq!(found, [Rule::Affinity, Rule::AntiAffinity]);
    let apart = snapshot(&away("x", &[(HOSTNAME_LABEL, "agent")]));
    assert_eq!(launched(&apart, &[(A, &["x-0"])]), [Rule::AntiAffinity]);
    assert_eq!(launched(&apart, &[(B, &["x-0"])]), []);
    let either = Draft::new(&apart).launch("p", &[B, A], &["default/x-0"]);
    refused(&apart, either, Rule::AntiAffinity);
}
