//! What a field that is missing, or written as `null`, means when a resource is read from text.
//!
//! The API server drops a `null` or puts the default in its place, on every kind; reading a file must do the same, or a
//! manifest with an empty `limits:` would be refused here and accepted there.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

/// Reads a value; `null` is the type's own default.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads a value; `null` is what `default` gives.
pub(super) fn or<'de, D, T>(deserializer: D, default: fn() -> T) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_else(default))
}

/// Reads a truth value; `null` is true.
pub(super) fn or_true<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    or(deserializer, || true)
}

/// Reads a map; an entry that is `null` isn't there.
pub(super) fn entries<'de, D, T>(deserializer: D) -> Result<BTreeMap<String, T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let entries: Option<BTreeMap<String, Option<T>>> = Option::deserialize(deserializer)?;
    Ok(entries
        .unwrap_or_default()
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect())
}
