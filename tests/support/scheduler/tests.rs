//! Each filter on the smallest cluster where it lets a pod in and where it doesn't.

use serde_json::{Value, json};

use super::After;
use crate::support::input::Input;
use crate::support::pods::Pods;

const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";

/// Nodes a1 and a2 in zone a, b1 in zone b, and `bare`, without a zone and with a taint.
fn nodes() -> Vec<Value> {
    let size = json!({"cpu": "8", "memory": "8Gi", "pods": "20"});
    let node = |name: &str, zone: &str, taints: Value| {
        let mut labels = json!({HOSTNAME: name});
        if !zone.is_empty() {
            labels[ZONE] = json!(zone);
        }
        json!({"kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": {"taints": taints},
            "status": {"allocatable": size, "capacity": size, "conditions": [{"type": "Ready", "status": "True"}]}})
    };
    vec![
        node("a1", "a", json!([])),
        node("a2", "a", json!([])),
        node("b1", "b", json!([])),
        node("bare", "", json!([{"key": "k", "effect": "NoSchedule"}])),
    ]
}

fn pod(name: &str, node: &str, app: &str, rules: &Value) -> Value {
    let mut spec = json!({"containers": [{"resources": {"requests": {"cpu": "1"}}}]});
    for (key, value) in rules.as_object().into_iter().flatten() {
        spec[key.as_str()] = value.clone();
    }
    if !node.is_empty() {
        spec["nodeName"] = json!(node);
    }
    json!({"kind": "Pod", "metadata": {"name": name, "labels": {"app": app, "version": "v1"}}, "spec": spec})
}

/// What the replay says of pods that go where a list says, beside those that the documents bind.
fn replayed(mut documents: Vec<Value>, placed: &[(&str, &str)]) -> String {
    documents.extend(nodes());
    let input = Input::of(documents);
    let names = ["a1", "a2", "b1", "bare"];
    let planned = names.iter().map(|name| {
        let here = placed.iter().filter(|(_, node)| node == name);
        let added: Vec<String> = here.map(|(pod, _)| format!("default/{pod}")).collect();
        json!({"name": name, "added": added})
    });
    let plan = json!({"nodes": planned.collect::<Vec<_>>()});
    let pods = Pods::read(&input);
    After::of(&input, &plan, &pods).disagreements.join("\n")
}

fn of_app(app: &str) -> Value {
    json!({"matchLabels": {"app": app}})
}

fn spread(key: &str, more: &Value) -> Value {
    let mut one = json!({"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": of_app("web")});
    for (key, value) in more.as_object().into_iter().flatten() {
        one[key.as_str()] = value.clone();
    }
    json!({"topologySpreadConstraints": [one]})
}

fn term(kind: &str, key: &str, selector: &Value, more: &Value) -> Value {
    let mut one = json!({"topologyKey": key, "labelSelector": selector});
    for (key, value) in more.as_object().into_iter().flatten() {
        one[key.as_str()] = value.clone();
    }
    json!({"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [one]}}})
}

/// Asserts that pods of one spec may go to the first places and not to the second.
fn holds(there: &[Value], rules: &Value, may: &[&str], may_not: (&[&str], &str)) {
    let all = |places: &[&str]| {
        let mut documents = there.to_vec();
        let names: Vec<String> = (0..places.len()).map(|index| format!("p{index}")).collect();
        documents.extend(names.iter().map(|name| pod(name, "", "web", rules)));
        let placed: Vec<(&str, &str)> = names
            .iter()
            .map(String::as_str)
            .zip(places.iter().copied())
            .collect();
        replayed(documents, &placed)
    };
    assert_eq!(all(may), "", "{rules} should allow {may:?}");
    let refused = all(may_not.0);
    assert!(
        refused.contains(may_not.1),
        "{rules} should refuse {:?} for {}: {refused:?}",
        may_not.0,
        may_not.1
    );
}

#[test]
fn spread_keeps_its_skew_over_the_least_domain() {
    let zone = |more: Value| spread(ZONE, &more);
    let skew = "PodTopologySpread: topology";
    holds(&[], &zone(json!({})), &["a1", "b1", "a2"], (&["a1", "a2"], skew));
    holds(
        &[],
        &zone(json!({"maxSkew": 2})),
        &["a1", "a2"],
        (&["a1", "a2", "a1"], skew),
    );
    holds(
        &[],
        &zone(json!({"minDomains": 3})),
        &["a1", "b1"],
        (&["a1", "b1", "a1"], skew),
    );
    holds(
        &[],
        &spread(HOSTNAME, &json!({})),
        &["a1", "a2", "b1"],
        (&["a1", "a1"], "PodTopologySpread: kubernetes"),
    );
    holds(
        &[],
        &zone(json!({"whenUnsatisfiable": "ScheduleAnyway"})),
        &["a1", "a1"],
        (&["bare"], "TaintToleration"),
    );
    // No expressions count nobody; no selector matches nobody.
    holds(
        &[],
        &zone(json!({"labelSelector": {}})),
        &["a1", "a1", "a1"],
        (&["bare"], "TaintToleration"),
    );
    holds(
        &[],
        &zone(json!({"labelSelector": null})),
        &["a1", "a1", "a1"],
        (&["bare"], "TaintToleration"),
    );
    holds(
        &[],
        &zone(json!({"matchLabelKeys": ["version"]})),
        &["a1", "b1"],
        (&["a1", "a1"], skew),
    );
}

#[test]
fn spread_counts_eligible_nodes_and_pods_that_stay() {
    let skew = "PodTopologySpread: topology";
    let mut selected = spread(ZONE, &json!({}));
    selected["nodeSelector"] = json!({ZONE: "a"});
    let mut ignoring = spread(ZONE, &json!({"nodeAffinityPolicy": "Ignore"}));
    ignoring["nodeSelector"] = json!({ZONE: "a"});
    holds(&[], &selected, &["a1", "a1", "a2"], (&["b1"], "NodeAffinity"));
    holds(&[], &ignoring, &["a1"], (&["a1", "a1"], skew));
    let running = [pod("r", "a1", "web", &json!({}))];
    holds(&running, &spread(ZONE, &json!({})), &["b1"], (&["a2"], skew));
    let mut going = running.clone();
    going[0]["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    holds(&going, &spread(ZONE, &json!({})), &["a2"], (&["a1", "a2"], skew));
    let mut tolerant = spread(HOSTNAME, &json!({}));
    tolerant["tolerations"] = json!([{"operator": "Exists"}]);
    holds(
        &[],
        &tolerant,
        &["bare", "a1", "a2", "b1", "a1"],
        (&["bare", "bare"], "PodTopologySpread"),
    );
    // A node that lacks another of the pod's keys counts for none of them.
    let mut two = tolerant.clone();
    two["topologySpreadConstraints"] = json!([
        spread(HOSTNAME, &json!({}))["topologySpreadConstraints"][0],
        spread(ZONE, &json!({"maxSkew": 9}))["topologySpreadConstraints"][0],
    ]);
    holds(
        &[],
        &two,
        &["a1", "a2", "b1", "a1"],
        (&["bare"], "the node has no topology"),
    );
    // Tainted nodes are domains unless the constraint honours taints.
    let tainted = spread(HOSTNAME, &json!({"nodeTaintsPolicy": "Honor"}));
    holds(
        &[],
        &tainted,
        &["a1", "a2", "b1", "a1"],
        (&["a1", "a1"], "PodTopologySpread"),
    );
    let other = spread(HOSTNAME, &json!({}));
    holds(
        &[],
        &other,
        &["a1", "a2", "b1"],
        (&["a1", "a2", "b1", "a1"], "PodTopologySpread"),
    );
}

#[test]
fn anti_affinity_holds_both_ways() {
    let own = "its anti-affinity";
    let away = |key: &str, app: &str| term("podAntiAffinity", key, &of_app(app), &json!({}));
    holds(
        &[],
        &away(HOSTNAME, "web"),
        &["a1", "a2", "b1"],
        (&["a1", "a1"], own),
    );
    holds(&[], &away(ZONE, "web"), &["a1", "b1"], (&["a1", "a2"], own));
    let running = [pod("r", "a1", "db", &json!({}))];
    holds(&running, &away(ZONE, "db"), &["b1", "b1"], (&["a2"], own));
    let inverse = [pod("r", "a1", "db", &away(ZONE, "web"))];
    holds(
        &inverse,
        &json!({}),
        &["b1"],
        (&["a2"], "another's anti-affinity"),
    );
    let mut elsewhere = inverse.clone();
    elsewhere[0]["metadata"]["namespace"] = json!("other");
    holds(
        &elsewhere,
        &json!({}),
        &["a2", "b1"],
        (&["bare"], "TaintToleration"),
    );
    let far = term(
        "podAntiAffinity",
        ZONE,
        &of_app("web"),
        &json!({"namespaceSelector": {}}),
    );
    let mut reaching = [pod("r", "a1", "db", &far)];
    reaching[0]["metadata"]["namespace"] = json!("other");
    holds(
        &reaching,
        &json!({}),
        &["b1"],
        (&["a2"], "another's anti-affinity"),
    );
    let mismatch = term(
        "podAntiAffinity",
        ZONE,
        &json!({}),
        &json!({"mismatchLabelKeys": ["version"]}),
    );
    let mut other_version = [pod("r", "a1", "db", &json!({}))];
    holds(
        &other_version,
        &mismatch,
        &["a1", "a1"],
        (&["bare"], "TaintToleration"),
    );
    other_version[0]["metadata"]["labels"]["version"] = json!("v2");
    holds(&other_version, &mismatch, &["b1", "b1"], (&["a2"], own));
}

#[test]
fn affinity_needs_a_match_or_a_first_one() {
    let near = |key: &str, app: &str| term("podAffinity", key, &of_app(app), &json!({}));
    let lonely = "no match in its";
    holds(
        &[],
        &near(ZONE, "web"),
        &["a1", "a2", "a1"],
        (&["a1", "b1"], lonely),
    );
    holds(
        &[],
        &near(HOSTNAME, "web"),
        &["a1", "a1"],
        (&["a1", "a2"], lonely),
    );
    let running = [pod("r", "a1", "db", &json!({}))];
    holds(&running, &near(ZONE, "db"), &["a2", "a1"], (&["b1"], lonely));
    let same = [pod("r", "a1", "web", &json!({}))];
    holds(&same, &near(ZONE, "web"), &["a2"], (&["b1"], lonely));
    let mut tolerant = near(ZONE, "web");
    tolerant["tolerations"] = json!([{"operator": "Exists"}]);
    holds(&[], &tolerant, &["a1"], (&["bare"], "the node has no topology"));
    let versions = term(
        "podAffinity",
        ZONE,
        &json!({}),
        &json!({"matchLabelKeys": ["version"]}),
    );
    holds(&running, &versions, &["a1"], (&["b1"], lonely));
}

#[test]
fn ports_rooms_and_volumes_are_counted() {
    let port = |more: Value| {
        let mut port = json!({"containerPort": 80, "hostPort": 80});
        for (key, value) in more.as_object().into_iter().flatten() {
            port[key.as_str()] = value.clone();
        }
        json!({"containers": [{"resources": {"requests": {"cpu": "1"}}, "ports": [port]}]})
    };
    let taken = "NodePorts";
    holds(&[], &port(json!({})), &["a1", "a2"], (&["a1", "a1"], taken));
    let bound = [pod("r", "a1", "db", &port(json!({"hostIP": "10.0.0.1"})))];
    holds(
        &bound,
        &port(json!({"hostIP": "10.0.0.2"})),
        &["a1"],
        (&["a1", "a1"], taken),
    );
    holds(&bound, &port(json!({})), &["a2"], (&["a1"], taken));
    holds(
        &bound,
        &port(json!({"protocol": "UDP"})),
        &["a1"],
        (&["a1", "a1"], taken),
    );
    holds(&[], &json!({}), &["a1"; 8], (&["a1"; 9], "NodeResourcesFit"));
}

#[test]
fn volumes_tie_pods_to_where_they_are() {
    let class = |name: &str, mode: &str, topologies: Value| {
        json!({"kind": "StorageClass", "metadata": {"name": name}, "provisioner": "d",
            "volumeBindingMode": mode, "allowedTopologies": topologies})
    };
    let claim = |name: &str, spec: Value| json!({"kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec});
    let terms = json!([{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}]);
    let zones = json!([{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}]);
    let there = [
        class("later", "WaitForFirstConsumer", json!([])),
        class("in-b", "WaitForFirstConsumer", zones),
        class("now", "Immediate", json!([])),
        json!({"kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": {"csi": {"driver": "d", "volumeHandle": "h"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}}),
        json!({"kind": "PersistentVolume", "metadata": {"name": "old", "labels": {ZONE: "b"}}, "spec": {}}),
        claim("bound", json!({"volumeName": "pv"})),
        claim("labelled", json!({"volumeName": "old"})),
        claim("free", json!({"storageClassName": "later"})),
        claim("second", json!({"storageClassName": "later"})),
        claim("zonal", json!({"storageClassName": "in-b"})),
        claim("early", json!({"storageClassName": "now"})),
        claim("lost", json!({"storageClassName": "gone"})),
        json!({"kind": "CSINode", "metadata": {"name": "a1"}, "spec": {"drivers": [{"name": "d", "allocatable": {"count": 1}}]}}),
        pod(
            "r",
            "a1",
            "db",
            &json!({"volumes": [{"persistentVolumeClaim": {"claimName": "second"}}]}),
        ),
    ];
    let with = |claim: &str| json!({"volumes": [{"persistentVolumeClaim": {"claimName": claim}}]});
    let (kept, many) = ("VolumeBinding", "NodeVolumeLimits");
    holds(&there, &with("bound"), &["a2", "a2"], (&["b1"], kept));
    holds(&there, &with("labelled"), &["b1"], (&["a2"], kept));
    holds(&there, &with("free"), &["b1"], (&["a1"], many));
    holds(
        &there,
        &with("second"),
        &["a1", "a2"],
        (&["bare"], "TaintToleration"),
    );
    holds(&there, &with("zonal"), &["b1"], (&["a2"], kept));
    for claim in ["early", "lost", "nowhere"] {
        holds(&there, &json!({}), &["a1"], (&["bare"], "TaintToleration"));
        let planned = [there.to_vec(), vec![pod("p", "", "web", &with(claim))]].concat();
        assert!(replayed(planned, &[("p", "a2")]).contains(kept), "{claim}");
    }
}
