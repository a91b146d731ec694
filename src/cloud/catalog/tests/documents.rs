//! Catalog documents: what they give, and what is said of wrong ones.

use dovetail_solver::model::offering::CapacityType;
use dovetail_solver::model::resources::{Amount, ResourceName};
use serde_json::{Value, json};

use crate::api::{InstanceStorePolicy, Overhead};
use crate::cloud::catalog::shape::{MIB, label};
use crate::cloud::catalog::{Catalogue, CatalogueError, ClassSettings, Flaw, Volume};

const ZONES: [&str; 3] = ["us-east-1a", "us-east-1b", "us-east-1c"];

fn catalogue(spec: &Value) -> Result<Catalogue, CatalogueError> {
    let document = json!({"metadata": {"name": "small"}, "spec": spec});
    Catalogue::from_document(&serde_json::from_value(document).unwrap())
}

fn one_type(entry: &Value) -> Catalogue {
    catalogue(&json!({"zones": ZONES, "instanceTypes": [entry]})).unwrap()
}

fn amount(catalogue: &Catalogue, name: &str, class: &ClassSettings, resource: &str) -> u64 {
    let found = catalogue.instance_type(name, class).unwrap();
    found.allocatable.get(&ResourceName::from(resource)).get()
}

/// `zone capacity-type price` of each offering.
fn offers(catalogue: &Catalogue, name: &str) -> Vec<String> {
    let found = catalogue.instance_type(name, &ClassSettings::default()).unwrap();
    let text = found
        .offerings
        .iter()
        .map(|offering| format!("{} {} {}", offering.zone, offering.capacity_type, offering.price));
    text.collect()
}

#[test]
fn interruptions_are_of_spot_and_by_the_hour() {
    let entry = |rate: Value| json!({"name": "m", "capacity": {"cpu": "2", "memory": "4Gi"}, "spot": 0.1, "interruptionRate": rate});
    let rate = |entry: &Value| {
        let found = one_type(entry).instance_type("m", &ClassSettings::default());
        let found = found.unwrap();
        [CapacityType::Spot, CapacityType::OnDemand].map(|bought_as| found.interruptions(bought_as))
    };
    assert_eq!(rate(&entry(json!(0.0003))), [300, 0]);
    assert_eq!(rate(&entry(Value::Null)), [0, 0]);
    for wrong in [-0.1, 5000.0] {
        let spec = json!({"zones": ZONES, "instanceTypes": [entry(json!(wrong))]});
        let error = catalogue(&spec).unwrap_err().to_string();
        assert!(
            error.contains("spec.instanceTypes[0].interruptionRate (m)"),
            "{error}"
        );
    }
    let built_in = Catalogue::built_in("us-east-1").unwrap();
    let known = built_in.instance_type("m5.large", &ClassSettings::default());
    let advice = built_in.spot_advice("m5.large").unwrap();
    assert_eq!(
        known.unwrap().interruptions(CapacityType::Spot),
        advice.interruptions_per_million_hours()
    );
}

#[test]
fn short_and_long_forms_give_offerings() {
    let small = catalogue(&json!({
        "region": "us-east-1",
        "zones": ZONES,
        "subnets": [{"id": "subnet-1", "zone": "us-east-1a", "freeAddresses": 289}],
        "addressesPerNode": 17,
        "instanceTypes": [
            {
                "name": "m7i.4xlarge", "capacity": {"cpu": "16", "memory": "64Gi", "pods": 234},
                "offerings": [
                    {"zone": "us-east-1a", "capacityType": "on-demand", "price": 0.8064},
                    {"zone": "us-east-1a", "capacityType": "on-demand", "price": 0.40, "limit": 3, "commitment": "plan-a"},
                    {"zone": "us-east-1a", "capacityType": "spot", "price": 0.45, "available": false},
                    {"zone": "us-east-1a", "capacityType": "reserved", "price": 0.0, "limit": 3, "reservationID": "cr-1"},
                ],
            },
            {
                "name": "c7i.large", "capacity": {"cpu": "2", "memory": "4Gi", "pods": 29},
                "onDemand": 0.08925, "spot": {"us-east-1a": 0.031, "us-east-1b": 0.034},
            },
        ],
    }))
    .unwrap();
    assert_eq!(
        offers(&small, "c7i.large"),
        [
            "us-east-1a spot 0.031",
            "us-east-1a on-demand 0.08925",
            "us-east-1b spot 0.034",
            "us-east-1b on-demand 0.08925",
            "us-east-1c on-demand 0.08925",
        ]
    );
    let found = small
        .instance_type("m7i.4xlarge", &ClassSettings::default())
        .unwrap();
    let [reserved, spot, discounted, list_price] = found.offerings.as_slice() else {
        panic!("{:?}", found.offerings);
    };
    assert_eq!(
        (reserved.price.micros(), reserved.reservation_id()),
        (0, Some("cr-1"))
    );
    assert!(!spot.available);
    assert_eq!(
        (discounted.limit, discounted.commitment.as_deref()),
        (Some(3), Some("plan-a"))
    );
    assert_eq!(list_price.limit, None);
    let price = small.price_of("m7i.4xlarge", "us-east-1a", CapacityType::OnDemand);
    assert_eq!(price, Some(list_price.price), "any number can have it");
    assert_eq!(
        small
            .offers("m7i.4xlarge", "us-east-1a", CapacityType::OnDemand)
            .len(),
        2
    );
    assert_eq!(
        (small.subnets()[0].free_addresses, small.addresses_per_node()),
        (289, Some(17))
    );
    assert!(!small.spot_is_estimated());
}

#[test]
fn a_price_of_zero_or_none_at_all_is_no_offer() {
    let entry = json!({
        "name": "m7i.large", "capacity": {"cpu": "2", "memory": "8Gi", "pods": 29},
        "spot": {"us-east-1a": 0.04, "us-east-1b": 0},
        "offerings": [{"zone": "us-east-1c", "capacityType": "spot"}],
    });
    assert_eq!(offers(&one_type(&entry), "m7i.large"), ["us-east-1a spot 0.04"]);
}

#[test]
fn stated_allocatable_is_used_as_it_is() {
    let small = one_type(&json!({
        "name": "c7i.large", "capacity": {"cpu": "2", "memory": "4Gi", "pods": 29},
        "allocatable": {"cpu": "1930m", "memory": "3000Mi", "pods": 29}, "onDemand": 0.08925,
    }));
    let seen = ClassSettings {
        observed_memory: [("c7i.large".into(), Amount::new(4_096 * MIB))].into(),
        memory_overhead: Overhead::Optimistic,
        ..ClassSettings::default()
    };
    for class in [ClassSettings::default(), seen] {
        assert_eq!(amount(&small, "c7i.large", &class, "memory"), 3_000 * MIB);
        assert_eq!(amount(&small, "c7i.large", &class, "cpu"), 1_930);
        assert_eq!(amount(&small, "c7i.large", &class, "ephemeral-storage"), 17 << 30);
    }
}

#[test]
fn a_class_moves_stated_allocatable_by_what_it_says() {
    let small = one_type(&json!({
        "name": "c7i.large", "capacity": {"cpu": "2", "memory": "4Gi", "pods": 29},
        "allocatable": {"cpu": "1900m", "memory": "3000Mi", "pods": 29}, "onDemand": 0.08925,
    }));
    let mut class = ClassSettings::default();
    class.kubelet.max_pods = Some(110);
    class.kubelet.system_reserved = [
        (ResourceName::Cpu, Amount::new(100)),
        (ResourceName::Memory, Amount::new(200 * MIB)),
    ]
    .into_iter()
    .collect();
    class.volumes = vec![Volume {
        device_name: None,
        root: true,
        size: Some(Amount::new(100 << 30)),
        ..Volume::default()
    }];
    assert_eq!(amount(&small, "c7i.large", &class, "cpu"), 1_800);
    assert_eq!(amount(&small, "c7i.large", &class, "memory"), 2_800 * MIB);
    assert_eq!(amount(&small, "c7i.large", &class, "pods"), 110);
    assert_eq!(amount(&small, "c7i.large", &class, "ephemeral-storage"), 89 << 30);
}

#[test]
fn memory_is_estimated_until_a_node_was_seen() {
    let small = catalogue(&json!({"zones": ZONES, "instanceTypes": [
        {"name": "i4i.32xlarge", "capacity": {"cpu": "128", "memory": "1024Gi", "pods": 737}, "onDemand": 10.9824},
        {"name": "c6g.medium", "capacity": {"cpu": "1", "memory": "2Gi", "pods": 8}, "onDemand": 0.034},
    ]}))
    .unwrap();
    let memory = |name: &str, class: &ClassSettings| amount(&small, name, class, "memory") / MIB;
    let mut class = ClassSettings::default();
    assert_eq!(
        (memory("i4i.32xlarge", &class), memory("c6g.medium", &class)),
        (961_470, 1_392)
    );
    class.memory_overhead = Overhead::Optimistic;
    assert_eq!(memory("i4i.32xlarge", &class), 1_040_114);
    class.observed_memory = [
        ("i4i.32xlarge".into(), Amount::new(1_015_885 * MIB)),
        ("c6g.medium".into(), Amount::new(1_793 * MIB)),
    ]
    .into();
    assert_eq!(
        (memory("i4i.32xlarge", &class), memory("c6g.medium", &class)),
        (1_007_423, 1_350)
    );
}

#[test]
fn local_disks_follow_from_the_label_or_the_name() {
    let entry = |name: &str, labels: Value| {
        one_type(&json!({
            "name": name, "labels": labels, "capacity": {"cpu": "4", "memory": "8Gi", "pods": 58}, "onDemand": 0.2,
        }))
    };
    let class = ClassSettings {
        instance_store_policy: Some(InstanceStorePolicy::RAID0),
        ..ClassSettings::default()
    };
    let scratch = |catalogue: &Catalogue, name: &str| {
        let found = catalogue.instance_type(name, &class).unwrap();
        found.capacity.get(&ResourceName::EphemeralStorage).get()
    };
    let stated = entry("z9.odd", json!({"karpenter.k8s.aws/instance-local-nvme": "237"}));
    assert_eq!(scratch(&stated, "z9.odd"), 237_000_000_000);
    assert_eq!(
        scratch(&entry("c6id.xlarge", json!({})), "c6id.xlarge"),
        237_000_000_000
    );
    assert_eq!(scratch(&entry("c6i.xlarge", json!({})), "c6i.xlarge"), 20 << 30);
}

#[test]
fn labels_follow_from_name_and_capacity() {
    let labels = |entry: Value, key: &str| {
        let name = entry["name"].as_str().unwrap().to_owned();
        let catalogue = one_type(&entry);
        let found = catalogue.instance_type(&name, &ClassSettings::default()).unwrap();
        found.labels.get(key).cloned()
    };
    let unknown = json!({
        "name": "x99gd.huge", "capacity": {"cpu": "64", "memory": "100Gi", "nvidia.com/gpu": 4}, "onDemand": 1,
    });
    for (key, value) in [
        ("kubernetes.io/arch", "arm64"),
        ("kubernetes.io/os", "linux"),
        ("topology.kubernetes.io/region", "us-east-1"),
        ("node.kubernetes.io/instance-type", "x99gd.huge"),
        (&label("instance-category"), "x"),
        (&label("instance-generation"), "99"),
        (&label("instance-cpu"), "64"),
        (&label("instance-memory"), "102400"),
        (&label("instance-gpu-count"), "4"),
        (&label("instance-gpu-manufacturer"), "nvidia"),
    ] {
        assert_eq!(labels(unknown.clone(), key).as_deref(), Some(value), "{key}");
    }
    let known = json!({
        "name": "m7a.large", "labels": {"team": "a", "karpenter.k8s.aws/instance-cpu-manufacturer": "other"},
        "capacity": {"cpu": "2", "memory": "8Gi", "pods": 29}, "onDemand": 1,
    });
    assert_eq!(
        labels(known.clone(), &label("instance-hypervisor")).as_deref(),
        Some("nitro")
    );
    assert_eq!(
        labels(known.clone(), &label("instance-cpu-manufacturer")).as_deref(),
        Some("other")
    );
    assert_eq!(labels(known, "team").as_deref(), Some("a"));
    // Half of the real one: nothing but its name is known.
    let other = json!({"name": "m7a.large", "capacity": {"cpu": "1", "memory": "8Gi"}, "onDemand": 1});
    assert_eq!(labels(other.clone(), &label("instance-hypervisor")), None);
    assert_eq!(labels(other, &label("instance-cpu")).as_deref(), Some("1"));
}

#[test]
fn wrong_documents_are_refused_with_type_and_path() {
    let entry = |extra: Value| {
        let mut entry = json!({"name": "m7i.large", "capacity": {"cpu": "2", "memory": "8Gi", "pods": 29}});
        for (key, value) in extra.as_object().unwrap() {
            entry[key] = value.clone();
        }
        json!({"zones": ["us-east-1a"], "instanceTypes": [entry]})
    };
    for (spec, message) in [
        (
            entry(json!({"onDemand": -0.1})),
            "spec.instanceTypes[0].onDemand (m7i.large): \"-0.1\" is no price",
        ),
        (
            entry(json!({"spot": {"us-east-1z": 0.1}})),
            "spec.instanceTypes[0].spot.us-east-1z (m7i.large): \"us-east-1z\" is none of the zones us-east-1a",
        ),
        (
            entry(json!({"offerings": [{"zone": "", "capacityType": "spot", "price": 1}]})),
            "spec.instanceTypes[0].offerings[0].zone (m7i.large): an offering needs a zone",
        ),
        (
            entry(
                json!({"offerings": [{"zone": "us-east-1a", "capacityType": "spot", "price": 1, "limit": -1}]}),
            ),
            "spec.instanceTypes[0].offerings[0].limit (m7i.large): expected 0 to",
        ),
        (
            entry(json!({"capacity": {"cpu": "two", "memory": "8Gi"}})),
            "spec.instanceTypes[0].capacity.cpu (m7i.large): expected a quantity",
        ),
        (
            entry(json!({"capacity": {"cpu": "2"}})),
            "spec.instanceTypes[0].capacity.memory (m7i.large): needed",
        ),
        (
            entry(json!({"allocatable": {"memory": "9Gi"}})),
            "spec.instanceTypes[0].allocatable.memory (m7i.large): 9Gi is more than the capacity of 8Gi",
        ),
        (
            entry(json!({"labels": {"topology.kubernetes.io/zone": "a"}})),
            "spec.instanceTypes[0].labels[topology.kubernetes.io/zone] (m7i.large): belongs to each offering",
        ),
        (
            json!({"zones": ["a"], "instanceTypes": [
                {"name": "x.y", "capacity": {"cpu": 1, "memory": 1}}, {"name": "x.y", "capacity": {"cpu": 1, "memory": 1}},
            ]}),
            "spec.instanceTypes[1].name (x.y): is spec.instanceTypes[0] already",
        ),
        (
            json!({"zones": ["a", "a"], "instanceTypes": []}),
            "spec.zones[1]: a is listed twice",
        ),
        (
            json!({"zones": ["a"], "instanceTypes": []}),
            "spec.instanceTypes: expected at least one",
        ),
        (
            json!({"region": "mars-1", "instanceTypes": [{"name": "x.y", "capacity": {"cpu": 1, "memory": 1}}]}),
            "spec.zones: needed, since region mars-1 isn't built in",
        ),
    ] {
        let error = catalogue(&spec).unwrap_err().to_string();
        assert!(
            error.starts_with("Catalog small: ") && error.contains(message),
            "{error}"
        );
    }
}

#[test]
fn all_flaws_are_found_in_one_go() {
    let error = catalogue(
        &json!({"zones": ["a"], "subnets": [{"id": "s", "zone": "b", "freeAddresses": -1}], "instanceTypes": [
            {"name": "x.y", "capacity": {"cpu": 1}, "onDemand": -1, "spot": {"b": 1}},
        ]}),
    )
    .unwrap_err();
    let CatalogueError::Document { flaws, .. } = error else {
        panic!("{error}");
    };
    let paths: Vec<String> = flaws.into_iter().map(|Flaw { path, .. }| path).collect();
    assert_eq!(
        paths,
        [
            "spec.instanceTypes[0].capacity.memory",
            "spec.instanceTypes[0].onDemand",
            "spec.instanceTypes[0].spot.b",
            "spec.subnets[0].zone",
            "spec.subnets[0].freeAddresses",
        ]
    );
}

#[test]
fn zones_are_those_of_the_region_where_none_are_listed() {
    let small = catalogue(&json!({"region": "us-west-1", "instanceTypes": [
        {"name": "x.y", "capacity": {"cpu": 1, "memory": "1Gi"}, "onDemand": 1},
    ]}))
    .unwrap();
    assert_eq!(
        offers(&small, "x.y"),
        ["us-west-1a on-demand 1", "us-west-1b on-demand 1"]
    );
}
