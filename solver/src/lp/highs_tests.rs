//! Tests of the wrapper, among them the one that a newer HiGHS has to pass before it may come in.

use super::*;

const PRIMAL: Run = Run {
    simplex: Simplex::Primal,
    ..DUAL
};
const DUAL: Run = Run {
    simplex: Simplex::Dual,
    iterations: None,
    nodes: None,
    seconds: None,
    gap: 0.0,
    sub_programs: true,
};

fn empty() -> Model {
    Model::new(Arc::default()).unwrap()
}

fn column(cost: f64, terms: &[(usize, f64)]) -> Column {
    Column {
        cost,
        upper: f64::INFINITY,
        terms: terms.to_vec(),
    }
}

fn near(one: f64, two: f64) -> bool {
    (one - two).abs() < 1e-6
}

/// x0 covers row 0 at 3, x1 covers row 1 at 4; 10 and 6 are asked for.
fn covering() -> Model {
    let mut model = empty();
    model
        .add_rows(&[(10.0, f64::INFINITY), (6.0, f64::INFINITY)])
        .unwrap();
    model
        .add_columns(&[column(3.0, &[(0, 1.0)]), column(4.0, &[(1, 1.0)])])
        .unwrap();
    model
}

#[test]
fn a_column_added_later_enters_the_solution() {
    let mut model = covering();
    assert_eq!(model.run(&PRIMAL), Status::Optimal);
    let first = model.solution().unwrap();
    assert!(near(first.objective, 54.0), "{first:?}");
    assert!(
        near(first.duals[0], 3.0) && near(first.duals[1], 4.0),
        "{first:?}"
    );
    model.add_columns(&[column(5.0, &[(0, 1.0), (1, 1.0)])]).unwrap();
    assert_eq!(model.run(&PRIMAL), Status::Optimal);
    // Basis kept: one or two pivots, not a solve from the start.
    assert!(model.iterations() <= 2, "{}", model.iterations());
    let second = model.solution().unwrap();
    assert!(near(second.objective, 42.0), "{second:?}");
    assert_eq!((model.rows, model.columns), (2, 3));
}

#[test]
fn bounds_and_costs_can_change_between_runs() {
    let mut model = covering();
    assert_eq!(model.run(&PRIMAL), Status::Optimal);
    model.set_row_bounds(0, 2.0, f64::INFINITY).unwrap();
    model.set_cost(1, 1.0).unwrap();
    assert_eq!(model.run(&DUAL), Status::Optimal);
    assert!(near(model.solution().unwrap().objective, 12.0));
    model.set_bounds(1, 0.0, 5.0).unwrap();
    assert_eq!(model.run(&DUAL), Status::Infeasible);
    assert_eq!(model.solution(), None);
    model.clear().unwrap();
    model.set_bounds(1, 0.0, 7.0).unwrap();
    assert_eq!(model.run(&PRIMAL), Status::Optimal);
}

#[test]
fn what_is_not_there_is_refused() {
    let mut model = covering();
    assert!(model.set_cost(2, 1.0).is_err());
    assert!(model.set_bounds(2, 0.0, 1.0).is_err());
    assert!(model.set_integer(2).is_err());
    assert!(model.set_row_bounds(2, 1.0, 2.0).is_err());
    assert!(model.set_start(&[1.0]).is_err());
    assert!(model.add_columns(&[column(1.0, &[(2, 1.0)])]).is_err());
    assert_eq!(
        model.set_cost(9, 1.0).unwrap_err().to_string(),
        "HiGHS refused to change what isn't there"
    );
}

#[test]
fn without_a_floor_there_is_no_optimum() {
    let mut model = empty();
    model.add_columns(&[column(-1.0, &[])]).unwrap();
    assert_eq!(model.run(&PRIMAL), Status::Unbounded);
}

/// A dense covering program that takes more than a few pivots.
fn dense() -> Model {
    let mut model = empty();
    let rows = vec![(100.0, f64::INFINITY); 40];
    model.add_rows(&rows).unwrap();
    let mut state = 7_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 24)
    };
    let columns: Vec<Column> = (0..120)
        .map(|_| {
            let terms: Vec<(usize, f64)> = (0..40).map(|row| (row, 1.0 + random())).collect();
            column(100.0 + random(), &terms)
        })
        .collect();
    model.add_columns(&columns).unwrap();
    model
}

#[test]
fn a_run_cut_short_goes_on_where_it_stopped() {
    let whole = {
        let mut model = dense();
        assert_eq!(model.run(&DUAL), Status::Optimal);
        model.solution().unwrap().objective
    };
    let mut model = dense();
    let mut runs = 1;
    let few = Run {
        iterations: Some(5),
        ..DUAL
    };
    while model.run(&few) == Status::IterationLimit {
        runs += 1;
        assert!(runs < 1_000, "it starts anew each time");
    }
    assert!(runs > 1, "the limit never held");
    assert!((model.solution().unwrap().objective - whole).abs() < 1e-6 * whole);
}

#[test]
fn no_time_at_all_ends_a_run() {
    let mut model = dense();
    let within = |seconds| Run {
        seconds: Some(seconds),
        ..DUAL
    };
    assert_eq!(model.run(&within(0.0)), Status::TimeLimit);
    assert_eq!(model.run(&within(60.0)), Status::Optimal);
}

/// min Σx with 9x0+5x3+4x5 ≥ 44, 2x1+x3+x4 ≥ 3, x2+x4+x5 ≥ 48 in whole numbers is 48. HiGHS 1.16.0 calls 55 optimal
/// when it starts from (5, 2, 48, 0, 0, 0): presolve drops the objective's offset. Hence the exact version that
/// `Cargo.toml` asks for.
#[test]
fn a_start_does_not_make_a_dearer_answer_optimal() {
    for start in [false, true] {
        let mut model = empty();
        let rows = [44.0, 3.0, 48.0].map(|lower| (lower, f64::INFINITY));
        model.add_rows(&rows).unwrap();
        let terms: [&[(usize, f64)]; 6] = [
            &[(0, 9.0)],
            &[(1, 2.0)],
            &[(2, 1.0)],
            &[(0, 5.0), (1, 1.0)],
            &[(1, 1.0), (2, 1.0)],
            &[(0, 4.0), (2, 1.0)],
        ];
        let columns: Vec<Column> = terms
            .iter()
            .map(|terms| Column {
                upper: 100.0,
                ..column(1.0, terms)
            })
            .collect();
        model.add_columns(&columns).unwrap();
        for at in 0..6 {
            model.set_integer(at).unwrap();
        }
        if start {
            model.set_start(&[5.0, 2.0, 48.0, 0.0, 0.0, 0.0]).unwrap();
        }
        assert_eq!(model.run(&DUAL), Status::Optimal);
        let solution = model.solution().unwrap();
        let sum: f64 = solution.columns.iter().map(|value| value.round()).sum();
        assert!(near(sum, 48.0), "start {start}: {solution:?}");
        assert!(near(solution.objective, 48.0), "start {start}: {solution:?}");
    }
}
