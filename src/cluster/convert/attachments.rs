//! How many volumes may be attached to a node: a resource by driver, `attachable-volumes-csi-<driver>`.
//!
//! What a node's CSINode says holds; until it lists the driver, what its instance type takes; where neither says anything, any
//! number. Only drivers that count somewhere become a resource. Source: Kubernetes documentation, "Node-specific Volume
//! Limits".

use std::collections::BTreeSet;

use dovetail_solver::model::instance_type::{INSTANCE_TYPE_LABEL, InstanceType};
use dovetail_solver::model::node::Node;
use dovetail_solver::model::resources::{Amount, ResourceName, Resources};

use crate::api::labels::{ATTACHMENTS_PREFIX, EC2_NODE_CLASS};
use crate::cloud::catalog::{Catalogue, ClassSettings};
use crate::cluster::index::Index;
use crate::cluster::objects::meta::ObjectName;
use crate::cluster::objects::storage::CsiNode;

use super::node_class::Classes;

/// The driver of EBS volumes.
pub const EBS_DRIVER: &str = "ebs.csi.aws.com";

/// Any number: no node has as many pods.
const UNLIMITED: Amount = Amount::new(1_000_000);

/// The resource that stands for attachments of a driver.
#[must_use]
pub fn attachments(driver: &str) -> ResourceName {
    ResourceName::from(format!("{ATTACHMENTS_PREFIX}{driver}"))
}

/// Drivers that can attach only so many volumes to a node: EBS's, and those that say so of some node.
#[must_use]
pub fn counted_drivers(index: &Index) -> BTreeSet<String> {
    let of_nodes = index.all_referred::<CsiNode>().flat_map(|(_, node)| {
        let counting = node.spec.drivers.iter();
        counting.filter(|driver| driver.allocatable.count.is_some())
    });
    let mut counted: BTreeSet<String> = of_nodes.map(|driver| driver.name.clone()).collect();
    counted.insert(EBS_DRIVER.to_owned());
    counted
}

/// What machines can attach.
#[derive(Clone, Copy, Debug)]
pub struct Attachments<'a> {
    /// By [`counted_drivers`]; empty where no pod's volumes are known.
    pub drivers: &'a BTreeSet<String>,
    /// What instance types take.
    pub catalogue: &'a Catalogue,
}

impl Attachments<'_> {
    /// Of instance types as a class sees them.
    pub fn of_types(&self, types: &mut [InstanceType], class: &ClassSettings) {
        for instance_type in types {
            for driver in self.drivers {
                let limit = self.of_type(driver, instance_type.name.as_str(), class);
                set(&mut instance_type.allocatable, driver, limit);
            }
        }
    }

    /// Of nodes that are there or on their way.
    pub fn of_nodes(&self, nodes: &mut [Node], index: &Index, classes: &Classes) {
        let usual = ClassSettings::default();
        for node in nodes {
            let label = |key: &str| node.labels.get(key).map_or("", String::as_str);
            let class = classes.settings.get(label(EC2_NODE_CLASS)).unwrap_or(&usual);
            let reported: Option<&CsiNode> = index.referred(&ObjectName::new("", node.name.as_str()));
            let reported = reported.map_or(&[][..], |reported| &reported.spec.drivers);
            for driver in self.drivers {
                let limit = match reported.iter().find(|reported| reported.name == *driver) {
                    Some(reported) => reported.allocatable.count.map(u64::from),
                    None => self.of_type(driver, label(INSTANCE_TYPE_LABEL), class),
                };
                set(&mut node.allocatable, driver, limit);
            }
        }
    }

    fn of_type(&self, driver: &str, instance_type: &str, class: &ClassSettings) -> Option<u64> {
        (driver == EBS_DRIVER)
            .then(|| self.catalogue.attachable_volumes(instance_type, class))
            .flatten()
    }
}

fn set(allocatable: &mut Resources, driver: &str, limit: Option<u64>) {
    let resource = attachments(driver);
    // A Catalog document may say it itself.
    if !allocatable.contains(&resource) {
        allocatable.set(resource, limit.map_or(UNLIMITED, Amount::new));
    }
}
