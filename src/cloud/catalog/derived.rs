//! What follows from a type's capacity and name where a Catalog document doesn't say it and EC2 doesn't know the type.

use dovetail_solver::model::requirement::Labels;
use dovetail_solver::model::resources::{ResourceName, Resources};

use super::shape::{MIB, label};

/// What a machine's size says in labels.
pub(super) fn capacity_labels(capacity: &Resources) -> Labels {
    let mut result = Labels::new();
    let amount = |name: &str| capacity.get(&ResourceName::from(name)).get();
    let mut set = |key: &str, value: String| result.insert(label(key), value);
    set("instance-cpu", (amount("cpu") / 1_000).to_string());
    set("instance-memory", (amount("memory") / MIB).to_string());
    let gpus = [
        ("nvidia.com/gpu", "nvidia"),
        ("amd.com/gpu", "amd"),
        ("habana.ai/gaudi", "habana"),
    ];
    if let Some((resource, manufacturer)) = gpus.into_iter().find(|(resource, _)| amount(resource) > 0) {
        set("instance-gpu-count", amount(resource).to_string());
        set("instance-gpu-manufacturer", manufacturer.to_owned());
    }
    if amount("aws.amazon.com/neuron") > 0 {
        set(
            "instance-accelerator-count",
            amount("aws.amazon.com/neuron").to_string(),
        );
        set("instance-accelerator-manufacturer", "aws".to_owned());
    }
    result
}

/// EC2's habit: a `g` behind the generation stands for Graviton, and a1 was the first of them.
pub(super) fn name_is_arm(name: &str) -> bool {
    let family = name.split('.').next().unwrap_or(name);
    let suffix = family.find(|c: char| c.is_ascii_digit()).map_or("", |at| {
        family[at..].trim_start_matches(|c: char| c.is_ascii_digit())
    });
    family == "a1"
        || suffix
            .split('-')
            .next()
            .is_some_and(|letters| letters.contains('g'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_whether_it_is_arm() {
        for arm in [
            "a1.large",
            "m7g.large",
            "c7gd.xlarge",
            "g5g.xlarge",
            "im4gn.large",
            "x2gd.medium",
            "r99gb.metal",
        ] {
            assert!(name_is_arm(arm), "{arm}");
        }
        for other in [
            "g5.xlarge",
            "m7i.large",
            "c7i-flex.large",
            "gr6.4xlarge",
            "u7in-16tb.224xlarge",
            "odd",
        ] {
            assert!(!name_is_arm(other), "{other}");
        }
    }
}
