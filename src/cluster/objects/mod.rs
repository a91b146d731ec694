//! Kubernetes objects as far as planning reads them, made from one JSON-like tree each.
//!
//! Promises: a value that makes no sense is refused with the path to it; of the custom resources, fields that the kind
//! doesn't know are named. Kinds whose rules aren't weighed yet are held as they are.

pub mod admission;
pub mod affinity;
pub mod kind;
pub mod meta;
pub mod node;
pub mod pod;
pub mod referred;
pub mod storage;
pub mod workload;

use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

use crate::api;
use admission::{LimitRange, PriorityClass, RuntimeClass};
pub use kind::Kind;
use meta::ObjectName;
use node::Node;
use pod::{Pod, WrittenPod};
use referred::Referred;
use workload::{DaemonSet, Job, PodTemplateObject, Replicated};

/// One object.
#[derive(Clone, Debug)]
pub enum Object {
    /// A pod.
    Pod(Box<Pod>),
    /// A node.
    Node(Box<Node>),
    /// A Deployment, ReplicaSet, ReplicationController or StatefulSet.
    Replicated(Kind, Box<Replicated>),
    /// A DaemonSet.
    DaemonSet(Box<DaemonSet>),
    /// A Job.
    Job(Box<Job>),
    /// A LimitRange.
    LimitRange(Box<LimitRange>),
    /// A PriorityClass.
    PriorityClass(Box<PriorityClass>),
    /// A RuntimeClass.
    RuntimeClass(Box<RuntimeClass>),
    /// A PodTemplate.
    PodTemplate(Box<PodTemplateObject>),
    /// A NodePool.
    NodePool(Box<api::NodePool>),
    /// A NodeClaim.
    NodeClaim(Box<api::NodeClaim>),
    /// An EC2NodeClass.
    NodeClass(Box<api::EC2NodeClass>),
    /// A PackingPolicy.
    PackingPolicy(Box<api::PackingPolicy>),
    /// A Catalog.
    Catalog(Box<api::Catalog>),
    /// An object that others refer to.
    Referred(Kind, Box<Referred>),
    /// A kind that no rule reads yet.
    Held(Kind, Box<Value>),
}

/// An object that was read, and the fields of it that its kind doesn't know.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// What it is.
    pub kind: Kind,
    /// Where it belongs.
    pub name: ObjectName,
    /// What it says.
    pub object: Object,
    /// Paths of unknown fields.
    pub unknown_fields: Vec<String>,
}

/// Why a tree is no object that can be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseError {
    /// No mapping with `apiVersion` and `kind`.
    #[error("expected a Kubernetes object with apiVersion and kind, found {found}")]
    NotAnObject {
        /// What is there.
        found: String,
    },
    /// A kind that planning doesn't read.
    #[error("{kind} isn't read by plan")]
    UnknownKind {
        /// `KIND` or `KIND.GROUP`.
        kind: String,
    },
    /// A value that makes no sense.
    #[error("{message}")]
    Malformed {
        /// Kind and name, as far as they are known.
        object: String,
        /// Where in the object.
        path: String,
        /// What is wrong, and what was expected.
        message: String,
    },
}

/// Reads one object.
///
/// # Errors
/// When the tree is no Kubernetes object, of a kind that planning doesn't read, or has a value that makes no sense.
pub fn parse(mut tree: Value) -> Result<Parsed, ParseError> {
    let (api_version, kind_name) = type_of(&tree)?;
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", &api_version));
    let Some(kind) = Kind::find(group, &kind_name) else {
        return Err(ParseError::UnknownKind {
            kind: qualified(&kind_name, group),
        });
    };
    let name = name_of(kind, &tree)?;
    let malformed = |path: &str, message: String| ParseError::Malformed {
        object: format!("{kind} {name}"),
        path: path.to_owned(),
        message,
    };
    if let Some(expected) = kind.version().filter(|expected| *expected != version) {
        return Err(malformed(
            "apiVersion",
            format!("version {version} of {kind} can't be read (expected {group}/{expected})"),
        ));
    }
    normalise_metadata(&mut tree, &name);
    let mut unknown_fields = Vec::new();
    let object =
        build(kind, tree, &mut unknown_fields).map_err(|(path, message)| malformed(&path, message))?;
    Ok(Parsed {
        kind,
        name,
        object,
        unknown_fields,
    })
}

/// Kind and name of a tree, where it is an object of a kind that planning reads.
#[must_use]
pub fn identify(tree: &Value) -> Option<(Kind, ObjectName)> {
    let (api_version, kind_name) = type_of(tree).ok()?;
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    let kind = Kind::find(group, &kind_name)?;
    Some((kind, name_of(kind, tree).ok()?))
}

fn build(kind: Kind, tree: Value, unknown: &mut Vec<String>) -> Result<Object, (String, String)> {
    Ok(match kind {
        Kind::Pod => Object::Pod(Box::new(read::<WrittenPod>(tree)?.into())),
        Kind::Node => Object::Node(read(tree)?),
        Kind::Deployment | Kind::ReplicaSet | Kind::ReplicationController | Kind::StatefulSet => {
            Object::Replicated(kind, read(tree)?)
        }
        Kind::DaemonSet => Object::DaemonSet(read(tree)?),
        Kind::Job => Object::Job(read(tree)?),
        Kind::LimitRange => Object::LimitRange(read(tree)?),
        Kind::PriorityClass => Object::PriorityClass(read(tree)?),
        Kind::RuntimeClass => Object::RuntimeClass(read(tree)?),
        Kind::PodTemplate => Object::PodTemplate(read(tree)?),
        Kind::NodePool => Object::NodePool(read_strictly(tree, unknown)?),
        Kind::NodeClaim => Object::NodeClaim(read_strictly(tree, unknown)?),
        Kind::EC2NodeClass => Object::NodeClass(read_strictly(tree, unknown)?),
        Kind::PackingPolicy => Object::PackingPolicy(read_strictly(tree, unknown)?),
        Kind::Catalog => Object::Catalog(read_strictly(tree, unknown)?),
        Kind::Namespace => referred(kind, Referred::Namespace(read(tree)?)),
        Kind::Service => referred(kind, Referred::Service(read(tree)?)),
        Kind::ProvisioningRequest => referred(kind, Referred::ProvisioningRequest(read(tree)?)),
        Kind::PersistentVolumeClaim => referred(kind, Referred::PersistentVolumeClaim(read(tree)?)),
        Kind::PersistentVolume => referred(kind, Referred::PersistentVolume(read(tree)?)),
        Kind::StorageClass => referred(kind, Referred::StorageClass(read(tree)?)),
        Kind::CSINode => referred(kind, Referred::CSINode(read(tree)?)),
        _ => Object::Held(kind, Box::new(tree)),
    })
}

fn referred(kind: Kind, object: Referred) -> Object {
    Object::Referred(kind, Box::new(object))
}

/// Reads the fields that planning knows and leaves the rest.
fn read<T: DeserializeOwned>(tree: Value) -> Result<T, (String, String)> {
    serde_path_to_error::deserialize(tree).map_err(|error| {
        (
            path_text(error.path()),
            in_plain_words(&error.into_inner().to_string()),
        )
    })
}

/// Reads a custom resource and names the fields that its kind doesn't know.
fn read_strictly<T: DeserializeOwned>(
    mut tree: Value,
    unknown: &mut Vec<String>,
) -> Result<Box<T>, (String, String)> {
    if let Value::Object(fields) = &mut tree {
        // The generated types have no fields for these two.
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(tree, &mut track);
    let mut note = |path: serde_ignored::Path<'_>| unknown.push(ignored_path(&path));
    let result = T::deserialize(serde_ignored::Deserializer::new(tracked, &mut note));
    result
        .map(Box::new)
        .map_err(|error| (path_text(&track.path()), in_plain_words(&error.to_string())))
}

/// The deserialiser's message in words for those who write manifests, not Rust.
fn in_plain_words(message: &str) -> String {
    // What is found may quote the input, so only what is expected is put in other words, and the type found.
    let found = [
        ("invalid type: sequence", "invalid type: list"),
        ("invalid type: map", "invalid type: mapping"),
        ("invalid type: null", "invalid type: nothing"),
    ];
    let found = found.iter().find_map(|(theirs, ours)| {
        let rest = message
            .strip_prefix(theirs)
            .filter(|rest| rest.starts_with(','))?;
        Some([ours, rest].concat())
    });
    let message = found.unwrap_or_else(|| message.to_owned());
    let Some((head, expected)) = message.rsplit_once(", expected ") else {
        return message;
    };
    let expected = match expected {
        "a sequence" => "a list",
        "a map" => "a mapping",
        "a string" => "a text",
        "i32" | "u32" => "a whole number of 32 bits",
        "i64" | "u64" => "a whole number",
        "a boolean" => "true or false",
        other if other.starts_with("struct ") => "a mapping",
        _ => return message,
    };
    format!("{head}, expected {expected}")
}

fn path_text(path: &serde_path_to_error::Path) -> String {
    let text = path.to_string();
    // `.` stands for the object itself, `?` for an optional value on the way.
    if text == "." {
        String::new()
    } else {
        text.replace(".?", "")
    }
}

/// The path to a field that was ignored, written as the other paths are.
fn ignored_path(path: &serde_ignored::Path<'_>) -> String {
    use serde_ignored::Path;
    match path {
        Path::Root => String::new(),
        Path::Seq { parent, index } => format!("{}[{index}]", ignored_path(parent)),
        Path::Map { parent, key } => {
            let parent = ignored_path(parent);
            if parent.is_empty() {
                key.clone()
            } else {
                format!("{parent}.{key}")
            }
        }
        Path::Some { parent } | Path::NewtypeStruct { parent } | Path::NewtypeVariant { parent } => {
            ignored_path(parent)
        }
    }
}

fn type_of(tree: &Value) -> Result<(String, String), ParseError> {
    let field = |name: &str| {
        tree.get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    match (field("apiVersion"), field("kind")) {
        (Some(api_version), Some(kind)) => Ok((api_version.to_owned(), kind.to_owned())),
        _ => Err(ParseError::NotAnObject {
            found: describe(tree),
        }),
    }
}

fn qualified(kind: &str, group: &str) -> String {
    let kind: String = kind.chars().take(80).collect();
    if group.is_empty() {
        kind
    } else {
        let group: String = group.chars().take(120).collect();
        format!("{kind}.{group}")
    }
}

/// What a tree is, in a few words.
fn describe(tree: &Value) -> String {
    match tree {
        Value::Null => "nothing".to_owned(),
        Value::Bool(_) => "a truth value".to_owned(),
        Value::Number(_) => "a number".to_owned(),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(fields) => {
            let keys: Vec<String> = fields
                .keys()
                .take(4)
                .map(|key| key.chars().take(40).collect())
                .collect();
            format!("a mapping with the keys [{}]", keys.join(", "))
        }
    }
}

fn name_of(kind: Kind, tree: &Value) -> Result<ObjectName, ParseError> {
    let text = |field: &str| {
        tree.pointer(&format!("/metadata/{field}"))
            .and_then(Value::as_str)
            .unwrap_or("")
    };
    let name = text("name");
    if name.is_empty() {
        let found = match tree.pointer("/metadata/name") {
            None | Some(Value::Null | Value::String(_)) => "none".to_owned(),
            Some(other) => describe(other),
        };
        return Err(ParseError::Malformed {
            object: kind.to_string(),
            path: "metadata.name".to_owned(),
            message: format!("expected a name, found {found}"),
        });
    }
    let namespace = match (kind.is_namespaced(), text("namespace")) {
        (false, _) => "",
        (true, "") => "default",
        (true, namespace) => namespace,
    };
    // '/' separates namespace and name in every output.
    if let Some(field) = [("name", name), ("namespace", namespace)]
        .iter()
        .find(|(_, text)| !is_name(text))
    {
        return Err(ParseError::Malformed {
            object: kind.to_string(),
            path: format!("metadata.{}", field.0),
            message: format!(
                "expected a Kubernetes name, found \"{}\"",
                field.1.chars().take(80).collect::<String>()
            ),
        });
    }
    Ok(ObjectName::new(namespace, name))
}

/// What no API server stores: slashes, blanks, control characters, endless names.
fn is_name(text: &str) -> bool {
    text.len() <= 253 && !text.contains(|c: char| c == '/' || c == '%' || c.is_whitespace() || c.is_control())
}

/// Puts the namespace where the types read it from, and takes away what nobody reads.
fn normalise_metadata(tree: &mut Value, name: &ObjectName) {
    if let Some(Value::Object(metadata)) = tree.get_mut("metadata") {
        metadata.remove("managedFields");
        if name.namespace.is_empty() {
            metadata.remove("namespace");
        } else {
            metadata.insert("namespace".to_owned(), Value::String(name.namespace.to_string()));
        }
    }
}

impl Object {
    /// Whether both say the same.
    #[must_use]
    pub fn says_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Pod(one), Self::Pod(two)) => one == two,
            (Self::Node(one), Self::Node(two)) => one == two,
            (Self::Replicated(_, one), Self::Replicated(_, two)) => one == two,
            (Self::DaemonSet(one), Self::DaemonSet(two)) => one == two,
            (Self::Job(one), Self::Job(two)) => one == two,
            (Self::LimitRange(one), Self::LimitRange(two)) => one == two,
            (Self::PriorityClass(one), Self::PriorityClass(two)) => one == two,
            (Self::RuntimeClass(one), Self::RuntimeClass(two)) => one == two,
            (Self::PodTemplate(one), Self::PodTemplate(two)) => one == two,
            (Self::NodePool(one), Self::NodePool(two)) => {
                one.metadata == two.metadata && one.spec == two.spec && one.status == two.status
            }
            (Self::NodeClaim(one), Self::NodeClaim(two)) => {
                one.metadata == two.metadata && one.spec == two.spec && one.status == two.status
            }
            (Self::NodeClass(one), Self::NodeClass(two)) => {
                one.metadata == two.metadata && one.spec == two.spec && one.status == two.status
            }
            (Self::PackingPolicy(one), Self::PackingPolicy(two)) => {
                one.metadata == two.metadata && one.spec == two.spec && one.status == two.status
            }
            (Self::Catalog(one), Self::Catalog(two)) => one.metadata == two.metadata && one.spec == two.spec,
            (Self::Referred(_, one), Self::Referred(_, two)) => one == two,
            (Self::Held(_, one), Self::Held(_, two)) => one == two,
            _ => false,
        }
    }
}
