//! Preferences: soft spread, preferred affinity to nodes and pods, preferred anti-affinity, `PreferNoSchedule` taints.
//!
//! Weighed, never dropped and never required. Only what pods that nodes may be launched for wish counts; those of DaemonSets
//! have one place each. A spread is over the nodes that its pods may use by selector, affinity and taints: existing ones, launched
//! ones, and, under the keys that offerings have, the values that could be launched. What nodes of a pool don't meet
//! counts by that pool's weight, what pods do across nodes by the largest of all pools.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fixedbitset::FixedBitSet;

use crate::lower::compile::Context;
use crate::lower::existing::Room;
use crate::lower::group::Group;
use crate::lower::prune::Kind;
use crate::lower::universe::Universe;
use crate::lower::wishes::{Company, Domains, Evenly, Taste, Wishes};
use crate::model::instance_type::{CAPACITY_TYPE_LABEL, HOSTNAME_LABEL, ZONE_ID_LABEL, ZONE_LABEL};
use crate::model::name::NodePoolName;
use crate::model::pod::PodSpec;
use crate::model::requirement::{Labels, NodeSelectorTerm, NodeSelectorTerms, Requirements};
use crate::model::rules::{PodTerm, TopologySpread, Weighted};
use crate::model::snapshot::Snapshot;
use crate::model::taint::{Taint, TaintEffect, Toleration};

use super::requirements::Evaluator;
use super::topology_spread::tolerates;

/// Keys of which values that could be launched are domains, whether or not there are nodes.
const OFFERED: [&str; 3] = [ZONE_LABEL, ZONE_ID_LABEL, CAPACITY_TYPE_LABEL];

fn soft(spec: &PodSpec) -> impl Iterator<Item = &TopologySpread> {
    spec.rules.spread.iter().filter(|spread| !spread.is_hard)
}

/// Terms that a pod prefers of its node. One without any requirement says nothing.
pub fn terms(spec: &PodSpec) -> impl Iterator<Item = &Weighted<NodeSelectorTerm>> {
    let terms = spec.rules.preferred_nodes.iter();
    terms.filter(|term| !term.wish.is_empty())
}

/// Keys that preferences are judged by: a launch says the values that were chosen for them.
#[must_use]
pub fn keys<'a>(specs: impl Iterator<Item = &'a PodSpec>) -> BTreeSet<&'a str> {
    let mut keys = BTreeSet::new();
    for spec in specs {
        if soft(spec).next().is_some() {
            keys.extend(spec.node_selector.keys().map(String::as_str));
            let terms = spec.node_affinity.iter().flat_map(|terms| &terms.0);
            keys.extend(terms.flat_map(|term| term.expressions.iter().map(|(key, _)| key)));
        }
        keys.extend(terms(spec).flat_map(|term| term.wish.expressions.iter().map(|(key, _)| key)));
    }
    keys
}

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
    reaches: Vec<(&'a PodSpec, FixedBitSet)>,
    /// By group: its reach, where it has soft spreads.
    reach_of: Vec<Option<usize>>,
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

/// All that the groups wish.
#[must_use]
pub fn compile<'a>(context: &Context<'_, 'a>, views: &Views<'a>) -> Wishes {
    let snapshot = context.problem.snapshot;
    let across = snapshot
        .objective
        .preference_across(snapshot.node_pools.iter().map(|pool| &pool.name));
    let mut compiler = Compiler {
        context,
        views,
        each: across.micros(),
        domains: BTreeMap::new(),
        reached: BTreeMap::new(),
    };
    let mut wishes = Wishes {
        tastes: tastes(context, views),
        ..Wishes::default()
    };
    if across.micros() > 0 {
        compiler.spreads(&mut wishes);
        compiler.company(&mut wishes);
    }
    wishes
}

fn tastes(context: &Context<'_, '_>, views: &Views<'_>) -> Vec<Taste> {
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

/// Domains of a key, with the name of each.
type Named<'k> = (Arc<Domains>, Vec<&'k str>);

struct Compiler<'k, 'c, 'a> {
    context: &'k Context<'c, 'a>,
    views: &'k Views<'a>,
    each: u64,
    /// By reach (`None`: all nodes) and key.
    domains: BTreeMap<(Option<usize>, &'a str), Named<'k>>,
    /// By reach: existing nodes.
    reached: BTreeMap<usize, Arc<[usize]>>,
}

impl<'k, 'a> Compiler<'k, '_, 'a> {
    fn spreads(&mut self, wishes: &mut Wishes) {
        let mut rules: BTreeMap<(&'a TopologySpread, usize), FixedBitSet> = BTreeMap::new();
        for group in 0..self.context.groups() {
            if let Some(reach) = self.views.reach_of[group] {
                for spread in soft(self.context.spec(group)) {
                    let wishers = rules.entry((spread, reach));
                    wishers.or_insert_with(|| self.context.no_groups()).insert(group);
                }
            }
        }
        for ((spread, reach), wishers) in rules {
            let Some(counted) = self.context.selectors.position(&spread.selector) else {
                continue;
            };
            let key = spread.topology_key.as_str();
            let (domains, names) = self.domains(Some(reach), key);
            let nodes = self.reached(reach);
            let staying = self.context.running.staying(&[counted]);
            let on = |node: &usize| staying.get(node).copied().unwrap_or(0);
            let (there, elsewhere) = if domains.by_node {
                let rooms = self.context.problem.rooms.iter().map(|room| on(&room.node));
                let others = nodes.iter().filter(|node| self.context.room_of(**node).is_none());
                (rooms.collect(), others.map(on).collect())
            } else {
                let there = self.in_domains(&nodes, key, &names, on);
                (there, Vec::new())
            };
            wishes.evenly.push(Evenly {
                wishers,
                counted: self.context.matching(counted),
                always: self.always(reach, key, &names, &nodes),
                domains,
                there,
                elsewhere,
                skew: u64::from(spread.max_skew),
                each: self.each,
            });
        }
    }

    fn company(&mut self, wishes: &mut Wishes) {
        let mut rules: BTreeMap<(bool, &'a PodTerm, u64), FixedBitSet> = BTreeMap::new();
        for group in 0..self.context.groups() {
            let rules_of = &self.context.spec(group).rules;
            if !self.context.problem.groups[group].launches {
                continue;
            }
            for (is_near, terms) in [
                (true, &rules_of.preferred_affinity),
                (false, &rules_of.preferred_anti_affinity),
            ] {
                let mut weights: BTreeMap<&PodTerm, u64> = BTreeMap::new();
                for term in terms {
                    *weights.entry(&term.wish).or_default() += u64::from(term.weight);
                }
                for (term, weight) in weights {
                    let wishers = rules.entry((is_near, term, weight));
                    wishers.or_insert_with(|| self.context.no_groups()).insert(group);
                }
            }
        }
        let nodes: Vec<usize> = (0..self.context.problem.snapshot.nodes.len()).collect();
        for ((is_near, term, weight), wishers) in rules {
            let Some(matched) = self.context.selectors.position(&term.selector) else {
                continue;
            };
            let (domains, names) = self.domains(None, &term.topology_key);
            let staying = self.context.running.staying(&[matched]);
            let on = |node: &usize| staying.get(node).copied().unwrap_or(0);
            let there = if domains.by_node {
                self.context
                    .problem
                    .rooms
                    .iter()
                    .map(|room| on(&room.node))
                    .collect()
            } else {
                self.in_domains(&nodes, &term.topology_key, &names, on)
            };
            wishes.company.push(Company {
                wishers,
                matching: self.context.matching(matched),
                domains,
                there,
                each: self.each.saturating_mul(weight),
                is_near,
            });
        }
    }

    /// Existing nodes that pods of a reach may use, as far as their rules go.
    fn reached(&mut self, reach: usize) -> Arc<[usize]> {
        let (spec, _) = &self.views.reaches[reach];
        let nodes = self.context.problem.snapshot.nodes.iter().enumerate();
        let found = self.reached.entry(reach).or_insert_with(|| {
            let may = nodes.filter(|(_, node)| {
                !node.deleting
                    && spec.admits_node(&node.labels, Some(node.name.as_str()))
                    && tolerates(spec, node)
            });
            may.map(|(at, _)| at).collect()
        });
        Arc::clone(found)
    }

    fn domains(&mut self, reach: Option<usize>, key: &'a str) -> Named<'k> {
        if let Some(known) = self.domains.get(&(reach, key)) {
            return known.clone();
        }
        let problem = self.context.problem;
        let nodes = reach.map(|reach| self.reached(reach));
        let by_node = key == HOSTNAME_LABEL;
        let label = |node: usize| problem.snapshot.nodes[node].labels.get(key).map(String::as_str);
        let is_reached = |node: &usize| {
            nodes
                .as_ref()
                .is_none_or(|nodes| nodes.binary_search(node).is_ok())
        };
        let of_kind = |at: usize, kind: &Kind| {
            let is_reached = reach.is_none_or(|reach| kind.reached.contains(reach));
            if by_node {
                is_reached.then_some("")
            } else {
                self.context.value_of_kind(at, key).filter(|_| is_reached)
            }
        };
        let kinds = problem.kinds.iter().enumerate();
        let kinds: Vec<Option<&'k str>> = kinds.map(|(at, kind)| of_kind(at, kind)).collect();
        let of_node = |node: usize| {
            let value = if by_node { Some("") } else { label(node) };
            value.filter(|_| is_reached(&node))
        };
        let rooms: Vec<Option<&'k str>> = problem.rooms.iter().map(|room| of_node(room.node)).collect();
        let existing = (0..problem.snapshot.nodes.len()).filter_map(of_node);
        let mut names: BTreeSet<&'k str> = kinds.iter().flatten().copied().chain(existing).collect();
        if let Some(reach) = reach
            && !by_node
        {
            names.extend(self.offered(reach, key));
        }
        let names: Vec<&'k str> = names.into_iter().collect();
        let index = |value: &Option<&'k str>| value.and_then(|value| names.binary_search(&value).ok());
        let domains = Domains {
            count: if by_node { 0 } else { names.len() },
            kinds: kinds.iter().map(index).collect(),
            rooms: rooms.iter().map(index).collect(),
            by_node,
        };
        let named = (Arc::new(domains), names);
        self.domains.insert((reach, key), named.clone());
        named
    }

    /// Values that pods of a reach could have launched.
    fn offered(&self, reach: usize, key: &str) -> BTreeSet<&'k str> {
        let (_, bins) = &self.views.reaches[reach];
        let context: &'k Context<'_, 'a> = self.context;
        let parts: BTreeSet<usize> = bins.ones().map(|bin| context.bin_parts[bin]).collect();
        let values = parts.into_iter().filter(|_| OFFERED.contains(&key));
        values
            .filter_map(|part| context.value_of_part(part, key))
            .collect()
    }

    /// By domain: whether it is one without a launch.
    fn always(&self, reach: usize, key: &str, names: &[&str], nodes: &[usize]) -> Vec<bool> {
        if key == HOSTNAME_LABEL {
            return Vec::new();
        }
        let labels = nodes
            .iter()
            .map(|node| &self.context.problem.snapshot.nodes[*node].labels);
        let mut always: BTreeSet<&str> = labels
            .filter_map(|labels| labels.get(key))
            .map(String::as_str)
            .collect();
        always.extend(self.offered(reach, key));
        names.iter().map(|name| always.contains(name)).collect()
    }

    /// Sums over existing nodes by domain.
    fn in_domains(&self, nodes: &[usize], key: &str, names: &[&str], on: impl Fn(&usize) -> u64) -> Vec<u64> {
        let mut sums = vec![0; names.len()];
        for node in nodes {
            let label = self.context.problem.snapshot.nodes[*node].labels.get(key);
            if let Some(Ok(domain)) = label.map(|label| names.binary_search(&label.as_str())) {
                sums[domain] += on(node);
            }
        }
        sums
    }
}

/// Whether preferences make more of one place than of the other.
#[must_use]
pub fn is_no_better(one: &Kind, two: &Kind) -> bool {
    let costs = one.unmet.iter().zip(&two.unmet);
    one.reached == two.reached && costs.into_iter().all(|(one, two)| one <= two)
}
