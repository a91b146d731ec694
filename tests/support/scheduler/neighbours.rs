//! InterPodAffinity: required affinity and anti-affinity between pods.

use super::{Place, Scheduler};

impl Scheduler<'_> {
    /// Why the neighbours that there are keep a kind from a place.
    pub(super) fn neighbours_refusal(&self, kind: usize, place: usize) -> Option<String> {
        let there = &self.places[place];
        self.affinity_refusal(kind, there)
            .or_else(|| self.anti_affinity_refusal(kind, there))
            .or_else(|| self.inverse_refusal(kind, there))
    }

    /// All terms need a pod that meets all of them in the node's domain; the first of a series that is drawn to itself is
    /// let in where there is none anywhere.
    fn affinity_refusal(&self, kind: usize, there: &Place) -> Option<String> {
        let wanted = &self.kinds[kind];
        let terms = &wanted.rules.affinity;
        if let Some(term) = terms.iter().find(|term| !there.labels.contains_key(&term.key)) {
            return Some(format!("InterPodAffinity: the node has no {}", term.key));
        }
        let has_match = |place: &&Place| place.kinds.keys().any(|other| wanted.near[*other]);
        let with_match: Vec<&Place> = self.places.iter().filter(has_match).collect();
        let lonely = terms
            .iter()
            .find(|term| !with_match.iter().any(|place| same(place, there, &term.key)))?;
        let counted = |place: &&Place| terms.iter().any(|term| place.labels.contains_key(&term.key));
        let first = !with_match.iter().any(counted) && wanted.near[kind];
        (!first).then(|| format!("InterPodAffinity: no match in its {}", lonely.key))
    }

    fn anti_affinity_refusal(&self, kind: usize, there: &Place) -> Option<String> {
        let wanted = &self.kinds[kind];
        let terms = wanted.rules.anti_affinity.iter().enumerate();
        let mut barred = terms.filter(|(index, term)| {
            self.places.iter().any(|place| {
                place.kinds.keys().any(|other| wanted.anti[*other][*index]) && same(place, there, &term.key)
            })
        });
        barred
            .next()
            .map(|(_, term)| format!("InterPodAffinity: its anti-affinity over {} is broken", term.key))
    }

    /// The terms of the pods that are there hold for whoever comes.
    fn inverse_refusal(&self, kind: usize, there: &Place) -> Option<String> {
        self.places.iter().find_map(|place| {
            place.kinds.keys().find_map(|other| {
                let theirs = &self.kinds[*other];
                let terms = theirs.rules.anti_affinity.iter().enumerate();
                let mut barred =
                    terms.filter(|(index, term)| theirs.anti[kind][*index] && same(place, there, &term.key));
                barred.next().map(|(_, term)| {
                    format!(
                        "InterPodAffinity: another's anti-affinity over {} bars it",
                        term.key
                    )
                })
            })
        })
    }
}

/// Whether two nodes have one value of a key; without one they have none in common.
fn same(one: &Place, other: &Place, key: &str) -> bool {
    one.labels
        .get(key)
        .is_some_and(|value| other.labels.get(key) == Some(value))
}
