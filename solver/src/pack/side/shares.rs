//! How many pods of a group go to which part: water is filled in where it is lowest.

use fixedbitset::FixedBitSet;

use super::across::Across;

impl Across {
    /// Shares of so many pods by part. `ranked` are the parts to choose from, the best first; `stuck` ones get none, and hold
    /// back those that must not get too far above them. Nothing is booked in the end.
    #[must_use]
    pub fn shares(&mut self, group: usize, count: u64, ranked: &[usize], stuck: &FixedBitSet) -> Vec<u64> {
        let mut shares = vec![0; self.parts.count()];
        let classes = self.classes(group, ranked);
        let mut left = count;
        while left > 0 {
            let (lowest, next) = self.lowest(group, ranked, stuck, &classes);
            let Some(first) = lowest.first() else { break };
            let rises = self.level(group, *first, true) > self.level(group, *first, false);
            let width = u64::try_from(lowest.len()).unwrap_or(u64::MAX);
            let mut each = if rises { (left / width).min(next) } else { 0 };
            while each > 1 && !self.fits(group, &lowest, each) {
                each /= 2;
            }
            if each > 1 {
                for part in &lowest {
                    shares[*part] += each;
                }
                left -= each * width;
                continue;
            }
            let most = self.allowance(group, *first).min(left);
            let more = if rises { most.min(1) } else { most };
            self.place(group, *first, more);
            shares[*first] += more;
            left -= more;
        }
        for (part, count) in shares.iter().enumerate() {
            self.unplace(group, part, *count);
        }
        shares
    }

    /// Books so many in each of these parts if that keeps all rows.
    fn fits(&mut self, group: usize, parts: &[usize], each: u64) -> bool {
        for part in parts {
            self.place(group, *part, each);
        }
        let fits = self.is_kept(group);
        if !fits {
            for part in parts {
                self.unplace(group, *part, each);
            }
        }
        fits
    }

    /// Pods that count in the domains of a part, over all spreads that say where the group goes; or what one more makes of it.
    fn level(&mut self, group: usize, part: usize, one_more: bool) -> i64 {
        if one_more {
            self.place(group, part, 1);
        }
        let here = self.steering(group).filter_map(|spread| {
            let domain = self.parts.domain(spread.partition, part)?;
            Some(spread.level(domain))
        });
        let level = here.fold(0, i64::saturating_add);
        if one_more {
            self.unplace(group, part, 1);
        }
        level
    }

    /// By part: a number that is the same where it is in the same domains of all spreads that say where the group goes. Of
    /// such parts the best alone is filled, as long as it takes any.
    fn classes(&self, group: usize, ranked: &[usize]) -> Vec<usize> {
        let mut known: Vec<Vec<Option<usize>>> = Vec::new();
        let mut classes = vec![0; self.parts.count()];
        let partitions: Vec<usize> = self.steering(group).map(|spread| spread.partition).collect();
        for part in ranked {
            let domains = partitions
                .iter()
                .map(|partition| self.parts.domain(*partition, *part));
            let domains: Vec<Option<usize>> = domains.collect();
            let at = known.iter().position(|other| *other == domains);
            classes[*part] = at.unwrap_or(known.len());
            if at.is_none() {
                known.push(domains);
            }
        }
        classes
    }

    /// The parts where the level is lowest, of those that take any, and how far it is to the next higher one.
    fn lowest(
        &mut self,
        group: usize,
        ranked: &[usize],
        stuck: &FixedBitSet,
        classes: &[usize],
    ) -> (Vec<usize>, u64) {
        let mut seen = FixedBitSet::with_capacity(ranked.len());
        let mut lowest: Vec<usize> = Vec::new();
        let (mut level, mut next) = (i64::MAX, i64::MAX);
        for part in ranked {
            if stuck.contains(*part) || seen.contains(classes[*part]) || self.allowance(group, *part) == 0 {
                continue;
            }
            seen.insert(classes[*part]);
            let here = self.level(group, *part, false);
            if here < level {
                next = level;
                level = here;
                lowest.clear();
            }
            if here == level {
                lowest.push(*part);
            } else {
                next = next.min(here);
            }
        }
        (lowest, next.saturating_sub(level).unsigned_abs())
    }
}
