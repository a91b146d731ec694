//! What each setting of a node class moves.

use std::collections::BTreeSet;

use dovetail_solver::model::resources::{Amount, ResourceName};

use crate::api::{AmiFamily, InstanceStorePolicy, InterfaceType, NetworkInterface, Overhead};
use crate::cloud::catalog::shape::MIB;
use crate::cloud::catalog::{Catalogue, ClassSettings, Kubelet, Threshold, Volume};

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
        ("a1.medium", "940m 1392Mi 8 17Gi"),
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
        ..Volume::default()
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
