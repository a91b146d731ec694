//! More ways to throw the dice, as only random clusters need them.

use super::super::support::dice::Dice;

impl Dice {
    /// True this often in a hundred times.
    pub(super) fn percent(&mut self, often: usize) -> bool {
        self.below(100) < often
    }

    /// One of some.
    pub(super) fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// Each of some with even odds; at least one.
    pub(super) fn some<T: Clone>(&mut self, of: &[T]) -> Vec<T> {
        let sure = self.below(of.len());
        let mut chosen = Vec::new();
        for (index, one) in of.iter().enumerate() {
            if index == sure || self.percent(50) {
                chosen.push(one.clone());
            }
        }
        chosen
    }
}
