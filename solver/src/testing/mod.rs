//! The test kit (feature `testing`): small clusters from short code, plans by hand, strategies, metamorphic moves, and
//! an exact solver for tiny problems.
//!
//! Promises: uses [`crate::model`] alone, so that it can't share a mistake with the planner or the check; only the
//! synthetic problems for side rows know the problem too, as data. Made for tests: what makes no sense panics, with a sentence about what is wrong.

#![expect(
    clippy::unwrap_used,
    reason = "a test kit fails by panicking: its callers are tests, their inputs are literals"
)]

pub mod build;
pub mod draft;
pub mod exact;
pub mod moves;
pub mod naive;
pub mod rules;
pub mod strategies;
pub mod synthetic;
pub mod synthetic_exact;
pub mod thrown;
