//! What EC2 says of an instance type: its labels, raw resources and the facts that node classes depend on.
//!
//! Names and meanings of the labels are Karpenter's. Nothing here depends on a region or a node class.

use dovetail_solver::model::requirement::Labels;
use dovetail_solver::model::resources::{Amount, ResourceName, Resources};

use crate::api::labels;

/// Bytes in a mebibyte, the unit in which EC2 reports memory.
pub(super) const MIB: u64 = 1 << 20;
/// Bytes in the gigabyte in which EC2 reports local disks.
pub(super) const DECIMAL_GB: u64 = 1_000_000_000;

/// Label of the hypervisor; empty on bare metal.
pub(super) const HYPERVISOR: &str = "karpenter.k8s.aws/instance-hypervisor";

/// An instance type as EC2 describes it.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// Its name.
    pub(super) name: String,
    /// All labels but region, zone, operating system and how it is bought.
    pub(super) labels: Labels,
    /// CPU, memory as reported, accelerators and branch interfaces; neither pods nor disks.
    pub(super) capacity: Resources,
    /// What node classes may want.
    pub(super) facts: Facts,
}

/// Facts that decide what a node class makes of a type, or whether it can use it at all.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// Most interfaces of each network card; the first is the default one.
    pub(super) card_interfaces: Vec<u32>,
    /// IPv4 addresses of each interface.
    pub(super) addresses_per_interface: u32,
    /// Has the elastic network adapter.
    pub(super) ena: bool,
    /// Most elastic fabric adapters.
    pub(super) efa: u32,
    /// Supports Nitro Enclaves.
    pub(super) enclaves: bool,
    /// Supports nested virtualisation.
    pub(super) nested_virtualization: bool,
    /// All local disks together.
    pub(super) local_storage: Option<Amount>,
    /// How many EBS volumes it takes.
    pub(super) attachments: EbsAttachments,
}

/// How many EBS volumes a type takes beside what it always has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EbsAttachments {
    /// So many; the root volume is one of them.
    pub(super) most: u64,
    /// Network interfaces beyond the first take these places too.
    pub(super) shares_with_interfaces: bool,
}

impl Facts {
    /// How many pods get an address of their own when this many interfaces of the first card are left out.
    ///
    /// Each interface keeps its first address to itself; two pods use the host's.
    pub(super) fn pods(&self, interfaces_left_out: u32) -> u64 {
        let first_card = self.card_interfaces.first().copied().unwrap_or(0);
        match first_card.saturating_sub(interfaces_left_out) {
            0 => 0,
            usable => u64::from(usable) * u64::from(self.addresses_per_interface.saturating_sub(1)) + 2,
        }
    }
}

impl Shape {
    /// From a line of the table; `None` when it has another form.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [
            name,
            vcpu,
            memory_mib,
            arch,
            manufacturer,
            mhz,
            hypervisor,
            encryption,
            ebs_mbps,
            network_mbps,
            local_gb,
            local_nvme,
            addresses,
            cards,
            ena,
            efa,
            branches,
            enclaves,
            nested,
            accelerators,
            attachments,
        ] = fields.as_slice()
        else {
            return None;
        };
        let mut labels = name_labels(name);
        labels.insert(HYPERVISOR.to_owned(), (*hypervisor).to_owned());
        labels.insert(labels::ARCH.to_owned(), (*arch).to_owned());
        let mut set = |key: &str, value: &str| labels.insert(label(key), value.to_owned());
        set("instance-cpu", vcpu);
        set("instance-memory", memory_mib);
        set("instance-cpu-manufacturer", manufacturer);
        set("instance-cpu-sustained-clock-speed-mhz", mhz);
        let encrypted = if *encryption == "1" { "true" } else { "false" };
        set("instance-encryption-in-transit-supported", encrypted);
        let optional = [
            ("instance-ebs-bandwidth", *ebs_mbps),
            ("instance-network-bandwidth", *network_mbps),
            (
                "instance-local-nvme",
                if *local_nvme == "1" { *local_gb } else { "" },
            ),
        ];
        for (key, value) in optional.into_iter().filter(|(_, value)| !value.is_empty()) {
            set(key, value);
        }

        let mut capacity = raw_size(vcpu, memory_mib, branches)?;
        let devices: Vec<&str> = accelerators.split_whitespace().collect();
        add_accelerators(&devices, &mut labels, &mut capacity)?;

        let local_storage = match *local_gb {
            "" => None,
            gb => Some(Amount::new(gb.parse::<u64>().ok()? * DECIMAL_GB)),
        };
        let facts = Facts {
            card_interfaces: card_interfaces(cards)?,
            addresses_per_interface: addresses.parse().ok()?,
            ena: *ena == "1",
            efa: efa.parse().ok()?,
            enclaves: *enclaves == "1",
            nested_virtualization: *nested == "1",
            local_storage,
            attachments: ebs_attachments(attachments, hypervisor)?,
        };
        Some(Self {
            name: (*name).to_owned(),
            labels,
            capacity,
            facts,
        })
    }
}

/// `27`, or `32 dedicated`. Only on Nitro do interfaces and volumes share their places.
fn ebs_attachments(text: &str, hypervisor: &str) -> Option<EbsAttachments> {
    let (most, is_dedicated) = match text.strip_suffix(" dedicated") {
        Some(most) => (most, true),
        None => (text, false),
    };
    Some(EbsAttachments {
        most: most.parse().ok()?,
        shares_with_interfaces: !is_dedicated && hypervisor != "xen",
    })
}

/// CPU, memory and branch interfaces.
fn raw_size(vcpu: &str, memory_mib: &str, branches: &str) -> Option<Resources> {
    let mut capacity = Resources::new();
    capacity.set(ResourceName::Cpu, Amount::new(vcpu.parse::<u64>().ok()? * 1_000));
    capacity.set(
        ResourceName::Memory,
        Amount::new(memory_mib.parse::<u64>().ok()? * MIB),
    );
    set_if_any(&mut capacity, "vpc.amazonaws.com/pod-eni", branches.parse().ok()?);
    Some(capacity)
}

/// `karpenter.k8s.aws/<name>`.
pub(super) fn label(name: &str) -> String {
    // By hand, since formatting costs more than all else of reading the table.
    let mut key = String::with_capacity(labels::KARPENTER_AWS_DOMAIN.len() + 1 + name.len());
    key.push_str(labels::KARPENTER_AWS_DOMAIN);
    key.push('/');
    key.push_str(name);
    key
}

/// A resource that a machine has none of isn't named at all.
pub(super) fn set_if_any(capacity: &mut Resources, name: &str, count: u64) {
    if count > 0 {
        capacity.set(ResourceName::from(name), Amount::new(count));
    }
}

/// The labels that follow from a type's name alone; a name of another form than EC2's gives only itself.
pub(super) fn name_labels(name: &str) -> Labels {
    let mut result = Labels::from([(labels::INSTANCE_TYPE.to_owned(), name.to_owned())]);
    let Some((family, size)) = name.split_once('.') else {
        return result;
    };
    result.insert(label("instance-family"), family.to_owned());
    result.insert(label("instance-size"), size.to_owned());
    let flex = family.contains("-flex").to_string();
    result.insert(label("instance-capability-flex"), flex);
    if let Some((category, generation)) = category_and_generation(family) {
        result.insert(label("instance-category"), category.to_owned());
        result.insert(label("instance-generation"), generation.to_owned());
    }
    result
}

/// `m7i` is m, 7; in `u7in-16tb` and `u-12tb1` the size of the memory is no generation.
fn category_and_generation(family: &str) -> Option<(&str, &str)> {
    let (category, rest) = split_while(family, |byte| byte.is_ascii_lowercase());
    let rest = rest
        .strip_prefix('-')
        .map(|memory| split_while(memory, |byte| byte.is_ascii_digit()).1)
        .and_then(|memory| memory.strip_prefix("tb"))
        .unwrap_or(rest);
    let (generation, _) = split_while(rest, |byte| byte.is_ascii_digit());
    (!category.is_empty() && !generation.is_empty()).then_some((category, generation))
}

fn split_while(text: &str, holds: impl Fn(u8) -> bool) -> (&str, &str) {
    let end = text.bytes().position(|byte| !holds(byte)).unwrap_or(text.len());
    text.split_at(end)
}

/// `8 7` or `2x32`: interfaces of each card, equal neighbours counted.
fn card_interfaces(text: &str) -> Option<Vec<u32>> {
    let mut cards = Vec::new();
    for run in text.split_whitespace() {
        let (interfaces, count) = run.split_once('x').unwrap_or((run, "1"));
        cards.extend(std::iter::repeat_n(
            interfaces.parse::<u32>().ok()?,
            count.parse().ok()?,
        ));
    }
    Some(cards)
}

/// Resource under which GPUs of a manufacturer are asked for.
fn gpu_resource(manufacturer: &str) -> Option<&'static str> {
    Some(match manufacturer {
        "nvidia" => "nvidia.com/gpu",
        "amd" => "amd.com/gpu",
        "habana" => "habana.ai/gaudi",
        _ => return None,
    })
}

/// Each device reads `kind:manufacturer:name:count:detail`; detail is a GPU's memory in MiB, a Neuron device's cores.
///
/// Labels speak of a machine with one kind of GPU, and of the Neuron device before any other inference accelerator.
fn add_accelerators(devices: &[&str], labels: &mut Labels, capacity: &mut Resources) -> Option<()> {
    let one_gpu = devices.iter().filter(|device| device.starts_with("gpu:")).count() == 1;
    let mut neuron_seen = false;
    for device in devices {
        let fields: Vec<&str> = device.split(':').collect();
        let [kind, manufacturer, name, count, detail] = fields.as_slice() else {
            return None;
        };
        let (number, detail_number) = (count.parse::<u64>().ok()?, detail.parse::<u64>().ok()?);
        let mut set = |key: &str, value: &str| labels.insert(label(key), value.to_owned());
        match *kind {
            "gpu" => {
                if one_gpu {
                    set("instance-gpu-manufacturer", manufacturer);
                    set("instance-gpu-name", name);
                    set("instance-gpu-count", count);
                    set("instance-gpu-memory", detail);
                }
                if let Some(resource) = gpu_resource(manufacturer) {
                    let present = capacity.get(&ResourceName::from(resource)).get();
                    set_if_any(capacity, resource, present + number);
                }
            }
            "neuron" | "inference" if !neuron_seen => {
                neuron_seen = *kind == "neuron";
                set("instance-accelerator-manufacturer", manufacturer);
                set("instance-accelerator-name", name);
                set("instance-accelerator-count", count);
                if neuron_seen {
                    set_if_any(capacity, "aws.amazon.com/neuron", number);
                    set_if_any(capacity, "aws.amazon.com/neuroncore", number * detail_number);
                }
            }
            _ => {}
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_category_and_generation() {
        for (family, expected) in [
            ("m5", Some(("m", "5"))),
            ("c7i-flex", Some(("c", "7"))),
            ("u-12tb1", Some(("u", "1"))),
            ("u7in-16tb", Some(("u", "7"))),
            ("trn1n", Some(("trn", "1"))),
            ("mac", None),
            ("", None),
        ] {
            assert_eq!(category_and_generation(family), expected, "{family}");
        }
        assert_eq!(name_labels("odd").len(), 1);
    }

    #[test]
    fn interfaces_left_out_lower_the_pods() {
        let facts = Facts {
            card_interfaces: card_interfaces("8 7").unwrap(),
            addresses_per_interface: 50,
            ena: true,
            efa: 1,
            enclaves: false,
            nested_virtualization: false,
            local_storage: None,
            attachments: ebs_attachments("32 dedicated", "nitro").unwrap(),
        };
        assert_eq!((facts.pods(0), facts.pods(1), facts.pods(9)), (394, 345, 0));
    }
}
