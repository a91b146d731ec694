//! Rules about other pods, domains, ports and volumes, and the rows and places that come of them.

mod host_ports;
mod min_values;
mod pod_affinity;
mod subnets;
mod topology_spread;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::lower::side::{Excess, Spread};
use crate::lower::{Problem, lower};
use crate::model::instance_type::{HOSTNAME_LABEL, ZONE_LABEL};
use crate::model::pod::{PodPlace, PodSpec};
use crate::model::requirement::Operator;
use crate::model::resources::{Amount, ResourceName, Resources};
use crate::model::snapshot::Snapshot;
use crate::testing::build::{Cluster, in_zone, machine, requirements, taint};
use crate::testing::rules::{affinity, anti_affinity, app, host_port, spread, volume};
use crate::testing::synthetic::{group, groups};

fn cluster() -> Cluster {
    Cluster::new()
        .instance_type(machine("m", "8", "32Gi", "1"))
        .pool("default")
}

fn pods(cluster: Cluster, name: &str, count: usize, edit: impl Fn(&mut PodSpec)) -> Cluster {
    cluster.pods_with(name, count, "1", "1Gi", |spec| {
        app(spec, name);
        edit(spec);
    })
}

fn runs(cluster: Cluster, name: &str, node: &str, of: &str, edit: impl Fn(&mut PodSpec)) -> Cluster {
    cluster.bound_with(name, node, "1", "1Gi", |spec| {
        app(spec, of);
        edit(spec);
    })
}

fn two_nodes(cluster: Cluster) -> Cluster {
    cluster
        .node("n1", "default", "m", "zone-a")
        .node("n2", "default", "m", "zone-b")
}

/// Zones in which nodes may be launched for a group.
fn launched_in(problem: &Problem<'_>, name: &str) -> BTreeSet<String> {
    let usable = problem.usable[group(problem, name)].ones();
    let bins = usable.flat_map(|kind| problem.kinds[kind].bins.clone());
    bins.map(|bin| problem.universe.offering(bin).zone.to_string())
        .collect()
}

/// Existing nodes that a group may use.
fn nodes_of<'a>(problem: &'a Problem<'_>, name: &str) -> BTreeSet<&'a str> {
    let profile = problem.groups[group(problem, name)].profile;
    let rooms = problem
        .rooms
        .iter()
        .filter(|room| room.profiles.contains(profile));
    rooms
        .map(|room| problem.snapshot.nodes[room.node].name.as_str())
        .collect()
}

fn room(problem: &Problem<'_>, name: &str) -> usize {
    let mut rooms = problem.rooms.iter();
    rooms
        .position(|room| problem.snapshot.nodes[room.node].name.as_str() == name)
        .unwrap()
}

fn both_zones() -> BTreeSet<String> {
    ["zone-a", "zone-b"].map(str::to_owned).into()
}

/// Pods that are there, by domain in the order of values.
fn there(spread: &Spread) -> Vec<u64> {
    spread.domains.iter().map(|domain| domain.there).collect()
}

#[test]
fn volumes_narrow_places() {
    let snapshot = two_nodes(pods(cluster(), "db", 1, |spec| volume(spec, "data", "zone-b"))).freeze();
    let problem = lower(&snapshot);
    assert_eq!(launched_in(&problem, "db"), ["zone-b".to_owned()].into());
    assert_eq!(nodes_of(&problem, "db"), ["n2"].into());
    assert!(problem.side.is_empty());
}

#[test]
fn a_policy_keeps_pods_off_accelerators() {
    let gpu = || ResourceName::from("amd.com/gpu");
    let lowered = |keeps_off: bool| {
        let mut with = machine("g", "8", "32Gi", "0.5");
        with.capacity.set(gpu(), Amount::new(2));
        with.allocatable.set(gpu(), Amount::new(2));
        let cluster = cluster().instance_type(with).node("n1", "default", "g", "zone-a");
        let cluster = cluster.node("n2", "default", "m", "zone-b");
        let mut cluster = pods(pods(cluster, "cpu", 1, |_| {}), "gpu", 1, |spec| {
            spec.requests.set(gpu(), Amount::new(1));
        });
        if keeps_off {
            cluster
                .parts
                .placement
                .keep_off_accelerators
                .insert("default".into());
        }
        let snapshot = cluster.freeze();
        let problem = lower(&snapshot);
        ["cpu", "gpu"].map(|name| {
            let kinds = problem.usable[group(&problem, name)].ones();
            let dearest = kinds.map(|kind| problem.kinds[kind].cost).max();
            let nodes: Vec<String> = nodes_of(&problem, name).into_iter().map(str::to_owned).collect();
            (nodes, dearest)
        })
    };
    let (both, off, on) = (
        vec!["n1".to_owned(), "n2".to_owned()],
        vec!["n2".to_owned()],
        500_000,
    );
    assert_eq!(
        lowered(false),
        [(both.clone(), Some(on)), (both.clone(), Some(on))]
    );
    assert_eq!(lowered(true), [(off, Some(1_000_000)), (both, Some(on))]);
}

#[test]
fn headroom_is_taken_off_new_nodes_and_counts_what_no_pod_asks_for() {
    let rooms = |headroom: &[(&str, u64)]| {
        let mut cluster = pods(two_nodes(cluster()), "web", 1, |_| {});
        let mut kept = Resources::new();
        for (name, amount) in headroom {
            kept.set(ResourceName::from(*name), Amount::new(*amount));
        }
        cluster.parts.placement.headroom.insert("default".into(), kept);
        let snapshot = cluster.freeze();
        let problem = lower(&snapshot);
        let of_cpu = |row: &[u64]| row[0];
        let new: Vec<u64> = (0..problem.kinds.len())
            .map(|kind| of_cpu(problem.room(kind)))
            .collect();
        (new, of_cpu(&problem.rooms[0].free))
    };
    assert_eq!(rooms(&[]), (vec![8_000], 8_000));
    assert_eq!(rooms(&[("cpu", 1_500)]), (vec![6_500], 8_000));
    assert_eq!(rooms(&[("example.com/widget", 1)]), (vec![], 8_000));
}

#[test]
fn names_of_pods_and_apps_decide_nothing() {
    let sizes = |[one, two]: [&'static str; 2]| {
        let rules = |name: &'static str| {
            move |spec: &mut PodSpec| {
                spread(spec, ZONE_LABEL, 1, name);
                anti_affinity(spec, HOSTNAME_LABEL, name);
            }
        };
        let cluster = pods(pods(two_nodes(cluster()), one, 3, rules(one)), two, 5, rules(two));
        let snapshot: Snapshot = runs(cluster, "old", "n1", one, |_| {}).freeze();
        let problem = lower(&snapshot);
        let side = &problem.side;
        let mut spreads: Vec<(Vec<u64>, u64)> =
            side.spreads.iter().map(|row| (there(row), row.skew)).collect();
        spreads.sort();
        let mut caps: Vec<usize> = side.caps.iter().map(|cap| cap.there.len()).collect();
        caps.sort_unstable();
        (problem.kinds.len(), spreads, caps)
    };
    assert_eq!(sizes(["a", "b"]), sizes(["z", "m"]));
}
