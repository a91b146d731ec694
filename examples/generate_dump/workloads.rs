//! What runs in the dump: Deployments and a StatefulSet by team, and the DaemonSets of every node.

/// A workload whose pods are all alike.
pub(crate) struct Workload {
    pub(crate) namespace: &'static str,
    pub(crate) name: &'static str,
    pub(crate) pool: &'static str,
    pub(crate) milli: u64,
    pub(crate) mib: u64,
    /// Pods that run already.
    pub(crate) running: u64,
    /// Pods that were added just now and wait.
    pub(crate) pending: u64,
}

const fn workload(
    place: (&'static str, &'static str),
    name: &'static str,
    (milli, mib): (u64, u64),
    (running, pending): (u64, u64),
) -> Workload {
    let (namespace, pool) = place;
    Workload {
        namespace,
        name,
        pool,
        milli,
        mib,
        running,
        pending,
    }
}

const SHOP: (&str, &str) = ("shop", "web");
const SEARCH: (&str, &str) = ("search", "web");
const ACCOUNTS: (&str, &str) = ("accounts", "web");
const SYSTEM: (&str, &str) = ("kube-system", "web");
const OBSERVE: (&str, &str) = ("observability", "web");
const MEDIA: (&str, &str) = ("media", "batch");
const DATA: (&str, &str) = ("data", "batch");
const FEED: (&str, &str) = ("feed", "graviton");
const RANKING: (&str, &str) = ("ranking", "gpu");

/// All Deployments. An evening sale has just begun: those with pending pods were scaled up a minute ago.
pub(crate) const WORKLOADS: [Workload; 42] = [
    workload(SYSTEM, "coredns", (100, 70), (3, 0)),
    workload(SYSTEM, "metrics-server", (100, 200), (2, 0)),
    workload(SYSTEM, "ebs-csi-controller", (60, 240), (2, 0)),
    workload(SYSTEM, "aws-load-balancer-controller", (100, 256), (2, 0)),
    workload(SYSTEM, "cert-manager", (50, 128), (2, 0)),
    workload(SYSTEM, "external-dns", (50, 100), (1, 0)),
    workload(SHOP, "storefront", (1000, 1536), (36, 30)),
    workload(SHOP, "product-api", (1000, 1536), (24, 0)),
    workload(SHOP, "cart", (500, 1024), (20, 0)),
    workload(SHOP, "checkout", (1500, 3072), (10, 12)),
    workload(SHOP, "payments", (1000, 2048), (8, 0)),
    workload(SHOP, "inventory", (500, 2048), (12, 0)),
    workload(SHOP, "pricing", (750, 1024), (10, 0)),
    workload(SHOP, "promotions", (400, 1024), (8, 0)),
    workload(SHOP, "session-store", (500, 6144), (6, 8)),
    workload(SHOP, "edge-cache", (500, 6144), (8, 0)),
    workload(SHOP, "admin", (100, 512), (2, 0)),
    workload(SEARCH, "query", (1500, 4096), (16, 0)),
    workload(SEARCH, "suggest", (500, 3072), (12, 0)),
    workload(SEARCH, "indexer", (2000, 8192), (3, 10)),
    workload(SEARCH, "crawler", (500, 1024), (8, 0)),
    workload(ACCOUNTS, "login", (600, 1024), (12, 0)),
    workload(ACCOUNTS, "profile", (500, 1536), (10, 0)),
    workload(ACCOUNTS, "mailer", (100, 256), (6, 0)),
    workload(ACCOUNTS, "audit", (250, 1024), (4, 0)),
    workload(OBSERVE, "grafana", (250, 512), (2, 0)),
    workload(OBSERVE, "loki-write", (500, 2048), (4, 0)),
    workload(OBSERVE, "loki-read", (400, 1024), (4, 0)),
    workload(OBSERVE, "tempo", (300, 1024), (3, 0)),
    workload(OBSERVE, "alertmanager", (50, 128), (2, 0)),
    workload(MEDIA, "transcoder", (2000, 3072), (22, 20)),
    workload(MEDIA, "thumbnailer", (1000, 1536), (30, 0)),
    workload(MEDIA, "importer", (300, 1024), (14, 0)),
    workload(DATA, "report-builder", (1000, 4096), (6, 8)),
    workload(DATA, "event-sink", (250, 512), (16, 0)),
    workload(DATA, "enricher", (400, 1024), (14, 0)),
    workload(FEED, "feed-api", (1000, 2048), (24, 16)),
    workload(FEED, "fanout", (400, 1024), (30, 0)),
    workload(FEED, "timeline", (500, 2048), (24, 0)),
    workload(FEED, "presence", (150, 384), (40, 0)),
    workload(FEED, "push", (200, 384), (30, 0)),
    workload(RANKING, "ranker", (3000, 12288), (2, 2)),
];

/// A DaemonSet of `kube-system`.
pub(crate) struct Agent {
    pub(crate) name: &'static str,
    pub(crate) milli: u64,
    pub(crate) mib: u64,
    /// Runs on GPU nodes alone.
    pub(crate) gpu: bool,
}

/// All DaemonSets.
pub(crate) const AGENTS: [Agent; 6] = [
    Agent {
        name: "aws-node",
        milli: 50,
        mib: 64,
        gpu: false,
    },
    Agent {
        name: "kube-proxy",
        milli: 100,
        mib: 64,
        gpu: false,
    },
    Agent {
        name: "ebs-csi-node",
        milli: 30,
        mib: 120,
        gpu: false,
    },
    Agent {
        name: "log-shipper",
        milli: 100,
        mib: 200,
        gpu: false,
    },
    Agent {
        name: "node-exporter",
        milli: 50,
        mib: 64,
        gpu: false,
    },
    Agent {
        name: "nvidia-device-plugin",
        milli: 50,
        mib: 100,
        gpu: true,
    },
];
