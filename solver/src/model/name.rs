//! Names as types, so that a zone can't be passed where a node pool is wanted.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl<T: Into<String>> From<T> for $name {
            fn from(name: T) -> Self {
                Self(name.into())
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    )*};
}

names! {
    /// Name of a NodePool.
    NodePoolName;
    /// Name of a node class (EC2NodeClass).
    NodeClassName;
    /// Name of a Node, or of a NodeClaim that has none yet.
    NodeName;
    /// Name of an EC2 instance type, such as `c7i.large`.
    InstanceTypeName;
    /// Name of an availability zone, such as `us-east-1a`.
    ZoneName;
    /// Id of a subnet, such as `subnet-0123`.
    SubnetId;
}

/// Namespace and name of a pod; written `namespace/name`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodName {
    /// Its namespace.
    pub namespace: String,
    /// Its name there.
    pub name: String,
}

/// A text that isn't `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("expected NAMESPACE/NAME, got \"{0}\"")]
pub struct PodNameError(String);

impl PodName {
    /// From its two parts.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for PodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl FromStr for PodName {
    type Err = PodNameError;

    fn from_str(text: &str) -> Result<Self, PodNameError> {
        match text.split_once('/') {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok(Self::new(namespace, name))
            }
            _ => Err(PodNameError(text.chars().take(80).collect())),
        }
    }
}

impl Serialize for PodName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PodName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}
