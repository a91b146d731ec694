//! Manifests in: files, folders and standard input become an [`Index`].
//!
//! Promises: any Kubernetes YAML or JSON (several documents or values, lists, byte order marks, Windows line ends);
//! memory for one document at a time; a broken document or object, or a file of a folder that can't be opened, is named,
//! counted and left out, the rest is read. Only a source that can't be opened and an edit that can't be made end the
//! reading.

mod documents;
mod edit;
mod files;
mod tree;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use thiserror::Error;

use super::diagnostics::{Diagnostics, Note, Origin, Reason};
use super::index::{Index, Insertion};
use super::objects::meta::ObjectName;
use super::objects::{self, Kind, ParseError, Parsed};
use documents::{CutError, Documents};
pub use edit::{Edit, EditError};
use files::{Files, files};
pub(super) use tree::read_value;

/// Where manifests are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file, or a folder that is searched for `*.yaml`, `*.yml` and `*.json`.
    Path(PathBuf),
    /// Standard input, `-` on the command line.
    Stdin,
}

impl From<&str> for Source {
    fn from(text: &str) -> Self {
        if text == "-" {
            Self::Stdin
        } else {
            Self::Path(PathBuf::from(text))
        }
    }
}

/// What was read.
#[derive(Clone, Debug, Default)]
pub struct Read {
    /// The objects.
    pub index: Index,
    /// What there is to say about them.
    pub diagnostics: Diagnostics,
}

/// Why nothing could be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// A source that can't be opened.
    #[error("reading {path}")]
    Open {
        /// Which.
        path: String,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// A folder without manifests.
    #[error("no *.yaml, *.yml or *.json file in {0}")]
    EmptyFolder(String),
    /// Standard input can be read once.
    #[error("standard input (-) is named twice")]
    StdinTwice,
    /// An edit that can't be made.
    #[error(transparent)]
    Edit(#[from] EditError),
}

/// Reads all sources, edits what is to be edited, and indexes the objects.
///
/// # Errors
/// A source that can't be opened; an edit that matches no object or can't be made.
pub fn read(sources: &[Source], edits: &[Edit]) -> Result<Read, ReadError> {
    let mut intake = Intake::new(edits);
    intake.read_sources(sources)?;
    intake.finish()
}

/// Reads manifests from memory; `name` stands for the file's.
///
/// # Errors
/// An edit that matches no object or can't be made.
pub fn read_bytes(name: &str, bytes: &[u8], edits: &[Edit]) -> Result<Read, ReadError> {
    let mut intake = Intake::new(edits);
    intake.read_stream(name, bytes);
    intake.finish()
}

/// What is being read.
pub(super) struct Intake<'e> {
    edits: &'e [Edit],
    read: Read,
    /// Objects that an edit may be about: which of them is known when all names are.
    edited: Vec<Candidate>,
    unknown_kinds: BTreeMap<String, u64>,
    copies: u64,
}

struct Candidate {
    tree: Value,
    kind: Kind,
    name: ObjectName,
    origin: Origin,
}

impl<'e> Intake<'e> {
    pub(super) fn new(edits: &'e [Edit]) -> Self {
        Self {
            edits,
            read: Read::default(),
            edited: Vec::new(),
            unknown_kinds: BTreeMap::new(),
            copies: 0,
        }
    }

    /// Reads every document of these sources.
    pub(super) fn read_sources(&mut self, sources: &[Source]) -> Result<(), ReadError> {
        if sources.iter().filter(|source| **source == Source::Stdin).count() > 1 {
            return Err(ReadError::StdinTwice);
        }
        for source in sources {
            match source {
                Source::Stdin => self.read_stream("standard input", io::stdin().lock()),
                Source::Path(path) => {
                    let Files { found, unreadable } = files(path)?;
                    for (file, error) in unreadable {
                        self.say_unreadable(&file, &error);
                    }
                    for file in found {
                        let name = file.display().to_string();
                        match File::open(&file) {
                            Ok(opened) => {
                                self.read_stream(&name, BufReader::with_capacity(1 << 18, opened));
                            }
                            // What was named itself must be there; of a folder the rest is still worth planning.
                            Err(error) if file == *path => {
                                return Err(ReadError::Open { path: name, error });
                            }
                            Err(error) => self.say_unreadable(&file, &error),
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn say_unreadable(&mut self, path: &Path, error: &io::Error) {
        let note = Note::error(Reason::Unreadable, format!("opening it: {error}"));
        self.say(note.at(&Origin::whole(&path.display().to_string())));
    }

    fn read_stream(&mut self, name: &str, reader: impl BufRead) {
        let source: Arc<str> = Arc::from(name);
        let mut documents = Documents::new(reader);
        let mut number = 0_u32;
        while let Some(document) = documents.next() {
            number = number.saturating_add(1);
            let origin = |line| Origin {
                source: Arc::clone(&source),
                document: number,
                item: 0,
                line,
            };
            match document {
                Ok(document) => self.read_document(&document, &origin(document.line)),
                Err(error) => {
                    let mut message = error.to_string();
                    if let CutError::Io(cause) = &error {
                        message = format!("{message}: {cause}");
                    }
                    self.say(Note::error(Reason::Unreadable, message).at(&origin(0)));
                }
            }
        }
        if number == 0 {
            let message = "no Kubernetes object in it (expected YAML or JSON)";
            self.say(
                Note::warning(Reason::NotAnObject, message)
                    .at(&Origin::whole(name))
                    .counting(0),
            );
        }
    }

    /// One answer of a server.
    pub(super) fn read_page(&mut self, page: &str, origin: &Origin) {
        let document = documents::Document {
            text: page.to_owned(),
            line: 1,
        };
        self.read_document(&document, origin);
    }

    fn read_document(&mut self, document: &documents::Document, origin: &Origin) {
        let result = tree::read_document(&document.text, &mut |tree, item| {
            self.take(
                tree,
                Origin {
                    item,
                    ..origin.clone()
                },
            );
        });
        if let Err(tree::SyntaxError { message, line }) = result {
            let place = line.map_or_else(String::new, |line| {
                format!("line {}: ", document.line.saturating_add(line).saturating_sub(1))
            });
            let message = format!("{place}{message} (expected YAML or JSON)");
            self.say(Note::error(Reason::Syntax, message).at(origin));
        }
    }

    fn take(&mut self, tree: Value, origin: Origin) {
        // A list inside a list, or several in one document.
        if let Some(items) = items_of(&tree) {
            for item in items.clone() {
                self.take(item, origin.clone());
            }
            return;
        }
        if is_list(&tree) && tree.get("items").is_some() {
            let note = Note::error(
                Reason::Malformed,
                "expected a list of objects; the document is dropped",
            );
            self.say(note.at(&origin).path("items"));
            return;
        }
        if !self.edits.is_empty()
            && let Some((kind, name)) = objects::identify(&tree)
            && self.edits.iter().any(|edit| edit.matches(kind, &name).is_some())
        {
            self.edited.push(Candidate {
                tree,
                kind,
                name,
                origin,
            });
        } else {
            self.insert(tree, &origin);
        }
    }

    fn insert(&mut self, tree: Value, origin: &Origin) {
        match objects::parse(tree) {
            Ok(Parsed {
                kind,
                name,
                object,
                unknown_fields,
            }) => {
                let label = format_args!("{kind} {name}").to_string();
                for path in unknown_fields {
                    let message = "this kind has no such field; it is ignored (kubectl refuses it under strict validation)";
                    self.say(
                        Note::warning(Reason::UnknownField, message)
                            .at(origin)
                            .about(&label)
                            .path(path),
                    );
                }
                match self.read.index.insert(name, object, Some(origin.clone())) {
                    Insertion::New => {}
                    Insertion::Identical(_) => self.copies += 1,
                    Insertion::Conflict(first) => {
                        let first = first.map_or_else(String::new, |first| format!(" ({first})"));
                        let message = format!(
                            "another object of this name was read before{first}; this one is dropped"
                        );
                        self.say(Note::error(Reason::Duplicate, message).at(origin).about(label));
                    }
                }
            }
            Err(ParseError::UnknownKind { kind }) => self.count_unknown(kind),
            Err(error @ ParseError::NotAnObject { .. }) => {
                self.say(Note::error(Reason::NotAnObject, error.to_string()).at(origin));
            }
            Err(ParseError::Malformed {
                object,
                path,
                message,
            }) => {
                let note = Note::error(Reason::Malformed, format!("{message}; the object is dropped"));
                let note = note.at(origin).about(object);
                self.say(if path.is_empty() { note } else { note.path(path) });
            }
        }
    }

    fn count_unknown(&mut self, kind: String) {
        // Hostile input may have a new kind in every document.
        const KINDS_NAMED: usize = 100;
        let kind = if self.unknown_kinds.len() < KINDS_NAMED || self.unknown_kinds.contains_key(&kind) {
            kind
        } else {
            "other kinds".to_owned()
        };
        *self.unknown_kinds.entry(kind).or_default() += 1;
    }

    pub(super) fn say(&mut self, note: Note) {
        self.read.diagnostics.add(note);
    }

    pub(super) fn finish(mut self) -> Result<Read, ReadError> {
        self.make_edits()?;
        for Candidate { tree, origin, .. } in std::mem::take(&mut self.edited) {
            self.insert(tree, &origin);
        }
        for (kind, count) in std::mem::take(&mut self.unknown_kinds) {
            self.say(Note::info(Reason::UnknownKind, format!("{kind} isn't read by plan")).counting(count));
        }
        if self.copies > 0 {
            let message = "objects are there more than once, word for word; each counts once";
            self.say(Note::info(Reason::IdenticalCopy, message).counting(self.copies));
        }
        Ok(self.read)
    }

    fn make_edits(&mut self) -> Result<(), EditError> {
        for edit in self.edits {
            let longest = self
                .edited
                .iter()
                .filter_map(|one| edit.matches(one.kind, &one.name))
                .max();
            let Some(longest) = longest else {
                return Err(EditError::NoObject {
                    edit: edit.to_string(),
                    kind: edit.kind(),
                    names: self.read.index.names(edit.kind(), 5),
                });
            };
            let is_meant = |one: &Candidate| edit.matches(one.kind, &one.name) == Some(longest);
            let mut names: Vec<String> = self
                .edited
                .iter()
                .filter(|one| is_meant(one))
                .map(|one| one.name.to_string())
                .collect();
            names.dedup();
            if names.len() > 1 {
                return Err(EditError::Ambiguous {
                    edit: edit.to_string(),
                    names,
                });
            }
            for one in &mut self.edited {
                if edit.matches(one.kind, &one.name) == Some(longest) {
                    edit.make(&mut one.tree, longest)?;
                }
            }
        }
        Ok(())
    }
}

/// Whether a tree says that it is a list of objects.
fn is_list(tree: &Value) -> bool {
    tree.get("kind")
        .and_then(Value::as_str)
        .is_some_and(|kind| kind.ends_with("List"))
}

/// The items of a tree that is a list of objects.
fn items_of(tree: &Value) -> Option<&Vec<Value>> {
    tree.get("items")
        .filter(|_| is_list(tree))
        .and_then(Value::as_array)
}

#[cfg(test)]
mod tests;
