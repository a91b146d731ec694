//! Prints the example dump: a cluster of 66 nodes and about a thousand pods, a hundred of them pending.
//!
//! `cargo run --example generate_dump > examples/dump/cluster.yaml` writes what is committed; a test holds that it still
//! would. No cluster is asked: fleet and workloads are made up, the same ones every time.

mod dump;
mod fleet;
mod machines;
mod objects;
mod workloads;

use std::io::Write;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(dump::dump().as_bytes())
}
