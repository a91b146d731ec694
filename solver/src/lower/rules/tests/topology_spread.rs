//! Hard spreads as rows and caps.

use super::*;

#[test]
fn a_spread_counts_pods_that_stay_on_eligible_nodes() {
    let even = |spec: &mut PodSpec| {
        spread(spec, ZONE_LABEL, 2, "web");
    };
    let cluster = two_nodes(pods(cluster(), "web", 4, even));
    let cluster = cluster.node_with("n3", "default", "m", "zone-a", |node| node.deleting = true);
    let cluster = runs(
        runs(cluster, "r1", "n1", "web", |_| {}),
        "r2",
        "n1",
        "other",
        |_| {},
    );
    let mut cluster = runs(cluster, "r3", "n2", "web", |_| {});
    let last = cluster.parts.pods.len() - 1;
    cluster.parts.pods[last].place = PodPlace::Terminating("n2".into());
    let snapshot = pods(cluster, "counts", 1, |spec| app(spec, "web")).freeze();
    let problem = lower(&snapshot);
    let [row] = problem.side.spreads.as_slice() else {
        panic!("one row: {:?}", problem.side)
    };
    assert_eq!((row.skew, row.fewest_domains, there(row)), (2, 0, vec![1, 0]));
    assert_eq!(row.bound, groups(&problem, &["web"]));
    assert_eq!(row.groups, groups(&problem, &["web", "counts"]));
    let places = &row.domains[0].places;
    assert_eq!(places.rooms.ones().collect::<Vec<_>>(), [room(&problem, "n1")]);
    let zone = |kind: usize| {
        problem
            .universe
            .offering(problem.kinds[kind].bins[0])
            .zone
            .as_str()
    };
    assert!(places.kinds.ones().all(|kind| zone(kind) == "zone-a") && !places.kinds.is_clear());
}

#[test]
fn policies_of_a_spread_say_which_nodes_count() {
    let in_a = |honours: bool| {
        move |spec: &mut PodSpec| {
            spec.node_selector = in_zone("zone-a");
            spread(spec, ZONE_LABEL, 1, "web").honours_affinity = honours;
        }
    };
    let domains = |cluster: Cluster| -> Vec<usize> {
        let snapshot = cluster.freeze();
        let problem = lower(&snapshot);
        problem.side.spreads.iter().map(|row| row.domains.len()).collect()
    };
    assert_eq!(domains(two_nodes(pods(cluster(), "web", 2, in_a(true)))), [0; 0]);
    assert_eq!(domains(two_nodes(pods(cluster(), "web", 2, in_a(false)))), [2]);
    let tainted = |honours: bool| {
        let even = move |spec: &mut PodSpec| spread(spec, ZONE_LABEL, 1, "web").honours_taints = honours;
        let cluster = pods(cluster(), "web", 2, even);
        cluster.node_with("n9", "default", "m", "zone-a", |node| {
            node.taints.push(taint("own", ""));
            node.labels.insert(ZONE_LABEL.to_owned(), "zone-z".to_owned());
        })
    };
    assert_eq!(domains(tainted(false)), [3]);
    assert_eq!(domains(tainted(true)), [2]);
    // A volume narrows places, not domains.
    let with_volume = |spec: &mut PodSpec| {
        spread(spec, ZONE_LABEL, 1, "web");
        volume(spec, "data", "zone-a");
    };
    assert_eq!(domains(pods(cluster(), "web", 2, with_volume)), [2]);
}

#[test]
fn a_spread_over_nodes_is_a_cap_where_nodes_can_be_launched() {
    let even = |spec: &mut PodSpec| {
        spread(spec, HOSTNAME_LABEL, 1, "web");
    };
    let with = |cluster: Cluster| {
        runs(
            two_nodes(pods(cluster, "web", 3, even)),
            "r1",
            "n1",
            "web",
            |_| {},
        )
        .freeze()
    };
    let snapshot = with(cluster());
    let problem = lower(&snapshot);
    assert!(problem.side.spreads.is_empty());
    assert_eq!(problem.side.caps.len(), 1);
    assert_eq!(
        problem.side.caps[0].there,
        BTreeMap::from([(room(&problem, "n1"), 1)])
    );
    let snapshot = with(
        Cluster::new()
            .instance_type(machine("m", "8", "32Gi", "1"))
            .pool_with("default", |pool| {
                pool.replicas = Some(2);
            }),
    );
    let problem = lower(&snapshot);
    assert!(problem.side.caps.is_empty());
    assert_eq!(
        there(&problem.side.spreads[0]),
        [1, 0],
        "only the two nodes that there are"
    );
}

#[test]
fn a_spread_has_no_place_without_its_key() {
    let key = "example.com/rack";
    let cluster = cluster().pool_with("racked", |pool| {
        pool.requirements = requirements(&[(key, Operator::In, &["r1", "r2"])]);
    });
    let cluster = pods(two_nodes(cluster), "web", 2, |spec| {
        spread(spec, key, 1, "web");
    });
    let snapshot = cluster.freeze();
    let problem = lower(&snapshot);
    let pools = problem.usable[group(&problem, "web")]
        .ones()
        .map(|kind| problem.kinds[kind].pool);
    let names: BTreeSet<&str> = pools
        .map(|pool| snapshot.node_pools[pool].name.as_str())
        .collect();
    assert_eq!(names, ["racked"].into());
    assert!(nodes_of(&problem, "web").is_empty());
    assert_eq!(problem.side.spreads[0].domains.len(), 2);
}

#[test]
fn a_node_that_lacks_one_of_the_keys_is_no_domain_of_the_others() {
    let key = "example.com/rack";
    let cluster = two_nodes(pods(cluster(), "web", 1, |spec| {
        spread(spec, key, 2, "web");
        spread(spec, ZONE_LABEL, 1, "web");
        spread(spec, HOSTNAME_LABEL, 1, "web");
    }));
    let cluster = cluster.node_with("n3", "default", "m", "zone-a", |node| {
        node.labels.insert(key.to_owned(), "r1".to_owned());
    });
    let snapshot = runs(cluster, "old", "n3", "web", |_| {}).freeze();
    let problem = lower(&snapshot);
    assert_eq!(nodes_of(&problem, "web"), ["n3"].into());
    // One rack, one zone, one host, each with all the pods that count: the one that comes may stand beside the old one.
    let side = &problem.side;
    assert!(
        side.spreads.is_empty() && side.caps.is_empty() && side.conflicts.is_empty(),
        "{side:?}"
    );
}

#[test]
fn a_zone_where_nothing_can_be_bought_is_no_domain() {
    let edits: [fn(&mut crate::model::offering::Offering); 3] = [
        |offering| offering.available = false,
        |offering| offering.price = crate::model::money::Price::default(),
        |offering| offering.limit = Some(0),
    ];
    for edit in edits {
        let mut cluster = pods(cluster(), "web", 4, |spec| {
            spread(spec, ZONE_LABEL, 1, "web");
        });
        let class = cluster.parts.node_classes.values_mut().next().unwrap();
        let offers = class.instance_types.iter_mut().flat_map(|it| &mut it.offerings);
        offers.filter(|it| it.zone.as_str() != "zone-a").for_each(edit);
        let snapshot = cluster.freeze();
        let plan = crate::plan(&snapshot, &crate::PlanOptions::default(), &crate::Unlimited).unwrap();
        assert!(plan.unschedulable.is_empty(), "{:?}", plan.unschedulable);
        assert!(plan.launch.iter().all(|launch| launch.zone.as_str() == "zone-a"));
    }
}
