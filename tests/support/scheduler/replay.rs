//! A plan replayed: the nodes as they would be, the pods that stay, then every planned pod onto its planned node.
//!
//! Pods are tried again and again until no filter lets any further one through, as the scheduler's queue does; where some
//! remain, other orders are tried. A pod that never passes is a disagreement.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Place, Scheduler, Wish};
use crate::support::dice::Dice;
use crate::support::input::{Input, list, text};
use crate::support::machine::{Node, Offer, allocatable, node_class, node_labels};
use crate::support::pods::{Pod, Pods};
use crate::support::quantity::Amounts;

/// Other orders that are tried where the plan's own leads nowhere.
const ORDERS: u64 = 12;

/// Times that launches are replaced by their alternatives, at random.
const SUBSTITUTIONS: u64 = 3;

/// The cluster as a plan leaves it, launches at their first choice.
pub(crate) struct After<'a> {
    scheduler: Scheduler<'a>,
    pods: &'a Pods,
    /// Kind and place of each pod that the plan puts somewhere.
    planned: BTreeSet<(usize, usize)>,
    /// What the scheduler would not do.
    pub(crate) disagreements: Vec<String>,
}

impl<'a> After<'a> {
    /// Replays a plan with the first choices, then with alternatives in their place.
    pub(crate) fn of(input: &'a Input, plan: &Value, pods: &'a Pods) -> Self {
        let mut dice = Dice::new(1);
        let launches = list(plan, "/launch");
        let offers: Vec<Vec<Offer>> = launches.iter().map(Offer::all).collect();
        let mut after = Self {
            scheduler: Scheduler::new(input, pods),
            pods,
            planned: BTreeSet::new(),
            disagreements: Vec::new(),
        };
        if offers.iter().any(|offers| offers.len() > 1) {
            for _ in 0..SUBSTITUTIONS {
                let granted: Vec<&Offer> = offers
                    .iter()
                    .map(|offers| &offers[dice.below(offers.len())])
                    .collect();
                after.replay(plan, &granted, &mut dice);
            }
        }
        let first: Vec<&Offer> = offers.iter().map(|offers| &offers[0]).collect();
        after.replay(plan, &first, &mut dice);
        after.disagreements.dedup();
        after
    }

    /// One replay; the scheduler keeps its outcome.
    fn replay(&mut self, plan: &Value, granted: &[&Offer], dice: &mut Dice) {
        let mut wishes = self.set_up(plan, granted);
        self.planned = wishes.iter().map(|wish| (wish.kind, wish.place)).collect();
        let start: Vec<Place> = self.scheduler.places.clone();
        let mut best: Option<Vec<String>> = None;
        for order in 0..=ORDERS {
            self.scheduler.places.clone_from(&start);
            let left = if order % 2 == 0 {
                self.place_all(wishes.clone()).1
            } else {
                // The DaemonSets' pods may come later as well.
                self.scheduler.show_daemons(false);
                let waiting = self.place_all(wishes.clone()).0;
                self.scheduler.show_daemons(true);
                self.place_all(waiting).1
            };
            if best.as_ref().is_none_or(|best| left.len() < best.len()) {
                best = Some(left);
            }
            if best.as_ref().is_some_and(Vec::is_empty) {
                return;
            }
            dice.shuffle(&mut wishes);
        }
        let types: Vec<String> = granted
            .iter()
            .enumerate()
            .map(|(index, offer)| {
                format!(
                    "launch/{index}={} {} {}",
                    offer.instance_type, offer.zone, offer.capacity_type
                )
            })
            .collect();
        let told = best.into_iter().flatten();
        self.disagreements
            .extend(told.map(|text| format!("{text} (with {})", types.join(", "))));
    }

    /// Opens all nodes and says which pod should go where.
    fn set_up(&mut self, plan: &Value, granted: &[&Offer]) -> Vec<Wish> {
        let (input, pods) = (self.scheduler.input, self.pods);
        self.scheduler.places.clear();
        self.scheduler.unseen.clear();
        let mut wishes = Vec::new();
        for node in Node::all(input).iter().filter(|node| !node.deleting) {
            let place = self.scheduler.open(node, pods);
            let planned = list(plan, "/nodes")
                .iter()
                .filter(|one| text(one, "/name") == node.name);
            for name in planned.flat_map(|one| list(one, "/added")) {
                wishes.extend(self.wish(name, place));
            }
        }
        for (index, (launch, offer)) in list(plan, "/launch").iter().zip(granted).enumerate() {
            let Some(pool) = input.named("NodePool", text(launch, "/nodePool")) else {
                continue;
            };
            let node = launched(input, pool, offer, &format!("launch-{index}"));
            let place = self.scheduler.open(&node, pods);
            for name in list(launch, "/pods") {
                wishes.extend(self.wish(name, place));
            }
        }
        for place in 0..self.scheduler.places.len() {
            self.scheduler.bring_daemons(place, pods);
        }
        wishes
    }

    fn wish(&self, name: &Value, place: usize) -> Option<Wish> {
        let name = name.as_str().unwrap_or("");
        let pod = self.pods.find(name)?;
        Some(Wish {
            kind: self.scheduler.kind_of(pod),
            name: name.to_owned(),
            place,
        })
    }

    /// Places what can be placed, in rounds; what remains, with the filter that kept it out at the end.
    fn place_all(&mut self, mut waiting: Vec<Wish>) -> (Vec<Wish>, Vec<String>) {
        loop {
            let before = waiting.len();
            let mut left = Vec::new();
            for wish in waiting {
                let Some(pod) = self.pods.find(&wish.name) else {
                    continue;
                };
                let refusal = self
                    .scheduler
                    .refusal(&wish.name, wish.kind, pod, wish.place, false);
                if refusal.is_none() {
                    self.scheduler.bind(&wish.name, wish.kind, pod, wish.place);
                } else {
                    left.push(wish);
                }
            }
            if left.is_empty() || left.len() == before {
                let told = left.iter().map(|wish| self.told(wish)).collect();
                return (left, told);
            }
            waiting = left;
        }
    }

    fn told(&self, wish: &Wish) -> String {
        let refusal = self.pods.find(&wish.name).and_then(|pod| {
            self.scheduler
                .refusal(&wish.name, wish.kind, pod, wish.place, false)
        });
        format!(
            "the scheduler never lets {} onto {}: {}",
            wish.name,
            self.scheduler.places[wish.place].name,
            refusal.unwrap_or_default()
        )
    }

    /// Why a pod can't go onto a node that is there, as things are after the plan.
    pub(crate) fn refusal_on_node(&self, name: &str, pod: &Pod, node: &Node) -> Option<String> {
        let place = self
            .scheduler
            .places
            .iter()
            .position(|place| place.name == node.name);
        let Some(place) = place else {
            return Some("the node is going".to_owned());
        };
        let kind = self.scheduler.kind_of(pod);
        self.scheduler.refusal(name, kind, pod, place, false)
    }

    /// Why a pod can't go onto one more node of an offer, as things are after the plan.
    pub(crate) fn refusal_on_offer(
        &mut self,
        name: &str,
        pod: &Pod,
        pool: &Value,
        offer: &Offer,
    ) -> Option<String> {
        let node = launched(self.scheduler.input, pool, offer, "one-more");
        let place = self.scheduler.open(&node, self.pods);
        self.scheduler.bring_daemons(place, self.pods);
        let refusal = self
            .scheduler
            .refusal(name, self.scheduler.kind_of(pod), pod, place, false);
        self.scheduler.places.truncate(place);
        self.scheduler.unseen.retain(|(of, _)| *of < place);
        self.scheduler.eligible.borrow_mut().clear();
        refusal
    }

    /// Whether a pod asks nothing of other pods, ports or volumes.
    pub(crate) fn is_plain(&self, pod: &Pod) -> bool {
        let rules = &self.scheduler.kinds[self.scheduler.kind_of(pod)].rules;
        let has_volumes = !list(&pod.spec, "/volumes").is_empty() || !pod.claim_templates.is_empty();
        rules.spreads.is_empty()
            && rules.affinity.is_empty()
            && rules.anti_affinity.is_empty()
            && rules.ports.is_empty()
            && !has_volumes
    }

    /// Hard spreads that are met only because a domain that could have been launched was left out.
    pub(crate) fn left_out(
        &self,
        launchable: impl Fn(&Pod, &str, &BTreeSet<&str>) -> BTreeSet<String>,
    ) -> Vec<String> {
        self.scheduler.left_out(&self.planned, launchable)
    }
}

/// The node that an offer of a pool becomes.
fn launched(input: &Input, pool: &Value, offer: &Offer, name: &str) -> Node {
    let mut labels = node_labels(input, pool, offer);
    labels.insert("kubernetes.io/hostname".to_owned(), name.to_owned());
    Node {
        name: name.to_owned(),
        labels,
        taints: list(pool, "/spec/template/spec/taints").to_vec(),
        allocatable: allocatable(input, node_class(input, pool), &offer.instance_type),
        capacity: Amounts::new(),
        open: true,
        deleting: false,
    }
}
