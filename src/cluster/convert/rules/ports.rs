//! Ports that a pod takes on its node.
//!
//! A pod on the host's network takes the ports of its containers there, as the API server fills in. Init containers have
//! ended when the others listen, sidecars apart. Source: Kubernetes API reference, `ContainerPort`.

use dovetail_solver::model::rules::{HostPort, Protocol};

use crate::cluster::objects::pod::{Container, PodSpec, Port};

/// All ports of a pod, each once.
///
/// # Errors
/// The path of the port that makes no sense, and what was expected.
pub(super) fn host_ports(spec: &PodSpec) -> Result<Vec<HostPort>, String> {
    let mut found = Vec::new();
    let mut read = |path: &str, at: usize, container: &Container| {
        for (port_at, port) in container.ports.iter().enumerate() {
            let named = |message| format!("{path}[{at}].ports[{port_at}].{message}");
            found.extend(host_port(port, spec.host_network).map_err(named)?);
        }
        Ok::<(), String>(())
    };
    for (at, container) in spec.containers.iter().enumerate() {
        read("containers", at, container)?;
    }
    for (at, container) in spec.init_containers.iter().enumerate() {
        if container.is_sidecar() {
            read("initContainers", at, container)?;
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn host_port(port: &Port, on_host_network: bool) -> Result<Option<HostPort>, String> {
    let stated = port.host_port.filter(|number| *number != 0);
    let number = stated.or(port.container_port.filter(|_| on_host_network));
    let Some(number) = number.filter(|number| *number != 0) else {
        return Ok(None);
    };
    let protocol = match port.protocol.as_deref() {
        None | Some("" | "TCP") => Protocol::Tcp,
        Some("UDP") => Protocol::Udp,
        Some("SCTP") => Protocol::Sctp,
        Some(other) => {
            let found: String = other.chars().take(40).collect();
            return Err(format!("protocol: expected TCP, UDP or SCTP, found \"{found}\""));
        }
    };
    let address = port.host_ip.clone();
    Ok(Some(HostPort {
        number,
        protocol,
        address: address.filter(|address| !matches!(address.as_str(), "" | "0.0.0.0" | "::")),
    }))
}
