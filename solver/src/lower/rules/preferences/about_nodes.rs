//! What pods prefer of their nodes: terms of node affinity and soft taints, and which nodes their soft spreads are over.

use std::collections::BTreeMap;

use fixedbitset::FixedBitSet;

use crate::lower::compile::Context;
use crate::lower::existing::Room;
use crate::lower::group::Group;
use crate::lower::prune::Kind;
use crate::lower::rules::requirements::Evaluator;
use crate::lower::universe::Universe;
use crate::lower::wishes::Taste;
use crate::model::name::NodePoolName;
use crate::model::pod::PodSpec;
use crate::model::requirement::{Labels, NodeSelectorTerm, NodeSelectorTerms, Requirements};
use crate::model::rules::Weighted;
use crate::model::snapshot::Snapshot;
use crate::model::taint::{Taint, TaintEffect, Toleration};

use super::{soft, terms};

/// What the pods of some groups think of each bin and room.
struct TasteOfBins<'a> {
    groups: FixedBitSet,
    spec: &'a PodSpec,
    bins: Vec<u64>,
}

/// What decides which nodes a pod may use.
type Reach<'a> = (&'a Labels, &'a Option<NodeSelectorTerms>, &'a [Toleration]);

/// What makes pods like nodes alike.
type Liking<'a> = (Vec<&'a Weighted<NodeSelectorTerm>>, &'a [Toleration]);

/// What preferences see in bins, and what kinds must not mix therefore.
#[derive(Default)]
pub struct Views<'a> {
    tastes: Vec<TasteOfBins<'a>>,
    /// Specs with soft spreads of different reach, and the bins of each.
    pub(super) reaches: Vec<(&'a PodSpec, FixedBitSet)>,
    /// By group: its reach, where it has soft spreads.
    pub(super) reach_of: Vec<Option<usize>>,
}

impl<'a> Views<'a> {
    /// Of the groups.
    #[must_use]
    pub fn of(universe: &Universe<'a>, groups: &[Group]) -> Self {
        let snapshot = universe.snapshot;
        let spec = |group: &Group| -> &'a PodSpec { &snapshot.pods[group.pods[0]].spec };
        let has_soft_taints = has_soft_taints(snapshot);
        let mut views = Self::default();
        let mut likings: BTreeMap<Liking<'a>, FixedBitSet> = BTreeMap::new();
        let mut reaches: BTreeMap<Reach<'a>, usize> = BTreeMap::new();
        for (at, group) in groups.iter().enumerate() {
            let spec = spec(group);
            let tolerations: &[Toleration] = if has_soft_taints { &spec.tolerations } else { &[] };
            let liking: Liking<'a> = (terms(spec).collect(), tolerations);
            if group.launches && (has_soft_taints || !liking.0.is_empty()) {
                let alike = likings.entry(liking);
                let alike = alike.or_insert_with(|| FixedBitSet::with_capacity(groups.len()));
                alike.insert(at);
            }
            let reach = (group.launches && soft(spec).next().is_some()).then(|| {
                let own = (
                    &spec.node_selector,
                    &spec.node_affinity,
                    spec.tolerations.as_slice(),
                );
                let next = reaches.len();
                *reaches.entry(own).or_insert_with(|| {
                    views.reaches.push((spec, FixedBitSet::new()));
                    next
                })
            });
            views.reach_of.push(reach);
        }
        let selectors: Vec<Requirements> = (views.reaches.iter())
            .map(|(spec, _)| spec.selector_requirements())
            .collect();
        let mut evaluator = Evaluator::new(universe);
        for ((spec, bins), selector) in views.reaches.iter_mut().zip(&selectors) {
            *bins = evaluator.bins(spec, selector);
        }
        for ((wanted, _), groups_alike) in likings {
            let spec = spec(&groups[groups_alike.ones().next().unwrap_or_default()]);
            views.tastes.push(TasteOfBins {
                bins: of_bins(universe, &mut evaluator, &wanted, spec),
                groups: groups_alike,
                spec,
            });
        }
        views
    }

    /// What pods think of a bin: alike for all bins of a kind.
    #[must_use]
    pub fn of_bin(&self, bin: usize) -> (Vec<u64>, FixedBitSet) {
        let mut reached = FixedBitSet::with_capacity(self.reaches.len());
        let reaching = self
            .reaches
            .iter()
            .enumerate()
            .filter(|(_, (_, bins))| bins.contains(bin));
        reached.extend(reaching.map(|(at, _)| at));
        (self.tastes.iter().map(|taste| taste.bins[bin]).collect(), reached)
    }
}

fn has_soft_taints(snapshot: &Snapshot) -> bool {
    let of_pools = snapshot.node_pools.iter().flat_map(|pool| &pool.taints);
    let mut all = of_pools.chain(snapshot.nodes.iter().flat_map(|node| &node.taints));
    all.any(|taint| taint.effect == TaintEffect::PreferNoSchedule)
}

/// Soft taints that a pod doesn't tolerate.
fn untolerated(taints: &[Taint], spec: &PodSpec) -> u64 {
    let soft = taints
        .iter()
        .filter(|taint| taint.effect == TaintEffect::PreferNoSchedule);
    let tolerated = |taint: &Taint| spec.tolerations.iter().any(|it| it.tolerates(taint));
    soft.map(|taint| u64::from(!tolerated(taint))).sum()
}

fn weight(snapshot: &Snapshot, pool: Option<&NodePoolName>) -> u64 {
    snapshot.objective.weights(pool).preference.micros()
}

fn of_bins<'v>(
    universe: &Universe<'_>,
    evaluator: &mut Evaluator<'v>,
    wanted: &[&'v Weighted<NodeSelectorTerm>],
    spec: &PodSpec,
) -> Vec<u64> {
    let mut bins = vec![0_u64; universe.bins.len()];
    for term in wanted {
        let admitted = evaluator.term(&term.wish);
        for (bin, unmet) in bins.iter_mut().enumerate() {
            *unmet += if admitted.contains(bin) {
                0
            } else {
                u64::from(term.weight)
            };
        }
    }
    for shape in &universe.shapes {
        let pool = universe.pool(shape);
        let taints = untolerated(&pool.taints, spec);
        let weight = weight(universe.snapshot, Some(&pool.name));
        for unmet in &mut bins[shape.bins.clone()] {
            *unmet = weight.saturating_mul(*unmet + taints);
        }
    }
    bins
}

fn of_room(snapshot: &Snapshot, room: &Room, spec: &PodSpec) -> u64 {
    let node = &snapshot.nodes[room.node];
    let is_unmet =
        |term: &&Weighted<NodeSelectorTerm>| !term.wish.admits(&node.labels, Some(node.name.as_str()));
    let unmet: u64 = terms(spec)
        .filter(is_unmet)
        .map(|term| u64::from(term.weight))
        .sum();
    weight(snapshot, node.node_pool.as_ref()).saturating_mul(unmet + untolerated(&node.taints, spec))
}

pub(super) fn tastes(context: &Context<'_, '_>, views: &Views<'_>) -> Vec<Taste> {
    let problem = context.problem;
    let of_taste = |(at, taste): (usize, &TasteOfBins<'_>)| Taste {
        groups: taste.groups.clone(),
        kinds: problem.kinds.iter().map(|kind: &Kind| kind.unmet[at]).collect(),
        rooms: (problem.rooms.iter())
            .map(|room| of_room(problem.snapshot, room, taste.spec))
            .collect(),
    };
    let all = views.tastes.iter().enumerate().map(of_taste);
    all.filter(|taste| taste.kinds.iter().chain(&taste.rooms).any(|cost| *cost > 0))
        .collect()
}
