//! Pods of a random cluster, and what they ask for.

use serde_json::{Value, json};

use super::{CAPACITY_TYPE, Cluster, EBS, HOSTNAME, INSTANCE_TYPE, MACHINES, RACK, ZONE};

const NAMESPACES: [&str; 3] = ["default", "default", "other"];

impl Cluster {
    pub(super) fn daemon_set(&mut self, index: usize) {
        let labels = json!({"app": format!("agent{index}"), "tier": self.dice.one(&["x", "y"])});
        let mut spec = json!({"containers": [{"name": "c", "image": "i",
            "resources": {"requests": {"cpu": "100m", "memory": "100Mi"}}}]});
        if self.dice.percent(30) {
            spec["containers"][0]["ports"] = json!([self.port()]);
        }
        if self.dice.percent(60) {
            spec["tolerations"] = json!([{"operator": "Exists"}]);
        }
        if self.dice.percent(25) {
            spec["nodeSelector"] = self.node_selector();
        }
        self.documents.push(json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": format!("agent{index}"), "namespace": self.dice.one(&NAMESPACES)},
            "spec": {"selector": {"matchLabels": {"app": format!("agent{index}")}},
                "template": {"metadata": {"labels": labels}, "spec": spec}},
        }));
    }

    /// Some pods that are alike: as a workload whose pods are still to come, or as pods of which some run.
    pub(super) fn workload(&mut self, index: usize) {
        let name = format!("{}{index}", self.dice.one(&["a", "b", "c"]));
        let namespace = *self.dice.one(&NAMESPACES);
        let labels = json!({
            "app": &name[..1], "tier": self.dice.one(&["x", "y"]), "version": self.dice.one(&["v1", "v2"]),
            "only": name,
        });
        let mut spec = self.spec(&name[..1]);
        if self.dice.percent(12) {
            self.volume(&name, namespace, &mut spec);
        }
        let pending = 1 + self.dice.below(4);
        let metadata = json!({"name": name, "namespace": namespace});
        if self.dice.percent(40) {
            let selector = json!({"matchLabels": {"only": name}});
            let template = json!({"metadata": {"labels": labels}, "spec": spec});
            self.documents.push(
                json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
                "spec": {"replicas": pending, "selector": selector, "template": template}}),
            );
            return;
        }
        for pod in 0..pending {
            self.pod(&name, namespace, &labels, &spec, &pod.to_string(), None);
        }
        if !self.nodes.is_empty() {
            for pod in 0..self.dice.below(4) {
                let node = self.dice.one(&self.nodes).clone();
                self.pod(&name, namespace, &labels, &spec, &format!("r{pod}"), Some(node));
            }
        }
    }

    fn pod(
        &mut self,
        of: &str,
        namespace: &str,
        labels: &Value,
        spec: &Value,
        id: &str,
        node: Option<String>,
    ) {
        let mut metadata = json!({"name": format!("{of}-{id}"), "namespace": namespace, "labels": labels,
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": of, "uid": of, "controller": true}]});
        let mut spec = spec.clone();
        let mut status = json!({"phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]});
        if let Some(node) = node {
            spec["nodeName"] = json!(node);
            status = json!({"phase": "Running"});
            if self.dice.percent(8) {
                metadata["deletionTimestamp"] = json!("2026-01-07T09:00:00Z");
            }
        }
        self.documents.push(
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}),
        );
    }

    fn spec(&mut self, app: &str) -> Value {
        let cpu = *self.dice.one(&[100, 300, 600, 900, 1500, 2500]);
        let memory = *self.dice.one(&[128, 512, 1500, 3000]);
        let mut spec = json!({"containers": [{"name": "c", "image": "i",
            "resources": {"requests": {"cpu": format!("{cpu}m"), "memory": format!("{memory}Mi")}}}]});
        if self.dice.percent(15) {
            spec["containers"][0]["ports"] = json!([self.port()]);
        }
        if self.dice.percent(20) {
            spec["nodeSelector"] = self.node_selector();
        }
        if self.dice.percent(40) {
            spec["tolerations"] = json!([self.toleration()]);
        }
        if self.dice.percent(15) {
            spec["priority"] = json!(*self.dice.one(&[-10, 100, 1000]));
        }
        if self.dice.percent(45) {
            let count = 1 + self.dice.below(2);
            let spreads: Vec<Value> = (0..count).map(|_| self.spread(app)).collect();
            spec["topologySpreadConstraints"] = json!(distinct(spreads));
        }
        let mut affinity = json!({});
        if self.dice.percent(15) {
            affinity["nodeAffinity"] = self.node_affinity();
        }
        for (kind, often) in [("podAffinity", 20), ("podAntiAffinity", 30)] {
            if self.dice.percent(often) {
                affinity[kind] = self.neighbours(app);
            }
        }
        spec["affinity"] = affinity;
        spec
    }

    fn port(&mut self) -> Value {
        let mut port = json!({"containerPort": 80, "hostPort": 8080 + self.dice.below(2)});
        if self.dice.percent(20) {
            port["protocol"] = json!("UDP");
        }
        if self.dice.percent(30) {
            port["hostIP"] = json!(*self.dice.one(&["10.0.0.1", "10.0.0.2"]));
        }
        port
    }

    fn node_selector(&mut self) -> Value {
        match self.dice.below(4) {
            0 => json!({ZONE: self.dice.one(&self.zones)}),
            1 => json!({CAPACITY_TYPE: self.dice.one(&["spot", "on-demand"])}),
            2 => json!({RACK: self.dice.one(&["r1", "r2"])}),
            _ => json!({INSTANCE_TYPE: MACHINES[*self.dice.one(&self.machines)].0}),
        }
    }

    fn toleration(&mut self) -> Value {
        match self.dice.below(3) {
            0 => json!({"operator": "Exists"}),
            1 => json!({"key": "dedicated", "operator": "Exists"}),
            _ => json!({"key": "dedicated", "value": self.dice.one(&["x", "y"])}),
        }
    }

    fn expression(&mut self) -> Value {
        match self.dice.below(4) {
            0 => {
                json!({"key": ZONE, "operator": *self.dice.one(&["In", "NotIn"]), "values": [self.dice.one(&self.zones)]})
            }
            1 => json!({"key": RACK, "operator": *self.dice.one(&["Exists", "DoesNotExist"])}),
            2 => json!({"key": CAPACITY_TYPE, "operator": "NotIn", "values": ["spot"]}),
            _ => json!({"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}),
        }
    }

    fn node_affinity(&mut self) -> Value {
        let terms: Vec<Value> = (0..=self.dice.below(2))
            .map(|_| json!({"matchExpressions": [self.expression()]}))
            .collect();
        if self.dice.percent(30) {
            let preferred = json!({"weight": 1 + self.dice.below(100), "preference": terms[0]});
            return json!({"preferredDuringSchedulingIgnoredDuringExecution": [preferred]});
        }
        json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}})
    }

    fn topology_key(&mut self) -> &'static str {
        const KEYS: [&str; 7] = [ZONE, ZONE, ZONE, HOSTNAME, HOSTNAME, CAPACITY_TYPE, RACK];
        KEYS[self.dice.below(KEYS.len())]
    }

    /// Mostly its own pods, sometimes others, all, or none.
    fn selector(&mut self, app: &str) -> Value {
        match self.dice.below(10) {
            0 => json!({}),
            1 => json!({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["x"]}]}),
            2 => json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": [app]}]}),
            3 | 4 => json!({"matchLabels": {"app": self.dice.one(&["a", "b", "c"])}}),
            5 => json!({"matchLabels": {"app": "agent0"}}),
            _ => json!({"matchLabels": {"app": app}}),
        }
    }

    /// Never pods of DaemonSets, which alone have no label `only`: a spread that counts those doesn't see what comes with
    /// nodes to launch (README.md, "What it does not do yet").
    fn spread_selector(&mut self, app: &str) -> Value {
        let mut selector = self.selector(app);
        let no_daemons = json!({"key": "only", "operator": "Exists"});
        match selector.get_mut("matchExpressions").and_then(Value::as_array_mut) {
            Some(expressions) => expressions.push(no_daemons),
            None => selector["matchExpressions"] = json!([no_daemons]),
        }
        selector
    }

    fn spread(&mut self, app: &str) -> Value {
        let hard = self.dice.percent(75);
        let mut spread = json!({
            "topologyKey": self.topology_key(), "maxSkew": 1 + self.dice.below(2),
            "whenUnsatisfiable": if hard { "DoNotSchedule" } else { "ScheduleAnyway" },
        });
        if self.dice.percent(97) {
            spread["labelSelector"] = self.spread_selector(app);
            if self.dice.percent(15) {
                spread["matchLabelKeys"] = json!(["version"]);
            }
        }
        if hard && self.dice.percent(20) {
            spread["minDomains"] = json!(1 + self.dice.below(4));
        }
        if self.dice.percent(20) {
            spread["nodeAffinityPolicy"] = json!(self.dice.one(&["Honor", "Ignore"]));
        }
        if self.dice.percent(20) {
            spread["nodeTaintsPolicy"] = json!(self.dice.one(&["Honor", "Ignore"]));
        }
        spread
    }

    fn term(&mut self, app: &str) -> Value {
        let mut term = json!({"topologyKey": self.topology_key(), "labelSelector": self.selector(app)});
        match self.dice.below(10) {
            0 => term["namespaces"] = json!(["other"]),
            1 => term["namespaceSelector"] = json!({}),
            2 => term["namespaceSelector"] = json!({"matchLabels": {"team": "blue"}}),
            _ => {}
        }
        match self.dice.below(12) {
            0 => term["matchLabelKeys"] = json!(["version"]),
            1 => term["mismatchLabelKeys"] = json!(["version"]),
            _ => {}
        }
        term
    }

    fn neighbours(&mut self, app: &str) -> Value {
        if self.dice.percent(25) {
            let weighted = json!({"weight": 1 + self.dice.below(100), "podAffinityTerm": self.term(app)});
            return json!({"preferredDuringSchedulingIgnoredDuringExecution": [weighted]});
        }
        let count = if self.dice.percent(20) { 2 } else { 1 };
        let terms: Vec<Value> = (0..count).map(|_| self.term(app)).collect();
        json!({"requiredDuringSchedulingIgnoredDuringExecution": terms})
    }

    /// A claim: bound in a zone, waiting for its first pod, or missing.
    fn volume(&mut self, name: &str, namespace: &str, spec: &mut Value) {
        let claim = format!("data-{name}");
        spec["volumes"] = json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]);
        let mut document = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": claim, "namespace": namespace},
            "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}});
        match self.dice.below(8) {
            0 => return,
            1..=4 => {
                let zone = *self.dice.one(&self.zones);
                let reach =
                    json!([{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]);
                document["spec"]["volumeName"] = json!(format!("pv-{name}"));
                document["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "yes"});
                document["spec"]["storageClassName"] = json!("free");
                document["status"] = json!({"phase": "Bound"});
                self.documents
                    .push(json!({"apiVersion": "v1", "kind": "PersistentVolume",
                    "metadata": {"name": format!("pv-{name}")},
                    "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"],
                        "storageClassName": "free",
                        "csi": {"driver": EBS, "volumeHandle": format!("vol-{name}")},
                        "claimRef": {"namespace": namespace, "name": claim},
                        "nodeAffinity": {"required": {"nodeSelectorTerms": reach}}},
                    "status": {"phase": "Bound"}}));
            }
            5 => document["spec"]["storageClassName"] = json!("gone"),
            _ => document["spec"]["storageClassName"] = json!(*self.dice.one(&["free", "zonal"])),
        }
        self.documents.push(document);
    }
}

/// The API server refuses two constraints of one key and one kind.
fn distinct(spreads: Vec<Value>) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::new();
    for spread in spreads {
        let same = |other: &Value| {
            other["topologyKey"] == spread["topologyKey"]
                && other["whenUnsatisfiable"] == spread["whenUnsatisfiable"]
        };
        if !kept.iter().any(same) {
            kept.push(spread);
        }
    }
    kept
}
