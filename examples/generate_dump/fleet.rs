//! The nodes of the dump: four pools, a few machine sizes each, and the room that is left on every one.

use crate::dump::Numbers;

/// A machine size with what its kubelet reports.
#[derive(Clone, Copy)]
pub(crate) struct Machine {
    pub(crate) name: &'static str,
    pub(crate) arch: &'static str,
    pub(crate) vcpus: u64,
    pub(crate) memory_gib: u64,
    pub(crate) gpus: u64,
}

/// All of them have three network interfaces or four, of fifteen addresses each: 58 pods.
pub(crate) const POD_SLOTS: u64 = 58;

impl Machine {
    /// What the kernel leaves of the memory that EC2 sells, in KiB: about 3.6 % go to the hypervisor and firmware.
    pub(crate) fn memory_kib(self) -> u64 {
        self.memory_gib * 1024 * 1024 * 964 / 1000
    }

    /// Less the kubelet's reserve and its eviction threshold.
    pub(crate) fn allocatable_kib(self) -> u64 {
        self.memory_kib() - (11 * POD_SLOTS + 255 + 100) * 1024
    }

    /// The kubelet keeps 80 milli-CPUs of four and 2.5 of each one more.
    pub(crate) fn allocatable_milli(self) -> u64 {
        self.vcpus * 1000 - 80 - (self.vcpus - 4) * 5 / 2
    }

    /// `m7i` of `m7i.xlarge`.
    pub(crate) fn family(self) -> &'static str {
        self.name.split('.').next().unwrap_or(self.name)
    }
}

const fn machine(name: &'static str, arch: &'static str, vcpus: u64, memory_gib: u64, gpus: u64) -> Machine {
    Machine {
        name,
        arch,
        vcpus,
        memory_gib,
        gpus,
    }
}

/// A NodePool and the machines that it has launched.
pub(crate) struct Pool {
    pub(crate) name: &'static str,
    pub(crate) capacity_type: &'static str,
    pub(crate) taint: Option<&'static str>,
    pub(crate) machines: &'static [(Machine, usize)],
}

const M7I: Machine = machine("m7i.xlarge", "amd64", 4, 16, 0);
const M7I_2: Machine = machine("m7i.2xlarge", "amd64", 8, 32, 0);
const C7I_2: Machine = machine("c7i.2xlarge", "amd64", 8, 16, 0);
const R7I: Machine = machine("r7i.xlarge", "amd64", 4, 32, 0);
const C6I_2: Machine = machine("c6i.2xlarge", "amd64", 8, 16, 0);
const M6I_2: Machine = machine("m6i.2xlarge", "amd64", 8, 32, 0);
const M7G_2: Machine = machine("m7g.2xlarge", "arm64", 8, 32, 0);
const C7G: Machine = machine("c7g.xlarge", "arm64", 4, 8, 0);
const G5: Machine = machine("g5.2xlarge", "amd64", 8, 32, 1);

/// The four pools.
pub(crate) const POOLS: [Pool; 4] = [
    Pool {
        name: "web",
        capacity_type: "on-demand",
        taint: None,
        machines: &[(M7I, 14), (M7I_2, 12), (C7I_2, 8), (R7I, 4)],
    },
    Pool {
        name: "batch",
        capacity_type: "spot",
        taint: Some("example.com/batch"),
        machines: &[(C6I_2, 8), (M6I_2, 6)],
    },
    Pool {
        name: "graviton",
        capacity_type: "spot",
        taint: Some("example.com/arm64"),
        machines: &[(M7G_2, 7), (C7G, 5)],
    },
    Pool {
        name: "gpu",
        capacity_type: "on-demand",
        taint: Some("nvidia.com/gpu"),
        machines: &[(G5, 2)],
    },
];

/// Zones, and the second byte of their addresses.
pub(crate) const ZONES: [(&str, &str); 3] = [
    ("us-east-1a", "use1-az1"),
    ("us-east-1b", "use1-az2"),
    ("us-east-1c", "use1-az3"),
];

/// One node and what is still free on it.
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) claim: String,
    pub(crate) instance: String,
    pub(crate) pool: &'static Pool,
    pub(crate) machine: Machine,
    pub(crate) zone: usize,
    pub(crate) created: String,
    pub(crate) address: String,
    pub(crate) free_milli: u64,
    pub(crate) free_mib: u64,
    pub(crate) free_gpus: u64,
}

/// The fleet, in the order of its pools.
pub(crate) fn fleet(numbers: &mut Numbers) -> Vec<Node> {
    let mut nodes = Vec::new();
    for pool in &POOLS {
        for (machine, count) in pool.machines {
            for _ in 0..*count {
                nodes.push(node(pool, *machine, nodes.len() % ZONES.len(), numbers));
            }
        }
    }
    nodes
}

fn node(pool: &'static Pool, machine: Machine, zone: usize, numbers: &mut Numbers) -> Node {
    let address = format!(
        "10.{}.{}.{}",
        40 + zone,
        numbers.below(64),
        4 + numbers.below(250)
    );
    Node {
        name: format!("ip-{}.ec2.internal", address.replace('.', "-")),
        claim: format!("{}-{}", pool.name, numbers.letters(5)),
        instance: format!("i-0{}", numbers.hexadecimal(16)),
        created: format!(
            "2026-01-{:02}T{:02}:{:02}:{:02}Z",
            1 + numbers.below(6),
            numbers.below(24),
            numbers.below(60),
            numbers.below(60)
        ),
        pool,
        machine,
        zone,
        address,
        free_milli: machine.allocatable_milli(),
        free_mib: machine.allocatable_kib() / 1024,
        free_gpus: machine.gpus,
    }
}
