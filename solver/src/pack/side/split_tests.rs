//! Tests of splitting: what is packed anew keeps all rows, costs so much more as a whole, and is never dearer than before.

use super::*;
use crate::pack::random::Random;
use crate::pack::side::verdict::broken;
use crate::testing::synthetic::{self, Ingredients};
use crate::testing::synthetic_exact::optimum;
use crate::testing::thrown::packed;

#[test]
fn what_is_packed_anew_keeps_all_rows_and_costs_as_much_more_as_before() {
    let mut random = Random::new(5);
    let (mut split_along, mut cheaper, mut whole_optima) = (0, 0, 0);
    for case in 0..400 {
        let snapshot = synthetic::cluster(&mut random, Ingredients::ALL);
        let mut problem = synthetic::problem(&snapshot);
        if problem.kinds.is_empty() {
            continue;
        }
        let with = Ingredients::ALL.some(&mut random);
        problem.side = synthetic::side(&mut random, &problem, with);
        let Some(start) = packed(&problem, &mut random) else {
            continue;
        };
        let split = Split::along(&problem, &start);
        assert!(!split.problem.side.span_nodes());
        assert_eq!(split.whole(&split.packing), Some(start.clone()), "case {case}");
        assert_eq!(broken(&split.problem, &split.packing), [], "case {case}");
        let best = optimum(&split.problem).unwrap();
        let Some(whole) = split.whole(&best.packing) else {
            continue;
        };
        split_along += 1;
        assert_eq!(broken(&problem, &whole), [], "case {case}");
        let beside = start.cost(&problem) - split.packing.cost(&split.problem);
        assert_eq!(whole.cost(&problem), best.cost + beside, "case {case}");
        let left = |packing: &Packing| packing.left.iter().sum::<u64>();
        let score = |packing: &Packing| (left(packing), packing.cost(&problem));
        assert!(score(&whole) <= score(&start), "case {case}");
        cheaper += usize::from(score(&whole) < score(&start));
        let exact = optimum(&problem).unwrap();
        assert!((exact.left, exact.cost) <= score(&whole), "case {case}");
        whole_optima += usize::from((exact.left, exact.cost) == score(&whole));
    }
    assert!(
        split_along > 100 && cheaper > 35 && whole_optima > 25,
        "{split_along} split, {cheaper} cheaper, {whole_optima} the best of the whole"
    );
}
