//! The words of `*.expect.json`: what must be true of a plan. `tests/scenarios/README.md` lists them.
//!
//! Promises: every word is judged or refused by name, never passed over; a finding says what was expected and found.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Value};

use crate::support::input::{Input, list, number, text};
use crate::support::machine::Node;
use crate::support::pods::Pods;

/// What is judged: the plan, the input it is for, and what the process took.
pub(crate) struct Facts<'a> {
    /// The plan as printed.
    pub(crate) plan: &'a Value,
    /// Its input.
    pub(crate) input: &'a Input,
    /// Wall time of the process.
    pub(crate) seconds: f64,
    /// Its peak memory.
    pub(crate) rss_mib: f64,
}

/// Something that `expect` says and that isn't so.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Miss {
    /// The word, with the figure where it has several: `launches`, `cost.after`.
    pub(crate) word: String,
    /// What was expected and found.
    pub(crate) text: String,
}

/// A pod's place after the plan.
struct Place {
    node: String,
    instance_type: String,
    zone: String,
    app: String,
}

/// All that `expect` says and that isn't so.
pub(crate) fn misses(expect: &Value, facts: &Facts<'_>) -> Vec<Miss> {
    let places = places(facts);
    let words = expect.as_object().into_iter().flatten();
    words
        .flat_map(|(word, wanted)| judged(word, wanted, facts, &places))
        .collect()
}

fn judged(word: &str, wanted: &Value, facts: &Facts<'_>, places: &BTreeMap<String, Place>) -> Vec<Miss> {
    let plan = facts.plan;
    let launches = list(plan, "/launch");
    let texts = match word {
        "cost" => return costs(wanted, plan),
        "launches" => is_number(wanted, launches.len() as f64),
        "launchTypes" => counted(wanted, launches, "/instanceType"),
        "launchPools" => counted(wanted, launches, "/nodePool"),
        "capacityTypes" => capacity_types(wanted, launches),
        "evictions" => is_number(wanted, list(plan, "/moves").len() as f64),
        "disrupted" => is_number(wanted, disrupted(plan)),
        "actions" => each(wanted, |node, action| {
            place_is(action, Some(&action_of(plan, node)))
        }),
        "why" => each(wanted, |node, patterns| all_match(patterns, &why(plan, node))),
        "onNode" => each_pod(wanted, places, |place| &place.node),
        "onType" => each_pod(wanted, places, |place| &place.instance_type),
        "inZone" => each_pod(wanted, places, |place| &place.zone),
        "perNode" => each(wanted, |app, ways| spread(app, ways, places, |place| &place.node)),
        "perZone" => each(wanted, |app, ways| spread(app, ways, places, |place| &place.zone)),
        "families" => each(wanted, |pod, least| families(pod, least, launches)),
        "unschedulable" => unschedulable(wanted, plan),
        "unschedulableCount" => is_number(wanted, list(plan, "/unschedulable").len() as f64),
        "details" => each(wanted, |pod, patterns| {
            refused(pod, plan, |one| all_match(patterns, &reasons(one)))
        }),
        "fix" => each(wanted, |pod, pattern| {
            refused(pod, plan, |one| {
                all_match(&Value::Array(vec![pattern.clone()]), text(one, "/fix"))
            })
        }),
        "greedyCost" => is_number(wanted, number(plan, "/work/phases/0/cost").unwrap_or(f64::NAN)),
        "seconds" => is_number(wanted, facts.seconds),
        "rssMiB" => is_number(wanted, facts.rss_mib),
        _ => vec!["is no word of expect".to_owned()],
    };
    texts
        .into_iter()
        .map(|text| Miss {
            word: word.to_owned(),
            text,
        })
        .collect()
}

/// A number is met within 1e-6, a range at both ends.
fn is_number(wanted: &Value, found: f64) -> Vec<String> {
    let met = match wanted {
        Value::Object(range) => {
            let end = |name: &str, open: f64| range.get(name).and_then(Value::as_f64).unwrap_or(open);
            found >= end("min", f64::NEG_INFINITY) - 1e-6 && found <= end("max", f64::INFINITY) + 1e-6
        }
        other => other
            .as_f64()
            .is_some_and(|wanted| (wanted - found).abs() <= 1e-6),
    };
    if met {
        Vec::new()
    } else {
        vec![format!("should be {wanted}, is {found}")]
    }
}

fn costs(wanted: &Value, plan: &Value) -> Vec<Miss> {
    let figures = wanted.as_object().into_iter().flatten();
    figures
        .flat_map(|(figure, wanted)| {
            let found = number(plan, &format!("/cost/{figure}")).unwrap_or(f64::NAN);
            let miss = move |text| Miss {
                word: format!("cost.{figure}"),
                text,
            };
            is_number(wanted, found).into_iter().map(miss)
        })
        .collect()
}

/// Judges each entry of a word that maps names to what is wanted of them.
fn each(wanted: &Value, judge: impl Fn(&str, &Value) -> Vec<String>) -> Vec<String> {
    let entries = wanted.as_object().into_iter().flatten();
    let named = |(name, wanted): (&String, &Value)| {
        judge(name, wanted)
            .into_iter()
            .map(|text| format!("{name}: {text}"))
            .collect::<Vec<_>>()
    };
    entries.flat_map(named).collect()
}

fn counted(wanted: &Value, launches: &[Value], field: &str) -> Vec<String> {
    let mut found = Map::new();
    for launch in launches {
        let entry = found.entry(text(launch, field)).or_insert(Value::from(0));
        *entry = Value::from(entry.as_u64().unwrap_or_default() + 1);
    }
    let found = Value::Object(found);
    let met = match wanted {
        Value::Array(ways) => ways.contains(&found),
        one => *one == found,
    };
    if met {
        Vec::new()
    } else {
        vec![format!("should be {wanted}, are {found}")]
    }
}

fn capacity_types(wanted: &Value, launches: &[Value]) -> Vec<String> {
    let allowed = list(wanted, "");
    let others = launches
        .iter()
        .filter_map(|launch| launch.pointer("/capacityType"));
    others
        .filter(|found| !allowed.contains(found))
        .map(|found| format!("should be among {wanted}, one launch is {found}"))
        .collect()
}

fn disrupted(plan: &Value) -> f64 {
    let goes = |node: &&Value| ["delete", "replace"].contains(&text(node, "/action"));
    list(plan, "/nodes").iter().filter(goes).count() as f64
}

fn planned<'a>(plan: &'a Value, node: &str) -> Option<&'a Value> {
    list(plan, "/nodes").iter().find(|one| text(one, "/name") == node)
}

/// A node that isn't listed is kept.
fn action_of(plan: &Value, node: &str) -> String {
    planned(plan, node)
        .map_or("keep", |one| text(one, "/action"))
        .to_owned()
}

fn why(plan: &Value, node: &str) -> String {
    let said = |one: &Value| format!("{} {}", text(one, "/reason"), text(one, "/blockedBy"));
    planned(plan, node).map(said).unwrap_or_default()
}

/// Whether a place is one of the wanted ones: a regular expression that the whole name matches.
fn place_is(wanted: &Value, found: Option<&str>) -> Vec<String> {
    let pattern = expression(&format!("^(?:{})$", wanted.as_str().unwrap_or("")));
    if found.is_some_and(|found| pattern.is_match(found)) {
        return Vec::new();
    }
    vec![format!("should be {wanted}, is {found:?}")]
}

fn all_match(patterns: &Value, found: &str) -> Vec<String> {
    let patterns = list(patterns, "").iter().filter_map(Value::as_str);
    let unmet = patterns.filter(|pattern| !expression(pattern).is_match(found));
    unmet
        .map(|pattern| format!("should match {pattern:?}, is {found:?}"))
        .collect()
}

fn expression(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap_or_else(|error| panic!("{pattern:?} is no regular expression: {error}"))
}

/// Whether a name is meant by a pattern, in which `*` stands for any text.
fn meant(pattern: &str, name: &str) -> bool {
    let pattern = regex::escape(pattern).replace(r"\*", ".*");
    expression(&format!("^{pattern}$")).is_match(name)
}

fn each_pod(
    wanted: &Value,
    places: &BTreeMap<String, Place>,
    part: impl Fn(&Place) -> &String,
) -> Vec<String> {
    each(wanted, |pattern, wanted| {
        let found: Vec<_> = places.iter().filter(|(name, _)| meant(pattern, name)).collect();
        if found.is_empty() {
            return vec![format!("should be {wanted}, has no place")];
        }
        found
            .into_iter()
            .flat_map(|(_, place)| place_is(wanted, Some(part(place))))
            .collect()
    })
}

fn spread(
    app: &str,
    ways: &Value,
    places: &BTreeMap<String, Place>,
    part: impl Fn(&Place) -> &String,
) -> Vec<String> {
    let mut counts: BTreeMap<&String, u64> = BTreeMap::new();
    for place in places.values().filter(|place| meant(app, &place.app)) {
        *counts.entry(part(place)).or_default() += 1;
    }
    let mut found: Vec<u64> = counts.into_values().collect();
    found.sort_by_key(|count| std::cmp::Reverse(*count));
    let found = Value::from(found);
    if list(ways, "").contains(&found) {
        Vec::new()
    } else {
        vec![format!("should be one of {ways}, is {found}")]
    }
}

fn families(pod: &str, least: &Value, launches: &[Value]) -> Vec<String> {
    let has = |launch: &&Value| {
        list(launch, "/pods")
            .iter()
            .any(|name| meant(pod, name.as_str().unwrap_or("")))
    };
    let Some(launch) = launches.iter().find(has) else {
        return vec!["is on no launch".to_owned()];
    };
    let types = std::iter::once(launch).chain(list(launch, "/alternatives"));
    let mut families: Vec<&str> = types
        .filter_map(|offer| text(offer, "/instanceType").split('.').next())
        .collect();
    families.sort_unstable();
    families.dedup();
    let enough = least.as_u64().is_some_and(|least| families.len() as u64 >= least);
    if enough {
        Vec::new()
    } else {
        vec![format!("should have {least} families, has {families:?}")]
    }
}

/// Exactly the wanted pods are refused, each for one of the wanted constraints in each named pool.
fn unschedulable(wanted: &Value, plan: &Value) -> Vec<String> {
    let refused = list(plan, "/unschedulable");
    let patterns: Vec<&String> = wanted.as_object().into_iter().flat_map(Map::keys).collect();
    let unwanted = refused
        .iter()
        .map(|one| text(one, "/pod"))
        .filter(|name| !patterns.iter().any(|pattern| meant(pattern, name)));
    let mut findings: Vec<String> = unwanted.map(|name| format!("{name} should not be")).collect();
    findings.extend(each(wanted, |pod, pools| {
        self::refused(pod, plan, |one| {
            each(pools, |pool, constraints| {
                let of_pool = list(one, "/reasons")
                    .iter()
                    .find(|reason| text(reason, "/nodePool") == pool);
                place_is(constraints, of_pool.map(|reason| text(reason, "/constraint")))
            })
        })
    }));
    findings
}

/// Judges every refused pod that a pattern means; there must be one.
fn refused(pattern: &str, plan: &Value, judge: impl Fn(&Value) -> Vec<String>) -> Vec<String> {
    let all = list(plan, "/unschedulable").iter();
    let found: Vec<&Value> = all.filter(|one| meant(pattern, text(one, "/pod"))).collect();
    if found.is_empty() {
        return vec!["isn't refused".to_owned()];
    }
    found.into_iter().flat_map(judge).collect()
}

fn reasons(refused: &Value) -> String {
    let said = |reason: &Value| {
        let part = |name: &str| text(reason, name).to_owned();
        [
            part("/nodePool"),
            part("/node"),
            part("/constraint"),
            part("/detail"),
        ]
        .join(" ")
    };
    list(refused, "/reasons")
        .iter()
        .map(said)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Where every pod is when the plan is done.
fn places(facts: &Facts<'_>) -> BTreeMap<String, Place> {
    let (pods, nodes) = (Pods::read(facts.input), Node::all(facts.input));
    let app = |name: &str| pods.find(name).map(|pod| pod.app.clone()).unwrap_or_default();
    let label = |node: &str, key: &str| {
        let found = nodes.iter().find(|one| one.name == node);
        found
            .and_then(|found| found.labels.get(key))
            .cloned()
            .unwrap_or_default()
    };
    let on_node = |name: &str, node: &str| Place {
        node: node.to_owned(),
        instance_type: label(node, "node.kubernetes.io/instance-type"),
        zone: label(node, "topology.kubernetes.io/zone"),
        app: app(name),
    };
    let mut places = BTreeMap::new();
    for (name, pod) in pods.named() {
        if let Some(node) = pod
            .node
            .as_deref()
            .filter(|node| action_of(facts.plan, node) == "keep")
        {
            places.insert(name.clone(), on_node(name, node));
        }
    }
    for node in list(facts.plan, "/nodes") {
        for name in list(node, "/added").iter().filter_map(Value::as_str) {
            places.insert(name.to_owned(), on_node(name, text(node, "/name")));
        }
    }
    for (index, launch) in list(facts.plan, "/launch").iter().enumerate() {
        for name in list(launch, "/pods").iter().filter_map(Value::as_str) {
            let (instance_type, zone) = (text(launch, "/instanceType"), text(launch, "/zone"));
            let (instance_type, zone) = (instance_type.to_owned(), zone.to_owned());
            let node = format!("launch/{index}");
            places.insert(
                name.to_owned(),
                Place {
                    node,
                    instance_type,
                    zone,
                    app: app(name),
                },
            );
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn input() -> Input {
        let node = json!({"kind": "Node", "metadata": {"name": "n1", "labels": {
            "node.kubernetes.io/instance-type": "m7i.large", "topology.kubernetes.io/zone": "za"}}});
        let pod = |name: &str, node: &str| json!({"kind": "Pod", "metadata": {"name": name, "labels": {"app": "web"}}, "spec": {"nodeName": node}});
        Input::of(vec![
            node,
            pod("old", "n1"),
            pod("web-0", ""),
            pod("web-1", ""),
            pod("lost", ""),
        ])
    }

    fn plan() -> Value {
        json!({
            "launch": [
                {"nodePool": "general", "instanceType": "c7i.large", "zone": "zb", "capacityType": "spot",
                 "pods": ["default/web-0"], "alternatives": [{"instanceType": "m7i.large"}]},
            ],
            "nodes": [
                {"name": "n1", "action": "keep", "blockedBy": "saves 16 %", "added": ["default/web-1"]},
                {"name": "n2", "action": "delete"},
            ],
            "moves": [{"pod": "default/moved"}],
            "unschedulable": [{"pod": "default/lost", "fix": "raise limits.cpu to 104", "reasons": [
                {"nodePool": "general", "constraint": "Limit", "detail": "cpu: needs 8, 4 left"}]}],
            "cost": {"after": 0.5},
            "work": {"phases": [{"name": "greedy", "cost": 0.6}]},
        })
    }

    fn missed(word: &str, wanted: Value) -> bool {
        let (plan, input) = (plan(), input());
        let facts = Facts {
            plan: &plan,
            input: &input,
            seconds: 2.0,
            rss_mib: 100.0,
        };
        let found = misses(
            &Value::Object(Map::from_iter([(word.to_owned(), wanted)])),
            &facts,
        );
        assert!(found.iter().all(|miss| miss.word.starts_with(word)), "{found:?}");
        !found.is_empty()
    }

    #[test]
    fn every_word_can_hold_and_can_fail() {
        for (word, holding, failing) in [
            ("cost", json!({"after": 0.5}), json!({"after": 0.50001})),
            ("cost", json!({"after": {"max": 0.5}}), json!({"before": 0})),
            ("launches", json!(1), json!(2)),
            ("launchTypes", json!({"c7i.large": 1}), json!({"c7i.large": 2})),
            (
                "launchTypes",
                json!([{"a": 1}, {"c7i.large": 1}]),
                json!([{"a": 1}]),
            ),
            ("launchPools", json!({"general": 1}), json!({})),
            ("capacityTypes", json!(["spot"]), json!(["on-demand"])),
            ("evictions", json!(1), json!(0)),
            ("disrupted", json!(1), json!({"min": 2})),
            (
                "actions",
                json!({"n2": "delete|replace", "n3": "keep"}),
                json!({"n2": "keep"}),
            ),
            ("why", json!({"n1": ["16"]}), json!({"n1": ["16", "17"]})),
            (
                "onNode",
                json!({"default/web-1": "n1", "default/old": "n1"}),
                json!({"default/web-1": "n"}),
            ),
            (
                "onNode",
                json!({"default/web-0": "launch/0"}),
                json!({"default/web-0": "launch/1"}),
            ),
            (
                "onType",
                json!({"default/web-*": "c7i.large|m7i.large"}),
                json!({"default/web-*": "m7i.large"}),
            ),
            (
                "inZone",
                json!({"default/web-0": "zb"}),
                json!({"default/lost": "zb"}),
            ),
            ("perNode", json!({"web": [[1], [2, 1]]}), json!({"web": [[1, 2]]})),
            ("perZone", json!({"web": [[2, 1]]}), json!({"web": [[3]]})),
            (
                "families",
                json!({"default/web-0": 2}),
                json!({"default/web-0": 3}),
            ),
            (
                "unschedulable",
                json!({"default/l*": {"general": "Taint|Limit"}}),
                json!({"default/lost": {"general": "Zone"}}),
            ),
            ("unschedulable", json!({"default/lost": {}}), json!({})),
            (
                "unschedulable",
                json!({"default/*": {}}),
                json!({"default/lost": {}, "default/web-0": {}}),
            ),
            (
                "unschedulable",
                json!({"default/lost": {}}),
                json!({"default/lost": {"gpu": "Taint"}}),
            ),
            ("unschedulableCount", json!(1), json!(0)),
            (
                "details",
                json!({"default/lost": ["\\b8\\b", "4"]}),
                json!({"default/lost": ["\\b9\\b"]}),
            ),
            (
                "details",
                json!({"default/*": ["cpu"]}),
                json!({"default/web-0": ["cpu"]}),
            ),
            (
                "fix",
                json!({"default/lost": "104"}),
                json!({"default/lost": "tolerat"}),
            ),
            ("greedyCost", json!(0.6), json!({"max": 0.5})),
            ("seconds", json!({"max": 2}), json!({"max": 1.9})),
            ("rssMiB", json!({"min": 1, "max": 400}), json!({"max": 99})),
        ] {
            assert!(!missed(word, holding.clone()), "{word} should hold: {holding}");
            assert!(missed(word, failing.clone()), "{word} should fail: {failing}");
        }
    }

    #[test]
    fn an_unknown_word_is_never_passed_over() {
        assert!(missed("launchs", json!(1)));
    }
}
