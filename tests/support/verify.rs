//! Whether a plan that changes no existing node breaks a rule.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::addresses;
use super::cost;
use super::gangs::Gangs;
use super::input::{Input, list, number, text};
use super::machine::{Node, Offer, instance_type, node_labels};
use super::numbers::Numbers;
use super::offers::{is_kept_from, offers_for, wanted_on};
use super::pods::{Pod, Pods, written};
use super::pools::has_enough_values;
use super::quantity::{Amounts, add, amounts, lacking, larger, thousandths};
use super::scheduler::After;
use super::selection::{admits, untolerated};

/// Every rule that the plan breaks, and every pod that it refuses for no good reason, a sentence each.
pub(crate) fn findings(input: &Input, plan: &Value) -> Vec<String> {
    let (mut wrong, needless) = judged(input, plan);
    wrong.extend(needless);
    wrong
}

/// The same apart: broken rules first, then pods refused although there is a place for them as things stand afterwards.
pub(crate) fn judged(input: &Input, plan: &Value) -> (Vec<String>, Vec<String>) {
    let pods = Pods::read(input);
    let mut after = After::of(input, plan, &pods);
    let judge = Judge {
        input,
        plan,
        pods: &pods,
        nodes: Node::all(input),
        gangs: Gangs::of(input),
    };
    let mut findings = cost::findings(input, plan);
    judge.places(&mut findings);
    for (index, launch) in list(plan, "/launch").iter().enumerate() {
        let mut wrong = Vec::new();
        judge.launch(launch, &mut after, &mut wrong);
        findings.extend(wrong.into_iter().map(|text| format!("launch/{index}: {text}")));
    }
    for node in &judge.nodes {
        let mut wrong = Vec::new();
        judge.node(node, &mut wrong);
        findings.extend(
            wrong
                .into_iter()
                .map(|text| format!("node {}: {text}", node.name)),
        );
    }
    judge.limits(&mut findings);
    judge.static_pools(&mut findings);
    let before = Numbers::of(input, &judge.nodes);
    let numbers = Numbers::of(input, &judge.nodes).after(input, plan);
    findings.extend(numbers.findings(&before));
    addresses::findings(input, plan, &mut findings);
    findings.extend(judge.gangs.findings(plan));
    findings.append(&mut after.disagreements);
    findings.extend(after.left_out(|pod, key, all| judge.launchable(pod, key, all)));
    let mut needless = Vec::new();
    judge.refusals(&mut after, &numbers, &mut needless);
    (findings, needless)
}

struct Judge<'a> {
    input: &'a Input,
    plan: &'a Value,
    pods: &'a Pods,
    nodes: Vec<Node>,
    gangs: Gangs<'a>,
}

impl Judge<'_> {
    /// Every pending pod has one place or one refusal, and nobody else has any.
    fn places(&self, findings: &mut Vec<String>) {
        let mut places: BTreeMap<String, u64> = BTreeMap::new();
        let launched = list(self.plan, "/launch")
            .iter()
            .flat_map(|launch| list(launch, "/pods"));
        let added = list(self.plan, "/nodes")
            .iter()
            .flat_map(|node| list(node, "/added"));
        let refused = list(self.plan, "/unschedulable")
            .iter()
            .filter_map(|one| one.pointer("/pod"));
        for name in launched.chain(added).chain(refused) {
            *places.entry(name.as_str().unwrap_or("").to_owned()).or_default() += 1;
        }
        for (name, times) in &places {
            if *times > 1 {
                findings.push(format!("pod {name} has {times} places"));
            }
            if !self
                .pods
                .find(name)
                .is_some_and(|pod| pod.pending || self.loses_its_node(pod))
            {
                findings.push(format!(
                    "pod {name} is placed or refused, but doesn't wait for a place"
                ));
            }
        }
        for (name, pod) in self.pods.named() {
            if pod.pending && pod.daemon_set.is_none() && !places.contains_key(name) {
                findings.push(format!("pod {name} waits and has neither place nor refusal"));
            }
        }
        for (workload, replicas) in self.pods.expanded() {
            let of_it = places.keys().filter(|name| {
                name.strip_prefix(workload.as_str())
                    .and_then(|rest| rest.strip_prefix('-'))
                    .is_some_and(|rest| !rest.contains('-'))
            });
            if of_it.count() as u64 != replicas {
                findings.push(format!(
                    "{workload} has {replicas} pods, not as many are placed or refused"
                ));
            }
        }
    }

    /// Pods of a node on its way out need another place, too.
    fn loses_its_node(&self, pod: &Pod) -> bool {
        let goes = |node: &&Node| node.deleting && pod.node.as_ref() == Some(&node.name);
        !pod.terminating && self.nodes.iter().find(goes).is_some()
    }

    fn pod(&self, name: &Value) -> Option<&Pod> {
        self.pods.find(name.as_str().unwrap_or(""))
    }

    fn launch(&self, launch: &Value, after: &mut After<'_>, findings: &mut Vec<String>) {
        let Some(pool) = self.input.named("NodePool", text(launch, "/nodePool")) else {
            findings.push(format!("NodePool {} isn't there", text(launch, "/nodePool")));
            return;
        };
        let pods: Vec<&Pod> = list(launch, "/pods")
            .iter()
            .filter_map(|name| self.pod(name))
            .collect();
        if pods.is_empty() && !is_static(pool) {
            findings.push("is for no pod".to_owned());
        }
        let mut last = 0.0;
        for (index, offer) in Offer::all(launch).iter().enumerate() {
            let wanted = wanted_on(self.input, pool, offer, &pods).map_err(|text| {
                findings.push(format!("{} in {}: {text}", offer.instance_type, offer.zone));
            });
            if let (0, Ok(wanted)) = (index, wanted)
                && wanted != without_attachments(written(&launch["requests"]))
            {
                findings.push(format!(
                    "requests are {}, counted anew {wanted:?}",
                    launch["requests"]
                ));
            }
            if offer.price + 1e-9 < last {
                findings.push("its offers aren't ordered by price".to_owned());
            }
            last = offer.price;
        }
        // A node that one of its pods needs may take others in.
        let heavier = list(launch, "/pods")
            .iter()
            .map(|name| self.heavier_pool(pool, name, after));
        if let Some(heavier) = heavier.collect::<Option<Vec<String>>>()
            && let Some(heavier) = heavier.first()
        {
            findings.push(format!(
                "NodePool {heavier} of a higher weight could take its pods"
            ));
        }
    }

    /// A pool of a higher weight, without limits, that could launch for this pod. Judged for pods without rules about
    /// others, whose place depends on nobody's.
    fn heavier_pool(&self, pool: &Value, name: &Value, after: &mut After<'_>) -> Option<String> {
        let weight = |pool: &Value| number(pool, "/spec/weight").unwrap_or(1.0);
        let pod = self.pod(name).filter(|pod| after.is_plain(pod))?;
        let name = name.as_str().unwrap_or("");
        let heavier = self.input.kind("NodePool").find(|other| {
            weight(other) > weight(pool)
                && !is_static(other)
                && !is_static(pool)
                && other.pointer("/spec/limits").is_none()
                && offers_for(self.input, other, pod)
                    .iter()
                    .any(|offer| after.refusal_on_offer(name, pod, other, offer).is_none())
        })?;
        Some(text(heavier, "/metadata/name").to_owned())
    }

    /// Values of a label that a new node for the pod with all of some labels could have, limits apart.
    fn launchable(&self, pod: &Pod, key: &str, all: &BTreeSet<&str>) -> BTreeSet<String> {
        let pools = self.input.kind("NodePool").filter(|pool| !is_static(pool));
        let nodes = pools.flat_map(|pool| {
            let offers = offers_for(self.input, pool, pod);
            offers
                .into_iter()
                .map(|offer| node_labels(self.input, pool, &offer))
        });
        let counting = nodes.filter(|labels| all.iter().all(|key| labels.contains_key(*key)));
        counting.filter_map(|mut labels| labels.remove(key)).collect()
    }

    /// What is planned for a node that is there.
    fn planned<'p>(&'p self, node: &Node) -> Option<&'p Value> {
        list(self.plan, "/nodes")
            .iter()
            .find(|planned| text(planned, "/name") == node.name)
    }

    fn added(&self, node: &Node) -> &[Value] {
        self.planned(node).map_or(&[], |planned| list(planned, "/added"))
    }

    fn node(&self, node: &Node, findings: &mut Vec<String>) {
        if self
            .planned(node)
            .is_some_and(|planned| text(planned, "/action") != "keep")
        {
            findings.push("changes, although nobody asked for that".to_owned());
        }
        let added: Vec<&Pod> = self
            .added(node)
            .iter()
            .filter_map(|name| self.pod(name))
            .collect();
        if added.is_empty() {
            return;
        }
        if !node.open {
            findings.push("takes no pods".to_owned());
        }
        for pod in &added {
            if let Err(refusal) = self.refused_room(node, pod, false) {
                findings.push(refusal);
            }
        }
        let mut used = node.used(self.input, self.pods);
        added.iter().for_each(|pod| add(&mut used, &pod.requests));
        if let Some(lacks) = lacking(&used, &node.allocatable) {
            findings.push(format!("overfull: {lacks}"));
        }
    }

    /// Why a node can't take a pod, its room counted or not.
    fn refused_room(&self, node: &Node, pod: &Pod, room: bool) -> Result<(), String> {
        admits(&pod.spec, &node.labels, Some(&node.name))?;
        if let Some(taint) = untolerated(&pod.spec, &node.taints, false) {
            return Err(taint);
        }
        if room {
            let mut used = node.used(self.input, self.pods);
            let added = self.added(node).iter().filter_map(|name| self.pod(name));
            added.for_each(|pod| add(&mut used, &pod.requests));
            add(&mut used, &pod.requests);
            lacking(&used, &node.allocatable).map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    /// What each pool has after the plan: with the first choices, or with the worst that the cloud may grant. Nodes
    /// count as `nodes`.
    fn used_of_limit(&self, pool: &str, worst: bool) -> Amounts {
        let one_node = || BTreeMap::from([("nodes".to_owned(), 1000)]);
        let mut used = Amounts::new();
        for node in self.nodes.iter().filter(|node| node.pool() == pool) {
            add(&mut used, &node.capacity);
            add(&mut used, &one_node());
        }
        for launch in list(self.plan, "/launch")
            .iter()
            .filter(|launch| text(launch, "/nodePool") == pool)
        {
            let granted = Offer::all(launch);
            let granted = &granted[..if worst { granted.len() } else { 1 }];
            let size = granted.iter().fold(Amounts::new(), |size, offer| {
                larger(&size, &self.capacity(&offer.instance_type))
            });
            add(&mut used, &size);
            add(&mut used, &one_node());
        }
        used
    }

    fn capacity(&self, name: &str) -> Amounts {
        let found = instance_type(self.input, name).and_then(|found| found.pointer("/capacity"));
        found.map(amounts).unwrap_or_default()
    }

    fn limits(&self, findings: &mut Vec<String>) {
        for pool in self.input.kind("NodePool") {
            let name = text(pool, "/metadata/name");
            let launches = list(self.plan, "/launch")
                .iter()
                .any(|launch| text(launch, "/nodePool") == name);
            let limits = pool.pointer("/spec/limits").map(amounts).unwrap_or_default();
            for (resource, used) in self.used_of_limit(name, true) {
                if launches && limits.get(&resource).is_some_and(|limit| used > *limit) {
                    findings.push(format!(
                        "NodePool {name} has {used} thousandths of {resource}, over its limit"
                    ));
                }
            }
        }
    }

    /// A static pool has as many nodes in the end as it wants, or as its limit on nodes admits.
    fn static_pools(&self, findings: &mut Vec<String>) {
        for pool in self.input.kind("NodePool").filter(|pool| is_static(pool)) {
            let name = text(pool, "/metadata/name");
            let own = || self.nodes.iter().filter(|node| node.pool() == name);
            let (all, staying) = (own().count(), own().filter(|node| !node.deleting).count());
            let launches = list(self.plan, "/launch").iter();
            let launched = launches
                .filter(|launch| text(launch, "/nodePool") == name)
                .count();
            let limit = pool.pointer("/spec/limits/nodes").map(thousandths);
            let room = limit.map_or(usize::MAX, |limit| {
                usize::try_from(limit / 1000).unwrap().saturating_sub(all)
            });
            let replicas = pool.pointer("/spec/replicas").map_or(0, thousandths) / 1000;
            let replicas = usize::try_from(replicas).unwrap();
            let lacks = replicas.saturating_sub(staying).min(room);
            if launched != lacks {
                findings.push(format!(
                    "NodePool {name} lacks {lacks} nodes and launches {launched}"
                ));
            }
        }
    }

    /// Nobody is refused who could be placed as things stand after the plan.
    fn refusals(&self, after: &mut After<'_>, numbers: &Numbers, findings: &mut Vec<String>) {
        for refused in list(self.plan, "/unschedulable") {
            let Some(pod) = refused.pointer("/pod").and_then(|name| self.pod(name)) else {
                continue;
            };
            if list(refused, "/reasons").is_empty() {
                findings.push(format!("{} is refused without a reason", refused["pod"]));
            }
            let name = text(refused, "/pod");
            if pod.daemon_set.is_some() || self.gangs.has(name) {
                continue;
            }
            let open = self.nodes.iter().filter(|node| node.open);
            for node in open.filter(|node| self.refused_room(node, pod, true).is_ok()) {
                if after.refusal_on_node(name, pod, node).is_none() {
                    findings.push(format!("{name} is refused, but fits on node {}", node.name));
                }
            }
            for pool in self.input.kind("NodePool").filter(|pool| !is_static(pool)) {
                let offers = offers_for(self.input, pool, pod);
                if !has_enough_values(self.input, pool, &offers) {
                    continue;
                }
                if let Some(offer) = offers.iter().find(|offer| {
                    self.within_limits(pool, offer)
                        && numbers.has_one_more(self.input, offer)
                        && addresses::are_left(self.input, self.plan, pool, offer)
                        && !is_kept_from(self.input, pool, pod, offer)
                        && after.refusal_on_offer(name, pod, pool, offer).is_none()
                }) {
                    findings.push(format!(
                        "{name} is refused, but {} could launch {offer:?}",
                        text(pool, "/metadata/name")
                    ));
                }
            }
        }
    }

    fn within_limits(&self, pool: &Value, offer: &Offer) -> bool {
        let mut used = self.used_of_limit(text(pool, "/metadata/name"), false);
        add(&mut used, &self.capacity(&offer.instance_type));
        *used.entry("nodes".to_owned()).or_default() += 1000;
        let limits = pool.pointer("/spec/limits").map(amounts).unwrap_or_default();
        limits
            .iter()
            .all(|(resource, limit)| used.get(resource).is_none_or(|used| used <= limit))
    }
}

/// Whether a pool keeps a number of nodes and launches for no pod.
fn is_static(pool: &Value) -> bool {
    pool.pointer("/spec/replicas").is_some()
}

/// Volumes that are attached are counted by the scheduler's filters, not as an amount.
fn without_attachments(mut requests: Amounts) -> Amounts {
    requests.retain(|resource, _| !resource.starts_with("attachable-volumes-"));
    requests
}
