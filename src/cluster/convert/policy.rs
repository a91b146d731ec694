//! PackingPolicies: what is weighed for which NodePool, and how long the solver may take.
//!
//! An explicit `nodePools` entry beats a selector; two of a kind for one pool are an error that names both, and the pool
//! keeps the defaults. `nodeHour: auto` is what the volumes of the pool's class cost, and said. What a policy asks for and this
//! version doesn't act on is said.

use std::collections::BTreeMap;
use std::time::Duration;

use dovetail_solver::model::money::Price;
use dovetail_solver::model::name::NodePoolName;
use dovetail_solver::model::objective::{Objective, Weights};
use dovetail_solver::model::placement::Placement;
use dovetail_solver::model::plan::Gap;
use dovetail_solver::model::quantity::{Quantity, Rounding};
use dovetail_solver::model::requirement::Labels;
use dovetail_solver::model::resources::{Amount, ResourceName, Resources};

use super::node_class::Classes;
use crate::api::{self, NodeHour, Overhead, SolverSettings, effort};
use crate::cloud::catalog::{ClassSettings, price_of_volumes};
use crate::cluster::diagnostics::{Note, Reason};
use crate::cluster::index::Index;
use crate::cluster::objects::affinity::{Expression, LabelSelector};

/// What the policies in use come to.
#[derive(Clone, Debug, Default)]
pub struct Policies {
    /// Weights by NodePool.
    pub objective: Objective,
    /// Where pods go, by NodePool.
    pub placement: Placement,
    /// How far memory is trusted, by NodePool; pessimistic where it isn't named.
    pub overhead: BTreeMap<NodePoolName, Overhead>,
    /// The shortest time budget of the policies in use.
    pub time_budget: Option<Duration>,
    /// The smallest gap of the policies in use.
    pub gap: Option<Gap>,
}

/// One policy, understood.
struct Policy<'i> {
    name: &'i str,
    spec: &'i api::PackingPolicySpec,
    weights: Weights,
    headroom: Resources,
    time_budget: Duration,
    gap: Gap,
}

/// Reads all policies and gives each NodePool its own; what their nodes' volumes cost depends on their classes.
#[must_use]
pub fn policies(index: &Index, classes: &Classes) -> (Policies, Vec<Note>) {
    let mut notes = Vec::new();
    let mut read = Vec::new();
    for (name, stored) in index.packing_policies() {
        match Policy::read(&name.name, &stored.object.spec) {
            Ok(policy) => read.push(policy),
            Err((path, message)) => {
                let note = Note::error(Reason::Policy, format!("{message}; the policy is ignored"));
                let note = note.about(format_args!("PackingPolicy {name}")).path(path);
                notes.push(note.at_known(stored.origin.as_ref()));
            }
        }
    }
    let mut result = Policies::default();
    for (name, stored) in index.node_pools() {
        let pool = NodePoolName::from(&*name.name);
        let labels = stored.object.metadata.labels.clone().unwrap_or_default();
        match choose(&read, &pool, &labels) {
            Ok(None) => {}
            Ok(Some(policy)) => {
                let class = &stored.object.spec.template.spec.node_class_ref.name;
                let said = result.take(&pool, policy, classes.settings.get(class));
                notes.extend(said.map(|note| note.about(format_args!("NodePool {pool}"))));
            }
            Err((one, two)) => {
                let message = format!("PackingPolicies {one} and {two} both claim it; it keeps the defaults");
                notes.push(Note::error(Reason::Policy, message).about(format_args!("NodePool {pool}")));
            }
        }
    }
    for policy in &read {
        notes.extend(policy.missing_pools(index));
        notes.extend(policy.not_acted_on());
    }
    (result, notes)
}

/// The policy of a pool; two that have an equal claim are an error.
fn choose<'p, 'i>(
    policies: &'p [Policy<'i>],
    pool: &NodePoolName,
    labels: &Labels,
) -> Result<Option<&'p Policy<'i>>, (&'i str, &'i str)> {
    let named: Vec<&Policy<'_>> = policies
        .iter()
        .filter(|policy| policy.spec.node_pools.iter().any(|name| name == pool.as_str()))
        .collect();
    let selected: Vec<&Policy<'_>> = policies.iter().filter(|policy| policy.selects(labels)).collect();
    let claims = if named.is_empty() { selected } else { named };
    match claims.as_slice() {
        [] => Ok(None),
        [policy] => Ok(policies.iter().find(|one| one.name == policy.name)),
        [one, two, ..] => {
            let own = |claim: &Policy<'_>| {
                policies
                    .iter()
                    .find(|one| one.name == claim.name)
                    .map_or("", |one| one.name)
            };
            Err((own(one), own(two)))
        }
    }
}

impl Policies {
    /// What there is to say about it. A pool whose class isn't known launches nothing.
    fn take(
        &mut self,
        pool: &NodePoolName,
        policy: &Policy<'_>,
        class: Option<&ClassSettings>,
    ) -> Option<Note> {
        let mut weights = policy.weights;
        let class = class.filter(|_| policy.spec.weights.node_hour == NodeHour::Auto);
        let said = class.map(|class| {
            weights.node_hour = price_of_volumes(class);
            let message = format!(
                "nodeHour: auto is {} $ per node and hour, an estimate: the volumes of its class at EBS's prices in us-east-1",
                weights.node_hour
            );
            Note::info(Reason::Policy, message)
        });
        if weights != Weights::default() {
            self.objective.weights.insert(pool.clone(), weights);
        }
        if policy.spec.placement.keep_off_accelerators {
            self.placement.keep_off_accelerators.insert(pool.clone());
        }
        if policy.headroom.iter().any(|(_, amount)| amount != Amount::ZERO) {
            let headroom = policy.headroom.clone();
            self.placement.headroom.insert(pool.clone(), headroom);
        }
        if policy.spec.overhead != Overhead::default() {
            self.overhead.insert(pool.clone(), policy.spec.overhead);
        }
        self.time_budget = Some(
            self.time_budget
                .map_or(policy.time_budget, |budget| budget.min(policy.time_budget)),
        );
        self.gap = Some(self.gap.map_or(policy.gap, |gap| gap.min(policy.gap)));
        said
    }
}

impl<'i> Policy<'i> {
    fn read(name: &'i str, spec: &'i api::PackingPolicySpec) -> Result<Self, (String, String)> {
        let weights = &spec.weights;
        let weight = |field: &str, weight: f64| {
            dollars(weight).map_err(|message| (format!("spec.weights.{field}"), message))
        };
        weight("eviction", weights.eviction)?;
        let node_hour = match weights.node_hour {
            NodeHour::Dollars(amount) => weight("nodeHour", amount)?,
            // It depends on the pool's class.
            NodeHour::Auto => Price::default(),
        };
        let SolverSettings { time_budget, gap } = &spec.solver;
        let found = |expected: String, text: &str| format!("{expected}, found \"{}\"", shown(text));
        let time_budget = effort::time_budget(time_budget).map_err(|expected| {
            let message = found(expected, time_budget);
            ("spec.solver.timeBudget".to_owned(), message)
        })?;
        let gap =
            effort::gap(gap).map_err(|expected| ("spec.solver.gap".to_owned(), found(expected, gap)))?;
        let weights = Weights {
            price_millionths: weight("price", weights.price)?.micros(),
            node_hour,
            interruption: weight("interruption", weights.interruption)?,
            preference: weight("preference", weights.preference)?,
            fragmentation: weight("fragmentation", weights.fragmentation)?,
            zone_imbalance: weight("zoneImbalance", weights.zone_imbalance)?,
        };
        Ok(Self {
            name,
            spec,
            weights,
            headroom: headroom(&spec.headroom)?,
            time_budget,
            gap,
        })
    }

    fn selects(&self, labels: &Labels) -> bool {
        let Some(selector) = &self.spec.node_pool_selector else {
            return false;
        };
        let match_labels = selector.match_labels.clone().unwrap_or_default();
        let match_expressions: Vec<Expression> = selector
            .match_expressions
            .iter()
            .flatten()
            .map(|expression| Expression {
                key: expression.key.clone(),
                operator: expression.operator.clone(),
                values: expression.values.clone().unwrap_or_default(),
            })
            .collect();
        // Of labels an empty selector selects all, unlike a workload's.
        match_labels.is_empty() && match_expressions.is_empty()
            || LabelSelector {
                match_labels,
                match_expressions,
            }
            .selects(labels)
    }

    fn missing_pools(&self, index: &Index) -> Vec<Note> {
        let is_there = |name: &str| index.node_pools().keys().any(|pool| &*pool.name == name);
        let missing: Vec<&str> = self
            .spec
            .node_pools
            .iter()
            .map(String::as_str)
            .filter(|name| !is_there(name))
            .collect();
        if missing.is_empty() {
            return Vec::new();
        }
        let message = format!(
            "it names NodePools that aren't in the input: {}",
            missing.join(", ")
        );
        vec![Note::warning(Reason::Policy, message).about(format_args!("PackingPolicy {}", self.name))]
    }

    /// One note on all that it asks for and this version doesn't act on.
    fn not_acted_on(&self) -> Option<Note> {
        let (spec, usual) = (self.spec, api::PackingPolicySpec::default());
        let (weights, usual_weights) = (&spec.weights, &usual.weights);
        let differs = |one: f64, two: f64| (one - two).abs() > f64::EPSILON;
        let asked = [
            (
                "weights.eviction",
                differs(weights.eviction, usual_weights.eviction),
            ),
            ("consolidation", spec.consolidation != usual.consolidation),
            ("placement.nominate", !spec.placement.nominate),
        ];
        let asked: Vec<&str> = asked
            .iter()
            .filter(|(_, is_there)| *is_there)
            .map(|(what, _)| *what)
            .collect();
        (!asked.is_empty()).then(|| {
            let message = format!("not acted on yet: {}", asked.join(", "));
            Note::warning(Reason::Policy, message).about(format_args!("PackingPolicy {}", self.name))
        })
    }
}

fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Amounts that new nodes keep free; none may be negative.
fn headroom(written: &api::Resources) -> Result<Resources, (String, String)> {
    let mut headroom = Resources::new();
    for (name, quantity) in written {
        let resource = ResourceName::from(name.as_str());
        let amount = quantity
            .0
            .parse::<Quantity>()
            .and_then(|quantity| Amount::from_quantity(&resource, quantity, Rounding::Up))
            .map_err(|error| (format!("spec.headroom.{name}"), error.to_string()))?;
        headroom.set(resource, amount);
    }
    Ok(headroom)
}

/// A weight in micro-dollars.
fn dollars(amount: f64) -> Result<Price, String> {
    if amount.is_finite() && amount >= 0.0 {
        Price::parse(&amount.to_string()).map_err(|error| error.to_string())
    } else {
        Err(format!("expected a number from 0, found {amount}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::manifests::read_bytes;

    const POOLS: &str = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a, labels: {team: web}}\nspec: {template: {spec: {requirements: [], nodeClassRef: {group: g, kind: k, name: n}}}}\n---\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: b, labels: {team: web}}\nspec: {template: {spec: {requirements: [], nodeClassRef: {group: g, kind: k, name: n}}}}\n---\n";

    fn policy(name: &str, spec: &str) -> String {
        format!(
            "apiVersion: dovetail.sh/v1alpha1\nkind: PackingPolicy\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n---\n"
        )
    }

    fn read(documents: &[String]) -> (Policies, Vec<String>) {
        let read = read_bytes("input", (POOLS.to_owned() + &documents.concat()).as_bytes(), &[]).unwrap();
        assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
        let (policies, notes) = policies(&read.index, &Classes::default());
        (policies, notes.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_name_beats_a_selector_and_the_smallest_setting_counts() {
        let (policies, notes) = read(&[
            policy(
                "one",
                "nodePoolSelector: {matchLabels: {team: web}}, weights: {nodeHour: 0.02}, solver: {timeBudget: 2s, gap: 1%}",
            ),
            policy(
                "two",
                "nodePools: [b], weights: {price: 2, interruption: 0.5}, overhead: optimistic, solver: {timeBudget: 1m30s}",
            ),
        ]);
        assert!(notes.is_empty(), "{notes:?}");
        let weights = |name: &str| policies.objective.weights(Some(&NodePoolName::from(name)));
        assert_eq!(weights("a").node_hour.micros(), 20_000);
        assert_eq!(
            (weights("b").price_millionths, weights("b").node_hour.micros()),
            (2_000_000, 0)
        );
        assert_eq!(weights("b").interruption.micros(), 500_000);
        assert_eq!(
            policies
                .overhead
                .keys()
                .map(ToString::to_string)
                .collect::<Vec<_>>(),
            ["b"]
        );
        assert_eq!(
            (policies.time_budget, policies.gap),
            (Some(Duration::from_secs(2)), Some(Gap(5_000)))
        );
    }

    #[test]
    fn two_equal_claims_are_an_error_that_names_both() {
        let (policies, notes) = read(&[policy("one", "nodePools: [a]"), policy("two", "nodePools: [a]")]);
        assert!(
            notes[0].contains("NodePool a: PackingPolicies one and two"),
            "{notes:?}"
        );
        assert_eq!(policies.gap, None);
    }

    #[test]
    fn what_makes_no_sense_is_refused_and_what_is_not_done_is_said() {
        for wrong in [
            "weights: {price: -1}",
            "weights: {eviction: .nan}",
            "weights: {nodeHour: -0.1}",
            "headroom: {cpu: -1}",
            "headroom: {cpu: lots}",
            "solver: {gap: much}",
            "solver: {timeBudget: 5}",
        ] {
            let read = read_bytes(
                "input",
                (POOLS.to_owned() + &policy("one", &format!("nodePools: [a], {wrong}"))).as_bytes(),
                &[],
            )
            .unwrap();
            let dropped = !read.diagnostics.dropped().is_empty();
            let (_, notes) = policies(&read.index, &Classes::default());
            assert!(dropped || notes.iter().any(|note| note.path.is_some()), "{wrong}");
        }
        let (understood, notes) = read(&[policy(
            "one",
            "nodePools: [a, gone], weights: {eviction: 1}, headroom: {cpu: 1}, consolidation: {surge: true}, placement: {keepOffAccelerators: true, nominate: false}",
        )]);
        assert!(
            notes
                .iter()
                .any(|note| note.contains("aren't in the input: gone")),
            "{notes:?}"
        );
        let kept = &understood.placement.headroom[&NodePoolName::from("a")];
        assert_eq!(kept.get(&ResourceName::Cpu), Amount::new(1_000));
        assert!(
            notes
                .iter()
                .any(|note| note
                    .contains("not acted on yet: weights.eviction, consolidation, placement.nominate")),
            "{notes:?}"
        );
    }

    #[test]
    fn a_budget_and_a_gap_are_read_as_on_the_command_line() {
        for (solver, field, expected) in [
            (
                "timeBudget: 0s",
                "spec.solver.timeBudget",
                "above zero such as 300ms (--engine greedy plans without improving), found \"0s\"; the policy is ignored",
            ),
            ("timeBudget: 5x", "spec.solver.timeBudget", "found \"5x\""),
            ("gap: -1%", "spec.solver.gap", "found \"-1%\""),
            ("gap: 101%", "spec.solver.gap", "100% at most, found \"101%\""),
        ] {
            let document = policy("one", &format!("nodePools: [a], solver: {{{solver}}}"));
            let read = read_bytes("input", (POOLS.to_owned() + &document).as_bytes(), &[]).unwrap();
            let (policies, notes) = policies(&read.index, &Classes::default());
            assert_eq!((policies.time_budget, policies.gap), (None, None), "{solver}");
            let said = notes
                .iter()
                .any(|note| note.path.as_deref() == Some(field) && note.message.contains(expected));
            assert!(said, "{solver}: {notes:?}");
        }
    }
    #[test]
    fn a_node_hour_of_auto_is_what_the_volumes_of_the_pools_class_cost() {
        let class = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: n}\nspec: {amiSelectorTerms: [{alias: al2023@latest}], role: r, subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}], blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 500Gi, volumeType: gp3}}]}\n---\n";
        let one = policy("one", "nodePools: [a], weights: {nodeHour: auto}");
        let input = format!("{POOLS}{class}{one}");
        let read = read_bytes("input", input.as_bytes(), &[]).unwrap();
        assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
        let (classes, _) = crate::cluster::convert::node_class::classes(&read.index);
        let (policies, notes) = policies(&read.index, &classes);
        let weights = |name: &str| policies.objective.weights(Some(&NodePoolName::from(name)));
        // $40 a month.
        assert_eq!(weights("a").node_hour.micros(), 54_795);
        assert_eq!(weights("b").node_hour.micros(), 0);
        let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
        assert!(
            notes.len() == 1 && notes[0].contains("nodeHour: auto is 0.054795 $ per node and hour"),
            "{notes:?}"
        );
    }
}
