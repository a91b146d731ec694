//! Plain data in Kubernetes' words: what a decision is made from, and what it is.
//!
//! No decision is taken here. All amounts are integers in base units; all collections are ordered.

pub mod explain;
pub mod instance_type;
pub mod money;
pub mod name;
pub mod node;
pub mod node_pool;
pub mod objective;
pub mod offering;
pub mod placement;
pub mod plan;
pub mod pod;
pub mod quantity;
pub mod requirement;
pub mod resources;
pub mod rules;
pub mod selector;
pub mod snapshot;
pub mod subnet;
pub mod taint;
pub mod time;
