//! Sites by the value of a topology key. Under the host name each launch is a domain of its own; under every other key
//! all offers of a launch must agree on the value wherever a rule counts its pods, since any of them may be taken.

use std::collections::BTreeMap;

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
    /// Launches whose offers don't agree, and how.
    loose: BTreeMap<usize, String>,
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
        let of_fillings: Vec<(Option<usize>, Option<String>)> = launches
            .fillings
            .iter()
            .map(|filling| self.of_filling(sites, filling, &held))
            .collect();
        for (launch, filling) in launches.filling_of.iter().enumerate() {
            let (domain, disagreement) = match filling {
                Some(filling) => &of_fillings[*filling],
                None => &(None, None),
            };
            self.domain_of.push(*domain);
            if let Some(disagreement) = disagreement {
                self.loose.insert(launch, disagreement.clone());
            }
        }
    }

    /// The domain of its first choice, and how others differ from it.
    fn of_filling(
        &self,
        sites: &Sites<'s, '_>,
        filling: &Filling<'_>,
        held: &[Held],
    ) -> (Option<usize>, Option<String>) {
        let others = &sites.launches.lists[filling.list].offers;
        let all = std::iter::once(&filling.first).chain(others);
        let mut meanings = all.flat_map(|offer| offer.all.iter().map(move |at| (offer, held[*at])));
        let Some((_, first)) = meanings.next() else {
            return (None, None);
        };
        let say = |held: Held| match held {
            Held::Domain(domain) => self.name(domain).to_owned(),
            Held::Open => "a value that nobody chose".to_owned(),
            Held::Missing => "none".to_owned(),
        };
        let domain = match first {
            Held::Domain(domain) => Some(domain),
            Held::Open => return (None, Some(format!("{} has {}", self.key, say(first)))),
            Held::Missing => None,
        };
        let differs = meanings.find(|(_, other)| *other != first);
        let disagreement = differs.map(|(offer, other)| {
            let (key, first, other) = (self.key, say(first), say(other));
            format!(
                "{key} is {first} under its first choice and {other} as {}",
                offer.named
            )
        });
        (domain, disagreement)
    }

    /// How many domains there are.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// The value, for people.
    pub(super) fn name(&self, domain: usize) -> &'s str {
        self.names[domain].unwrap_or("a host of its own")
    }

    /// How the offers behind a site differ in the key, where they do.
    pub(super) fn disagreement(&self, sites: &Sites<'_, '_>, site: usize) -> Option<&str> {
        let launch = site.checked_sub(sites.nodes)?;
        self.loose.get(&launch).map(String::as_str)
    }
}
