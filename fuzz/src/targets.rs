//! What is done with hostile input: by the fuzz targets, and by `tests/fuzz_corpus.rs` with every file of the corpus.
//!
//! Each function may refuse its input in any way but a panic, and asserts what must hold of what it accepts.

use dovetail::cluster::manifests::{Edit, read_bytes};
use dovetail::cluster::snapshot::{FreezeOptions, freeze};
use dovetail_solver::model::quantity::{Quantity, Rounding};
use dovetail_solver::model::requirement::{Labels, Operator, Requirement, Requirements, ValueSet};
use dovetail_solver::model::resources::{Amount, ResourceName};

/// One quantity: what is read can be written and read again, and rounding never swaps sides.
pub(crate) fn quantities(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(quantity) = text.parse::<Quantity>() else {
        return;
    };
    let written = quantity.to_string();
    assert_eq!(
        written.parse::<Quantity>(),
        Ok(quantity),
        "{text:?} was written as {written:?}"
    );
    for (down, up) in [
        (quantity.millis(Rounding::Down), quantity.millis(Rounding::Up)),
        (quantity.units(Rounding::Down), quantity.units(Rounding::Up)),
    ] {
        if let (Some(down), Some(up)) = (down, up) {
            assert!(down <= up && up - down <= 1, "{text:?}: {down} to {up}");
        }
    }
    for name in ["cpu", "memory", "pods", "example.com/thing"] {
        let name = ResourceName::from(name);
        if let Ok(amount) = Amount::from_quantity(&name, quantity, Rounding::Up) {
            assert!(!amount.display(name.unit()).to_string().is_empty());
        }
    }
}

/// Requirements, one a line (`KEY OPERATOR [VALUE…]`): an intersection admits what both admit, in either order.
pub(crate) fn requirements(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let written: Vec<Requirement> = text.lines().take(12).filter_map(requirement).collect();
    let sets: Vec<ValueSet> = written
        .iter()
        .filter_map(|requirement| ValueSet::of(requirement).ok())
        .collect();
    let samples: Vec<Option<String>> = written
        .iter()
        .flat_map(|requirement| requirement.values.iter().take(6).cloned().map(Some))
        .chain(["", "0", "7", "x"].map(|value| Some(value.to_owned())))
        .chain([None])
        .collect();
    for one in &sets {
        assert!(!one.to_string().is_empty());
        for two in &sets {
            let both = one.intersect(two);
            assert_eq!(both, two.intersect(one));
            for sample in samples.iter().map(Option::as_deref) {
                assert_eq!(
                    both.admits(sample),
                    one.admits(sample) && two.admits(sample),
                    "{one} and {two}: {sample:?}"
                );
                assert!(
                    !(both.is_empty() && both.admits(sample)),
                    "{one} and {two}: {sample:?}"
                );
            }
        }
    }
    if let Ok(all) = Requirements::of(&written) {
        let labels: Labels = written
            .iter()
            .filter_map(|requirement| Some((requirement.key.clone(), requirement.values.first()?.clone())))
            .collect();
        assert_eq!(all.admits(&labels), all.first_unmet(&labels).is_none());
    }
}

fn requirement(line: &str) -> Option<Requirement> {
    let mut words = line.split(' ');
    Some(Requirement {
        key: words.next()?.to_owned(),
        operator: Operator::parse(words.next()?)?,
        values: words.map(str::to_owned).collect(),
        min_values: None,
    })
}

/// A catalogue small enough to be read for every input.
const CATALOG: &str = "
---
apiVersion: dovetail.sh/v1alpha1
kind: Catalog
metadata: {name: fuzz}
spec: {zones: [z], instanceTypes: [{name: c7i.large, capacity: {cpu: 2, memory: 4Gi, pods: 29}, onDemand: 0.1}]}
";

/// A file of manifests, from bytes to the snapshot. A first line `#set EDIT` is an edit.
pub(crate) fn manifests(data: &[u8]) {
    let first = data.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let edits: Vec<Edit> = std::str::from_utf8(first)
        .ok()
        .and_then(|line| line.strip_prefix("#set ")?.trim_end().parse().ok())
        .into_iter()
        .collect();
    let input = [data, CATALOG.as_bytes()].concat();
    let Ok(read) = read_bytes("fuzz", &input, &edits) else {
        return;
    };
    for note in read.diagnostics.notes() {
        assert!(!note.to_string().is_empty());
    }
    if let Ok(frozen) = freeze(&read.index, &FreezeOptions::default()) {
        // What was frozen passes its own checks again.
        let parts = frozen.snapshot.into_parts();
        assert!(parts.freeze().is_ok(), "a snapshot doesn't freeze twice");
    }
}
