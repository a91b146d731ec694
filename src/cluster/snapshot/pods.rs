//! The snapshot's pods: those on nodes, those that wait, and those that workloads without pods would have.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dovetail_solver::model::instance_type::NODE_POOL_LABEL;
use dovetail_solver::model::name::{NodeName, PodName};
use dovetail_solver::model::node::Node;
use dovetail_solver::model::pod::{Pod as ModelPod, PodPlace, PodSpec as ModelSpec};
use dovetail_solver::model::requirement::ValueSet;
use dovetail_solver::model::resources::Resources;
use dovetail_solver::model::rules::Gang;

use crate::cluster::convert::gang::{gang, of_request};
use crate::cluster::convert::pod::{PodSpecs, Wanted};
use crate::cluster::convert::provisioning::requested;
use crate::cluster::convert::rules::{Subject, Surroundings};
use crate::cluster::convert::unweighed::Unweighed;
use crate::cluster::convert::workload::{Expansion, expansions, negative_counts};
use crate::cluster::diagnostics::{Note, Reason};
use crate::cluster::index::Index;
use crate::cluster::objects::Kind;
use crate::cluster::objects::meta::ObjectName;
use crate::cluster::objects::pod::{Pod, WrittenGang};

/// No cluster has more pods; a workload that asks for more is a slip or an attack on the memory.
const MOST_EXPANDED: u64 = 1_000_000;

/// Converts all pods that aren't finished, and expands workloads without pods.
pub(super) fn convert<'i>(
    index: &'i Index,
    nodes: &[Node],
    surroundings: &Surroundings<'_>,
    specs: &mut PodSpecs<'i>,
    notes: &mut Vec<Note>,
) -> Vec<ModelPod> {
    let mut converter = Converter {
        index,
        nodes: nodes.iter().map(|node| (node.name.as_str(), node)).collect(),
        specs,
        knows_storage: surroundings.knows_storage(),
        unweighed: Unweighed::default(),
        tallies: BTreeMap::new(),
        prefixes: BTreeSet::new(),
        found: Vec::new(),
    };
    for (name, stored) in index.pods() {
        if let Err(message) = converter.pod(name, &stored.object) {
            let note = Note::error(Reason::Malformed, format!("{message}; the pod is left out"));
            let note = note.about(format_args!("Pod {name}"));
            notes.push(note.at_known(stored.origin.as_ref()));
        }
    }
    let mut expanded = 0_u64;
    let (requested, said) = requested(index);
    notes.extend(said);
    for expansion in expansions(index).into_iter().chain(requested) {
        expanded = expanded.saturating_add(expansion.count);
        if expanded > MOST_EXPANDED {
            expanded -= expansion.count;
            let message = format!(
                "its {} pods would bring more than {MOST_EXPANDED} pods into the plan; it is left out",
                expansion.count
            );
            let note = Note::error(Reason::TooManyPods, message).path(expansion.count_path());
            notes.push(expansion.located(note));
            continue;
        }
        if let Err(message) = converter.expand(&expansion) {
            let message = format!("{message}; its pods are left out");
            notes.push(expansion.located(Note::error(Reason::Malformed, message)));
        }
    }
    notes.extend(negative_counts(index));
    notes.extend(converter.unweighed.notes());
    notes.extend(converter.tallies.iter().map(|(why, tally)| why.note(tally)));
    converter.found
}

/// Why pods aren't planned, or not in all they ask; each is one note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum NotPlanned {
    StorageMissing,
    NodeMissing,
    Gated,
    OtherScheduler,
    Preempting,
    OptedOut,
}

#[derive(Debug, Default)]
struct Tally {
    count: u64,
    /// The first few, as examples.
    names: Vec<String>,
}

impl NotPlanned {
    fn note(self, tally: &Tally) -> Note {
        let Tally { count, names } = tally;
        let examples = names.join(", ");
        let more = if *count > 3 { ", …" } else { "" };
        let of = |one: &str, many: &str| {
            let what = if *count == 1 { one } else { many };
            format!("{count} {what} ({examples}{more})")
        };
        let note = match self {
            Self::StorageMissing => Note::warning(
                Reason::StorageMissing,
                of(
                    "pod has volumes of claims, and the input has no PersistentVolumeClaim, PersistentVolume or StorageClass: it may be placed where its volumes aren't",
                    "pods have volumes of claims, and the input has no PersistentVolumeClaim, PersistentVolume or StorageClass: they may be placed where their volumes aren't",
                ),
            ),
            Self::NodeMissing => Note::warning(
                Reason::NodeMissing,
                of(
                    "pod runs on a node that isn't in the input and is left out with it",
                    "pods run on nodes that aren't in the input and are left out with them",
                ),
            ),
            Self::Gated => Note::info(
                Reason::NotPlanned,
                of(
                    "pod waits for its schedulingGates and isn't planned",
                    "pods wait for their schedulingGates and aren't planned",
                ),
            ),
            Self::OtherScheduler => Note::info(
                Reason::NotPlanned,
                of(
                    "pod is another scheduler's and isn't planned",
                    "pods are another scheduler's and aren't planned",
                ),
            ),
            Self::Preempting => Note::info(
                Reason::NotPlanned,
                of(
                    "pod is waiting for pods of lower priority to leave its node and isn't planned",
                    "pods are waiting for pods of lower priority to leave their node and aren't planned",
                ),
            ),
            Self::OptedOut => Note::info(
                Reason::NotPlanned,
                of(
                    "pod asks for a node of no NodePool (karpenter.sh/nodepool DoesNotExist) and isn't planned",
                    "pods ask for a node of no NodePool (karpenter.sh/nodepool DoesNotExist) and aren't planned",
                ),
            ),
        };
        note.counting(*count)
    }
}

struct Converter<'i, 'c> {
    index: &'i Index,
    nodes: BTreeMap<&'c str, &'c Node>,
    specs: &'c mut PodSpecs<'i>,
    knows_storage: bool,
    unweighed: Unweighed,
    tallies: BTreeMap<NotPlanned, Tally>,
    /// What the names of expanded pods start with, by namespace.
    prefixes: BTreeSet<(&'i Arc<str>, String)>,
    found: Vec<ModelPod>,
}

impl<'i> Converter<'i, '_> {
    fn pod(&mut self, name: &'i ObjectName, pod: &'i Pod) -> Result<(), String> {
        let is_going = pod.metadata.deletion_timestamp.is_some();
        if pod.is_finished() || pod.node.is_none() && is_going {
            return Ok(());
        }
        let wanted = Wanted {
            spec: &pod.spec,
            labels: &pod.labels,
            owner: pod.controller.as_ref(),
            gang: pod.gang.as_ref(),
            name: &name.name,
            namespace: &name.namespace,
            has_passed: pod.metadata.uid.is_some(),
        };
        let mut spec = if pod.allocated.is_empty() {
            self.specs.of(wanted)?
        } else {
            self.specs.of_resized(wanted, &pod.allocated)?
        };
        let place = match &pod.node {
            None => {
                if let Some(why) = self.not_planned(pod, &spec) {
                    self.tally(why, name);
                    return Ok(());
                }
                PodPlace::Pending
            }
            Some(node) => {
                let Some(known) = self.nodes.get(&**node) else {
                    self.tally(NotPlanned::NodeMissing, name);
                    return Ok(());
                };
                let place = place_on(pod, known);
                if known.deleting && matches!(place, PodPlace::Bound(_)) {
                    spec = self.restarted(name, pod, spec);
                }
                place
            }
        };
        let needs_place = match &place {
            PodPlace::Pending => true,
            PodPlace::Bound(node) => self.nodes.get(node.as_str()).is_some_and(|node| node.deleting),
            PodPlace::Terminating(_) => false,
        };
        if needs_place {
            if !self.knows_storage && !pod.spec.volumes.is_empty() {
                self.tally(NotPlanned::StorageMissing, name);
            }
            let owner = pod.controller.as_deref();
            self.unweighed
                .count(&pod.spec, &name.namespace, &name.name, owner, 1);
        }
        self.found.push(ModelPod {
            name: PodName::new(&*name.namespace, &*name.name),
            spec,
            place,
            created: pod.metadata.creation_timestamp.map(|instant| instant.0),
        });
        Ok(())
    }

    fn not_planned(&self, pod: &Pod, spec: &ModelSpec) -> Option<NotPlanned> {
        if !pod.spec.scheduling_gates.is_empty() {
            return Some(NotPlanned::Gated);
        }
        let scheduler = pod.spec.scheduler_name.as_deref().unwrap_or("");
        if !matches!(scheduler, "" | "default-scheduler") {
            return Some(NotPlanned::OtherScheduler);
        }
        let nominated = pod
            .nominated_node
            .as_deref()
            .and_then(|node| self.nodes.get(node));
        if nominated.is_some_and(|node| !node.deleting) {
            return Some(NotPlanned::Preempting);
        }
        opted_out(spec).then_some(NotPlanned::OptedOut)
    }

    fn tally(&mut self, why: NotPlanned, name: &ObjectName) {
        self.tally_many(why, name, 1);
    }

    fn tally_many(&mut self, why: NotPlanned, name: &ObjectName, count: u64) {
        let tally = self.tallies.entry(why).or_default();
        tally.count += count;
        if tally.names.len() < 3 {
            tally.names.push(name.to_string());
        }
    }

    /// A pod that has to start anew needs what its workload's template asks for, if that is more than it has now: one
    /// that was shrunk in place would not start again where it just fits.
    fn restarted(&mut self, name: &ObjectName, pod: &Pod, spec: Arc<ModelSpec>) -> Arc<ModelSpec> {
        let template = pod.controller.as_ref().and_then(|owner| {
            let owner_name = ObjectName::new(&name.namespace, &owner.name);
            [Kind::ReplicaSet, Kind::StatefulSet, Kind::ReplicationController]
                .into_iter()
                .filter(|kind| kind.name() == owner.kind)
                .find_map(|kind| self.index.workload(kind, &owner_name))
        });
        let Some(template) = template else { return spec };
        let at_start =
            crate::cluster::convert::requests::effective(&template.spec.template.spec, &BTreeMap::new());
        let larger = Resources::larger(&spec.requests, &at_start);
        if larger == spec.requests {
            return spec;
        }
        self.specs.share(ModelSpec {
            requests: larger,
            ..ModelSpec::clone(&spec)
        })
    }

    fn expand(&mut self, expansion: &Expansion<'i>) -> Result<(), String> {
        let ObjectName { namespace, name } = expansion.name;
        let template = expansion.template;
        let owner = expansion.owner();
        let gang = self.gang_of(expansion)?;
        let numbers = expansion.first..expansion.first.saturating_add(expansion.count);
        // A claim has the name of its pod, as its StatefulSet calls that.
        let claims_differ = !expansion.claim_templates.is_empty() || template.spec.has_claims_of_its_own();
        let mut spec = None;
        let mut prefix = String::new();
        for number in numbers {
            let own_name = format!("{}-{number}", expansion.stem);
            let known = spec.take().filter(|_| !claims_differ);
            let is_first = prefix.is_empty();
            let found = match known {
                Some(known) => known,
                None => self
                    .specs
                    .of_template(
                        &template.spec,
                        Subject {
                            namespace,
                            pod: Some(&own_name),
                            labels: &template.metadata.labels,
                            owner: Some(&owner),
                            claim_templates: expansion.claim_templates,
                            gang: gang.as_ref(),
                        },
                    )
                    .map_err(|message| format!("{}.spec.{message}", expansion.template_path()))?,
            };
            if is_first {
                if opted_out(&found) {
                    self.tally(NotPlanned::OptedOut, expansion.name);
                    return Ok(());
                }
                prefix = self.free_prefix(expansion);
                let has_volumes = !template.spec.volumes.is_empty() || !expansion.claim_templates.is_empty();
                if has_volumes && !self.knows_storage {
                    self.tally_many(NotPlanned::StorageMissing, expansion.name, expansion.count);
                }
                self.unweighed
                    .count(&template.spec, namespace, name, Some(&owner), expansion.count);
            }
            self.found.push(ModelPod {
                name: PodName::new(&**namespace, format!("{prefix}-{number}")),
                spec: Arc::clone(&found),
                place: PodPlace::Pending,
                created: None,
            });
            spec = Some(found);
        }
        Ok(())
    }

    /// The gang of a workload's pods: of its ProvisioningRequest, or as its template's annotations say.
    fn gang_of(&self, expansion: &Expansion<'_>) -> Result<Option<Gang>, String> {
        let ObjectName { namespace, name } = expansion.name;
        if expansion.kind == Kind::ProvisioningRequest {
            return Ok(Some(of_request(name, self.index.referred(expansion.name))));
        }
        match WrittenGang::of(&expansion.template.metadata.annotations) {
            Some(written) => gang(&written, namespace, self.index)
                .map_err(|message| format!("{}.{message}", expansion.template_path())),
            None => Ok(None),
        }
    }

    /// What the names of a workload's pods start with: its name, unless that makes the name of a pod that is there
    /// already (a Deployment and a StatefulSet may share a name).
    fn free_prefix(&mut self, expansion: &Expansion<'i>) -> String {
        let namespace = &expansion.name.namespace;
        let mut prefix = expansion.stem.clone();
        while self.prefixes.contains(&(namespace, prefix.clone()))
            || self.is_in_use(namespace, &prefix, expansion)
        {
            prefix = format!("{prefix}-{}", expansion.kind.name().to_ascii_lowercase());
        }
        self.prefixes.insert((namespace, prefix.clone()));
        prefix
    }

    /// Whether a pod of the input has one of the names that this prefix would give.
    fn is_in_use(&self, namespace: &Arc<str>, prefix: &str, expansion: &Expansion<'_>) -> bool {
        let stem = format!("{prefix}-");
        let start = ObjectName {
            namespace: Arc::clone(namespace),
            name: Arc::from(stem.as_str()),
        };
        self.index
            .pods()
            .range(start..)
            .map(|(name, _)| name)
            .take_while(|name| name.namespace == *namespace && name.name.starts_with(&stem))
            .filter_map(|name| name.name[stem.len()..].parse::<u64>().ok())
            .any(|number| number >= expansion.first && number - expansion.first < expansion.count)
    }
}

/// Where a pod on a node is: one that leaves, or that nobody can move, needs no other place.
fn place_on(pod: &Pod, node: &Node) -> PodPlace {
    let name = NodeName::from(node.name.as_str());
    let is_going = pod.metadata.deletion_timestamp.is_some();
    // A StatefulSet makes the same pod again, and only once the old one is gone: it needs a place to go to.
    let comes_back = node.deleting
        && pod
            .controller
            .as_ref()
            .is_some_and(|owner| owner.kind == "StatefulSet");
    if is_going && !comes_back || pod.is_mirror && node.deleting {
        PodPlace::Terminating(name)
    } else {
        PodPlace::Bound(name)
    }
}

/// Whether a pod wants no node of a NodePool, Karpenter's way to opt out.
fn opted_out(spec: &ModelSpec) -> bool {
    let Some(terms) = &spec.node_affinity else {
        return false;
    };
    !terms.0.is_empty()
        && terms.0.iter().all(|term| {
            let set = term.expressions.get(NODE_POOL_LABEL);
            set.is_some_and(|set: &ValueSet| set.admits_absence() && !set.admits_some_value())
        })
}
