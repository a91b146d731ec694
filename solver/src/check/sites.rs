//! Where every pod is in the end, for rules about other pods: kinds of pods by node, and nodes by domain.
//!
//! A site is an existing node or a launch. Present are: pods that stay; pods that the plan puts there (DaemonSet pods
//! among them count as staying: nobody chose their place); pods that still terminate; and DaemonSet pods that the node
//! will have without any plan's word. Nodes that are being deleted are no sites of anybody.
//!
//! Two pods are of one kind if they share namespace, rules, selector, affinity, tolerations, and the labels that any
//! selector of the snapshot reads. All numbers are pods.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::model::name::PodName;
use crate::model::pod::{PodPlace, PodSpec};
use crate::model::rules::PodRules;

use super::daemons::{self, Expected};
use super::launches::Launches;
use super::placement::Placed;
use super::world::World;

/// Pods that no rule about other pods tells apart.
pub(super) struct Kind<'s> {
    pub(super) namespace: &'s str,
    pub(super) spec: &'s PodSpec,
    /// Position in [`World::constraints`]; `None` for a DaemonSet's template.
    pub(super) constraint: Option<usize>,
    /// By site, ascending.
    pub(super) presences: Vec<Presence>,
}

impl Kind<'_> {
    /// Whether the plan puts any somewhere.
    pub(super) fn comes(&self) -> bool {
        self.presences.iter().any(|presence| presence.coming > 0)
    }

    /// Where the plan puts them.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = &Presence> {
        self.presences.iter().filter(|presence| presence.coming > 0)
    }
}

/// Pods of one kind on one site.
#[derive(Clone, Copy, Debug)]
pub(super) struct Presence {
    pub(super) site: usize,
    pub(super) staying: u64,
    pub(super) leaving: u64,
    pub(super) coming: u64,
    pub(super) expected: Expected,
    /// One of those that come, or else of the others.
    pub(super) example: Example,
}

/// A pod to name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Example {
    /// By position in the snapshot.
    Pod(usize),
    /// One of a DaemonSet to come.
    DaemonSet(usize),
}

/// All of it.
pub(super) struct Sites<'s, 'a> {
    pub(super) world: &'s World<'a>,
    pub(super) launches: &'s Launches<'a>,
    pub(super) kinds: Vec<Kind<'s>>,
    /// Existing nodes; launches come behind them.
    pub(super) nodes: usize,
    pub(super) len: usize,
}

/// What makes pods one kind.
type Identity<'s> = (&'s str, Vec<(&'s str, &'s str)>, &'s PodRules, usize);

impl<'s, 'a> Sites<'s, 'a> {
    /// Whether any pod has a required rule about other pods.
    pub(super) fn matter(world: &World<'_>) -> bool {
        let daemon_sets = world.snapshot.daemon_sets.iter();
        let templates = daemon_sets.map(|daemon_set| &daemon_set.spec.rules);
        let mut rules = world.specs.iter().map(|spec| &spec.rules).chain(templates);
        rules.any(|rules| {
            let has_terms = !rules.affinity.is_empty() || !rules.anti_affinity.is_empty();
            has_terms || rules.spread.iter().any(|spread| spread.is_hard)
        })
    }

    pub(super) fn new(world: &'s World<'a>, launches: &'s Launches<'a>, placed: &Placed) -> Self {
        let nodes = world.snapshot.nodes.len();
        let mut sites = Self {
            world,
            launches,
            kinds: Vec::new(),
            nodes,
            len: nodes + placed.in_launch.len(),
        };
        let kind_of = sites.intern();
        let mut coming: Vec<&[usize]> = vec![&[]; nodes];
        for (node, pods) in &placed.on_node {
            coming[*node] = pods;
        }
        for (node, coming) in coming.into_iter().enumerate() {
            if world.snapshot.nodes[node].deleting {
                continue;
            }
            for pod in &world.pods_on[node] {
                let leaves = matches!(world.snapshot.pods[*pod].place, PodPlace::Terminating(_));
                let presence = sites.presence(kind_of[*pod], node, Example::Pod(*pod));
                *(if leaves {
                    &mut presence.leaving
                } else {
                    &mut presence.staying
                }) += 1;
            }
            for pod in coming {
                sites.arrives(kind_of[*pod], node, *pod);
            }
        }
        for (launch, pods) in placed.in_launch.iter().enumerate() {
            for pod in pods {
                sites.arrives(kind_of[*pod], nodes + launch, *pod);
            }
        }
        sites.expect_daemons(placed);
        sites
    }

    /// Kind of each pod.
    fn intern(&mut self) -> Vec<usize> {
        let world = self.world;
        let keys = selected_keys(world);
        let mut by_identity: BTreeMap<Identity<'s>, usize> = BTreeMap::new();
        let mut by_spec: BTreeMap<(usize, &str), usize> = BTreeMap::new();
        let mut kind_of: Vec<usize> = Vec::with_capacity(world.snapshot.pods.len());
        // Pods of one workload stand together, so most are like the one before.
        let mut last: Option<(usize, &str, usize)> = None;
        for (at, pod) in world.snapshot.pods.iter().enumerate() {
            let (spec_at, namespace) = (world.spec_of[at], pod.name.namespace.as_str());
            let kind = match last {
                Some((spec, space, kind)) if spec == spec_at && space == namespace => kind,
                _ => *by_spec.entry((spec_at, namespace)).or_insert_with(|| {
                    let spec = world.specs[spec_at];
                    let labels = spec
                        .labels
                        .iter()
                        .map(|(key, value)| (key.as_str(), value.as_str()));
                    let labels = labels.filter(|(key, _)| keys.contains(key)).collect();
                    let constraint = world.groups[world.group_of[at]].constraint;
                    let identity = (namespace, labels, &spec.rules, constraint);
                    *by_identity.entry(identity).or_insert_with(|| {
                        self.kinds.push(Kind {
                            namespace,
                            spec,
                            constraint: Some(constraint),
                            presences: Vec::new(),
                        });
                        self.kinds.len() - 1
                    })
                }),
            };
            last = Some((spec_at, namespace, kind));
            kind_of.push(kind);
        }
        kind_of
    }

    fn presence(&mut self, kind: usize, site: usize, example: Example) -> &mut Presence {
        let presences = &mut self.kinds[kind].presences;
        if presences.last().is_none_or(|last| last.site != site) {
            presences.push(Presence {
                site,
                staying: 0,
                leaving: 0,
                coming: 0,
                expected: Expected::Never,
                example,
            });
        }
        presences.last_mut().expect("pushed where there was none")
    }

    fn arrives(&mut self, kind: usize, site: usize, pod: usize) {
        let is_daemon = self.kinds[kind].spec.owner.as_ref();
        let is_daemon = is_daemon.is_some_and(|owner| owner.kind == "DaemonSet");
        let presence = self.presence(kind, site, Example::Pod(pod));
        if is_daemon {
            presence.staying += 1;
        } else {
            if presence.coming == 0 {
                presence.example = Example::Pod(pod);
            }
            presence.coming += 1;
        }
    }

    /// Pods of DaemonSets that a required rule is about.
    fn expect_daemons(&mut self, placed: &Placed) {
        let world = self.world;
        let rules = world.specs.iter().map(|spec| &spec.rules);
        let terms = rules.flat_map(|rules| rules.affinity.iter().chain(&rules.anti_affinity));
        let selectors: BTreeSet<_> = terms.map(|term| &term.selector).collect();
        for (at, daemon_set) in world.snapshot.daemon_sets.iter().enumerate() {
            let (namespace, spec) = (daemon_set.name.namespace.as_str(), &*daemon_set.spec);
            let is_meant = selectors
                .iter()
                .any(|selector| selector.matches(namespace, &spec.labels));
            if !is_meant && spec.rules.anti_affinity.is_empty() {
                continue;
            }
            self.kinds.push(Kind {
                namespace,
                spec,
                constraint: None,
                presences: Vec::new(),
            });
            let kind = self.kinds.len() - 1;
            let at_most = if daemons::may_be_kept_off(world, at) {
                Expected::Perhaps
            } else {
                Expected::Surely
            };
            for node in daemons::on_nodes(world, placed, at) {
                self.presence(kind, node, Example::DaemonSet(at)).expected = at_most;
            }
            let launches = self.launches;
            let fillings = launches.fillings.iter();
            let of_fillings: Vec<Expected> = fillings
                .map(|filling| daemons::on_launch(world, launches, filling, at))
                .collect();
            for (launch, filling) in launches.filling_of.iter().enumerate() {
                let expected = filling.map_or(Expected::Never, |filling| of_fillings[filling].min(at_most));
                if expected != Expected::Never {
                    let site = self.nodes + launch;
                    self.presence(kind, site, Example::DaemonSet(at)).expected = expected;
                }
            }
        }
    }

    /// Name of a pod, or of the DaemonSet it will be of.
    pub(super) fn name(&self, example: Example) -> &PodName {
        match example {
            Example::Pod(pod) => &self.world.snapshot.pods[pod].name,
            Example::DaemonSet(at) => &self.world.snapshot.daemon_sets[at].name,
        }
    }

    /// `node n1` or `launch/3`.
    pub(super) fn site(&self, site: usize) -> impl fmt::Display {
        match site.checked_sub(self.nodes) {
            None => format!("node {}", self.world.snapshot.nodes[site].name),
            Some(launch) => format!("launch/{launch}"),
        }
    }
}

/// Labels of pods that selectors read.
fn selected_keys<'s>(world: &World<'s>) -> BTreeSet<&'s str> {
    let daemon_sets = world.snapshot.daemon_sets.iter();
    let specs = world
        .specs
        .iter()
        .copied()
        .chain(daemon_sets.map(|daemon_set| &*daemon_set.spec));
    let selectors = specs.flat_map(|spec| spec.rules.selectors());
    let requirements = selectors.filter_map(|selector| selector.labels.as_ref());
    requirements
        .flat_map(|labels| labels.iter().map(|(key, _)| key))
        .collect()
}
