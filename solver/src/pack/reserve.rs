//! Fillings that were found and aren't in the master program: worth too little then, perhaps not later.
//!
//! To value them anew costs a thousandth of looking for others.

use std::collections::BTreeSet;

use super::effort::Effort;
use super::generator::Generator;
use super::master::Pattern;
use super::valuation::Valuation;

/// Fillings beyond which the reserve is emptied: most of them are for values long past.
const MOST: usize = 20_000;

/// The fillings.
#[derive(Debug, Default)]
pub struct Reserve {
    patterns: BTreeSet<Pattern>,
}

impl Reserve {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.patterns.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Keeps more of them.
    pub fn keep(&mut self, patterns: Vec<Pattern>) {
        if self.patterns.len() + patterns.len() > MOST {
            self.patterns.clear();
        }
        self.patterns.extend(patterns);
    }

    /// Whether one is worth more than it costs.
    #[must_use]
    pub fn has_worthwhile(&self, generator: &Generator<'_>, valuation: &Valuation) -> bool {
        let mut patterns = self.patterns.iter();
        patterns.any(|pattern| generator.is_worthwhile(pattern, valuation))
    }

    /// Takes out the fillings that are worth most over their cost, so many at most.
    pub fn draw(
        &mut self,
        generator: &Generator<'_>,
        valuation: &Valuation,
        most: usize,
        effort: &mut Effort<'_>,
    ) -> Vec<Pattern> {
        self.draw_where(generator, valuation, most, |_| true, effort)
    }

    /// The same of those that are admitted alone.
    pub fn draw_where(
        &mut self,
        generator: &Generator<'_>,
        valuation: &Valuation,
        most: usize,
        is_admitted: impl Fn(&Pattern) -> bool,
        effort: &mut Effort<'_>,
    ) -> Vec<Pattern> {
        effort.spend(u64::try_from(self.patterns.len()).unwrap_or(u64::MAX));
        let patterns = self.patterns.iter();
        let worthwhile =
            patterns.filter(|pattern| generator.is_worthwhile(pattern, valuation) && is_admitted(pattern));
        let mut drawn = generator.worthwhile(worthwhile.cloned().collect(), valuation);
        drawn.truncate(most);
        for pattern in &drawn {
            self.patterns.remove(pattern);
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::lower;
    use crate::options::PlanOptions;
    use crate::pack::valuation::Rules;
    use crate::quota::Unlimited;
    use crate::testing::build::{Cluster, machine};

    #[test]
    fn what_becomes_worthwhile_is_drawn_once_the_best_first() {
        let snapshot = Cluster::new()
            .instance_type(machine("small", "2", "8Gi", "0.1"))
            .pool("default")
            .pods("web", 9, "500m", "1Gi")
            .freeze();
        let problem = lower(&snapshot);
        let generator = Generator::new(&problem, &problem.counts(), Rules::default()).unwrap();
        let options = PlanOptions::default();
        let mut effort = Effort::new(&options, &Unlimited);
        let filling = |count| Pattern {
            kind: 0,
            filling: vec![(0, count)],
        };
        let mut reserve = Reserve::default();
        reserve.keep((1..=4).map(filling).collect());
        let mut draw = |value: f64, most| {
            let values = Valuation::new(&problem, vec![value]);
            assert_eq!(
                reserve.has_worthwhile(&generator, &values),
                value > 25_000.0 && !reserve.is_empty()
            );
            reserve.draw(&generator, &values, most, &mut effort)
        };
        // A node costs 100 000: four pods of 24 000 are worth less, four of 40 000 more, and three.
        assert_eq!(draw(24_000.0, 9), []);
        assert_eq!(draw(40_000.0, 9), [filling(4), filling(3)]);
        assert_eq!(draw(200_000.0, 1), [filling(2)]);
        assert_eq!(draw(200_000.0, 9), [filling(1)]);
        assert_eq!(draw(200_000.0, 9), []);
    }
}
