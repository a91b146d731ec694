//! Where machines come from: the built-in EC2 catalogue.

pub mod catalog;
