//! The engine: generate, dive, search among whole numbers, and hand out what keeps every rule.

use crate::lower::Problem;
use crate::lp::run::Refused;
use crate::pack::Packing;
use crate::pack::effort::{Effort, Share};

use super::bound::Bound;
use super::dive::dive;
use super::generate::{Converged, Generator};
use super::linear::Linear;
use super::program::Program;
use super::verdict;

/// Fillings beyond which a search over whole numbers gets nowhere in time.
const MOST_SEARCHED: usize = 1_500;

/// Effort for each part of the work, and when all fillings are listed.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// For generating.
    pub generate: Share,
    /// For diving.
    pub dive: Share,
    /// Where there are no more fillings than this all are known from the start.
    pub list: usize,
    /// For the search among whole numbers.
    pub search: Share,
}

impl Default for Shares {
    /// A second or so.
    fn default() -> Self {
        Self {
            generate: Share {
                units: 60_000_000,
                hundredths: 50,
            },
            dive: Share {
                units: 40_000_000,
                hundredths: 80,
            },
            list: 1_000,
            search: Share {
                units: 5_000_000,
                hundredths: 100,
            },
        }
    }
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// The best packing found that keeps every rule; `None` where none was.
    pub packing: Option<Packing>,
    /// Values that bound every packing that keeps the rules.
    pub bound: Option<Bound>,
    /// Fillings that the program knew in the end.
    pub columns: usize,
}

/// Packs under side rows; `None` where some pods may be pushed to lighter pools, which this doesn't look at.
///
/// # Errors
/// When the solver refuses what it is given.
pub fn pack(
    problem: &Problem<'_>,
    shares: Shares,
    effort: &mut Effort<'_>,
) -> Result<Option<Outcome>, Refused> {
    if !problem.weights_are_settled() {
        return Ok(None);
    }
    let linear = Linear::of(problem);
    let mut generator = Generator::new(problem, &linear);
    let mut program = Program::new(problem, &linear)?;
    let nothing = vec![0; linear.rows.len()];
    program.add(generator.singles(&problem.counts(), &nothing))?;
    let listed = generator.all(shares.list);
    program.add(listed.unwrap_or_default())?;
    effort.grant(shares.generate);
    let Converged { relaxed, bound } = generator.converge(&mut program, effort)?;
    effort.grant(shares.dive);
    let mut best: Option<Packing> = None;
    let mut consider = |packing: Packing| {
        let better = |best: &Packing| packing.is_better_than(best, problem);
        if best.as_ref().is_none_or(better) && verdict::broken(problem, &packing).is_empty() {
            best = Some(packing);
        }
    };
    if let Some(relaxed) = relaxed {
        consider(dive(
            problem,
            &linear,
            &mut program,
            &mut generator,
            relaxed,
            effort,
        )?);
    }
    effort.grant(shares.search);
    if !effort.is_used_up()
        && program.patterns().len() <= MOST_SEARCHED
        && let Some(packing) = program.in_whole_numbers(shares.search.units, effort)?
    {
        consider(packing);
    }
    Ok(Some(Outcome {
        packing: best,
        bound,
        columns: program.patterns().len(),
    }))
}
