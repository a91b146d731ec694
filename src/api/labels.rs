//! Names that other programs rely on: labels, annotations, taints, finalizers, domains.
//!
//! They are Karpenter's, since a cluster that runs it can be taken over and given back; our own are in [`dovetail`].

/// Domain of the core's own labels; a NodePool may use only the listed ones of it.
pub const KARPENTER_DOMAIN: &str = "karpenter.sh";
/// Domain of the EC2 provider's labels.
pub const KARPENTER_AWS_DOMAIN: &str = "karpenter.k8s.aws";

/// The node pool that a node claim or node belongs to.
pub const NODE_POOL: &str = "karpenter.sh/nodepool";
/// `on-demand`, `spot` or `reserved`.
pub const CAPACITY_TYPE: &str = "karpenter.sh/capacity-type";
/// On a node whose claim has found it.
pub const REGISTERED: &str = "karpenter.sh/registered";
/// On a node that is ready for its first pods.
pub const INITIALIZED: &str = "karpenter.sh/initialized";
/// On a node whose taints the controller leaves to somebody else.
pub const DO_NOT_SYNC_TAINTS: &str = "karpenter.sh/do-not-sync-taints";

/// Zone, by its name.
pub const ZONE: &str = "topology.kubernetes.io/zone";
/// Region.
pub const REGION: &str = "topology.kubernetes.io/region";
/// Zone, by the identifier that means the same zone in every account.
pub const ZONE_ID: &str = "topology.k8s.aws/zone-id";
/// Name of the instance type.
pub const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
/// Processor architecture.
pub const ARCH: &str = "kubernetes.io/arch";
/// Operating system.
pub const OS: &str = "kubernetes.io/os";
/// Name of the machine, one of a kind, so never a requirement.
pub const HOSTNAME: &str = "kubernetes.io/hostname";
/// Build number of Windows.
pub const WINDOWS_BUILD: &str = "node.kubernetes.io/windows-build";
/// Keeps a node that is on its way out off new load balancer connections.
pub const EXCLUDE_FROM_LOAD_BALANCERS: &str = "node.kubernetes.io/exclude-from-external-load-balancers";

/// The label that names a node's EC2NodeClass.
pub const EC2_NODE_CLASS: &str = "karpenter.k8s.aws/ec2nodeclass";

/// Resources of this prefix count the volumes that a driver, which is the rest of the name, attaches to a node.
pub const ATTACHMENTS_PREFIX: &str = "attachable-volumes-csi-";

/// Labels of the EC2 provider's domain that say what an instance type is; every kind's requirements may use them.
pub const AWS_TYPE_LABELS: [&str; 22] = [
    "karpenter.k8s.aws/instance-accelerator-count",
    "karpenter.k8s.aws/instance-accelerator-manufacturer",
    "karpenter.k8s.aws/instance-accelerator-name",
    "karpenter.k8s.aws/instance-capability-flex",
    "karpenter.k8s.aws/instance-category",
    "karpenter.k8s.aws/instance-cpu",
    "karpenter.k8s.aws/instance-cpu-manufacturer",
    "karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz",
    "karpenter.k8s.aws/instance-ebs-bandwidth",
    "karpenter.k8s.aws/instance-encryption-in-transit-supported",
    "karpenter.k8s.aws/instance-family",
    "karpenter.k8s.aws/instance-generation",
    "karpenter.k8s.aws/instance-gpu-count",
    "karpenter.k8s.aws/instance-gpu-manufacturer",
    "karpenter.k8s.aws/instance-gpu-memory",
    "karpenter.k8s.aws/instance-gpu-name",
    "karpenter.k8s.aws/instance-hypervisor",
    "karpenter.k8s.aws/instance-local-nvme",
    "karpenter.k8s.aws/instance-memory",
    "karpenter.k8s.aws/instance-network-bandwidth",
    "karpenter.k8s.aws/instance-size",
    EC2_NODE_CLASS,
];

/// Labels of the EC2 provider's domain that say how a machine is bought and placed; a NodeOverlay may not use them.
pub const AWS_PLACEMENT_LABELS: [&str; 6] = [
    "karpenter.k8s.aws/capacity-reservation-id",
    "karpenter.k8s.aws/capacity-reservation-interruptible",
    "karpenter.k8s.aws/capacity-reservation-type",
    "karpenter.k8s.aws/instance-tenancy",
    "karpenter.k8s.aws/placement-group-id",
    "karpenter.k8s.aws/placement-group-partition",
];

/// Names that only Kubernetes objects other than labels carry.
pub mod annotation {
    /// `true` (or a duration): the pod, or node, is not disrupted of our own accord.
    pub const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";
    /// `true` on a node: it is not repaired.
    pub const DO_NOT_REPAIR: &str = "karpenter.sh/do-not-repair";
    /// What evicting this pod costs, a 32-bit number; beats `controller.kubernetes.io/pod-deletion-cost`.
    pub const DISRUPTION_COST: &str = "karpenter.sh/disruption-cost";
    /// Kubernetes' own hint which replica should go first.
    pub const POD_DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
    /// Fingerprint of the node pool's template that a claim was made from.
    pub const NODE_POOL_HASH: &str = "karpenter.sh/nodepool-hash";
    /// How that fingerprint was computed.
    pub const NODE_POOL_HASH_VERSION: &str = "karpenter.sh/nodepool-hash-version";
    /// Fingerprint of the EC2NodeClass that a claim was made from.
    pub const EC2_NODE_CLASS_HASH: &str = "karpenter.k8s.aws/ec2nodeclass-hash";
    /// How that fingerprint was computed.
    pub const EC2_NODE_CLASS_HASH_VERSION: &str = "karpenter.k8s.aws/ec2nodeclass-hash-version";
    /// The instant by which a claim's machine has to be gone.
    pub const TERMINATION_TIMESTAMP: &str = "karpenter.sh/nodeclaim-termination-timestamp";
    /// `true`: this claim's minValues were relaxed.
    pub const MIN_VALUES_RELAXED: &str = "karpenter.sh/nodeclaim-min-values-relaxed";
    /// Drivers of device claims that the claim's pods ask for.
    pub const REQUESTED_DRA_DRIVERS: &str = "karpenter.sh/requested-dra-drivers";
    /// A NodeOverlay changed this claim's price.
    pub const PRICE_OVERLAY_APPLIED: &str = "karpenter.sh/price-overlay-applied";
    /// A NodeOverlay changed this claim's capacity.
    pub const CAPACITY_OVERLAY_APPLIED: &str = "karpenter.sh/capacity-overlay-applied";
    /// Marks the pods that stand in for a CapacityBuffer.
    pub const CAPACITY_BUFFER_POD: &str = "karpenter.sh/capacity-buffer-fake-pod";
    /// The boot that a reboot has to end.
    pub const REBOOT_PRE_BOOT_ID: &str = "karpenter.sh/reboot-pre-boot-id";
    /// How long the drain before a reboot may take.
    pub const REBOOT_TERMINATION_GRACE_PERIOD: &str = "karpenter.sh/reboot-termination-grace-period";
    /// How the GPUs of an EC2NodeClass' machines are shared.
    pub const NVIDIA_CONSUMABLE_CAPACITY: &str = "karpenter.k8s.aws/nvidia-consumable-capacity";
}

/// Keys of taints.
pub mod taint {
    /// `NoSchedule`: the node is about to go.
    pub const DISRUPTED: &str = "karpenter.sh/disrupted";
    /// `NoExecute`: the node's claim hasn't found it yet.
    pub const UNREGISTERED: &str = "karpenter.sh/unregistered";
    /// `NoSchedule`: the node is being rebooted.
    pub const REBOOTING: &str = "karpenter.sh/rebooting";
    /// Set by Kubernetes until a node is ready.
    pub const NOT_READY: &str = "node.kubernetes.io/not-ready";
    /// Set by Kubernetes when a node is silent.
    pub const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
    /// Set by the kubelet until the cloud provider has seen the node.
    pub const CLOUD_UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";
    /// Keys of this prefix go away by themselves once a node's parts are ready.
    pub const READINESS_PREFIX: &str = "readiness.k8s.io/";
}

/// Annotations, the later one first, by which a pod uses the room of a ProvisioningRequest.
pub const CONSUMES_REQUEST: [&str; 2] = [
    "autoscaling.x-k8s.io/consume-provisioning-request",
    "cluster-autoscaler.kubernetes.io/consume-provisioning-request",
];

/// Finalizers.
pub mod finalizer {
    /// Holds node claims and nodes until their machine is gone.
    pub const TERMINATION: &str = "karpenter.sh/termination";
    /// Holds an EC2NodeClass while anything made from it exists.
    pub const EC2_NODE_CLASS: &str = "karpenter.k8s.aws/termination";
}

/// Names of our own group.
pub mod dovetail {
    /// API group of PackingPolicy, Catalog and Replay.
    pub const GROUP: &str = "dovetail.sh";
    /// Annotation of pods that are placed all or none: the gang's name within their namespace.
    pub const GANG: &str = "dovetail.sh/gang";
    /// Annotation: nothing of the gang is placed before there are so many.
    pub const GANG_SIZE: &str = "dovetail.sh/gang-size";
}
