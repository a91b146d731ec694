//! Whole numbers, which JSON may also write as `10.0`: the API server takes that for 10, so reading a file does too.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, Deserializer};

/// A whole number that fits into `T`.
struct Whole<T>(T);

impl<'de, T: TryFrom<i64>> Deserialize<'de> for Whole<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Visitor(PhantomData)).map(Whole)
    }
}

struct Visitor<T>(PhantomData<T>);

impl<T: TryFrom<i64>> de::Visitor<'_> for Visitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a whole number of {} bits", 8 * size_of::<T>())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        T::try_from(number).map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        i64::try_from(number)
            .ok()
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(number), &self))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        // Beyond 2^53 a float no longer tells neighbours apart, so what was written is unknown.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if number.fract() != 0.0 || number.abs() > EXACT {
            return Err(E::invalid_value(de::Unexpected::Float(number), &self));
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole and within 2^53, as was just tested"
        )]
        self.visit_i64(number as i64)
    }
}

/// Reads a number that may be missing or null.
pub(super) fn optional<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
{
    Ok(Option::<Whole<T>>::deserialize(deserializer)?.map(|Whole(number)| number))
}

/// Reads a number that has to be there.
pub(super) fn required<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
{
    Whole::deserialize(deserializer).map(|Whole(number)| number)
}
