//! Plans by hand: say what goes where, and the figures follow from the catalogue.

use crate::model::explain::{Constraint, Reason, Unschedulable};
use crate::model::instance_type::InstanceType;
use crate::model::money::{Cost, Price};
use crate::model::name::NodeName;
use crate::model::node_pool::NodePool;
use crate::model::objective::Terms;
use crate::model::offering::{CapacityType, Offering};
use crate::model::plan::{
    Alternative, CostSummary, Gap, Launch, Move, NodeAction, NodePlan, Plan, PlanBody, Proposed,
};
use crate::model::pod::{Pod, PodPlace};
use crate::model::requirement::Labels;
use crate::model::snapshot::Snapshot;

use super::naive;

/// A plan in the making.
#[derive(Clone, Debug)]
pub struct Draft<'a> {
    snapshot: &'a Snapshot,
    /// The document so far, open to any edit; its figures are filled in by [`Draft::body`].
    pub body: PlanBody,
}

/// An offer as tests write it: type, zone and capacity type.
pub type Offer<'a> = (&'a str, &'a str, CapacityType);

impl<'a> Draft<'a> {
    /// Nothing planned yet.
    #[must_use]
    pub fn new(snapshot: &'a Snapshot) -> Self {
        Self {
            snapshot,
            body: PlanBody::default(),
        }
    }

    /// Launches the first offer, with the others as alternatives, for these pods.
    #[must_use]
    pub fn launch(self, pool: &str, offers: &[Offer<'_>], pods: &[&str]) -> Self {
        self.launch_labelled(pool, offers, pods, &[])
    }

    /// The same, with values for open keys.
    ///
    /// # Panics
    /// Where the snapshot has no such pool, offer or pod.
    #[must_use]
    pub fn launch_labelled(
        mut self,
        pool: &str,
        offers: &[Offer<'_>],
        pods: &[&str],
        labels: &[(&str, &str)],
    ) -> Self {
        let snapshot = self.snapshot;
        let pool = snapshot.node_pool(&pool.into()).unwrap();
        let chosen: Labels = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        let ((instance_type, offering), others) = {
            let mut found = offers.iter().map(|offer| find(snapshot, pool, offer));
            (found.next().unwrap(), found.collect::<Vec<_>>())
        };
        let labels_there = naive::labels_of(pool, instance_type, offering, &chosen).unwrap_or_default();
        let mut requests = naive::daemons(snapshot, pool, &labels_there);
        let number = self.body.launch.len();
        let pods: Vec<&Pod> = pods.iter().map(|name| pod(snapshot, name)).collect();
        for pod in &pods {
            requests.add_all(&pod.spec.requests);
            self.moved(pod, format!("launch/{number}"));
        }
        let alternative = |(instance_type, offering): (&InstanceType, &Offering)| Alternative {
            instance_type: instance_type.name.clone(),
            zone: offering.zone.clone(),
            subnet: None,
            capacity_type: offering.capacity_type,
            reservation_id: None,
            price: offering.price,
            labels: Labels::new(),
        };
        self.body.launch.push(Launch {
            node_pool: pool.name.clone(),
            instance_type: instance_type.name.clone(),
            zone: offering.zone.clone(),
            subnet: None,
            capacity_type: offering.capacity_type,
            reservation_id: None,
            price: offering.price,
            pods: pods.iter().map(|pod| pod.name.clone()).collect(),
            requests,
            labels: chosen,
            alternatives: others.into_iter().map(alternative).collect(),
        });
        self
    }

    /// Puts pods on an existing node.
    ///
    /// # Panics
    /// Where the snapshot has no such node or pod.
    #[must_use]
    pub fn on_node(mut self, node: &str, pods: &[&str]) -> Self {
        let snapshot = self.snapshot;
        let node = snapshot.node(&node.into()).unwrap();
        let pods: Vec<&Pod> = pods.iter().map(|name| pod(snapshot, name)).collect();
        for pod in &pods {
            self.moved(pod, node.name.to_string());
        }
        let there = snapshot
            .pods
            .iter()
            .filter(|pod| pod.place == PodPlace::Bound(node.name.clone()));
        self.body.nodes.push(NodePlan {
            name: node.name.clone(),
            action: NodeAction::Keep,
            reason: None,
            pods: there.map(|pod| pod.name.clone()).collect(),
            added: pods.iter().map(|pod| pod.name.clone()).collect(),
            price: node.price,
            blocked_by: None,
        });
        self
    }

    /// Refuses a pod with a `Resources` reason for every NodePool.
    ///
    /// # Panics
    /// Where the snapshot has no such pod.
    #[must_use]
    pub fn refuse(mut self, name: &str) -> Self {
        let pools = self.snapshot.node_pools.iter();
        let reason = |pool: &NodePool| Reason {
            node_pool: Some(pool.name.clone()),
            node: None,
            constraint: Constraint::Resources,
            detail: "too small".to_owned(),
        };
        self.body.unschedulable.push(Unschedulable {
            pod: pod(self.snapshot, name).name.clone(),
            reasons: pools.map(reason).collect(),
            fix: None,
            fix_search_cut_short: false,
        });
        self
    }

    fn moved(&mut self, pod: &Pod, to: String) {
        if let PodPlace::Bound(from) = &pod.place {
            self.body.moves.push(Move {
                pod: pod.name.clone(),
                from: from.clone(),
                to,
            });
        }
    }

    /// The document with its cost; the lower bound claims nothing.
    #[must_use]
    pub fn body(mut self) -> PlanBody {
        self.body.cost = cost(self.snapshot, &self.body);
        self.body
    }

    /// The plan, to be checked.
    #[must_use]
    pub fn plan(self) -> Plan<Proposed> {
        Plan::propose(self.body())
    }
}

/// What the launches and nodes of a plan cost; lower bound zero.
#[must_use]
pub fn cost(snapshot: &Snapshot, body: &PlanBody) -> CostSummary {
    let objective = &snapshot.objective;
    let goes = |name: &NodeName| {
        let mut entries = body.nodes.iter();
        entries.any(|entry| entry.name == *name && entry.action != NodeAction::Keep)
    };
    let before: Cost = snapshot.nodes.iter().map(|node| node.price.cost()).sum();
    let launched: Cost = body.launch.iter().map(|launch| launch.price.cost()).sum();
    let staying = snapshot
        .nodes
        .iter()
        .filter(|node| !node.deleting && !goes(&node.name));
    let (mut after, mut terms) = (launched, Terms::default());
    for node in staying {
        let weights = objective.weights(node.node_pool.as_ref());
        after += node.price.cost();
        terms.price += weights.scaled(node.price);
        terms.node_hour += weights.node_hour.cost();
        terms.interruption += snapshot.interruptions_of(node);
    }
    for launch in &body.launch {
        let pool = Some(&launch.node_pool);
        let bought_as = Some(launch.capacity_type);
        terms.price += objective.weights(pool).scaled(launch.price);
        terms.node_hour += objective.weights(pool).node_hour.cost();
        terms.interruption += snapshot.interruptions(pool, launch.instance_type.as_str(), bought_as);
    }
    CostSummary {
        before,
        after,
        launched,
        lower_bound: Cost::ZERO,
        gap: Gap::between(terms.sum(), Cost::ZERO),
        objective: terms.sum(),
        terms,
        recounted: Cost::ZERO,
    }
}

fn find<'s>(snapshot: &'s Snapshot, pool: &NodePool, offer: &Offer<'_>) -> (&'s InstanceType, &'s Offering) {
    let (name, zone, capacity_type) = offer;
    let class = snapshot.node_class(pool);
    let instance_type = class
        .instance_types
        .iter()
        .find(|other| other.name.as_str() == *name)
        .unwrap();
    let offering = instance_type
        .offerings
        .iter()
        .find(|offering| offering.zone.as_str() == *zone && offering.capacity_type == *capacity_type)
        .unwrap();
    (instance_type, offering)
}

fn pod<'s>(snapshot: &'s Snapshot, name: &str) -> &'s Pod {
    snapshot.pod(&name.parse().unwrap()).unwrap()
}

/// Micro-dollars.
#[must_use]
pub fn micros(micros: u64) -> Price {
    Price::from_micros(micros)
}
