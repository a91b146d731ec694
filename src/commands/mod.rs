//! One file a subcommand: what it reads, what it runs, what it prints.

pub mod crds;
