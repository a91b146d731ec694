//! What only a real API server can say: whether it takes our definitions, and what it then accepts, refuses, fills in.
//!
//! Needs etcd and kube-apiserver, which `dev/setup tests` builds; fails without them.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test says what went wrong and ends"
)]

mod cases;
mod claims;
mod control_plane;
mod live;
mod server;

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::Client;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use cases::{Case, Ending};
use control_plane::ControlPlane;

/// How many talks are held at once: enough to keep two cores busy.
const SIDE_BY_SIDE: usize = 32;

#[tokio::test(flavor = "multi_thread")]
async fn definitions_accept_refuse_and_fill_in_as_expected() {
    let control_plane = ControlPlane::start().await;
    let client = control_plane.client();
    server::install_definitions(&client).await;

    let karpenter = cases::read(&[
        "nodepool",
        "nodeclaim",
        "nodeoverlay",
        "capacitybuffer",
        "ec2nodeclass",
    ]);
    assert_eq!(karpenter.len(), 1297, "a case was lost");
    let mut failures = differences(cases::endings("expected.json"), hold(&client, karpenter).await);

    let ours = hold(&client, cases::read(&["packingpolicy", "catalog", "replay"])).await;
    if std::env::var_os("BLESS").is_some() {
        cases::write_endings("expected-dovetail.json", &ours);
    }
    failures.extend(differences(cases::endings("expected-dovetail.json"), ours));
    assert!(
        failures.is_empty(),
        "{} cases don't hold:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Holds all talks, many at once; what each came to, by name.
async fn hold(client: &Client, all: Vec<Case>) -> BTreeMap<String, Result<Ending, String>> {
    let permits = Arc::new(Semaphore::new(SIDE_BY_SIDE));
    let mut talks = JoinSet::new();
    for case in all {
        let (client, permits) = (client.clone(), Arc::clone(&permits));
        talks.spawn(async move {
            let _permit = permits.acquire().await.unwrap();
            let ending = case.run(&client).await;
            (case.name, ending)
        });
    }
    let mut endings = BTreeMap::new();
    while let Some(talk) = talks.join_next().await {
        let (name, ending) = talk.unwrap();
        assert!(
            endings.insert(name.clone(), ending).is_none(),
            "two cases are called {name}"
        );
    }
    endings
}

/// Every case that ended otherwise than it had to, with both endings.
fn differences(
    mut want: BTreeMap<String, Ending>,
    got: BTreeMap<String, Result<Ending, String>>,
) -> Vec<String> {
    let text = |ending: &Ending| match ending {
        Ending::Accepted { stored } => format!("accepted {stored}"),
        Ending::Refused { paths } => format!("refused {paths:?}"),
    };
    let mut differences = Vec::new();
    for (name, got) in got {
        match (want.remove(&name), got) {
            (None, _) => differences.push(format!("{name}: nobody says how it ends")),
            (Some(_), Err(problem)) => differences.push(format!("{name}: {problem}")),
            (Some(want), Ok(got)) if want == got => {}
            (Some(want), Ok(got)) => {
                differences.push(format!("{name}:\n  want {}\n  got  {}", text(&want), text(&got)));
            }
        }
    }
    differences.extend(want.into_keys().map(|name| format!("{name}: no such case")));
    differences
}
