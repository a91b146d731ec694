//! Preferences in money: what the plan leaves unmet of soft spread, preferred affinity to nodes and pods, preferred
//! anti-affinity and `PreferNoSchedule`, in micro-dollars per hour. A part of `cost.objective`, never a violation.
//!
//! Only what pods that the plan places wish counts, DaemonSets' apart: those have one place each. p is the weight of the node's
//! pool for wishes about nodes, and the largest of all pools' for those about other pods. Launches count as their first choice.
//!
//! - A preferred term of a node that isn't met costs weight × p, a soft taint that isn't tolerated p, for each pod.
//! - A soft spread costs p for each step by which the fullest domain is more than the skew above the least. Domains are those of
//!   nodes that its pods could use by selector, affinity and taints: existing ones, launched ones, and, for zone, zone ID and capacity type, ones that
//!   could be launched. Pods of one selector, affinity and tolerations with the same constraint wish it once.
//! - Preferred affinity costs weight × p for each pod in a domain where no other matches, or in none.
//! - Preferred anti-affinity costs weight × p for each pod in a domain where another matches; one of those that match
//!   themselves is free, as it would be alone.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::instance_type::{CAPACITY_TYPE_LABEL, HOSTNAME_LABEL, ZONE_ID_LABEL, ZONE_LABEL};
use crate::model::pod::PodSpec;
use crate::model::requirement::Labels;
use crate::model::rules::{PodTerm, TopologySpread};
use crate::model::taint::{Taint, TaintEffect, first_untolerated};

use super::launchable::Launchable;
use super::launches::Launches;
use super::placement::Placed;
use super::prospect::Prospect;
use super::sites::Sites;
use super::topology_spread::tolerates;
use super::world::World;

/// Whether any pod wishes anything of other pods.
pub(super) fn are_about_pods(world: &World<'_>) -> bool {
    world.specs.iter().any(|spec| {
        let rules = &spec.rules;
        let has_terms = !rules.preferred_affinity.is_empty() || !rules.preferred_anti_affinity.is_empty();
        has_terms || soft(spec).next().is_some()
    })
}

fn soft(spec: &PodSpec) -> impl Iterator<Item = &TopologySpread> {
    spec.rules.spread.iter().filter(|spread| !spread.is_hard)
}

/// All that is unmet. `sites` are there where any pod wishes anything of others.
pub(super) fn unmet(
    world: &World<'_>,
    launches: &Launches<'_>,
    placed: &Placed,
    sites: Option<&Sites<'_, '_>>,
) -> i128 {
    let of_nodes = about_nodes(world, launches, placed);
    let snapshot = world.snapshot;
    let pools = snapshot.node_pools.iter().map(|pool| &pool.name);
    let each = i128::from(snapshot.objective.preference_across(pools).micros());
    let of_pods = sites.map_or(0, |sites| spreads(sites) + company(sites));
    of_nodes + each * of_pods
}

/// Money for preferred nodes and soft taints.
fn about_nodes(world: &World<'_>, launches: &Launches<'_>, placed: &Placed) -> i128 {
    let snapshot = world.snapshot;
    let is_soft = |taint: &Taint| taint.effect == TaintEffect::PreferNoSchedule;
    let mut money = 0;
    for (node, pods) in &placed.on_node {
        let node = &snapshot.nodes[*node];
        let weight = snapshot.objective.weights(node.node_pool.as_ref()).preference;
        let has_taints = node.taints.iter().any(is_soft);
        for pod in pods.iter().map(|pod| &snapshot.pods[*pod]) {
            if (has_taints || !pod.spec.rules.preferred_nodes.is_empty()) && !pod.is_daemon() {
                let number = dislikes(&pod.spec, &node.taints, &node.labels, Some(node.name.as_str()));
                money += i128::from(weight.micros()) * number;
            }
        }
    }
    // Pods of one spec on like nodes to come.
    let mut known: BTreeMap<(usize, usize), i128> = BTreeMap::new();
    for (launch, pods) in placed.in_launch.iter().enumerate() {
        let Some((at, prospect)) = first_choice(launches, launch) else {
            continue;
        };
        let weight = snapshot.objective.weights(Some(&prospect.pool.name)).preference;
        let has_taints = prospect.pool.taints.iter().any(is_soft);
        for pod in pods {
            let spec = &snapshot.pods[*pod].spec;
            if (has_taints || !spec.rules.preferred_nodes.is_empty()) && !snapshot.pods[*pod].is_daemon() {
                let number = *known
                    .entry((world.spec_of[*pod], at))
                    .or_insert_with(|| dislikes(spec, &prospect.pool.taints, &prospect.labels, None));
                money += i128::from(weight.micros()) * number;
            }
        }
    }
    money
}

fn first_choice<'s, 'a>(launches: &'s Launches<'a>, launch: usize) -> Option<(usize, &'s Prospect<'a>)> {
    let filling = launches.filling_of.get(launch).copied().flatten()?;
    let at = launches.fillings[filling].first.prospect?;
    Some((at, &launches.prospects[at]))
}

/// Weights of what a pod dislikes about a node.
fn dislikes(spec: &PodSpec, taints: &[Taint], labels: &Labels, name: Option<&str>) -> i128 {
    let terms = spec.rules.preferred_nodes.iter();
    let unmet = terms.filter(|term| !term.wish.is_empty() && !term.wish.admits(labels, name));
    let taints = taints.iter().filter(|taint| {
        let tolerated = spec
            .tolerations
            .iter()
            .any(|toleration| toleration.tolerates(taint));
        taint.effect == TaintEffect::PreferNoSchedule && !tolerated
    });
    unmet.map(|term| i128::from(term.weight)).sum::<i128>() + taints.map(|_| 1).sum::<i128>()
}

/// A soft spread and the position in `World::constraints` of what its pods select and tolerate.
type Spread<'s> = (&'s TopologySpread, usize);

/// Steps beyond the skews.
fn spreads(sites: &Sites<'_, '_>) -> i128 {
    let wishers = sites.kinds.iter().filter(|kind| kind.comes());
    let all: BTreeSet<Spread<'_>> = wishers
        .filter_map(|kind| Some((kind.spec, kind.constraint?)))
        .flat_map(|(spec, constraint)| soft(spec).map(move |spread| (spread, constraint)))
        .collect();
    let world = sites.world;
    let offered = [ZONE_LABEL, ZONE_ID_LABEL, CAPACITY_TYPE_LABEL];
    let specs: BTreeSet<usize> = all.iter().map(|(_, constraint)| *constraint).collect();
    let specs = || specs.iter().map(|constraint| world.constraints[*constraint]);
    let launchable = Launchable::under_any_labels(world.snapshot, offered, specs());
    let mut usable: BTreeMap<usize, Vec<bool>> = BTreeMap::new();
    let mut steps = 0;
    for (spread, constraint) in all {
        let spec = world.constraints[constraint];
        let usable = usable
            .entry(constraint)
            .or_insert_with(|| (0..sites.len).map(|site| may_use(sites, spec, site)).collect());
        let mut pods = vec![0_i128; sites.len];
        for kind in &sites.kinds {
            let is_pod = kind.constraint.is_some();
            if is_pod && spread.selector.matches(kind.namespace, &kind.spec.labels) {
                for presence in &kind.presences {
                    pods[presence.site] += i128::from(presence.staying + presence.coming);
                }
            }
        }
        let key = spread.topology_key.as_str();
        let here = pods.iter().enumerate().filter(|(site, _)| usable[*site]);
        let levels: Vec<i128> = if key == HOSTNAME_LABEL {
            here.map(|(_, pods)| *pods).collect()
        } else {
            let mut levels: BTreeMap<&str, i128> = BTreeMap::new();
            if offered.contains(&key) {
                let values = launchable.values(spec, key, &[]);
                levels.extend(values.into_iter().map(|value| (value, 0)));
            }
            for (site, pods) in here {
                if let Some(value) = label(sites, site, key) {
                    *levels.entry(value).or_default() += pods;
                }
            }
            levels.into_values().collect()
        };
        if let (Some(most), Some(least)) = (levels.iter().max(), levels.iter().min()) {
            steps += (most - least - i128::from(spread.max_skew)).max(0);
        }
    }
    steps
}

/// Whether selector, affinity and taints admit a pod to a site.
fn may_use(sites: &Sites<'_, '_>, spec: &PodSpec, site: usize) -> bool {
    let Some(launch) = site.checked_sub(sites.nodes) else {
        let node = &sites.world.snapshot.nodes[site];
        return !node.deleting
            && spec.admits_node(&node.labels, Some(node.name.as_str()))
            && tolerates(spec, node);
    };
    first_choice(sites.launches, launch).is_some_and(|(_, prospect)| {
        spec.admits_node(&prospect.labels, None)
            && first_untolerated(&prospect.pool.taints, &spec.tolerations).is_none()
    })
}

fn label<'s>(sites: &'s Sites<'_, '_>, site: usize, key: &str) -> Option<&'s str> {
    let labels = match site.checked_sub(sites.nodes) {
        None => &sites.world.snapshot.nodes[site].labels,
        Some(launch) => &first_choice(sites.launches, launch)?.1.labels,
    };
    labels.get(key).map(String::as_str)
}

/// A term, whether its pods want to be near, and its weight.
type Wish<'s> = (&'s PodTerm, bool, i128);

/// Pods of one domain.
#[derive(Clone, Copy, Default)]
struct Domain {
    /// Those that have the term and match it.
    own: i128,
    /// Those that have it and don't.
    strangers: i128,
    /// All that match.
    matching: i128,
}

/// Weights of preferences between pods that aren't met.
fn company(sites: &Sites<'_, '_>) -> i128 {
    let mut wishes: BTreeMap<Wish<'_>, Vec<bool>> = BTreeMap::new();
    for (at, kind) in sites.kinds.iter().enumerate() {
        if !kind.comes() {
            continue;
        }
        let rules = &kind.spec.rules;
        for (terms, is_near) in [
            (&rules.preferred_affinity, true),
            (&rules.preferred_anti_affinity, false),
        ] {
            let mut weights: BTreeMap<&PodTerm, i128> = BTreeMap::new();
            for term in terms {
                *weights.entry(&term.wish).or_default() += i128::from(term.weight);
            }
            for (term, weight) in weights {
                let wish = wishes.entry((term, is_near, weight));
                wish.or_insert_with(|| vec![false; sites.kinds.len()])[at] = true;
            }
        }
    }
    wishes
        .iter()
        .map(|((term, is_near, weight), wishers)| weight * unmet_pods(sites, term, *is_near, wishers))
        .sum()
}

fn unmet_pods(sites: &Sites<'_, '_>, term: &PodTerm, is_near: bool, wishers: &[bool]) -> i128 {
    let key = term.topology_key.as_str();
    let by_node = key == HOSTNAME_LABEL;
    let mut domains: BTreeMap<(usize, &str), Domain> = BTreeMap::new();
    let mut outside = 0;
    for (kind, wishes) in sites.kinds.iter().zip(wishers) {
        let matches = kind.constraint.is_some() && term.selector.matches(kind.namespace, &kind.spec.labels);
        if !matches && !wishes {
            continue;
        }
        for presence in &kind.presences {
            let coming = if *wishes { i128::from(presence.coming) } else { 0 };
            let domain = if by_node {
                Some((presence.site, ""))
            } else {
                label(sites, presence.site, key).map(|value| (0, value))
            };
            let Some(domain) = domain else {
                outside += coming;
                continue;
            };
            let domain = domains.entry(domain).or_default();
            if matches {
                domain.own += coming;
                domain.matching += i128::from(presence.staying + presence.coming);
            } else {
                domain.strangers += coming;
            }
        }
    }
    let of_domain = |domain: &Domain| {
        let Domain {
            own,
            strangers,
            matching,
        } = *domain;
        let lonely = own * i128::from(matching == 1) + strangers * i128::from(matching == 0);
        let crowded = own.min(matching - 1).max(0) + strangers * i128::from(matching > 0);
        if is_near { lonely } else { crowded }
    };
    let inside: i128 = domains.values().map(of_domain).sum();
    inside + if is_near { outside } else { 0 }
}
