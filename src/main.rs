//! The `dovetail` command.

fn main() {}
