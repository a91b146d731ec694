//! Tests of the thread: answers come back, runs stop when told, and neither a deaf nor a dead thread hurts its caller.

use std::sync::mpsc;

use super::*;

const ONE_ROUND: Run = Run {
    simplex: crate::lp::run::Simplex::Primal,
    iterations: None,
    nodes: None,
    seconds: None,
    gap: 0.0,
    sub_programs: true,
};

fn never() -> bool {
    false
}

fn column(cost: f64, upper: f64, terms: &[(usize, f64)]) -> Column {
    Column {
        cost,
        upper,
        terms: terms.to_vec(),
    }
}

/// x0 covers row 0 at 3, x1 covers row 1 at 4; 10 and 6 are asked for.
fn covering() -> Solver {
    let mut solver = Solver::new().unwrap();
    solver.add_rows(vec![(10.0, f64::INFINITY), (6.0, f64::INFINITY)]);
    let columns = [(3.0, 0), (4.0, 1)].map(|(cost, row)| column(cost, 100.0, &[(row, 1.0)]));
    solver.add_columns(columns.to_vec()).unwrap();
    solver
}

/// Whole numbers with sums so hard to hit that minutes don't suffice; missing by whatever is free to try.
fn hard() -> Solver {
    let (rows, columns) = (5, 50);
    let mut state = 11_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 25)
    };
    let matrix: Vec<Vec<f64>> = (0..columns)
        .map(|_| (0..rows).map(|_| random()).collect())
        .collect();
    let half = |row: usize| (matrix.iter().map(|column| column[row]).sum::<f64>() / 2.0).floor();
    let bounds: Vec<(f64, f64)> = (0..rows).map(|row| (half(row), half(row))).collect();
    let mut all: Vec<Column> = matrix
        .iter()
        .map(|terms| {
            let terms: Vec<(usize, f64)> = terms.iter().copied().enumerate().collect();
            column(0.0, 1.0, &terms)
        })
        .collect();
    for row in 0..rows {
        all.push(column(1.0, 10_000.0, &[(row, 1.0)]));
        all.push(column(1.0, 10_000.0, &[(row, -1.0)]));
    }
    let mut solver = Solver::new().unwrap();
    solver.add_rows(bounds);
    solver.add_columns(all).unwrap();
    for at in 0..columns {
        solver.set_integer(at).unwrap();
    }
    solver
}

#[test]
fn changes_are_made_in_order_and_columns_keep_their_places() {
    let mut solver = covering();
    let first = solver.run(&ONE_ROUND, never).unwrap();
    assert_eq!(first.status, Status::Optimal);
    assert!((first.solution.unwrap().objective - 54.0).abs() < 1e-6);
    assert_eq!(first.dual_bound, None, "no whole numbers were asked for");
    let both = column(5.0, 100.0, &[(0, 1.0), (1, 1.0)]);
    solver
        .add_columns(vec![both.clone(), column(1.0, 2.0, &[(0, 1.0)])])
        .unwrap();
    solver.delete_columns(vec![1]).unwrap();
    assert_eq!((solver.rows(), solver.columns()), (2, 3));
    // Left: x0 at 3, both at 5, and two at most at 1. 6 · 5 + 2 · 1 + 2 · 3.
    let second = solver.run(&ONE_ROUND, never).unwrap().solution.unwrap();
    assert!((second.objective - 38.0).abs() < 1e-6, "{second:?}");
    assert_eq!(second.columns.len(), 3);
    solver.set_cost(2, 9.0).unwrap();
    solver.set_bounds(0, 1.0, 100.0).unwrap();
    solver.set_row_bounds(0, 3.0, f64::INFINITY).unwrap();
    let third = solver.run(&ONE_ROUND, never).unwrap().solution.unwrap();
    assert!((third.objective - 33.0).abs() < 1e-6, "{third:?}");
}

#[test]
fn deleting_columns_outside_the_basis_keeps_it() {
    let mut solver = covering();
    let dear: Vec<Column> = (0..20)
        .map(|_| column(50.0, 100.0, &[(0, 1.0), (1, 1.0)]))
        .collect();
    solver.add_columns(dear).unwrap();
    assert_eq!(solver.run(&ONE_ROUND, never).unwrap().status, Status::Optimal);
    solver.delete_columns((2..22).collect()).unwrap();
    let again = solver.run(&ONE_ROUND, never).unwrap();
    assert_eq!((again.status, again.iterations), (Status::Optimal, 0));
}

#[test]
fn what_is_not_there_is_refused_at_once() {
    let mut solver = covering();
    assert!(solver.set_cost(2, 1.0).is_err());
    assert!(solver.set_bounds(2, 0.0, 1.0).is_err());
    assert!(solver.set_integer(2).is_err());
    assert!(solver.set_row_bounds(2, 1.0, 2.0).is_err());
    assert!(solver.set_start(vec![1.0]).is_err());
    assert!(solver.delete_columns(vec![2]).is_err());
    assert!(solver.delete_columns(vec![1, 0]).is_err());
    assert!(solver.add_columns(vec![column(1.0, 1.0, &[(2, 1.0)])]).is_err());
    // None of it reached the model.
    assert_eq!(solver.run(&ONE_ROUND, never).unwrap().status, Status::Optimal);
}

#[test]
fn after_a_refusal_there_are_no_more_answers() {
    let mut solver = covering();
    let twice = column(1.0, 1.0, &[(0, 1.0), (0, 1.0)]);
    solver.add_columns(vec![twice]).unwrap();
    let refused = solver.run(&ONE_ROUND, never);
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(solver.run(&ONE_ROUND, never), Err(Refused("answer")));
}

#[test]
fn a_solver_can_change_threads() {
    let mut solver = covering();
    let answer = std::thread::spawn(move || solver.run(&ONE_ROUND, never))
        .join()
        .unwrap();
    assert_eq!(answer.unwrap().status, Status::Optimal);
}

#[test]
fn a_run_that_would_take_minutes_stops_when_told_and_gives_what_it_has() {
    let mut solver = hard();
    let mut questions = 0;
    let outcome = solver
        .run(&Run::default(), || {
            questions += 1;
            // A heuristic has found something by then, however busy the machine.
            questions > 150
        })
        .unwrap();
    assert!(
        matches!(outcome.status, Status::Interrupted | Status::Abandoned),
        "{outcome:?}"
    );
    let solution = outcome.solution.expect("a program that is easy to satisfy");
    assert!(solution.objective > 0.0, "{solution:?}");
    assert!(
        solution.columns[..50]
            .iter()
            .all(|x| (x - x.round()).abs() < 1e-5)
    );
    assert_eq!(questions, 151, "nobody asks after an answer");
}

#[test]
fn counted_limits_end_a_tree_at_the_same_place_every_time() {
    let ends = |run: Run| {
        let mut solver = hard();
        let outcome = solver.run(&run, never).unwrap();
        let Outcome {
            status,
            iterations,
            nodes,
            ..
        } = outcome.clone();
        assert_eq!(hard().run(&run, never).unwrap(), outcome, "run again");
        (status, iterations, nodes)
    };
    let (status, _, nodes) = ends(Run {
        nodes: Some(20),
        ..Run::default()
    });
    assert_eq!(status, Status::NodeLimit);
    assert!(nodes >= 20, "{nodes}");
    let (status, iterations, _) = ends(Run {
        iterations: Some(2_000),
        ..Run::default()
    });
    assert_eq!(status, Status::IterationLimit);
    assert!(iterations >= 2_000, "{iterations}");
}

#[test]
fn the_dual_bound_of_an_unfinished_tree_is_below_its_solution() {
    let mut solver = hard();
    let run = Run {
        nodes: Some(20),
        ..Run::default()
    };
    let outcome = solver.run(&run, never).unwrap();
    let bound = outcome.dual_bound.unwrap();
    let objective = outcome.solution.unwrap().objective;
    assert!(bound >= -1e-6 && bound < objective, "{bound} and {objective}");
}

#[test]
fn a_run_goes_on_after_one_that_was_stopped() {
    let mut solver = hard();
    let mut asked = 0;
    let mut third = || {
        asked += 1;
        asked == 3
    };
    let stopped = solver.run(&Run::default(), &mut third).unwrap();
    if stopped.status == Status::Abandoned {
        assert_eq!(solver.run(&Run::default(), never), Err(Refused("answer")));
        return;
    }
    assert_eq!(stopped.status, Status::Interrupted);
    let run = Run {
        nodes: Some(1),
        ..Run::default()
    };
    let next = solver.run(&run, never).unwrap();
    assert_eq!(next.status, Status::NodeLimit, "the signal was taken back");
}

#[test]
fn a_deaf_thread_is_left_to_itself_and_its_solution_kept() {
    let (release, held) = mpsc::channel::<()>();
    let (ended, end) = mpsc::channel();
    let mut solver = Solver::with(move |asked, reply, signal| {
        asked.recv().unwrap();
        signal.found(vec![2.0, 1.0]);
        held.recv().unwrap();
        ended
            .send((signal.is_raised(), reply.send(Err(Refused("come"))).is_err()))
            .unwrap();
    })
    .unwrap();
    solver.add_rows(vec![(1.0, 2.0)]);
    let terms = [(0, 1.0)];
    solver
        .add_columns(vec![column(3.0, 9.0, &terms), column(4.0, 9.0, &terms)])
        .unwrap();
    let mut asked = 0;
    let outcome = solver.run(&Run::default(), || {
        asked += 1;
        asked == 3
    });
    let outcome = outcome.unwrap();
    assert_eq!((outcome.status, asked), (Status::Abandoned, 3));
    let solution = outcome.solution.unwrap();
    assert!((solution.objective - 10.0).abs() < 1e-9, "{solution:?}");
    assert_eq!(solver.run(&Run::default(), never), Err(Refused("answer")));
    drop(solver);
    release.send(()).unwrap();
    let (raised, nobody_listens) = end.recv().unwrap();
    assert!(raised && nobody_listens);
}

#[test]
fn a_dead_thread_is_an_error() {
    let mut solver = Solver::with(|asked, _, _| {
        asked.recv().unwrap();
        panic!("as if HiGHS had thrown");
    })
    .unwrap();
    assert_eq!(solver.run(&Run::default(), never), Err(Refused("answer")));
    assert_eq!(solver.run(&Run::default(), never), Err(Refused("answer")));
}
