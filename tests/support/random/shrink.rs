//! Makes a failing case small: takes away whatever isn't needed for it to fail.

use serde_json::Value;

/// Fields whose absence changes nothing but what is asked for.
const REMOVABLE: [&str; 16] = [
    "topologySpreadConstraints",
    "affinity",
    "tolerations",
    "nodeSelector",
    "volumes",
    "ports",
    "priority",
    "taints",
    "limits",
    "weight",
    "matchLabelKeys",
    "mismatchLabelKeys",
    "minDomains",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
    "namespaceSelector",
];

/// Lists that may do with fewer entries.
const SHORTER: [&str; 6] = [
    "topologySpreadConstraints",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "instanceTypes",
    "offerings",
    "ports",
    "requirements",
];

/// The smallest documents found that still fail.
pub(crate) fn shrunk(mut documents: Vec<Value>, fails: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    loop {
        let before = documents.len();
        let size = weight(&documents);
        for index in (0..documents.len()).rev() {
            let mut fewer = documents.clone();
            fewer.remove(index);
            if fails(&fewer) {
                documents = fewer;
            }
        }
        for index in 0..documents.len() {
            for path in removable(&documents[index], "") {
                let mut less = documents.clone();
                if take(&mut less[index], &path) && fails(&less) {
                    documents = less;
                }
            }
        }
        if documents.len() == before && weight(&documents) == size {
            return documents;
        }
    }
}

fn weight(documents: &[Value]) -> usize {
    documents.iter().map(|one| one.to_string().len()).sum()
}

/// Pointers to what may go, the last of a list first.
fn removable(value: &Value, at: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (key, inner) in value.as_object().into_iter().flatten() {
        let here = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        if REMOVABLE.contains(&key.as_str()) {
            found.push(here.clone());
        }
        if let (true, Some(entries)) = (SHORTER.contains(&key.as_str()), inner.as_array()) {
            found.extend((0..entries.len()).rev().map(|index| format!("{here}/{index}")));
        }
        found.extend(removable(inner, &here));
    }
    for (index, inner) in value
        .as_array()
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .enumerate()
        .rev()
    {
        found.extend(removable(inner, &format!("{at}/{index}")));
    }
    found
}

fn take(value: &mut Value, path: &str) -> bool {
    let Some((parent, last)) = path.rsplit_once('/') else {
        return false;
    };
    match value.pointer_mut(parent) {
        Some(Value::Object(fields)) => fields
            .remove(&last.replace("~1", "/").replace("~0", "~"))
            .is_some(),
        Some(Value::Array(entries)) => match last.parse::<usize>() {
            Ok(index) if index < entries.len() && entries.len() > 1 => {
                entries.remove(index);
                true
            }
            _ => false,
        },
        _ => false,
    }
}
