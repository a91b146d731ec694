//! Labels and allocatable against those that Karpenter publishes of every instance type.
//!
//! `tests/data/labels-and-allocatable.jsonl.gz` holds the types of Karpenter's public "Instance Types" page of August
//! 2026 (Apache-2.0): AL2023, no block devices, memory overhead 7.5 %.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use dovetail_solver::model::quantity::Rounding;
use dovetail_solver::model::resources::Resources;

use super::all_machines;
use crate::cloud::catalog::ClassSettings;

#[derive(serde::Deserialize)]
struct Published {
    #[serde(rename = "type")]
    instance_type: String,
    labels: BTreeMap<String, String>,
    allocatable: BTreeMap<String, String>,
}

fn published() -> Vec<Published> {
    let compressed = include_bytes!("../../../../tests/data/labels-and-allocatable.jsonl.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(&compressed[..])
        .read_to_string(&mut text)
        .unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Why a label or resource of a type may differ from the page. The page is from July 2026, the shapes are from October.
fn excuse(instance_type: &str, key: &str) -> Option<&'static str> {
    let (family, size) = instance_type.split_once('.').unwrap();
    let key = key.rsplit('/').next().unwrap();
    match (key, family, size) {
        ("instance-cpu-sustained-clock-speed-mhz", "c9g" | "c9gd" | "m9g" | "m9gd" | "i7i" | "i7ie", _) => {
            Some("EC2 has corrected the clock speed since")
        }
        (
            "pod-eni",
            "c9g" | "c9gd" | "hpc7g" | "i4i" | "c8gb" | "c8gn" | "c8ib" | "m8gb" | "m8gn" | "m8ib" | "m8idb"
            | "m8idn" | "m8in" | "r8gb" | "r8gn" | "r8ib" | "r8idb" | "r8idn" | "r8in",
            _,
        ) => Some("the table of branch interfaces has gained these since"),
        ("instance-network-bandwidth", "g7", "2xlarge" | "4xlarge" | "8xlarge") => {
            Some("the table of bandwidths has corrected these since")
        }
        ("pods" | "memory", "i7ie" | "i8ge", "48xlarge" | "metal-48xl") => {
            Some("EC2 now says how their interfaces are split over two cards, of which pods get the first")
        }
        _ => None,
    }
}

/// Types on the page of which no shape is known, with the reason.
const SHAPELESS: [(&str, &str); 5] = [
    ("g4ad.xlarge", "retired from the description the shapes are from"),
    ("g4ad.2xlarge", "as g4ad.xlarge"),
    ("g4ad.4xlarge", "as g4ad.xlarge"),
    ("g4ad.8xlarge", "as g4ad.xlarge"),
    ("g4ad.16xlarge", "as g4ad.xlarge"),
];

#[test]
fn labels_and_allocatable_are_those_that_karpenter_publishes() {
    let machines = all_machines();
    let class = ClassSettings::default();
    let (mut equal, mut excused, mut wrong) = (0, BTreeSet::new(), Vec::new());
    for entry in published() {
        let name = entry.instance_type;
        let Some(machine) = machines.get(&name) else {
            assert!(
                SHAPELESS.iter().any(|(shapeless, _)| *shapeless == name),
                "{name}"
            );
            continue;
        };
        let ours = machine.under(&class);
        let mut labels = ours.labels;
        // The page is of no region.
        labels.remove("topology.kubernetes.io/region");
        let allocatable = ours
            .allocatable
            .iter()
            .map(|(name, amount)| (name.to_string(), amount.display(name.unit()).to_string()))
            .collect();
        let stated = Resources::parse(
            entry
                .allocatable
                .iter()
                .map(|(name, amount)| (name.as_str(), amount.as_str())),
            Rounding::Down,
        )
        .unwrap();
        let stated: BTreeMap<String, String> = stated
            .iter()
            .map(|(name, amount)| (name.to_string(), amount.display(name.unit()).to_string()))
            .collect();
        for (ours, theirs) in [(&labels, &entry.labels), (&allocatable, &stated)] {
            for key in ours.keys().chain(theirs.keys()).collect::<BTreeSet<_>>() {
                if ours.get(key) == theirs.get(key) {
                    equal += 1;
                } else if excuse(&name, key).is_some() {
                    excused.insert((name.clone(), key.clone()));
                } else {
                    wrong.push(format!(
                        "{name} {key}: {:?}, not {:?}",
                        ours.get(key),
                        theirs.get(key)
                    ));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ: {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(20)]
    );
    // So that neither a shorter page nor a wider excuse goes unnoticed.
    assert!(equal > 28_000, "{equal}");
    assert_eq!(excused.len(), 66 + 56 + 3 + 8, "{excused:#?}");
}
