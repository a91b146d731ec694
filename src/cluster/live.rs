//! A live cluster, listed once: the same index that files feed.
//!
//! Read only: nothing but GET is sent. Lists come in pages, so memory holds one of them. A kind that the server doesn't
//! have, or that we may not list, is noted with what follows; any other failure ends the listing, since a plan from half a
//! cluster would be wrong without saying so.

use kube::api::ListParams;
use kube::config::{KubeConfigOptions, KubeconfigError};
use kube::{Client, Config};
use serde::Deserialize;
use thiserror::Error;

use super::diagnostics::{Note, Origin, Reason, Severity};
use super::manifests::{Edit, Intake, Read, ReadError, Source};
use super::objects::Kind;

/// Objects in a page: what kubectl asks for.
const PAGE: u32 = 500;

/// Why a cluster could not be read.
#[derive(Debug, Error)]
pub enum LiveError {
    /// No such context, or a kubeconfig that makes no sense.
    #[error("reading the kubeconfig")]
    Kubeconfig(#[from] KubeconfigError),
    /// No client can be made of it.
    #[error("preparing a connection to the cluster")]
    Client(#[source] Box<kube::Error>),
    /// The server doesn't answer, or not with a list.
    #[error("listing {plural}")]
    List {
        /// What was listed.
        plural: &'static str,
        /// What happened.
        #[source]
        error: Box<kube::Error>,
    },
    /// An edit that can't be made.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Lists everything that planning reads from the cluster of a kubeconfig context (the current one where none is
/// named), then reads the sources on top: a Catalog, or a NodePool to try.
///
/// # Errors
/// No connection, an answer that is no list, a source that can't be opened, an edit that can't be made.
pub async fn read_live(context: Option<&str>, sources: &[Source], edits: &[Edit]) -> Result<Read, LiveError> {
    let options = KubeConfigOptions {
        context: context.map(str::to_owned),
        ..KubeConfigOptions::default()
    };
    let config = Config::from_kubeconfig(&options).await?;
    let client = Client::try_from(config).map_err(|error| LiveError::Client(Box::new(error)))?;
    let name = context.map_or_else(
        || "the current context's cluster".to_owned(),
        |context| format!("cluster {context}"),
    );
    let mut intake = Intake::new(edits);
    list_all(&client, &name, &mut intake).await?;
    intake.read_sources(sources)?;
    Ok(intake.finish()?)
}

/// Lists everything that planning reads; `name` stands for the cluster.
async fn list_all(client: &Client, name: &str, intake: &mut Intake<'_>) -> Result<(), LiveError> {
    let mut versions: Vec<(&'static str, Option<String>)> = Vec::new();
    for kind in Kind::ALL.iter().copied().filter(|kind| *kind != Kind::Catalog) {
        let version = match kind.version() {
            Some(version) => Some(version.to_owned()),
            None => match versions.iter().find(|(group, _)| *group == kind.group()) {
                Some((_, version)) => version.clone(),
                None => {
                    let version = preferred_version(client, kind).await?;
                    versions.push((kind.group(), version.clone()));
                    version
                }
            },
        };
        let listed = match version {
            Some(version) => list(client, kind, &version, name, intake).await?,
            None => Listed::NotThere,
        };
        match listed {
            Listed::All => {}
            Listed::NotThere => {
                let message = format!("the server has no {}", kind.plural());
                intake.say(Note::info(Reason::NotListed, message).at(&Origin::whole(name)));
            }
            Listed::Forbidden => {
                let message = format!(
                    "{} may not be listed with these credentials; the plan knows nothing of them",
                    kind.plural()
                );
                let severity = if carries_the_plan(kind) {
                    Severity::Error
                } else {
                    Severity::Warning
                };
                intake.say(Note::new(severity, Reason::NotListed, message).at(&Origin::whole(name)));
            }
        }
    }
    Ok(())
}

/// Kinds without which a plan says next to nothing.
fn carries_the_plan(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Node | Kind::Pod | Kind::NodePool | Kind::NodeClaim | Kind::EC2NodeClass
    )
}

/// How listing a kind ended.
enum Listed {
    All,
    NotThere,
    Forbidden,
}

/// The version of a group that the server prefers; `None` where it doesn't have the group.
async fn preferred_version(client: &Client, kind: Kind) -> Result<Option<String>, LiveError> {
    if kind.group().is_empty() {
        return Ok(Some("v1".to_owned()));
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Group {
        preferred_version: Version,
    }
    #[derive(Deserialize)]
    struct Version {
        version: String,
    }
    let failed = |error| LiveError::List {
        plural: kind.plural(),
        error: Box::new(error),
    };
    let request = kube::core::Request::new("/apis")
        .get(kind.group(), &kube::api::GetParams::default())
        .map_err(|error| failed(kube::Error::BuildRequest(error)))?;
    match client.request::<Group>(request).await {
        Ok(group) => Ok(Some(group.preferred_version.version)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

async fn list(
    client: &Client,
    kind: Kind,
    version: &str,
    name: &str,
    intake: &mut Intake<'_>,
) -> Result<Listed, LiveError> {
    let failed = |error| LiveError::List {
        plural: kind.plural(),
        error: Box::new(error),
    };
    let path = match kind.group() {
        "" => format!("/api/{version}/{}", kind.plural()),
        group => format!("/apis/{group}/{version}/{}", kind.plural()),
    };
    let mut parameters = ListParams::default().limit(PAGE);
    loop {
        let request = kube::core::Request::new(&*path)
            .list(&parameters)
            .map_err(|error| failed(kube::Error::BuildRequest(error)))?;
        let page = match client.request_text(request).await {
            Ok(page) => page,
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Listed::NotThere),
            Err(kube::Error::Api(status)) if status.code == 403 => {
                return Ok(Listed::Forbidden);
            }
            Err(error) => return Err(failed(error)),
        };
        intake.read_page(&page, &Origin::whole(name));
        match next_page(&page) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => return Ok(Listed::All),
        }
    }
}

/// The token of the page that follows.
fn next_page(page: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Page {
        #[serde(default)]
        metadata: Metadata,
    }
    #[derive(Default, Deserialize)]
    struct Metadata {
        #[serde(default, rename = "continue")]
        token: Option<String>,
    }
    serde_json::from_str::<Page>(page)
        .ok()?
        .metadata
        .token
        .filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    /// A server that answers every request by its path, and the address it is at.
    fn serve(answer: fn(&str) -> (u16, String)) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                std::thread::spawn(move || {
                    let mut writer = stream.try_clone().unwrap();
                    let mut lines = BufReader::new(stream).lines();
                    while let Some(Ok(first)) = lines.next() {
                        let path = first.split(' ').nth(1).unwrap_or("").to_owned();
                        assert!(first.starts_with("GET "), "{first}");
                        while lines
                            .next()
                            .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
                        {
                        }
                        let (status, body) = answer(&path);
                        let head = format!(
                            "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                            body.len()
                        );
                        if writer.write_all((head + &body).as_bytes()).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        format!("http://{address}")
    }

    fn client(address: &str) -> Client {
        Client::try_from(Config::new(address.parse().unwrap())).unwrap()
    }

    async fn read_from(client: &Client, name: &str, edits: &[Edit]) -> Result<Read, LiveError> {
        let mut intake = Intake::new(edits);
        list_all(client, name, &mut intake).await?;
        Ok(intake.finish()?)
    }

    fn refusal(code: u16) -> (u16, String) {
        (
            code,
            format!(
                r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"x","code":{code}}}"#
            ),
        )
    }

    #[tokio::test]
    async fn lists_all_pages_and_says_what_it_could_not_list() {
        let address = serve(|path| {
            match path {
            "/api/v1/pods?&limit=500" => (200, r#"{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"next"},"items":[{"metadata":{"name":"a"},"spec":{}}]}"#.to_owned()),
            "/api/v1/pods?&limit=500&continue=next" => (200, r#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"b"},"spec":{}}]}"#.to_owned()),
            path if path.starts_with("/apis/karpenter.sh/v1/nodepools") => (200, r#"{"kind":"NodePoolList","apiVersion":"karpenter.sh/v1","metadata":{},"items":[]}"#.to_owned()),
            "/apis/apps" => (200, r#"{"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}}"#.to_owned()),
            path if path.starts_with("/apis/apps/v1/deployments") => (200, r#"{"kind":"DeploymentList","apiVersion":"apps/v1","items":[{"metadata":{"name":"web"},"spec":{"template":{"spec":{}}}}]}"#.to_owned()),
            path if path.starts_with("/apis/apps/v1/") => refusal(403),
            path if path.starts_with("/api/v1/") => (200, r#"{"kind":"List","apiVersion":"v1","items":[]}"#.to_owned()),
            _ => refusal(404),
        }
        });
        let edits = ["deployment/web.spec.replicas=3".parse().unwrap()];
        let read = read_from(&client(&address), "cluster test", &edits)
            .await
            .unwrap();
        assert_eq!(read.index.pods().len(), 2);
        let (_, _, web) = read.index.replicated().next().unwrap();
        assert_eq!(web.object.spec.replicas, Some(3));
        let said: Vec<String> = read.diagnostics.notes().iter().map(ToString::to_string).collect();
        assert!(
            said.iter()
                .any(|text| text.starts_with("cluster test: daemonsets may not be listed")),
            "{said:?}"
        );
        assert!(
            said.iter()
                .any(|text| text == "cluster test: the server has no jobs"),
            "{said:?}"
        );
        assert!(said.iter().all(|text| !text.contains("nodepools")), "{said:?}");
    }

    #[tokio::test]
    async fn a_server_that_fails_ends_the_listing() {
        let address = serve(|_| refusal(500));
        let error = read_from(&client(&address), "test", &[]).await.unwrap_err();
        assert_eq!(error.to_string(), "listing nodes");
    }
}
