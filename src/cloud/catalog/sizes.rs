//! Capacity and allocatable of a machine under a node class.
//!
//! The formulas and constants are those by which Karpenter computes them, so that both expect the same of a machine that
//! isn't there yet: allocatable is capacity less what the kubelet keeps for Kubernetes, for the system, and free as the
//! eviction threshold. Units: milli-CPU, bytes, counts.

use dovetail_solver::model::resources::{Amount, ResourceName, Resources};

use super::class::{ClassSettings, is_windows};
use super::kubelet::{Threshold, share};
use super::machine::{Density, Machine};
use super::shape::{EbsAttachments, MIB, set_if_any};
use crate::api::{AmiFamily, Overhead};

/// Share of the reported memory that hypervisor and firmware are taken to keep, in millionths (Karpenter's
/// VM_MEMORY_OVERHEAD_PERCENT); a guess that lies on the safe side until a node was seen.
const MEMORY_OVERHEAD: u64 = 75_000;
/// Mebibytes that an arm64 kernel keeps for contiguous allocations before the kubelet counts.
const ARM_CONTIGUOUS_MEMORY: u64 = 64 * MIB;
/// Memory the kubelet keeps for Kubernetes: so much, and so much for each pod slot.
const KUBE_MEMORY: Amount = Amount::new(255 * MIB);
/// The part for each pod slot.
const KUBE_MEMORY_PER_POD: Amount = Amount::new(11 * MIB);
/// Disk the kubelet keeps for Kubernetes.
const KUBE_DISK: Amount = Amount::new(1 << 30);
/// Free memory below which the kubelet evicts, unless told otherwise.
const EVICT_MEMORY: Threshold = Threshold::Amount(Amount::new(100 * MIB));
/// Free disk below which the kubelet evicts, in millionths.
const EVICT_DISK: Threshold = Threshold::Share(100_000);
/// Pod slots where network interfaces set no limit: the kubelet's own default.
const KUBELET_PODS: u64 = 110;
/// Root volume where the class says nothing.
pub(super) const ROOT_VOLUME: Amount = Amount::new(20 << 30);
/// The same on Windows.
pub(super) const WINDOWS_ROOT_VOLUME: Amount = Amount::new(50 << 30);

/// Interfaces that are attached when the EBS driver counts the places that are left: the first, and the one that the VPC
/// network plugin keeps in reserve. Later ones take no place from the driver's count.
const INTERFACES_AT_START: u32 = 2;

/// What a machine has, and what of it pods may use.
pub(super) struct Sizes {
    /// Raw size, memory as far as it reaches the operating system.
    pub(super) capacity: Resources,
    /// What pods, DaemonSets included, may use.
    pub(super) allocatable: Resources,
}

/// The sizes of a machine under a class.
///
/// Where a Catalog document states allocatable, that is what holds under a class that says nothing; the class then moves
/// it by as much as it moves the computed figure. A stated memory is nobody's estimate: nodes seen don't change it.
pub(super) fn sizes(machine: &Machine, class: &ClassSettings) -> Sizes {
    let Some(stated) = &machine.stated_allocatable else {
        return computed(machine, class, memory(machine, class));
    };
    let reported = machine.capacity.get(&ResourceName::Memory);
    let memory = if stated.contains(&ResourceName::Memory) {
        reported
    } else {
        memory(machine, class)
    };
    let Sizes {
        mut capacity,
        mut allocatable,
    } = computed(machine, class, memory);
    let plain = computed(machine, &ClassSettings::default(), memory).allocatable;
    for (name, amount) in stated.iter() {
        let moved = amount.plus(allocatable.get(name)).minus(plain.get(name));
        if capacity.get(name) < moved {
            capacity.set(name.clone(), moved);
        }
        allocatable.set(name.clone(), moved);
    }
    Sizes {
        capacity,
        allocatable,
    }
}

/// How many EBS volumes pods may attach to a machine: its places less those of the class's own volumes and, where they
/// share, of the second interface; `None` where EC2 doesn't know the type. EC2's figures leave out the first interface, local
/// disks and accelerators already. Sources: EC2 user guide, "Amazon EBS volume limits for Amazon EC2 instances"; EBS CSI
/// driver, which counts so when it starts.
pub(super) fn attachable_volumes(machine: &Machine, class: &ClassSettings) -> Option<u64> {
    let facts = machine.facts.as_ref()?;
    let EbsAttachments {
        most,
        shares_with_interfaces,
    } = facts.attachments;
    let interfaces = facts.card_interfaces.iter().sum::<u32>().min(INTERFACES_AT_START);
    let of_interfaces = if shares_with_interfaces {
        u64::from(interfaces.saturating_sub(1))
    } else {
        0
    };
    let of_class = u64::try_from(class.volumes.len()).unwrap_or(u64::MAX).max(1);
    // The driver always offers one.
    Some(most.saturating_sub(of_interfaces).saturating_sub(of_class).max(1))
}

fn computed(machine: &Machine, class: &ClassSettings, memory: Amount) -> Sizes {
    let mut capacity = machine.capacity.clone();
    let pods = pods(machine, class);
    let disk = scratch_space(machine, class);
    capacity.set(ResourceName::Memory, memory);
    capacity.set(ResourceName::EphemeralStorage, disk);
    capacity.set(ResourceName::Pods, Amount::new(pods));
    if let Some(facts) = &machine.facts {
        let adapters = match class.network_interfaces.as_slice() {
            [] => facts.efa,
            _ => class.efa_only_interfaces(None),
        };
        // A Catalog document that speaks of adapters itself knows better.
        if !capacity.contains(&ResourceName::from("vpc.amazonaws.com/efa")) && machine.is_built_in {
            set_if_any(&mut capacity, "vpc.amazonaws.com/efa", u64::from(adapters));
        }
        if is_windows(class.ami_family) {
            let addresses = facts.addresses_per_interface.saturating_sub(1);
            set_if_any(
                &mut capacity,
                "vpc.amazonaws.com/PrivateIPv4Address",
                u64::from(addresses),
            );
        }
    }
    let mut allocatable = capacity.clone();
    for kept in [
        kube_reserved(machine, class, pods),
        class.kubelet.system_reserved.clone(),
        eviction(class, memory, disk),
    ] {
        allocatable.subtract_all(&kept);
    }
    Sizes {
        capacity,
        allocatable,
    }
}

/// Memory that reaches the operating system: as seen on a node of the type, else estimated from EC2's figure.
fn memory(machine: &Machine, class: &ClassSettings) -> Amount {
    if let Some(seen) = class.observed_memory.get(&machine.name) {
        return *seen;
    }
    let reported = machine.capacity.get(&ResourceName::Memory);
    let reported = if machine.is_arm() {
        reported.minus(Amount::new(ARM_CONTIGUOUS_MEMORY))
    } else {
        reported
    };
    match class.memory_overhead {
        Overhead::Optimistic => reported,
        // Taken off in whole mebibytes.
        Overhead::Pessimistic => {
            let overhead = share(reported, MEMORY_OVERHEAD).get().div_ceil(MIB);
            reported.minus(Amount::new(overhead).times(MIB))
        }
    }
}

/// Pod slots.
fn pods(machine: &Machine, class: &ClassSettings) -> u64 {
    let base = class.kubelet.max_pods.unwrap_or_else(|| {
        if is_windows(class.ami_family) {
            KUBELET_PODS
        } else {
            network_pods(machine, class.efa_only_interfaces(Some(0)))
        }
    });
    match class.kubelet.pods_per_core {
        Some(per_core) if per_core > 0 && class.ami_family != AmiFamily::Bottlerocket => {
            let cores = machine.capacity.get(&ResourceName::Cpu).get() / 1_000;
            base.min(per_core.saturating_mul(cores))
        }
        _ => base,
    }
}

/// Pod slots as the network interfaces allow.
fn network_pods(machine: &Machine, interfaces_left_out: u32) -> u64 {
    match machine.density {
        Density::Stated(pods) => pods,
        Density::Interfaces => machine
            .facts
            .as_ref()
            .map_or(KUBELET_PODS, |facts| facts.pods(interfaces_left_out)),
    }
}

/// Disk space that pods' scratch volumes, logs and images share.
fn scratch_space(machine: &Machine, class: &ClassSettings) -> Amount {
    if class.instance_store_policy.is_some()
        && let Some(local) = machine.local_storage
    {
        return local;
    }
    let device = match class.ami_family {
        AmiFamily::AL2 | AmiFamily::AL2023 => Some("/dev/xvda"),
        AmiFamily::Bottlerocket => Some("/dev/xvdb"),
        AmiFamily::Windows2019 | AmiFamily::Windows2022 | AmiFamily::Windows2025 => Some("/dev/sda1"),
        // A custom image may call its root anything: the last disk is taken for it.
        AmiFamily::Custom => None,
    };
    let volumes = &class.volumes;
    let root = volumes.iter().find(|volume| volume.root);
    let fallback = match device {
        Some(_) => volumes
            .iter()
            .find(|volume| volume.device_name.as_deref() == device),
        None => volumes.last(),
    };
    root.and_then(|volume| volume.size)
        .or_else(|| fallback.and_then(|volume| volume.size))
        .unwrap_or_else(|| {
            let stated = ResourceName::EphemeralStorage;
            if machine.capacity.contains(&stated) {
                machine.capacity.get(&stated)
            } else if is_windows(class.ami_family) {
                WINDOWS_ROOT_VOLUME
            } else {
                ROOT_VOLUME
            }
        })
}

/// What the kubelet keeps for Kubernetes' own daemons.
fn kube_reserved(machine: &Machine, class: &ClassSettings, pods: u64) -> Resources {
    let counted = match class.ami_family {
        // Their images compute it from the network interfaces, whatever maxPods says.
        AmiFamily::AL2 | AmiFamily::AL2023 | AmiFamily::Custom => network_pods(machine, 0),
        _ => pods,
    };
    let mut reserved = Resources::new();
    let cpu = machine.capacity.get(&ResourceName::Cpu).get();
    reserved.set(ResourceName::Cpu, Amount::new(kube_cpu(cpu)));
    let memory = KUBE_MEMORY.plus(KUBE_MEMORY_PER_POD.times(counted));
    reserved.set(ResourceName::Memory, memory);
    reserved.set(ResourceName::EphemeralStorage, KUBE_DISK);
    for (name, amount) in class.kubelet.kube_reserved.iter() {
        reserved.set(name.clone(), amount);
    }
    reserved
}

/// 6 % of the first core, 1 % of the second, 0.5 % of the third and fourth, 0.25 % of the others.
fn kube_cpu(millis: u64) -> u64 {
    /// Upper end in milli-CPU, and share in 1/400 of what lies below it.
    const STEPS: [(u64, u64); 4] = [(1_000, 24), (2_000, 4), (4_000, 2), (u64::MAX, 1)];
    let mut below = 0;
    let mut reserved = 0;
    for (end, four_hundredths) in STEPS {
        reserved += millis.min(end).saturating_sub(below) * four_hundredths / 400;
        below = end;
    }
    reserved
}

/// What has to stay free.
fn eviction(class: &ClassSettings, memory: Amount, disk: Amount) -> Resources {
    let threshold = |set: Option<Threshold>, usual: Threshold, capacity| set.unwrap_or(usual).of(capacity);
    [
        (
            ResourceName::Memory,
            threshold(class.kubelet.evict_memory, EVICT_MEMORY, memory),
        ),
        (
            ResourceName::EphemeralStorage,
            threshold(class.kubelet.evict_disk, EVICT_DISK, disk),
        ),
    ]
    .into_iter()
    .collect()
}
