//! The documents of an input, as they stand.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

/// Label or annotation key to value.
pub(crate) type Labels = BTreeMap<String, String>;

/// All documents of an input, by kind.
pub(crate) struct Input {
    pub(crate) kinds: BTreeMap<String, Vec<Value>>,
    /// The instant that `--now` says.
    pub(crate) now: Option<jiff::Timestamp>,
}

impl Input {
    /// Of these documents.
    pub(crate) fn of(documents: Vec<Value>) -> Self {
        let mut kinds: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for document in documents {
            kinds
                .entry(text(&document, "/kind").to_owned())
                .or_default()
                .push(document);
        }
        Self { kinds, now: None }
    }

    /// The documents of a kind.
    pub(crate) fn kind(&self, kind: &str) -> std::slice::Iter<'_, Value> {
        self.kinds.get(kind).map_or(&[][..], Vec::as_slice).iter()
    }

    /// The document of a kind and a name, where the namespace needs no saying.
    pub(crate) fn named(&self, kind: &str, name: &str) -> Option<&Value> {
        self.kind(kind)
            .find(|document| text(document, "/metadata/name") == name)
    }

    /// Any field of any document, for edits such as `--set` makes.
    pub(crate) fn edit(&mut self, kind: &str, name: &str, pointer: &[String], value: &Value) {
        let document = self
            .kinds
            .values_mut()
            .flatten()
            .find(|document| {
                text(document, "/kind").eq_ignore_ascii_case(kind) && text(document, "/metadata/name") == name
            })
            .unwrap_or_else(|| panic!("--set names {kind}/{name}, which isn't there"));
        let mut place = document;
        for step in pointer {
            place = place
                .as_object_mut()
                .unwrap()
                .entry(step.clone())
                .or_insert_with(|| Value::Object(serde_json::Map::new()));
        }
        *place = value.clone();
    }
}

/// The documents of a file, which a line `---` separates; a `List` counts as its items.
pub(crate) fn documents(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut documents = Vec::new();
    for part in parts(&text) {
        let document: Value =
            serde_saphyr::from_str(&part).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        match document.get("items").and_then(Value::as_array) {
            Some(items) => documents.extend(items.iter().cloned()),
            None => documents.push(document),
        }
    }
    documents
}

/// The non-empty documents of a text, comments kept.
pub(crate) fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for line in text.lines() {
        if line == "---" {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push_str(line);
            part.push('\n');
        }
    }
    let says_something = |part: &String| {
        part.lines()
            .any(|line| !line.trim().is_empty() && !line.starts_with('#'))
    };
    parts.into_iter().filter(says_something).collect()
}

/// The text at a pointer; empty where there is none.
pub(crate) fn text<'a>(document: &'a Value, pointer: &str) -> &'a str {
    document.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}

/// The list at a pointer; empty where there is none.
pub(crate) fn list<'a>(document: &'a Value, pointer: &str) -> &'a [Value] {
    document
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Text to text at a pointer; empty where there is none.
pub(crate) fn labels(document: &Value, pointer: &str) -> Labels {
    let entries = document
        .pointer(pointer)
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    entries
        .map(|(key, value)| (key.clone(), value.as_str().unwrap_or("").to_owned()))
        .collect()
}

/// `namespace/name`, in `default` where none is given.
pub(crate) fn full_name(document: &Value) -> String {
    let namespace = match text(document, "/metadata/namespace") {
        "" => "default",
        namespace => namespace,
    };
    format!("{namespace}/{}", text(document, "/metadata/name"))
}

/// A number at a pointer.
pub(crate) fn number(document: &Value, pointer: &str) -> Option<f64> {
    document.pointer(pointer).and_then(Value::as_f64)
}
