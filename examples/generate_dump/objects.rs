//! The workloads of the dump as `kubectl` prints them, and what all objects share: block style, keys in alphabetical order.

use std::fmt::Write;

use crate::dump::Numbers;
use crate::fleet::{Node, Pool};
use crate::workloads::{Agent, Workload};

/// When the pending pods were made, and when the dump was.
const SCALED: &str = "2026-01-07T18:00:00Z";
pub(crate) const ROLLED_OUT: &str = "2026-01-06T10:12:30Z";

/// A `List` of items, each a block at no indentation.
pub(crate) fn list(items: &[String]) -> String {
    let mut text = String::from("apiVersion: v1\nitems:\n");
    for item in items {
        for (index, line) in item.lines().enumerate() {
            text.push_str(if index == 0 { "- " } else { "  " });
            text.push_str(line);
            text.push('\n');
        }
    }
    text + "kind: List\nmetadata:\n  resourceVersion: \"\"\n"
}

/// `metadata`, with labels (already a block of lines `key: value`) and owner.
pub(crate) fn metadata(
    (namespace, name, created): (&str, &str, &str),
    labels: &[(&str, &str)],
    owner: Option<(&str, &str)>,
    numbers: &mut Numbers,
) -> String {
    let mut text = format!("metadata:\n  creationTimestamp: \"{created}\"\n");
    if !labels.is_empty() {
        text.push_str("  labels:\n");
    }
    for (key, value) in labels {
        let bare = value.starts_with(|c: char| c.is_ascii_lowercase()) && *value != "true";
        let quote = if bare { "" } else { "\"" };
        let _ = writeln!(text, "    {key}: {quote}{value}{quote}");
    }
    let _ = writeln!(text, "  name: {name}");
    if !namespace.is_empty() {
        let _ = writeln!(text, "  namespace: {namespace}");
    }
    if let Some((kind, owner)) = owner {
        let group = match kind {
            "Node" => "v1",
            "NodePool" => "karpenter.sh/v1",
            _ => "apps/v1",
        };
        let _ = writeln!(
            text,
            "  ownerReferences:\n  - apiVersion: {group}\n    blockOwnerDeletion: true\n    controller: true\n    kind: {kind}\n    name: {owner}\n    uid: {}",
            numbers.uid()
        );
    }
    let _ = writeln!(
        text,
        "  resourceVersion: \"{}\"\n  uid: {}",
        numbers.version(),
        numbers.uid()
    );
    text
}

pub(crate) fn condition(kind: &str, status: &str, reason: &str, at: &str) -> String {
    format!(
        "  - lastTransitionTime: \"{at}\"\n    message: \"\"\n    reason: {reason}\n    status: \"{status}\"\n    type: {kind}\n"
    )
}

pub(crate) fn taints(pool: &Pool, indent: &str) -> String {
    let one = |key| {
        format!(
            "{indent}taints:\n{indent}- effect: NoSchedule\n{indent}  key: {key}\n{indent}  value: \"true\"\n"
        )
    };
    pool.taint.map(one).unwrap_or_default()
}

/// What a pod of a pool says to get there: selector and toleration.
fn placement(pool: &str, indent: &str) -> String {
    let (selector, key) = match pool {
        "batch" => ("karpenter.sh/nodepool: batch", "example.com/batch"),
        "graviton" => ("kubernetes.io/arch: arm64", "example.com/arm64"),
        "gpu" => ("karpenter.sh/nodepool: gpu", "nvidia.com/gpu"),
        _ => return format!("{indent}nodeSelector:\n{indent}  kubernetes.io/arch: amd64\n"),
    };
    format!(
        "{indent}nodeSelector:\n{indent}  {selector}\n{indent}tolerations:\n{indent}- effect: NoSchedule\n{indent}  key: {key}\n{indent}  operator: Exists\n"
    )
}

fn container(name: &str, (milli, mib, gpus): (u64, u64, u64), indent: &str) -> String {
    let gpu = if gpus > 0 {
        format!("{indent}      nvidia.com/gpu: \"{gpus}\"\n")
    } else {
        String::new()
    };
    format!(
        "{indent}containers:\n{indent}- image: registry.example.com/{name}:2026.1\n{indent}  name: {name}\n{indent}  resources:\n{indent}    limits:\n{indent}      memory: {mib}Mi\n{gpu}{indent}    requests:\n{indent}      cpu: {milli}m\n{indent}      memory: {mib}Mi\n{gpu}"
    )
}

fn asked(workload: &Workload) -> (u64, u64, u64) {
    (workload.milli, workload.mib, u64::from(workload.pool == "gpu"))
}

/// A pod of a Deployment: on a node, or waiting.
pub(crate) fn pod(workload: &Workload, hash: &str, node: Option<&Node>, numbers: &mut Numbers) -> String {
    let name = format!("{}-{hash}-{}", workload.name, numbers.letters(5));
    let labels = [("app", workload.name), ("pod-template-hash", hash)];
    let set = format!("{}-{hash}", workload.name);
    let created = if node.is_some() { ROLLED_OUT } else { SCALED };
    let meta = metadata(
        (workload.namespace, &name, created),
        &labels,
        Some(("ReplicaSet", &set)),
        numbers,
    );
    let place = node
        .map(|node| format!("  nodeName: {}\n", node.name))
        .unwrap_or_default();
    let status = if node.is_some() {
        format!(
            "{}  phase: Running\n  qosClass: Burstable\n",
            condition("PodScheduled", "True", "Scheduled", created)
        )
    } else {
        format!(
            "{}  phase: Pending\n  qosClass: Burstable\n",
            condition("PodScheduled", "False", "Unschedulable", created)
        )
    };
    format!(
        "apiVersion: v1\nkind: Pod\n{meta}spec:\n{}{place}{}  priority: 0\n  restartPolicy: Always\n  serviceAccountName: default\n  terminationGracePeriodSeconds: 30\nstatus:\n  conditions:\n{status}",
        container(workload.name, asked(workload), "  "),
        placement(workload.pool, "  "),
    )
}

fn agent_selector(agent: &Agent, indent: &str) -> String {
    let of_gpu =
        format!("{indent}nodeSelector:\n{indent}  karpenter.k8s.aws/instance-gpu-manufacturer: nvidia\n");
    if agent.gpu { of_gpu } else { String::new() }
}

/// A pod of a DaemonSet on its node.
pub(crate) fn daemon_pod(agent: &Agent, node: &Node, numbers: &mut Numbers) -> String {
    let name = format!("{}-{}", agent.name, numbers.letters(5));
    let owner = Some(("DaemonSet", agent.name));
    let meta = metadata(
        ("kube-system", &name, &node.created),
        &[("app", agent.name)],
        owner,
        numbers,
    );
    format!(
        "apiVersion: v1\nkind: Pod\n{meta}spec:\n  affinity:\n    nodeAffinity:\n      requiredDuringSchedulingIgnoredDuringExecution:\n        nodeSelectorTerms:\n        - matchFields:\n          - key: metadata.name\n            operator: In\n            values:\n            - {}\n{}  nodeName: {}\n{}  priority: 2000001000\n  priorityClassName: system-node-critical\n  tolerations:\n  - operator: Exists\nstatus:\n  conditions:\n{}  phase: Running\n",
        node.name,
        container(agent.name, (agent.milli, agent.mib, 0), "  "),
        node.name,
        agent_selector(agent, "  "),
        condition("PodScheduled", "True", "Scheduled", &node.created),
    )
}

/// A DaemonSet.
pub(crate) fn daemon_set(agent: &Agent, nodes: usize, numbers: &mut Numbers) -> String {
    let meta = metadata(
        ("kube-system", agent.name, "2025-11-03T08:00:00Z"),
        &[("app", agent.name)],
        None,
        numbers,
    );
    let selector = agent_selector(agent, "      ");
    format!(
        "apiVersion: apps/v1\nkind: DaemonSet\n{meta}spec:\n  selector:\n    matchLabels:\n      app: {name}\n  template:\n    metadata:\n      labels:\n        app: {name}\n    spec:\n{}{selector}      priorityClassName: system-node-critical\n      tolerations:\n      - operator: Exists\nstatus:\n  desiredNumberScheduled: {}\n",
        container(agent.name, (agent.milli, agent.mib, 0), "      "),
        if agent.gpu { 2 } else { nodes },
        name = agent.name,
    )
}

fn replicated(kind: &str, workload: &Workload, hash: Option<&str>, numbers: &mut Numbers) -> String {
    let (name, owner) = match hash {
        Some(hash) => (
            format!("{}-{hash}", workload.name),
            Some(("Deployment", workload.name)),
        ),
        None => (workload.name.to_owned(), None),
    };
    let mut labels = vec![("app", workload.name)];
    labels.extend(hash.map(|hash| ("pod-template-hash", hash)));
    let meta = metadata(
        (workload.namespace, &name, "2025-11-20T09:30:00Z"),
        &labels,
        owner,
        numbers,
    );
    let labelled = |indent: &str| {
        labels
            .iter()
            .map(|(key, value)| {
                format!(
                    "{indent}{key}: {}\n",
                    if *key == "app" {
                        (*value).to_owned()
                    } else {
                        format!("\"{value}\"")
                    }
                )
            })
            .collect::<String>()
    };
    format!(
        "apiVersion: apps/v1\nkind: {kind}\n{meta}spec:\n  replicas: {}\n  selector:\n    matchLabels:\n{}  template:\n    metadata:\n      labels:\n{}    spec:\n{}{}status:\n  readyReplicas: {}\n",
        workload.running + workload.pending,
        labelled("      "),
        labelled("        "),
        container(workload.name, asked(workload), "      "),
        placement(workload.pool, "      "),
        workload.running,
    )
}

/// A Deployment.
pub(crate) fn deployment(workload: &Workload, numbers: &mut Numbers) -> String {
    replicated("Deployment", workload, None, numbers)
}

/// The ReplicaSet between a Deployment and its pods.
pub(crate) fn replica_set(workload: &Workload, hash: &str, numbers: &mut Numbers) -> String {
    replicated("ReplicaSet", workload, Some(hash), numbers)
}
