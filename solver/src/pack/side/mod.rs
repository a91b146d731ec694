//! Side rows in the engines.
//!
//! [`verdict`] reads them literally, for tests and for the last look at a packing; nothing is built by it.

pub mod verdict;
