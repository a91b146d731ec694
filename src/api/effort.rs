//! How long the solver may search and how near to the bound it must come, as texts: `1m30s`, `0.5%`.
//!
//! Promises: the command line and PackingPolicy read the same texts alike, and refuse the same ones in the same words.

use std::time::Duration;

use dovetail_solver::model::money::Price;
use dovetail_solver::model::plan::Gap;

/// Everything is this many millionths of itself.
const WHOLE: u64 = 1_000_000;

/// A time budget above zero, of hours, minutes, seconds and milliseconds.
///
/// # Errors
/// What was expected.
pub fn time_budget(text: &str) -> Result<Duration, String> {
    let budget = duration(text).ok_or_else(|| "expected a duration such as 300ms, 1s or 2m".to_owned())?;
    if budget.is_zero() {
        return Err(
            "expected a duration above zero such as 300ms (--engine greedy plans without improving)"
                .to_owned(),
        );
    }
    Ok(budget)
}

/// A share in percent or as a fraction, in millionths; one at most.
///
/// # Errors
/// What was expected.
pub fn gap(text: &str) -> Result<Gap, String> {
    let wrong = || "expected a share such as 0.005 or 0.5%".to_owned();
    let (number, per) = match text.strip_suffix('%') {
        Some(number) => (number, 100),
        None => (text, 1),
    };
    // The grammar of prices is that of shares: plain decimals, exact to the millionth.
    let millionths = Price::parse(number).map_err(|_| wrong())?.micros() / per;
    if millionths > WHOLE {
        return Err(wrong() + ", 1 or 100% at most");
    }
    Ok(Gap(millionths))
}

/// `300ms`, `0.5s`, `1m30s`: each number with its unit.
fn duration(text: &str) -> Option<Duration> {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c| !is_number(c))?);
        let (unit, after) = after.split_at(after.find(is_number).unwrap_or(after.len()));
        let seconds = match unit {
            "h" => 3_600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 0.001,
            _ => return None,
        };
        // What the schema of the custom resources refuses as well: a point without a digit on either side.
        if number.starts_with('.') || number.ends_with('.') {
            return None;
        }
        let amount = number.parse::<f64>().ok()? * seconds;
        total = total.checked_add(Duration::try_from_secs_f64(amount).ok()?)?;
        rest = after;
    }
    (!text.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        for (text, millis) in [
            ("300ms", 300),
            ("1ms", 1),
            ("1s", 1_000),
            ("0.5s", 500),
            ("2m", 120_000),
            ("1m30s", 90_000),
            ("1h1m1s500ms", 3_661_500),
            ("0m1s", 1_000),
        ] {
            assert_eq!(time_budget(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in [
            "",
            "5",
            "s",
            "1x",
            "1d",
            "1ns",
            "-1s",
            "1s ",
            ".5s",
            "1.s",
            "1..2s",
            "1e400s",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            let said = time_budget(text).unwrap_err();
            assert!(said.contains("300ms, 1s or 2m"), "{text}: {said}");
        }
    }

    #[test]
    fn a_budget_is_more_than_nothing() {
        for text in ["0s", "0ms", "0m0s", "0.0h", "0.0000000000001s"] {
            let said = time_budget(text).unwrap_err();
            assert!(said.contains("above zero"), "{text}: {said}");
        }
    }

    #[test]
    fn a_gap_is_a_share_or_a_percentage() {
        assert_eq!(gap("0.005"), Ok(Gap(5_000)));
        assert_eq!(gap("0.5%"), Ok(Gap(5_000)));
        assert_eq!(gap("0"), Ok(Gap(0)));
        assert_eq!(gap("100%"), Ok(Gap(1_000_000)));
        for text in ["", "%", "-1%", "x", "NaN", "1.2.3", "0.5 %"] {
            assert_eq!(
                gap(text),
                Err("expected a share such as 0.005 or 0.5%".to_owned())
            );
        }
        for text in ["5", "101%"] {
            assert!(gap(text).unwrap_err().contains("100% at most"), "{text}");
        }
    }
}
