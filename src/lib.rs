//! Dovetail: a node autoscaler for Kubernetes on EC2 that plans at the least cost.
//!
//! This crate is the program around [`dovetail_solver`]: custom resources, manifests in, the built-in EC2
//! catalogue, and the commands. It decides nothing itself; every decision is the solver's.

pub mod api;
pub mod args;
pub mod clock;
pub mod cloud;
pub mod cluster;
pub mod commands;
pub mod render;
