//! What the volumes of a node class cost per hour: an estimate by EBS's list prices in us-east-1, whatever the region.
//!
//! Source: Amazon EBS pricing, <https://aws.amazon.com/ebs/pricing/>, US East (N. Virginia), on demand; the month has the 730
//! hours of AWS' price calculator. Where a class says nothing of its volumes, those that Karpenter gives images of its family
//! count. Not counted: snapshots, input and output of magnetic volumes, and volumes that only the image brings.

use dovetail_solver::model::money::Price;
use dovetail_solver::model::resources::Amount;

use super::class::{ClassSettings, Disk, is_windows};
use super::sizes::{ROOT_VOLUME, WINDOWS_ROOT_VOLUME};
use crate::api::{AmiFamily, VolumeType};

/// Bytes of a gibibyte, the least that EBS bills.
const GIBIBYTE: u64 = 1 << 30;
/// Hours of a month.
const MONTH: u128 = 730;
/// Bottlerocket's own volume, beside the one for pods.
const BOTTLEROCKET_SYSTEM: u64 = 4 << 30;
/// Operations per second that a gp3 volume has without charge.
const GP3_IOPS: u64 = 3_000;
/// MiB per second that it has without charge.
const GP3_THROUGHPUT: u64 = 125;
/// Operations of an io2 volume up to which each of two prices holds.
const IO2_TIERS: [u64; 2] = [32_000, 64_000];

/// Of one node.
#[must_use]
pub fn price_of_volumes(class: &ClassSettings) -> Price {
    let root = if is_windows(class.ami_family) {
        WINDOWS_ROOT_VOLUME.get()
    } else {
        ROOT_VOLUME.get()
    };
    let monthly: u128 = if class.volumes.is_empty() {
        let system = match class.ami_family {
            AmiFamily::Bottlerocket => monthly(Disk::default(), BOTTLEROCKET_SYSTEM),
            _ => 0,
        };
        system + monthly(Disk::default(), root)
    } else {
        let volumes = class.volumes.iter();
        let disks = volumes.filter_map(|volume| Some((volume.disk?, volume.size)));
        // A snapshot's size isn't known: the usual one.
        disks
            .map(|(disk, size)| monthly(disk, size.map_or(root, Amount::get)))
            .sum()
    };
    Price::from_micros(u64::try_from((monthly + MONTH / 2) / MONTH).unwrap_or(u64::MAX))
}

/// Micro-dollars per month of a volume of so many bytes.
fn monthly(disk: Disk, size: u64) -> u128 {
    let gibibytes = size.div_ceil(GIBIBYTE);
    let iops = disk.iops.unwrap_or(0);
    let each = |amount: u64, micros: u64| u128::from(amount) * u128::from(micros);
    match disk.kind.unwrap_or(VolumeType::Gp3) {
        VolumeType::Gp3 => {
            let throughput = disk.throughput.unwrap_or(0);
            each(gibibytes, 80_000)
                + each(iops.saturating_sub(GP3_IOPS), 5_000)
                + each(throughput.saturating_sub(GP3_THROUGHPUT), 40_000)
        }
        VolumeType::Gp2 => each(gibibytes, 100_000),
        VolumeType::Io1 => each(gibibytes, 125_000) + each(iops, 65_000),
        VolumeType::Io2 => {
            let [first, second] = IO2_TIERS;
            each(gibibytes, 125_000)
                + each(iops.min(first), 65_000)
                + each(iops.min(second).saturating_sub(first), 45_500)
                + each(iops.saturating_sub(second), 32_000)
        }
        VolumeType::St1 => each(gibibytes, 45_000),
        VolumeType::Sc1 => each(gibibytes, 15_000),
        VolumeType::Standard => each(gibibytes, 50_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::EC2NodeClass;

    /// Micro-dollars per hour.
    fn price(spec: &serde_json::Value) -> u64 {
        let class: EC2NodeClass = serde_json::from_value(serde_json::json!({
            "metadata": {"name": "default"}, "spec": spec,
        }))
        .unwrap();
        price_of_volumes(&ClassSettings::of(&class).unwrap()).micros()
    }

    fn disk(ebs: &serde_json::Value) -> u64 {
        price(&serde_json::json!({
            "amiFamily": "AL2023", "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": ebs}],
        }))
    }

    #[test]
    fn a_class_that_says_nothing_has_the_volumes_of_its_images() {
        let of = |family: &str| price(&serde_json::json!({"amiFamily": family}));
        // 20 GiB of gp3: $1.60 a month.
        assert_eq!((of("AL2"), of("AL2023"), of("Custom")), (2_192, 2_192, 2_192));
        // 4 GiB more: $1.92.
        assert_eq!(of("Bottlerocket"), 2_630);
        // 50 GiB: $4.00.
        assert_eq!(of("Windows2022"), 5_479);
    }

    #[test]
    fn each_kind_has_its_price_by_size_operations_and_throughput() {
        for (ebs, monthly) in [
            (serde_json::json!({"volumeSize": "100Gi"}), 8_000_000),
            (
                serde_json::json!({"volumeSize": "100Gi", "volumeType": "gp3", "iops": 3000, "throughput": 125}),
                8_000_000,
            ),
            (
                serde_json::json!({"volumeSize": "100Gi", "volumeType": "gp3", "iops": 4000, "throughput": 250}),
                18_000_000,
            ),
            (
                serde_json::json!({"volumeSize": "100Gi", "volumeType": "gp2", "iops": 4000}),
                10_000_000,
            ),
            (
                serde_json::json!({"volumeSize": "100Gi", "volumeType": "io1", "iops": 1000}),
                77_500_000,
            ),
            (
                serde_json::json!({"volumeSize": "100Gi", "volumeType": "io2", "iops": 1000}),
                77_500_000,
            ),
            (
                serde_json::json!({"volumeSize": "1Ti", "volumeType": "io2", "iops": 70000}),
                3_856_000_000_u64,
            ),
            (
                serde_json::json!({"volumeSize": "1Ti", "volumeType": "st1"}),
                46_080_000,
            ),
            (
                serde_json::json!({"volumeSize": "1Ti", "volumeType": "sc1"}),
                15_360_000,
            ),
            (
                serde_json::json!({"volumeSize": "100Gi", "volumeType": "standard"}),
                5_000_000,
            ),
            // 93.1 GiB are billed as 94.
            (serde_json::json!({"volumeSize": "100G"}), 7_520_000),
            (serde_json::json!({"snapshotID": "snap-1"}), 1_600_000),
        ] {
            assert_eq!(disk(&ebs), (monthly + 365) / 730, "{ebs}");
        }
    }

    #[test]
    fn all_volumes_count_and_a_device_without_one_does_not() {
        let of = |mappings: serde_json::Value| {
            price(&serde_json::json!({"amiFamily": "AL2023", "blockDeviceMappings": mappings}))
        };
        let root =
            serde_json::json!({"deviceName": "/dev/xvda", "rootVolume": true, "ebs": {"volumeSize": "20Gi"}});
        let data = serde_json::json!({"deviceName": "/dev/sdb", "ebs": {"volumeSize": "80Gi"}});
        let none = serde_json::json!({"deviceName": "/dev/sdc"});
        assert_eq!(of(serde_json::json!([root, data, none])), 10_959, "$8.00 a month");
        assert_eq!(of(serde_json::json!([none])), 0);
    }
}
