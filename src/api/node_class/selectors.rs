//! Terms that select images, subnets, security groups, reservations and a placement group: fields of a term narrow, terms add.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{absent, schema};

/// Selects images.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AmiSelectorTerm {
    /// `family@version`, such as `al2023@latest`: the images that AWS publishes for EKS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 30, "x-kubernetes-validations" = [
        { "rule": "self.matches('^[a-zA-Z0-9]+@.+$')", "message": "an alias reads 'family@version'" },
        {
            "rule": "self.find('^[^@]+') in ['al2', 'al2023', 'bottlerocket', 'windows2019', 'windows2022', 'windows2025']",
            "message": "family is one of al2, al2023, bottlerocket, windows2019, windows2022, windows2025"
        },
        {
            "rule": "!(self.find('^[^@]+') in ['windows2019', 'windows2022', 'windows2025']) || self.find('[^@]+$') == 'latest'",
            "message": "images of Windows have the version 'latest' only"
        }
    ]))]
    pub alias: Option<String>,
    /// One image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = "ami-[0-9a-z]+"))]
    pub id: Option<String>,
    /// Name, with EC2's wildcards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Account number or alias of the owner; narrows only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// An SSM parameter that holds an image's identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssm_parameter: Option<String>,
    /// Tags; `*` asks for the key alone.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "absent::entries"
    )]
    #[schemars(schema_with = "schema::selector_tags")]
    pub tags: BTreeMap<String, String>,
}

/// Selects subnets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubnetSelectorTerm {
    /// One subnet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = "subnet-[0-9a-z]+"))]
    pub id: Option<String>,
    /// Tags; `*` asks for the key alone.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "absent::entries"
    )]
    #[schemars(schema_with = "schema::selector_tags")]
    pub tags: BTreeMap<String, String>,
}

/// Selects security groups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecurityGroupSelectorTerm {
    /// One group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = "sg-[0-9a-z]+"))]
    pub id: Option<String>,
    /// The group's own name, not its tag `Name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Tags; `*` asks for the key alone.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "absent::entries"
    )]
    #[schemars(schema_with = "schema::selector_tags")]
    pub tags: BTreeMap<String, String>,
}

/// Selects capacity reservations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapacityReservationSelectorTerm {
    /// One reservation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = "^cr-[0-9a-z]+$"))]
    pub id: Option<String>,
    /// Which machines run in the reservation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_match_criteria: Option<InstanceMatchCriteria>,
    /// Account number of the owner; narrows only.
    #[serde(default, rename = "ownerID", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = "^[0-9]{12}$"))]
    pub owner_id: Option<String>,
    /// Tags; `*` asks for the key alone.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "absent::entries"
    )]
    #[schemars(schema_with = "schema::selector_tags")]
    pub tags: BTreeMap<String, String>,
}

/// Which machines run in a capacity reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum InstanceMatchCriteria {
    /// Any that fits.
    Open,
    /// Those that name it.
    Targeted,
}

/// Selects one placement group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [
    { "rule": "has(self.id) != has(self.name)", "message": "exactly one of 'id' and 'name' is needed" }
]))]
pub struct PlacementGroupSelector {
    /// Its identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = "^pg-[0-9a-z]+$"))]
    pub id: Option<String>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minLength" = 1))]
    pub name: Option<String>,
}
