//! The program from the outside: arguments, outputs, exit codes.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::io::Write;
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_dovetail");

/// A pool with room, a pool behind a taint, pods for both, one pod too large for either.
const SHOP: &str = include_str!("cli/shop.yaml");

fn dovetail(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(PROGRAM)
        .args(arguments)
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that refuses its arguments ends without reading.
    let _written = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn out(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn err(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// Runs `plan -f -` and expects that a plan was made.
fn plan(more: &[&str], input: &str) -> String {
    let arguments = [&["plan", "-f", "-", "--now", "2026-01-07T09:00:00Z"], more].concat();
    let output = dovetail(&arguments, input);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    out(&output).to_owned()
}

fn plan_json(more: &[&str], input: &str) -> serde_json::Value {
    serde_json::from_str(&plan(&[&["-o", "json"], more].concat(), input)).unwrap()
}

#[test]
fn wrong_usage_ends_with_status_1_and_says_what_is_expected() {
    for (arguments, expected) in [
        (&["plan"][..], "--filename"),
        (&["plan", "-f", "-", "--nonsense"], "--nonsense"),
        (&["plan", "-f", "-", "--time-budget", "soon"], "300ms, 1s or 2m"),
        (&["plan", "-f", "-", "--time-budget", "-1s"], "300ms, 1s or 2m"),
        (&["plan", "-f", "-", "--time-budget", "0s"], "above zero"),
        (&["plan", "-f", "-", "--work-limit", "much"], "--work-limit"),
        (
            &["plan", "-f", "-", "--work-limit", "-1"],
            "a whole number from 0",
        ),
        (
            &["plan", "-f", "-", "--work-limit", "9", "--time-budget", "1s"],
            "cannot be used with",
        ),
        (&["plan", "-f", "-", "--gap", "-3"], "0.005 or 0.5%"),
        (&["plan", "-f", "-", "--gap", "near"], "0.005 or 0.5%"),
        (&["plan", "-f", "-", "--gap", "5"], "1 or 100% at most"),
        (
            &["plan", "-f", "-", "--engine", "magic"],
            "possible values: auto, greedy, ilp",
        ),
        (&["plan", "-f", "-", "--now", "noon"], "2026-01-07T09:00:00Z"),
        (
            &["plan", "-f", "-", "-o", "xml"],
            "possible values: table, json, yaml, html",
        ),
        (&["nonsense"], "nonsense"),
        (&["explain", "node", "n1"], "node"),
        (&[], "Usage"),
    ] {
        let output = dovetail(arguments, "");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(err(&output).contains(expected), "{arguments:?}: {}", err(&output));
        assert_eq!(out(&output), "", "{arguments:?}: errors go to standard error");
    }
}

#[test]
fn what_is_not_there_yet_is_refused_and_never_ignored() {
    for option in ["--consolidate", "--spot-to-spot"] {
        let output = dovetail(&["plan", "-f", "-", option], SHOP);
        assert_eq!(output.status.code(), Some(1), "{option}");
        let said = err(&output);
        assert!(
            said.contains(option) && said.contains("isn't there yet"),
            "{said}"
        );
    }
}

#[test]
fn help_has_examples_and_version_a_number() {
    for arguments in [
        &["--help"][..],
        &["plan", "--help"],
        &["explain", "pod", "--help"],
    ] {
        let output = dovetail(arguments, "");
        assert_eq!(output.status.code(), Some(0));
        assert!(out(&output).contains("Examples:"), "{arguments:?}");
    }
    let output = dovetail(&["--version"], "");
    assert_eq!(
        out(&output),
        concat!("dovetail ", env!("CARGO_PKG_VERSION"), "\n")
    );
}

#[test]
fn every_shell_has_a_completion_script() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = dovetail(&["completions", shell], "");
        assert_eq!(output.status.code(), Some(0));
        // The others' scripts name no values.
        let values: &[&str] = if matches!(shell, "bash" | "zsh" | "fish") {
            &["greedy", "ilp", "auto"]
        } else {
            &[]
        };
        for word in ["time-budget", "gap", "engine"].iter().chain(values) {
            assert!(out(&output).contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn a_plan_is_made_although_a_pod_has_no_place_and_the_status_says_so_on_request() {
    let text = plan(&[], SHOP);
    assert!(text.contains("5 pods pending"), "{text}");
    assert!(text.contains("No place for 2 pods"), "{text}");
    assert!(
        text.contains("add toleration dedicated=gpu:NoSchedule to the pod"),
        "{text}"
    );
    let output = dovetail(&["plan", "-f", "-", "--exit-code"], SHOP);
    assert_eq!(output.status.code(), Some(2));
    assert!(!out(&output).is_empty(), "the plan is printed all the same");
}

#[test]
fn what_could_not_be_read_counts_as_not_placed() {
    let spoiled = format!(
        "{SHOP}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: lost}}\nspec: {{replicas: many}}\n"
    );
    let output = dovetail(&["plan", "-f", "-"], &spoiled);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(
        out(&output).contains("spec.replicas"),
        "the field is named: {}{}",
        out(&output),
        err(&output)
    );
    let output = dovetail(&["plan", "-f", "-", "--exit-code"], &spoiled);
    assert_eq!(output.status.code(), Some(2));
    let nothing_pends = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n";
    let output = dovetail(&["plan", "-f", "-", "--exit-code"], nothing_pends);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let spoiled = format!(
        "{nothing_pends}---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: lost}}\nspec: {{replicas: many}}\n"
    );
    let output = dovetail(&["plan", "-f", "-", "--exit-code"], &spoiled);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
}

#[test]
fn there_is_no_colour_where_there_is_no_terminal_unless_asked_for() {
    assert!(!plan(&[], SHOP).contains('\x1b'));
    assert!(plan(&["--color", "always"], SHOP).contains('\x1b'));
    assert!(!plan(&["--color", "never"], SHOP).contains('\x1b'));
}

#[test]
fn json_is_the_plan_document() {
    let text = plan(&["-o", "json"], SHOP);
    let body: dovetail_solver::model::plan::PlanBody = serde_json::from_str(&text).unwrap();
    assert_eq!(body.work.pods, 5);
    assert_eq!(body.unschedulable.len(), 2);
    let placed: usize = body.launch.iter().map(|launch| launch.pods.len()).sum();
    assert_eq!(placed, 3);
    let launched: i64 = body
        .launch
        .iter()
        .map(|launch| launch.price.cost().micros())
        .sum();
    assert_eq!(body.cost.launched.micros(), launched);
}

/// Five pods that Karpenter's order puts on one large node, though a small one each costs little more than half.
const DEAR: &str = "
apiVersion: dovetail.sh/v1alpha1
kind: Catalog
metadata: {name: two}
spec:
  zones: [us-east-1a]
  instanceTypes:
  - {name: c7i.large, capacity: {cpu: 2, memory: 4Gi, pods: 29}, allocatable: {cpu: 2, memory: 4Gi, pods: 29}, onDemand: 0.1}
  - {name: c7i.4xlarge, capacity: {cpu: 16, memory: 32Gi, pods: 234}, allocatable: {cpu: 16, memory: 32Gi, pods: 234}, onDemand: 0.9}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec: {template: {spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}, requirements: []}}}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec: {amiFamily: AL2023}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 5
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web, resources: {requests: {cpu: 1500m, memory: 1Gi}}}]}
";

#[test]
fn every_engine_plans_and_says_how_the_cost_came_down() {
    let cost = |document: &serde_json::Value| document["cost"]["launched"].as_f64().unwrap();
    let names = |document: &serde_json::Value| -> Vec<String> {
        let phases = document["work"]["phases"].as_array().unwrap();
        let name = |phase: &serde_json::Value| phase["name"].as_str().unwrap().to_owned();
        phases.iter().map(name).collect()
    };
    let greedy = plan_json(&["--engine", "greedy"], DEAR);
    assert_eq!(names(&greedy), ["greedy", "lower bound"]);
    assert!((cost(&greedy) - 0.9).abs() < 1e-9, "{greedy}");
    for engine in ["ilp", "auto"] {
        let document = plan_json(&["--engine", engine], DEAR);
        assert!((cost(&document) - 0.5).abs() < 1e-9, "{engine}: {document}");
        assert_eq!(document["work"]["failures"], 0);
        let phases = document["work"]["phases"].as_array().unwrap();
        assert!((phases[0]["cost"].as_f64().unwrap() - 0.9).abs() < 1e-9);
        let last = phases.last().unwrap();
        assert_eq!(last["cost"], document["cost"]["launched"]);
        assert_eq!(last["bound"], document["cost"]["lowerBound"]);
        let text = plan(&["--engine", engine, "--verbose"], DEAR);
        assert!(text.contains("Search: greedy $0.90/h → "), "{text}");
    }
    assert!(!plan(&["--engine", "greedy", "--verbose"], DEAR).contains("Search:"));
    assert!(
        !plan(&[], DEAR).contains("Search:"),
        "only who asks for everything sees it"
    );
}

#[test]
fn a_work_limit_ends_the_search_in_place_of_the_clock() {
    let stopped = |document: &serde_json::Value| document["proof"]["stopped"].as_str().unwrap().to_owned();
    let more = DEAR
        .replace("cpu: 1500m", "cpu: 700m")
        .replace("replicas: 5", "replicas: 61");
    let short = plan_json(&["--work-limit", "1", "--gap", "0"], &more);
    assert_eq!(stopped(&short), "work-limit");
    let without_work = |mut document: serde_json::Value| {
        document.as_object_mut().unwrap().remove("work");
        document.to_string()
    };
    let long = plan_json(&["--work-limit", "20000000", "--gap", "0"], &more);
    assert_ne!(stopped(&long), "deadline");
    assert_eq!(
        without_work(long),
        without_work(plan_json(&["--work-limit", "20000000", "--gap", "0"], &more))
    );
}

#[test]
fn a_gap_on_the_command_line_wins_over_the_smallest_of_the_policies() {
    let policy = |name: &str, pool: &str, gap: &str| {
        format!(
            "---\napiVersion: dovetail.sh/v1alpha1\nkind: PackingPolicy\nmetadata: {{name: {name}}}\n\
             spec: {{nodePools: [{pool}], solver: {{gap: {gap}, timeBudget: 20s}}}}\n"
        )
    };
    // With so wide a gap the first plan is near enough; without, the search goes on.
    let phases = |document: serde_json::Value| document["work"]["phases"].as_array().unwrap().len();
    let wide = format!("{DEAR}{}", policy("wide", "default", "100%"));
    assert_eq!(phases(plan_json(&[], &wide)), 2);
    assert!(phases(plan_json(&["--gap", "0"], &wide)) > 2);
    let pool = DEAR.split("---\n").nth(1).unwrap();
    let second = pool.replace("metadata: {name: default}", "metadata: {name: second}");
    let both = format!("{wide}---\n{second}{}", policy("narrow", "second", "0.1%"));
    assert!(phases(plan_json(&[], &both)) > 2, "the smallest counts");
    assert_eq!(phases(plan_json(&["--gap", "100%"], &both)), 2, "the option wins");
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let without_work = |mut document: serde_json::Value| {
        document.as_object_mut().unwrap().remove("work");
        document.to_string()
    };
    let first = without_work(plan_json(&[], SHOP));
    assert_eq!(first, without_work(plan_json(&[], SHOP)));
    let backwards: Vec<&str> = SHOP.split("\n---\n").collect();
    let backwards: Vec<&str> = backwards.into_iter().rev().collect();
    assert_eq!(first, without_work(plan_json(&[], &backwards.join("\n---\n"))));
    for format in ["table", "yaml", "html"] {
        assert_eq!(
            plan(&["-o", format], SHOP),
            plan(&["-o", format], SHOP),
            "{format}"
        );
    }
}

#[test]
fn yaml_is_node_claims_that_our_own_types_read() {
    let text = plan(&["-o", "yaml"], SHOP);
    let mut claims = 0;
    for document in text.split("---\n").skip(1) {
        let claim: dovetail::api::NodeClaim = serde_saphyr::from_str(document).unwrap();
        assert_eq!(claim.metadata.generate_name.as_deref(), Some("default-"));
        assert_eq!(claim.spec.expire_after, "480h");
        assert_eq!(claim.spec.termination_grace_period.as_deref(), Some("1h"));
        assert_eq!(claim.spec.node_class_ref.name, "default");
        let labels = claim.metadata.labels.unwrap();
        assert_eq!(labels["karpenter.sh/nodepool"], "default");
        assert_eq!(labels["example.com/owner"], "shop");
        let keys: Vec<&str> = claim
            .spec
            .requirements
            .iter()
            .map(|line| line.key.as_str())
            .collect();
        for key in [
            "node.kubernetes.io/instance-type",
            "topology.kubernetes.io/zone",
            "karpenter.sh/capacity-type",
        ] {
            assert_eq!(
                keys.iter().filter(|other| **other == key).count(),
                1,
                "{key} once in {keys:?}"
            );
        }
        assert!(claim.spec.resources.requests.contains_key("cpu"));
        claims += 1;
    }
    assert_eq!(claims, plan_json(&[], SHOP)["launch"].as_array().unwrap().len());
}

#[test]
fn the_page_escapes_what_users_wrote() {
    let hostile = SHOP.replace(
        "  containers: [{name: giant,",
        "  nodeSelector: {x: \"<script>alert(1)</script>\"}\n  containers: [{name: giant,",
    );
    assert_ne!(hostile, SHOP);
    let page = plan(&["-o", "html"], &hostile);
    assert!(page.starts_with("<!DOCTYPE html>"));
    assert!(!page.contains("<script>alert"));
    assert!(
        page.contains("&lt;script&gt;alert(1)"),
        "the reason names the value"
    );
}

#[test]
fn an_edit_changes_the_plan_and_a_wrong_one_is_an_error() {
    let edit = "nodepool/gpu.spec.template.spec.taints=[]";
    let edited = plan_json(&["--set", edit], SHOP);
    assert_eq!(edited["unschedulable"].as_array().unwrap().len(), 1, "{edited}");
    let output = dovetail(
        &["plan", "-f", "-", "--set", "nodepool/nowhere.spec.weight=3"],
        SHOP,
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("nowhere"), "{}", err(&output));
}

#[test]
fn two_plans_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("before.json");
    std::fs::write(&file, plan(&["-o", "json"], SHOP)).unwrap();
    let file = file.to_str().unwrap();
    let same = plan(&["--diff", file], SHOP);
    assert!(same.contains("The plans launch and place the same."), "{same}");
    let more = [
        "--diff",
        file,
        "--set",
        "nodepool/gpu.spec.template.spec.taints=[]",
    ];
    let text = plan(&more, SHOP);
    assert!(
        text.contains("1 pod: a place now") && text.contains("shop/trainer"),
        "{text}"
    );
    let document = plan_json(&more, SHOP);
    assert_eq!(document["newlySchedulable"], serde_json::json!(["shop/trainer"]));
    assert!(document["cost"]["change"].as_f64().unwrap() > 0.0);
    let output = dovetail(&["plan", "-f", "-", "--diff", "/nonexistent.json"], SHOP);
    assert_eq!(output.status.code(), Some(1));
    let output = dovetail(&["plan", "-f", "-", "--diff", file, "-o", "html"], SHOP);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_pod_is_explained() {
    let explain = |arguments: &[&str]| {
        let all = [&["explain", "pod"], arguments, &["-f", "-"]].concat();
        dovetail(&all, SHOP)
    };
    let refused = explain(&["shop/trainer"]);
    assert_eq!(refused.status.code(), Some(0), "{}", err(&refused));
    let text = out(&refused);
    for expected in [
        "It finds no place.",
        "Taint",
        "Smallest fix: add toleration dedicated=gpu:NoSchedule",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let placed = explain(&["web-0", "-n", "shop"]);
    assert!(out(&placed).contains("of NodePool default"), "{}", out(&placed));
    let json = explain(&["shop/giant", "-o", "json"]);
    let document: serde_json::Value = serde_json::from_str(out(&json)).unwrap();
    assert_eq!(
        document["verdict"]["refused"]["reasons"][0]["constraint"],
        "Resources"
    );
    let unknown = explain(&["shop/we"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(err(&unknown).contains("shop/web-0"), "{}", err(&unknown));
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    for arguments in [
        &["plan", "-f", "-", "-o", "json"][..],
        &["crds"],
        &["completions", "bash"],
    ] {
        let mut child = Command::new(PROGRAM)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let _written = child.stdin.take().unwrap().write_all(SHOP.as_bytes());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", err(&output));
        assert!(!err(&output).contains("panic"), "{arguments:?}: {}", err(&output));
    }
}

#[test]
fn bad_input_is_named_and_the_rest_is_planned() {
    let broken = format!(
        "{SHOP}\n---\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: broken}}\nspec: 3\n"
    );
    let output = dovetail(&["plan", "-f", "-", "-o", "json"], &broken);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(err(&output).contains("broken"), "{}", err(&output));
    let output = dovetail(&["plan", "-f", "-"], "{: not yaml");
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("standard input"), "{}", err(&output));
    let output = dovetail(&["plan", "-f", "/nonexistent/file.yaml"], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        err(&output).contains("/nonexistent/file.yaml"),
        "{}",
        err(&output)
    );
}
