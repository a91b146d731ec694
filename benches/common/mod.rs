//! What both benches share: the whole pipeline on a text of manifests, each part timed, and the manifests themselves.

pub(crate) mod random;

use std::time::{Duration, Instant};

use dovetail::clock::Deadline;
use dovetail::cluster::manifests;
use dovetail::cluster::snapshot::{FreezeOptions, freeze};
use dovetail_solver::model::plan::{Gap, PlanBody};
use dovetail_solver::model::time::Timestamp;
use dovetail_solver::{Engine, PlanOptions, plan};

/// A plan and how long each part of making it took.
pub(crate) struct Planned {
    /// Manifests into the index.
    pub(crate) read: Duration,
    /// The index into a snapshot: catalogue, conversion, order.
    pub(crate) freeze: Duration,
    /// Lower, pack, lift, check.
    pub(crate) plan: Duration,
    /// What came out.
    pub(crate) body: PlanBody,
}

/// Runs the pipeline that `dovetail plan` runs, without printing.
pub(crate) fn run(text: &str, engine: Engine, budget: Duration) -> Planned {
    let start = Instant::now();
    let read = manifests::read_bytes("bench", text.as_bytes(), &[]).expect("a generated text can be read");
    assert!(
        !read.diagnostics.has_errors(),
        "the generated text is refused: {:?}",
        read.diagnostics
    );
    let read_in = start.elapsed();
    let options = FreezeOptions {
        region: None,
        now: Timestamp(1_767_225_600),
        ..FreezeOptions::default()
    };
    let snapshot = freeze(&read.index, &options)
        .expect("a generated input can be frozen")
        .snapshot;
    drop(read);
    let frozen = start.elapsed();
    let options = PlanOptions {
        engine,
        gap: Gap(0),
        ..PlanOptions::default()
    }
    .for_budget(budget);
    let body = plan(&snapshot, &options, &Deadline::after(budget))
        .expect("every input has a plan")
        .into_body();
    Planned {
        read: read_in,
        freeze: frozen - read_in,
        plan: start.elapsed() - frozen,
        body,
    }
}

/// Most memory that this process has had so far, in KiB; `None` where the system doesn't say.
pub(crate) fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// NodePool `default` over everything that its requirements admit, and its class.
pub(crate) fn pool(requirements: &str) -> String {
    format!(
        "---\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: default}}\nspec:\n  template:\n    spec:\n      \
         requirements:\n{requirements}      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}\n\
         ---\napiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {{name: default}}\nspec:\n  amiSelectorTerms: \
         [{{alias: al2023@latest}}]\n  role: bench\n  subnetSelectorTerms: [{{tags: {{bench: \"true\"}}}}]\n  \
         securityGroupSelectorTerms: [{{tags: {{bench: \"true\"}}}}]\n"
    )
}

/// A Deployment of pods that are all alike; `requests` as YAML, such as `cpu: 1, memory: 1Gi`.
pub(crate) fn deployment(name: &str, requests: &str, replicas: u64) -> String {
    deployment_with(name, "", requests, "", replicas)
}

/// The same with more labels (`, key: value`) and more of a pod's specification (lines indented by six).
pub(crate) fn deployment_with(
    name: &str,
    labels: &str,
    requests: &str,
    specification: &str,
    replicas: u64,
) -> String {
    format!(
        "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: default}}\nspec:\n  replicas: \
         {replicas}\n  selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: {{labels: {{app: {name}{labels}}}}}\n    \
         spec:\n{specification}      containers:\n      - {{name: {name}, image: {name}, resources: {{requests: {{{requests}}}}}}}\n"
    )
}
