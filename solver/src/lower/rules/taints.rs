//! Taints: a pod stays off nodes with a hard taint that it doesn't tolerate.
//!
//! A NodePool's startup taints go by themselves and count for nothing; neither do `PreferNoSchedule` taints.

use crate::model::node_pool::NodePool;
use crate::model::pod::PodSpec;
use crate::model::taint::{Taint, first_untolerated};

/// The taint of the node pool that keeps these pods off, if any does.
#[must_use]
pub fn refused_by<'a>(pool: &'a NodePool, spec: &PodSpec) -> Option<&'a Taint> {
    first_untolerated(&pool.taints, &spec.tolerations)
}

/// Whether a pod tolerates all hard taints of an existing node.
#[must_use]
pub fn tolerates(taints: &[Taint], spec: &PodSpec) -> bool {
    first_untolerated(taints, &spec.tolerations).is_none()
}
