//! Custom resources and nothing else: their Rust types, and the definitions that an API server is given.
//!
//! Promises: what the definitions accept, these types read (and a `null` means the default, as on the server);
//! [`definitions`] is deterministic, and `deploy/crds/` holds exactly its output. The types are plain data: no field is
//! interpreted here. Where the schema lets a value through that makes no sense, its reader has to say so.
//!
//! The generated root types ([`NodePool`] and so on) have no fields for `apiVersion` and `kind`: a reader that looks for
//! unknown fields meets those two on every object.

#![expect(
    clippy::duplicated_attributes,
    reason = "kube's printcolumn takes the same attributes once for each column"
)]

mod absent;
mod capacity_buffer;
mod catalog;
mod conditions;
mod crd;
pub mod effort;
pub mod labels;
mod node_claim;
mod node_class;
mod node_overlay;
mod node_pool;
mod packing_policy;
mod replay;
mod requirement;
mod schema;
mod whole;

pub use capacity_buffer::{
    CapacityBuffer, CapacityBufferSpec, CapacityBufferStatus, LocalReference, ScalableReference,
    default_provisioning_strategy,
};
pub use catalog::{
    CapacityType, Catalog, CatalogInstanceType, CatalogOffering, CatalogReservation, CatalogSpec,
    CatalogSubnet, ZonePrices,
};
pub use conditions::{Condition, condition};
pub use crd::{definitions, file_name, to_yaml};
pub use node_claim::{NodeClaim, NodeClaimResources, NodeClaimSpec, NodeClaimStatus};
pub use node_class::{
    Ami, AmiFamily, AmiRequirement, AmiSelectorTerm, BlockDevice, BlockDeviceMapping, CapacityReservation,
    CapacityReservationSelectorTerm, ConnectionTracking, CpuOptions, EC2NodeClass, EC2NodeClassSpec,
    EC2NodeClassStatus, EnclaveOptions, HttpTokens, InstanceMatchCriteria, InstanceStorePolicy,
    InterfaceType, KubeletSettings, MetadataOptions, NetworkInterface, PlacementGroupSelector,
    ReservationState, ReservationType, SecurityGroup, SecurityGroupSelectorTerm, Subnet, SubnetSelectorTerm,
    Switch, VolumeType,
};
pub use node_overlay::{NodeOverlay, NodeOverlaySpec, NodeOverlayStatus, OverlayRequirement};
pub use node_pool::{
    Budget, ConsolidationPolicy, Disruption, DisruptionReason, NodeClaimTemplate, NodeClaimTemplateSpec,
    NodePool, NodePoolSpec, NodePoolStatus, TemplateMetadata, default_budget_nodes, default_budgets,
    default_consolidate_after, default_expire_after,
};
pub use packing_policy::{
    Consolidation, NodeHour, Overhead, PackingPolicy, PackingPolicySpec, PackingPolicyStatus, Placement,
    SolverSettings, Weights,
};
pub use replay::{
    Replay, ReplayDelete, ReplayEvent, ReplayInterrupt, ReplayPrice, ReplayRestart, ReplayScale,
    ReplayScheduler, ReplaySpec, ReplayThrottle, ReplayUnavailable, ReplayUnready,
};
pub use requirement::{NodeClassReference, Operator, Requirement, Taint, TaintEffect};

/// Amounts of resources by name, as written: a quantity is a text or a number there.
pub type Resources =
    std::collections::BTreeMap<String, k8s_openapi::apimachinery::pkg::api::resource::Quantity>;
