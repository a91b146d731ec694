//! Accounts: counters that launches draw on, and what each leaves.
//!
//! The limits of a node pool are an account. Where subnets could run out, there is one account for all node pools, which
//! share them: the limits of each, then the subnets.

use std::ops::Range;

use crate::model::snapshot::Snapshot;

use super::rules::limits::Allowance;
use super::rules::subnets::{Addresses, Source};
use super::universe::{Shape, Universe};

/// All accounts.
#[derive(Clone, Debug)]
pub struct Accounts {
    /// By account: what is left of each counter.
    pub left: Vec<Vec<u64>>,
    /// What subnets have addresses for.
    pub addresses: Addresses,
    /// By node pool: what its limits leave.
    limits: Vec<Allowance>,
    /// Whether all node pools share one account.
    is_shared: bool,
}

impl Accounts {
    /// Of a snapshot, for so many launches at most.
    #[must_use]
    pub fn of(snapshot: &Snapshot, most_launches: u64) -> Self {
        let pools = snapshot.node_pools.iter();
        let limits: Vec<Allowance> = pools.map(|pool| Allowance::of(snapshot, pool)).collect();
        let addresses = Addresses::of(snapshot, most_launches);
        let counters = addresses.counters();
        let is_shared = !counters.is_empty();
        let of_pools = limits.iter().map(|allowance| allowance.left.clone());
        let left = if is_shared {
            vec![of_pools.flatten().chain(counters).collect()]
        } else {
            of_pools.collect()
        };
        Self {
            left,
            addresses,
            limits,
            is_shared,
        }
    }

    /// The account of a node pool.
    #[must_use]
    pub fn of_pool(&self, pool: usize) -> usize {
        if self.is_shared { 0 } else { pool }
    }

    /// Where in its account the limits of a node pool are.
    #[must_use]
    pub fn limits(&self, pool: usize) -> Range<usize> {
        let before = if self.is_shared { &self.limits[..pool] } else { &[] };
        let first = before.iter().map(|allowance| allowance.left.len()).sum();
        first..first + self.limits[pool].left.len()
    }

    /// What a node of a shape takes from each counter of its account, where it has its addresses from this subnet.
    #[must_use]
    pub fn usage(&self, universe: &Universe<'_>, shape: &Shape, subnet: Option<usize>) -> Vec<u64> {
        let instance_type = universe.instance_type(shape);
        let own = self.limits[shape.pool].usage(instance_type);
        if !self.is_shared {
            return own;
        }
        let mut usage = vec![0; self.left[0].len()];
        for (usage, own) in usage[self.limits(shape.pool)].iter_mut().zip(own) {
            *usage = own;
        }
        let of_subnets = self.addresses.usage(universe.snapshot, instance_type, subnet);
        let first = usage.len() - of_subnets.len();
        usage[first..].copy_from_slice(&of_subnets);
        usage
    }

    /// The subnets that a bin may have its addresses from: `None` where nothing is counted, nothing where none has enough.
    #[must_use]
    pub fn subnets_of(&self, universe: &Universe<'_>, bin: usize) -> Vec<Option<usize>> {
        let shape = universe.shape(bin);
        let class = universe.snapshot.node_class(universe.pool(shape));
        let zone = &universe.offering(bin).zone;
        let instance_type = universe.instance_type(shape);
        match self
            .addresses
            .source(universe.snapshot, class, instance_type, zone)
        {
            Source::Any => vec![None],
            Source::OneOf(subnets) => subnets.into_iter().map(Some).collect(),
        }
    }
}
