//! NodeOverlays in snapshots.

use super::tests::*;
use super::*;
use dovetail_solver::model::node_pool::NodePool;
use dovetail_solver::model::resources::{Amount, ResourceName};

fn overlay(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n---\n"
    )
}

fn world(overlays: &[String]) -> Frozen {
    let mut documents = vec![CATALOG.to_owned(), CLASS.to_owned()];
    documents.extend([pool("default", "default", ""), pool("other", "default", "")]);
    documents.extend_from_slice(overlays);
    frozen(&documents)
}

fn pool_of<'a>(frozen: &'a Frozen, name: &str) -> &'a NodePool {
    frozen.snapshot.node_pool(&name.into()).unwrap()
}

/// Prices of c7i.large in a pool, in micro-dollars.
fn prices(frozen: &Frozen, pool: &str) -> Vec<u64> {
    let class = frozen.snapshot.node_class(pool_of(frozen, pool));
    let offerings = &class.instance_types[0].offerings;
    offerings.iter().map(|offering| offering.price.micros()).collect()
}

#[test]
fn a_price_holds_where_the_overlay_matches_and_nowhere_else() {
    let of_pool = "requirements: [{key: karpenter.sh/nodepool, operator: In, values: [default]}, {key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1b]}], priceAdjustment: '-50%'";
    let frozen = world(&[overlay("half", of_pool)]);
    assert!(frozen.notes.is_empty(), "{:?}", said(&frozen));
    assert_eq!(prices(&frozen, "default"), [100_000, 50_000]);
    assert_eq!(prices(&frozen, "other"), [100_000, 100_000]);
}

#[test]
fn the_heavier_overlay_wins_and_equal_ones_contradict() {
    let all = |price: &str, weight: i32| format!("requirements: [], price: '{price}', weight: {weight}");
    let frozen = world(&[overlay("light", &all("0.3", 1)), overlay("heavy", &all("0.4", 9))]);
    assert_eq!(prices(&frozen, "default"), [400_000, 400_000]);
    let frozen = world(&[overlay("a", &all("0.3", 2)), overlay("b", &all("0.4", 2))]);
    assert_eq!(
        prices(&frozen, "default"),
        [400_000, 400_000],
        "the last by name comes first"
    );
    let notes = said(&frozen);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0].contains("NodeOverlay a") && notes[0].contains("NodeOverlay b"),
        "{notes:?}"
    );
}

#[test]
fn capacity_is_added_to_the_whole_type() {
    let spec = "requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [c7i.large]}], capacity: {example.com/dongle: 3}";
    let frozen = world(&[overlay("dongles", spec)]);
    let class = frozen.snapshot.node_class(pool_of(&frozen, "default"));
    let dongle = ResourceName::from("example.com/dongle");
    let has = |at: usize| {
        let instance_type = &class.instance_types[at];
        (
            instance_type.capacity.get(&dongle),
            instance_type.allocatable.get(&dongle),
        )
    };
    assert_eq!(has(0), (Amount::new(3), Amount::new(3)));
    assert_eq!(has(1), (Amount::ZERO, Amount::ZERO));
}

#[test]
fn nodes_cost_what_the_overlay_says() {
    let mut documents = vec![
        CATALOG.to_owned(),
        CLASS.to_owned(),
        pool("default", "default", ""),
    ];
    let labelled =
        node("n", "c7i.large", "").replace("labels: {", "labels: {karpenter.sh/nodepool: default, ");
    documents.push(labelled);
    documents.push(overlay("own", "requirements: [], price: '0.07'"));
    assert_eq!(frozen(&documents).snapshot.nodes[0].price.micros(), 70_000);
}

#[test]
fn an_overlay_that_makes_no_sense_is_named_and_left() {
    for (spec, path) in [
        (
            "requirements: [], price: '0.1', priceAdjustment: '+1'",
            "spec.price",
        ),
        ("requirements: [], priceAdjustment: '5%'", "spec.priceAdjustment"),
        ("requirements: [], capacity: {cpu: 3}", "spec.capacity"),
        ("requirements: [{key: a, operator: In}]", "spec.requirements"),
    ] {
        let read = read_bytes(
            "input",
            [
                CATALOG,
                CLASS,
                &pool("default", "default", ""),
                &overlay("odd", spec),
            ]
            .concat()
            .as_bytes(),
            &[],
        )
        .unwrap();
        let frozen = freeze(&read.index, &FreezeOptions::default()).unwrap();
        assert_eq!(prices(&frozen, "default"), [100_000, 100_000], "{spec}");
        assert!(
            said(&frozen).iter().any(|note| note.contains(path)),
            "{spec}: {:?}",
            said(&frozen)
        );
    }
}
