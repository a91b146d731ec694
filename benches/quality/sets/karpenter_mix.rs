//! The mix of pods and the 400 instance types of Karpenter's own scheduling benchmark.
//!
//! A fifth of the pods each: nothing special; zone spread; hostname spread; affinity to their own zone; anti-affinity to
//! all of their fifth by hostname. CPU, memory and labels are drawn as there, from the same lists, but by another
//! generator: the same distribution, not the same draws. Type *i* has i + 1 CPUs, twice as many GiB, ten times as many
//! pod slots; a CPU and a GB (10⁹ bytes) cost 0.1 an hour each, spot in two zones as on demand in three; 100m and 10 MiB
//! are the system's.
//!
//! The rules of the four special fifths are written only where they are asked for: this version doesn't weigh them, so
//! its plans would be compared with ones that do. Without them these are plain packing instances.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::super::common::random::Random;
use super::super::common::{deployment_with, pool};
use super::{Case, Known};

/// Name of the set.
pub(crate) const SET: &str = "karpenter-mix";

const SIZES: [u64; 9] = [1, 50, 100, 500, 1_000, 2_000, 5_000, 10_000, 20_000];
const TYPES: u64 = 400;
const SEED: u64 = 42;
const MILLI: [u64; 5] = [100, 250, 500, 1_000, 1_500];
const MIB: [u64; 6] = [100, 256, 512, 1_024, 2_048, 4_096];
const LABELS: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];

/// What is special about a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Generic,
    ZoneSpread,
    HostnameSpread,
    ZoneAffinity,
    HostnameAntiAffinity,
}

/// Pods that are all alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    pub(crate) role: Role,
    pub(crate) milli: u64,
    pub(crate) mib: u64,
    /// The value of its own label, and the one that its rule selects, each an index of the list.
    label: usize,
    selected: usize,
}

/// All instances.
pub(crate) fn cases(topology_rules: bool) -> Vec<Case> {
    let case = |pods| Case {
        set: SET,
        name: format!("mix_{pods:05}"),
        classes: vec![if pods < 1_000 { "n < 1 000" } else { "n ≥ 1 000" }.to_owned()],
        pods,
        known: Known::default(),
        in_sample: true,
        text: Box::new(move || Ok(manifests(pods, topology_rules)?)),
    };
    SIZES.into_iter().map(case).collect()
}

/// The pods: a fifth of each role, what doesn't divide being generic.
pub(crate) fn kinds(pods: u64) -> BTreeMap<Kind, u64> {
    let mut random = Random::new(SEED);
    let mut counts = BTreeMap::new();
    let roles = [
        (Role::Generic, pods / 5),
        (Role::ZoneSpread, pods / 5),
        (Role::HostnameSpread, pods / 5),
        (Role::ZoneAffinity, pods / 5),
        (Role::HostnameAntiAffinity, pods / 5),
        (Role::Generic, pods % 5),
    ];
    for (role, count) in roles {
        for _ in 0..count {
            *counts.entry(draw(role, &mut random)).or_default() += 1;
        }
    }
    counts
}

fn draw(role: Role, random: &mut Random) -> Kind {
    let mut below = |end: usize| usize::try_from(random.below(end as u64)).unwrap_or_default();
    let (label, selected) = match role {
        Role::Generic => (below(LABELS.len()), 0),
        Role::ZoneSpread | Role::HostnameSpread => (below(LABELS.len()), below(LABELS.len())),
        // An affinity to pods of its own kind, of whatever value; the anti-affinity's label has one value.
        Role::ZoneAffinity => {
            let label = below(LABELS.len());
            (label, label)
        }
        Role::HostnameAntiAffinity => (0, 0),
    };
    Kind {
        role,
        milli: MILLI[below(MILLI.len())],
        mib: MIB[below(MIB.len())],
        label,
        selected,
    }
}

fn manifests(pods: u64, topology_rules: bool) -> Result<String, std::fmt::Error> {
    let mut text =
        pool("      - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}\n");
    text += "---\napiVersion: dovetail.sh/v1alpha1\nkind: Catalog\nmetadata: {name: mix}\nspec:\n  region: us-east-1\n  \
             zones: [zone-1, zone-2, zone-3]\n  instanceTypes:\n";
    for index in 0..TYPES {
        let (cpus, gib) = (index + 1, 2 * (index + 1));
        // Whole micro-dollars: 0.1 a CPU, and 0.1 for 10⁹ bytes.
        let micros = cpus * 100_000 + (gib << 30) / 10_000;
        writeln!(
            text,
            "  - {{name: fake-it-{index}, capacity: {{cpu: {cpus}, memory: {gib}Gi, pods: {slots}}}, allocatable: {{cpu: {}m, \
             memory: {}Mi, pods: {slots}}}, onDemand: {price}, spot: {{zone-1: {price}, zone-2: {price}}}}}",
            cpus * 1_000 - 100,
            gib * 1_024 - 10,
            slots = 10 * cpus,
            price = format_args!("{}.{:06}", micros / 1_000_000, micros % 1_000_000),
        )?;
    }
    for (index, (kind, count)) in kinds(pods).iter().enumerate() {
        let requests = format!("cpu: {}m, memory: {}Mi", kind.milli, kind.mib);
        let key = label_key(kind.role);
        let labels = format!(", {key}: {}", LABELS[kind.label]);
        let rules = if topology_rules {
            rules(kind)
        } else {
            String::new()
        };
        text += &deployment_with(&format!("app-{index}"), &labels, &requests, &rules, *count);
    }
    Ok(text)
}

fn label_key(role: Role) -> &'static str {
    match role {
        Role::Generic | Role::ZoneSpread | Role::HostnameSpread => "my-label",
        Role::ZoneAffinity => "my-affinity",
        Role::HostnameAntiAffinity => "apart",
    }
}

/// The rule of a kind, as lines of a pod's specification.
fn rules(kind: &Kind) -> String {
    let selector = format!(
        "labelSelector: {{matchLabels: {{{}: {}}}}}",
        label_key(kind.role),
        LABELS[kind.selected]
    );
    let spread = |key: &str| {
        format!(
            "      topologySpreadConstraints: [{{maxSkew: 1, topologyKey: {key}, whenUnsatisfiable: DoNotSchedule, {selector}}}]\n"
        )
    };
    let affinity = |what: &str, key: &str| {
        format!(
            "      affinity: {{{what}: {{requiredDuringSchedulingIgnoredDuringExecution: [{{topologyKey: {key}, {selector}}}]}}}}\n"
        )
    };
    let (zone, hostname) = ("topology.kubernetes.io/zone", "kubernetes.io/hostname");
    match kind.role {
        Role::Generic => String::new(),
        Role::ZoneSpread => spread(zone),
        Role::HostnameSpread => spread(hostname),
        Role::ZoneAffinity => affinity("podAffinity", zone),
        Role::HostnameAntiAffinity => affinity("podAntiAffinity", hostname),
    }
}
