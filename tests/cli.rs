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
        (&["plan", "-f", "-", "--gap=-3"], "0.005 or 0.5%"),
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
    for (option, value) in [
        ("--consolidate", None),
        ("--spot-to-spot", None),
        ("--min-values-policy", Some("BestEffort")),
    ] {
        let arguments: Vec<&str> = ["plan", "-f", "-", option].into_iter().chain(value).collect();
        let output = dovetail(&arguments, SHOP);
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
        assert!(out(&output).contains("time-budget"), "{shell}");
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
