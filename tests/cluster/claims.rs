//! The NodeClaims that `dovetail plan -o yaml` prints are taken by an API server as they are.

use std::process::Command;

use http::Method;
use serde_json::Value;

use crate::control_plane::ControlPlane;
use crate::server::{self, JSON};

#[tokio::test(flavor = "multi_thread")]
async fn printed_node_claims_are_accepted() {
    let control_plane = ControlPlane::start().await;
    let client = control_plane.client();
    server::install_definitions(&client).await;
    for input in ["tests/cli/shop.yaml", "tests/cli/open-labels.yaml"] {
        let output = Command::new(env!("CARGO_BIN_EXE_dovetail"))
            .args(["plan", "-o", "yaml", "-f", input])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let text = String::from_utf8(output.stdout).unwrap();
        let claims: Vec<Value> = text
            .split("---\n")
            .skip(1)
            .map(|document| serde_saphyr::from_str(document).unwrap())
            .collect();
        assert!(!claims.is_empty(), "{input}: nothing to launch");
        for claim in claims {
            let answer = server::send(&client, Method::POST, NODE_CLAIMS, JSON, Some(&claim)).await;
            assert!(answer.accepted(), "{input}: {}\n{claim:#}", answer.body);
        }
    }
}

const NODE_CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims?fieldValidation=Strict";
