//! Gangs, read from the annotations of pods: all of one have a place or none has, and none before enough are there.

use std::collections::BTreeMap;

use serde_json::Value;

use super::input::{Input, full_name, list, text};

/// Gang by pod.
pub(crate) struct Gangs<'a> {
    of_pod: BTreeMap<String, (String, &'a Value)>,
}

impl<'a> Gangs<'a> {
    pub(crate) fn of(input: &'a Input) -> Self {
        let gang = |pod: &'a Value| {
            let gang = pod.pointer("/metadata/annotations/dovetail.sh~1gang")?.as_str()?;
            let key = format!("{}/{gang}", text(pod, "/metadata/namespace"));
            Some((full_name(pod), (key, pod)))
        };
        let of_pod = input.kind("Pod").filter_map(gang).collect();
        Self { of_pod }
    }

    /// Whether it is kept away from places that it could have alone.
    pub(crate) fn has(&self, pod: &str) -> bool {
        self.of_pod.contains_key(pod)
    }

    /// Gangs that the plan places in part or too soon.
    pub(crate) fn findings(&self, plan: &Value) -> Vec<String> {
        let mut gangs: BTreeMap<&str, Vec<(&str, &Value)>> = BTreeMap::new();
        for (pod, (gang, document)) in &self.of_pod {
            gangs.entry(gang).or_default().push((pod, document));
        }
        let refused = |pod: &str| {
            let mut refused = list(plan, "/unschedulable").iter();
            refused.any(|refused| text(refused, "/pod") == pod)
        };
        let is_pending = |pod: &Value| text(pod, "/spec/nodeName").is_empty();
        let mut wrong = Vec::new();
        for (gang, pods) in gangs {
            let pending = pods.iter().filter(|(_, pod)| is_pending(pod));
            let total = pending.clone().count();
            let placed = pending.filter(|(name, _)| !refused(name)).count();
            let size = pods.iter().map(|(_, pod)| {
                let size = text(pod, "/metadata/annotations/dovetail.sh~1gang-size");
                size.parse().unwrap_or(0)
            });
            if placed > 0 && (placed < total || pods.len() < size.max().unwrap_or(0)) {
                wrong.push(format!(
                    "{placed} of {total} pending pods of gang {gang} have a place, {} are there",
                    pods.len()
                ));
            }
        }
        wrong
    }
}
