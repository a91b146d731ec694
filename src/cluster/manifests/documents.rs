//! Cuts a stream of bytes into documents, without ever holding more than one.
//!
//! YAML ends a document at a line that starts with `---` or `...`; no such line can stand inside one (YAML 1.2, 9.1).
//! JSON strings hold no line breaks, so the same cut is right for JSON. One broken document doesn't spoil the next.

use std::io::{self, BufRead, Read};

use thiserror::Error;

/// A document larger than this is refused: it would not fit in memory together with what is made of it.
pub(super) const LARGEST_DOCUMENT: usize = 1 << 30;

/// One document, not yet read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Document {
    /// Its text.
    pub(super) text: String,
    /// Its first line in the stream, from 1.
    pub(super) line: u32,
}

/// Why a document can't be cut out.
#[derive(Debug, Error)]
pub(super) enum CutError {
    #[error("reading it")]
    Io(#[from] io::Error),
    #[error("document at line {line} is larger than {LARGEST_DOCUMENT} bytes; split it")]
    TooLarge { line: u32 },
    #[error("line {line} is not UTF-8 text")]
    NotUtf8 { line: u32 },
    #[error("it is compressed with gzip; pipe it through gunzip first")]
    Gzip,
}

/// Documents of a stream, in order.
pub(super) struct Documents<R> {
    reader: R,
    /// A stream in UTF-16 is decoded as a whole and read from here.
    decoded: Option<io::Cursor<Vec<u8>>>,
    /// The line that ended the last document and starts the next.
    carried: Vec<u8>,
    line: u32,
    largest: usize,
    started: bool,
    ended: bool,
}

impl<R: BufRead> Documents<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            decoded: None,
            carried: Vec::new(),
            line: 1,
            largest: LARGEST_DOCUMENT,
            started: false,
            ended: false,
        }
    }

    /// The next document that says anything; `None` at the end. After an error that isn't about one document alone
    /// there is no next.
    pub(super) fn next(&mut self) -> Option<Result<Document, CutError>> {
        loop {
            if self.ended {
                return None;
            }
            let first_line = self.line;
            let bytes = match self.cut() {
                Ok(bytes) => bytes,
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            };
            if is_blank(&bytes) {
                continue;
            }
            return Some(String::from_utf8(bytes).map_or_else(
                |error| {
                    let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                    Err(CutError::NotUtf8 {
                        line: first_line.saturating_add(count_lines(good)),
                    })
                },
                |text| {
                    Ok(Document {
                        text,
                        line: first_line,
                    })
                },
            ));
        }
    }

    fn cut(&mut self) -> Result<Vec<u8>, CutError> {
        let mut bytes = std::mem::take(&mut self.carried);
        if !self.started {
            self.started = true;
            self.start()?;
        }
        let first_line = self.line;
        let mut lines = count_lines(&bytes);
        loop {
            let start = bytes.len();
            if !self.read_line(&mut bytes, first_line)? {
                self.ended = true;
                break;
            }
            if is_marker(&bytes[start..]) && start > 0 {
                self.carried = bytes.split_off(start);
                break;
            }
            lines = lines.saturating_add(1);
        }
        self.line = first_line.saturating_add(lines);
        Ok(bytes)
    }

    /// Whatever stands before the first document: byte order marks, signs of another format.
    fn start(&mut self) -> Result<(), CutError> {
        let head = self.reader.fill_buf()?;
        if head.starts_with(&[0x1f, 0x8b]) {
            return Err(CutError::Gzip);
        }
        if head.starts_with(&[0xef, 0xbb, 0xbf]) {
            self.reader.consume(3);
        } else if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
            // PowerShell's `>` writes UTF-16.
            self.decoded = Some(io::Cursor::new(self.decode_utf16()?));
        }
        Ok(())
    }

    fn decode_utf16(&mut self) -> Result<Vec<u8>, CutError> {
        let mut raw = Vec::new();
        let most = u64::try_from(self.largest).unwrap_or(u64::MAX);
        self.reader.by_ref().take(most).read_to_end(&mut raw)?;
        if raw.len() >= self.largest {
            return Err(CutError::TooLarge { line: 1 });
        }
        let little = raw[0] == 0xff;
        let units = raw[2..].chunks(2).map(|pair| match (pair, little) {
            ([low, high], true) | ([high, low], false) => u16::from_be_bytes([*high, *low]),
            _ => 0xfffd,
        });
        let text: String = char::decode_utf16(units)
            .map(|unit| unit.unwrap_or('\u{fffd}'))
            .collect();
        Ok(text.into_bytes())
    }

    /// Appends one line, its end included; false at the end of the stream.
    fn read_line(&mut self, bytes: &mut Vec<u8>, first_line: u32) -> Result<bool, CutError> {
        let before = bytes.len();
        loop {
            let reader: &mut dyn BufRead = match &mut self.decoded {
                Some(decoded) => decoded,
                None => &mut self.reader,
            };
            let chunk = match reader.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            if chunk.is_empty() {
                return Ok(bytes.len() > before);
            }
            let end = chunk.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
            let taken = end.unwrap_or(chunk.len());
            if bytes.len() + taken > self.largest {
                return Err(CutError::TooLarge { line: first_line });
            }
            bytes.extend_from_slice(&chunk[..taken]);
            reader.consume(taken);
            if end.is_some() {
                return Ok(true);
            }
        }
    }
}

fn count_lines(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.iter().filter(|byte| **byte == b'\n').count()).unwrap_or(u32::MAX)
}

/// A line that ends a document: `---` or `...`, alone or followed by white space.
fn is_marker(line: &[u8]) -> bool {
    (line.starts_with(b"---") || line.starts_with(b"..."))
        && line
            .get(3)
            .is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}

/// Whether a document holds nothing but comments, directives and markers.
fn is_blank(bytes: &[u8]) -> bool {
    bytes.split(|byte| *byte == b'\n').all(|line| {
        let rest = if is_marker(line) { &line[3..] } else { line };
        let text = rest.trim_ascii();
        text.is_empty() || text[0] == b'#' || line.starts_with(b"%")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(bytes: &[u8]) -> Vec<(String, u32)> {
        // A small buffer, so that every line is torn somewhere.
        let mut documents = Documents::new(io::BufReader::with_capacity(5, bytes));
        let mut found = Vec::new();
        while let Some(document) = documents.next() {
            let document = document.unwrap();
            found.push((document.text, document.line));
        }
        found
    }

    #[test]
    fn cuts_at_markers_and_counts_lines() {
        let found =
            cut(b"\xef\xbb\xbf# head\n---\r\na: 1\n---\n\n# nothing\n--- # two\nb: |\n  ---\n  x\n...\n{}\n");
        let expected = [
            ("---\r\na: 1\n", 2),
            ("--- # two\nb: |\n  ---\n  x\n", 7),
            ("...\n{}\n", 11),
        ];
        let expected: Vec<(String, u32)> = expected.map(|(text, line)| (text.to_owned(), line)).into();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_marker_at_the_very_start_is_no_end() {
        assert_eq!(cut(b"---\na: 1"), [("---\na: 1".to_owned(), 1)]);
        assert_eq!(cut(b"----\na: 1"), [("----\na: 1".to_owned(), 1)]);
        assert!(cut(b"").is_empty() && cut(b"---\n---\n%YAML 1.2\n---\n").is_empty());
    }

    #[test]
    fn utf16_is_decoded_and_what_is_no_text_is_refused() {
        let utf16: Vec<u8> = [0xff, 0xfe]
            .into_iter()
            .chain("a: ü\n---\nb: 1\n".encode_utf16().flat_map(u16::to_le_bytes))
            .collect();
        assert_eq!(cut(&utf16).first().map(|(text, _)| text.as_str()), Some("a: ü\n"));
        let mut documents = Documents::new(&b"a: 1\nb: \xff\n---\nc: 1\n"[..]);
        assert!(matches!(
            documents.next(),
            Some(Err(CutError::NotUtf8 { line: 2 }))
        ));
        assert_eq!(documents.next().unwrap().unwrap().line, 3);
        let mut documents = Documents::new(&b"\x1f\x8b\x08"[..]);
        assert!(matches!(documents.next(), Some(Err(CutError::Gzip))));
        assert!(documents.next().is_none());
    }

    #[test]
    fn an_endless_document_is_refused_in_time() {
        let mut documents = Documents::new(io::BufReader::new(io::repeat(b'x')));
        documents.largest = 1 << 16;
        assert!(matches!(
            documents.next(),
            Some(Err(CutError::TooLarge { line: 1 }))
        ));
        assert!(documents.next().is_none());
    }
}
