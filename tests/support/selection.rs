//! Selectors, affinity, requirements, taints: what admits a node of given labels.

use serde_json::Value;

use super::input::{Labels, labels, list, text};

/// Whether one expression (`key`, `operator`, `values`) holds for a label that has this value or is absent.
pub(crate) fn holds(expression: &Value, value: Option<&str>) -> bool {
    let values = list(expression, "/values");
    let among = |value: &str| values.iter().any(|one| one.as_str() == Some(value));
    let compared = |accept: fn(i64, i64) -> bool| {
        let bound = values.first().and_then(|bound| match bound {
            Value::String(text) => text.parse().ok(),
            other => other.as_i64(),
        });
        match (value.and_then(|value| value.parse::<i64>().ok()), bound) {
            (Some(value), Some(bound)) => accept(value, bound),
            _ => false,
        }
    };
    match text(expression, "/operator") {
        "In" => value.is_some_and(among),
        "NotIn" => !value.is_some_and(among),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compared(|value, bound| value > bound),
        "Lt" => compared(|value, bound| value < bound),
        "Gte" => compared(|value, bound| value >= bound),
        "Lte" => compared(|value, bound| value <= bound),
        other => panic!("operator {other:?} is none of Kubernetes'"),
    }
}

/// Whether a pod's selector and required node affinity admit a node.
pub(crate) fn admits(spec: &Value, node: &Labels, node_name: Option<&str>) -> Result<(), String> {
    for (key, value) in labels(spec, "/nodeSelector") {
        if node.get(&key) != Some(&value) {
            return Err(format!(
                "selects {key}={value}, the node has {:?}",
                node.get(&key)
            ));
        }
    }
    let required = "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
    if spec.pointer(required).is_none() {
        return Ok(());
    }
    let terms = list(spec, &format!("{required}/nodeSelectorTerms"));
    let admitted = terms.iter().any(|term| {
        let (expressions, fields) = (list(term, "/matchExpressions"), list(term, "/matchFields"));
        let by_label = |one: &Value| holds(one, node.get(text(one, "/key")).map(String::as_str));
        (!expressions.is_empty() || !fields.is_empty())
            && expressions.iter().all(by_label)
            && fields.iter().all(|one| holds(one, node_name))
    });
    if admitted {
        Ok(())
    } else {
        Err("no term of its required affinity admits the node".to_owned())
    }
}

/// The first taint that keeps new pods out and isn't tolerated.
pub(crate) fn untolerated(spec: &Value, taints: &[Value], daemon: bool) -> Option<String> {
    let of_daemons = [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/pid-pressure",
        "node.kubernetes.io/unschedulable",
    ];
    let tolerations = list(spec, "/tolerations");
    let stays = taints.iter().find(|taint| {
        text(taint, "/effect") != "PreferNoSchedule"
            && !(daemon && of_daemons.contains(&text(taint, "/key")))
            && !tolerations.iter().any(|toleration| tolerates(toleration, taint))
    })?;
    Some(format!(
        "doesn't tolerate {}={}",
        text(stays, "/key"),
        text(stays, "/value")
    ))
}

fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let (key, effect) = (text(toleration, "/key"), text(toleration, "/effect"));
    let exists = text(toleration, "/operator") == "Exists";
    (effect.is_empty() || effect == text(taint, "/effect"))
        && ((key.is_empty() && exists) || key == text(taint, "/key"))
        && (exists || text(toleration, "/value") == text(taint, "/value"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_operator_can_hold_and_can_fail() {
        for (operator, values, holding, failing) in [
            ("In", json!(["a", "b"]), Some("a"), Some("c")),
            ("NotIn", json!(["a"]), None, Some("a")),
            ("Exists", json!([]), Some("a"), None),
            ("DoesNotExist", json!([]), None, Some("a")),
            ("Gt", json!(["4"]), Some("5"), Some("4")),
            ("Lt", json!(["4"]), Some("3"), None),
            ("Gte", json!(["4"]), Some("4"), Some("3")),
            ("Lte", json!(["4"]), Some("4"), Some("5")),
        ] {
            let expression = json!({"key": "k", "operator": operator, "values": values});
            assert!(
                holds(&expression, holding),
                "{operator} should hold for {holding:?}"
            );
            assert!(
                !holds(&expression, failing),
                "{operator} should fail for {failing:?}"
            );
        }
    }

    #[test]
    fn affinity_terms_are_alternatives_and_their_expressions_are_not() {
        let term = |values: &[(&str, &str)]| {
            let expressions: Vec<Value> = values
                .iter()
                .map(|(key, value)| json!({"key": key, "operator": "In", "values": [value]}))
                .collect();
            json!({"matchExpressions": expressions})
        };
        let spec = json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": [term(&[("a", "1"), ("b", "1")]), term(&[("c", "1")])]}}}});
        let node = |keys: &[&str]| {
            keys.iter()
                .map(|key| ((*key).to_owned(), "1".to_owned()))
                .collect()
        };
        assert!(admits(&spec, &node(&["a", "b"]), None).is_ok());
        assert!(admits(&spec, &node(&["c"]), None).is_ok());
        assert!(admits(&spec, &node(&["a"]), None).is_err());
    }

    #[test]
    fn a_toleration_fits_its_key_value_and_effect() {
        let taint = [json!({"key": "gpu", "value": "yes", "effect": "NoSchedule"})];
        let with = |toleration: Value| untolerated(&json!({"tolerations": [toleration]}), &taint, false);
        assert!(with(json!({"operator": "Exists"})).is_none());
        assert!(with(json!({"key": "gpu", "operator": "Equal", "value": "yes"})).is_none());
        assert!(with(json!({"key": "gpu", "value": "no"})).is_some());
        assert!(with(json!({"key": "gpu", "operator": "Exists", "effect": "NoExecute"})).is_some());
    }
}
