//! Node classes: the instance types as each sees them, with the memory that real nodes were seen to have.

use std::collections::{BTreeMap, BTreeSet};

use dovetail_solver::model::instance_type::INSTANCE_TYPE_LABEL;
use dovetail_solver::model::name::{InstanceTypeName, NodeClassName};
use dovetail_solver::model::requirement::Labels;
use dovetail_solver::model::resources::{Amount, ResourceName};

use super::node::Machine;
use crate::api::{self, Overhead};
use crate::cloud::catalog::ClassSettings;
use crate::cluster::diagnostics::{Note, Reason};
use crate::cluster::index::Index;

/// Settings of the node classes that can be used, by name; and why the others can't.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    /// Usable ones.
    pub settings: BTreeMap<String, ClassSettings>,
    /// The others, with the reason.
    pub unusable: BTreeMap<String, String>,
}

/// Reads all node classes.
#[must_use]
pub fn classes(index: &Index) -> (Classes, Vec<Note>) {
    let mut classes = Classes::default();
    let mut notes = Vec::new();
    for (name, stored) in index.node_classes() {
        if let Some(reason) = super::node_pool::class_not_ready(&stored.object) {
            classes.unusable.insert(name.name.to_string(), reason);
            continue;
        }
        match ClassSettings::of(&stored.object) {
            Ok(mut settings) => {
                settings.observed_memory = BTreeMap::new();
                classes.settings.insert(name.name.to_string(), settings);
            }
            Err(error) => {
                classes.unusable.insert(name.name.to_string(), error.what.clone());
                let note = Note::error(
                    Reason::Malformed,
                    format!("{}; its NodePools launch nothing", error.what),
                );
                let note = note.about(format_args!("EC2NodeClass {name}")).path(error.path);
                notes.push(note.at_known(stored.origin.as_ref()));
            }
        }
    }
    (classes, notes)
}

/// Memory of real nodes, by instance type: of initialised nodes whose claim is of this class and runs one of its images.
/// The lowest that was seen counts.
#[must_use]
pub fn observed_memory(
    class_name: &str,
    class: &api::EC2NodeClass,
    machines: &[Machine<'_>],
) -> BTreeMap<InstanceTypeName, Amount> {
    let images: BTreeSet<&str> = class
        .status
        .iter()
        .flat_map(|status| &status.amis)
        .map(|image| image.id.as_str())
        .collect();
    let mut seen: BTreeMap<InstanceTypeName, Amount> = BTreeMap::new();
    for machine in machines {
        let (Some((_, node)), Some((_, claim))) = (machine.node, machine.claim) else {
            continue;
        };
        let is_of_class = claim.spec.node_class_ref.name == class_name;
        let image = claim
            .status
            .as_ref()
            .and_then(|status| status.image_id.as_deref());
        let is_initialized = is_initialized(claim, &node.metadata.labels);
        if !is_of_class || !is_initialized || !image.is_some_and(|image| images.contains(image)) {
            continue;
        }
        let memory = node.status.capacity.offered().get(&ResourceName::Memory);
        let Some(instance_type) = node.metadata.labels.get(INSTANCE_TYPE_LABEL) else {
            continue;
        };
        if memory == Amount::ZERO {
            continue;
        }
        seen.entry(instance_type.as_str().into())
            .and_modify(|least| *least = memory.min(*least))
            .or_insert(memory);
    }
    seen
}

fn is_initialized(claim: &api::NodeClaim, labels: &Labels) -> bool {
    labels
        .get(api::labels::INITIALIZED)
        .is_some_and(|value| value == "true")
        || claim.status.as_ref().is_some_and(|status| {
            status
                .conditions
                .iter()
                .any(|condition| condition.type_ == "Initialized" && condition.status == "True")
        })
}

/// Name of a class in the snapshot: pools that trust memory differently see different instance types.
#[must_use]
pub fn snapshot_name(class: &str, overhead: Overhead) -> NodeClassName {
    match overhead {
        Overhead::Pessimistic => NodeClassName::from(class),
        Overhead::Optimistic => NodeClassName::from(format!("{class} (optimistic)")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::convert::node::machines;
    use crate::cluster::manifests::read_bytes;

    fn node(name: &str, memory: &str, image: &str, class: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{node.kubernetes.io/instance-type: m.large, karpenter.sh/initialized: 'true'}}}}\nspec: {{providerID: {name}}}\nstatus: {{capacity: {{memory: {memory}}}}}\n---\napiVersion: karpenter.sh/v1\nkind: NodeClaim\nmetadata: {{name: {name}}}\nspec: {{requirements: [], nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: {class}}}}}\nstatus: {{providerID: {name}, imageID: {image}}}\n---\n"
        )
    }

    #[test]
    fn the_least_memory_of_the_classes_own_images_counts() {
        let class = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: default}\nspec: {amiSelectorTerms: [{alias: al2023@latest}], role: r, subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}]}\nstatus: {amis: [{id: ami-1, requirements: []}]}\n---\n";
        let input = [
            class.to_owned(),
            node("n1", "100Mi", "ami-1", "default"),
            node("n2", "90Mi", "ami-1", "default"),
            node("n3", "10Mi", "ami-2", "default"),
            node("n4", "20Mi", "ami-1", "other"),
        ]
        .concat();
        let read = read_bytes("input", input.as_bytes(), &[]).unwrap();
        assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
        let class = &read.index.node_classes().values().next().unwrap().object;
        let seen = observed_memory("default", class, &machines(&read.index));
        assert_eq!(seen, BTreeMap::from([("m.large".into(), Amount::new(90 << 20))]));
    }
}
