//! Room for pods and DaemonSets, to the last milli-CPU.

use super::*;

/// A machine with a GPU, one without, a node of the former and a pod; whether a policy keeps CPU pods off GPUs.
fn accelerated(keeps_off: bool, asks: bool) -> Snapshot {
    let gpu = || ResourceName::from("nvidia.com/gpu");
    let mut machine_with = machine("g", "4", "16Gi", "0.05");
    machine_with.capacity.set(gpu(), Amount::new(1));
    machine_with.allocatable.set(gpu(), Amount::new(1));
    let mut cluster = Cluster::new()
        .instance_type(machine("c", "4", "16Gi", "0.1"))
        .instance_type(machine_with)
        .pool("p")
        .node("n1", "p", "g", "zone-a")
        .pods_with("x", 1, "1", "1Gi", |spec| {
            if asks {
                spec.requests.set(gpu(), Amount::new(1));
            }
        });
    if keeps_off {
        cluster.parts.placement.keep_off_accelerators.insert("p".into());
    }
    cluster.freeze()
}

#[test]
fn pods_without_accelerators_stay_off_nodes_that_have_one_where_the_policy_says_so() {
    let launched = |snapshot: &Snapshot, offers: &[(&str, &str, CapacityType)]| {
        broken(
            snapshot,
            Draft::new(snapshot).launch("p", offers, &["default/x-0"]).body(),
        )
    };
    let (on_gpu, on_cpu) = (("g", "zone-a", OnDemand), ("c", "zone-a", OnDemand));
    for (keeps_off, asks, expected) in [
        (false, false, vec![]),
        (true, true, vec![]),
        (true, false, vec![Rule::Accelerators]),
    ] {
        let snapshot = accelerated(keeps_off, asks);
        assert_eq!(launched(&snapshot, &[on_gpu]), expected, "a launch");
        let body = Draft::new(&snapshot).on_node("n1", &["default/x-0"]).body();
        assert_eq!(broken(&snapshot, body), expected, "an existing node");
    }
    let snapshot = accelerated(true, false);
    assert_eq!(launched(&snapshot, &[on_cpu]), []);
    // Another type as an alternative counts as much as the first choice.
    let mut body = Draft::new(&snapshot)
        .launch("p", &[on_gpu, on_cpu], &["default/x-0"])
        .body();
    let launch = &mut body.launch[0];
    let other = launch.alternatives[0].clone();
    launch.alternatives = [Alternative {
        instance_type: std::mem::replace(&mut launch.instance_type, other.instance_type),
        zone: std::mem::replace(&mut launch.zone, other.zone),
        subnet: None,
        capacity_type: launch.capacity_type,
        reservation_id: None,
        price: std::mem::replace(&mut launch.price, other.price),
        labels: Labels::new(),
    }]
    .into();
    assert!(broken(&snapshot, body).contains(&Rule::Accelerators));
}

/// A DaemonSet of 500m and a pod that leaves exactly that: each mutation takes one milli-CPU.
#[test]
fn room_for_daemon_sets_is_kept_to_the_last_milli_cpu() {
    let snapshot = |pod: &str, daemon: &dyn Fn(&mut dovetail_solver::model::pod::PodSpec)| {
        Cluster::new()
            .instance_type(machine("m", "2", "4Gi", "0.1"))
            .pool_with("p", |pool| pool.taints = vec![taint("x", "y")])
            .daemon_set_with("agent", "500m", "256Mi", |spec| daemon(spec))
            .pods_with("x", 1, pod, "1Gi", |spec| spec.tolerations = vec![tolerates("x")])
            .freeze()
    };
    let launched = |snapshot: &Snapshot| {
        let draft = Draft::new(snapshot).launch("p", &[("m", "zone-a", OnDemand)], &["default/x-0"]);
        broken(snapshot, draft.body())
    };
    let everywhere: &dyn Fn(&mut dovetail_solver::model::pod::PodSpec) =
        &|spec| spec.tolerations = vec![tolerates("")];
    assert_eq!(launched(&snapshot("1500m", everywhere)), []);
    assert_eq!(launched(&snapshot("1501m", everywhere)), [Rule::Overhead]);
    assert_eq!(launched(&snapshot("2001m", everywhere)), [Rule::Resources]);
    assert_eq!(
        launched(&snapshot("2", &|_| {})),
        [],
        "it doesn't tolerate the taint, so it isn't there"
    );
    let elsewhere: &dyn Fn(&mut dovetail_solver::model::pod::PodSpec) = &|spec| {
        spec.tolerations = vec![tolerates("")];
        spec.node_selector = in_zone("zone-b");
    };
    assert_eq!(launched(&snapshot("2", elsewhere)), []);
    let mut body = Draft::new(&snapshot("2", elsewhere))
        .launch(
            "p",
            &[("m", "zone-a", OnDemand), ("m", "zone-b", OnDemand)],
            &["default/x-0"],
        )
        .body();
    assert_eq!(
        broken(&snapshot("2", elsewhere), body.clone()),
        [Rule::Overhead],
        "it runs under the alternative"
    );
    body.launch[0].alternatives = [].into();
    assert_eq!(broken(&snapshot("2", elsewhere), body), []);
}

#[test]
fn new_nodes_keep_headroom_to_the_last_milli_cpu_and_existing_ones_give_it() {
    let snapshot = |cpu: &str| {
        let mut cluster = Cluster::new()
            .instance_type(machine("m", "2", "4Gi", "0.1"))
            .pool("p")
            .daemon_set("agent", "500m", "256Mi")
            .node("n1", "p", "m", "zone-a")
            .daemon_pod("agent", "n1", true)
            .pods("x", 1, cpu, "256Mi");
        let mut headroom = dovetail_solver::model::resources::Resources::new();
        headroom.set(ResourceName::Cpu, Amount::new(300));
        cluster.parts.placement.headroom.insert("p".into(), headroom);
        cluster.freeze()
    };
    let launched = |cpu: &str| {
        let snapshot = snapshot(cpu);
        let draft = Draft::new(&snapshot).launch("p", &[("m", "zone-a", OnDemand)], &["default/x-0"]);
        broken(&snapshot, draft.body())
    };
    assert_eq!(launched("1200m"), []);
    assert_eq!(launched("1201m"), [Rule::Overhead]);
    let there = snapshot("1500m");
    let body = Draft::new(&there).on_node("n1", &["default/x-0"]).body();
    assert_eq!(broken(&there, body), []);
}

#[test]
fn a_node_keeps_the_room_of_daemon_set_pods_that_are_still_to_come() {
    let cluster = || {
        Cluster::new()
            .instance_type(machine("m", "2", "4Gi", "0.1"))
            .pool("p")
            .daemon_set("agent", "500m", "256Mi")
            .node("n1", "p", "m", "zone-a")
            .bound("stranger", "n1", "1", "1Gi")
    };
    let add = |cluster: Cluster, cpu: &str| {
        let snapshot = cluster.pods("x", 1, cpu, "256Mi").freeze();
        broken(
            &snapshot,
            Draft::new(&snapshot).on_node("n1", &["default/x-0"]).body(),
        )
    };
    assert_eq!(add(cluster(), "500m"), []);
    assert_eq!(add(cluster(), "501m"), [Rule::Overhead]);
    assert_eq!(add(cluster().daemon_pod("agent", "n1", true), "500m"), []);
    assert_eq!(
        add(cluster().daemon_pod("agent", "n1", true), "501m"),
        [Rule::Resources]
    );
    // Its pod is known and pending: the same room, counted once, and refused with the node's reason.
    let snapshot = cluster()
        .daemon_pod("agent", "n1", false)
        .pods("x", 1, "501m", "256Mi")
        .freeze();
    let mut body = Draft::new(&snapshot)
        .on_node("n1", &["default/x-0"])
        .refuse("kube-system/agent-n1")
        .body();
    body.unschedulable[0].reasons = vec![node_reason("n1", Constraint::Resources)];
    assert_eq!(broken(&snapshot, body.clone()), [Rule::Overhead]);
    body.unschedulable[0].reasons.clear();
    assert_eq!(broken(&snapshot, body), [Rule::Overhead, Rule::Honesty]);
    // Without its DaemonSet in the snapshot, the pinned pod keeps its room all the same.
    let mut parts = snapshot.into_parts();
    parts.daemon_sets.clear();
    let snapshot = parts.freeze().unwrap();
    let mut body = Draft::new(&snapshot)
        .on_node("n1", &["default/x-0"])
        .refuse("kube-system/agent-n1")
        .body();
    body.unschedulable[0].reasons = vec![node_reason("n1", Constraint::Resources)];
    assert_eq!(broken(&snapshot, body), [Rule::Overhead]);
}

#[test]
fn a_daemon_set_pod_goes_to_its_own_node_only() {
    let cluster = Cluster::new()
        .instance_type(machine("m", "2", "4Gi", "0.1"))
        .pool("p")
        .daemon_set("agent", "500m", "256Mi")
        .node("n1", "p", "m", "zone-a")
        .node("n2", "p", "m", "zone-a");
    let snapshot = cluster.daemon_pod("agent", "n1", false).freeze();
    accepted(
        &snapshot,
        Draft::new(&snapshot).on_node("n1", &["kube-system/agent-n1"]),
    );
    refused(
        &snapshot,
        Draft::new(&snapshot).on_node("n2", &["kube-system/agent-n1"]),
        Rule::Requirements,
    );
}

#[test]
fn a_terminating_pod_uses_its_room_and_needs_no_place() {
    let mut parts = Cluster::new()
        .instance_type(machine("m", "2", "4Gi", "0.1"))
        .pool("p")
        .node("n1", "p", "m", "zone-a")
        .bound("leaving", "n1", "1500m", "1Gi")
        .pods("x", 1, "1", "1Gi")
        .parts;
    parts.pods[0].place = PodPlace::Terminating("n1".into());
    let snapshot = parts.freeze().unwrap();
    refused(
        &snapshot,
        Draft::new(&snapshot).on_node("n1", &["default/x-0"]),
        Rule::Resources,
    );
    accepted(
        &snapshot,
        Draft::new(&snapshot).launch("p", &[("m", "zone-a", OnDemand)], &["default/x-0"]),
    );
}

#[test]
fn the_owner_decides_whose_pod_it_is() {
    // A pod that merely has a DaemonSet's name is no DaemonSet pod, and one of another namespace isn't this one's.
    let snapshot = Cluster::new()
        .instance_type(machine("m", "2", "4Gi", "0.1"))
        .pool("p")
        .daemon_set("agent", "500m", "256Mi")
        .node("n1", "p", "m", "zone-a")
        .bound_with("agent", "n1", "500m", "256Mi", |spec| {
            spec.owner = Some(daemon_owner("agent"));
        })
        .pods("x", 1, "1500m", "256Mi")
        .freeze();
    refused(
        &snapshot,
        Draft::new(&snapshot).on_node("n1", &["default/x-0"]),
        Rule::Overhead,
    );
}

#[test]
fn what_a_pod_does_not_ask_for_is_not_its_fault() {
    let cluster = |gpu: u64| {
        Cluster::new()
            .instance_type(machine("m", "2", "4Gi", "0.1"))
            .pool("p")
            .daemon_set_with("driver", "500m", "256Mi", |spec| {
                spec.requests.set("nvidia.com/gpu".into(), Amount::new(1));
            })
            .node("n1", "p", "m", "zone-a")
            .pods_with("x", 1, "1500m", "1Gi", |spec| {
                spec.requests.set("nvidia.com/gpu".into(), Amount::new(gpu));
            })
    };
    // The node has no GPU for the DaemonSet, whoever comes; its CPU is kept for it all the same.
    let add = |cluster: Cluster| {
        let snapshot = cluster.freeze();
        broken(
            &snapshot,
            Draft::new(&snapshot).on_node("n1", &["default/x-0"]).body(),
        )
    };
    assert_eq!(add(cluster(0)), []);
    assert_eq!(add(cluster(1)), [Rule::Resources]);
    let fuller = cluster(0).bound("old", "n1", "1m", "0");
    assert_eq!(add(fuller), [Rule::Overhead]);
}
