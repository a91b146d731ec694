//! DaemonSet pods that aren't there yet and will be: on nodes to come, and on existing ones that lack theirs.

use fixedbitset::FixedBitSet;

use crate::model::taint::first_untolerated;

use super::launches::{Filling, Launches};
use super::placement::Placed;
use super::world::World;

/// Whether a DaemonSet's pod will be on a node to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Expected {
    /// Under none of its offers.
    Never,
    /// Under some, or with some values for keys that nobody chose.
    Perhaps,
    /// Under each.
    Surely,
}

/// Whether anti-affinity, its own or another pod's, may keep a DaemonSet's pod off nodes that it is for.
pub(super) fn may_be_kept_off(world: &World<'_>, daemon_set: usize) -> bool {
    let daemon_set = &world.snapshot.daemon_sets[daemon_set];
    let (namespace, labels) = (daemon_set.name.namespace.as_str(), &daemon_set.spec.labels);
    let templates = world.snapshot.daemon_sets.iter().map(|other| &*other.spec);
    let mut terms = (world.specs.iter().copied())
        .chain(templates)
        .flat_map(|spec| &spec.rules.anti_affinity);
    !daemon_set.spec.rules.anti_affinity.is_empty()
        || terms.any(|term| term.selector.matches(namespace, labels))
}

/// Whether a DaemonSet will run on the node that these launches make.
pub(super) fn on_launch(
    world: &World<'_>,
    launches: &Launches<'_>,
    filling: &Filling<'_>,
    daemon_set: usize,
) -> Expected {
    let spec = &world.snapshot.daemon_sets[daemon_set].spec;
    if first_untolerated(&filling.pool.taints, &spec.tolerations).is_some() {
        return Expected::Never;
    }
    let others = &launches.lists[filling.list].offers;
    let offers = std::iter::once(&filling.first).chain(others);
    let (mut ever, mut always) = (false, true);
    for prospect in offers.flat_map(|offer| &offer.all) {
        let prospect = &launches.prospects[*prospect];
        let perhaps = prospect.could_admit(spec);
        ever |= perhaps;
        always &= perhaps && prospect.first_unchosen(spec).is_none();
    }
    match (ever, always) {
        (false, _) => Expected::Never,
        (true, false) => Expected::Perhaps,
        (true, true) => Expected::Surely,
    }
}

/// Existing nodes that will get a pod of a DaemonSet which neither is there nor comes by this plan.
pub(super) fn on_nodes(world: &World<'_>, placed: &Placed, daemon_set: usize) -> Vec<usize> {
    let snapshot = world.snapshot;
    let daemon_set = &snapshot.daemon_sets[daemon_set];
    let mut has_one = FixedBitSet::with_capacity(snapshot.nodes.len());
    let comes = placed
        .on_node
        .iter()
        .flat_map(|(node, pods)| pods.iter().map(|pod| (*node, *pod)));
    let is_there =
        (world.pods_on.iter().enumerate()).flat_map(|(node, pods)| pods.iter().map(move |pod| (node, *pod)));
    for (node, pod) in is_there.chain(comes) {
        if daemon_set.owns(&snapshot.pods[pod]) {
            has_one.insert(node);
        }
    }
    let spec = &daemon_set.spec;
    let expects = |at: &usize| {
        let node = &snapshot.nodes[*at];
        !node.deleting
            && !has_one.contains(*at)
            && first_untolerated(&node.taints, &spec.tolerations).is_none()
            && spec.admits_node(&node.labels, Some(node.name.as_str()))
    };
    (0..snapshot.nodes.len()).filter(expects).collect()
}
