//! Label keys: old spellings of well-known ones read as the new, on nodes and in requirements alike.

use dovetail_solver::model::requirement::Labels;

/// The key that a label key is read as.
#[must_use]
pub fn normal_key(key: &str) -> &str {
    match key {
        "beta.kubernetes.io/arch" => "kubernetes.io/arch",
        "beta.kubernetes.io/os" => "kubernetes.io/os",
        "beta.kubernetes.io/instance-type" => "node.kubernetes.io/instance-type",
        "failure-domain.beta.kubernetes.io/zone" => "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region" => "topology.kubernetes.io/region",
        // The EBS driver's own name for the zone.
        "topology.ebs.csi.aws.com/zone" => "topology.kubernetes.io/zone",
        _ => key,
    }
}

/// Labels of a node: where only the old key is there, the new one is added.
#[must_use]
pub fn with_normal_keys(mut labels: Labels) -> Labels {
    let added: Vec<(String, String)> = labels
        .iter()
        .filter(|(key, _)| !labels.contains_key(normal_key(key)))
        .map(|(key, value)| (normal_key(key).to_owned(), value.clone()))
        .collect();
    for (key, value) in added {
        labels.entry(key).or_insert(value);
    }
    labels
}

/// A node selector under normal keys. Where an old and a new key ask for different values no node can have both: the
/// value becomes one that no label can have.
#[must_use]
pub fn normal_selector(selector: &Labels) -> Labels {
    let mut normal = Labels::new();
    for (key, value) in selector {
        normal
            .entry(normal_key(key).to_owned())
            .and_modify(|present: &mut String| {
                if present != value {
                    *present = format!("{present} and {value}");
                }
            })
            .or_insert_with(|| value.clone());
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn old_keys_mean_the_new_ones() {
        let node = with_normal_keys(labels(&[("beta.kubernetes.io/arch", "arm64"), ("a", "b")]));
        assert_eq!(node["kubernetes.io/arch"], "arm64");
        assert_eq!(node.len(), 3);
        let kept = with_normal_keys(labels(&[
            ("beta.kubernetes.io/os", "x"),
            ("kubernetes.io/os", "linux"),
        ]));
        assert_eq!(kept["kubernetes.io/os"], "linux");
    }

    #[test]
    fn a_selector_that_contradicts_itself_selects_nothing() {
        let twice = normal_selector(&labels(&[
            ("beta.kubernetes.io/arch", "arm64"),
            ("kubernetes.io/arch", "amd64"),
        ]));
        assert_eq!(twice["kubernetes.io/arch"], "arm64 and amd64");
        let same = normal_selector(&labels(&[
            ("beta.kubernetes.io/arch", "arm64"),
            ("kubernetes.io/arch", "arm64"),
        ]));
        assert_eq!(same["kubernetes.io/arch"], "arm64");
    }
}
