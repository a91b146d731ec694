//! From Kubernetes objects to the solver's model, one file a concern.
//!
//! Promises: requests round up and capacities down; what can't be converted is named and left out, and what follows from
//! that is said. No file here knows of files or clients.

pub mod admission;
pub mod attachments;
pub mod daemon_set;
pub mod expression;
pub mod gang;
pub mod labels;
pub mod node;
pub mod node_class;
pub mod node_overlay;
pub mod node_pool;
pub mod pod;
pub mod policy;
pub mod provisioning;
pub mod requests;
pub mod rules;
pub mod unweighed;
pub mod workload;
