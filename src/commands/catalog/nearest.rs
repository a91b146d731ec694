//! Names that somebody may have meant.

/// Names that one message proposes.
const MOST: usize = 3;

/// The names that need the fewest changes to become `meant`, if that is few enough.
pub(super) fn names<'a>(meant: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    // About a third of a name may be wrong; beyond that a proposal is noise.
    let few = (meant.chars().count() / 3).clamp(1, 4);
    let mut near: Vec<(usize, &str)> = known
        .map(|name| (distance(meant, name), name))
        .filter(|(distance, _)| *distance <= few)
        .collect();
    near.sort_unstable();
    near.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// Levenshtein's: characters to insert, delete or replace.
fn distance(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().collect();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (above, left) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = above + 1;
        for (column, top) in two.iter().enumerate() {
            let replaced = diagonal + usize::from(left != *top);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[two.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_changes() {
        for (one, two, expected) in [
            ("", "abc", 3),
            ("m5.large", "m5.large", 0),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(one, two), expected);
        }
        let known = ["m5.large", "m5.xlarge", "c5.large", "p5.48xlarge"];
        assert_eq!(names("m5.larg", known.into_iter())[0], "m5.large");
        assert!(names("potato", known.into_iter()).is_empty());
    }
}
