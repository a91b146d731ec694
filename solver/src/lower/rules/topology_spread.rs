//! Hard topology spread: a domain that gets pods bound by a constraint has at most so many more than the least domain.
//!
//! Counted are pods of the selector that stay or come, on nodes that are eligible: they have every key of the pod's hard
//! constraints, and its selector, affinity and tolerations admit them where the policies say so. Domains are the values of
//! the key on eligible existing nodes and on nodes with every key that the pod could have launched; volumes have no say.
//! So are those of nodes that count and could be launched for others. Under the hostname a node to launch is a domain without pods, so wherever one could be, a cap on each node says it all.

use std::collections::{BTreeMap, BTreeSet};

use fixedbitset::FixedBitSet;

use crate::lower::compile::Context;
use crate::lower::narrow::Narrowing;
use crate::lower::side::{Cap, Conflict, Domain, Excess, Places, SideRows, Spread};
use crate::model::instance_type::HOSTNAME_LABEL;
use crate::model::node::Node;
use crate::model::pod::PodSpec;
use crate::model::requirement::{Labels, NodeSelectorTerms, Requirements};
use crate::model::rules::TopologySpread;
use crate::model::taint::{Taint, TaintEffect, Toleration, first_untolerated};

use super::requirements::Evaluator;
use super::taints;

/// Kubernetes' taint of a node that is cordoned.
const UNSCHEDULABLE_TAINT: &str = "node.kubernetes.io/unschedulable";

fn hard(spec: &PodSpec) -> impl Iterator<Item = &TopologySpread> {
    spec.rules.spread.iter().filter(|spread| spread.is_hard)
}

/// A node without the key of a hard constraint is no place.
pub fn narrow(spec: &PodSpec, narrowing: &mut Narrowing) {
    for spread in hard(spec).filter(|spread| spread.topology_key != HOSTNAME_LABEL) {
        narrowing.has(&spread.topology_key);
    }
}

/// What decides which nodes are eligible.
type Policy<'a> = (
    (&'a Labels, &'a Option<NodeSelectorTerms>, &'a [Toleration]),
    (bool, bool),
    BTreeSet<&'a str>,
);

/// A value with its places, and nodes of the snapshot that count there.
type Value = (String, FixedBitSet, FixedBitSet, Vec<usize>);

/// One row: key, selector, skew, fewest domains, the domains, and the bins that count.
type Rule<'a> = (&'a str, usize, u32, u32, Vec<Value>, Option<FixedBitSet>);

/// Adds the rows.
pub fn compile(context: &Context<'_, '_>, side: &mut SideRows) {
    let bound: Vec<usize> = (0..context.groups())
        .filter(|group| {
            context.problem.groups[*group].launches && hard(context.spec(*group)).next().is_some()
        })
        .collect();
    let selectors: Vec<Requirements> = (bound.iter())
        .map(|group| context.spec(*group).selector_requirements())
        .collect();
    let mut views = Views {
        context,
        evaluator: Evaluator::new(&context.problem.universe),
        known: BTreeMap::new(),
    };
    let mut on_nodes: BTreeMap<(usize, u32), FixedBitSet> = BTreeMap::new();
    let mut in_domains: BTreeMap<Rule<'_>, FixedBitSet> = BTreeMap::new();
    for (group, selector) in bound.into_iter().zip(&selectors) {
        let spec = context.spec(group);
        for spread in hard(spec) {
            let Some(counted) = context.selectors.position(&spread.selector) else {
                continue;
            };
            let view = views.of(spec, selector, spread);
            let bound = if spread.topology_key == HOSTNAME_LABEL && view.is_launchable {
                on_nodes
                    .entry((counted, spread.max_skew))
                    .or_insert_with(|| context.no_groups())
            } else {
                let domains = view.domains(context, &spread.topology_key);
                side.opening_bins
                    .union_with(&view.opening_bins(context, &spread.topology_key, &domains));
                let fewest = spread.min_domains.unwrap_or(0);
                let rule = (
                    spread.topology_key.as_str(),
                    counted,
                    spread.max_skew,
                    fewest,
                    domains,
                    view.admitted.clone(),
                );
                in_domains.entry(rule).or_insert_with(|| context.no_groups())
            };
            bound.insert(group);
        }
    }
    for ((counted, skew), bound) in on_nodes {
        cap(context, counted, skew, &bound, side);
    }
    for (rule, bound) in in_domains {
        side.spreads.extend(row(context, rule, bound));
    }
}

/// On each node at most the skew; pods that count but aren't bound stay off, since they would count too.
fn cap(context: &Context<'_, '_>, counted: usize, skew: u32, bound: &FixedBitSet, side: &mut SideRows) {
    let groups = context.matching(counted);
    let there = context.running.staying(&[counted]);
    let there = there
        .into_iter()
        .filter_map(|(node, count)| Some((context.room_of(node)?, count)));
    let there: BTreeMap<usize, u64> = there.collect();
    let minus = |one: &FixedBitSet, two: &FixedBitSet| {
        let mut rest = one.clone();
        rest.difference_with(two);
        rest
    };
    let no_rooms = || FixedBitSet::with_capacity(context.problem.rooms.len());
    let (free, strangers) = (minus(&groups, bound), minus(bound, &groups));
    let mut full = no_rooms();
    full.extend(
        there
            .iter()
            .filter(|(_, count)| **count > u64::from(skew))
            .map(|(room, _)| *room),
    );
    let counting = minus(bound, &strangers);
    if !counting.is_clear() {
        side.caps.push(Cap {
            groups: counting,
            most: u64::from(skew),
            there,
            excess: Excess::Forbidden,
        });
    }
    let mut keep_off = |one: FixedBitSet, other: FixedBitSet, rooms_with_other: FixedBitSet| {
        if !(one.is_clear() || other.is_clear() && rooms_with_other.is_clear()) {
            side.conflicts.push(Conflict {
                one,
                other,
                rooms_with_one: no_rooms(),
                rooms_with_other,
            });
        }
    };
    keep_off(strangers, context.no_groups(), full);
    keep_off(bound.clone(), free, no_rooms());
}

/// `None` where it can't be broken.
fn row(context: &Context<'_, '_>, rule: Rule<'_>, bound: FixedBitSet) -> Option<Spread> {
    let (_, counted, skew, fewest, values, eligible_bins) = rule;
    let fewest_domains = usize::try_from(fewest).unwrap_or(usize::MAX);
    if values.is_empty() || values.len() == 1 && fewest_domains <= 1 {
        return None;
    }
    let staying = context.running.staying(&[counted]);
    let domains = values.into_iter().map(|(_, kinds, rooms, nodes)| Domain {
        there: nodes.iter().filter_map(|node| staying.get(node)).sum(),
        places: Places { kinds, rooms },
    });
    Some(Spread {
        groups: context.matching(counted),
        bound,
        domains: domains.collect(),
        skew: u64::from(skew),
        fewest_domains,
        eligible_bins,
        excess: Excess::Forbidden,
    })
}

/// What a constraint sees.
struct View {
    /// Existing nodes that are eligible.
    nodes: Vec<usize>,
    /// Kinds that are.
    kinds: FixedBitSet,
    /// Parts of nodes that could be launched for it and have every key.
    parts: BTreeSet<usize>,
    /// Parts of all nodes that have every key.
    keyed: BTreeSet<usize>,
    is_launchable: bool,
    ignores_taints: bool,
    /// Bins whose labels count; `None`: all.
    admitted: Option<FixedBitSet>,
}

struct Views<'v, 'c, 'a> {
    context: &'v Context<'c, 'a>,
    evaluator: Evaluator<'v>,
    known: BTreeMap<Policy<'v>, View>,
}

impl<'v> Views<'v, '_, '_> {
    fn of(&mut self, spec: &'v PodSpec, selector: &'v Requirements, spread: &TopologySpread) -> &View {
        let keys = hard(spec).map(|spread| spread.topology_key.as_str()).collect();
        let flags = (spread.honours_affinity, spread.honours_taints);
        let own = (
            &spec.node_selector,
            &spec.node_affinity,
            spec.tolerations.as_slice(),
        );
        let (context, evaluator) = (self.context, &mut self.evaluator);
        let policy: Policy<'v> = (own, flags, keys);
        let keys = policy.2.clone();
        let made = || view(context, evaluator, spec, selector, flags, &keys);
        self.known.entry(policy).or_insert_with(made)
    }
}

fn view<'v>(
    context: &'v Context<'_, '_>,
    evaluator: &mut Evaluator<'v>,
    spec: &'v PodSpec,
    selector: &'v Requirements,
    (honours_affinity, honours_taints): (bool, bool),
    keys: &BTreeSet<&str>,
) -> View {
    let problem = context.problem;
    let admitted = evaluator.admitted(spec, selector);
    let tolerated = evaluator.tolerated(spec);
    let nodes = problem.snapshot.nodes.iter().enumerate();
    let counts = |node: &Node| {
        !node.deleting
            && keys.iter().all(|key| node.labels.contains_key(*key))
            && (!honours_affinity || spec.admits_node(&node.labels, Some(node.name.as_str())))
            && (!honours_taints || tolerates(spec, node))
    };
    let has_keys = |part: usize| {
        let mut keys = keys.iter().filter(|key| **key != HOSTNAME_LABEL);
        keys.all(|key| context.value_of_part(part, key).is_some())
    };
    let mut kinds = FixedBitSet::with_capacity(problem.kinds.len());
    for (at, kind) in problem.kinds.iter().enumerate() {
        // Bins of a kind only differ here where the pod can't use any of them.
        let bin = kind.bins[0];
        let is_eligible =
            (!honours_affinity || admitted.contains(bin)) && (!honours_taints || tolerated.contains(bin));
        kinds.set(at, has_keys(kind.part) && is_eligible);
    }
    let launchable = admitted.intersection(&tolerated);
    let parts: BTreeSet<usize> = launchable.map(|bin| context.bin_parts[bin]).collect();
    let parts: BTreeSet<usize> = parts.into_iter().filter(|part| has_keys(*part)).collect();
    let all: BTreeSet<usize> = context.bin_parts.iter().copied().collect();
    View {
        nodes: nodes.filter(|(_, node)| counts(node)).map(|(at, _)| at).collect(),
        kinds,
        is_launchable: !parts.is_empty(),
        parts,
        keyed: all.into_iter().filter(|part| has_keys(*part)).collect(),
        ignores_taints: !honours_taints,
        admitted: (honours_affinity && !admitted.is_full()).then_some(admitted),
    }
}

/// Whether a pod tolerates a node. A cordoned one has a taint that says so, whoever reads it.
pub(super) fn tolerates(spec: &PodSpec, node: &Node) -> bool {
    let cordoned = node.unschedulable.then(|| Taint {
        key: UNSCHEDULABLE_TAINT.to_owned(),
        value: String::new(),
        effect: TaintEffect::NoSchedule,
    });
    taints::tolerates(&node.taints, spec)
        && first_untolerated(cordoned.as_slice(), &spec.tolerations).is_none()
}

impl View {
    /// Bins of nodes that count and whose value is none of the domains': of NodePools with taints that the pods don't
    /// tolerate, and the policy ignores.
    fn opening_bins(&self, context: &Context<'_, '_>, key: &str, domains: &[Value]) -> FixedBitSet {
        let mut bins = FixedBitSet::with_capacity(context.bin_parts.len());
        let is_domain = |value: &str| domains.iter().any(|domain| domain.0 == value);
        let opens = |part: &usize| {
            context
                .value_of_part(*part, key)
                .is_some_and(|value| !is_domain(value))
        };
        let parts: BTreeSet<usize> = self.keyed.iter().copied().filter(opens).collect();
        if self.ignores_taints && !parts.is_empty() {
            let all = context.bin_parts.iter().enumerate();
            bins.extend(all.filter(|(_, part)| parts.contains(part)).map(|(bin, _)| bin));
            if let Some(admitted) = &self.admitted {
                bins.intersect_with(admitted);
            }
        }
        bins
    }

    /// The domains of a key, by value.
    fn domains(&self, context: &Context<'_, '_>, key: &str) -> Vec<Value> {
        let none = || (context.no_places(), Vec::new());
        let mut domains: BTreeMap<&str, (Places, Vec<usize>)> = BTreeMap::new();
        let launched = self
            .parts
            .iter()
            .filter_map(|part| context.value_of_part(*part, key));
        domains.extend(launched.map(|value| (value, none())));
        // A node for others that counts is a domain as well, once it is there: nobody can wait until it isn't to come.
        let of_others = self
            .kinds
            .ones()
            .filter_map(|kind| context.value_of_kind(kind, key));
        domains.extend(of_others.map(|value| (value, none())));
        for node in &self.nodes {
            let labels = &context.problem.snapshot.nodes[*node].labels;
            if let Some(value) = labels.get(key) {
                let (places, nodes) = domains.entry(value).or_insert_with(none);
                places.rooms.extend(context.room_of(*node));
                nodes.push(*node);
            }
        }
        for kind in self.kinds.ones() {
            let value = context.value_of_kind(kind, key);
            if let Some((places, _)) = value.and_then(|value| domains.get_mut(value)) {
                places.kinds.insert(kind);
            }
        }
        let named = |(value, (places, nodes)): (&str, (Places, Vec<usize>))| {
            (value.to_owned(), places.kinds, places.rooms, nodes)
        };
        domains.into_iter().map(named).collect()
    }
}
