//! The few colours of text output. They are always written; the stream drops them where there is no terminal.

use std::fmt;

use anstyle::{AnsiColor, Style};

/// What matters most in a line.
pub(crate) const STRONG: Style = Style::new().bold();
/// What may be skipped.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// Headings.
pub(crate) const HEADING: Style = AnsiColor::Cyan.on_default().bold();
/// Good news.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Something to look at.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
/// Something that failed.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();

/// Text in a style. What users wrote passes through here, so control characters become visible escapes: a name can't
/// move the cursor or change the colour.
pub(crate) struct Paint<'a>(pub(crate) Style, pub(crate) &'a str);

impl fmt::Display for Paint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(style, text) = self;
        write!(f, "{style}{}{style:#}", plain(text))
    }
}

/// The text with everything made visible that could move the cursor, change the colour, or show other text than there is.
#[must_use]
pub fn plain(text: &str) -> String {
    if text.chars().any(is_deceptive) {
        text.chars()
            .flat_map(|c| {
                if is_deceptive(c) {
                    c.escape_default().collect::<Vec<_>>()
                } else {
                    vec![c]
                }
            })
            .collect()
    } else {
        text.to_owned()
    }
}

/// Control characters, and those of Unicode's that are invisible, reorder what stands around them, or end a line.
pub(crate) fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_deceive_a_reader_becomes_visible() {
        assert_eq!(plain("a\u{1b}[31m\n"), "a\\u{1b}[31m\\n");
        assert_eq!(
            plain("web\u{202e}bew\u{200b}\u{2028}\u{feff}"),
            "web\\u{202e}bew\\u{200b}\\u{2028}\\u{feff}"
        );
        assert_eq!(plain("größe-数"), "größe-数");
    }
}
