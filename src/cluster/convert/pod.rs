//! One pod: what it needs and where it may run.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use dovetail_solver::model::pod::{Owner, PodSpec as ModelSpec};
use dovetail_solver::model::requirement::Labels;
use dovetail_solver::model::resources::Amount;
use dovetail_solver::model::taint::{TaintEffect, Toleration as ModelToleration, TolerationOperator};

use super::admission::Admission;
use super::attachments::attachments;
use super::expression::node_terms;
use super::gang::gang;
use super::labels::normal_selector;
use super::requests::effective;
use super::rules::{Asked, Subject, Surroundings};
use crate::cluster::index::Index;
use crate::cluster::objects::meta::{Amounts, OwnerReference};
use crate::cluster::objects::pod::{PodSpec, Toleration, WrittenGang};

/// Makes the model's pod specs, one value for all pods that are alike.
#[derive(Debug)]
pub struct PodSpecs<'i> {
    index: &'i Index,
    admission: &'i Admission<'i>,
    surroundings: &'i Surroundings<'i>,
    /// By the addresses of what the index shares already, so that of a workload's pods only the first is converted.
    converted: HashMap<Key, Result<Arc<ModelSpec>, String>>,
    distinct: HashSet<Arc<ModelSpec>>,
}

/// What a pod's model spec depends on, by address; the index keeps all of it alive and in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    spec: *const PodSpec,
    labels: *const Labels,
    owner: Option<*const OwnerReference>,
    gang: Option<*const WrittenGang>,
    namespace: *const u8,
    has_passed: bool,
}

/// What is known of a pod whose spec is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'i> {
    /// Its spec.
    pub spec: &'i Arc<PodSpec>,
    /// Its labels.
    pub labels: &'i Arc<Labels>,
    /// Its controller.
    pub owner: Option<&'i Arc<OwnerReference>>,
    /// With which pods it belongs together.
    pub gang: Option<&'i Arc<WrittenGang>>,
    /// Its name.
    pub name: &'i str,
    /// Its namespace.
    pub namespace: &'i Arc<str>,
    /// Whether admission has seen it.
    pub has_passed: bool,
}

impl<'i> PodSpecs<'i> {
    /// Nothing converted yet.
    #[must_use]
    pub fn new(index: &'i Index, admission: &'i Admission<'i>, surroundings: &'i Surroundings<'i>) -> Self {
        Self {
            index,
            admission,
            surroundings,
            converted: HashMap::new(),
            distinct: HashSet::new(),
        }
    }

    /// The spec of a pod that the kubelet gave nothing but what it asks for.
    ///
    /// # Errors
    /// What in it makes no sense.
    pub fn of(&mut self, wanted: Wanted<'i>) -> Result<Arc<ModelSpec>, String> {
        if wanted.spec.has_claims_of_its_own() {
            return self.convert(wanted, &BTreeMap::new());
        }
        let key = Key {
            spec: Arc::as_ptr(wanted.spec),
            labels: Arc::as_ptr(wanted.labels),
            owner: wanted.owner.map(Arc::as_ptr),
            gang: wanted.gang.map(Arc::as_ptr),
            namespace: wanted.namespace.as_ptr(),
            has_passed: wanted.has_passed,
        };
        if let Some(known) = self.converted.get(&key) {
            return known.clone();
        }
        let result = self.convert(wanted, &BTreeMap::new());
        self.converted.insert(key, result.clone());
        result
    }

    /// The spec of a pod that is being resized in place.
    ///
    /// # Errors
    /// What in it makes no sense.
    pub fn of_resized(
        &mut self,
        wanted: Wanted<'i>,
        allocated: &BTreeMap<String, Amounts>,
    ) -> Result<Arc<ModelSpec>, String> {
        self.convert(wanted, allocated)
    }

    /// The spec of pods that a template would make.
    ///
    /// # Errors
    /// What in its spec makes no sense, and where from there.
    pub fn of_template(
        &mut self,
        template: &Arc<PodSpec>,
        subject: Subject<'_>,
    ) -> Result<Arc<ModelSpec>, String> {
        let admitted = self.admission.admit(template, subject.namespace, false);
        let spec = model_spec(&admitted, subject, self.surroundings, &BTreeMap::new())?;
        Ok(self.share(spec))
    }

    /// The one shared value that equals this.
    pub fn share(&mut self, spec: ModelSpec) -> Arc<ModelSpec> {
        if let Some(present) = self.distinct.get(&spec) {
            return Arc::clone(present);
        }
        let spec = Arc::new(spec);
        self.distinct.insert(Arc::clone(&spec));
        spec
    }

    fn convert(
        &mut self,
        wanted: Wanted<'i>,
        allocated: &BTreeMap<String, Amounts>,
    ) -> Result<Arc<ModelSpec>, String> {
        let admitted = self
            .admission
            .admit(wanted.spec, wanted.namespace, wanted.has_passed);
        let gang = match wanted.gang {
            Some(written) => gang(written, wanted.namespace, self.index)?,
            None => None,
        };
        let subject = Subject {
            namespace: wanted.namespace,
            pod: Some(wanted.name),
            labels: wanted.labels,
            owner: wanted.owner.map(Arc::as_ref),
            claim_templates: &[],
            gang: gang.as_ref(),
        };
        let spec = model_spec(&admitted, subject, self.surroundings, allocated)
            .map_err(|message| format!("spec.{message}"))?;
        Ok(self.share(spec))
    }
}

/// An admitted spec in the model's words.
///
/// # Errors
/// The path of the value that makes no sense, and what was expected.
pub fn model_spec(
    spec: &PodSpec,
    subject: Subject<'_>,
    surroundings: &Surroundings<'_>,
    allocated: &BTreeMap<String, Amounts>,
) -> Result<ModelSpec, String> {
    const REQUIRED: &str = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";
    let node_affinity = spec.affinity.node_affinity.required.as_ref();
    let Asked { rules, attached } = surroundings.asked(spec, subject)?;
    let mut requests = effective(spec, allocated);
    for (driver, count) in attached {
        requests.set(attachments(&driver), Amount::new(count));
    }
    Ok(ModelSpec {
        requests,
        node_selector: normal_selector(&spec.node_selector),
        node_affinity: node_affinity
            .map(|selector| node_terms(selector).map_err(|message| format!("{REQUIRED}.{message}")))
            .transpose()?,
        tolerations: spec.tolerations.iter().filter_map(toleration).collect(),
        priority: spec.priority.unwrap_or(0),
        labels: subject.labels.clone(),
        owner: subject.owner.map(|owner| Owner {
            kind: owner.kind.clone(),
            name: owner.name.clone(),
        }),
        rules,
    })
}

/// A toleration; one that Kubernetes wouldn't accept tolerates nothing.
#[must_use]
pub fn toleration(written: &Toleration) -> Option<ModelToleration> {
    let operator = match written.operator.as_str() {
        "Exists" => TolerationOperator::Exists,
        "" | "Equal" if !written.key.is_empty() => TolerationOperator::Equal(written.value.clone()),
        _ => return None,
    };
    let effect = match written.effect.as_str() {
        "" => None,
        effect => Some(TaintEffect::parse(effect)?),
    };
    Some(ModelToleration {
        key: Some(written.key.clone()).filter(|key| !key.is_empty()),
        operator,
        effect,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::convert::rules::defaults::SchedulerConfig;
    use serde_json::json;

    fn spec(yaml: serde_json::Value) -> Result<ModelSpec, String> {
        let spec: PodSpec = serde_json::from_value(yaml).unwrap();
        let subject = Subject {
            namespace: "default",
            pod: None,
            labels: &Labels::new(),
            owner: None,
            claim_templates: &[],
            gang: None,
        };
        let (index, config) = (Index::new(), SchedulerConfig::default());
        let surroundings = Surroundings::of(&index, &config);
        model_spec(&spec, subject, &surroundings, &BTreeMap::new())
    }

    #[test]
    fn terms_are_alternatives_and_fields_name_nodes() {
        let spec = spec(json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "beta.kubernetes.io/arch", "operator": "In", "values": ["arm64"]}]},
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
        ]}}}}))
        .unwrap();
        let arm = Labels::from([("kubernetes.io/arch".to_owned(), "arm64".to_owned())]);
        assert!(spec.admits_node(&arm, None));
        assert!(spec.admits_node(&Labels::new(), Some("n1")));
        assert!(!spec.admits_node(&Labels::new(), Some("n2")));
    }

    #[test]
    fn nonsense_is_named_with_its_path() {
        let wrong = |expression: serde_json::Value| {
            spec(
                json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}}),
            )
            .unwrap_err()
        };
        assert!(
            wrong(json!({"key": "a", "operator": "Gte", "values": ["1"]}))
                .contains("nodeSelectorTerms[0].matchExpressions[0]: expected an operator")
        );
        assert!(
            wrong(json!({"key": "a", "operator": "Gt", "values": ["x"]})).contains("exactly one integer")
        );
        assert!(wrong(json!({"key": "a", "operator": "In"})).contains("at least one value"));
    }

    #[test]
    fn tolerations_as_kubernetes_reads_them() {
        let tolerated = |yaml: serde_json::Value| toleration(&serde_json::from_value(yaml).unwrap());
        assert_eq!(tolerated(json!({"operator": "Exists"})).unwrap().key, None);
        assert_eq!(
            tolerated(json!({"key": "a", "value": "b"})).unwrap().operator,
            TolerationOperator::Equal("b".to_owned())
        );
        assert_eq!(tolerated(json!({"operator": "Equal"})), None);
        assert_eq!(
            tolerated(json!({"key": "a", "operator": "Exists", "effect": "Never"})),
            None
        );
    }
}
