//! The figures behind a refusal that only show once the plan is done: which pods are where, and who took the room.
//!
//! Why a pool refuses a pod is decided while plans are made, thousands of times, without a look at other pods. Of the plan
//! that is left in the end, each reason about other pods, a limit or a lack of offers gets the names and counts here.

use std::collections::BTreeMap;

use crate::model::explain::{Constraint, Reason};
use crate::model::name::{InstanceTypeName, NodePoolName, PodName};
use crate::model::plan::{Launch, PlanBody};
use crate::model::pod::{Pod, PodSpec};
use crate::model::rules::TopologySpread;
use crate::model::snapshot::Snapshot;

use super::words;
use super::world::World;

/// So many kinds of refused pods are looked at; the rest keep the reason without names. Each is a pass over all pods for
/// each of its rules: a second's worth for a hundred thousand pods.
const MOST_KINDS: usize = 200;
/// So many pods or places are named.
const SHOWN: usize = 4;

/// Gives each reason of a refused pod its figures.
pub(super) fn add(snapshot: &Snapshot, world: &World<'_>, body: &mut PlanBody) {
    let took = Took::of(snapshot, &body.launch);
    let mut known: BTreeMap<Kind<'_>, Vec<Reason>> = BTreeMap::new();
    // Refused pods of one workload stand together.
    let mut last: Option<(Kind<'_>, Vec<Reason>)> = None;
    for refusal in &mut body.unschedulable {
        let Some(pod) = snapshot.pod(&refusal.pod).filter(|pod| !pod.is_daemon()) else {
            continue;
        };
        let namespace = pod.name.namespace.as_str();
        let is_same = |(spec, other, reasons): &Kind<'_>| {
            std::ptr::eq(*spec, &raw const *pod.spec) && *other == namespace && *reasons == refusal.reasons
        };
        if let Some((_, reasons)) = last.as_ref().filter(|(kind, _)| is_same(kind)) {
            refusal.reasons.clone_from(reasons);
            continue;
        }
        let kind: Kind<'_> = (&pod.spec, namespace, refusal.reasons.clone());
        if let Some(reasons) = known.get(&kind) {
            refusal.reasons.clone_from(reasons);
        } else if known.len() < MOST_KINDS {
            for reason in &mut refusal.reasons {
                if let Some(detail) = told(world, &took, pod, reason) {
                    reason.detail = detail;
                }
            }
            known.insert(kind.clone(), refusal.reasons.clone());
        }
        last = Some((kind, refusal.reasons.clone()));
    }
}

/// Pods that are refused alike: what they ask for, their namespace, and the reasons.
type Kind<'a> = (&'a PodSpec, &'a str, Vec<Reason>);

/// The detail with its figures; `None` where it has them already.
fn told(world: &World<'_>, took: &Took<'_>, pod: &Pod, reason: &Reason) -> Option<String> {
    let pool = reason.node_pool.as_ref()?;
    match reason.constraint {
        Constraint::Limit => {
            let by = took.of_pool(pool, world)?;
            Some(format!("{}; {by}", reason.detail))
        }
        // Of a reservation the reason says itself how full it is, and launches of the same type may be of another.
        Constraint::Capacity if reason.detail.contains("reservation") => None,
        Constraint::Capacity => {
            let by = took.of_types(&reason.detail)?;
            Some(format!("{}; {by}", reason.detail))
        }
        // What is said of a whole gang isn't so of each of its pods.
        _ if pod.spec.rules.gang.is_some() => None,
        Constraint::TopologySpread => spread(world, pod),
        Constraint::AntiAffinity => apart(world, pod).map(|said| said.join("; ")),
        Constraint::Affinity => near(world, pod, &reason.detail),
        Constraint::Volume => {
            let rest = reason.detail.strip_prefix("a volume ")?;
            let claims: Vec<&str> = pod
                .spec
                .rules
                .volumes
                .iter()
                .map(|one| one.claim.as_str())
                .collect();
            match claims.as_slice() {
                [claim] => Some(format!("volume {claim} {rest}")),
                claims => Some(format!("one of the volumes {} {rest}", words::listed(claims))),
            }
        }
        _ => None,
    }
}

/// The first hard spread that leaves no domain, or else the first.
fn spread(world: &World<'_>, pod: &Pod) -> Option<String> {
    let hard = pod.spec.rules.spread.iter().filter(|spread| spread.is_hard);
    let told: Vec<(usize, String)> = hard.map(|spread| counted(world, pod, spread)).collect();
    told.into_iter()
        .min_by_key(|(open, _)| *open)
        .map(|(_, said)| said)
}

/// How many domains may take one more, and all of it in words.
fn counted(world: &World<'_>, pod: &Pod, spread: &TopologySpread) -> (usize, String) {
    let counts = world.counts(spread, pod);
    let own = u64::from(spread.selector.matches(&pod.name.namespace, &pod.spec.labels));
    let most = counts.least + u64::from(spread.max_skew);
    let mut by_count: Vec<(u64, &str)> = (counts.by_value.iter())
        .map(|(value, count)| (*count, value.as_str()))
        .collect();
    by_count.sort_unstable();
    let open = by_count.iter().filter(|(count, _)| count + own <= most);
    let open: Vec<&str> = open.map(|(_, value)| *value).collect();
    let said: Vec<String> = by_count
        .iter()
        .map(|(count, value)| format!("{value} {count}"))
        .collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let (key, skew) = (&spread.topology_key, spread.max_skew);
    let selected = words::selector(&spread.selector);
    let domains = if said.is_empty() {
        format!("{key}: no node has or could have that label")
    } else {
        format!("{key}: {selected}: {}", words::listed(&said))
    };
    let fewest = match spread.min_domains {
        Some(fewest) if by_count.len() < usize::try_from(fewest).unwrap_or(usize::MAX) => {
            let there = by_count.len();
            format!("; {there} domains of minDomains {fewest}, so the least counts as 0")
        }
        _ => String::new(),
    };
    let open_count = open.len();
    let rest = if open.is_empty() {
        format!("with maxSkew {skew} none may take one more")
    } else {
        let open = words::listed(&open);
        format!("with maxSkew {skew} only {open} may take one more, where no node can be had for it")
    };
    (open_count, format!("{domains}{fewest}; {rest}"))
}

/// The pods that it keeps off or that keep it off, by place.
fn apart(world: &World<'_>, pod: &Pod) -> Option<Vec<String>> {
    let mut said = Vec::new();
    for term in &pod.spec.rules.anti_affinity {
        let places = world.named_by(term, &pod.name);
        if places.is_empty() {
            continue;
        }
        let there = places
            .iter()
            .take(SHOWN)
            .map(|(value, (first, count))| match count {
                1 => format!("{value} ({first})"),
                _ => format!("{value} ({first} and {} more)", count - 1),
            });
        let there: Vec<String> = there.collect();
        let more = if places.len() > SHOWN { ", …" } else { "" };
        let (key, selected) = (&term.topology_key, words::selector(&term.selector));
        said.push(format!(
            "{key}: {selected}, which it keeps off, are in {}{more}",
            there.join(", ")
        ));
    }
    if said.is_empty() {
        let mut by_key: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
        for (term, other, value) in world.keeping_off(pod) {
            let key = (term.topology_key.as_str(), words::selector(&term.selector));
            by_key.entry(key).or_default().push(format!("{other} in {value}"));
        }
        for ((key, selected), who) in by_key {
            let who: Vec<&str> = who.iter().map(String::as_str).collect();
            let keeps = if who.len() == 1 { "keeps" } else { "keep" };
            said.push(format!("{key}: {} {keeps} {selected} off", words::listed(&who)));
        }
    }
    (!said.is_empty()).then_some(said)
}

/// The pods that it has to be near, by place, after what the reason says of the pool.
fn near(world: &World<'_>, pod: &Pod, detail: &str) -> Option<String> {
    let terms = &pod.spec.rules.affinity;
    let selectors: Vec<_> = terms.iter().map(|term| &term.selector).collect();
    let term = terms.first()?;
    let mut places: BTreeMap<&str, &PodName> = BTreeMap::new();
    for (other, node) in world.matching(&selectors, &pod.name) {
        if let Some(value) = node.labels.get(&term.topology_key) {
            places.entry(value).or_insert(&other.name);
        }
    }
    let selected: Vec<String> = terms.iter().map(words::term).collect();
    let selected = selected.join(" and ");
    if places.is_empty() {
        return Some(format!("required affinity {selected}: {detail}"));
    }
    let there: Vec<String> = places
        .iter()
        .map(|(value, first)| format!("{value} ({first})"))
        .collect();
    let there: Vec<&str> = there.iter().map(String::as_str).collect();
    Some(format!(
        "required affinity {selected}: such are in {}; no node that the pool may launch there has room for it",
        words::listed(&there)
    ))
}

/// Launches, and what they are for.
#[derive(Default)]
struct Share<'a> {
    launches: usize,
    pods: usize,
    /// The pod of the highest priority, the first by name of these.
    first: Option<&'a Pod>,
}

/// What the plan's launches are for.
struct Took<'a> {
    by_pool: BTreeMap<&'a NodePoolName, Share<'a>>,
    by_type: BTreeMap<&'a InstanceTypeName, Share<'a>>,
}

impl<'a> Took<'a> {
    fn of(snapshot: &'a Snapshot, launches: &'a [Launch]) -> Self {
        let mut took = Self {
            by_pool: BTreeMap::new(),
            by_type: BTreeMap::new(),
        };
        for launch in launches {
            let pods = launch.pods.iter().filter_map(|pod| snapshot.pod(pod));
            let first = pods.max_by_key(|pod| (pod.spec.priority, std::cmp::Reverse(&pod.name)));
            let of_pool = took.by_pool.entry(&launch.node_pool).or_default();
            let of_type = took.by_type.entry(&launch.instance_type).or_default();
            for share in [of_pool, of_type] {
                share.launches += 1;
                share.pods += launch.pods.len();
                let priority = |pod: Option<&Pod>| pod.map(|pod| pod.spec.priority);
                if priority(first) > priority(share.first) {
                    share.first = first;
                }
            }
        }
        took
    }

    /// Who uses up a pool's limits: its nodes that are there, and those that the plan launches.
    fn of_pool(&self, pool: &NodePoolName, world: &World<'_>) -> Option<String> {
        let share = self.by_pool.get(pool);
        let launched = share.map_or(0, |share| share.launches);
        let nodes = world.parts.nodes.iter();
        let all = nodes.filter(|node| node.node_pool.as_ref() == Some(pool)).count();
        // Launches stand among the nodes of the world after the plan.
        let there = all.saturating_sub(launched);
        let mut said = Vec::new();
        if there > 0 {
            said.push(format!("{} there", counted_nodes(there)));
        }
        if let Some(share) = share {
            let launched = counted_nodes(launched);
            said.push(format!("{launched} that this plan launches{}", share.for_whom()));
        }
        (!said.is_empty()).then(|| format!("used by {}", said.join(" and ")))
    }

    /// Who takes the offers of the type that a reason names.
    fn of_types(&self, detail: &str) -> Option<String> {
        let is_named = |name: &str| detail.split([' ', '(']).any(|word| word == name);
        let mut types = self.by_type.iter();
        let (_, share) = types.find(|(known, _)| is_named(known.as_str()))?;
        Some(format!(
            "this plan launches {}{}",
            share.launches,
            share.for_whom()
        ))
    }
}

fn counted_nodes(count: usize) -> String {
    match count {
        1 => "1 node".to_owned(),
        _ => format!("{count} nodes"),
    }
}

impl Share<'_> {
    fn for_whom(&self) -> String {
        let Some(first) = self.first else {
            return String::new();
        };
        let first = words::pod(first);
        match self.pods.saturating_sub(1) {
            0 => format!(" for {first}"),
            1 => format!(" for {first} and another pod"),
            others => format!(" for {first} and {others} other pods"),
        }
    }
}
