//! Documents as trees: one tree an object, the items of a list one by one.
//!
//! Promises: of a list of a hundred thousand pods one tree exists at a time, whether it is written in YAML or JSON; the
//! bulky `managedFields` are never kept; nesting, aliases and repetition are bounded.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Takes one object and its number in its list, from 1 (0: it is no item).
pub(super) type Sink<'s> = dyn FnMut(Value, u32) + 's;

/// Why a document can't be read: the message, and the line inside it (from 1) where that is known.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub(super) message: String,
    pub(super) line: Option<u32>,
}

/// Nesting of the deepest document that is read: workloads need about 20, and a debug build on a small stack must hold it.
const DEEPEST: usize = 64;
/// Items that may wait for their list's kind: all of them are in memory until it comes.
const MOST_WAITING: usize = 10_000;
/// Aliases may stand for so many values in a document: enough for hand-written templates, too few for an alias bomb.
const MOST_REPEATED: usize = 100_000;

/// Reads a document, YAML or (several values of) JSON, and hands out its objects.
///
/// # Errors
/// When it is neither. What was handed out before the error stays.
pub(super) fn read_document(text: &str, sink: &mut Sink<'_>) -> Result<(), SyntaxError> {
    let body = text
        .strip_prefix("---")
        .or_else(|| text.strip_prefix("..."))
        .unwrap_or(text);
    if body.trim_start().starts_with(['{', '[']) {
        let mut handed_out = false;
        let mut counting = |tree: Value, item: u32| {
            handed_out = true;
            sink(tree, item);
        };
        let skipped = text.len() - body.len();
        match read_json(body, &mut counting) {
            Ok(()) => return Ok(()),
            Err(error) if handed_out => return Err(error),
            // Flow-style YAML looks like JSON at first. If it is neither, JSON's message is the better one.
            Err(error) => return read_yaml(&text[skipped..], sink).map_err(|_| error),
        }
    }
    // `...` ends a document and starts nothing.
    read_yaml(text.strip_prefix("...").unwrap_or(text), sink)
}

fn read_json(text: &str, sink: &mut Sink<'_>) -> Result<(), SyntaxError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // `end` says whether another value follows and takes nothing but white space.
    while deserializer.end().is_err() {
        DocumentSeed { sink: &mut *sink }
            .deserialize(&mut deserializer)
            .map_err(|error| SyntaxError {
                line: u32::try_from(error.line()).ok().filter(|line| *line != 0),
                message: without_place(&error.to_string()),
            })?;
    }
    Ok(())
}

fn read_yaml(text: &str, sink: &mut Sink<'_>) -> Result<(), SyntaxError> {
    let budget = serde_saphyr::budget! {
        // A large file is no attack: what grows with the input is bounded by its size already.
        max_events: usize::MAX,
        max_nodes: usize::MAX,
        max_total_scalar_bytes: usize::MAX,
        max_depth: DEEPEST,
        // Repetition is bounded by `alias_limits`; the ratio would refuse honest templates.
        enforce_alias_anchor_ratio: false,
        // What stands under anchors is copied for every anchor that is open, aliases in it included.
        max_recorded_anchor_events: MOST_REPEATED,
        max_recorded_anchor_bytes: 16 << 20,
    };
    let options = serde_saphyr::options! {
        budget: budget,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MOST_REPEATED },
        with_snippet: false,
        // YAML 1.2: a pod may be called `n` or `no`; who means a truth value writes true or false.
        strict_booleans: true,
    };
    serde_saphyr::with_deserializer_from_str_with_options(text, options, |deserializer| {
        DocumentSeed { sink }.deserialize(deserializer)
    })
    .map_err(|error| SyntaxError {
        line: error
            .location()
            .and_then(|location| u32::try_from(location.line()).ok())
            .filter(|line| *line != 0),
        message: without_place(&error.to_string()),
    })
}

/// Both readers end their messages with a place that counts from the document's start; the caller knows better. And
/// some of them speak of the readers' own options and limits, which say nothing to whoever wrote the document.
fn without_place(message: &str) -> String {
    let in_our_words = [
        ("budget breached: Depth", "it is nested too deeply"),
        ("recursion limit exceeded", "it is nested too deeply"),
        ("budget breached: Anchors", "it has too many anchors"),
        (
            "budget breached: RecordedAnchor",
            "too much stands under its anchors",
        ),
        (
            "budget breached",
            "it is larger or more repetitive than any manifest",
        ),
        (
            "recursive references",
            "an alias stands inside of what it repeats",
        ),
        ("non-finite float", "a number that isn't finite"),
    ];
    if let Some((_, ours)) = in_our_words
        .iter()
        .find(|(theirs, _)| message.starts_with(theirs))
    {
        return (*ours).to_owned();
    }
    let message = message.rfind(" at line ").map_or(message, |at| &message[..at]);
    let message = message.split_once(": line ").map_or(message, |(head, _)| head);
    let message = message
        .split_once(", set DuplicateKeyPolicy")
        .map_or(message, |(head, _)| head);
    message.chars().take(300).collect()
}

/// A document: an object, a list of objects under a kind that ends in `List`, or a bare list of objects.
struct DocumentSeed<'a, 's> {
    sink: &'a mut Sink<'s>,
}

impl<'de> DeserializeSeed<'de> for DocumentSeed<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DocumentSeed<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Kubernetes object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut fields = Map::new();
        let mut items = Items::default();
        while let Some(key) = map.next_key_seed(KeySeed)? {
            let kind = fields.get("kind").and_then(Value::as_str);
            if key == "items" && kind.is_none_or(|kind| kind.ends_with("List")) {
                items.of = item_type(&fields);
                let seed = ItemsSeed {
                    items: &mut items,
                    sink: &mut *self.sink,
                };
                if let Some(other) = map.next_value_seed(seed)? {
                    fields.insert(key, other);
                }
            } else if key == "metadata" {
                fields.insert(key, map.next_value_seed(TreeSeed { is_metadata: true })?);
            } else {
                fields.insert(key, map.next_value_seed(TreeSeed { is_metadata: false })?);
            }
        }
        if items.seen {
            items.of = item_type(&fields);
            for (mut tree, item) in std::mem::take(&mut items.waiting) {
                items.complete(&mut tree);
                (self.sink)(tree, item);
            }
        } else {
            (self.sink)(Value::Object(fields), 0);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut item = 0_u32;
        while let Some(tree) = seq.next_element_seed(TreeSeed { is_metadata: false })? {
            item = item.saturating_add(1);
            (self.sink)(tree, item);
        }
        Ok(())
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_none<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<(), E> {
        (self.sink)(Value::Bool(value), 0);
        Ok(())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<(), E> {
        (self.sink)(value.into(), 0);
        Ok(())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<(), E> {
        (self.sink)(value.into(), 0);
        Ok(())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<(), E> {
        (self.sink)(value.into(), 0);
        Ok(())
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<(), E> {
        (self.sink)(Value::String(value.to_owned()), 0);
        Ok(())
    }
}

/// Items of a list on their way.
#[derive(Default)]
struct Items {
    /// There was a list.
    seen: bool,
    /// What an item without `apiVersion` and `kind` is (as in an API server's own `PodList`), once that is known.
    of: Option<(String, String)>,
    /// Items that can't be told apart before the list's kind is known.
    waiting: Vec<(Value, u32)>,
}

impl Items {
    fn complete(&self, tree: &mut Value) {
        if let (Some((api_version, kind)), Value::Object(fields)) = (&self.of, tree)
            && !fields.contains_key("kind")
        {
            fields.insert("apiVersion".to_owned(), Value::String(api_version.clone()));
            fields.insert("kind".to_owned(), Value::String(kind.clone()));
        }
    }
}

/// `PodList` of `v1` holds `Pod`s of `v1`; a bare `List` says nothing of its items.
fn item_type(fields: &Map<String, Value>) -> Option<(String, String)> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let kind = text("kind")?
        .strip_suffix("List")
        .filter(|kind| !kind.is_empty())?;
    Some((text("apiVersion")?.to_owned(), kind.to_owned()))
}

/// The value of `items`: hands out its elements, or gives back what is no list.
struct ItemsSeed<'a, 's> {
    items: &'a mut Items,
    sink: &'a mut Sink<'s>,
}

impl<'de> DeserializeSeed<'de> for ItemsSeed<'_, '_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<Value>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ItemsSeed<'_, '_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of Kubernetes objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Option<Value>, A::Error> {
        self.items.seen = true;
        let mut item = 0_u32;
        while let Some(mut tree) = seq.next_element_seed(TreeSeed { is_metadata: false })? {
            item = item.saturating_add(1);
            self.items.complete(&mut tree);
            if self.items.of.is_none() && tree.get("kind").is_none() && tree.is_object() {
                if self.items.waiting.len() == MOST_WAITING {
                    return Err(de::Error::custom(format_args!(
                        "the kind of a list of more than {MOST_WAITING} items that don't state their own must stand before them"
                    )));
                }
                self.items.waiting.push((tree, item));
            } else {
                (self.sink)(tree, item);
            }
        }
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Option<Value>, A::Error> {
        TreeSeed { is_metadata: false }.visit_map(map).map(Some)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Option<Value>, E> {
        self.items.seen = true;
        Ok(None)
    }

    fn visit_none<E: de::Error>(self) -> Result<Option<Value>, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<Value>, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Option<Value>, E> {
        Ok(Some(Value::String(value.to_owned())))
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Option<Value>, E> {
        Ok(Some(Value::Bool(value)))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Option<Value>, E> {
        Ok(Some(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Option<Value>, E> {
        Ok(Some(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Option<Value>, E> {
        Ok(Some(value.into()))
    }
}

/// A key as text: YAML's numbers and truth values become what they look like, as kubectl does it.
struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for KeySeed {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<String, E> {
        Ok(key.to_owned())
    }

    fn visit_string<E: de::Error>(self, key: String) -> Result<String, E> {
        Ok(key)
    }

    fn visit_bool<E: de::Error>(self, key: bool) -> Result<String, E> {
        Ok(key.to_string())
    }

    fn visit_i64<E: de::Error>(self, key: i64) -> Result<String, E> {
        Ok(key.to_string())
    }

    fn visit_u64<E: de::Error>(self, key: u64) -> Result<String, E> {
        Ok(key.to_string())
    }

    fn visit_f64<E: de::Error>(self, key: f64) -> Result<String, E> {
        Ok(key.to_string())
    }
}

/// Any value as a tree.
struct TreeSeed {
    /// Whether it is an object's metadata, whose `managedFields` nobody reads.
    is_metadata: bool,
}

impl<'de> DeserializeSeed<'de> for TreeSeed {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TreeSeed {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = map.next_key_seed(KeySeed)? {
            if self.is_metadata && key == "managedFields" {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let is_metadata = key == "metadata";
            let value = map.next_value_seed(TreeSeed { is_metadata })?;
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(TreeSeed { is_metadata: false })? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: de::Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }
}

/// Reads one YAML value, as on a command line.
///
/// # Errors
/// The parser's message.
pub(in crate::cluster) fn read_value(text: &str) -> Result<Value, String> {
    let budget = serde_saphyr::budget! { max_depth: DEEPEST };
    let options = serde_saphyr::options! { budget: budget, with_snippet: false, strict_booleans: true };
    serde_saphyr::with_deserializer_from_str_with_options(text, options, |deserializer| {
        TreeSeed { is_metadata: false }.deserialize(deserializer)
    })
    .map_err(|error| without_place(&error.to_string()))
}
