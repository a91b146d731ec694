//! One small cluster and its plan, through every output.

use std::sync::Arc;

use dovetail_solver::model::explain::{Constraint, Reason, Unschedulable};
use dovetail_solver::model::instance_type::{INSTANCE_TYPE_LABEL, InstanceType, ZONE_LABEL};
use dovetail_solver::model::money::{Cost, Price};
use dovetail_solver::model::name::PodName;
use dovetail_solver::model::node::{Node, NodeStage};
use dovetail_solver::model::node_pool::{Limits, NodeClass, NodePool};
use dovetail_solver::model::objective::Terms;
use dovetail_solver::model::offering::{CapacityType, Offering};
use dovetail_solver::model::plan::{
    Alternative, CostSummary, Gap, Launch, NodeAction, NodePlan, Phase, PlanBody, Proof, ProofKind, Stopped,
    Work,
};
use dovetail_solver::model::pod::{Owner, Pod, PodPlace, PodSpec};
use dovetail_solver::model::quantity::Rounding;
use dovetail_solver::model::requirement::Requirements;
use dovetail_solver::model::resources::Resources;
use dovetail_solver::model::snapshot::{Snapshot, SnapshotParts};

use super::{Loudness, Origin, Report, Warning, diff, explain, html, table};

fn amounts(cpu: &str, memory: &str, pods: &str) -> Resources {
    Resources::parse([("cpu", cpu), ("memory", memory), ("pods", pods)], Rounding::Up).unwrap()
}

fn pod(name: &str, workload: &str, cpu: &str, place: PodPlace) -> Pod {
    Pod {
        name: PodName::new("shop", name),
        spec: Arc::new(PodSpec {
            requests: amounts(cpu, "1Gi", "1"),
            owner: Some(Owner {
                kind: "ReplicaSet".to_owned(),
                name: format!("{workload}-5d4f8c7b9"),
            }),
            labels: [("pod-template-hash".to_owned(), "5d4f8c7b9".to_owned())].into(),
            ..PodSpec::default()
        }),
        place,
        created: None,
    }
}

fn snapshot() -> Snapshot {
    let instance_type = |name: &str, cpu: &str| InstanceType {
        interruptions_per_million_hours: 0,
        name: name.into(),
        labels: [("kubernetes.io/arch".to_owned(), "amd64".to_owned())].into(),
        choices: std::collections::BTreeMap::new(),
        capacity: amounts(cpu, "8Gi", "58"),
        allocatable: amounts(cpu, "6Gi", "58"),
        offerings: vec![Offering {
            zone: "us-east-1a".into(),
            zone_id: None,
            capacity_type: CapacityType::OnDemand,
            price: Price::from_micros(178_500),
            available: true,
            limit: None,
            reservation: None,
            commitment: None,
        }],
    };
    let node = Node {
        name: "n1".into(),
        node_pool: Some("default".into()),
        stage: NodeStage::Initialized,
        launched: true,
        ready: true,
        unschedulable: false,
        deleting: false,
        labels: [
            (INSTANCE_TYPE_LABEL.to_owned(), "c7i.xlarge".to_owned()),
            (ZONE_LABEL.to_owned(), "us-east-1a".to_owned()),
        ]
        .into(),
        taints: Vec::new(),
        capacity: amounts("4", "8Gi", "58"),
        allocatable: amounts("4", "6Gi", "58"),
        price: Price::from_micros(178_500),
        supply: None,
        created: None,
    };
    let pool = NodePool {
        name: "default".into(),
        node_class: "default".into(),
        weight: 0,
        requirements: Requirements::new(),
        labels: std::collections::BTreeMap::new(),
        taints: Vec::new(),
        startup_taints: Vec::new(),
        limits: Limits::default(),
        replicas: None,
        left_out: None,
    };
    let class = NodeClass {
        name: "default".into(),
        subnets: std::collections::BTreeSet::new(),
        instance_types: vec![instance_type("c7i.xlarge", "4")],
    };
    let pods = vec![
        pod("old", "api", "1", PodPlace::Bound("n1".into())),
        pod("web-0", "web", "2", PodPlace::Pending),
        pod("web-1", "web", "2", PodPlace::Pending),
        pod("web-2", "web", "2", PodPlace::Pending),
        pod("batch-0", "<script>alert(1)</script>", "64", PodPlace::Pending),
    ];
    SnapshotParts {
        region: "us-east-1".to_owned(),
        node_classes: [("default".into(), class)].into(),
        node_pools: vec![pool],
        nodes: vec![node],
        pods,
        ..SnapshotParts::default()
    }
    .freeze()
    .unwrap()
}

fn plan() -> PlanBody {
    let shop = |name: &str| PodName::new("shop", name);
    let dollars = Cost::from_micros;
    PlanBody {
        launch: vec![Launch {
            node_pool: "default".into(),
            instance_type: "c7i.xlarge".into(),
            zone: "us-east-1a".into(),
            subnet: None,
            capacity_type: CapacityType::OnDemand,
            reservation_id: None,
            price: Price::from_micros(178_500),
            pods: vec![shop("web-1"), shop("web-2")],
            requests: amounts("4", "2Gi", "2"),
            labels: std::collections::BTreeMap::new(),
            alternatives: Arc::from([Alternative {
                instance_type: "m7i.xlarge".into(),
                zone: "us-east-1a".into(),
                subnet: None,
                capacity_type: CapacityType::OnDemand,
                reservation_id: None,
                price: Price::from_micros(201_600),
                labels: std::collections::BTreeMap::new(),
            }]),
        }],
        nodes: vec![NodePlan {
            name: "n1".into(),
            action: NodeAction::Keep,
            reason: None,
            pods: vec![shop("old")],
            added: vec![shop("web-0")],
            price: Price::from_micros(178_500),
            blocked_by: None,
        }],
        moves: Vec::new(),
        unschedulable: vec![Unschedulable {
            pod: shop("batch-0"),
            reasons: vec![Reason {
                node_pool: Some("default".into()),
                node: None,
                constraint: Constraint::Resources,
                detail: "cpu: needs 64, at most 4".to_owned(),
            }],
            fix: None,
            fix_search_cut_short: false,
        }],
        cost: CostSummary {
            before: dollars(178_500),
            after: dollars(357_000),
            launched: dollars(178_500),
            lower_bound: dollars(350_000),
            gap: Gap(20_000),
            objective: dollars(357_000),
            terms: Terms {
                price: dollars(357_000),
                ..Terms::default()
            },
            recounted: Cost::ZERO,
        },
        proof: Proof {
            kind: ProofKind::Heuristic,
            stopped: Stopped::Deadline,
        },
        work: Work {
            pods: 4,
            ..Work::default()
        },
    }
}

fn origin() -> Origin {
    let warning = |number: u32| Warning {
        loudness: Loudness::Warning,
        reason: "unknown field".to_owned(),
        count: 1,
        text: format!("shop.yaml, document {number}: unknown field"),
    };
    Origin {
        region_reason: "the nodes' region label".to_owned(),
        spot_is_estimated: true,
        warnings: (1..=9).map(warning).collect(),
    }
}

fn with_report(test: impl FnOnce(&Report<'_>)) {
    test(&Report {
        snapshot: &snapshot(),
        plan: &plan(),
        origin: &origin(),
    });
}

fn without_colour(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn the_table_fits_one_screen_and_says_what_matters() {
    with_report(|report| {
        let text = without_colour(&table::render(report, table::TableOptions::default()));
        let expected = "\
4 pods pending · 1 → 2 nodes · $0.1785/h → $0.357/h (+$0.1785)
Cost: at most 2 % above the least possible (lower bound $0.35/h); the time budget ended the search
Prices: us-east-1 (the nodes' region label)

Launch 1 node for $0.1785/h
  NODES  TYPE        BUY        ZONE        NODE POOL  $/H EACH     $/H  PODS    CPU  MEMORY
      1  c7i.xlarge  on-demand  us-east-1a  default      0.1785  0.1785     2  100 %    33 %

Place 1 pod on 1 existing node
  PODS  NODE  TYPE        ZONE        NODE POOL
    +1  n1    c7i.xlarge  us-east-1a  default

No place for 1 pod
  shop/<script>alert(1)</script>
    default  Resources  cpu: needs 64, at most 4
    no single change was found that gives it a place

warning: shop.yaml, document 1: unknown field
warning: shop.yaml, document 2: unknown field
warning: shop.yaml, document 3: unknown field
warning: shop.yaml, document 4: unknown field
warning: 5 × unknown field (plan --verbose lists them)
";
        assert_eq!(text, expected);
    });
}

#[test]
fn who_asks_for_everything_sees_how_the_cost_came_down_and_everyone_which_engine_failed() {
    let phase = |name: &str, micros: i64, failed: Option<&str>| Phase {
        name: name.to_owned(),
        seconds: std::time::Duration::ZERO,
        placed: 0,
        cost: Cost::from_micros(micros),
        bound: Cost::default(),
        failed: failed.map(str::to_owned),
    };
    let mut plan = plan();
    plan.work.phases = vec![
        phase("greedy", 300_000, None),
        phase("lower bound", 300_000, None),
        phase("density", 200_000, None),
        phase("columns", 200_000, Some("it broke down")),
        phase("polish", 178_500, None),
    ];
    let report = Report {
        snapshot: &snapshot(),
        plan: &plan,
        origin: &origin(),
    };
    let text = |verbose: bool| {
        let options = table::TableOptions { width: None, verbose };
        without_colour(&table::render(&report, options))
    };
    let search = "Search: greedy $0.30/h → density $0.20/h → polish $0.1785/h";
    assert!(text(true).contains(search), "{}", text(true));
    assert!(!text(false).contains("Search:"), "{}", text(false));
    for text in [text(true), text(false)] {
        assert!(
            text.contains("Engine columns failed, which costs its time alone: it broke down"),
            "{text}"
        );
    }
}

#[test]
fn an_objective_that_is_more_than_the_bill_is_told_term_by_term() {
    let mut plan = plan();
    plan.cost.terms.preference = Cost::from_micros(14_000);
    plan.cost.terms.zone_imbalance = Cost::from_micros(20_000);
    plan.cost.objective = plan.cost.terms.sum();
    plan.cost.recounted = Cost::from_micros(-3_000);
    let report = Report {
        snapshot: &snapshot(),
        plan: &plan,
        origin: &origin(),
    };
    let table = without_colour(&table::render(&report, table::TableOptions::default()));
    let mut page = Vec::new();
    html::write(&report, &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    let told = "$0.391/h: price $0.357 + preference $0.014 + zoneImbalance $0.02";
    for output in [table, page] {
        assert!(
            output.contains(&format!("Objective {told}")) || output.contains(&format!("Objective: {told}")),
            "{output}"
        );
        assert!(
            output.contains("What is only weighed costs $0.003/h less by the check"),
            "{output}"
        );
    }
}

#[test]
fn a_narrow_terminal_gets_narrow_tables() {
    with_report(|report| {
        let options = table::TableOptions {
            width: Some(60),
            verbose: true,
        };
        let text = without_colour(&table::render(report, options));
        let rows = text
            .lines()
            .skip_while(|line| !line.starts_with("Launch"))
            .skip(1);
        for row in rows.take_while(|row| !row.is_empty()) {
            assert!(row.chars().count() <= 60, "{row}");
        }
        assert!(text.contains("document 9"), "verbose lists all");
        assert!(
            text.contains("  launch/0 c7i.xlarge us-east-1a: shop/web-1, shop/web-2\n"),
            "{text}"
        );
        assert!(text.contains("  n1: shop/web-0\n"), "{text}");
    });
}

#[test]
fn the_page_is_whole_and_holds_no_foreign_markup() {
    with_report(|report| {
        let mut page = Vec::new();
        html::write(report, &mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        assert!(
            !page.contains("<script>alert"),
            "a workload's name became a script"
        );
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
        assert!(page.ends_with("</html>\n") && page.contains("shop/web-1"));
        for foreign in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(foreign), "the page wants {foreign}");
        }
    });
}

#[test]
fn an_explanation_says_where_and_why() {
    with_report(|report| {
        let told = |name: &str| {
            let pod = report.snapshot.pod(&PodName::new("shop", name)).unwrap();
            without_colour(&explain::render(&explain::explain(report, pod).unwrap()))
        };
        assert!(
            told("web-1").contains("goes to a new c7i.xlarge (on-demand, us-east-1a) of NodePool default")
        );
        assert!(told("web-1").contains("Beside it: shop/web-2."));
        assert!(told("web-0").contains("goes to node n1, which exists"));
        assert!(told("old").contains("runs on node n1"));
        let refused = told("batch-0");
        assert!(
            refused.contains("default  Resources  cpu: needs 64, at most 4"),
            "{refused}"
        );
        assert!(
            refused.contains("1 node  Resources  cpu: needs 64, 1 left (n1)"),
            "{refused}"
        );
    });
}

#[test]
fn a_difference_is_told_both_ways() {
    let (first, mut second) = (plan(), plan());
    assert!(diff::compare(&first, &second).is_empty());
    second.unschedulable.clear();
    second.launch[0].instance_type = "m7i.xlarge".into();
    second.launch[0].pods.push(PodName::new("shop", "batch-0"));
    second.cost.after = Cost::from_micros(400_000);
    let difference = diff::compare(&first, &second);
    assert_eq!(difference.cost.change, Cost::from_micros(43_000));
    assert_eq!(difference.newly_schedulable, [PodName::new("shop", "batch-0")]);
    assert_eq!(difference.elsewhere.len(), 2, "web-1 and web-2");
    assert_eq!(difference.launch.len(), 2);
    let back = diff::compare(&second, &first);
    assert_eq!(back.newly_unschedulable, difference.newly_schedulable);
    let text = without_colour(&diff::render(&difference, false));
    assert!(
        text.contains("+1  m7i.xlarge on-demand in default (0 → 1)"),
        "{text}"
    );
}
