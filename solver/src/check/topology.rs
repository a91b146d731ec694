//! Sites by the value of a topology key. Under the host name each launch is a domain of its own; under every other key
//! the offers of a launch may differ in the value, and any of them may be taken: a rule then judges the launch in each of its
//! domains.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::instance_type::HOSTNAME_LABEL;

use super::launches::Filling;
use super::sites::Sites;

/// The domains of one key.
pub(super) struct Topology<'s> {
    pub(super) key: &'s str,
    /// Domain of each site; `None`: it has none.
    pub(super) domain_of: Vec<Option<usize>>,
    /// Domain by value.
    values: BTreeMap<&'s str, usize>,
    /// Name of each domain; `None`: the host of a launch.
    names: Vec<Option<&'s str>>,
    /// What nodes to come could be, by domain.
    prospects: BTreeMap<usize, Vec<usize>>,
    /// Sites whose offers don't agree.
    loose: BTreeMap<usize, Loose>,
}

/// What a launch could have under the key whose offers don't agree.
#[derive(Clone)]
struct Loose {
    domains: BTreeSet<usize>,
    /// Some offers leave it open: a value that nobody chose.
    is_open: bool,
    /// Some offers have none.
    may_lack: bool,
    /// For people.
    said: String,
}

/// What a node to come has under the key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Domain(usize),
    /// Some value, which nobody chose.
    Open,
    Missing,
}

impl<'s> Topology<'s> {
    pub(super) fn new(sites: &Sites<'s, '_>, key: &'s str) -> Self {
        let mut topology = Self {
            key,
            domain_of: Vec::with_capacity(sites.len),
            values: BTreeMap::new(),
            names: Vec::new(),
            prospects: BTreeMap::new(),
            loose: BTreeMap::new(),
        };
        for node in &sites.world.snapshot.nodes {
            let domain = node.labels.get(key).map(|value| topology.domain(value));
            topology.domain_of.push(domain);
        }
        if key == HOSTNAME_LABEL {
            for launch in sites.nodes..sites.len {
                let domain = topology.names.len();
                topology.names.push(None);
                let is_there = sites.launches.filling_of[launch - sites.nodes].is_some();
                topology.domain_of.push(is_there.then_some(domain));
            }
        } else {
            topology.add_launches(sites);
        }
        topology
    }

    /// The domain of a value.
    pub(super) fn domain(&mut self, value: &'s str) -> usize {
        let names = &mut self.names;
        *self.values.entry(value).or_insert_with(|| {
            names.push(Some(value));
            names.len() - 1
        })
    }

    /// The domain of a value, if there is one.
    pub(super) fn find(&self, value: &str) -> Option<usize> {
        self.values.get(value).copied()
    }

    fn add_launches(&mut self, sites: &Sites<'s, '_>) {
        let launches = sites.launches;
        let held: Vec<Held> = launches
            .prospects
            .iter()
            .map(|prospect| match prospect.labels.get(self.key) {
                Some(value) => Held::Domain(self.domain(value)),
                None if prospect.undetermined.contains_key(self.key) => Held::Open,
                None => Held::Missing,
            })
            .collect();
        for (prospect, held) in held.iter().enumerate() {
            if let Held::Domain(domain) = held {
                self.prospects.entry(*domain).or_default().push(prospect);
            }
        }
        let of_fillings: Vec<(Option<usize>, Option<Loose>)> = launches
            .fillings
            .iter()
            .map(|filling| self.of_filling(sites, filling, &held))
            .collect();
        for (launch, filling) in launches.filling_of.iter().enumerate() {
            let (domain, loose) = match filling {
                Some(filling) => &of_fillings[*filling],
                None => &(None, None),
            };
            self.domain_of.push(*domain);
            if let Some(loose) = loose {
                self.loose.insert(sites.nodes + launch, loose.clone());
            }
        }
    }

    /// The domain of its first choice, and how others differ from it.
    fn of_filling(
        &self,
        sites: &Sites<'s, '_>,
        filling: &Filling<'_>,
        held: &[Held],
    ) -> (Option<usize>, Option<Loose>) {
        let others = &sites.launches.lists[filling.list].offers;
        let all = std::iter::once(&filling.first).chain(others);
        let meanings = all.flat_map(|offer| offer.all.iter().map(move |at| (offer, held[*at])));
        let Some((_, first)) = meanings.clone().next() else {
            return (None, None);
        };
        let domain = match first {
            Held::Domain(domain) => Some(domain),
            Held::Open | Held::Missing => None,
        };
        let differs = meanings.clone().find(|(_, other)| *other != first);
        let said = match (first, differs) {
            (Held::Open, _) => format!("{} has {}", self.key, self.say(first)),
            (_, Some((offer, other))) => format!(
                "{} is {} under its first choice and {} as {}",
                self.key,
                self.say(first),
                self.say(other),
                offer.named
            ),
            (_, None) => return (domain, None),
        };
        let domains = meanings.clone().filter_map(|(_, held)| match held {
            Held::Domain(domain) => Some(domain),
            Held::Open | Held::Missing => None,
        });
        let loose = Loose {
            domains: domains.collect(),
            is_open: meanings.clone().any(|(_, held)| held == Held::Open),
            may_lack: meanings.clone().any(|(_, held)| held == Held::Missing),
            said,
        };
        (domain, Some(loose))
    }

    fn say(&self, held: Held) -> &'s str {
        match held {
            Held::Domain(domain) => self.name(domain),
            Held::Open => "a value that nobody chose",
            Held::Missing => "none",
        }
    }

    /// How many domains there are.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// The value, for people.
    pub(super) fn name(&self, domain: usize) -> &'s str {
        self.names[domain].unwrap_or("a host of its own")
    }

    /// What nodes to come could be that are in a domain.
    pub(super) fn prospects(&self, domain: usize) -> &[usize] {
        self.prospects.get(&domain).map_or(&[], Vec::as_slice)
    }

    /// That some offers behind a site leave the key open, in words: no rule can say in which domain it is.
    pub(super) fn open(&self, site: usize) -> Option<&str> {
        let loose = self.loose.get(&site).filter(|loose| loose.is_open);
        loose.map(|loose| loose.said.as_str())
    }

    /// Every domain that a site could be in.
    pub(super) fn domains(&self, site: usize) -> impl Iterator<Item = usize> {
        let loose = self.loose.get(&site);
        let several = loose.into_iter().flat_map(|loose| loose.domains.iter().copied());
        let one = self.domain_of[site].filter(|_| loose.is_none());
        one.into_iter().chain(several)
    }

    /// Whether a site is in one domain, whichever offer is taken.
    pub(super) fn is_one(&self, site: usize) -> bool {
        self.domain_of[site].is_some() && !self.loose.contains_key(&site)
    }

    /// Whether a site could be in no domain.
    pub(super) fn may_lack(&self, site: usize) -> bool {
        match self.loose.get(&site) {
            Some(loose) => loose.may_lack,
            None => self.domain_of[site].is_none(),
        }
    }
}
