//! The Kubernetes adapter: objects in, a snapshot out.
//!
//! ```text
//! files, standard input ─manifests─┐
//! a live cluster ─────────live─────┼▶ Index ─snapshot::freeze (convert)─▶ Snapshot
//! ```
//!
//! Promises: one [`index::Index`], whoever feeds it; every object that is dropped is named and counted
//! ([`diagnostics`]). Decides nothing: what a pod costs or where it goes is the solver's.

pub mod convert;
pub mod diagnostics;
pub mod index;
pub mod live;
pub mod manifests;
pub mod objects;
pub mod snapshot;
