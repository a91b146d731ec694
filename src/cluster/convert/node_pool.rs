//! NodePools: what may be launched.

use std::collections::BTreeMap;

use dovetail_solver::model::instance_type::NODE_POOL_LABEL;
use dovetail_solver::model::name::{NodeClassName, NodePoolName};
use dovetail_solver::model::node_pool::{Limits, NodePool as ModelPool};
use dovetail_solver::model::quantity::{Quantity, Rounding};
use dovetail_solver::model::requirement::{Labels, Operator, Requirement, Requirements, ValueSet};
use dovetail_solver::model::resources::{Amount, ResourceName, Resources};
use dovetail_solver::model::taint::{Taint, TaintEffect};

use super::labels::normal_key;
use crate::api;
use crate::api::labels::{EC2_NODE_CLASS, INITIALIZED, REGISTERED};

/// The group and kind of node class that there is.
pub const NODE_CLASS_GROUP: &str = "karpenter.k8s.aws";
/// Its kind.
pub const NODE_CLASS_KIND: &str = "EC2NodeClass";

/// A NodePool that launches nothing, and why; of the rest only what names it.
#[must_use]
pub fn left_out(name: &str, node_class: NodeClassName, why: String) -> ModelPool {
    ModelPool {
        name: NodePoolName::from(name),
        node_class,
        weight: 0,
        requirements: Requirements::default(),
        labels: Labels::new(),
        taints: Vec::new(),
        startup_taints: Vec::new(),
        limits: Limits::default(),
        replicas: None,
        left_out: Some(why),
    }
}

/// Nodes that a static pool may keep: each that is missing is planned for, and no cluster has as many.
const MOST_REPLICAS: u64 = 100_000;

/// A NodePool in the model's words, launching from `node_class`.
///
/// # Errors
/// Where something in it makes no sense: the path, and what was expected.
pub fn node_pool(
    name: &str,
    pool: &api::NodePool,
    node_class: NodeClassName,
) -> Result<ModelPool, (String, String)> {
    let at = |path: &str| {
        let path = path.to_owned();
        move |message: String| (path, message)
    };
    let template = &pool.spec.template;
    let mut requirements =
        requirements(&template.spec.requirements).map_err(at("spec.template.spec.requirements"))?;
    let labels = labels(name, template);
    narrow(&mut requirements, &labels).map_err(at("spec.template.spec.requirements"))?;
    let mut limits = Limits::default();
    for (resource, amount) in resources_by_name(&pool.spec.limits)
        .map_err(at("spec.limits"))?
        .iter()
    {
        if resource.as_str() == "nodes" {
            limits.nodes = Some(amount.get());
        } else {
            limits.resources.set(resource.clone(), amount);
        }
    }
    Ok(ModelPool {
        name: NodePoolName::from(name),
        node_class,
        weight: u32::try_from(pool.spec.weight.unwrap_or(0))
            .map_err(|_| at("spec.weight")("expected a weight from 1 to 100".to_owned()))?,
        requirements,
        labels,
        taints: taints(&template.spec.taints),
        startup_taints: taints(&template.spec.startup_taints),
        limits,
        replicas: pool
            .spec
            .replicas
            .map(|replicas| {
                let number = u64::try_from(replicas).ok();
                number.filter(|number| *number <= MOST_REPLICAS).ok_or(())
            })
            .transpose()
            .map_err(|()| at("spec.replicas")(format!("expected from 0 to {MOST_REPLICAS}")))?,
        left_out: None,
    })
}

fn labels(name: &str, template: &api::NodeClaimTemplate) -> Labels {
    let mut labels: Labels = template
        .metadata
        .labels
        .iter()
        .map(|(key, value)| (normal_key(key).to_owned(), value.clone()))
        .collect();
    labels.insert(NODE_POOL_LABEL.to_owned(), name.to_owned());
    labels.insert(
        EC2_NODE_CLASS.to_owned(),
        template.spec.node_class_ref.name.clone(),
    );
    // By the time pods are bound to it, a node has both; DaemonSets select them.
    labels.insert(REGISTERED.to_owned(), "true".to_owned());
    labels.insert(INITIALIZED.to_owned(), "true".to_owned());
    labels
}

/// A label of the template fixes the value of a requirement on the same key.
fn narrow(requirements: &mut Requirements, labels: &Labels) -> Result<(), String> {
    for (key, value) in labels {
        let Some(present) = requirements.get(key) else {
            continue;
        };
        if !present.admits(Some(value)) {
            return Err(format!(
                "{key} must be {present}, but the template's label says \"{value}\": no node can be both"
            ));
        }
        requirements.add(key.clone(), ValueSet::exactly(value.clone()));
    }
    Ok(())
}

/// Requirements in the model's words.
///
/// # Errors
/// The first that makes no sense.
pub fn requirements(written: &[api::Requirement]) -> Result<Requirements, String> {
    let converted = written.iter().map(requirement).collect::<Result<Vec<_>, _>>()?;
    Requirements::of(&converted).map_err(|error| error.to_string())
}

fn requirement(written: &api::Requirement) -> Result<Requirement, String> {
    let min_values = written
        .min_values
        .map(u32::try_from)
        .transpose()
        .map_err(|_| format!("{}: minValues: expected a number from 1 to 50", written.key))?;
    let operator = match written.operator {
        api::Operator::In => Operator::In,
        api::Operator::NotIn => Operator::NotIn,
        api::Operator::Exists => Operator::Exists,
        api::Operator::DoesNotExist => Operator::DoesNotExist,
        api::Operator::Gt => Operator::Gt,
        api::Operator::Lt => Operator::Lt,
        api::Operator::Gte => Operator::Gte,
        api::Operator::Lte => Operator::Lte,
    };
    Ok(Requirement {
        key: normal_key(&written.key).to_owned(),
        operator,
        values: written.values.clone(),
        min_values,
    })
}

/// Taints in the model's words.
#[must_use]
pub fn taints(written: &[api::Taint]) -> Vec<Taint> {
    written
        .iter()
        .map(|taint| Taint {
            key: taint.key.clone(),
            value: taint.value.clone().unwrap_or_default(),
            effect: match taint.effect {
                api::TaintEffect::NoSchedule => TaintEffect::NoSchedule,
                api::TaintEffect::PreferNoSchedule => TaintEffect::PreferNoSchedule,
                api::TaintEffect::NoExecute => TaintEffect::NoExecute,
            },
        })
        .collect()
}

/// Capacities in base units, rounded down.
///
/// # Errors
/// The first resource whose quantity makes no sense.
pub fn resources(written: &api::Resources) -> Result<Resources, String> {
    resources_by_name(written)
}

/// Amounts by resource.
///
/// # Errors
/// The first that is no quantity.
pub fn resources_by_name(written: &api::Resources) -> Result<Resources, String> {
    let mut found = BTreeMap::new();
    for (name, quantity) in written {
        let name = ResourceName::from(name.as_str());
        let amount = quantity
            .0
            .parse::<Quantity>()
            .and_then(|quantity| Amount::from_quantity(&name, quantity, Rounding::Down))
            .map_err(|error| format!("{name}: {error}"))?;
        found.insert(name, amount);
    }
    Ok(found.into_iter().collect())
}

/// What an API server would refuse or a controller complain about, and the plan takes as it is meant: path and remark.
#[must_use]
pub fn oddities(pool: &api::NodePool) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let template = &pool.spec.template;
    for (at, requirement) in template.spec.requirements.iter().enumerate() {
        let path = format!("spec.template.spec.requirements[{at}]");
        let has_values = !requirement.values.is_empty();
        match requirement.operator {
            api::Operator::NotIn if !has_values => {
                found.push((path.clone(), "NotIn without values excludes nothing".to_owned()));
            }
            api::Operator::Exists | api::Operator::DoesNotExist if has_values => {
                found.push((
                    path.clone(),
                    format!("the values of {:?} are ignored", requirement.operator),
                ));
            }
            _ => {}
        }
        if is_restricted(&requirement.key) {
            found.push((
                format!("{path}.key"),
                format!("{} may not be required of nodes", requirement.key),
            ));
        }
        if requirement
            .min_values
            .is_some_and(|least| !(1..=50).contains(&least))
        {
            found.push((
                format!("{path}.minValues"),
                "expected a number from 1 to 50".to_owned(),
            ));
        }
    }
    for key in template
        .metadata
        .labels
        .keys()
        .filter(|key| is_restricted(key) || key.as_str() == NODE_POOL_LABEL)
    {
        found.push((
            format!("spec.template.metadata.labels.{key}"),
            "a template may not set this label".to_owned(),
        ));
    }
    if pool
        .spec
        .weight
        .is_some_and(|weight| !(1..=100).contains(&weight))
    {
        found.push((
            "spec.weight".to_owned(),
            "expected a number from 1 to 100".to_owned(),
        ));
    }
    found
}

/// Keys that belong to Karpenter or to one node alone. The domain counts by its ending, as on the server.
fn is_restricted(key: &str) -> bool {
    let domain = key.split('/').next().unwrap_or(key);
    let is_allowed = matches!(key, api::labels::CAPACITY_TYPE | api::labels::NODE_POOL);
    domain.ends_with(api::labels::KARPENTER_DOMAIN) && !is_allowed || key == api::labels::HOSTNAME
}

/// Why a pool launches nothing for now, by its own word.
#[must_use]
pub fn not_ready(pool: &api::NodePool) -> Option<String> {
    if pool.metadata.deletion_timestamp.is_some() {
        return Some("it is being deleted".to_owned());
    }
    let conditions = pool.status.as_ref().map_or(&[][..], |status| &status.conditions);
    not_true(conditions)
}

/// Why a node class can't be launched from, by its own word.
#[must_use]
pub fn class_not_ready(class: &api::EC2NodeClass) -> Option<String> {
    if class.metadata.deletion_timestamp.is_some() {
        return Some("it is being deleted".to_owned());
    }
    let conditions = class.status.as_ref().map_or(&[][..], |status| &status.conditions);
    not_true(conditions)
}

/// Without a `Ready` condition an object hasn't met a controller yet: what is pasted from a repository is ready.
fn not_true(conditions: &[api::Condition]) -> Option<String> {
    let ready = conditions.iter().find(|condition| condition.type_ == "Ready")?;
    (ready.status != "True").then(|| {
        let why = if ready.message.is_empty() {
            &ready.reason
        } else {
            &ready.message
        };
        let why: String = why.chars().take(300).collect();
        if why.is_empty() {
            "it isn't Ready".to_owned()
        } else {
            format!("it isn't Ready ({why})")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pool(spec: serde_json::Value, template: serde_json::Value) -> Result<ModelPool, (String, String)> {
        let mut spec = spec;
        spec["template"] = template;
        let pool: api::NodePool =
            serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap();
        node_pool("p", &pool, "class".into())
    }

    fn template(requirements: &serde_json::Value) -> serde_json::Value {
        json!({"metadata": {"labels": {"team": "a"}}, "spec": {"requirements": requirements, "taints": [{"key": "t", "effect": "NoExecute"}],
            "nodeClassRef": {"group": "g", "kind": "k", "name": "class"}}})
    }

    #[test]
    fn a_pool_carries_its_own_labels_and_limits() {
        let spec = json!({"limits": {"cpu": 100, "nodes": "3", "nvidia.com/gpu": 0}, "weight": 7});
        let pool = pool(
            spec,
            template(&json!([{"key": "beta.kubernetes.io/arch", "operator": "In", "values": ["amd64"]}])),
        )
        .unwrap();
        assert_eq!((pool.limits.nodes, pool.weight), (Some(3), 7));
        assert_eq!(pool.limits.resources.to_string(), "cpu 100, nvidia.com/gpu 0");
        assert_eq!(
            pool.requirements
                .get("kubernetes.io/arch")
                .and_then(ValueSet::single),
            Some("amd64")
        );
        for (key, value) in [
            ("team", "a"),
            ("karpenter.sh/nodepool", "p"),
            ("karpenter.k8s.aws/ec2nodeclass", "class"),
            ("karpenter.sh/initialized", "true"),
        ] {
            assert_eq!(pool.labels[key], value);
        }
    }

    #[test]
    fn a_label_fixes_a_requirement_of_its_key() {
        let open = |values: serde_json::Value| {
            template(&json!([{"key": "team", "operator": "In", "values": values}]))
        };
        let fixed = pool(json!({}), open(json!(["a", "b"]))).unwrap();
        assert_eq!(
            fixed.requirements.get("team").and_then(ValueSet::single),
            Some("a")
        );
        let (path, message) = pool(json!({}), open(json!(["b"]))).unwrap_err();
        assert!(
            path == "spec.template.spec.requirements" && message.contains("no node can be both"),
            "{message}"
        );
    }

    #[test]
    fn what_is_odd_is_remarked_on() {
        let requirements = json!([
            {"key": "a", "operator": "NotIn"},
            {"key": "b", "operator": "Exists", "values": ["x"]},
            {"key": "notkarpenter.sh/x", "operator": "Exists"},
            {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"], "minValues": 51},
        ]);
        let mut spec = json!({"weight": 0});
        spec["template"] = template(&requirements);
        let pool: api::NodePool =
            serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap();
        let paths: Vec<String> = oddities(&pool).into_iter().map(|(path, _)| path).collect();
        let of = |at: usize, rest: &str| format!("spec.template.spec.requirements[{at}]{rest}");
        assert_eq!(
            paths,
            [
                of(0, ""),
                of(1, ""),
                of(2, ".key"),
                of(3, ".minValues"),
                "spec.weight".to_owned()
            ]
        );
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let wrong =
            |requirement: serde_json::Value| pool(json!({}), template(&json!([requirement]))).unwrap_err().1;
        assert!(wrong(json!({"key": "a", "operator": "In"})).contains("at least one value"));
        assert!(wrong(json!({"key": "a", "operator": "Gt", "values": ["x"]})).contains("one integer"));
        assert!(wrong(json!({"key": "a", "operator": "Exists", "minValues": -1})).contains("minValues"));
        for (spec, expected) in [
            (json!({"limits": {"cpu": "-1"}}), "spec.limits"),
            (json!({"replicas": 2_147_483_647}), "spec.replicas"),
        ] {
            let (path, _) = pool(spec, template(&json!([]))).unwrap_err();
            assert_eq!(path, expected);
        }
    }
}
