//! Affinity and anti-affinity as rows and places.

use super::*;

#[test]
fn self_anti_affinity_is_a_cap_for_each_app() {
    let alone = |name: &'static str| move |spec: &mut PodSpec| anti_affinity(spec, HOSTNAME_LABEL, name);
    let cluster = pods(pods(cluster(), "a", 3, alone("a")), "b", 3, alone("b"));
    let snapshot = runs(two_nodes(cluster), "old", "n1", "a", |_| {}).freeze();
    let problem = lower(&snapshot);
    let caps = &problem.side.caps;
    assert_eq!(caps.len(), 2);
    assert!(problem.side.conflicts.is_empty() && !problem.side.span_nodes());
    let of_a = caps
        .iter()
        .find(|cap| cap.groups == groups(&problem, &["a"]))
        .unwrap();
    assert_eq!(
        (of_a.most, &of_a.there),
        (1, &BTreeMap::from([(room(&problem, "n1"), 1)]))
    );
}

#[test]
fn anti_affinity_holds_in_both_directions() {
    let cluster = pods(cluster(), "a", 1, |spec| anti_affinity(spec, HOSTNAME_LABEL, "b"));
    let cluster = two_nodes(pods(cluster, "b", 1, |_| {}));
    let cluster = runs(cluster, "old-b", "n1", "b", |_| {});
    let snapshot = runs(cluster, "old-a", "n2", "a", |spec| {
        anti_affinity(spec, HOSTNAME_LABEL, "b");
    })
    .freeze();
    let problem = lower(&snapshot);
    let [conflict] = problem.side.conflicts.as_slice() else {
        panic!("one conflict: {:?}", problem.side)
    };
    assert_eq!(
        (&conflict.one, &conflict.other),
        (&groups(&problem, &["a"]), &groups(&problem, &["b"]))
    );
    assert_eq!(
        conflict.rooms_with_other.ones().collect::<Vec<_>>(),
        [room(&problem, "n1")]
    );
    assert_eq!(
        conflict.rooms_with_one.ones().collect::<Vec<_>>(),
        [room(&problem, "n2")]
    );
}

#[test]
fn anti_affinity_in_zones_counts_pods_and_bars_zones() {
    let alone = |spec: &mut PodSpec| anti_affinity(spec, ZONE_LABEL, "a");
    let problem = pods(pods(cluster(), "a", 3, alone), "c", 1, alone).freeze();
    let problem = lower(&problem);
    assert_eq!(problem.side.rows.len(), 2, "one for each zone");
    assert!(
        problem
            .side
            .rows
            .iter()
            .all(|row| row.upper == Some(1) && row.lower.is_none())
    );
    assert_eq!(problem.side.apart.len(), 1);
    assert_eq!(problem.side.apart[0].other, groups(&problem, &["c"]));
    let snapshot = two_nodes(pods(cluster(), "a", 3, alone));
    let snapshot = runs(snapshot, "old", "n1", "other", alone).freeze();
    let problem = lower(&snapshot);
    assert_eq!(
        launched_in(&problem, "a"),
        ["zone-b".to_owned()].into(),
        "by inverse anti-affinity"
    );
    assert_eq!(nodes_of(&problem, "a"), ["n2"].into());
}

#[test]
fn affinity_to_running_pods_only_is_where_they_are() {
    let cluster = two_nodes(pods(cluster(), "web", 2, |spec| affinity(spec, ZONE_LABEL, "db")));
    let snapshot = runs(cluster, "db-0", "n2", "db", |_| {}).freeze();
    let problem = lower(&snapshot);
    assert!(problem.side.is_empty());
    assert_eq!(launched_in(&problem, "web"), ["zone-b".to_owned()].into());
    assert_eq!(nodes_of(&problem, "web"), ["n2"].into());
    // Nobody there and nobody to come.
    let snapshot = two_nodes(pods(self::cluster(), "web", 2, |spec| {
        affinity(spec, ZONE_LABEL, "db");
    }))
    .freeze();
    assert!(launched_in(&lower(&snapshot), "web").is_empty());
}

#[test]
fn affinity_to_pods_to_come_is_a_row() {
    let near_db = |spec: &mut PodSpec| {
        affinity(spec, ZONE_LABEL, "db");
    };
    let cluster = pods(pods(two_nodes(cluster()), "db", 1, |_| {}), "web", 2, near_db);
    let snapshot = runs(cluster, "db-old", "n2", "db", |_| {}).freeze();
    let problem = lower(&snapshot);
    let [near] = problem.side.near.as_slice() else {
        panic!("one row: {:?}", problem.side)
    };
    assert_eq!(
        (&near.groups, &near.of),
        (&groups(&problem, &["web"]), &groups(&problem, &["db"]))
    );
    let there: Vec<u64> = near.domains.iter().map(|domain| domain.there).collect();
    assert_eq!((there, near.may_start), (vec![0, 1], false));
    assert_eq!(launched_in(&problem, "web"), both_zones());
}

#[test]
fn affinity_to_themselves_keeps_pods_together() {
    let own = |key: &'static str| move |spec: &mut PodSpec| affinity(spec, key, "web");
    let snapshot = pods(cluster(), "web", 3, own(ZONE_LABEL)).freeze();
    let problem = lower(&snapshot);
    assert_eq!(problem.side.together.len(), 1);
    assert_eq!(problem.side.together[0].domains.len(), 2);
    assert!(problem.side.near.is_empty());
    let snapshot = pods(cluster(), "web", 3, own(HOSTNAME_LABEL)).freeze();
    let problem = lower(&snapshot);
    let [beside] = problem.side.beside.as_slice() else {
        panic!("one row: {:?}", problem.side)
    };
    assert!(beside.may_start && beside.rooms_with.is_clear());
}

#[test]
fn pods_that_wait_for_each_other_have_no_place() {
    let near = |name: &'static str| move |spec: &mut PodSpec| affinity(spec, ZONE_LABEL, name);
    let circle = || pods(pods(cluster(), "a", 1, near("b")), "b", 1, near("a"));
    let snapshot = circle().freeze();
    let problem = lower(&snapshot);
    assert!(launched_in(&problem, "a").is_empty() && launched_in(&problem, "b").is_empty());
    // One that runs breaks the circle.
    let snapshot = runs(two_nodes(circle()), "b-old", "n1", "b", |_| {}).freeze();
    let problem = lower(&snapshot);
    assert_eq!(launched_in(&problem, "a"), ["zone-a".to_owned()].into());
    assert_eq!(problem.side.near.len(), 1);
    assert_eq!(problem.side.near[0].groups, groups(&problem, &["b"]));
}

#[test]
fn pods_of_daemon_sets_are_company_where_they_come() {
    let agent = |zone: Option<&'static str>| {
        cluster().daemon_set_with("agent", "0", "0", |spec| {
            app(spec, "agent");
            spec.node_selector = zone.map(in_zone).unwrap_or_default();
        })
    };
    let near = |key: &'static str| {
        move |spec: &mut PodSpec| {
            let mut term = crate::testing::rules::near(key, "agent");
            term.selector.namespaces = crate::model::selector::Namespaces::All;
            spec.rules.affinity.push(term);
        }
    };
    let everywhere = pods(agent(None), "web", 2, near(HOSTNAME_LABEL)).freeze();
    let problem = lower(&everywhere);
    assert_eq!(launched_in(&problem, "web"), both_zones());
    assert!(problem.side.is_empty(), "{:?}", problem.side);
    for key in [HOSTNAME_LABEL, ZONE_LABEL] {
        let one_zone = two_nodes(pods(agent(Some("zone-b")), "web", 2, near(key))).freeze();
        let problem = lower(&one_zone);
        assert_eq!(launched_in(&problem, "web"), ["zone-b".to_owned()].into());
        // It hasn't come yet, and will without any plan's word.
        assert_eq!(nodes_of(&problem, "web"), ["n2"].into());
    }
    // Where one runs, every node of its zone has company.
    let runs = two_nodes(pods(agent(Some("zone-b")), "web", 2, near(ZONE_LABEL)));
    let runs = runs.bound_with("old", "n1", "1", "1Gi", |spec| app(spec, "agent"));
    assert_eq!(launched_in(&lower(&runs.freeze()), "web"), both_zones());
}
