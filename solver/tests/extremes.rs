//! Inputs at the ends of their ranges give a plan or a reason, never a panic and never a wrapped sum.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use dovetail_solver::model::money::Price;
use dovetail_solver::model::name::PodName;
use dovetail_solver::model::objective::Weights;
use dovetail_solver::model::plan::{Checked, Plan};
use dovetail_solver::model::pod::{Pod, PodPlace};
use dovetail_solver::model::resources::{Amount, ResourceName};
use dovetail_solver::model::snapshot::{Snapshot, SnapshotParts};
use dovetail_solver::testing::build::{Cluster, machine};
use dovetail_solver::{PlanOptions, Unlimited, plan};

const ENDS: [u64; 7] = [0, 1, 1 << 32, 1 << 62, (1 << 63) - 1, u64::MAX - 1, u64::MAX];

fn planned(parts: SnapshotParts) -> Plan<Checked> {
    plan(&parts.freeze().unwrap(), &PlanOptions::default(), &Unlimited).unwrap()
}

fn cluster(pods: usize) -> Cluster {
    Cluster::new()
        .instance_type(machine("small", "2", "4Gi", "0.1"))
        .instance_type(machine("large", "4", "8Gi", "0.15"))
        .pool("p")
        .daemon_set("agent", "100m", "64Mi")
        .node("n", "p", "small", "zone-a")
        .pods("x", pods, "1", "1Gi")
}

fn each_pod(parts: &mut SnapshotParts, edit: impl Fn(&mut dovetail_solver::model::resources::Resources)) {
    for pod in &mut parts.pods {
        edit(&mut Arc::make_mut(&mut pod.spec).requests);
    }
}

#[test]
fn requests_of_any_size() {
    for name in [
        ResourceName::Cpu,
        ResourceName::Memory,
        ResourceName::Pods,
        "example.com/thing".into(),
    ] {
        for amount in ENDS {
            let mut parts = cluster(5).parts;
            each_pod(&mut parts, |requests| {
                requests.set(name.clone(), Amount::new(amount));
            });
            let plan = planned(parts);
            let placed = plan.unschedulable.is_empty();
            let fits = amount <= 1 || amount == 1 << 32 && name == ResourceName::Memory;
            let fits = fits
                && (amount == 0 || name != "example.com/thing".into())
                && (amount < 1 << 32 || name != ResourceName::Cpu);
            // 4 GiB fit the larger machine beside the DaemonSet.
            assert_eq!(placed, fits, "{amount} of {name}");
        }
    }
}

#[test]
fn machines_of_any_size() {
    for capacity in ENDS {
        for request in ENDS {
            let mut parts = cluster(5).parts;
            parts.nodes.clear();
            for instance_type in &mut parts.node_classes.values_mut().next().unwrap().instance_types {
                instance_type
                    .capacity
                    .set(ResourceName::Cpu, Amount::new(capacity));
                instance_type
                    .allocatable
                    .set(ResourceName::Cpu, Amount::new(capacity));
            }
            parts.node_pools[0]
                .limits
                .resources
                .set(ResourceName::Cpu, Amount::new(u64::MAX));
            each_pod(&mut parts, |requests| {
                requests.set(ResourceName::Cpu, Amount::new(request));
            });
            let plan = planned(parts);
            let none_placed = plan.unschedulable.len() == 5;
            assert!(none_placed || capacity >= request, "{request} on {capacity}");
        }
    }
}

#[test]
fn prices_and_weights_of_any_size() {
    // A million dollars an hour is the most that is read as a price.
    for price in [0, 1, 1_000_000, 1_000_000_000_000] {
        for weight in [0, 1, 1_000_000, u64::MAX] {
            let mut parts = cluster(5).parts;
            for instance_type in &mut parts.node_classes.values_mut().next().unwrap().instance_types {
                for offering in &mut instance_type.offerings {
                    offering.price = Price::from_micros(price);
                }
            }
            parts.nodes[0].price = Price::from_micros(price);
            let weights = Weights {
                price_millionths: weight,
                node_hour: Price::from_micros(price),
                ..Weights::default()
            };
            parts.objective.weights.insert("p".into(), weights);
            let plan = planned(parts);
            assert!(plan.cost.lower_bound <= plan.cost.objective);
            assert_eq!(
                plan.unschedulable.is_empty(),
                price > 0,
                "a price of zero is no offer: {price}"
            );
        }
    }
}

#[test]
fn sums_of_the_dearest_nodes_stay_in_range() {
    // Thirty nodes of as much as a node may cost are more than 64 bits hold.
    let mut parts = cluster(60).parts;
    let weights = Weights {
        price_millionths: u64::MAX,
        node_hour: Price::from_micros(1_000_000_000_000),
        ..Weights::default()
    };
    parts.objective.weights.insert("p".into(), weights);
    each_pod(&mut parts, |requests| {
        requests.set(ResourceName::Cpu, Amount::new(1_500));
    });
    let plan = planned(parts);
    assert!(plan.unschedulable.is_empty() && plan.cost.lower_bound <= plan.cost.objective);
}

#[test]
fn limits_of_any_size() {
    for limit in ENDS {
        let mut parts = cluster(5).parts;
        parts.node_pools[0]
            .limits
            .resources
            .set(ResourceName::Cpu, Amount::new(limit));
        parts.node_pools[0].limits.nodes = Some(limit);
        assert_eq!(planned(parts).launch.is_empty(), limit <= 1, "{limit}");
    }
}

#[test]
fn numbers_of_offers_of_any_size() {
    for limit in [0, 1, u32::MAX] {
        let mut parts = cluster(5).parts;
        for instance_type in &mut parts.node_classes.values_mut().next().unwrap().instance_types {
            for offering in &mut instance_type.offerings {
                offering.limit = Some(limit);
            }
        }
        assert_eq!(planned(parts).launch.is_empty(), limit == 0, "{limit}");
    }
}

/// Many pods of the largest request: their sum has no type but 128 bits.
#[test]
fn a_hundred_thousand_pods_of_the_largest_request() {
    let mut parts = cluster(1).parts;
    let mut spec = dovetail_solver::model::pod::PodSpec::clone(&parts.pods[0].spec);
    spec.requests.set(ResourceName::Memory, Amount::new(u64::MAX));
    let spec = Arc::new(spec);
    parts.pods = (0..100_000)
        .map(|number| Pod {
            name: PodName::new("default", format!("x-{number}")),
            spec: Arc::clone(&spec),
            place: PodPlace::Pending,
            created: None,
        })
        .collect();
    assert_eq!(planned(parts).unschedulable.len(), 100_000);
}

#[test]
fn nothing_at_all() {
    let empty: [fn() -> Cluster; 5] = [
        Cluster::new,
        || Cluster::new().pods("x", 2, "1", "1Gi"),
        || Cluster::new().pool("p").pods("x", 2, "1", "1Gi"),
        || {
            Cluster::new()
                .instance_type(machine("m", "2", "4Gi", "0.1"))
                .pods("x", 2, "1", "1Gi")
        },
        || {
            Cluster::new()
                .instance_type(machine("m", "0", "0", "0.1"))
                .pool("p")
                .pods("x", 2, "0", "0")
        },
    ];
    for cluster in empty {
        let snapshot: Snapshot = cluster().freeze();
        let plan = plan(&snapshot, &PlanOptions::default(), &Unlimited).unwrap();
        assert_eq!(
            plan.launch.is_empty(),
            plan.unschedulable.len() == snapshot.pods.len()
        );
    }
}

#[test]
fn a_thousand_kinds_of_refused_pods_each_hear_from_every_pool() {
    let mut cluster = cluster(0).pool("q");
    for kind in 0..1_000 {
        cluster = cluster.pods_with(&format!("x{kind}"), 1, "100m", "64Mi", |spec| {
            spec.node_selector.insert("team".to_owned(), kind.to_string());
        });
    }
    let plan = planned(cluster.parts);
    assert_eq!(plan.unschedulable.len(), 1_000);
    for refused in &plan.unschedulable {
        let pools: Vec<&str> = refused
            .reasons
            .iter()
            .filter_map(|reason| reason.node_pool.as_ref())
            .map(dovetail_solver::model::name::NodePoolName::as_str)
            .collect();
        assert_eq!(pools, ["p", "q"]);
        let detail = &refused.reasons[0].detail;
        assert!(
            detail.starts_with("team: the pod needs ") && detail.ends_with("don't have that label"),
            "{detail}"
        );
    }
}
