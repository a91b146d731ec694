//! Random small clusters for property tests, and a way to run them the same everywhere.
//!
//! Sizes are drawn so that fitting is close: CPU in halves of what the smallest machine has, prices that sometimes reward
//! and sometimes punish large machines. Custom keys stand under `example.com/`.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use crate::model::instance_type::{CAPACITY_TYPE_LABEL, InstanceType, ZONE_LABEL};
use crate::model::money::Price;
use crate::model::objective::Weights;
use crate::model::offering::{CapacityType, Offering};
use crate::model::pod::PodSpec;
use crate::model::requirement::{Labels, Operator};
use crate::model::resources::{Amount, ResourceName};
use crate::model::snapshot::Snapshot;
use crate::model::taint::{Taint, TaintEffect};

use super::build::{Cluster, ZONES, affinity, amounts, in_zone, machine, requirements, taint, tolerates};

/// A custom key that pools leave open, fix or lack.
pub const TEAM: &str = "example.com/team";

/// What random clusters may contain.
#[derive(Clone, Copy, Debug)]
pub struct Ingredients {
    /// Pods that need a place, at most.
    pub pods: usize,
    /// Instance types, at most.
    pub instance_types: usize,
    /// Limits of pools and offers limited in number.
    pub limits: bool,
    /// Existing nodes.
    pub nodes: bool,
    /// DaemonSets.
    pub daemon_sets: bool,
    /// Pools of different weight.
    pub weights: bool,
    /// Objectives that aren't the bill.
    pub objectives: bool,
}

impl Ingredients {
    /// All there is, small enough for [`super::exact::optimum`].
    pub const TINY: Self = Self {
        pods: 5,
        instance_types: 3,
        limits: true,
        nodes: true,
        daemon_sets: true,
        weights: true,
        objectives: true,
    };
    /// No limits: whatever fits alone can be placed.
    pub const UNLIMITED: Self = Self {
        limits: false,
        ..Self::TINY
    };
    /// Too many pods for exactness.
    pub const SMALL: Self = Self {
        pods: 20,
        instance_types: 5,
        ..Self::TINY
    };
}

/// Runs a property over so many clusters, the same ones everywhere; one that fails is shrunk and shown in short.
///
/// # Panics
/// When the property fails.
pub fn check_cases<S: Strategy<Value = Snapshot>>(
    cases: u32,
    strategy: &S,
    property: impl Fn(Snapshot) -> Result<(), TestCaseError>,
) {
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 5_000,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let failure = match runner.run(strategy, property) {
        Ok(()) => None,
        Err(TestError::Fail(reason, snapshot)) => Some(format!("{reason}\n{}", describe(&snapshot))),
        Err(abort) => Some(abort.to_string()),
    };
    assert!(failure.is_none(), "{}", failure.unwrap());
}

/// A cluster on a few lines.
#[must_use]
pub fn describe(snapshot: &Snapshot) -> String {
    let mut lines = Vec::new();
    for instance_type in snapshot
        .node_classes
        .values()
        .flat_map(|class| &class.instance_types)
    {
        let offers: Vec<String> = instance_type
            .offerings
            .iter()
            .map(|offer| {
                let limit = offer
                    .limit
                    .map(|limit| format!(" ×{limit} {:?}", offer.commitment))
                    .unwrap_or_default();
                format!("{} {} {}{limit}", offer.zone, offer.capacity_type, offer.price)
            })
            .collect();
        let InstanceType {
            name,
            labels,
            allocatable,
            ..
        } = instance_type;
        lines.push(format!(
            "type {name} {labels:?} [{allocatable}] {}",
            offers.join(", ")
        ));
    }
    for pool in &snapshot.node_pools {
        let wants: Vec<String> = pool
            .requirements
            .iter()
            .map(|(key, set)| format!("{key} {set}"))
            .collect();
        lines.push(format!(
            "pool {} weight {} [{}] taints {:?} limits [{}] nodes {:?}",
            pool.name,
            pool.weight,
            wants.join(", "),
            pool.taints,
            pool.limits.resources,
            pool.limits.nodes
        ));
    }
    for node in &snapshot.nodes {
        let state = (node.ready, node.unschedulable, node.deleting);
        lines.push(format!(
            "node {} {:?} at {} (ready, cordoned, going) {state:?}",
            node.name, node.labels, node.price
        ));
    }
    let specs = snapshot
        .daemon_sets
        .iter()
        .map(|daemon_set| (&daemon_set.name, &daemon_set.spec, "a DaemonSet".to_owned()));
    let pods = snapshot
        .pods
        .iter()
        .map(|pod| (&pod.name, &pod.spec, format!("{:?}", pod.place)));
    for (name, spec, place) in specs.chain(pods) {
        let terms: Vec<String> = spec
            .node_affinity
            .iter()
            .flat_map(|terms| &terms.0)
            .map(|term| {
                let expressions = term.expressions.iter();
                expressions
                    .map(|(key, set)| format!("{key} {set}"))
                    .collect::<Vec<_>>()
                    .join(" and ")
            })
            .collect();
        let (requests, selector) = (&spec.requests, &spec.node_selector);
        lines.push(format!(
            "pod {name} [{requests}] selects {selector:?} terms {terms:?} tolerates {:?} priority {} {place}",
            spec.tolerations, spec.priority
        ));
    }
    lines.push(format!("weights {:?}", snapshot.objective.weights));
    lines.join("\n")
}

/// A value in so many of a hundred cases, where it is wanted at all.
fn sometimes<S: Strategy>(
    wanted: bool,
    percent: u32,
    strategy: S,
) -> impl Strategy<Value = Option<S::Value>> {
    prop_oneof![
        100 - percent => Just(()).prop_map(|()| None),
        percent => strategy.prop_map(move |value| wanted.then_some(value)),
    ]
}

/// A random cluster.
pub fn cluster(ingredients: Ingredients) -> impl Strategy<Value = Snapshot> {
    let Ingredients {
        pods,
        instance_types,
        nodes,
        daemon_sets,
        objectives,
        ..
    } = ingredients;
    let optional = |wanted: bool, most: usize| if wanted { 0..=most } else { 0..=0 };
    (
        prop::collection::vec(instance_type(ingredients.limits), 1..=instance_types),
        prop::collection::vec(pool(ingredients), 1..=2),
        prop::collection::vec(node(), optional(nodes, 2)),
        prop::collection::vec(pod_spec(), optional(daemon_sets, 2)),
        prop::collection::vec((1..=pods, pod_spec()), 1..=3),
        sometimes(objectives, 30, weights()),
    )
        .prop_map(move |(types, pools, nodes, daemons, groups, weights)| {
            assemble(types, pools, &nodes, daemons, groups, weights, pods)
        })
}

type Edit<T> = Box<dyn Fn(&mut T) + Send + Sync>;
type PodDraft = (u64, u64, Vec<PodTrait>);
type PoolDraft = Vec<PoolTrait>;
type NodeDraft = (usize, usize, usize, Vec<(u64, u64)>, u8);

fn assemble(
    types: Vec<InstanceType>,
    pools: Vec<PoolDraft>,
    nodes: &[NodeDraft],
    daemons: Vec<PodDraft>,
    groups: Vec<(usize, PodDraft)>,
    weights: Option<Weights>,
    most_pods: usize,
) -> Snapshot {
    let mut cluster = Cluster::new();
    let (type_count, pool_count) = (types.len(), pools.len());
    for (number, mut instance_type) in types.into_iter().enumerate() {
        instance_type.name = format!("type-{number}").into();
        cluster = cluster.instance_type(instance_type);
    }
    for (number, traits) in pools.into_iter().enumerate() {
        cluster = cluster.pool_with(&format!("pool-{number}"), |pool| {
            for edit in traits.into_iter().map(PoolTrait::edit) {
                edit(pool);
            }
        });
    }
    for (number, (cpu, memory, traits)) in daemons.into_iter().enumerate() {
        // DaemonSets are small beside pods, or nothing would fit.
        let (cpu, memory) = (cpu / 4, memory / 4);
        cluster = cluster.daemon_set_with(&format!("daemon-{number}"), "0", "0", |spec| {
            shape(spec, cpu, memory, traits);
        });
    }
    for (number, (instance_type, pool, zone, pods, state)) in nodes.iter().enumerate() {
        let name = format!("node-{number}");
        let (instance_type, pool) = (
            format!("type-{}", instance_type % type_count),
            format!("pool-{}", pool % pool_count),
        );
        cluster = cluster.node_with(&name, &pool, &instance_type, ZONES[*zone], |node| match state {
            0 => node.unschedulable = true,
            1 => node.deleting = true,
            2 => node.ready = false,
            _ => {}
        });
        for (at, (cpu, memory)) in pods.iter().enumerate() {
            cluster = cluster.bound_with(&format!("{name}-pod-{at}"), &name, "0", "0", |spec| {
                shape(spec, *cpu, *memory, Vec::new());
            });
        }
    }
    let mut left = most_pods.saturating_sub(going(&cluster));
    for (number, (count, (cpu, memory, traits))) in groups.into_iter().enumerate() {
        let count = count.min(left);
        left -= count;
        cluster = cluster.pods_with(&format!("group-{number}"), count, "0", "0", |spec| {
            shape(spec, cpu, memory, traits);
        });
    }
    // What the oracle enumerates is the cost of nodes.
    for pool in &cluster.parts.node_pools {
        let of_nodes = Weights {
            preference: Price::default(),
            ..Weights::default()
        };
        cluster
            .parts
            .objective
            .weights
            .insert(pool.name.clone(), of_nodes);
    }
    if let Some(weights) = weights {
        let objective = &mut cluster.parts.objective;
        objective.weights.insert("pool-0".into(), weights);
    }
    cluster.freeze()
}

/// Pods of nodes that go need places too.
fn going(cluster: &Cluster) -> usize {
    let goes = |name| {
        let mut nodes = cluster.parts.nodes.iter();
        nodes.any(|node| node.deleting && Some(&node.name) == name)
    };
    cluster.parts.pods.iter().filter(|pod| goes(pod.node())).count()
}

fn shape(spec: &mut PodSpec, cpu: u64, memory: u64, traits: Vec<PodTrait>) {
    spec.requests.set(ResourceName::Cpu, Amount::new(cpu));
    spec.requests.set(ResourceName::Memory, Amount::new(memory));
    for edit in traits.into_iter().map(PodTrait::edit) {
        edit(spec);
    }
}

fn weights() -> impl Strategy<Value = Weights> {
    (500_000_u64..2_000_000, 0_u64..50_000).prop_map(|(price_millionths, hour)| Weights {
        price_millionths,
        node_hour: Price::from_micros(hour),
        preference: Price::default(),
        ..Weights::default()
    })
}

fn instance_type(limited: bool) -> impl Strategy<Value = InstanceType> {
    let price = 50_000_u64..120_000;
    let spot = prop::option::of((0_usize..2, 20_u64..90));
    // How many there are, and whether machines share that.
    let limit = sometimes(limited, 30, (1_u32..3, any::<bool>()));
    let gpu = sometimes(true, 20, 1_u64..3);
    (
        1_u64..=4,
        1_u64..=4,
        3_u64..=8,
        price,
        spot,
        limit,
        gpu,
        select(vec!["amd64", "arm64"]),
    )
        .prop_map(|(cpu, memory, pods, price, spot, limit, gpu, arch)| {
            let dollars = Price::from_micros(price * (cpu + memory) / 2).to_string();
            let mut machine = machine("", "0", "0", &dollars);
            machine.capacity = amounts(&format!("{}", 2 * cpu), &format!("{}Gi", 4 * memory), pods);
            if let Some(gpu) = gpu {
                machine.capacity.set("nvidia.com/gpu".into(), Amount::new(gpu));
                let count = gpu.to_string();
                machine
                    .labels
                    .insert("karpenter.k8s.aws/instance-gpu-count".to_owned(), count);
            }
            machine.allocatable = machine.capacity.clone();
            let cpu = machine.capacity.get(&ResourceName::Cpu);
            machine
                .allocatable
                .set(ResourceName::Cpu, cpu.minus(Amount::new(70)));
            machine
                .labels
                .insert("kubernetes.io/arch".to_owned(), arch.to_owned());
            if let Some((zone, percent)) = spot {
                let price = machine.offerings[zone].price.micros() * percent / 100;
                machine.offerings.push(Offering {
                    capacity_type: CapacityType::Spot,
                    price: Price::from_micros(price),
                    limit: limit.map(|(number, _)| number),
                    commitment: limit.filter(|(_, shared)| *shared).map(|_| "plan".to_owned()),
                    ..machine.offerings[zone].clone()
                });
                machine
                    .offerings
                    .sort_by(|one, two| (&one.zone, one.capacity_type).cmp(&(&two.zone, two.capacity_type)));
            }
            machine
        })
}

/// One thing that is special about a pod.
#[derive(Clone, Debug)]
enum PodTrait {
    Zone(usize),
    Team(&'static str),
    TeamAffinity(Operator, &'static str),
    EitherTerm(usize, &'static str),
    CapacityType(CapacityType),
    Arch(&'static str),
    Tolerates(&'static str),
    Gpu(u64),
    Priority(i32),
}

impl PodTrait {
    fn edit(self) -> Edit<PodSpec> {
        Box::new(move |spec| match &self {
            Self::Zone(zone) => spec.node_selector.extend(in_zone(ZONES[*zone])),
            Self::Team(team) => {
                spec.node_selector
                    .extend(Labels::from([(TEAM.to_owned(), (*team).to_owned())]));
            }
            Self::TeamAffinity(operator, team) => {
                spec.node_affinity = Some(affinity(&[&[(TEAM, *operator, &[team])]]));
            }
            Self::EitherTerm(zone, team) => {
                spec.node_affinity = Some(affinity(&[
                    &[(ZONE_LABEL, Operator::In, &[ZONES[*zone]])],
                    &[(TEAM, Operator::In, &[team])],
                ]));
            }
            Self::CapacityType(capacity_type) => {
                let wanted = [capacity_type.as_str()];
                spec.node_affinity = Some(affinity(&[&[(CAPACITY_TYPE_LABEL, Operator::In, &wanted)]]));
            }
            Self::Arch(arch) => {
                spec.node_selector
                    .insert("kubernetes.io/arch".to_owned(), (*arch).to_owned());
            }
            Self::Tolerates(key) => spec.tolerations.push(tolerates(key)),
            Self::Gpu(count) => spec.requests.set("nvidia.com/gpu".into(), Amount::new(*count)),
            Self::Priority(priority) => spec.priority = *priority,
        })
    }
}

fn pod_trait() -> impl Strategy<Value = PodTrait> {
    let team = || select(vec!["red", "blue", "green"]);
    let operator = select(vec![
        Operator::In,
        Operator::NotIn,
        Operator::Exists,
        Operator::DoesNotExist,
    ]);
    prop_oneof![
        (0_usize..2).prop_map(PodTrait::Zone),
        team().prop_map(PodTrait::Team),
        (operator, team()).prop_map(|(operator, team)| PodTrait::TeamAffinity(operator, team)),
        (0_usize..2, team()).prop_map(|(zone, team)| PodTrait::EitherTerm(zone, team)),
        select(vec![CapacityType::Spot, CapacityType::OnDemand]).prop_map(PodTrait::CapacityType),
        select(vec!["amd64", "arm64"]).prop_map(PodTrait::Arch),
        select(vec!["", "dedicated"]).prop_map(PodTrait::Tolerates),
        (1_u64..3).prop_map(PodTrait::Gpu),
        (0_i32..3).prop_map(PodTrait::Priority),
    ]
}

/// CPU in milli, memory in bytes, and what is special.
fn pod_spec() -> impl Strategy<Value = PodDraft> {
    let halves = (1_u64..=8, 1_u64..=8);
    let traits = prop_oneof![
        2 => Just(Vec::new()),
        2 => prop::collection::vec(pod_trait(), 1..=1),
        1 => prop::collection::vec(pod_trait(), 2..=3),
    ];
    (halves, traits).prop_map(|((cpu, memory), traits)| (cpu * 450, memory << 29, traits))
}

/// One thing that is special about a pool.
#[derive(Clone, Debug)]
enum PoolTrait {
    OpenTeam,
    TeamExists,
    TeamNotIn(&'static str),
    FixedTeam(&'static str),
    Zone(usize),
    CapacityType(CapacityType),
    Tainted(TaintEffect),
    Startup,
    Weight(u32),
    Nodes(u64),
    Cpu(u64),
}

impl PoolTrait {
    fn edit(self) -> Edit<crate::model::node_pool::NodePool> {
        Box::new(move |pool| {
            let mut require = |key: &str, operator: Operator, values: &[&str]| {
                pool.requirements
                    .add_all(&requirements(&[(key, operator, values)]));
            };
            match &self {
                Self::OpenTeam => require(TEAM, Operator::In, &["red", "blue"]),
                Self::TeamExists => require(TEAM, Operator::Exists, &[]),
                Self::TeamNotIn(team) => require(TEAM, Operator::NotIn, &[team]),
                Self::FixedTeam(team) => require(TEAM, Operator::In, &[team]),
                Self::Zone(zone) => require(ZONE_LABEL, Operator::In, &[ZONES[*zone]]),
                Self::CapacityType(capacity_type) => {
                    require(CAPACITY_TYPE_LABEL, Operator::In, &[capacity_type.as_str()]);
                }
                Self::Tainted(effect) => pool.taints.push(Taint {
                    effect: *effect,
                    ..taint("dedicated", "")
                }),
                Self::Startup => pool.startup_taints.push(taint("starting", "")),
                Self::Weight(weight) => pool.weight = *weight,
                Self::Nodes(nodes) => pool.limits.nodes = Some(*nodes),
                Self::Cpu(cpu) => pool
                    .limits
                    .resources
                    .set(ResourceName::Cpu, Amount::new(cpu * 1_000)),
            }
        })
    }
}

fn pool(ingredients: Ingredients) -> impl Strategy<Value = PoolDraft> {
    let team = || select(vec!["red", "blue"]);
    let effect = select(vec![TaintEffect::NoSchedule, TaintEffect::PreferNoSchedule]);
    let any = prop_oneof![
        Just(PoolTrait::OpenTeam),
        Just(PoolTrait::TeamExists),
        team().prop_map(PoolTrait::TeamNotIn),
        team().prop_map(PoolTrait::FixedTeam),
        (0_usize..2).prop_map(PoolTrait::Zone),
        select(vec![CapacityType::Spot, CapacityType::OnDemand]).prop_map(PoolTrait::CapacityType),
        effect.prop_map(PoolTrait::Tainted),
        Just(PoolTrait::Startup),
    ];
    let Ingredients { weights, limits, .. } = ingredients;
    (
        prop::collection::vec(any, 0..=2),
        sometimes(weights, 30, (1_u32..3).prop_map(PoolTrait::Weight)),
        sometimes(limits, 20, (0_u64..4).prop_map(PoolTrait::Nodes)),
        sometimes(limits, 20, (2_u64..16).prop_map(PoolTrait::Cpu)),
    )
        .prop_map(|(mut traits, weight, nodes, cpu)| {
            traits.extend(weight.into_iter().chain(nodes).chain(cpu));
            traits
        })
}

/// Type, pool, zone, pods there and a state (0 cordoned, 1 deleting, 2 not ready, else fine).
fn node() -> impl Strategy<Value = NodeDraft> {
    let pod = (1_u64..=4, 1_u64..=4).prop_map(|(cpu, memory)| (cpu * 450, memory << 29));
    (
        0_usize..4,
        0_usize..2,
        0_usize..2,
        prop::collection::vec(pod, 0..=2),
        0_u8..12,
    )
}
