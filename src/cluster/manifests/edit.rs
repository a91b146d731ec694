//! What-if edits: `--set KIND/[NAMESPACE/]NAME.path=value`.
//!
//! Where names have dots, the longest name that is in the input wins. `["a.b/c"]` is a step through a key with dots, `[0]`
//! one into a list (its length: a new item). The value is YAML; an empty one takes the field away.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};
use thiserror::Error;

use super::tree::read_value;
use crate::cluster::objects::Kind;
use crate::cluster::objects::meta::ObjectName;

/// One edit as typed, its kind and value understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    text: String,
    kind: Kind,
    /// Everything between `KIND/` and `=`: name and path, not yet told apart.
    target: String,
    value: Value,
}

/// Why an edit can't be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EditError {
    /// Not of the form.
    #[error("expected KIND/[NAMESPACE/]NAME.path=value, got \"{0}\"")]
    Form(String),
    /// No such kind.
    #[error("\"{0}\" is no kind that plan reads (try nodepool, deployment, ec2nodeclass, …)")]
    UnknownKind(String),
    /// The value is no YAML.
    #[error("the value of \"{edit}\" is no YAML: {message}")]
    Value {
        /// The edit as typed.
        edit: String,
        /// What the parser says.
        message: String,
    },
    /// Nothing of that name.
    #[error("\"{edit}\" matches no {kind} in the input{}", known(.names))]
    NoObject {
        /// The edit as typed.
        edit: String,
        /// Its kind.
        kind: Kind,
        /// Some names that there are.
        names: Vec<String>,
    },
    /// The same name in several namespaces.
    #[error("\"{edit}\" could mean {}; name the namespace", .names.join(" or "))]
    Ambiguous {
        /// The edit as typed.
        edit: String,
        /// Which there are.
        names: Vec<String>,
    },
    /// The path leads nowhere.
    #[error("\"{edit}\": {message}")]
    Path {
        /// The edit as typed.
        edit: String,
        /// Where it ends.
        message: String,
    },
}

fn known(names: &[String]) -> String {
    if names.is_empty() {
        String::new()
    } else {
        format!(" (there are {})", names.join(", "))
    }
}

impl FromStr for Edit {
    type Err = EditError;

    fn from_str(text: &str) -> Result<Self, EditError> {
        let form = || EditError::Form(text.chars().take(200).collect());
        let (left, value) = split_at_equals(text).ok_or_else(form)?;
        let (kind, target) = left.split_once('/').ok_or_else(form)?;
        if target.is_empty() || !target.contains(['.', '[']) {
            return Err(form());
        }
        let kind =
            Kind::by_word(kind).ok_or_else(|| EditError::UnknownKind(kind.chars().take(80).collect()))?;
        let value = if value.trim().is_empty() {
            Value::Null
        } else {
            read_value(value).map_err(|message| EditError::Value {
                edit: text.to_owned(),
                message,
            })?
        };
        Ok(Self {
            text: text.to_owned(),
            kind,
            target: target.to_owned(),
            value,
        })
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The first `=` that is not inside a quoted key.
fn split_at_equals(text: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '=' if !quoted => return Some((&text[..at], &text[at + 1..])),
            _ => {}
        }
    }
    None
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

impl Edit {
    /// Whether it is about this object, and then how many letters of the target name it.
    pub(super) fn matches(&self, kind: Kind, name: &ObjectName) -> Option<usize> {
        if kind != self.kind {
            return None;
        }
        let full = if name.namespace.is_empty() {
            None
        } else {
            Some(name.to_string())
        };
        let ends_here = |candidate: &str| {
            let rest = self.target.strip_prefix(candidate)?;
            rest.starts_with(['.', '[']).then_some(candidate.len())
        };
        full.as_deref()
            .and_then(ends_here)
            .or_else(|| ends_here(&name.name))
    }

    /// The kind it is about.
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// Makes the edit; `named` letters of the target are the object's name.
    pub(super) fn make(&self, tree: &mut Value, named: usize) -> Result<(), EditError> {
        let wrong = |message: String| EditError::Path {
            edit: self.text.clone(),
            message,
        };
        let steps = steps(&self.target[named..]).map_err(&wrong)?;
        set(tree, &steps, &self.value).map_err(wrong)
    }
}

/// Steps of the longest path: no field that planning reads lies deeper, and every step is a call on the stack.
const MOST_STEPS: usize = 64;

/// Takes `.a.b[0]["c.d"]` apart.
fn steps(path: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if steps.len() == MOST_STEPS {
            return Err(format!("the path has more than {MOST_STEPS} steps"));
        }
        if let Some(after) = rest.strip_prefix("[\"") {
            let (key, after) = after.split_once("\"]").ok_or("expected \"] after a quoted key")?;
            steps.push(Step::Key(key.to_owned()));
            rest = after;
        } else if let Some(after) = rest.strip_prefix('[') {
            let (index, after) = after.split_once(']').ok_or("expected ] after an index")?;
            let index = index
                .parse()
                .map_err(|_| format!("expected a number or a quoted key in [{index}]"))?;
            steps.push(Step::Index(index));
            rest = after;
        } else {
            let after = rest
                .strip_prefix('.')
                .ok_or_else(|| format!("expected . or [ before \"{rest}\""))?;
            let end = after.find(['.', '[']).unwrap_or(after.len());
            if end == 0 {
                // `.["a.b"]` is as good as `["a.b"]`.
                if after.starts_with('[') {
                    rest = after;
                    continue;
                }
                return Err(format!("an empty step in \"{path}\""));
            }
            steps.push(Step::Key(after[..end].to_owned()));
            rest = &after[end..];
        }
    }
    if steps.is_empty() {
        Err("expected a path after the name".to_owned())
    } else {
        Ok(steps)
    }
}

fn set(tree: &mut Value, steps: &[Step], value: &Value) -> Result<(), String> {
    let Some((step, rest)) = steps.split_first() else {
        *tree = value.clone();
        return Ok(());
    };
    if tree.is_null() {
        *tree = match step {
            Step::Key(_) => Value::Object(Map::new()),
            Step::Index(_) => Value::Array(Vec::new()),
        };
    }
    match (step, tree) {
        (Step::Key(key), Value::Object(fields)) => {
            if rest.is_empty() && value.is_null() {
                fields.remove(key);
                return Ok(());
            }
            set(fields.entry(key.clone()).or_insert(Value::Null), rest, value)
        }
        (Step::Index(index), Value::Array(items)) => {
            let length = items.len();
            if *index > length {
                return Err(format!("[{index}] is beyond the list's {length} items"));
            }
            if rest.is_empty() && value.is_null() {
                if *index < length {
                    items.remove(*index);
                }
                return Ok(());
            }
            if *index == length {
                items.push(Value::Null);
            }
            set(&mut items[*index], rest, value)
        }
        (Step::Key(key), _) => Err(format!("\"{key}\" is looked for in something that is no mapping")),
        (Step::Index(index), _) => Err(format!("[{index}] is looked for in something that is no list")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn edited(mut tree: Value, name: &ObjectName, edit: &str) -> Value {
        let edit: Edit = edit.parse().unwrap();
        let named = edit.matches(edit.kind, name).unwrap();
        edit.make(&mut tree, named).unwrap();
        tree
    }

    #[test]
    fn sets_fields_items_and_keys_with_dots() {
        let pool = ObjectName::new("", "default");
        let tree = json!({"spec": {"limits": null, "template": {"spec": {"taints": [{"key": "a"}]}}}});
        let tree = edited(tree, &pool, "nodepool/default.spec.limits.cpu=100");
        let tree = edited(
            tree,
            &pool,
            "NodePools/default.spec.limits[\"nvidia.com/gpu\"]='8'",
        );
        let tree = edited(
            tree,
            &pool,
            "nodepool/default.spec.template.spec.taints[0].effect=NoSchedule",
        );
        let tree = edited(
            tree,
            &pool,
            "nodepool/default.spec.template.spec.taints[1]={key: b, effect: NoExecute}",
        );
        let tree = edited(tree, &pool, "nodepool/default.spec.template.spec.taints[0].key=");
        assert_eq!(
            tree,
            json!({"spec": {"limits": {"cpu": 100, "nvidia.com/gpu": "8"},
                "template": {"spec": {"taints": [{"effect": "NoSchedule"}, {"key": "b", "effect": "NoExecute"}]}}}})
        );
    }

    #[test]
    fn names_may_have_dots_and_namespaces() {
        let edit: Edit = "deploy/shop/web.v2.spec.replicas=3".parse().unwrap();
        assert_eq!(
            edit.matches(Kind::Deployment, &ObjectName::new("shop", "web")),
            Some(8)
        );
        assert_eq!(
            edit.matches(Kind::Deployment, &ObjectName::new("shop", "web.v2")),
            Some(11)
        );
        assert_eq!(
            edit.matches(Kind::Deployment, &ObjectName::new("other", "web")),
            None
        );
        assert_eq!(
            edit.matches(Kind::StatefulSet, &ObjectName::new("shop", "web")),
            None
        );
        let short: Edit = "deploy/web.spec.replicas=3".parse().unwrap();
        assert_eq!(
            short.matches(Kind::Deployment, &ObjectName::new("shop", "web")),
            Some(3)
        );
    }

    #[test]
    fn refuses_what_it_does_not_understand() {
        for wrong in [
            "",
            "nodepool",
            "nodepool/default",
            "nodepool/default.spec",
            "nodepool/=1",
            "x/y.z=1",
            "nodepool/d.x={",
        ] {
            assert!(wrong.parse::<Edit>().is_err(), "{wrong}");
        }
        let pool = ObjectName::new("", "d");
        for wrong in [
            "nodepool/d.a[=1",
            "nodepool/d.a[\"x=1\"=2",
            "nodepool/d..a=1",
            "nodepool/d.a[7]=1",
            "nodepool/d.a.b.c=1",
        ] {
            let Ok(edit) = wrong.parse::<Edit>() else { continue };
            let named = edit.matches(Kind::NodePool, &pool).unwrap();
            assert!(edit.make(&mut json!({"a": {"b": 1}}), named).is_err(), "{wrong}");
        }
    }
}
