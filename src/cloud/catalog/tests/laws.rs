//! What holds of every type under every class.

use dovetail_solver::model::resources::{Amount, ResourceName, Resources};
use proptest::prelude::*;

use super::all_machines;
use crate::api::{AmiFamily, InstanceStorePolicy, Overhead};
use crate::cloud::catalog::shape::{MIB, label};
use crate::cloud::catalog::sizes::attachable_volumes;
use crate::cloud::catalog::{Catalogue, ClassSettings, Kubelet, Threshold, Volume};

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
            volumes: root.map(|size| Volume { device_name: None, root: true, size: Some(Amount::new(size)), ..Volume::default() }).into_iter().collect(),
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
    fn a_stated_allocatable_holds_under_a_plain_class_and_never_exceeds_capacity(
        class in classes(),
        cpu in 1..400_000_u64,
        memory_mib in 1..1_u64 << 24,
        pods in 0..1_000_u64,
        shares in prop::array::uniform3(0..=100_u64),
    ) {
        let capacity = [
            (ResourceName::Cpu, cpu),
            (ResourceName::Memory, memory_mib * MIB),
            (ResourceName::Pods, pods),
        ];
        let stated = capacity.clone().into_iter().zip(shares).map(|((name, amount), share)| (name, amount * share / 100));
        let amounts = |amounts: &[(ResourceName, u64)]| {
            let text = amounts.iter().map(|(name, amount)| {
                let amount = Amount::new(*amount);
                (name.to_string(), serde_json::json!(amount.display(name.unit()).to_string()))
            });
            serde_json::Value::Object(text.collect())
        };
        let stated: Vec<(ResourceName, u64)> = stated.collect();
        let document = serde_json::json!({"metadata": {"name": "law"}, "spec": {
            "zones": ["a"],
            "instanceTypes": [{"name": "x.y", "capacity": amounts(&capacity), "allocatable": amounts(&stated)}],
        }});
        let catalogue = Catalogue::from_document(&serde_json::from_value(document).unwrap()).unwrap();
        let plain = catalogue.instance_type("x.y", &ClassSettings::default()).unwrap();
        for (name, amount) in stated {
            prop_assert_eq!(plain.allocatable.get(&name).get(), amount, "{}", name);
        }
        let found = catalogue.instance_type("x.y", &class).unwrap();
        prop_assert!(found.allocatable.fits(&found.capacity), "{} of {}", found.allocatable, found.capacity);
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

#[test]
fn attachments_are_what_the_driver_counts_when_a_node_starts() {
    let machines = all_machines();
    let plain = ClassSettings::default();
    for (name, expected) in [
        // Nitro with shared places: 27 beside the first interface, less the second and the root volume.
        ("m5.large", 25),
        ("m5d.24xlarge", 21),
        // Places of their own for volumes.
        ("m7i.large", 31),
        ("m7i.48xlarge", 127),
        // Before Nitro interfaces took no place.
        ("m4.large", 39),
        // Hardly any left beside local disks: never less than one.
        ("d3en.12xlarge", 1),
    ] {
        assert_eq!(
            attachable_volumes(&machines[name], &plain),
            Some(expected),
            "{name}"
        );
    }
    let three = ClassSettings {
        volumes: ["/dev/xvda", "/dev/xvdb", "/dev/xvdc"]
            .map(|device| Volume {
                device_name: Some(device.to_owned()),
                ..Volume::default()
            })
            .into(),
        ..plain
    };
    assert_eq!(attachable_volumes(&machines["m7i.large"], &three), Some(29));
}
