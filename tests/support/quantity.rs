//! Kubernetes quantities, read anew: thousandths of the unit, rounded up.

use std::collections::BTreeMap;

use serde_json::Value;

/// Resource name to thousandths.
pub(crate) type Amounts = BTreeMap<String, i128>;

/// A quantity in thousandths.
///
/// # Panics
/// On text that is no quantity: scenarios hold none.
pub(crate) fn thousandths(value: &Value) -> i128 {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let end = text
        .find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '-' | '+'))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: i128 = format!("{whole}{fraction}")
        .parse()
        .unwrap_or_else(|_| panic!("{text:?} is no quantity"));
    let (multiplier, divisor) = scale(suffix).unwrap_or_else(|| panic!("{text:?} has no known unit"));
    let divisor = divisor * 10_i128.pow(u32::try_from(fraction.len()).unwrap());
    (digits * multiplier * 1000 + divisor - 1).div_euclid(divisor)
}

/// What a suffix multiplies and divides by.
fn scale(suffix: &str) -> Option<(i128, i128)> {
    let power = |letter: char| u32::try_from("kMGTPE".find(letter)?).ok();
    let mut letters = suffix.chars();
    match (letters.next(), letters.as_str()) {
        (None, _) => Some((1, 1)),
        (Some('n'), "") => Some((1, 1_000_000_000)),
        (Some('u'), "") => Some((1, 1_000_000)),
        (Some('m'), "") => Some((1, 1000)),
        (Some('K'), "i") => Some((1024, 1)),
        (Some(letter), "i") => Some((1024_i128.pow(power(letter)? + 1), 1)),
        (Some('k'), "") => Some((1000, 1)),
        (Some(letter), "") => Some((1000_i128.pow(power(letter)? + 1), 1)),
        (Some('e' | 'E'), exponent) => Some((10_i128.pow(exponent.parse().ok()?), 1)),
        _ => None,
    }
}

/// A map of quantities.
pub(crate) fn amounts(value: &Value) -> Amounts {
    let entries = value.as_object().into_iter().flatten();
    entries
        .map(|(name, value)| (name.clone(), thousandths(value)))
        .collect()
}

/// Adds all of `more`.
pub(crate) fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        *sum.entry(name.clone()).or_default() += amount;
    }
}

/// The larger of both, by resource.
pub(crate) fn larger(one: &Amounts, other: &Amounts) -> Amounts {
    let mut result = one.clone();
    for (name, amount) in other {
        let entry = result.entry(name.clone()).or_default();
        *entry = (*entry).max(*amount);
    }
    result
}

/// The first resource of which more is wanted than there is, as a sentence.
pub(crate) fn lacking(wanted: &Amounts, available: &Amounts) -> Option<String> {
    wanted.iter().find_map(|(name, amount)| {
        let there = available.get(name).copied().unwrap_or_default();
        (*amount > there && *amount > 0).then(|| format!("{name}: {amount} of {there} thousandths"))
    })
}

#[test]
fn quantities_are_read_in_every_notation() {
    for (text, expected) in [
        ("100m", 100),
        ("2", 2000),
        ("1.5", 1500),
        ("1Ki", 1_024_000),
        ("1k", 1_000_000),
        ("2Gi", 2_147_483_648_000),
        ("1.5M", 1_500_000_000),
        ("1e3", 1_000_000),
        ("1u", 1),
    ] {
        assert_eq!(thousandths(&Value::from(text)), expected, "{text}");
    }
    assert_eq!(thousandths(&Value::from(29)), 29_000);
}
