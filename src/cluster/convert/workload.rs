//! Workloads without pods: their replicas as pending pods.
//!
//! A workload of which the input has any pod (owned by it, through a ReplicaSet of it, or, where that ReplicaSet is
//! missing, selected by it) is as it is. Otherwise its replicas are what somebody wants to know the place of. A CronJob
//! brings none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cluster::diagnostics::{Note, Origin, Reason};
use crate::cluster::index::Index;
use crate::cluster::objects::Kind;
use crate::cluster::objects::meta::{ObjectName, OwnerReference};
use crate::cluster::objects::pod::{Pod, PodTemplate};
use crate::cluster::objects::storage::ClaimTemplate;
use crate::cluster::objects::workload::Replicated;

/// The pods that a workload brings.
#[derive(Clone, Debug)]
pub struct Expansion<'i> {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace and name.
    pub name: &'i ObjectName,
    /// What the names of its pods start with, before their number.
    pub stem: String,
    /// What its pods are.
    pub template: &'i PodTemplate,
    /// Claims that each of its pods gets.
    pub claim_templates: &'i [ClaimTemplate],
    /// Number of the first.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// Where it was found.
    pub origin: Option<&'i Origin>,
}

impl Expansion<'_> {
    /// The field that says how many.
    #[must_use]
    pub fn count_path(&self) -> &'static str {
        match self.kind {
            Kind::Job => PARALLELISM,
            Kind::ProvisioningRequest => POD_SETS,
            _ => REPLICAS,
        }
    }

    /// Where its template is.
    #[must_use]
    pub fn template_path(&self) -> &'static str {
        match self.kind {
            Kind::ProvisioningRequest => "template",
            _ => "spec.template",
        }
    }

    /// A note that names the workload and where it was found.
    #[must_use]
    pub fn located(&self, note: Note) -> Note {
        located(note, self.kind, self.name, self.origin)
    }

    /// The owner that its pods would name.
    #[must_use]
    pub fn owner(&self) -> OwnerReference {
        OwnerReference {
            kind: self.kind.name().to_owned(),
            name: self.name.name.to_string(),
            controller: true,
        }
    }
}

const REPLICAS: &str = "spec.replicas";
const PARALLELISM: &str = "spec.parallelism";
const POD_SETS: &str = "spec.podSets";

fn located(note: Note, kind: Kind, name: &ObjectName, origin: Option<&Origin>) -> Note {
    note.about(format_args!("{kind} {name}")).at_known(origin)
}

/// Numbers of pods below zero, which no API server stores: such a workload brings none, and that is said.
#[must_use]
pub fn negative_counts(index: &Index) -> Vec<Note> {
    let replicas = index.replicated().map(|(kind, name, stored)| {
        let count = stored.object.spec.replicas.unwrap_or(0);
        (kind, name, stored.origin.as_ref(), REPLICAS, i64::from(count))
    });
    let parallelism = index.jobs().iter().map(|(name, stored)| {
        let count = stored.object.spec.parallelism.unwrap_or(0);
        (
            Kind::Job,
            name,
            stored.origin.as_ref(),
            PARALLELISM,
            i64::from(count),
        )
    });
    replicas
        .chain(parallelism)
        .filter(|(.., count)| *count < 0)
        .map(|(kind, name, origin, path, count)| {
            let message = format!("expected 0 or more, found {count}; it brings no pods");
            let note = Note::warning(Reason::Odd, message).path(path);
            located(note, kind, name, origin)
        })
        .collect()
}

/// All workloads of which the input has no pod, with the pods they want.
#[must_use]
pub fn expansions(index: &Index) -> Vec<Expansion<'_>> {
    let owners = Owners::of(index);
    let mut found = Vec::new();
    for (kind, name, stored) in index.replicated() {
        let workload = &stored.object;
        let is_covered = match kind {
            Kind::Deployment => owners.covers_deployment(name, workload),
            Kind::ReplicaSet => owners.has(kind, name) || is_of_a_deployment(index, name, workload),
            _ => owners.has(kind, name),
        };
        let count = u64::try_from(workload.spec.replicas.unwrap_or(1)).unwrap_or(0);
        if is_covered || count == 0 || workload.metadata.deletion_timestamp.is_some() {
            continue;
        }
        let first = u64::try_from(workload.spec.ordinals.start).unwrap_or(0);
        found.push(Expansion {
            kind,
            name,
            stem: name.name.to_string(),
            template: &workload.spec.template,
            claim_templates: &workload.spec.volume_claim_templates,
            first,
            count,
            origin: stored.origin.as_ref(),
        });
    }
    for (name, stored) in index.jobs() {
        let job = &stored.object;
        let count = u64::from(job.pods_at_once());
        if count == 0 || owners.has(Kind::Job, name) || job.metadata.deletion_timestamp.is_some() {
            continue;
        }
        found.push(Expansion {
            kind: Kind::Job,
            name,
            stem: name.name.to_string(),
            template: &job.spec.template,
            claim_templates: &[],
            first: 0,
            count,
            origin: stored.origin.as_ref(),
        });
    }
    found
}

/// Whether the input has the Deployment that this ReplicaSet is of: then that one is expanded.
fn is_of_a_deployment(index: &Index, name: &ObjectName, replica_set: &Replicated) -> bool {
    replica_set.metadata.controller().is_some_and(|owner| {
        owner.kind == Kind::Deployment.name()
            && index
                .workload(Kind::Deployment, &ObjectName::new(&name.namespace, &owner.name))
                .is_some()
    })
}

/// Who owns the pods of the input.
struct Owners<'i> {
    /// Kind and name, by namespace.
    owning: BTreeSet<(&'i str, &'i str, &'i str)>,
    /// Namespace and name of the Deployments that have a ReplicaSet with pods.
    deployments: BTreeSet<(&'i str, &'i str)>,
    /// Pods whose ReplicaSet isn't in the input, by namespace; one of each set of labels is enough.
    orphans: BTreeMap<&'i str, BTreeMap<usize, &'i Pod>>,
}

impl<'i> Owners<'i> {
    fn of(index: &'i Index) -> Self {
        let mut owners = Self {
            owning: BTreeSet::new(),
            deployments: BTreeSet::new(),
            orphans: BTreeMap::new(),
        };
        for (name, stored) in index.pods() {
            let pod = &stored.object;
            let Some(owner) = &pod.controller else { continue };
            let namespace = &*name.namespace;
            let is_new = owners
                .owning
                .insert((namespace, owner.kind.as_str(), owner.name.as_str()));
            let is_replica_set = owner.kind == Kind::ReplicaSet.name();
            if is_replica_set
                && is_new
                && index
                    .workload(Kind::ReplicaSet, &ObjectName::new(namespace, &owner.name))
                    .is_none()
            {
                owners
                    .orphans
                    .entry(namespace)
                    .or_default()
                    .insert(Arc::as_ptr(&pod.labels).addr(), pod);
            }
        }
        for (kind, name, set) in index.replicated() {
            let Some(owner) = set.object.metadata.controller() else {
                continue;
            };
            if kind == Kind::ReplicaSet && owner.kind == Kind::Deployment.name() && owners.has(kind, name) {
                owners.deployments.insert((&*name.namespace, owner.name.as_str()));
            }
        }
        owners
    }

    fn has(&self, kind: Kind, name: &ObjectName) -> bool {
        self.owning
            .contains(&(&*name.namespace, kind.name(), &*name.name))
    }

    fn covers_deployment(&self, name: &ObjectName, deployment: &Replicated) -> bool {
        self.has(Kind::Deployment, name)
            || self.deployments.contains(&(&*name.namespace, &*name.name))
            || self.orphans.get(&*name.namespace).is_some_and(|pods| {
                pods.values()
                    .any(|pod| deployment.spec.selector.selects(&pod.labels))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::manifests::read_bytes;

    fn expanded(yaml: &str) -> Vec<String> {
        let read = read_bytes("input", yaml.as_bytes(), &[]).unwrap();
        assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
        expansions(&read.index)
            .iter()
            .map(|expansion| {
                format!(
                    "{} {} {}+{}",
                    expansion.kind, expansion.name, expansion.first, expansion.count
                )
            })
            .collect()
    }

    const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {}}}\n---\n";
    const REPLICA_SET: &str = "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: web-1, ownerReferences: [{kind: Deployment, name: web}]}\nspec: {replicas: 3, template: {spec: {}}}\n---\n";

    fn pod(owner: &str, app: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: p, labels: {{app: {app}}}, ownerReferences: [{{kind: ReplicaSet, name: {owner}, controller: true}}]}}\nspec: {{}}\n---\n"
        )
    }

    #[test]
    fn a_deployment_is_expanded_once() {
        assert_eq!(expanded(DEPLOYMENT), ["Deployment default/web 0+3"]);
        assert_eq!(
            expanded(&[DEPLOYMENT, REPLICA_SET].concat()),
            ["Deployment default/web 0+3"]
        );
        assert_eq!(expanded(REPLICA_SET), ["ReplicaSet default/web-1 0+3"]);
    }

    #[test]
    fn a_deployment_with_pods_is_not_expanded() {
        let through_its_set = [DEPLOYMENT, REPLICA_SET, &pod("web-1", "other")].concat();
        assert!(expanded(&through_its_set).is_empty());
        let by_selector = [DEPLOYMENT, &pod("web-1", "web")].concat();
        assert!(expanded(&by_selector).is_empty());
        let by_nothing = [DEPLOYMENT, &pod("web-1", "other")].concat();
        assert_eq!(expanded(&by_nothing).len(), 1);
    }

    #[test]
    fn stateful_sets_count_from_their_first_ordinal() {
        let set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db, namespace: shop}\nspec: {replicas: 2, ordinals: {start: 5}, template: {spec: {}}}\n";
        assert_eq!(expanded(set), ["StatefulSet shop/db 5+2"]);
    }

    #[test]
    fn jobs_bring_what_is_left_to_do() {
        let job = |spec: &str, status: &str| {
            expanded(&format!(
                "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: j}}\nspec: {{{spec} template: {{spec: {{}}}}}}\nstatus: {{{status}}}\n"
            ))
        };
        assert_eq!(job("parallelism: 4,", ""), ["Job default/j 0+4"]);
        assert_eq!(
            job("parallelism: 4, completions: 10,", "succeeded: 8"),
            ["Job default/j 0+2"]
        );
        assert_eq!(job("", ""), ["Job default/j 0+1"]);
        assert!(job("suspend: true,", "").is_empty());
        assert!(job("", "conditions: [{type: Complete, status: 'True'}]").is_empty());
        assert!(job("", "completionTime: '2026-01-01T00:00:00Z'").is_empty());
        assert!(job("parallelism: -3,", "").is_empty());
    }
}
