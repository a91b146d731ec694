//! Label selectors in the model's words, and the namespaces that a term names by their labels.

use std::collections::{BTreeMap, BTreeSet};

use dovetail_solver::model::requirement::{Labels, Operator, Requirement, Requirements, ValueSet};
use dovetail_solver::model::selector::Namespaces;

use crate::cluster::convert::expression::operator;
use crate::cluster::index::Index;
use crate::cluster::objects::affinity::{LabelSelector, PodAffinityTerm};
use crate::cluster::objects::referred::Namespace;

/// Label that every namespace carries.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// What a selector asks of labels.
///
/// # Errors
/// The path of the expression that makes no sense, and why.
pub(in crate::cluster) fn requirements(selector: &LabelSelector) -> Result<Requirements, String> {
    let mut result = Requirements::of_labels(&selector.match_labels);
    for (at, expression) in selector.match_expressions.iter().enumerate() {
        let named = |message: String| format!("matchExpressions[{at}]: {message}");
        let known = [
            Operator::In,
            Operator::NotIn,
            Operator::Exists,
            Operator::DoesNotExist,
        ];
        let requirement = Requirement {
            key: expression.key.clone(),
            operator: operator(&expression.operator, &known).map_err(named)?,
            values: expression.values.clone(),
            min_values: None,
        };
        let set = ValueSet::of(&requirement).map_err(|error| named(error.to_string()))?;
        result.add(requirement.key, set);
    }
    Ok(result)
}

/// A selector narrowed to pods that are like this one in some labels and unlike it in others; keys that the pod doesn't have
/// say nothing. No selector stays none.
///
/// # Errors
/// As of [`requirements`], from `labelSelector` on.
pub(super) fn narrowed(
    selector: Option<&LabelSelector>,
    labels: &Labels,
    alike: &[String],
    unlike: &[String],
) -> Result<Option<Requirements>, String> {
    let Some(selector) = selector else {
        return Ok(None);
    };
    let mut result = requirements(selector).map_err(|message| format!("labelSelector.{message}"))?;
    for key in alike {
        if let Some(value) = labels.get(key) {
            result.add(key.clone(), ValueSet::exactly(value.clone()));
        }
    }
    for key in unlike {
        if let Some(value) = labels.get(key) {
            result.add(key.clone(), all_but(value));
        }
    }
    Ok(Some(result))
}

/// Any other value, or none.
fn all_but(value: &str) -> ValueSet {
    let requirement = Requirement {
        key: String::new(),
        operator: Operator::NotIn,
        values: vec![value.to_owned()],
        min_values: None,
    };
    ValueSet::of(&requirement).expect("NotIn takes any values")
}

/// The namespaces of the input with their labels: those that have an object, and those that something is in.
#[derive(Debug)]
pub(super) struct KnownNamespaces(BTreeMap<String, Labels>);

impl KnownNamespaces {
    /// Reads the index once.
    pub(super) fn of(index: &Index) -> Self {
        let mut known = BTreeMap::new();
        for name in index.namespaces_in_use() {
            known.insert(name.to_owned(), with_name(Labels::new(), name));
        }
        for (name, namespace) in index.all_referred::<Namespace>() {
            let labels = with_name(namespace.metadata.labels.clone(), &name.name);
            known.insert(name.name.to_string(), labels);
        }
        Self(known)
    }

    /// Where a term's pods are: in the pod's own namespace, unless the term says otherwise.
    ///
    /// # Errors
    /// As of [`requirements`], from `namespaceSelector` on.
    pub(super) fn of_term(&self, term: &PodAffinityTerm, own: &str) -> Result<Namespaces, String> {
        let mut names: BTreeSet<String> = term.namespaces.iter().cloned().collect();
        match &term.namespace_selector {
            None if names.is_empty() => {
                names.insert(own.to_owned());
            }
            None => {}
            Some(selector) => {
                let requirements =
                    requirements(selector).map_err(|message| format!("namespaceSelector.{message}"))?;
                if requirements.is_empty() {
                    return Ok(Namespaces::All);
                }
                let selected = self.0.iter().filter(|(_, labels)| requirements.admits(labels));
                names.extend(selected.map(|(name, _)| name.clone()));
            }
        }
        Ok(Namespaces::These(names))
    }
}

fn with_name(mut labels: Labels, name: &str) -> Labels {
    labels.insert(NAME_LABEL.to_owned(), name.to_owned());
    labels
}
