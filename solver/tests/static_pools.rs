//! Static pools and what the rest of a plan makes of their nodes.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dovetail_solver::lower::rules::static_pools::{missing, standing};
use dovetail_solver::model::instance_type::HOSTNAME_LABEL;
use dovetail_solver::model::money::Price;
use dovetail_solver::model::offering::Offering;
use dovetail_solver::model::plan::{Launch, PlanBody};
use dovetail_solver::model::pod::PodSpec;
use dovetail_solver::model::requirement::Operator;
use dovetail_solver::model::resources::{Amount, ResourceName};
use dovetail_solver::testing::build::{Cluster, machine, requirements};
use dovetail_solver::testing::rules::{app, spread};
use dovetail_solver::{PlanOptions, Unlimited, plan};

fn kept(replicas: u64, limit: Option<u64>) -> Cluster {
    Cluster::new()
        .instance_type(machine("small", "2", "8Gi", "0.1"))
        .instance_type(machine("large", "4", "16Gi", "0.15"))
        .pool_with("kept", |pool| {
            pool.replicas = Some(replicas);
            pool.limits.nodes = limit;
        })
}

fn planned(cluster: Cluster) -> PlanBody {
    plan(&cluster.freeze(), &PlanOptions::default(), &Unlimited)
        .unwrap()
        .into_body()
}

fn of_pool<'p>(plan: &'p PlanBody, pool: &str) -> Vec<&'p Launch> {
    plan.launch
        .iter()
        .filter(|launch| launch.node_pool.as_str() == pool)
        .collect()
}

#[test]
fn nodes_on_their_way_out_are_missing_and_count_towards_the_limit() {
    let cluster = |replicas, limit| {
        kept(replicas, limit)
            .node("n1", "kept", "small", "zone-a")
            .node_with("n2", "kept", "small", "zone-a", |node| node.deleting = true)
            .freeze()
    };
    for (replicas, limit, expected) in [
        (0, None, (0, 0)),
        (1, None, (0, 0)),
        (4, None, (3, 3)),
        (4, Some(4), (3, 2)),
        (4, Some(1), (3, 0)),
        (u64::MAX, Some(3), (u64::MAX - 1, 1)),
    ] {
        let snapshot = cluster(replicas, limit);
        assert_eq!(missing(&snapshot, &snapshot.node_pools[0]), expected);
    }
}

#[test]
fn the_cheapest_is_launched_and_what_is_limited_while_there_is_some() {
    let mut discounted = machine("large", "4", "16Gi", "0.15");
    let cheap = Offering {
        price: Price::from_micros(50_000),
        limit: Some(1),
        commitment: Some("plan".to_owned()),
        ..discounted.offerings[0].clone()
    };
    discounted.offerings.insert(0, cheap);
    let cluster = Cluster::new()
        .instance_type(machine("small", "2", "8Gi", "0.1"))
        .instance_type(discounted)
        .pool_with("kept", |pool| pool.replicas = Some(2))
        .pool("default");
    let plan = planned(cluster.pods("x", 1, "3", "1Gi"));
    assert_eq!(
        of_pool(&plan, "default").len(),
        0,
        "the discounted one that comes anyway has room"
    );
    let kept = of_pool(&plan, "kept");
    assert_eq!(kept[0].price.micros(), 50_000);
    assert!(kept[0].pods.len() == 1 && kept[0].alternatives.is_empty());
    assert_eq!(kept[1].instance_type.as_str(), "small");
    assert!(kept[1].pods.is_empty() && kept[1].alternatives.len() > 1);
    assert_eq!(plan.cost.launched.micros(), 150_000);
    assert_eq!(plan.cost.lower_bound, plan.cost.objective);
}

#[test]
fn daemon_sets_and_rules_see_the_nodes_to_come() {
    let with = |replicas| {
        let cluster = kept(replicas, None).daemon_set("agent", "1500m", "1Gi");
        let web = |spec: &mut PodSpec| {
            app(spec, "web");
            spread(spec, HOSTNAME_LABEL, 1, "web");
        };
        planned(cluster.pool("default").pods_with("web", 2, "500m", "1Gi", web))
    };
    let plan = with(2);
    let kept = of_pool(&plan, "kept");
    assert!(
        plan.launch.len() == 2 && kept.iter().all(|launch| launch.pods.len() == 1),
        "{:?}",
        plan.launch
    );
    assert!(
        kept.iter()
            .all(|launch| launch.requests.get(&ResourceName::Cpu) == Amount::new(2_000))
    );
    assert_eq!(with(3).launch.len(), 3, "nothing beside the pool's own three");
}

#[test]
fn a_pod_that_moves_from_a_node_on_its_way_out_moves_to_a_launch() {
    let cluster = kept(1, None)
        .node_with("n1", "kept", "small", "zone-a", |node| node.deleting = true)
        .bound("x", "n1", "1", "1Gi");
    let plan = planned(cluster);
    assert_eq!(plan.moves.len(), 1);
    assert_eq!(
        (plan.moves[0].from.as_str(), plan.moves[0].to.as_str()),
        ("n1", "launch/0")
    );
    assert!(plan.nodes.is_empty() && plan.cost.before == plan.cost.after);
}

#[test]
fn open_keys_are_chosen_where_somebody_reads_them() {
    let cluster = |selected: bool| {
        let cluster = Cluster::new()
            .instance_type(machine("m", "2", "8Gi", "0.1"))
            .pool_with("kept", |pool| {
                pool.replicas = Some(1);
                pool.requirements = requirements(&[("team", Operator::In, &["a", "b"])]);
            });
        cluster.pods_with("x", usize::from(selected), "1", "1Gi", |spec| {
            spec.node_selector.insert("team".to_owned(), "a".to_owned());
        })
    };
    assert!(standing(&cluster(false).freeze())[0].first.chosen.is_empty());
    let plan = planned(cluster(true));
    assert_eq!(plan.launch[0].labels["team"], "a");
    assert_eq!(plan.launch[0].pods.len(), 1);
}
