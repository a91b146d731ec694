//! The Rust types read what the API server accepts, and fill in what it fills in: they and the definitions come from one text,
//! but defaults stand in it twice.
//!
//! The cases are those of `tests/cluster/cases`, which a real API server has answered.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test says what went wrong and ends"
)]

use std::path::Path;

use dovetail::api::{
    CapacityBuffer, Catalog, EC2NodeClass, NodeClaim, NodeHour, NodeOverlay, NodePool, PackingPolicy, Replay,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

fn cases() -> impl Iterator<Item = (Vec<Value>, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/cases");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let mut endings: Map<String, Value> = serde_json::from_str(&read("expected.json")).unwrap();
    endings.extend(serde_json::from_str::<Map<String, Value>>(&read("expected-dovetail.json")).unwrap());
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    files
        .into_iter()
        .flat_map(|path| {
            serde_saphyr::from_multiple::<Value>(&std::fs::read_to_string(path).unwrap()).unwrap()
        })
        .map(move |case| {
            let ending = endings.remove(case["name"].as_str().unwrap()).unwrap();
            (case["steps"].as_array().unwrap().clone(), ending)
        })
}

/// What a type makes of an object, and the paths of what it doesn't know.
fn through<T: Serialize + DeserializeOwned>(object: &Value) -> (Value, Vec<String>) {
    let mut unknown = Vec::new();
    let mut track = serde_path_to_error::Track::new();
    let deserializer = serde_path_to_error::Deserializer::new(object.clone(), &mut track);
    let read = serde_ignored::deserialize(deserializer, |path| unknown.push(path.to_string()));
    let read: T = read.unwrap_or_else(|error| panic!("{} in {object}: {error}", track.path()));
    unknown.retain(|path| path != "apiVersion" && path != "kind");
    (serde_json::to_value(read).unwrap(), unknown)
}

fn through_its_type(object: &Value) -> (Value, Vec<String>) {
    match object["kind"].as_str().unwrap() {
        "NodePool" => through::<NodePool>(object),
        "NodeClaim" => through::<NodeClaim>(object),
        "NodeOverlay" => through::<NodeOverlay>(object),
        "EC2NodeClass" => through::<EC2NodeClass>(object),
        "CapacityBuffer" => through::<CapacityBuffer>(object),
        "PackingPolicy" => through::<PackingPolicy>(object),
        "Catalog" => through::<Catalog>(object),
        "Replay" => through::<Replay>(object),
        kind => panic!("no type for {kind}"),
    }
}

/// The same object for the same meaning: a quantity may be a number or a text, and nothing may be missing or empty.
fn meaning(value: &Value) -> Value {
    let empty = |value: &Value| {
        value.is_null()
            || value.as_str().is_some_and(str::is_empty)
            || value.as_array().is_some_and(Vec::is_empty)
            || value.as_object().is_some_and(Map::is_empty)
    };
    match value {
        Value::Number(number) => json!(number.as_f64().map(|number| number.to_string())),
        Value::Array(items) => Value::Array(items.iter().map(meaning).collect()),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(name, value)| (name.clone(), meaning(value)))
                .filter(|(_, value)| !empty(value))
                .collect(),
        ),
        other => other.clone(),
    }
}

/// An EC2NodeClass may lack a spec; it reads as the empty one, which has defaults.
fn forget_filled_in_spec(back: &mut Value, stored: &Value) {
    if stored["spec"].is_null() {
        back.as_object_mut().unwrap().remove("spec");
    }
}

#[test]
fn stored_objects_are_read_whole() {
    let mut read = 0;
    for (_, ending) in cases() {
        let stored = &ending["stored"];
        if stored["kind"].is_null() {
            continue;
        }
        let (mut back, unknown) = through_its_type(stored);
        assert!(unknown.is_empty(), "{unknown:?} of {stored}");
        forget_filled_in_spec(&mut back, stored);
        assert_eq!(meaning(&back), meaning(stored));
        read += 1;
    }
    assert!(read > 500, "only {read} objects");
}

#[test]
fn reading_fills_in_what_the_server_fills_in() {
    let mut read = 0;
    for (steps, ending) in cases() {
        let [step] = steps.as_slice() else { continue };
        if step["verb"] != json!("create")
            || step["strict"] == json!(false)
            || ending["verdict"] != json!("accepted")
        {
            continue;
        }
        // The server writes the rest of the metadata, and drops a status that comes with the object.
        let (mut back, unknown) = through_its_type(&step["object"]);
        let mut stored = ending["stored"].clone();
        forget_filled_in_spec(&mut back, &stored);
        for object in [&mut back, &mut stored] {
            let object = object.as_object_mut().unwrap();
            object.remove("metadata");
            object.remove("status");
        }
        assert!(unknown.is_empty(), "{unknown:?} of {}", step["object"]);
        assert_eq!(meaning(&back), meaning(&stored), "{}", step["object"]);
        read += 1;
    }
    assert!(read > 300, "only {read} objects");
}

#[test]
fn unknown_fields_can_be_told() {
    let pool = json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": { "name": "default" },
        "spec": {
            "template": {
                "metadata": { "name": "x" },
                "spec": { "nodeClassRef": { "group": "g", "kind": "k", "name": "n", "apiVersion": "g/v1" }, "requirements": [] }
            },
            "weigth": 3
        }
    });
    let (_, mut unknown) = through_its_type(&pool);
    unknown.sort();
    assert_eq!(
        unknown,
        [
            "spec.template.metadata.?.name",
            "spec.template.spec.nodeClassRef.apiVersion",
            "spec.weigth"
        ]
    );
}

#[test]
fn yaml_is_read_as_a_person_writes_it() {
    let class: EC2NodeClass = serde_saphyr::from_str(
        "apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: node
  tags:
  amiSelectorTerms: [{alias: al2023@latest}]
  kubelet: {maxPods: 58, kubeReserved: {cpu: 90m}}
  blockDeviceMappings:
  - {deviceName: /dev/xvda, rootVolume: true, ebs: {volumeSize: 64Gi, volumeType: gp3}}
",
    )
    .unwrap();
    assert_eq!(
        class.spec.block_device_mappings[0]
            .ebs
            .as_ref()
            .unwrap()
            .volume_size
            .as_ref()
            .unwrap()
            .0,
        "64Gi"
    );
    assert_eq!(class.spec.kubelet.unwrap()["maxPods"], json!(58));
    assert_eq!(class.spec.metadata_options.http_put_response_hop_limit, 1);

    let without_spec: EC2NodeClass = serde_saphyr::from_str("metadata: {name: default}").unwrap();
    assert!(without_spec.spec.ami_selector_terms.is_empty());

    let policy: PackingPolicy = serde_saphyr::from_str(
        "metadata: {name: default}
spec: {nodePools: [default], weights: {nodeHour: auto, price: 2}, headroom: {cpu: 1}}
",
    )
    .unwrap();
    assert_eq!(policy.spec.weights.node_hour, NodeHour::Auto);
    assert!((policy.spec.weights.price - 2.0).abs() < f64::EPSILON);
    assert!((policy.spec.weights.preference - 0.001).abs() < f64::EPSILON);
    assert_eq!(policy.spec.headroom["cpu"].0, "1");
}
