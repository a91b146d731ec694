//! Whether a plan that changes no existing node breaks a rule.

use std::collections::BTreeMap;

use serde_json::Value;

use super::cost;
use super::input::{Input, Labels, labels, list, number, text};
use super::machine::{
    Node, Offer, allocatable, broken_requirement, daemons, instance_type, node_class, node_labels, prices,
    zones,
};
use super::pods::{Pod, Pods, written};
use super::quantity::{Amounts, add, amounts, lacking, larger};
use super::selection::{admits, untolerated};

/// Every rule that the plan breaks, a sentence each.
pub(crate) fn findings(input: &Input, plan: &Value) -> Vec<String> {
    let judge = Judge {
        input,
        plan,
        pods: Pods::read(input),
        nodes: Node::all(input),
    };
    let mut findings = cost::findings(input, plan);
    judge.places(&mut findings);
    for (index, launch) in list(plan, "/launch").iter().enumerate() {
        let mut wrong = Vec::new();
        judge.launch(launch, &mut wrong);
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
    judge.refusals(&mut findings);
    findings
}

struct Judge<'a> {
    input: &'a Input,
    plan: &'a Value,
    pods: Pods,
    nodes: Vec<Node>,
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
            if !self.pods.find(name).is_some_and(|pod| pod.pending) {
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

    fn pod(&self, name: &Value) -> Option<&Pod> {
        self.pods.find(name.as_str().unwrap_or(""))
    }

    fn launch(&self, launch: &Value, findings: &mut Vec<String>) {
        let Some(pool) = self.input.named("NodePool", text(launch, "/nodePool")) else {
            findings.push(format!("NodePool {} isn't there", text(launch, "/nodePool")));
            return;
        };
        let pods: Vec<&Pod> = list(launch, "/pods")
            .iter()
            .filter_map(|name| self.pod(name))
            .collect();
        if pods.is_empty() {
            findings.push("is for no pod".to_owned());
        }
        let mut last = 0.0;
        for (index, offer) in Offer::all(launch).iter().enumerate() {
            let wanted = self.refused_offer(pool, offer, &pods).map_err(|text| {
                findings.push(format!("{} in {}: {text}", offer.instance_type, offer.zone));
            });
            if let (0, Ok(wanted)) = (index, wanted)
                && wanted != written(&launch["requests"])
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
        for pod in &pods {
            if let Some(heavier) = self.heavier_pool(pool, pod) {
                findings.push(format!(
                    "NodePool {heavier} of a higher weight could take one of its pods"
                ));
            }
        }
    }

    /// What the pods and DaemonSets ask for on this offer, or why it can't be.
    fn refused_offer(&self, pool: &Value, offer: &Offer, pods: &[&Pod]) -> Result<Amounts, String> {
        let sold = prices(
            self.input,
            &offer.instance_type,
            &offer.zone,
            &offer.capacity_type,
        );
        if instance_type(self.input, &offer.instance_type).is_none() {
            return Err("the catalogue has no such type".to_owned());
        }
        if !sold.iter().any(|price| (price - offer.price).abs() < 1e-6) {
            return Err(format!(
                "{} at {} isn't sold, only {sold:?}",
                offer.capacity_type, offer.price
            ));
        }
        let class = node_class(self.input, pool);
        let subnets = list(class, "/status/subnets");
        if !subnets.is_empty() && !subnets.iter().any(|subnet| text(subnet, "/zone") == offer.zone) {
            return Err("the node class has no subnet there".to_owned());
        }
        let node = node_labels(self.input, pool, offer);
        if let Some(broken) = broken_requirement(pool, &node) {
            return Err(broken);
        }
        let taints = list(pool, "/spec/template/spec/taints");
        let mut wanted = Amounts::new();
        for pod in pods {
            admits(&pod.spec, &node, None)?;
            if let Some(taint) = untolerated(&pod.spec, taints, false) {
                return Err(taint);
            }
            add(&mut wanted, &pod.requests);
        }
        for (_, daemon) in daemons(self.input, &node, None, taints) {
            add(&mut wanted, &daemon.requests);
        }
        match lacking(&wanted, &allocatable(self.input, class, &offer.instance_type)) {
            Some(lacks) => Err(format!("too small: {lacks}")),
            None => Ok(wanted),
        }
    }

    /// Every offer of a pool that could hold one pod by itself, its open labels as the pod selects them.
    fn offers_for(&self, pool: &Value, pod: &Pod) -> Vec<Offer> {
        let of_input = self
            .input
            .kind("Catalog")
            .flat_map(|one| list(one, "/spec/instanceTypes"));
        let mut offers = Vec::new();
        for found in of_input {
            for zone in zones(self.input) {
                for capacity_type in ["reserved", "spot", "on-demand"] {
                    let name = text(found, "/name");
                    let Some(price) = prices(self.input, name, &zone, capacity_type).first().copied() else {
                        continue;
                    };
                    let mut offer = Offer {
                        instance_type: name.to_owned(),
                        zone: zone.clone(),
                        capacity_type: capacity_type.to_owned(),
                        price,
                        labels: Labels::new(),
                    };
                    let fixed = node_labels(self.input, pool, &offer);
                    let open = |key: &str| {
                        !fixed.contains_key(key)
                            && list(pool, "/spec/template/spec/requirements")
                                .iter()
                                .any(|one| text(one, "/key") == key)
                    };
                    let chosen = labels(&pod.spec, "/nodeSelector")
                        .into_iter()
                        .filter(|(key, _)| open(key));
                    offer.labels = chosen.collect();
                    if self.refused_offer(pool, &offer, &[pod]).is_ok() {
                        offers.push(offer);
                    }
                }
            }
        }
        offers
    }

    /// A pool of a higher weight, without limits, that could launch for this pod.
    fn heavier_pool(&self, pool: &Value, pod: &Pod) -> Option<String> {
        let weight = |pool: &Value| number(pool, "/spec/weight").unwrap_or(1.0);
        let heavier = self.input.kind("NodePool").find(|other| {
            weight(other) > weight(pool)
                && other.pointer("/spec/limits").is_none()
                && !self.offers_for(other, pod).is_empty()
        })?;
        Some(text(heavier, "/metadata/name").to_owned())
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
        let mut used = node.used(self.input, &self.pods);
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
            let mut used = node.used(self.input, &self.pods);
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

    /// Nobody is refused who could be placed as things stand after the plan.
    fn refusals(&self, findings: &mut Vec<String>) {
        for refused in list(self.plan, "/unschedulable") {
            let Some(pod) = refused.pointer("/pod").and_then(|name| self.pod(name)) else {
                continue;
            };
            if list(refused, "/reasons").is_empty() {
                findings.push(format!("{} is refused without a reason", refused["pod"]));
            }
            if pod.daemon_set.is_some() {
                continue;
            }
            let open = self.nodes.iter().filter(|node| node.open);
            for node in open.filter(|node| self.refused_room(node, pod, true).is_ok()) {
                findings.push(format!(
                    "{} is refused, but fits on node {}",
                    refused["pod"], node.name
                ));
            }
            for pool in self.input.kind("NodePool") {
                if let Some(offer) = self
                    .offers_for(pool, pod)
                    .iter()
                    .find(|offer| self.within_limits(pool, offer))
                {
                    findings.push(format!(
                        "{} is refused, but {} could launch {offer:?}",
                        refused["pod"],
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
