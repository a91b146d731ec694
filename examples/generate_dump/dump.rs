//! Puts fleet and workloads together into one `List`, as `kubectl get … -A -o yaml` prints it.

use crate::fleet::{Node, POOLS, fleet};
use crate::machines;
use crate::objects;
use crate::workloads::{AGENTS, WORKLOADS, Workload};

/// Numbers that look random and are the same every time (SplitMix64).
pub(crate) struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to one less than this.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Of the letters that Kubernetes uses for names: no vowels, nothing that reads like another.
    pub(crate) fn letters(&mut self, count: usize) -> String {
        self.of("bcdfghjklmnpqrstvwxz2456789", count)
    }

    /// Hexadecimal digits.
    pub(crate) fn hexadecimal(&mut self, count: usize) -> String {
        self.of("0123456789abcdef", count)
    }

    fn of(&mut self, alphabet: &str, count: usize) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        let end = letters.len() as u64;
        let one = |_| {
            letters
                .get(usize::try_from(self.below(end)).unwrap_or(0))
                .copied()
        };
        (0..count).filter_map(one).collect()
    }

    /// As an API server makes them.
    pub(crate) fn uid(&mut self) -> String {
        let part = |numbers: &mut Self, count| numbers.hexadecimal(count);
        let (one, two, three) = (part(self, 8), part(self, 4), part(self, 3));
        format!("{one}-{two}-4{three}-a{}-{}", part(self, 3), part(self, 12))
    }

    /// A resource version.
    pub(crate) fn version(&mut self) -> u64 {
        81_000_000 + self.below(900_000)
    }
}

/// The whole dump.
pub(crate) fn dump() -> String {
    let mut numbers = Numbers(2026);
    let mut nodes = fleet(&mut numbers);
    let mut pods = Vec::new();
    for node in &mut nodes {
        for agent in AGENTS.iter().filter(|agent| !agent.gpu || node.machine.gpus > 0) {
            node.free_milli -= agent.milli;
            node.free_mib -= agent.mib;
            pods.push(objects::daemon_pod(agent, node, &mut numbers));
        }
    }
    let mut owners = Vec::new();
    for workload in &WORKLOADS {
        let hash = numbers.letters(10);
        owners.push(objects::deployment(workload, &mut numbers));
        owners.push(objects::replica_set(workload, &hash, &mut numbers));
        for _ in 0..workload.running {
            let node = emptiest(&mut nodes, workload);
            pods.push(objects::pod(workload, &hash, Some(node), &mut numbers));
        }
        for _ in 0..workload.pending {
            pods.push(objects::pod(workload, &hash, None, &mut numbers));
        }
    }
    let mut items: Vec<String> = nodes
        .iter()
        .map(|node| machines::node(node, &mut numbers))
        .collect();
    items.extend(pods);
    items.extend(owners);
    items.extend(
        AGENTS
            .iter()
            .map(|agent| objects::daemon_set(agent, nodes.len(), &mut numbers)),
    );
    items.extend(POOLS.iter().map(|pool| machines::node_pool(pool, &mut numbers)));
    items.extend(nodes.iter().map(|node| machines::node_claim(node, &mut numbers)));
    items.push(machines::node_class(&mut numbers));
    objects::list(&items)
}

/// The node of its pool with the most CPU left, as the scheduler likes it. The tables leave room for every running pod.
fn emptiest<'a>(nodes: &'a mut [Node], workload: &Workload) -> &'a Node {
    let fits = |node: &&mut Node| {
        node.pool.name == workload.pool && node.free_milli >= workload.milli && node.free_mib >= workload.mib
    };
    let gpus = u64::from(workload.pool == "gpu");
    let node = nodes
        .iter_mut()
        .filter(fits)
        .filter(|node| node.free_gpus >= gpus)
        .max_by_key(|node| (node.free_milli, node.free_mib))
        .expect("the fleet has room for every running pod");
    node.free_milli -= workload.milli;
    node.free_mib -= workload.mib;
    node.free_gpus -= gpus;
    node
}
