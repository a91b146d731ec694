//! Requests that no typed client would send: objects that are wrong, tables, definitions.

use std::path::Path;
use std::time::{Duration, Instant};

use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

/// What the server said.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn accepted(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Sends a request. An answer of any status is an answer; none at all ends the test.
pub(crate) async fn send(
    client: &Client,
    method: Method,
    path: &str,
    kind: &str,
    body: Option<&Value>,
) -> Answer {
    let body = body
        .map(|body| serde_json::to_vec(body).unwrap())
        .unwrap_or_default();
    let accept = if kind == TABLE { TABLE } else { "application/json" };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(
            "content-type",
            if kind == TABLE { "application/json" } else { kind },
        )
        .header("accept", accept)
        .body(Body::from(body))
        .unwrap();
    let response = client
        .send(request)
        .await
        .unwrap_or_else(|error| panic!("{path}: {error}"));
    let status = response.status().as_u16();
    let bytes = response.into_body().collect_bytes().await.unwrap();
    let body = serde_json::from_slice(&bytes)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
    Answer { status, body }
}

/// The way to ask for what `kubectl get` prints.
pub(crate) const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
pub(crate) const JSON: &str = "application/json";

/// Creates every definition of `deploy/crds` and waits until each is in force.
pub(crate) async fn install_definitions(client: &Client) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/crds");
    let mut definitions = Vec::new();
    for entry in std::fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let definition: Value = serde_saphyr::from_str(&text).unwrap();
        let answer = send(client, Method::POST, DEFINITIONS, JSON, Some(&definition)).await;
        assert!(
            answer.accepted(),
            "{} is refused: {:#}",
            path.display(),
            answer.body
        );
        definitions.push(definition);
    }
    for definition in &definitions {
        wait_until_in_force(client, definition).await;
    }
}

pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

async fn wait_until_in_force(client: &Client, definition: &Value) {
    let name = definition["metadata"]["name"].as_str().unwrap();
    let spec = &definition["spec"];
    let list = format!(
        "/apis/{}/{}/{}",
        spec["group"].as_str().unwrap(),
        spec["versions"][0]["name"].as_str().unwrap(),
        spec["names"]["plural"].as_str().unwrap()
    );
    let begun = Instant::now();
    loop {
        let now = send(client, Method::GET, &format!("{DEFINITIONS}/{name}"), JSON, None).await;
        let conditions = now.body["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let holds = |name: &str| {
            conditions
                .iter()
                .any(|it| it["type"] == json!(name) && it["status"] == json!("True"))
        };
        if let Some(problem) = conditions
            .iter()
            .find(|it| it["type"] == json!("NonStructuralSchema") && it["status"] == json!("True"))
        {
            panic!("{name}: {problem:#}");
        }
        if holds("Established") && send(client, Method::GET, &list, JSON, None).await.accepted() {
            return;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{name} is not in force: {:#}",
            now.body["status"]
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
