//! Kubernetes quantities, read exactly.
//!
//! Promises: the whole grammar of `resource.Quantity` (decimal and binary suffixes, `m`/`u`/`n`, exponents, a
//! sign, a leading or trailing point), no floating point, overflow refused. A value finer than a nano-unit is
//! rounded away from zero, as Kubernetes does. Not done here: choosing the base unit of a resource, which is
//! [`super::resources::ResourceName`]'s.
//!
//! Source: Kubernetes API reference, `resource.Quantity` ("Serialization Format").

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// One unit in nano-units.
const NANOS_PER_UNIT: i128 = 1_000_000_000;
/// Kubernetes caps a quantity at 2^63 − 1 units; more is refused here rather than capped silently.
const LARGEST_UNITS: i128 = i64::MAX as i128;
/// No quantity that fits needs more digits (2^63 has 19, nano-units 9 more); longer text is hostile.
const MOST_DIGITS: usize = 64;

/// A quantity as written, exact to the nano-unit. May be negative; resources refuse that themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    nanos: i128,
}

/// Why a text is no quantity.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QuantityError {
    /// Nothing but white space, or no digit at all.
    #[error("expected a quantity such as 500m, 2 or 4Gi, got \"{0}\"")]
    NotANumber(String),
    /// A number followed by something that is no suffix.
    #[error(
        "\"{suffix}\" in \"{text}\" is no quantity suffix (expected n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent)"
    )]
    UnknownSuffix {
        /// The whole text.
        text: String,
        /// What followed the digits.
        suffix: String,
    },
    /// Larger than 2^63 − 1 units, Kubernetes' own limit.
    #[error("\"{0}\" is out of range (at most 9223372036854775807)")]
    OutOfRange(String),
    /// A negative amount where only zero or more makes sense.
    #[error("\"{0}\" is negative")]
    Negative(String),
}

/// How to come from an exact quantity to whole base units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Upwards, for what pods ask for: never promise less than asked.
    Up,
    /// Downwards, for what nodes offer: never promise more than there is.
    Down,
}

impl Quantity {
    /// A whole number of units.
    #[must_use]
    pub fn from_units(units: i64) -> Self {
        Self {
            nanos: i128::from(units) * NANOS_PER_UNIT,
        }
    }

    /// A number of thousandths.
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        Self {
            nanos: i128::from(millis) * (NANOS_PER_UNIT / 1_000),
        }
    }

    /// Below zero.
    #[must_use]
    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// Whole thousandths, or `None` when they don't fit.
    #[must_use]
    pub fn millis(self, rounding: Rounding) -> Option<i64> {
        divide(self.nanos, NANOS_PER_UNIT / 1_000, rounding)
    }

    /// Whole units, or `None` when they don't fit.
    #[must_use]
    pub fn units(self, rounding: Rounding) -> Option<i64> {
        divide(self.nanos, NANOS_PER_UNIT, rounding)
    }
}

fn divide(nanos: i128, by: i128, rounding: Rounding) -> Option<i64> {
    let floor = nanos.div_euclid(by);
    let whole = match rounding {
        Rounding::Down => floor,
        Rounding::Up => floor + i128::from(nanos.rem_euclid(by) != 0),
    };
    i64::try_from(whole).ok()
}

/// Multiplier of a suffix in nano-units: `(factor, power of ten)`.
fn suffix_scale(suffix: &str) -> Option<(i128, i32)> {
    Some(match suffix {
        "n" => (1, 0),
        "u" => (1, 3),
        "m" => (1, 6),
        "" => (1, 9),
        "k" => (1, 12),
        "M" => (1, 15),
        "G" => (1, 18),
        "T" => (1, 21),
        "P" => (1, 24),
        "E" => (1, 27),
        "Ki" => (1 << 10, 9),
        "Mi" => (1 << 20, 9),
        "Gi" => (1 << 30, 9),
        "Ti" => (1 << 40, 9),
        "Pi" => (1 << 50, 9),
        "Ei" => (1 << 60, 9),
        _ => return exponent(suffix).map(|power| (1, power.saturating_add(9))),
    })
}

/// `e3`, `E-6`, `e+2`: the exponent; `None` when it isn't one.
fn exponent(suffix: &str) -> Option<i32> {
    let digits = suffix.strip_prefix(['e', 'E'])?;
    let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(digits);
    if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Anything beyond ±1000 is out of range (or zero) whatever its mantissa: saturate.
    let magnitude = unsigned.parse::<i32>().unwrap_or(1_000).min(1_000);
    Some(if digits.starts_with('-') {
        -magnitude
    } else {
        magnitude
    })
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let not_a_number = || QuantityError::NotANumber(shorten(text));
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = unsigned
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return Err(not_a_number());
        }
        let (factor, power) = suffix_scale(suffix).ok_or_else(|| QuantityError::UnknownSuffix {
            text: shorten(text),
            suffix: shorten(suffix),
        })?;
        let out_of_range = || QuantityError::OutOfRange(shorten(text));
        let digits = format!("{whole}{fraction}");
        let digits = digits.trim_start_matches('0');
        if digits.is_empty() {
            return Ok(Self { nanos: 0 });
        }
        let fraction_digits = i32::try_from(fraction.len()).map_err(|_| out_of_range())?;
        let power = power.saturating_sub(fraction_digits);
        let magnitude = scale(digits, factor, power).ok_or_else(out_of_range)?;
        Ok(Self {
            nanos: if negative { -magnitude } else { magnitude },
        })
    }
}

/// `digits × factor × 10^power` in nano-units, rounded up; `None` beyond the range.
fn scale(digits: &str, factor: i128, power: i32) -> Option<i128> {
    // Trailing zeros that the power takes back (1000…0e-60) would overflow for nothing.
    let kept = digits.trim_end_matches('0');
    let power = power.saturating_add(i32::try_from(digits.len() - kept.len()).ok()?);
    let limit = LARGEST_UNITS * NANOS_PER_UNIT;
    let (head, dropped) = if kept.len() > MOST_DIGITS / 2 {
        // More than 32 significant digits: what follows them can only round up.
        kept.split_at(MOST_DIGITS / 2)
    } else {
        (kept, "")
    };
    let power = power.saturating_add(i32::try_from(dropped.len()).ok()?);
    let mantissa = head.parse::<i128>().ok()?;
    let sticky = i128::from(!dropped.is_empty());
    let value = if power >= 0 {
        let ten = 10_i128.checked_pow(u32::try_from(power).ok()?)?;
        (mantissa + sticky).checked_mul(factor)?.checked_mul(ten)?
    } else {
        let Some(ten) = 10_i128.checked_pow(power.unsigned_abs()) else {
            // Far below a nano-unit: the smallest amount there is.
            return Some(1);
        };
        // Split so that a long fraction with a binary suffix can't overflow.
        let whole = (mantissa / ten).checked_mul(factor)?;
        let rest = (mantissa % ten).checked_mul(factor).map_or_else(
            || (mantissa % ten) / (ten / factor).max(1) + 1,
            |product| {
                let quotient = product / ten;
                quotient + i128::from(product % ten != 0 || sticky != 0)
            },
        );
        whole.checked_add(rest)?
    };
    (value <= limit).then_some(value)
}

/// Hostile input is echoed, but not at length.
fn shorten(text: &str) -> String {
    const SHOWN: usize = 40;
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

impl fmt::Display for Quantity {
    /// The shortest of whole units, thousandths and nano-units that is exact.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos % NANOS_PER_UNIT == 0 {
            write!(f, "{}", self.nanos / NANOS_PER_UNIT)
        } else if self.nanos % (NANOS_PER_UNIT / 1_000) == 0 {
            write!(f, "{}m", self.nanos / (NANOS_PER_UNIT / 1_000))
        } else {
            write!(f, "{}n", self.nanos)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(text: &str, rounding: Rounding) -> Option<i64> {
        text.parse::<Quantity>().unwrap().units(rounding)
    }

    #[test]
    fn reads_every_suffix() {
        for (text, expected) in [
            ("1", 1),
            ("1k", 1_000),
            ("1M", 1_000_000),
            ("2G", 2_000_000_000),
            ("1Ki", 1_024),
            ("1.5Gi", 1_610_612_736),
            ("1e3", 1_000),
            ("1E3", 1_000),
            ("12e-1", 2),
            (".5", 1),
            ("5.", 5),
            ("+4", 4),
            ("0", 0),
            ("1T", 1_000_000_000_000),
            ("1Ti", 1 << 40),
            ("1Pi", 1 << 50),
            ("1Ei", 1 << 60),
            ("1000000000n", 1),
            ("1E", 1_000_000_000_000_000_000),
        ] {
            assert_eq!(units(text, Rounding::Up), Some(expected), "{text}");
        }
    }

    #[test]
    fn rounds_requests_up_and_capacities_down() {
        assert_eq!(units("1500m", Rounding::Up), Some(2));
        assert_eq!(units("1500m", Rounding::Down), Some(1));
        assert_eq!("100n".parse::<Quantity>().unwrap().millis(Rounding::Up), Some(1));
        assert_eq!(
            "0.1m".parse::<Quantity>().unwrap().millis(Rounding::Down),
            Some(0)
        );
        assert_eq!("1e-30".parse::<Quantity>().unwrap().millis(Rounding::Up), Some(1));
    }

    #[test]
    fn refuses_what_is_no_quantity() {
        for text in [
            "", " ", "1K", "1ki", "1 Gi", "abc", "1.2.3", "--1", "1e", "1e1.5", "0x10", "1Zi", ".", "-", "½",
        ] {
            assert!(text.parse::<Quantity>().is_err(), "{text}");
        }
        for text in [
            "8Ei",
            "9223372036854775808",
            "1e40",
            "99999999999999999999999999999999999999999",
        ] {
            assert!(
                matches!(text.parse::<Quantity>(), Err(QuantityError::OutOfRange(_))),
                "{text}"
            );
        }
    }
}
