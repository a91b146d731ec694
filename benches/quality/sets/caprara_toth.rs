//! Caprara and Toth's ten classes of two-constraint packing (`papers.md`, 3), generated: ten instances of each size.
//!
//! Sizes are whole and uniform, bins equal. 1: C = 1000, both sizes from [100, 400]; 2: [1, 1000]; 3: [200, 800];
//! 4: [50, 200]; 5: [25, 100]; 6: C = 150, [20, 100]; 7: C = 150, w from [20, 100], v from [w − 10, w + 10]; 8: C = 150,
//! v from [110 − w, 130 − w]; 9: C = 100, four balls into two cells, size = balls × s + 0 or 1 with s from [10, 40], drawn
//! again where larger than a bin; 10: C = 100, triplets: two from [25, 50] and what they leave, so n ÷ 3 bins are the
//! optimum. The original files aren't at hand: these are other draws of the same classes, and the same every time.

use super::super::common::random::Random;
use super::vector::Problem;
use super::{Case, Known};

/// Name of the set.
pub(crate) const SET: &str = "caprara-toth";

/// Instances of each class and size.
const DRAWS: u64 = 10;
/// Numbers of items; in class 10 as near as triplets come.
const SIZES: [u64; 4] = [25, 50, 100, 200];
const TRIPLET_SIZES: [u64; 4] = [24, 51, 99, 201];
/// Which size stands for its class where not all are run: half a minute of exact solvers, no more.
const SAMPLED: u64 = 50;
const TRIPLETS: u64 = 10;

/// All instances.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for class in 1..=10 {
        let sizes = if class == TRIPLETS { TRIPLET_SIZES } else { SIZES };
        for items in sizes {
            cases.extend((0..DRAWS).map(|draw| case(class, items, draw)));
        }
    }
    cases
}

fn case(class: u64, items: u64, draw: u64) -> Case {
    let problem = problem(class, items, draw);
    let bound = problem.volume_bound().map(|bins| bins as f64);
    let solved = class == TRIPLETS;
    Case {
        set: SET,
        name: format!("class{class:02}_{items:03}_{draw}"),
        classes: vec![format!("class {class}")],
        pods: items,
        known: Known {
            lower_bound: bound,
            best: bound.filter(|_| solved),
            best_is_optimum: solved,
            rival: None,
        },
        in_sample: draw < 2 && items.abs_diff(SAMPLED) <= 1,
        text: Box::new(move || problem.manifests()),
    }
}

/// One draw of a class.
pub(crate) fn problem(class: u64, items: u64, draw: u64) -> Problem {
    let mut random = Random::new((class * 1_000 + items) * 100 + draw);
    if class == TRIPLETS {
        let sizes = (0..items / 3).flat_map(|_| triplet(&mut random));
        return Problem::equal_bins(vec![100, 100], sizes);
    }
    let bin = match class {
        1..=5 => 1_000,
        6..=8 => 150,
        _ => 100,
    };
    let sizes = (0..items).map(|_| item(class, &mut random));
    Problem::equal_bins(vec![bin, bin], sizes)
}

/// From `least` to `most`, both included.
fn between(random: &mut Random, least: u64, most: u64) -> u64 {
    least + random.below(most - least + 1)
}

fn item(class: u64, random: &mut Random) -> Vec<u64> {
    let mut both = |least, most| vec![between(random, least, most), between(random, least, most)];
    match class {
        1 => both(100, 400),
        2 => both(1, 1_000),
        3 => both(200, 800),
        4 => both(50, 200),
        5 => both(25, 100),
        6 => both(20, 100),
        7 => {
            let first = between(random, 20, 100);
            vec![first, between(random, first - 10, first + 10)]
        }
        8 => {
            let first = between(random, 20, 100);
            vec![first, between(random, 110 - first, 130 - first)]
        }
        _ => balls(random),
    }
}

/// Class 9.
fn balls(random: &mut Random) -> Vec<u64> {
    loop {
        let mut cells = [0, 0];
        for _ in 0..4 {
            cells[usize::from(random.below(2) == 1)] += 1;
        }
        let scale = between(random, 10, 40);
        let sizes: Vec<u64> = cells
            .iter()
            .map(|count| count * scale + random.below(2))
            .collect();
        if sizes.iter().all(|size| *size <= 100) {
            return sizes;
        }
    }
}

/// Three items that fill a bin.
fn triplet(random: &mut Random) -> [Vec<u64>; 3] {
    let mut two = || vec![between(random, 25, 50), between(random, 25, 50)];
    let (one, other) = (two(), two());
    let rest = one
        .iter()
        .zip(&other)
        .map(|(one, other)| 100 - one - other)
        .collect();
    [one, other, rest]
}
