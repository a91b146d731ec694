//! Outcomes as ratios, and their means over sets and classes.
//!
//! A ratio below one means that the plan is cheaper. The bound is the file's or the best of our own under any budget of
//! the run, whichever is higher, so that one instance has one bound.

use dovetail_solver::model::plan::ProofKind;

use super::measure::Outcome;
use super::sets::Case;

/// Dollars below which two costs are the same: plans are exact to a millionth.
const SAME: f64 = 5e-7;

/// An outcome beside what is known.
pub(crate) struct Scored<'a> {
    pub(crate) case: &'a Case,
    pub(crate) outcome: &'a Outcome,
    /// The highest bound there is.
    pub(crate) bound: f64,
}

impl<'a> Scored<'a> {
    /// Outcomes with their cases, every one with the highest bound of its case.
    pub(crate) fn all(cases: &[&'a Case], outcomes: &'a [Outcome]) -> Vec<Self> {
        let mut scored = Vec::new();
        for case in cases {
            let path = case.path();
            let own = || outcomes.iter().filter(|outcome| outcome.case == path);
            let file = case.known.lower_bound.unwrap_or(0.0);
            let bound = own().map(|outcome| outcome.bound).fold(file, f64::max);
            scored.extend(own().map(|outcome| Self { case, outcome, bound }));
        }
        scored
    }

    /// Cost ÷ bound; `None` where nothing is proved.
    pub(crate) fn over_bound(&self) -> Option<f64> {
        (self.bound > 0.0).then(|| self.outcome.cost / self.bound)
    }

    /// Cost ÷ the plan's own bound.
    pub(crate) fn over_own_bound(&self) -> Option<f64> {
        (self.outcome.bound > 0.0).then(|| self.outcome.cost / self.outcome.bound)
    }

    /// Cost ÷ best known.
    pub(crate) fn over_best(&self) -> Option<f64> {
        self.case.known.best.map(|best| self.outcome.cost / best)
    }

    /// Cost ÷ first-fit decreasing in Karpenter's order.
    pub(crate) fn over_baseline(&self) -> f64 {
        self.outcome.cost / self.outcome.baseline
    }

    /// Cost ÷ the rival's, which is rounded to thousandths of a dollar.
    pub(crate) fn over_rival(&self) -> Option<f64> {
        let rounded = (self.outcome.cost * 1_000.0).round() / 1_000.0;
        self.case.known.rival.map(|rival| rounded / rival)
    }

    /// Whether the plan costs as little as the known optimum; `None` where that isn't known.
    pub(crate) fn is_optimal(&self) -> Option<bool> {
        let known = &self.case.known;
        let optimum = known.best.filter(|_| known.best_is_optimum)?;
        Some(self.outcome.cost <= optimum + SAME)
    }

    /// Whether the plan is proved optimal by its own bound.
    pub(crate) fn is_proved(&self) -> bool {
        self.outcome.proof == ProofKind::Optimal
    }
}

/// The means of some outcomes under one budget.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) title: String,
    pub(crate) budget: f64,
    pub(crate) count: usize,
    pub(crate) over_bound: Option<f64>,
    pub(crate) over_own_bound: Option<f64>,
    pub(crate) over_best: Option<f64>,
    pub(crate) over_baseline: Option<f64>,
    pub(crate) over_rival: Option<f64>,
    /// How many cost more than the rival's plan.
    pub(crate) dearer: usize,
    /// Plans as cheap as the known optimum, of so many whose optimum is known.
    pub(crate) optimal: (usize, usize),
    pub(crate) proved: usize,
    /// Geometric mean of planning.
    pub(crate) seconds: f64,
    /// Longest planning.
    pub(crate) longest: f64,
    /// Largest process.
    pub(crate) peak_kib: Option<u64>,
}

impl Summary {
    /// Sums up; `None` of nothing.
    pub(crate) fn of(title: &str, budget: f64, scored: &[&Scored<'_>]) -> Option<Self> {
        let seconds = || scored.iter().map(|scored| scored.outcome.plan);
        let judged: Vec<bool> = scored.iter().filter_map(|scored| scored.is_optimal()).collect();
        Some(Self {
            title: title.to_owned(),
            budget,
            count: scored.len(),
            over_bound: mean(scored, Scored::over_bound),
            over_own_bound: mean(scored, Scored::over_own_bound),
            over_best: mean(scored, Scored::over_best),
            over_baseline: mean(scored, |scored| Some(scored.over_baseline())),
            over_rival: mean(scored, Scored::over_rival),
            dearer: scored
                .iter()
                .filter(|scored| scored.over_rival().is_some_and(|ratio| ratio > 1.0))
                .count(),
            optimal: (judged.iter().filter(|hit| **hit).count(), judged.len()),
            proved: scored.iter().filter(|scored| scored.is_proved()).count(),
            seconds: geometric_mean(seconds())?,
            longest: seconds().fold(0.0, f64::max),
            peak_kib: scored.iter().filter_map(|scored| scored.outcome.peak_kib).max(),
        })
    }
}

fn mean<'a>(scored: &[&Scored<'a>], ratio: fn(&Scored<'a>) -> Option<f64>) -> Option<f64> {
    geometric_mean(scored.iter().filter_map(|one| ratio(one)))
}

/// For each set, then for each of its classes in the order in which they come, a line for each budget.
pub(crate) fn summaries(scored: &[Scored<'_>], budgets: &[f64]) -> Vec<Vec<Summary>> {
    let mut titles: Vec<(&str, Option<&str>)> = Vec::new();
    for one in scored {
        let own = one.case.classes.iter().map(|class| Some(class.as_str()));
        for class in std::iter::once(None).chain(own) {
            if !titles.contains(&(one.case.set, class)) {
                titles.push((one.case.set, class));
            }
        }
    }
    let set_first = |set: &str| titles.iter().position(|title| title.0 == set);
    let mut ordered = titles.clone();
    // Stable: classes stay in the order in which they came.
    ordered.sort_by_key(|(set, class)| (set_first(set), class.is_some()));
    let lines = ordered.into_iter().map(|(set, class)| {
        let title = class.map_or_else(|| set.to_owned(), |class| format!("  {class}"));
        let within = |one: &&Scored<'_>| {
            one.case.set == set && class.is_none_or(|class| one.case.classes.iter().any(|own| own == class))
        };
        let of = |budget: &f64| {
            let chosen: Vec<&Scored<'_>> = scored
                .iter()
                .filter(within)
                .filter(|one| one.outcome.budget.total_cmp(budget).is_eq())
                .collect();
            Summary::of(&title, *budget, &chosen)
        };
        budgets.iter().filter_map(of).collect()
    });
    lines.collect()
}

/// Geometric mean; `None` of nothing.
pub(crate) fn geometric_mean(ratios: impl IntoIterator<Item = f64>) -> Option<f64> {
    let logs: Vec<f64> = ratios.into_iter().map(f64::ln).collect();
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}
