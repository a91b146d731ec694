//! `deploy/crds/` holds what `dovetail crds` writes. `BLESS=1` writes it anew.

#![expect(
    clippy::unwrap_used,
    reason = "a test that fails to read its own files has failed"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dovetail::commands::crds;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

fn deployed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/crds")
}

fn files(directory: &Path) -> BTreeMap<String, String> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return BTreeMap::new();
    };
    entries
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect()
}

#[test]
fn deployed_definitions_are_the_generated_ones() {
    let generated = tempfile::tempdir().unwrap();
    crds::run(Some(generated.path()), &mut std::io::sink()).unwrap();
    let want = files(generated.path());
    if std::env::var_os("BLESS").is_some() {
        let _ = std::fs::remove_dir_all(deployed());
        crds::run(Some(&deployed()), &mut std::io::sink()).unwrap();
    }
    let got = files(&deployed());
    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        names(&got),
        names(&want),
        "deploy/crds has other files than `dovetail crds --dir` writes"
    );
    for (name, text) in &want {
        assert!(
            got[name] == *text,
            "deploy/crds/{name} is not what `dovetail crds` prints; BLESS=1 writes it"
        );
    }
}

#[test]
fn printed_definitions_read_back_as_what_they_are() {
    let mut printed = Vec::new();
    crds::run(None, &mut printed).unwrap();
    let read: Vec<CustomResourceDefinition> =
        serde_saphyr::from_multiple(std::str::from_utf8(&printed).unwrap()).unwrap();
    assert_eq!(read, dovetail::api::definitions());
    assert_eq!(read.len(), 8);
}
