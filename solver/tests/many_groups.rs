//! Thousands of groups, no two alike: near-equal ones are packed and priced as one, and nothing is lost by it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dovetail_solver::model::instance_type::{CAPACITY_TYPE_LABEL, ZONE_LABEL};
use dovetail_solver::model::money::Price;
use dovetail_solver::model::offering::{CapacityType, Offering};
use dovetail_solver::model::plan::{Checked, Plan, Work};
use dovetail_solver::model::requirement::Labels;
use dovetail_solver::model::snapshot::Snapshot;
use dovetail_solver::pack::random::Random;
use dovetail_solver::testing::build::{Cluster, ZONES, machine};
use dovetail_solver::testing::moves::permuted;
use dovetail_solver::{Engine, PlanOptions, Unlimited, WorkLimit, plan};

const GROUPS: usize = 5_000;

/// Three families in five sizes, on demand and spot, spot at other prices in each zone.
fn catalogue(mut cluster: Cluster) -> Cluster {
    for (family, memory_a_core, price_a_core) in [("c", 2, 40_000), ("m", 4, 50_000), ("r", 8, 65_000)] {
        for (step, cores) in [2, 4, 8, 16, 32].into_iter().enumerate() {
            let (cpu, memory) = (cores.to_string(), format!("{}Gi", cores * memory_a_core));
            let mut machine = machine(&format!("{family}{cores}"), &cpu, &memory, "1");
            machine.labels = Labels::from([("example.com/family".to_owned(), family.to_owned())]);
            for amounts in [&mut machine.capacity, &mut machine.allocatable] {
                amounts.set(
                    "pods".into(),
                    dovetail_solver::model::resources::Amount::new(cores * 15),
                );
            }
            let price = price_a_core * cores;
            let offer = |zone: &&str, capacity_type, price| Offering {
                zone: (*zone).into(),
                capacity_type,
                price: Price::from_micros(price),
                ..machine.offerings[0].clone()
            };
            let on_demand = ZONES
                .iter()
                .map(|zone| offer(zone, CapacityType::OnDemand, price));
            let spot = ZONES.iter().enumerate().map(|(at, zone)| {
                let hundredths = 35 + (13 * step as u64 + 29 * at as u64 + 7 * memory_a_core) % 25;
                offer(zone, CapacityType::Spot, price * hundredths / 100)
            });
            machine.offerings = on_demand.chain(spot).collect();
            cluster = cluster.instance_type(machine);
        }
    }
    cluster
}

/// A pod of each size, one in five with a node selector.
fn cluster() -> Snapshot {
    let mut cluster = catalogue(Cluster::new().pool("default"));
    let mut random = Random::new(3);
    for number in 0..GROUPS {
        let most = 50 << random.below(7);
        let cpu = 50 + random.below(most);
        let memory = 64 + cpu * (1 + random.below(8)) / 2 + random.below(200);
        let selector = match random.below(20) {
            0 | 1 => Some((ZONE_LABEL, ZONES[random.below(2)])),
            2 => Some((CAPACITY_TYPE_LABEL, "on-demand")),
            3 => Some(("example.com/family", ["c", "m", "r"][random.below(3)])),
            _ => None,
        };
        let name = format!("web-{number}");
        cluster = cluster.pods_with(&name, 1, &format!("{cpu}m"), &format!("{memory}Mi"), |spec| {
            spec.node_selector = selector
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect();
        });
    }
    cluster.freeze()
}

fn planned(snapshot: &Snapshot, engine: Engine) -> Plan<Checked> {
    let options = PlanOptions {
        engine,
        work_limit: WorkLimit(Some(100_000_000)),
        ..PlanOptions::default()
    };
    plan(snapshot, &options, &Unlimited).unwrap()
}

#[test]
fn five_thousand_groups_come_close_to_their_bound_with_little_effort() {
    let plan = planned(&cluster(), Engine::Auto);
    assert!(plan.work.groups > GROUPS * 9 / 10, "{} groups", plan.work.groups);
    assert!(plan.unschedulable.is_empty());
    let phases: Vec<&str> = plan.work.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert!(phases.contains(&"merged"), "{phases:?}");
    let (bound, objective) = (plan.cost.lower_bound.micros(), plan.cost.objective.micros());
    println!(
        "{} over the bound, in millionths; {phases:?}",
        (objective - bound) * 1_000_000 / bound
    );
    assert!(objective * 100 <= bound * 106, "{objective} over {bound}");
}

#[test]
fn the_order_of_five_thousand_pods_changes_nothing() {
    let bytes = |snapshot: &Snapshot| {
        let mut body = planned(snapshot, Engine::Auto).into_body();
        body.work = Work::default();
        serde_json::to_vec(&body).unwrap()
    };
    let snapshot = cluster();
    assert_eq!(bytes(&snapshot), bytes(&permuted(&snapshot)));
}
