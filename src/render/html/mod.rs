//! The plan as one page that needs nothing else: no other file, no network.
//!
//! Promises: everything that users wrote is escaped; the page works without its script (which only moves hover texts
//! into a nicer box); identical nodes are drawn once, so that thousands of nodes stay a page one can read.

mod packing;
mod page;

use super::style::is_deceptive;
use std::borrow::Cow;
use std::io::{self, Write};

use super::Report;

/// Writes the page.
///
/// # Errors
/// When `out` can't be written.
pub fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    page::write(report, out)
}

/// Text as it may stand between tags and inside of quoted attributes.
fn escape(text: &str) -> Cow<'_, str> {
    let special = |c: char| matches!(c, '&' | '<' | '>' | '"' | '\'') || (is_deceptive(c) && c != '\n');
    if !text.contains(special) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if is_deceptive(c) && c != '\n' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// Millionths as a number of percent that CSS understands.
fn css_percent(millionths: u64) -> String {
    let hundredths = millionths / 100;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_users_wrote_becomes_markup() {
        assert_eq!(
            escape("<script>alert('x')</script>&\"\u{1b}\u{202e}"),
            "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;\u{fffd}\u{fffd}"
        );
        assert!(matches!(escape("default/web-0"), Cow::Borrowed(_)));
        assert_eq!(css_percent(123_456), "12.34");
    }
}
