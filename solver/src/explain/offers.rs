//! Offers that hold a pod and that one requirement of a NodePool alone excludes: what the pool could admit.

use std::collections::BTreeMap;

use crate::model::instance_type::{INSTANCE_TYPE_LABEL, InstanceType};
use crate::model::money::Price;
use crate::model::node_pool::NodePool;
use crate::model::offering::Offering;
use crate::model::pod::PodSpec;
use crate::model::requirement::{Requirements, ValueSet};
use crate::model::snapshot::SnapshotParts;

use super::change::Change;

/// So many values of one key are worth a try: the cheapest may be too small beside DaemonSets, or the wrong zone.
const MOST_VALUES: usize = 3;

/// A value more for one requirement of the pool, the cheapest first; each key has its first before any has a second.
pub(super) fn one_more_value(parts: &SnapshotParts, pool: &NodePool, pod: &PodSpec) -> Vec<Change> {
    let Some(class) = parts.node_classes.get(&pool.node_class) else {
        return Vec::new();
    };
    let mut best: BTreeMap<(&str, &str), Price> = BTreeMap::new();
    let fitting = class
        .instance_types
        .iter()
        .filter(|kind| pod.requests.fits(&kind.allocatable));
    for instance_type in fitting {
        let offerings = instance_type.offerings.iter();
        for offering in offerings.filter(|offering| offering.available) {
            let offer = Offer {
                pool,
                instance_type,
                offering,
            };
            let Some(unmet) = offer.only_unmet().filter(|_| offer.admitted_by(pod)) else {
                continue;
            };
            let price = best.entry(unmet).or_insert(offering.price);
            *price = offering.price.min(*price);
        }
    }
    let mut by_key: BTreeMap<&str, Vec<(Price, &str)>> = BTreeMap::new();
    for ((key, value), price) in best {
        by_key.entry(key).or_default().push((price, value));
    }
    let mut ranked: Vec<(usize, Price, &str, &str)> = Vec::new();
    for (key, mut values) in by_key {
        values.sort_unstable();
        let cheapest = values.into_iter().take(MOST_VALUES).enumerate();
        ranked.extend(cheapest.map(|(rank, (price, value))| (rank, price, key, value)));
    }
    ranked.sort_unstable();
    let change = |(_, _, key, value): (usize, Price, &str, &str)| Change::Admit {
        pool: pool.name.clone(),
        key: key.to_owned(),
        value: value.to_owned(),
    };
    ranked.into_iter().map(change).collect()
}

/// One way to launch a node of a pool.
struct Offer<'a> {
    pool: &'a NodePool,
    instance_type: &'a InstanceType,
    offering: &'a Offering,
}

impl<'a> Offer<'a> {
    fn label(&self, key: &str) -> Option<&'a str> {
        match key {
            INSTANCE_TYPE_LABEL => Some(self.instance_type.name.as_str()),
            _ if Offering::LABELS.contains(&key) => self.offering.label(key),
            _ => {
                let (own, template) = (&self.instance_type.labels, &self.pool.labels);
                own.get(key).or_else(|| template.get(key)).map(String::as_str)
            }
        }
    }

    /// The one requirement of the pool that this offer doesn't meet.
    fn only_unmet(&self) -> Option<(&'a str, &'a str)> {
        let mut unmet = self.pool.requirements.iter().filter_map(|(key, set)| {
            let value = self.label(key)?;
            (!set.admits(Some(value))).then_some((key, value))
        });
        let first = unmet.next()?;
        unmet.next().is_none().then_some(first)
    }

    /// Whether selector, affinity and volumes of the pod may be met, as far as labels are known.
    fn admitted_by(&self, pod: &PodSpec) -> bool {
        let volumes = pod.rules.volumes.iter().map(|volume| &volume.reach);
        let mut terms = pod.node_affinity.iter().chain(volumes);
        self.meets_all(&pod.selector_requirements())
            && terms.all(|terms| {
                let mut possible = terms.0.iter().filter(|term| term.node_name.is_none());
                possible.any(|term| self.meets_all(&term.expressions))
            })
    }

    fn meets_all(&self, wanted: &Requirements) -> bool {
        wanted.iter().all(|(key, wanted)| self.meets(key, wanted))
    }

    fn meets(&self, key: &str, wanted: &ValueSet) -> bool {
        match self.label(key) {
            Some(value) => wanted.admits(Some(value)),
            None => self
                .pool
                .requirements
                .get(key)
                .map_or_else(|| wanted.admits(None), |open| !open.intersect(wanted).is_empty()),
        }
    }
}
