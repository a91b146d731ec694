//! Side rows on synthetic problems: what they mean, and every engine between the bound and the exact optimum.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod meaning;
