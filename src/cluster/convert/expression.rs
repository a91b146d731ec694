//! Requirements of nodes as manifests write them, in the model's words.

use dovetail_solver::model::requirement::{
    NodeSelectorTerm as ModelTerm, NodeSelectorTerms, Operator, Requirement, Requirements, ValueSet,
};

use super::labels::normal_key;
use crate::cluster::objects::affinity::{Expression, NodeSelector, NodeSelectorTerm};

/// Kubernetes' own; Karpenter's other two are not for pods.
const OPERATORS: [Operator; 6] = [
    Operator::In,
    Operator::NotIn,
    Operator::Exists,
    Operator::DoesNotExist,
    Operator::Gt,
    Operator::Lt,
];

/// One of the operators that are known in some place.
///
/// # Errors
/// What was expected, and what was found.
pub fn operator(written: &str, known: &[Operator]) -> Result<Operator, String> {
    Operator::parse(written)
        .filter(|operator| known.contains(operator))
        .ok_or_else(|| {
            let known: Vec<String> = known.iter().map(ToString::to_string).collect();
            let found: String = written.chars().take(40).collect();
            format!("expected an operator ({}), found \"{found}\"", known.join(", "))
        })
}

/// Terms that are OR-ed.
///
/// # Errors
/// The path of the expression that makes no sense from `nodeSelectorTerms` on, and why.
pub fn node_terms(selector: &NodeSelector) -> Result<NodeSelectorTerms, String> {
    selector
        .node_selector_terms
        .iter()
        .enumerate()
        .map(|(at, written)| {
            node_term(written).map_err(|message| format!("nodeSelectorTerms[{at}].{message}"))
        })
        .collect::<Result<_, _>>()
        .map(NodeSelectorTerms)
}

/// Requirements that are AND-ed.
///
/// # Errors
/// The path of the expression that makes no sense, and why.
pub fn node_term(written: &NodeSelectorTerm) -> Result<ModelTerm, String> {
    let expressions = written
        .match_expressions
        .iter()
        .enumerate()
        .map(|(at, expression)| {
            requirement(expression).map_err(|message| format!("matchExpressions[{at}]: {message}"))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let expressions = Requirements::of(&expressions).map_err(|error| format!("matchExpressions: {error}"))?;
    let mut node_name: Option<ValueSet> = None;
    for (at, field) in written.match_fields.iter().enumerate() {
        let named = |message: &str| format!("matchFields[{at}]: {message}");
        if field.key != "metadata.name" {
            return Err(named("expected the key metadata.name"));
        }
        let set = requirement(field).map_err(|message| named(&message))?;
        let set = ValueSet::of(&set).map_err(|error| named(&error.to_string()))?;
        node_name = Some(node_name.map_or_else(|| set.clone(), |present| present.intersect(&set)));
    }
    Ok(ModelTerm {
        expressions,
        node_name,
    })
}

fn requirement(expression: &Expression) -> Result<Requirement, String> {
    Ok(Requirement {
        key: normal_key(&expression.key).to_owned(),
        operator: operator(&expression.operator, &OPERATORS)?,
        values: expression.values.clone(),
        min_values: None,
    })
}
