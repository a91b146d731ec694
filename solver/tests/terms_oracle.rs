//! Plans under terms about nodes against all plans there are, on small clusters: each counted by the check alone.
//!
//! The oracle shares pods out to nodes of every type and zone, and takes the check's word for what that costs.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dovetail_solver::check::check;
use dovetail_solver::model::money::{Cost, Price};
use dovetail_solver::model::objective::Weights;
use dovetail_solver::model::offering::CapacityType::OnDemand;
use dovetail_solver::model::snapshot::Snapshot;
use dovetail_solver::pack::random::Random;
use dovetail_solver::testing::build::{Cluster, machine};
use dovetail_solver::testing::draft::Draft;
use dovetail_solver::{PlanOptions, Unlimited, plan};

const ZONES: [&str; 2] = ["zone-a", "zone-b"];
const CASES: u64 = 24;

/// Three types, two zones, two to four pods of two shapes.
fn small(random: &mut Random) -> (Snapshot, usize) {
    let mut cluster = Cluster::new();
    for at in 0..3 {
        let cpu = [2, 4, 8][random.below(3)];
        let memory = cpu * [2, 4, 8][random.below(3)];
        let price = 25 * cpu + 4 * memory + random.below(12);
        let mut instance_type = machine(
            &format!("m{at}"),
            &cpu.to_string(),
            &format!("{memory}Gi"),
            &format!("0.{price:04}"),
        );
        // Nearly as cheap in the other zone.
        let dearer = u64::try_from(random.below(3)).unwrap() * 300;
        for offering in &mut instance_type.offerings {
            if offering.zone.as_str() == "zone-b" {
                offering.price = Price::from_micros(offering.price.micros() + dearer);
            }
        }
        cluster = cluster.instance_type(instance_type);
    }
    cluster = cluster
        .instance_type(machine("huge", "16", "64Gi", "0.9"))
        .pool("default");
    if random.below(2) == 0 {
        cluster = cluster.node_with("old", "default", "m0", "zone-a", |node| node.unschedulable = true);
    }
    let pods = 2 + random.below(3);
    let first = 1 + random.below(pods);
    for (name, count) in [("x", first), ("y", pods - first)] {
        let cpu = format!("{}m", 500 * (1 + random.below(7)));
        let memory = format!("{}Mi", 512 * (1 + random.below(20)));
        cluster = cluster.pods(name, count, &cpu, &memory);
    }
    let weights = Weights {
        fragmentation: Price::from_micros([0, 5_000, 30_000][random.below(3)]),
        zone_imbalance: Price::from_micros([0, 1_000, 10_000][random.below(3)]),
        ..Weights::default()
    };
    cluster.parts.objective.weights.insert("default".into(), weights);
    (cluster.freeze(), pods)
}

struct Oracle<'s> {
    snapshot: &'s Snapshot,
    pods: Vec<String>,
    offers: Vec<(String, &'static str)>,
    /// Nodes to launch: offer and pods.
    nodes: Vec<(usize, Vec<usize>)>,
    best: Option<Cost>,
}

impl Oracle<'_> {
    /// Puts each pod from `next` on to a node there, or to another of any offer.
    fn place(&mut self, next: usize) {
        if next == self.pods.len() {
            return self.judge();
        }
        for node in 0..self.nodes.len() {
            self.nodes[node].1.push(next);
            self.place(next + 1);
            self.nodes[node].1.pop();
        }
        for offer in 0..self.offers.len() {
            self.nodes.push((offer, vec![next]));
            self.place(next + 1);
            self.nodes.pop();
        }
    }

    fn judge(&mut self) {
        let mut draft = Draft::new(self.snapshot);
        for (offer, pods) in &self.nodes {
            let (instance_type, zone) = &self.offers[*offer];
            let pods: Vec<&str> = pods.iter().map(|pod| self.pods[*pod].as_str()).collect();
            draft = draft.launch("default", &[(instance_type, zone, OnDemand)], &pods);
        }
        if let Ok(plan) = check(self.snapshot, draft.plan()) {
            let objective = plan.cost.objective;
            self.best = Some(self.best.map_or(objective, |best| best.min(objective)));
        }
    }
}

fn least(snapshot: &Snapshot) -> Cost {
    let class = snapshot.node_classes.values().next().unwrap();
    let types = class.instance_types.iter().map(|it| it.name.to_string());
    let mut oracle = Oracle {
        snapshot,
        pods: snapshot.pods.iter().map(|pod| pod.name.to_string()).collect(),
        offers: types
            .flat_map(|name| ZONES.map(|zone| (name.clone(), zone)))
            .collect(),
        nodes: Vec::new(),
        best: None,
    };
    oracle.place(0);
    oracle.best.unwrap()
}

#[test]
fn plans_under_terms_are_nearly_always_the_best_there_are() {
    let mut random = Random::new(11);
    let (mut best, mut distance) = (0, 0);
    for case in 0..CASES {
        let (snapshot, pods) = small(&mut random);
        let options = PlanOptions {
            gap: dovetail_solver::model::plan::Gap(0),
            ..PlanOptions::default()
        };
        let plan = plan(&snapshot, &options, &Unlimited).unwrap();
        let least = least(&snapshot);
        assert!(plan.unschedulable.is_empty(), "{pods} pods of case {case}");
        assert_eq!(plan.cost.recounted, Cost::ZERO, "case {case}");
        assert!(
            plan.cost.lower_bound <= least && least <= plan.cost.objective,
            "case {case}"
        );
        best += u64::from(plan.cost.objective == least);
        let above = plan.cost.objective.micros() - least.micros();
        distance = distance.max(above * 1_000 / least.micros());
    }
    assert!(
        best * 10 >= CASES * 9,
        "{best} of {CASES}, {distance} thousandths above at most"
    );
}
