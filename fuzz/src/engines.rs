//! Small clusters from bytes: what one engine says of the cost must not contradict what another says.
//!
//! Every plan is checked by its type; here bounds, costs and refused pods of all engines are held against each other, and
//! in tiny clusters against the exact optimum.

use dovetail_solver::model::money::{Cost, Price};
use dovetail_solver::model::offering::CapacityType;
use dovetail_solver::model::plan::{Checked, Gap, Plan};
use dovetail_solver::model::resources::{Amount, ResourceName};
use dovetail_solver::model::snapshot::Snapshot;
use dovetail_solver::testing::build::{Cluster, ZONES, in_zone, machine};
use dovetail_solver::testing::exact::{optimum, wanting};
use dovetail_solver::{Engine, PlanOptions, Unlimited, WorkLimit, plan};

/// Enough for each engine to get somewhere in a small cluster, and no more.
const WORK: u64 = 3_000_000;
/// Pods up to which the optimum is found by enumeration in milliseconds.
const TINY: usize = 4;

/// All engines on one cluster: no bound above a cost, none dearer than the baseline, none below the optimum.
pub(crate) fn engines_agree(data: &[u8]) {
    let snapshot = cluster(&mut Bytes(data));
    let greedy = planned(&snapshot, Engine::Greedy);
    let plans = [planned(&snapshot, Engine::Ilp), planned(&snapshot, Engine::Auto)];
    let exact = (wanting(&snapshot).len() <= TINY).then(|| optimum(&snapshot));
    for plan in plans.iter().chain([&greedy]) {
        let (cost, refused) = (plan.cost.objective, plan.unschedulable.len());
        assert!(refused <= greedy.unschedulable.len(), "{refused} pods refused");
        assert!(plan.cost.lower_bound <= cost);
        if refused == greedy.unschedulable.len() {
            assert!(
                cost <= greedy.cost.objective,
                "{cost} is dearer than the baseline"
            );
        }
        for other in plans.iter().chain([&greedy]) {
            // A bound is on placing the same pods.
            if other.unschedulable.is_empty() && refused == 0 {
                let bound = other.cost.lower_bound;
                assert!(bound <= cost, "a bound of {bound} and a cost of {cost}");
            }
        }
        if let Some(exact) = exact {
            agrees_with(exact, plan, refused);
        }
    }
}

fn agrees_with(exact: Option<Cost>, plan: &Plan<Checked>, refused: usize) {
    match exact {
        Some(exact) if refused == 0 => {
            let (bound, cost) = (plan.cost.lower_bound, plan.cost.objective);
            assert!(bound <= exact && exact <= cost, "{bound} ≤ {exact} ≤ {cost}");
        }
        // Under limits a heuristic may paint itself into a corner.
        Some(_) => {}
        None => assert!(refused > 0, "all pods are placed, which can't be"),
    }
}

fn planned(snapshot: &Snapshot, engine: Engine) -> Plan<Checked> {
    let options = PlanOptions {
        engine,
        gap: Gap(0),
        work_limit: WorkLimit(Some(WORK)),
        ..PlanOptions::default()
    };
    plan(snapshot, &options, &Unlimited).expect("an engine that fails costs nothing but itself")
}

/// Numbers from bytes; zero when they have run out.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u64 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        u64::from(*first)
    }

    /// Below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.byte() % end
    }

    /// In one of so many cases.
    fn once_in(&mut self, cases: u64) -> bool {
        self.below(cases) == 1
    }
}

/// Up to four types, two nodes and four groups of up to six pods each.
fn cluster(bytes: &mut Bytes<'_>) -> Snapshot {
    let mut cluster = Cluster::new();
    for number in 0..=bytes.below(4) {
        let (cpu, memory) = (1 + bytes.below(16), 1 + bytes.below(64));
        let price = Price::from_micros(1 + bytes.byte() * 1_000).to_string();
        let mut instance_type = machine(
            &format!("type-{number}"),
            &cpu.to_string(),
            &format!("{memory}Gi"),
            &price,
        );
        if bytes.once_in(4) {
            instance_type.offerings[0].limit = Some(1);
        }
        if bytes.once_in(4) {
            let mut spot = instance_type.offerings[1].clone();
            spot.capacity_type = CapacityType::Spot;
            spot.price = Price::from_micros(1 + bytes.byte() * 300);
            instance_type.offerings.push(spot);
        }
        cluster = cluster.instance_type(instance_type);
    }
    let (nodes, cpu) = (bytes.once_in(6), bytes.once_in(6));
    let limit = 1 + bytes.below(4);
    cluster = cluster.pool_with("default", |pool| {
        if nodes {
            pool.limits.nodes = Some(limit);
        }
        if cpu {
            pool.limits
                .resources
                .set(ResourceName::Cpu, Amount::new(limit * 4_000));
        }
    });
    if bytes.once_in(4) {
        let cpu = format!("{}m", bytes.byte());
        cluster = cluster.daemon_set("agent", &cpu, "64Mi");
    }
    for number in 0..bytes.below(3) {
        cluster = cluster.node(&format!("node-{number}"), "default", "type-0", ZONES[0]);
    }
    for number in 0..=bytes.below(4) {
        let count = 1 + usize::try_from(bytes.below(6)).unwrap_or(0);
        let (cpu, memory) = (bytes.byte() * 50, bytes.byte() * 128);
        let zone = bytes.once_in(4).then(|| ZONES[usize::from(bytes.once_in(2))]);
        cluster = cluster.pods_with(
            &format!("group-{number}"),
            count,
            &format!("{cpu}m"),
            &format!("{memory}Mi"),
            |spec| {
                if let Some(zone) = zone {
                    spec.node_selector.extend(in_zone(zone));
                }
            },
        );
    }
    cluster.freeze()
}
