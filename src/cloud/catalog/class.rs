//! What a node class makes of machines: image family, kubelet, disks, interfaces, zones.
//!
//! [`ClassSettings`] is an EC2NodeClass boiled down to what changes labels, allocatable or availability of an instance
//! type. Two things in it aren't the class's own: memory seen on real nodes, and how far EC2's memory figure is trusted.

use std::collections::{BTreeMap, BTreeSet};

use dovetail_solver::model::name::{InstanceTypeName, ZoneName};
use dovetail_solver::model::quantity::{Quantity, Rounding};
use dovetail_solver::model::requirement::{Operator, Requirement, Requirements};
use dovetail_solver::model::resources::{Amount, ResourceName};
use thiserror::Error;

use super::kubelet::Kubelet;
use crate::api::{
    AmiFamily, BlockDeviceMapping, EC2NodeClass, InstanceStorePolicy, InterfaceType, NetworkInterface,
    Overhead, Switch, VolumeType,
};

/// What a node class says that an instance type depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassSettings {
    /// Family of its images.
    pub ami_family: AmiFamily,
    /// Its kubelet settings.
    pub kubelet: Kubelet,
    /// Its disks, in order.
    pub volumes: Vec<Volume>,
    /// What becomes of local disks.
    pub instance_store_policy: Option<InstanceStorePolicy>,
    /// Its network interfaces, where EC2's own choice won't do.
    pub network_interfaces: Vec<NetworkInterface>,
    /// What else a machine must support.
    pub needs: Needs,
    /// The zones of its subnets, with their ids; `None`: not known, so all.
    pub zones: Option<BTreeMap<ZoneName, Option<String>>>,
    /// The ids of its subnets; empty: not known.
    pub subnets: BTreeSet<String>,
    /// What each of its images runs on; empty: not known, so all.
    pub images: Vec<Requirements>,
    /// Memory capacity of a real node of the type that runs the class's image; replaces the estimate.
    pub observed_memory: BTreeMap<InstanceTypeName, Amount>,
    /// Whether EC2's memory figure is trusted until a node was seen.
    pub memory_overhead: Overhead,
}

/// Abilities that a class asks of its machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Nitro Enclaves.
    pub enclaves: bool,
    /// Nested virtualisation.
    pub nested_virtualization: bool,
    /// Timeouts of tracked connections, which only Nitro machines have.
    pub connection_tracking: bool,
}

/// A disk of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// The device it is attached as.
    pub device_name: Option<String>,
    /// Whether pods' scratch space is on it.
    pub root: bool,
    /// Its size, where the class and not the snapshot says it.
    pub size: Option<Amount>,
    /// What is billed of it beside its size; `None`: no volume of EBS.
    pub disk: Option<Disk>,
}

/// Kind and provisioned speed of an EBS volume, where the class says them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// Its kind.
    pub kind: Option<VolumeType>,
    /// Operations per second.
    pub iops: Option<u64>,
    /// MiB per second.
    pub throughput: Option<u64>,
}

/// Why a node class can't be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("EC2NodeClass {class}: {path}: {what}")]
pub struct ClassError {
    /// Its name.
    pub class: String,
    /// Where in it.
    pub path: String,
    /// What is wrong there.
    pub what: String,
}

impl Default for ClassSettings {
    /// AL2023 with nothing else said.
    fn default() -> Self {
        Self {
            ami_family: AmiFamily::AL2023,
            kubelet: Kubelet::default(),
            volumes: Vec::new(),
            instance_store_policy: None,
            network_interfaces: Vec::new(),
            needs: Needs::default(),
            zones: None,
            subnets: BTreeSet::new(),
            images: Vec::new(),
            observed_memory: BTreeMap::new(),
            memory_overhead: Overhead::default(),
        }
    }
}

impl ClassSettings {
    /// What a node class says; memory seen and trust in EC2's figure are left at their defaults.
    ///
    /// # Errors
    /// No or contradictory image family, kubelet settings or volume sizes that make no sense, images with requirements
    /// that make none.
    pub fn of(class: &EC2NodeClass) -> Result<Self, ClassError> {
        let name = class.metadata.name.clone().unwrap_or_default();
        Self::read(class).map_err(|(path, what)| ClassError {
            class: name,
            path,
            what,
        })
    }

    fn read(class: &EC2NodeClass) -> Result<Self, (String, String)> {
        let spec = &class.spec;
        let ami_family = family(class)?;
        let kubelet = match &spec.kubelet {
            None => Kubelet::default(),
            Some(settings) => Kubelet::of(settings, ami_family)
                .map_err(|(path, what)| (format!("spec.kubelet.{path}"), what))?,
        };
        let volumes = spec
            .block_device_mappings
            .iter()
            .enumerate()
            .map(|(index, mapping)| volume(index, mapping))
            .collect::<Result<_, _>>()?;
        let status = class.status.as_ref();
        let subnets = status.map_or(&[][..], |status| &status.subnets);
        let zones: BTreeMap<ZoneName, Option<String>> = subnets
            .iter()
            .map(|subnet| (subnet.zone.as_str().into(), subnet.zone_id.clone()))
            .collect();
        let amis = status.map_or(&[][..], |status| &status.amis);
        let images = amis
            .iter()
            .enumerate()
            .map(|(index, ami)| {
                image(ami).map_err(|what| (format!("status.amis[{index}].requirements"), what))
            })
            .collect::<Result<_, _>>()?;
        let nested = spec
            .cpu_options
            .as_ref()
            .and_then(|options| options.nested_virtualization);
        Ok(Self {
            ami_family,
            kubelet,
            volumes,
            instance_store_policy: spec.instance_store_policy,
            network_interfaces: spec.network_interfaces.clone(),
            needs: Needs {
                enclaves: spec
                    .enclave_options
                    .as_ref()
                    .is_some_and(|options| options.enabled),
                nested_virtualization: nested == Some(Switch::Enabled),
                connection_tracking: spec.connection_tracking.is_some(),
            },
            zones: (!zones.is_empty()).then_some(zones),
            subnets: subnets.iter().map(|subnet| subnet.id.clone()).collect(),
            images,
            observed_memory: BTreeMap::new(),
            memory_overhead: Overhead::default(),
        })
    }

    /// How many interfaces carry no addresses: on one card, or on all.
    pub(super) fn efa_only_interfaces(&self, card: Option<i32>) -> u32 {
        let counted = self
            .network_interfaces
            .iter()
            .filter(|interface| interface.interface_type == InterfaceType::EfaOnly)
            .filter(|interface| card.is_none_or(|card| interface.network_card_index == card))
            .count();
        u32::try_from(counted).unwrap_or(u32::MAX)
    }
}

/// Whether a family runs Windows.
pub(super) fn is_windows(family: AmiFamily) -> bool {
    windows_build(family).is_some()
}

/// The value of the label `node.kubernetes.io/windows-build`.
pub(super) fn windows_build(family: AmiFamily) -> Option<&'static str> {
    match family {
        AmiFamily::Windows2019 => Some("10.0.17763"),
        AmiFamily::Windows2022 => Some("10.0.20348"),
        AmiFamily::Windows2025 => Some("10.0.26100"),
        AmiFamily::AL2 | AmiFamily::AL2023 | AmiFamily::Bottlerocket | AmiFamily::Custom => None,
    }
}

/// The family as said, or as the alias of the images says.
fn family(class: &EC2NodeClass) -> Result<AmiFamily, (String, String)> {
    let at = || "spec.amiFamily".to_owned();
    let alias = class
        .spec
        .ami_selector_terms
        .iter()
        .find_map(|term| term.alias.as_deref());
    let Some(alias) = alias else {
        let missing = || (at(), "needed where no image is selected by alias".to_owned());
        return class.spec.ami_family.ok_or_else(missing);
    };
    let of_alias = match alias.split('@').next().unwrap_or(alias) {
        "al2" => AmiFamily::AL2,
        "al2023" => AmiFamily::AL2023,
        "bottlerocket" => AmiFamily::Bottlerocket,
        "windows2019" => AmiFamily::Windows2019,
        "windows2022" => AmiFamily::Windows2022,
        "windows2025" => AmiFamily::Windows2025,
        _ => {
            let what = format!("\"{alias}\" names no family of images (such as al2023@latest)");
            return Err(("spec.amiSelectorTerms".to_owned(), what));
        }
    };
    match class.spec.ami_family {
        None => Ok(of_alias),
        Some(said) if said == of_alias || said == AmiFamily::Custom => Ok(said),
        Some(said) => Err((at(), format!("{said:?} contradicts the alias {alias}"))),
    }
}

fn volume(index: usize, mapping: &BlockDeviceMapping) -> Result<Volume, (String, String)> {
    let size = match mapping.ebs.as_ref().and_then(|ebs| ebs.volume_size.as_ref()) {
        None => None,
        Some(size) => Some(
            size.0
                .parse::<Quantity>()
                .and_then(|size| Amount::from_quantity(&ResourceName::EphemeralStorage, size, Rounding::Down))
                .map_err(|error| {
                    let path = format!("spec.blockDeviceMappings[{index}].ebs.volumeSize");
                    (path, error.to_string())
                })?,
        ),
    };
    let number = |field: &str, number: Option<i64>| {
        let read = number.map(|number| {
            u64::try_from(number).map_err(|_| {
                let path = format!("spec.blockDeviceMappings[{index}].ebs.{field}");
                (path, format!("expected a number from 0, found {number}"))
            })
        });
        read.transpose()
    };
    let disk = match &mapping.ebs {
        None => None,
        Some(ebs) => Some(Disk {
            kind: ebs.volume_type,
            iops: number("iops", ebs.iops)?,
            throughput: number("throughput", ebs.throughput)?,
        }),
    };
    Ok(Volume {
        device_name: mapping.device_name.clone(),
        root: mapping.root_volume.unwrap_or(false),
        size,
        disk,
    })
}

fn image(ami: &crate::api::Ami) -> Result<Requirements, String> {
    let mut requirements = Vec::with_capacity(ami.requirements.len());
    for requirement in &ami.requirements {
        requirements.push(Requirement {
            key: requirement.key.clone(),
            operator: Operator::parse(&requirement.operator)
                .ok_or_else(|| format!("\"{}\" is no operator", requirement.operator))?,
            values: requirement.values.clone(),
            min_values: None,
        });
    }
    Requirements::of(&requirements).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(json: serde_json::Value) -> EC2NodeClass {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn reads_a_class() {
        let settings = ClassSettings::of(&class(serde_json::json!({
            "metadata": {"name": "default"},
            "spec": {
                "amiSelectorTerms": [{"alias": "bottlerocket@latest"}],
                "blockDeviceMappings": [
                    {"deviceName": "/dev/xvdb", "rootVolume": true, "ebs": {"volumeSize": "100Gi"}}
                ],
                "instanceStorePolicy": "RAID0",
                "kubelet": {"maxPods": 50},
                "enclaveOptions": {"enabled": true},
            },
            "status": {
                "subnets": [{"id": "subnet-1", "zone": "us-east-1a", "zoneID": "use1-az6"}],
                "amis": [{"id": "ami-1", "requirements": [
                    {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}
                ]}],
            },
        })))
        .unwrap();
        assert_eq!(settings.ami_family, AmiFamily::Bottlerocket);
        assert_eq!(settings.kubelet.max_pods, Some(50));
        assert_eq!(settings.volumes[0].size, Some(Amount::new(100 << 30)));
        assert!(settings.needs.enclaves && settings.images.len() == 1);
        let zones = settings.zones.unwrap();
        assert_eq!(zones[&ZoneName::from("us-east-1a")].as_deref(), Some("use1-az6"));
    }

    #[test]
    fn names_the_place_of_what_is_wrong() {
        for (spec, message) in [
            (
                serde_json::json!({"amiSelectorTerms": [{"id": "ami-1"}]}),
                "EC2NodeClass c: spec.amiFamily: needed where no image is selected by alias",
            ),
            (
                serde_json::json!({"amiFamily": "AL2", "amiSelectorTerms": [{"alias": "al2023@latest"}]}),
                "EC2NodeClass c: spec.amiFamily: AL2 contradicts the alias al2023@latest",
            ),
            (
                serde_json::json!({"amiFamily": "AL2023", "kubelet": {"maxPods": "many"}}),
                "EC2NodeClass c: spec.kubelet.maxPods: expected a whole number from 0 to 2147483647",
            ),
            (
                serde_json::json!({"amiFamily": "AL2023", "blockDeviceMappings": [{"ebs": {"volumeSize": "big"}}]}),
                "EC2NodeClass c: spec.blockDeviceMappings[0].ebs.volumeSize: \
                 expected a quantity such as 500m, 2 or 4Gi, got \"big\"",
            ),
        ] {
            let error = ClassSettings::of(&class(
                serde_json::json!({"metadata": {"name": "c"}, "spec": spec}),
            ));
            assert_eq!(error.unwrap_err().to_string(), message);
        }
    }
}
