//! Amounts of resources in integer base units.
//!
//! Base units: CPU in milli-CPU, memory and every kind of storage in bytes, everything else in counts. Requests
//! round up on the way in, capacities down. A resource that is missing counts as zero, as in Kubernetes.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::quantity::{Quantity, QuantityError, Rounding};

/// Name of a resource; any extended resource is one.
///
/// The order (CPU, memory, ephemeral storage, pods, then the rest by name) is the order of display and of matrix columns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum ResourceName {
    /// `cpu`, in milli-CPU.
    Cpu,
    /// `memory`, in bytes.
    Memory,
    /// `ephemeral-storage`, in bytes.
    EphemeralStorage,
    /// `pods`, the pod slots of a node, in counts.
    Pods,
    /// Any other: `nvidia.com/gpu`, `hugepages-2Mi`, `vpc.amazonaws.com/pod-eni`, …
    Other(String),
}

/// Unit of the integer that counts a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Thousandths of a CPU.
    MilliCpu,
    /// Bytes.
    Bytes,
    /// Whole things.
    Count,
}

impl ResourceName {
    /// The name in Kubernetes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::EphemeralStorage => "ephemeral-storage",
            Self::Pods => "pods",
            Self::Other(name) => name,
        }
    }

    /// What one of it is.
    #[must_use]
    pub fn unit(&self) -> Unit {
        match self {
            Self::Cpu => Unit::MilliCpu,
            Self::Memory | Self::EphemeralStorage => Unit::Bytes,
            Self::Pods => Unit::Count,
            Self::Other(name) if name.starts_with("hugepages-") || name == "storage" => Unit::Bytes,
            Self::Other(_) => Unit::Count,
        }
    }
}

impl From<String> for ResourceName {
    fn from(name: String) -> Self {
        match name.as_str() {
            "cpu" => Self::Cpu,
            "memory" => Self::Memory,
            "ephemeral-storage" => Self::EphemeralStorage,
            "pods" => Self::Pods,
            _ => Self::Other(name),
        }
    }
}

impl From<&str> for ResourceName {
    fn from(name: &str) -> Self {
        Self::from(name.to_owned())
    }
}

impl From<ResourceName> for String {
    fn from(name: ResourceName) -> Self {
        name.as_str().to_owned()
    }
}

impl fmt::Display for ResourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// An amount of one resource in its base unit ([`ResourceName::unit`]); never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Amount(u64);

impl Amount {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// From base units.
    #[must_use]
    pub const fn new(base_units: u64) -> Self {
        Self(base_units)
    }

    /// In base units.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Both together; sticks at the largest amount rather than wrapping (no node has it, so nothing fits).
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// What is left, zero at least.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This many times; sticks at the largest amount.
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }

    /// As the text Kubernetes users write: `1930m`, `3Gi`, `3114Mi`, `29`.
    #[must_use]
    pub fn display(self, unit: Unit) -> AmountText {
        AmountText { amount: self, unit }
    }

    /// From an exact quantity of the named resource.
    ///
    /// # Errors
    /// Negative amounts and such as don't fit 63 bits in the base unit.
    pub fn from_quantity(
        name: &ResourceName,
        quantity: Quantity,
        rounding: Rounding,
    ) -> Result<Self, QuantityError> {
        if quantity.is_negative() {
            return Err(QuantityError::Negative(quantity.to_string()));
        }
        let base_units = match name.unit() {
            Unit::MilliCpu => quantity.millis(rounding),
            Unit::Bytes | Unit::Count => quantity.units(rounding),
        };
        base_units
            .and_then(|units| u64::try_from(units).ok())
            .map(Self)
            .ok_or_else(|| QuantityError::OutOfRange(quantity.to_string()))
    }
}

/// An amount with its unit, for people and manifests.
#[derive(Clone, Copy, Debug)]
pub struct AmountText {
    amount: Amount,
    unit: Unit,
}

impl fmt::Display for AmountText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.amount.0;
        let text = match self.unit {
            Unit::MilliCpu if value.is_multiple_of(1_000) => format!("{}", value / 1_000),
            Unit::MilliCpu => format!("{value}m"),
            Unit::Count => format!("{value}"),
            Unit::Bytes => [
                (1_u64 << 40, "Ti"),
                (1 << 30, "Gi"),
                (1 << 20, "Mi"),
                (1 << 10, "Ki"),
            ]
            .iter()
            .find(|(size, _)| value != 0 && value.is_multiple_of(*size))
            .map_or_else(
                || format!("{value}"),
                |(size, suffix)| format!("{}{suffix}", value / size),
            ),
        };
        f.pad(&text)
    }
}

/// Amounts by resource. Missing is zero; a zero that was written is kept (Kubernetes shows it too).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Resources(BTreeMap<ResourceName, Amount>);

/// Why a resource map can't be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{name}: {error}")]
pub struct ResourcesError {
    /// The resource whose quantity is wrong.
    pub name: ResourceName,
    /// What is wrong with it.
    pub error: QuantityError,
}

impl Resources {
    /// No resources.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads quantities as written in a manifest.
    ///
    /// # Errors
    /// The first resource whose quantity is malformed, negative or out of range.
    pub fn parse<'a, I>(quantities: I, rounding: Rounding) -> Result<Self, ResourcesError>
    where
        I: IntoIterator<Item = (&'a str, &'a str)>,
    {
        let mut resources = Self::new();
        for (name, text) in quantities {
            let name = ResourceName::from(name);
            let amount = text
                .parse::<Quantity>()
                .and_then(|quantity| Amount::from_quantity(&name, quantity, rounding))
                .map_err(|error| ResourcesError {
                    name: name.clone(),
                    error,
                })?;
            resources.set(name, amount);
        }
        Ok(resources)
    }

    /// The amount of one resource; zero where it is missing.
    #[must_use]
    pub fn get(&self, name: &ResourceName) -> Amount {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// Whether the resource is named at all, even with zero.
    #[must_use]
    pub fn contains(&self, name: &ResourceName) -> bool {
        self.0.contains_key(name)
    }

    /// Replaces the amount of one resource.
    pub fn set(&mut self, name: ResourceName, amount: Amount) {
        self.0.insert(name, amount);
    }

    /// Adds to one resource.
    pub fn add(&mut self, name: ResourceName, amount: Amount) {
        let sum = self.0.entry(name).or_default();
        *sum = sum.plus(amount);
    }

    /// Adds all of another.
    pub fn add_all(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            match self.0.get_mut(name) {
                Some(sum) => *sum = sum.plus(*amount),
                None => self.set(name.clone(), *amount),
            }
        }
    }

    /// Takes all of another away, each resource down to zero at least. Resources only in `other` are ignored.
    pub fn subtract_all(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            if let Some(rest) = self.0.get_mut(name) {
                *rest = rest.minus(*amount);
            }
        }
    }

    /// The larger of both, resource by resource.
    #[must_use]
    pub fn larger(&self, other: &Self) -> Self {
        let mut result = self.clone();
        for (name, amount) in &other.0 {
            let larger = result.get(name).max(*amount);
            result.set(name.clone(), larger);
        }
        result
    }

    /// This many times all of it.
    #[must_use]
    pub fn times(&self, count: u64) -> Self {
        Self(
            self.0
                .iter()
                .map(|(name, amount)| (name.clone(), amount.times(count)))
                .collect(),
        )
    }

    /// Whether a node with `available` has room for it: every amount above zero is there.
    #[must_use]
    pub fn fits(&self, available: &Self) -> bool {
        self.first_lacking(available).is_none()
    }

    /// The first resource of which `available` has less.
    #[must_use]
    pub fn first_lacking(&self, available: &Self) -> Option<&ResourceName> {
        self.0
            .iter()
            .find(|(name, amount)| **amount > available.get(name))
            .map(|(name, _)| name)
    }

    /// In the order of [`ResourceName`].
    pub fn iter(&self) -> impl Iterator<Item = (&ResourceName, Amount)> {
        self.0.iter().map(|(name, amount)| (name, *amount))
    }

    /// Nothing named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(ResourceName, Amount)> for Resources {
    fn from_iter<I: IntoIterator<Item = (ResourceName, Amount)>>(amounts: I) -> Self {
        Self(amounts.into_iter().collect())
    }
}

impl fmt::Display for Resources {
    /// `cpu 3, memory 3Gi, pods 2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, amount)) in self.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{name} {}", amount.display(name.unit()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_in_base_units_and_prints_what_people_write() {
        let asked = Resources::parse(
            [("cpu", "1500m"), ("memory", "3Gi"), ("nvidia.com/gpu", "1")],
            Rounding::Up,
        )
        .unwrap();
        assert_eq!(asked.get(&ResourceName::Cpu), Amount::new(1_500));
        assert_eq!(asked.to_string(), "cpu 1500m, memory 3Gi, nvidia.com/gpu 1");
        let error = Resources::parse([("memory", "-1Gi")], Rounding::Up).unwrap_err();
        assert_eq!(error.to_string(), "memory: \"-1073741824\" is negative");
    }

    #[test]
    fn a_resource_that_is_absent_counts_as_zero() {
        let asked = Resources::parse([("cpu", "0"), ("nvidia.com/gpu", "1")], Rounding::Up).unwrap();
        let offered = Resources::parse([("cpu", "2")], Rounding::Down).unwrap();
        assert_eq!(
            asked.first_lacking(&offered),
            Some(&ResourceName::from("nvidia.com/gpu"))
        );
    }
}
