//! EC2NodeClass: the EC2 half of a node pool. Which images, subnets, security groups, disks and settings its machines get.

mod machine;
mod selectors;
mod status;

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{absent, schema, whole};

pub use machine::{
    BlockDevice, BlockDeviceMapping, ConnectionTracking, CpuOptions, EnclaveOptions, HttpTokens,
    InstanceStorePolicy, InterfaceType, MetadataOptions, NetworkInterface, Switch, VolumeType,
};
pub use selectors::{
    AmiSelectorTerm, CapacityReservationSelectorTerm, InstanceMatchCriteria, PlacementGroupSelector,
    SecurityGroupSelectorTerm, SubnetSelectorTerm,
};
pub use status::{
    Ami, AmiRequirement, CapacityReservation, EC2NodeClassStatus, ReservationState, ReservationType,
    SecurityGroup, Subnet,
};

/// Settings of the kubelet, as its own configuration file names them; the schema keeps whatever is written.
pub type KubeletSettings = serde_json::Map<String, serde_json::Value>;

/// What the machines of a class are made from.
///
/// The schema admits an object without `spec`, which reads as the empty one here.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "Self")]
#[kube(
    group = "karpenter.k8s.aws",
    version = "v1",
    kind = "EC2NodeClass",
    plural = "ec2nodeclasses",
    category = "karpenter",
    shortname = "ec2nc",
    shortname = "ec2ncs",
    status = "EC2NodeClassStatus",
    doc = "The EC2 half of a node pool: images, subnets, security groups, disks and settings of its machines.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Role", type_ = "string", priority = 1, json_path = ".spec.role")
)]
#[schemars(extend(
    "required" = ["amiSelectorTerms", "securityGroupSelectorTerms", "subnetSelectorTerms"],
    "x-kubernetes-validations" = schema::class_rules()
))]
pub struct EC2NodeClassSpec {
    /// Where a machine's user data and settings go; follows from the alias, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ami_family: Option<AmiFamily>,
    /// Which images; terms are alternatives.
    #[serde(default, deserialize_with = "absent::or_default")]
    #[schemars(extend("default" = null, "minItems" = 1, "maxItems" = 30, "x-kubernetes-validations" = [
        {
            "rule": "self.all(term, has(term.alias) || has(term.id) || has(term.name) || has(term.ssmParameter) || has(term.tags))",
            "message": "every term needs one of 'alias', 'id', 'name', 'ssmParameter', 'tags'"
        },
        {
            "rule": "self.all(term, !has(term.id) || !(has(term.alias) || has(term.name) || has(term.owner) || has(term.tags)))",
            "message": "'id' excludes 'alias', 'name', 'owner' and 'tags'"
        },
        {
            "rule": "self.all(term, !has(term.alias) || !(has(term.id) || has(term.name) || has(term.owner) || has(term.tags)))",
            "message": "'alias' excludes 'id', 'name', 'owner' and 'tags'"
        },
        {
            "rule": "self.size() == 1 || self.all(term, !has(term.alias))",
            "message": "a term with 'alias' has to be the only one"
        }
    ]))]
    pub ami_selector_terms: Vec<AmiSelectorTerm>,
    /// Whether machines get a public address; as the subnet says, where nothing is said.
    #[serde(
        default,
        rename = "associatePublicIPAddress",
        skip_serializing_if = "Option::is_none"
    )]
    pub associate_public_ip_address: Option<bool>,
    /// Disks.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null, "maxItems" = 50, "x-kubernetes-validations" = [{
        "rule": "self.filter(device, has(device.rootVolume) && device.rootVolume).size() <= 1",
        "message": "at most one device is the root volume"
    }]))]
    pub block_device_mappings: Vec<BlockDeviceMapping>,
    /// Which capacity reservations may be used; terms are alternatives.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null, "maxItems" = 30, "x-kubernetes-validations" = [
        {
            "rule": "self.all(term, has(term.id) || has(term.instanceMatchCriteria) || has(term.tags))",
            "message": "every term needs one of 'id', 'instanceMatchCriteria', 'tags'"
        },
        {
            "rule": "self.exists(term, !has(term.id) || !(has(term.instanceMatchCriteria) || has(term.ownerID) || has(term.tags)))",
            "message": "'id' excludes 'instanceMatchCriteria', 'ownerID' and 'tags'"
        }
    ]))]
    pub capacity_reservation_selector_terms: Vec<CapacityReservationSelectorTerm>,
    /// Timeouts of the connections that security groups track.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_tracking: Option<ConnectionTracking>,
    /// Passed through to EC2 Fleet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Settings of the processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_options: Option<CpuOptions>,
    /// Whether metrics come every minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detailed_monitoring: Option<bool>,
    /// Nitro Enclaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enclave_options: Option<EnclaveOptions>,
    /// The instance profile of machines; excludes `role`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = [
        { "rule": "self != ''", "message": "an instance profile has a name" }
    ]))]
    pub instance_profile: Option<String>,
    /// What is done with local disks; nothing, where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_store_policy: Option<InstanceStorePolicy>,
    /// How many address prefixes the first network interface gets.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole::optional"
    )]
    #[schemars(extend("minimum" = 0))]
    pub ip_prefix_count: Option<i32>,
    /// Settings of the kubelet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::anything")]
    pub kubelet: Option<KubeletSettings>,
    /// How machines reach their metadata.
    #[serde(default, deserialize_with = "absent::or_default")]
    #[schemars(extend("default" = {
        "httpEndpoint": "enabled",
        "httpProtocolIPv6": "disabled",
        "httpPutResponseHopLimit": 1,
        "httpTokens": "required"
    }))]
    pub metadata_options: MetadataOptions,
    /// Network interfaces, where EC2's own choice won't do.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "absent::or_default"
    )]
    #[schemars(extend("default" = null, "maxItems" = 150, "x-kubernetes-validations" = schema::interface_rules()))]
    pub network_interfaces: Vec<NetworkInterface>,
    /// The placement group of machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement_group_selector: Option<PlacementGroupSelector>,
    /// The role of machines, for which instance profiles are made; excludes `instanceProfile`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = [
        { "rule": "self != ''", "message": "a role has a name" }
    ]))]
    pub role: Option<String>,
    /// Which security groups; all that match are attached.
    #[serde(default, deserialize_with = "absent::or_default")]
    #[schemars(extend("default" = null, "maxItems" = 30, "x-kubernetes-validations" = [
        { "rule": "self.size() != 0", "message": "at least one term is needed" },
        {
            "rule": "self.all(term, has(term.id) || has(term.name) || has(term.tags))",
            "message": "every term needs one of 'id', 'name', 'tags'"
        },
        {
            "rule": "self.exists(term, !has(term.id) || !(has(term.name) || has(term.tags)))",
            "message": "'id' excludes 'name' and 'tags'"
        },
        {
            "rule": "self.exists(term, !has(term.name) || !(has(term.id) || has(term.tags)))",
            "message": "'name' excludes 'id' and 'tags'"
        }
    ]))]
    pub security_group_selector_terms: Vec<SecurityGroupSelectorTerm>,
    /// Which subnets; terms are alternatives.
    #[serde(default, deserialize_with = "absent::or_default")]
    #[schemars(extend("default" = null, "maxItems" = 30, "x-kubernetes-validations" = [
        { "rule": "self.size() != 0", "message": "at least one term is needed" },
        {
            "rule": "self.all(term, has(term.id) || has(term.tags))",
            "message": "every term needs one of 'id', 'tags'"
        },
        {
            "rule": "self.exists(term, !has(term.id) || !has(term.tags))",
            "message": "'id' excludes 'tags'"
        }
    ]))]
    pub subnet_selector_terms: Vec<SubnetSelectorTerm>,
    /// Tags of machines and what belongs to them.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "absent::entries"
    )]
    #[schemars(extend("default" = null, "x-kubernetes-validations" = [
        { "rule": "self.all(key, key != '')", "message": "a tag's key is not empty" },
        { "rule": "self.all(key, key != 'eks:eks-cluster-name')", "message": "'eks:eks-cluster-name' is set by EKS" },
        { "rule": "self.all(key, !key.startsWith('kubernetes.io/cluster'))", "message": "'kubernetes.io/cluster…' is set by the controller" },
        { "rule": "self.all(key, key != 'karpenter.sh/nodepool')", "message": "'karpenter.sh/nodepool' is set by the controller" },
        { "rule": "self.all(key, key != 'karpenter.sh/nodeclaim')", "message": "'karpenter.sh/nodeclaim' is set by the controller" },
        { "rule": "self.all(key, key != 'karpenter.k8s.aws/ec2nodeclass')", "message": "'karpenter.k8s.aws/ec2nodeclass' is set by the controller" }
    ]))]
    pub tags: BTreeMap<String, String>,
    /// What a machine runs at its first start, merged with what its family needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_data: Option<String>,
}

// `remote = "Self"` makes the derives above inherent functions, so that a missing or null `spec` can be read as the empty
// one here: kube's derive leaves no other place for it.
impl<'de> Deserialize<'de> for EC2NodeClassSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(transparent)]
        struct Given(#[serde(with = "EC2NodeClassSpec")] EC2NodeClassSpec);
        Ok(Option::<Given>::deserialize(deserializer)?.map_or_else(Self::default, |Given(spec)| spec))
    }
}

impl Serialize for EC2NodeClassSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

/// Families of images, by how their user data and settings are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum AmiFamily {
    /// Amazon Linux 2.
    AL2,
    /// Amazon Linux 2023.
    AL2023,
    /// Bottlerocket.
    Bottlerocket,
    /// User data is passed through as it is.
    Custom,
    /// Windows Server 2019.
    Windows2019,
    /// Windows Server 2022.
    Windows2022,
    /// Windows Server 2025.
    Windows2025,
}
