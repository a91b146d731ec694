//! Parts: nodes that no rule about domains can tell apart are of one part, the tuple of their values of the topology
//! keys in use.
//!
//! The hostname is no such key: each node has its own. A key is in use where a rule of a pod that needs a place has it,
//! or where required anti-affinity of a running pod or a DaemonSet bars such a pod from a domain.

use std::collections::BTreeSet;

use crate::model::instance_type::HOSTNAME_LABEL;
use crate::model::rules::PodTerm;
use crate::model::snapshot::Snapshot;

use super::existing::Room;
use super::group::Grouping;
use super::selectors::Selectors;
use super::universe::Universe;

/// Topology keys in use and the parts that they split all places into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// The keys, in their order.
    pub keys: Vec<String>,
    /// By part: the value of each key, `None` where the label is missing; no two alike.
    pub parts: Vec<Vec<Option<String>>>,
    /// By room: its part.
    pub room_parts: Vec<usize>,
}

/// The keys in use.
#[must_use]
pub fn keys<'a>(snapshot: &'a Snapshot, grouping: &Grouping, selectors: &Selectors<'_>) -> BTreeSet<&'a str> {
    let mut keys = BTreeSet::new();
    if selectors.is_empty() {
        return keys;
    }
    for group in &grouping.groups {
        keys.extend(snapshot.pods[group.pods[0]].spec.rules.topology_keys());
    }
    let running = snapshot.pods.iter().filter(|pod| pod.node().is_some());
    let daemon_sets = snapshot.daemon_sets.iter().map(|daemon_set| &daemon_set.spec);
    // Thousands of pods share a few terms.
    let terms: BTreeSet<&PodTerm> = (running.map(|pod| &pod.spec).chain(daemon_sets))
        .flat_map(|spec| &spec.rules.anti_affinity)
        .filter(|term| term.topology_key != HOSTNAME_LABEL)
        .collect();
    for term in terms {
        let selector = selectors.position(&term.selector);
        if selector.is_some_and(|at| grouping.matches.iter().any(|matches| matches.contains(at))) {
            keys.insert(&term.topology_key);
        }
    }
    keys.remove(HOSTNAME_LABEL);
    keys
}

impl Topology {
    /// Splits all places by these keys; beside it the part of each bin.
    #[must_use]
    pub fn of(universe: &Universe<'_>, rooms: &[Room], keys: &BTreeSet<&str>) -> (Self, Vec<usize>) {
        let of_bin = |bin: usize| -> Vec<Option<&str>> {
            keys.iter().map(|key| universe.label_of_bin(bin, key)).collect()
        };
        let of_room = |room: &Room| -> Vec<Option<&str>> {
            let labels = &universe.snapshot.nodes[room.node].labels;
            let value = |key: &&str| labels.get(*key).map(String::as_str);
            keys.iter().map(value).collect()
        };
        let bins: Vec<Vec<Option<&str>>> = (0..universe.bins.len()).map(of_bin).collect();
        let rooms: Vec<Vec<Option<&str>>> = rooms.iter().map(of_room).collect();
        let parts: BTreeSet<&Vec<Option<&str>>> = bins.iter().chain(&rooms).collect();
        let parts: Vec<&Vec<Option<&str>>> = parts.into_iter().collect();
        let part = |values: &Vec<Option<&str>>| parts.binary_search(&values).unwrap_or_default();
        let owned =
            |values: &&Vec<Option<&str>>| values.iter().map(|value| value.map(str::to_owned)).collect();
        let topology = Self {
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            parts: parts.iter().map(owned).collect(),
            room_parts: rooms.iter().map(part).collect(),
        };
        let of_bins = bins.iter().map(part).collect();
        (topology, of_bins)
    }
}

#[cfg(test)]
mod tests {
    use crate::lower::{Problem, lower};
    use crate::model::instance_type::{CAPACITY_TYPE_LABEL, ZONE_LABEL};
    use crate::model::pod::PodSpec;
    use crate::model::requirement::Operator;
    use crate::testing::build::{Cluster, machine, requirements};
    use crate::testing::rules::{anti_affinity, app, spread};

    const RACK: &str = "example.com/rack";

    fn cluster(racks: &[&str]) -> Cluster {
        Cluster::new()
            .instance_type(machine("m", "8", "32Gi", "1"))
            .pool_with("default", |pool| {
                pool.requirements = requirements(&[(RACK, Operator::In, racks)]);
            })
    }

    fn spread_over(key: &'static str) -> impl Fn(&mut PodSpec) {
        move |spec| {
            app(spec, "web");
            spread(spec, key, 1, "web");
        }
    }

    fn values(problem: &Problem<'_>) -> Vec<Vec<Option<String>>> {
        let mut values: Vec<Vec<Option<String>>> = problem
            .kinds
            .iter()
            .map(|kind| problem.topology.parts[kind.part].clone())
            .collect();
        values.sort();
        values
    }

    fn some(values: &[&str]) -> Vec<Option<String>> {
        values.iter().map(|value| Some((*value).to_owned())).collect()
    }

    #[test]
    fn places_are_split_by_the_keys_that_rules_read_and_no_others() {
        let plain = cluster(&["r1", "r2"]).pods("web", 3, "1", "1Gi").freeze();
        assert_eq!(values(&lower(&plain)), [Vec::<Option<String>>::new()]);
        let zones = cluster(&["r1", "r2"])
            .pods_with("web", 3, "1", "1Gi", spread_over(ZONE_LABEL))
            .node("n", "default", "m", "zone-b")
            .freeze();
        let problem = lower(&zones);
        assert_eq!(problem.topology.keys, [ZONE_LABEL]);
        assert_eq!(values(&problem), [some(&["zone-a"]), some(&["zone-b"])]);
        assert_eq!(
            problem.topology.parts[problem.topology.room_parts[0]],
            some(&["zone-b"])
        );
    }

    #[test]
    fn every_named_value_of_an_open_key_is_a_place() {
        let racks = cluster(&["r1", "r2"])
            .pods_with("web", 3, "1", "1Gi", spread_over(RACK))
            .node_with("n", "default", "m", "zone-b", |node| {
                node.labels.insert(RACK.to_owned(), "r9".to_owned());
            })
            .freeze();
        let problem = lower(&racks);
        assert_eq!(values(&problem), [some(&["r1"]), some(&["r2"])]);
        assert_eq!(
            problem.topology.parts[problem.topology.room_parts[0]],
            some(&["r9"])
        );
        let shape = &problem.universe.shapes[0];
        assert_eq!(
            problem.universe.chosen_labels(shape, &[]).len(),
            1,
            "a launch says its rack"
        );
    }

    #[test]
    fn running_pods_bring_a_key_where_they_keep_pods_off() {
        let with = |name: &'static str| {
            let snapshot = cluster(&["r1"])
                .node("n", "default", "m", "zone-a")
                .bound_with("old", "n", "1", "1Gi", |spec| {
                    anti_affinity(spec, CAPACITY_TYPE_LABEL, name);
                })
                .pods_with("web", 3, "1", "1Gi", |spec| app(spec, "web"))
                .freeze();
            lower(&snapshot).topology.keys
        };
        assert_eq!(with("web"), [CAPACITY_TYPE_LABEL]);
        assert!(with("db").is_empty());
    }
}
