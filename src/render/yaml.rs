//! The launches as NodeClaims, ready for `kubectl create -f -`.
//!
//! A NodeClaim is a conjunction per key: it can't say "type A in zone 1, or type B in zone 2". So a claim names only
//! types, zones and one capacity type of which *every* combination is an offer that the plan has verified.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use dovetail_solver::model::instance_type::{
    CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, RESERVATION_LABEL, ZONE_LABEL,
};
use dovetail_solver::model::name::{InstanceTypeName, NodePoolName, ZoneName};
use dovetail_solver::model::plan::Launch;
use dovetail_solver::model::snapshot::Snapshot;
use serde::Serialize;

use super::Report;

use crate::api::{NodeClassReference, NodePool, Operator, Requirement, Taint, labels};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Claim<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata<'a>,
    spec: Spec<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    generate_name: String,
    labels: BTreeMap<&'a str, &'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<&'a str, &'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    owner_references: Vec<Owner<'a>>,
}

/// Only where the NodePool came from a cluster: a reference needs its uid.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Owner<'a> {
    api_version: &'static str,
    kind: &'static str,
    name: &'a str,
    uid: &'a str,
    block_owner_deletion: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'a> {
    expire_after: &'a str,
    node_class_ref: &'a NodeClassReference,
    requirements: Vec<Requirement>,
    resources: Wanted,
    #[serde(skip_serializing_if = "<[Taint]>::is_empty")]
    startup_taints: &'a [Taint],
    #[serde(skip_serializing_if = "<[Taint]>::is_empty")]
    taints: &'a [Taint],
    #[serde(skip_serializing_if = "Option::is_none")]
    termination_grace_period: Option<&'a str>,
}

#[derive(Serialize)]
struct Wanted {
    requests: BTreeMap<String, String>,
}

/// Writes one document for each launch.
///
/// # Errors
/// When `out` can't be written, or a launch is of a NodePool that `node_pool` doesn't know.
pub fn write<'a>(
    report: &Report<'a>,
    node_pool: impl Fn(&NodePoolName) -> Option<&'a NodePool>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if report.plan.launch.is_empty() {
        return writeln!(out, "# Nothing to launch.");
    }
    for launch in &report.plan.launch {
        let pool = node_pool(&launch.node_pool).ok_or_else(|| {
            io::Error::other(format!(
                "the input has no NodePool {} to make a NodeClaim of",
                launch.node_pool
            ))
        })?;
        let text =
            serde_saphyr::to_string(&claim(launch, pool, report.snapshot)).map_err(io::Error::other)?;
        writeln!(
            out,
            "---\n# {} for {}/h; {}",
            launch.instance_type,
            launch.price,
            pods(launch)
        )?;
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// A comment line; names of pods can't contain a line feed where they come from an API server, but a file may say anything.
fn pods(launch: &Launch) -> String {
    const SHOWN: usize = 5;
    let names: Vec<String> = launch
        .pods
        .iter()
        .take(SHOWN)
        .map(|pod| super::style::plain(&pod.to_string()))
        .collect();
    let more = launch.pods.len().saturating_sub(SHOWN);
    match more {
        _ if names.is_empty() => "for no pod: its NodePool is static".to_owned(),
        0 => format!("pods: {}", names.join(" ")),
        _ => format!("pods: {} and {more} more", names.join(" ")),
    }
}

fn claim<'a>(launch: &'a Launch, pool: &'a NodePool, snapshot: &Snapshot) -> Claim<'a> {
    let template = &pool.spec.template;
    let name = launch.node_pool.as_str();
    let mut all_labels: BTreeMap<&str, &str> = BTreeMap::new();
    all_labels.extend(
        template
            .metadata
            .labels
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str())),
    );
    all_labels.extend(
        launch
            .labels
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str())),
    );
    all_labels.insert(labels::NODE_POOL, name);
    let class = &template.spec.node_class_ref;
    if class.kind == "EC2NodeClass" {
        all_labels.insert(labels::EC2_NODE_CLASS, &class.name);
    }
    let owner_references = pool.metadata.uid.as_deref().map(|uid| Owner {
        api_version: "karpenter.sh/v1",
        kind: "NodePool",
        name,
        uid,
        block_owner_deletion: true,
    });
    let (requirements, relaxed) = requirements(launch, &template.spec.requirements, snapshot);
    let written = template.metadata.annotations.iter();
    let mut annotations: BTreeMap<&str, &str> = written
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    if relaxed {
        annotations.insert(labels::annotation::MIN_VALUES_RELAXED, "true");
    }
    Claim {
        api_version: "karpenter.sh/v1",
        kind: "NodeClaim",
        metadata: Metadata {
            generate_name: format!("{name}-"),
            labels: all_labels,
            annotations,
            owner_references: owner_references.into_iter().collect(),
        },
        spec: Spec {
            expire_after: &template.spec.expire_after,
            node_class_ref: class,
            requirements,
            resources: Wanted {
                requests: launch
                    .requests
                    .iter()
                    .map(|(name, amount)| (name.to_string(), amount.display(name.unit()).to_string()))
                    .collect(),
            },
            startup_taints: &template.spec.startup_taints,
            taints: &template.spec.taints,
            termination_grace_period: template.spec.termination_grace_period.as_deref(),
        },
    }
}

/// The template's requirements, narrowed to the launch's types, zones, capacity type and chosen labels; and whether
/// minValues of any had to be lowered to what is named: a claim that wants more variety could never be met.
fn requirements(launch: &Launch, template: &[Requirement], snapshot: &Snapshot) -> (Vec<Requirement>, bool) {
    let (types, zones) = combinations(launch);
    let mut narrowed: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (key, value) in &launch.labels {
        narrowed.insert(key, vec![value.clone()]);
    }
    narrowed.insert(
        INSTANCE_TYPE_LABEL,
        types.iter().map(ToString::to_string).collect(),
    );
    narrowed.insert(ZONE_LABEL, zones.iter().map(ToString::to_string).collect());
    narrowed.insert(CAPACITY_TYPE_LABEL, vec![launch.capacity_type.to_string()]);
    if let Some(reservation) = &launch.reservation_id {
        narrowed.insert(RESERVATION_LABEL, vec![reservation.clone()]);
    }
    let mut relaxed = false;
    let mut lowered = |key: &str, least: i64| {
        let named = match narrowed.get(key) {
            Some(values) => values.len(),
            None => values_of_types(launch, &types, key, snapshot),
        };
        let named = i64::try_from(named).unwrap_or(i64::MAX);
        relaxed |= named < least;
        // The least that a claim can ask for.
        least.min(named).max(1)
    };
    let mut result: Vec<Requirement> = Vec::new();
    for requirement in template {
        if !narrowed.contains_key(requirement.key.as_str()) {
            let min_values = requirement
                .min_values
                .map(|least| lowered(&requirement.key, least));
            result.push(Requirement {
                min_values,
                ..requirement.clone()
            });
        }
    }
    let of_template = |key: &str| {
        let same = template.iter().filter(|requirement| requirement.key == key);
        same.filter_map(|requirement| requirement.min_values).max()
    };
    for key in narrowed.keys() {
        result.push(Requirement {
            key: (*key).to_owned(),
            operator: Operator::In,
            values: narrowed[key].clone(),
            min_values: of_template(key).map(|least| lowered(key, least)),
        });
    }
    (result, relaxed)
}

/// How many different values of a label these types have; a launch's NodePool is in the snapshot.
fn values_of_types(launch: &Launch, types: &[&InstanceTypeName], key: &str, snapshot: &Snapshot) -> usize {
    let Some(pool) = snapshot.node_pool(&launch.node_pool) else {
        return 0;
    };
    let known = snapshot.node_class(pool).instance_types.iter();
    let named = known.filter(|instance_type| types.contains(&&instance_type.name));
    let of_types: BTreeSet<&String> = named
        .filter_map(|instance_type| instance_type.labels.get(key).or_else(|| pool.labels.get(key)))
        .collect();
    of_types.len()
}

/// Types (the first choice first, then by price) and zones of which every pair is a verified offer of the launch's
/// capacity type, reservation and labels: all types of the first zone, then the zones that have all of these types.
fn combinations(launch: &Launch) -> (Vec<&InstanceTypeName>, Vec<&ZoneName>) {
    let verified: BTreeSet<(&ZoneName, &InstanceTypeName)> = launch
        .alternatives
        .iter()
        .filter(|alternative| alternative.capacity_type == launch.capacity_type)
        .filter(|alternative| alternative.reservation_id == launch.reservation_id)
        .filter(|alternative| alternative.labels.is_empty() || alternative.labels == launch.labels)
        .map(|alternative| (&alternative.zone, &alternative.instance_type))
        .chain([(&launch.zone, &launch.instance_type)])
        .collect();
    let mut types = vec![&launch.instance_type];
    for alternative in launch.alternatives.iter() {
        let name = &alternative.instance_type;
        if verified.contains(&(&launch.zone, name)) && !types.contains(&name) {
            types.push(name);
        }
    }
    let mut zones = vec![&launch.zone];
    for zone in verified.iter().map(|(zone, _)| *zone).collect::<BTreeSet<_>>() {
        if zone != &launch.zone && types.iter().all(|name| verified.contains(&(zone, *name))) {
            zones.push(zone);
        }
    }
    (types, zones)
}

#[cfg(test)]
mod tests {
    use dovetail_solver::model::money::Price;
    use dovetail_solver::model::offering::CapacityType;
    use dovetail_solver::model::plan::Alternative;
    use dovetail_solver::model::snapshot::SnapshotParts;

    use super::*;

    fn launch(alternatives: &[(&str, &str, CapacityType)]) -> Launch {
        Launch {
            node_pool: "default".into(),
            instance_type: "a".into(),
            zone: "z1".into(),
            subnet: None,
            capacity_type: CapacityType::Spot,
            reservation_id: None,
            price: Price::from_micros(1),
            pods: Vec::new(),
            requests: dovetail_solver::model::resources::Resources::new(),
            labels: [("team".to_owned(), "web".to_owned())].into(),
            alternatives: alternatives
                .iter()
                .map(|(name, zone, capacity_type)| Alternative {
                    instance_type: (*name).into(),
                    zone: (*zone).into(),
                    subnet: None,
                    capacity_type: *capacity_type,
                    reservation_id: None,
                    price: Price::from_micros(2),
                    labels: std::collections::BTreeMap::new(),
                })
                .collect(),
        }
    }

    #[test]
    fn every_combination_of_a_claim_is_verified() {
        use CapacityType::{OnDemand, Spot};
        // b is sold in both zones, c only in the first, a in the second only on demand.
        let offers = [
            ("b", "z1", Spot),
            ("b", "z2", Spot),
            ("c", "z1", Spot),
            ("a", "z2", OnDemand),
        ];
        let launch = launch(&offers);
        let (types, zones) = combinations(&launch);
        assert_eq!(types, [&"a".into(), &"b".into(), &"c".into()]);
        assert_eq!(zones, [&"z1".into()], "c isn't sold in z2");
        let both = super::tests::launch(&[("a", "z2", Spot), ("b", "z2", Spot)]);
        let (types, zones) = combinations(&both);
        assert_eq!((types.len(), zones.len()), (1, 2));
    }

    #[test]
    fn the_template_is_kept_where_the_launch_says_nothing() {
        let template = [
            ("kubernetes.io/arch", None),
            (INSTANCE_TYPE_LABEL, Some(3)),
            ("team", None),
        ]
        .map(|(key, min_values)| Requirement {
            key: key.to_owned(),
            operator: Operator::Exists,
            values: Vec::new(),
            min_values,
        });
        let snapshot = SnapshotParts::default().freeze().unwrap();
        let launch = launch(&[("b", "z1", CapacityType::Spot)]);
        let (requirements, relaxed) = requirements(&launch, &template, &snapshot);
        let keys: Vec<&str> = requirements
            .iter()
            .map(|requirement| requirement.key.as_str())
            .collect();
        let expected = [
            "kubernetes.io/arch",
            CAPACITY_TYPE_LABEL,
            INSTANCE_TYPE_LABEL,
            "team",
            ZONE_LABEL,
        ];
        assert_eq!(keys, expected);
        assert_eq!(requirements[2].min_values, Some(2));
        assert!(relaxed, "three were asked for");
        assert_eq!(requirements[3].values, ["web"]);
    }
}
