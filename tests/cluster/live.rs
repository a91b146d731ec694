//! `dovetail plan --context NAME` plans for a live cluster as it plans for the same objects in a file.

use std::process::Command;

use http::Method;
use serde_json::{Value, json};

use crate::control_plane::ControlPlane;
use crate::server::{self, JSON};

#[tokio::test(flavor = "multi_thread")]
async fn a_live_cluster_gets_the_plan_of_its_dump() {
    let control_plane = ControlPlane::start().await;
    let client = control_plane.client();
    server::install_definitions(&client).await;
    let input = std::fs::read_to_string("tests/cli/shop.yaml").unwrap();
    let mut catalog = String::new();
    for text in input.split("\n---\n") {
        let object: Value = serde_saphyr::from_str(text).unwrap();
        let collection = match object["kind"].as_str().unwrap() {
            "Catalog" => {
                catalog = text.to_owned();
                continue;
            }
            "NodePool" => "/apis/karpenter.sh/v1/nodepools",
            "EC2NodeClass" => "/apis/karpenter.k8s.aws/v1/ec2nodeclasses",
            "Deployment" => "/apis/apps/v1/namespaces/shop/deployments",
            "Pod" => "/api/v1/namespaces/shop/pods",
            other => unreachable!("{other} is not in the input"),
        };
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
        let collection = collection.replace("/shop/", &format!("/{namespace}/"));
        if namespace != "default" {
            let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            server::send(&client, Method::POST, "/api/v1/namespaces", JSON, Some(&body)).await;
        }
        let answer = server::send(&client, Method::POST, &collection, JSON, Some(&object)).await;
        assert!(answer.accepted(), "{}\n{object:#}", answer.body);
    }
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, control_plane.kubeconfig("under-test")).unwrap();
    let catalog_file = folder.path().join("catalog.yaml");
    std::fs::write(&catalog_file, catalog).unwrap();

    let plan = |arguments: &[&str]| -> Value {
        let output = Command::new(env!("CARGO_BIN_EXE_dovetail"))
            .args(["plan", "-o", "json"])
            .args(arguments)
            .env("KUBECONFIG", &kubeconfig)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let mut plan: Value = serde_json::from_slice(&output.stdout).unwrap();
        plan.as_object_mut().unwrap().remove("work");
        plan
    };
    let live = plan(&["--context", "under-test", "-f", catalog_file.to_str().unwrap()]);
    let dump = plan(&["-f", "tests/cli/shop.yaml"]);
    assert!(!dump["launch"].as_array().unwrap().is_empty());
    assert_eq!(live, dump);

    let unknown = Command::new(env!("CARGO_BIN_EXE_dovetail"))
        .args(["plan", "--context", "nowhere"])
        .env("KUBECONFIG", &kubeconfig)
        .output()
        .unwrap();
    assert_eq!(unknown.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("nowhere"));
}
