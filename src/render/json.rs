//! The plan document as JSON, ending with a line feed.
//!
//! Indented for people down to the entries of a launch's lists; what lies deeper (one alternative, say) stands on one
//! line, since a plan has hundreds of those for each launch.

use std::io::{self, Write};

use dovetail_solver::model::plan::PlanBody;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

/// Writes the plan.
///
/// # Errors
/// When `out` can't be written.
pub fn write(plan: &PlanBody, out: &mut dyn Write) -> io::Result<()> {
    write_any(plan, out)
}

/// Writes any document the same way.
pub(crate) fn write_any(document: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut serializer = Serializer::with_formatter(&mut *out, Layout::default());
    document.serialize(&mut serializer)?;
    out.write_all(b"\n")
}

/// Objects and lists this deep are the last whose entries get lines of their own.
const INDENTED: usize = 4;

/// Indented near the root, compact below.
#[derive(Default)]
struct Layout {
    depth: usize,
    indented: PrettyFormatter<'static>,
}

/// Forwards one call to the formatter for the present depth.
macro_rules! forward {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {$(
        fn $name<W: Write + ?Sized>(&mut self, writer: &mut W $(, $argument: $type)*) -> io::Result<()> {
            if self.depth <= INDENTED {
                self.indented.$name(writer $(, $argument)*)
            } else {
                CompactFormatter.$name(writer $(, $argument)*)
            }
        }
    )*};
}

/// The same for the calls that open or close an object or a list.
macro_rules! forward_and_count {
    ($($open:ident, $close:ident;)*) => {$(
        fn $open<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
            self.depth += 1;
            if self.depth <= INDENTED { self.indented.$open(writer) } else { CompactFormatter.$open(writer) }
        }

        fn $close<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
            self.depth -= 1;
            if self.depth < INDENTED { self.indented.$close(writer) } else { CompactFormatter.$close(writer) }
        }
    )*};
}

impl Formatter for Layout {
    forward_and_count! {
        begin_array, end_array;
        begin_object, end_object;
    }
    forward! {
        begin_array_value(first: bool);
        end_array_value();
        begin_object_key(first: bool);
        begin_object_value();
        end_object_value();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_deep_stands_on_one_line() {
        let document = json!({"launch": [{"type": "a", "others": [{"type": "b", "labels": {}}, {"type": "c"}], "none": []}]});
        let mut text = Vec::new();
        write_any(&document, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let expected = r#"{
  "launch": [
    {
      "type": "a",
      "others": [
        {"type":"b","labels":{}},
        {"type":"c"}
      ],
      "none": []
    }
  ]
}
"#;
        assert_eq!(text, expected);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            document
        );
    }
}
