//! Tests of the program that need nothing but itself, in one binary.

mod crds;
mod resources;
