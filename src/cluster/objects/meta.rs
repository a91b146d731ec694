//! What all objects have in common: metadata, conditions, amounts, instants; and how a `null` is read.
//!
//! Only the fields that planning reads. A `null` means the same as a missing field, as on the API server.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use dovetail_solver::model::quantity::{Quantity, Rounding};
use dovetail_solver::model::requirement::Labels;
use dovetail_solver::model::resources::{Amount, ResourceName, Resources};
use dovetail_solver::model::time::Timestamp;
use serde::de::{self, Deserialize, Deserializer, Visitor};

/// Reads a value; `null` is the type's default.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Metadata of an object, as far as planning reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// Its name; empty only inside templates.
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    /// Its namespace; empty where it has none.
    #[serde(default, deserialize_with = "or_default")]
    pub namespace: String,
    /// Set by the API server: whoever has one went through admission.
    #[serde(default)]
    pub uid: Option<String>,
    /// Its labels.
    #[serde(default, deserialize_with = "or_default")]
    pub labels: Labels,
    /// Its annotations.
    #[serde(default, deserialize_with = "or_default")]
    pub annotations: Labels,
    /// Who owns it.
    #[serde(default, deserialize_with = "or_default")]
    pub owner_references: Vec<OwnerReference>,
    /// When it was created.
    #[serde(default)]
    pub creation_timestamp: Option<Instant>,
    /// Since when it is being deleted.
    #[serde(default)]
    pub deletion_timestamp: Option<Instant>,
}

impl Metadata {
    /// The owner that controls it; where none says so, the first.
    #[must_use]
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references
            .iter()
            .find(|owner| owner.controller)
            .or_else(|| self.owner_references.first())
    }
}

/// One owner of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
pub struct OwnerReference {
    /// Its kind.
    pub kind: String,
    /// Its name, in the same namespace (or in none).
    pub name: String,
    /// Whether it is the one that controls.
    #[serde(default, deserialize_with = "or_default")]
    pub controller: bool,
}

/// One condition of a status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Deserialize)]
pub struct Condition {
    /// Which.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    #[serde(default, deserialize_with = "or_default")]
    pub status: String,
    /// Why, in one word.
    #[serde(default, deserialize_with = "or_default")]
    pub reason: String,
}

/// The status of a condition, where it is there.
#[must_use]
pub fn condition<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.kind == kind)
}

/// An instant, written as RFC 3339.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub Timestamp);

impl<'de> Deserialize<'de> for Instant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Instant;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time such as 2026-01-07T09:00:00Z")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Instant, E> {
                text.parse::<jiff::Timestamp>()
                    .map(|instant| Instant(Timestamp(instant.as_second())))
                    .map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// Amounts of resources as written, exact; shared, since most objects repeat the same few.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amounts(BTreeMap<ResourceName, Quantity>);

impl Amounts {
    /// What pods ask for: rounded up.
    #[must_use]
    pub fn requested(&self) -> Resources {
        self.rounded(Rounding::Up)
    }

    /// What nodes offer: rounded down.
    #[must_use]
    pub fn offered(&self) -> Resources {
        self.rounded(Rounding::Down)
    }

    fn rounded(&self, rounding: Rounding) -> Resources {
        self.0
            .iter()
            .map(|(name, quantity)| {
                let amount = Amount::from_quantity(name, *quantity, rounding)
                    .expect("an amount that doesn't fit its base unit was refused when it was read");
                (name.clone(), amount)
            })
            .collect()
    }

    /// By resource.
    pub fn iter(&self) -> impl Iterator<Item = (&ResourceName, Quantity)> {
        self.0.iter().map(|(name, quantity)| (name, *quantity))
    }

    /// Adds what `other` names and this doesn't.
    pub fn fill_from(&mut self, other: &Self) {
        for (name, quantity) in &other.0 {
            self.0.entry(name.clone()).or_insert(*quantity);
        }
    }

    /// One resource of it alone.
    #[must_use]
    pub fn only(&self, name: &ResourceName) -> Self {
        Self(
            self.0
                .get_key_value(name)
                .map(|(name, quantity)| (name.clone(), *quantity))
                .into_iter()
                .collect(),
        )
    }

    /// Nothing named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a resource is named.
    #[must_use]
    pub fn contains(&self, name: &ResourceName) -> bool {
        self.0.contains_key(name)
    }
}

impl<'de> Deserialize<'de> for Amounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written =
            Option::<BTreeMap<String, WrittenQuantity>>::deserialize(deserializer)?.unwrap_or_default();
        let mut amounts = BTreeMap::new();
        for (name, WrittenQuantity(quantity)) in written {
            let name = ResourceName::from(name);
            // Refuses what is negative or doesn't fit, here where the path is known. Rounding down can't overflow
            // where rounding up doesn't.
            Amount::from_quantity(&name, quantity, Rounding::Up)
                .map_err(|error| de::Error::custom(format_args!("{name}: {error}")))?;
            amounts.insert(name, quantity);
        }
        Ok(Self(amounts))
    }
}

/// A quantity as written: a text or a number.
struct WrittenQuantity(Quantity);

impl<'de> Deserialize<'de> for WrittenQuantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl Visitor<'_> for Written {
            type Value = WrittenQuantity;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity such as 500m, 2 or 4Gi")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<WrittenQuantity, E> {
                text.parse().map(WrittenQuantity).map_err(E::custom)
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<WrittenQuantity, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<WrittenQuantity, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<WrittenQuantity, E> {
                self.visit_str(&number.to_string())
            }
        }
        deserializer.deserialize_any(Written)
    }
}

/// Namespace and name of an object; the namespace is empty for kinds that have none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName {
    /// Its namespace. Shared by all objects there.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

impl ObjectName {
    /// From its two parts.
    #[must_use]
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: Arc::from(namespace),
            name: Arc::from(name),
        }
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn quantities_are_texts_or_numbers() {
        let amounts: Amounts =
            serde_json::from_value(json!({"cpu": 0.25, "memory": "1Gi", "pods": 29, "x/y": 1})).unwrap();
        assert_eq!(
            amounts.offered().to_string(),
            "cpu 250m, memory 1Gi, pods 29, x/y 1"
        );
        for wrong in [
            json!({"cpu": "-1"}),
            json!({"memory": "8Ei"}),
            json!({"cpu": true}),
            json!({"cpu": "1e16"}),
        ] {
            assert!(
                serde_json::from_value::<Amounts>(wrong.clone()).is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn null_is_missing() {
        let metadata: Metadata =
            serde_json::from_value(json!({"name": "a", "labels": null, "creationTimestamp": null})).unwrap();
        assert!(metadata.labels.is_empty() && metadata.creation_timestamp.is_none());
        assert!(serde_json::from_value::<Metadata>(json!({"creationTimestamp": "yesterday"})).is_err());
    }
}
