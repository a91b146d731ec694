//! Means, tables, baselines and the page, on outcomes made up for it.

use dovetail_solver::model::plan::{ProofKind, Stopped};

use crate::quality::baseline::Baseline;
use crate::quality::measure::{Moment, Outcome};
use crate::quality::plot::page;
use crate::quality::score::{Scored, Summary, geometric_mean, summaries};
use crate::quality::sets::{Case, all};
use crate::quality::svg::Axis;
use crate::quality::table;

const TRIPLETS: [&str; 2] = ["caprara-toth/class10_024_0", "caprara-toth/class10_024_1"];

/// A plan of so many bins where 8 are the optimum.
fn outcome(case: &str, budget: f64, cost: f64) -> Outcome {
    Outcome {
        case: case.to_owned(),
        budget,
        groups: 24,
        offerings: 1,
        columns: 0,
        nodes: 9,
        cost,
        bound: 7.5,
        baseline: 10.0,
        proof: if cost > 8.0 {
            ProofKind::Heuristic
        } else {
            ProofKind::Optimal
        },
        stopped: Stopped::Finished,
        read: 0.01,
        freeze: 0.01,
        plan: budget,
        peak_kib: Some(20_480),
        phases: vec![
            Moment {
                name: "greedy".to_owned(),
                seconds: 0.001,
                cost: 10.0,
                bound: Some(7.0),
                failed: None,
            },
            Moment {
                name: "columns".to_owned(),
                seconds: budget,
                cost,
                bound: Some(7.5),
                failed: None,
            },
        ],
    }
}

fn cases() -> Vec<Case> {
    let all = all(false).unwrap();
    all.into_iter()
        .filter(|case| TRIPLETS.contains(&case.path().as_str()))
        .collect()
}

fn summed(outcomes: &[Outcome], budgets: &[f64]) -> Vec<Vec<Summary>> {
    let cases = cases();
    let cases: Vec<&Case> = cases.iter().collect();
    summaries(&Scored::all(&cases, outcomes), budgets)
}

#[test]
fn a_geometric_mean_multiplies() {
    assert_eq!(geometric_mean([]), None);
    assert!((geometric_mean([0.5, 2.0, 8.0]).unwrap() - 2.0).abs() < 1e-12);
}

#[test]
fn a_summary_counts_optimal_plans_and_means_ratios() {
    let outcomes = [outcome(TRIPLETS[0], 1.0, 8.0), outcome(TRIPLETS[1], 1.0, 9.0)];
    let blocks = summed(&outcomes, &[1.0]);
    let titles: Vec<&str> = blocks.iter().map(|block| block[0].title.as_str()).collect();
    assert_eq!(titles, ["caprara-toth", "  class 10"]);
    let line = &blocks[0][0];
    assert_eq!((line.count, line.optimal, line.proved), (2, (1, 2), 1));
    // The file's bound of 8 is above our own of 7.5.
    assert!((line.over_bound.unwrap() - (9.0_f64 / 8.0).sqrt()).abs() < 1e-12);
    assert!((line.over_own_bound.unwrap() - 72.0_f64.sqrt() / 7.5).abs() < 1e-12);
    assert!((line.over_baseline.unwrap() - 0.72_f64.sqrt()).abs() < 1e-12);
    assert_eq!((line.over_rival, line.peak_kib), (None, Some(20_480)));
    let text = table::summary(&blocks);
    assert!(text.contains("1/2") && text.contains("50%"), "{text}");
}

#[test]
fn all_budgets_of_an_instance_share_its_highest_bound() {
    let mut outcomes = [outcome(TRIPLETS[0], 0.1, 10.0), outcome(TRIPLETS[0], 1.0, 9.0)];
    outcomes[1].bound = 9.0;
    let cases = cases();
    let cases: Vec<&Case> = cases.iter().collect();
    let ratios: Vec<f64> = Scored::all(&cases, &outcomes)
        .iter()
        .filter_map(Scored::over_bound)
        .collect();
    assert_eq!(ratios, [10.0 / 9.0, 1.0]);
}

#[test]
fn every_figure_of_a_line_stands_below_its_word() {
    let cases = cases();
    let outcomes = [outcome(TRIPLETS[0], 1.0, 8.0)];
    let scored = Scored::all(&[&cases[0]], &outcomes);
    let (head, line) = (table::head(), table::line(&scored[0]));
    assert_eq!(head.chars().count(), line.chars().count(), "{head}\n{line}");
    assert!(
        line.contains("1.0000*") && line.contains("optimal") && line.contains("finished"),
        "{line}"
    );
}

#[test]
fn engines_that_fail_are_counted_by_name() {
    let mut outcomes = [outcome(TRIPLETS[0], 1.0, 8.0), outcome(TRIPLETS[1], 1.0, 9.0)];
    assert_eq!(table::failed_engines(&outcomes), "");
    for outcome in &mut outcomes {
        outcome.phases[1].failed = Some("refused".to_owned());
    }
    assert_eq!(
        table::failed_engines(&outcomes),
        format!(
            "engine columns failed 2 times, first in {} at 1 s: refused\n",
            TRIPLETS[0]
        )
    );
}

#[test]
fn a_baseline_comes_back_and_shows_what_moved() {
    let folder = tempfile::tempdir().unwrap();
    let path = Baseline::path(folder.path(), "then");
    let then = vec![
        outcome(TRIPLETS[0], 1.0, 9.0),
        outcome(TRIPLETS[1], 1.0, 8.0),
        outcome(TRIPLETS[1], 5.0, 8.0),
    ];
    Baseline::new("yesterday".to_owned(), then).write(&path).unwrap();
    let kept = Baseline::read(&path).unwrap();
    assert_eq!(kept.measured, "yesterday");
    let mut now = vec![outcome(TRIPLETS[0], 1.0, 8.0), outcome(TRIPLETS[1], 1.0, 10.0)];
    now[0].plan = 4.0;
    let text = kept.difference(&now);
    let figures: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
    // Cost √(8/9 · 10/8), seconds √4; one cheaper, one dearer, one newly proved, one no longer.
    assert_eq!(
        figures,
        ["caprara-toth", "1", "2", "1.05409", "2.000", "1", "1", "1", "1"]
    );
    assert!(text.contains("dearer: caprara-toth/class10_024_1"), "{text}");
    assert!(text.contains("only then: 1; only now: 0"), "{text}");
    assert!(
        kept.difference(&[outcome(TRIPLETS[0], 2.0, 8.0)])
            .contains("nothing to compare")
    );
    assert!(
        !kept.difference(&kept.outcomes).contains("dearer:"),
        "the same figures differ in nothing"
    );
}

#[test]
fn a_baseline_that_is_missing_or_of_another_shape_is_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b.json");
    let message = || format!("{:#}", Baseline::read(&path).unwrap_err());
    assert!(message().contains("no baseline "), "{}", message());
    for (text, words) in [
        ("{", "is not a baseline"),
        ("{}", "has format null"),
        ("{\"format\": 99}", "has format 99"),
        ("{\"format\": 1, \"outcomes\": 3}", "is not a baseline"),
    ] {
        std::fs::write(&path, text).unwrap();
        assert!(
            message().contains(words) && message().contains("--save"),
            "{text}: {}",
            message()
        );
    }
}

#[test]
fn axes_hold_every_value_in_whole_decades() {
    let axis = Axis::around([0.05, 30.0].into_iter(), 0.01);
    assert!(
        (axis.least - 0.01).abs() < 1e-9 && (axis.most - 100.0).abs() < 1e-9,
        "{axis:?}"
    );
    let nothing = Axis::around([0.0].into_iter(), 0.01);
    assert!(nothing.least < nothing.most, "{nothing:?}");
}

#[test]
fn the_page_has_a_curve_for_each_instance_and_mean_and_needs_nothing_else() {
    let cases = cases();
    let cases: Vec<&Case> = cases.iter().collect();
    let outcomes = [
        outcome(TRIPLETS[0], 0.1, 10.0),
        outcome(TRIPLETS[0], 1.0, 8.0),
        outcome(TRIPLETS[1], 0.1, 9.0),
        outcome(TRIPLETS[1], 1.0, 9.0),
    ];
    let html = page(
        &Scored::all(&cases, &outcomes),
        &[0.1, 1.0],
        "today & here",
        "a < b",
    );
    // Overview 1; by budget 2 + 1; within runs 2 + mean cost + mean bound.
    assert_eq!(html.matches("<polyline").count(), 8);
    assert_eq!(html.matches("<svg").count(), 3);
    assert!(html.contains("today &amp; here") && html.contains("a &lt; b"));
    assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
    assert!(!html.contains("http"), "self-contained");
}
