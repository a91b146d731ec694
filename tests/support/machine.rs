//! Machines to launch and machines that are there: labels, sizes, offers, as the input's documents say.

use serde_json::Value;

use super::input::{Input, Labels, full_name, labels, list, number, text};
use super::numbers::all_sales;
use super::pods::{Pod, Pods, template};
use super::quantity::{Amounts, add, amounts, larger, thousandths};
use super::selection::{admits, holds, untolerated};

const GIB: i128 = 1 << 30;
const MIB: i128 = 1 << 20;

/// An offer of the plan: a launch's first choice or an alternative.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    /// Instance type.
    pub(crate) instance_type: String,
    /// Zone.
    pub(crate) zone: String,
    /// `spot`, `on-demand` or `reserved`.
    pub(crate) capacity_type: String,
    /// Id of the capacity reservation, if it is of one.
    pub(crate) reservation: String,
    /// Dollars per hour, as the plan says.
    pub(crate) price: f64,
    /// Labels chosen for keys that the NodePool leaves open.
    pub(crate) labels: Labels,
}

impl Offer {
    /// From a launch or an alternative.
    pub(crate) fn read(value: &Value, chosen: Labels) -> Self {
        Self {
            instance_type: text(value, "/instanceType").to_owned(),
            zone: text(value, "/zone").to_owned(),
            capacity_type: text(value, "/capacityType").to_owned(),
            reservation: text(value, "/reservationID").to_owned(),
            price: number(value, "/price").unwrap_or(-1.0),
            labels: chosen,
        }
    }

    /// A launch's first choice, then its alternatives.
    pub(crate) fn all(launch: &Value) -> Vec<Self> {
        let chosen = labels(launch, "/labels");
        let mut offers = vec![Self::read(launch, chosen.clone())];
        for alternative in list(launch, "/alternatives") {
            let own = labels(alternative, "/labels");
            let labels = if own.is_empty() { chosen.clone() } else { own };
            offers.push(Self::read(alternative, labels));
        }
        offers
    }
}

/// What a catalogue says of a type.
pub(crate) fn instance_type<'a>(input: &'a Input, name: &str) -> Option<&'a Value> {
    let catalogues = input
        .kind("Catalog")
        .flat_map(|catalogue| list(catalogue, "/spec/instanceTypes"));
    catalogues.into_iter().find(|one| text(one, "/name") == name)
}

/// Zones of the catalogue.
pub(crate) fn zones(input: &Input) -> Vec<String> {
    let zones = input
        .kind("Catalog")
        .flat_map(|catalogue| list(catalogue, "/spec/zones"));
    zones.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The node class of a NodePool.
pub(crate) fn node_class<'a>(input: &'a Input, pool: &Value) -> &'a Value {
    let name = text(pool, "/spec/template/spec/nodeClassRef/name");
    input.named("EC2NodeClass", name).unwrap_or(&Value::Null)
}

/// Labels of the node that an offer of a pool would be.
pub(crate) fn node_labels(input: &Input, pool: &Value, offer: &Offer) -> Labels {
    let mut result = instance_type(input, &offer.instance_type)
        .map(|found| labels(found, "/labels"))
        .unwrap_or_default();
    let class = node_class(input, pool);
    let region = input
        .kind("Catalog")
        .map(|catalogue| text(catalogue, "/spec/region"))
        .next()
        .unwrap_or("");
    let zone_id = list(class, "/status/subnets")
        .iter()
        .find(|subnet| text(subnet, "/zone") == offer.zone)
        .map_or("", |subnet| text(subnet, "/zoneID"));
    for (key, value) in [
        ("node.kubernetes.io/instance-type", offer.instance_type.as_str()),
        ("topology.kubernetes.io/zone", &offer.zone),
        ("topology.kubernetes.io/region", region),
        ("topology.k8s.aws/zone-id", zone_id),
        ("karpenter.sh/capacity-type", &offer.capacity_type),
        ("kubernetes.io/os", "linux"),
        ("karpenter.sh/nodepool", text(pool, "/metadata/name")),
        ("karpenter.k8s.aws/ec2nodeclass", text(class, "/metadata/name")),
    ] {
        result.insert(key.to_owned(), value.to_owned());
    }
    result.extend(reservation_labels(input, class, &offer.reservation));
    result.extend(labels(pool, "/spec/template/metadata/labels"));
    for requirement in list(pool, "/spec/template/spec/requirements") {
        if let ("In", [Value::String(only)]) = (text(requirement, "/operator"), list(requirement, "/values"))
        {
            result
                .entry(text(requirement, "/key").to_owned())
                .or_insert_with(|| only.clone());
        }
    }
    result.extend(offer.labels.clone());
    result
}

/// Labels that a capacity reservation gives its nodes.
fn reservation_labels(input: &Input, class: &Value, id: &str) -> Labels {
    if id.is_empty() {
        return Labels::new();
    }
    let Some(sale) = all_sales(input).find(|sale| sale.reservation == id) else {
        return Labels::new();
    };
    let mut listed = list(class, "/status/capacityReservations").iter();
    let listed = listed
        .find(|listed| text(listed, "/id") == id)
        .unwrap_or(&Value::Null);
    let kind = [text(listed, "/reservationType"), &sale.kind, "default"];
    let interruptible = listed
        .pointer("/interruptible")
        .map_or(sale.interruptible, |it| *it == Value::Bool(true));
    let label = |name: &str, value: String| (format!("karpenter.k8s.aws/capacity-reservation-{name}"), value);
    Labels::from([
        label("id", id.to_owned()),
        label(
            "type",
            kind.into_iter()
                .find(|kind| !kind.is_empty())
                .unwrap_or("default")
                .to_owned(),
        ),
        label("interruptible", interruptible.to_string()),
    ])
}

/// The first requirement of a pool that a node of these labels would break. A key of the user's own that the node
/// doesn't carry is open, not broken.
pub(crate) fn broken_requirement(pool: &Value, node: &Labels) -> Option<String> {
    let known = |key: &str| {
        [
            "kubernetes.io/",
            "karpenter.sh/",
            "karpenter.k8s.aws/",
            "topology.k8s.aws/",
        ]
        .iter()
        .any(|domain| key.contains(domain))
    };
    let broken = list(pool, "/spec/template/spec/requirements")
        .iter()
        .find(|requirement| {
            let key = text(requirement, "/key");
            let value = node.get(key).map(String::as_str);
            (value.is_some() || known(key)) && !holds(requirement, value)
        })?;
    Some(format!(
        "{broken} doesn't hold for {:?}",
        node.get(text(broken, "/key"))
    ))
}

/// What pods may use on a new node: the catalogue's word, else computed as the node class makes it.
pub(crate) fn allocatable(input: &Input, class: &Value, name: &str) -> Amounts {
    let Some(found) = instance_type(input, name) else {
        return Amounts::new();
    };
    let mut size = found.pointer("/capacity").map(amounts).unwrap_or_default();
    size.entry("ephemeral-storage".to_owned())
        .or_insert_with(|| disk(class, found));
    if let Some(stated) = found.pointer("/allocatable") {
        size.extend(amounts(stated));
        return size;
    }
    let slots = size.get("pods").copied().unwrap_or_default() / 1000;
    let cores = size.get("cpu").copied().unwrap_or_default() / 1000;
    let memory = size.get("memory").copied().unwrap_or_default() / 1000;
    let arm = text(found, "/labels/kubernetes.io~1arch") == "arm64";
    // What EC2 keeps, unless a node of this type and image was seen: then what it reports.
    let estimate = if is_trusted(input, class) {
        memory
    } else {
        (memory - if arm { 64 * MIB } else { 0 }) * 925 / 1000
    };
    let raw = seen_memory(input, class, found, arm).unwrap_or(estimate);
    let reserved_cpu = [(1, 60), (1, 10), (2, 5)]
        .iter()
        .fold((cores, 0), |(left, sum), (width, milli)| {
            let counted = left.clamp(0, *width);
            (left - counted, sum + counted * milli)
        });
    let reserved_cpu = reserved_cpu.1 + reserved_cpu.0 * 5 / 2;
    size.insert("cpu".to_owned(), cores * 1000 - reserved_cpu);
    size.insert(
        "memory".to_owned(),
        (raw - (11 * slots + 255) * MIB - 100 * MIB) * 1000,
    );
    size
}

/// Whether a policy for a NodePool of the class takes EC2's figure of memory as it is.
fn is_trusted(input: &Input, class: &Value) -> bool {
    let of_class = |pool: &&Value| node_class(input, pool) == class;
    let pools: Vec<&str> = input
        .kind("NodePool")
        .filter(of_class)
        .map(|pool| text(pool, "/metadata/name"))
        .collect();
    let optimistic = |policy: &&Value| text(policy, "/spec/overhead") == "optimistic";
    let mut policies = input.kind("PackingPolicy").filter(optimistic);
    policies.any(|policy| {
        let mut named = list(policy, "/spec/nodePools").iter();
        named.any(|name| pools.contains(&name.as_str().unwrap_or("")))
    })
}

/// Scratch space: the root volume, or the local disks where the class joins them, less the kubelet's and 10 %.
fn disk(class: &Value, found: &Value) -> i128 {
    let local = text(found, "/labels/karpenter.k8s.aws~1instance-local-nvme").parse::<i128>();
    let root = list(class, "/spec/blockDeviceMappings")
        .iter()
        .filter_map(|mapping| mapping.pointer("/ebs/volumeSize"))
        .map(|size| thousandths(size) / 1000)
        .next();
    let raw = match local {
        Ok(gigabytes) if text(class, "/spec/instanceStorePolicy") == "RAID0" => gigabytes * 1_000_000_000,
        _ => root.unwrap_or(20 * GIB),
    };
    (raw - GIB - raw / 10) * 1000
}

/// Memory in bytes that a node of the type reports, made from the image that the class would use now.
fn seen_memory(input: &Input, class: &Value, found: &Value, arm: bool) -> Option<i128> {
    let arch = if arm { "arm64" } else { "amd64" };
    let suits = |image: &&Value| {
        list(image, "/requirements").iter().all(|requirement| {
            text(requirement, "/key") != "kubernetes.io/arch" || holds(requirement, Some(arch))
        })
    };
    let images = list(class, "/status/amis")
        .iter()
        .filter(suits)
        .map(|image| text(image, "/id"));
    let images: Vec<&str> = images.collect();
    let of_image = |node: &&Value| {
        input.kind("NodeClaim").any(|claim| {
            text(claim, "/status/nodeName") == text(node, "/metadata/name")
                && images.contains(&text(claim, "/status/imageID"))
        })
    };
    let same_type = |node: &&Value| {
        text(node, "/metadata/labels/node.kubernetes.io~1instance-type") == text(found, "/name")
    };
    let seen = input.kind("Node").filter(same_type).filter(of_image);
    seen.filter_map(|node| node.pointer("/status/capacity/memory"))
        .map(|memory| thousandths(memory) / 1000)
        .min()
}

/// The DaemonSets that would put a pod on a node, each with its pod.
pub(crate) fn daemons(
    input: &Input,
    node: &Labels,
    name: Option<&str>,
    taints: &[Value],
) -> Vec<(String, Pod)> {
    let templates = input
        .kind("DaemonSet")
        .map(|set| (full_name(set), template(input, set)));
    templates
        .filter(|(_, pod)| {
            admits(&pod.spec, node, name).is_ok() && untolerated(&pod.spec, taints, true).is_none()
        })
        .collect()
}

/// A node that is there, or on its way.
pub(crate) struct Node {
    /// Its name; the claim's where it has none.
    pub(crate) name: String,
    /// Labels.
    pub(crate) labels: Labels,
    /// Taints.
    pub(crate) taints: Vec<Value>,
    /// What pods may use.
    pub(crate) allocatable: Amounts,
    /// Raw size, as limits count it.
    pub(crate) capacity: Amounts,
    /// Takes new pods.
    pub(crate) open: bool,
    /// On its way out.
    pub(crate) deleting: bool,
}

impl Node {
    /// All nodes, and claims without one.
    pub(crate) fn all(input: &Input) -> Vec<Self> {
        let mut nodes: Vec<Self> = input.kind("Node").map(Self::of_node).collect();
        let bare = |claim: &&Value| text(claim, "/status/nodeName").is_empty();
        nodes.extend(
            input
                .kind("NodeClaim")
                .filter(bare)
                .map(|claim| Self::of_claim(input, claim)),
        );
        nodes
    }

    fn of_node(document: &Value) -> Self {
        let ready = list(document, "/status/conditions")
            .iter()
            .any(|one| text(one, "/type") == "Ready" && text(one, "/status") == "True");
        let cordoned = document.pointer("/spec/unschedulable") == Some(&Value::Bool(true));
        Self {
            name: text(document, "/metadata/name").to_owned(),
            labels: labels(document, "/metadata/labels"),
            taints: list(document, "/spec/taints").to_vec(),
            allocatable: document
                .pointer("/status/allocatable")
                .map(amounts)
                .unwrap_or_default(),
            capacity: document
                .pointer("/status/capacity")
                .map(amounts)
                .unwrap_or_default(),
            open: ready && !cordoned && document.pointer("/metadata/deletionTimestamp").is_none(),
            deleting: document.pointer("/metadata/deletionTimestamp").is_some(),
        }
    }

    fn of_claim(input: &Input, document: &Value) -> Self {
        let mut node = Self {
            open: document.pointer("/metadata/deletionTimestamp").is_none(),
            taints: list(document, "/spec/taints").to_vec(),
            ..Self::of_node(document)
        };
        if node.capacity.is_empty() {
            // One of its types comes: limits hold for the largest, pods fit the smallest.
            let class = input
                .named("EC2NodeClass", text(document, "/spec/nodeClassRef/name"))
                .unwrap_or(&Value::Null);
            let types = list(document, "/spec/requirements")
                .iter()
                .filter(|one| text(one, "/key") == "node.kubernetes.io/instance-type")
                .flat_map(|one| list(one, "/values"))
                .filter_map(Value::as_str);
            for name in types {
                let capacity = instance_type(input, name).and_then(|found| found.pointer("/capacity"));
                node.capacity = larger(&node.capacity, &capacity.map(amounts).unwrap_or_default());
                let allocatable = allocatable(input, class, name);
                if node.allocatable.is_empty() {
                    node.allocatable = allocatable;
                } else {
                    node.allocatable.retain(|name, amount| {
                        *amount = allocatable.get(name).copied().unwrap_or(0).min(*amount);
                        true
                    });
                }
            }
        }
        node
    }

    /// The NodePool it belongs to.
    pub(crate) fn pool(&self) -> &str {
        self.labels
            .get("karpenter.sh/nodepool")
            .map_or("", String::as_str)
    }

    /// What its pods, and the DaemonSet pods that are still to come, ask for.
    pub(crate) fn used(&self, input: &Input, pods: &Pods) -> Amounts {
        let mut used = Amounts::new();
        for (_, pod) in pods.on(&self.name) {
            add(&mut used, &pod.requests);
        }
        for (set, daemon) in daemons(input, &self.labels, Some(&self.name), &self.taints) {
            let there = pods.on(&self.name).any(|(_, pod)| {
                pod.daemon_set
                    .as_ref()
                    .is_some_and(|name| set == format!("{}/{name}", pod.namespace))
            });
            if !there {
                add(&mut used, &daemon.requests);
            }
        }
        used
    }
}
