//! The parts of `cargo bench --bench quality` that can be wrong without a figure looking odd: instances and their
//! formats, generators, options, means, baselines, the page.
//!
//! The bench itself has no harness, so its modules are taken in here. No plan is made but one, for the whole way.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "the bench's main uses the rest")]
#[path = "../benches/quality/main.rs"]
mod quality;

#[path = "bench_quality/figures.rs"]
mod figures;
#[path = "bench_quality/instances.rs"]
mod instances;
#[path = "bench_quality/options.rs"]
mod options;
