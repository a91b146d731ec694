//! One file a rule: how it narrows what a group of pods may use.
//!
//! Each has a twin of the same name under `check`, written apart from it.

pub mod accelerators;
pub mod fragmentation;
pub mod gang;
pub mod host_ports;
pub mod limits;
pub mod min_values;
pub mod offerings;
pub mod overhead;
pub mod pod_affinity;
pub mod preferences;
pub mod requirements;
pub mod resources;
pub mod static_pools;
pub mod subnets;
pub mod taints;
pub mod topology_spread;
pub mod volumes;
pub mod zone_imbalance;

#[cfg(test)]
mod tests;
