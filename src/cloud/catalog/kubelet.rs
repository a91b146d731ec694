//! The kubelet settings of a node class that change what pods may use of its machines.
//!
//! Read strictly where they count here (a wrong figure would make every plan wrong), and passed over elsewhere. An
//! expression in place of a number is refused: Karpenter has those behind a gate that is off by default.

use dovetail_solver::model::quantity::{Quantity, Rounding};
use dovetail_solver::model::resources::{Amount, ResourceName, Resources};
use serde_json::Value;

use crate::api;

/// Parts in a whole, for shares such as `7.5%`.
const MILLION: u64 = 1_000_000;
/// Settings that every AMI family gets; others need AL2023, which passes all on, or Custom, which passes none.
const MANAGED: [&str; 12] = [
    "clusterDNS",
    "cpuCFSQuota",
    "evictionHard",
    "evictionMaxPodGracePeriod",
    "evictionSoft",
    "evictionSoftGracePeriod",
    "imageGCHighThresholdPercent",
    "imageGCLowThresholdPercent",
    "kubeReserved",
    "maxPods",
    "podsPerCore",
    "systemReserved",
];
/// What may be reserved; `pid` is no resource of pods.
const RESERVABLE: [&str; 4] = ["cpu", "memory", "ephemeral-storage", "pid"];
/// Signals on which the kubelet evicts.
const SIGNALS: [&str; 6] = [
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "pid.available",
];

/// What a node class says of the kubelet, as far as it changes a machine's allocatable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kubelet {
    /// Pod slots, whatever the network interfaces hold.
    pub max_pods: Option<u64>,
    /// Pod slots for each vCPU at most; 0 is no limit.
    pub pods_per_core: Option<u64>,
    /// Kept for the operating system.
    pub system_reserved: Resources,
    /// Kept for Kubernetes' own daemons; what isn't named follows from the machine.
    pub kube_reserved: Resources,
    /// Memory below which pods are evicted.
    pub evict_memory: Option<Threshold>,
    /// Disk space below which pods are evicted.
    pub evict_disk: Option<Threshold>,
}

/// An eviction threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// So much.
    Amount(Amount),
    /// So many millionths of the capacity; all of it switches eviction off.
    Share(u64),
}

impl Threshold {
    /// What is out of reach of pods.
    #[must_use]
    pub fn of(self, capacity: Amount) -> Amount {
        match self {
            Self::Amount(amount) => amount,
            Self::Share(MILLION) => Amount::ZERO,
            Self::Share(millionths) => share(capacity, millionths),
        }
    }
}

/// So many millionths of an amount, rounded up.
pub(super) fn share(amount: Amount, millionths: u64) -> Amount {
    let product = u128::from(amount.get()) * u128::from(millionths);
    Amount::new(u64::try_from(product.div_ceil(u128::from(MILLION))).unwrap_or(u64::MAX))
}

/// Where a setting is wrong, and what is wrong with it.
pub(super) type Flaw = (String, String);

impl Kubelet {
    /// Reads what counts here.
    pub(super) fn of(settings: &api::KubeletSettings, family: api::AmiFamily) -> Result<Self, Flaw> {
        let passes_all = matches!(family, api::AmiFamily::AL2023 | api::AmiFamily::Custom);
        for key in settings.keys() {
            let refused = !passes_all && !MANAGED.contains(&key.as_str())
                || family == api::AmiFamily::Bottlerocket && key == "podsPerCore";
            if refused {
                return Err((
                    key.clone(),
                    format!("images of {family:?} don't take this setting"),
                ));
            }
        }
        Ok(Self {
            max_pods: count(settings, "maxPods")?,
            pods_per_core: count(settings, "podsPerCore")?,
            system_reserved: reserved(settings, "systemReserved")?,
            kube_reserved: reserved(settings, "kubeReserved")?,
            evict_memory: threshold(settings, "memory.available", &ResourceName::Memory)?,
            evict_disk: threshold(settings, "nodefs.available", &ResourceName::EphemeralStorage)?,
        })
    }
}

/// A whole number, perhaps written as text.
fn count(settings: &api::KubeletSettings, key: &str) -> Result<Option<u64>, Flaw> {
    /// Kubernetes keeps these in 32 bits.
    const MOST: u64 = i32::MAX as u64;
    let number = match settings.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Number(number)) => number.as_u64(),
        Some(Value::String(text)) => text.parse().ok(),
        Some(_) => None,
    };
    let wrong = || {
        (
            key.to_owned(),
            format!("expected a whole number from 0 to {MOST}"),
        )
    };
    number
        .filter(|number| *number <= MOST)
        .map(Some)
        .ok_or_else(wrong)
}

/// A map of settings under a key; missing is empty.
fn entries<'a>(
    settings: &'a api::KubeletSettings,
    key: &str,
    known: &[&str],
) -> Result<Vec<(&'a str, String)>, Flaw> {
    let entries = match settings.get(key) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(entries)) => entries,
        Some(_) => return Err((key.to_owned(), "expected a map of names to amounts".to_owned())),
    };
    let mut result = Vec::with_capacity(entries.len());
    for (name, value) in entries {
        let at = || format!("{key}[{name}]");
        if !known.contains(&name.as_str()) {
            return Err((at(), format!("expected one of {}", known.join(", "))));
        }
        match value {
            Value::String(text) => result.push((name.as_str(), text.clone())),
            Value::Number(number) => result.push((name.as_str(), number.to_string())),
            _ => return Err((at(), "expected a quantity such as 100m or 1Gi".to_owned())),
        }
    }
    Ok(result)
}

fn reserved(settings: &api::KubeletSettings, key: &str) -> Result<Resources, Flaw> {
    let mut result = Resources::new();
    for (name, text) in entries(settings, key, &RESERVABLE)? {
        let resource = ResourceName::from(name);
        let amount = amount(&resource, &text).map_err(|what| (format!("{key}[{name}]"), what))?;
        if name != "pid" {
            result.set(resource, amount);
        }
    }
    Ok(result)
}

fn amount(resource: &ResourceName, text: &str) -> Result<Amount, String> {
    text.parse::<Quantity>()
        .and_then(|quantity| Amount::from_quantity(resource, quantity, Rounding::Up))
        .map_err(|error| error.to_string())
}

fn threshold(
    settings: &api::KubeletSettings,
    signal: &str,
    resource: &ResourceName,
) -> Result<Option<Threshold>, Flaw> {
    const KEY: &str = "evictionHard";
    let entries = entries(settings, KEY, &SIGNALS)?;
    let Some((_, text)) = entries.into_iter().find(|(name, _)| *name == signal) else {
        return Ok(None);
    };
    let at = || format!("{KEY}[{signal}]");
    let threshold = match text.strip_suffix('%') {
        None => amount(resource, &text).map(Threshold::Amount),
        Some(percent) => millionths(percent)
            .map(Threshold::Share)
            .ok_or_else(|| format!("\"{text}\" is no share from 0% to 100%")),
    };
    threshold.map(Some).map_err(|what| (at(), what))
}

/// `7.5` per cent are 75 000 millionths.
fn millionths(percent: &str) -> Option<u64> {
    // A plain decimal: no sign, no suffix, no exponent.
    let plain = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    let quantity = percent
        .bytes()
        .all(plain)
        .then(|| percent.parse::<Quantity>().ok())??;
    let thousandths = u64::try_from(quantity.millis(Rounding::Up)?).ok()?;
    (thousandths <= 100_000).then_some(thousandths * 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(json: &Value) -> api::KubeletSettings {
        json.as_object().unwrap().clone()
    }

    fn read(json: &Value, family: api::AmiFamily) -> Result<Kubelet, Flaw> {
        Kubelet::of(&settings(json), family)
    }

    #[test]
    fn reads_what_changes_allocatable() {
        let json = serde_json::json!({
            "maxPods": "110", "podsPerCore": 4, "systemReserved": {"cpu": "100m", "pid": "100"},
            "kubeReserved": {"memory": "1Gi"}, "evictionHard": {"memory.available": "7.5%", "nodefs.available": "2Gi"},
            "shutdownGracePeriod": "30s",
        });
        let kubelet = read(&json, api::AmiFamily::AL2023).unwrap();
        assert_eq!((kubelet.max_pods, kubelet.pods_per_core), (Some(110), Some(4)));
        assert_eq!(kubelet.system_reserved.to_string(), "cpu 100m");
        assert_eq!(kubelet.kube_reserved.to_string(), "memory 1Gi");
        assert_eq!(kubelet.evict_memory, Some(Threshold::Share(75_000)));
        assert_eq!(kubelet.evict_disk, Some(Threshold::Amount(Amount::new(2 << 30))));
        let (path, _) = read(&json, api::AmiFamily::AL2).unwrap_err();
        assert_eq!(path, "shutdownGracePeriod");
    }

    #[test]
    fn refuses_what_makes_no_sense() {
        for (json, path) in [
            (serde_json::json!({"maxPods": -1}), "maxPods"),
            (serde_json::json!({"maxPods": "max_pods * 2"}), "maxPods"),
            (serde_json::json!({"maxPods": 1.5}), "maxPods"),
            (
                serde_json::json!({"kubeReserved": {"cpu": "-1"}}),
                "kubeReserved[cpu]",
            ),
            (
                serde_json::json!({"kubeReserved": {"gpu": "1"}}),
                "kubeReserved[gpu]",
            ),
            (serde_json::json!({"systemReserved": []}), "systemReserved"),
            (
                serde_json::json!({"evictionHard": {"memory.available": "101%"}}),
                "evictionHard[memory.available]",
            ),
            (
                serde_json::json!({"evictionHard": {"memory.available": "-5%"}}),
                "evictionHard[memory.available]",
            ),
            (
                serde_json::json!({"evictionHard": {"swap.available": "5%"}}),
                "evictionHard[swap.available]",
            ),
        ] {
            assert_eq!(read(&json, api::AmiFamily::AL2023).unwrap_err().0, path, "{json}");
        }
        let json = serde_json::json!({"podsPerCore": 4});
        assert!(read(&json, api::AmiFamily::Bottlerocket).is_err());
    }

    #[test]
    fn a_share_rounds_up_and_all_of_it_switches_eviction_off() {
        assert_eq!(Threshold::Share(100_000).of(Amount::new(11)), Amount::new(2));
        assert_eq!(Threshold::Share(1_000_000).of(Amount::new(11)), Amount::ZERO);
    }
}
