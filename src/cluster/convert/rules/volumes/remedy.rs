//! What would help a pod whose claim can't be had: one object to be made, or one mark.
//!
//! Only named where it is all that is wrong, and with what the pod would ask for then, so that whoever proposes it can plan
//! with it first.

use dovetail_solver::model::explain::Constraint;
use dovetail_solver::model::resources::{Amount, Resources};
use dovetail_solver::model::rules::{Impossible, Remedy, Volume as ModelVolume};

use super::{BY_HAND, DEFAULT_CLASS, Reach, Storage, made_by};
use crate::cluster::convert::attachments::attachments;
use crate::cluster::objects::storage::StorageClass;

/// Why a claim can't be had, and what would help.
pub(super) struct Refused {
    pub(super) detail: String,
    /// The one act that would, and which nodes reach the volume then.
    pub(super) remedy: Option<(String, Reach)>,
}

impl From<String> for Refused {
    fn from(detail: String) -> Self {
        Self { detail, remedy: None }
    }
}

impl<'i> Storage<'i> {
    /// The first of what is wrong; where it is all that is, with what would help.
    pub(super) fn impossible(&self, refused: Vec<Refused>) -> Option<Impossible> {
        let is_all = refused.len() == 1;
        let first = refused.into_iter().next()?;
        let remedy = first.remedy.filter(|_| is_all).map(|(what, reach)| {
            let mut requests = Resources::default();
            if let Some(driver) = reach.driver.filter(|driver| self.counted.contains(driver)) {
                requests.set(attachments(&driver), Amount::new(1));
            }
            Remedy {
                what,
                requests,
                volume: reach.terms.map(|reach| ModelVolume {
                    claim: String::new(),
                    reach,
                }),
            }
        });
        Some(Impossible {
            constraint: Constraint::Volume,
            detail: first.detail,
            remedy,
        })
    }

    /// The class that a claim had best name: the default one, or else the first whose volumes wait for their pods.
    fn usual_class(&self) -> Option<(&'i str, &'i StorageClass)> {
        let waits = |class: &StorageClass| {
            class.volume_binding_mode == "WaitForFirstConsumer" && class.provisioner != BY_HAND
        };
        let classes = self.index.all_referred::<StorageClass>();
        let mut usable: Vec<(&str, &StorageClass)> = classes
            .filter(|(_, class)| waits(class))
            .map(|(name, class)| (&*name.name, class))
            .collect();
        usable.sort_by_key(|(name, _)| (self.default_class != Some(*name), *name));
        usable.into_iter().next()
    }

    /// What helps where a claim is missing.
    pub(super) fn claim_to_make(&self, namespace: &str, name: &str) -> Option<(String, Reach)> {
        let (class, object) = self.usual_class()?;
        let what = format!("create PersistentVolumeClaim {namespace}/{name} with storageClassName: {class}");
        Some((what, made_by(object)))
    }

    /// What helps where a claim names no class, and none is the default.
    pub(super) fn class_to_choose(&self) -> Option<(String, Reach)> {
        let (class, object) = self.usual_class()?;
        let what = format!(
            "annotate StorageClass {class} with {}: \"true\"",
            DEFAULT_CLASS[0]
        );
        Some((what, made_by(object)))
    }
}
