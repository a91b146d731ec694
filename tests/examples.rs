//! Every input under `examples/`, through the real program: what README and docs show of them is true.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that can't go on says so by failing"
)]

#[path = "../examples/generate_dump/dump.rs"]
mod dump;
#[path = "../examples/generate_dump/fleet.rs"]
mod fleet;
#[path = "../examples/generate_dump/machines.rs"]
mod machines;
#[path = "../examples/generate_dump/objects.rs"]
mod objects;
mod support;
#[path = "../examples/generate_dump/workloads.rs"]
mod workloads;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::{Value, json};

use support::input::{Input, documents, labels, list, number, text};
use support::machine::Node;
use support::pods::Pods;
use support::run::{Run, root, without_work};
use support::verify;

/// An example as the test reads it, and the plan that the program prints for it.
struct Example {
    input: Input,
    plan: Value,
}

fn files(name: &str) -> Vec<PathBuf> {
    let folder = root().join("examples").join(name);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

/// Runs `dovetail plan` on an example and judges the plan by a second reading of its rules.
fn planned(name: &str, edits: &[(&str, &str, &[&str], &str)]) -> Example {
    let folder = root().join("examples").join(name);
    // A deadline that no machine reaches: the engines end by themselves, so the plan is the same everywhere.
    let mut args = ["--gap", "0", "--work-limit", "1000000000"]
        .map(str::to_owned)
        .to_vec();
    for (kind, object, fields, value) in edits {
        args.extend([
            "--set".to_owned(),
            format!("{kind}/{object}.{}={value}", fields.join(".")),
        ]);
    }
    let run = Run::plan(&folder, &args);
    let plan = run.json().unwrap_or_else(|error| panic!("{name} {error}"));
    assert!(
        run.rss_mib < 1024.0,
        "{name} took {} MiB (and {} s)",
        run.rss_mib,
        run.seconds
    );
    let again = Run::plan(&folder, &args).json().unwrap();
    assert_eq!(
        without_work(again),
        without_work(plan.clone()),
        "{name}: another plan the second time"
    );
    let mut given: Vec<Value> = files(name).iter().flat_map(|file| documents(file)).collect();
    given.push(catalogue(&Input::of(given.clone()), &plan));
    let mut input = Input::of(given);
    for (kind, object, fields, value) in edits {
        let fields: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
        input.edit(kind, object, &fields, &Value::from(*value));
    }
    let found = verify::findings(&input, &plan);
    assert!(found.is_empty(), "{name}:\n  {}", found.join("\n  "));
    Example { input, plan }
}

/// What `dovetail catalog show` says of a type; asked once for all tests.
fn shown(name: &str) -> Value {
    static SHOWN: Mutex<BTreeMap<String, Value>> = Mutex::new(BTreeMap::new());
    if let Some(known) = SHOWN.lock().unwrap().get(name) {
        return known.clone();
    }
    let shown = Run::of(&["catalog", "show", name, "-o", "json"]).json().unwrap();
    SHOWN.lock().unwrap().insert(name.to_owned(), shown.clone());
    shown
}

/// The built-in catalogue's word on every type that the plan or a node names, as a Catalog document.
fn catalogue(input: &Input, plan: &Value) -> Value {
    let mut names = BTreeSet::new();
    for launch in list(plan, "/launch") {
        for offer in std::iter::once(launch).chain(list(launch, "/alternatives")) {
            names.insert(text(offer, "/instanceType").to_owned());
        }
    }
    let of_nodes = Node::all(input).into_iter();
    names.extend(of_nodes.filter_map(|node| node.labels.get("node.kubernetes.io/instance-type").cloned()));
    let (mut types, mut zones) = (Vec::new(), BTreeSet::new());
    for name in &names {
        let shown = shown(name);
        zones.extend(
            list(&shown, "/offerings")
                .iter()
                .map(|offer| text(offer, "/zone").to_owned()),
        );
        types.push(json!({
            "name": name, "labels": shown["labels"], "capacity": shown["capacity"],
            "allocatable": shown["allocatable"], "offerings": shown["offerings"],
        }));
    }
    json!({"kind": "Catalog", "metadata": {"name": "built-in"},
        "spec": {"region": "us-east-1", "zones": zones, "instanceTypes": types}})
}

impl Example {
    fn pending(&self) -> usize {
        let launched = list(&self.plan, "/launch")
            .iter()
            .map(|launch| list(launch, "/pods").len());
        let added = list(&self.plan, "/nodes")
            .iter()
            .map(|node| list(node, "/added").len());
        launched.sum::<usize>() + added.sum::<usize>() + list(&self.plan, "/unschedulable").len()
    }

    fn cost(&self, figure: &str) -> f64 {
        number(&self.plan, &format!("/cost/{figure}")).unwrap()
    }

    /// Launched nodes by NodePool.
    fn pools(&self) -> BTreeMap<&str, usize> {
        let mut pools = BTreeMap::new();
        for launch in list(&self.plan, "/launch") {
            *pools.entry(text(launch, "/nodePool")).or_default() += 1;
        }
        pools
    }

    /// Why a pod is refused: constraint by NodePool, and the fix.
    fn refusal(&self, pod: &str) -> (BTreeMap<&str, &str>, &str) {
        let refused = list(&self.plan, "/unschedulable")
            .iter()
            .find(|one| text(one, "/pod") == pod);
        let refused = refused.unwrap_or_else(|| panic!("{pod} isn't refused"));
        let reasons = list(refused, "/reasons").iter();
        let reasons = reasons.map(|reason| (text(reason, "/nodePool"), text(reason, "/constraint")));
        (reasons.collect(), text(refused, "/fix"))
    }
}

#[test]
fn the_shop_finds_a_place_for_all_its_pods() {
    let shop = planned("shop", &[]);
    assert_eq!(shop.input.kind("NodePool").count(), 3);
    assert_eq!(shop.input.kind("Deployment").count(), 12);
    assert_eq!(shop.input.kind("DaemonSet").count(), 4);
    assert_eq!(
        (shop.pending(), list(&shop.plan, "/unschedulable").len()),
        (42, 0)
    );
    let pods = Pods::read(&shop.input);
    let placed = list(&shop.plan, "/launch")
        .iter()
        .flat_map(|launch| list(launch, "/pods"));
    let added = list(&shop.plan, "/nodes")
        .iter()
        .flat_map(|node| list(node, "/added"));
    let apps: BTreeSet<&str> = placed
        .chain(added)
        .map(|name| pods.find(name.as_str().unwrap()).unwrap().app.as_str())
        .collect();
    assert_eq!(apps.len(), 12, "{apps:?}");
    // Two m7i.xlarge run already, with room that is used before anything is launched.
    assert!((shop.cost("before") - 0.4032).abs() < 1e-9);
    assert!(
        list(&shop.plan, "/nodes")
            .iter()
            .any(|node| !list(node, "/added").is_empty())
    );
    let pools = shop.pools();
    assert!(
        pools.contains_key("general") && pools.contains_key("spot") && pools.contains_key("gpu"),
        "{pools:?}"
    );
    for launch in list(&shop.plan, "/launch") {
        let wanted = if text(launch, "/nodePool") == "spot" {
            "spot"
        } else {
            "on-demand"
        };
        assert_eq!(text(launch, "/capacityType"), wanted);
    }
}

#[test]
fn the_dump_is_as_large_as_a_real_one() {
    let committed = std::fs::read_to_string(root().join("examples/dump/cluster.yaml")).unwrap();
    assert!(
        committed == dump::dump(),
        "examples/dump/cluster.yaml isn't what `cargo run --example generate_dump` prints"
    );
    let input = Input::of(documents(&root().join("examples/dump/cluster.yaml")));
    let waiting = |pod: &&Value| text(pod, "/status/phase") == "Pending";
    assert_eq!(input.kind("Node").count(), 66);
    assert_eq!(input.kind("Pod").count(), 932);
    assert_eq!(input.kind("Pod").filter(waiting).count(), 106);
    let namespaces: BTreeSet<&str> = input
        .kind("Pod")
        .map(|pod| text(pod, "/metadata/namespace"))
        .collect();
    assert!(
        namespaces.len() >= 8 && namespaces.contains("kube-system"),
        "{namespaces:?}"
    );
    for node in input.kind("Node") {
        let owner = &labels(node, "/metadata/labels")["karpenter.sh/nodepool"];
        assert!(input.named("NodePool", owner).is_some());
    }
}

#[test]
fn the_dump_finds_a_place_for_all_its_pending_pods() {
    let dump = planned("dump", &[]);
    assert_eq!(
        (dump.pending(), list(&dump.plan, "/unschedulable").len()),
        (106, 0)
    );
    let pools = dump.pools();
    assert!(
        ["web", "batch", "graviton"]
            .iter()
            .all(|pool| pools.contains_key(pool)),
        "{pools:?}"
    );
    let added: usize = list(&dump.plan, "/nodes")
        .iter()
        .map(|node| list(node, "/added").len())
        .sum();
    assert!(added >= 20, "only {added} pods go to the nodes that are there");
}

#[test]
fn pods_that_find_no_home_are_told_why() {
    let example = planned("unplaceable", &[]);
    assert_eq!(
        (example.pending(), list(&example.plan, "/unschedulable").len()),
        (7, 6)
    );
    for (pod, general, gpu, fix) in [
        (
            "default/over-the-limit",
            "Limit",
            "Taint",
            "raise limits.cpu of NodePool general to",
        ),
        ("default/too-large", "Resources", "Taint", ""),
        ("default/wrong-zone", "Zone", "Taint", "us-east-1f"),
        ("default/not-tolerated", "Resources", "Taint", "tolerat"),
        (
            "default/unknown-label",
            "Requirement",
            "Taint",
            "add label example.com/disk=ssd",
        ),
        ("default/wrong-arch", "Requirement", "Taint", ""),
    ] {
        let (reasons, proposed) = example.refusal(pod);
        assert_eq!(
            reasons,
            BTreeMap::from([("general", general), ("gpu", gpu)]),
            "{pod}"
        );
        assert!(proposed.contains(fix), "{pod}: {proposed:?} should say {fix:?}");
    }
}

#[test]
fn the_proposed_limit_places_the_pod() {
    let before = planned("unplaceable", &[]);
    let (_, fix) = before.refusal("default/over-the-limit");
    let limit = fix.rsplit(' ').next().unwrap();
    let after = planned(
        "unplaceable",
        &[("nodepool", "general", &["spec", "limits", "cpu"], limit)],
    );
    let refused: Vec<&str> = list(&after.plan, "/unschedulable")
        .iter()
        .map(|one| text(one, "/pod"))
        .collect();
    assert_eq!(refused.len(), 5);
    assert!(!refused.contains(&"default/over-the-limit"), "{refused:?}");
}

/// `2 × c7i.large, objective 0.1785`.
fn summary(path: &Path) -> String {
    let run = Run::plan(path, &["--gap", "0"].map(str::to_owned));
    let plan = run
        .json()
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut types: BTreeMap<&str, usize> = BTreeMap::new();
    for launch in list(&plan, "/launch") {
        *types.entry(text(launch, "/instanceType")).or_default() += 1;
    }
    let launches: Vec<String> = types
        .iter()
        .map(|(name, count)| format!("{count} × {name}"))
        .collect();
    let objective = number(&plan, "/cost/objective").unwrap();
    format!("{}, objective {objective}", launches.join(" and "))
}

#[test]
fn every_worked_example_of_a_policy_is_what_its_table_says() {
    let readme = std::fs::read_to_string(root().join("examples/policies/README.md")).unwrap();
    let mut told = BTreeSet::new();
    for row in readme.lines() {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, name, without, with, _] = cells.as_slice() else {
            continue;
        };
        let Some(name) = name.trim_matches('`').strip_suffix(".yaml") else {
            continue;
        };
        let file = root().join(format!("examples/policies/{name}.yaml"));
        let content = std::fs::read_to_string(&file).unwrap();
        let documents = content.split("---\n");
        let plain: Vec<&str> = documents
            .filter(|document| !document.contains("kind: PackingPolicy"))
            .collect();
        let bare = std::env::temp_dir().join(format!("dovetail-{}-{name}.yaml", std::process::id()));
        std::fs::write(&bare, plain.join("---\n")).unwrap();
        assert_eq!(summary(&bare), *without, "{name} without its policy");
        assert_eq!(summary(&file), *with, "{name}");
        std::fs::remove_file(bare).unwrap();
        told.insert(file);
    }
    let there = files("policies").into_iter();
    let there: BTreeSet<PathBuf> = there
        .filter(|file| file.extension().is_some_and(|end| end == "yaml"))
        .collect();
    assert_eq!(told, there);
}
