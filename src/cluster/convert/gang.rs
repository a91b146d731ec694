//! Gangs: pods that are placed all or none, by annotation or by the ProvisioningRequest that they belong to.

use dovetail_solver::model::rules::Gang;

use crate::api::labels::dovetail;
use crate::cluster::index::Index;
use crate::cluster::objects::meta::ObjectName;
use crate::cluster::objects::pod::WrittenGang;
use crate::cluster::objects::referred::ProvisioningRequest;

/// The gang that a pod's annotations name. Its own name beats that of a ProvisioningRequest.
///
/// # Errors
/// The path of the annotation that makes no sense, from `metadata` on, and what was expected.
pub fn gang(written: &WrittenGang, namespace: &str, index: &Index) -> Result<Option<Gang>, String> {
    let stated = written.size.as_deref().map(size).transpose()?;
    if let Some(name) = &written.name {
        return Ok(Some(Gang {
            name: name.clone(),
            size: stated,
        }));
    }
    Ok(written.request.as_deref().map(|name| {
        let request: Option<&ProvisioningRequest> = index.referred(&ObjectName::new(namespace, name));
        of_request(name, request)
    }))
}

/// The gang of a ProvisioningRequest's pods.
#[must_use]
pub fn of_request(name: &str, request: Option<&ProvisioningRequest>) -> Gang {
    Gang {
        name: format!("ProvisioningRequest {name}"),
        size: request.map(ProvisioningRequest::pods),
    }
}

fn size(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|size| *size > 0).ok_or_else(|| {
        let found: String = text.chars().take(40).collect();
        format!(
            "metadata.annotations[{}]: expected a whole number from 1 on, found \"{found}\"",
            dovetail::GANG_SIZE
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::manifests::read_bytes;

    const INPUT: &str = "\
apiVersion: autoscaling.x-k8s.io/v1
kind: ProvisioningRequest
metadata: {name: train, namespace: ml}
spec: {provisioningClassName: c, podSets: [{podTemplateRef: {name: worker}, count: 3}, {podTemplateRef: {name: driver}, count: 1}]}
";

    fn of(annotations: &[(&str, &str)]) -> Result<Option<Gang>, String> {
        let annotations = annotations
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let Some(written) = WrittenGang::of(&annotations.collect()) else {
            return Ok(None);
        };
        let read = read_bytes("input", INPUT.as_bytes(), &[]).unwrap();
        gang(&written, "ml", &read.index)
    }

    #[test]
    fn a_gang_is_named_by_annotation_or_by_its_request() {
        assert_eq!(of(&[("other", "x")]), Ok(None));
        let named = of(&[("dovetail.sh/gang", "a"), ("dovetail.sh/gang-size", "8")])
            .unwrap()
            .unwrap();
        assert_eq!((named.name.as_str(), named.size), ("a", Some(8)));
        let of_request = of(&[("autoscaling.x-k8s.io/consume-provisioning-request", "train")])
            .unwrap()
            .unwrap();
        assert_eq!(
            (of_request.name.as_str(), of_request.size),
            ("ProvisioningRequest train", Some(4))
        );
        let unknown = of(&[(
            "cluster-autoscaler.kubernetes.io/consume-provisioning-request",
            "x",
        )])
        .unwrap()
        .unwrap();
        assert_eq!(unknown.size, None);
        assert_eq!(
            of(&[("dovetail.sh/gang", "a"), ("dovetail.sh/gang-size", "many")]).unwrap_err(),
            "metadata.annotations[dovetail.sh/gang-size]: expected a whole number from 1 on, found \"many\""
        );
    }
}
