//! The counters of single rows across nodes.

use crate::lower::side::{Excess, Place, Places, Row, Spread};

/// A number of pods that can be added and taken away.
#[must_use]
pub fn room(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX / 4)
}

/// A spread.
#[derive(Clone, Debug)]
pub struct Even {
    /// Its domains.
    pub partition: usize,
    /// What becomes of an excess.
    pub excess: Excess,
    /// By domain: all that counts.
    pods: Vec<i64>,
    /// By domain: new ones that are bound.
    bound: Vec<i64>,
    skew: i64,
    has_too_few_domains: bool,
    /// The least domain, what it has, and what the least of the others has.
    least: (usize, i64, i64),
}

impl Even {
    /// With what is there.
    #[must_use]
    pub fn new(spread: &Spread, partition: usize) -> Self {
        let there = spread.domains.iter().map(|domain| room(domain.there));
        let mut even = Self {
            partition,
            excess: spread.excess,
            pods: there.collect(),
            bound: vec![0; spread.domains.len()],
            skew: room(spread.skew),
            has_too_few_domains: spread.has_too_few_domains(),
            least: (0, 0, 0),
        };
        even.find_least();
        even
    }

    fn find_least(&mut self) {
        self.least = (usize::MAX, i64::MAX, i64::MAX);
        for (domain, pods) in self.pods.iter().enumerate() {
            if *pods < self.least.1 {
                self.least = (domain, *pods, self.least.1);
            } else {
                self.least.2 = self.least.2.min(*pods);
            }
        }
    }

    /// The most that a domain may have if it gets pods that are bound.
    fn most(&self, domain: usize) -> i64 {
        let others = if self.least.0 == domain {
            self.least.2
        } else {
            self.least.1
        };
        let least = if self.has_too_few_domains { 0 } else { others };
        least.saturating_add(self.skew)
    }

    /// How many pods a domain may get.
    #[must_use]
    pub fn allowance(&self, domain: usize, counts: bool, is_bound: bool) -> u64 {
        if self.excess != Excess::Forbidden || !is_bound && self.bound[domain] == 0 {
            return u64::MAX;
        }
        let left = self.most(domain).saturating_sub(self.pods[domain]);
        match u64::try_from(left) {
            Ok(left) if counts => left,
            Ok(_) => u64::MAX,
            Err(_) => 0,
        }
    }

    /// Books pods.
    pub fn change(&mut self, domain: usize, change: i64, counts: bool, is_bound: bool) {
        self.bound[domain] += if is_bound { change } else { 0 };
        if counts {
            self.pods[domain] += change;
            self.find_least();
        }
    }

    /// Pods that count in a domain.
    #[must_use]
    pub fn level(&self, domain: usize) -> i64 {
        self.pods[domain]
    }

    /// Whether pods that are bound have been placed.
    #[must_use]
    pub fn has_bound(&self) -> bool {
        self.bound.iter().any(|bound| *bound > 0)
    }

    /// A domain that has too many, and how many; not where that only costs.
    #[must_use]
    pub fn uneven(&self) -> Option<(usize, u64)> {
        if self.excess != Excess::Forbidden {
            return None;
        }
        (0..self.pods.len()).find_map(|domain| {
            let beyond = self.pods[domain].saturating_sub(self.most(domain));
            let beyond = u64::try_from(beyond).ok().filter(|beyond| *beyond > 0)?;
            (self.bound[domain] > 0).then_some((domain, beyond))
        })
    }
}

/// Two sets that share no domain.
#[derive(Clone, Debug)]
pub struct Two {
    /// Its domains.
    pub partition: usize,
    /// By set and domain.
    pub pods: [Vec<i64>; 2],
}

impl Two {
    /// With nothing placed.
    #[must_use]
    pub fn new(partition: usize, domains: usize) -> Self {
        Self {
            partition,
            pods: [vec![0; domains], vec![0; domains]],
        }
    }
}

/// A sum between bounds.
#[derive(Clone, Debug)]
pub struct Sum {
    sum: i128,
    lower: Option<i64>,
    upper: Option<i64>,
    /// By part: what a launched node counts.
    pub nodes: Vec<i64>,
}

impl Sum {
    /// Each part has these places, of which one is looked at.
    #[must_use]
    pub fn new(row: &Row, places: &[Option<Place>]) -> Self {
        let of_node = |place: &Option<Place>| match place {
            Some(Place::Kind(kind)) => {
                let terms = row.nodes.iter().filter(|term| term.kinds.contains(*kind));
                terms.map(|term| term.coefficient).sum()
            }
            _ => 0,
        };
        Self {
            sum: 0,
            lower: row.lower,
            upper: row.upper,
            nodes: places.iter().map(of_node).collect(),
        }
    }

    /// Kinds that a row's terms for nodes tell apart.
    pub fn kinds(row: &Row) -> impl Iterator<Item = Places> {
        row.nodes.iter().map(|term| Places {
            kinds: term.kinds.clone(),
            ..Places::default()
        })
    }

    /// How often so much may be added.
    #[must_use]
    pub fn most(&self, coefficient: i64) -> u64 {
        let bound = match coefficient.signum() {
            1 => self.upper,
            -1 => self.lower,
            _ => None,
        };
        let Some(bound) = bound else { return u64::MAX };
        let left = (i128::from(bound) - self.sum) / i128::from(coefficient);
        let is_beyond = (i128::from(bound) - self.sum).signum() == -i128::from(coefficient.signum());
        if is_beyond {
            0
        } else {
            u64::try_from(left).unwrap_or(u64::MAX)
        }
    }

    /// Adds that so many times.
    pub fn add(&mut self, coefficient: i64, times: i64) {
        self.sum += i128::from(coefficient) * i128::from(times);
    }

    /// By how much it is above its upper bound, or below its lower one; not where an empty sum is too low already.
    #[must_use]
    pub fn beyond(&self) -> i128 {
        let above = self
            .upper
            .filter(|upper| *upper >= 0)
            .map_or(0, |upper| (self.sum - i128::from(upper)).max(0));
        let below = self
            .lower
            .filter(|lower| *lower <= 0)
            .map_or(0, |lower| (self.sum - i128::from(lower)).min(0));
        if above > 0 { above } else { below }
    }
}

/// Followers and leaders.
#[derive(Clone, Debug)]
pub struct Near {
    /// Its domains.
    pub partition: usize,
    /// By domain: running and planned pods that lead.
    leaders: Vec<i64>,
    followers: Vec<i64>,
    may_start: bool,
}

impl Near {
    /// With what is there.
    #[must_use]
    pub fn new(near: &crate::lower::side::Near, partition: usize) -> Self {
        Self {
            partition,
            leaders: near.domains.iter().map(|domain| room(domain.there)).collect(),
            followers: vec![0; near.domains.len()],
            may_start: near.may_start,
        }
    }

    fn is_led(&self) -> bool {
        self.leaders.iter().any(|leaders| *leaders > 0)
    }

    /// Whether followers may choose where to start.
    #[must_use]
    pub fn is_starting(&self) -> bool {
        self.may_start && !self.is_led() && self.followers.iter().all(|pods| *pods == 0)
    }

    /// Whether pods may be added to a domain, or outside of all.
    #[must_use]
    pub fn admits(&self, domain: Option<usize>, follows: bool, leads: bool) -> bool {
        let started = self.followers.iter().position(|pods| *pods > 0);
        let is_led = self.is_led();
        if follows {
            let Some(domain) = domain else { return false };
            if is_led {
                self.leaders[domain] > 0
            } else {
                self.may_start && started.is_none_or(|started| started == domain)
            }
        } else {
            // Leaders elsewhere would leave those that have started without one.
            !leads || is_led || started.is_none() || domain.is_none() || domain == started
        }
    }

    /// Books pods.
    pub fn change(&mut self, domain: usize, change: i64, follows: bool, leads: bool) {
        self.followers[domain] += if follows { change } else { 0 };
        self.leaders[domain] += if leads { change } else { 0 };
    }
}
