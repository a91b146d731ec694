//! Side rows on synthetic problems: what they mean, and every engine between the bound and the exact optimum.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod across;
#[cfg(feature = "highs")]
mod engine;
#[cfg(feature = "highs")]
mod examples;
mod greedy;
mod meaning;
mod nearness;
