//! The check accepts good plans and refuses each way to spoil one, with the rule that is broken.
//!
//! One plan uses every rule; the table spoils it in one place at a time. What needs another cluster has its own test.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod gangs;
mod labels;
mod limits;
mod near;
mod orders;
mod places;
mod room;
mod spread;
mod subnets;
mod values;

use dovetail_solver::check::{Rule, check};
use dovetail_solver::model::explain::{Constraint, Reason};
use dovetail_solver::model::instance_type::{NODE_POOL_LABEL, RESERVATION_LABEL};
use dovetail_solver::model::money::{Cost, Price};
use dovetail_solver::model::name::PodName;
use dovetail_solver::model::objective::Weights;
use dovetail_solver::model::offering::{CapacityType, Offering};
use dovetail_solver::model::plan::{Alternative, Gap, Move, NodeAction, Plan, PlanBody, ProofKind};
use dovetail_solver::model::pod::PodPlace;
use dovetail_solver::model::requirement::{Labels, Operator};
use dovetail_solver::model::resources::{Amount, ResourceName};
use dovetail_solver::model::snapshot::{Snapshot, SnapshotParts};
use dovetail_solver::testing::build::{
    Cluster, affinity, daemon_owner, in_zone, machine, requirements, taint, tolerates,
};
use dovetail_solver::testing::draft::{Draft, cost};

use CapacityType::{OnDemand, Reserved, Spot};

const TEAM: &str = "example.com/team";

fn broken(snapshot: &Snapshot, body: PlanBody) -> Vec<Rule> {
    match check(snapshot, Plan::propose(body)) {
        Ok(_) => Vec::new(),
        Err(failure) => {
            let mut rules: Vec<Rule> = failure.violations.iter().map(|found| found.rule).collect();
            rules.sort_unstable();
            rules.dedup();
            rules
        }
    }
}

#[track_caller]
fn accepted(snapshot: &Snapshot, draft: Draft<'_>) {
    if let Err(failure) = check(snapshot, draft.plan()) {
        panic!("{:#?}", failure.violations);
    }
}

#[track_caller]
fn refused(snapshot: &Snapshot, draft: Draft<'_>, rule: Rule) {
    assert_eq!(broken(snapshot, draft.body()), [rule]);
}

/// Two pools (one tainted and limited, with an open key), three types, a DaemonSet, three nodes (one goes), pods of
/// every kind.
fn cluster() -> Cluster {
    let spot = |zone: &str, price: &str| Offering {
        zone: zone.into(),
        zone_id: None,
        capacity_type: Spot,
        price: Price::parse(price).unwrap(),
        available: true,
        limit: None,
        reservation: None,
        commitment: None,
    };
    let mut medium = machine("m.medium", "4", "8Gi", "0.2");
    medium.offerings.push(spot("zone-a", "0.06"));
    let mut large = machine("m.large", "8", "16Gi", "0.4");
    large.offerings.push(Offering {
        available: false,
        ..spot("zone-b", "0.1")
    });
    Cluster::new()
        .instance_type(machine("m.small", "2", "4Gi", "0.1"))
        .instance_type(medium)
        .instance_type(large)
        .pool("default")
        .pool_with("teams", |pool| {
            pool.requirements = requirements(&[(TEAM, Operator::In, &["blue", "red"])]);
            pool.taints = vec![taint("teams", "")];
            pool.limits.nodes = Some(2);
            pool.limits.resources.set(ResourceName::Cpu, Amount::new(12_000));
        })
        .daemon_set_with("agent", "500m", "256Mi", |spec| {
            spec.tolerations = vec![tolerates("")];
        })
        .node("n1", "default", "m.medium", "zone-a")
        .daemon_pod("agent", "n1", true)
        .bound("old", "n1", "1", "1Gi")
        .node("n2", "default", "m.small", "zone-b")
        .node_with("n3", "default", "m.small", "zone-a", |node| node.deleting = true)
        .bound("leaver", "n3", "250m", "256Mi")
        .node_with("n4", "default", "m.small", "zone-a", |node| {
            node.unschedulable = true;
        })
        .daemon_pod("agent", "n4", false)
        .pods("web", 2, "1500m", "1Gi")
        .pods_with("near", 1, "1", "1Gi", |spec| {
            spec.node_selector = in_zone("zone-a");
        })
        .pods_with("red", 1, "1", "1Gi", |spec| {
            spec.node_affinity = Some(affinity(&[&[(TEAM, Operator::In, &["red", "green"])]]));
            spec.tolerations = vec![tolerates("teams")];
        })
        .pods("huge", 1, "100", "1Gi")
}

fn draft(snapshot: &Snapshot) -> Draft<'_> {
    Draft::new(snapshot)
        .launch(
            "default",
            &[
                ("m.medium", "zone-a", OnDemand),
                ("m.medium", "zone-b", OnDemand),
                ("m.large", "zone-a", OnDemand),
            ],
            &["default/web-0", "default/web-1"],
        )
        .launch_labelled(
            "teams",
            &[("m.small", "zone-a", OnDemand), ("m.small", "zone-b", OnDemand)],
            &["default/red-0"],
            &[(TEAM, "red")],
        )
        .on_node("n1", &["default/near-0"])
        .on_node("n2", &["default/leaver"])
        .on_node("n4", &["kube-system/agent-n4"])
        .refuse("default/huge-0")
}

#[test]
fn a_good_plan_passes() {
    let snapshot = cluster().freeze();
    accepted(&snapshot, draft(&snapshot));
    let checked = check(&snapshot, draft(&snapshot).plan()).unwrap();
    assert_eq!(checked.cost.before, Cost::from_micros(500_000));
    assert_eq!(checked.cost.after, Cost::from_micros(700_000));
    assert_eq!(
        checked.into_body(),
        draft(&snapshot).body(),
        "the check changes nothing"
    );
}

type Spoil = fn(&mut PlanBody);

/// Whether the figures are computed anew after spoiling, so that only the rule in question is broken.
#[derive(Clone, Copy)]
enum Figures {
    Anew,
    Kept,
}
use Figures::{Anew, Kept};

fn alternatives(body: &mut PlanBody, launch: usize, edit: impl FnOnce(&mut Vec<Alternative>)) {
    let mut list = body.launch[launch].alternatives.to_vec();
    edit(&mut list);
    body.launch[launch].alternatives = list.into();
}

fn ask(body: &mut PlanBody, launch: usize, name: ResourceName, change: i64) {
    let requests = &mut body.launch[launch].requests;
    let amount = requests.get(&name).get().checked_add_signed(change).unwrap();
    requests.set(name, Amount::new(amount));
}

#[rustfmt::skip]
const PLACEMENT: &[(&str, Figures, Spoil)] = &[
    ("a pod forgotten in a launch", Kept, |body| { body.launch[0].pods.pop(); ask(body, 0, ResourceName::Cpu, -1_500); ask(body, 0, ResourceName::Memory, -(1 << 30)); ask(body, 0, ResourceName::Pods, -1); }),
    ("a pod forgotten on a node", Kept, |body| { body.nodes[0].added.clear(); }),
    ("a refused pod forgotten", Kept, |body| { body.unschedulable.clear(); }),
    ("a launch forgotten", Anew, |body| { body.launch.remove(1); }),
    ("a pod twice in the plan", Kept, |body| { body.nodes[1].added.push(PodName::new("default", "near-0")); }),
    ("a placed pod refused too", Kept, |body| { let mut again = body.unschedulable[0].clone(); again.pod = PodName::new("default", "web-0"); body.unschedulable.push(again); }),
    ("a pod refused twice", Kept, |body| { let again = body.unschedulable[0].clone(); body.unschedulable.push(again); }),
    ("a pod invented", Kept, |body| { body.nodes[1].added.push(PodName::new("default", "ghost")); }),
    ("a running pod placed again", Kept, |body| { body.nodes[1].added.push(PodName::new("default", "old")); }),
    ("a running pod refused", Kept, |body| { let mut again = body.unschedulable[0].clone(); again.pod = PodName::new("default", "old"); body.unschedulable.push(again); }),
    ("an unknown node", Kept, |body| { let mut entry = body.nodes[1].clone(); entry.name = "n9".into(); entry.added.clear(); body.nodes.push(entry); }),
    ("a node twice", Kept, |body| { let mut entry = body.nodes[1].clone(); entry.added.clear(); body.nodes.push(entry); }),
    ("a move forgotten", Kept, |body| { body.moves.clear(); }),
    ("a move elsewhere", Kept, |body| { body.moves[0].to = "launch/0".to_owned(); }),
    ("a move from elsewhere", Kept, |body| { body.moves[0].from = "n1".into(); }),
    ("a move twice", Kept, |body| { let again = body.moves[0].clone(); body.moves.push(again); }),
    ("a pending pod moved", Kept, |body| { body.moves.push(Move { pod: PodName::new("default", "web-0"), from: "n1".into(), to: "launch/0".to_owned() }); }),
    ("a staying pod moved", Kept, |body| { body.moves.push(Move { pod: PodName::new("default", "old"), from: "n1".into(), to: "n2".to_owned() }); }),
    ("a ghost moved", Kept, |body| { body.moves.push(Move { pod: PodName::new("default", "ghost"), from: "n1".into(), to: "n2".to_owned() }); }),
    ("a node disrupted", Anew, |body| { body.nodes[1].action = NodeAction::Delete; }),
    ("a node replaced", Anew, |body| { body.nodes[0].action = NodeAction::Replace; }),
    ("a staying pod unlisted", Kept, |body| { body.nodes[0].pods.retain(|pod| pod.name != "old"); }),
    ("a staying pod listed twice", Kept, |body| { body.nodes[0].pods.push(PodName::new("default", "old")); }),
    ("a pod of another node listed", Kept, |body| { body.nodes[1].pods.push(PodName::new("default", "old")); }),
    ("a ghost listed", Kept, |body| { body.nodes[1].pods.push(PodName::new("default", "ghost")); }),
    ("a pod on a cordoned node", Kept, |body| { body.nodes[2].added.push(PodName::new("default", "leaver")); body.nodes[1].added.clear(); body.moves[0].to = "n4".to_owned(); }),
    ("a pod on the node that goes", Kept, |body| { body.nodes[1].name = "n3".into(); body.moves[0].to = "n3".to_owned(); }),
    ("a launch without pods", Anew, |body| { let mut empty = body.launch[0].clone(); empty.pods.clear(); empty.requests = agent(); body.launch.push(empty); }),
    ("a DaemonSet's pod in a launch", Kept, |body| { body.nodes.pop(); body.launch[0].pods.push(PodName::new("kube-system", "agent-n4")); }),
];

/// What the DaemonSet asks for.
fn agent() -> dovetail_solver::model::resources::Resources {
    dovetail_solver::testing::build::amounts("500m", "256Mi", 1)
}

#[rustfmt::skip]
const OTHERS: &[(Rule, &str, Figures, Spoil)] = &[
    (Rule::Resources, "requests too low", Kept, |body| ask(body, 0, ResourceName::Cpu, -1)),
    (Rule::Resources, "requests too high", Kept, |body| ask(body, 0, ResourceName::Memory, 1)),
    (Rule::Resources, "a resource nobody asks for", Kept, |body| ask(body, 0, ResourceName::from("nvidia.com/gpu"), 1)),
    (Rule::Resources, "a node filled beyond its room", Kept, |body| { body.nodes[0].added.clear(); body.nodes[1].added.push(PodName::new("default", "huge-0")); body.unschedulable[0].pod = PodName::new("default", "near-0"); }),
    (Rule::Resources, "an alternative too small for the pods", Kept, |body| alternatives(body, 0, |list| { list.insert(0, other("m.small", 100_000)); })),
    (Rule::Overhead, "the DaemonSet left out of requests", Kept, |body| { ask(body, 0, ResourceName::Cpu, -500); ask(body, 0, ResourceName::Memory, -(256 << 20)); ask(body, 0, ResourceName::Pods, -1); }),
    (Rule::Overhead, "a node filled into the room of its DaemonSet", Kept, |body| { let web = body.launch[0].pods.pop().unwrap(); ask(body, 0, ResourceName::Cpu, -1_500); ask(body, 0, ResourceName::Memory, -(1 << 30)); ask(body, 0, ResourceName::Pods, -1); body.nodes[1].added.push(web); }),
    (Rule::Requirements, "a pod in another zone than it selects", Kept, |body| { body.nodes[0].added.clear(); body.nodes[1].added = vec![PodName::new("default", "near-0")]; body.nodes[0].added = vec![PodName::new("default", "leaver")]; body.moves[0].to = "n1".to_owned(); }),
    (Rule::Labels, "the open key without a value", Kept, |body| body.launch[1].labels.clear()),
    (Rule::Labels, "a value that the pool doesn't allow", Kept, |body| { body.launch[1].labels.insert(TEAM.to_owned(), "green".to_owned()); }),
    (Rule::Requirements, "a value that the pod doesn't select", Kept, |body| { body.launch[1].labels.insert(TEAM.to_owned(), "blue".to_owned()); }),
    (Rule::Requirements, "an alternative with another value", Kept, |body| alternatives(body, 1, |list| { list[0].labels.insert(TEAM.to_owned(), "blue".to_owned()); })),
    (Rule::Labels, "a key that the pool doesn't have", Kept, |body| { body.launch[0].labels.insert("example.com/x".to_owned(), "y".to_owned()); }),
    (Rule::Labels, "a value for what the pool fixes", Kept, |body| { body.launch[0].labels.insert(NODE_POOL_LABEL.to_owned(), "teams".to_owned()); }),
    (Rule::Offerings, "an unknown type", Kept, |body| body.launch[0].instance_type = "m.huge".into()),
    (Rule::Offerings, "an unknown zone", Kept, |body| body.launch[0].zone = "zone-c".into()),
    (Rule::Offerings, "an unknown pool", Kept, |body| body.launch[0].node_pool = "gone".into()),
    (Rule::Offerings, "a capacity type that isn't sold", Kept, |body| body.launch[0].capacity_type = Reserved),
    (Rule::Offerings, "a price off by a micro-dollar", Anew, |body| body.launch[0].price = Price::from_micros(200_001)),
    (Rule::Offerings, "an alternative's price off by a micro-dollar", Kept, |body| alternatives(body, 0, |list| list[0].price = Price::from_micros(200_001))),
    (Rule::Offerings, "an alternative that isn't available", Kept, |body| alternatives(body, 0, |list| { list.insert(0, Alternative { zone: "zone-b".into(), capacity_type: Spot, ..other("m.large", 100_000) }); })),
    (Rule::Offerings, "alternatives out of order", Kept, |body| alternatives(body, 0, |list| list.reverse())),
    (Rule::Limits, "an alternative that exceeds the CPU limit", Kept, |body| alternatives(body, 1, |list| { list.push(other("m.large", 400_000)); list.push(Alternative { zone: "zone-b".into(), ..other("m.large", 400_000) }); list.push(other("m.xl", 800_000)); })),
    (Rule::Money, "before off", Kept, |body| body.cost.before += Cost::from_micros(1)),
    (Rule::Money, "after off", Kept, |body| body.cost.after += Cost::from_micros(1)),
    (Rule::Money, "launched off", Kept, |body| body.cost.launched += Cost::from_micros(-1)),
    (Rule::Money, "objective off", Kept, |body| body.cost.objective += Cost::from_micros(1)),
    (Rule::Money, "a term off", Kept, |body| body.cost.terms.node_hour += Cost::from_micros(1)),
    (Rule::Money, "a term of nodes off, and the objective", Kept, |body| { body.cost.terms.price += Cost::from_micros(1); body.cost.objective += Cost::from_micros(1); }),
    (Rule::Money, "a node's price off", Kept, |body| body.nodes[0].price = Price::from_micros(1)),
    (Rule::Money, "a bound above the objective", Kept, |body| body.cost.lower_bound = body.cost.objective + Cost::from_micros(1)),
    (Rule::Money, "a bound without its gap", Kept, |body| body.cost.lower_bound = Cost::from_micros(350_000)),
    (Rule::Money, "a gap off by a millionth", Kept, |body| { body.cost.lower_bound = Cost::from_micros(350_000); body.cost.gap = Gap(1_000_001); }),
    (Rule::Money, "optimal without proof", Kept, |body| body.proof.kind = ProofKind::Optimal),
    (Rule::Honesty, "no reasons at all", Kept, |body| body.unschedulable[0].reasons.clear()),
    (Rule::Honesty, "a pool without its reason", Kept, |body| { body.unschedulable[0].reasons.pop(); }),
    (Rule::Honesty, "a reason of nothing", Kept, |body| { let mut reason = body.unschedulable[0].reasons[0].clone(); reason.node_pool = None; body.unschedulable[0].reasons.push(reason); }),
    (Rule::Honesty, "a reason of an unknown pool", Kept, |body| { let mut reason = body.unschedulable[0].reasons[0].clone(); reason.node_pool = Some("gone".into()); body.unschedulable[0].reasons.push(reason); }),
    (Rule::Honesty, "a reason of an unknown node", Kept, |body| body.unschedulable[0].reasons.push(node_reason("n9", Constraint::Resources))),
    (Rule::Honesty, "a taint blamed that isn't there", Kept, |body| body.unschedulable[0].reasons[0].constraint = Constraint::Taint),
    (Rule::Honesty, "a limit blamed that isn't there", Kept, |body| body.unschedulable[0].reasons[0].constraint = Constraint::Limit),
    (Rule::Honesty, "a node's taint blamed that isn't there", Kept, |body| body.unschedulable[0].reasons.push(node_reason("n1", Constraint::Taint))),
];

fn other(name: &str, micros: u64) -> Alternative {
    Alternative {
        instance_type: name.into(),
        zone: "zone-a".into(),
        subnet: None,
        capacity_type: OnDemand,
        reservation_id: None,
        price: Price::from_micros(micros),
        labels: Labels::new(),
    }
}

fn node_reason(node: &str, constraint: Constraint) -> Reason {
    Reason {
        node_pool: None,
        node: Some(node.into()),
        constraint,
        detail: String::new(),
    }
}

#[test]
fn every_way_to_spoil_it_is_refused_with_its_rule() {
    let snapshot = cluster()
        .instance_type(machine("m.xl", "16", "32Gi", "0.8"))
        .freeze();
    let placement = PLACEMENT
        .iter()
        .map(|(name, figures, spoil)| (Rule::Placement, *name, *figures, *spoil));
    let mut wrong = Vec::new();
    for (rule, name, figures, spoil) in placement.chain(OTHERS.iter().copied()) {
        let mut body = draft(&snapshot).body();
        assert!(broken(&snapshot, body.clone()).is_empty());
        spoil(&mut body);
        if matches!(figures, Anew) {
            body.cost = cost(&snapshot, &body);
        }
        let rules = broken(&snapshot, body);
        if !rules.contains(&rule) {
            wrong.push(format!("{name}: expected {rule}, got {rules:?}"));
        }
        let alone = [
            Rule::Labels,
            Rule::Money,
            Rule::Honesty,
            Rule::Limits,
            Rule::Overhead,
        ];
        if alone.contains(&rule) && rules != [rule] {
            wrong.push(format!("{name}: expected {rule} alone, got {rules:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_violation_is_reported() {
    let snapshot = cluster().freeze();
    let mut body = draft(&snapshot).body();
    body.launch[0].instance_type = "m.huge".into();
    body.cost.before = Cost::ZERO;
    body.moves.clear();
    body.unschedulable[0].reasons.clear();
    let failure = check(&snapshot, Plan::propose(body.clone())).unwrap_err();
    let rules: Vec<Rule> = failure.violations.iter().map(|found| found.rule).collect();
    for rule in [Rule::Offerings, Rule::Money, Rule::Placement, Rule::Honesty] {
        assert!(rules.contains(&rule), "{rule} is missing in {rules:?}");
    }
    assert!(failure.to_string().contains("launch") || failure.to_string().contains("default/leaver"));
    assert_eq!(failure.plan.into_body(), body, "the plan comes back as it was");
}

#[test]
fn the_objective_is_weighed_per_pool() {
    let mut parts = cluster().freeze().into_parts();
    for class in parts.node_classes.values_mut() {
        for instance_type in &mut class.instance_types {
            instance_type.interruptions_per_million_hours = 100;
        }
    }
    let weights = Weights {
        price_millionths: 1_500_000,
        node_hour: Price::from_micros(7),
        interruption: Price::from_micros(3_000_000),
        ..Weights::default()
    };
    parts.objective.weights.insert("default".into(), weights);
    let snapshot = parts.freeze().unwrap();
    accepted(&snapshot, draft(&snapshot));
    let mut body = draft(&snapshot).body();
    assert_ne!(body.cost.objective, body.cost.after);
    body.cost.objective = body.cost.after;
    assert_eq!(broken(&snapshot, body), [Rule::Money]);
}

#[test]
fn interruptions_of_spot_nodes_are_weighed_and_none_on_demand() {
    let mut medium = machine("m", "2", "4Gi", "0.1");
    medium.interruptions_per_million_hours = 200;
    medium.offerings.push(Offering {
        capacity_type: Spot,
        price: Price::parse("0.05").unwrap(),
        ..medium.offerings[0].clone()
    });
    let cluster = Cluster::new()
        .instance_type(medium)
        .pool("p")
        .pods("x", 1, "1", "1Gi");
    let mut parts = cluster.freeze().into_parts();
    let weights = Weights {
        interruption: Price::from_micros(5_000_000),
        ..Weights::default()
    };
    parts.objective.weights.insert("p".into(), weights);
    let snapshot = parts.freeze().unwrap();
    for (bought_as, micros) in [(Spot, 1_000), (OnDemand, 0)] {
        let launch = || Draft::new(&snapshot).launch("p", &[("m", "zone-a", bought_as)], &["default/x-0"]);
        accepted(&snapshot, launch());
        let mut body = launch().body();
        let above = body.cost.objective.micros() - body.cost.after.micros();
        assert_eq!(above, micros);
        body.cost.objective = Cost::from_micros(body.cost.objective.micros() + 1);
        assert_eq!(broken(&snapshot, body), [Rule::Money]);
    }
}

#[test]
fn nothing_to_do_is_a_plan() {
    let snapshot = SnapshotParts::default().freeze().unwrap();
    assert_eq!(broken(&snapshot, PlanBody::default()), []);
}

#[test]
fn without_node_pools_no_reason_is_owed() {
    let snapshot = Cluster::new().pods("x", 1, "1", "1Gi").freeze();
    accepted(&snapshot, Draft::new(&snapshot).refuse("default/x-0"));
}
