//! Objects that others refer to by name or by labels, as far as planning reads them.

use dovetail_solver::model::requirement::Labels;
use serde::Deserialize;

use super::Kind;
use super::meta::{Metadata, or_default};

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Referred {
    /// A namespace.
    Namespace(Namespace),
    /// A service.
    Service(Service),
}

/// A kind that others refer to.
pub trait Refer: Sized + 'static {
    /// Which.
    const KIND: Kind;
    /// The object, where it is of this kind.
    fn of(referred: &Referred) -> Option<&Self>;
}

macro_rules! refer {
    ($($kind:ident $type:ident;)*) => {
        $(impl Refer for $type {
            const KIND: Kind = Kind::$kind;
            fn of(referred: &Referred) -> Option<&Self> {
                match referred {
                    Referred::$kind(object) => Some(object),
                    _ => None,
                }
            }
        })*
    };
}

refer! {
    Namespace Namespace;
    Service Service;
}

/// A namespace.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Namespace {
    /// What all objects have.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Metadata,
}

/// A service.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Service {
    /// What it wants.
    #[serde(default, deserialize_with = "or_default")]
    pub spec: ServiceSpec,
}

/// What a service wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ServiceSpec {
    /// Labels of the pods behind it; without any there are none.
    #[serde(default, deserialize_with = "or_default")]
    pub selector: Labels,
}
