//! What pods prefer of other pods: even numbers over domains, company, and being apart.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fixedbitset::FixedBitSet;

use crate::lower::compile::Context;
use crate::lower::prune::Kind;
use crate::lower::rules::topology_spread::tolerates;
use crate::lower::wishes::{Company, Domains, Evenly, Wishes};
use crate::model::instance_type::{CAPACITY_TYPE_LABEL, HOSTNAME_LABEL, ZONE_ID_LABEL, ZONE_LABEL};
use crate::model::rules::{PodTerm, TopologySpread};

use super::about_nodes::Views;
use super::soft;

/// Keys of which values that could be launched are domains, whether or not there are nodes.
const OFFERED: [&str; 3] = [ZONE_LABEL, ZONE_ID_LABEL, CAPACITY_TYPE_LABEL];

/// Domains of a key, with the name of each.
type Named<'k> = (Arc<Domains>, Vec<&'k str>);

pub(super) struct Compiler<'k, 'c, 'a> {
    pub(super) context: &'k Context<'c, 'a>,
    pub(super) views: &'k Views<'a>,
    pub(super) each: u64,
    /// By reach (`None`: all nodes) and key.
    pub(super) domains: BTreeMap<(Option<usize>, &'a str), Named<'k>>,
    /// By reach: existing nodes.
    pub(super) reached: BTreeMap<usize, Arc<[usize]>>,
}

impl<'k, 'a> Compiler<'k, '_, 'a> {
    pub(super) fn spreads(&mut self, wishes: &mut Wishes) {
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

    pub(super) fn company(&mut self, wishes: &mut Wishes) {
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
