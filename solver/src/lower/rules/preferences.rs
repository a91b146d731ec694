//! Preferences: soft spread, preferred affinity to nodes and pods, preferred anti-affinity, `PreferNoSchedule` taints.
//!
//! Weighed, never dropped and never required. Only what pods that nodes may be launched for wish counts; those of DaemonSets
//! have one place each. A spread is over the nodes that its pods may use by selector, affinity and taints: existing ones, launched
//! ones, and, under the keys that offerings have, the values that could be launched. What nodes of a pool don't meet
//! counts by that pool's weight, what pods do across nodes by the largest of all pools.

mod about_nodes;
mod about_pods;

pub use about_nodes::Views;

use std::collections::{BTreeMap, BTreeSet};

use crate::lower::compile::Context;
use crate::lower::prune::Kind;
use crate::lower::wishes::Wishes;
use crate::model::pod::PodSpec;
use crate::model::requirement::NodeSelectorTerm;
use crate::model::rules::{TopologySpread, Weighted};

use about_nodes::tastes;
use about_pods::Compiler;

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

/// Whether preferences make more of one place than of the other.
#[must_use]
pub fn is_no_better(one: &Kind, two: &Kind) -> bool {
    let costs = one.unmet.iter().zip(&two.unmet);
    one.reached == two.reached && costs.into_iter().all(|(one, two)| one <= two)
}
