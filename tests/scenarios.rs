//! Every scenario of `tests/scenarios/`, through the real program. The README there says what holds of each.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_precision_loss,
    reason = "a test that can't go on says so by failing"
)]

#[path = "support/expect.rs"]
mod expect;
mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use expect::{Facts, Miss, misses};
use support::input::{Input, documents, parts};
use support::run::{Run, root, without_work};
use support::verify;

/// Words that say nothing but which plan is the cheapest: set aside while ours is known to be dearer.
const OF_THE_COST: [&str; 9] = [
    "cost.after",
    "cost.launched",
    "cost.objective",
    "launches",
    "launchTypes",
    "launchPools",
    "capacityTypes",
    "onType",
    "perNode",
];

fn folder() -> PathBuf {
    root().join("tests/scenarios")
}

fn blessing() -> bool {
    std::env::var_os("BLESS").is_some()
}

/// One scenario and what was found wrong with it.
struct Scenario {
    name: String,
    input: PathBuf,
    args: Vec<String>,
    expect: Value,
    /// The fix that is expected, as edits and documents.
    fixed: Value,
    wrong: Vec<String>,
}

impl Scenario {
    fn read(file: &Path) -> Self {
        let name = file
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .trim_end_matches(".expect.json")
            .to_owned();
        let said: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let args = support::input::list(&said, "/args");
        Self {
            input: folder().join(format!("{name}.yaml")),
            args: args.iter().map(|arg| arg.as_str().unwrap().to_owned()).collect(),
            expect: said["expect"].clone(),
            fixed: said["fixed"].clone(),
            wrong: Vec::new(),
            name,
        }
    }

    /// The input as the plan must see it: the file with the edits of `--set` in it.
    fn edited_input(&self) -> Input {
        let mut input = Input::of(documents(&self.input));
        let mut said = self.args.iter().skip_while(|arg| *arg != "--now").skip(1);
        input.now = said.next().map(|now| now.parse().unwrap());
        for edit in self
            .args
            .windows(2)
            .filter(|pair| pair[0] == "--set")
            .map(|pair| &pair[1])
        {
            let (path, value) = edit.split_once('=').unwrap();
            let (kind, rest) = path.split_once('/').unwrap();
            let (name, fields) = rest.split_once('.').unwrap();
            let fields: Vec<String> = fields.split('.').map(str::to_owned).collect();
            input.edit(kind, name, &fields, &Value::from(value));
        }
        input
    }

    /// Runs it and judges everything; what it costs when it costs more than it should.
    fn judge(&mut self) -> Option<Value> {
        let run = Run::plan(&self.input, &self.args);
        let plan = match run.json() {
            Ok(plan) => plan,
            Err(error) => {
                self.wrong.push(error);
                return None;
            }
        };
        let input = self.edited_input();
        let facts = Facts {
            plan: &plan,
            input: &input,
            seconds: run.seconds,
            rss_mib: run.rss_mib,
        };
        let missed = misses(&self.expect, &facts);
        let distance = self.distance(&plan);
        let set_aside = |miss: &Miss| distance.is_some() && OF_THE_COST.contains(&miss.word.as_str());
        let kept = missed.into_iter().filter(|miss| !set_aside(miss));
        self.wrong
            .extend(kept.map(|miss| format!("{} {}", miss.word, miss.text)));
        self.wrong.extend(verify::findings(&input, &plan));
        self.repeat(&plan);
        self.shuffle(&plan);
        self.fix();
        self.compare(&without_work(plan));
        distance
    }

    /// Proven cost and ours, where ours is dearer. A cheaper one is no distance but a mistake in `expect` or the plan.
    fn distance(&self, plan: &Value) -> Option<Value> {
        let (proven, ours) = (
            self.expect.pointer("/cost/after")?.as_f64()?,
            plan.pointer("/cost/after")?.as_f64()?,
        );
        (ours > proven + 1e-6).then(|| json!({"proven": proven, "ours": ours}))
    }

    fn repeat(&mut self, plan: &Value) {
        let again = Run::plan(&self.input, &self.args).json();
        if again.map(without_work) != Ok(without_work(plan.clone())) {
            self.wrong
                .push("the same input gives another plan the second time".to_owned());
        }
    }

    /// The documents in another order: the same cost, the same number refused.
    fn shuffle(&mut self, plan: &Value) {
        let mut documents = parts(&std::fs::read_to_string(&self.input).unwrap());
        documents.reverse();
        let middle = documents.len() / 3;
        documents.rotate_left(middle);
        let scratch = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
        std::fs::write(scratch.path(), documents.join("---\n")).unwrap();
        let figures = |plan: &Value| {
            let refused = plan
                .pointer("/unschedulable")
                .and_then(Value::as_array)
                .map(Vec::len);
            (plan["cost"].clone(), refused)
        };
        match Run::plan(scratch.path(), &self.args).json() {
            Ok(other) if figures(&other) == figures(plan) => {}
            Ok(other) => self.wrong.push(format!(
                "with the documents in another order it costs {}, not {}",
                other["cost"], plan["cost"]
            )),
            Err(error) => self
                .wrong
                .push(format!("with the documents in another order it {error}")),
        }
    }

    /// With the proposed fix made, the pods that it was proposed for have a place.
    fn fix(&mut self) {
        if self.fixed.is_null() {
            return;
        }
        let mut text = std::fs::read_to_string(&self.input).unwrap();
        text.push_str(self.fixed["documents"].as_str().unwrap_or_default());
        let scratch = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
        std::fs::write(scratch.path(), text).unwrap();
        let mut args = self.args.clone();
        for edit in support::input::list(&self.fixed, "/set") {
            args.extend(["--set".to_owned(), edit.as_str().unwrap().to_owned()]);
        }
        let planned = Run::plan(scratch.path(), &args).json();
        let left = planned.map_or_else(|error| error, |plan| plan["unschedulable"].to_string());
        let fixed = self.expect["fix"].as_object().unwrap();
        for pod in fixed.keys().filter(|pod| left.contains(&format!("\"{pod}\""))) {
            self.wrong
                .push(format!("{pod} has no place although the fix is made: {left}"));
        }
    }

    /// Against the committed plan.
    fn compare(&mut self, plan: &Value) {
        let file = folder().join(format!("{}.plan.json", self.name));
        let printed = format!("{}\n", serde_json::to_string_pretty(plan).unwrap());
        if blessing() {
            std::fs::write(&file, printed).unwrap();
        } else if std::fs::read_to_string(&file).unwrap_or_default() != printed {
            self.wrong.push(format!(
                "the plan isn't that of {} (BLESS=1 writes it)",
                file.display()
            ));
        }
    }
}

/// What `distances.json` should say, and what is wrong with what it says.
fn distances(found: &BTreeMap<String, Value>, judged: &[Scenario]) -> Vec<String> {
    let file = folder().join("distances.json");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|_| "{}".to_owned());
    let mut known: BTreeMap<String, Value> = serde_json::from_str(&text).unwrap();
    if blessing() {
        known.retain(|name, _| !judged.iter().any(|scenario| scenario.name == *name));
        known.extend(found.clone());
        std::fs::write(
            &file,
            format!("{}\n", serde_json::to_string_pretty(&known).unwrap()),
        )
        .unwrap();
        return Vec::new();
    }
    let ours = |of: &BTreeMap<String, Value>, name: &str| of.get(name).and_then(|one| one["ours"].as_f64());
    let mut wrong = Vec::new();
    for scenario in judged {
        match (ours(&known, &scenario.name), ours(found, &scenario.name)) {
            (None, Some(now)) => wrong.push(format!(
                "{}: costs {now}, more than proven possible",
                scenario.name
            )),
            (Some(then), Some(now)) if now > then + 1e-6 => {
                wrong.push(format!("{}: costs {now}, it was {then}", scenario.name));
            }
            (Some(then), now) if now.is_none_or(|now| now < then - 1e-6) => {
                wrong.push(format!(
                    "{}: costs less than the {then} recorded (BLESS=1 records it)",
                    scenario.name
                ));
            }
            _ => {}
        }
    }
    wrong
}

#[test]
fn every_scenario_holds() {
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|file| {
            file.to_str()
                .is_some_and(|name| name.ends_with(".expect.json") && name.contains(&only))
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no scenario's name contains {only:?}");
    let (mut judged, mut found) = (Vec::new(), BTreeMap::new());
    for file in &files {
        let mut scenario = Scenario::read(file);
        if let Some(distance) = scenario.judge() {
            found.insert(scenario.name.clone(), distance);
        }
        judged.push(scenario);
    }
    let mut report = distances(&found, &judged);
    for scenario in &judged {
        report.extend(
            scenario
                .wrong
                .iter()
                .map(|text| format!("{}: {text}", scenario.name)),
        );
    }
    let failing = judged
        .iter()
        .filter(|scenario| !scenario.wrong.is_empty())
        .count();
    assert!(
        report.is_empty(),
        "{failing} of {} scenarios fail:\n  {}",
        judged.len(),
        report.join("\n  ")
    );
}

/// Each file of the folder belongs to a scenario: a forgotten one would be judged by nobody.
#[test]
fn every_input_has_its_expectations_and_its_plan() {
    for entry in std::fs::read_dir(folder()).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_name().unwrap().to_str().unwrap();
        if name == "README.md" || name == "distances.json" {
            continue;
        }
        let sentence = name.split_once('.').unwrap().0;
        for ending in ["yaml", "expect.json", "plan.json"] {
            assert!(
                folder().join(format!("{sentence}.{ending}")).exists(),
                "{sentence} has no .{ending}"
            );
        }
        let first = std::fs::read_to_string(folder().join(format!("{sentence}.yaml"))).unwrap();
        let plain = |said: &str| {
            said.to_lowercase()
                .replace(|c: char| !c.is_ascii_alphanumeric(), "")
        };
        assert!(
            plain(first.split("\n---").next().unwrap()).starts_with(&plain(sentence)),
            "{sentence} says something else"
        );
    }
}

/// The second reading finds what is spoiled: a rule that it never applies would hold of everything.
#[test]
fn a_spoiled_plan_is_found_out() {
    let label = "a-label-the-nodepool-leaves-open-gets-the-value-its-pods-select";
    let node = "a-node-without-a-label-does-not-gain-it-from-a-pod-that-avoids-a-value";
    let limit = "a-cpu-limit-counts-whole-nodes-and-names-what-is-left";
    let taint = "a-daemonset-that-tolerates-everything-is-counted-on-a-tainted-pool";
    let refused = json!([{"pod": "default/red-0", "reasons": [{"nodePool": "default", "constraint": "Limit", "detail": ""}]}]);
    let small = json!({"instanceType": "c7i.large", "zone": "us-east-1a", "capacityType": "on-demand", "price": 0.08925});
    for (name, field, value, finding) in [
        (label, "/launch/0/price", json!(0.05), "isn't sold"),
        (label, "/launch/0/instanceType", json!("c9.huge"), "no such type"),
        (label, "/launch/0/zone", json!("us-east-1e"), "isn't sold"),
        (label, "/launch/0/capacityType", json!("spot"), "isn't sold"),
        (
            label,
            "/launch/0/labels",
            json!({}),
            "selects example.com/team=red",
        ),
        (
            label,
            "/launch/0/labels",
            json!({"example.com/team": "green"}),
            "doesn't hold",
        ),
        (label, "/launch/0/alternatives/0/price", json!(9.9), "isn't sold"),
        (label, "/launch/0/nodePool", json!("other"), "isn't there"),
        (label, "/launch/0/requests/cpu", json!("1"), "counted anew"),
        (
            label,
            "/launch/0/pods",
            json!(["default/red-0"]),
            "neither place nor refusal",
        ),
        (
            label,
            "/launch/0/pods",
            json!(["default/red-0", "default/red-1", "default/red-1"]),
            "has 2 places",
        ),
        (
            label,
            "/launch/0/pods",
            json!(["default/red-0", "default/red-1", "default/who"]),
            "doesn't wait",
        ),
        (label, "/launch/0/pods", json!([]), "for no pod"),
        (label, "/launch", json!([]), "neither place nor refusal"),
        (label, "/unschedulable", refused, "could launch"),
        (label, "/unschedulable/0/reasons", json!([]), "without a reason"),
        (label, "/cost/after", json!(0.01), "cost.after"),
        (label, "/cost/before", json!(0.01), "cost.before"),
        (label, "/cost/objective", json!(0.01), "cost.objective"),
        (label, "/cost/lowerBound", json!(7), "above objective"),
        (label, "/cost/gap", json!(0.7), "gap is"),
        (node, "/nodes/0/action", json!("delete"), "nobody asked"),
        (
            node,
            "/nodes/0/added",
            json!(["default/picky", "default/demanding"]),
            "required affinity",
        ),
        (
            limit,
            "/launch/0/pods",
            json!(["default/p-0", "default/p-1", "default/p-2"]),
            "too small",
        ),
        (taint, "/launch/0/alternatives/0", small, "too small"),
    ] {
        let input = Input::of(documents(&folder().join(format!("{name}.yaml"))));
        let plan = std::fs::read_to_string(folder().join(format!("{name}.plan.json"))).unwrap();
        let mut plan: Value = serde_json::from_str(&plan).unwrap();
        assert_eq!(verify::findings(&input, &plan), Vec::<String>::new(), "{name}");
        *plan
            .pointer_mut(field)
            .unwrap_or_else(|| panic!("{name} has no {field}")) = value.clone();
        let found = verify::findings(&input, &plan).join("\n");
        assert!(
            found.contains(finding),
            "{name} with {field} = {value} should be found out: {found:?}"
        );
    }
}
