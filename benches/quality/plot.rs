//! The page: gap against time, from budget to budget and within one run, one self-contained file.
//!
//! The gap is cost over the highest bound known, so that a line falls only where plans get cheaper.

use super::score::{Scored, geometric_mean};
use super::sets::SETS;
use super::svg::{Axis, Curve, Style, chart, escape};

/// A colour for each set, told apart by eyes that don't see red and green apart too.
const COLOURS: [&str; 5] = ["#0072b2", "#d55e00", "#999999", "#009e73", "#cc79a7"];
/// Percent below which a gap is drawn as this one.
const LEAST_GAP: f64 = 0.01;
/// Seconds at which the first engine is taken to have ended at the earliest.
const EARLIEST: f64 = 0.001;
/// Points of a mean curve within a run.
const STEPS: i32 = 60;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}\
svg{width:100%;max-width:44rem;display:block;margin:1rem 0}svg text{font-size:11px;fill:#444}svg .title{font-size:14px;fill:#111}\
.grid{stroke:#ddd;stroke-width:1}pre{overflow-x:auto;font-size:12px}.key span{display:inline-block;margin-right:1.2em}\
.key i{display:inline-block;width:1.6em;height:.25em;margin-right:.4em;vertical-align:middle}";

/// The page of a run; `measured` says when and under which load, `tables` is shown as it is.
pub(crate) fn page(scored: &[Scored<'_>], budgets: &[f64], measured: &str, tables: &str) -> String {
    let sets: Vec<(&str, &'static str)> = SETS
        .into_iter()
        .zip(COLOURS)
        .filter(|(set, _)| scored.iter().any(|one| one.case.set == *set))
        .collect();
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Dovetail: gap against time</title>\n<style>{STYLE}</style>\n\
         <h1>Gap against time</h1>\n<p>{}</p>\n<p>The gap is cost over the highest bound known (the file's, or the best of any budget of \
         this run). Both axes are logarithmic; a gap of {LEAST_GAP} % or less is drawn at the lower end. Thick: geometric mean. \
         Thin: single instances.</p>\n<p class=\"key\">",
        escape(measured)
    );
    for (set, colour) in &sets {
        html += &format!("<span><i style=\"background:{colour}\"></i>{set}</span>");
    }
    html += "</p>\n";
    let means: Vec<Curve> = sets
        .iter()
        .map(|(set, colour)| mean_by_budget(scored, budgets, set, colour))
        .collect();
    html += &drawn("All sets, by time budget", means);
    for (set, colour) in &sets {
        let mut curves = single_by_budget(scored, set, colour);
        curves.push(mean_by_budget(scored, budgets, set, colour));
        html += &drawn(&format!("{set}, by time budget"), curves);
        html += &drawn(
            &format!(
                "{set}, within the runs of the largest budget (dashed: how far the own bound is below the highest)"
            ),
            within_runs(scored, set, colour),
        );
    }
    html + "<h2>Figures</h2>\n<pre>" + &escape(tables) + "</pre>\n</html>\n"
}

fn drawn(title: &str, curves: Vec<Curve>) -> String {
    let curves: Vec<Curve> = curves
        .into_iter()
        .filter(|curve| !curve.points.is_empty())
        .collect();
    if curves.is_empty() {
        return String::new();
    }
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let x = Axis::around(points().map(|point| point.0), EARLIEST);
    let y = Axis::around(points().map(|point| point.1), LEAST_GAP);
    chart(title, x, y, "gap in percent, against seconds", &curves)
}

fn percent(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

fn of_set<'a>(scored: &'a [Scored<'a>], set: &'a str) -> impl Iterator<Item = &'a Scored<'a>> {
    scored.iter().filter(move |one| one.case.set == set)
}

fn mean_by_budget(scored: &[Scored<'_>], budgets: &[f64], set: &str, colour: &'static str) -> Curve {
    let point = |budget: &f64| {
        let at = of_set(scored, set).filter(|one| one.outcome.budget.total_cmp(budget).is_eq());
        let mean = geometric_mean(at.filter_map(Scored::over_bound))?;
        Some((*budget, percent(mean)))
    };
    Curve {
        title: set.to_owned(),
        colour,
        style: Style::Marked,
        points: budgets.iter().filter_map(point).collect(),
    }
}

/// A curve for each instance, through its budgets.
fn single_by_budget(scored: &[Scored<'_>], set: &str, colour: &'static str) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for one in of_set(scored, set) {
        let Some(ratio) = one.over_bound() else { continue };
        let point = (one.outcome.budget, percent(ratio));
        match curves.last_mut() {
            Some(curve) if curve.title == one.outcome.case => curve.points.push(point),
            _ => curves.push(Curve {
                title: one.outcome.case.clone(),
                colour,
                style: Style::Thin,
                points: vec![point],
            }),
        }
    }
    curves
}

/// What the engines of one run did: each instance, the mean, and the mean of the bound where plans say it.
fn within_runs(scored: &[Scored<'_>], set: &str, colour: &'static str) -> Vec<Curve> {
    let largest = of_set(scored, set)
        .map(|one| one.outcome.budget)
        .fold(0.0, f64::max);
    let runs: Vec<Run> = of_set(scored, set)
        .filter(|one| one.outcome.budget.total_cmp(&largest).is_eq())
        .filter_map(Run::of)
        .collect();
    let end = runs
        .iter()
        .filter_map(|run| Some(run.moments.last()?.0))
        .fold(EARLIEST, f64::max);
    let times: Vec<f64> = (0..=STEPS)
        .map(|step| EARLIEST * (end / EARLIEST).powf(f64::from(step) / f64::from(STEPS)))
        .collect();
    let mean = |of: fn(&Run, f64) -> Option<f64>| -> Vec<(f64, f64)> {
        let at = |time: &f64| {
            let ratios: Option<Vec<f64>> = runs.iter().map(|run| of(run, *time)).collect();
            Some((*time, percent(geometric_mean(ratios?)?)))
        };
        times.iter().filter_map(at).collect()
    };
    let mut curves: Vec<Curve> = runs
        .iter()
        .map(|run| Curve {
            title: run.case.clone(),
            colour,
            style: Style::Thin,
            points: run.steps(),
        })
        .collect();
    for (style, title, points) in [
        (Style::Thick, "cost", mean(Run::cost_at)),
        (Style::Dashed, "bound", mean(Run::bound_at)),
    ] {
        curves.push(Curve {
            title: format!("{set}, mean {title}"),
            colour,
            style,
            points,
        });
    }
    curves
}

/// The moments of a run: seconds, cost ÷ highest bound, highest bound ÷ own bound.
struct Run {
    case: String,
    moments: Vec<(f64, f64, Option<f64>)>,
}

impl Run {
    fn of(scored: &Scored<'_>) -> Option<Self> {
        (scored.bound > 0.0).then(|| Self {
            case: scored.outcome.case.clone(),
            moments: scored
                .outcome
                .phases
                .iter()
                .map(|moment| {
                    let bound = moment.bound.filter(|bound| *bound > 0.0);
                    (
                        moment.seconds,
                        moment.cost / scored.bound,
                        bound.map(|bound| scored.bound / bound),
                    )
                })
                .collect(),
        })
    }

    /// The last moment by then; before the first, the first.
    fn at(&self, time: f64) -> Option<&(f64, f64, Option<f64>)> {
        let reached = self.moments.iter().rev().find(|moment| moment.0 <= time);
        reached.or(self.moments.first())
    }

    fn cost_at(&self, time: f64) -> Option<f64> {
        self.at(time).map(|moment| moment.1)
    }

    fn bound_at(&self, time: f64) -> Option<f64> {
        self.at(time)?.2
    }

    /// As stairs: a cost holds until the next engine has ended.
    fn steps(&self) -> Vec<(f64, f64)> {
        let mut points = Vec::new();
        let mut before = None;
        for (seconds, ratio, _) in &self.moments {
            if let Some(gap) = before {
                points.push((*seconds, gap));
            }
            points.push((*seconds, percent(*ratio)));
            before = Some(percent(*ratio));
        }
        points
    }
}
