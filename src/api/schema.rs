//! Pieces of schemas that the derives can't say, and the finishing of what they say otherwise than Kubernetes.
//!
//! Three steps make a definition: kube and schemars derive it from the types; attributes on the fields add bounds, patterns
//! and rules (a keyword set to `null` there takes away what the derive put in); [`finish`] cleans up.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::labels;

/// A label's key, or a taint's key or value: a name, with a domain in front or without.
pub(super) const QUALIFIED_NAME: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$";
/// A label's value; may be empty.
pub(super) const LABEL_VALUE: &str = "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$";
/// Hours, minutes and seconds in any order.
pub(super) const DURATION: &str = "^([0-9]+(s|m|h))+$";
/// The same, or never.
pub(super) const DURATION_OR_NEVER: &str = "^(([0-9]+(s|m|h))+|Never)$";
/// A duration in our own kinds, which also know fractions and milliseconds.
pub(super) const SPAN: &str = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$";
/// A share in our own kinds.
pub(super) const PERCENT: &str = r"^[0-9]+(\.[0-9]+)?%$";
/// Binds quantities that are texts only, so a number is always one.
const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// Amounts of resources by name.
pub(super) fn resources(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": {
            "pattern": QUANTITY,
            "x-kubernetes-int-or-string": true
        }
    })
}

/// The same, without those that every instance type has of its own.
pub(super) fn extended_resources(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = resources(generator);
    schema.insert(
        "x-kubernetes-validations".to_owned(),
        json!([{
            "rule": "self.all(name, !(name in ['cpu', 'memory', 'ephemeral-storage', 'pods']))",
            "message": "cpu, memory, ephemeral-storage and pods are the instance type's own"
        }]),
    );
    schema
}

/// Amounts that are none where nothing is said.
pub(super) fn headroom(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = resources(generator);
    schema.insert("default".to_owned(), json!({ "cpu": "0", "memory": "0" }));
    schema
}

/// Tags of a selector's term.
pub(super) fn selector_tags(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": { "type": "string" },
        "maxProperties": 20,
        "x-kubernetes-validations": [{
            "rule": "self.all(key, key != '' && self[key] != '')",
            "message": "neither key nor value of a tag is empty"
        }]
    })
}

/// An object of any shape.
pub(super) fn anything(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// Objects of any shape.
pub(super) fn any_objects(generator: &mut SchemaGenerator) -> Schema {
    let item = anything(generator);
    json_schema!({ "type": "array", "items": item })
}

/// Kubernetes' label selector.
pub(super) fn label_selector(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {
            "matchExpressions": {
                "description": "Conditions that all have to hold.",
                "type": "array",
                "maxItems": 100,
                "items": {
                    "type": "object",
                    "required": ["key", "operator"],
                    "properties": {
                        "key": { "description": "The label's key.", "type": "string", "minLength": 1 },
                        "operator": {
                            "description": "How the label is compared with the values.",
                            "type": "string",
                            "enum": ["In", "NotIn", "Exists", "DoesNotExist"]
                        },
                        "values": {
                            "description": "What it is compared with.",
                            "type": "array",
                            "items": { "type": "string" },
                            "x-kubernetes-list-type": "atomic"
                        }
                    }
                },
                "x-kubernetes-list-type": "atomic",
                "x-kubernetes-validations": [{
                    "rule": "self.all(x, (x.operator in ['In', 'NotIn']) == (has(x.values) && x.values.size() > 0))",
                    "message": "In and NotIn have values, Exists and DoesNotExist have none"
                }]
            },
            "matchLabels": {
                "description": "Labels that all have to be there.",
                "type": "object",
                "additionalProperties": { "type": "string" }
            }
        },
        "x-kubernetes-map-type": "atomic"
    })
}

/// A number that is not negative, or another thing that `other` describes.
///
/// A structural schema cannot say "this type or that", except for integers and texts. Keywords bind only values of their own
/// type, though: `minimum` numbers, `pattern` texts, `maxProperties` objects. So the type is left open, and every type that is not
/// wanted is closed by a keyword of its own.
fn number_or(other: Value) -> Schema {
    let mut schema = json_schema!({
        "x-kubernetes-preserve-unknown-fields": true,
        "minimum": 0,
        "maxItems": 0,
        "not": { "enum": [true, false, []] }
    });
    if let Value::Object(other) = other {
        schema.ensure_object().extend(other);
    }
    schema
}

/// Dollars per hour, or `auto`.
pub(super) fn node_hour(_: &mut SchemaGenerator) -> Schema {
    number_or(json!({
        "pattern": "^auto$",
        "maxProperties": 0,
        "not": { "enum": [true, false, [], {}] },
        "default": 0
    }))
}

/// Dollars per hour, or such a number by zone.
pub(super) fn zone_prices(_: &mut SchemaGenerator) -> Schema {
    // No text matches: a price is a number.
    number_or(json!({ "pattern": "a^" }))
}

/// What the parts of an EC2NodeClass have to do with each other.
pub(super) fn class_rules() -> Value {
    let mut rules = vec![
        json!({
            "rule": "has(self.amiFamily) || self.amiSelectorTerms.exists(term, has(term.alias))",
            "message": "'amiFamily' is needed where no term has an alias"
        }),
        json!({
            "rule": "has(self.role) != has(self.instanceProfile)",
            "message": "exactly one of 'role' and 'instanceProfile' is needed"
        }),
    ];
    // One rule a family: a rule over all of them would be as long as these together, and its message of no use.
    for (alias, family) in [
        ("al2", "AL2"),
        ("al2023", "AL2023"),
        ("bottlerocket", "Bottlerocket"),
        ("windows2019", "Windows2019"),
        ("windows2022", "Windows2022"),
        ("windows2025", "Windows2025"),
    ] {
        rules.push(json!({
            "rule": format!(
                "!has(self.amiFamily) || self.amiFamily in ['Custom', '{family}'] || \
                 !self.amiSelectorTerms.exists(term, has(term.alias) && term.alias.find('^[^@]+') == '{alias}')"
            ),
            "message": format!("with an alias of {alias}, 'amiFamily' is '{family}' or 'Custom'")
        }));
    }
    Value::Array(rules)
}

/// What network interfaces have to do with each other.
pub(super) fn interface_rules() -> Value {
    json!([
        {
            "rule": "self.size() == 0 || self.exists(x, x.networkCardIndex == 0 && x.deviceIndex == 0 && x.interfaceType == 'interface')",
            "message": "device 0 of card 0 is there, and is of type 'interface'"
        },
        {
            "rule": "self.all(x, self.filter(y, x.networkCardIndex == y.networkCardIndex && x.deviceIndex == y.deviceIndex).size() == 1)",
            "message": "no two interfaces have the same card and device"
        },
        {
            "rule": "self.all(x, x.interfaceType != 'efa-only' || self.filter(y, y.interfaceType == 'efa-only' && x.networkCardIndex == y.networkCardIndex).size() == 1)",
            "message": "a card has at most one interface of type 'efa-only'"
        }
    ])
}

/// Which rules a list of requirements follows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Requirements {
    Pool,
    Claim,
    Overlay,
}

/// What a list of requirements has to hold, whatever the keys.
pub(super) fn requirement_rules(of: Requirements) -> Value {
    let mut rules = vec![
        json!({
            "rule": "self.all(x, x.operator != 'In' || (has(x.values) && x.values.size() != 0))",
            "message": "operator 'In' needs values"
        }),
        json!({
            "rule": "self.all(x, !(x.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(x.values) && x.values.size() == 1 && int(x.values[0]) >= 0))",
            "message": "operators 'Gt', 'Lt', 'Gte' and 'Lte' need one number that is not negative"
        }),
    ];
    if of == Requirements::Overlay {
        rules.push(json!({
            "rule": "self.all(x, x.operator != 'NotIn' || (has(x.values) && x.values.size() != 0))",
            "message": "operator 'NotIn' needs values"
        }));
    } else {
        rules.push(json!({
            "rule": "self.all(x, x.operator != 'In' || !has(x.minValues) || (has(x.values) && x.values.size() >= x.minValues))",
            "message": "operator 'In' needs at least as many values as 'minValues' says"
        }));
    }
    Value::Array(rules)
}

/// Which keys a requirement may have.
pub(super) fn key_rules(of: Requirements) -> Value {
    let mut aws = labels::AWS_TYPE_LABELS.to_vec();
    if of != Requirements::Overlay {
        aws.extend(labels::AWS_PLACEMENT_LABELS);
    }
    let mut rules = domain_rules("self", &aws, |condition| condition);
    if of == Requirements::Pool {
        rules.push(json!({
            "rule": format!("self != '{}'", labels::NODE_POOL),
            "message": "a pool does not select itself"
        }));
    }
    Value::Array(rules)
}

/// Which keys a template's labels may have.
pub(super) fn label_rules() -> Value {
    let mut aws = labels::AWS_TYPE_LABELS.to_vec();
    aws.extend(labels::AWS_PLACEMENT_LABELS);
    let mut rules = domain_rules("key", &aws, |condition| format!("self.all(key, {condition})"));
    rules.push(json!({
        "rule": format!("self.all(key, key != '{}')", labels::NODE_POOL),
        "message": "the pool's own label is set by the controller"
    }));
    Value::Array(rules)
}

/// Keys of the two domains are listed; every other domain is free. A domain is told by its ending alone, so that
/// `notkarpenter.sh/x` is refused too: that is how these definitions have always read.
fn domain_rules(key: &str, aws: &[&str], over_all: impl Fn(String) -> String) -> Vec<Value> {
    let listed = |keys: &[&str]| format!("['{}']", keys.join("', '"));
    let domain = |domain: &str, keys: &[&str]| {
        over_all(format!(
            "{key} in {} || !{key}.find('^([^/]+)').endsWith('{domain}')",
            listed(keys)
        ))
    };
    vec![
        json!({
            "rule": domain(labels::KARPENTER_DOMAIN, &[labels::CAPACITY_TYPE, labels::NODE_POOL]),
            "message": "no other label of the domain 'karpenter.sh' can be used"
        }),
        json!({
            "rule": domain(labels::KARPENTER_AWS_DOMAIN, aws),
            "message": "no other label of the domain 'karpenter.k8s.aws' can be used"
        }),
        json!({
            "rule": over_all(format!("{key} != '{}'", labels::HOSTNAME)),
            "message": "'kubernetes.io/hostname' cannot be used"
        }),
    ]
}

/// The schema below `schema` at `path`: names of properties, `[]` for a list's items.
pub(super) fn at<'a>(schema: &'a mut Value, path: &[&str]) -> &'a mut Value {
    path.iter().fold(schema, |schema, &name| {
        if name == "[]" {
            &mut schema["items"]
        } else {
            &mut schema["properties"][name]
        }
    })
}

/// Sets keywords of a schema, or takes them away where the value is null.
pub(super) fn set(schema: &mut Value, keywords: Value) {
    let (Value::Object(schema), Value::Object(keywords)) = (schema, keywords) else {
        unreachable!("schemas and keywords are objects")
    };
    schema.extend(keywords);
}

/// Removes what the derives say otherwise than Kubernetes: `nullable` (which would store a null and suppress the
/// default), keywords that were set to null, `title`, formats of integers that Kubernetes doesn't know.
pub(super) fn finish(schema: &mut Value) {
    let Value::Object(keywords) = schema else { return };
    keywords.retain(|name, value| !matches!(name.as_str(), "nullable" | "title") && !value.is_null());
    for name in ["items", "additionalProperties"] {
        if let Some(inner) = keywords.get_mut(name) {
            finish(inner);
        }
    }
    if let Some(Value::Object(properties)) = keywords.get_mut("properties") {
        properties.values_mut().for_each(finish);
    }
}
