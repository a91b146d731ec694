//! Company: where a pod may be that has to be near others, if pods of DaemonSets are among those.
//!
//! Such a pod comes with the node, so a node to come is fine if a DaemonSet brings one to it, and any node if its value of
//! the key has one already. What other nodes to come may bring to the same value doesn't count: they may not be launched.

use std::collections::{BTreeMap, BTreeSet};

use fixedbitset::FixedBitSet;

use super::group::Profile;
use super::universe::Universe;
use super::variants::mentions;

/// What a pod has to be near under one topology key.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Company {
    /// DaemonSets whose pods are such, as indices into the snapshot's.
    pub daemon_sets: BTreeSet<usize>,
    /// Values of the key that have such a pod, or will without any plan's word.
    pub values: BTreeSet<String>,
}

impl Company {
    /// Whether nodes of a value have it.
    #[must_use]
    pub fn is_at(&self, value: Option<&str>) -> bool {
        value.is_some_and(|value| self.values.contains(value))
    }
}

/// Leaves the bins that have company under each key.
pub fn narrow(
    universe: &Universe<'_>,
    companies: &BTreeMap<String, Company>,
    daemons: &[Profile],
    daemon_bins: &[FixedBitSet],
    bins: &mut FixedBitSet,
) {
    for (key, company) in companies {
        let is_brought = |bin: usize| {
            let mut all = company.daemon_sets.iter();
            all.any(|at| daemon_bins[*at].contains(bin) && is_certain(universe, &daemons[*at], bin))
        };
        let rest: Vec<usize> = bins
            .ones()
            .filter(|bin| !company.is_at(universe.label_of_bin(*bin, key)) && !is_brought(*bin))
            .collect();
        for bin in rest {
            bins.remove(bin);
        }
    }
}

/// Whether a DaemonSet comes whatever is left open: a launch only says the values that its own pods or a topology read.
fn is_certain(universe: &Universe<'_>, daemon: &Profile, bin: usize) -> bool {
    let chosen = universe.variants[universe.shape(bin).variant].keys();
    let mut open = chosen.filter(|key| !universe.topology_keys.contains(key.as_str()));
    !open.any(|key| mentions(daemon, key))
}
