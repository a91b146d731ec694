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

/// The text with control characters made visible.
pub(crate) fn plain(text: &str) -> String {
    if text.chars().any(char::is_control) {
        text.chars()
            .flat_map(|c| {
                if c.is_control() {
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
