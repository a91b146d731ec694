//! Freezes the index: everything that a plan depends on becomes one value.
//!
//! Promises: the same index and options give the same snapshot; what can't be planned is noted with its consequence and
//! left out, the rest is there. Fails only where any plan would be a guess: no catalogue of the region, two Catalogs.

mod buffers;
mod nodes;
mod pods;
mod pools;
mod reservations;

use std::time::Duration;

use dovetail_solver::model::node_pool::MinValuesPolicy;
use dovetail_solver::model::plan::Gap;
use dovetail_solver::model::snapshot::{Snapshot, SnapshotError, SnapshotParts};
use dovetail_solver::model::subnet::Subnet;
use dovetail_solver::model::time::Timestamp;
use thiserror::Error;

use super::convert::admission::Admission;
use super::convert::attachments::Attachments;
use super::convert::daemon_set::daemon_sets;
use super::convert::node::machines;
use super::convert::node_class::classes;
use super::convert::node_overlay;
use super::convert::pod::PodSpecs;
use super::convert::policy::policies;
use super::convert::rules::Surroundings;
use super::convert::rules::defaults::SchedulerConfig;
use super::diagnostics::{Note, Reason};
use super::index::Index;
use super::objects::referred::Service;
use crate::api::labels;
use crate::cloud::catalog::{self, Catalogue, CatalogueError};

/// The region where nothing says another.
const DEFAULT_REGION: &str = "us-east-1";

/// How to freeze.
#[derive(Clone, Debug, Default)]
pub struct FreezeOptions {
    /// The region of the built-in catalogue, where somebody chose it.
    pub region: Option<String>,
    /// The instant from which ages count.
    pub now: Timestamp,
    /// What is known of the scheduler's configuration.
    pub scheduler_config: SchedulerConfig,
    /// What becomes of minValues that can't be met.
    pub min_values_policy: MinValuesPolicy,
}

/// A snapshot and what there is to say about it.
#[derive(Clone, Debug)]
pub struct Frozen {
    /// Everything a plan depends on.
    pub snapshot: Snapshot,
    /// Why this region: `flag`, `node labels`, `default`, or the Catalog's name.
    pub region_reason: String,
    /// Whether spot prices are estimates (those of the built-in catalogue are).
    pub spot_is_estimated: bool,
    /// What was left out, and what follows.
    pub notes: Vec<Note>,
    /// The shortest time budget of the PackingPolicies in use.
    pub time_budget: Option<Duration>,
    /// The smallest gap of the PackingPolicies in use.
    pub gap: Option<Gap>,
}

/// Why there is no snapshot.
#[derive(Debug, Error)]
pub enum FreezeError {
    /// No catalogue, so no prices.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// Which one to believe?
    #[error("there are several Catalogs ({}); a plan needs one", .0.join(", "))]
    SeveralCatalogues(Vec<String>),
    /// The parts don't fit together.
    #[error("putting the snapshot together")]
    Snapshot(#[from] SnapshotError),
}

/// Freezes the index.
///
/// # Errors
/// No catalogue of the region, or more than one Catalog.
pub fn freeze(index: &Index, options: &FreezeOptions) -> Result<Frozen, FreezeError> {
    let mut notes = Vec::new();
    let (catalogue, region_reason) = catalogue(index, options, &mut notes)?;
    let (classes, said) = classes(index);
    notes.extend(said);
    let (policies, said) = policies(index, &classes);
    notes.extend(said);

    let surroundings = Surroundings::of(index, &options.scheduler_config);
    let attachments = Attachments {
        drivers: surroundings.counted_drivers(),
        catalogue: &catalogue,
    };
    let machines = machines(index);
    let mut nodes = nodes::convert(index, &machines, &catalogue, &classes, &mut notes);
    attachments.of_nodes(&mut nodes, index, &classes);
    let mut launching = pools::convert(
        index,
        &machines,
        attachments,
        classes,
        &policies,
        options.now,
        &mut notes,
    );

    notes.extend(node_overlay::apply(
        index,
        &mut launching.node_pools,
        &mut launching.node_classes,
        &mut nodes,
    ));

    let admission = Admission::new(index);
    let mut specs = PodSpecs::new(index, &admission, &surroundings);
    let (daemon_sets, said) = daemon_sets(index, &admission, &surroundings, &mut specs);
    notes.extend(said);
    let mut pods = pods::convert(index, &nodes, &surroundings, &mut specs, &mut notes);
    buffers::add(index, &mut specs, &mut pods, &mut notes);

    let services = index.all_referred::<Service>().count();
    if services > 0 && options.scheduler_config == SchedulerConfig::default() {
        let message = "Service isn't read by plan without default constraints (--scheduler-config)";
        let count = u64::try_from(services).unwrap_or(u64::MAX);
        notes.push(Note::info(Reason::UnknownKind, message).counting(count));
    }

    let snapshot = SnapshotParts {
        now: options.now,
        region: catalogue.region().to_owned(),
        node_classes: launching.node_classes,
        node_pools: launching.node_pools,
        nodes,
        daemon_sets,
        pods,
        objective: policies.objective,
        subnets: catalogue.subnets().iter().map(subnet).collect(),
        addresses_per_node: catalogue.addresses_per_node(),
        min_values_policy: options.min_values_policy,
        placement: policies.placement,
    }
    .freeze()?;
    Ok(Frozen {
        snapshot,
        region_reason,
        spot_is_estimated: catalogue.spot_is_estimated(),
        notes,
        time_budget: policies.time_budget,
        gap: policies.gap,
    })
}

fn subnet(subnet: &catalog::Subnet) -> Subnet {
    Subnet {
        id: subnet.id.as_str().into(),
        zone: subnet.zone.clone(),
        free_addresses: subnet.free_addresses,
    }
}

/// The catalogue to plan with, and why this one.
fn catalogue(
    index: &Index,
    options: &FreezeOptions,
    notes: &mut Vec<Note>,
) -> Result<(Catalogue, String), FreezeError> {
    let mut documents = index.catalogues().iter();
    let Some((name, document)) = documents.next() else {
        let (region, reason) = region(index, options);
        return Ok((Catalogue::built_in(&region)?, reason.to_owned()));
    };
    if documents.next().is_some() {
        let names = index.catalogues().keys().map(ToString::to_string).collect();
        return Err(FreezeError::SeveralCatalogues(names));
    }
    let catalogue = Catalogue::from_document(&document.object)?;
    if let Some(asked) = options
        .region
        .as_deref()
        .filter(|asked| *asked != catalogue.region())
    {
        let message = format!(
            "its region is {}, so the region {asked} that was asked for is not used",
            catalogue.region()
        );
        notes.push(Note::warning(Reason::Catalogue, message).about(format_args!("Catalog {name}")));
    }
    Ok((catalogue, format!("Catalog {name}")))
}

/// The region of the built-in catalogue: as chosen, else what most nodes say, else the usual one.
fn region(index: &Index, options: &FreezeOptions) -> (String, &'static str) {
    if let Some(region) = &options.region {
        return (region.clone(), "flag");
    }
    let mut votes: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    for stored in index.nodes().values() {
        let node_labels = &stored.object.metadata.labels;
        let old = "failure-domain.beta.kubernetes.io/region";
        if let Some(region) = node_labels.get(labels::REGION).or_else(|| node_labels.get(old)) {
            *votes.entry(region).or_default() += 1;
        }
    }
    // Of equally many the first by name, so that the answer is always the same.
    let most = votes.iter().rev().max_by_key(|(_, count)| **count);
    most.map_or((DEFAULT_REGION.to_owned(), "default"), |(region, _)| {
        ((*region).to_owned(), "node labels")
    })
}

#[cfg(test)]
mod buffer_tests;
#[cfg(test)]
mod overlay_tests;
#[cfg(test)]
mod reservation_tests;
#[cfg(test)]
mod tests;
