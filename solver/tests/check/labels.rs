//! Requirements, selectors, taints and open keys of nodes to come.

use super::*;

/// One pod of a spec, one pool, one type: whether the pod may be launched for.
pub(crate) fn launches(edit_cluster: impl FnOnce(Cluster) -> Cluster, labels: &[(&str, &str)]) -> Vec<Rule> {
    let snapshot = edit_cluster(Cluster::new().instance_type(machine("m", "2", "4Gi", "0.1"))).freeze();
    let draft =
        Draft::new(&snapshot).launch_labelled("p", &[("m", "zone-a", OnDemand)], &["default/x-0"], labels);
    broken(&snapshot, draft.body())
}

#[test]
fn taints_of_the_pool_must_be_tolerated() {
    let tainted = |tolerated: &'static str| {
        move |cluster: Cluster| {
            cluster
                .pool_with("p", |pool| pool.taints = vec![taint("gpu", "yes")])
                .pods_with("x", 1, "1", "1Gi", |spec| {
                    spec.tolerations = vec![tolerates(tolerated)];
                })
        }
    };
    assert_eq!(launches(tainted("gpu"), &[]), []);
    assert_eq!(launches(tainted("cpu"), &[]), [Rule::Taints]);
    let startup = |cluster: Cluster| {
        let pool = cluster.pool_with("p", |pool| pool.startup_taints = vec![taint("gpu", "yes")]);
        pool.pods("x", 1, "1", "1Gi")
    };
    assert_eq!(launches(startup, &[]), []);
}

#[test]
fn taints_of_a_node_must_be_tolerated() {
    let snapshot = Cluster::new()
        .instance_type(machine("m", "2", "4Gi", "0.1"))
        .pool("p")
        .node_with("n1", "p", "m", "zone-a", |node| {
            node.taints = vec![taint("gpu", "yes")];
        })
        .pods("x", 1, "1", "1Gi")
        .freeze();
    refused(
        &snapshot,
        Draft::new(&snapshot).on_node("n1", &["default/x-0"]),
        Rule::Taints,
    );
}

#[test]
fn absence_counts_in_requirements() {
    let with = |operator: Operator, values: &'static [&'static str]| {
        move |cluster: Cluster| {
            cluster.pool("p").pods_with("x", 1, "1", "1Gi", |spec| {
                spec.node_affinity = Some(affinity(&[&[("example.com/disk", operator, values)]]));
            })
        }
    };
    assert_eq!(launches(with(Operator::NotIn, &["hdd"]), &[]), []);
    assert_eq!(launches(with(Operator::DoesNotExist, &[]), &[]), []);
    assert_eq!(launches(with(Operator::In, &["ssd"]), &[]), [Rule::Requirements]);
    assert_eq!(launches(with(Operator::Exists, &[]), &[]), [Rule::Requirements]);
}

#[test]
fn a_node_to_come_has_a_host_name_that_nobody_knows() {
    let with = |operator: Operator, values: &'static [&'static str]| {
        move |cluster: Cluster| {
            cluster.pool("p").pods_with("x", 1, "1", "1Gi", |spec| {
                spec.node_affinity = Some(affinity(&[&[("kubernetes.io/hostname", operator, values)]]));
            })
        }
    };
    assert_eq!(launches(with(Operator::NotIn, &["n1"]), &[]), []);
    assert_eq!(launches(with(Operator::Exists, &[]), &[]), []);
    assert_eq!(launches(with(Operator::In, &["n1"]), &[]), [Rule::Requirements]);
    assert_eq!(
        launches(with(Operator::DoesNotExist, &[]), &[]),
        [Rule::Requirements]
    );
}

#[test]
fn affinity_terms_are_alternatives_and_an_empty_one_matches_nothing() {
    let with = |terms: dovetail_solver::model::requirement::NodeSelectorTerms| {
        move |cluster: Cluster| {
            let cluster = cluster.pool("p");
            cluster.pods_with("x", 1, "1", "1Gi", |spec| spec.node_affinity = Some(terms))
        }
    };
    let zone = "topology.kubernetes.io/zone";
    let either = affinity(&[
        &[(zone, Operator::In, &["zone-c"])],
        &[(zone, Operator::In, &["zone-a"])],
    ]);
    assert_eq!(launches(with(either), &[]), []);
    assert_eq!(launches(with(affinity(&[&[]])), &[]), [Rule::Requirements]);
    assert_eq!(launches(with(affinity(&[])), &[]), [Rule::Requirements]);
}

#[test]
fn requirements_of_the_pool_hold_for_each_offer() {
    let wants = |key: &'static str, operator: Operator, values: &'static [&'static str]| {
        move |cluster: Cluster| {
            let pool = cluster.pool_with("p", |pool| {
                pool.requirements = requirements(&[(key, operator, values)]);
            });
            pool.pods("x", 1, "1", "1Gi")
        }
    };
    let zone = "topology.kubernetes.io/zone";
    assert_eq!(launches(wants(zone, Operator::In, &["zone-a"]), &[]), []);
    assert_eq!(
        launches(wants(zone, Operator::In, &["zone-b"]), &[]),
        [Rule::Requirements]
    );
    // What only EC2's types decide isn't open: where the type lacks it, the node does.
    let gpu = "karpenter.k8s.aws/instance-gpu-count";
    assert_eq!(
        launches(wants(gpu, Operator::Gt, &["0"]), &[]),
        [Rule::Requirements]
    );
    assert_eq!(
        launches(wants(gpu, Operator::In, &["1"]), &[]),
        [Rule::Requirements]
    );
    assert_eq!(launches(wants(gpu, Operator::DoesNotExist, &[]), &[]), []);
    // A custom key with one value becomes a label; several need no choice while nobody reads them.
    assert_eq!(launches(wants(TEAM, Operator::In, &["red"]), &[]), []);
    assert_eq!(launches(wants(TEAM, Operator::Exists, &[]), &[]), []);
    assert_eq!(launches(wants(TEAM, Operator::DoesNotExist, &[]), &[]), []);
    assert_eq!(
        launches(wants(TEAM, Operator::DoesNotExist, &[]), &[(TEAM, "red")]),
        [Rule::Labels]
    );
}

#[test]
fn a_template_label_excludes_other_offers() {
    let labelled = |value: &'static str| {
        move |cluster: Cluster| {
            let pool = cluster.pool_with("p", |pool| {
                pool.labels
                    .insert("topology.kubernetes.io/zone".to_owned(), value.to_owned());
            });
            pool.pods("x", 1, "1", "1Gi")
        }
    };
    assert_eq!(launches(labelled("zone-a"), &[]), []);
    assert_eq!(launches(labelled("zone-b"), &[]), [Rule::Requirements]);
}

#[test]
fn an_open_key_that_a_daemon_set_reads_needs_a_value_too() {
    let open = |wants: &'static str| {
        move |cluster: Cluster| {
            cluster
                .pool_with("p", |pool| {
                    pool.requirements = requirements(&[(TEAM, Operator::In, &["blue", "red"])]);
                })
                .daemon_set_with("agent", "1", "1Gi", |spec| {
                    spec.node_selector = Labels::from([(TEAM.to_owned(), wants.to_owned())]);
                })
                .pods("x", 1, "1500m", "1Gi")
        }
    };
    // With its room the launch is too small, and without a value nobody can tell.
    assert_eq!(launches(open("red"), &[(TEAM, "blue")]), []);
    assert_eq!(launches(open("red"), &[(TEAM, "red")]), [Rule::Overhead]);
    assert!(launches(open("red"), &[]).contains(&Rule::Labels));
    // One that selects a value no node of the pool can have isn't there.
    assert_eq!(launches(open("green"), &[]), []);
}

#[test]
fn a_type_s_own_choices_are_settled_by_the_pool_or_by_labels() {
    const TENANCY: &str = "karpenter.k8s.aws/instance-tenancy";
    let cluster = |pool: &'static [&'static str]| {
        let mut machine = machine("m", "2", "4Gi", "0.1");
        let both = ["default".to_owned(), "dedicated".to_owned()];
        machine.choices.insert(
            TENANCY.to_owned(),
            dovetail_solver::model::requirement::ValueSet::one_of(both),
        );
        let cluster = Cluster::new().instance_type(machine).pool_with("p", |edited| {
            if !pool.is_empty() {
                edited.requirements = requirements(&[(TENANCY, Operator::In, pool)]);
            }
        });
        let snapshot = cluster.pods_with("x", 1, "1", "1Gi", |spec| {
            spec.node_selector = Labels::from([(TENANCY.to_owned(), "dedicated".to_owned())]);
        });
        snapshot.freeze()
    };
    let launched = |snapshot: &Snapshot, labels: &[(&str, &str)]| {
        let mut body = Draft::new(snapshot)
            .launch("p", &[("m", "zone-a", OnDemand)], &["default/x-0"])
            .body();
        body.launch[0].labels = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        broken(snapshot, body)
    };
    assert_eq!(launched(&cluster(&[]), &[(TENANCY, "dedicated")]), []);
    assert_eq!(launched(&cluster(&[]), &[(TENANCY, "shared")]), [Rule::Labels]);
    assert_eq!(launched(&cluster(&[]), &[]), [Rule::Labels]);
    assert_eq!(launched(&cluster(&["dedicated"]), &[]), []);
    assert_eq!(launched(&cluster(&["default"]), &[]), [Rule::Requirements]);
    assert_eq!(launched(&cluster(&["shared"]), &[]), [Rule::Requirements]);
}
