//! Money per hour, in whole micro-dollars.
//!
//! [`Price`] is what one offering costs, [`Cost`] what a plan does. Both are exact to the sixth decimal of a
//! dollar (EC2 quotes no finer for a whole instance); a finer figure is rounded to the nearest micro-dollar.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// Price of an offering in micro-dollars per hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Price(u64);

/// Money of a plan in micro-dollars per hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost(i64);

/// Why a number is no price.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("\"{0}\" is no price in dollars per hour (expected a number from 0 to 1000000)")]
pub struct PriceError(pub String);

impl Price {
    /// No instance costs a million dollars an hour: more is a slip.
    const MOST_DOLLARS: u64 = 1_000_000;

    /// From micro-dollars per hour.
    #[must_use]
    pub fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// In micro-dollars per hour.
    #[must_use]
    pub fn micros(self) -> u64 {
        self.0
    }

    /// From decimal text such as `0.08925` or `1e-2`.
    ///
    /// # Errors
    /// When the text is no number, negative, or above a million dollars.
    pub fn parse(text: &str) -> Result<Self, PriceError> {
        let wrong = || PriceError(text.chars().take(40).collect());
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().map_err(|_| wrong())?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        if digits.is_empty() || digits.len() > 30 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        let value = digits.parse::<u128>().map_err(|_| wrong())?;
        let fraction_digits = i32::try_from(fraction.len()).map_err(|_| wrong())?;
        let shift = exponent.saturating_add(6).saturating_sub(fraction_digits);
        let micros = if value == 0 {
            0
        } else if shift >= 0 {
            let ten = u32::try_from(shift)
                .ok()
                .and_then(|shift| 10_u128.checked_pow(shift))
                .ok_or_else(wrong)?;
            value.checked_mul(ten).ok_or_else(wrong)?
        } else {
            let Some(ten) = 10_u128.checked_pow(shift.unsigned_abs()) else {
                return Ok(Self(0));
            };
            (value + ten / 2) / ten
        };
        let micros = u64::try_from(micros).map_err(|_| wrong())?;
        if micros > Self::MOST_DOLLARS * 1_000_000 {
            Err(wrong())
        } else {
            Ok(Self(micros))
        }
    }

    /// As money of a plan.
    #[must_use]
    pub fn cost(self) -> Cost {
        Cost(i64::try_from(self.0).unwrap_or(i64::MAX))
    }
}

impl Cost {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// From micro-dollars per hour.
    #[must_use]
    pub fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// In micro-dollars per hour.
    #[must_use]
    pub fn micros(self) -> i64 {
        self.0
    }
}

impl Add for Cost {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Cost {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::ZERO, Add::add)
    }
}

/// Dollars as exact decimal text without trailing zeros: `0.1785`, `2`, `-0.5`.
fn write_dollars(micros: i128, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let sign = if micros < 0 { "-" } else { "" };
    let micros = micros.unsigned_abs();
    let fraction = format!("{:06}", micros % 1_000_000);
    let fraction = fraction.trim_end_matches('0');
    let whole = micros / 1_000_000;
    let text = if fraction.is_empty() {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{fraction}")
    };
    f.pad(&text)
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_dollars(i128::from(self.0), f)
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_dollars(i128::from(self.0), f)
    }
}

/// A JSON number of dollars; the decimal text of at most six places round-trips through it exactly.
fn number(text: &str) -> serde_json::Number {
    text.parse()
        .expect("decimal text with digits on both sides of the point is a JSON number")
}

impl Serialize for Price {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        number(&self.to_string()).serialize(serializer)
    }
}

impl Serialize for Cost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        number(&self.to_string()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Price {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        Self::parse(&number.to_string()).map_err(serde::de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Cost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = serde_json::Number::deserialize(deserializer)?.to_string();
        let (sign, unsigned) = text
            .strip_prefix('-')
            .map_or((1, text.as_str()), |rest| (-1, rest));
        let price = Price::parse(unsigned).map_err(serde::de::Error::custom)?;
        Ok(Self(sign * price.cost().0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_dollars_exactly() {
        for text in ["0.1785", "2", "0.000001", "32.7726", "0"] {
            assert_eq!(Price::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Price::parse("1e-2").unwrap().micros(), 10_000);
        assert_eq!(Price::parse("0.0000005").unwrap().micros(), 1);
        for wrong in ["", "-1", "x", "1.2.3", "1e99", "NaN"] {
            assert!(Price::parse(wrong).is_err(), "{wrong}");
        }
        let json = serde_json::to_string(&Cost::from_micros(-1_500_000)).unwrap();
        assert_eq!(json, "-1.5");
        assert_eq!(
            serde_json::from_str::<Cost>(&json).unwrap(),
            Cost::from_micros(-1_500_000)
        );
    }
}
