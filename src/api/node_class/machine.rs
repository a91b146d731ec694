//! What a class says of the machine itself: disks, network interfaces, metadata, processor.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::super::{absent, whole};

/// A disk, by the name under which the machine sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlockDeviceMapping {
    /// Name of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// The volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ebs: Option<BlockDevice>,
    /// Whether pods' scratch space counts as being here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_volume: Option<bool>,
}

/// An EBS volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {
        "rule": "has(self.snapshotID) || has(self.volumeSize)",
        "message": "a volume needs 'snapshotID' or 'volumeSize'"
    },
    {
        "rule": "!has(self.volumeInitializationRate) || (has(self.snapshotID) && self.snapshotID != '')",
        "message": "'volumeInitializationRate' needs 'snapshotID'"
    }
]))]
pub struct BlockDevice {
    /// Whether the volume goes with its machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delete_on_termination: Option<bool>,
    /// Whether it is encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encrypted: Option<bool>,
    /// Operations per second.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole::optional"
    )]
    pub iops: Option<i64>,
    /// The key it is encrypted with.
    #[serde(default, rename = "kmsKeyID", skip_serializing_if = "Option::is_none")]
    pub kms_key_id: Option<String>,
    /// The snapshot it starts as.
    #[serde(default, rename = "snapshotID", skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<String>,
    /// MiB per second.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole::optional"
    )]
    pub throughput: Option<i64>,
    /// MiB per second at which its snapshot is fetched.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole::optional"
    )]
    #[schemars(extend("minimum" = 100, "maximum" = 300))]
    pub volume_initialization_rate: Option<i32>,
    /// Size: a text with one of the units Gi, G, Ti, T.
    // The pattern is odd on purpose, since manifests are judged by it: a bare `Ti` passes, `18Ti` doesn't.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "Option<String>",
        extend(
            "pattern" = "^((?:[1-9][0-9]{0,3}|[1-4][0-9]{4}|[5][0-8][0-9]{3}|59000)Gi|(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|[6][0-3][0-9]{3}|64000)G|([1-9]||[1-5][0-7]|58)Ti|([1-9]||[1-5][0-9]|6[0-3]|64)T)$"
        )
    )]
    pub volume_size: Option<Quantity>,
    /// Kind of volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_type: Option<VolumeType>,
}

/// Kinds of EBS volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VolumeType {
    /// Magnetic, of the previous generation.
    Standard,
    /// Provisioned operations.
    Io1,
    /// Provisioned operations, durable.
    Io2,
    /// General purpose, of the previous generation.
    Gp2,
    /// Cold disks.
    Sc1,
    /// Disks for throughput.
    St1,
    /// General purpose.
    Gp3,
}

/// What is done with a machine's local disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum InstanceStorePolicy {
    /// They become one array that holds pods' scratch space.
    RAID0,
}

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkInterface {
    /// Its number on the card.
    #[serde(deserialize_with = "whole::required")]
    #[schemars(extend("minimum" = 0))]
    pub device_index: i32,
    /// Its kind.
    pub interface_type: InterfaceType,
    /// The card's number.
    #[serde(deserialize_with = "whole::required")]
    #[schemars(extend("minimum" = 0))]
    pub network_card_index: i32,
}

/// Kinds of network interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InterfaceType {
    /// An ordinary one.
    Interface,
    /// One for EFA traffic alone, without an address.
    EfaOnly,
}

/// On or off, in EC2's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Switch {
    /// On.
    Enabled,
    /// Off.
    Disabled,
}

/// Whether a machine's metadata asks for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HttpTokens {
    /// Yes.
    Required,
    /// No.
    Optional,
}

fn enabled() -> Switch {
    Switch::Enabled
}

fn enabled_or<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Switch, D::Error> {
    absent::or(deserializer, enabled)
}

fn disabled() -> Switch {
    Switch::Disabled
}

fn disabled_or<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Switch, D::Error> {
    absent::or(deserializer, disabled)
}

/// One hop: pods in a network of their own don't reach the metadata.
fn one_hop() -> i64 {
    1
}

fn one_hop_or<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    Ok(whole::optional(deserializer)?.unwrap_or_else(one_hop))
}

fn required() -> HttpTokens {
    HttpTokens::Required
}

fn required_or<'de, D: Deserializer<'de>>(deserializer: D) -> Result<HttpTokens, D::Error> {
    absent::or(deserializer, required)
}

/// How a machine's metadata is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetadataOptions {
    /// Whether it is reached at all.
    #[serde(default = "enabled", deserialize_with = "enabled_or")]
    pub http_endpoint: Switch,
    /// Whether it is reached over IPv6.
    #[serde(
        default = "disabled",
        deserialize_with = "disabled_or",
        rename = "httpProtocolIPv6"
    )]
    pub http_protocol_ipv6: Switch,
    /// Over how many network hops its answers go.
    #[serde(default = "one_hop", deserialize_with = "one_hop_or")]
    #[schemars(extend("minimum" = 1, "maximum" = 64))]
    pub http_put_response_hop_limit: i64,
    /// Whether it asks for a token.
    #[serde(default = "required", deserialize_with = "required_or")]
    pub http_tokens: HttpTokens,
}

impl Default for MetadataOptions {
    fn default() -> Self {
        Self {
            http_endpoint: enabled(),
            http_protocol_ipv6: disabled(),
            http_put_response_hop_limit: one_hop(),
            http_tokens: required(),
        }
    }
}

/// Timeouts of tracked connections, in seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.tcpEstablishedTimeout) || has(self.udpStreamTimeout) || has(self.udpTimeout)",
    "message": "at least one timeout is needed"
}]))]
pub struct ConnectionTracking {
    /// Idle TCP connections.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole::optional"
    )]
    #[schemars(extend("minimum" = 60, "maximum" = 432000))]
    pub tcp_established_timeout: Option<i32>,
    /// Idle UDP flows that had more than one exchange.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole::optional"
    )]
    #[schemars(extend("minimum" = 60, "maximum" = 180))]
    pub udp_stream_timeout: Option<i32>,
    /// Idle UDP flows of one exchange.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole::optional"
    )]
    #[schemars(extend("minimum" = 30, "maximum" = 60))]
    pub udp_timeout: Option<i32>,
}

/// Settings of the processor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CpuOptions {
    /// Whether machines can run virtual machines; on leaves fewer instance types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nested_virtualization: Option<Switch>,
}

/// Nitro Enclaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnclaveOptions {
    /// Whether machines can run enclaves; true leaves fewer instance types.
    pub enabled: bool,
}
