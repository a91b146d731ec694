//! Small talks with the API server, and how each has to end: their format, how a step is asked, how its answer is judged.
//! `cases/README.md` describes all three.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use http::Method;
use kube::Client;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::server::{self, Answer, JSON, TABLE};

/// One talk.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// For people.
    #[serde(default, rename = "about")]
    _about: Option<String>,
    steps: Vec<Step>,
    /// The kind that its file is about.
    #[serde(skip)]
    place: Place,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    verb: String,
    #[serde(default)]
    object: Option<Value>,
    #[serde(default)]
    patch: Option<Value>,
    #[serde(default)]
    manager: Option<String>,
    #[serde(default)]
    replicas: Option<Value>,
    #[serde(default = "strict")]
    strict: bool,
}

fn strict() -> bool {
    true
}

/// How a talk ends.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
pub(crate) enum Ending {
    Accepted { stored: Value },
    Refused { paths: Vec<String> },
}

/// Where the server keeps the objects of a kind.
#[derive(Clone, Copy, Default)]
struct Place {
    group_version: &'static str,
    plural: &'static str,
    namespaced: bool,
}

/// The kinds that cases are about, by the name of their file.
fn place(file: &str) -> Place {
    let (group_version, plural) = match file {
        "nodepool" => ("karpenter.sh/v1", "nodepools"),
        "nodeclaim" => ("karpenter.sh/v1", "nodeclaims"),
        "nodeoverlay" => ("karpenter.sh/v1alpha1", "nodeoverlays"),
        "ec2nodeclass" => ("karpenter.k8s.aws/v1", "ec2nodeclasses"),
        "capacitybuffer" => ("autoscaling.x-k8s.io/v1beta1", "capacitybuffers"),
        "packingpolicy" => ("dovetail.sh/v1alpha1", "packingpolicies"),
        "catalog" => ("dovetail.sh/v1alpha1", "catalogs"),
        "replay" => ("dovetail.sh/v1alpha1", "replays"),
        _ => panic!("no kind for {file}.yaml"),
    };
    Place {
        group_version,
        plural,
        namespaced: file == "capacitybuffer",
    }
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/cases")
}

/// All cases of the named files.
pub(crate) fn read(names: &[&str]) -> Vec<Case> {
    let mut cases = Vec::new();
    for name in names {
        let text = std::fs::read_to_string(folder().join(format!("{name}.yaml"))).unwrap();
        let read: Vec<Case> =
            serde_saphyr::from_multiple(&text).unwrap_or_else(|error| panic!("{name}.yaml: {error}"));
        cases.extend(read.into_iter().map(|case| Case {
            place: place(name),
            ..case
        }));
    }
    cases
}

/// How the cases have to end, by name.
pub(crate) fn endings(file: &str) -> BTreeMap<String, Ending> {
    serde_json::from_str(&std::fs::read_to_string(folder().join(file)).unwrap()).unwrap()
}

/// Writes down how cases of our own kinds end, to be read by a person before they are committed.
pub(crate) fn write_endings(file: &str, endings: &BTreeMap<String, Result<Ending, String>>) {
    let endings: BTreeMap<&String, &Ending> = endings
        .iter()
        .filter_map(|(name, ending)| Some((name, ending.as_ref().ok()?)))
        .collect();
    std::fs::write(
        folder().join(file),
        serde_json::to_string_pretty(&endings).unwrap() + "\n",
    )
    .unwrap();
}

impl Case {
    /// Sends the steps; the last answer's judgement, or which step before it failed.
    pub(crate) async fn run(&self, client: &Client) -> Result<Ending, String> {
        let (last, before) = self.steps.split_last().ok_or("no steps")?;
        for (number, step) in before.iter().enumerate() {
            let answer = self.ask(client, step, false).await?;
            if !answer.accepted() {
                return Err(format!(
                    "step {} ({}) is refused: {:#}",
                    number + 1,
                    step.verb,
                    answer.body
                ));
            }
        }
        let alone = before.is_empty();
        Ok(judge(&last.verb, &self.ask(client, last, alone).await?))
    }

    /// Where the server keeps the group version, and the objects. An object of another version is sent there all the same.
    fn place(&self) -> (String, String) {
        let group_version = format!("/apis/{}", self.place.group_version);
        let namespace = if self.place.namespaced {
            "/namespaces/default"
        } else {
            ""
        };
        let collection = format!("{group_version}{namespace}/{}", self.place.plural);
        (group_version, collection)
    }

    async fn ask(&self, client: &Client, step: &Step, alone: bool) -> Result<Answer, String> {
        let (group_version, collection) = self.place();
        let itself = format!("{collection}/{}", self.name);
        let validation = format!(
            "fieldValidation={}",
            if step.strict { "Strict" } else { "Ignore" }
        );
        let object = || step.object.clone().ok_or("a step without its object");
        let send = |method, path: String, kind: &'static str, body: Option<Value>| async move {
            server::send(client, method, &path, kind, body.as_ref()).await
        };
        let get = |path: String, kind| send(Method::GET, path, kind, None);
        Ok(match step.verb.as_str() {
            "create" => {
                // Leaves nothing behind where nothing comes after it.
                let dry = if alone { "&dryRun=All" } else { "" };
                send(
                    Method::POST,
                    format!("{collection}?{validation}{dry}"),
                    JSON,
                    Some(object()?),
                )
                .await
            }
            "update" | "status" => {
                let mut object = object()?;
                let now = get(itself.clone(), JSON).await;
                object["metadata"]["resourceVersion"] = now.body["metadata"]["resourceVersion"].clone();
                let part = if step.verb == "status" { "/status" } else { "" };
                send(
                    Method::PUT,
                    format!("{itself}{part}?{validation}"),
                    JSON,
                    Some(object),
                )
                .await
            }
            "patch" | "patch-status" => {
                let patch = step.patch.clone().ok_or("a step without its patch")?;
                let part = if step.verb == "patch-status" {
                    "/status"
                } else {
                    ""
                };
                let kind = "application/merge-patch+json";
                send(
                    Method::PATCH,
                    format!("{itself}{part}?{validation}"),
                    kind,
                    Some(patch),
                )
                .await
            }
            "apply" | "apply-status" => {
                let manager = step.manager.as_deref().ok_or("a step without its manager")?;
                let part = if step.verb == "apply-status" {
                    "/status"
                } else {
                    ""
                };
                let path = format!("{itself}{part}?fieldManager={manager}&force=false");
                send(
                    Method::PATCH,
                    path,
                    "application/apply-patch+yaml",
                    Some(object()?),
                )
                .await
            }
            "get" => get(itself, JSON).await,
            "get-scale" => get(format!("{itself}/scale"), JSON).await,
            "scale" => {
                let mut scale = get(format!("{itself}/scale"), JSON).await;
                if !scale.accepted() {
                    return Ok(scale);
                }
                scale.body["spec"]["replicas"] =
                    step.replicas.clone().ok_or("a step without its replicas")?;
                send(Method::PUT, format!("{itself}/scale"), JSON, Some(scale.body)).await
            }
            "table" => get(itself, TABLE).await,
            "discover" => {
                let mut answer = get(group_version, JSON).await;
                let plural = collection.rsplit('/').next().unwrap_or_default().to_owned();
                keep_resources(&mut answer.body, &plural);
                answer
            }
            "versions" => {
                let group = group_version.split('/').nth(2).unwrap_or_default();
                let plural = collection.rsplit('/').next().unwrap_or_default();
                get(format!("{}/{plural}.{group}", server::DEFINITIONS), JSON).await
            }
            verb => return Err(format!("unknown verb {verb}")),
        })
    }
}

/// Leaves only one resource and its subresources of a discovery document.
fn keep_resources(document: &mut Value, plural: &str) {
    if let Some(resources) = document["resources"].as_array_mut() {
        resources.retain(|resource| {
            resource["name"].as_str().and_then(|name| name.split('/').next()) == Some(plural)
        });
    }
}

fn judge(verb: &str, answer: &Answer) -> Ending {
    if !answer.accepted() {
        return Ending::Refused {
            paths: paths(verb, answer),
        };
    }
    let body = &answer.body;
    let or_null = |value: &Value, default: Value| if value.is_null() { default } else { value.clone() };
    let stored = match verb {
        "get-scale" | "scale" => json!({
            "replicas": body["spec"]["replicas"],
            "nodes": or_null(&body["status"]["replicas"], json!(0)),
            "selector": body["status"]["selector"],
        }),
        "table" => table(body),
        "discover" => discovered(body),
        "versions" => json!({
            "scope": body["spec"]["scope"],
            "conversion": or_null(&body["spec"]["conversion"]["strategy"], json!("None")),
            "preserveUnknownFields": or_null(&body["spec"]["preserveUnknownFields"], json!(false)),
            "versions": body["spec"]["versions"].as_array().into_iter().flatten().map(|version| json!({
                "name": version["name"],
                "served": version["served"],
                "storage": version["storage"],
                "deprecated": or_null(&version["deprecated"], json!(false)),
            })).collect::<Vec<_>>(),
        }),
        _ => {
            let mut body = body.clone();
            if let Some(metadata) = body["metadata"].as_object_mut() {
                for name in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
                    metadata.remove(name);
                }
            }
            body
        }
    };
    Ending::Accepted { stored }
}

/// Columns, and the row's cells with every date as `*`.
fn table(body: &Value) -> Value {
    let columns = body["columnDefinitions"].as_array().cloned().unwrap_or_default();
    let cells = body["rows"][0]["cells"].as_array().cloned().unwrap_or_default();
    let hidden = |column: &Value, cell: Value| {
        if column["type"] == json!("date") {
            json!("*")
        } else {
            cell
        }
    };
    json!({
        "columns": columns.iter().map(|it| json!({
            "name": it["name"], "type": it["type"], "priority": it["priority"],
        })).collect::<Vec<_>>(),
        "cells": columns.iter().zip(cells).map(|(column, cell)| hidden(column, cell)).collect::<Vec<_>>(),
    })
}

/// Resources by name, every list inside sorted.
fn discovered(body: &Value) -> Value {
    let sorted = |resource: &Map<String, Value>| {
        resource
            .iter()
            .filter(|(name, _)| *name != "storageVersionHash")
            .map(|(name, value)| {
                let mut value = value.clone();
                if let Some(list) = value.as_array_mut() {
                    list.sort_by_key(ToString::to_string);
                }
                (name.clone(), value)
            })
            .collect::<Map<_, _>>()
    };
    let mut resources: Vec<Value> = body["resources"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .map(|resource| Value::Object(sorted(resource)))
        .collect();
    resources.sort_by_key(|resource| resource["name"].to_string());
    json!({ "resources": resources })
}

/// The fields that a refusal names, sorted, each once.
fn paths(verb: &str, answer: &Answer) -> Vec<String> {
    let mut paths = BTreeSet::new();
    let causes = answer.body["details"]["causes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    for cause in &causes {
        let message = cause["message"].as_str().unwrap_or_default();
        let field = cause["field"].as_str().unwrap_or_default();
        if let Some((_, path)) = message
            .split_once("Checked value must be of type ")
            .and_then(|(_, rest)| rest.rsplit_once(" in "))
        {
            let path = path.trim_start_matches('.').trim_end_matches('"');
            let left_out = verb.ends_with("status") && path != "status" && !path.starts_with("status.");
            paths.insert(if left_out {
                format!("status.{path}")
            } else {
                path.to_owned()
            });
        } else if !matches!(field, "" | "<nil>")
            && !message.contains("(anyOf)")
            && !message.contains("accessor error")
        {
            paths.insert(field.trim_start_matches('.').to_owned());
        }
    }
    if causes.is_empty() {
        let message = answer.body["message"].as_str().unwrap_or_default();
        for (_, rest) in message
            .match_indices("unknown field \"")
            .map(|(at, found)| message.split_at(at + found.len()))
        {
            paths.extend(rest.split('"').next().map(str::to_owned));
        }
        for (at, _) in message.match_indices(": field not declared in schema") {
            let path = message[..at].rsplit([' ', '\n']).next().unwrap_or_default();
            paths.insert(path.trim_start_matches('.').to_owned());
        }
    }
    if paths.is_empty() {
        paths.insert(format!("HTTP {}", answer.status));
    }
    paths.into_iter().collect()
}
