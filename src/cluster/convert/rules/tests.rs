//! Rules of pods that people write.

use super::*;
use crate::cluster::manifests::read_bytes;
use dovetail_solver::model::rules::{HostPort, Protocol};
use dovetail_solver::model::selector::{Namespaces, PodSelector};
use serde_json::{Value, json};

fn web() -> Labels {
    [("app", "web"), ("tier", "front"), ("pod-template-hash", "7f9")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

fn index_of(yaml: &str) -> Index {
    let read = read_bytes("input", yaml.as_bytes(), &[]).unwrap();
    let said = read.diagnostics.notes().iter().filter(|_| !yaml.is_empty());
    assert_eq!(said.count(), 0);
    read.index
}

fn rules_among(yaml: &str, spec: Value) -> Result<PodRules, String> {
    let index = index_of(yaml);
    let spec: PodSpec = serde_json::from_value(spec).unwrap();
    let subject = Subject {
        namespace: "shop",
        pod: None,
        labels: &web(),
        owner: None,
        claim_templates: &[],
        gang: None,
    };
    let config = SchedulerConfig::default();
    let asked = Surroundings::of(&index, &config).asked(&spec, subject)?;
    Ok(asked.rules)
}

fn rules(spec: Value) -> PodRules {
    rules_among("", spec).unwrap()
}

fn wrong(spec: Value) -> String {
    rules_among("", spec).unwrap_err()
}

fn spread(more: &Value) -> Value {
    let mut constraint = json!({"topologyKey": "topology.kubernetes.io/zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}}});
    for (key, value) in more.as_object().unwrap() {
        constraint[key] = value.clone();
    }
    json!({"topologySpreadConstraints": [constraint]})
}

fn labels_of(selector: &PodSelector) -> String {
    let requirements = selector.labels.as_ref().unwrap();
    let one = |(key, set): (&str, &dyn std::fmt::Display)| format!("{key} {set}");
    let all: Vec<String> = requirements.iter().map(|(key, set)| one((key, set))).collect();
    all.join(", ")
}

#[test]
fn a_spread_constraint_is_read_with_its_usual_policies() {
    let found = &rules(spread(&json!({"minDomains": 3}))).spread[0];
    assert_eq!(
        (found.max_skew, found.min_domains, found.is_hard),
        (1, Some(3), true)
    );
    assert!(found.honours_affinity && !found.honours_taints);
    assert_eq!(
        found.selector.namespaces,
        Namespaces::These(["shop".to_owned()].into())
    );
    assert_eq!(labels_of(&found.selector), "app in [web]");

    let other = json!({"nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor", "whenUnsatisfiable": "ScheduleAnyway",
        "topologyKey": "failure-domain.beta.kubernetes.io/zone"});
    let found = &rules(spread(&other)).spread[0];
    assert!(!found.is_hard && !found.honours_affinity && found.honours_taints);
    assert_eq!(found.topology_key, "topology.kubernetes.io/zone");
}

#[test]
fn match_label_keys_narrow_the_selector_to_the_pods_own_values() {
    let keys = json!({"matchLabelKeys": ["pod-template-hash", "missing"]});
    let found = &rules(spread(&keys)).spread[0];
    assert_eq!(
        labels_of(&found.selector),
        "app in [web], pod-template-hash in [7f9]"
    );
    let none = json!({"labelSelector": null, "matchLabelKeys": ["pod-template-hash"]});
    assert_eq!(rules(spread(&none)).spread[0].selector.labels, None);
    let narrowed = json!({"labelSelector": {}, "matchLabelKeys": ["pod-template-hash"]});
    assert_eq!(
        labels_of(&rules(spread(&narrowed)).spread[0].selector),
        "pod-template-hash in [7f9]"
    );
}

#[test]
fn an_empty_selector_of_a_spread_counts_nobody() {
    let empty = &rules(spread(&json!({"labelSelector": {}}))).spread[0];
    assert!(!empty.selector.matches("shop", &Labels::new()));
    let of_term = json!({"labelSelector": {}, "topologyKey": "kubernetes.io/hostname"});
    let term = &rules(near(&of_term)).affinity[0];
    assert!(
        term.selector.matches("shop", &Labels::new()),
        "other rules mean all by it"
    );
}

#[test]
fn a_bad_constraint_is_named_with_its_path() {
    for (more, message) in [
        (
            json!({"maxSkew": 0}),
            "topologySpreadConstraints[0].maxSkew: expected a whole number from 1",
        ),
        (
            json!({"whenUnsatisfiable": "Never"}),
            "topologySpreadConstraints[0].whenUnsatisfiable: expected DoNotSchedule or ScheduleAnyway, found \"Never\"",
        ),
        (
            json!({"minDomains": -1}),
            "topologySpreadConstraints[0].minDomains",
        ),
        (
            json!({"minDomains": 2, "whenUnsatisfiable": "ScheduleAnyway"}),
            "topologySpreadConstraints[0].minDomains: only with",
        ),
        (
            json!({"nodeTaintsPolicy": "x"}),
            "nodeTaintsPolicy: expected Honor or Ignore",
        ),
        (json!({"topologyKey": ""}), "topologyKey: expected a label key"),
        (
            json!({"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}}),
            "[0].labelSelector.matchExpressions[0]: expected an operator (In, NotIn, Exists, DoesNotExist)",
        ),
    ] {
        let found = wrong(spread(&more));
        assert!(found.contains(message), "{found}");
    }
}

const NAMESPACES: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: web}}
---
apiVersion: v1
kind: Namespace
metadata: {name: pay, labels: {team: web}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: ops}
spec: {}
";

fn near(more: &Value) -> Value {
    let mut term =
        json!({"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}});
    for (key, value) in more.as_object().unwrap() {
        term[key] = value.clone();
    }
    json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}})
}

fn namespaces_of(more: &Value) -> Namespaces {
    let rules = rules_among(NAMESPACES, near(more)).unwrap();
    rules.affinity[0].selector.namespaces.clone()
}

#[test]
fn a_terms_namespaces_are_named_or_selected_or_its_own() {
    let these = |names: &[&str]| Namespaces::These(names.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(namespaces_of(&json!({})), these(&["shop"]));
    assert_eq!(namespaces_of(&json!({"namespaces": ["x"]})), these(&["x"]));
    assert_eq!(namespaces_of(&json!({"namespaceSelector": {}})), Namespaces::All);
    let team = json!({"matchLabels": {"team": "web"}});
    assert_eq!(
        namespaces_of(&json!({"namespaceSelector": team, "namespaces": ["x"]})),
        these(&["pay", "shop", "x"])
    );
    let by_name = json!({"matchLabels": {"kubernetes.io/metadata.name": "ops"}});
    assert_eq!(
        namespaces_of(&json!({"namespaceSelector": by_name})),
        these(&["ops"])
    );
    let nowhere = json!({"matchLabels": {"team": "nobody"}});
    assert_eq!(namespaces_of(&json!({"namespaceSelector": nowhere})), these(&[]));
}

#[test]
fn a_term_may_want_pods_that_are_like_the_pod_or_unlike_it() {
    let keys = json!({"matchLabelKeys": ["tier"], "mismatchLabelKeys": ["pod-template-hash", "missing"]});
    let found = &rules(near(&keys)).affinity[0];
    assert_eq!(
        labels_of(&found.selector),
        "app in [db], pod-template-hash not in [7f9], tier in [front]"
    );
    assert!(
        rules(near(&json!({"labelSelector": null}))).affinity[0]
            .selector
            .labels
            .is_none()
    );
}

#[test]
fn preferences_have_weights() {
    let term = json!({"topologyKey": "kubernetes.io/hostname", "labelSelector": {}});
    let spec = |weight: u32| {
        json!({"affinity": {
            "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": weight, "preference": {"matchExpressions": [{"key": "beta.kubernetes.io/arch", "operator": "In", "values": ["arm64"]}]}},
                {"weight": 1, "preference": {}}]},
            "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "podAffinityTerm": term}]}}})
    };
    let found = rules(spec(50));
    assert_eq!(found.preferred_nodes.len(), 1);
    assert_eq!(found.preferred_nodes[0].weight, 50);
    assert!(
        found.preferred_nodes[0]
            .wish
            .expressions
            .get("kubernetes.io/arch")
            .is_some()
    );
    assert_eq!(found.preferred_anti_affinity[0].weight, 7);
    assert_eq!(
        wrong(spec(101)),
        "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: \
         expected a whole number from 1 to 100, found 101"
    );
    let message = wrong(near(&json!({"topologyKey": ""})));
    assert!(message.contains("podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey"));
}

#[test]
fn host_ports_are_those_that_are_taken_while_the_pod_runs() {
    let ports = |spec| rules(spec).host_ports;
    let port = |number, protocol, address: Option<&str>| HostPort {
        number,
        protocol,
        address: address.map(str::to_owned),
    };
    let spec = json!({
        "containers": [{"ports": [{"containerPort": 80, "hostPort": 8080}, {"containerPort": 81}, {"hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"}]},
            {"ports": [{"hostPort": 8080, "hostIP": "0.0.0.0"}]}],
        "initContainers": [{"ports": [{"hostPort": 1}]}, {"restartPolicy": "Always", "ports": [{"hostPort": 2, "hostIP": "::"}]}]});
    assert_eq!(
        ports(spec),
        [
            port(2, Protocol::Tcp, None),
            port(53, Protocol::Udp, Some("10.0.0.1")),
            port(8080, Protocol::Tcp, None),
        ]
    );
    let on_host = json!({"hostNetwork": true, "containers": [{"ports": [{"containerPort": 9100}]}]});
    assert_eq!(ports(on_host), [port(9100, Protocol::Tcp, None)]);
    let odd = json!({"containers": [{}, {"ports": [{"hostPort": 1, "protocol": "ICMP"}]}]});
    assert_eq!(
        wrong(odd),
        "containers[1].ports[0].protocol: expected TCP, UDP or SCTP, found \"ICMP\""
    );
}

#[test]
fn the_order_in_which_rules_are_written_makes_no_difference() {
    let (zone, host) = (
        json!({"topologyKey": "z", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}),
        json!({"topologyKey": "h", "maxSkew": 2, "whenUnsatisfiable": "ScheduleAnyway"}),
    );
    assert_eq!(
        rules(json!({"topologySpreadConstraints": [zone, host]})),
        rules(json!({"topologySpreadConstraints": [host, zone, zone]}))
    );
    assert!(rules(json!({})).is_empty());
}

const SCHEDULER: &str = "podTopologySpread: {defaultConstraints: [{maxSkew: 5, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}]}";

fn by_default(yaml: &str, owner: Option<(&str, &str)>, spec: Value) -> Vec<String> {
    let index = index_of(yaml);
    let spec: PodSpec = serde_json::from_value(spec).unwrap();
    let owner = owner.map(|(kind, name)| OwnerReference {
        kind: kind.to_owned(),
        name: name.to_owned(),
        controller: true,
    });
    let subject = Subject {
        namespace: "shop",
        pod: None,
        labels: &web(),
        owner: owner.as_ref(),
        claim_templates: &[],
        gang: None,
    };
    let config: SchedulerConfig = SCHEDULER.parse().unwrap();
    let asked = Surroundings::of(&index, &config).asked(&spec, subject).unwrap();
    let said = |spread: &dovetail_solver::model::rules::TopologySpread| {
        format!(
            "{} {}: {}",
            spread.topology_key,
            spread.max_skew,
            labels_of(&spread.selector)
        )
    };
    asked.rules.spread.iter().map(said).collect()
}

#[test]
fn default_constraints_hold_for_pods_that_belong_to_something_and_have_none() {
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {selector: {tier: front}}\n---\n";
    let other = "apiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: shop}\nspec: {selector: {app: db}}\n---\n";
    let set = "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: web-1, namespace: shop}\nspec: {selector: {matchExpressions: [{key: app, operator: In, values: [web, www]}]}, template: {spec: {}}}\n---\n";
    let owner = Some(("ReplicaSet", "web-1"));
    let all = [service, other, set].concat();
    let zone = "topology.kubernetes.io/zone 5:";
    assert_eq!(
        by_default(&all, owner, json!({})),
        [format!("{zone} app in [web, www], tier in [front]")]
    );
    assert_eq!(
        by_default(&all, None, json!({})),
        [format!("{zone} tier in [front]")]
    );
    assert!(by_default(other, None, json!({})).is_empty());
    assert!(by_default(set, Some(("ReplicaSet", "gone")), json!({})).is_empty());
    let own = json!({"topologySpreadConstraints": [{"topologyKey": "h", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}}}]});
    assert_eq!(by_default(&all, owner, own), ["h 1: app in [web]"]);
}

#[test]
fn a_bad_scheduler_config_is_named_with_its_path() {
    let wrong = |constraint: &str| {
        let text = format!("podTopologySpread: {{defaultConstraints: [{constraint}]}}");
        text.parse::<SchedulerConfig>().unwrap_err()
    };
    let rest = "topologyKey: z, whenUnsatisfiable: DoNotSchedule";
    assert!(
        wrong(&format!("{{maxSkew: 0, {rest}}}"))
            .starts_with("podTopologySpread.defaultConstraints[0].maxSkew: expected")
    );
    assert!(
        wrong(&format!("{{maxSkew: 1, labelSelector: {{}}, {rest}}}")).contains("labelSelector: not allowed")
    );
    assert!(
        wrong(&format!("{{maxSkew: 1, matchLabelKeys: [a], {rest}}}"))
            .contains("matchLabelKeys: not allowed")
    );
    assert!(
        wrong(&format!("{{maxSkew: 1, {rest}}}, {{maxSkew: 2, {rest}}}"))
            .contains("[1].topologyKey: z is there twice")
    );
    assert!(wrong(&format!("{{maxSkew: 1, skew: 2, {rest}}}")).contains("skew: unknown field"));
    assert!(
        "podTopology: {}"
            .parse::<SchedulerConfig>()
            .unwrap_err()
            .contains("podTopology: unknown field")
    );
    assert_eq!("{}".parse::<SchedulerConfig>(), Ok(SchedulerConfig::default()));
}
