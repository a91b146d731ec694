//! Packing under side rows.
//!
//! [`pack`] is the engine for problems whose rows span nodes; others it can pack as well. Column generation over kinds and
//! rooms ([`generate`], [`fill`]) on a master program with the rows as they are in [`linear`] ([`program`]); a bound that
//! holds for every packing ([`bound`]); a dive, then a search over whole numbers among all fillings found. Where there
//! are few pods all fillings are known from the start, and that search is over all packings. [`split`] makes of a problem and
//! a packing one that all other engines can pack.
//!
//! Promises: a packing that is handed out keeps every rule, by [`verdict`], which reads side rows literally and builds
//! nothing. The same problem, options and work limit give the same packing. Doesn't promise that all pods that could be
//! placed are: under a limit or a row that is hard to keep some may be left.

pub mod across;
pub mod balance;
#[cfg(feature = "highs")]
pub mod bound;
pub mod counts;
#[cfg(feature = "highs")]
pub mod dive;
#[cfg(feature = "highs")]
pub mod fill;
#[cfg(feature = "highs")]
pub mod generate;
pub mod group_parts;
pub mod linear;
pub mod node;
#[cfg(feature = "highs")]
mod pack;
pub mod parts;
#[cfg(feature = "highs")]
pub mod program;
pub mod shares;
pub mod shift;
pub mod split;
pub mod tally;
pub mod unmet;
pub mod verdict;

#[cfg(feature = "highs")]
pub use pack::{Outcome, Shares, pack};
