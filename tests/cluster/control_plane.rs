//! etcd and kube-apiserver on loopback, for as long as a test lives.
//!
//! Programs come from the folder that `dev/control-plane/build` fills. Everything else (ports, keys, certificates, data) is made
//! anew for each start and is gone with it.

use std::fs::File;
use std::io::Read as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use kube::{Client, Config};

/// How long a start may take on a machine that is busy with a build.
const PATIENCE: Duration = Duration::from_secs(120);
const TOKEN: &str = "of-this-test-alone";

/// A running control plane. Ends with its value.
pub(crate) struct ControlPlane {
    client: Client,
    port: u16,
    certificate: PathBuf,
    // In this order: the API server goes before what it writes to, and both before their files.
    _api_server: Process,
    _etcd: Process,
    _directory: tempfile::TempDir,
}

impl ControlPlane {
    /// Starts etcd and the API server and waits until it answers.
    pub(crate) async fn start() -> Self {
        let programs = programs();
        // A free port may be somebody else's by the time it is used; then the program ends at once.
        for _ in 0..3 {
            if let Some(running) = Self::try_start(&programs).await {
                return running;
            }
        }
        panic!("the control plane did not start three times in a row");
    }

    async fn try_start(programs: &Path) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let [client_port, peer_port, secure_port] = free_ports();
        let client_url = format!("http://127.0.0.1:{client_port}");
        let peer_url = format!("http://127.0.0.1:{peer_port}");

        let mut etcd = Process::start(
            Command::new(programs.join("etcd"))
                .arg("--data-dir")
                .arg(path("etcd"))
                .args(["--unsafe-no-fsync", "--name=default", "--log-level=warn"])
                .args([
                    format!("--listen-client-urls={client_url}"),
                    format!("--advertise-client-urls={client_url}"),
                ])
                .args([
                    format!("--listen-peer-urls={peer_url}"),
                    format!("--initial-advertise-peer-urls={peer_url}"),
                ])
                .arg(format!("--initial-cluster=default={peer_url}")),
            path("etcd.log"),
        );

        std::fs::write(path("tokens"), format!("{TOKEN},admin,admin,system:masters\n")).unwrap();
        let (private_key, public_key) = signing_keys();
        std::fs::write(path("service-account.key"), private_key).unwrap();
        std::fs::write(path("service-account.pub"), public_key).unwrap();
        let mut api_server = Process::start(
            Command::new(programs.join("kube-apiserver"))
                .arg(format!("--etcd-servers={client_url}"))
                .args([
                    format!("--secure-port={secure_port}"),
                    format!("--cert-dir={}", path("certificates").display()),
                ])
                .args(["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"])
                .arg(format!("--token-auth-file={}", path("tokens").display()))
                .args([
                    "--authorization-mode=RBAC",
                    "--service-account-issuer=https://kubernetes.default.svc",
                ])
                .arg(format!(
                    "--service-account-signing-key-file={}",
                    path("service-account.key").display()
                ))
                .arg(format!(
                    "--service-account-key-file={}",
                    path("service-account.pub").display()
                ))
                .args([
                    "--service-cluster-ip-range=10.96.0.0/16",
                    "--allow-privileged=true",
                ])
                .args([
                    "--endpoint-reconciler-type=none",
                    "--disable-admission-plugins=ServiceAccount",
                ])
                // The cases come as fast as they can; nobody else is to be protected from them.
                .args([
                    "--enable-priority-and-fairness=false",
                    "--max-requests-inflight=0",
                    "--v=1",
                ]),
            path("kube-apiserver.log"),
        );

        let begun = Instant::now();
        let certificate = path("certificates").join("apiserver.crt");
        while begun.elapsed() < PATIENCE {
            if etcd.ended() || api_server.ended() {
                eprintln!("{}\n{}", etcd.last_words(), api_server.last_words());
                return None;
            }
            if certificate.exists()
                && let Ok(client) = client(secure_port, &certificate)
                && let Ok(ready) = client
                    .request_text(http::Request::get("/readyz").body(vec![]).unwrap())
                    .await
                && ready == "ok"
            {
                return Some(Self {
                    client,
                    port: secure_port,
                    certificate,
                    _api_server: api_server,
                    _etcd: etcd,
                    _directory: directory,
                });
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!(
            "no answer from kube-apiserver after {PATIENCE:?}: {}",
            api_server.last_words()
        );
    }

    /// A kubeconfig whose one context, of this name, may do everything.
    pub(crate) fn kubeconfig(&self, context: &str) -> String {
        let (port, certificate) = (self.port, self.certificate.display());
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: {context}\n\
             clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:{port}', certificate-authority: '{certificate}'}}}}]\n\
             users: [{{name: u, user: {{token: {TOKEN}}}}}]\n\
             contexts: [{{name: {context}, context: {{cluster: c, user: u}}}}]\n"
        )
    }

    /// A client that may do everything.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }
}

/// The folder of the programs, or the end of the test with a word on how to get them.
fn programs() -> PathBuf {
    let versions = include_str!("../../dev/control-plane/versions");
    let version = versions
        .lines()
        .find_map(|line| line.strip_prefix("KUBERNETES="))
        .unwrap();
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let folder = variable("DOVETAIL_CONTROL_PLANE").unwrap_or_else(|| {
        variable("DOVETAIL_CACHE")
            .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("dovetail")))
            .unwrap_or_else(|| variable("HOME").unwrap().join(".cache/dovetail"))
            .join("control-plane")
            .join(version)
    });
    for program in ["etcd", "kube-apiserver"] {
        assert!(
            folder.join(program).is_file(),
            "{program} (for Kubernetes {version}) is not in {}: run `dev/setup tests`, which builds it once (about 5 minutes)",
            folder.display()
        );
    }
    folder
}

fn client(port: u16, certificate: &Path) -> Result<Client, Box<dyn std::error::Error>> {
    let mut config = Config::new(format!("https://127.0.0.1:{port}").parse()?);
    config.root_cert = Some(
        pem::parse_many(std::fs::read(certificate)?)?
            .into_iter()
            .map(pem::Pem::into_contents)
            .collect(),
    );
    config.auth_info.token = Some(TOKEN.to_owned().into());
    Ok(Client::try_from(config)?)
}

/// The keys that service accounts' tokens would be signed and checked with, if any were asked for.
fn signing_keys() -> (String, String) {
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
    let private = pair.to_pkcs8v1().unwrap();
    let public: PublicKeyX509Der<'_> = pair.public_key().as_der().unwrap();
    let text = |tag: &str, bytes: &[u8]| pem::encode(&pem::Pem::new(tag, bytes));
    (
        text("PRIVATE KEY", private.as_ref()),
        text("PUBLIC KEY", public.as_ref()),
    )
}

/// Ports that nobody listens on at this moment.
fn free_ports<const COUNT: usize>() -> [u16; COUNT] {
    // All are held at once, so that they differ.
    let held: [TcpListener; COUNT] = std::array::from_fn(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    held.map(|listener| listener.local_addr().unwrap().port())
}

/// A child that doesn't outlive its value.
struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    fn start(command: &mut Command, log: PathBuf) -> Self {
        let file = File::create(&log).unwrap();
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .spawn()
            .unwrap_or_else(|error| panic!("starting {command:?}: {error}"));
        Self { child, log }
    }

    fn ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// The end of its log.
    fn last_words(&self) -> String {
        let mut text = String::new();
        if let Ok(mut file) = File::open(&self.log) {
            let _ = file.read_to_string(&mut text);
        }
        let lines: Vec<&str> = text.lines().collect();
        format!(
            "{}:\n{}",
            self.log.display(),
            lines[lines.len().saturating_sub(20)..].join("\n")
        )
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
