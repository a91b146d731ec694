//! Pods like those of real Deployments, in four mixes; the same ones every time.
//!
//! CPU requests are the round figures that people write (or, in `uniform`, any); memory follows CPU at about 2 GiB a core,
//! log-normally spread; a few Deployments are large and many are small.

use crate::common::random::Random;

/// A mix of pods.
pub(crate) struct Mix {
    /// Its name.
    pub(crate) name: &'static str,
    /// CPU requests to draw from, in milli; empty: any from 50 to 8 000.
    cpus: &'static [u64],
    /// Spread and shift of the binary logarithm of memory.
    spread: f64,
    shift: f64,
    /// How many kinds of pods at most.
    kinds: u64,
}

/// All four.
pub(crate) const MIXES: [Mix; 4] = [
    Mix {
        name: "mixed",
        cpus: &[100, 250, 500, 1000, 2000, 4000],
        spread: 1.4,
        shift: 0.6,
        kinds: 100,
    },
    Mix {
        name: "small",
        cpus: &[100, 250, 500],
        spread: 1.0,
        shift: 0.8,
        kinds: 60,
    },
    Mix {
        name: "large",
        cpus: &[2000, 4000, 7000, 8000, 12_000, 15_000],
        spread: 1.0,
        shift: 0.8,
        kinds: 40,
    },
    Mix {
        name: "uniform",
        cpus: &[],
        spread: 1.2,
        shift: 0.6,
        kinds: 100,
    },
];

/// Pods that are all alike.
pub(crate) struct Group {
    /// Milli-CPU and MiB.
    pub(crate) size: (u64, u64),
    /// How many.
    pub(crate) count: u64,
}

/// Draws the kinds of pods of a mix, their counts adding up to `pods`.
pub(crate) fn groups(mix: &Mix, pods: u64) -> Vec<Group> {
    let mut random = Random::new(42);
    let kinds = mix.kinds.min(pods.div_ceil(10)).max(1);
    let mut drawn: Vec<((u64, u64), f64)> = Vec::new();
    for _ in 0..kinds {
        let milli = match mix.cpus {
            [] => 50 + random.below(7_951),
            cpus => cpus[random.below(cpus.len() as u64) as usize],
        };
        // The sum of twelve uniform numbers less six is nearly normal.
        let normal: f64 = (0..12).map(|_| unit(&mut random)).sum::<f64>() - 6.0;
        let gib = milli as f64 / 1000.0 * 2.0 * (mix.spread * normal + mix.shift).exp2();
        let mib = ((gib * 16.0).round() as u64).clamp(1, 256 * 16) * 64;
        drawn.push(((milli, mib), (-unit(&mut random).ln()).powf(1.5)));
    }
    let total: f64 = drawn.iter().map(|(_, weight)| weight).sum();
    let mut left = pods;
    let mut groups = Vec::new();
    for (index, (size, weight)) in drawn.iter().enumerate() {
        let later = kinds - 1 - index as u64;
        let share = (pods as f64 * weight / total).round() as u64;
        let count = if later == 0 {
            left
        } else {
            share.clamp(1, left.saturating_sub(later).max(1))
        };
        left = left.saturating_sub(count);
        groups.push(Group { size: *size, count });
    }
    groups
}

/// Above 0, at most 1.
fn unit(random: &mut Random) -> f64 {
    ((random.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}
