//! Catalog: instance types as data, in place of the built-in EC2 catalogue.
//!
//! A file format; its definition is printed so that editors and API servers can check it. Prices are $ per hour.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::node_class::ReservationType;
use super::{Resources, absent, schema, whole};

/// The instance types, and where they are sold.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "dovetail.sh",
    version = "v1alpha1",
    kind = "Catalog",
    plural = "catalogs",
    category = "dovetail",
    doc = "Instance types as data, in place of the built-in EC2 catalogue.",
    printcolumn(name = "Region", type_ = "string", json_path = ".spec.region"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct CatalogSpec {
    /// How many addresses a node takes when it starts; without it, the type's pod slots.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole::optional"
    )]
    #[schemars(extend("minimum" = 0))]
    pub addresses_per_node: Option<i64>,
    /// The instance types; the built-in ones of the region, where there are reservations and nothing is said.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null))]
    pub instance_types: Vec<CatalogInstanceType>,
    /// The region; us-east-1, where nothing else says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minLength" = 1))]
    pub region: Option<String>,
    /// Capacity reservations, beside those that instance types have among their offerings.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null))]
    pub reservations: Vec<CatalogReservation>,
    /// Subnets. Where there are any, every launch takes its addresses from one subnet of its zone.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null))]
    pub subnets: Vec<CatalogSubnet>,
    /// The zones in which a price that names none holds.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null))]
    pub zones: Vec<String>,
}

/// A subnet and its free addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogSubnet {
    /// How many addresses are free.
    #[serde(deserialize_with = "whole::required")]
    #[schemars(extend("minimum" = 0))]
    pub free_addresses: i64,
    /// Identifier.
    #[schemars(extend("minLength" = 1))]
    pub id: String,
    /// Zone.
    #[schemars(extend("minLength" = 1))]
    pub zone: String,
}

/// A capacity reservation: so many machines of one instance type in one zone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogReservation {
    /// When it ends; never, where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Time>,
    /// Identifier.
    #[schemars(extend("minLength" = 1))]
    pub id: String,
    /// Instance type.
    #[schemars(extend("minLength" = 1))]
    pub instance_type: String,
    /// Whether EC2 may take its machines back.
    #[serde(default, deserialize_with = "absent::or_default")]
    pub interruptible: bool,
    /// How many machines it holds in all, those that run among them.
    #[serde(deserialize_with = "whole::required")]
    #[schemars(extend("minimum" = 0))]
    pub limit: i64,
    /// What a machine of it costs more than the reservation itself: nothing, where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = null, "minimum" = 0))]
    pub price: Option<f64>,
    /// Its kind.
    #[serde(default, deserialize_with = "absent::or_default")]
    pub reservation_type: ReservationType,
    /// Zone.
    #[schemars(extend("minLength" = 1))]
    pub zone: String,
}

/// An instance type and its offerings: the short form, the long form, or both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogInstanceType {
    /// What pods may use; computed from capacity and node class, where nothing is said.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "absent::entries"
    )]
    #[schemars(schema_with = "schema::resources")]
    pub allocatable: Resources,
    /// What it has.
    #[schemars(schema_with = "schema::resources")]
    pub capacity: Resources,
    /// How many interruptions a spot node of it has to expect in an hour: 0.0001 is one in 10 000 hours. None are expected,
    /// where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = null, "minimum" = 0))]
    pub interruption_rate: Option<f64>,
    /// Labels, besides those that follow from name and capacity.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "absent::entries"
    )]
    #[schemars(extend("default" = null))]
    pub labels: BTreeMap<String, String>,
    /// Name.
    #[schemars(extend("minLength" = 1))]
    pub name: String,
    /// Offerings in full.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null))]
    pub offerings: Vec<CatalogOffering>,
    /// Price on demand: of every zone, or by zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::zone_prices")]
    pub on_demand: Option<ZonePrices>,
    /// Price as spot: of every zone, or by zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::zone_prices")]
    pub spot: Option<ZonePrices>,
}

/// A price in every zone, or one for each zone; a zone without one, or with 0, has no offer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ZonePrices {
    /// The same in all.
    Everywhere(f64),
    /// By zone.
    ByZone(BTreeMap<String, f64>),
}

/// One way of buying an instance type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogOffering {
    /// Whether it can be had at this moment.
    #[serde(default = "available", deserialize_with = "absent::or_true")]
    pub available: bool,
    /// How it is bought.
    pub capacity_type: CapacityType,
    /// Offerings of one commitment share its limit, the least that any of them states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commitment: Option<String>,
    /// When its capacity reservation ends; never, where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Time>,
    /// Whether EC2 may take the machines of its capacity reservation back.
    #[serde(default, deserialize_with = "absent::or_default")]
    pub interruptible: bool,
    /// How many can be had at this price, those that run among them.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole::optional"
    )]
    #[schemars(extend("minimum" = 0))]
    pub limit: Option<i64>,
    /// Price; none or 0 is no offer, unless it is reserved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = null, "minimum" = 0))]
    pub price: Option<f64>,
    /// The capacity reservation it belongs to; offerings of one reservation share its limit.
    #[serde(default, rename = "reservationID", skip_serializing_if = "Option::is_none")]
    pub reservation_id: Option<String>,
    /// Kind of the capacity reservation.
    #[serde(default, deserialize_with = "absent::or_default")]
    pub reservation_type: ReservationType,
    /// Zone.
    #[schemars(extend("minLength" = 1))]
    pub zone: String,
}

fn available() -> bool {
    true
}

/// How a machine is bought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CapacityType {
    /// At the list price.
    OnDemand,
    /// Cheaper, and EC2 may take it back.
    Spot,
    /// From a capacity reservation.
    Reserved,
}
