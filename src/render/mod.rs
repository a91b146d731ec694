//! Outputs: a plan as a table, a document, manifests, a page, or a difference.
//!
//! Promises: the same report gives the same bytes; nothing is decided or solved here, only counted and written. What
//! users wrote (names, labels) is escaped as the format demands.

pub mod diff;
pub mod explain;
pub mod html;
pub mod json;
mod placements;
mod style;
mod summary;
pub mod table;
#[cfg(test)]
mod tests;
pub mod yaml;

use std::fmt::Write as _;

use dovetail_solver::model::plan::PlanBody;
use dovetail_solver::model::snapshot::Snapshot;

pub use style::plain;

/// Everything that an output may tell.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// What was planned.
    pub snapshot: &'a Snapshot,
    /// The plan.
    pub plan: &'a PlanBody,
    /// Where its figures come from.
    pub origin: &'a Origin,
}

/// Where a plan's figures come from, and what was left out of them.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// Why this region: "the nodes' region label".
    pub region_reason: String,
    /// Spot prices are guesses.
    pub spot_is_estimated: bool,
    /// What was dropped or looks wrong in the input, the loudest first.
    pub warnings: Vec<Warning>,
}

/// Something in the input that was dropped or looks wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// How loud.
    pub loudness: Loudness,
    /// In a word or two: warnings are counted by it.
    pub reason: String,
    /// How many things it stands for.
    pub count: u64,
    /// Where, and what was expected.
    pub text: String,
}

/// How loud a remark is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loudness {
    /// Something that was given isn't in the plan.
    Error,
    /// The plan may be wrong in the way that is said.
    Warning,
    /// Good to know.
    Note,
}

impl Loudness {
    /// The word before the text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// Dollars for people: `$0.1785`, `$1,204.50`. Small amounts have up to four decimals, large ones two.
pub(crate) fn dollars(micros: i64) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    let magnitude = micros.unsigned_abs();
    // A ten-thousandth of a dollar, or a cent where that is noise.
    let (unit, decimals) = if magnitude >= 100_000_000 {
        (10_000, 2)
    } else {
        (100, 4)
    };
    let rounded = (magnitude + unit / 2) / unit;
    let base = 10_u64.pow(decimals);
    let mut fraction = format!("{:0width$}", rounded % base, width = decimals as usize);
    while fraction.len() > 2 && fraction.ends_with('0') {
        fraction.pop();
    }
    format!("{sign}${}.{fraction}", thousands(rounded / base))
}

/// `1,234,567`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 pod`, `1,200 pods`.
pub(crate) fn counted(number: usize, one: &str, many: &str) -> String {
    format!(
        "{} {}",
        thousands(number as u64),
        if number == 1 { one } else { many }
    )
}

/// A relative distance in millionths as a percentage: `0.5 %`, `12 %`.
pub(crate) fn percent(millionths: u64) -> String {
    let hundredths = millionths.div_ceil(100);
    let mut text = (hundredths / 100).to_string();
    if !hundredths.is_multiple_of(100) {
        let fraction = format!("{:02}", hundredths % 100);
        let _infallible = write!(text, ".{}", fraction.trim_end_matches('0'));
    }
    text + " %"
}

#[cfg(test)]
mod figures {
    use super::*;

    #[test]
    fn money_is_short_and_never_misleading() {
        for (micros, text) in [
            (178_500, "$0.1785"),
            (2_142_000, "$2.142"),
            (89_250, "$0.0893"),
            (0, "$0.00"),
            (1_204_500_000, "$1,204.50"),
            (-500_000, "-$0.50"),
        ] {
            assert_eq!(dollars(micros), text);
        }
        assert_eq!(percent(5_000), "0.5 %");
        assert_eq!(percent(120_000), "12 %");
        assert_eq!(percent(1), "0.01 %", "a gap is never rounded down to none");
        assert_eq!(counted(1_200, "pod", "pods"), "1,200 pods");
    }
}
