//! Near-equal groups as one: where there are thousands, engines and programs get a hundred or two in their place.
//!
//! Only groups that differ in CPU and memory alone are taken together: the same kinds and rooms are open to their
//! profiles, and priority, weights of pools and all other requests agree. Among those the cluster whose members stray
//! furthest from their mean is halved, again and again, at the mean of the resource they stray most in.
//!
//! Promises: clusters partition the groups given; the same values give the same clusters whatever pods are called.

use super::float;
use std::collections::{BTreeMap, BinaryHeap};

use fixedbitset::FixedBitSet;

use crate::lower::Problem;

/// Share of all that is asked for below which straying doesn't matter.
const NEGLIGIBLE: f64 = 1e-4;
/// Columns that may differ within a cluster: CPU and memory, which every problem has first.
const MERGED_COLUMNS: usize = 2;

/// Groups taken together, ordered.
pub type Cluster = Vec<usize>;

/// By profile: the first profile that the same kinds and rooms are open to.
#[must_use]
pub fn alike_profiles(problem: &Problem<'_>) -> Vec<usize> {
    let mut known: BTreeMap<(FixedBitSet, FixedBitSet), usize> = BTreeMap::new();
    let open = |profile: usize| {
        let mut kinds = FixedBitSet::with_capacity(problem.kinds.len());
        for (at, kind) in problem.kinds.iter().enumerate() {
            kinds.set(at, kind.profiles.contains(profile));
        }
        let mut rooms = FixedBitSet::with_capacity(problem.rooms.len());
        for (at, room) in problem.rooms.iter().enumerate() {
            rooms.set(at, room.profiles.contains(profile));
        }
        (kinds, rooms)
    };
    (0..problem.profiles.len())
        .map(|profile| *known.entry(open(profile)).or_insert(profile))
        .collect()
}

/// Partitions groups into `most` clusters, or as many as have to stay apart, ordered by their first groups.
#[must_use]
pub fn clusters(problem: &Problem<'_>, groups: &[usize], counts: &[u64], most: usize) -> Vec<Cluster> {
    let profiles = alike_profiles(problem);
    let mut cells: BTreeMap<_, Cluster> = BTreeMap::new();
    for group in groups {
        let item = &problem.groups[*group];
        let others = &problem.request(*group)[MERGED_COLUMNS..];
        let key = (
            (profiles[item.profile], item.priority, item.launches),
            others,
            &problem.tiers[*group],
        );
        cells.entry(key).or_default().push(*group);
    }
    let scale = scale(problem, groups, counts);
    let spread = |cluster: Cluster| Spread::of(problem, counts, &scale, cluster);
    let mut done: Vec<Cluster> = Vec::new();
    let mut heap: BinaryHeap<Spread> = cells.into_values().map(spread).collect();
    while let Some(widest) = heap.pop() {
        if widest.loss <= NEGLIGIBLE / float_of(most) || heap.len() + done.len() + 1 >= most {
            done.push(widest.cluster);
            continue;
        }
        let (below, above) = widest.halves(problem);
        for half in [below, above] {
            heap.push(Spread::of(problem, counts, &scale, half));
        }
    }
    done.sort_unstable();
    done
}

fn float_of(count: usize) -> f64 {
    float(u64::try_from(count).unwrap_or(u64::MAX))
}

/// What a unit of CPU and memory is of all that is asked for.
fn scale(problem: &Problem<'_>, groups: &[usize], counts: &[u64]) -> [f64; MERGED_COLUMNS] {
    let mut totals = [0.0; MERGED_COLUMNS];
    for group in groups {
        for (total, amount) in totals.iter_mut().zip(problem.request(*group)) {
            *total += float(*amount) * float(counts[*group]);
        }
    }
    totals.map(|total| if total > 0.0 { 1.0 / total } else { 0.0 })
}

/// A cluster and how far its pods stray from their mean.
struct Spread {
    cluster: Cluster,
    /// As a share of all that is asked for.
    loss: f64,
    /// The resource they stray most in, and the mean of it.
    column: usize,
    mean: f64,
}

impl Spread {
    fn of(problem: &Problem<'_>, counts: &[u64], scale: &[f64; MERGED_COLUMNS], cluster: Cluster) -> Self {
        let pods: f64 = cluster.iter().map(|group| float(counts[*group])).sum();
        let mut spread = Self {
            cluster,
            loss: 0.0,
            column: 0,
            mean: 0.0,
        };
        let mut widest = -1.0;
        for (column, unit) in scale.iter().enumerate() {
            let amounts = || {
                let groups = spread.cluster.iter();
                groups.map(|group| (float(problem.request(*group)[column]), float(counts[*group])))
            };
            let mean = amounts().map(|(amount, count)| amount * count).sum::<f64>() / pods.max(1.0);
            let strays: f64 = amounts()
                .map(|(amount, count)| (amount - mean).abs() * count)
                .sum();
            let strays = strays * unit;
            spread.loss += strays;
            if strays > widest {
                (widest, spread.column, spread.mean) = (strays, column, mean);
            }
        }
        spread
    }

    /// Those at or below the mean, and those above it.
    fn halves(self, problem: &Problem<'_>) -> (Cluster, Cluster) {
        let (column, mean) = (self.column, self.mean);
        let below = |group: &usize| float(problem.request(*group)[column]) <= mean;
        self.cluster.into_iter().partition(below)
    }
}

impl PartialEq for Spread {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Spread {}

impl PartialOrd for Spread {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Spread {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        // The cluster with the first group among equals; an empty one never gets here.
        (self.loss.total_cmp(&other.loss)).then_with(|| other.cluster.cmp(&self.cluster))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::lower;
    use crate::model::money::Price;
    use crate::pack::random::Random;
    use crate::testing::build::{Cluster, in_zone, machine};

    fn cluster() -> Cluster {
        let mut machine = machine("small", "16", "64Gi", "0.1");
        machine.offerings[1].price = Price::parse("0.09").unwrap();
        let mut cluster = Cluster::new().instance_type(machine).pool("default");
        let mut random = Random::new(1);
        for number in 0..600 {
            let (cpu, memory) = (100 + random.below(8_000), 64 + random.below(16_000));
            cluster = cluster.pods_with(
                &format!("web-{number}"),
                1 + number % 3,
                &format!("{cpu}m"),
                &format!("{memory}Mi"),
                |spec| {
                    spec.priority = i32::from(number % 7 == 0);
                    if number % 5 == 0 {
                        spec.node_selector = in_zone("zone-a");
                    }
                },
            );
        }
        cluster
    }

    #[test]
    fn clusters_partition_the_groups_and_keep_apart_what_rules_tell_apart() {
        let snapshot = cluster().freeze();
        let problem = lower(&snapshot);
        let counts = problem.counts();
        let groups: Vec<usize> = (0..problem.groups.len()).collect();
        let clusters = clusters(&problem, &groups, &counts, 100);
        assert_eq!(clusters.len(), 100);
        let mut all = clusters.concat();
        all.sort_unstable();
        assert_eq!(all, groups);
        for cluster in &clusters {
            let rules = |group: usize| (problem.groups[group].profile, problem.groups[group].priority);
            assert!(cluster.iter().all(|group| rules(*group) == rules(cluster[0])));
        }
    }

    #[test]
    fn groups_that_hardly_differ_are_one() {
        let cluster = Cluster::new()
            .instance_type(machine("small", "16", "64Gi", "0.1"))
            .pool("default")
            .pods("a", 5, "1", "1Gi")
            .pods("b", 5, "1", "1048577Ki")
            .pods("c", 5, "2", "1Gi");
        let snapshot = cluster.freeze();
        let problem = lower(&snapshot);
        assert_eq!(clusters(&problem, &[0, 1, 2], &problem.counts(), 10).len(), 2);
        assert_eq!(clusters(&problem, &[0, 1, 2], &problem.counts(), 1).len(), 1);
    }
}
