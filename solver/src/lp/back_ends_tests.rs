//! The back ends against each other, our own way to HiGHS among them, and all of them against enumeration.

use super::whole::{Aim, Answer, Program as Whole, Row as WholeRow};
use super::*;
use crate::random::Random;

/// An optimal objective is no further from another than this, for its size.
const NEAR: f64 = 1e-6;

#[test]
fn tests_have_both_back_ends_and_plans_are_made_by_highs_where_it_is() {
    assert_eq!(BackEnd::ALL.last(), Some(&BackEnd::Microlp));
    #[cfg(feature = "highs")]
    assert_eq!((BackEnd::USUAL, BackEnd::ALL.len()), (BackEnd::Highs, 2));
}

#[test]
fn finds_a_corner() {
    let row = |terms: &[(usize, f64)], limit| Row {
        terms: terms.to_vec(),
        limit,
    };
    let program = Program {
        objective: vec![3.0, 2.0],
        rows: vec![row(&[(0, 1.0), (1, 1.0)], 4.0), row(&[(0, 1.0)], 3.0)],
    };
    for back_end in BackEnd::ALL {
        let best = maximise_with(&program, *back_end).unwrap();
        assert!(
            (best[0] - 3.0).abs() < 1e-6 && (best[1] - 1.0).abs() < 1e-6,
            "{back_end:?}: {best:?}"
        );
    }
}

#[test]
fn an_unbounded_program_has_no_answer() {
    let program = Program {
        objective: vec![1.0],
        rows: Vec::new(),
    };
    for back_end in BackEnd::ALL {
        assert_eq!(maximise_with(&program, *back_end), None, "{back_end:?}");
    }
}

fn float(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap())
}

fn random_program(random: &mut Random) -> Program {
    let variables = 1 + random.below(6);
    let rows = (0..1 + random.below(6)).map(|_| {
        let coefficients = (0..variables).map(|variable| (variable, float(random.below(9)) - 2.0));
        let terms: Vec<(usize, f64)> = coefficients.filter(|(_, value)| *value > -1.5).collect();
        Row {
            terms,
            limit: float(random.below(20)),
        }
    });
    let mut rows: Vec<Row> = rows.collect();
    // Bounded in any case, most of the time.
    if random.below(8) > 0 {
        rows.push(Row {
            terms: (0..variables).map(|variable| (variable, 1.0)).collect(),
            limit: 10.0,
        });
    }
    Program {
        objective: (0..variables).map(|_| float(random.below(10)) - 3.0).collect(),
        rows,
    }
}

fn worth(program: &Program, x: &[f64]) -> f64 {
    program.objective.iter().zip(x).map(|(one, x)| one * x).sum()
}

/// The same by our own way to HiGHS; nothing where there is no HiGHS.
#[cfg(not(feature = "highs"))]
fn by_the_thread(_: &Program) -> Option<Option<Vec<f64>>> {
    None
}

/// The same by our own way to HiGHS.
#[cfg(feature = "highs")]
fn by_the_thread(program: &Program) -> Option<Option<Vec<f64>>> {
    use super::run::{Column, Run, Status};
    let mut solver = super::solver::Solver::new().unwrap();
    solver.add_rows(
        program
            .rows
            .iter()
            .map(|row| (f64::NEG_INFINITY, row.limit))
            .collect(),
    );
    let terms = |variable: usize| {
        let rows = program.rows.iter().enumerate();
        rows.flat_map(move |(at, row)| {
            let here = row.terms.iter().filter(move |(other, _)| *other == variable);
            here.map(move |(_, value)| (at, *value))
        })
    };
    let columns = program.objective.iter().enumerate().map(|(at, value)| Column {
        cost: -value,
        upper: f64::INFINITY,
        terms: terms(at).collect(),
    });
    solver.add_columns(columns.collect()).unwrap();
    let outcome = solver.run(&Run::default(), || false).unwrap();
    match outcome.status {
        Status::Optimal => Some(Some(outcome.solution.unwrap().columns)),
        Status::Unbounded => Some(None),
        status => panic!("{status:?}"),
    }
}

#[test]
fn back_ends_agree_on_linear_programs_and_no_corner_is_better() {
    let mut random = Random::new(1);
    let mut solved = 0;
    for case in 0..400 {
        let program = random_program(&mut random);
        let mut answers: Vec<Option<f64>> = Vec::new();
        let by_good_lp = BackEnd::ALL
            .iter()
            .map(|back_end| maximise_with(&program, *back_end));
        let all: Vec<Option<Vec<f64>>> = by_good_lp.chain(by_the_thread(&program)).collect();
        for x in all {
            if let Some(x) = &x {
                assert!(x.iter().all(|x| *x >= -NEAR), "{case}: {x:?}");
                for row in &program.rows {
                    let sum: f64 = row.terms.iter().map(|(at, value)| value * x[*at]).sum();
                    assert!(sum <= row.limit + 1e-5, "{case}: {x:?} breaks {row:?}");
                }
            }
            answers.push(x.map(|x| worth(&program, &x)));
        }
        for pair in answers.windows(2) {
            let same = match (pair[0], pair[1]) {
                (Some(one), Some(two)) => (one - two).abs() <= NEAR * (1.0 + one.abs()),
                (one, two) => one.is_none() && two.is_none(),
            };
            assert!(same, "{case}: {answers:?} for {program:?}");
        }
        if let Some(best) = answers[0] {
            solved += 1;
            assert!(
                best >= corner(&program, &mut random) - 1e-5,
                "{case}: {program:?}"
            );
        }
    }
    assert!(solved > 200 && solved < 400, "{solved} have an optimum");
}

/// The best of many points that keep the rows: rays from nothing as far as they go.
fn corner(program: &Program, random: &mut Random) -> f64 {
    let mut best = 0.0_f64;
    for _ in 0..200 {
        let ray: Vec<f64> = program.objective.iter().map(|_| float(random.below(4))).collect();
        let lengths = program.rows.iter().filter_map(|row| {
            let slope: f64 = row.terms.iter().map(|(at, value)| value * ray[*at]).sum();
            (slope > 0.0).then(|| row.limit / slope)
        });
        let length = lengths.fold(100.0, f64::min);
        best = best.max(worth(program, &ray) * length);
    }
    best
}

fn random_whole(random: &mut Random) -> Whole {
    let number = |random: &mut Random, most: usize| i64::try_from(random.below(most)).unwrap();
    let mut program = Whole {
        aim: [Aim::Least, Aim::Most][random.below(2)],
        ..Whole::default()
    };
    // Some rows have the sizes of memory in bytes, with and without a unit in common.
    let units = [1, 1, 1 << 20, 123_457];
    for _ in 0..1 + random.below(5) {
        let cost = 1_000 * (number(random, 300) - 60);
        program.add(cost, 1 + u64::try_from(random.below(4)).unwrap());
    }
    for _ in 0..1 + random.below(4) {
        let unit = units[random.below(4)];
        let terms = (0..program.variables.len()).filter_map(|at| {
            let coefficient = number(random, 8) - 1;
            (coefficient != 0).then_some((at, unit * coefficient))
        });
        let terms: Vec<(usize, i64)> = terms.collect();
        let bound = number(random, 16) * unit + [0, 1][random.below(2)];
        program.rows.push(match random.below(3) {
            0 => WholeRow::at_least(terms, bound),
            1 => WholeRow::at_most(terms, bound),
            _ => WholeRow {
                terms,
                lower: Some(bound / 2),
                upper: Some(bound),
            },
        });
    }
    program
}

/// The least or the most, by trying all values.
fn enumerated(program: &Whole) -> Option<Answer> {
    let mut best: Option<Answer> = None;
    let mut values = vec![0; program.variables.len()];
    loop {
        if program.admits(&values) {
            let cost = program.cost(&values);
            let better = |best: &Answer| match program.aim {
                Aim::Least => cost < best.cost,
                Aim::Most => cost > best.cost,
            };
            if best.as_ref().is_none_or(better) {
                best = Some(Answer {
                    values: values.clone(),
                    cost,
                });
            }
        }
        let mut at = 0;
        while at < values.len() && values[at] == program.variables[at].upper {
            values[at] = 0;
            at += 1;
        }
        if at == values.len() {
            return best;
        }
        values[at] += 1;
    }
}

/// The optimum by our own way to HiGHS.
#[cfg(feature = "highs")]
fn whole_by_the_thread(program: &Whole, start: Option<&[u64]>) -> Option<Answer> {
    use super::run::{Run, Status};
    let mut solver = program.on_a_thread().unwrap();
    if let Some(start) = start {
        solver.set_start(whole::floats(start)).unwrap();
    }
    let outcome = solver.run(&Run::default(), || false).unwrap();
    match outcome.status {
        Status::Optimal => Some(program.verified(&outcome.solution.unwrap().columns).unwrap()),
        Status::Infeasible => None,
        status => panic!("{status:?} for {program:?}"),
    }
}

#[test]
fn back_ends_agree_with_enumeration_on_programs_in_whole_numbers() {
    let mut random = Random::new(2);
    let mut solved = 0;
    for case in 0..300 {
        let program = random_whole(&mut random);
        let exact = enumerated(&program);
        solved += u32::from(exact.is_some());
        let cost = exact.as_ref().map(|answer| answer.cost);
        for start in [None, exact.as_ref().map(|answer| answer.values.as_slice())] {
            for back_end in BackEnd::ALL {
                let found = program.solve(*back_end, start, None).unwrap();
                let found = found.map(|answer| answer.cost);
                assert_eq!(found, cost, "{case}: {back_end:?} from {start:?} for {program:?}");
            }
            #[cfg(feature = "highs")]
            {
                let found = whole_by_the_thread(&program, start).map(|answer| answer.cost);
                assert_eq!(found, cost, "{case}: from {start:?} for {program:?}");
            }
        }
    }
    assert!(solved > 100 && solved < 300, "{solved} have a solution");
}

#[test]
fn an_answer_is_rounded_and_held_against_every_row() {
    let mut program = Whole::default();
    program.add(500, 3);
    program.add(-200, 9);
    program.rows.push(WholeRow::at_most(vec![(0, 3), (1, 2)], 12));
    program.rows.push(WholeRow::at_least(vec![(0, 1), (1, -1)], -1));
    let answer = program.verified(&[1.999_999_7, 3.000_000_2]).unwrap();
    assert_eq!((answer.values, answer.cost), (vec![2, 3], 400));
    let untrue: [&[f64]; 6] = [
        &[2.0, 4.0],
        &[1.0, 3.0],
        &[4.0, 0.0],
        &[3.0, 3.0],
        &[1.0],
        &[1.0, 1.0, 1.0],
    ];
    for values in untrue {
        assert!(program.verified(values).is_err(), "{values:?}");
    }
    // What is no number, or negative, counts as nothing.
    assert_eq!(program.verified(&[f64::NAN, -3.0]).unwrap().values, [0, 0]);
}

#[test]
fn rows_in_bytes_lose_no_byte_where_they_have_a_unit_in_common() {
    // Three of 7 GiB and a byte more than 21 GiB; one unit is far more than a tolerance.
    let gib = 1_i64 << 30;
    for (upper, most) in [(21 * gib, 3), (21 * gib - 1, 2), (21 * gib + 1, 3)] {
        let mut program = Whole {
            aim: Aim::Most,
            ..Whole::default()
        };
        program.add(1_000_000, 9);
        program.rows.push(WholeRow::at_most(vec![(0, 7 * gib)], upper));
        for back_end in BackEnd::ALL {
            let answer = program.solve(*back_end, None, None).unwrap().unwrap();
            assert_eq!(answer.values, [most], "{back_end:?} within {upper}");
        }
    }
}

#[test]
fn no_time_at_all_gives_the_start_or_nothing() {
    let mut program = Whole {
        aim: Aim::Most,
        ..Whole::default()
    };
    for at in 0..60 {
        program.add(1_000_000 + 7_919 * (at % 13), 1);
    }
    for row in 0..20 {
        let terms = (0..60).map(|at: usize| (at, 1 + i64::try_from((at * 31 + row * 17) % 53).unwrap()));
        program.rows.push(WholeRow::at_most(terms.collect(), 700));
    }
    let start = vec![0; 60];
    for back_end in BackEnd::ALL {
        let found = program.solve(*back_end, Some(&start), Some(1e-9)).unwrap();
        assert!(found.is_none_or(|answer| program.admits(&answer.values)));
    }
}
