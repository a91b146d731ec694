//! The kinds that planning knows, and how people name them.

use std::fmt;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $group:literal $plural:literal $short:tt $namespaced:literal;)*) => {
        /// A kind that planning reads, or holds for rules that will.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// The name in manifests.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => stringify!($kind),)* }
            }

            /// The API group; empty for the core.
            #[must_use]
            pub fn group(self) -> &'static str {
                match self { $(Self::$kind => $group,)* }
            }

            /// The plural that paths and command lines use.
            #[must_use]
            pub fn plural(self) -> &'static str {
                match self { $(Self::$kind => $plural,)* }
            }

            /// Short names that command lines use.
            #[must_use]
            pub fn short_names(self) -> &'static [&'static str] {
                match self { $(Self::$kind => &$short,)* }
            }

            /// Whether its objects live in namespaces.
            #[must_use]
            pub fn is_namespaced(self) -> bool {
                match self { $(Self::$kind => $namespaced,)* }
            }
        }
    };
}

kinds! {
    /// A machine in the cluster.
    Node "" "nodes" ["no"] false;
    /// The unit that is placed.
    Pod "" "pods" ["po"] true;
    /// Names together.
    Namespace "" "namespaces" ["ns"] false;
    /// A name for some pods.
    Service "" "services" ["svc"] true;
    /// Defaults of a namespace.
    LimitRange "" "limitranges" ["limits"] true;
    /// A volume that is asked for.
    PersistentVolumeClaim "" "persistentvolumeclaims" ["pvc"] true;
    /// A volume.
    PersistentVolume "" "persistentvolumes" ["pv"] false;
    /// A template that others refer to.
    PodTemplate "" "podtemplates" [] true;
    /// A number of equal pods, the old way.
    ReplicationController "" "replicationcontrollers" ["rc"] true;
    /// Equal pods that roll.
    Deployment "apps" "deployments" ["deploy"] true;
    /// A number of equal pods.
    ReplicaSet "apps" "replicasets" ["rs"] true;
    /// Numbered pods.
    StatefulSet "apps" "statefulsets" ["sts"] true;
    /// A pod on every node.
    DaemonSet "apps" "daemonsets" ["ds"] true;
    /// Pods that end.
    Job "batch" "jobs" [] true;
    /// Jobs by the clock.
    CronJob "batch" "cronjobs" ["cj"] true;
    /// How many pods may be missing.
    PodDisruptionBudget "policy" "poddisruptionbudgets" ["pdb"] true;
    /// Kinds of volumes.
    StorageClass "storage.k8s.io" "storageclasses" ["sc"] false;
    /// Volume drivers of a node.
    CSINode "storage.k8s.io" "csinodes" [] false;
    /// A volume at a node.
    VolumeAttachment "storage.k8s.io" "volumeattachments" [] false;
    /// Priorities by name.
    PriorityClass "scheduling.k8s.io" "priorityclasses" ["pc"] false;
    /// What runs containers, and what that costs.
    RuntimeClass "node.k8s.io" "runtimeclasses" [] false;
    /// Devices that are asked for.
    ResourceClaim "resource.k8s.io" "resourceclaims" [] true;
    /// Device claims to be made for pods.
    ResourceClaimTemplate "resource.k8s.io" "resourceclaimtemplates" [] true;
    /// Devices that a node has.
    ResourceSlice "resource.k8s.io" "resourceslices" [] false;
    /// Kinds of devices.
    DeviceClass "resource.k8s.io" "deviceclasses" [] false;
    /// Room that is asked for as a whole.
    ProvisioningRequest "autoscaling.x-k8s.io" "provisioningrequests" ["provreq"] true;
    /// Room to be kept free.
    CapacityBuffer "autoscaling.x-k8s.io" "capacitybuffers" ["cb"] true;
    /// What may be launched.
    NodePool "karpenter.sh" "nodepools" [] false;
    /// A machine that was asked for.
    NodeClaim "karpenter.sh" "nodeclaims" [] false;
    /// Corrections to prices and capacity.
    NodeOverlay "karpenter.sh" "nodeoverlays" ["overlays"] false;
    /// The EC2 half of a NodePool.
    EC2NodeClass "karpenter.k8s.aws" "ec2nodeclasses" ["ec2nc"] false;
    /// What is weighed besides the bill.
    PackingPolicy "dovetail.sh" "packingpolicies" ["pp"] false;
    /// Instance types as data.
    Catalog "dovetail.sh" "catalogs" [] false;
}

impl Kind {
    /// By group and name. Old manifests have workloads in `extensions`.
    #[must_use]
    pub fn find(group: &str, name: &str) -> Option<Self> {
        let group = if group == "extensions" { "apps" } else { group };
        Self::ALL
            .iter()
            .copied()
            .find(|kind| kind.name() == name && kind.group() == group)
    }

    /// By what a person types: name, plural or short name, in any case.
    #[must_use]
    pub fn by_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| {
            kind.name().eq_ignore_ascii_case(word)
                || kind.plural().eq_ignore_ascii_case(word)
                || kind
                    .short_names()
                    .iter()
                    .any(|short| short.eq_ignore_ascii_case(word))
        })
    }

    /// The one version that is read of a kind whose versions differ in their fields; `None`: any version will do.
    #[must_use]
    pub fn version(self) -> Option<&'static str> {
        match self {
            Self::NodePool | Self::NodeClaim | Self::EC2NodeClass => Some("v1"),
            Self::NodeOverlay | Self::PackingPolicy | Self::Catalog => Some("v1alpha1"),
            _ => None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_means_two_kinds() {
        let mut words: Vec<String> = Vec::new();
        for kind in Kind::ALL {
            let own = [kind.name(), kind.plural()]
                .into_iter()
                .chain(kind.short_names().iter().copied());
            words.extend(own.map(str::to_ascii_lowercase));
        }
        let count = words.len();
        words.sort();
        words.dedup();
        assert_eq!(words.len(), count);
        assert_eq!(Kind::by_word("Deploy"), Some(Kind::Deployment));
        assert_eq!(Kind::find("extensions", "Deployment"), Some(Kind::Deployment));
        assert_eq!(Kind::find("serving.knative.dev", "Deployment"), None);
    }
}
