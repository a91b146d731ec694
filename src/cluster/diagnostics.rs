//! What there is to say about the input, for people and for programs.
//!
//! A [`Note`] says what was wrong or left out, where, and what follows from it. Every note is counted by its
//! [`Reason`], also where hostile input makes so many of them that not all are kept. Rendering is done elsewhere.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// How loud a note is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know; the plan is right without it.
    Info,
    /// The plan may be wrong in the way that the note says.
    Warning,
    /// Something that was given is not in the plan.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// Why there is a note. The list is closed, so that a program can count on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Reason {
    /// A source, or a part of it, can't be read at all.
    Unreadable,
    /// A document is neither YAML nor JSON.
    Syntax,
    /// A document is no Kubernetes object.
    NotAnObject,
    /// An object has a value that makes no sense.
    Malformed,
    /// A value that an API server would refuse, or that has no effect; it is taken as it is meant.
    Odd,
    /// An object has a field that its kind doesn't know.
    UnknownField,
    /// A kind that planning doesn't read.
    UnknownKind,
    /// Two different objects of the same kind and name.
    Duplicate,
    /// The same object twice.
    IdenticalCopy,
    /// A kind that the server doesn't have, or that may not be listed.
    NotListed,
    /// A rule that this version doesn't weigh yet.
    NotWeighed,
    /// A pod that is not planned, though it has no node.
    NotPlanned,
    /// Volumes of claims, where the input has nothing about storage.
    StorageMissing,
    /// Nodes that aren't in the input: pods are on them, or a NodePool's status counts them.
    NodeMissing,
    /// A NodePool that launches nothing.
    NodePoolLeftOut,
    /// A NodePool without its node class.
    NodeClassMissing,
    /// A node or node claim whose size or price isn't known.
    NodeUnknown,
    /// A workload that would bring too many pods.
    TooManyPods,
    /// A PackingPolicy that can't hold, or a part of one.
    Policy,
    /// A Catalog that isn't used, or a part of one.
    Catalogue,
}

impl Reason {
    /// The word that the JSON output uses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Syntax => "syntax",
            Self::NotAnObject => "notAnObject",
            Self::Malformed => "malformed",
            Self::Odd => "odd",
            Self::UnknownField => "unknownField",
            Self::UnknownKind => "unknownKind",
            Self::Duplicate => "duplicate",
            Self::IdenticalCopy => "identicalCopy",
            Self::NotListed => "notListed",
            Self::NotWeighed => "notWeighed",
            Self::NotPlanned => "notPlanned",
            Self::StorageMissing => "storageMissing",
            Self::NodeMissing => "nodeMissing",
            Self::NodePoolLeftOut => "nodePoolLeftOut",
            Self::NodeClassMissing => "nodeClassMissing",
            Self::NodeUnknown => "nodeUnknown",
            Self::TooManyPods => "tooManyPods",
            Self::Policy => "policy",
            Self::Catalogue => "catalogue",
        }
    }

    /// Whether a note of this reason means that an object was dropped.
    #[must_use]
    pub fn drops_an_object(self) -> bool {
        matches!(
            self,
            Self::Unreadable
                | Self::Syntax
                | Self::NotAnObject
                | Self::Malformed
                | Self::Duplicate
                | Self::TooManyPods
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Where an object was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// File, `standard input`, or the cluster's name.
    pub source: Arc<str>,
    /// Which document of it, from 1; 0 where there are none.
    pub document: u32,
    /// Which item of the document's list, from 1; 0 where it is no list.
    pub item: u32,
    /// First line of the document, from 1; 0 where there are none.
    pub line: u32,
}

impl Origin {
    /// A source as a whole.
    #[must_use]
    pub fn whole(source: &str) -> Self {
        Self {
            source: Arc::from(source),
            document: 0,
            item: 0,
            line: 0,
        }
    }
}

impl fmt::Display for Origin {
    /// `shop.yaml, document 3 (line 40), item 2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        if self.document != 0 {
            write!(f, ", document {}", self.document)?;
        }
        if self.line != 0 {
            write!(f, " (line {})", self.line)?;
        }
        if self.item != 0 {
            write!(f, ", item {}", self.item)?;
        }
        Ok(())
    }
}

/// One thing to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// How loud.
    pub severity: Severity,
    /// Why.
    pub reason: Reason,
    /// Where, if it concerns one place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Kind and name of what it concerns: `NodePool default`, `Pod shop/web-0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Path inside the object, such as `spec.template.spec.requirements[0].operator`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The sentence: what is wrong, what was expected, what follows.
    pub message: String,
    /// How many things it stands for.
    pub count: u64,
}

impl Note {
    /// A note about one thing.
    #[must_use]
    pub fn new(severity: Severity, reason: Reason, message: impl Into<String>) -> Self {
        Self {
            severity,
            reason,
            origin: None,
            object: None,
            path: None,
            message: message.into(),
            count: 1,
        }
    }

    /// Good to know.
    #[must_use]
    pub fn info(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Severity::Info, reason, message)
    }

    /// To be careful about.
    #[must_use]
    pub fn warning(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, reason, message)
    }

    /// Something is missing from the plan.
    #[must_use]
    pub fn error(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, reason, message)
    }

    /// Names the place.
    #[must_use]
    pub fn at(mut self, origin: &Origin) -> Self {
        self.origin = Some(origin.clone());
        self
    }

    /// Names the place, where it is known.
    #[must_use]
    pub fn at_known(self, origin: Option<&Origin>) -> Self {
        match origin {
            Some(origin) => self.at(origin),
            None => self,
        }
    }

    /// Names the object.
    #[must_use]
    pub fn about(mut self, object: impl fmt::Display) -> Self {
        self.object = Some(object.to_string());
        self
    }

    /// Names the path inside the object.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Stands for so many things.
    #[must_use]
    pub fn counting(mut self, count: u64) -> Self {
        self.count = count;
        self
    }
}

impl fmt::Display for Note {
    /// `shop.yaml, document 3 (line 40): NodePool default: spec.weight: expected an integer`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(origin) = &self.origin {
            write!(f, "{origin}: ")?;
        }
        if let Some(object) = &self.object {
            write!(f, "{object}: ")?;
        }
        if let Some(path) = &self.path {
            write!(f, "{path}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// Of one reason, so many notes are kept in full: nobody reads more, and hostile input must not fill the memory.
const KEPT_OF_A_REASON: u64 = 200;

/// All there is to say, in order of appearance, and counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    notes: Vec<Note>,
    counts: BTreeMap<(Reason, Severity), Tally>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    notes: u64,
    things: u64,
}

impl Diagnostics {
    /// Nothing to say yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps a note, and counts it in any case.
    pub fn add(&mut self, note: Note) {
        let tally = self.counts.entry((note.reason, note.severity)).or_default();
        tally.notes += 1;
        tally.things = tally.things.saturating_add(note.count);
        if tally.notes <= KEPT_OF_A_REASON {
            self.notes.push(note);
        }
    }

    /// Adds all of another.
    pub fn extend(&mut self, notes: impl IntoIterator<Item = Note>) {
        for note in notes {
            self.add(note);
        }
    }

    /// The notes that were kept.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// How many things there are by reason, whether their notes were kept or not.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<Reason, u64> {
        let mut counts = BTreeMap::new();
        for ((reason, _), tally) in &self.counts {
            *counts.entry(*reason).or_default() += tally.things;
        }
        counts
    }

    /// How many objects (or documents, where no object could be made out) were dropped, by reason.
    #[must_use]
    pub fn dropped(&self) -> BTreeMap<Reason, u64> {
        self.counts()
            .into_iter()
            .filter(|(reason, _)| reason.drops_an_object())
            .collect()
    }

    /// Whether anything that was given is missing from the plan.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.counts
            .keys()
            .any(|(_, severity)| *severity == Severity::Error)
    }

    /// Nothing to say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_every_note_and_keeps_the_first_of_a_reason() {
        let mut diagnostics = Diagnostics::new();
        for _ in 0..1_000 {
            diagnostics.add(Note::error(Reason::Malformed, "no"));
        }
        diagnostics.add(Note::info(Reason::UnknownKind, "Service").counting(7));
        assert_eq!(diagnostics.notes().len(), 201);
        assert_eq!(diagnostics.counts()[&Reason::Malformed], 1_000);
        assert_eq!(diagnostics.counts()[&Reason::UnknownKind], 7);
        assert_eq!(
            diagnostics.dropped(),
            BTreeMap::from([(Reason::Malformed, 1_000)])
        );
        assert!(diagnostics.has_errors());
    }

    #[test]
    fn a_note_reads_from_the_file_to_the_field() {
        let origin = Origin {
            source: Arc::from("shop.yaml"),
            document: 3,
            item: 2,
            line: 40,
        };
        let note = Note::warning(Reason::UnknownField, "unknown field")
            .at(&origin)
            .about("NodePool default")
            .path("spec.wieght");
        assert_eq!(
            note.to_string(),
            "shop.yaml, document 3 (line 40), item 2: NodePool default: spec.wieght: unknown field"
        );
    }
}
