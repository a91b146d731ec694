//! Hard topology spread: which domains there are, who counts, and what every choice of offers must keep.

use super::*;

use dovetail_solver::model::instance_type::{CAPACITY_TYPE_LABEL, HOSTNAME_LABEL, ZONE_LABEL};
use dovetail_solver::model::pod::PodSpec;
use dovetail_solver::model::rules::TopologySpread;
use dovetail_solver::testing::rules::{app, spread};

const RACK: &str = "example.com/rack";
const A: (&str, &str, CapacityType) = ("m", "zone-a", OnDemand);
const B: (&str, &str, CapacityType) = ("m", "zone-b", OnDemand);

fn machines() -> Cluster {
    let mut large = machine("l", "16", "32Gi", "0.2");
    let spot = Offering {
        capacity_type: Spot,
        price: Price::parse("0.05").unwrap(),
        ..large.offerings[0].clone()
    };
    large.offerings.push(spot);
    Cluster::new()
        .instance_type(machine("m", "8", "16Gi", "0.1"))
        .instance_type(large)
}

fn cluster() -> Cluster {
    machines().pool("p")
}

/// Spread over zones by one, edited.
fn over(key: &'static str, edit: impl Fn(&mut TopologySpread)) -> impl Fn(&mut PodSpec) {
    move |spec| {
        app(spec, "web");
        edit(spread(spec, key, 1, "web"));
    }
}

fn by_zone(spec: &mut PodSpec) {
    over(ZONE_LABEL, |_| {})(spec);
}

/// Rules that are broken where so many pods `x` are launched in zones a and b, each zone on one node.
fn zones(snapshot: &Snapshot, in_a: usize, in_b: usize) -> Vec<Rule> {
    let names: Vec<String> = (0..in_a + in_b).map(|at| format!("default/x-{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut draft = Draft::new(snapshot);
    if in_a > 0 {
        draft = draft.launch("p", &[A], &names[..in_a]);
    }
    if in_b > 0 {
        draft = draft.launch("p", &[B], &names[in_a..]);
    }
    broken(snapshot, draft.body())
}

#[test]
fn a_pod_moved_to_another_zone_skews_the_spread() {
    let snapshot = cluster().pods_with("x", 4, "1", "1Gi", by_zone).freeze();
    assert_eq!(zones(&snapshot, 2, 2), []);
    assert_eq!(zones(&snapshot, 3, 1), [Rule::TopologySpread]);
    assert_eq!(zones(&snapshot, 0, 4), [Rule::TopologySpread]);
    let odd = cluster().pods_with("x", 3, "1", "1Gi", by_zone).freeze();
    assert_eq!(zones(&odd, 2, 1), []);
    let two = over(ZONE_LABEL, |spread| spread.max_skew = 2);
    let wider = cluster().pods_with("x", 4, "1", "1Gi", two).freeze();
    assert_eq!(zones(&wider, 3, 1), []);
    assert_eq!(zones(&wider, 4, 0), [Rule::TopologySpread]);
}

#[test]
fn the_message_names_pod_domain_and_figures() {
    let snapshot = cluster().pods_with("x", 3, "1", "1Gi", by_zone).freeze();
    let pods = ["default/x-0", "default/x-1", "default/x-2"];
    let draft = Draft::new(&snapshot).launch("p", &[B], &pods);
    let failure = check(&snapshot, draft.plan()).unwrap_err();
    let said = failure.violations[0].to_string();
    for word in ["default/x-0", "zone-b gets 3", "zone-a has 0", "skew is 1"] {
        assert!(said.contains(word), "{said}");
    }
}

#[test]
fn soft_constraints_bind_nobody() {
    let soft = over(ZONE_LABEL, |spread| spread.is_hard = false);
    let snapshot = cluster().pods_with("x", 4, "1", "1Gi", soft).freeze();
    assert_eq!(zones(&snapshot, 2, 2), []);
    assert_eq!(zones(&snapshot, 4, 0), []);
    // It only costs, which the draft doesn't say: three steps beyond the skew.
    let pods = ["default/x-0", "default/x-1", "default/x-2", "default/x-3"];
    let plan = check(&snapshot, Draft::new(&snapshot).launch("p", &[A], &pods).plan()).unwrap();
    assert_eq!(plan.cost.recounted.micros(), 3_000);
    assert_eq!(plan.cost.objective.micros(), 103_000);
}

#[test]
fn all_offers_of_a_launch_are_in_one_domain() {
    let snapshot = cluster().pods_with("x", 2, "1", "1Gi", by_zone).freeze();
    let launched = |other: (&str, &str, CapacityType)| {
        let draft = Draft::new(&snapshot).launch("p", &[A, other], &["default/x-0"]);
        broken(&snapshot, draft.launch("p", &[B], &["default/x-1"]).body())
    };
    assert_eq!(launched(("l", "zone-a", OnDemand)), []);
    assert_eq!(launched(("l", "zone-b", OnDemand)), [Rule::TopologySpread]);
    // A pod that counts and has no constraint may be here or there, and come last.
    let snapshot = cluster()
        .pods_with("x", 1, "1", "1Gi", by_zone)
        .pods_with("y", 1, "1", "1Gi", |spec| app(spec, "web"))
        .freeze();
    let draft = Draft::new(&snapshot).launch("p", &[A], &["default/x-0"]);
    let draft = draft.launch("p", &[B, ("l", "zone-a", OnDemand)], &["default/y-0"]);
    accepted(&snapshot, draft);
    // But it doesn't fill up the zone that has the fewest.
    let snapshot = cluster()
        .pods_with("x", 2, "1", "1Gi", by_zone)
        .pods_with("y", 1, "1", "1Gi", |spec| app(spec, "web"))
        .freeze();
    let with = |others: &[(&str, &str, CapacityType)]| {
        let draft = Draft::new(&snapshot).launch("p", &[A], &["default/x-0", "default/x-1"]);
        broken(&snapshot, draft.launch("p", others, &["default/y-0"]).body())
    };
    assert_eq!(with(&[B]), []);
    assert_eq!(with(&[B, ("l", "zone-a", OnDemand)]), [Rule::TopologySpread]);
}

#[test]
fn a_node_that_is_launched_for_others_and_counts_is_a_domain() {
    let web = |honours: bool| over(ZONE_LABEL, move |spread| spread.honours_taints = honours);
    let with = |honours: bool, tainted: &[(&str, &str, CapacityType)]| {
        let in_zone_a = |pool: &mut dovetail_solver::model::node_pool::NodePool| {
            pool.requirements = requirements(&[(ZONE_LABEL, Operator::In, &["zone-a"])]);
        };
        let snapshot = machines()
            .pool_with("p", in_zone_a)
            .pool_with("gpu", |pool| pool.taints = vec![taint("gpu", "")])
            .pods_with("x", 2, "1", "1Gi", web(honours))
            .pods_with("y", 1, "1", "1Gi", |spec| {
                spec.tolerations = vec![dovetail_solver::testing::build::tolerates("gpu")];
            })
            .freeze();
        let draft = Draft::new(&snapshot).launch("p", &[A], &["default/x-0", "default/x-1"]);
        broken(&snapshot, draft.launch("gpu", tainted, &["default/y-0"]).body())
    };
    assert_eq!(with(true, &[B]), []);
    assert_eq!(with(false, &[A]), []);
    assert_eq!(with(false, &[B]), [Rule::TopologySpread]);
    assert_eq!(with(false, &[A, B]), [Rule::TopologySpread]);
}

#[test]
fn zones_that_nobody_could_launch_in_are_no_domains() {
    let only_a = |cluster: Cluster| {
        cluster.pool_with("p", |pool| {
            pool.requirements = requirements(&[(ZONE_LABEL, Operator::In, &["zone-a"])]);
        })
    };
    let snapshot = only_a(machines()).pods_with("x", 4, "1", "1Gi", by_zone).freeze();
    assert_eq!(zones(&snapshot, 4, 0), []);
    // A pool that pods don't tolerate, and a static one, offer them nothing; a pool at its limit does.
    let with_other = |edit: fn(&mut dovetail_solver::model::node_pool::NodePool)| {
        let cluster = only_a(machines()).pool_with("other", edit);
        zones(&cluster.pods_with("x", 4, "1", "1Gi", by_zone).freeze(), 4, 0)
    };
    assert_eq!(with_other(|_| {}), [Rule::TopologySpread]);
    assert_eq!(with_other(|pool| pool.taints = vec![taint("gpu", "")]), []);
    assert_eq!(with_other(|pool| pool.replicas = Some(0)), []);
    assert_eq!(
        with_other(|pool| pool.limits.nodes = Some(0)),
        [Rule::TopologySpread]
    );
    // An offer that can't be had is no domain either: not available, without a price, or none of it at all.
    let without_b = |edit: fn(&mut Offering)| {
        let mut parts = cluster().pods_with("x", 4, "1", "1Gi", by_zone).parts;
        let class = parts.node_classes.values_mut().next().unwrap();
        let types = class.instance_types.iter_mut();
        let offers = types.flat_map(|instance_type| &mut instance_type.offerings);
        offers
            .filter(|offering| offering.zone.as_str() != "zone-a")
            .for_each(edit);
        zones(&parts.freeze().unwrap(), 4, 0)
    };
    assert_eq!(without_b(|offering| offering.available = false), []);
    assert_eq!(without_b(|offering| offering.price = Price::default()), []);
    assert_eq!(without_b(|offering| offering.limit = Some(0)), []);
    assert_eq!(
        without_b(|offering| offering.limit = Some(1)),
        [Rule::TopologySpread]
    );
}

#[test]
fn affinity_narrows_the_domains_where_it_is_honoured() {
    let here = |honours: bool| {
        let edit = move |spec: &mut PodSpec| {
            over(ZONE_LABEL, move |spread| spread.honours_affinity = honours)(spec);
            spec.node_selector = in_zone("zone-a");
        };
        cluster()
            .node("n1", "p", "m", "zone-b")
            .pods_with("x", 2, "1", "1Gi", edit)
            .freeze()
    };
    assert_eq!(zones(&here(true), 2, 0), []);
    assert_eq!(zones(&here(false), 2, 0), [Rule::TopologySpread]);
}

#[test]
fn taints_narrow_the_domains_where_they_are_honoured() {
    let with = |honours: bool, edit: fn(&mut dovetail_solver::model::node::Node)| {
        let pool = |pool: &mut dovetail_solver::model::node_pool::NodePool| {
            pool.requirements = requirements(&[(ZONE_LABEL, Operator::In, &["zone-a"])]);
        };
        let web = over(ZONE_LABEL, move |spread| spread.honours_taints = honours);
        let cluster = machines()
            .pool_with("p", pool)
            .node_with("n1", "p", "m", "zone-b", edit);
        zones(&cluster.pods_with("x", 2, "1", "1Gi", web).freeze(), 2, 0)
    };
    assert_eq!(
        with(false, |node| node.taints = vec![taint("gpu", "")]),
        [Rule::TopologySpread]
    );
    assert_eq!(with(true, |node| node.taints = vec![taint("gpu", "")]), []);
    assert_eq!(with(true, |node| node.unschedulable = true), []);
    assert_eq!(
        with(false, |node| node.unschedulable = true),
        [Rule::TopologySpread]
    );
    assert_eq!(with(true, |_| {}), [Rule::TopologySpread]);
    assert_eq!(with(false, |node| node.deleting = true), []);
    assert_eq!(
        with(true, |node| {
            node.labels.remove(ZONE_LABEL);
        }),
        []
    );
}

#[test]
fn fewer_domains_than_wanted_count_as_an_empty_one() {
    let with = |fewest: u32, in_a: usize, in_b: usize| {
        let web = over(ZONE_LABEL, move |spread| spread.min_domains = Some(fewest));
        let snapshot = cluster().pods_with("x", in_a + in_b, "1", "1Gi", web).freeze();
        zones(&snapshot, in_a, in_b)
    };
    assert_eq!(with(2, 2, 2), []);
    assert_eq!(with(3, 2, 2), [Rule::TopologySpread]);
    assert_eq!(with(3, 1, 1), []);
}

#[test]
fn who_is_there_and_stays_counts() {
    let with = |place: PodPlace, namespace: &str, deleting: bool, in_a: usize, in_b: usize| {
        let mut parts = cluster()
            .node_with("n1", "p", "m", "zone-a", |node| node.deleting = deleting)
            .bound_with("old", "n1", "1", "1Gi", |spec| app(spec, "web"))
            .pods_with("x", in_a + in_b, "1", "1Gi", by_zone)
            .parts;
        parts.pods[0].place = place;
        parts.pods[0].name.namespace = namespace.to_owned();
        zones(&parts.freeze().unwrap(), in_a, in_b)
    };
    let bound = || PodPlace::Bound("n1".into());
    assert_eq!(with(bound(), "default", false, 1, 2), []);
    assert_eq!(with(bound(), "default", false, 2, 1), [Rule::TopologySpread]);
    assert_eq!(with(bound(), "other", false, 2, 1), []);
    let going = || PodPlace::Terminating("n1".into());
    assert_eq!(with(going(), "default", false, 2, 1), []);
    assert_eq!(with(going(), "default", true, 2, 1), []);
}

#[test]
fn a_pod_that_moves_counts_where_it_goes() {
    let snapshot = cluster()
        .node_with("n1", "p", "m", "zone-a", |node| node.deleting = true)
        .bound_with("old", "n1", "1", "1Gi", by_zone)
        .pods_with("x", 1, "1", "1Gi", by_zone)
        .freeze();
    let moved = |to: (&str, &str, CapacityType)| {
        let draft = Draft::new(&snapshot).launch("p", &[to], &["default/old"]);
        broken(&snapshot, draft.launch("p", &[A], &["default/x-0"]).body())
    };
    assert_eq!(moved(B), []);
    assert_eq!(moved(A), [Rule::TopologySpread]);
}

#[test]
fn pods_that_count_and_are_bound_by_nothing_may_come_last() {
    let with = |bound_in_a: usize, others_in_a: usize| {
        let snapshot = cluster()
            .pods_with("x", bound_in_a, "1", "1Gi", by_zone)
            .pods_with("y", others_in_a, "1", "1Gi", |spec| app(spec, "web"))
            .freeze();
        let names = |name: &str, count: usize| -> Vec<String> {
            (0..count).map(|at| format!("default/{name}-{at}")).collect()
        };
        let names = [names("x", bound_in_a), names("y", others_in_a)].concat();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        broken(&snapshot, Draft::new(&snapshot).launch("p", &[A], &names).body())
    };
    assert_eq!(with(1, 3), []);
    assert_eq!(with(2, 0), [Rule::TopologySpread]);
}

#[test]
fn two_on_a_node_skew_a_spread_over_hosts() {
    let web = |skew: u32| over(HOSTNAME_LABEL, move |spread| spread.max_skew = skew);
    let pods = &["default/x-0", "default/x-1"];
    let snapshot = cluster()
        .node("n1", "p", "m", "zone-a")
        .node("n2", "p", "m", "zone-a")
        .pods_with("x", 2, "1", "1Gi", web(1))
        .freeze();
    let two = ("l", "zone-b", OnDemand);
    refused(
        &snapshot,
        Draft::new(&snapshot).launch("p", &[A], pods),
        Rule::TopologySpread,
    );
    refused(
        &snapshot,
        Draft::new(&snapshot).on_node("n1", pods),
        Rule::TopologySpread,
    );
    let apart = Draft::new(&snapshot).launch("p", &[A, two], &pods[..1]);
    accepted(&snapshot, apart.launch("p", &[A, two], &pods[1..]));
    let snapshot = cluster().pods_with("x", 2, "1", "1Gi", web(2)).freeze();
    accepted(&snapshot, Draft::new(&snapshot).launch("p", &[A], pods));
}

#[test]
fn pods_that_can_use_existing_nodes_only_are_spread_over_those() {
    let on = |nodes: &[&str]| {
        let mut cluster = cluster();
        for name in ["n1", "n2"] {
            cluster = cluster.node_with(name, "p", "m", "zone-a", |node| {
                node.labels.insert(RACK.to_owned(), "r".to_owned());
            });
        }
        let web = |spec: &mut PodSpec| {
            over(HOSTNAME_LABEL, |_| {})(spec);
            spec.node_selector = Labels::from([(RACK.to_owned(), "r".to_owned())]);
        };
        let snapshot = cluster.pods_with("x", nodes.len(), "1", "1Gi", web).freeze();
        let mut draft = Draft::new(&snapshot);
        for name in ["n1", "n2"] {
            let here = (0..nodes.len()).filter(|at| nodes[*at] == name);
            let here: Vec<String> = here.map(|at| format!("default/x-{at}")).collect();
            let here: Vec<&str> = here.iter().map(String::as_str).collect();
            draft = draft.on_node(name, &here);
        }
        broken(&snapshot, draft.body())
    };
    assert_eq!(on(&["n1", "n1", "n2", "n2"]), []);
    assert_eq!(on(&["n1", "n1", "n1", "n2"]), [Rule::TopologySpread]);
}

#[test]
fn capacity_types_are_domains() {
    let web = over(CAPACITY_TYPE_LABEL, |_| {});
    let snapshot = cluster().pods_with("x", 2, "1", "1Gi", web).freeze();
    let pods = &["default/x-0", "default/x-1"];
    refused(
        &snapshot,
        Draft::new(&snapshot).launch("p", &[A], pods),
        Rule::TopologySpread,
    );
    let both = |other: (&str, &str, CapacityType)| {
        let draft = Draft::new(&snapshot).launch("p", &[A, other], &pods[..1]);
        let draft = draft.launch("p", &[("l", "zone-a", Spot)], &pods[1..]);
        broken(&snapshot, draft.body())
    };
    assert_eq!(both(B), []);
    assert_eq!(both(("l", "zone-b", OnDemand)), []);
}

#[test]
fn an_open_key_has_its_values_for_domains_and_needs_one_chosen() {
    let snapshot = |pods: usize| {
        let web = over(RACK, |_| {});
        let cluster = machines().pool_with("p", |pool| {
            pool.requirements = requirements(&[(RACK, Operator::In, &["r1", "r2"])]);
        });
        cluster.pods_with("x", pods, "1", "1Gi", web).freeze()
    };
    let one = snapshot(1);
    let draft = |labels| Draft::new(&one).launch_labelled("p", &[A], &["default/x-0"], labels);
    accepted(&one, draft(&[(RACK, "r1")]));
    refused(&one, draft(&[]), Rule::TopologySpread);
    let two = snapshot(2);
    let draft = |second| {
        let draft = Draft::new(&two).launch_labelled("p", &[A], &["default/x-0"], &[(RACK, "r1")]);
        draft.launch_labelled("p", &[A], &["default/x-1"], &[(RACK, second)])
    };
    accepted(&two, draft("r2"));
    refused(&two, draft("r1"), Rule::TopologySpread);
}

#[test]
fn a_place_without_the_key_is_none() {
    let snapshot = cluster()
        .pods_with("x", 1, "1", "1Gi", over(RACK, |_| {}))
        .freeze();
    assert_eq!(zones(&snapshot, 1, 0), [Rule::TopologySpread]);
}

#[test]
fn zone_and_host_hold_together() {
    let web = |spec: &mut PodSpec| {
        by_zone(spec);
        spread(spec, HOSTNAME_LABEL, 1, "web");
    };
    let snapshot = cluster().pods_with("x", 2, "1", "1Gi", web).freeze();
    assert_eq!(zones(&snapshot, 1, 1), []);
    let draft = Draft::new(&snapshot).launch("p", &[A], &["default/x-0"]);
    refused(
        &snapshot,
        draft.launch("p", &[A], &["default/x-1"]),
        Rule::TopologySpread,
    );
}

#[test]
fn nodes_that_lack_one_of_the_keys_are_no_domains_of_the_others() {
    let snapshot = |keys: &[&'static str]| {
        let cluster = cluster()
            .node_with("n1", "p", "m", "zone-a", |node| {
                node.labels.insert(RACK.to_owned(), "r".to_owned());
            })
            .bound_with("old", "n1", "1", "1Gi", |spec| app(spec, "web"));
        let web = |spec: &mut PodSpec| {
            app(spec, "web");
            for key in keys {
                spread(spec, key, 1, "web");
            }
        };
        cluster.pods_with("x", 1, "1", "1Gi", web).freeze()
    };
    // A node in zone b could be launched, and has no rack.
    for (keys, wrong) in [
        (&[ZONE_LABEL][..], &[Rule::TopologySpread][..]),
        (&[HOSTNAME_LABEL], &[Rule::TopologySpread]),
        (&[ZONE_LABEL, RACK], &[]),
        (&[HOSTNAME_LABEL, RACK], &[]),
    ] {
        let snapshot = snapshot(keys);
        let draft = Draft::new(&snapshot).on_node("n1", &["default/x-0"]);
        assert_eq!(broken(&snapshot, draft.body()), wrong, "{keys:?}");
    }
}
