//! No pod is placed where another has its host port: not with pods that stay, come, or still terminate, and not with
//! those of DaemonSets that the node will have, under any of a launch's offers.
//!
//! Source: Kubernetes documentation, "Assigning Pods to Nodes" and the API reference, `ContainerPort`. kube-scheduler's
//! filter counts every pod that the node has, terminating ones too: their port is free when they are gone. A clash
//! between others than the pods that the plan chooses a place for is no fault of the plan's.

use std::collections::BTreeMap;
use std::fmt;

use crate::model::name::PodName;
use crate::model::rules::HostPort;

use super::daemons::{self, Expected};
use super::launches::Launches;
use super::placement::Placed;
use super::world::World;
use super::{Rule, Violations};

/// A port and who has it.
struct Holder<'a> {
    port: &'a HostPort,
    name: &'a PodName,
    /// The plan chose its place.
    is_placed: bool,
}

/// DaemonSets with ports, and the existing nodes that still expect them.
struct PortDaemons {
    daemon_set: usize,
    nodes: Vec<usize>,
}

pub(super) fn check(world: &World<'_>, launches: &Launches<'_>, placed: &Placed, found: &mut Violations) {
    let has_ports = |spec: usize| !world.specs[spec].rules.host_ports.is_empty();
    if !(0..world.specs.len()).any(has_ports) {
        return;
    }
    let asks = |pods: &[usize]| pods.iter().any(|pod| has_ports(world.spec_of[*pod]));
    let daemon_sets = world.snapshot.daemon_sets.iter().enumerate();
    let with_ports = daemon_sets.filter(|(_, daemon_set)| !daemon_set.spec.rules.host_ports.is_empty());
    let daemons: Vec<PortDaemons> = with_ports
        .map(|(daemon_set, _)| PortDaemons {
            daemon_set,
            nodes: daemons::on_nodes(world, placed, daemon_set),
        })
        .collect();
    for (node, pods) in placed.on_node.iter().filter(|(_, pods)| asks(pods)) {
        let mut holders = Vec::new();
        for pod in world.pods_on[*node].iter().chain(pods) {
            add_pod(world, *pod, &mut holders);
        }
        let expected = daemons
            .iter()
            .filter(|daemons| daemons.nodes.binary_search(node).is_ok());
        for daemons in expected {
            add_daemon(world, daemons.daemon_set, &mut holders);
        }
        clashes(
            holders,
            format_args!("node {}", world.snapshot.nodes[*node].name),
            found,
        );
    }
    let mut expected: BTreeMap<(usize, usize), bool> = BTreeMap::new();
    for (launch, pods) in placed.in_launch.iter().enumerate().filter(|(_, pods)| asks(pods)) {
        let mut holders = Vec::new();
        for pod in pods {
            add_pod(world, *pod, &mut holders);
        }
        if let Some(at) = launches.filling_of[launch] {
            let filling = &launches.fillings[at];
            for PortDaemons { daemon_set, .. } in &daemons {
                let comes = *expected.entry((at, *daemon_set)).or_insert_with(|| {
                    daemons::on_launch(world, launches, filling, *daemon_set) != Expected::Never
                });
                if comes {
                    add_daemon(world, *daemon_set, &mut holders);
                }
            }
        }
        clashes(holders, format_args!("launch/{launch}"), found);
    }
}

fn add_pod<'a>(world: &World<'a>, pod: usize, holders: &mut Vec<Holder<'a>>) {
    let is_placed = world.needs_place(pod);
    let pod = &world.snapshot.pods[pod];
    let ports = &pod.spec.rules.host_ports;
    holders.extend(ports.iter().map(|port| Holder {
        port,
        name: &pod.name,
        is_placed: is_placed && !pod.is_daemon(),
    }));
}

fn add_daemon<'a>(world: &World<'a>, daemon_set: usize, holders: &mut Vec<Holder<'a>>) {
    let daemon_set = &world.snapshot.daemon_sets[daemon_set];
    let ports = &daemon_set.spec.rules.host_ports;
    holders.extend(ports.iter().map(|port| Holder {
        port,
        name: &daemon_set.name,
        is_placed: false,
    }));
}

fn clashes(mut holders: Vec<Holder<'_>>, place: impl fmt::Display, found: &mut Violations) {
    holders.sort_by_key(|holder| (holder.port.number, holder.port.protocol, !holder.is_placed));
    let alike = holders
        .chunk_by(|one, two| (one.port.number, one.port.protocol) == (two.port.number, two.port.protocol));
    for holders in alike {
        // The placed ones stand first, so each pair with one of them is seen once, and named once.
        for (at, holder) in holders.iter().enumerate().filter(|(_, holder)| holder.is_placed) {
            let other = holders[at + 1..]
                .iter()
                .find(|other| other.name != holder.name && other.port.clashes_with(holder.port));
            if let Some(other) = other {
                let HostPort { number, protocol, .. } = holder.port;
                let detail = format!(
                    "takes host port {number}/{protocol:?} on {place}, which {} has",
                    other.name
                );
                found.add(Rule::HostPorts, holder.name, detail);
            }
        }
    }
}
