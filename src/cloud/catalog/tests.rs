//! The catalogue against what Karpenter publishes of every instance type, and against its own promises.
//!
//! `tests/data/labels-and-allocatable.jsonl.gz` holds the labels and allocatable of the types on Karpenter's public
//! "Instance Types" page of August 2026 (Apache-2.0): AL2023, no block devices, memory overhead 7.5 %.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use dovetail_solver::model::money::Price;
use dovetail_solver::model::offering::CapacityType;
use dovetail_solver::model::resources::{Amount, ResourceName, Resources};
use proptest::prelude::*;

use super::data::{self, PriceSource, Sale, SpotAdvice};
use super::machine::Machine;
use super::shape::{MIB, label};
use super::{Catalogue, CatalogueError, ClassSettings, Kubelet, Threshold, Volume};
use crate::api::{AmiFamily, InstanceStorePolicy, InterfaceType, NetworkInterface, Overhead};

#[derive(serde::Deserialize)]
struct Published {
    #[serde(rename = "type")]
    instance_type: String,
    labels: BTreeMap<String, String>,
    allocatable: BTreeMap<String, String>,
}

fn published() -> Vec<Published> {
    let compressed = include_bytes!("../../../tests/data/labels-and-allocatable.jsonl.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(&compressed[..])
        .read_to_string(&mut text)
        .unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// All shapes, priced or not, at a made-up price.
fn all_machines() -> BTreeMap<String, Machine> {
    let machine = |shape: super::shape::Shape| {
        let sale = Sale {
            instance_type: shape.name.clone(),
            zone_letters: "a".to_owned(),
            on_demand: Price::from_micros(1),
            source: PriceSource::Derived,
            spot: None,
        };
        (
            shape.name.clone(),
            Machine::built_in("us-east-1", &[], shape, &sale),
        )
    };
    data::shapes(|_| true).into_iter().map(machine).collect()
}

/// Why a label or resource of a type may differ from the page. The page is from July 2026, the shapes are from October.
fn excuse(instance_type: &str, key: &str) -> Option<&'static str> {
    let (family, size) = instance_type.split_once('.').unwrap();
    let key = key.rsplit('/').next().unwrap();
    match (key, family, size) {
        ("instance-cpu-sustained-clock-speed-mhz", "c9g" | "c9gd" | "m9g" | "m9gd" | "i7i" | "i7ie", _) => {
            Some("EC2 has corrected the clock speed since")
        }
        (
            "pod-eni",
            "c9g" | "c9gd" | "hpc7g" | "i4i" | "c8gb" | "c8gn" | "c8ib" | "m8gb" | "m8gn" | "m8ib" | "m8idb"
            | "m8idn" | "m8in" | "r8gb" | "r8gn" | "r8ib" | "r8idb" | "r8idn" | "r8in",
            _,
        ) => Some("the table of branch interfaces has gained these since"),
        ("instance-network-bandwidth", "g7", "2xlarge" | "4xlarge" | "8xlarge") => {
            Some("the table of bandwidths has corrected these since")
        }
        ("pods" | "memory", "i7ie" | "i8ge", "48xlarge" | "metal-48xl") => {
            Some("EC2 now says how their interfaces are split over two cards, of which pods get the first")
        }
        _ => None,
    }
}

/// Types on the page of which no shape is known, with the reason.
const SHAPELESS: [(&str, &str); 5] = [
    ("g4ad.xlarge", "retired from the description the shapes are from"),
    ("g4ad.2xlarge", "as g4ad.xlarge"),
    ("g4ad.4xlarge", "as g4ad.xlarge"),
    ("g4ad.8xlarge", "as g4ad.xlarge"),
    ("g4ad.16xlarge", "as g4ad.xlarge"),
];

#[test]
fn labels_and_allocatable_are_those_that_karpenter_publishes() {
    let machines = all_machines();
    let class = ClassSettings::default();
    let (mut equal, mut excused, mut wrong) = (0, BTreeSet::new(), Vec::new());
    for entry in published() {
        let name = entry.instance_type;
        let Some(machine) = machines.get(&name) else {
            assert!(
                SHAPELESS.iter().any(|(shapeless, _)| *shapeless == name),
                "{name}"
            );
            continue;
        };
        let ours = machine.under(&class);
        let mut labels = ours.labels;
        // The page is of no region.
        labels.remove("topology.kubernetes.io/region");
        let allocatable = ours
            .allocatable
            .iter()
            .map(|(name, amount)| (name.to_string(), amount.display(name.unit()).to_string()))
            .collect();
        let stated = Resources::parse(
            entry
                .allocatable
                .iter()
                .map(|(name, amount)| (name.as_str(), amount.as_str())),
            dovetail_solver::model::quantity::Rounding::Down,
        )
        .unwrap();
        let stated: BTreeMap<String, String> = stated
            .iter()
            .map(|(name, amount)| (name.to_string(), amount.display(name.unit()).to_string()))
            .collect();
        for (ours, theirs) in [(&labels, &entry.labels), (&allocatable, &stated)] {
            for key in ours.keys().chain(theirs.keys()).collect::<BTreeSet<_>>() {
                if ours.get(key) == theirs.get(key) {
                    equal += 1;
                } else if excuse(&name, key).is_some() {
                    excused.insert((name.clone(), key.clone()));
                } else {
                    wrong.push(format!(
                        "{name} {key}: {:?}, not {:?}",
                        ours.get(key),
                        theirs.get(key)
                    ));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ: {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(20)]
    );
    // So that neither a shorter page nor a wider excuse goes unnoticed.
    assert!(equal > 28_000, "{equal}");
    assert_eq!(excused.len(), 66 + 56 + 3 + 8, "{excused:#?}");
}

fn allocatable(name: &str, class: &ClassSettings) -> String {
    let catalogue = Catalogue::built_in("us-east-1").unwrap();
    let found = catalogue.instance_type(name, class).unwrap();
    let mut allocatable = found.allocatable;
    let kept = [
        ResourceName::Cpu,
        ResourceName::Memory,
        ResourceName::Pods,
        ResourceName::EphemeralStorage,
    ];
    allocatable = kept
        .into_iter()
        .map(|name| {
            let amount = allocatable.get(&name);
            (name, amount)
        })
        .collect();
    // In mebibytes, as the figures are always quoted.
    let memory = allocatable.get(&ResourceName::Memory).get();
    format!(
        "{} {}Mi {} {}",
        allocatable
            .get(&ResourceName::Cpu)
            .display(ResourceName::Cpu.unit()),
        memory / MIB,
        allocatable.get(&ResourceName::Pods).get(),
        allocatable
            .get(&ResourceName::EphemeralStorage)
            .display(ResourceName::EphemeralStorage.unit()),
    )
}

#[test]
fn anchors() {
    let class = ClassSettings::default();
    for (name, expected) in [
        ("m5.large", "1930m 6903Mi 29 17Gi"),
        ("p5.48xlarge", "191450m 1938410Mi 100 17Gi"),
        ("m5.metal", "95690m 355262Mi 737 17Gi"),
        ("c6g.medium", "940m 1392Mi 8 17Gi"),
        ("i4i.32xlarge", "127610m 961470Mi 737 17Gi"),
    ] {
        assert_eq!(allocatable(name, &class), expected, "{name}");
    }
}

#[test]
fn each_family_and_setting_moves_what_it_should() {
    let class = |change: &dyn Fn(&mut ClassSettings)| {
        let mut class = ClassSettings::default();
        change(&mut class);
        class
    };
    let family = |family| class(&|class| class.ami_family = family);
    // 8192 less 7.5 % is 7577, less 100 for eviction 7477; 574 are Kubernetes' with 29 pods, 1465 with 110.
    assert_eq!(
        allocatable("m5.large", &family(AmiFamily::Windows2022)),
        "1930m 6012Mi 110 44Gi"
    );
    assert_eq!(
        allocatable("m5.large", &family(AmiFamily::Bottlerocket)),
        "1930m 6903Mi 29 17Gi"
    );
    let pods = |family, pods| {
        class(&|class| {
            class.ami_family = family;
            class.kubelet.max_pods = Some(pods);
        })
    };
    assert_eq!(
        allocatable("m5.large", &pods(AmiFamily::AL2023, 110)),
        "1930m 6903Mi 110 17Gi"
    );
    assert_eq!(
        allocatable("m5.large", &pods(AmiFamily::Bottlerocket, 110)),
        "1930m 6012Mi 110 17Gi"
    );
    let per_core = class(&|class| class.kubelet.pods_per_core = Some(10));
    assert_eq!(allocatable("m5.large", &per_core), "1930m 6903Mi 20 17Gi");
    let reserved = class(&|class| {
        class.kubelet = Kubelet {
            system_reserved: [(ResourceName::Cpu, Amount::new(100))].into_iter().collect(),
            kube_reserved: [(ResourceName::Memory, Amount::new(1_000 * MIB))]
                .into_iter()
                .collect(),
            evict_memory: Some(Threshold::Share(50_000)),
            evict_disk: Some(Threshold::Share(1_000_000)),
            ..Kubelet::default()
        };
    });
    // 5 % of 7577 Mi are 378.85 Mi.
    assert_eq!(allocatable("m5.large", &reserved), "1830m 6198Mi 29 19Gi");
    let optimistic = class(&|class| class.memory_overhead = Overhead::Optimistic);
    assert_eq!(
        allocatable("i4i.32xlarge", &optimistic),
        "127610m 1040114Mi 737 17Gi"
    );
    let seen = class(&|class| {
        class.observed_memory = [("c6g.medium".into(), Amount::new(1_793 * MIB))].into();
    });
    assert_eq!(allocatable("c6g.medium", &seen), "940m 1350Mi 8 17Gi");
    let no_addresses = class(&|class| {
        class.network_interfaces = [InterfaceType::Interface, InterfaceType::EfaOnly]
            .into_iter()
            .zip(0..)
            .map(|(interface_type, device_index)| NetworkInterface {
                network_card_index: 0,
                device_index,
                interface_type,
            })
            .collect();
    });
    assert_eq!(
        allocatable("p5.48xlarge", &no_addresses),
        "191450m 1938410Mi 51 17Gi"
    );
}

#[test]
fn disks_decide_scratch_space() {
    let volume = |device: &str, root, gibibytes: u64| Volume {
        device_name: Some(device.to_owned()),
        root,
        size: Some(Amount::new(gibibytes << 30)),
    };
    let scratch = |family, volumes: &[Volume], policy, name: &str| {
        let class = ClassSettings {
            ami_family: family,
            volumes: volumes.to_vec(),
            instance_store_policy: policy,
            ..ClassSettings::default()
        };
        let catalogue = Catalogue::built_in("us-east-1").unwrap();
        let found = catalogue.instance_type(name, &class).unwrap();
        found.capacity.get(&ResourceName::EphemeralStorage).get()
    };
    let raid = Some(InstanceStorePolicy::RAID0);
    assert_eq!(
        scratch(AmiFamily::AL2023, &[], raid, "c6id.xlarge"),
        237_000_000_000
    );
    assert_eq!(scratch(AmiFamily::AL2023, &[], raid, "c6i.xlarge"), 20 << 30);
    let disks = [
        volume("/dev/xvda", false, 30),
        volume("/dev/xvdb", true, 100),
        volume("/dev/xvdc", false, 50),
    ];
    assert_eq!(scratch(AmiFamily::AL2023, &disks, None, "c6i.xlarge"), 100 << 30);
    let disks = [
        volume("/dev/xvda", false, 30),
        volume("/dev/xvdb", false, 60),
        volume("/dev/xvdc", false, 50),
    ];
    assert_eq!(scratch(AmiFamily::AL2023, &disks, None, "c6i.xlarge"), 30 << 30);
    assert_eq!(
        scratch(AmiFamily::Bottlerocket, &disks, None, "c6i.xlarge"),
        60 << 30
    );
    assert_eq!(scratch(AmiFamily::Custom, &disks, None, "c6i.xlarge"), 50 << 30);
    assert_eq!(
        scratch(AmiFamily::Windows2022, &disks, None, "c6i.xlarge"),
        50 << 30
    );
}

#[test]
fn a_class_leaves_only_what_it_can_use_available() {
    let catalogue = Catalogue::built_in("us-east-1").unwrap();
    let zones = |name: &str, class: &ClassSettings| -> BTreeSet<String> {
        let found = catalogue.instance_type(name, class).unwrap();
        let available = found.offerings.iter().filter(|offering| offering.available);
        available.map(|offering| offering.zone.to_string()).collect()
    };
    let mut class = ClassSettings::default();
    assert_eq!(zones("m5.large", &class).len(), 5);
    assert!(
        zones("a1.large", &class).is_empty(),
        "AL2023 doesn't run on the first Graviton"
    );
    class.zones = Some([("us-east-1b".into(), Some("use1-az4".to_owned()))].into());
    assert_eq!(
        zones("m5.large", &class),
        BTreeSet::from(["us-east-1b".to_owned()])
    );
    let found = catalogue.instance_type("m5.large", &class).unwrap();
    let ids: BTreeSet<_> = found
        .offerings
        .iter()
        .filter(|offering| offering.available)
        .map(|offering| offering.zone_id.clone().unwrap())
        .collect();
    assert_eq!(
        ids,
        BTreeSet::from(["use1-az4".to_owned()]),
        "the account's own ids win"
    );
    let mut class = ClassSettings::default();
    class.needs.nested_virtualization = true;
    assert!(zones("m5.large", &class).is_empty() && !zones("c8i.large", &class).is_empty());
    let mut class = ClassSettings::default();
    class.needs.connection_tracking = true;
    assert!(zones("m5.metal", &class).is_empty() && !zones("m5.large", &class).is_empty());
    let arm: crate::api::EC2NodeClass = serde_json::from_value(serde_json::json!({
        "metadata": {"name": "arm"},
        "spec": {"amiSelectorTerms": [{"alias": "al2023@latest"}]},
        "status": {"amis": [{"id": "ami-1", "requirements": [
            {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]},
            {"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "DoesNotExist"},
        ]}]},
    }))
    .unwrap();
    let class = ClassSettings::of(&arm).unwrap();
    assert!(zones("m5.large", &class).is_empty() && zones("g5g.xlarge", &class).is_empty());
    assert!(!zones("m6g.large", &class).is_empty());
}

#[test]
fn every_region_is_whole() {
    for region in Catalogue::known_regions() {
        let catalogue = Catalogue::built_in(&region).unwrap();
        let zones: BTreeSet<_> = catalogue.zones().map(|zone| zone.name.clone()).collect();
        assert!(zones.len() >= 2, "{region}");
        let types = catalogue.instance_types(&ClassSettings::default());
        assert!(types.len() > 100, "{region}: {}", types.len());
        assert!(types.is_sorted_by(|one, two| one.name < two.name), "{region}");
        for found in &types {
            assert!(!found.offerings.is_empty(), "{region} {}", found.name);
            assert!(found.offerings.is_sorted_by_key(|offering| (
                &offering.zone,
                offering.capacity_type,
                offering.price
            )));
            for offering in &found.offerings {
                assert!(
                    zones.contains(&offering.zone) && offering.price.micros() > 0,
                    "{region} {}",
                    found.name
                );
                assert!(offering.zone_id.is_some());
            }
        }
    }
    assert_eq!(Catalogue::known_regions().len(), 34);
    let us_east_1 = Catalogue::built_in("us-east-1").unwrap();
    assert_eq!(us_east_1.instance_types(&ClassSettings::default()).len(), 1_340);
}

#[test]
fn prices_are_found_for_nodes_that_exist() {
    let catalogue = Catalogue::built_in("us-east-1").unwrap();
    let price = |capacity_type| catalogue.price_of("m5.large", "us-east-1a", capacity_type);
    assert_eq!(
        price(CapacityType::OnDemand),
        Some(Price::parse("0.096").unwrap())
    );
    let SpotAdvice { savings_percent, .. } = catalogue.spot_advice("m5.large").unwrap();
    let spot = price(CapacityType::Spot).unwrap();
    assert_eq!(spot.micros(), 960 * (100 - u64::from(savings_percent)));
    assert!(catalogue.spot_is_estimated());
    assert_eq!(
        catalogue.price_of("m5.huge", "us-east-1a", CapacityType::Spot),
        None
    );
    assert_eq!(
        catalogue.price_of("m5.large", "eu-west-1a", CapacityType::OnDemand),
        None
    );
}

#[test]
fn an_unknown_region_names_the_known_ones() {
    let error = Catalogue::built_in("mars-north-1").unwrap_err();
    assert!(matches!(error, CatalogueError::UnknownRegion { .. }));
    let message = error.to_string();
    assert!(
        message.contains("mars-north-1") && message.contains("eu-central-1"),
        "{message}"
    );
}

fn families() -> impl Strategy<Value = AmiFamily> {
    prop::sample::select(vec![
        AmiFamily::AL2,
        AmiFamily::AL2023,
        AmiFamily::Bottlerocket,
        AmiFamily::Custom,
        AmiFamily::Windows2019,
        AmiFamily::Windows2022,
        AmiFamily::Windows2025,
    ])
}

fn thresholds() -> impl Strategy<Value = Option<Threshold>> {
    prop::option::of(prop_oneof![
        (0..1_u64 << 40).prop_map(|bytes| Threshold::Amount(Amount::new(bytes))),
        (0..=1_000_000_u64).prop_map(Threshold::Share),
    ])
}

fn reserves() -> impl Strategy<Value = Resources> {
    (0..20_000_u64, 0..1_u64 << 38, 0..1_u64 << 38).prop_map(|(cpu, memory, disk)| {
        [
            (ResourceName::Cpu, Amount::new(cpu)),
            (ResourceName::Memory, Amount::new(memory)),
            (ResourceName::EphemeralStorage, Amount::new(disk)),
        ]
        .into_iter()
        .collect()
    })
}

prop_compose! {
    fn classes()(
        ami_family in families(),
        max_pods in prop::option::of(0..2_000_u64),
        pods_per_core in prop::option::of(0..20_u64),
        system_reserved in reserves(),
        kube_reserved in reserves(),
        evict_memory in thresholds(),
        evict_disk in thresholds(),
        root in prop::option::of(1..1_u64 << 44),
        raid in any::<bool>(),
        optimistic in any::<bool>(),
    ) -> ClassSettings {
        ClassSettings {
            ami_family,
            kubelet: Kubelet { max_pods, pods_per_core, system_reserved, kube_reserved, evict_memory, evict_disk },
            volumes: root.map(|size| Volume { device_name: None, root: true, size: Some(Amount::new(size)) }).into_iter().collect(),
            instance_store_policy: raid.then_some(InstanceStorePolicy::RAID0),
            memory_overhead: if optimistic { Overhead::Optimistic } else { Overhead::Pessimistic },
            ..ClassSettings::default()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn pods_never_get_more_than_there_is(class in classes()) {
        for machine in all_machines().values() {
            let found = machine.under(&class);
            prop_assert!(found.allocatable.fits(&found.capacity), "{} under {class:?}", found.name);
            prop_assert_eq!(
                found.labels.get(&label("instance-family")).map(String::as_str),
                found.name.as_str().split('.').next()
            );
        }
    }

    #[test]
    fn keeping_more_for_the_system_never_leaves_more(class in classes(), more in reserves()) {
        let mut stricter = class.clone();
        stricter.kubelet.system_reserved.add_all(&more);
        for machine in all_machines().values().step_by(37) {
            let (before, after) = (machine.under(&class), machine.under(&stricter));
            prop_assert!(after.allocatable.fits(&before.allocatable), "{}", before.name);
        }
    }
}
