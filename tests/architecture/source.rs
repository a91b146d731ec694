//! Reading Rust source well enough to judge which names it uses, and no better.
//!
//! [`Source`] holds a file three ways, all of the same length, so that an offset means the same line in each: as
//! written, without comments and literals, and without tests as well. It is a scanner and not a parser: it
//! does not follow aliases or macros. The lints of `clippy.toml`, which do, stand beside it.

use std::path::{Path, PathBuf};

/// One file of the tree.
pub(crate) struct Source {
    /// From the root of the workspace, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    /// `text` with comments, strings and character literals blanked.
    pub(crate) code: String,
    /// `code` with the items under `#[cfg(test)]` and `#[test]` blanked.
    pub(crate) shipped: String,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let code = blank_comments_and_literals(text);
        let shipped = blank_tests(&code);
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            code,
            shipped,
        }
    }

    pub(crate) fn is_under(&self, folders: &[&str]) -> bool {
        folders.iter().any(|folder| is_under(&self.path, folder))
    }
}

/// Whether `path` is `place` or lies in it.
pub(crate) fn is_under(path: &str, place: &str) -> bool {
    path.strip_prefix(place)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || place.ends_with('/'))
}

/// Every `.rs` file under these folders of `root`, in the order of their paths; a missing folder has none.
pub(crate) fn read_tree(root: &Path, folders: &[&str]) -> Vec<Source> {
    let mut paths = Vec::new();
    for folder in folders {
        collect(&root.join(folder), &mut paths);
    }
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let text =
                std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let relative = path
                .strip_prefix(root)
                .unwrap()
                .to_string_lossy()
                .replace('\\', "/");
            Source::new(&relative, &text)
        })
        .collect()
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                collect(&path, into);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// The line, from 1, of a byte offset.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
        + 1
}

/// Identifiers and numbers with the offsets where they begin.
pub(crate) fn words(code: &str) -> Vec<(usize, &str)> {
    let bytes = code.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !is_word(bytes[at]) {
            at += 1;
            continue;
        }
        let start = at;
        let number = bytes[start].is_ascii_digit() && (start == 0 || bytes[start - 1] != b'.');
        while at < bytes.len() && (is_word(bytes[at]) || (number && continues_number(bytes, at))) {
            at += 1;
        }
        found.push((start, &code[start..at]));
    }
    found
}

/// `1.5` is one word; `1..5` and `x.0.1` are not, nor is `1.max(2)`.
fn continues_number(bytes: &[u8], at: usize) -> bool {
    bytes[at] == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
}

fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// Whether a word is a float type or a float literal.
pub(crate) fn is_float(word: &str) -> bool {
    if !word.starts_with(|first: char| first.is_ascii_digit()) {
        return word == "f32" || word == "f64";
    }
    let hexadecimal = word.starts_with("0x") || word.starts_with("0b");
    !hexadecimal
        && (word.contains('.') || word.ends_with("f32") || word.ends_with("f64") || word.contains('e'))
        && !word.ends_with("usize")
        && !word.ends_with("isize")
}

/// Where the crate `name` is named as the root of a path: `name::…`, `use name;`, `extern crate name`.
pub(crate) fn crate_mentions(code: &str, is_name: impl Fn(&str) -> bool) -> Vec<(usize, &str)> {
    words(code)
        .into_iter()
        .filter(|(start, word)| {
            let before = code[..*start].trim_end();
            let after = code[start + word.len()..].trim_start();
            let root = !before.ends_with("::") || after_absolute_colons(before);
            let imported = before.ends_with("use") || before.ends_with("extern crate");
            is_name(word) && root && (after.starts_with("::") || imported)
        })
        .collect()
}

/// `::name` (an absolute path) as opposed to `other::name`.
fn after_absolute_colons(before: &str) -> bool {
    let owner = before.trim_end_matches("::").trim_end();
    owner.ends_with("use")
        || !owner.ends_with(|last: char| last == '_' || last == '>' || last.is_alphanumeric())
}

/// The modules at the crate's root that this file names: by `crate::m`, `crate::{m, n::X}`, or by enough `super::`.
pub(crate) fn root_modules(path: &str, code: &str) -> Vec<(usize, String)> {
    let depth = module_depth(path);
    let all = words(code);
    let mut found = Vec::new();
    for (index, (start, word)) in all.iter().enumerate() {
        let end = start + word.len();
        let leads = match *word {
            "crate" => true,
            "super" => supers_before(code, &all[..index]) + 1 == depth && depth > 0,
            _ => false,
        };
        if leads && let Some(rest) = code[end..].strip_prefix("::") {
            let offset = end + 2;
            found.extend(
                first_segments(rest)
                    .into_iter()
                    .map(|(at, name)| (offset + at, name)),
            );
        }
    }
    found
}

/// How many `super::` stand directly before the next word.
fn supers_before(code: &str, before: &[(usize, &str)]) -> usize {
    before
        .iter()
        .rev()
        .take_while(|(start, word)| *word == "super" && code[start + word.len()..].starts_with("::"))
        .count()
}

/// How many modules deep the file's module is: 0 for `lib.rs`, 1 for `check/mod.rs`, 2 for `check/taints.rs`.
fn module_depth(path: &str) -> usize {
    let inside = path.split_once("src/").map_or(path, |(_, inside)| inside);
    let folders = inside.matches('/').count();
    match inside.rsplit('/').next() {
        Some("mod.rs") => folders,
        Some("lib.rs" | "main.rs") if folders == 0 => 0,
        _ => folders + 1,
    }
}

/// `a::b` names `a`; `{a::b, c}` names `a` and `c`.
fn first_segments(rest: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut fresh = true;
    let bytes = rest.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'{' => depth += 1,
            b'}' if depth <= 1 => break,
            b'}' => depth -= 1,
            b',' if depth == 1 => fresh = true,
            byte if is_word(byte) && depth <= 1 => {
                let start = at;
                while at < bytes.len() && is_word(bytes[at]) {
                    at += 1;
                }
                if fresh && &rest[start..at] != "self" {
                    found.push((start, rest[start..at].to_owned()));
                }
                fresh = false;
                if depth == 0 {
                    break;
                }
                continue;
            }
            byte if depth == 0 && !byte.is_ascii_whitespace() => break, // `super::*`
            _ => {}
        }
        at += 1;
    }
    found
}

/// Blanks everything that is not code, keeping newlines and length.
pub(crate) fn blank_comments_and_literals(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => end_of_line(bytes, at),
            b'/' if bytes.get(at + 1) == Some(&b'*') => end_of_block_comment(bytes, at),
            b'"' => end_of_string(bytes, at),
            b'\'' => end_of_character(text, at),
            b'r' if at == 0 || !is_word(bytes[at - 1]) || is_string_prefix(bytes, at) => {
                end_of_raw_string(bytes, at)
            }
            _ => at,
        };
        if end > at {
            for byte in &mut out[at..end] {
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
            at = end;
        } else {
            at += 1;
        }
    }
    String::from_utf8(out).expect("whole characters are blanked")
}

/// `br"…"` and `cr"…"`: the `r` has a letter before it and begins a raw string all the same.
fn is_string_prefix(bytes: &[u8], at: usize) -> bool {
    matches!(bytes[at - 1], b'b' | b'c') && (at < 2 || !is_word(bytes[at - 2]))
}

fn end_of_line(bytes: &[u8], from: usize) -> usize {
    bytes[from..]
        .iter()
        .position(|byte| *byte == b'\n')
        .map_or(bytes.len(), |length| from + length)
}

fn end_of_block_comment(bytes: &[u8], from: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = from;
    while at + 1 < bytes.len() {
        match (bytes[at], bytes[at + 1]) {
            (b'/', b'*') => (depth, at) = (depth + 1, at + 2),
            (b'*', b'/') if depth == 1 => return at + 2,
            (b'*', b'/') => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    bytes.len()
}

fn end_of_string(bytes: &[u8], from: usize) -> usize {
    let mut at = from + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The end of `r"…"` or `r#"…"#`; `from` itself where it is only a word that begins with r.
fn end_of_raw_string(bytes: &[u8], from: usize) -> usize {
    let hashes = bytes[from + 1..].iter().take_while(|byte| **byte == b'#').count();
    if bytes.get(from + 1 + hashes) != Some(&b'"') {
        return from;
    }
    let mut close = vec![b'"'];
    close.resize(1 + hashes, b'#');
    let body = from + 2 + hashes;
    bytes[body..]
        .windows(close.len())
        .position(|window| window == close)
        .map_or(bytes.len(), |length| body + length + close.len())
}

/// The end of `'x'` or `'\n'`; `from` itself where it is a lifetime or a label.
fn end_of_character(text: &str, from: usize) -> usize {
    let mut rest = text[from + 1..].chars();
    match rest.next() {
        Some('\\') => {
            let escaped = from + 3;
            text.as_bytes()[escaped.min(text.len())..]
                .iter()
                .position(|byte| *byte == b'\'')
                .map_or(from, |length| escaped + length + 1)
        }
        Some(character) if rest.next() == Some('\'') => from + 1 + character.len_utf8() + 1,
        _ => from,
    }
}

/// Blanks the items under `#[test]` and `#[cfg(…test…)]`, unless the condition says `not`.
pub(crate) fn blank_tests(code: &str) -> String {
    let mut out = code.as_bytes().to_vec();
    let mut from = 0;
    while let Some(found) = code[from..].find("#[") {
        let start = from + found;
        let body = end_of_group(code.as_bytes(), start + 1);
        let attribute = &code[start..body];
        let names: Vec<&str> = words(attribute).into_iter().map(|(_, word)| word).collect();
        let conditional = names.first() == Some(&"cfg") && names.contains(&"test") && !names.contains(&"not");
        if conditional || names == ["test"] {
            let end = end_of_item(code.as_bytes(), body);
            for byte in &mut out[start..end] {
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
            from = end;
        } else {
            from = body;
        }
    }
    String::from_utf8(out).expect("whole items are blanked")
}

/// After the bracket that closes the one at `open`.
fn end_of_group(bytes: &[u8], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in bytes.iter().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return at + 1;
        }
    }
    bytes.len()
}

/// After the body or the semicolon that ends the item which begins at `from`.
fn end_of_item(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while at < bytes.len() {
        match bytes[at] {
            b'(' | b'[' => at = end_of_group(bytes, at),
            b'{' => return end_of_group(bytes, at),
            b';' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visible(text: &str) -> Vec<String> {
        let code = blank_comments_and_literals(text);
        assert_eq!(code.len(), text.len(), "offsets must keep their meaning");
        words(&code)
            .into_iter()
            .map(|(_, word)| word.to_owned())
            .collect()
    }

    #[test]
    fn comments_and_literals_are_not_code() {
        assert_eq!(visible("a // b\nc"), ["a", "c"]);
        assert_eq!(visible("a /* b /* c */ d */ e"), ["a", "e"]);
        assert_eq!(visible(r#"a("b \" c", d)"#), ["a", "d"]);
        assert_eq!(
            visible(r##"a(r#"b " c"#, br"d", e)"##),
            ["a", "b", "e"],
            "the prefix b stays, its string goes"
        );
        assert_eq!(visible("a('b', '\\'', '\\u{7f}', 'ü', c)"), ["a", "c"]);
        assert_eq!(
            visible("fn a<'b>(c: &'b str) { 'd: loop { break 'd } }")
                .last()
                .unwrap(),
            "d"
        );
        assert_eq!(visible("r#type for_r r"), ["r", "type", "for_r", "r"]);
        assert_eq!(visible("a \"never closed"), ["a"]);
    }

    #[test]
    fn numbers_are_told_from_ranges_and_tuple_fields() {
        let floats = |code: &str| words(code).iter().filter(|(_, word)| is_float(word)).count();
        assert_eq!(floats("1.5 + 0.0 + 1e9 + 1f64 + 2.5_f32"), 5);
        assert_eq!(
            floats("0..5; x.0.1; 1.max(2); 0xe1; 7usize; 1_000; f64_of; let half;"),
            0
        );
        assert_eq!(floats("x as f64; Vec::<f32>::new()"), 2);
    }

    #[test]
    fn tests_are_not_shipped() {
        let shipped = |code: &str| blank_tests(code).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(shipped("a\n#[cfg(test)]\nmod tests { fn b() { c() } }\nd"), "a d");
        assert_eq!(shipped("#[cfg(test)] mod tests; a"), "a");
        assert_eq!(shipped("#[test] #[ignore] fn b(c: [u8; 3]) { d } e"), "e");
        assert_eq!(shipped("#[cfg(any(test, feature))] use b::c; d"), "d");
        assert_eq!(
            shipped("#[cfg(not(test))] fn a() {}"),
            "#[cfg(not(test))] fn a() {}"
        );
        assert_eq!(
            shipped("#[derive(Debug)] struct A;"),
            "#[derive(Debug)] struct A;"
        );
    }

    #[test]
    fn crates_are_found_at_the_root_of_a_path_only() {
        let found = |code: &str| crate_mentions(code, |name| name == "kube").len();
        assert_eq!(found("use kube::Client;"), 1);
        assert_eq!(found("use ::kube::Client; fn a(b: ::kube::Api) {}"), 2);
        assert_eq!(found("use kube; extern crate kube;"), 2);
        assert_eq!(found("fn a() -> kube::Result<()> { kube :: b() }"), 2);
        assert_eq!(
            found("use crate::kube::x; let kube = 1; self.kube(); use kubernetes::y;"),
            0
        );
    }

    #[test]
    fn modules_are_found_through_braces_and_supers() {
        let found = |path: &str, code: &str| {
            root_modules(path, code)
                .into_iter()
                .map(|(_, name)| name)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            found("solver/src/check/mod.rs", "use crate::model::Plan;"),
            ["model"]
        );
        assert_eq!(
            found(
                "solver/src/check/mod.rs",
                "use crate::{model::{A, B}, lower, pack::C};"
            ),
            ["model", "lower", "pack"]
        );
        assert_eq!(found("solver/src/check/mod.rs", "use super::pack::C;"), ["pack"]);
        assert_eq!(
            found("solver/src/check/taints.rs", "use super::report;"),
            Vec::<String>::new()
        );
        assert_eq!(
            found("solver/src/check/taints.rs", "use super::super::pack;"),
            ["pack"]
        );
        assert_eq!(found("src/args.rs", "use super::*; use x;"), Vec::<String>::new());
        assert_eq!(
            found("src/lib.rs", "pub(crate) use x; pub(in crate::api) fn a() {}"),
            ["api"]
        );
    }

    #[test]
    fn lines_count_from_one() {
        assert_eq!(line_of("a\nb\nc", 0), 1);
        assert_eq!(line_of("a\nb\nc", 4), 3);
    }
}
