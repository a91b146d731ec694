//! Terms of the objective about nodes beside what each costs: what its pods strand on it, and how uneven zones are.
//!
//! Plain data, over kinds of one [`super::Problem`]. None of them is ever below zero, so that bounds which leave them out
//! hold. Units: milli-CPU, bytes, micro-dollars per hour.

use super::prune::MOST_COST;

/// What is stranded on nodes of a kind: free CPU that has no free memory of the node's own proportion beside it, or free
/// memory without such CPU, as the CPU that it stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stranding {
    /// For each vCPU; nothing is weighed where it is zero.
    pub each: u64,
    /// CPU that pods and DaemonSets may use.
    pub cpu: u64,
    /// Memory that they may use.
    pub memory: u64,
    /// CPU that DaemonSets and headroom leave.
    pub free_cpu: u64,
    /// Memory that they leave.
    pub free_memory: u64,
}

impl Stranding {
    /// Of a node whose pods ask for so much, rounded to the nearest micro-dollar; 2⁴³ at most.
    #[must_use]
    pub fn cost(&self, cpu: u64, memory: u64) -> u64 {
        if self.each == 0 {
            return 0;
        }
        let (cpu, memory) = (
            self.free_cpu.saturating_sub(cpu),
            self.free_memory.saturating_sub(memory),
        );
        // Stranded milli-CPU times `whole`.
        let (stranded, whole) = if self.memory == 0 {
            (u128::from(cpu), 1)
        } else {
            let in_proportion = u128::from(memory) * u128::from(self.cpu);
            let own = u128::from(cpu) * u128::from(self.memory);
            (own.abs_diff(in_proportion), u128::from(self.memory))
        };
        let each = u128::from(self.each);
        let cost = rounded(stranded.saturating_mul(each), whole.saturating_mul(MILLI));
        cost.min(MOST_COST)
    }

    /// CPU that so much memory stands for.
    #[must_use]
    pub fn proportion(&self, memory: u64) -> u128 {
        let product = u128::from(memory) * u128::from(self.cpu);
        product.checked_div(u128::from(self.memory)).unwrap_or(0)
    }
}

/// A vCPU in milli-CPU.
const MILLI: u128 = 1_000;

fn rounded(part: u128, whole: u128) -> u64 {
    let nearest = part.saturating_add(whole / 2) / whole;
    u64::try_from(nearest).unwrap_or(u64::MAX)
}

/// What a node of a kind adds to its zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InZone {
    /// For each vCPU by which zones differ; nothing is weighed where it is zero.
    pub each: u64,
    /// CPU of the machine, whoever may use it.
    pub cpu: u64,
}

/// Zones of a pool that should be alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imbalance {
    /// For each vCPU by which the fullest exceeds the emptiest.
    pub each: u64,
    /// By kind: the zone that its nodes are in; `None` for kinds of other pools.
    pub kinds: Vec<Option<usize>>,
    /// By zone: CPU of the pool's nodes that stay.
    pub there: Vec<u64>,
}

impl Imbalance {
    /// Of zones that have so much CPU, rounded to the nearest micro-dollar.
    #[must_use]
    pub fn cost(&self, zones: &[u64]) -> u64 {
        let ends = zones.iter().max().zip(zones.iter().min());
        let apart = ends.map_or(0, |(most, least)| most - least);
        rounded(u128::from(apart) * u128::from(self.each), MILLI)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(cpu: u64, memory: u64) -> Stranding {
        Stranding {
            each: 1_000_000,
            cpu,
            memory,
            free_cpu: cpu,
            free_memory: memory,
        }
    }

    #[test]
    fn what_has_no_counterpart_in_proportion_is_stranded() {
        let node = node(4_000, 16_000);
        assert_eq!(node.cost(0, 0), 0, "an empty node strands nothing");
        assert_eq!(node.cost(2_000, 8_000), 0, "nor one that is filled in proportion");
        assert_eq!(node.cost(0, 16_000), 4_000_000, "all CPU without memory");
        assert_eq!(
            node.cost(4_000, 0),
            4_000_000,
            "all memory, as the CPU it stands for"
        );
        assert_eq!(node.cost(3_000, 4_000), 2_000_000);
        assert_eq!(node.cost(9_000, 16_000), 0, "never below nothing");
    }

    #[test]
    fn what_is_stranded_is_rounded_to_the_nearest_micro_dollar() {
        let odd = Stranding {
            each: 1_000,
            ..node(1_000, 3)
        };
        // A third of a vCPU, and two.
        assert_eq!(odd.cost(1_000, 2), 333);
        assert_eq!(odd.cost(1_000, 1), 667);
        let without_memory = node(2_000, 0);
        assert_eq!(without_memory.cost(500, 0), 1_500_000);
        let largest = Stranding {
            each: u64::MAX,
            ..node(u64::MAX, u64::MAX)
        };
        assert_eq!(largest.cost(u64::MAX, 0), MOST_COST, "sticks");
    }

    #[test]
    fn zones_differ_by_the_fullest_and_the_emptiest() {
        let imbalance = Imbalance {
            each: 10_001,
            kinds: Vec::new(),
            there: Vec::new(),
        };
        assert_eq!(imbalance.cost(&[4_000, 500, 2_000]), 35_004, "35003.5 rounded");
        assert_eq!(imbalance.cost(&[7]), 0);
        assert_eq!(imbalance.cost(&[]), 0);
    }
}
