//! Host ports as caps.

use super::*;

#[test]
fn a_host_port_is_had_once_a_node() {
    let udp = |spec: &mut PodSpec| {
        host_port(spec, 80).protocol = crate::model::rules::Protocol::Udp;
    };
    let http = |spec: &mut PodSpec| {
        host_port(spec, 80);
    };
    let snapshot = two_nodes(pods(
        pods(pods(cluster(), "a", 2, http), "b", 2, http),
        "c",
        2,
        udp,
    ));
    let mut snapshot = runs(snapshot, "old", "n1", "old", http);
    snapshot.parts.pods[6].spec = Arc::new(PodSpec {
        priority: 1,
        ..(*snapshot.parts.pods[6].spec).clone()
    });
    // One that terminates has its port still.
    snapshot.parts.pods[6].place = PodPlace::Terminating("n1".into());
    let snapshot = snapshot.freeze();
    let problem = lower(&snapshot);
    let caps = &problem.side.caps;
    assert_eq!(problem.groups.len(), 2, "ports are the same");
    assert_eq!(caps.len(), 2);
    assert!(
        caps.iter()
            .all(|cap| cap.most == 1 && cap.excess == Excess::Forbidden)
    );
    let of = |name: &str| caps.iter().find(|cap| cap.groups == groups(&problem, &[name]));
    assert_eq!(
        of("a").unwrap().there,
        BTreeMap::from([(room(&problem, "n1"), 1)])
    );
    assert!(of("c").unwrap().there.is_empty());
}

#[test]
fn addresses_share_a_port_with_all_addresses_only() {
    let at = |address: Option<&'static str>| {
        move |spec: &mut PodSpec| host_port(spec, 80).address = address.map(str::to_owned)
    };
    let cluster = pods(
        pods(cluster(), "all", 1, at(None)),
        "one",
        1,
        at(Some("10.0.0.1")),
    );
    let cluster = two_nodes(pods(cluster, "two", 1, at(Some("10.0.0.2"))));
    let snapshot = runs(cluster, "old", "n2", "old", at(Some("10.0.0.2"))).freeze();
    let problem = lower(&snapshot);
    let there = BTreeMap::from([(room(&problem, "n2"), 1)]);
    let caps: Vec<_> = problem
        .side
        .caps
        .iter()
        .map(|cap| (cap.groups.clone(), cap.there.clone()))
        .collect();
    assert_eq!(
        caps,
        [
            (groups(&problem, &["all", "one"]), BTreeMap::new()),
            (groups(&problem, &["all", "two"]), there)
        ]
    );
}

#[test]
fn ports_of_daemon_sets_keep_pods_off_their_nodes() {
    let http = |spec: &mut PodSpec| {
        host_port(spec, 80);
    };
    let in_a = |spec: &mut PodSpec| {
        host_port(spec, 80);
        spec.node_selector = in_zone("zone-a");
    };
    let snapshot =
        two_nodes(pods(cluster(), "web", 1, http).daemon_set_with("proxy", "0", "0", in_a)).freeze();
    let problem = lower(&snapshot);
    assert_eq!(launched_in(&problem, "web"), ["zone-b".to_owned()].into());
    let expected = BTreeMap::from([(room(&problem, "n1"), 1)]);
    assert_eq!(problem.side.caps[0].there, expected, "its pod is still to come");
}
