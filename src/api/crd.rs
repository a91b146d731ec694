//! The definitions that an API server is given, and their text.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::{Value, json};

use super::schema::{self, Requirements, at, set};
use super::{CapacityBuffer, Catalog, EC2NodeClass, NodeClaim, NodeOverlay, NodePool, PackingPolicy, Replay};

/// Every definition, in the order in which they are printed.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    vec![
        finished(NodePool::crd(), node_pool),
        finished(NodeClaim::crd(), node_claim),
        finished(NodeOverlay::crd(), node_overlay),
        finished(EC2NodeClass::crd(), ec2_node_class),
        finished(CapacityBuffer::crd(), conditions_by_type),
        finished(PackingPolicy::crd(), conditions_by_type),
        finished(Catalog::crd(), |_| {}),
        finished(Replay::crd(), |_| {}),
    ]
}

/// Applies a kind's own changes to what was derived for it.
fn finished(mut definition: CustomResourceDefinition, change: fn(&mut Value)) -> CustomResourceDefinition {
    for version in &mut definition.spec.versions {
        let Some(schema) = version
            .schema
            .as_mut()
            .and_then(|schema| schema.open_api_v3_schema.as_mut())
        else {
            continue;
        };
        let mut value = serde_json::to_value(&*schema).expect("a schema is plain data");
        change(&mut value);
        schema::finish(&mut value);
        *schema = serde_json::from_value(value).expect("changes leave a schema a schema");
    }
    let names = &mut definition.spec.names;
    names.list_kind = Some(format!("{}List", names.kind));
    definition
}

fn node_pool(root: &mut Value) {
    set(at(root, &["status", "nodes"]), json!({ "default": 0 }));
    let template = at(root, &["spec", "template"]);
    set(
        at(template, &["metadata", "labels"]),
        json!({
            "maxProperties": 100,
            // Whoever applies labels owns all of them; annotations are owned one by one.
            "x-kubernetes-map-type": "atomic",
            "x-kubernetes-validations": schema::label_rules()
        }),
    );
    at(template, &["metadata", "labels"])["additionalProperties"] =
        json!({ "type": "string", "maxLength": 63, "pattern": schema::LABEL_VALUE });
    class_reference(at(template, &["spec", "nodeClassRef"]));
    // Another class is drift; another kind of class is another provider.
    set(
        at(template, &["spec", "nodeClassRef"]),
        json!({ "x-kubernetes-validations": [
            { "rule": "self.group == oldSelf.group", "message": "the group of a pool's class cannot change" },
            { "rule": "self.kind == oldSelf.kind", "message": "the kind of a pool's class cannot change" }
        ]}),
    );
    requirements(at(template, &["spec", "requirements"]), Requirements::Pool);
    conditions_by_type(root);
}

fn node_claim(root: &mut Value) {
    class_reference(at(root, &["spec", "nodeClassRef"]));
    requirements(at(root, &["spec", "requirements"]), Requirements::Claim);
    conditions_by_type(root);
    let condition = at(root, &["status", "conditions", "[]"]);
    set(
        condition,
        json!({ "required": ["lastTransitionTime", "status", "type"] }),
    );
    set(
        at(condition, &["reason"]),
        json!({
            "minLength": null,
            "pattern": "^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?|)$"
        }),
    );
}

fn node_overlay(root: &mut Value) {
    requirements(at(root, &["spec", "requirements"]), Requirements::Overlay);
    conditions_by_type(root);
}

fn ec2_node_class(root: &mut Value) {
    set(root, json!({ "required": null }));
}

fn requirements(list: &mut Value, of: Requirements) {
    set(
        list,
        json!({ "x-kubernetes-validations": schema::requirement_rules(of) }),
    );
    set(
        at(list, &["[]", "key"]),
        json!({ "x-kubernetes-validations": schema::key_rules(of) }),
    );
}

/// A group is named without its version, which is the usual mistake.
fn class_reference(reference: &mut Value) {
    set(
        at(reference, &["group"]),
        json!({ "pattern": "^[^/]*$", "minLength": 1 }),
    );
}

/// Two writers of conditions then don't undo each other's.
fn conditions_by_type(root: &mut Value) {
    set(
        at(root, &["status", "conditions"]),
        json!({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] }),
    );
}

/// The file that holds a definition in `deploy/crds/`: its group, then its plural.
pub fn file_name(definition: &CustomResourceDefinition) -> String {
    format!("{}_{}.yaml", definition.spec.group, definition.spec.names.plural)
}

/// The text of a definition, as `deploy/crds/` holds it.
pub fn to_yaml(definition: &CustomResourceDefinition) -> Result<String, serde_saphyr::ser::Error> {
    serde_saphyr::to_string(definition)
}
