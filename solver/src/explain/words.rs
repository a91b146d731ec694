//! Rules of pods as parts of a sentence.

use crate::model::pod::Pod;
use crate::model::requirement::ValueSet;
use crate::model::rules::{HostPort, PodTerm, Protocol, TopologySpread};
use crate::model::selector::{Namespaces, PodSelector};

/// `the pod's topology spread over KEY`.
pub(super) fn spread(spread: &TopologySpread) -> String {
    format!("the pod's topology spread over {}", spread.topology_key)
}

/// `to pods app=web over KEY`.
pub(super) fn term(term: &PodTerm) -> String {
    format!("to {} over {}", selector(&term.selector), term.topology_key)
}

/// `8080/TCP`, with the address where there is one.
pub(super) fn port(port: &HostPort) -> String {
    let protocol = match port.protocol {
        Protocol::Tcp => "TCP",
        Protocol::Udp => "UDP",
        Protocol::Sctp => "SCTP",
    };
    match &port.address {
        Some(address) => format!("{address}:{}/{protocol}", port.number),
        None => format!("{}/{protocol}", port.number),
    }
}

/// `pods app=web of namespace default`.
pub(super) fn selector(selector: &PodSelector) -> String {
    const SHOWN: usize = 3;
    let Some(labels) = &selector.labels else {
        return "no pods".to_owned();
    };
    let said = labels.iter().map(|(key, set)| label(key, set));
    let said: Vec<String> = said.collect();
    let which = if said.is_empty() {
        "all pods".to_owned()
    } else {
        format!("pods {}", said.join(","))
    };
    match &selector.namespaces {
        Namespaces::All => format!("{which} of any namespace"),
        Namespaces::These(names) if names.len() <= SHOWN => {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            format!("{which} in {}", names.join(" or "))
        }
        Namespaces::These(names) => format!("{which} in {} namespaces", names.len()),
    }
}

/// `default/web-0`, with its priority where it has one.
pub(super) fn pod(pod: &Pod) -> String {
    match pod.spec.priority {
        0 => pod.name.to_string(),
        priority => format!("{} (priority {priority})", pod.name),
    }
}

/// The first few of a list.
pub(super) fn listed(all: &[&str]) -> String {
    const SHOWN: usize = 5;
    let more = if all.len() > SHOWN { ", …" } else { "" };
    format!("{}{more}", all[..all.len().min(SHOWN)].join(", "))
}

fn label(key: &str, set: &ValueSet) -> String {
    match set.single() {
        Some(value) => format!("{key}={value}"),
        None => format!("{key} {set}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::requirement::{Labels, Requirements};

    #[test]
    fn rules_read_as_parts_of_a_sentence() {
        let labels = Labels::from([("app".to_owned(), "web".to_owned())]);
        let web = PodTerm {
            topology_key: "zone".to_owned(),
            selector: PodSelector::within("shop", Requirements::of_labels(&labels)),
        };
        assert_eq!(term(&web), "to pods app=web in shop over zone");
        let all = PodSelector {
            namespaces: Namespaces::All,
            labels: Some(Requirements::new()),
        };
        assert_eq!(selector(&all), "all pods of any namespace");
        let at = HostPort {
            number: 53,
            protocol: Protocol::Udp,
            address: Some("10.0.0.1".to_owned()),
        };
        assert_eq!(port(&at), "10.0.0.1:53/UDP");
    }
}
